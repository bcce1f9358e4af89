"""Reads the SQL files of one or several folders, each at its first use."""

import os
from collections.abc import Mapping
from functools import cache, cached_property
from importlib.metadata import entry_points
from keyword import iskeyword
from pathlib import Path

from sqlglot import exp

from sqleval.catalog import graph
from sqleval.catalog.contract import Kind, Relation, read_file
from sqleval.catalog.fusion import add_parts, fuse
from sqleval.catalog.graph import Resolve
from sqleval.catalog.header import (
    COLUMN_FILES,
    INTERVALS,
    find_column_word,
    find_home,
    find_key_line,
    find_word_line,
    make_error,
    parse_aliases,
    read_header,
    read_text,
)
from sqleval.catalog.parameters import Param
from sqleval.catalog.queries import may_repeat_slices
from sqleval.catalog.relations import CONTRACT, list_contract_columns
from sqleval.catalog.row_means import split_metric
from sqleval.common.names import find_nearest
from sqleval.errors import LoadError, RequestError

#: The files of the mean of a value by row, and of its standard error.
_MEAN, _MEAN_ERROR = "row_mean", "row_mean_error"


class Catalogue:
    """SQL files by name: metrics, curves, splits and the steps that they read.

    The name of a file is its stem and its family is its folder. Its kind follows from the columns
    that it returns.

    Parameters
    ----------
    *folders : str or Path
        Folders with one subfolder per family; `base` has further ones. Names are unique over all
        of them.

    Raises
    ------
    LoadError
        If a folder has no such files, a name has no portable file, or several have one name.

    Examples
    --------
    >>> from sqleval.catalog import builtin
    >>> builtin().get("roc_auc").family
    'binary'
    """

    def __init__(self, *folders: str | Path) -> None:
        self.folders = tuple(map(Path, folders))
        self._paths = _map_paths(self.folders)
        self._relations: dict[Path, Relation] = {}
        #: The steps with the rows of metrics that are means, by name: `row_means.split_metric`.
        self._rows: dict[str, list[Relation]] = {}
        # Caches: one statement looks these up hundreds of times.
        self._files: dict[str, tuple[Relation, ...]] = {}
        self._chosen: dict[tuple[str, frozenset[str], bool], Relation | None] = {}
        self._parameters: dict[object, Mapping[str, Param]] = {}

    @property
    def names(self) -> Mapping[str, tuple[Path, ...]]:
        """Each name and its files, the portable one first."""
        return self._paths

    @cached_property
    def aliases(self) -> Mapping[str, str]:
        """Other names of metrics and curves, such as ``auroc``, and the file's name for each.

        A file in a later folder may have the name of an alias; then the name means the file.

        Raises
        ------
        LoadError
            If two files share an alias, or it is the name of a file in the same or an earlier
            folder.
        """
        aliases: dict[str, str] = {}
        for name, paths in self._paths.items():
            if name in CONTRACT:
                continue
            text = read_text(paths[0])
            for alias in parse_aliases(paths[0], text, read_header(paths[0], text)):
                message = ""
                if alias in aliases:
                    message = f"{alias!r} is an alias of {aliases[alias]!r} too"
                elif self._is_hidden(alias, paths[0]):
                    message = f"the alias {alias!r} is the name of a file, which comes before it"
                if message:
                    raise make_error(paths[0], find_key_line(text, "aliases"), message)
                aliases[alias] = name
        return aliases

    def _is_hidden(self, alias: str, path: Path) -> bool:
        """Whether the alias of a file is the name of another in the same or an earlier folder."""
        if alias not in self._paths:
            return False
        homes = (find_home(each).parent for each in (self._paths[alias][0], path))
        file_place, alias_place = map(self.folders.index, homes)
        return file_place <= alias_place

    def find(self, name: str) -> str | None:
        """Return the name of the file that a name or an alias stands for; None if unknown."""
        return name if name in self._paths or name in self._rows else self.aliases.get(name)

    def files(self, name: str) -> tuple[Relation, ...]:
        """Return the file called ``name`` and its twins; () for an unknown name."""
        if name in self._rows:
            return tuple(self._rows[name])
        if name not in self._files:
            paths = (path for path in self._paths.get(name, ()) if not find_column_word(path))
            files = tuple(self._load(path) for path in paths)
            _check_twins(files)
            self._files[name] = files
        return self._files[name]

    def choose(
        self, name: str, conditions: frozenset[str], *, twin: bool = True
    ) -> Relation | None:
        """Return the file for ``name`` with the most conditions, if all of them hold.

        Without ``twin``, return the portable file.
        """
        key = (name, conditions, twin)
        if key not in self._chosen:
            fitting = (r for r in self.files(name) if r.when <= conditions and (twin or not r.when))
            best = max(fitting, key=lambda r: len(r.when), default=None)
            self._chosen[key] = best and (fuse(best, conditions) if best.parts else best)
        return self._chosen[key]

    def get(self, name: str) -> Relation:
        """Return the portable file that a name or an alias stands for.

        Raises
        ------
        RequestError
            If there is no such file; the message suggests a similar name.
        """
        full_name = self.find(name)
        if full_name is None or full_name in CONTRACT:
            near = find_nearest(name, {*self._paths, *self.aliases})
            raise RequestError(f"no metric called {name!r}{near}")
        if full_name in self._rows:
            return self._rows[full_name][0]
        return self._load(self._paths[full_name][0])

    def describe_kind(self, name: str) -> str:
        """Return, in brackets, the kind of the file that a name stands for; "" if unknown."""
        full_name = self.find(name)
        relation = self.portable(full_name) if full_name is not None else None
        if relation is None:
            return ""
        kind = "step" if relation.kind == "mergeable" else relation.kind
        where = ""
        if kind != "metric" and find_sql_folder() not in relation.path.parents:
            where = f": {relation.family}/{relation.path.name} returns no column 'value'"
        return f" ({name!r} is a {kind}{where})"

    def relations(self, *kinds: Kind) -> list[Relation]:
        """Return the portable files of these kinds (default: all), by family and name."""
        plain = (
            self._load(paths[0]) for name, paths in self._paths.items() if name not in CONTRACT
        )
        chosen = [relation for relation in plain if not kinds or relation.kind in kinds]
        return sorted(chosen, key=lambda relation: (relation.family, relation.name))

    def portable(self, name: str) -> Relation | None:
        """Return the portable file called ``name``; None if the compiler writes the relation."""
        return None if name in CONTRACT else self.get(name)

    def get_widest(self, name: str) -> Relation | None:
        """Return the file or twin with the most parameters, as a twin may have more of them."""
        if name in CONTRACT:
            return None
        return max(self.files(name), key=lambda relation: len(relation.params))

    def find_interval(self, name: str) -> Relation | None:
        """Return the file or twin of a metric that has an interval's columns; None without one."""
        return next((file for file in self.files(name) if file.interval is not None), None)

    def closure(self, name: str, resolve: Resolve | None = None) -> dict[str, Relation]:
        """Return ``name`` and every file below it, the deepest first; see `graph.closure`."""
        return graph.closure(name, resolve or self.portable)

    def list_files_below(self, name: str) -> frozenset[Relation]:
        """Return every file that may compute ``name``: the files and twins of it and its steps."""
        files_by_name: dict[str, tuple[Relation, ...]] = {}
        waiting = [name]
        while waiting:
            if (each := waiting.pop()) not in files_by_name:
                files_by_name[each] = self.files(each)
                waiting += [read for file in files_by_name[each] for read in file.reads]
        return frozenset(
            part for files in files_by_name.values() for file in files for part in file.files
        )

    def depends_on(self, name: str, step: str, resolve: Resolve | None = None) -> bool:
        """Whether ``name`` reads ``step``, directly or through others."""
        return graph.depends_on(name, step, resolve or self.portable)

    def parameters(self, name: str) -> Mapping[str, Param]:
        """Return the parameters of ``name`` and of every step below it, in any twin."""
        if name not in self._parameters:
            self._parameters[name] = graph.collect_parameters(name, self.get_widest)
        return self._parameters[name]

    def list_parameters(
        self, relation: Relation, conditions: frozenset[str]
    ) -> Mapping[str, Param]:
        """Return the parameters of a file, and of the steps that it reads under some conditions."""
        key = (relation, conditions)
        if key not in self._parameters:

            def below(inner: str) -> Relation | None:
                return relation if inner == relation.name else self.choose(inner, conditions)

            parameters = graph.collect_parameters(relation.name, below)
            for file in relation.files:
                self._check_reads(file)
            self._parameters[key] = parameters
        return self._parameters[key]

    def _check_reads(self, relation: Relation) -> None:
        """Raise if a file reads a column that does not exist, or a metric repeats slices."""
        for column, names in relation.uses:
            columns = {"model"} if relation.header.get("across") == "model" else set[str]()
            for name in names:
                columns |= list_contract_columns(name)
                columns.update(*(file.columns for file in self.files(name)))
            if column not in columns:
                others = sorted(columns - {"slice"})
                near = find_nearest(column, others) or f"; it has {', '.join(others)}"
                if not column.isidentifier():
                    near = "; a text stands in single quotes"
                message = f"{' or '.join(names)} has no column {column!r}{near}"
                line = find_word_line(relation.text, column)
                raise make_error(relation.path, line, message)
        if relation.kind == "metric" and may_repeat_slices(relation.query, self._find_query):
            line = find_word_line(relation.text, "SELECT")
            message = "a metric has one row per slice: write GROUP BY slice, and aggregates"
            raise make_error(relation.path, line, message)

    def _find_query(self, name: str) -> exp.Query | None:
        """Return the query of a portable file; None if the compiler writes the relation."""
        relation = self.choose(name, frozenset()) if name not in CONTRACT else None
        return None if relation is None else relation.query

    def _list_parts(self, path: Path) -> list[Path]:
        """Return the column files of a portable file, in the order of `COLUMN_FILES`."""
        paths = (path.with_name(f"{path.stem}.{word}.sql") for word in COLUMN_FILES)
        return [each for each in paths if each in self._paths[path.stem]]

    def _load(self, path: Path) -> Relation:
        if path not in self._relations:
            relation = read_file(path, self._paths)
            if relation.kind == "row metric":
                relation, rows = split_metric(relation, self.get(_MEAN), self.get(_MEAN_ERROR))
                self._rows.setdefault(rows.name, []).append(rows)
            elif path.name.count(".") == 1:
                relation = add_parts(relation, list(map(self._load, self._list_parts(path))))
            self._relations[path] = relation
        return self._relations[path]


def _map_paths(folders: tuple[Path, ...]) -> dict[str, tuple[Path, ...]]:
    """Map each name to its files, the portable one first, without reading them."""
    files_by_name: dict[str, list[Path]] = {}
    for folder in folders:
        paths = sorted([*folder.glob("*/*.sql"), *folder.glob("base/*/*.sql")])
        misplaced = [path for path in folder.glob("*.sql") if path.name != "console.sql"]
        if misplaced or not paths:
            raise LoadError(_describe_folder(folder, misplaced))
        for path in paths:
            files_by_name.setdefault(path.name.split(".")[0], []).append(path)
    for name, paths in files_by_name.items():
        _check_paths(name, paths)
    return {name: tuple(paths) for name, paths in files_by_name.items()}


def _describe_folder(folder: Path, misplaced: list[Path]) -> str:
    """Return why a folder holds no SQL files, and what to do."""
    move = f"write {folder / 'binary' / 'my_metric.sql'}"
    if misplaced:
        above = f"name the folder above, {folder.parent}, or {move}"
        return f"{misplaced[0]} lies in no folder of a family; {above}"
    if folder.is_file():
        return f"{folder} is a file; name the folder that holds FAMILY/NAME.sql"
    if not folder.exists():
        return f"there is no folder {folder}; {move}"
    return f"{folder} holds no FAMILY/NAME.sql; {move}"


def _check_paths(name: str, paths: list[Path]) -> None:
    """Sort the files of a name, the portable one first; raise unless there is exactly one."""
    paths.sort(key=lambda path: path.name.count("."))
    portable = [path for path in paths if path.name.count(".") == 1]
    for path in paths:
        words = path.name.split(".")[1:-1]
        if len(words) > 1 and not COLUMN_FILES.keys().isdisjoint(words):
            raise LoadError(f"{path}: {', '.join(COLUMN_FILES)} take no condition beside them")
    if not name.isidentifier() or iskeyword(name):
        raise LoadError(f"{paths[0]}: a name has letters, digits and _ alone, and is no keyword")
    if name in CONTRACT:
        if portable:
            raise LoadError(f"{portable[0]}: the compiler writes {name!r}; take another name")
    elif len(portable) > 1:
        theirs = [path for path in portable if find_sql_folder() not in path.parents]
        if len(theirs) == 1:
            raise LoadError(f"{name!r} is the name of a file of the package; rename {theirs[0]}")
        where = " and ".join(map(str, portable))
        raise LoadError(f"{name!r} is the name of several files; one must change: {where}")
    elif not portable:
        where = f"add {paths[0].with_name(f'{name}.sql')}"
        raise LoadError(f"{paths[0]} is a twin, and the portable file is missing: {where}")


def _check_twins(files: tuple[Relation, ...]) -> None:
    """Raise if a metric's twin is no metric, or no file has the columns of its interval."""
    for file in files:
        if files[0].kind == "metric" != file.kind:
            raise make_error(file.path, 1, "the twin of a metric needs the column 'value'")
        method = file.header.get("interval")
        if method and not any(each.interval == method for each in files):
            line = find_key_line(file.text, "interval")
            needed = " and ".join(INTERVALS[method])
            raise make_error(file.path, line, f"the interval {method!r} is made from {needed}")


@cache
def find_sql_folder() -> Path:
    """Return the folder of the SQL files: inside the installed package, or beside the sources."""
    package = Path(__file__).parents[1]
    for folder in (package / "sql", package.parent / "sql"):
        if folder.is_dir():
            return folder
    raise LoadError(f"no sql folder in or beside {package}")


#: Folders that were added in this process.
_added: list[Path] = []


def add_folder(folder: str | Path) -> None:
    """Add a folder of SQL files to the catalogue of this process.

    Raises
    ------
    LoadError
        If it holds no such files, or a name that the catalogue already has.
    """
    path = Path(folder).resolve()
    if path in (find_sql_folder().resolve(), *list_folders()):
        return
    Catalogue(find_sql_folder(), *list_folders(), path)
    _added.append(path)
    builtin.cache_clear()


def list_folders() -> tuple[Path, ...]:
    """Return the further folders: from `SQLEVAL_SQL`, from installed packages, and added ones.

    A package offers its folder by an entry point in the group ``sqleval.sql`` that loads a path.
    """
    named = [part for part in os.environ.get("SQLEVAL_SQL", "").split(os.pathsep) if part]
    offered = [entry.load() for entry in entry_points(group="sqleval.sql")]
    paths = [Path(folder).resolve() for folder in (*offered, *named)]
    return tuple(dict.fromkeys([*paths, *_added]))


@cache
def builtin() -> Catalogue:
    """Return the catalogue of the package's SQL files and of the further folders."""
    return Catalogue(find_sql_folder(), *list_folders())
