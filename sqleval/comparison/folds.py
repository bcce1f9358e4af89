"""Compares models by their values over folds or data sets, the keys of ``over=``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import polars as pl

from sqleval.binding.binding import name_set
from sqleval.catalog.request import Request, format_request
from sqleval.common.counts import format_row_count
from sqleval.common.sql_text import select, write_present_test, write_with
from sqleval.comparison.options import Options
from sqleval.comparison.pairs import Pairs, replace_input, write_presence
from sqleval.comparison.tests import TESTS
from sqleval.compiler.metrics import compile_metrics
from sqleval.engines.audit import remove_audit
from sqleval.errors import DataError
from sqleval.inference.folds import apply_corrected_t_test
from sqleval.inference.libraries import np
from sqleval.inference.ranks import (
    Ranks,
    apply_baseline_rank_test,
    apply_friedman_test,
    apply_nemenyi_test,
    rank_models,
)
from sqleval.resampling.cells import Input, write_rows

if TYPE_CHECKING:
    from sqleval.inference.libraries import Array

_NUMBERS = ("statistic", "p_value", "low", "high")
#: Significant digits of a value; the digits after them may be rounding errors.
_DIGITS = 12
#: Note on an average that weighs classes by their rows: the mean over folds does not weigh folds.
_ALIKE = "mean over folds, which count alike"
#: Mean values over folds of the model and the baseline, instead of the values of all rows.
_MEANS = ("_value", "_baseline_value")


def compare_over(pairs: Pairs, tests: Mapping[Request, str], options: Options) -> pl.DataFrame:
    """Return statistic, p-value and interval of differences over folds or data sets."""
    values = pairs.rename_keys(_evaluate_folds(pairs, list(tests)))
    values = values.rename(_name_folds(pairs))
    keys = list(pairs.joint.keys)
    parts: list[pl.DataFrame] = []
    for request, test in tests.items():
        name = format_request(request)
        metric_values = values.filter(pl.col("metric") == name)
        groups = metric_values.partition_by(keys, maintain_order=True) if keys else [metric_values]
        groups = [group for group in groups if group.height]
        higher = request.relation.header["direction"] != "lower"
        for group in groups:
            rows = _compare(pairs, group, test, options, higher=higher)
            if request.average == "weighted" and test == "corrected_t":
                rows = rows.with_columns(_note=pl.coalesce("_note", pl.lit(_ALIKE)))
            slices = group.select(keys).head(1) if keys else pl.DataFrame()
            named = rows.with_columns(metric=pl.lit(name))
            parts.append(slices.join(named, how="cross") if keys else named)
    if not parts:
        # The source is empty.
        types = dict.fromkeys((*_NUMBERS, *_MEANS), pl.Float64)
        texts = dict.fromkeys(("metric", "model", "_method", "_note"), pl.String)
        return pl.DataFrame(schema={**{key: values.schema[key] for key in keys}, **types, **texts})
    return pl.concat(parts)


def check_folds(data: Input) -> None:
    """Raise `DataError` if rows that are not dropped have NULL or NaN in a column of ``over=``."""
    binding = data.binding
    if binding.nulls == "drop":
        return
    plain = replace(binding, by=(), sets=(), period=None)
    if binding.models:
        plain = replace(plain, models=(), predictions=(), thresholds=(), classes=())
    ctes = write_rows(plain, None)
    missing: dict[str, str] = {}
    for fold, column in zip(binding.folds, binding.over, strict=True):
        is_present = write_present_test(fold, column.type, finite=False)
        missing[fold] = f"SUM(CASE WHEN {is_present} THEN 0 ELSE 1 END)"
    counted = write_with(ctes, select(missing, "FROM _usable_rows"))
    counts = replace_input(data, plain).run(counted)
    for column, count in zip(binding.over, counts.row(0), strict=True):
        if count:
            raise DataError(
                f"over={column.name!r} is NULL or NaN in {format_row_count(count)}; each row needs "
                "a fold, or nulls='drop' (--nulls drop) leaves it out and counts it"
            )


def _evaluate_folds(pairs: Pairs, requests: list[Request]) -> pl.DataFrame:
    """Return the metrics per slice, model and fold."""
    data = pairs.data
    folds = tuple(column.name for column in data.binding.over)
    # Each set of slice keys is extended by the folds; the key ``by`` still names it without them.
    sets = {name_set((*keys, *folds)): name_set(keys) for keys in data.binding.sets}
    binding = replace(
        data.binding,
        by=(*data.binding.by, *data.binding.over),
        sets=tuple((*keys, *folds) for keys in data.binding.sets),
        over=(),
    )
    plain = list(requests)
    if not data.binding.has_several_classes:
        plain = [
            replace(request, average=None, reduce=None, named=request.named) for request in requests
        ]
    # With two classes, requests that differ only in their average are one metric.
    names = pl.DataFrame(
        {"metric": list(map(format_request, plain)), "_named": list(map(format_request, requests))}
    )
    predicate = write_presence(binding, data.binding.over)
    statement = compile_metrics(binding, tuple(dict.fromkeys(plain)), "rows", None, predicate)
    frame = data._replace(binding=binding).run(statement.sql, statement.params)
    # The statement of the values over all folds has already warned.
    frame = remove_audit(frame, warn=False)
    if sets:
        frame = frame.with_columns(pl.col("by").replace_strict(sets, return_dtype=pl.String))
    named = frame.join(names, on="metric", how="left", maintain_order="left")
    return named.drop("metric").rename({"_named": "metric"})


def _name_folds(pairs: Pairs) -> dict[str, str]:
    """Return reserved names for the columns of folds: a column may be called like a model."""
    return {column.name: f"_fold_{i}" for i, column in enumerate(pairs.data.binding.over, start=1)}


def _compare(
    pairs: Pairs, group: pl.DataFrame, test: str, options: Options, *, higher: bool
) -> pl.DataFrame:
    """Compare the models of one slice and metric: one row per model except the baseline."""
    over = list(_name_folds(pairs).values())
    models = list(pairs.models)
    wide = group.pivot("model", index=over, values="value").sort(over)
    # Not select(): it would read a model called * as all columns.
    table = pl.DataFrame([wide[model] for model in models]).to_numpy()
    others = [model for model in models if model != pairs.baseline]
    columns: dict[str, Any] = {"model": others}
    place = models.index(pairs.baseline)
    kept = [i for i, _ in enumerate(models) if i != place]
    undefined = int(np.isnan(table.astype(float)).any(axis=1).sum())
    has = "has" if undefined == 1 else "have"
    note = f"{undefined:,} of {len(table):,} folds {has} no value" if undefined else None
    if test == "corrected_t":
        differences = _remove_rounding(table[:, kept] - table[:, [place]], table)
        none = "no test: the difference is the same in all folds"
        share = _compute_test_share(group.filter(pl.col("model") == pairs.baseline), over)
        if np.isnan(share):
            none = "no test: a fold has all rows (of its repeat), so that no others train"
        outcome = apply_corrected_t_test(
            differences, share, alternative=options.alternative, ci=options.ci
        )
        columns |= outcome.to_columns()
        # The interval belongs to the mean over folds, which can differ from the pooled value.
        has_both = ~np.isnan(differences)
        means = [np.where(has_both, each, np.nan) for each in (table[:, kept], table[:, [place]])]
        columns |= dict(zip(_MEANS, map(_average, means), strict=True))
    else:
        ranks = rank_models(_remove_rounding(table, table), higher_is_better=higher)
        test_columns, what = _compare_ranks(ranks, test, place, kept, options.ci)
        columns |= test_columns | dict.fromkeys(("low", "high", *_MEANS))
        none = "no test: the models have equal ranks in all folds"
        note = "; ".join(filter(None, (what, note)))
    frame = pl.DataFrame(columns).with_columns(
        pl.col(*_NUMBERS, *_MEANS).cast(pl.Float64).fill_nan(None)
    )
    used = len(table) - undefined
    if used < 2:
        frame = frame.with_columns(pl.lit(None, pl.Float64).alias(name) for name in _NUMBERS)
        none = f"no test: {used:,} fold{'' if used == 1 else 's'} with a value"
    return frame.select(
        "model", *_NUMBERS, *_MEANS,
        _method=pl.lit(TESTS[test]),
        _note=pl.when(pl.col("p_value").is_null())
        .then(pl.lit(none))
        .otherwise(pl.lit(note, pl.String)),
    )  # fmt: skip


def _compare_ranks(
    ranks: Ranks, test: str, place: int, kept: Sequence[int], ci: float
) -> tuple[dict[str, Any], str]:
    """Apply Friedman's or Nemenyi's test; return statistic and p-value, and the note."""
    if test == "friedman":
        friedman = apply_friedman_test(ranks)
        columns = {"statistic": float(friedman.chi_square), "p_value": float(friedman.p_value)}
        return columns, "one test of all models: they have equal mean ranks"
    nemenyi = apply_nemenyi_test(ranks, ci=ci)
    outcome = apply_baseline_rank_test(ranks, place, ci=ci)
    critical = float(nemenyi.critical_difference)
    return {
        "statistic": np.asarray(outcome.statistic)[kept],
        "p_value": np.asarray(nemenyi.p_value)[place, kept],
    }, f"mean ranks differ if by {critical:.3g} or more"


def _remove_rounding(values: Array, scale: Array) -> Array:
    """Round values to `_DIGITS` digits of a scale: later digits depend on the order of additions.

    Such digits would make a constant difference vary between folds, and rank equal models.
    """
    largest = np.nanmax(np.abs(scale), initial=0.0)
    if not 0 < largest < np.inf:
        return values
    return np.round(values, _DIGITS - int(np.ceil(np.log10(largest))))


def _average(values: Array) -> Array:
    """Return the mean of each column, skipping NaN; NaN for a column without a value."""
    used = (~np.isnan(values)).sum(axis=0)
    return np.where(used > 0, np.nansum(values, axis=0) / np.maximum(used, 1), np.nan)


def _compute_test_share(rows: pl.DataFrame, over: list[str]) -> float:
    """Return the mean ratio of test rows to training rows of a fold."""
    # The folds of a repeat partition its rows: the training rows are those of all other folds.
    repeat = pl.col("n").sum().over(over[:-1]) if len(over) > 1 else pl.col("n").sum()
    counts = rows.select(n=pl.col("n"), rest=repeat - pl.col("n"))
    shares = [n / rest if rest > 0 else np.nan for n, rest in counts.iter_rows()]
    return float(np.mean(shares))
