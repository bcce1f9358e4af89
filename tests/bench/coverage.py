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
#: Sizes of samples of metrics that have one population.
FEW_SIZES = (20, 50, 200, 1000)
PREVALENCES = (0.5, 0.1, 0.01)
#: Scores of a class in the population, and how many of them: with the first number samples have
#: few ties, with the second many.
POINTS = {"continuous": 1000, "tied": 8}
#: The most rows that one statement reads.
MOST_ROWS = 2_000_000
BINARY = [
    "accuracy", "error_rate", "recall", "precision", "specificity", "false_positive_rate",
    "negative_predictive_value", "jaccard", "prevalence", "brier_uncertainty", "f1",
    "f_beta(beta=2)", "fowlkes_mallows", "precision_recall_mean", "youden_j", "balanced_accuracy",
    "matthews_corrcoef", "cohen_kappa", "cost_sensitive_accuracy(cost_fn=5)",
    "cost_sensitive_error_rate(cost_fn=5)", "cost_sensitive_precision(cost_fn=5)",
    "cost_sensitive_recall(cost_fn=5)", "expected_cost(cost_fn=5, prior=0.2)",
    "normalized_expected_cost(cost_fn=5)",
    "misclassification_cost(cost_matrix={0: {1: 1}, 1: {0: 5}})",
    "roc_auc", "gini", "rank_loss", "average_precision", "pr_auc_trapezoid", "pr_auc_interpolated",
    "brier_score", "log_loss", "normalized_entropy", "pcoc",
    "logistic_calibration_slope", "logistic_calibration_intercept",
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
#: Means over queries, and the numbers of queries of a sample.
RANKINGS = [
    "precision@5", "recall@5", "f1@5", "hit_rate@5", "map", "mrr", "r_precision", "rbp", "err",
    "bpref", "judged@5", "dcg", "ndcg", "ndcg(gain='exponential')@5", "grouped_auc",
]  # fmt: skip
QUERIES = (20, 50, 200)
#: Metrics of labels and predictions, and the shapes of their populations.
PREDICTED = [
    "r2", "adjusted_r2(features=3)", "explained_variance", "pearson", "concordance_correlation",
    "calibration_slope", "calibration_intercept", "normalized_rmse",
    "normalized_rmse(normalization='std')", "wape", "percent_bias", "rmsle",
    "d2_tweedie(power=1.0)", "d2_tweedie(power=2.0)", "d2_pinball", "d2_pinball(alpha=0.9)",
    "median_absolute_error", "absolute_error_quantile", "spearman", "kendall", "regression_gini",
    "mean_bias", "mape", "smape", "msle", "pinball_loss(alpha=0.1)", "huber", "log_cosh",
    "poisson_deviance", "gamma_deviance", "tweedie_deviance(power=1.5)",
]  # fmt: skip
SHAPES = ("normal", "heteroscedastic", "heavy tails")
#: Metrics of counts and amounts, for labels of a gamma distribution whose mean is predicted.
AMOUNTS = [
    "poisson_deviance", "gamma_deviance", "tweedie_deviance(power=1.5)", "d2_tweedie(power=1.0)",
    "d2_tweedie(power=2.0)", "msle", "rmsle",
]  # fmt: skip
CLASSES = [
    "accuracy", "error_rate", "balanced_accuracy", "matthews_corrcoef", "cohen_kappa",
    "cohen_kappa(weights='linear')", "cohen_kappa(weights='quadratic')",
    "misclassification_cost(cost_matrix={'a': {'b': 5, 'c': 2}, 'b': {'a': 1, 'c': 1}, "
    "'c': {'a': 1, 'b': 1}})",
]  # fmt: skip
SCORED_CLASSES = ["top_k_accuracy(k=1)", "top_k_accuracy(k=2)", "log_loss"]
#: Statistics of a column without a label.
VALUES = ["mean", "median", "quantile(q=0.9)"]
JUDGEMENTS = ["share"]
#: Means over rows of many labels.
MANY_LABELS = [
    "f1_samples", "precision_samples", "recall_samples", "jaccard_samples",
    "hamming_loss", "subset_accuracy", "label_ranking_average_precision", "coverage_error",
    "label_ranking_loss",
]  # fmt: skip


class Population(NamedTuple):
    """Rows with the share of each, and their roles."""

    rows: pl.DataFrame
    share: np.ndarray
    roles: dict[str, Any]
    metrics: list[str]
    has_classes: bool = True

    def truth(self) -> dict[str, float]:
        # As large as a population: adjusted R2 depends on the sum of weights.
        frame = self.rows.with_columns(share=1e9 * self.share)
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


def draw_class_scores(points: int) -> Population:
    """Return probabilities of four classes with ties; the label follows them."""
    rng = np.random.default_rng(3)
    scores = (rng.multinomial(10, [0.25] * 4, size=points) + 1) / 14
    label = [int(rng.choice(4, p=row)) for row in scores]
    columns = {f"p{i}": scores[:, i] for i in range(4)}
    rows = pl.DataFrame({"y": label, **columns})
    roles = {"label": "y", "score": {i: f"p{i}" for i in range(4)}, "task": "multiclass"}
    return Population(rows, np.full(points, 1 / points), roles, SCORED_CLASSES)


def draw_errors(points: int) -> Population:
    """Return normal errors of a regression, as quantiles."""
    error = norm.ppf((np.arange(points) + 0.5) / points)
    rows = pl.DataFrame({"y": np.zeros(points), "v": error})
    roles = {"label": "y", "prediction": "v"}
    return Population(rows, np.full(points, 1 / points), roles, REGRESSION, has_classes=False)


def draw_values(points: int) -> Population:
    """Return the quantiles of a lognormal column."""
    value = np.exp(norm.ppf((np.arange(points) + 0.5) / points))
    rows = pl.DataFrame({"v": value})
    share = np.full(points, 1 / points)
    return Population(rows, share, {"value": "v"}, VALUES, has_classes=False)


def draw_judgements() -> Population:
    """Return a column that is 1 in 30 % of the rows, and 0 in others."""
    rows = pl.DataFrame({"v": [0, 1]})
    share = np.array([0.7, 0.3])
    return Population(rows, share, {"value": "v"}, JUDGEMENTS, has_classes=False)


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


def draw_lists(lists: int = 2000, items: int = 20) -> pl.DataFrame:
    """Return ranked lists with ties, items that were not retrieved, and items not judged."""
    rng = np.random.default_rng(0)
    query = np.repeat(np.arange(lists), items)
    relevance = rng.integers(1, 4, len(query)) * (rng.random(len(query)) < 0.15)
    skill = rng.normal(1, 0.7, lists)[query]
    score = np.round(skill * relevance + rng.normal(0, 1.5, len(query)), 1)
    rows = pl.DataFrame({"q": query, "y": relevance, "p": score, "set": 0})
    lost, unknown = rng.random((2, len(query)))
    return rows.with_columns(
        p=pl.when(pl.Series(lost > 0.05)).then("p"), y=pl.when(pl.Series(unknown > 0.1)).then("y")
    )


def measure_rankings(n: int, sets: int, seed: int) -> dict[str, Cell]:
    """Return the coverage of means over samples of ``n`` lists, drawn from a state of all lists."""
    rng = np.random.default_rng(seed)
    lists = draw_lists()
    scan = sqleval.scan(lists, label="y", score="p", qid="q", by="set")
    truth = dict(scan.evaluate(RANKINGS).collect().select("metric", "value").iter_rows())
    state = scan.state(RANKINGS).collect()
    drawn = rng.integers(0, state.height, sets * n)
    sample = state[drawn].with_columns(
        set=pl.Series(np.repeat(np.arange(sets), n)), query=pl.Series(np.arange(sets * n))
    )
    found = sqleval.from_state(sample, by=["set"]).evaluate(RANKINGS, ci=0.95).collect()
    cells: dict[str, Cell] = {}
    for (name,), rows in found.group_by("metric", maintain_order=True):
        known = rows.filter(pl.col("low").is_not_null())
        target = truth[str(name)]
        inside = (known["low"] <= target + 1e-12) & (known["high"] >= target - 1e-12)
        missing = rows["low"].null_count() / rows.height
        cells[str(name)] = Cell(100 * inside.sum() / max(known.height, 1), missing, 0)
    return cells


def draw_predicted(shape: str, points: int = 4000) -> Population:
    """Return labels above 0 and their predictions, a finite population of drawn rows."""
    rng = np.random.default_rng(3)
    if shape == "normal":
        label = np.abs(rng.normal(20, 4, points))
        given = 2 + 0.8 * label + rng.normal(0, 2, points)
    elif shape == "heteroscedastic":
        label = rng.gamma(4, 5, points)
        given = label * rng.normal(1.05, 0.25, points)
    else:
        label = rng.lognormal(3, 0.5, points)
        given = label + 3 * rng.standard_t(5, points)
    rows = pl.DataFrame({"y": label, "v": np.maximum(given, 0.1)})
    roles = {"label": "y", "prediction": "v"}
    return Population(rows, np.full(points, 1 / points), roles, PREDICTED, has_classes=False)


def draw_amounts(points: int = 4000) -> Population:
    """Return labels of a gamma distribution around lognormal predictions."""
    rng = np.random.default_rng(3)
    given = rng.lognormal(3, 0.6, points)
    rows = pl.DataFrame({"y": rng.gamma(2, given / 2), "v": given})
    roles = {"label": "y", "prediction": "v"}
    return Population(rows, np.full(points, 1 / points), roles, AMOUNTS, has_classes=False)


def draw_labels(n: int, rng: np.random.Generator) -> pl.DataFrame:
    """Return rows of four labels that depend on each other, and their scores."""
    latent = rng.normal(0, 0.6, (n, 1)) + rng.normal(0, 0.8, (n, 4))
    labels = latent + rng.normal(0, 1, (n, 4)) > [0.3, 0.9, 1.3, 0.6]
    scores = 1 / (1 + np.exp(0.6 - latent))
    columns = {f"y{i}": labels[:, i].astype(int) for i in range(4)}
    return pl.DataFrame(columns | {f"p{i}": scores[:, i] for i in range(4)})


def measure_many_labels(n: int, sets: int, seed: int) -> dict[str, Cell]:
    """Return the coverage of means over samples of ``n`` rows of many labels."""
    rng = np.random.default_rng(seed)
    roles: dict[str, Any] = {"label": {i: f"y{i}" for i in range(4)}}
    roles |= {"score": {i: f"p{i}" for i in range(4)}}
    truth = sqleval.scan(draw_labels(1_000_000, rng), **roles).evaluate(MANY_LABELS).collect()
    target = dict(truth.select("metric", "value").iter_rows())
    sample = draw_labels(sets * n, rng).with_columns(set=pl.Series(np.repeat(np.arange(sets), n)))
    found = sqleval.scan(sample, **roles, by="set").evaluate(MANY_LABELS, ci=0.95).collect()
    cells: dict[str, Cell] = {}
    for (name,), rows in found.group_by("metric", maintain_order=True):
        known, value = rows.filter(pl.col("low").is_not_null()), target[str(name)]
        inside = (known["low"] <= value) & (known["high"] >= value)
        missing = rows["low"].null_count() / rows.height
        cells[str(name)] = Cell(100 * inside.sum() / max(known.height, 1), missing, 0)
    return cells


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
    columns = [measure(draw_class_scores(POINTS["continuous"]), n, sets, seed) for n in SIZES]
    yield "scores of four classes", [f"{n:,}" for n in SIZES], _turn(columns)
    columns = [measure(draw_errors(POINTS["continuous"]), n, sets, seed) for n in SIZES]
    yield "regression", [f"{n:,}" for n in SIZES], _turn(columns)
    columns = [measure_rankings(n, sets, seed) for n in QUERIES]
    yield "ranking, queries", [f"{n:,}" for n in QUERIES], _turn(columns)
    for shape in SHAPES:
        columns = [measure(draw_predicted(shape), n, sets, seed) for n in FEW_SIZES]
        yield f"regression, {shape}", [f"{n:,}" for n in FEW_SIZES], _turn(columns)
    columns = [measure(draw_amounts(), n, sets, seed) for n in FEW_SIZES]
    yield "regression, gamma distribution", [f"{n:,}" for n in FEW_SIZES], _turn(columns)
    populations = (draw_values(POINTS["continuous"]), draw_judgements())
    columns = [
        {name: cell for each in populations for name, cell in measure(each, n, sets, seed).items()}
        for n in FEW_SIZES
    ]
    yield "a column", [f"{n:,}" for n in FEW_SIZES], _turn(columns)
    columns = [measure_many_labels(n, sets, seed) for n in QUERIES]
    yield "many labels, rows", [f"{n:,}" for n in QUERIES], _turn(columns)


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
            print(f"| `{name}` | {' | '.join(map(str, cells))} |")


if __name__ == "__main__":
    main()
