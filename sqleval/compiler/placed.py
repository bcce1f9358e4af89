"""Metrics in a statement, and the columns of each from which intervals and tests are made."""

from typing import NamedTuple

from sqlglot import exp

from sqleval.catalog.request import Request
from sqleval.compiler import weights
from sqleval.compiler.builder import Builder
from sqleval.compiler.intervals import Bounds, Level, find_counts, widen_interval, write_interval
from sqleval.compiler.requirements import is_linearised
from sqleval.compiler.substitution import Substitution

#: Columns that a result loses when the exact interval of a rate is made of them.
COUNTS = ("_successes", "_trials")
#: Columns of a result from which the differences of models with different rows are tested.
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
        The metric's columns, as they are called in the CTE.
    substitutions : tuple of Substitution
        The substitutions that it is under.
    reasons : tuple of str
        Why it may have no value where its SQL file gives no reason.
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
        """Whether its values are folded over the keys of a substitution."""
        return any(each.is_folded for each in self.substitutions)


def _keep_for_interval(at: dict[str, str], placed: PlacedMetric) -> dict[str, str]:
    """Return the columns from which an interval may be computed.

    A sum over rows has no interval: the columns are those of the mean. Where the counts of all
    classes are added up, a row counts once per class, so that a standard error for independent rows
    would be wrong. But among tp and fp, and among tp and fn, each row is there once: rates of these
    keep their counts. Not so in pairs of classes, where a right row counts once per pair.
    """
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
    """Return the interval of a metric, made wider by what score bins leave open."""
    binding, header = builder.binding, placed.request.header
    columns = _keep_for_interval(at, placed)
    if level is not None and binding.is_weighted:
        columns = _linearise(builder, placed, columns)
    bounds = write_interval(columns, level, header, weighted=binding.is_weighted)
    if builder.bins is None:
        return bounds
    return widen_interval(at, header, "m.margin" if "score" in binding.role else "", bounds)


def _linearise(builder: Builder, placed: PlacedMetric, columns: dict[str, str]) -> dict[str, str]:
    """Return the columns of an interval where rows have sampling weights."""
    if not is_linearised(builder, placed.request.name):
        return {name: sql for name, sql in columns.items() if name in ("value", "note")}
    if "stderr" in columns:
        return columns | {"stderr": f"({columns['stderr']} * {weights.write_correction()})"}
    return columns


def list_hidden(level: Level | None) -> tuple[str, ...]:
    """Return the columns of numbers that a result with intervals of a level loses."""
    if level is None or not (level.is_exact or level.has_parts):
        return ()
    return COUNTS if level.is_exact else PARTS


def write_hidden(
    builder: Builder, placed: PlacedMetric, at: dict[str, str], bounds: Bounds, level: Level | None
) -> dict[str, str]:
    """Return the hidden columns, NULL where a metric has none of them."""
    names, parts = list_hidden(level), dict[str, str]()
    if names == PARTS:
        parts = _list_parts(builder, placed, at)
    elif bounds.counts is not None:
        parts = dict[str, str](zip(COUNTS, bounds.counts, strict=True))
    return {name: f"CAST({parts.get(name, 'NULL')} AS DOUBLE)" for name in names}


def _list_parts(builder: Builder, placed: PlacedMetric, at: dict[str, str]) -> dict[str, str]:
    """Return the SQL of `PARTS`, as far as a metric has them."""
    columns, is_weighted = _keep_for_interval(at, placed), builder.binding.is_weighted
    if is_weighted:
        columns = _linearise(builder, placed, columns)
    parts = {"_effective": weights.write_effective_rows() if is_weighted else "a._used"}
    if "stderr" in columns:
        parts["_stderr"] = columns["stderr"]
    if "degrees" in columns:
        parts["_effective"] = f"({columns['degrees']} + 1)"
    if {"successes", "trials"} <= columns.keys():
        found = find_counts("successes", columns, weighted=is_weighted)
        parts |= dict(zip(COUNTS, found, strict=True))
    return parts
