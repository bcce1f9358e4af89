"""Files as a source: paths, patterns and folders."""

from collections.abc import Sequence
from glob import escape, glob, has_magic
from os import fspath
from pathlib import Path

from sqleval.common.names import nearest
from sqleval.common.sql_text import literal
from sqleval.errors import SourceError
from sqleval.inputs.source import Source

#: DuckDB's reader of each file ending. Hive keys stay text: DuckDB would infer a type from values.
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


def _find_suffix(path: str) -> str:
    suffixes = Path(path).suffixes[-2:]
    joined = "".join(suffixes).lower()
    return joined if joined in _READERS else (suffixes[-1].lower() if suffixes else "")


def _write_reader(paths: Sequence[str], pattern: str, more: str = "") -> str:
    kinds = {_find_suffix(path) for path in paths}
    if len(kinds) != 1 or not kinds <= _READERS.keys():
        shown = ", ".join(sorted(kind or "no ending" for kind in kinds))
        raise SourceError(
            f"cannot read {pattern!r}: files end in {shown}; one of {', '.join(_READERS)} is read"
        )
    function, options = _READERS[kinds.pop()]
    listed = ", ".join(literal(path) for path in paths)
    listed = listed if len(paths) == 1 else f"[{listed}]"
    return f"{function}({listed}, {options}{more})"


def _list_parquet(paths: Sequence[str], files: Sequence[str]) -> tuple[str, ...]:
    """Return paths that may match several Parquet files, whose types must be compared."""
    is_one = len(paths) == 1 and (len(files) == 1 or not has_magic(paths[0]))
    return () if is_one or _find_suffix(paths[0]) != ".parquet" else tuple(paths)


def open_files(files: Sequence[str], *, name_as: str) -> Source:
    """Return the source of these files, with each row's file in a column ``name_as``."""
    label = files[0] if len(files) == 1 else f"{len(files)} files from {files[0]} to {files[-1]}"
    relation = _write_reader(files, label, f", filename = {literal(name_as)}")
    local = tuple(file for file in files if not is_remote(file))
    return Source(relation, files=local, label=label, several=_list_parquet(files, files))


def is_remote(path: str) -> bool:
    """Whether a path is a URL."""
    return "://" in path


def _refuse_table_format(path: str, folder: Path) -> None:
    """Raise if a folder is a Delta or Iceberg table: its files also hold deleted rows."""
    for kind, sign in (("Delta", "_delta_log"), ("Iceberg", "metadata/*.metadata.json")):
        if any(folder.glob(sign)):
            raise SourceError(
                f"{path!r} holds a table in the {kind} format, and rows beside it that were "
                f"deleted or replaced; in Python, pass "
                f"polars.scan_{kind.lower()}(...), which reads its log"
            )


def _is_hidden(file: Path) -> bool:
    """Whether a file or its folder starts with . or _, as temporary and deleted files do."""
    return any(part.startswith((".", "_")) and "=" not in part for part in file.parts)


def _find_local(path: str) -> tuple[list[str], list[str]]:
    """Return the files of one path, pattern or folder, and the patterns for DuckDB to read."""
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
    """Open paths, patterns and folders as one source.

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
        new_files, new_patterns = ([], [path]) if is_remote(path) else _find_local(path)
        files += new_files
        patterns += new_patterns
    label = ", ".join(paths)
    relation = _write_reader(patterns, label)
    return Source(relation, files=tuple(files), label=label, several=_list_parquet(patterns, files))
