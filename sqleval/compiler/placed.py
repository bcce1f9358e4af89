"""Describes a metric in a statement, and its columns for intervals and tests."""

from typing import NamedTuple

from sqlglot import exp

from sqleval.binding.binding import Binding
from sqleval.catalog.request import Request
from sqleval.compiler import weights
from sqleval.compiler.builder import Builder
from sqleval.compiler.intervals import Bounds, Level, find_counts, widen_interval, write_interval
from sqleval.compiler.requirements import is_linearised
from sqleval.compiler.substitution import Substitution, list_keys

#: Hidden columns from which exact intervals of rates are computed.
COUNTS = ("_successes", "_trials")
#: Hidden columns from which models with different rows are compared.
PARTS = (*COUNTS, "_stderr", "_effective")


class PlacedMetric(NamedTuple):
    """A metric in a statement.

    Attributes
    ----------
    request : Request
        The metric, with its parameters.
    cte : str
        The CTE that holds it.
    columns : dict of str to str
        The metric's columns, and their names in the CTE.
    substitutions : tuple of Substitution
        The substitutions that apply to it.
    reasons : tuple of str
        Reasons for an undefined value, in addition to the reasons in its SQL file.
    guard : str, optional
        Why it has no value if scores are outside 0 .. 1, as SQL.
    remark : str, optional
        Its note if no scores are outside 0 .. 1, as SQL.
    whole : PlacedMetric, optional
        The metric of all rows, from which the distances of groups are taken.
    """

    request: Request
    cte: str
    columns: dict[str, str]
    substitutions: tuple[Substitution, ...]
    reasons: tuple[str, ...] = ()
    guard: str | None = None
    remark: str | None = None
    whole: "PlacedMetric | None" = None

    @property
    def is_averaged(self) -> bool:
        """Whether its values are reduced over the keys of a substitution."""
        return any(each.is_folded for each in self.substitutions)


def _keep_for_interval(
    at: dict[str, str], placed: PlacedMetric, binding: Binding
) -> dict[str, str]:
    """Return the columns from which an interval may be computed.

    A sum over rows has no interval, because the columns belong to the mean. In pooled counts of all
    classes a row counts once per class, so a standard error for independent rows would be wrong.
    But tp + fp, and tp + fn, count each row once, so rates of these keep their counts; except for
    pairs of classes, where a right row counts once per pair. The labels of a row are not
    independent, so pooled labels have no standard error from counts.
    """
    if binding.many is not None and not {*list_keys(placed.substitutions)} & {*binding.label_keys}:
        return {name: sql for name, sql in at.items() if name in ("value", "note", "low", "high")}
    if placed.request.is_sum:
        return {name: sql for name, sql in at.items() if name in ("value", "low", "high")}
    pooled = [each.supply.twin for each in placed.substitutions if each.reducer == "pooled"]
    if not pooled:
        return at
    dropped = {"stderr"}
    trials = next((e for e in placed.request.relation.query.selects if e.alias == "trials"), None)
    if trials is not None:
        counts = {column.name for column in trials.find_all(exp.Column)}
        if "one_vs_one" in pooled or not (counts <= {"tp", "fp"} or counts <= {"tp", "fn"}):
            dropped |= {"successes", "positives", "trials"}
    return {name: sql for name, sql in at.items() if name not in dropped}


def write_bounds(
    builder: Builder, placed: PlacedMetric, at: dict[str, str], level: Level | None
) -> Bounds:
    """Return the interval of a metric, widened by the uncertainty of score bins."""
    binding, header = builder.binding, placed.request.header
    columns = _keep_for_interval(at, placed, binding)
    if level is not None and binding.is_weighted:
        columns = _linearise(builder, placed, columns)
    bounds = write_interval(columns, level, header, weighted=binding.is_weighted)
    if builder.bins is None:
        return bounds
    return widen_interval(at, header, "m.margin" if "score" in binding.role else "", bounds)


def _linearise(builder: Builder, placed: PlacedMetric, columns: dict[str, str]) -> dict[str, str]:
    """Return the columns of an interval, corrected for sampling weights."""
    # The mean over rows of many labels has weights of its own.
    is_per_row = builder.binding.many is not None and placed.request.is_per_row
    if not is_per_row and not is_linearised(builder, placed.request.name):
        return {name: sql for name, sql in columns.items() if name in ("value", "note")}
    if "stderr" in columns:
        return columns | {"stderr": f"({columns['stderr']} * {weights.write_correction()})"}
    return columns


def list_hidden(level: Level | None) -> tuple[str, ...]:
    """Return the hidden columns of a statement with intervals, which the result does not have."""
    if level is None or not (level.is_exact or level.has_parts):
        return ()
    return COUNTS if level.is_exact else PARTS


def write_hidden(
    builder: Builder, placed: PlacedMetric, at: dict[str, str], bounds: Bounds, level: Level | None
) -> dict[str, str]:
    """Return the hidden columns; NULL if a metric lacks them."""
    names, parts = list_hidden(level), dict[str, str]()
    if names == PARTS:
        parts = _list_parts(builder, placed, at)
    elif bounds.counts is not None:
        parts = dict[str, str](zip(COUNTS, bounds.counts, strict=True))
    return {name: f"CAST({parts.get(name, 'NULL')} AS DOUBLE)" for name in names}


def _list_parts(builder: Builder, placed: PlacedMetric, at: dict[str, str]) -> dict[str, str]:
    """Return the SQL of the columns of `PARTS` that a metric has."""
    is_weighted = builder.binding.is_weighted
    columns = _keep_for_interval(at, placed, builder.binding)
    if is_weighted:
        columns = _linearise(builder, placed, columns)
    parts = {"_effective": weights.write_effective_rows() if is_weighted else "a._used"}
    if "stderr" in columns:
        parts["_stderr"] = columns["stderr"]
    if "degrees" in columns:
        parts["_effective"] = f"({columns['degrees']} + 1)"
    if {"successes", "trials"} <= columns.keys():
        counts = find_counts("successes", columns, weighted=is_weighted)
        parts |= dict(zip(COUNTS, counts, strict=True))
    return parts
