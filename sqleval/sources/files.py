"""Opens files as a source: paths, patterns, folders and URLs."""

import os
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from glob import has_magic
from pathlib import Path

from sqleval.common.sql_text import write_literal
from sqleval.errors import RequestError, SourceError
from sqleval.sources.datasets import open_dataset
from sqleval.sources.formats import FORMATS, find_common_format, is_data, list_endings
from sqleval.sources.nested import open_nested
from sqleval.sources.paths import find_local, is_hidden, list_all_matches, list_keys
from sqleval.sources.reading import (
    BY_ENDING,
    Reading,
    fit_reading,
    split_formats,
    write_csv_options,
)
from sqleval.sources.source import HIVE, Source
from sqleval.sources.stores import (
    ObjectStore,
    Storage,
    StoredFile,
    is_remote,
    list_local,
    list_stored,
)
from sqleval.sources.text_tables import ReadHeads, write_line_options

#: Bytes in a buffer for CSV: two of the longest lines that DuckDB accepts. DuckDB's default is
#: 32 million, and it holds buffers of many files at a time.
_BUFFER = 4_000_000


def _write_reader(reader: str, paths: Sequence[str], more: str = "") -> str:
    listed = ", ".join(write_literal(path) for path in paths)
    listed = listed if len(paths) == 1 else f"[{listed}]"
    more += f", buffer_size = {_BUFFER}" if reader == "read_csv" else ""
    return f"{reader}({listed}, {HIVE}{more})"


def _list_parquet(reader: str, paths: Sequence[str], files: Sequence[str]) -> tuple[str, ...]:
    """Return paths that may match several Parquet files, whose types must be compared."""
    is_one = len(paths) == 1 and (len(files) == 1 or not has_magic(paths[0]))
    return () if is_one or reader != "read_parquet" else tuple(paths)


def open_files(
    files: Sequence[str],
    *,
    name_as: str,
    name: str = "_sqleval_rows",
    storage: Storage | None = None,
    reading: Reading = BY_ENDING,
) -> Source:
    """Return the source of listed files, with each row's file in a column ``name_as``."""
    label = files[0] if len(files) == 1 else f"{len(files)} files from {files[0]} to {files[-1]}"
    if any(map(is_remote, files)):
        return _open_remote(files, label, name, storage or {}, reading, name_as)
    return _open_local(files, files, label, name, reading, name_as)


def _open_local(
    paths: Sequence[str],
    files: Sequence[str],
    label: str,
    name: str,
    reading: Reading,
    name_as: str = "",
) -> Source:
    """Return the source of local paths that match files."""
    format_name = reading.format_name or find_common_format(files, label)
    reading = fit_reading(reading, format_name, label)
    reader = FORMATS[format_name].reader
    kept = [*list_keys(files), *([name_as] if name_as else [])]
    more = f", filename = {write_literal(name_as)}" if name_as else ""
    if not reader or reading.needs_arrow:
        return _open_local_dataset(files, label, name, reading, name_as)
    if reader == "lines":
        more += write_line_options(reading)
        source = _make_source("read_csv", paths, files, label, reading, more)
        settle = ReadHeads(reading, tuple(files), list_keys(files))
        return replace(source, text_reader="", settle=settle)
    if reader == "read_csv":
        more += write_csv_options(reading)
    source = _make_source(reader, paths, files, label, reading, more)
    return open_nested(source, reading.rows, kept) if reading.rows else source


def _make_source(
    reader: str,
    paths: Sequence[str],
    files: Sequence[str],
    label: str,
    reading: Reading,
    more: str = "",
) -> Source:
    """Return the source of paths that match files, for one of DuckDB's readers."""
    relation = _write_reader(reader, paths, more)
    return Source(
        relation,
        files=tuple(files),
        list_matches=partial(list_all_matches, paths) if any(map(has_magic, paths)) else None,
        label=label,
        several=_list_parquet(reader, paths, files),
        text_reader="" if reader == "read_parquet" else relation,
        reading=reading,
    )


def _open_local_dataset(
    files: Sequence[str], label: str, name: str, reading: Reading, name_as: str = ""
) -> Source:
    """Return the source of local files that PyArrow reads."""
    store, stored = list_local(files)
    source = open_dataset(store, stored, reading, name=name, label=label, name_as=name_as)
    return replace(source, files=tuple(files), listed=())


def _open_remote(
    urls: Sequence[str],
    label: str,
    name: str,
    storage: Storage,
    reading: Reading,
    name_as: str = "",
) -> Source:
    """Return the source of URLs of one object store."""
    if local := [url for url in urls if not is_remote(url)]:
        raise SourceError(
            f"cannot read {label!r} as one table: {local[0]!r} is a local path and others are "
            "URLs; join them with query="
        )
    files: list[StoredFile] = []
    stores: list[ObjectStore] = []
    for url in urls:
        store, matches, is_folder = list_stored(url, storage)
        if is_folder:
            matches = _choose_data(matches, url, is_named=bool(reading.format_name))
        stores.append(store)
        files += matches
    if len(urls) > 1:
        _refuse_repeats([file.url for file in files])
    if any(store != stores[0] for store in stores):
        raise SourceError(f"cannot read {label!r} as one table: the URLs are of several stores")
    format_name = reading.format_name or find_common_format([file.url for file in files], label)
    reading = fit_reading(reading, format_name, label)
    if reading.rows:
        raise SourceError(f"rows={reading.rows!r} (--rows) is for local files; copy {label!r}")
    return open_dataset(stores[0], files, reading, name=name, label=label, name_as=name_as)


def _choose_data(files: Sequence[StoredFile], url: str, *, is_named: bool) -> list[StoredFile]:
    """Return the data files of a folder of an object store; all files if their format is named."""
    _, _, folder = url.rstrip("/").rpartition("://")
    data = [f for f in files if not is_hidden(_make_relative(f.path, folder))]
    data = [file for file in data if is_named or is_data(file.path)]
    if any("/_delta_log/" in file.path for file in files):
        raise SourceError(f"{url!r} holds a table in the Delta format; write delta+{url}")
    if any(file.path.endswith(".metadata.json") for file in files):
        raise SourceError(f"{url!r} holds a table in the Iceberg format; write iceberg+{url}")
    if not data:
        raise SourceError(f"no data file ({list_endings()}) in the folder {url!r}")
    return data


def _make_relative(path: str, folder: str) -> Path:
    return Path(path.removeprefix(folder).lstrip("/"))


def _refuse_repeats(files: Sequence[str]) -> None:
    """Raise `RequestError` if a list names a file twice, because its rows would count twice."""
    names: set[str] = set()
    for file in files:
        name = file if is_remote(file) else os.path.abspath(file)  # noqa: PTH100
        if name in names:
            raise RequestError(f"the list of paths names {file!r} twice; name each file once")
        names.add(name)


def open_paths(
    paths: Sequence[str],
    *,
    name: str,
    storage: Storage | None = None,
    reading: Reading = BY_ENDING,
) -> Source:
    """Open paths, patterns, folders and URLs as one source.

    A prefix before the paths, such as ``csv+``, names the format of the files.

    Raises
    ------
    SourceError
        If one of them matches no file, or the files are of several kinds.
    RequestError
        If the list names a file twice, or the prefixes differ.
    """
    if not paths:
        raise SourceError("the list of paths is empty")
    format_name, paths = split_formats(paths)
    reading = reading._replace(format_name=format_name or reading.format_name)
    label = ", ".join(paths)
    if any(map(is_remote, paths)):
        return _open_remote(paths, label, name, storage or {}, reading)
    files: list[str] = []
    patterns: list[str] = []
    for path in paths:
        new_files, new_patterns = find_local(path, is_named=bool(format_name))
        files += new_files
        patterns += new_patterns
    if len(paths) > 1:
        _refuse_repeats(files)
    return _open_local(patterns, files, label, name, reading)
