"""Computes curves and confusion tables of predictions, as lazy frames."""

from collections.abc import Mapping

import polars as pl

from sqleval.binding.arguments import check_level
from sqleval.binding.roles import check_threshold
from sqleval.catalog import request
from sqleval.common.numbers import convert_scalar
from sqleval.common.sql_text import Value
from sqleval.compiler.bins import Bins, create_bins, parse_bins
from sqleval.compiler.curve import compile_curve
from sqleval.compiler.scope import Plan
from sqleval.compiler.statement import Statement
from sqleval.errors import RequestError
from sqleval.frontend.bound import Bound, create_input, refuse_expected, refuse_many_labels
from sqleval.frontend.choosing import choose_buckets, choose_points
from sqleval.frontend.curve_points import check_points, keep_points
from sqleval.frontend.lazy import create_frame
from sqleval.frontend.plan import BITS_OF_CURVES
from sqleval.frontend.schema import get_column_type
from sqleval.resampling.deferred import defer_frame


def curve(
    bound: Bound,
    name: str,
    *,
    ci: float | None = None,
    replicates: int = 500,
    seed: int = 0,
    cluster: str | None = None,
    points: int | None = None,
    **params: Value,
) -> pl.LazyFrame:
    """Return the points of a curve, such as ``roc_curve`` or ``pr_curve``.

    Parameters
    ----------
    name : str
        A curve from `sqleval.metrics`; the ending ``_curve`` may be left out.
    ci : float, optional
        Level of bands around a ROC, PR, gain, cost, calibration or threshold curve. A curve
        over 0 .. 1 then has 201 equally spaced points. ``low`` .. ``high`` covers each point
        with probability ``ci``, ``simultaneous_low`` .. ``simultaneous_high`` the whole curve.
        The bands come from the bootstrap (percentiles; sup-t). A calibration curve of
        independent rows has exact intervals of the share in each bin instead, and
        ``predicted_vs_actual`` intervals of the mean label by Student's t. ``threshold_curve`` has
        the intervals that `evaluate` gives for a threshold that is fixed before:
        ``precision_low`` .. ``precision_high``, and so on. Needs SciPy.
    replicates, seed, cluster
        Options of the bootstrap, as for `evaluate`; with ``ci`` replicates cannot be 0.
    points : int, optional
        Keeps at most so many points of each curve with a row per score: the first, the last, and
        others in equal steps along the curve, each exact. The length of a curve is the sum of the
        changes of its columns (except ``threshold``), each divided by the column's range. The
        points left out between two others span less than ``2 / (points - 1)`` of the length: along
        a ROC curve, ``fpr`` and ``tpr`` together change by less than ``4 / (points - 1)``. Metrics
        such as ``roc_auc`` always use all rows.
    **params
        The curve's parameters, such as ``drop_intermediate=True``. If the curve has no parameter
        ``bins``, ``bins=`` means the same as for `evaluate`, and the result has the exact points
        at the lowest score of each bin.

    Returns
    -------
    polars.LazyFrame
        The slice keys and the curve's columns, in the curve's order.

    Raises
    ------
    RequestError, MissingExtra
        At once, for a wrong curve, parameter or role; if ``ci`` needs SciPy.
    DataError
        On ``collect``, for rows that the curve cannot use.

    Examples
    --------
    >>> import polars as pl, sqleval
    >>> df = pl.DataFrame({"y": [0, 0, 1, 1], "p": [0.1, 0.4, 0.35, 0.8]})
    >>> sqleval.scan(df, label="y", score="p").curve("roc").collect()["tpr"].to_list()
    [0.0, 0.5, 0.5, 1.0, 1.0]
    """
    curve_request, bins = _parse_curve(bound, name, params)
    if bins is not None or ci is not None:
        refuse_many_labels(bound, "bins= and ci= of a curve")
    if bound.binding.is_expected:
        refuse_expected(bound, ci=ci, bins=bins)
    if points is not None:
        points = check_points(points, curve_request, bound.catalogue)
    if ci is None:
        check_level(ci, cluster=cluster)
        whole = evaluate_curve(bound, curve_request, bins)
        return (
            whole if points is None else keep_points(whole, curve_request.relation.measured, points)
        )
    if points is not None:
        raise RequestError("points= and ci= cannot be combined: most bands have 201 points")
    return _evaluate_bands(bound, curve_request, bins, ci, replicates, seed, cluster)


def confusion(
    bound: Bound, *, threshold: float | None = None, normalize: str | None = None
) -> pl.LazyFrame:
    """Return the number of rows for each label and prediction.

    Parameters
    ----------
    threshold : float, optional
        Overrides the threshold given to `scan`.
    normalize : {"true", "pred", "all"}, optional
        Adds the column ``share``: of the rows with the same label, of those with the same
        prediction, or of all rows of the slice, as in `sklearn.metrics.confusion_matrix`.

    Returns
    -------
    polars.LazyFrame
        The slice keys, ``label``, ``prediction`` and ``n`` (a count, or a sum of weights), and with
        ``normalize`` the ``share``, which is NULL if the rows have no weight.

    Raises
    ------
    RequestError
        If the predictions are not classes, the threshold is not a number, or ``normalize`` is none
        of the three.
    DataError
        On ``collect``, for missing values, or scores outside 0 .. 1 without a threshold.

    Examples
    --------
    >>> import polars as pl, sqleval
    >>> df = pl.DataFrame({"y": [0, 0, 1, 1], "p": [0.1, 0.4, 0.35, 0.8]})
    >>> sqleval.scan(df, label="y", score="p").confusion().collect().rows()
    [(0, 0, 2), (1, 0, 1), (1, 1, 1)]
    >>> shares = sqleval.scan(df, label="y", score="p").confusion(normalize="true").collect()
    >>> shares["share"].to_list()
    [1.0, 0.5, 0.5]
    """
    threshold = convert_scalar(threshold)
    check_threshold(threshold)
    refuse_many_labels(bound, "confusion()")
    if not bound.binding.has_classes:
        raise RequestError(
            f"confusion() needs classes, but the task is {bound.binding.task!r}; "
            "task='multiclass' (--task multiclass) takes numbers as classes"
        )
    given = {"threshold": threshold, "normalize": normalize}
    values = {name: value for name, value in given.items() if value is not None}
    return evaluate_curve(bound, request.parse_confusion(values, bound.catalogue))


def _parse_curve(
    bound: Bound, name: str, params: Mapping[str, Value]
) -> tuple[request.Request, Bins | None]:
    """Return the request of a curve, and its bins."""
    arguments = dict(params)
    has_bins = request.has_parameter(name, "bins", bound.catalogue)
    bins = None if has_bins else arguments.pop("bins", None)
    return request.parse_curve(name, arguments, bound.binding.task, bound.catalogue), parse_bins(
        bins
    )


def _evaluate_bands(
    bound: Bound,
    curve_request: request.Request,
    bins: Bins | None,
    ci: float,
    replicates: int,
    seed: int,
    cluster: str | None,
) -> pl.LazyFrame:
    """Return a curve with bands."""
    from sqleval.curves import bands  # late: it needs SciPy

    options = bands.parse_options(ci, replicates, seed)
    data = create_input(bound, cluster)
    bands.check_source(data, curve_request)
    if bins is None and bound.binding.state is None and bound.source.is_large:
        is_ranked = curve_request.depends_on("score_counts")
        bins = create_bins(BITS_OF_CURVES) if is_ranked else None
    exact = evaluate_curve(bound, curve_request, bins)
    types = exact.collect_schema()
    names = bands.list_columns(curve_request, types.names())
    schema = pl.Schema({name: types.get(name, pl.Float64) for name in names})
    return defer_frame(
        lambda: bands.add_bands(exact.collect(), data, curve_request, options), schema
    )


def evaluate_curve(
    bound: Bound, curve_request: request.Request, bins: Bins | None = None
) -> pl.LazyFrame:
    """Return the points of a curve, or the rows of a confusion table."""

    def statement(plan: Plan, predicate: str | None) -> Statement:
        return compile_curve(bound.binding, curve_request, plan, predicate)

    def choose() -> Plan:
        if bins is not None or not bound.engine.is_distributed:
            return bins or "rows"
        if not curve_request.depends_on("score_counts"):
            return "rows"
        by_score = str(curve_request.relation.header.get("order")).startswith("threshold")
        return choose_points(bound) if by_score else choose_buckets(bound)

    # Substitutions add keys to a curve, which hold classes.
    kinds = {"class": "class", "other": "class", **curve_request.relation.types}
    names = statement(bins or "rows", None).columns
    column_types = {name: get_column_type(bound.binding, kinds.get(name)) for name in names}
    return create_frame(bound, statement, pl.Schema({**column_types, **bound.key_types}), choose)
