"""Finds the local files of paths, patterns and folders."""

import re
from collections.abc import Iterator, Sequence
from contextlib import suppress
from functools import cache
from glob import escape, glob, has_magic
from os import fspath, walk
from pathlib import Path

from sqleval.errors import SourceError
from sqleval.sources.database.naming import check_file
from sqleval.sources.formats import find_format, is_data, list_endings
from sqleval.sources.reading import split_format
from sqleval.sources.stores import compile_pattern, expand_home, is_remote, split_kind


def list_keys(paths: Sequence[str]) -> tuple[str, ...]:
    """Return the partition keys that all paths have."""
    named = [
        [part.partition("=")[0] for part in path.split("/")[:-1] if part.find("=") > 0]
        for path in paths
    ]
    return tuple(key for key in dict.fromkeys(named[0]) if all(key in each for each in named))


def is_hidden(file: Path) -> bool:
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


def list_all_matches(paths: Sequence[str]) -> list[str]:
    """Return the files that paths and patterns match now."""
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
        if not (is_gone or is_hidden(folder) or folder.name == "lost+found"):
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


def _list_folder(path: str, *, is_named: bool) -> tuple[list[str], list[str]]:
    """Return the data files of a folder, and the patterns for DuckDB to read."""
    folder = Path(path)
    files = sorted(Path(root, name) for root, _, names in _walk(path) for name in names)
    data = [file for file in files if is_named or is_data(file.name)]
    paths = [fspath(file) for file in data if not is_hidden(file.relative_to(folder))]
    if not paths:
        raise SourceError(f"no data file ({list_endings()}) in the folder {path!r}")
    paths, has_links = _resolve_links(paths, fspath(folder))
    if len(paths) < len(data) or has_links or is_named:
        return paths, [escape(file) for file in paths]
    endings = dict.fromkeys(find_format(file)[1] for file in paths)
    return paths, [f"{escape(path)}/**/*{ending}" for ending in endings]


def find_local(path: str, *, is_named: bool) -> tuple[list[str], list[str]]:
    """Return the files of one path, pattern or folder, and the patterns for DuckDB to read.

    If the format is named, all files of a folder are read, whatever their endings.
    """
    if has_magic(path) and not Path(path).exists():
        every = _list_matches(path)
        paths = [f for f in every if find_format(f)[0] or not is_hidden(Path(Path(f).name))]
        if not paths:
            raise SourceError(f"no file matches {path!r}")
        has_links = False
        if "**" in Path(path).parts:
            paths, has_links = _resolve_links(paths, _find_root(path))
        is_plain = len(paths) == len(every) and not has_links
        return paths, [path] if is_plain else [escape(file) for file in paths]
    where = Path(path)
    if where.is_dir():
        return _list_folder(path, is_named=is_named)
    if not where.exists():
        check_file(path)
    return [path], [escape(path)]


def is_read_from(file: str, path: str) -> bool:
    """Return whether a local file is among those that a path, pattern or folder reads."""
    format_name, path = split_format(expand_home(path))
    path = split_kind(path)[1]
    with suppress(SourceError):  # where there is no file
        return not is_remote(path) and any(
            Path(each).samefile(file) for each in find_local(path, is_named=bool(format_name))[0]
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
