"""Compares models: differences, ranks, curves and sample sizes, as lazy frames."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache

import polars as pl

from sqleval.catalog import request
from sqleval.common.sql_text import Value
from sqleval.compiler.buckets import Buckets
from sqleval.frontend.bound import (
    Bound,
    Metrics,
    bind_matches,
    create_clustered,
    create_input,
    parse_requests,
    refuse_many_labels,
)
from sqleval.frontend.choosing import choose_buckets
from sqleval.resampling.cells import Input
from sqleval.resampling.deferred import defer_frame


def compare(
    bound: Bound,
    metrics: Metrics = None,
    *,
    baseline: str | None = None,
    test: str | None = None,
    alternative: str = "two-sided",
    paired: bool = True,
    ci: float = 0.95,
    adjust: str | None = "holm",
    margin: float | None = None,
    model: str | None = None,
    key: str | Sequence[str] | None = None,
    groups: str | None = None,
    replicates: int = 500,
    seed: int = 0,
    cluster: str | None = None,
) -> pl.LazyFrame:
    """Return each model's difference from the baseline, with a test and a verdict.

    Parameters
    ----------
    metrics : str or sequence of str, optional
        As for `evaluate`.
    baseline : str, optional
        The model that the others are compared with; the first one if left out.
    test : str, optional
        ``delong``, ``mcnemar``, ``mcnemar_exact``, ``paired_t``, ``wilcoxon`` or ``bootstrap``;
        for all models at once ``delong_joint`` (areas) and ``cochran_q`` (rates);
        with ``cluster`` ``jackknife`` or ``bootstrap``; over the folds or data sets of
        ``over=`` also ``corrected_t``, ``friedman`` and ``nemenyi``. With ``paired=False``
        ``newcombe`` (rates), ``welch_t`` (means), ``delong``, ``bootstrap`` or ``jackknife``.
        The best one for the metric if left out. Rankings are compared by query.
    alternative : {"two-sided", "greater", "less"}
        ``greater``: the model's value is above the baseline's.
    paired : bool
        Whether the models are judged on the same rows.
    ci : float
        Level of the interval of the difference; a verdict needs an adjusted p-value below
        1 - ``ci``.
    adjust : {"holm", "benjamini_hochberg", "bonferroni", "none"}
        How p-values are adjusted for the number of slices.
    margin : float, optional
        The largest difference that does not matter. The test is then of equivalence, or with
        ``alternative="greater"`` of non-inferiority.
    model : str, optional
        For a table with a row per model and key: the column, or expression, that names the model.
        With ``paired=False`` the models (periods, data sets) have different rows, and no key.
    key : str or sequence of str, optional
        With ``model=``: the columns, or expressions, by which rows of the models match. Keys
        without a row of every model are dropped and counted.
    groups : str, optional
        Instead of models: the column of groups, such as regions, each of which is compared with
        all other rows. p-values are adjusted for the number of groups, too.
    replicates, seed, cluster
        Options of the bootstrap, as for `evaluate`. With ``cluster`` each cluster is left out in
        turn (the jackknife), unless ``test`` is ``bootstrap``.

    Returns
    -------
    polars.LazyFrame
        The slice keys, ``metric``, ``model``, ``baseline``, ``value``, ``baseline_value``,
        ``difference`` with its interval ``low`` .. ``high``, ``statistic``, ``p_value``,
        ``p_adjusted``, ``method``, ``n``, ``n_dropped``, ``note`` and ``verdict``.

    Raises
    ------
    RequestError
        At once, for an unknown metric, test or baseline, or one that does not fit.
    DataError
        On ``collect``, for rows that the metrics or the test cannot use.
    MissingExtra
        If SciPy is not installed.

    Examples
    --------
    >>> import polars as pl, sqleval
    >>> rows = {"y": [0, 0, 1, 1] * 25, "a": [0.1, 0.6, 0.4, 0.7] * 25}
    >>> df = pl.DataFrame({**rows, "b": [0.1, 0.3, 0.4, 0.7] * 25})
    >>> both = sqleval.scan(df, label="y", score={"a": "a", "b": "b"})
    >>> both.compare("roc_auc").collect()["verdict"].item()
    'b is better than a by 0.25 [0.151, 0.349]'
    """
    from sqleval.comparison.compare import create_comparison  # late: it needs SciPy
    from sqleval.comparison.options import Options

    requests = parse_requests(bound, metrics, ci)
    if not paired or model is not None or groups is not None:
        refuse_many_labels(bound, "compare() with paired=False, model= or groups=")
    bound, key_names = bind_matches(bound, model, key, groups)
    options = Options(
        baseline,
        test,
        alternative,
        paired,
        ci,
        adjust,
        margin,
        replicates,
        seed,
        model,
        key_names,
        groups,
    )
    data = _share_ranks(bound, create_clustered(bound, cluster, requests))
    return create_comparison(data, requests, options, bound.key_types)


def leaderboard(
    bound: Bound,
    metrics: Metrics = None,
    *,
    test: str | None = None,
    paired: bool = True,
    ci: float = 0.95,
    adjust: str | None = "holm",
    model: str | None = None,
    key: str | Sequence[str] | None = None,
    replicates: int = 500,
    seed: int = 0,
    cluster: str | None = None,
) -> pl.LazyFrame:
    """Return the models by rank, and mark those not shown to be worse than the best.

    Parameters
    ----------
    metrics, test, paired, ci, model, key, replicates, seed, cluster
        As for `compare`. The baseline is the best model of each slice and metric; by default the
        metrics are the default ones for which higher or lower values are better.
    adjust : {"holm", "benjamini_hochberg", "bonferroni", "none"}
        How p-values are adjusted for the number of models.

    Returns
    -------
    polars.LazyFrame
        The slice keys, ``metric``, ``rank`` (1 is the best), ``model``, ``value``, the
        ``difference`` from the best with its interval ``low`` .. ``high``, ``p_value``,
        ``p_adjusted``, ``is_tied`` (the best and all models that are not shown to differ from
        it; NULL without a test), ``method``, ``n``, ``n_dropped``, ``note`` and ``verdict``.
        Because the same rows choose the best model, p-values are a little too small if many
        models are nearly equal.

    Raises
    ------
    RequestError
        At once, for an unknown metric or test, or one that does not fit.
    DataError
        On ``collect``, for rows that the metrics or the test cannot use.
    MissingExtra
        If SciPy is not installed.

    Examples
    --------
    >>> import polars as pl, sqleval
    >>> rows = {"y": [0, 0, 1, 1] * 25, "a": [0.1, 0.6, 0.4, 0.7] * 25}
    >>> df = pl.DataFrame({**rows, "b": [0.1, 0.3, 0.4, 0.7] * 25})
    >>> both = sqleval.scan(df, label="y", score={"a": "a", "b": "b"})
    >>> both.leaderboard("roc_auc").collect().select("rank", "model", "is_tied").rows()
    [(1, 'b', False), (2, 'a', False)]
    """
    from sqleval.comparison.leaderboard import create_leaderboard  # late: it needs SciPy
    from sqleval.comparison.options import Options

    requests = parse_requests(bound, metrics, ci)
    if not paired or model is not None:
        refuse_many_labels(bound, "leaderboard() with paired=False or model=")
    bound, key_names = bind_matches(bound, model, key)
    options = Options(
        test=test, paired=paired, ci=ci, adjust=adjust, replicates=replicates, seed=seed,
        model=model, key=key_names,
    )  # fmt: skip
    data = _share_ranks(bound, create_clustered(bound, cluster, requests))
    return create_leaderboard(data, requests, options, bound.key_types)


def compare_curves(
    bound: Bound,
    curve: str = "roc",
    *,
    baseline: str | None = None,
    ci: float = 0.95,
    replicates: int = 500,
    seed: int = 0,
    cluster: str | None = None,
    **params: Value,
) -> pl.LazyFrame:
    """Return the ranges in which each model's curve is better than the baseline's.

    Parameters
    ----------
    curve : str
        ``roc``, ``pr``, ``gain`` or ``cost``.
    baseline : str, optional
        The model that the others are compared with; the first one if left out.
    ci : float
        A model is better where the simultaneous band of this level around the difference of
        the curves excludes 0.
    replicates, seed, cluster
        Options of the bootstrap, which evaluates all models on the same drawn rows; replicates
        cannot be 0.
    **params
        The curve's parameters.

    Returns
    -------
    polars.LazyFrame
        One row per range of the curve: the slice keys, ``curve``, ``model``, ``baseline``,
        ``start`` and ``end`` of the range, ``better`` (the model, or NULL without evidence),
        the largest ``difference`` in the range with its place ``at`` and its band ``low`` ..
        ``high``; ``p_value`` (of equal curves), ``note`` and ``verdict``.

    Raises
    ------
    RequestError
        At once, for an unknown curve or baseline, or roles that do not fit.
    DataError
        On ``collect``, for rows that the curve cannot use.
    MissingExtra
        If SciPy is not installed.

    Examples
    --------
    >>> import polars as pl, sqleval
    >>> rows = {"y": [0, 0, 1, 1] * 25, "a": [0.1, 0.6, 0.4, 0.7] * 25}
    >>> df = pl.DataFrame({**rows, "b": [0.1, 0.3, 0.4, 0.7] * 25})
    >>> both = sqleval.scan(df, label="y", score={"a": "a", "b": "b"})
    >>> both.compare_curves("roc").collect()["verdict"][0]
    'b is better from 0 to 0.335; the curve of b is nowhere worse'
    """
    from sqleval.curves import bands, compare  # late: they need SciPy

    refuse_many_labels(bound, "compare_curves()")
    options = bands.parse_options(ci, replicates, seed)
    curve_request = request.parse_curve(curve, params, bound.binding.task, bound.catalogue)
    compare.check_curve(curve_request, bound.binding, baseline)
    data = create_input(bound, cluster)
    bands.check_source(data, curve_request)
    keys = {name: kind for name, kind in bound.key_types.items() if name != "model"}
    schema = pl.Schema({**keys, **compare.COLUMNS})
    return defer_frame(
        lambda: compare.compare_curves(data, curve_request, baseline, options), schema
    )


def sample_size(
    bound: Bound,
    metrics: Metrics = None,
    *,
    difference: float | None = None,
    power: float = 0.8,
    ci: float = 0.95,
    alternative: str = "two-sided",
    correlation: float | None = None,
    baseline: str | None = None,
    test: str | None = None,
    replicates: int = 500,
    seed: int = 0,
    cluster: str | None = None,
) -> pl.LazyFrame:
    """Return the rows needed to show a difference, and the difference that these rows can show.

    Parameters
    ----------
    metrics : str or sequence of str, optional
        As for `evaluate`.
    difference : float, optional
        The difference that matters, such as 0.01. Without it ``rows_needed`` is NULL.
    power : float
        The probability with which the test shows the difference.
    ci, alternative, baseline, test, replicates, seed, cluster
        As for `compare`: the planned test, of level 1 - ``ci``.
    correlation : float, optional
        With one model: the correlation of its errors with the errors of a second model that
        varies like it. 0 (the default) is for different rows, such as two periods or groups; two
        models on the same rows often have 0.8. With several models it follows from their rows.

    Returns
    -------
    polars.LazyFrame
        The slice keys, ``metric``, ``model``, ``baseline``, ``value``, ``n``,
        ``detectable_difference`` (the smallest difference that a test of ``n`` rows shows with
        this power), ``difference``, ``rows_needed`` (rows like these; for each model, if the
        models have different rows), ``method`` of the standard error and ``note``.

    Raises
    ------
    RequestError
        At once, for an unknown metric or test, or an option that does not fit.
    DataError
        On ``collect``, for rows that the metrics or the test cannot use.
    MissingExtra
        If SciPy is not installed.

    Examples
    --------
    >>> import polars as pl, sqleval
    >>> rows = {"y": [0, 0, 1, 1] * 25, "a": [0.1, 0.6, 0.4, 0.7] * 25}
    >>> df = pl.DataFrame({**rows, "b": [0.1, 0.3, 0.4, 0.7] * 25})
    >>> both = sqleval.scan(df, label="y", score={"a": "a", "b": "b"})
    >>> both.sample_size("roc_auc", difference=0.02).collect()["rows_needed"].item()
    5006
    """
    from sqleval.comparison.options import Options  # late: it needs SciPy
    from sqleval.comparison.sample_size import Aim, create_sample_sizes

    refuse_many_labels(bound, "sample_size()")
    requests = parse_requests(bound, metrics, ci)
    options = Options(
        baseline=baseline, test=test, alternative=alternative, ci=ci, replicates=replicates,
        seed=seed,
    )  # fmt: skip
    aim = Aim(difference, power, correlation)
    data = _share_ranks(bound, create_input(bound, cluster))
    return create_sample_sizes(data, requests, options, aim, bound.key_types)


def _share_ranks(bound: Bound, data: Input) -> Input:
    """Return an input whose large slices are ranked by many tasks, if the engine has several."""
    if not bound.engine.is_distributed:
        return data

    @cache
    def fit_buckets() -> Buckets | None:
        plan = choose_buckets(bound)
        return plan if isinstance(plan, Buckets) else None

    return data._replace(fit_buckets=fit_buckets)
