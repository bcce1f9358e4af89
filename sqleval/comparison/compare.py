"""Compares models: values, differences with intervals, p-values and verdicts, per slice."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import polars as pl
from polars.io.plugins import register_io_source

from sqleval.catalog.catalogue import Catalogue
from sqleval.catalog.request import PER_CLASS, Request, format_request
from sqleval.common.sql_text import present, quote
from sqleval.comparison.folds import compare_over
from sqleval.comparison.long import key_by_model, pivot_models
from sqleval.comparison.options import Options, apply_test, check_options, find_baseline
from sqleval.comparison.pairs import Pairs
from sqleval.comparison.resamples import compare_resampled
from sqleval.comparison.tests import OVER, TESTS, WITHOUT_MARGIN, choose_test
from sqleval.comparison.verdict import add_verdicts
from sqleval.compiler.metrics import compile_metrics
from sqleval.errors import DataError, RequestError
from sqleval.inference.adjust import add_adjusted_p_values
from sqleval.inference.mcnemar import (
    apply_exact_mcnemar_test,
    apply_mcnemar_test,
    find_paired_rate_interval,
)
from sqleval.inference.outcome import Outcome, to_series
from sqleval.inference.wilcoxon import apply_wilcoxon_test
from sqleval.resampling.cells import Input

#: The columns of a comparison after its slice keys, and their types.
COLUMNS: Mapping[str, Any] = {
    "metric": pl.String, "model": pl.String, "baseline": pl.String, "value": pl.Float64,
    "baseline_value": pl.Float64, "difference": pl.Float64, "low": pl.Float64, "high": pl.Float64,
    "statistic": pl.Float64, "p_value": pl.Float64, "p_adjusted": pl.Float64, "method": pl.String,
    "n": pl.Int64, "n_dropped": pl.Int64, "note": pl.String, "verdict": pl.String,
}  # fmt: skip
#: Names of columns on the way to the result.
_INNER = (
    "wins", "losses", "hits", "baseline_hits", "model_value", "stderr", "variance", "differing",
    "positive_ranks", "ties", "replicate", "own", "estimate", "defined", "shift", "baseline_note",
)  # fmt: skip
#: With fewer discordant rows than this, McNemar's test is exact unless asked for otherwise.
_FEW_DISCORDANT = 25
#: With fewer differing rows than this, rank sums are far from normal.
_FEW_RANKS = 10
#: Relative errors of sums of equal numbers.
_ROUNDING = 1e-13


def create_comparison(
    given: Input, requests: Sequence[Request], options: Options, key_types: Mapping[str, Any]
) -> pl.LazyFrame:
    """Return the comparison as a lazy frame; see `Predictions.compare`.

    Raises
    ------
    RequestError
        If an option does not fit the input or a metric.
    """
    check_options(options)
    for name in key_types:
        if name in (*COLUMNS, *_INNER) and name != "model":
            raise RequestError(
                f"by={name!r}: a comparison has a column of that name; rename the key"
            )
    if options.model is not None and options.model in key_types:
        raise RequestError(f"by={options.model!r} is the column of model=, whose rows are compared")
    if given.source.once or (given.labels is not None and given.labels.once):
        raise RequestError("compare() reads the rows more than once; collect the stream first")
    if (options.model is None) != (options.key is None) and options.paired:
        raise RequestError("model= and key= go together; models of different rows: paired=False")
    if options.model is None:
        find_baseline([model for model, _ in given.binding.models], options.baseline)
    for request in requests:
        if request.average == PER_CLASS:
            raise RequestError(
                f"{format_request(request)}: a comparison needs one value per slice; name an "
                "average, such as average='macro'"
            )
        test = choose_test(request, given, options.test, paired=options.paired)
        if options.margin is not None and test in WITHOUT_MARGIN:
            raise RequestError(f"test={test!r} has no margin=; paired_t and bootstrap have one")
        if test == "bootstrap" and not options.replicates:
            name = format_request(request)
            raise RequestError(f"{name}: its test is the bootstrap, which needs replicates=")
    keys = {name: kind for name, kind in key_types.items() if name != "model"}

    def read(
        columns: list[str] | None, predicate: pl.Expr | None, n_rows: int | None, _: int | None
    ) -> Iterator[pl.DataFrame]:
        frame = compare_models(given, requests, options)
        frame = frame if predicate is None else frame.filter(predicate)
        frame = frame if n_rows is None else frame.head(n_rows)
        yield frame if columns is None else frame.select(columns)

    return register_io_source(read, schema=pl.Schema({**keys, **COLUMNS}))


def compare_models(given: Input, requests: Sequence[Request], options: Options) -> pl.DataFrame:
    """Return the comparison of every model with the baseline; see `Predictions.compare`."""
    given, models = _arrange(given, requests, options)
    pairs = Pairs(given, find_baseline(models, options.baseline), tuple(models))
    chosen = {
        request: choose_test(request, given, options.test, paired=options.paired)
        for request in requests
    }
    ranked = [request for request, test in chosen.items() if test == "delong"]
    evaluated = _evaluate(given, requests, ranked)
    values = _pair_values(evaluated, pairs, on_same_rows=options.paired)
    parts = [
        _compare_closed(pairs, request, test, options)
        for request, test in chosen.items()
        if test in _CLOSED
    ]
    resampled = [request for request, test in chosen.items() if test == "bootstrap"]
    if resampled:
        parts.append(compare_resampled(pairs, values, resampled, options))
    over = {request: test for request, test in chosen.items() if test in OVER}
    if over:
        parts.append(compare_over(pairs, over, options))
    keys = list(pairs.joint.key_names)
    on = [*keys, "metric", "model"]
    found = pl.concat(parts, how="diagonal")
    found = found.with_columns(pl.col(name).cast(values.schema[name]) for name in on)
    frame = values.join(found, on=on, how="left", nulls_equal=True, maintain_order="left")
    if ranked:
        frame = frame.with_columns(
            value=pl.coalesce("value", "_value"),
            baseline_value=pl.coalesce("baseline_value", "_baseline_value"),
        ).with_columns(difference=pl.col("value") - pl.col("baseline_value"))
    # Slices without a row that differs are no rows of the statement of ranks.
    names = {format_request(request): TESTS[test] for request, test in chosen.items()}
    named = pl.col("metric").replace_strict(names, return_dtype=pl.String)
    is_alike = pl.col("_method").is_null() & (named == TESTS["wilcoxon"]) & (pl.col("n") > 0)
    frame = frame.with_columns(
        pl.col("_method").fill_null(named),
        _note=pl.when(is_alike).then(pl.lit("no test: no row differs")).otherwise("_note"),
    )
    return _finish(frame, keys, options, requests[0].catalogue)


def _arrange(
    given: Input, requests: Sequence[Request], options: Options
) -> tuple[Input, list[str]]:
    """Return the input with its models as columns or as the last slice key, and the models."""
    if options.model is None:
        return given, [model for model, _ in given.binding.models]
    if not options.paired:
        return key_by_model(given, options.model)
    assert options.key is not None
    # A missing value is none of a model that has no row.
    _evaluate(given, requests[:1], ())
    given = pivot_models(given, options.model, options.key)
    return given, [model for model, _ in given.binding.models]


def _evaluate(given: Input, requests: Sequence[Request], ranked: Sequence[Request]) -> pl.DataFrame:
    """Return the metrics of each model, over the rows that all models have.

    The values of ``ranked`` are left open: their test ranks the rows, which takes longest.
    """
    binding = given.binding
    asked = [request for request in requests if request not in ranked]
    if not asked:
        asked = [Request("prevalence", catalogue=requests[0].catalogue)]  # for the audit
    predicate = None
    if binding.nulls == "drop" and binding.models:
        numeric = binding.task == "regression"
        predicate = " AND ".join(
            present(f"s.{quote(column.name)}", column.type, finite=numeric)
            for _, column in binding.models
        )
    statement = compile_metrics(binding, tuple(asked), "rows", None, predicate)
    frame = given.run(statement.sql, statement.params)
    if frame.height and (problem := frame["_problem"][0]) is not None:
        raise DataError(problem)
    if ranked:
        frame = _leave_open(frame, requests, ranked)
    if not binding.models and binding.by:
        names = {binding.by[-1].name: "model"}
        frame = frame.rename(names).with_columns(pl.col("model").cast(pl.String))
    return frame.drop("_problem", "_notice")


def _leave_open(
    frame: pl.DataFrame, requests: Sequence[Request], ranked: Sequence[Request]
) -> pl.DataFrame:
    """Return a result with rows for further metrics, whose values are missing."""
    places = {format_request(request): i for i, request in enumerate(requests)}
    keys = frame.columns[: frame.columns.index("metric")]
    # Slice by slice, as the statement has them, and metric by metric within.
    number = pl.struct(keys).rle_id() if keys else pl.lit(0)
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
    keys = list(pairs.joint.key_names)
    on = [*keys, "metric"]
    is_baseline = pl.col("model") == pairs.baseline
    own = frame.filter(is_baseline).select(*on, baseline_value="value", baseline_note="note")
    others = frame.filter(~is_baseline).select(*on, "model", "value", "n", "note", "n_dropped")
    if not on_same_rows:
        own = own.join(
            frame.filter(is_baseline).select(*on, _n="n", _dropped="n_dropped"),
            on=on, how="left", nulls_equal=True, maintain_order="left",
        )  # fmt: skip
    joined = others.join(own, on=on, how="left", nulls_equal=True, maintain_order="left")
    joined = joined.with_columns(
        baseline=pl.lit(pairs.baseline),
        difference=pl.col("value") - pl.col("baseline_value"),
        note=pl.coalesce("note", "baseline_note"),
    ).drop("baseline_note")
    if not on_same_rows:
        return joined.with_columns(
            n=pl.col("n") + pl.col("_n"), n_dropped=pl.col("n_dropped") + pl.col("_dropped")
        ).drop("_n", "_dropped")
    counted = pairs.count_rows().with_columns(pl.col(key).cast(frame.schema[key]) for key in keys)
    if keys:
        joined = joined.join(counted, on=keys, how="left", nulls_equal=True, maintain_order="left")
    else:
        joined = joined.join(counted, how="cross", maintain_order="left")
    return joined.with_columns(n_dropped=pl.col("_rows") - pl.col("n")).drop("_rows")


def _compare_closed(pairs: Pairs, request: Request, test: str, options: Options) -> pl.DataFrame:
    """Return statistic, p-value and interval of a test whose sums are one statement."""
    found = _CLOSED[test](pairs, request, options)
    return found.with_columns(metric=pl.lit(format_request(request)))


def _select(
    found: pl.DataFrame, pairs: Pairs, outcome: Outcome, method: str | pl.Series, note: pl.Expr
) -> pl.DataFrame:
    columns: dict[str, Any] = dict(outcome.to_columns())
    columns["_method"] = method if isinstance(method, pl.Series) else pl.lit(method)
    named = found.with_columns(**columns, _note=note)
    keys = [*pairs.joint.key_names, "model"]
    return named.select(*keys, "statistic", "p_value", "low", "high", "_method", "_note")


def _compare_delong(pairs: Pairs, request: Request, options: Options) -> pl.DataFrame:
    found = pairs.run("delong", pairs.list_scores())
    scale = 2.0 if request.name == "gini" else 1.0
    difference = (found["model_value"] - found["baseline_value"]) * scale
    outcome = apply_test(difference.to_numpy(), (found["stderr"] * scale).to_numpy(), options)
    selected = _select(found, pairs, outcome, TESTS["delong"], pl.col("note"))
    shift = 1.0 if request.name == "gini" else 0.0
    return selected.with_columns(
        _value=found["model_value"] * scale - shift,
        _baseline_value=found["baseline_value"] * scale - shift,
    )


def _compare_mcnemar(
    pairs: Pairs, request: Request, options: Options, exact: bool | None = None
) -> pl.DataFrame:
    found = pairs.run("discordant", pairs.list_decisions(request))
    counts = ("wins", "losses", "n")
    found = found.with_columns(pl.col(name).cast(pl.Float64) for name in counts)
    names = ("wins", "losses") if request.name != "error_rate" else ("losses", "wins")
    wins, losses, n = (found[name].to_numpy() for name in (*names, "n"))
    note = (
        pl.when(pl.col("wins") + pl.col("losses") == 0)
        .then(pl.lit("both models are right about the same rows"))
        .otherwise(pl.lit(None, pl.String))
    )
    if options.margin is not None:
        share = (wins - losses) / n
        stderr = ((wins + losses) / n - share**2) ** 0.5 / n**0.5
        sign = 1.0 if request.name != "error_rate" else -1.0
        outcome = apply_test(share, stderr, options, sign=sign)
        note = pl.concat_str(pl.lit("no test: "), note)
        return _select(found, pairs, outcome, "normal test of paired rates", note)
    call: dict[str, Any] = {"alternative": options.alternative, "ci": options.ci}
    corrected = apply_mcnemar_test(wins, losses, n, **call)
    exactly = apply_exact_mcnemar_test(wins, losses, n, **call)
    is_exact = found.select(
        pl.lit(exact) if exact is not None else pl.col("wins") + pl.col("losses") < _FEW_DISCORDANT
    ).to_series()
    is_exact = is_exact.new_from_index(0, found.height) if len(is_exact) == 1 else is_exact
    low, high = find_paired_rate_interval(wins, losses, n, **call)
    frame = pl.DataFrame(
        {
            "exact": is_exact,
            "a": to_series("a", exactly.statistic), "b": to_series("b", corrected.statistic),
            "c": to_series("c", exactly.p_value), "d": to_series("d", corrected.p_value),
        }
    )  # fmt: skip
    chosen = frame.select(
        statistic=pl.when("exact").then("a").otherwise("b"),
        p_value=pl.when("exact").then("c").otherwise("d"),
        method=pl.when("exact")
        .then(pl.lit(TESTS["mcnemar_exact"]))
        .otherwise(pl.lit(TESTS["mcnemar"])),
    )
    outcome = Outcome(chosen["statistic"].to_numpy(), chosen["p_value"].to_numpy(), low, high)
    return _select(found, pairs, outcome, chosen["method"], note)


def _compare_mcnemar_exactly(pairs: Pairs, request: Request, options: Options) -> pl.DataFrame:
    return _compare_mcnemar(pairs, request, options, exact=True)


def _compare_mcnemar_by_name(pairs: Pairs, request: Request, options: Options) -> pl.DataFrame:
    exact = False if options.test == "mcnemar" else None
    return _compare_mcnemar(pairs, request, options, exact)


def _compare_losses(pairs: Pairs, request: Request, options: Options) -> pl.DataFrame:
    found = pairs.run("loss_differences", pairs.list_losses(request))
    n = found["n"].cast(pl.Float64)
    stderr = (found["variance"] / (n - 1)).sqrt()
    difference = found["model_value"] - found["baseline_value"]
    # Rounding gives equal differences a tiny variance.
    is_alike = found["variance"].sqrt() <= _ROUNDING * found["baseline_value"].abs()
    stderr = stderr.to_frame("a").select(pl.when(~is_alike).then("a")).to_series()
    outcome = apply_test(
        difference.to_numpy(), stderr.to_numpy(), options, sign=-1.0, df=(n - 1).to_numpy()
    )
    note = (
        pl.when(pl.col("n") < 2)
        .then(pl.lit("no test: one row"))
        .when(is_alike)
        .then(pl.lit("no test: the losses differ by the same amount in every row"))
        .otherwise(pl.lit(None, pl.String))
    )
    return _select(found, pairs, outcome, TESTS["paired_t"], note)


def _compare_ranks(pairs: Pairs, request: Request, options: Options) -> pl.DataFrame:
    found = pairs.run("signed_ranks", pairs.list_losses(request))
    names = ("positive_ranks", "differing", "ties")
    ranks, n, ties = (found[name].cast(pl.Float64).to_numpy() for name in names)
    outcome = apply_wilcoxon_test(ranks, n, ties, alternative=options.alternative)
    few = pl.lit("few rows differ: the normal approximation is poor")
    note = pl.when(pl.col("differing") < _FEW_RANKS).then(few)
    return _select(found, pairs, outcome, TESTS["wilcoxon"], note)


_CLOSED = {
    "delong": _compare_delong,
    "mcnemar": _compare_mcnemar_by_name,
    "mcnemar_exact": _compare_mcnemar_exactly,
    "paired_t": _compare_losses,
    "wilcoxon": _compare_ranks,
}


def _finish(
    frame: pl.DataFrame, keys: Sequence[str], options: Options, catalogue: Catalogue
) -> pl.DataFrame:
    """Adjust the p-values over slices, and add method, note and verdict."""
    has_test = pl.col("p_value").is_not_null()
    frame = frame.with_columns(
        method=pl.col("_method"),
        note=pl.coalesce(
            pl.when(~has_test & pl.col("difference").is_not_null()).then("_note"),
            "note",
            "_note",
            pl.when(~has_test).then(pl.lit("no test: the difference has no standard error")),
        ),
    )
    # All rows are one question, and each set of slices is another.
    by = ["metric", "model", *(["by"] if "by" in keys else [])]
    frame = add_adjusted_p_values(frame, options.adjust, by=by)
    frame = add_verdicts(frame, catalogue, 1 - options.ci, options.margin, options.alternative)
    return frame.select(*keys, *COLUMNS)
