"""Files as a source: paths, patterns and folders."""

from collections.abc import Sequence
from glob import escape, glob, has_magic
from os import fspath
from pathlib import Path

from sqleval.common.names import nearest
from sqleval.common.sql_text import literal
from sqleval.errors import SourceError
from sqleval.inputs.source import Source

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
    return Source(relation, files=local, label=label, several=_several(files, files))


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


def open_paths(paths: Sequence[str]) -> Source:
    """Return the source of paths, patterns and folders.

    Raises
    ------
    SourceError
        If one of them matches no file, or the files are of several kinds.
    """
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
    return Source(relation, files=tuple(files), label=label, several=_several(patterns, files))
