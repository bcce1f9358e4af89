"""References for curves: their points as columns of an array, in the order of the curve."""

import warnings
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from sklearn.metrics import (
    classification_report,
    f1_score,
    precision_recall_curve,
    precision_score,
    recall_score,
    roc_curve,
)
from statsmodels.stats.proportion import proportion_confint

from tests.support import references as ref
from tests.support.cases import DATA, Data, Kind, Rows, drawn, stack
from tests.support.families import regression_curves as regression

NAN = np.nan
TOLERANCE: dict[str, float] = {"rtol": 1e-12, "atol": 1e-12}
#: Data sets that only test how labels and types are read; the metrics' tests have them.
ELSEWHERE = ("label", "FLOAT tenths", "integer", "one negative", "one positive", "wrong")
BINARY = list(
    stack([d for d in DATA if d.kind == "binary" and not any(name in d.name for name in ELSEWHERE)])
)
#: The data sets by kind, on which curves are compared.
COMPARED: dict[Kind, list[Data]] = {
    "binary": BINARY,
    "regression": list(
        stack(
            [
                *(d for d in DATA if d.kind == "regression" and "wrong" not in d.name),
                *regression.list_data(drawn("regression")),
            ]
        )
    ),
}
Points = Callable[[Rows], np.ndarray]


def roc(rows: Rows) -> np.ndarray:
    """Return scikit-learn's (threshold, fpr, tpr), NaN where a class is missing."""
    distinct, place = ref.places(rows)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # scikit-learn warns of a missing class
        fpr, tpr, at = roc_curve(
            rows.label, place, sample_weight=rows.weight, drop_intermediate=False
        )
    return np.column_stack([np.append(np.inf, distinct[at[1:].astype(int)]), fpr, tpr])


def pr(rows: Rows) -> np.ndarray:
    """Return scikit-learn's (threshold, precision, recall) from the highest threshold."""
    distinct, place = ref.places(rows)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        precision, recall, at = precision_recall_curve(rows.label, place, sample_weight=rows.weight)
    recall = recall if rows.label.any() else recall * NAN  # scikit-learn gives 1
    threshold = np.append(np.inf, distinct[at[::-1].astype(int)])
    return np.column_stack([threshold, precision[::-1], recall[::-1]])


def thresholds(cost_fn: float, cost_fp: float) -> Points:
    """Return the reference of scikit-learn's scores and of the mean cost at each threshold."""

    def points(rows: Rows) -> np.ndarray:
        distinct, place = ref.places(rows)
        positives = np.average(rows.label, weights=rows.weight)
        none = 0 if positives else NAN
        table = [(np.inf, NAN, none, none, cost_fn * positives, 0)]
        for at in np.unique(place[rows.weight > 0])[::-1]:
            predicted = (place >= at).astype(int)
            scores = (
                score(rows.label, predicted, sample_weight=rows.weight, zero_division=NAN)
                for score in (precision_score, recall_score, f1_score)
            )
            costs = np.where(rows.label == 1, cost_fn * (1 - predicted), cost_fp * predicted)
            mean = np.average(costs, weights=rows.weight)
            table.append((distinct[at], *scores, mean, rows.weight @ predicted))
        return np.array(table)

    return points


def score_histogram(bins: int) -> Points:
    """Return the reference by numpy.histogram of the finite scores, and bins of infinite ones."""

    def points(rows: Rows) -> np.ndarray:
        score = rows.score.astype(float)
        used = rows.weight > 0
        finite = score[np.isfinite(score) & used]
        inside = len(finite) == 0 or (finite.min() >= 0 and finite.max() <= 1)
        limits = (0, 1) if inside else (finite.min(), finite.max())
        edges = np.histogram_bin_edges(finite, bins, limits)
        table = [np.arange(1, bins + 1), edges[:-1], edges[1:]]
        table += [
            np.histogram(score[used & is_class], edges, weights=rows.weight[used & is_class])[0]
            for is_class in (rows.label == 0, rows.label == 1)
        ]
        whole = np.column_stack(table)
        for sign, ends in ((-1, (0, -np.inf, edges[0])), (1, (bins + 1, edges[-1], np.inf))):
            beyond = used & (score == sign * np.inf)
            if beyond.any():
                counts = (rows.weight[beyond & (rows.label == value)].sum() for value in (0, 1))
                row = [[*ends, *counts]]
                whole = np.vstack([row, whole] if sign < 0 else [whole, row])
        return whole

    return points


def pr_from_origin(rows: Rows) -> np.ndarray:
    points = pr(rows)
    points[0, 1] = 0
    return points


def pr_from_roc(rows: Rows) -> np.ndarray:
    points = pr(rows)
    # Without both classes a ROC curve does not determine precision.
    points[:, 1] = points[:, 1] if ref.both(rows) else NAN
    return points


def pr_at_prior(prior: float) -> Points:
    def points(rows: Rows) -> np.ndarray:
        threshold, fpr, tpr = roc(rows).T
        found, mistaken = tpr * prior, fpr * (1 - prior)
        predicted = np.where(found + mistaken == 0, 1.0, found + mistaken)
        precision = np.where(found + mistaken == 0, 1.0, found / predicted)
        return np.column_stack([threshold, precision, tpr])

    return points


def roc_from_pr(rows: Rows) -> np.ndarray:
    points = roc(rows)
    # Without true positives, precision is 0 whatever the false positives are.
    points[1:][points[1:, 2] == 0, 1:] = NAN
    points[:, 1:] = points[:, 1:] if rows.label.any() else NAN
    return points


def hull(rows: Rows) -> np.ndarray:
    if not ref.both(rows):
        return np.empty((0, 3))
    points = roc(rows)
    nearest = [
        int(np.abs(points[:, 1:] - vertex).sum(axis=1).argmin())
        for vertex in ref.roc_hull(points[:, 1:])
    ]
    return points[nearest]


def lines(rows: Rows) -> np.ndarray:
    points = roc(rows)
    points[:, 2] = 1 - points[:, 2]
    return points


def gain(rows: Rows) -> np.ndarray:
    threshold, tp, fp = ref.counts(rows)
    share = (tp + fp) / rows.weight.sum()
    found = tp / tp[-1] if tp[-1] else tp * NAN
    lift = np.append(NAN, found[1:] / share[1:])
    return np.column_stack([threshold, share, found, lift])


def gains(bins: int) -> Points:
    def points(rows: Rows) -> np.ndarray:
        threshold, tp, fp = ref.counts(rows)
        share = np.arange(1, bins + 1) / bins
        place = share * (tp[-1] + fp[-1])
        # A tie across the cut is taken in part.
        tpr, fpr = (
            np.interp(place, tp + fp, n) / n[-1] if n[-1] else place * NAN for n in (tp, fp)
        )
        reached = [threshold[np.argmax(tp + fp >= at * (1 - 1e-12))] for at in place]
        found, table = tpr * tp[-1] if tp[-1] else place * 0, [share, reached]
        # The highest score of a part is the first one beyond the part before it.
        before = np.append(0, place[:-1])
        upper = [threshold[np.argmax(tp + fp > at * (1 + 1e-12))] for at in before]
        n = np.full(bins, (tp[-1] + fp[-1]) / bins)
        table += [tpr, tpr / share, tpr - fpr, n, np.diff(found, prepend=0), upper]
        return np.column_stack(table)

    return points


def ks(rows: Rows) -> np.ndarray:
    threshold, fpr, tpr = roc(rows)[1:].T
    return np.column_stack([threshold, tpr, fpr, np.abs(tpr - fpr)])


def bins_of(bins: int, strategy: str) -> Points:
    return lambda rows: ref.calibration_curve(rows, bins, strategy)


def expected_observed(bins: int) -> Points:
    def points(rows: Rows) -> np.ndarray:
        number, predicted, share, n = ref.calibration_curve(rows, bins, "quantile").T
        low, high = proportion_confint(share * n, n, method="wilson")
        with np.errstate(divide="ignore", invalid="ignore"):
            limits = predicted / high, np.where(share > 0, predicted / low, NAN)
            ratio = np.where(share > 0, predicted / share, NAN)
        return np.column_stack([number, n, share * n, predicted * n, ratio, *limits])

    return points


def report(rows: Rows) -> np.ndarray:
    """Return scikit-learn's report as (class, precision, recall, f1, support, predictions)."""
    table = classification_report(
        rows.label, rows.prediction, sample_weight=rows.weight, output_dict=True, zero_division=NAN
    )
    return np.array(
        [
            [
                c,
                *(table[str(c)][name] for name in ("precision", "recall", "f1-score", "support")),
                rows.weight[rows.prediction == c].sum(),
            ]
            for c in np.union1d(rows.label, rows.prediction)
        ]
    )


@dataclass(frozen=True)
class Curve:
    """A requested curve, its columns, and the reference for its points."""

    text: str
    columns: tuple[str, ...]
    points: Points
    probabilities: bool = False
    exact: bool = True
    kind: Kind = "binary"

    @property
    def name(self) -> str:
        """The name of its file."""
        return self.text.partition("(")[0]

    def __str__(self) -> str:
        return self.text


ROC = ("threshold", "fpr", "tpr")
PR = ("threshold", "precision", "recall")
BINS = ("bin", "predicted", "observed", "n")
SPREAD = ("bin", "predicted", "mean", "q05", "q25", "median", "q75", "q95", "n")
GAINS = ("share", "threshold", "gain", "lift", "ks", "n", "n_positive", "upper")
CURVES = [
    Curve("roc_curve", ROC, roc),
    Curve("pr_curve(start='origin')", PR, pr_from_origin),
    Curve("pr_from_roc", PR, pr_from_roc),
    Curve("pr_from_roc(prior=0.2)", PR, pr_at_prior(0.2)),
    Curve("roc_from_pr", ROC, roc_from_pr),
    Curve("roc_hull", ROC, hull, exact=False),
    Curve("cost_lines", ("threshold", "fpr", "fnr"), lines),
    Curve("gain_curve", ("threshold", "share", "gain", "lift"), gain),
    Curve("gain_table(bins=7)", GAINS, gains(7)),
    *(
        Curve(
            f"threshold_curve{text}",
            ("threshold", "precision", "recall", "f1", "cost", "n_predicted"),
            thresholds(*costs),
        )
        for text, costs in (("", (1, 1)), ("(cost_fn=5, cost_fp=2)", (5, 2)))
    ),
    *(
        Curve(
            f"score_histogram{text}",
            ("bin", "lower", "upper", "n_negative", "n_positive"),
            score_histogram(bins),
        )
        for text, bins in (("", 20), ("(bins=1)", 1), ("(bins=7)", 7))
    ),
    Curve("ks_curve", ("threshold", "tpr", "fpr", "distance"), ks),
    *(
        Curve(f"calibration_curve(bins={bins}, strategy='{how}')", BINS, bins_of(bins, how), True)
        # scikit-learn rounds thirds of a rank, so that a row on a quantile may fall on either side.
        for bins, how in ((10, "uniform"), (4, "quantile"))
    ),
    Curve(
        "expected_observed(bins=4)",
        ("bin", "n", "observed", "expected", "ratio", "ratio_low", "ratio_high"),
        expected_observed(4),
        True,
    ),
    Curve(
        "classification_report",
        ("class", "precision", "recall", "f1", "support", "predictions"),
        report,
    ),
    *(
        Curve(text, columns, points, kind="regression")
        for text, columns, points in (
            (
                "predicted_vs_actual",
                ("bin", "predicted", "actual", "stderr", "n"),
                regression.by_bin(10, regression.actual),
            ),
            (
                "error_by_quantile(bins=4)",
                ("bin", "predicted", "mae", "rmse", "bias", "n"),
                regression.by_bin(4, regression.errors),
            ),
            ("residuals(bins=3)", SPREAD, regression.by_bin(3, regression.spread)),
            (
                "lorenz_curve(bins=1000)",
                ("prediction", "share", "label_share"),
                regression.lorenz(1000),
            ),
            ("lorenz_curve(bins=7)", ("prediction", "share", "label_share"), regression.lorenz(7)),
            ("rec_curve", ("error", "share"), regression.rec(100)),
            ("rec_curve(bins=5)", ("error", "share"), regression.rec(5)),
            (
                "residual_histogram(bins=9, reach=2.0)",
                ("bin", "lower", "upper", "n"),
                regression.histogram(9, 2.0),
            ),
        )
    ),
]
