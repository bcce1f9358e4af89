"""What can be evaluated: paths, frames, Arrow, tables. Nothing is copied or read here."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from glob import escape, glob, has_magic
from importlib import import_module
from os import PathLike, fspath
from pathlib import Path
from typing import Any, cast

import polars as pl
from polars.selectors import by_name

from sqleval.errors import RequestError, SourceError
from sqleval.names import literal, nearest, quote

#: Reader of each file ending. Hive keys stay text: their type would follow from the values.
_HIVE = "hive_partitioning = TRUE, hive_types_autocast = FALSE"
_READERS = {
    ".parquet": ("read_parquet", _HIVE),
    ".csv": ("read_csv", _HIVE),
    ".tsv": ("read_csv", _HIVE),
    ".csv.gz": ("read_csv", _HIVE),
    ".json": ("read_json", _HIVE),
    ".jsonl": ("read_json", _HIVE),
    ".ndjson": ("read_json", _HIVE),
}
_KINDS = (
    "a path, pattern, folder or list of paths, query=, a Polars DataFrame or LazyFrame, a PyArrow "
    "Table, RecordBatchReader or Dataset, a pandas DataFrame, a DuckDB relation, or a table name "
    "with con="
)


@dataclass
class Source:
    """Something with rows.

    Attributes
    ----------
    relation : str
        What stands in FROM.
    name : str
        The name that a registered object gets.
    make : callable or None
        Makes the object to register from the columns that are needed.
    empty : object or None
        An object with the same columns and no rows, to learn the types from.
    stream : bool
        Whether a statement may read it only once.
    once : bool
        Whether it can be read only once at all.
    con : object or None
        The user's own connection.
    own : object or None
        A DuckDB relation, which runs on the connection that it came from.
    files : tuple of str
        The files, when they are local.
    parquet : tuple of str
        Paths and patterns of several Parquet files, until their types have been compared.
    differs : dict of str to str
        The columns that such files disagree about, and how.
    """

    relation: str
    name: str = ""
    make: Callable[[Sequence[str]], object] | None = None
    empty: object = None
    stream: bool = False
    once: bool = False
    con: Any = None
    own: Any = None
    files: tuple[str, ...] = ()
    parquet: tuple[str, ...] = ()
    differs: dict[str, str] = field(default_factory=dict[str, str])
    rows: int | None = None
    label: str = ""
    spent: bool = field(default=False, repr=False)

    def objects(self, columns: Sequence[str]) -> dict[str, object]:
        """Return what must be registered to read ``columns``.

        Raises
        ------
        SourceError
            If the source can be read once and has been read.
        """
        if self.make is None:
            return {}
        if self.once:
            if self.spent:
                raise SourceError(
                    "this RecordBatchReader has been read, and it can be read only once; "
                    "pass a Table or a Dataset to evaluate it again"
                )
            self.spent = True
        return {self.name: self.make(columns)}

    @property
    def about(self) -> int | None:
        """About how many rows there are; None where the engine knows without reading them."""
        if self.rows is not None:
            return self.rows
        if self.files and all(file.endswith(".parquet") for file in self.files):
            return None
        return sum(Path(file).stat().st_size for file in self.files) // 20

    @property
    def is_large(self) -> bool:
        """Whether it is worth a look at the scores before a plan is chosen."""
        if self.rows is not None:
            return self.rows > 200_000
        return sum(Path(file).stat().st_size for file in self.files) > 2_000_000


class _LazyStream:
    """A LazyFrame as an Arrow stream that DuckDB pulls batch by batch, never collected."""

    def __init__(self, frame: pl.LazyFrame) -> None:
        pa: Any = import_module("pyarrow")
        self._frame = frame
        empty = pl.DataFrame(schema=frame.collect_schema())
        self._schema: Any = pa.RecordBatchReader.from_stream(empty).schema

    def __arrow_c_schema__(self) -> object:
        return self._schema.__arrow_c_schema__()

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        batches: Any = self._frame.collect_batches(maintain_order=False, lazy=True)
        return batches.__arrow_c_stream__(requested_schema)


def _suffix(path: str) -> str:
    suffixes = Path(path).suffixes[-2:]
    joined = "".join(suffixes).lower()
    return joined if joined in _READERS else (suffixes[-1].lower() if suffixes else "")


def _reader(paths: Sequence[str], pattern: str, more: str = "") -> str:
    kinds = {_suffix(path) for path in paths}
    if len(kinds) != 1 or not kinds <= _READERS.keys():
        shown = ", ".join(sorted(kind or "no ending" for kind in kinds))
        raise SourceError(
            f"cannot read {pattern!r}: files end in {shown}; one of {', '.join(_READERS)} is read"
        )
    function, options = _READERS[kinds.pop()]
    listed = ", ".join(literal(path) for path in paths)
    listed = listed if len(paths) == 1 else f"[{listed}]"
    return f"{function}({listed}, {options}{more})"


def _several(paths: Sequence[str], files: Sequence[str]) -> tuple[str, ...]:
    """Return what stands for more than one Parquet file, or may."""
    one = len(paths) == 1 and (len(files) == 1 or not has_magic(paths[0]))
    return () if one or _suffix(paths[0]) != ".parquet" else tuple(paths)


def of_files(files: Sequence[str], *, name_as: str) -> Source:
    """Return the source of these files, with a column that holds each row's file."""
    label = files[0] if len(files) == 1 else f"{len(files)} files from {files[0]} to {files[-1]}"
    relation = _reader(files, label, f", filename = {literal(name_as)}")
    local = tuple(file for file in files if not is_remote(file))
    return Source(relation, files=local, label=label, parquet=_several(files, files))


def is_remote(path: str) -> bool:
    """Whether a path is a URL."""
    return "://" in path


def _refuse_table_format(path: str, folder: Path) -> None:
    """Raise for a folder whose files are not the table: it also keeps deleted and older rows."""
    for kind, sign in (("Delta", "_delta_log"), ("Iceberg", "metadata/*.metadata.json")):
        if any(folder.glob(sign)):
            raise SourceError(
                f"{path!r} holds a table in the {kind} format, and rows beside it that were "
                f"deleted or replaced; in Python, pass "
                f"polars.scan_{kind.lower()}(...), which reads its log"
            )


def _is_hidden(file: Path) -> bool:
    """Whether writers mean a file in a folder to be no data yet, or no longer."""
    return any(part.startswith((".", "_")) and "=" not in part for part in file.parts)


def _local(path: str) -> tuple[list[str], list[str]]:
    """Return the files behind one path, pattern or folder, and what DuckDB should be given."""
    if has_magic(path) and not Path(path).exists():
        found = [file for file in glob(path, recursive=True) if Path(file).is_file()]
        if not found:
            raise SourceError(f"no file matches {path!r}")
        return sorted(found), [path]
    where = Path(path)
    if where.is_dir():
        _refuse_table_format(path, where)
        for suffix in _READERS:
            every = sorted(where.rglob(f"*{suffix}"))
            found = [fspath(file) for file in every if not _is_hidden(file.relative_to(where))]
            if found and len(found) == len(every):
                return found, [f"{escape(path)}/**/*{suffix}"]
            if found:
                return found, [escape(file) for file in found]
        raise SourceError(f"no data file ({', '.join(_READERS)}) in the folder {path!r}")
    if not where.exists():
        near = [file.name for file in where.parent.glob("*")] if where.parent.is_dir() else []
        raise SourceError(f"no such file: {path!r}{nearest(where.name, near)}")
    return [path], [escape(path)]


def _paths(paths: Sequence[str]) -> Source:
    if not paths:
        raise SourceError("the list of paths is empty")
    files: list[str] = []
    patterns: list[str] = []
    for path in paths:
        found, given = ([], [path]) if is_remote(path) else _local(path)
        files += found
        patterns += given
    label = ", ".join(paths)
    relation = _reader(patterns, label)
    return Source(relation, files=tuple(files), label=label, parquet=_several(patterns, files))


def _table(con: Any, name: str) -> Source:
    return Source(".".join(quote(part) for part in name.split(".")), con=con, label=name)


def _registered(name: str, make: Callable[[Sequence[str]], object], **kwargs: Any) -> Source:
    return Source(quote(name), name, make, **kwargs)


def _readable(empty: pl.DataFrame) -> pl.DataFrame:
    """Leave out the columns of types that DuckDB does not know; they cannot play a role.

    Here and below columns are not chosen by text: a name such as ^.*$ would be a pattern.
    """
    unknown = ("Int128", "UInt128", "Float16", "Object")
    return pl.DataFrame([c for c in empty.get_columns() if str(c.dtype) not in unknown])


def as_table(source: Source) -> Source:
    """Return a relation as an Arrow table, which can be joined with what lies elsewhere."""
    if source.own is None:
        return source
    relation = source.own
    return Source(
        source.relation,
        source.name,
        # At once: its connection could not stream it and run the join.
        lambda columns: relation.project(", ".join(map(quote, columns))).to_arrow_table(),
        label=source.label,
    )


def _frame(source: object, name: str) -> Source | None:
    """Return the source for a Polars or pandas frame."""
    if isinstance(source, pl.DataFrame):
        return _registered(
            name,
            lambda columns: source.select(by_name(*columns)),
            empty=_readable(source.clear()),
            rows=source.height,
            label="the DataFrame",
        )
    if isinstance(source, pl.LazyFrame):
        return _registered(
            name,
            lambda columns: _LazyStream(source.select(by_name(*columns))),
            empty=_readable(pl.DataFrame(schema=source.collect_schema())),
            stream=True,
            label="the LazyFrame",
        )
    if type(source).__module__.split(".")[0] == "pandas":
        frame: Any = source
        pa: Any = import_module("pyarrow")
        return _registered(
            name,
            # Through Arrow: DuckDB reads past the end of a reversed or strided frame.
            lambda columns: pa.Table.from_pandas(frame[list(columns)], preserve_index=False),
            empty=pa.Table.from_pandas(frame.head(0), preserve_index=False),
            rows=len(frame),
            label="the pandas DataFrame",
        )
    return None


def _arrow(source: object, name: str) -> Source | None:
    """Return the source for a PyArrow object; pyarrow is there if one was passed."""
    if type(source).__module__.split(".")[0] != "pyarrow":
        return None
    pa: Any = import_module("pyarrow")
    ds: Any = import_module("pyarrow.dataset")
    table: Any = source
    if isinstance(source, pa.RecordBatch):
        table = pa.Table.from_batches([source])
    if isinstance(table, pa.Table):
        return _registered(
            name,
            lambda columns: table.select(list(columns)),
            empty=table.schema.empty_table(),
            rows=table.num_rows,
            label="the Arrow table",
        )
    if isinstance(source, pa.RecordBatchReader):
        return _registered(
            name,
            lambda _: table,
            empty=table.schema.empty_table(),
            stream=True,
            once=True,
            label="the RecordBatchReader",
        )
    if isinstance(source, ds.Dataset):
        return _registered(
            name,
            lambda _: table,
            empty=table.schema.empty_table(),
            label="the dataset",
        )
    return None


def open_source(source: object, *, query: str | None = None, con: Any = None, name: str) -> Source:
    """Return the source behind whatever the user passed.

    Parameters
    ----------
    source : object
        See the README for what is taken.
    query : str or None
        A SELECT, instead of a source.
    con : duckdb.DuckDBPyConnection or None
        The connection in which a table name or a query is looked up.
    name : str
        The name an object in memory is registered under.

    Raises
    ------
    SourceError
        If a file is missing or a pattern matches nothing.
    RequestError
        If this kind of object is not taken.
    """
    if query is not None:
        if source is not None:
            raise RequestError("give a source or query=, not both")
        # The line break ends a comment that the query may end with.
        return Source(f"({query.strip().rstrip(';')}\n)", con=con, label="the query")
    if isinstance(source, (str, PathLike)):
        path = str(cast("str | PathLike[str]", source))
        return _table(con, path) if con is not None else _paths([path])
    if isinstance(source, (list, tuple)):
        for each in cast("Sequence[object]", source):
            if not isinstance(each, (str, PathLike)):
                kind = type(each).__name__
                raise RequestError(f"a list holds paths, and this one a {kind}; concatenate frames")
        return _paths([str(path) for path in cast("Sequence[object]", source)])
    found = _frame(source, name) or _arrow(source, name)
    if found is not None:
        return found
    kind = type(source)
    if kind.__name__ == "DuckDBPyRelation":
        return Source(quote(name), name, own=source, label="the relation")
    raise RequestError(f"cannot evaluate a {kind.__module__}.{kind.__qualname__}; give {_KINDS}")
