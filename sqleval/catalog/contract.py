"""The contract of a SQL file: its header, its columns, what it may read."""

from collections.abc import Container, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, cast

import sqlglot
from sqlglot import exp
from sqlglot.errors import TokenError

from sqleval.catalog import parameters, portable
from sqleval.catalog.header import find_key_line, make_error, read_header, read_text
from sqleval.catalog.parameters import Param
from sqleval.catalog.relations import CONTRACT
from sqleval.common.names import find_nearest

Kind = Literal["metric", "mergeable", "step", "curve", "split"]

#: The conditions that a twin may name in ``when`` (or as its second suffix), and their meaning.
CONDITIONS: Mapping[str, str] = {
    "duckdb": "the engine is DuckDB",
    "unweighted": "no weights are bound",
    "rows": "the plan works on rows, not on distinct scores",
    "runs": "neighbouring negatives form one unit",
    "thresholded": "the prediction is the score at a threshold",
    "multiclass": "the task is multi-class",
    "unscored": "the task is multi-class, and classes have no scores",
    "one_vs_rest": "one class is judged against the others",
    "one_vs_one": "one class is judged against one other",
    "binned": "scores are binned",
    "bucketed": "windows run within buckets of the score, for engines of several machines",
    "arranged": "the rows within a bin are arranged in a given order",
    "grouped": "groups are assigned, not rows",
    "intervals": "intervals are asked for (ci=)",
}

#: The key that a file aggregates over: its ``slice`` lacks this key of the relation it reads.
ACROSS = ("matrices", "model")

#: The steps that find the bins which leave a metric uncertain: ``heavy_pairs`` and so on.
BOUNDS = ("pairs", "precision", "distance")

#: The ending of the name of a variance; before it stands the name of the column it belongs to.
VARIANCE = "_variance"

#: The methods of intervals, and the columns of a metric that each is computed from. A metric has
#: the method that its header names, or else the first one whose columns it returns.
INTERVALS: Mapping[str, tuple[str, ...]] = {
    "wilson": ("successes", "trials"),
    "wilson of the prevalence": ("positives", "trials"),
    "delong": ("stderr", "pairs"),
    "normal": ("stderr",),
    "delta": ("stderr",),
}
#: The values of the header key ``task``, and the tasks in which such a metric or curve can be
#: computed. A metric of two classes is computed per class where there are several.
TASKS: Mapping[str, frozenset[str]] = {
    "two classes": frozenset({"binary", "multiclass"}),
    "classes": frozenset({"binary", "multiclass"}),
    "several classes": frozenset({"multiclass"}),
    "regression": frozenset({"regression"}),
    "ranking": frozenset({"ranking"}),
}
#: The types of columns that are not DOUBLE: a count of rows (a sum of weights where
#: there are weights), a whole number, a text, or a class as the label has it.
TYPES = ("count", "integer", "text", "class")
_VALUES = {
    "task": tuple(TASKS),
    "direction": ("higher", "lower", "none"),
    "weights": ("frequency", "none"),
    "across": ACROSS,
    "bound": BOUNDS,
    "interval": tuple(INTERVALS),
    "units": ("runs",),
}
_REQUIRED = {
    "metric": {
        "summary",
        "formula",
        "direction",
        "range",
        "reference",
        "task",
        "weights",
        "since",
    },
    "curve": {"summary", "formula", "reference", "task", "weights", "since"},
    "split": {"summary", "formula", "reference", "since"},
}


def list_interval_columns() -> tuple[str, ...]:
    """Return the columns of metrics that only intervals need.

    ``support`` is the smallest count of rows that a standard error rests on, ``degrees`` its
    degrees of freedom.
    """
    needed = [column for columns in INTERVALS.values() for column in columns]
    return (*dict.fromkeys(needed), "support", "degrees")


def find_interval(columns: Container[str], header: Mapping[str, Any]) -> str | None:
    """Return the method of the interval of a metric with these columns; None without one."""
    named = header.get("interval")
    methods = [str(named)] if named else [*INTERVALS]
    return next((m for m in methods if all(name in columns for name in INTERVALS[m])), None)


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
        Relations that it reads, in order.
    tables : tuple of str
        Parameters that it reads as relations.
    needs : dict of str to frozenset
        For each contract relation it reads, the columns it uses.
    notes : tuple of str
        The reasons it may give for an undefined value.
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
    notes: tuple[str, ...]

    @property
    def task(self) -> str:
        """The header key ``task`` of a metric or curve: a key of `TASKS`."""
        return str(self.header.get("task", ""))

    @property
    def tasks(self) -> frozenset[str]:
        """The tasks in which this metric or curve can be computed."""
        return TASKS.get(self.task, frozenset())

    @property
    def interval(self) -> str | None:
        """The method of its interval: a key of `INTERVALS`; None without one."""
        return find_interval(self.columns, self.header)

    @property
    def types(self) -> Mapping[str, str]:
        """The columns that are not DOUBLE, and the type of each, one of `TYPES`."""
        return self.header.get("types") or {}

    @property
    def text(self) -> str:
        """The text of the file."""
        return read_text(self.path)


def _find_line(text: str, node: exp.Expr) -> int:
    """Return the line of the first token of ``node``; sqlglot miscounts lines after comments."""
    # A node that the parser adds, such as the * of a bare FROM, has a place within the header.
    body = text.index("*/")
    place: exp.Expr | None = node
    while place is not None:
        starts = [n.meta["start"] for n in place.walk() if n.meta.get("start", 0) > body]
        if starts:
            return text.count("\n", 0, min(starts)) + 1
        place = place.parent
    return text.count("\n", 0, body) + 2


def _parse_params(path: Path, header: Mapping[str, Any]) -> dict[str, Param]:
    written: Any = header.get("params") or {}
    if not isinstance(written, dict):
        raise make_error(path, 1, "params must be a mapping, name: type = default")
    declared: dict[str, Param] = {}
    allowed: Any = header.get("allowed") or {}
    if not isinstance(allowed, dict) or set(cast("dict[str, object]", allowed)) - set(
        cast("dict[str, object]", written)
    ):
        line = find_key_line(path.read_text(encoding="utf-8"), "allowed")
        raise make_error(path, line, "allowed must be a mapping, name of a parameter: range")
    ranges = {name: str(text) for name, text in cast("dict[str, object]", allowed).items()}
    for name, text in cast("dict[str, object]", written).items():
        try:
            declared[name] = parameters.parse_parameter(str(text), ranges.get(name))
        except ValueError as error:
            raise make_error(path, 1, f"parameter {name!r}: {error}") from error
    return declared


def _list_columns(query: exp.Query) -> tuple[str, ...]:
    return tuple(item.alias_or_name.lower() for item in query.selects)


def _is_mergeable(query: exp.Query) -> bool:
    """Whether it is one SELECT of keys and SUM, COUNT, MIN, MAX grouped by exactly those keys."""
    if not isinstance(query, exp.Select) or not query.args.get("group"):
        return False
    aggregates = (exp.Sum, exp.Count, exp.Min, exp.Max)
    keys = [item for item in query.selects if not isinstance(item.unalias(), aggregates)]
    grouped = {column.sql() for column in query.args["group"].expressions}
    return {item.unalias().sql() for item in keys} == grouped


def _list_notes(query: exp.Query) -> tuple[str, ...]:
    for item in query.selects:
        if item.alias_or_name.lower() == "note":
            cases = item.find_all(exp.If)
            texts = [case.args["true"].name for case in cases if case.args["true"].is_string]
            return tuple(dict.fromkeys(texts))
    return ()


def _list_needs(query: exp.Query, ctes: set[str]) -> dict[str, frozenset[str]]:
    """Return the columns that each SELECT uses of the contract relations it reads."""
    needs: dict[str, set[str]] = {}
    for select in query.find_all(exp.Select):
        tables = [t for t in select.find_all(exp.Table) if t.parent_select is select]
        for table in tables:
            if table.name not in CONTRACT or table.name in ctes:
                continue
            used = {
                column.name
                for column in select.find_all(exp.Column)
                if column.parent_select is select
                and (column.table == table.alias_or_name or (len(tables) == 1))
            }
            needs.setdefault(table.name, set()).update(used & CONTRACT[table.name])
    return {name: frozenset(columns) for name, columns in needs.items()}


def _parse_query(path: Path, text: str) -> exp.Query:
    try:
        statements = [s for s in sqlglot.parse(text, dialect="duckdb") if s is not None]
    except sqlglot.ParseError as error:
        first = error.errors[0] if error.errors else {}
        line = text.count("\n", 0, len(text)) if "line" not in first else int(first["line"])
        raise make_error(path, line, f"not SQL: {first.get('description', error)}") from error
    except TokenError as error:
        raise make_error(path, 1, f"not SQL: {error}") from error
    if len(statements) != 1 or not isinstance(statements[0], exp.Query):
        raise make_error(path, 1, "a file holds one SELECT statement and nothing else")
    return statements[0]


def _find_kind(
    path: Path, header: Mapping[str, Any], query: exp.Query, columns: Iterable[str]
) -> Kind:
    if "value" in columns:
        return "metric"
    if "task" in header or path.parent.name == "curve":
        return "curve"
    if path.parent.name == "split" and "role" in columns:
        return "split"
    return "mergeable" if _is_mergeable(query) else "step"


def _check_header(path: Path, text: str, header: Mapping[str, Any], kind: Kind) -> None:
    """Raise if the header lacks a key of its kind, or a key has a value that is not allowed."""
    for key in sorted(_REQUIRED.get(kind, {"summary"}) - header.keys()):
        raise make_error(path, 1, f"the header of a {kind} needs {key!r}")
    for key, allowed in _VALUES.items():
        if key in header and header[key] not in allowed:
            line = find_key_line(text, key)
            raise make_error(
                path, line, f"{key} must be one of {', '.join(allowed)}, not {header[key]!r}"
            )
    if "range" in header and not _is_range(str(header["range"])):
        line = find_key_line(text, "range")
        raise make_error(path, line, f"range must read '0 .. 1', not {header['range']!r}")


def _is_range(text: str) -> bool:
    """Whether a text is two numbers, or nothing in place of one, with two dots between them."""
    low, dots, high = text.partition("..")
    try:
        _ = [float(end or 0) for end in (low, high)]
    except ValueError:
        return False
    return bool(dots)


def _check_parameters(
    path: Path, text: str, declared: Mapping[str, Param], query: exp.Query, tables: Iterable[str]
) -> None:
    """Raise if a parameter is used and not declared, or declared and not used."""
    used = {node.name for node in query.find_all(exp.Placeholder)}
    for name in used - declared.keys():
        line = text[: text.index("$" + name)].count("\n") + 1
        raise make_error(
            path, line, f"${name} is not declared under params{find_nearest(name, declared)}"
        )
    for name in declared.keys() - used - set(tables):
        line = find_key_line(text, name)
        raise make_error(path, line, f"parameter {name!r} is declared and not used")


def _parse_conditions(path: Path, header: Mapping[str, Any]) -> frozenset[str]:
    """Return the conditions of a twin, from the file's name and its header."""
    when = frozenset(path.name.split(".")[1:-1]) | frozenset(str(header.get("when", "")).split())
    for condition in sorted(when - CONDITIONS.keys()):
        raise make_error(
            path, 1, f"unknown condition {condition!r}{find_nearest(condition, CONDITIONS)}"
        )
    return when


def read_file(path: Path, relations: Iterable[str]) -> Relation:
    """Read and check one file, which may read these ``relations`` besides the contract's.

    Raises
    ------
    LoadError
        If it breaks the contract; the message names file and line.
    """
    text = read_text(path)
    header = read_header(path, text)
    query = _parse_query(path, text)
    for node, problem in portable.find_problems(query, duckdb=".duckdb." in path.name):
        raise make_error(path, _find_line(text, node), problem)
    columns = _list_columns(query)
    kind = _find_kind(path, header, query, columns)
    _check_header(path, text, header, kind)
    if "slice" not in columns and path.parent.name != "split":
        raise make_error(path, _find_line(text, query), "the output needs the column slice")
    if kind == "metric" and not isinstance(query, exp.Select):
        raise make_error(path, _find_line(text, query), "a metric is one SELECT, not a UNION")
    declared = _parse_params(path, header)
    ctes = {cte.alias for cte in query.find_all(exp.CTE)}
    tables = [t for t in query.find_all(exp.Table) if t.name not in ctes]
    table_params = {t.name for t in tables if t.name in declared and declared[t.name].is_table}
    _check_parameters(path, text, declared, query, table_params)
    for key in ("means", "variances", "types"):
        for name in header.get(key) or ():
            if name not in columns:
                near = find_nearest(str(name), columns)
                raise make_error(path, find_key_line(text, key), f"{key}: no column {name!r}{near}")
    for name in header.get("variances") or ():
        if not name.endswith(VARIANCE) or name.removesuffix(VARIANCE) not in columns:
            message = f"variances: {name!r} must be the name of a column and {VARIANCE!r}"
            raise make_error(path, find_key_line(text, "variances"), message)
    for name, type_name in cast("dict[str, object]", header.get("types") or {}).items():
        if type_name not in TYPES:
            allowed = ", ".join(TYPES)
            message = f"the type of {name} must be one of {allowed}, not {type_name!r}"
            raise make_error(path, find_key_line(text, "types"), message)
    when = _parse_conditions(path, header)
    names = {*relations, *CONTRACT}
    for table in tables:
        name = f"{table.db}.{table.name}" if table.db else table.name
        if name not in names | table_params:
            message = f"unknown relation {name!r}{find_nearest(name, names)}"
            raise make_error(path, _find_line(text, table), message)
    for node in query.walk():
        # Only the errors above need places in the text; without them a copy takes half the time.
        node._meta = None  # pyright: ignore[reportPrivateUsage]
    return Relation(
        name=path.name.split(".")[0],
        family=path.parent.name,
        path=path,
        when=when,
        kind=kind,
        header=header,
        params=declared,
        query=query,
        columns=columns,
        reads=tuple(dict.fromkeys(t.name for t in tables if t.name not in table_params)),
        tables=tuple(sorted(table_params)),
        needs=_list_needs(query, ctes),
        notes=_list_notes(query),
    )
