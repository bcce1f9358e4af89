"""References for metrics that no library has under one name.

They take rows of weight above 0 and give None or NaN where the metric is undefined. They call
scikit-learn or SciPy where possible; the rest is the definition, written out. A threshold
``t`` predicts rows with a score of at least ``t`` as positive. Thresholds are the distinct
scores and, where a docstring says so, +inf, at which no row is predicted positive.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from fractions import Fraction
from functools import cache
from itertools import combinations, permutations
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.integrate import quad
from scipy.spatial import ConvexHull
from sklearn import utils
from sklearn.metrics import (
    accuracy_score,
    auc,
    balanced_accuracy_score,
    brier_score_loss,
    confusion_matrix,
    confusion_matrix_at_thresholds,
    d2_brier_score,
    d2_log_loss_score,
    f1_score,
    fbeta_score,
    precision_recall_curve,
    precision_recall_fscore_support,
    precision_score,
    recall_score,
    roc_auc_score,
    roc_curve,
    zero_one_loss,
)

#: scikit-learn's check whether an argument is a data frame or a series of any library. For an array
#: the check takes as long as most metrics of a small array.
_IS_FRAME = getattr(utils.validation, "_nw_into_df_or_series", None)
if _IS_FRAME is not None:
    utils.validation._nw_into_df_or_series = lambda x: (
        not isinstance(x, np.ndarray) and _IS_FRAME(x)
    )  # an array is neither

if TYPE_CHECKING:
    from .cases import Rows

    Reference = Callable[[Rows], float | None]
    #: From true and false positives, false and true negatives of each; NaN where it is undefined.
    OfCounts = Callable[[list[list[float]]], list[float]]
    #: The same four counts, exactly.
    Measure = Callable[[Fraction, Fraction, Fraction, Fraction], Fraction]


UNDEFINED: Mapping[str, Any] = {"zero_division": np.nan}
ALL_RIGHT: Mapping[str, Any] = {"zero_division": 1}


def both(rows: Rows) -> bool:
    """Whether there are positives and negatives."""
    return len(np.unique(rows.label)) == 2


@cache
def places(rows: Rows) -> tuple[np.ndarray, np.ndarray]:
    """Return the distinct scores and each row's place among them, which is always finite."""
    distinct, place = np.unique(rows.score, return_inverse=True)
    return distinct, place


def pick(rows: Rows, at: np.ndarray) -> Rows:
    """Return the rows at a mask or at indices."""
    # A role that a kind of data does not have is empty.
    columns = {name: column for name, column in vars(rows).items() if len(column)}
    return replace(rows, **{name: column[at] for name, column in columns.items()})


# -- decisions at a threshold ------------------------------------------------------------------

#: Which number of ``precision_recall_fscore_support`` each of these functions returns.
INDEX_OF_SCORE: Mapping[Callable[..., Any], int] = {
    precision_score: 0, recall_score: 1, f1_score: 2, fbeta_score: 2,
}  # fmt: skip


@cache
def score_decisions(
    rows: Rows,
    beta: float = 1,
    pos_label: int = 1,
    average: str = "binary",
    zero_division: Any = np.nan,
) -> tuple[Any, ...]:
    """sklearn.metrics.precision_recall_fscore_support, from which each score takes its number.

    scikit-learn checks its arguments anew for each score, which takes half of the time.
    """
    return precision_recall_fscore_support(
        rows.label,
        rows.prediction,
        sample_weight=rows.weight,
        beta=beta,
        pos_label=pos_label,
        average=average,
        zero_division=zero_division,
    )


def precision(rows: Rows, weight: np.ndarray | None = None) -> float:
    """sklearn.metrics.precision_score, NaN for 0/0."""
    if weight is None:
        return score_decisions(rows)[INDEX_OF_SCORE[precision_score]]
    if not weight.any():
        return np.nan
    return precision_score(rows.label, rows.prediction, sample_weight=weight, **UNDEFINED)


def recall(rows: Rows, weight: np.ndarray | None = None) -> float:
    """sklearn.metrics.recall_score, NaN for 0/0."""
    if weight is None:
        return score_decisions(rows)[INDEX_OF_SCORE[recall_score]]
    if not weight.any():
        return np.nan
    return recall_score(rows.label, rows.prediction, sample_weight=weight, **UNDEFINED)


def fowlkes_mallows(rows: Rows) -> float | None:
    """Fowlkes and Mallows (1983): the geometric mean of precision and recall."""
    return np.sqrt(precision(rows) * recall(rows))


def precision_recall_mean(rows: Rows) -> float | None:
    """The arithmetic mean of precision and recall."""
    return (precision(rows) + recall(rows)) / 2


def youden_j(rows: Rows) -> float | None:
    """Youden (1950): sklearn.metrics.balanced_accuracy_score, adjusted for chance."""
    if not both(rows):
        return None
    return balanced_accuracy_score(
        rows.label, rows.prediction, sample_weight=rows.weight, adjusted=True
    )


def roc_distance(rows: Rows) -> float | None:
    """The distance of (fpr, tpr) from (0, 1); recall_score has both rates."""
    if not both(rows):
        return None
    rates = (
        recall_score(rows.label, rows.prediction, sample_weight=rows.weight, pos_label=each)
        for each in (0, 1)
    )
    return np.hypot(*(1 - rate for rate in rates))


def equal_error_rate(rows: Rows) -> float | None:
    """The false positive rate where the lines between points of scikit-learn's ROC curve cross
    the diagonal from (0, 1) to (1, 0)."""
    if not both(rows):
        return None
    # The places of scores, as scores may be infinite.
    points = roc_curve(
        rows.label, places(rows)[1], sample_weight=rows.weight, drop_intermediate=False
    )
    fpr, tpr = points[0], points[1]
    excess = fpr + tpr - 1
    return np.interp(0, excess, fpr)


def costs(rows: Rows, cost_fn: float, cost_fp: float) -> np.ndarray:
    """Return each row's weight times the cost of getting it wrong."""
    return rows.weight * np.where(rows.label == 1, cost_fn, cost_fp)


def _paired(first: np.ndarray, second: np.ndarray, weight: np.ndarray) -> tuple[Any, ...]:
    """Return every value of one with every value of the other, and the weight of the pair."""
    ones, one = np.unique(first, return_inverse=True)
    others, other = np.unique(second, return_inverse=True)
    weights = np.outer(np.bincount(one, weight), np.bincount(other, weight)).ravel()
    return np.repeat(ones, len(others)), np.tile(others, len(ones)), weights


def no_information_error_rate(rows: Rows) -> float | None:
    """sklearn.metrics.zero_one_loss over all pairs of a label and a prediction."""
    label, prediction, weight = _paired(rows.label, rows.prediction, rows.weight)
    return zero_one_loss(label, prediction, sample_weight=weight)


def no_information_brier_score(rows: Rows) -> float | None:
    """sklearn.metrics.brier_score_loss over all pairs of a label and a probability."""
    label, score, weight = _paired(rows.label, rows.score, rows.weight)
    return brier_score_loss(label, score, sample_weight=weight, labels=[0, 1], pos_label=1)


def cost_sensitive_error_rate(cost_fn: float, cost_fp: float) -> Reference:
    """sklearn.metrics.zero_one_loss of rows weighted by cost, over the weight of all rows."""

    def reference(rows: Rows) -> float | None:
        cost = costs(rows, cost_fn, cost_fp)
        if not cost.any():
            return 0.0  # scikit-learn refuses to weigh nothing
        lost = zero_one_loss(rows.label, rows.prediction, normalize=False, sample_weight=cost)
        return lost / rows.weight.sum()

    return reference


def cost_sensitive_accuracy(cost_fn: float, cost_fp: float) -> Reference:
    """sklearn.metrics.accuracy_score of rows weighted by cost."""

    def reference(rows: Rows) -> float | None:
        cost = costs(rows, cost_fn, cost_fp)
        if not cost.any():
            return None
        return accuracy_score(rows.label, rows.prediction, sample_weight=cost)

    return reference


def cost_sensitive_precision(cost_fn: float, cost_fp: float) -> Reference:
    """sklearn.metrics.precision_score of rows weighted by cost."""
    return lambda rows: precision(rows, costs(rows, cost_fn, cost_fp))


def cost_sensitive_recall(cost_fn: float, cost_fp: float) -> Reference:
    """sklearn.metrics.recall_score of rows weighted by cost."""
    return lambda rows: recall(rows, costs(rows, cost_fn, cost_fp))


def positive_share(rows: Rows, prior: float | None) -> float:
    """Return the prior, or without one the prevalence."""
    return float(np.average(rows.label, weights=rows.weight)) if prior is None else prior


def expected_cost(cost_fn: float, cost_fp: float, prior: float | None = None) -> Reference:
    """Drummond and Holte (2006), not normalised; rates by sklearn.metrics.recall_score."""

    def reference(rows: Rows) -> float | None:
        if prior is not None and not both(rows):
            return None
        p = positive_share(rows, prior)
        # Without a prior, a class that does not occur has no share, whatever its rate.
        one, other = (
            score_decisions(rows, pos_label=c, **ALL_RIGHT)[INDEX_OF_SCORE[recall_score]]
            for c in (1, 0)
        )
        return p * (1 - one) * cost_fn + (1 - p) * (1 - other) * cost_fp

    return reference


def normalized_expected_cost(
    cost_fn: float, cost_fp: float, prior: float | None = None
) -> Reference:
    """Drummond and Holte (2006): divided by the cost of getting everything wrong."""

    def reference(rows: Rows) -> float | None:
        p, cost = positive_share(rows, prior), expected_cost(cost_fn, cost_fp, prior)(rows)
        worst = p * cost_fn + (1 - p) * cost_fp
        return cost / worst if cost is not None and worst > 0 else None

    return reference


def misclassification_cost(matrix: Mapping[Any, Mapping[Any, float]]) -> Reference:
    """The mean cost of a row; right decisions cost 0 unless the matrix says otherwise."""

    def reference(rows: Rows) -> float | None:
        pairs = zip(rows.label.tolist(), rows.prediction.tolist(), strict=True)
        cost = [matrix.get(a, {}).get(b, 0.0 if a == b else np.nan) for a, b in pairs]
        return float(np.average(cost, weights=rows.weight))

    return reference


# -- the order of the scores -------------------------------------------------------------------


def rank_loss(rows: Rows) -> float | None:
    """The share of pairs of a positive and a negative in the wrong order, ties as half."""
    if not both(rows):
        return None
    one, other = pick(rows, rows.label == 1), pick(rows, rows.label == 0)
    lost = 1.0 * (one.score[:, None] < other.score) + 0.5 * (one.score[:, None] == other.score)
    return float(np.average(lost, weights=np.outer(one.weight, other.weight)))


def gini(rows: Rows) -> float | None:
    """sklearn.metrics.roc_auc_score, from 0 for chance to 1."""
    if not both(rows):
        return None
    return 2 * roc_auc_score(rows.label, places(rows)[1], sample_weight=rows.weight) - 1


def partial_roc_auc(max_fpr: float) -> Reference:
    """sklearn.metrics.roc_auc_score(max_fpr=), which is standardised by McClish (1989)."""

    def reference(rows: Rows) -> float | None:
        if not both(rows):
            return None
        place = places(rows)[1]
        return roc_auc_score(rows.label, place, sample_weight=rows.weight, max_fpr=max_fpr)

    return reference


def pr_auc_trapezoid(rows: Rows) -> float | None:
    """sklearn.metrics.auc of sklearn.metrics.precision_recall_curve."""
    if not rows.label.any():
        return None
    y, x, _ = precision_recall_curve(rows.label, places(rows)[1], sample_weight=rows.weight)
    return auc(x, y)


@cache
def counts(rows: Rows) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return thresholds from the highest, true and false positives, from nothing predicted."""
    distinct, place = places(rows)
    _, fp, _, tp, at = confusion_matrix_at_thresholds(
        y_true=rows.label, y_score=place, pos_label=1, sample_weight=rows.weight
    )
    return np.append(np.inf, distinct[at.astype(int)]), np.append(0.0, tp), np.append(0.0, fp)


def pr_auc_interpolated(rows: Rows) -> float | None:
    """Davis and Goadrich (2006): between points false positives are linear in true ones."""
    _, tp, fp = counts(rows)
    if not tp[-1]:
        return None

    def height(t: float, tp_a: float, fp_a: float, slope: float) -> float:
        return t / (t + fp_a + slope * (t - tp_a))

    area = 0.0
    for i in np.flatnonzero(np.diff(tp) > 0):
        slope = (fp[i + 1] - fp[i]) / (tp[i + 1] - tp[i])
        fixed = (tp[i], fp[i], slope)
        area += quad(height, tp[i], tp[i + 1], fixed, epsabs=1e-14 * tp[-1], epsrel=1e-13)[0]
    return area / tp[-1]


def break_even_point(rows: Rows) -> float | None:
    """Precision (and recall) where as many rows are predicted positive as there are positives."""
    _, tp, fp = counts(rows)
    # Inside a tie both counts grow in proportion to the part that is taken.
    return np.interp(tp[-1], tp + fp, tp) / tp[-1] if tp[-1] else None


def break_even_threshold(rows: Rows) -> float | None:
    """The highest threshold that predicts as many positives as there are."""
    threshold, tp, fp = counts(rows)
    return threshold[np.argmax(tp + fp >= tp[-1])] if tp[-1] else None


# -- the best threshold ------------------------------------------------------------------------


def exact(number: float) -> Fraction:
    """Return a parameter as an exact decimal: 0.1 is a tenth."""
    return Fraction(str(number))


@cache
def exact_counts(rows: Rows) -> list[list[Fraction]]:
    """Return the four counts at each threshold of `counts`, without rounding."""
    _, tp, fp = counts(rows)
    return [
        [Fraction(float(n)) for n in (tp[i], fp[i], tp[-1] - tp[i], fp[-1] - fp[i])]
        for i in range(len(tp))
    ]


def best(measure: Measure, rows: Rows, *, nothing: bool = True) -> tuple[float, float]:
    """Return the largest value and the highest threshold that has it, without rounding."""
    threshold, _, _ = counts(rows)
    first = 0 if nothing else 1
    values = [measure(*each) for each in exact_counts(rows)[first:]]
    value = max(values)
    return float(value), float(threshold[first + values.index(value)])


def f_beta_of(beta: float) -> Measure:
    """F-beta by van Rijsbergen (1979)."""
    square = exact(beta) ** 2
    return lambda tp, fp, fn, tn: (1 + square) * tp / ((1 + square) * tp + square * fn + fp)


def best_f_beta(beta: float) -> Reference:
    """The largest F-beta over the distinct scores."""
    return lambda rows: best(f_beta_of(beta), rows, nothing=False)[0] if rows.label.any() else None


def best_f_beta_threshold(beta: float) -> Reference:
    """The highest threshold of the largest F-beta."""
    return lambda rows: best(f_beta_of(beta), rows, nothing=False)[1] if rows.label.any() else None


def accuracy_of(tp: Fraction, fp: Fraction, fn: Fraction, tn: Fraction) -> Fraction:
    """The share of right decisions."""
    return (tp + tn) / (tp + fp + fn + tn)


def best_accuracy(rows: Rows) -> float | None:
    """The largest accuracy over the distinct scores and +inf."""
    return best(accuracy_of, rows)[0]


def best_accuracy_threshold(rows: Rows) -> float | None:
    """The highest threshold of the largest accuracy."""
    return best(accuracy_of, rows)[1]


def youden_j_of(tp: Fraction, fp: Fraction, fn: Fraction, tn: Fraction) -> Fraction:
    """Youden (1950)."""
    return tp / (tp + fn) - fp / (fp + tn)


def best_youden_j(rows: Rows) -> float | None:
    """The largest J over the distinct scores and +inf, where it is 0."""
    return best(youden_j_of, rows)[0] if both(rows) else None


def best_youden_j_threshold(rows: Rows) -> float | None:
    """The highest threshold of the largest J."""
    return best(youden_j_of, rows)[1] if both(rows) else None


def saving_of(cost_fn: float, cost_fp: float, prior: float | None) -> Measure:
    """The expected cost with its sign changed."""
    of_fn, of_fp = exact(cost_fn), exact(cost_fp)

    def measure(tp: Fraction, fp: Fraction, fn: Fraction, tn: Fraction) -> Fraction:
        if prior is None:
            return -(fn * of_fn + fp * of_fp) / (tp + fp + fn + tn)
        p = exact(prior)
        return -p * of_fn * fn / (tp + fn) - (1 - p) * of_fp * fp / (fp + tn)

    return measure


def best_expected_cost(cost_fn: float, cost_fp: float, prior: float | None = None) -> Reference:
    """The least expected cost over the distinct scores and +inf."""
    measure = saving_of(cost_fn, cost_fp, prior)
    return lambda rows: -best(measure, rows)[0] if prior is None or both(rows) else None


def best_expected_cost_threshold(
    cost_fn: float, cost_fp: float, prior: float | None = None
) -> Reference:
    """The highest threshold of the least expected cost."""
    measure = saving_of(cost_fn, cost_fp, prior)
    return lambda rows: best(measure, rows)[1] if prior is None or both(rows) else None


def constrained(rows: Rows, least: float, *, of_recall: bool) -> tuple[float, float] | None:
    """Return the largest precision at a least recall, or the reverse, and its threshold."""
    if not rows.label.any():
        return None
    distinct, place = places(rows)
    with_last = precision_recall_curve(rows.label, place, sample_weight=rows.weight)
    ours, given = (column[:-1] for column in with_last[:2])
    if of_recall:
        ours, given = given, ours
    if not (given >= least).any():
        return None
    value = ours[given >= least].max()
    return value, distinct[with_last[2].astype(int)][(given >= least) & (ours == value)].max()


def precision_at_recall(recall: float) -> Reference:
    """The largest precision on sklearn.metrics.precision_recall_curve at that recall or more."""
    return lambda rows: (constrained(rows, recall, of_recall=False) or (None,))[0]


def precision_at_recall_threshold(recall: float) -> Reference:
    """The highest threshold of the largest precision at that recall or more."""
    return lambda rows: (constrained(rows, recall, of_recall=False) or (None,))[-1]


def recall_at_precision(precision: float) -> Reference:
    """The largest recall on sklearn.metrics.precision_recall_curve at that precision or more."""
    return lambda rows: (constrained(rows, precision, of_recall=True) or (None,))[0]


def recall_at_precision_threshold(precision: float) -> Reference:
    """The highest threshold of the largest recall at that precision or more."""
    return lambda rows: (constrained(rows, precision, of_recall=True) or (None,))[-1]


# -- hulls, cost curves, pairs of curves -------------------------------------------------------


def cost_curve_area(rows: Rows) -> float | None:
    """Drummond and Holte (2006): the area under the lowest line, from all crossings of lines."""
    if not both(rows):
        return None
    fpr, tpr, _ = roc_curve(
        rows.label, places(rows)[1], sample_weight=rows.weight, drop_intermediate=False
    )
    left, right = fpr, 1 - tpr
    one, other = np.array(list(combinations(range(len(left)), 2))).T
    gap_left, gap_right = left[one] - left[other], right[one] - right[other]
    apart = gap_left * gap_right < 0
    crossings = gap_left[apart] / (gap_left[apart] - gap_right[apart])
    x = np.unique(np.concatenate([[0.0, 1.0], crossings]))
    lowest = np.full(len(x), np.inf)
    for a, b in zip(left, right, strict=True):
        lowest = np.minimum(lowest, a * (1 - x) + b * x)
    return float(np.trapezoid(lowest, x))


def roc_hull(points: np.ndarray) -> np.ndarray:
    """scipy.spatial.ConvexHull of (fpr, tpr): its upper vertices from (0, 0) to (1, 1)."""
    # The corner (1, 0) closes the hull below: points are never all on one line.
    corners = np.array([[0.0, 0.0], [1.0, 1.0], [1.0, 0.0]])
    every = np.unique(np.vstack([points, corners]), axis=0)
    vertices = every[ConvexHull(every).vertices]
    vertices = vertices[(vertices != corners[2]).any(axis=1)]
    return vertices[np.lexsort((vertices[:, 1], vertices[:, 0]))]


def dominance(
    fpr_a: np.ndarray,
    tpr_a: np.ndarray,
    fpr_b: np.ndarray,
    tpr_b: np.ndarray,
    tolerance: float = 1e-12,
) -> list[tuple[float, float, int]]:
    """Return (from, to, sign of a - b) over fpr; numpy.interp of both inside each stretch."""
    pieces: list[tuple[float, float, int]] = []

    def add(to: float, sign: int) -> None:
        since = pieces[-1][1] if pieces else 0.0
        if pieces and pieces[-1][2] == sign:
            since = pieces.pop()[0]
        pieces.append((since, to, sign))

    x = np.unique(np.concatenate([[0.0, 1.0], fpr_a, fpr_b]))
    x = x[np.append(np.diff(x) > tolerance, True)]
    x[0] = 0.0
    for start, end in zip(x[:-1].tolist(), x[1:].tolist(), strict=True):
        # Two points inside, away from vertical steps, give the line and so its ends.
        inside = np.array([0.75 * start + 0.25 * end, 0.25 * start + 0.75 * end])
        one, two = np.interp(inside, fpr_a, tpr_a) - np.interp(inside, fpr_b, tpr_b)
        first, last = (
            0.0 if abs(gap) <= tolerance else float(gap)
            for gap in (1.5 * one - 0.5 * two, 1.5 * two - 0.5 * one)
        )
        if first * last < 0:
            add(start + (end - start) * first / (first - last), int(np.sign(first)))
            add(end, int(np.sign(last)))
        else:
            add(end, int(np.sign(first + last)))
    return pieces


# -- probabilities -----------------------------------------------------------------------------


def calibration_curve(rows: Rows, bins: int, strategy: str) -> np.ndarray:
    """The bins of sklearn.calibration.calibration_curve with weights: (bin, mean, share, weight).

    Bins count from 1 and empty ones are left out. Weights are rows; where they are not whole,
    the quantile k / bins lies below a score if it lies in the weight below it; of the positions,
    the last is the total without 1, or without the mean weight of a score if that is less.
    """
    table = []
    for i, part in calibration_bins(rows, bins, strategy):
        means = (np.average(column, weights=part.weight) for column in (part.score, part.label))
        table.append((i + 1, *means, part.weight.sum()))
    return np.array(table)


def calibration_sizes(rows: Rows, bins: int, strategy: str) -> np.ndarray:
    """The effective number of rows of each bin, (sum w)^2 / sum w^2 (Kish 1965)."""
    weights = [part.weight for _, part in calibration_bins(rows, bins, strategy)]
    return np.array([weight.sum() ** 2 / (weight**2).sum() for weight in weights])


def calibration_bins(rows: Rows, bins: int, strategy: str) -> list[tuple[int, Rows]]:
    """The rows of each bin that has some, with the number of the bin from 0."""
    edges = np.linspace(0, 1, bins + 1)
    if strategy == "quantile" and (rows.weight % 1 == 0).all():
        edges = np.percentile(np.repeat(rows.score, rows.weight.astype(int)), edges * 100)
    place = np.searchsorted(edges[1:-1], rows.score)
    if strategy == "quantile" and not (rows.weight % 1 == 0).all():
        below = (rows.weight * (rows.score[:, None] > rows.score)).sum(axis=1)
        last = min(1, rows.weight.sum() / len(np.unique(rows.score[rows.weight > 0])))
        parts = np.arange(1, bins) / bins * (rows.weight.sum() - last)
        place = (below[:, None] > parts).sum(axis=1)
    return [(int(i), pick(rows, place == i)) for i in np.unique(place)]


def expected_calibration_error(bins: int, strategy: str) -> Reference:
    """Naeini, Cooper and Hauskrecht (2015), over the bins of scikit-learn."""

    def reference(rows: Rows) -> float | None:
        _, predicted, observed, weight = calibration_curve(rows, bins, strategy).T
        return float(np.average(np.abs(predicted - observed), weights=weight))

    return reference


def pcoc(rows: Rows) -> float | None:
    """The sum of the scores over the number of positives (predicted over observed)."""
    observed = rows.weight @ rows.label
    return float(rows.weight @ rows.score / observed) if observed else None


def of_bins(rows: Rows, bins: int | None) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the mean score of bins, the share of positives and the weight of each.

    The bins are those of scikit-learn's calibration_curve, or the distinct scores.
    """
    if bins is not None:
        _, score, share, weight = calibration_curve(rows, bins, "uniform").T
        return score, share, weight
    distinct, place = places(rows)
    parts = [pick(rows, place == i) for i in range(len(distinct))]
    share = np.array([np.average(part.label, weights=part.weight) for part in parts])
    return distinct, share, np.array([part.weight.sum() for part in parts])


def brier_reliability(bins: int | None = None) -> Reference:
    """Murphy (1973): Brier score = reliability - resolution + uncertainty."""

    def reference(rows: Rows) -> float | None:
        score, share, weight = of_bins(rows, bins)
        return float(np.average((score - share) ** 2, weights=weight))

    return reference


def brier_resolution(bins: int | None = None) -> Reference:
    """Murphy (1973)."""

    def reference(rows: Rows) -> float | None:
        _, share, weight = of_bins(rows, bins)
        return float(np.average((share - positive_share(rows, None)) ** 2, weights=weight))

    return reference


def brier_skill_score(rows: Rows) -> float | None:
    """sklearn.metrics.d2_brier_score of rows of both classes."""
    if not both(rows):
        return None
    return d2_brier_score(rows.label, rows.score, sample_weight=rows.weight, pos_label=1)


def brier_uncertainty(rows: Rows) -> float | None:
    """Murphy (1973)."""
    share = positive_share(rows, None)
    return share * (1 - share)


def normalized_entropy(rows: Rows) -> float | None:
    """He et al. (2014): 1 - sklearn.metrics.d2_log_loss_score."""
    if not both(rows):
        return None
    return 1 - d2_log_loss_score(rows.label, y_proba=rows.score, sample_weight=rows.weight)


# -- averages over pairs of classes and over keys ----------------------------------------------


def averaged(values: list[float | None], weights: list[float]) -> float | None:
    """Return the mean of the values that are defined."""
    value = np.array([np.nan if each is None else each for each in values])
    weight = np.array(weights) * ~np.isnan(value)
    return float(np.average(np.nan_to_num(value), weights=weight)) if weight.any() else None


@cache
def score_counts(counts: tuple[tuple[float, ...], ...], pos_label: int, **fixed: Any) -> Any:
    """Return each number of `INDEX_OF_SCORE` for the four counts of each pair of classes.

    Each pair is a label of its own, so that scikit-learn is called once for all pairs. A pair has
    four rows, one per count: its label is true in the first and third, predicted in the first two.
    """
    if pos_label == 0:
        counts = tuple((tn, fn, fp, tp) for tp, fp, fn, tn in counts)
    true, predicted = (np.kron(np.eye(len(counts), dtype=int), np.array(which)[:, None])
                       for which in ([1, 0, 1, 0], [1, 1, 0, 0]))  # fmt: skip
    # The first label stands for no pair, because scikit-learn treats a single label as binary.
    return precision_recall_fscore_support(
        *(np.column_stack([np.zeros(len(each), int), each]) for each in (true, predicted)),
        sample_weight=np.ravel(counts), average=None, labels=np.arange(1, len(counts) + 1), **fixed
    )  # fmt: skip


@cache
def from_counts(function: Callable[..., Any], pos_label: int = 1, **fixed: Any) -> OfCounts:
    """Return a function of scikit-learn for many tables of four counts, NaN for an empty table."""

    def metric(counts: list[list[float]]) -> list[float]:
        several = tuple(map(tuple, counts))
        values = score_counts(several, pos_label, **fixed)[INDEX_OF_SCORE[function]]
        return np.where(np.any(counts, axis=1), values, np.nan).tolist()

    return metric


def one_vs_one(metric: OfCounts, average: str) -> Reference:
    """Average over ordered pairs of classes, each from its corner of the confusion matrix."""

    def reference(rows: Rows) -> float | None:
        classes = np.union1d(rows.label, rows.prediction)
        if len(classes) < 2:
            return None
        n = confusion_matrix(
            rows.label, rows.prediction, sample_weight=rows.weight, labels=classes
        ).astype(float)
        pairs = list(permutations(range(len(classes)), 2))
        four = np.array([(n[i, i], n[j, i], n[i, j], n[j, j]) for i, j in pairs])
        if average == "micro":
            return metric([four.sum(axis=0).tolist()])[0]
        support = [n[i].sum() + n[j].sum() if average == "weighted" else 1.0 for i, j in pairs]
        return averaged([*metric(four.tolist())], support)

    return reference


@cache  # all averages use the same pairs, whose values references cache
def split_by_pair(rows: Rows) -> list[Rows]:
    """Return the rows of each ordered pair of classes, with the score of the first."""
    pairs = []
    for i, j in permutations(range(len(rows.classes)), 2):
        part = pick(rows, np.isin(rows.label, rows.classes[[i, j]]))
        label = (part.label == rows.classes[i]).astype(int)
        pairs.append(replace(part, label=label, score=part.score[:, i]))
    return pairs


def one_vs_one_scored(reference: Reference, average: str) -> Reference:
    """Hand and Till (2001): average over ordered pairs, rows of two classes by the first's score.

    As ``sklearn.metrics.roc_auc_score(multi_class="ovo")`` where every class occurs; a pair
    without rows is undefined.
    """

    def pairwise(rows: Rows) -> float | None:
        pairs = split_by_pair(rows)
        if average == "micro":
            every = {
                name: np.concatenate([vars(pair)[name] for pair in pairs]) for name in vars(rows)
            }
            return reference(replace(rows, **every))
        support = [pair.weight.sum() if average == "weighted" else 1.0 for pair in pairs]
        return averaged([reference(pair) if len(pair.label) else None for pair in pairs], support)

    return pairwise


def over(reference: Reference, column: str, average: str = "macro") -> Reference:
    """Average over the groups of rows that share a value of that column of `Rows`."""

    def grouped(rows: Rows) -> float | None:
        key = vars(rows)[column]
        parts = [pick(rows, key == value) for value in dict.fromkeys(key.tolist())]
        weights = [part.weight.sum() if average == "weighted" else 1.0 for part in parts]
        return averaged([reference(part) for part in parts], weights)

    return grouped


def compute_delong(label: np.ndarray, scores: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the areas under ROC of models (rows of ``scores``) and their covariance matrix.

    DeLong, DeLong and Clarke-Pearson (1988), equations 3 to 6: the structural components V10 and
    V01 are means of the kernel psi, 1 for a positive above a negative and 1/2 for a tie.
    """
    positive, negative = scores[:, label == 1], scores[:, label == 0]
    psi = np.sign(positive[:, :, None] - negative[:, None, :]) / 2 + 0.5
    v10, v01 = psi.mean(axis=2), psi.mean(axis=1)
    s10, s01 = (np.atleast_2d(np.cov(each)) for each in (v10, v01))
    return v10.mean(axis=1), s10 / positive.shape[1] + s01 / negative.shape[1]
