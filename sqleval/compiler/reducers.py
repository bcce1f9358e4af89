"""Folds: a mergeable step into fewer keys, a metric's values over an extra key."""

from collections.abc import Mapping, Sequence

from sqlglot import exp

from sqleval.common.sql_text import null_safe
from sqleval.compiler.rewrite import SLICE

#: What the keys of a substitution tell apart.
_PLURAL: Mapping[tuple[str, ...], str] = {
    ("class",): "classes",
    ("class", "other"): "pairs of classes",
    ("query",): "queries",
}


def merged(query: exp.Query, cte: str, keys: Sequence[str]) -> str:
    """Return the SELECT that aggregates a mergeable step's rows again, over fewer keys."""
    grouped = [*keys]
    items = [*keys]
    for item in query.selects:
        name, node = item.alias_or_name, item.unalias()
        if name == SLICE:
            continue
        if isinstance(node, (exp.Sum, exp.Count)):
            items.append(f"SUM({name}) AS {name}")
        elif isinstance(node, (exp.Min, exp.Max)):
            items.append(f"{node.sql_name()}({name}) AS {name}")
        else:
            items.append(name)
            grouped.append(name)
    group = "\nGROUP BY " + ", ".join(grouped) if grouped else ""
    return "SELECT\n  " + ",\n  ".join(items) + f"\nFROM {cte}{group}"


def reduced(
    keys: Sequence[str],
    cte: str,
    columns: Mapping[str, str],
    extra: tuple[str, ...],
    support: str | None,
    *,
    ci: bool,
    zero_division: float | None = None,
) -> tuple[str, dict[str, str]]:
    """Return the SELECT that takes the mean of a metric over the keys ``extra``.

    Undefined values leave the mean and are counted in the note. Queries are a sample, so
    their mean has a standard error; classes are not.

    Returns
    -------
    sql : str
        The SELECT.
    names : dict of str to str
        Its output columns, by role.
    """
    value = f"m.{columns['value']}"
    if zero_division is not None:
        value = f"COALESCE({value}, {zero_division:e})"
    mean = f"AVG({value})"
    source = f"{cte} AS m"
    if support:
        defined = f"SUM(CASE WHEN {value} IS NOT NULL THEN s.support ELSE 0 END)"
        mean = f"SUM({value} * s.support) / NULLIF(CAST({defined} AS DOUBLE), 0)"
        source += f"\nJOIN {support} AS s ON {null_safe('m', 's', (*keys, *extra))}"
    plural = _PLURAL.get(extra, "folds")
    missing = f"COUNT(*) - COUNT({value})"
    note = (
        f"CASE WHEN COUNT({value}) = 0 THEN 'undefined for all {plural}'"
        f" WHEN {missing} > 0 THEN 'undefined for ' || CAST({missing} AS VARCHAR)"
        f" || ' of ' || CAST(COUNT(*) AS VARCHAR) || ' {plural}' END"
    )
    items = {"value": mean, "note": note}
    if ci and extra == ("query",):
        items["stderr"] = f"STDDEV_SAMP({value}) / NULLIF(SQRT(COUNT({value})), 0)"
    listed = [f"m.{key}" for key in keys] + [f"{sql} AS {name}" for name, sql in items.items()]
    group = "\nGROUP BY " + ", ".join(f"m.{key}" for key in keys) if keys else ""
    sql = "SELECT\n  " + ",\n  ".join(listed) + f"\nFROM {source}{group}"
    return sql, {name: name for name in items}


def bounded(
    keys: Sequence[str],
    cte: str,
    columns: Mapping[str, str],
    least: str | None,
    most: str | None,
    zero_division: float | None = None,
) -> tuple[str, dict[str, str]]:
    """Return the SELECT that takes the extremes of a metric over the arrangements of bins.

    Its value is that of the tied rows. Where it is undefined in some arrangements only, it may
    be anything down to the ``least`` that the metric can be, and up to what it is elsewhere, if
    there is a ``most``. A metric with a sign goes from there towards 0: where nothing or all is
    predicted positive there is no association.
    """
    of = {name: f"m.{column}" for name, column in columns.items()}
    if zero_division is not None:
        of["value"] = f"COALESCE({of['value']}, {zero_division:e})"
    items = {
        name: f"MAX(CASE WHEN m.arrangement = 'tied' THEN {sql} END)" for name, sql in of.items()
    }
    value = of["value"]
    open_ = f"{items['value']} IS NULL AND COUNT({value}) > 0"
    note = items.get("note", "NULL")
    items["note"] = (
        f"CASE WHEN {open_} THEN 'bins leave open whether it is defined' ELSE {note} END"
    )
    partly = {"low": least or "NULL", "high": f"MAX({value})" if most else "NULL"}
    if least is not None and float(least) < 0:
        partly = {"low": f"LEAST(MIN({value}), 0e0)", "high": f"GREATEST(MAX({value}), 0e0)"}
    for name, extreme in (("low", f"MIN({value})"), ("high", f"MAX({value})")):
        items[name] = (
            f"CASE WHEN COUNT({value}) = COUNT(*) THEN {extreme}"
            f" WHEN COUNT({value}) > 0 THEN {partly[name]} END"
        )
    listed = [f"m.{key}" for key in keys] + [f"{sql} AS {name}" for name, sql in items.items()]
    group = "\nGROUP BY " + ", ".join(f"m.{key}" for key in keys) if keys else ""
    sql = "SELECT\n  " + ",\n  ".join(listed) + f"\nFROM {cte} AS m{group}"
    return sql, {name: name for name in items}
