"""Completes a result: computes the intervals that have no closed form by the bootstrap."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from math import ceil
from typing import NamedTuple, TypeGuard

import polars as pl

from sqleval.binding.arguments import RESAMPLING_METHODS
from sqleval.catalog.request import PER_CLASS, Request, format_request
from sqleval.common.sql_text import Value
from sqleval.compiler.intervals import FEW_ROWS, INFINITE, MIN_PAIRS, read_range
from sqleval.compiler.metric_rows import NO_CLOSED_FORM, POOLED, explain_no_interval
from sqleval.compiler.substitution import QUERIES
from sqleval.errors import RequestError
from sqleval.resampling.cells import EXACT_ROWS, Cells, Input, count_cells
from sqleval.resampling.intervals import LEAST_DEFINED, find_intervals
from sqleval.resampling.queries import create_query_values
from sqleval.resampling.replicates import evaluate_replicates
from sqleval.resampling.rounding import warn_of_change
from sqleval.resampling.values import create_values, group_requests, remove_threshold

#: The methods of intervals from replicates, and their names in the column ``method``.
_NAMES = {
    "bootstrap": "bootstrap", "percentile": "bootstrap percentile", "bca": "bootstrap BCa",
}  # fmt: skip
#: A bias of fewer standard errors can be ignored (Efron and Tibshirani 1993, section 10.3). The
#: default method subtracts its bias, which works up to about one standard error.
_LARGE_BIAS = {"bootstrap": 1.0, "percentile": 0.25, "bca": 0.25}
#: The fewest positives for areas under the precision-recall curve (`tests/bench/coverage.py`).
_MIN_POSITIVES = 100
TOO_FEW_CLUSTERS = "no interval: fewer than three clusters"
#: The part of ``method`` that names the units of a metric on scores.
_UNITS = r"^(rows|groups|bins[^;]*)"
#: Fewer replicates leave the ends uncertain; more take hours or fill memory, and change nothing.
_FEWEST, _MOST = 100, 1_000_000


class Options(NamedTuple):
    """How intervals are computed.

    Attributes
    ----------
    ci : float
        The level.
    replicates, seed : int
        The number of replicates, and the seed of their random numbers.
    everywhere : bool
        Whether even metrics with an interval in closed form get one from replicates.
    method : str
        The method by which replicates give an interval; see `intervals.find_intervals`.
    """

    ci: float
    replicates: int = 500
    seed: int = 0
    everywhere: bool = False
    method: str = "bootstrap"


def check_drawing(replicates: object, seed: object) -> None:
    """Raise `RequestError` for a number of replicates or a seed that is not allowed.

    Replicates are 0, or from `_FEWEST` to `_MOST`; the seed is a whole number from 0.
    """
    if not _is_whole(replicates) or not (replicates == 0 or _FEWEST <= replicates <= _MOST):
        raise RequestError(
            f"replicates={replicates!r} must be a whole number from {_FEWEST} to {_MOST:,}, or 0 "
            "for none"
        )
    if not _is_whole(seed) or seed < 0:
        raise RequestError(f"seed={seed!r} must be a whole number from 0 on")


def _is_whole(value: object) -> TypeGuard[int]:
    return isinstance(value, int) and not isinstance(value, bool)


def parse_options(
    ci: float, method: str | None, replicates: int, seed: int, *, is_clustered: bool
) -> Options:
    """Return the options of intervals, or raise `RequestError`."""
    check_drawing(replicates, seed)
    everywhere = method in RESAMPLING_METHODS or is_clustered
    if everywhere and not replicates:
        raise RequestError("replicates=0 leaves out the bootstrap, which this interval comes from")
    return Options(
        ci, replicates, seed, everywhere, method if method in RESAMPLING_METHODS else "bootstrap"
    )


def complete_intervals(
    frame: pl.DataFrame,
    data: Input,
    requests: Sequence[Request],
    options: Options,
    predicate: str | None,
) -> pl.DataFrame:
    """Add the missing intervals to a result of metrics.

    Parameters
    ----------
    frame : polars.DataFrame
        The result of the statement.
    data : Input
        The input of the statement.
    requests : sequence of Request
        Its metrics.
    options : Options
        The level and the replicates.
    predicate : str or None
        A condition on the slice keys.
    """
    reasons = {format_request(each): explain_no_interval(each) for each in requests}
    why = pl.col("metric").replace_strict(reasons, return_dtype=pl.String)
    lacks = pl.col("value").is_not_null() & why.is_null()
    if options.everywhere:
        # Without a level, the statement itself writes no note on intervals.
        frame = frame.with_columns(pl.coalesce("note", why))
    else:
        lacks &= pl.col("note") == NO_CLOSED_FORM
    is_infinite = pl.col("value").is_infinite()
    frame = _replace_note(frame, lacks & is_infinite, INFINITE)
    lacks &= ~is_infinite
    names = set(frame.filter(lacks)["metric"])
    chosen = [each for each in requests if format_request(each) in names and not each.is_per_row]
    if not chosen or not options.replicates:
        return frame
    if data.source.once or (data.labels is not None and data.labels.once):
        why = "no interval: replicates read the rows again, and the source can be read once"
        return _replace_note(frame, lacks, why)
    if data.binding.state is not None and data.binding.has_values:
        why = "no interval: it needs the rows, and the state holds sums of them"
        return _replace_note(frame, lacks, why)
    most = frame["n"].max()
    is_large = isinstance(most, int) and most > EXACT_ROWS
    intervals = find_standard_errors(data, chosen, options, predicate, is_large=is_large)
    return _join(frame, intervals, data, {format_request(e): e for e in chosen}, lacks)


def find_standard_errors(
    data: Input,
    requests: Sequence[Request],
    options: Options,
    predicate: str | None = None,
    *,
    is_large: bool,
) -> pl.DataFrame:
    """Return the standard errors and intervals of metrics from replicates.

    Parameters
    ----------
    data, options, predicate
        As for `complete_intervals`.
    requests : sequence of Request
        The metrics.
    is_large : bool
        Whether there are more than `EXACT_ROWS` rows.

    Returns
    -------
    polars.DataFrame
        The slice keys under reserved names, ``metric``, ``estimate``, ``stderr``, ``low``,
        ``high``, ``defined`` (the share of replicates with a value), ``_method`` and ``_note``.
    """
    parts: list[pl.DataFrame] = []
    for group, threshold, scored in group_requests(data.binding, requests):
        cells = count_slices(data, group, threshold, predicate, scored=scored, is_large=is_large)
        parts.append(_compute(data, cells, group, options))
    # Only metrics per class have the column of classes.
    return pl.concat(parts, how="diagonal")


def _replace_note(frame: pl.DataFrame, where: pl.Expr, note: str) -> pl.DataFrame:
    return frame.with_columns(pl.when(where).then(pl.lit(note)).otherwise("note").alias("note"))


def count_slices(
    data: Input,
    requests: Sequence[Request],
    threshold: Value,
    predicate: str | None,
    *,
    scored: bool,
    is_large: bool,
) -> Cells:
    """Count the cells of a group of metrics from `group_requests`."""
    if data.binding.has_queries:
        get_values = create_query_values(data, requests[0], predicate)
    else:
        get_values = partial(create_values, data.binding, threshold=threshold, scored=scored)
        if data.cluster is None and data.binding.many is not None:
            data = data._replace(cluster=data.binding.many.row)  # the labels of a row together
    return count_cells(data, get_values, predicate, is_large=is_large)


def _compute(
    data: Input, cells: Cells, requests: Sequence[Request], options: Options
) -> pl.DataFrame:
    """Return the intervals of metrics that share their cells."""
    keys = data.binding.keys
    cell_requests = [
        remove_threshold(each) if "prediction" in cells.roles else each for each in requests
    ]
    values = evaluate_replicates(
        cells, cell_requests, keys, replicates=options.replicates, seed=options.seed,
        jackknife=options.method == "bca",
    )  # fmt: skip
    by = [*keys, *(["class"] if "class" in values.columns else []), "metric"]
    intervals = find_intervals(
        values, by, options.ci, options.method, options.replicates,
        limits=find_limits(cell_requests), degrees=_find_degrees(cells, cell_requests, keys, by),
    )  # fmt: skip
    names = {
        format_request(cell_request): format_request(each)
        for cell_request, each in zip(cell_requests, requests, strict=True)
    }
    drawn = cells.describe(keys)
    if keys:
        intervals = intervals.join(
            drawn, on=keys, how="left", nulls_equal=True, maintain_order="left"
        )
    else:
        intervals = intervals.join(drawn, how="cross", maintain_order="left")
    least = {format_request(each): _find_least_size(each) for each in cell_requests}
    is_small = pl.col("degrees") < pl.col("metric").replace_strict(least) - 1
    few = FEW_ROWS if cells.definition is None else FEW_ROWS.replace("rows", QUERIES.plural)
    method = pl.format(
        f"{_NAMES[options.method]}{{}}, {options.replicates:,} replicates", pl.col("_how")
    )
    return intervals.with_columns(
        pl.col("metric").replace_strict(names, return_dtype=pl.String),
        _method=method,
        _note=pl.concat_str(
            pl.coalesce("_few", pl.when(is_small).then(pl.lit(few))),
            "_weights",
            pl.lit(_warn_of_few_replicates(options)),
            _warn_of_bias(options),
            separator="; ",
            ignore_nulls=True,
        ).replace("", None),
    ).drop("_how", "_few", "_weights", "bias", "degrees")


def _find_least_size(request: Request) -> int:
    """Return the smallest size of the smaller class that gives a reliable interval.

    If positives are rare, a few of them at the top decide on an area under the precision-recall
    curve, and their standard error is uncertain.
    """
    return _MIN_POSITIVES if request.relation.header.get("bound") == "precision" else MIN_PAIRS


def find_limits(requests: Sequence[Request]) -> dict[str, tuple[float, float]]:
    """Return the ends of the range of metrics whose range has two ends."""
    ranges = {format_request(each): read_range(each.header) for each in requests}
    return {name: (float(low), float(high)) for name, (low, high) in ranges.items() if low and high}


def _find_degrees(
    cells: Cells, requests: Sequence[Request], keys: Sequence[str], by: Sequence[str]
) -> pl.DataFrame:
    """Return the degrees of freedom of standard errors, per slice and metric.

    Where a metric is made of shares of the rows of each class, the smallest class determines how
    uncertain the standard error is; for other metrics all rows do.
    """
    slices, many = cells.count_units(keys), "many" in cells.roles
    total = pl.col("size").sum().over(keys) if keys else pl.col("size").sum()
    of_classes = [name for name in ("label_key", "label") if name in cells.frame.columns]
    classes = cells.count_units([*keys, *of_classes]) if of_classes else slices
    classes = classes.with_columns(rest=total - pl.col("size"))
    smallest = pl.col("size").min()
    small = classes.group_by(keys).agg(smallest) if keys else classes.select(smallest)
    parts: list[pl.DataFrame] = []
    for each in requests:
        is_of_classes = _is_of_classes(each)
        sizes = small if is_of_classes else slices
        if each.average == PER_CLASS and many:
            size = smallest if is_of_classes else pl.col("size").sum()
            sizes = classes.group_by(*keys, pl.col("label_key").alias("class")).agg(size)
        elif each.average == PER_CLASS:
            sizes = classes.rename({"label": "class"})
            size = pl.min_horizontal("size", "rest") if is_of_classes else total
            sizes = sizes.select(*keys, "class", size=size)
        elif "class" in by:
            sizes = sizes.with_columns(**{"class": pl.lit(None, classes.schema[of_classes[0]])})
        name = pl.lit(format_request(each))
        parts.append(
            sizes.select(*keys, *by[len(keys) : -1], metric=name, degrees=pl.col("size") - 1)
        )
    return pl.concat(parts)


def _is_of_classes(request: Request) -> bool:
    """Return whether all classes weigh the same in a metric, as in macro averages.

    True for metrics of ranked scores, and for metrics of decisions about each class unless the
    average pools classes or weighs them by their rows.
    """
    if request.depends_on("score_counts"):
        return True
    if request.average in ("micro", "weighted"):
        return False
    # Balanced accuracy has this column, because of its standard error; accuracy does not.
    has_support = "support" in request.relation.columns and request.depends_on("class_counts")
    return request.depends_on("outcomes") or has_support


def _warn_of_few_replicates(options: Options) -> str | None:
    """Return the note on quantiles that lie beyond all replicates, or None."""
    needed = ceil(round(2 / (1 - options.ci), 6))
    if options.method == "bootstrap" or options.replicates >= needed:
        return None
    return f"ci={options.ci:.15g} needs {needed:,} replicates: the interval may be too narrow"


def _warn_of_bias(options: Options) -> pl.Expr:
    """Return the note on biased replicates; NULL where their bias is small."""
    text = pl.format(
        "replicates are biased by {} standard errors: the interval may contain the true value "
        f"less often than {100 * options.ci:g} %",
        pl.col("bias").abs().round(1),
    )
    return pl.when(pl.col("bias").abs() > _LARGE_BIAS[options.method]).then(text)


def _join(
    frame: pl.DataFrame,
    intervals: pl.DataFrame,
    data: Input,
    requests: Mapping[str, Request],
    lacks: pl.Expr,
) -> pl.DataFrame:
    """Join the intervals to the rows of a result."""
    binding = data.binding
    # The user's keys may have the name of any column here.
    named = dict(zip(binding.keys, binding.key_names, strict=True))
    frame = frame.rename({user: key for key, user in named.items()})
    intervals = intervals.rename({"low": "_low", "high": "_high", "stderr": "_stderr"})
    on = [*binding.keys, *(["class"] if "class" in frame.columns else []), "metric"]
    if "class" in on and "class" not in intervals.columns:
        intervals = intervals.with_columns(pl.lit(None, frame.schema["class"]).alias("class"))
    intervals = intervals.with_columns(pl.col(name).cast(frame.schema[name]) for name in on)
    joined = frame.join(intervals, on=on, how="left", nulls_equal=True, maintain_order="left")
    has = lacks & pl.col("_low").is_not_null()
    ends = {name: pl.coalesce(name, "value") for name in ("low", "high")}
    if binding.state is None and "bins" not in " ".join(frame["method"].drop_nulls().unique()):
        ends = {"low": pl.col("value"), "high": pl.col("value")}
    shifted = {
        end: _clip(bound + pl.col(f"_{end}") - pl.col("estimate"), requests)
        for end, bound in ends.items()
    }
    parts = [pl.col("method").str.extract(_UNITS), "_method", pl.col("method").str.extract(POOLED)]
    method = pl.concat_str(parts, separator="; ", ignore_nulls=True)
    why = explain_missing(pl.col("defined"), pl.col("_stderr"))
    why = pl.when(pl.col("_too_few")).then(pl.lit(TOO_FEW_CLUSTERS)).otherwise(why)
    changed = warn_of_change(pl.col("value"), pl.col("estimate"), pl.col("_bits"))
    # Keep the statement's note on the value.
    of_value = pl.when(pl.col("note") != NO_CLOSED_FORM).then("note")
    notes = {
        name: pl.concat_str(of_value, note, changed, separator="; ", ignore_nulls=True)
        for name, note in (("has", pl.col("_note")), ("none", why))
    }
    notes = {name: note.replace("", None) for name, note in notes.items()}
    return joined.with_columns(
        *(pl.when(has).then(sql).otherwise(end).alias(end) for end, sql in shifted.items()),
        method=pl.when(has).then(method).otherwise("method"),
        note=pl.when(has).then(notes["has"]).when(lacks).then(notes["none"]).otherwise("note"),
    ).select(pl.col(name).alias(named.get(name, name)) for name in frame.columns)


def explain_missing(defined: pl.Expr, stderr: pl.Expr) -> pl.Expr:
    """Return the note that says why replicates give no interval."""
    share = pl.format(
        "no interval: the metric is defined in {} % of the replicates",
        (defined.fill_null(0) * 100).floor().cast(pl.Int64),
    )
    alike = pl.lit("no interval: the metric is the same in all replicates")
    infinite = pl.lit("no interval: the metric is infinite in some replicates")
    missing = pl.when(defined < LEAST_DEFINED).then(share)
    return missing.when(stderr.is_nan()).then(infinite).otherwise(alike)


def _clip(end: pl.Expr, requests: Mapping[str, Request]) -> pl.Expr:
    """Clip an end of an interval to the range of its metric."""
    for bound, clip in ((0, pl.max_horizontal), (1, pl.min_horizontal)):
        limits = {
            name: float(limit) if (limit := read_range(r.header)[bound]) else None
            for name, r in requests.items()
        }
        limit = pl.col("metric").replace_strict(limits, default=None, return_dtype=pl.Float64)
        end = clip(end, limit)
    return end
