"""Coverage of intervals: how often they contain the true value.

``python -m tests.bench.coverage`` draws samples from populations whose metrics are known, and
prints a table in Markdown, of the intervals in closed form. The number of the sample is a slice
key, so that one statement evaluates thousands of samples. ``--bootstrap METHOD`` measures metrics
without a closed form instead, 50 samples at a time: their coverage, and the mean width of the
intervals as a multiple of the true one, 2 x 1.96 standard deviations of the values.
"""

import argparse
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
import polars as pl
from scipy.stats import norm

import sqleval

SIZES = (50, 200, 1000, 10_000)
PREVALENCES = (0.5, 0.1, 0.01)
#: Scores of a class in the population, and how many of them: with the first number samples have
#: few ties, with the second many.
POINTS = {"continuous": 1000, "tied": 8}
#: The most rows that one statement reads.
MOST_ROWS = 2_000_000
BINARY = [
    "accuracy", "recall", "precision", "specificity", "negative_predictive_value", "jaccard",
    "prevalence", "brier_uncertainty", "f1", "f_beta(beta=2)", "fowlkes_mallows",
    "precision_recall_mean", "youden_j", "balanced_accuracy", "matthews_corrcoef", "cohen_kappa",
    "cost_sensitive_accuracy(cost_fn=5)", "cost_sensitive_error_rate(cost_fn=5)",
    "cost_sensitive_precision(cost_fn=5)", "expected_cost(cost_fn=5, prior=0.2)",
    "normalized_expected_cost(cost_fn=5)",
    "misclassification_cost(cost_matrix={0: {1: 1}, 1: {0: 5}})",
    "roc_auc", "gini", "average_precision", "pr_auc_trapezoid", "pr_auc_interpolated",
    "brier_score", "log_loss", "normalized_entropy", "pcoc",
]  # fmt: skip
#: Metrics whose interval comes from the bootstrap, and the rows and prevalence of their samples.
#: Nearly all samples have 20 positives.
RESAMPLED = [
    "ks", "cost_curve_area", "partial_roc_auc(max_fpr=0.2)",
    "expected_calibration_error",
]  # fmt: skip
SAMPLES = (
    (50, 0.5), (200, 0.5), (300, 0.1), (1000, 0.5), (1000, 0.1), (3000, 0.01), (10_000, 0.1),
)  # fmt: skip
#: From so many rows on, half as many samples are drawn.
LARGE = 1_000
REGRESSION = ["mae", "mse", "rmse"]
CLASSES = ["accuracy", "balanced_accuracy", "matthews_corrcoef", "cohen_kappa"]


class Population(NamedTuple):
    """Rows with the share of each, and their roles."""

    rows: pl.DataFrame
    share: np.ndarray
    roles: dict[str, Any]
    metrics: list[str]
    has_classes: bool = True

    def truth(self) -> dict[str, float]:
        frame = self.rows.with_columns(share=self.share)
        result = sqleval.scan(frame, **self.roles, weight="share").evaluate(self.metrics).collect()
        return dict(result.select("metric", "value").iter_rows())


def draw_binary(points: int, prevalence: float) -> Population:
    """Return two classes with normal scores, as far apart as an AUC of 0.85, as probabilities."""
    distance = norm.ppf(0.85) * np.sqrt(2)
    middle = (np.arange(points) + 0.5) / points
    drawn = np.concatenate([norm.ppf(middle), norm.ppf(middle) + distance])
    if points < 100:
        drawn = np.round(drawn * 1.5) / 1.5
    label = np.repeat([0, 1], points)
    share = np.repeat([1 - prevalence, prevalence], points) / points
    # The log odds that fit the two classes, somewhat overconfident; half of the positives of a
    # rare class are above the threshold.
    odds = distance * (drawn - distance / 2) + np.log(prevalence / (1 - prevalence))
    score = 1 / (1 + np.exp(-1.2 * odds))
    threshold = float(np.quantile(score[points:], 0.4))
    rows = pl.DataFrame({"y": label, "p": score})
    return Population(rows, share, {"label": "y", "score": "p", "threshold": threshold}, BINARY)


def draw_classes(prevalence: float) -> Population:
    """Return three classes, of which 70 % are predicted right."""
    actual = np.array([prevalence, (1 - prevalence) * 0.4, (1 - prevalence) * 0.6])
    given = np.array([[0.7, 0.2, 0.1], [0.1, 0.7, 0.2], [0.1, 0.2, 0.7]])
    names = np.array(["a", "b", "c"])
    rows = pl.DataFrame({"y": np.repeat(names, 3), "c": np.tile(names, 3)})
    share = (actual[:, None] * given).ravel()
    return Population(rows, share, {"label": "y", "prediction": "c"}, CLASSES)


def draw_errors(points: int) -> Population:
    """Return normal errors of a regression, as quantiles."""
    error = norm.ppf((np.arange(points) + 0.5) / points)
    rows = pl.DataFrame({"y": np.zeros(points), "v": error})
    roles = {"label": "y", "prediction": "v"}
    return Population(rows, np.full(points, 1 / points), roles, REGRESSION, has_classes=False)


def count_smallest_class(population: Population, frame: pl.DataFrame) -> pl.DataFrame:
    """Return the rows of the smallest class in each sample; all rows if there are no classes."""
    if not population.has_classes:
        return frame.group_by("set").agg(smallest=pl.col("n_rows").sum())
    classes = population.rows["y"].n_unique()
    counts = frame.group_by("set", "y").agg(pl.col("n_rows").sum())
    least = pl.when(pl.len() == classes).then(pl.col("n_rows").min()).otherwise(0)
    return counts.group_by("set").agg(smallest=least)


def evaluate_samples(
    population: Population, n: int, sets: int, seed: int, each: int = 0, **options: Any
) -> pl.DataFrame:
    """Return the intervals of many samples of ``n`` rows, of ``each`` samples at once."""
    rng = np.random.default_rng(seed)
    share = population.share / population.share.sum()
    each = each or max(1, MOST_ROWS // min(n, len(share)))
    parts: list[pl.DataFrame] = []
    for first in range(0, sets, each):
        count = min(each, sets - first)
        drawn = rng.multinomial(n, share, size=count)
        place, row = np.nonzero(drawn)
        frame = population.rows[row].with_columns(set=place, n_rows=drawn[place, row])
        scan = sqleval.scan(frame, **population.roles, counts="n_rows", by="set")
        # Equal draws in all samples would make their errors alike.
        result = scan.evaluate(population.metrics, ci=0.95, seed=first, **options).collect()
        parts.append(result.join(count_smallest_class(population, frame), on="set"))
    return pl.concat(parts)


class Cell(NamedTuple):
    """Coverage in percent, the share of samples without an interval, and with a warning."""

    covered: float
    missing: float
    warned: float

    def __str__(self) -> str:
        if self.missing > 0.5:
            return "-"
        text = f"{self.covered:.1f}"
        return f"({text})" if self.warned > 0.5 else text


def measure(population: Population, n: int, sets: int, seed: int) -> dict[str, Cell]:
    """Return the coverage of each metric over samples of ``n`` rows."""
    truth = population.truth()
    cells: dict[str, Cell] = {}
    intervals = evaluate_samples(population, n, sets, seed)
    for (name,), rows in intervals.group_by("metric", maintain_order=True):
        known = rows.filter(pl.col("low").is_not_null())
        large = known.filter(pl.col("smallest") >= 20)
        # Rates do not need 20 rows of each class. Means of losses grow with the positives, so
        # keeping only samples with many positives would bias them.
        depends = not known["method"].str.contains("wilson|normal").any()
        if depends and large.height * 2 >= rows.height:
            known = large
        target = truth[str(name)]
        inside = (known["low"] <= target + 1e-12) & (known["high"] >= target - 1e-12)
        warned = known["note"].is_not_null().sum() / max(known.height, 1)
        missing = rows["low"].null_count() / rows.height
        cells[str(name)] = Cell(100 * inside.sum() / max(known.height, 1), missing, warned)
    return cells


def list_tables(sets: int, seed: int) -> Iterator[tuple[str, list[str], dict[str, list[Cell]]]]:
    """Yield a title, the heads of the columns, and the cells of each metric."""
    heads = [f"{n:,}, {prevalence:g}" for n in SIZES for prevalence in PREVALENCES]
    for kind, points in POINTS.items():
        columns = [
            measure(draw_binary(points, prevalence), n, sets, seed)
            for n in SIZES
            for prevalence in PREVALENCES
        ]
        yield f"two classes, {kind} scores", heads, _turn(columns)
    columns = [measure(draw_classes(p), n, sets, seed) for n in SIZES for p in PREVALENCES]
    yield "three classes", heads, _turn(columns)
    columns = [measure(draw_errors(POINTS["continuous"]), n, sets, seed) for n in SIZES]
    yield "regression", [f"{n:,}" for n in SIZES], _turn(columns)


def _turn(columns: list[dict[str, Cell]]) -> dict[str, list[Cell]]:
    return {name: [column[name] for column in columns] for name in columns[0]}


def measure_resampled(
    population: Population, n: int, sets: int, seed: int, method: str
) -> Iterator[str]:
    """Yield the coverage of each metric and the relative width, in brackets if most have a note."""
    truth = population.truth()
    found = evaluate_samples(
        population, n, sets, seed, each=50, ci_method=method, replicates=200
    ).filter(pl.col("low").is_not_null() & (pl.col("smallest") >= 20))
    for name in RESAMPLED:
        rows = found.filter(metric=name)
        inside = (rows["low"] <= truth[name]) & (rows["high"] >= truth[name])
        width = (rows["high"] - rows["low"]).mean()
        exact = 2 * norm.ppf(0.975) * rows["value"].std()
        cell = Cell(100 * inside.sum() / rows.height, 0, rows["note"].is_not_null().mean())
        yield f"{cell}, {width / exact:.2f}"


def print_resampled(method: str, sets: int, seed: int) -> None:
    """Print the coverage of metrics without a closed form."""
    names = [name.partition("(")[0] for name in RESAMPLED]
    print(f"| scores, rows, share | {' | '.join(names)} |\n| --- |{' ---: |' * len(names)}")
    for kind, points in POINTS.items():
        for n, prevalence in SAMPLES:
            drawn = draw_binary(points, prevalence)
            roles = {name: drawn.roles[name] for name in ("label", "score")}
            population = drawn._replace(metrics=RESAMPLED, roles=roles)
            number = sets if n < LARGE else sets // 2
            cells = measure_resampled(population, n, number, seed, method)
            print(f"| {kind}, {n:,}, {prevalence} | {' | '.join(cells)} |", flush=True)


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sets", type=int, default=2000, help="samples of each kind")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--bootstrap", choices=("bootstrap", "percentile", "bca"))
    options = parser.parse_args()
    if options.bootstrap:
        print_resampled(options.bootstrap, options.sets, options.seed)
        return
    for title, heads, table in list_tables(options.sets, options.seed):
        print(f"\n| {title} | {' | '.join(heads)} |\n| --- |{' ---: |' * len(heads)}")
        for name, cells in table.items():
            print(f"| `{name.partition('(')[0]}` | {' | '.join(map(str, cells))} |")


if __name__ == "__main__":
    main()
