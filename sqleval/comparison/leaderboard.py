"""Ranks models by a metric, and marks models that no test shows to differ from the best."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import polars as pl

from sqleval.catalog.request import Request, format_request
from sqleval.comparison.compare import check_comparison, measure_differences, note_folds
from sqleval.comparison.long import match_by_cluster
from sqleval.comparison.options import Options
from sqleval.comparison.pairs import Pairs
from sqleval.comparison.tests import OMNIBUS
from sqleval.comparison.values import arrange_models, evaluate_slices
from sqleval.comparison.verdict import find_signs, write_number
from sqleval.compiler.substitution import averages_folds
from sqleval.errors import RequestError
from sqleval.inference.adjust import add_adjusted_p_values
from sqleval.resampling.cells import Input
from sqleval.resampling.deferred import defer_frame

#: The columns of a leaderboard after its slice keys, and their types.
COLUMNS: Mapping[str, Any] = {
    "metric": pl.String, "rank": pl.Int64, "model": pl.String, "value": pl.Float64,
    "difference": pl.Float64, "low": pl.Float64, "high": pl.Float64, "p_value": pl.Float64,
    "p_adjusted": pl.Float64, "is_tied": pl.Boolean, "method": pl.String, "n": pl.Int64,
    "n_dropped": pl.Int64, "note": pl.String, "verdict": pl.String,
}  # fmt: skip


def create_leaderboard(
    data: Input, requests: Sequence[Request], options: Options, key_types: Mapping[str, Any]
) -> pl.LazyFrame:
    """Return the leaderboard as a lazy frame; see `Predictions.leaderboard`.

    Raises
    ------
    RequestError
        If an option does not fit the input or a metric.
    """
    # Keep the default metrics for which higher or lower is better.
    requests = [e for e in requests if e.named or e.header["direction"] != "none"]
    data, options = match_by_cluster(data, options)
    check_comparison(data, requests, options, key_types, COLUMNS)
    for request in requests:
        if request.header["direction"] == "none":
            name = format_request(request)
            raise RequestError(f"{name}: neither higher nor lower is better, so there is no best")
        if options.test in OMNIBUS:
            raise RequestError(
                f"test={options.test!r} asks whether any models differ, not which ones; "
                "compare() has this test"
            )
        if options.test == "corrected_t" and not averages_folds(request, data.binding):
            raise RequestError(
                f"{format_request(request)}: models are ranked by the value over all rows, and "
                "test='corrected_t' compares means over folds; name an average, such as "
                "average='macro'"
            )
    keys = {name: kind for name, kind in key_types.items() if name != "model"}
    schema = pl.Schema({**keys, **COLUMNS})
    return defer_frame(lambda: build_leaderboard(data, requests, options), schema)


def build_leaderboard(data: Input, requests: Sequence[Request], options: Options) -> pl.DataFrame:
    """Return the models of each slice and metric, the best first; see `Predictions.leaderboard`."""
    data, models = arrange_models(data, requests, options)
    pairs = Pairs(data, models[0], tuple(models))
    keys = list(pairs.joint.keys)
    on = [*keys, "metric"]
    signs = find_signs([format_request(each) for each in requests], requests[0].catalogue)
    frame = evaluate_slices(pairs, requests, (), options)
    sign = pl.col("metric").replace_strict(signs, return_dtype=pl.Float64)
    frame = frame.with_columns(_merit=pl.col("value") * sign)
    # Ties go to the model named first.
    order = {name: place for place, name in enumerate(models)}
    place = pl.col("model").replace_strict(order, return_dtype=pl.Int64)
    frame = frame.with_columns(_place=place)
    best = (
        frame.drop_nulls("_merit")
        .sort("_merit", "_place", descending=[True, False], maintain_order=True)
        .unique(on, keep="first", maintain_order=True)
        .select(*on, baseline="model")
    )
    leaders = [name for name in models if name in best["baseline"]] or models[:1]
    parts = [
        measure_differences(pairs._replace(baseline=name), requests, options, warn=False).join(
            best.filter(pl.col("baseline") == name).select(on),
            on=on, how="semi", nulls_equal=True,
        )
        for name in leaders
    ]  # fmt: skip
    columns = ("difference", "low", "high", "p_value", "method")
    tested = pl.concat(parts, how="diagonal").select(*on, "model", *columns, _why="note")
    frame = frame.drop("method", "low", "high")
    for other, by in ((best, on), (tested, [*on, "model"])):
        frame = frame.join(other, on=by, how="left", nulls_equal=True, maintain_order="left")
    ranking = note_folds(frame.with_columns(note=pl.coalesce("note", "_why")))
    ranking = _mark(ranking, on, options)
    # Slices are in the order of a result, then metrics in the order of the request.
    metrics = [format_request(request) for request in requests]
    number = pl.col("metric").replace_strict(metrics, range(len(metrics)), return_dtype=pl.Int64)
    row = pl.col("_row").min()
    ranking = ranking.with_row_index("_row").with_columns(
        _slice=row.over(keys) if keys else row, _metric=number
    )
    ranking = ranking.sort("_slice", "_metric", "rank", "_place", nulls_last=True)
    named = dict(zip(keys, pairs.joint.key_names, strict=True))
    return ranking.select(*keys, *COLUMNS).rename(named)


def _mark(frame: pl.DataFrame, on: Sequence[str], options: Options) -> pl.DataFrame:
    """Add the rank of models, the adjusted p-value, and whether a model ties with the best."""
    frame = add_adjusted_p_values(frame, options.adjust, by=list(on))
    is_best = pl.col("model") == pl.col("baseline")
    # Models with equal values are tied even if there is no test, because their rows rank alike.
    is_equal = (pl.col("_merit") == pl.col("_merit").max().over(on)) & (
        pl.col("model") != pl.col("baseline")
    )
    is_tied = is_equal | (pl.col("p_adjusted") >= 1 - options.ci)
    frame = frame.with_columns(
        rank=pl.col("_merit").rank("min", descending=True).over(on).cast(pl.Int64),
        # The best model is tied as soon as another model ties with it.
        is_tied=pl.when(is_best).then(is_tied.any().over(on)).otherwise(is_tied),
    )
    apart = pl.format(
        "worse than {} by {} [{}, {}]",
        "baseline",
        *(
            write_number(each)
            for each in (
                pl.col("difference").abs(),
                pl.min_horizontal(pl.col("low").abs(), pl.col("high").abs()),
                pl.max_horizontal(pl.col("low").abs(), pl.col("high").abs()),
            )
        ),
    )
    bare = pl.format("worse than {} by {}", "baseline", write_number(pl.col("difference").abs()))
    verdict = (
        pl.when(pl.col("value").is_null())
        .then(pl.lit("no value"))
        .when(is_best & pl.col("is_tied"))
        .then(pl.lit("best, with ties"))
        .when(is_best)
        .then(pl.lit("best"))
        .when(is_equal & pl.col("p_adjusted").is_null())
        .then(pl.format("equal to {}", "baseline"))
        .when(pl.col("is_tied"))
        .then(pl.format("not shown to be worse than {}", "baseline"))
        .when(pl.col("p_adjusted").is_null())
        .then(pl.lit("no test"))
        .when(pl.col("low").is_null())
        .then(bare)
        .otherwise(apart)
    )
    return frame.with_columns(verdict=verdict)
