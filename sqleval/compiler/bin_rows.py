"""Writes the aggregation of rows per score bin."""

from collections.abc import Callable, Container, Mapping, Sequence
from functools import lru_cache
from typing import Literal

from sqlglot import exp

from sqleval.binding.binding import Binding
from sqleval.catalog.contract import Relation, list_interval_columns
from sqleval.catalog.header import CENTRE, VARIANCE
from sqleval.catalog.parameters import format_value
from sqleval.common.sql_text import (
    Value,
    select,
    write_double,
    write_key_equality,
    write_present_test,
)
from sqleval.compiler.bins import Bins, write_bin
from sqleval.compiler.rows import (
    OUTSIDE,
    write_clusters,
    write_further,
    write_usable,
    write_zero_or_one,
)

#: How an expression of the rows of a bin becomes one column: the sum with weights, the sum with
#: squared weights, the sum of squared deviations with squared weights or with weights, or a value
#: to group by.
Aggregate = Literal["sum", "centre", "squares", "deviations", "key"]
#: The lowest and the highest score of a bin.
_ENDS = {"score_low": "MIN(score)", "score_high": "MAX(score)"}


def is_row_level(relation: Relation) -> bool:
    """Whether a step computes columns of each row of ``predictions``, and reads nothing else."""
    return (
        relation.kind == "step"
        and relation.reads == ("predictions",)
        and isinstance(relation.query, exp.Select)
        and not relation.query.find(exp.Window, exp.Where, exp.Join, exp.Group)
    )


def describe_column(step: str, column: str, params: Mapping[str, Value]) -> str:
    """Describe a step's column with its parameters, such as ``log_losses.loss(eps=1e-15)``."""
    arguments = ", ".join(f"{name}={format_value(value)}" for name, value in sorted(params.items()))
    return f"{step}.{column}" + (f"({arguments})" if arguments else "")


def read_expressions(query: exp.Query) -> dict[str, exp.Expr]:
    """Return each column of a row-level step as an expression over ``predictions``."""
    inside = query.args["from_"].this
    below = read_expressions(inside.this) if isinstance(inside, exp.Subquery) else {}

    def inline(node: exp.Expr) -> exp.Expr:
        if not isinstance(node, exp.Column) or node.name not in below:
            return node
        inner = below[node.name].copy()
        return inner if isinstance(inner, exp.Column) else exp.paren(inner, copy=False)

    return {item.alias_or_name: item.unalias().copy().transform(inline) for item in query.selects}


def rewrite_over_source(binding: Binding, node: exp.Expr) -> exp.Expr:
    """Rewrite an expression over ``predictions`` into one over ``_source``."""
    weight = exp.column("weight") if binding.is_weighted else exp.Literal.number(1)
    weights = {"weight": weight, "squares": exp.paren(exp.Mul(this=weight, expression=weight))}

    def replace_column(inner: exp.Expr) -> exp.Expr:
        if isinstance(inner, exp.Column) and inner.name in binding.further:
            return exp.maybe_parse(write_further(binding, inner.name), dialect="duckdb")
        if isinstance(inner, exp.Column) and inner.name in ("weight", "squares"):
            return weights[inner.name].copy()
        if not isinstance(inner, exp.Column) or inner.name not in ("label", "prediction", "value"):
            return inner
        sql = f"CAST({inner.name} AS DOUBLE)"
        if binding.has_two_classes:
            sql = write_zero_or_one(binding, inner.name)
        return exp.maybe_parse(sql, dialect="duckdb")

    return node.copy().transform(replace_column)


def write_bins(
    binding: Binding,
    bins: Bins,
    shared: Mapping[str, str],
    totals: Mapping[str, str],
    *,
    domain: bool,
) -> dict[str, str]:
    """Return ``_grouped``, one row per slice, label and bin, and the relation that it reads.

    Parameters
    ----------
    binding : Binding
        The bound input.
    bins : Bins
        How scores are binned.
    shared, totals : mapping of str to str
        Further columns to group by, and further aggregates, as SQL by name.
    domain : bool
        Whether to count scores outside 0 .. 1.
    """
    keys = {key: key for key in (*binding.keys, *binding.folds)}
    if binding.has_values:
        keys["_used"] = write_usable(binding)
    else:
        keys |= {role: role for role in ("label", "prediction") if role in binding.role}
    keys |= {role: role for role in binding.kept}
    keys |= {"_side": "_side"} if binding.labels else {}
    keys |= {"role": "role"} if "role" in binding.role else {}
    if binding.is_weighted:
        # Rows are grouped by sign, so that an invalid weight does not vanish in a sum.
        is_valid = write_present_test("weight", "DOUBLE", finite=True)
        keys["_sign"] = f"CASE WHEN {is_valid} THEN SIGN(weight) END"
    has_cluster, clusters = write_clusters(binding)
    keys |= {**has_cluster, **shared}
    counts = {"_rows": "COUNT(*)"} | clusters
    if binding.is_weighted:
        counts |= {"weight": "SUM(weight)", "squares": "SUM(weight * weight)"}
    totals = counts | {**totals}
    totals |= {"_outside": f"SUM(CASE WHEN {OUTSIDE} THEN 1 ELSE 0 END)"} if domain else {}
    if "score" not in binding.role:
        return {"_grouped": select(keys | totals, f"FROM _source\n{_write_group_by(len(keys))}")}
    group = _write_group_by(len(keys) + 1)
    bin_ = write_bin("score", bins)
    if bins.tolerance is None:
        items = keys | {"score": bin_} | _ENDS | totals
        return {"_grouped": select(items, f"FROM _source\n{group}")}
    return _write_tolerance_bins(binding, bins, keys, totals, bin_)


def _write_tolerance_bins(
    binding: Binding, bins: Bins, keys: Mapping[str, str], totals: Mapping[str, str], bin_: str
) -> dict[str, str]:
    """Return ``_coarse``, and ``_grouped``, where refined bins are split into their scores.

    Parameters
    ----------
    binding : Binding
        The bound input.
    bins : Bins
        The bins, with a tolerance.
    keys, totals : dict of str to str
        The columns to group by, and the sums, as SQL over ``_source``.
    bin_ : str
        The SQL of a score's bin.
    """
    group = _write_group_by(len(keys) + 1)
    # MIN and MAX of the scores would double the time of bins of equal width.
    coarse_ends = _ENDS if bins.bits else {}
    coarse = select({**keys, "bin": bin_, **coarse_ends, **totals}, f"FROM _source\n{group}")
    same = write_key_equality("a", "h", binding.keys)
    scores = {"score": "CAST(a.bin AS DOUBLE)"} | {end: f"a.{end}" for end in _ENDS}
    if not bins.bits:
        # Take two points within the bin as its ends, because it may hold several scores.
        factor, low = write_double(bins.factor), write_double(bins.low)
        middle = f"a.bin / {factor} + {low}"
        beside = f"(a.bin + 2.5e-1) / {factor} + {low}"
        scores = {"score": middle, "score_low": middle, "score_high": beside}
    light = select(
        {name: f"a.{name}" for name in keys} | scores | {name: f"a.{name}" for name in totals},
        f"FROM _coarse AS a\nANTI JOIN refined_bins AS h ON {same} "
        "AND a.bin IS NOT DISTINCT FROM h.bin",
    )
    refined = select(
        {**keys, "score": "score", **_ENDS, **totals},
        f"FROM _source AS a\nSEMI JOIN refined_bins AS h ON {same} "
        f"AND {bin_} IS NOT DISTINCT FROM h.bin\n{group}",
    )
    return {"_coarse": coarse, "_grouped": f"{light}\nUNION ALL\n{refined}"}


def _write_group_by(places: int) -> str:
    return "GROUP BY " + ", ".join(str(place + 1) for place in range(places)) if places else ""


def write_coarse_bins(binding: Binding) -> str:
    """Return ``coarse_bins`` from ``_coarse``."""
    items = {key: key for key in binding.keys} | {"bin": "bin"}
    places = ", ".join(items)
    weight = "weight" if binding.is_weighted else "_rows"
    positive = write_zero_or_one(binding, "label")
    items["positives"] = f"COALESCE(SUM(CASE WHEN {positive} = 1 THEN {weight} END), 0)"
    items["negatives"] = f"COALESCE(SUM(CASE WHEN {positive} = 0 THEN {weight} END), 0)"
    # Rows that metrics leave out must not widen their bounds.
    condition = write_usable(binding, but="score")
    return select(items, f"FROM _coarse\nWHERE {condition}\nGROUP BY {places}")


def write_refined_bins(binding: Binding, names: Sequence[str]) -> str:
    """Return the bins to split into scores: the rows of the relations ``names``, and bin NULL."""
    items = {key: key for key in (*binding.keys, "bin")}
    parts = [select(items, f"FROM {name}") for name in names]
    return "\nUNION ALL\n".join([*parts, select(items, "FROM coarse_bins\nWHERE bin IS NULL")])


@lru_cache(maxsize=4096)
def find_columns(relation: Relation, *, intervals: bool) -> frozenset[str]:
    """Return the columns of a file; with ``intervals``, also columns that only intervals need."""
    query = relation.query.copy()
    if not intervals:
        needless = list_interval_columns()
        kept = [item for item in query.selects if item.alias_or_name not in needless]
        query.set("expressions", kept)
    return frozenset(column.name for column in query.find_all(exp.Column))


def write_binned_step(
    relation: Relation,
    keys: Sequence[str],
    used: Container[str],
    add_column: Callable[[Aggregate, exp.Expr, str], str],
    *,
    weighted: bool,
) -> str:
    """Return the SQL of a row-level step over score bins.

    Parameters
    ----------
    relation : Relation
        The step.
    keys : sequence of str
        The columns that replace ``slice``.
    used : set of str
        The columns of the step that other files read.
    add_column : function
        Adds a column to ``_grouped`` and returns its name. Its arguments are the kind, an
        expression over ``predictions`` and the name of the step's column.
    weighted : bool
        Whether rows have weights. Without weights, the centre of a variance is the mean.
    """
    means = relation.header.get("means") or ()
    centres = relation.header.get("centres") or ()
    variances = relation.header.get("variances") or ()
    items = {key: key for key in keys}
    expressions = read_expressions(relation.query)
    for column, node in expressions.items():
        if isinstance(node, exp.Column) and column not in (*means, *centres):
            items |= {} if column == "slice" else {column: node.name}
        elif column not in used:
            continue
        elif column in means or (column in centres and not weighted):
            base = column if column in means else column.removesuffix(CENTRE)
            total = add_column("sum", expressions[base], base)
            items[column] = f"COALESCE({total} / NULLIF(CAST(weight AS DOUBLE), 0), 0e0)"
        elif column in centres or column in variances:
            base = column.removesuffix(CENTRE).removesuffix(VARIANCE)
            is_centred = column in centres or base + CENTRE in centres
            kind = "centre" if column in centres else "squares" if is_centred else "deviations"
            total = add_column(kind, expressions[base], column)
            by = "squares" if is_centred else "weight"
            items[column] = f"COALESCE({total} / NULLIF(CAST({by} AS DOUBLE), 0), 0e0)"
        else:
            items[column] = add_column("key", node, column)
    return select(items, "FROM predictions")
