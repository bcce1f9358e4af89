"""Reads a SQL file and checks its header, columns and relations against the contract."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from sqlglot import exp

from sqleval.catalog.header import (
    CONDITIONS,
    INTERVALS,
    check_header,
    check_named_columns,
    find_column_word,
    find_home,
    find_key_line,
    make_error,
    parse_aliases,
    read_header,
    read_repeat,
    read_text,
)
from sqleval.catalog.intervals import find_interval
from sqleval.catalog.parameters import LEVEL, Param, read_parameters
from sqleval.catalog.queries import (
    find_tables,
    find_text,
    is_mergeable,
    list_columns,
    list_needs,
    list_notes,
    list_reads,
    list_uses,
    parse_query,
    repeat_last_cte,
)
from sqleval.catalog.relations import CONTRACT
from sqleval.catalog.tasks import TASKS, find_tasks
from sqleval.common.names import find_nearest
from sqleval.dialects import portable

#: The kind ``row metric`` is that of a file before `row_means` makes a metric of it.
Kind = Literal["metric", "row metric", "columns", "mergeable", "step", "curve", "split"]

#: The sums of squared weights that go with ``successes`` and ``trials``.
SQUARES = ("squared_successes", "squared_trials")


def list_interval_columns() -> tuple[str, ...]:
    """Return the columns of metrics that only their intervals need.

    ``support`` is the smallest count of rows that a standard error rests on, ``degrees`` its
    degrees of freedom. ``squared_successes`` and ``squared_trials`` are the sums of squared weights
    of a rate. ``kurtosis`` is the kurtosis of errors, for a mean of their squares.
    """
    needed = [column for columns in INTERVALS.values() for column in columns]
    return (*dict.fromkeys(needed), *SQUARES, "support", "degrees", "kurtosis")


@dataclass(frozen=True, eq=False)
class Relation:
    """One file under ``sql/``. ``query`` is shared: never change it, copy it.

    Attributes
    ----------
    name, family : str
        Stem and folder of the file.
    when : frozenset of str
        The conditions under which a twin is used; empty for the portable file.
    header : dict
        The YAML block at the top.
    params : dict of str to Param
        The parameters that this file itself uses.
    reads : tuple of str
        The relations that it reads, in order.
    tables : tuple of str
        Parameters that it reads as relations.
    needs : dict of str to frozenset
        For each relation of the contract that it reads, the columns that it uses.
    uses : tuple of (str, tuple of str)
        Each column that it reads, and the relations that may have it.
    notes : tuple of str
        The reasons it may give for an undefined value.
    parts : tuple of Relation
        The files of further columns of a metric; see `fusion`.
    """

    name: str
    family: str
    path: Path
    when: frozenset[str]
    kind: Kind
    header: Mapping[str, Any]
    params: Mapping[str, Param]
    query: exp.Query = field(repr=False)
    columns: tuple[str, ...]
    reads: tuple[str, ...]
    tables: tuple[str, ...]
    needs: Mapping[str, frozenset[str]]
    uses: tuple[tuple[str, tuple[str, ...]], ...]
    notes: tuple[str, ...]
    parts: tuple["Relation", ...] = ()

    @property
    def task(self) -> str:
        """The header key ``task`` of a metric or curve: one of `tasks.list_kinds`."""
        return str(self.header.get("task", ""))

    @property
    def files(self) -> tuple["Relation", ...]:
        """The file and its column files."""
        return (self, *self.parts)

    @property
    def tasks(self) -> tuple[str, ...]:
        """The tasks in which this metric or curve can be computed."""
        return find_tasks(self.task)

    @property
    def is_per_class(self) -> bool:
        """Whether it is computed per class if there are several classes."""
        return self.task == "two classes"

    def takes_average(self, task: str) -> bool:
        """Whether it is computed per class or label of a task, and averaged."""
        facts = TASKS[task]
        is_per_label = facts.has_many_labels and task in self.tasks and not self.is_per_row
        return is_per_label or (facts.has_several_classes and self.is_per_class)

    @property
    def is_per_row(self) -> bool:
        """Whether it is computed per row of many labels, and averaged over rows."""
        return bool(self.tasks) and all(TASKS[task].has_many_labels for task in self.tasks)

    @property
    def measured(self) -> tuple[str, ...]:
        """The columns that measure the length of a curve with a row per score; of others, none.

        Such a curve is in order of its thresholds. They do not measure it: the first is infinite,
        and the others may have any scale.
        """
        if "threshold DESC" not in str(self.header.get("order")).split(", "):
            return ()
        return tuple(name for name in self.columns if name not in ("slice", "threshold"))

    @property
    def has_queries(self) -> bool:
        """Whether it is computed per query, as most metrics of a ranking."""
        is_ranking = any(TASKS[task].has_queries for task in self.tasks)
        return is_ranking and not self.is_of_all_queries

    @property
    def is_of_all_queries(self) -> bool:
        """Whether it is one value of all queries, instead of a mean of their values."""
        return self.header.get("across") == "query"

    @property
    def has_values(self) -> bool:
        """Whether it is computed from predicted numbers, as a metric of a regression."""
        return any(TASKS[task].has_values for task in self.tasks)

    @property
    def has_labels(self) -> bool:
        """Whether it compares rows with a label, instead of summarising a column by itself."""
        return all(TASKS[task].has_labels for task in self.tasks)

    @property
    def is_sum(self) -> bool:
        """Whether it is a metric whose value is a sum over rows."""
        if self.kind != "metric":
            return False
        (value,) = (item.unalias() for item in self.query.selects if item.alias == "value")
        return isinstance(value.this if isinstance(value, exp.Cast) else value, exp.Sum)

    @property
    def reads_rows(self) -> bool:
        """Whether it is a step that reads a relation of the contract itself."""
        return self.kind == "step" and bool(set(self.reads) & set(CONTRACT))

    @property
    def interval(self) -> str | None:
        """The method of its interval: a key of `INTERVALS`; None without one."""
        return find_interval(self.columns, self.header)

    @property
    def types(self) -> Mapping[str, str]:
        """The columns that are not DOUBLE, and the type of each, one of `TYPES`."""
        return self.header.get("types") or {}

    @property
    def version(self) -> int:
        """The version of its values, which is raised when they change."""
        return int(self.header.get("version", 1))

    @property
    def text(self) -> str:
        """The text of the file."""
        return read_text(self.path)


def _find_line(text: str, node: exp.Expr) -> int:
    """Return the line of the first token of ``node``; sqlglot miscounts lines after comments."""
    # A node that the parser adds, such as the * of a bare FROM, points into the header.
    body = text.index("*/")
    place: exp.Expr | None = node
    while place is not None:
        starts = [n.meta["start"] for n in place.walk() if n.meta.get("start", 0) > body]
        if starts:
            return text.count("\n", 0, min(starts)) + 1
        place = place.parent
    return text.count("\n", 0, body) + 2


def _find_kind(
    path: Path, header: Mapping[str, Any], query: exp.Query, columns: Iterable[str]
) -> Kind:
    if find_column_word(path):
        return "columns"
    if "value" in columns and find_home(path).name != "base":
        return "metric"
    if "row_value" in columns and "task" in header:
        return "row metric"
    if "task" in header or path.parent.name == "curve":
        return "curve"
    if path.parent.name == "split" and "role" in columns:
        return "split"
    return "mergeable" if is_mergeable(query) else "step"


def _check_metric(
    path: Path, text: str, header: Mapping[str, Any], query: exp.Query, columns: Sequence[str]
) -> None:
    """Raise if a metric is a UNION, or returns columns that metrics do not have."""
    line = _find_line(text, query)
    if not isinstance(query, exp.Select):
        raise make_error(path, line, "a metric is one SELECT, not a UNION")
    value = "row_value" if "row_value" in columns else "value"
    if node := find_text(query, value):
        message = f"the column {value!r} is a number, not the text {node.sql(comments=False)[:60]}"
        raise make_error(path, _find_line(text, node), message)
    meanings = ("slice", "value", "note", "low", "high", *list_interval_columns())
    if value == "row_value":
        meanings = ("slice", value, "note")
    for name in columns:
        if name not in meanings:
            near = find_nearest(name, meanings) or f"; it returns some of {', '.join(meanings)}"
            raise make_error(path, line, f"a metric returns no column {name!r}{near}")
    if ("low" in columns) != ("high" in columns):
        raise make_error(path, line, "bounds are two columns, low and high")
    partial = [name for name in list_interval_columns() if name in columns]
    if partial and find_interval(columns, header) is None:
        each = dict.fromkeys(names for names in INTERVALS.values() if names)
        needed = "; or ".join(" and ".join(names) for names in each)
        message = f"an interval needs {needed}; the file has {', '.join(partial)} alone"
        raise make_error(path, line, message)


def _check_relations(path: Path, text: str, query: exp.Query, names: Collection[str]) -> None:
    for table in find_tables(query):
        name = f"{table.db}.{table.name}" if table.db else table.name
        if name not in names:
            near = find_nearest(name, names)
            reads = "a file reads predictions, or another file by its name"
            message = f"unknown relation {name!r}{near or ''}; {reads}"
            raise make_error(path, _find_line(text, table), message)


def _check_same(path: Path, text: str, same: object, names: Collection[str]) -> None:
    """Raise if ``same_as`` names no file."""
    if same is not None and same not in names:
        near = find_nearest(str(same), names)
        message = f"same_as must be the name of a metric, not {same!r}{near or ''}"
        raise make_error(path, find_key_line(text, "same_as"), message)


def _check_parameters(
    path: Path,
    text: str,
    header: Mapping[str, Any],
    declared: Mapping[str, Param],
    query: exp.Query,
    tables: Iterable[str],
) -> None:
    """Raise if a parameter is used without a declaration, or declared without a use."""
    used = {node.name for node in query.find_all(exp.Placeholder)}
    used -= {LEVEL} if find_column_word(path) else set[str]()
    for name in used - declared.keys():
        line = text[: text.index("$" + name)].count("\n") + 1
        raise make_error(
            path, line, f"${name} is not declared under params{find_nearest(name, declared)}"
        )
    for name in declared.keys() - used - set(tables):
        line = find_key_line(text, name)
        raise make_error(path, line, f"parameter {name!r} is declared and not used")
    unbinned = str(header.get("unbinned", "always"))
    if unbinned != "always" and unbinned.partition("=")[0] not in declared:
        message = f"unbinned must be 'always' or 'parameter=value', not {unbinned!r}"
        raise make_error(path, find_key_line(text, "unbinned"), message)


def _parse_conditions(path: Path, header: Mapping[str, Any]) -> frozenset[str]:
    """Return the conditions of a twin, from the file's name and its header."""
    if find_column_word(path):
        return frozenset()
    when = frozenset(path.name.split(".")[1:-1]) | frozenset(str(header.get("when", "")).split())
    for condition in sorted(when - CONDITIONS.keys()):
        raise make_error(
            path, 1, f"unknown condition {condition!r}{find_nearest(condition, CONDITIONS)}"
        )
    return when


def _read_parameters_of_metric(path: Path, query: exp.Query) -> dict[str, Param]:
    """Return the parameters that a column file uses; its metric declares them."""
    metric = path.with_name(f"{path.name.split('.')[0]}.sql")
    text = read_text(metric)
    used = {node.name for node in query.find_all(exp.Placeholder)}
    used |= {table.name for table in find_tables(query)}
    declared = read_parameters(metric, text, read_header(metric, text))
    return {name: param for name, param in declared.items() if name in used}


def _check_output(
    path: Path, text: str, kind: Kind, query: exp.Query, columns: Sequence[str], across: object
) -> None:
    """Raise if the columns lack ``slice``, or have names that are ambiguous in SQL."""
    if "slice" not in columns and path.parent.name != "split" and across != "slices":
        raise make_error(path, _find_line(text, query), "the output needs the column slice")
    for name in columns:
        if columns.count(name) > 1:
            raise make_error(path, _find_line(text, query), f"the column {name!r} occurs twice")
    for item in query.selects:
        name = item.alias_or_name
        if name != name.lower() and (kind == "metric" or name.lower() == "slice"):
            message = f"write the column {name!r} in lower case: {name.lower()!r}"
            raise make_error(path, _find_line(text, item), message)


def read_file(path: Path, relations: Collection[str]) -> Relation:
    """Read and check one file; it may read these ``relations`` and the contract's.

    Raises
    ------
    LoadError
        If it breaks the contract; the message names file and line.
    """
    text = read_text(path)
    header = read_header(path, text)
    query = parse_query(path, text)
    for node, problem in portable.find_problems(query, duckdb=".duckdb." in path.name):
        raise make_error(path, _find_line(text, node), problem)
    repeat_last_cte(query, read_repeat(path, text, header, has_ctes=bool(query.ctes)))
    columns = list_columns(query)
    kind = _find_kind(path, header, query, columns)
    check_header(path, text, header, kind)
    parse_aliases(path, text, header)
    _check_output(path, text, kind, query, columns, header.get("across"))
    if kind in ("metric", "row metric", "columns"):
        _check_metric(path, text, header, query, columns)
    declared = read_parameters(path, text, header)
    if kind == "columns":
        declared = _read_parameters_of_metric(path, query)
    ctes = {cte.alias for cte in query.find_all(exp.CTE)}
    reads, table_params = list_reads(query, declared)
    _check_parameters(path, text, header, declared, query, table_params)
    check_named_columns(path, text, header, columns)
    for name in columns if kind == "curve" else ():
        if name not in (header.get("types") or {}) and (node := find_text(query, name)):
            message = f"{name!r} is a text: write types: {{{name}: text}} in the header"
            raise make_error(path, _find_line(text, node), message)
    when = _parse_conditions(path, header)
    _check_same(path, text, header.get("same_as"), relations)
    _check_relations(path, text, query, {*relations, *CONTRACT, *table_params})
    for node in query.walk():
        # Only the errors above need positions in the text; without them a copy is twice as fast.
        node._meta = None  # pyright: ignore[reportPrivateUsage]
    return Relation(
        name=path.name.split(".")[0],
        family=find_home(path).name,
        path=path,
        when=when,
        kind=kind,
        header=header,
        params=declared,
        query=query,
        columns=columns,
        reads=reads,
        tables=table_params,
        needs=list_needs(query, ctes),
        uses=list_uses(query, {*ctes, *table_params}),
        notes=list_notes(query),
    )
