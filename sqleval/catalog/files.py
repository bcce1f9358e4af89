"""Finds the files under ``sql/``, reads and checks them, and says what each one is.

A file is read the first time it is asked for, and once. Its name is its stem, its
family is its folder; its kind follows from the columns it returns.
"""

from collections.abc import Mapping
from functools import cache
from pathlib import Path

from sqleval.catalog.contract import CONTRACT, Kind, Relation, read_file
from sqleval.common.names import nearest
from sqleval.errors import LoadError, RequestError


@cache
def sql_folder() -> Path:
    """Return the folder of the SQL files: in the package when installed, else beside it."""
    package = Path(__file__).parents[1]
    for folder in (package / "sql", package.parent / "sql"):
        if folder.is_dir():
            return folder
    raise LoadError(f"no sql folder in or beside {package}")


@cache
def index(folder: Path | None = None) -> Mapping[str, tuple[Path, ...]]:
    """Map each name to its files, the portable one first, without reading them."""
    found: dict[str, list[Path]] = {}
    for path in sorted((folder or sql_folder()).glob("*/*.sql")):
        found.setdefault(path.name.split(".")[0], []).append(path)
    for name, paths in found.items():
        paths.sort(key=lambda path: path.name.count("."))
        plain = [path for path in paths if path.name.count(".") == 1]
        if name not in CONTRACT and len(plain) != 1:
            where = ", ".join(f"{path.parent.name}/{path.name}" for path in paths)
            raise LoadError(f"{name!r} needs one portable file and has {len(plain)} ({where})")
    return {name: tuple(paths) for name, paths in found.items()}


def files(name: str, folder: Path | None = None) -> tuple[Relation, ...]:
    """Return the file called ``name`` and its twins."""
    return tuple(load(path) for path in index(folder).get(name, ()))


def get(name: str) -> Relation:
    """Return the portable file called ``name``; unknown names are an error.

    Raises
    ------
    RequestError
        If there is no such file; the message names the nearest.
    """
    paths = index().get(name)
    if not paths or name in CONTRACT:
        raise RequestError(f"no metric called {name!r}{nearest(name, index())}")
    return load(paths[0])


def relations(*kinds: Kind) -> list[Relation]:
    """Return every portable file of these kinds (of all kinds if none is given), by path."""
    plain = (load(paths[0]) for name, paths in index().items() if name not in CONTRACT)
    chosen = [relation for relation in plain if not kinds or relation.kind in kinds]
    return sorted(chosen, key=lambda relation: (relation.family, relation.name))


@cache
def load(path: Path) -> Relation:
    """Read and check one file.

    Raises
    ------
    LoadError
        If it breaks the contract; the message names file and line.
    """
    return read_file(path, index(path.parent.parent))
