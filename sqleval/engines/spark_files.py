"""Reads paths as DataFrames of Spark: files of a format, folders, tables of a lake."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from sqleval.common.imports import import_optional
from sqleval.errors import SourceError
from sqleval.inputs.source import PARQUET
from sqleval.inputs.stores import is_remote
from sqleval.inputs.tables import find_kind

#: The readers of Spark by the ending of a path; a folder without one holds Parquet files.
_READERS: Mapping[str, tuple[str, Mapping[str, str]]] = {
    **{ending: ("parquet", {}) for ending in PARQUET},
    **dict.fromkeys((".csv", ".csv.gz"), ("csv", {"header": "true", "inferSchema": "true"})),
    **dict.fromkeys((".json", ".jsonl", ".ndjson"), ("json", {})),
    ".orc": ("orc", {}),
}
#: Where a folder keeps the log of a table, by the table's format, and what the log's files match.
_LOGS = {"delta": ("_delta_log", "*"), "iceberg": ("metadata", "*.metadata.json")}
#: The folders of Hive partitions at the end of a path, and the value of a key that is NULL.
_KEYS = re.compile(r"((?:^|(?<=/))[^/=]+=[^/]*/)+(?=[^/]+$)")
_NONE = "__HIVE_DEFAULT_PARTITION__"


def _find_ending(path: str) -> str:
    return next((ending for ending in _READERS if path.lower().endswith(ending)), "")


def is_path(text: str) -> bool:
    """Whether a text is a path or URL, and no table's name."""
    return "/" in text or "\\" in text or bool(_find_ending(text))


def _get_reader(session: Any, path: str) -> Any:
    """Return the reader of files of the format of a path."""
    kind, options = _READERS[_find_ending(path) or PARQUET[0]]
    return session.read.format(kind).options(**options)


def read_paths(session: Any, paths: Sequence[str]) -> Any:
    """Return a DataFrame of files or folders of one format, or of one table.

    Raises
    ------
    SourceError
        If a folder holds a table, whose files are also those of deleted rows.
    """
    kind, place = find_kind(paths[0])
    if len(paths) == 1 and kind in _LOGS:
        return session.read.format(kind).load(place)
    for path in paths:
        kind, _ = find_kind(path)
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
            continue  # Spark has an error for a folder that is missing, Sail has no rows.
    return ""
