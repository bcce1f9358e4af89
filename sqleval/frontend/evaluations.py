"""Computes metrics of predictions, as lazy frames."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import polars as pl

from sqleval.binding.arguments import RESAMPLING_METHODS, check_level
from sqleval.catalog import request
from sqleval.compiler.bins import parse_bins
from sqleval.compiler.metric_rows import has_class_column
from sqleval.compiler.metrics import compile_metrics
from sqleval.compiler.placed import COUNTS
from sqleval.compiler.scope import Plan
from sqleval.compiler.statement import Statement
from sqleval.frontend import calibration, slices
from sqleval.frontend.bound import (
    Bound,
    bind_cluster,
    create_input,
    parse_requests,
    refuse_expected,
)
from sqleval.frontend.choosing import choose_bins, choose_rows_or_groups
from sqleval.frontend.lazy import Finish, create_frame
from sqleval.frontend.schema import TALL, get_class_type
from sqleval.inference.libraries import load_library
from sqleval.inference.rates import add_exact_ends

if TYPE_CHECKING:
    pass

Metrics = str | Sequence[str] | None


def evaluate(
    bound: Bound,
    metrics: Metrics = None,
    *,
    ci: float | None = None,
    ci_method: str | None = None,
    replicates: int = 500,
    seed: int = 0,
    cluster: str | None = None,
    bins: int | None = None,
    tolerance: float | None = None,
    min_rows: int = 0,
    gap: bool = False,
    worst_first: bool = False,
) -> pl.LazyFrame:
    """Return the metrics, one row per metric and slice, computed when collected.

    Parameters
    ----------
    metrics : str or sequence of str, optional
        Names from `sqleval.metrics`, optionally with parameters: ``"f_beta(beta=2)"``.
        The default set of the task if left out.
    ci : float, optional
        Level of the intervals in ``low`` and ``high``, such as 0.95.
    ci_method : str, optional
        ``wilson`` or ``clopper_pearson`` (exact, with SciPy) for rates;
        ``delong`` for ROC AUC and Gini (value plus or minus quantile times standard error,
        cut at the ends of the range, without the logit scale); or the intervals of
        all metrics from replicates: ``bootstrap`` (normal, corrected for bias, and widened by
        the bias that may remain), ``percentile``, or ``bca`` (corrected for bias and skewness).
        If left out, a metric has the interval of its closed form (Wilson, DeLong, delta
        method), or ``bootstrap`` if it has none.
    replicates, seed : int
        The number of bootstrap samples (100 to 1,000,000, or 0 for none), and the seed of
        the draws. Equal seeds give equal intervals, whatever the threads, files, order of rows
        and engine.
    cluster : str, optional
        The column of the cluster that a row belongs to, such as a user. The bootstrap then draws
        whole clusters for all metrics, instead of rows or the queries of a ranking. Rows without
        a cluster are an error, or left out and counted (``nulls="drop"``).
    bins : int, optional
        Round scores to this many significant bits, 1 to 30, and aggregate rows per rounded
        score; 11 bits are about three decimal digits. This is faster, its memory does not grow
        with the rows, and ``low`` and ``high`` contain the exact value. Metrics that do not
        depend on the order of scores, and decisions at a threshold, stay exact.
    tolerance : float, optional
        The largest ``high - low`` that a metric may have, such as 1e-5; it decides the width of
        the bins. If bins cannot guarantee it for one of the metrics (its header has no
        ``bound``), all metrics are exact.
    min_rows : int
        Slices with fewer rows have no value, and a note that says so.
    gap : bool
        Add the column ``gap``: the value minus the value of all rows. ``sets=`` of `scan` must
        include the set without keys, as ``"overall"`` does.
    worst_first : bool
        Sort the slices of each metric, the worst first.

    Returns
    -------
    polars.LazyFrame
        The slice keys, then ``metric``, ``value``, ``low``, ``high``, ``method``, ``n`` (rows
        used), ``n_dropped`` (rows left out) and ``note`` (why a value or interval is missing,
        or how far it can be trusted).
        With ``average=None`` there is one row per class, and ``class`` before ``metric``.

    Raises
    ------
    RequestError
        At once, for an unknown metric, or a metric that does not fit the roles.
    DataError
        On ``collect``, for rows that the metrics cannot use.

    Examples
    --------
    >>> import polars as pl, sqleval
    >>> df = pl.DataFrame({"y": [0, 0, 1, 1], "p": [0.1, 0.4, 0.35, 0.8]})
    >>> sqleval.scan(df, label="y", score="p").evaluate("roc_auc").collect()["value"].item()
    0.75
    """
    check_level(ci, ci_method, cluster)
    if bound.binding.is_expected:
        refuse_expected(bound, ci=ci, bins=bins, tolerance=tolerance, cluster=cluster)
    requests = parse_requests(bound, metrics, ci)
    chosen = parse_bins(bins, tolerance, requests)
    _check_state_of_labels(bound, requests, ci)

    clustered = bound if cluster is None else bind_cluster(bound, cluster)[0]
    # Replicates replace the closed forms, even if they give no interval.
    is_resampled = cluster is not None or ci_method in RESAMPLING_METHODS
    if is_resampled and (each := next((r for r in requests if r.is_per_row), None)):
        raise request.RequestError(
            f"{request.format_request(each)} is a mean over rows, whose interval is that of a "
            "mean: leave out cluster= and ci_method="
        )
    closed = (None, None) if is_resampled else (ci, ci_method)

    def statement(plan: Plan, predicate: str | None) -> Statement:
        return compile_metrics(clustered.binding, requests, plan, closed[0], predicate, closed[1])

    statement(chosen or "rows", None)  # so that a wrong request raises before collect

    def choose() -> Plan:
        ranked = [each for each in requests if each.depends_on("score_counts")]
        can_sort = closed[0] is None and bool(ranked) and all(map(_has_sorted_twin, ranked))
        if chosen is not None and chosen.tolerance is not None:
            return choose_bins(bound, chosen, can_sort=can_sort)
        if chosen is None and ranked:
            return choose_rows_or_groups(bound, can_sort=can_sort)
        return chosen or "rows"

    classes = {"class": get_class_type(bound.binding)} if has_class_column(requests) else {}
    schema = pl.Schema({**bound.key_types, **classes, **TALL})
    finish = None
    if ci is not None:
        finish = _create_finish(bound, requests, ci, ci_method, replicates, seed, cluster)
    elif bound.labelled is not None:
        finish = _create_note(bound, bound.labelled)
    if bound.binding.models and bound.binding.nulls == "drop" and bound.binding.state is None:
        finish = _note_different_rows(bound, finish)
    result = create_frame(clustered, statement, schema, choose, finish)
    return slices.apply_slice_options(
        result, bound.binding, requests, min_rows=min_rows, gap=gap, worst_first=worst_first
    )


def _has_sorted_twin(each: request.Request) -> bool:
    """Whether a metric has a file for rows that are sorted in memory."""
    return any("sorted" in file.when for file in each.catalogue.files(each.name))


def _check_state_of_labels(
    bound: Bound, requests: Sequence[request.Request], ci: float | None
) -> None:
    """Raise `RequestError` for an interval that needs the rows of many labels, from a state."""
    if ci is None or bound.binding.many is None or bound.binding.state is None:
        return
    if each := next((r for r in requests if r.average != request.PER_CLASS), None):
        raise request.RequestError(
            f"{request.format_request(each)}: the labels of a row are not independent, and a state "
            "holds no rows: leave out ci=, or evaluate each label, average=None"
        )


def _create_note(bound: Bound, labelled: Bound) -> Finish:
    """Return a function that notes the calibration of labelled rows on expected metrics."""
    if labelled.binding.key_names != bound.binding.key_names:
        # If the slice keys differ, take the calibration of all labelled rows (of each model).
        types = {key: kind for key, kind in labelled.key_types.items() if key == "model"}
        whole = replace(labelled.binding, by=(), sets=())
        labelled = replace(labelled, binding=whole, key_types=pl.Schema(types))

    def finish(frame: pl.DataFrame, _: str | None) -> pl.DataFrame:
        measured = evaluate(labelled, calibration.METRICS).collect()
        keys = labelled.binding.key_names
        described = calibration.describe_calibration(measured, keys)
        return calibration.note_calibration(frame, described, keys)

    return finish


def _create_finish(
    bound: Bound,
    requests: Sequence[request.Request],
    ci: float,
    method: str | None,
    replicates: int,
    seed: int,
    cluster: str | None,
) -> Finish:
    """Return a function that adds the intervals that SQL cannot compute."""
    from sqleval.resampling.completion import complete_intervals, parse_options  # late: rare

    options = parse_options(ci, method, replicates, seed, is_clustered=cluster is not None)
    data = create_input(bound, cluster)
    is_exact = method == "clopper_pearson"
    if is_exact:
        load_library("special")  # a missing extra is an error before collect

    def finish(frame: pl.DataFrame, predicate: str | None) -> pl.DataFrame:
        frame = add_exact_ends(frame, ci, COUNTS) if is_exact else frame
        return complete_intervals(frame, data, requests, options, predicate)

    return finish


def _note_different_rows(bound: Bound, finish: Finish | None) -> Finish:
    """Return a function that calls ``finish``, then notes if models have different rows."""
    from sqleval.frontend.common_rows import note_different_rows  # late: rare
    from sqleval.resampling.cells import Input

    data = Input(bound.binding, bound.source, bound.labels, bound.engine)

    def note(frame: pl.DataFrame, predicate: str | None) -> pl.DataFrame:
        finished = frame if finish is None else finish(frame, predicate)
        return note_different_rows(finished, data, predicate)

    return note
