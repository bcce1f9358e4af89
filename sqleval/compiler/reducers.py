"""Writes reducers: SQL that reduces the values over a substitution's keys to one value."""

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

from sqlglot import exp

from sqleval.common.sql_text import (
    LARGEST,
    select,
    write_key_equality,
    write_squared_deviations,
)
from sqleval.compiler.rewrite import SLICE
from sqleval.compiler.substitution import Reducer, Substitution

#: With fewer queries, the standard error of their mean is itself uncertain.
MIN_SAMPLE = 20


class Folding(NamedTuple):
    """A metric's values over the keys of a substitution, which a reducer folds.

    Attributes
    ----------
    substitution : Substitution
        The substitution whose keys are folded away.
    keys : tuple of str
        The keys that stay.
    cte : str
        The relation of the values.
    columns : dict of str to str
        The columns of the relation, by their meaning: ``value``, ``note`` ...
    support : str or None
        The relation of the weights, for the weighted mean.
    whole : (str, str) or None
        The relation and the column of the metric of all rows, for the difference to it.
    ends : tuple of (str or None)
        The ends of the metric's range as SQL; None for an end without a limit.
    ci : bool
        Whether to return columns for intervals.
    zero_division : float or None
        The value that replaces an undefined one.
    """

    substitution: Substitution
    keys: tuple[str, ...]
    cte: str
    columns: Mapping[str, str]
    support: str | None = None
    whole: tuple[str, str] | None = None
    ends: tuple[str | None, str | None] = (None, None)
    ci: bool = False
    zero_division: float | None = None

    @property
    def value(self) -> str:
        """The value as SQL over ``m``."""
        value = f"m.{self.columns['value']}"
        if self.zero_division is None:
            return value
        return f"COALESCE({value}, {self.zero_division:e})"

    def select(self, items: Mapping[str, str], source: str) -> tuple[str, dict[str, str]]:
        """Return the SELECT of aggregates by the keys that stay, and its columns."""
        listed = [f"m.{key}" for key in self.keys]
        listed += [f"{sql} AS {name}" for name, sql in items.items()]
        group = "\nGROUP BY " + ", ".join(f"m.{key}" for key in self.keys) if self.keys else ""
        sql = "SELECT\n  " + ",\n  ".join(listed) + f"\nFROM {source}{group}"
        return sql, {name: name for name in items}


def write_fold(folding: Folding) -> tuple[str, dict[str, str]]:
    """Return the SELECT that folds a substitution's keys, and its columns by their meaning.

    Raises
    ------
    KeyError
        If the substitution's reducer has no SQL here.
    """
    reducer = folding.substitution.reducer
    assert reducer is not None
    return REDUCERS[reducer](folding)


def _write_mean(folding: Folding) -> tuple[str, dict[str, str]]:
    """Take the mean. Undefined values are left out and counted in the note."""
    value, substitution = folding.value, folding.substitution
    mean = f"AVG({value})"
    source = f"{folding.cte} AS m"
    if folding.support:
        defined = f"SUM(CASE WHEN {value} IS NOT NULL THEN s.support ELSE 0 END)"
        # An infinite threshold times a weight of 0 would be NaN.
        weighted = f"SUM(CASE WHEN s.support > 0 THEN {value} * s.support END)"
        mean = f"{weighted} / NULLIF(CAST({defined} AS DOUBLE), 0)"
        keys = (*folding.keys, *substitution.supply.keys)
        source += f"\nJOIN {folding.support} AS s ON {write_key_equality('m', 's', keys)}"
    plural = substitution.plural
    has_interval = folding.ci and substitution.sampled
    none, is_some, some = _write_undefined(folding, value)
    if substitution.undefined_value is not None:
        _, is_some, some = _write_undefined(folding, f"m.{folding.columns['value']}")
        some += f" || ', which count as {folding.zero_division:g}'"
    few, rest = "", ""
    if has_interval:
        is_few = f"COUNT({value}) < {MIN_SAMPLE} AND STDDEV_SAMP({value}) > 0"
        warning = f"few {plural}: interval may be too narrow"
        few = f" WHEN {is_few} THEN '{warning}'"
        rest = f" || CASE WHEN {is_few} THEN '; {warning}' ELSE '' END"
    note = f"CASE {none} WHEN {is_some} THEN {some}{rest}{few} END"
    items = {"value": mean, "note": note}
    if has_interval and folding.support:
        items |= _write_weighted_error(value, mean)
    elif has_interval:
        # Values that differ by rounding alone do not vary.
        varies = f"MAX({value}) - MIN({value}) > 1e-14 * MAX(ABS({value}))"
        error = f"STDDEV_SAMP({value}) / NULLIF(SQRT(COUNT({value})), 0)"
        items["stderr"] = f"CASE WHEN {varies} THEN {error} WHEN COUNT({value}) > 1 THEN 0e0 END"
        items["degrees"] = f"COUNT({value}) - 1"
    return folding.select(items, source)


def _write_weighted_error(value: str, mean: str) -> dict[str, str]:
    """Return the linearised standard error of a weighted mean, and its degrees of freedom.

    The variance of sum w (x - m) / sum w is sum w^2 (x - m)^2 / (sum w)^2.
    """
    square = f"CASE WHEN {value} IS NOT NULL THEN s.support * s.support END"
    total = f"CAST(SUM(CASE WHEN {value} IS NOT NULL THEN s.support END) AS DOUBLE)"
    # The deviations are around the mean with squared weights, and are moved to the other mean.
    centre = f"SUM(({square}) * {value}) / NULLIF(SUM({square}), 0)"
    spread = f"{write_squared_deviations(f'({square})', value)}"
    squares = f"{spread} + SUM({square}) * POWER({centre} - {mean}, 2)"
    return {
        "stderr": f"SQRT(GREATEST({squares}, 0e0)) / NULLIF({total}, 0)",
        "degrees": f"{total} * {total} / NULLIF(SUM({square}), 0) - 1",
    }


def _write_undefined(folding: Folding, value: str) -> tuple[str, str, str]:
    """Return SQL for the note on undefined values: the case "all", the test "some", its text.

    Without any rows, the note "no rows" is added later.
    """
    plural = folding.substitution.plural
    missing = f"COUNT(*) - COUNT({value})"
    some = (
        f"'undefined for ' || CAST({missing} AS VARCHAR)"
        f" || ' of ' || CAST(COUNT(*) AS VARCHAR) || ' {plural}'"
    )
    none = f"WHEN COUNT({value}) = 0 AND COUNT(*) > 0 THEN 'undefined for all {plural}'"
    return none, f"{missing} > 0", some


def _write_extremes(folding: Folding) -> tuple[str, dict[str, str]]:
    """Take the extremes over the arrangements of bins; the value treats a bin's rows as tied.

    If a metric is undefined in some arrangements, its lower bound is the low end of its range. Its
    upper bound is the largest defined value, if the range has a high end. The bounds of a signed
    metric, such as a correlation, are extended to 0 instead, because predicting nothing or
    everything as positive means no association.
    """
    least, most = folding.ends
    value = folding.value
    of = {name: f"m.{column}" for name, column in folding.columns.items()} | {"value": value}
    items = {
        name: f"MAX(CASE WHEN m.arrangement = 'tied' THEN {sql} END)" for name, sql in of.items()
    }
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
    return folding.select(items, f"{folding.cte} AS m")


def _write_spread(folding: Folding) -> tuple[str, dict[str, str]]:
    """Compare the values of groups by their extremes. Undefined values are counted in the note."""
    value, reducer = folding.value, folding.substitution.reducer
    least, most = f"MIN({value})", f"MAX({value})"
    # One value of several groups says nothing about their difference.
    is_alone = f"COUNT({value}) = 1 AND COUNT(*) > 1"
    is_finite = f"NOT ({is_alone}) AND {_write_finite_test(value)}"
    # The difference and the ratio of infinite values are undefined, and so is the ratio of zeros.
    values = {
        "smallest": least, "largest": most,
        "difference": f"CASE WHEN {is_finite} THEN {most} - {least} END",
        "ratio": f"CASE WHEN {is_finite} THEN {least} / NULLIF(CAST({most} AS DOUBLE), 0) END",
    }  # fmt: skip
    why = ""
    if reducer in ("difference", "ratio"):
        why = f" WHEN {is_alone} THEN 'defined for one group only'"
        why += f" WHEN NOT ({is_finite}) THEN '{_INFINITE}'"
    if reducer == "ratio":
        why += f" WHEN {most} = 0 THEN 'the largest value is 0'"
    note = _write_group_note(folding, value, why)
    return folding.select({"value": values[str(reducer)], "note": note}, f"{folding.cte} AS m")


_INFINITE = "the value of a group is infinite"


def _write_finite_test(value: str) -> str:
    return f"ABS(MAX({value})) <= {LARGEST} AND ABS(MIN({value})) <= {LARGEST}"


def _write_group_note(folding: Folding, value: str, why: str) -> str:
    """Return the note on groups: the cases of ``why``, a single group, or undefined values."""
    none, is_some, some = _write_undefined(folding, value)
    return f"CASE {none}{why} WHEN COUNT(*) = 1 THEN 'one group' WHEN {is_some} THEN {some} END"


def _write_distance(folding: Folding) -> tuple[str, dict[str, str]]:
    """Take the largest distance between a group's value and the value of all rows."""
    assert folding.whole is not None
    cte, column = folding.whole
    value, whole = folding.value, f"w.{column}"
    source = f"{folding.cte} AS m\nJOIN {cte} AS w ON {write_key_equality('m', 'w', folding.keys)}"
    is_finite = f"{_write_finite_test(value)} AND ABS(MAX({whole})) <= {LARGEST}"
    why = f" WHEN NOT ({is_finite}) THEN 'a value is infinite'"
    why = f" WHEN MAX({whole}) IS NULL THEN 'undefined for all rows'{why}"
    distance = f"CASE WHEN {is_finite} THEN MAX(ABS({value} - {whole})) END"
    note = _write_group_note(folding, value, why)
    return folding.select({"value": distance, "note": note}, source)


def _write_integral(folding: Folding) -> tuple[str, dict[str, str]]:
    """Take the area under the values over a numeric key, by the trapezoid rule.

    Groups with an undefined value, or a key that is NULL, NaN or infinite, are left out and counted
    in the note.
    """
    (key,) = folding.substitution.supply.keys
    value = f"CASE WHEN ABS(CAST(m.{key} AS DOUBLE)) <= {LARGEST} THEN {folding.value} END"
    keys = [f"m.{each}" for each in folding.keys]
    within = ", ".join([*keys, f"CASE WHEN {value} IS NULL THEN 1 ELSE 0 END"])
    place = f"CAST(m.{key} AS DOUBLE)"
    items = {each: f"m.{each}" for each in folding.keys} | {"place": place, "value": value}
    for name in ("place", "value"):
        items[f"next_{name}"] = f"LEAD({items[name]}) OVER (PARTITION BY {within} ORDER BY {place})"
    source = f"(\n{select(items, f'FROM {folding.cte} AS m')}\n) AS m"
    is_finite = _write_finite_test("m.value")
    area = "SUM((m.next_place - m.place) * (m.value + m.next_value)) / 2e0"
    why = f" WHEN NOT ({is_finite}) THEN '{_INFINITE}'"
    note = _write_group_note(folding, "m.value", why)
    return folding.select({"value": f"CASE WHEN {is_finite} THEN {area} END", "note": note}, source)


#: The function of each reducer of a metric's values; `pooled` instead aggregates rows before.
REDUCERS: Mapping[Reducer, Callable[[Folding], tuple[str, dict[str, str]]]] = {
    "mean": _write_mean,
    "weighted mean": _write_mean,
    "extremes": _write_extremes,
    **dict.fromkeys(("smallest", "largest", "difference", "ratio"), _write_spread),
    "difference to all": _write_distance,
    "integral": _write_integral,
}


def write_pooled(query: exp.Query, cte: str, keys: Sequence[str]) -> str:
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
