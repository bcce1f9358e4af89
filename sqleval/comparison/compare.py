"""Compares models: values, differences with intervals, p-values and verdicts, per slice."""

from __future__ import annotations

from collections.abc import Container, Mapping, Sequence
from typing import Any

import polars as pl
import polars.selectors as cs

from sqleval.binding.arguments import check_key_names
from sqleval.catalog.catalogue import Catalogue
from sqleval.catalog.request import PER_CLASS, Request, format_request
from sqleval.comparison.closed import CLOSED, compare_closed
from sqleval.comparison.folds import compare_over
from sqleval.comparison.groups import OTHERS, check_groups, divide_groups
from sqleval.comparison.long import check_long, match_by_cluster
from sqleval.comparison.omnibus import AT_ONCE, compare_at_once
from sqleval.comparison.options import Options, check_options, find_baseline
from sqleval.comparison.pairs import Pairs
from sqleval.comparison.resamples import compare_resampled
from sqleval.comparison.tests import (
    OVER,
    RANKS,
    TESTS,
    TWO_SIDED,
    UNPAIRED,
    WITHOUT_MARGIN,
    choose_test,
    name_test,
)
from sqleval.comparison.unpaired import compare_unpaired
from sqleval.comparison.values import arrange_models, evaluate_slices, pair_values
from sqleval.comparison.verdict import add_verdicts
from sqleval.errors import RequestError
from sqleval.inference.adjust import add_adjusted_p_values
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
        # Keep the default metrics for which higher or lower is better.
        requests = [e for e in requests if e.named or e.header["direction"] != "none"]
    if options.groups is not None:
        names = ("baseline", "model", "key")
        given = [name for name in names if getattr(options, name) is not None]
        check_groups(data, options.groups, given)
        options = options._replace(model=options.groups, paired=False)
    data, options = match_by_cluster(data, options)
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
        The columns of the result, which no slice key may be called.
    """
    check_options(options)
    models = {"model"} if data.binding.models else set[str]()
    check_key_names((name for name in key_types if name not in models), columns, "a comparison")
    if options.model is not None and options.model in list(key_types):
        raise RequestError(f"by={options.model!r} is the column of model=, whose rows are compared")
    if data.source.once or (data.labels is not None and data.labels.once):
        raise RequestError("a comparison reads the rows more than once; collect the stream first")
    _check_models(data, options)
    for request in requests:
        refuse_without_test(request)
        if request.average == PER_CLASS:
            raise RequestError(
                f"{format_request(request)}: a comparison needs one value per slice; name an "
                "average, such as average='macro'"
            )
        test = choose_test(request, data, options.test, paired=options.paired)
        _check_test(request, test, options)


def _check_models(data: Input, options: Options) -> None:
    """Raise if ``model=``, ``key=`` and ``paired=`` do not fit each other or the input."""
    if (options.model is None) != (options.key is None) and options.paired:
        raise RequestError(
            "model= and key= go together (--model COLUMN --key COLUMN); models of different rows: "
            "paired=False (--unpaired)"
        )
    if options.key is not None and not options.paired and not data.binding.classes:
        raise RequestError(
            "key= matches the rows of models, and paired=False says that they differ"
        )
    if options.model is not None and data.binding.models:
        names = ", ".join(name for name, _ in data.binding.models)
        raise RequestError(
            f"model= is for one score (or prediction); this one is a mapping of names: {names}; "
            "leave out one of both"
        )
    if options.key is not None:
        check_long(data.binding)
    if options.model is None:
        _refuse_one_model(data)
        find_baseline([model for model, _ in data.binding.models], options.baseline)


def _refuse_one_model(data: Input) -> None:
    """Raise if there are no models to compare; the rows may have groups."""
    if len(data.binding.models) > 1:
        return
    names = [name for name in ("score", "prediction", "value") if name in data.binding.role]
    role = names[0] if names else "score"
    raise RequestError(
        f"two models are needed: {role}={{'a': column, 'b': column}} "
        f"(--{role} a=COLUMN --{role} b=COLUMN); where a column names the model or group of a row: "
        "model='column', paired=False (--model COLUMN --unpaired); each group with all other rows: "
        "groups='column' (--groups COLUMN)"
    )


def _check_test(request: Request, test: str | None, options: Options) -> None:
    """Raise if a metric's test does not fit ``margin=``, ``alternative=`` or ``replicates=``."""
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
            f"alternative={options.alternative!r}: test={test!r} is two-sided; others, and "
            "over folds corrected_t, have an alternative"
        )
    if test == "bootstrap" and not options.replicates:
        name = format_request(request)
        raise RequestError(f"{name}: its test is the bootstrap, which needs replicates=")


def refuse_without_test(request: Request) -> None:
    """Raise `RequestError` if a metric is a sum over rows, or one value of all queries."""
    if request.relation.is_of_all_queries:
        raise RequestError(
            f"{format_request(request)} is one value of all lists, not a mean over them, so it has "
            "no test; evaluate has the value of each model"
        )
    if request.is_sum:
        mean = "leave out normalize=False for the mean" if request.is_unnormalised else "name mean"
        raise RequestError(
            f"{format_request(request)} depends on the number of rows, so it has no test; {mean}"
        )


def compare_models(data: Input, requests: Sequence[Request], options: Options) -> pl.DataFrame:
    """Return the comparison of every model with the baseline; see `Predictions.compare`."""
    if options.groups is not None:
        return _compare_groups(data, requests, options, options.groups)
    data, models = arrange_models(data, requests, options)
    pairs = Pairs(data, find_baseline(models, options.baseline), tuple(models))
    frame = note_folds(measure_differences(pairs, requests, options))
    return _finish(frame, pairs, options, requests[0].catalogue)


def _compare_groups(
    data: Input, requests: Sequence[Request], options: Options, groups: str
) -> pl.DataFrame:
    """Return the comparison of every group with all other rows."""
    divided = divide_groups(data, groups)
    parts = [
        note_folds(measure_differences(pairs, requests, options, warn=i == 0)).with_columns(
            model=pl.lit(group), baseline=pl.lit(OTHERS)
        )
        for i, (group, pairs) in enumerate(divided.items())
    ]
    first = next(iter(divided.values()))
    return _finish(pl.concat(parts), first, options, requests[0].catalogue)


def measure_differences(
    pairs: Pairs, requests: Sequence[Request], options: Options, *, warn: bool = True
) -> pl.DataFrame:
    """Return the values, differences and tests of models, with unadjusted p-values.

    Parameters
    ----------
    pairs : Pairs
        The models.
    requests : sequence of Request
        The metrics.
    options : Options
        How models are compared.
    warn : bool
        Whether to warn of rows without a label and labels without a row.

    Returns
    -------
    polars.DataFrame
        The slice keys under reserved names, the columns of a comparison (except the adjusted
        p-value and the verdict), and ``_stderr``, the standard error of the difference (NULL where
        a test has none).
    """
    data = pairs.data
    chosen = {
        request: choose_test(request, data, options.test, paired=options.paired)
        for request in requests
    }
    ranked = [request for request, test in chosen.items() if test == "delong"]
    evaluated = evaluate_slices(pairs, requests, ranked, options, warn=warn)
    values = pair_values(evaluated, pairs, on_same_rows=options.paired or options.key is not None)
    parts: list[pl.DataFrame] = []
    parts += [compare_at_once(pairs, e, test) for e, test in chosen.items() if test in AT_ONCE]
    closed = {e: test for e, test in chosen.items() if test in (*CLOSED, *UNPAIRED)}
    if options.paired:
        parts += [compare_closed(pairs, e, test, options) for e, test in closed.items()]
    elif closed:
        parts.append(compare_unpaired(pairs, closed, options))
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
    frame = _clip_to_range(_leave_out_undefined(frame), requests)
    call = {"paired": options.paired, "weighted": data.binding.is_weighted}
    names = {
        format_request(each): name_test(test, **call, request=each) for each, test in chosen.items()
    }
    named = pl.col("metric").replace_strict(names, return_dtype=pl.String)
    return explain_tests(frame.with_columns(pl.col("_method").fill_null(named)))


def _leave_out_undefined(frame: pl.DataFrame) -> pl.DataFrame:
    """Remove the test of a value that is undefined, although its rows could be counted."""
    has_values = pl.col("value").is_not_null() & pl.col("baseline_value").is_not_null()
    columns = cs.by_name("statistic", "p_value", "low", "high", "_stderr", require_all=False)
    return frame.with_columns(pl.when(has_values).then(columns))


def note_folds(frame: pl.DataFrame) -> pl.DataFrame:
    """Note where the values, or the test, are pooled or averaged over folds."""
    method, pooled = pl.col("method"), pl.col("_folds")
    ranked = method.is_in([TESTS[name] for name in RANKS])
    text = (
        pl.when(method == TESTS["corrected_t"])
        .then(pooled.str.replace("pooled", "mean"))
        .when(ranked)
        .then(pl.format("values {}", pooled))
        .otherwise(pooled)
    )
    note = pl.concat_str("note", text, separator="; ", ignore_nulls=True).replace("", None)
    return frame.with_columns(note=note)


def _clip_to_range(frame: pl.DataFrame, requests: Sequence[Request]) -> pl.DataFrame:
    """Clip intervals to the largest difference that two values of a metric can have."""
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
    """Add ``method``, and a ``note`` that says why there is no test."""
    has_test = pl.col("p_value").is_not_null()
    both = pl.concat_str("note", "_note", separator="; ", ignore_nulls=True).replace("", None)
    return frame.with_columns(
        method=pl.col("_method"),
        note=pl.coalesce(
            pl.when(~has_test & pl.col("difference").is_not_null()).then("_note"),
            pl.when(has_test).then(both),
            "note",
            "_note",
            pl.when(~has_test).then(pl.lit("no test: the difference has no standard error")),
        ),
    )


def _finish(
    frame: pl.DataFrame, pairs: Pairs, options: Options, catalogue: Catalogue
) -> pl.DataFrame:
    """Adjust the p-values for the number of slices, and add verdicts."""
    # P-values are adjusted together per metric, model and set of slice keys; groups are together.
    joint = pairs.joint
    by = [
        "metric",
        *([] if options.groups else ["model"]),
        *([joint.set_key] if joint.sets else []),
    ]
    frame = add_adjusted_p_values(frame, options.adjust, by=by)
    frame = add_verdicts(frame, catalogue, 1 - options.ci, options.margin, options.alternative)
    named = dict(zip(joint.keys, joint.key_names, strict=True))
    return frame.select(*joint.keys, *COLUMNS).rename(named)
