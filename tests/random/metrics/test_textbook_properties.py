"""Properties stated in textbooks hold on random rows."""

import math
from collections.abc import Iterator
from functools import cache
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

import sqleval
from tests.support.comparison import assert_frame_equal

few = settings(
    max_examples=12,
    deadline=None,
    derandomize=True,
    # Without shrinking: drawn frames are small, and shrinking a failing one takes minutes.
    phases=[Phase.explicit, Phase.generate],
    database=None,
    suppress_health_check=list(HealthCheck),
)
SCORES = st.sampled_from([0.0, 0.125, 0.25, 0.5, 0.75, 1.0]) | st.floats(0, 1, width=16)
ROWS = st.fixed_dictionaries(
    {"y": st.integers(0, 1), "p": SCORES, "q": SCORES, "w": st.sampled_from([0.5, 1.0, 2.0])}
)
SCHEMA = {"y": pl.Int64, "p": pl.Float64, "q": pl.Float64, "w": pl.Float64}
ENDS = [{"y": 0, "p": 0.5, "q": 0.5, "w": 1.0}, {"y": 1, "p": 0.25, "q": 0.75, "w": 1.0}]


def frames(least: int = 1) -> st.SearchStrategy[pl.DataFrame]:
    """Return rows of two classes, both of which occur, with many ties."""
    return st.lists(ROWS, min_size=least, max_size=25).map(
        lambda rows: pl.DataFrame([*rows, *ENDS], schema=SCHEMA)
    )


def gather(strategy: st.SearchStrategy[pl.DataFrame], how_many: int = 12) -> pl.DataFrame:
    """Return random frames as slices of one, with the column ``example`` as their number.

    A statement takes longer to plan than to run, so one statement evaluates all frames.
    """
    found: list[pl.DataFrame] = []

    @settings(few, max_examples=how_many)
    @given(strategy)
    def keep(frame: pl.DataFrame) -> None:
        found.append(frame.with_columns(example=len(found)))

    keep()
    assert len(found) >= how_many
    return pl.concat(found)


@cache
def examples() -> pl.DataFrame:
    return gather(frames())


@cache
def examples_with_true_positives() -> pl.DataFrame:
    return gather(frames().filter(lambda frame: four(frame)[0] > 0))


def split(frame: pl.DataFrame) -> dict[int, pl.DataFrame]:
    """Return the rows or results of each example."""
    parts = frame.partition_by("example", as_dict=True, include_key=False)
    return {key: part for (key,), part in parts.items()}


def values_of_each(frame: pl.DataFrame, *metrics: str, **options: Any) -> pl.DataFrame:
    """Return the values of metrics of each example."""
    result = bind(frame, by="example", **options).evaluate(list(metrics)).collect()
    assert result.height == len(metrics) * frame["example"].n_unique()
    return result.select("example", "metric", "value")


def rows_and_values(
    frame: pl.DataFrame, *metrics: str, **options: Any
) -> Iterator[tuple[pl.DataFrame, list[float]]]:
    """Return the rows and the values of metrics of each example; undefined values are NaN."""
    found = split(values_of_each(frame, *metrics, **options))
    for example, rows in split(frame).items():
        assert found[example]["metric"].to_list() == list(metrics)
        yield rows, found[example]["value"].fill_null(math.nan).to_list()


def points_of_each(frame: pl.DataFrame, curve: str, *columns: str, **options: Any) -> pl.DataFrame:
    return bind(frame, by="example", **options).curve(curve).collect().select("example", *columns)


def close(value: float) -> Any:
    return pytest.approx(value, rel=1e-12, abs=1e-12)


def bind(frame: pl.DataFrame, **options: Any) -> sqleval.Predictions:
    return sqleval.scan(frame, **{"label": "y", "score": "p", "threshold": 0.5, **options})


def values(frame: pl.DataFrame, *metrics: str, **options: Any) -> list[float]:
    """Return the values of metrics; undefined values are NaN."""
    result = bind(frame, **options).evaluate(list(metrics)).collect()
    assert result.height == len(metrics)
    return [math.nan if value is None else value for value in result["value"]]


def points(frame: pl.DataFrame, curve: str, *columns: str, **options: Any) -> np.ndarray:
    return bind(frame, **options).curve(curve).collect().select(columns).to_numpy()


def four(frame: pl.DataFrame, threshold: float = 0.5) -> list[int]:
    """Return true and false positives, false and true negatives."""
    y, c = frame["y"].to_numpy() == 1, frame["p"].to_numpy() >= threshold
    return [int(n.sum()) for n in (y & c, ~y & c, y & ~c, ~y & ~c)]


# -- order of the scores -----------------------------------------------------------------------


def test_an_increasing_change_of_scores_keeps_the_order() -> None:
    metrics = ["roc_auc", "gini", "rank_loss", "average_precision", "ks", "best_accuracy"]
    metrics += ["pr_auc_interpolated", "cost_curve_area", "break_even_point", "best_youden_j"]
    p, frame = pl.col("p"), examples()
    before = values_of_each(frame, *metrics)
    curve = points_of_each(frame, "roc", "fpr", "tpr")
    for change in ((p * 5).exp() - 40, p.rank("dense").cast(pl.Int64)):
        changed = frame.with_columns(p=change)
        assert_frame_equal(values_of_each(changed, *metrics), before)
        assert points_of_each(changed, "roc", "fpr", "tpr").equals(curve)


def test_turning_the_scores_round_turns_the_area() -> None:
    metrics = ("roc_auc", "rank_loss", "gini")
    turned = rows_and_values(examples().with_columns(p=-pl.col("p")), *metrics)
    for (_, (area, loss, gini)), (_, found) in zip(
        rows_and_values(examples(), *metrics), turned, strict=True
    ):
        assert found == close([1 - area, 1 - loss, -gini])


def test_areas_follow_from_pairs() -> None:
    for rows, found in rows_and_values(examples(), "roc_auc", "rank_loss", "gini"):
        one, other = (rows.filter(y=y)["p"].to_numpy() for y in (1, 0))
        lost = (one[:, None] < other).mean() + (one[:, None] == other).mean() / 2
        assert found == close([1 - lost, lost, 1 - 2 * lost])


def test_more_negatives_change_precision_and_not_roc() -> None:
    metrics = ["roc_auc", "recall", "false_positive_rate", "best_youden_j", "cost_curve_area"]
    columns = ("threshold", "fpr", "tpr")
    frame = examples()
    unchanged, curve = values_of_each(frame, *metrics), points_of_each(frame, "roc", *columns)
    before = points_of_each(frame, "pr", "precision")
    k = 10
    more = pl.concat([frame, *[frame.filter(y=0)] * (k - 1)])
    assert_frame_equal(values_of_each(more, *metrics), unchanged)
    assert_frame_equal(points_of_each(more, "roc", *columns), curve)
    after = points_of_each(more, "pr", "precision")
    assert after["example"].equals(before["example"])
    assert (after["precision"] <= before["precision"] + 1e-15).all()
    # It falls wherever there are false positives beside true ones.
    precisions = split(values_of_each(more, "precision"))
    for example, rows in split(frame).items():
        tp, fp, _, _ = four(rows)
        precision = precisions[example]["value"].item()
        assert precision is None if tp + fp == 0 else precision == close(tp / (tp + k * fp))


def test_recall_only_rises_as_the_threshold_falls() -> None:
    pr = split(points_of_each(examples(), "pr", "threshold", "recall"))
    roc = split(points_of_each(examples(), "roc", "fpr", "tpr"))
    assert pr.keys() == roc.keys() == split(examples()).keys()
    for example, curve in pr.items():
        threshold, recall = curve.to_numpy().T
        assert (np.diff(threshold) < 0).all()
        assert (np.diff(recall) >= 0).all()
        assert (recall[0], recall[-1]) == (0, 1)
        fpr, tpr = roc[example].to_numpy().T
        assert (np.diff(fpr) >= 0).all()
        assert (np.diff(tpr) >= 0).all()


def test_precision_rises_and_falls() -> None:
    frame = pl.DataFrame({"y": [1, 0, 1, 0], "p": [0.9, 0.8, 0.7, 0.6]})
    assert points(frame, "pr", "precision")[1:, 0].tolist() == close([1, 1 / 2, 2 / 3, 1 / 2])


def test_the_area_is_1_exactly_where_a_threshold_is_perfect() -> None:
    # Drawn rows are hardly ever separable, so their label shifts the scores.
    apart = examples().with_columns(p=pl.col("p") + 1.25 * pl.col("y"))
    for frame in (examples(), apart):
        found = split(values_of_each(frame, "roc_auc", "best_accuracy", "best_youden_j"))
        for example, rows in split(frame).items():
            perfect = rows.filter(y=1)["p"].min() > rows.filter(y=0)["p"].max()
            area, best, youden = found[example]["value"]
            assert (area == 1) == (best == 1) == (youden == 1) == perfect
    for found in split(
        values_of_each(apart, "roc_auc", "ks", "rank_loss", "cost_curve_area")
    ).values():
        assert found["value"].to_list() == [1, 1, 0, 0]


def test_best_youden_is_at_most_ks() -> None:
    curves = split(points_of_each(examples(), "roc", "fpr", "tpr")).values()
    found = rows_and_values(examples(), "best_youden_j", "ks")
    for curve, (_, (best, distance)) in zip(curves, found, strict=True):
        fpr, tpr = curve.to_numpy().T
        assert best == close((tpr - fpr).max())
        assert distance == close(np.abs(tpr - fpr).max())
        assert best <= distance


AREAS = ("average_precision", "pr_auc_interpolated", "pr_auc_trapezoid")


def test_straight_lines_flatter_pr_where_precision_falls() -> None:
    # With calibrated scores the ROC curve is concave, so precision falls from unit to unit. Between
    # two points precision is convex: above the lower end, and below the line.
    calibrated = examples().with_columns(p=pl.col("y").mean().over("example", "p"))
    curves = split(points_of_each(calibrated, "pr", "precision", "recall")).values()
    found = rows_and_values(calibrated, *AREAS)
    for curve, (_, (steps, curved, straight)) in zip(curves, found, strict=True):
        precision, recall = curve.to_numpy().T
        assert straight == close(np.trapezoid(precision, recall))
        assert steps == close((np.diff(recall) * precision[1:]).sum())
        assert steps - 1e-12 <= curved <= straight + 1e-12


def test_straight_lines_belittle_pr_where_precision_rises() -> None:
    # After one false positive, precision is t / (t + 1) on the way to the only positive.
    frame = pl.DataFrame({"y": [0, 1, 0], "p": [0.5, 0.25, 0.0]})
    assert values(frame, *AREAS) == close([1 / 2, 1 - math.log(2), 1 / 4])


# -- costs -------------------------------------------------------------------------------------


@pytest.mark.parametrize("also", ["", ", prior=0.05", ", prior=0.5", ", prior=0.9"])
def test_only_the_ratio_of_costs_decides(also: str) -> None:
    metrics = ["expected_cost", "best_expected_cost", "best_expected_cost_threshold"]
    metrics += ["normalized_expected_cost"]
    asked = [
        f"{metric}(cost_fn={cost_fn}, cost_fp={cost_fp}{also})"
        for cost_fn, cost_fp in ((5, 1), (50, 10))
        for metric in metrics
    ]
    for found in split(values_of_each(examples(), *asked)).values():
        got = found["value"].to_list()
        assert got[4:] == close([10 * got[0], 10 * got[1], got[2], got[3]])


def test_only_the_ratio_of_costs_shapes_the_cost_curve() -> None:
    columns = ("probability_cost", "normalized_cost", "prior", "threshold")
    one, other = (
        points_of_each(examples(), f"cost(cost_fn={a}, cost_fp={b})", *columns)
        for a, b in ((5, 1), (50, 10))
    )
    assert_frame_equal(one, other)


@pytest.mark.parametrize("options", [{}, {"weight": "w"}], ids=str)
def test_the_area_of_the_cost_curve_is_that_of_its_corners(options: dict[str, str]) -> None:
    columns = ("probability_cost", "normalized_cost")
    curves = split(points_of_each(examples(), "cost", *columns, **options))
    areas = split(values_of_each(examples(), "cost_curve_area", **options))
    assert curves.keys() == areas.keys()
    for example, curve in curves.items():
        x, y = curve.to_numpy().T
        assert areas[example]["value"].item() == close(np.trapezoid(y, x))


def test_the_cost_curve_holds_the_best_expected_cost() -> None:
    prior, cost_fn, cost_fp = 0.25, 3.0, 2.0
    worst = prior * cost_fn + (1 - prior) * cost_fp
    asked = f"best_expected_cost(cost_fn={cost_fn}, cost_fp={cost_fp}, prior={prior})"
    bests = split(values_of_each(examples(), asked))
    curves = split(points_of_each(examples(), "cost", "probability_cost", "normalized_cost"))
    assert curves.keys() == bests.keys()
    for example, curve in curves.items():
        x, y = curve.to_numpy().T
        best = bests[example]["value"].item()
        assert best / worst == close(np.interp(prior * cost_fn / worst, x, y))


def test_equal_costs_make_error_the_cost() -> None:
    names = ("error_rate", "expected_cost", "cost_sensitive_error_rate", "normalized_expected_cost")
    for rows, found in rows_and_values(examples(), *names):
        _, fp, fn, _ = four(rows)
        assert found == close([(fp + fn) / rows.height] * 4)


# -- decisions ---------------------------------------------------------------------------------


def test_f1_from_the_four_counts() -> None:
    for rows, found in rows_and_values(examples(), "f1"):
        tp, fp, fn, tn = four(rows)
        assert rows.height == tp + fp + fn + tn
        assert found == close([2 * tp / (rows.height + tp - tn)])


def test_f_beta_runs_from_precision_to_recall() -> None:
    asked = [f"f_beta(beta={beta})" for beta in ("1e-7", 0.25, 0.5, 1, 2, 4, "10000000.0")]
    found = split(values_of_each(examples_with_true_positives(), *asked))
    for example, rows in split(examples_with_true_positives()).items():
        tp, fp, fn, _ = four(rows)
        precision, recall = tp / (tp + fp), tp / (tp + fn)
        rising = found[example]["value"].to_list()
        assert rising[0] == close(precision)
        assert rising[3] == close(2 * precision * recall / (precision + recall))
        assert rising[-1] == close(recall)
        sign = 1 if recall >= precision else -1
        assert (sign * np.diff(rising) >= -1e-12).all()


def test_means_of_precision_and_recall_are_in_order() -> None:
    names = ("f1", "fowlkes_mallows", "precision_recall_mean")
    for rows, found in rows_and_values(examples_with_true_positives(), *names):
        tp, fp, fn, _ = four(rows)
        precision, recall = tp / (tp + fp), tp / (tp + fn)
        harmonic, geometric, arithmetic = found
        assert geometric == close(math.sqrt(precision * recall))
        assert arithmetic == close((precision + recall) / 2)
        assert harmonic <= geometric + 1e-15 <= arithmetic + 2e-15


@pytest.mark.parametrize("options", [{}, {"weight": "w"}], ids=str)
def test_what_is_not_right_is_wrong(options: dict[str, str]) -> None:
    for rows, (right, wrong) in rows_and_values(examples(), "accuracy", "error_rate", **options):
        weight = rows["w"] if options else pl.Series([1.0] * rows.height)
        hit = (rows["p"] >= 0.5) == (rows["y"] == 1)
        assert right == close(np.average(hit, weights=weight))
        assert right + wrong == close(1)


def test_no_threshold_is_more_accurate_than_the_best() -> None:
    names = ("best_accuracy", "best_accuracy_threshold")
    for rows, (best, at) in rows_and_values(examples(), *names):
        tp, _, _, tn = four(rows, at)
        assert best == close((tp + tn) / rows.height)
        for threshold in [*rows["p"].unique(), math.inf]:
            tp, _, _, tn = four(rows, threshold)
            assert (tp + tn) / rows.height <= best + 1e-12


# -- probabilities -----------------------------------------------------------------------------


@pytest.mark.parametrize("options", [{}, {"weight": "w"}], ids=str)
def test_brier_score_in_three_parts(options: dict[str, str]) -> None:
    names = ("brier_score", "brier_reliability", "brier_resolution", "brier_uncertainty")
    for rows, found in rows_and_values(examples(), *names, **options):
        brier, reliability, resolution, uncertainty = found
        weight = rows["w"] if options else pl.Series([1.0] * rows.height)
        assert brier == close(np.average((rows["p"] - rows["y"]) ** 2, weights=weight))
        assert brier == close(reliability - resolution + uncertainty)
        assert reliability >= 0
        assert -1e-15 <= resolution <= uncertainty + 1e-12


def test_a_calibrated_score_has_no_reliability_to_gain() -> None:
    calibrated = examples().with_columns(p=pl.col("y").mean().over("example", "p"))
    for _, found in rows_and_values(calibrated, "brier_reliability", "pcoc"):
        assert found == close([0, 1])


# -- two models --------------------------------------------------------------------------------


def at_recall(frame: pl.DataFrame, score: str, recall: np.ndarray) -> np.ndarray:
    """Return the precision at each recall, false positives being linear between points."""
    y, p = frame["y"].to_numpy() == 1, frame[score].to_numpy()
    at = np.append(np.inf, np.unique(p)[::-1])
    tp, fp = (np.array([(side & (p >= t)).sum() for t in at]) for side in (y, ~y))
    mistaken = np.interp(recall * tp[-1], tp, fp)
    return recall * tp[-1] / (recall * tp[-1] + mistaken)


def test_dominance_in_roc_is_dominance_in_pr() -> None:
    # Davis and Goadrich (2006), theorem 3.2; sqleval decides on ROC, this test computes PR.
    seen: set[str | None] = set()
    # Random recalls avoid the curves' points, where false positives may have several values.
    recall = np.random.default_rng(0).random(200)
    # A model whose scores know more of the label often lies above everywhere.
    better = pl.col("p") + pl.col("y") / 4
    drawn = st.tuples(frames(), st.booleans()).map(
        lambda pair: pair[0].with_columns(q=better) if pair[1] else pair[0]
    )
    every = gather(drawn, 40)
    curves = bind(every, score={"p": "p", "q": "q"}, by="example").curve("roc_dominance").collect()
    found = split(curves)
    for example, frame in split(every).items():
        above = set(found[example]["above"].drop_nulls())
        one, other = (at_recall(frame, name, recall) for name in ("p", "q"))
        if above == {"p"}:
            assert (one >= other - 1e-9).all()
        if above == {"q"}:
            assert (other >= one - 1e-9).all()
        if not above:
            np.testing.assert_allclose(one, other, atol=1e-9)
        seen.update(above if len(above) == 1 else {"both"} if above else {None})
    # The random frames must contain cases of dominance and others.
    assert "q" in seen
    assert len(seen) > 1


def test_pr_points_of_the_dominant_model_are_not_below() -> None:
    frame = examples().with_columns(q=pl.col("p") + pl.col("y"))
    bound = bind(frame, score={"p": "p", "q": "q"}, by="example")
    assert set(bound.curve("roc_dominance").collect()["above"].drop_nulls()) <= {"q"}
    curve = bound.curve("pr").collect()
    weak, strong = (
        curve.filter(model=name).group_by("example", "recall").agg(pl.col("precision").max())
        for name in ("p", "q")
    )
    both = weak.join(strong, on=["example", "recall"])
    assert (both.group_by("example").len()["len"] >= 2).all()
    assert both["example"].n_unique() == frame["example"].n_unique()
    assert (both["precision_right"] >= both["precision"] - 1e-12).all()


# -- several matrices --------------------------------------------------------------------------

CELLS = ("tp", "fp", "fn", "tn")
COUNTS = st.lists(
    st.fixed_dictionaries({cell: st.integers(0, 9) for cell in CELLS}),
    min_size=1,
    max_size=5,
)


def test_micro_from_mean_counts_is_micro_from_summed_counts() -> None:
    tables = gather(COUNTS.map(lambda rows: pl.DataFrame(rows, CELLS).with_row_index("run")))
    bound = sqleval.scan(tables, over="run", by="example")
    names = ("precision", "recall", "f1")
    micro = split(bound.evaluate([f"{name}(average='micro')" for name in names]).collect())
    pooled = split(bound.evaluate(list(names)).collect())
    for example, table in split(tables).items():
        tp, fp, fn, _ = table.select("tp", "fp", "fn", "tn").mean().row(0)
        expected = [
            part / whole if whole else None
            for part, whole in ((tp, tp + fp), (tp, tp + fn), (2 * tp, 2 * tp + fp + fn))
        ]
        found = micro[example]["value"].to_list()
        assert found == [None if each is None else close(each) for each in expected]
        assert pooled[example]["value"].to_list() == found
