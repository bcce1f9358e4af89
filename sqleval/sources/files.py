"""Opens files as a source: paths, patterns, folders and URLs."""

import os
import re
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import cache, partial
from glob import escape, glob, has_magic
from os import fspath, walk
from pathlib import Path

from sqleval.common.sql_text import write_literal
from sqleval.errors import RequestError, SourceError
from sqleval.sources.database.naming import check_file
from sqleval.sources.datasets import open_dataset
from sqleval.sources.source import HIVE, PARQUET, Source
from sqleval.sources.stores import (
    ObjectStore,
    Storage,
    StoredFile,
    compile_pattern,
    expand_home,
    is_remote,
    list_local,
    list_stored,
    split_kind,
)

#: DuckDB's reader of each format, and the endings of its files. PyArrow reads formats without one.
FORMATS = {
    "Parquet": ("read_parquet", PARQUET),
    "CSV": ("read_csv", (".csv",)),
    "TSV": ("read_csv", (".tsv",)),
    "JSON": ("read_json", (".json", ".jsonl", ".ndjson")),
    "Arrow": (None, (".arrow", ".feather", ".ipc")),
}
#: Endings of compressed text files, after the ending of the format.
_COMPRESSED = (".gz", ".zst")
#: Endings of data that cannot be read. In a folder such files are an error, and other unknown
#: files are ignored.
_UNREADABLE = (
    ".avro", ".bz2", ".lz4", ".orc", ".xls", ".xlsx", ".xz", ".zip",
)  # fmt: skip
#: Bytes in a buffer for CSV: two of the longest lines that DuckDB accepts. DuckDB's default is
#: 32 million, and it holds buffers of many files at a time.
_BUFFER = 4_000_000


def _find_format(path: str) -> tuple[str, str]:
    """Return the format of a file, a key of `FORMATS`, and its ending; both empty if unknown."""
    name = Path(path).name
    for format_name, (_, endings) in FORMATS.items():
        for ending in endings:
            is_text = format_name not in ("Parquet", "Arrow")
            for compressed in ("", *(_COMPRESSED if is_text else ())):
                if name.lower().endswith(ending + compressed):
                    return format_name, name[-len(ending + compressed) :]
    return "", ""


def _list_endings() -> str:
    endings = ", ".join(ending for _, each in FORMATS.values() for ending in each)
    return f"{endings} (text also with {' or '.join(_COMPRESSED)})"


def _find_common_format(files: Sequence[str], label: str) -> str:
    """Return the format of files; raise `SourceError` if they are not of one format."""
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
    return next(iter(examples))


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
) -> Source:
    """Return the source of listed files, with each row's file in a column ``name_as``."""
    label = files[0] if len(files) == 1 else f"{len(files)} files from {files[0]} to {files[-1]}"
    if any(map(is_remote, files)):
        return _open_remote(files, label, name, storage or {}, name_as)
    format_name = _find_common_format(files, label)
    reader, _ = FORMATS[format_name]
    if reader is None:
        return _open_local_dataset(files, format_name, label, name, name_as)
    return _make_source(reader, files, files, label, f", filename = {write_literal(name_as)}")


def _make_source(
    reader: str, paths: Sequence[str], files: Sequence[str], label: str, more: str = ""
) -> Source:
    """Return the source of paths that match files, for one of DuckDB's readers."""
    relation = _write_reader(reader, paths, more)
    return Source(
        relation,
        files=tuple(files),
        list_matches=partial(_list_all_matches, paths) if any(map(has_magic, paths)) else None,
        label=label,
        several=_list_parquet(reader, paths, files),
        text_reader="" if reader == "read_parquet" else relation,
    )


def _open_local_dataset(
    files: Sequence[str], format_name: str, label: str, name: str, name_as: str = ""
) -> Source:
    """Return the source of local files that PyArrow reads."""
    store, stored = list_local(files)
    source = open_dataset(store, stored, format_name, name=name, label=label, name_as=name_as)
    return replace(source, files=tuple(files), listed=())


def _open_remote(
    urls: Sequence[str], label: str, name: str, storage: Storage, name_as: str = ""
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
            matches = _choose_data(matches, url)
        stores.append(store)
        files += matches
    if len(urls) > 1:
        _refuse_repeats([file.url for file in files])
    if any(store != stores[0] for store in stores):
        raise SourceError(f"cannot read {label!r} as one table: the URLs are of several stores")
    format_name = _find_common_format([file.url for file in files], label)
    return open_dataset(stores[0], files, format_name, name=name, label=label, name_as=name_as)


def _choose_data(files: Sequence[StoredFile], url: str) -> list[StoredFile]:
    """Return the data files of a folder of an object store."""
    _, _, folder = url.rstrip("/").rpartition("://")
    data = [f for f in files if _is_data(f.path) and not _is_hidden(_make_relative(f.path, folder))]
    if any("/_delta_log/" in file.path for file in files):
        raise SourceError(f"{url!r} holds a table in the Delta format; write delta+{url}")
    if any(file.path.endswith(".metadata.json") for file in files):
        raise SourceError(f"{url!r} holds a table in the Iceberg format; write iceberg+{url}")
    if not data:
        raise SourceError(f"no data file ({_list_endings()}) in the folder {url!r}")
    return data


def _make_relative(path: str, folder: str) -> Path:
    return Path(path.removeprefix(folder).lstrip("/"))


def _is_data(name: str) -> bool:
    return bool(_find_format(name)[0]) or Path(name).suffix.lower() in _UNREADABLE


def _is_hidden(file: Path) -> bool:
    """Whether a file or its folder starts with . or _, as temporary and deleted files do."""
    return any(part.startswith((".", "_")) and "=" not in part for part in file.parts)


def _find_root(pattern: str) -> str:
    """Return the folder that contains the matches of a pattern; empty for the working directory."""
    before = re.split(r"[*?\[]", pattern, maxsplit=1)[0]
    return before.rpartition("/")[0] or ("/" if before.startswith("/") else "")


def _list_matches(pattern: str) -> list[str]:
    """Return the files that match a pattern, in order."""
    if "**" not in Path(pattern).parts:
        return sorted(file for file in glob(pattern, recursive=True) if Path(file).is_file())
    # Not `glob`, which follows links in a circle, in all their combinations.
    fits = compile_pattern(Path(pattern).as_posix()).fullmatch
    root = Path(_find_root(pattern))
    is_hidden_named = any(part.startswith(".") for part in Path(pattern).relative_to(root).parts)
    files = (Path(folder, name) for folder, _, names in _walk(fspath(root)) for name in names)
    return sorted(
        fspath(file)
        for file in files
        if fits(file.as_posix())
        and (is_hidden_named or not any(p.startswith(".") for p in file.relative_to(root).parts))
        and file.is_file()
    )


def _list_all_matches(paths: Sequence[str]) -> list[str]:
    return [file for path in paths for file in (_list_matches(path) if has_magic(path) else [path])]


def _leads_back(link: Path) -> bool:
    """Whether a link leads to a folder that contains the link, so that following it has no end."""
    target = link.resolve()
    return any(each.resolve().is_relative_to(target) for each in link.absolute().parents)


def _walk(root: str) -> Iterator[tuple[str, list[str], list[str]]]:
    """Walk through a folder, as `os.walk` does, and through the folders to which its links lead.

    Raises
    ------
    SourceError
        If a folder cannot be listed, because rows would be missing. Folders that hold no data are
        an exception.
    """

    def refuse(error: OSError) -> None:
        is_gone = isinstance(error, (FileNotFoundError, NotADirectoryError))
        folder = Path(error.filename).relative_to(root)
        # The file system itself makes lost+found.
        if not (is_gone or _is_hidden(folder) or folder.name == "lost+found"):
            raise SourceError(f"cannot read {error.filename!r}: {error.strerror}") from error

    for folder, folders, names in walk(root, onerror=refuse, followlinks=True):
        paths = [Path(folder, name) for name in folders]
        folders[:] = [each.name for each in paths if not (each.is_symlink() and _leads_back(each))]
        yield folder, folders, names


def _resolve_links(paths: Sequence[str], root: str) -> tuple[list[str], bool]:
    """Return files below a root, without repeated ones, and whether a link leads to some.

    DuckDB's ``**`` does not follow links to folders.

    Raises
    ------
    SourceError
        If two links lead to one file.
    """

    @cache
    def find_link(folder: Path) -> bool:
        """Return whether a link below the root leads to a folder."""
        return folder != Path(root) and (folder.is_symlink() or find_link(folder.parent))

    is_linked = {path: find_link(Path(path).parent) for path in paths}
    if not any(is_linked.values()):
        return list(paths), False
    itself = {Path(path).resolve() for path in paths if not is_linked[path]}
    linked: dict[Path, str] = {}
    for path in filter(is_linked.get, paths):
        target = Path(path).resolve()
        other = linked.setdefault(target, path)
        if other != path and target not in itself:
            raise SourceError(
                f"{other!r} and {path!r} are one file, to which links lead, so its rows would "
                "count twice; list the files to read"
            )
    followed = {path for target, path in linked.items() if target not in itself}
    return [path for path in paths if not is_linked[path] or path in followed], True


def _refuse_repeats(files: Sequence[str]) -> None:
    """Raise `RequestError` if a list names a file twice, because its rows would count twice."""
    names: set[str] = set()
    for file in files:
        name = file if is_remote(file) else os.path.abspath(file)  # noqa: PTH100
        if name in names:
            raise RequestError(f"the list of paths names {file!r} twice; name each file once")
        names.add(name)


def _list_folder(path: str) -> tuple[list[str], list[str]]:
    """Return the data files of a folder, and the patterns for DuckDB to read."""
    folder = Path(path)
    files = sorted(Path(root, name) for root, _, names in _walk(path) for name in names)
    data = [f for f in files if _is_data(f.name)]
    paths = [fspath(file) for file in data if not _is_hidden(file.relative_to(folder))]
    if not paths:
        raise SourceError(f"no data file ({_list_endings()}) in the folder {path!r}")
    paths, has_links = _resolve_links(paths, fspath(folder))
    if len(paths) < len(data) or has_links:
        return paths, [escape(file) for file in paths]
    endings = dict.fromkeys(_find_format(file)[1] for file in paths)
    return paths, [f"{escape(path)}/**/*{ending}" for ending in endings]


def _find_local(path: str) -> tuple[list[str], list[str]]:
    """Return the files of one path, pattern or folder, and the patterns for DuckDB to read."""
    if has_magic(path) and not Path(path).exists():
        every = _list_matches(path)
        paths = [f for f in every if _find_format(f)[0] or not _is_hidden(Path(Path(f).name))]
        if not paths:
            raise SourceError(f"no file matches {path!r}")
        has_links = False
        if "**" in Path(path).parts:
            paths, has_links = _resolve_links(paths, _find_root(path))
        is_plain = len(paths) == len(every) and not has_links
        return paths, [path] if is_plain else [escape(file) for file in paths]
    where = Path(path)
    if where.is_dir():
        return _list_folder(path)
    if not where.exists():
        check_file(path)
    return [path], [escape(path)]


def is_read_from(file: str, path: str) -> bool:
    """Return whether a local file is among those that a path, pattern or folder reads."""
    path = split_kind(expand_home(path))[1]
    with suppress(SourceError):  # where there is no file
        return not is_remote(path) and any(
            Path(each).samefile(file) for each in _find_local(path)[0]
        )
    return False


def _list_below(root: str) -> Iterator[Path]:
    """Yield all files and folders below a folder."""
    for folder, folders, names in _walk(root):
        yield from (Path(folder, name) for name in (*folders, *names))


def _list_steps(pattern: str, root: str) -> Iterator[Path]:
    """Yield the files that match a pattern without ``**``, and the folders on the way to them.

    Other folders are not listed, because the root may be a whole home directory.
    """
    steps = [Path(pattern), *Path(pattern).parents]
    return (
        Path(each) for step in steps if step.is_relative_to(root) for each in glob(fspath(step))
    )


def list_roots(path: str) -> list[str]:
    """Return the files and folders to read for a path, pattern or folder; folders end in a slash.

    The targets of links within a folder are included.
    """
    path = split_kind(expand_home(path))[1]
    if is_remote(path):
        return []
    if Path(path).is_dir():
        root, inside = path, _list_below(path)
    elif has_magic(path) and not Path(path).exists():
        root = _find_root(path)
        inside = _list_below(root or ".") if "**" in Path(path).parts else _list_steps(path, root)
    else:
        return [path]
    links = [each for each in inside if each.is_symlink()]
    targets = [fspath(link.resolve()) + ("/" if link.is_dir() else "") for link in links]
    return [fspath(Path(root).resolve()) + "/", *targets]


def open_paths(paths: Sequence[str], *, name: str, storage: Storage | None = None) -> Source:
    """Open paths, patterns, folders and URLs as one source.

    Raises
    ------
    SourceError
        If one of them matches no file, or the files are of several kinds.
    RequestError
        If the list names a file twice.
    """
    if not paths:
        raise SourceError("the list of paths is empty")
    label = ", ".join(paths)
    if any(map(is_remote, paths)):
        return _open_remote(paths, label, name, storage or {})
    files: list[str] = []
    patterns: list[str] = []
    for path in paths:
        new_files, new_patterns = _find_local(path)
        files += new_files
        patterns += new_patterns
    if len(paths) > 1:
        _refuse_repeats(files)
    format_name = _find_common_format(files, label)
    reader, _ = FORMATS[format_name]
    if reader is None:
        return _open_local_dataset(files, format_name, label, name)
    return _make_source(reader, patterns, files, label)
