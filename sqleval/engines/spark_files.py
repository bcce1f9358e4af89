"""Reads paths as DataFrames of Spark: files of a format, folders, tables of a lake."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from functools import reduce
from pathlib import Path
from typing import Any
from urllib.parse import unquote

from sqleval.common.imports import import_optional
from sqleval.errors import SourceError
from sqleval.sources.formats import PARQUET
from sqleval.sources.lake.tables import find_table_kind
from sqleval.sources.reading import split_format
from sqleval.sources.stores import is_remote

#: Spark's format and options by the ending of a path; a folder without one holds Parquet files.
READERS: Mapping[str, tuple[str, Mapping[str, str]]] = {
    **{ending: ("parquet", {}) for ending in PARQUET},
    **dict.fromkeys((".csv", ".csv.gz"), ("csv", {"header": "true", "inferSchema": "true"})),
    **dict.fromkeys((".json", ".jsonl", ".ndjson"), ("json", {})),
    ".orc": ("orc", {}),
}
#: The folder of a table's log and the pattern of the log's files, by table format.
_LOGS = {"delta": ("_delta_log", "*"), "iceberg": ("metadata", "*.metadata.json")}
#: The folder of a Hive partition in a path: a key and its value.
_KEY = re.compile(r"(?<=/)([^/=]+)=([^/]*)/")
#: Hive's text for a key that is NULL.
_NONE = "__HIVE_DEFAULT_PARTITION__"


def _find_ending(path: str) -> str:
    return next((ending for ending in READERS if path.lower().endswith(ending)), "")


def is_path(text: str) -> bool:
    """Whether a text is a path or URL, rather than a table's name."""
    is_named = bool(split_format(text)[0])
    return is_named or "/" in text or "\\" in text or bool(_find_ending(text))


def _get_reader(session: Any, path: str) -> Any:
    """Return the reader of files of the format of a path."""
    kind, options = READERS[_find_ending(path) or PARQUET[0]]
    return session.read.format(kind).options(**options)


def write_path(path: str) -> str:
    """Return a path as a table in Spark's SQL; empty if its reader needs options."""
    lake, place = find_table_kind(path)
    if lake in _LOGS:
        return f"{lake}.{quote_name(place)}"
    kind, options = READERS[_find_ending(path) or PARQUET[0]]
    return "" if options else f"{kind}.{quote_name(path)}"


def quote_name(name: str) -> str:
    """Return a name or path in the quotes of Spark's SQL."""
    return "`" + name.replace("`", "``") + "`"


def read_paths(session: Any, paths: Sequence[str]) -> Any:
    """Return a DataFrame of files or folders of one format, or of one table.

    Raises
    ------
    SourceError
        If a folder holds a table of a lake, because its files still contain deleted rows.
    """
    kind, place = find_table_kind(paths[0])
    if len(paths) == 1 and kind in _LOGS:
        return session.read.format(kind).load(place)
    for path in paths:
        if split_format(path)[0]:
            raise SourceError(
                f"{path!r}: Spark reads files by their endings, not by a prefix; leave engine= out"
            )
        kind, _ = find_table_kind(path)
        if kind == "ducklake":
            raise SourceError(f"Spark reads no DuckLake, and {path!r} is one; leave engine= out")
        if not kind and is_remote(path) and not _find_ending(path) and "*" not in path:
            kind = _find_remote_kind(session, path)
        if kind:
            raise SourceError(
                f"{path!r} holds a table in the {kind.title()} format; write {kind}+{path}"
                if len(paths) == 1
                else f"{path!r} is a table in a list of {len(paths)} paths; give the table alone"
            )
    return _get_reader(session, paths[0]).load(list(paths))


def _find_remote_kind(session: Any, path: str) -> str:
    """Return the format of the table that a folder of an object store holds; empty if it is none.

    The session lists the folder, as it has the credentials.
    """
    errors: Any = import_optional("pyspark.errors", "spark", "Spark")
    for kind, (folder, pattern) in _LOGS.items():
        reader = session.read.format("binaryFile").option("pathGlobFilter", pattern)
        try:
            if reader.load(f"{path.rstrip('/')}/{folder}").select("path").head(1):
                return kind
        except errors.PySparkException:
            continue  # For a missing folder Spark raises an error, and Sail returns no rows.
    return ""


def read_files(session: Any, files: Sequence[str]) -> Any:
    """Return a DataFrame of listed files, with the keys of their Hive partitions as text.

    The caller resolves patterns, because for Spark ``**`` is one level of folders, and because
    the caller knows which files cannot be read.

    Raises
    ------
    SourceError
        If files have different partition keys.
    """
    files = [file if is_remote(file) else str(Path(file).absolute()) for file in files]
    parts: dict[tuple[tuple[str, str], ...], list[str]] = {}
    for file in files:
        parts.setdefault(_parse_keys(file), []).append(file)
    several = {tuple(name for name, _ in part) for part in parts}
    if len(several) > 1:
        keys = " and ".join(f"({', '.join(each)})" for each in sorted(several))
        raise SourceError(f"cannot read {len(files)} files as one table: partition keys {keys}")
    (names,) = several
    reader = _get_reader(session, files[0])
    if not names:
        return reader.load(list(files))
    reader = reader.option("basePath", _KEY.split(files[0], maxsplit=1)[0])
    frame = reader.load(list(files))
    if {*names} <= {*frame.columns}:
        return reader.schema(_read_as_text(frame.schema, names)).load(list(files))
    # Sail 0.7 ignores basePath, so add the keys to each partition.
    frames = [_add_keys(session, part, listed) for part, listed in parts.items()]
    return reduce(lambda one, other: one.unionByName(other, allowMissingColumns=True), frames)


def _parse_keys(file: str) -> tuple[tuple[str, str], ...]:
    """Return the names and values of the Hive partitions in a path."""
    return tuple((unquote(name), unquote(value)) for name, value in _KEY.findall(file))


def _read_as_text(schema: Any, names: Sequence[str]) -> Any:
    """Return a schema in which columns are texts: Spark would read the key 07 as 7."""
    written = json.loads(schema.json())
    for field in written["fields"]:
        if field["name"] in names:
            field["type"] = "string"
    types: Any = import_optional("pyspark.sql.types", "spark", "Spark")
    return types.StructType.fromJson(written)


def _add_keys(session: Any, part: Sequence[tuple[str, str]], files: list[str]) -> Any:
    """Return a DataFrame of the files of one partition, with its keys."""
    functions: Any = import_optional("pyspark.sql.functions", "spark", "Spark")
    keys = {name: functions.lit(None if value == _NONE else value) for name, value in part}
    typed = {name: key.cast("string") for name, key in keys.items()}
    return _get_reader(session, files[0]).load(files).withColumns(typed)
