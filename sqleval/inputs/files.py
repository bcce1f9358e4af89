"""Files as a source: paths, patterns and folders."""

from collections.abc import Sequence
from glob import escape, glob, has_magic
from os import fspath, walk
from pathlib import Path

from sqleval.common.names import nearest
from sqleval.common.sql_text import literal
from sqleval.errors import SourceError
from sqleval.inputs.source import PARQUET, Source

#: DuckDB's reader of each format, and the endings of its files.
_FORMATS = {
    "Parquet": ("read_parquet", PARQUET),
    "CSV": ("read_csv", (".csv",)),
    "TSV": ("read_csv", (".tsv",)),
    "JSON": ("read_json", (".json", ".jsonl", ".ndjson")),
}
#: What may follow the ending of a text format.
_COMPRESSED = (".gz", ".zst")
#: Data that cannot be read here. In a folder it is refused, where other files are no data.
_UNREADABLE = (
    ".arrow", ".avro", ".bz2", ".feather", ".ipc", ".lz4", ".orc", ".xls", ".xlsx", ".xz", ".zip",
)  # fmt: skip
#: Hive keys stay text: DuckDB would infer a type from their values.
_HIVE = "hive_partitioning = TRUE, hive_types_autocast = FALSE"


def _find_format(path: str) -> tuple[str, str]:
    """Return the format of a file, a key of `_FORMATS`, and its ending; both empty if unknown."""
    name = Path(path).name
    for format_name, (_, endings) in _FORMATS.items():
        for ending in endings:
            for compressed in ("", *(() if format_name == "Parquet" else _COMPRESSED)):
                if name.lower().endswith(ending + compressed):
                    return format_name, name[-len(ending + compressed) :]
    return "", ""


def _list_endings() -> str:
    endings = ", ".join(ending for _, each in _FORMATS.values() for ending in each)
    return f"{endings} (text also with {' or '.join(_COMPRESSED)})"


def _find_reader(files: Sequence[str], label: str) -> str:
    """Return DuckDB's reader of files; raise `SourceError` if they are not of one format."""
    examples: dict[str, str] = {}
    for file in files:
        examples.setdefault(_find_format(file)[0], file)
    if "" in examples:
        raise SourceError(f"cannot read {examples['']!r}: files must end in {_list_endings()}")
    if len(examples) > 1:
        shown = " and ".join(f"{file!r} is {name}" for name, file in examples.items())
        raise SourceError(
            f"cannot read {label!r} as one table: {shown}; pass a pattern or a list of files of "
            "one format, or join them with query="
        )
    return _FORMATS[next(iter(examples))][0]


def _write_reader(reader: str, paths: Sequence[str], more: str = "") -> str:
    listed = ", ".join(literal(path) for path in paths)
    listed = listed if len(paths) == 1 else f"[{listed}]"
    return f"{reader}({listed}, {_HIVE}{more})"


def _list_parquet(reader: str, paths: Sequence[str], files: Sequence[str]) -> tuple[str, ...]:
    """Return paths that may match several Parquet files, whose types must be compared."""
    is_one = len(paths) == 1 and (len(files) == 1 or not has_magic(paths[0]))
    return () if is_one or reader != "read_parquet" else tuple(paths)


def open_files(files: Sequence[str], *, name_as: str) -> Source:
    """Return the source of these files, with each row's file in a column ``name_as``."""
    label = files[0] if len(files) == 1 else f"{len(files)} files from {files[0]} to {files[-1]}"
    reader = _find_reader(files, label)
    relation = _write_reader(reader, files, f", filename = {literal(name_as)}")
    local = tuple(file for file in files if not is_remote(file))
    return Source(relation, files=local, label=label, several=_list_parquet(reader, files, files))


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


def _list_folder(path: str) -> tuple[list[str], list[str]]:
    """Return the data files of a folder, and the patterns for DuckDB to read."""
    folder = Path(path)
    files = sorted(Path(root, name) for root, _, names in walk(path) for name in names)
    data = [f for f in files if _find_format(f.name)[0] or f.suffix.lower() in _UNREADABLE]
    found = [fspath(file) for file in data if not _is_hidden(file.relative_to(folder))]
    if not found:
        raise SourceError(f"no data file ({_list_endings()}) in the folder {path!r}")
    if len(found) < len(data):
        return found, [escape(file) for file in found]
    endings = dict.fromkeys(_find_format(file)[1] for file in found)
    return found, [f"{escape(path)}/**/*{ending}" for ending in endings]


def _find_local(path: str) -> tuple[list[str], list[str]]:
    """Return the files of one path, pattern or folder, and the patterns for DuckDB to read."""
    if has_magic(path) and not Path(path).exists():
        every = sorted(file for file in glob(path, recursive=True) if Path(file).is_file())
        found = [f for f in every if _find_format(f)[0] or not _is_hidden(Path(Path(f).name))]
        if not found:
            raise SourceError(f"no file matches {path!r}")
        return found, [path] if len(found) == len(every) else [escape(file) for file in found]
    where = Path(path)
    if where.is_dir():
        _refuse_table_format(path, where)
        return _list_folder(path)
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
    reader = _find_reader([*filter(is_remote, paths), *files], label)
    relation = _write_reader(reader, patterns)
    several = _list_parquet(reader, patterns, files)
    return Source(relation, files=tuple(files), label=label, several=several)
