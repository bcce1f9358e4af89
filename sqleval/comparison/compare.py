"""Compares models: values, differences with intervals, p-values and verdicts, per slice."""

from __future__ import annotations

from collections.abc import Container, Mapping, Sequence
from typing import Any

import polars as pl
import polars.selectors as cs

from sqleval.catalog.catalogue import Catalogue
from sqleval.catalog.request import PER_CLASS, Request, format_request
from sqleval.comparison.closed import CLOSED, compare_closed
from sqleval.comparison.folds import check_folds, compare_over
from sqleval.comparison.long import check_long, key_by_model, pivot_models
from sqleval.comparison.options import Options, check_options, find_baseline
from sqleval.comparison.pairs import Pairs, write_presence
from sqleval.comparison.resamples import compare_resampled
from sqleval.comparison.tests import OVER, TESTS, TWO_SIDED, WITHOUT_MARGIN, choose_test
from sqleval.comparison.verdict import add_verdicts
from sqleval.compiler.metrics import compile_metrics
from sqleval.engines.audit import remove_audit
from sqleval.errors import RequestError
from sqleval.inference.adjust import add_adjusted_p_values
from sqleval.inputs.arguments import check_key_names
from sqleval.resampling.cells import Input
from sqleval.resampling.completion import find_limits
from sqleval.resampling.deferred import defer_frame

#: The columns of a comparison after its slice keys, and their types.
COLUMNS: Mapping[str, Any] = {
    "metric": pl.String, "model": pl.String, "baseline": pl.String, "value": pl.Float64,
    "baseline_value": pl.Float64, "difference": pl.Float64, "low": pl.Float64, "high": pl.Float64,
    "statistic": pl.Float64, "p_value": pl.Float64, "p_adjusted": pl.Float64, "method": pl.String,
    "n": pl.Int64, "n_dropped": pl.Int64, "note": pl.String, "verdict": pl.String,
}  # fmt: skip


def create_comparison(
    data: Input, requests: Sequence[Request], options: Options, key_types: Mapping[str, Any]
) -> pl.LazyFrame:
    """Return the comparison as a lazy frame; see `Predictions.compare`.

    Raises
    ------
    RequestError
        If an option does not fit the input or a metric.
    """
    if options.margin is not None and options.alternative != "two-sided":
        # Of the default metrics, those by which a model can be inferior.
        requests = [e for e in requests if e.named or e.header["direction"] != "none"]
    check_comparison(data, requests, options, key_types, COLUMNS)
    keys = {name: kind for name, kind in key_types.items() if name != "model"}
    schema = pl.Schema({**keys, **COLUMNS})
    return defer_frame(lambda: compare_models(data, requests, options), schema)


def check_comparison(
    data: Input,
    requests: Sequence[Request],
    options: Options,
    key_types: Mapping[str, Any],
    columns: Container[str],
) -> None:
    """Raise `RequestError` if an option does not fit the input or a metric.

    Parameters
    ----------
    data : Input
        The input, with several models.
    requests : sequence of Request
        The metrics.
    options : Options
        How models are compared.
    key_types : mapping
        The slice keys and their types.
    columns : container of str
        The columns of the result, which are not names for keys.
    """
    check_options(options)
    check_key_names((name for name in key_types if name != "model"), columns, "a comparison")
    if options.model is not None and options.model in list(key_types):
        raise RequestError(f"by={options.model!r} is the column of model=, whose rows are compared")
    if data.source.once or (data.labels is not None and data.labels.once):
        raise RequestError("a comparison reads the rows more than once; collect the stream first")
    if (options.model is None) != (options.key is None) and options.paired:
        raise RequestError("model= and key= go together; models of different rows: paired=False")
    if options.key is not None and not options.paired:
        raise RequestError(
            "key= matches the rows of models, and paired=False says that they differ"
        )
    if options.model is not None and data.binding.models:
        names = ", ".join(name for name, _ in data.binding.models)
        raise RequestError(
            f"model= is for one score (or prediction), and here there are names for it: {names}; "
            "leave out one of both"
        )
    if options.key is not None:
        check_long(data.binding)
    if options.model is None:
        find_baseline([model for model, _ in data.binding.models], options.baseline)
    for request in requests:
        refuse_sum(request)
        if request.average == PER_CLASS:
            raise RequestError(
                f"{format_request(request)}: a comparison needs one value per slice; name an "
                "average, such as average='macro'"
            )
        test = choose_test(request, data, options.test, paired=options.paired)
        if options.margin is not None and test in WITHOUT_MARGIN:
            raise RequestError(
                f"test={test!r} has no margin=; paired_t, bootstrap and jackknife have one"
            )
        is_one_sided = options.alternative != "two-sided"
        if options.margin is not None and is_one_sided and request.header["direction"] == "none":
            raise RequestError(
                f"{format_request(request)}: neither higher nor lower is better, so that no model "
                "is inferior; leave out alternative= to ask whether they are equivalent"
            )
        if is_one_sided and test in TWO_SIDED:
            raise RequestError(
                f"alternative={options.alternative!r}: test={test!r} is two-sided; over folds or "
                "data sets corrected_t has an alternative"
            )
        if test == "bootstrap" and not options.replicates:
            name = format_request(request)
            raise RequestError(f"{name}: its test is the bootstrap, which needs replicates=")


def refuse_sum(request: Request) -> None:
    """Raise `RequestError` if a metric is a sum over rows."""
    if request.is_sum:
        raise RequestError(
            f"{format_request(request)} depends on the number of rows, and there is no test of it; "
            "leave out normalize=False for the mean"
        )


def compare_models(data: Input, requests: Sequence[Request], options: Options) -> pl.DataFrame:
    """Return the comparison of every model with the baseline; see `Predictions.compare`."""
    data, models = arrange_models(data, requests, options)
    pairs = Pairs(data, find_baseline(models, options.baseline), tuple(models))
    frame = measure_differences(pairs, requests, options)
    return _finish(frame, pairs, options, requests[0].catalogue)


def measure_differences(
    pairs: Pairs, requests: Sequence[Request], options: Options, *, warn: bool = True
) -> pl.DataFrame:
    """Return the values of models and baseline, the differences and their tests, unadjusted.

    Parameters
    ----------
    pairs : Pairs
        The models.
    requests : sequence of Request
        The metrics.
    options : Options
        How models are compared.
    warn : bool
        Whether to warn of rows and labels without a partner.

    Returns
    -------
    polars.DataFrame
        The slice keys under reserved names, the columns of a comparison as far as they are known,
        and ``_stderr``, the standard error of the difference (NULL where a test has none).
    """
    data = pairs.data
    chosen = {
        request: choose_test(request, data, options.test, paired=options.paired)
        for request in requests
    }
    ranked = [request for request, test in chosen.items() if test == "delong"]
    evaluated = evaluate_slices(pairs, requests, ranked, options, warn=warn)
    values = _pair_values(evaluated, pairs, on_same_rows=options.paired)
    parts = [
        compare_closed(pairs, request, test, options)
        for request, test in chosen.items()
        if test in CLOSED
    ]
    for test in ("bootstrap", "jackknife"):
        resampled = [request for request, chosen_test in chosen.items() if chosen_test == test]
        if resampled:
            jackknife = test == "jackknife"
            parts.append(compare_resampled(pairs, values, resampled, options, jackknife=jackknife))
    over = {request: test for request, test in chosen.items() if test in OVER}
    if over:
        parts.append(compare_over(pairs, over, options))
    keys = list(pairs.joint.keys)
    on = [*keys, "metric", "model"]
    outcomes = pl.concat(parts, how="diagonal")
    outcomes = outcomes.with_columns(pl.col(name).cast(values.schema[name]) for name in on)
    frame = values.join(outcomes, on=on, how="left", nulls_equal=True, maintain_order="left")
    if "_value" in frame.columns:
        frame = frame.with_columns(
            value=pl.coalesce("_value", "value"),
            baseline_value=pl.coalesce("_baseline_value", "baseline_value"),
        ).with_columns(difference=pl.col("value") - pl.col("baseline_value"))
    frame = _clip_to_range(frame, requests)
    # Slices without a row that differs are not rows of the statement of ranks.
    names = {format_request(request): TESTS[test] for request, test in chosen.items()}
    named = pl.col("metric").replace_strict(names, return_dtype=pl.String)
    is_alike = pl.col("_method").is_null() & (named == TESTS["wilcoxon"]) & (pl.col("n") > 0)
    frame = frame.with_columns(
        pl.col("_method").fill_null(named),
        _note=pl.when(is_alike).then(pl.lit("no test: no row differs")).otherwise("_note"),
    )
    return explain_tests(frame)


def _clip_to_range(frame: pl.DataFrame, requests: Sequence[Request]) -> pl.DataFrame:
    """Return intervals of differences within what two values of a metric can differ by."""
    widths = {name: high - low for name, (low, high) in find_limits(requests).items()}
    if not widths:
        return frame
    width = pl.col("metric").replace_strict(widths, default=None, return_dtype=pl.Float64)
    # One end of a one-sided interval is infinite.
    clipped = {
        end: pl.when(pl.col(end).is_infinite() | width.is_null())
        .then(end)
        .otherwise(pl.col(end).clip(-width, width))
        for end in ("low", "high")
    }
    return frame.with_columns(**clipped)


def explain_tests(frame: pl.DataFrame) -> pl.DataFrame:
    """Return differences with ``method`` and ``note``, which says why there is no test."""
    has_test = pl.col("p_value").is_not_null()
    return frame.with_columns(
        method=pl.col("_method"),
        note=pl.coalesce(
            pl.when(~has_test & pl.col("difference").is_not_null()).then("_note"),
            "note",
            "_note",
            pl.when(~has_test).then(pl.lit("no test: the difference has no standard error")),
        ),
    )


def arrange_models(
    data: Input, requests: Sequence[Request], options: Options
) -> tuple[Input, list[str]]:
    """Return the input with its models as columns or as the last slice key, and the models."""
    if options.model is None:
        return data, [model for model, _ in data.binding.models]
    if not options.paired:
        return key_by_model(data, options.model)
    assert options.key is not None
    # Now, as after the pivot a NULL may also mean that a model has no row.
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

    The values of ``ranked`` are left open: their test ranks the rows, which takes longest. With
    ``warn``, rows and labels without a partner are warned of.
    """
    binding = data.binding
    unranked = [request for request in requests if request not in ranked]
    if not unranked:
        unranked = [Request("prevalence", catalogue=requests[0].catalogue)]  # for the audit
    predicate = write_presence(binding)
    if options.test in OVER:
        check_folds(data)
        predicate = write_presence(binding, binding.over)
    statement = compile_metrics(binding, tuple(unranked), "rows", None, predicate)
    frame = data.run(statement.sql, statement.params)
    frame = remove_audit(frame, warn=warn)
    if ranked:
        frame = _leave_open(frame, requests, ranked)
    if not binding.models and binding.by:
        names = {binding.by[-1].name: "model"}
        frame = frame.rename(names).with_columns(pl.col("model").cast(pl.String))
    return frame


def evaluate_slices(
    pairs: Pairs,
    requests: Sequence[Request],
    ranked: Sequence[Request],
    options: Options,
    *,
    warn: bool = True,
) -> pl.DataFrame:
    """Return the metrics of each model by slice, also of slices without a row of every model."""
    frame = evaluate_models(pairs.data, requests, ranked, options, warn=warn)
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
    return frame.with_columns(n_dropped=pl.col("_rows") - pl.col("n")).drop("_rows")


def _leave_open(
    frame: pl.DataFrame, requests: Sequence[Request], ranked: Sequence[Request]
) -> pl.DataFrame:
    """Return a result with rows for further metrics, whose values are missing."""
    places = {format_request(request): i for i, request in enumerate(requests)}
    keys = frame.columns[: frame.columns.index("metric")]
    # Slice by slice, as the statement has them, and metric by metric within.
    # As names: a key may be called *, which as a text would be all columns.
    number = pl.struct(cs.by_name(*keys)).rle_id() if keys else pl.lit(0)
    frame = frame.with_columns(_slice=number)
    empty = {name: pl.lit(None, frame.schema[name]) for name in ("value", "note")}
    first = frame.unique("_slice", keep="first", maintain_order=True)
    parts = [
        first.with_columns(metric=pl.lit(format_request(request)), **empty) for request in ranked
    ]
    place = pl.col("metric").replace_strict(places, default=None, return_dtype=pl.Int64)
    whole = pl.concat([frame, *parts]).with_columns(_place=place).drop_nulls("_place")
    return whole.sort("_slice", "_place").drop("_slice", "_place")


def _pair_values(frame: pl.DataFrame, pairs: Pairs, *, on_same_rows: bool) -> pl.DataFrame:
    """Return the values of a model and of the baseline in a row; ``n`` counts what both read."""
    keys = list(pairs.joint.keys)
    on = [*keys, "metric"]
    is_baseline = pl.col("model") == pairs.baseline
    # Bins and states give bounds of a value; without them it is exact.
    off = pl.max_horizontal(pl.col("high") - pl.col("value"), pl.col("value") - pl.col("low"))
    frame = frame.with_columns(_bound=off.fill_null(0.0))
    baseline_rows = frame.filter(is_baseline).select(
        *on, baseline_value="value", baseline_note="note", _n="n", _dropped="n_dropped",
        _baseline_bound="_bound",
    )  # fmt: skip
    names = ("model", "value", "n", "note", "n_dropped", "_bound")
    others = frame.filter(~is_baseline).select(*on, *names)
    joined = others.join(baseline_rows, on=on, how="left", nulls_equal=True, maintain_order="left")
    joined = joined.with_columns(
        baseline=pl.lit(pairs.baseline),
        # Of two infinite values there is none.
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
    return joined


def _finish(
    frame: pl.DataFrame, pairs: Pairs, options: Options, catalogue: Catalogue
) -> pl.DataFrame:
    """Adjust the p-values over slices, and add verdicts."""
    # All rows are one question, and each set of slices is another.
    joint = pairs.joint
    by = ["metric", "model", *([joint.set_key] if joint.sets else [])]
    frame = add_adjusted_p_values(frame, options.adjust, by=by)
    frame = add_verdicts(frame, catalogue, 1 - options.ci, options.margin, options.alternative)
    named = dict(zip(joint.keys, joint.key_names, strict=True))
    return frame.select(*joint.keys, *COLUMNS).rename(named)
