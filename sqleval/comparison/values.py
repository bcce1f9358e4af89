"""Computes the values of models by slice and metric, and puts the baseline's beside each."""

from __future__ import annotations

from collections.abc import Sequence

import polars as pl
import polars.selectors as cs

from sqleval.binding.binding import Binding
from sqleval.catalog.request import Request, format_request
from sqleval.comparison.folds import check_folds
from sqleval.comparison.long import keep_matched, key_by_model, pivot_models
from sqleval.comparison.options import Options
from sqleval.comparison.pairs import Pairs, write_presence
from sqleval.comparison.tests import OVER
from sqleval.compiler.metric_rows import POOLED
from sqleval.compiler.metrics import compile_metrics
from sqleval.compiler.placed import PARTS
from sqleval.engines.audit import remove_audit
from sqleval.errors import DataError
from sqleval.resampling.cells import Input


def arrange_models(
    data: Input, requests: Sequence[Request], options: Options
) -> tuple[Input, list[str]]:
    """Arrange models as columns or as the last slice key; return the input and the models."""
    if options.model is None:
        return data, [model for model, _ in data.binding.models]
    if not options.paired:
        if options.key is not None:
            # Check NULLs first: afterwards a NULL may also mean that a model has no row.
            evaluate_models(data, requests[:1], (), options)
            data = keep_matched(data, options.model, options.key)
        return key_by_model(data, options.model)
    assert options.key is not None
    # Check NULLs before the pivot: afterwards a NULL may also mean that a model has no row.
    evaluate_models(data, requests[:1], (), options)
    data = pivot_models(data, options.model, options.key)
    return data, [model for model, _ in data.binding.models]


def evaluate_models(
    data: Input,
    requests: Sequence[Request],
    ranked: Sequence[Request],
    options: Options,
    *,
    warn: bool = True,
) -> pl.DataFrame:
    """Return the metrics of each model, over the rows that all models have.

    The values of ``ranked`` stay NULL: their test ranks the rows, which takes longest, and gives
    the values, too. With ``warn``, rows without a label and labels without a row raise a warning.
    The column ``_folds`` is the number of folds over which a value is pooled, or NULL.
    """
    binding = data.binding
    unranked = [request for request in requests if request not in ranked]
    carrier = Request("prevalence", catalogue=requests[0].catalogue)
    has_carrier = format_request(carrier) in map(format_request, unranked)
    if not unranked or (ranked and binding.over and not has_carrier):
        # A cheap metric brings the audit and the number of folds.
        unranked.append(carrier)
    predicate = write_presence(binding)
    if options.test in OVER:
        check_folds(data)
        predicate = write_presence(binding, binding.over)
    statement = compile_metrics(binding, tuple(unranked), "rows", None, predicate)
    frame = data.run(statement.sql, statement.params)
    frame = remove_audit(frame, warn=warn)
    frame = frame.with_columns(_folds=pl.col("method").cast(pl.String).str.extract(POOLED))
    if ranked:
        frame = _leave_open(frame, requests, ranked)
    return _name_models(frame, binding)


def _name_models(frame: pl.DataFrame, binding: Binding) -> pl.DataFrame:
    """Name the models of a result in the column ``model``."""
    if binding.models or not binding.by:
        return frame
    names = {binding.by[-1].name: "model"}
    return frame.rename(names).with_columns(pl.col("model").cast(pl.String))


def evaluate_parts(pairs: Pairs, requests: Sequence[Request], ci: float) -> pl.DataFrame:
    """Return each model's counts and standard errors beside the baseline's.

    The columns are the slice keys, ``metric``, ``model``, and for the model and (after
    ``baseline``) the baseline ``_value``, ``_n``, ``_note`` and `placed.PARTS`.
    """
    binding = pairs.data.binding
    predicate = write_presence(binding)
    statement = compile_metrics(binding, tuple(requests), "rows", ci, predicate, "parts")
    frame = remove_audit(pairs.data.run(statement.sql, statement.params), warn=False)
    frame = pairs.rename_keys(_name_models(frame, binding))
    on = [*pairs.joint.keys, "metric"]
    names = {"_value": "value", "_n": "n", "_note": "note"} | {name: name for name in PARTS}
    is_baseline = pl.col("model") == pairs.baseline
    model_rows = frame.filter(~is_baseline).select(
        *on, "model", **{k: pl.col(v) for k, v in names.items()}
    )
    baseline_rows = frame.filter(is_baseline).select(
        *on, **{f"baseline{k}": pl.col(v) for k, v in names.items()}
    )
    return model_rows.join(
        baseline_rows, on=on, how="left", nulls_equal=True, maintain_order="left"
    )


def evaluate_slices(
    pairs: Pairs,
    requests: Sequence[Request],
    ranked: Sequence[Request],
    options: Options,
    *,
    warn: bool = True,
) -> pl.DataFrame:
    """Return the metrics of each model by slice, including slices that lack a model's rows."""
    frame = evaluate_models(pairs.data, requests, ranked, options, warn=warn)
    if options.key is not None and not frame["n"].sum():
        raise DataError(
            f"no value of key={', '.join(map(repr, options.key))} has a row of every model that "
            "can be used; if the models have different rows: paired=False (--unpaired), and no key"
        )
    frame = pairs.rename_keys(frame)
    if not options.paired:
        return frame
    keys = list(pairs.joint.keys)
    counted = pairs.count_rows().with_columns(pl.col(key).cast(frame.schema[key]) for key in keys)
    names = pl.DataFrame({"metric": [format_request(request) for request in requests]})
    models = pl.DataFrame({"model": pairs.names}, schema={"model": frame.schema["model"]})
    on = [*keys, "model", "metric"]
    needed = "a value of every model" + (" and a fold" if options.test in OVER else "")
    why = pl.when(pl.col("_rows") > 0).then(pl.lit(f"no row has {needed}"))
    empty = counted.join(models, how="cross").join(names, how="cross", maintain_order="left")
    empty = empty.join(frame, on=on, how="anti", nulls_equal=True, maintain_order="left").select(
        *on, n=pl.lit(0, frame.schema["n"]), note=why.otherwise(pl.lit("no rows"))
    )
    frame = pl.concat([frame, empty], how="diagonal")
    if keys:
        frame = frame.join(counted, on=keys, how="left", nulls_equal=True, maintain_order="left")
    else:
        frame = frame.join(counted, how="cross", maintain_order="left")
    many = pairs.data.binding.many
    # A row of many labels is counted once per label.
    rows = pl.col("_rows") if many is None else pl.col("_rows") // len(many.names)
    return frame.with_columns(n_dropped=rows - pl.col("n")).drop("_rows")


def _leave_open(
    frame: pl.DataFrame, requests: Sequence[Request], ranked: Sequence[Request]
) -> pl.DataFrame:
    """Add rows for further metrics, with missing values."""
    places = {format_request(request): i for i, request in enumerate(requests)}
    keys = frame.columns[: frame.columns.index("metric")]
    # Order by slice, as the statement does, then by metric.
    # by_name(), because a key may be called *, which col() reads as all columns.
    number = pl.struct(cs.by_name(*keys)).rle_id() if keys else pl.lit(0)
    frame = frame.with_columns(_slice=number)
    empty = {name: pl.lit(None, frame.schema[name]) for name in ("value", "note")}
    empty["_folds"] = pl.col("_folds").max().over("_slice")
    parts = [
        frame.with_columns(metric=pl.lit(format_request(request)), **empty).unique(
            "_slice", keep="first", maintain_order=True
        )
        for request in ranked
    ]
    place = pl.col("metric").replace_strict(places, default=None, return_dtype=pl.Int64)
    whole = pl.concat([frame, *parts]).with_columns(_place=place).drop_nulls("_place")
    return whole.sort("_slice", "_place").drop("_slice", "_place")


def pair_values(frame: pl.DataFrame, pairs: Pairs, *, on_same_rows: bool) -> pl.DataFrame:
    """Put the values of a model and the baseline in one row; ``n`` counts the rows of both."""
    keys = list(pairs.joint.keys)
    on = [*keys, "metric"]
    is_baseline = pl.col("model") == pairs.baseline
    # The value of bins and states has bounds; without bounds it is exact.
    off = pl.max_horizontal(pl.col("high") - pl.col("value"), pl.col("value") - pl.col("low"))
    frame = frame.with_columns(_bound=off.fill_null(0.0))
    baseline_rows = frame.filter(is_baseline).select(
        *on, baseline_value="value", baseline_note="note", _n="n", _dropped="n_dropped",
        _baseline_bound="_bound",
    )  # fmt: skip
    names = ("model", "value", "n", "note", "n_dropped", "_bound", "_folds")
    others = frame.filter(~is_baseline).select(*on, *names)
    joined = others.join(baseline_rows, on=on, how="left", nulls_equal=True, maintain_order="left")
    joined = joined.with_columns(
        baseline=pl.lit(pairs.baseline),
        # The difference of two infinite values is undefined.
        difference=(pl.col("value") - pl.col("baseline_value")).fill_nan(None),
        note=pl.coalesce("note", "baseline_note"),
        _bound=pl.col("_bound") + pl.col("_baseline_bound"),
    )
    if not on_same_rows:
        none = pl.lit("the baseline has no rows")
        return joined.with_columns(
            n=pl.col("n") + pl.col("_n").fill_null(0),
            n_dropped=pl.col("n_dropped") + pl.col("_dropped").fill_null(0),
            note=pl.coalesce("note", pl.when(pl.col("_n").is_null()).then(none)),
        )
    # A model with fewer rows has fewer dropped rows: the larger count is right for both.
    return joined.with_columns(n_dropped=pl.max_horizontal("n_dropped", "_dropped"))
