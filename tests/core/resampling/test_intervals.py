"""Intervals from replicates do not depend on row order, and agree with NumPy and SciPy."""

import re
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from scipy import stats
from sklearn.metrics import f1_score, log_loss

import sqleval
from sqleval import DataError, RequestError, UnmatchedRows
from sqleval.frontend.bound import parse_requests
from sqleval.resampling.cells import EXACT_ROWS, Cells, Input, count_cells
from sqleval.resampling.intervals import find_intervals
from sqleval.resampling.replicates import evaluate_replicates
from sqleval.resampling.values import create_values
from tests.support.comparison import assert_frame_equal
from tests.support.draws import score_draws

#: Metrics of ranks, of decisions and of values. The draws are the same for all metrics.
METRICS = ["ks", "f1", "log_loss"]
#: Only metrics of scores: cells of decisions are counted separately, which takes most of the time.
OF_SCORES = ["ks", "log_loss"]


def draw_rows(n: int = 300, seed: int = 1) -> pl.DataFrame:
    rng = np.random.default_rng(seed)
    label = rng.integers(0, 2, n)
    return pl.DataFrame(
        {
            "y": label,
            "p": np.round(np.clip(rng.normal(0.4 + 0.2 * label, 0.2), 0, 1), 2),
            "q": np.round(np.clip(rng.normal(0.4 + 0.1 * label, 0.2), 0, 1), 2),
            "g": rng.choice(["a", "b", ""], n),
            "fold": rng.integers(1, 4, n),
            "user": rng.integers(0, 60, n),
            "w": rng.integers(0, 4, n),
        }
    ).with_columns(g=pl.when(pl.col("g") != "").then("g"))


ROWS = draw_rows()
SCORED: dict[str, Any] = {"label": "y", "score": "p"}
CALL: dict[str, Any] = {"ci": 0.9, "ci_method": "bootstrap", "replicates": 100}


def evaluate(source: Any, metrics: Any = METRICS, call: Any = CALL, **roles: Any) -> pl.DataFrame:
    frame = sqleval.scan(source, **SCORED | roles).evaluate(metrics, **call).collect()
    assert frame.filter(pl.col("low").is_null() & pl.col("note").is_null()).is_empty()
    inside = frame.filter(pl.col("low").is_not_null())
    assert (inside["low"] < inside["high"]).all()
    return frame


@cache
def evaluate_rows(by: str | None = None) -> pl.DataFrame:
    """Return the metrics of all rows, the reference of several tests."""
    return evaluate(ROWS, by=() if by is None else by)


def keep(frame: pl.DataFrame, metrics: list[str]) -> pl.DataFrame:
    return frame.filter(pl.col("metric").is_in(metrics))


def assert_same(found: pl.DataFrame, expected: pl.DataFrame, tolerance: float = 1e-12) -> None:
    kept = [name for name in expected.columns if name not in ("method", "n", "n_dropped")]
    assert_frame_equal(
        found.select(kept), expected.select(kept), rel_tol=tolerance, abs_tol=tolerance,
        check_row_order=False,
    )  # fmt: skip


@pytest.mark.parametrize("options", [{"by": "g", "over": "fold", "sets": "overall"}, {"by": "g"}])
def test_order_files_and_forms_do_not_matter(options: dict[str, Any], tmp_path: Path) -> None:
    expected = evaluate(ROWS, **options) if "over" in options else evaluate_rows("g")
    assert expected["low"].null_count() == 0
    shuffled = ROWS.sample(fraction=1, shuffle=True, seed=3)
    for i in range(3):
        shuffled[i * 100 : (i + 1) * 100].write_parquet(tmp_path / f"{i}.parquet")
    # The files hold the shuffled rows; one option is enough to check a frame.
    frames = (shuffled.lazy(),) if "sets" in options else ()
    for source in (f"{tmp_path}/*.parquet", *frames):
        assert_same(evaluate(source, **options), expected)


def test_threads_do_not_matter(set_threads: Callable[[int], None]) -> None:
    # Equal cells of several folds are numbered by fold, not in the order of the threads.
    rows = pl.concat([draw_rows(1_500, seed) for seed in range(4)])
    found: list[pl.DataFrame] = []
    for threads in (1, 8):
        set_threads(threads)
        found.append(evaluate(rows, ["ks", "f1"], by="g", over="fold"))
    assert_same(found[0], found[1])


def test_a_slice_alone_has_the_same_interval() -> None:
    # One slice is so large that its scores are rounded; the others stay as they are.
    rows = pl.concat([draw_rows(2_100).with_columns(g=pl.lit("large")), draw_rows(200, 2)])
    rows = rows.with_columns(pl.col("p") * 0.99 + pl.int_range(pl.len()) * 1e-7)
    # BCa uses the default's draws, and the jackknife, for which the large slice is sampled.
    call = CALL | {"ci_method": "bca"}
    lazy = sqleval.scan(rows, **SCORED, by="g").evaluate(["ks", "f1"], **call)
    both = lazy.collect()
    for name, where in (("large", "g = 'large'"), (None, "g IS NULL")):
        is_slice = pl.col("g").eq_missing(pl.lit(name, pl.String))
        alone = evaluate(rows, ["ks", "f1"], call, where=where)
        assert_same(alone, both.filter(is_slice).drop("g"))
    assert_same(lazy.filter(g="a").collect(), both.filter(g="a"))
    is_rounded = both["method"].str.contains("scores of 9 bits")
    assert is_rounded.to_list() == [
        name == "large" and metric == "ks"
        for name, metric in both.select("g", "metric").iter_rows()
    ]
    # The default method uses the degrees of freedom of the slice.
    small = evaluate(draw_rows(200, 2), "ks", by="g")
    alone = evaluate(draw_rows(200, 2), "ks", where="g IS NULL")
    assert_same(alone, small.filter(pl.col("g").is_null()).drop("g"))


def test_counts_and_copies_are_the_same() -> None:
    copies = ROWS[np.repeat(np.arange(ROWS.height), ROWS["w"].to_numpy())]
    expected = evaluate(copies)
    assert_same(evaluate(ROWS, counts="w"), expected)
    grouped = ROWS.group_by("y", "p", maintain_order=True).agg(pl.col("w").sum())
    assert_same(evaluate(grouped, OF_SCORES, counts="w"), keep(expected, OF_SCORES))


def test_equal_weights_are_those_of_rows() -> None:
    rows = ROWS.with_columns(w=pl.lit(0.5))
    assert_same(evaluate(rows, weight="w"), evaluate_rows())
    # Clusters are drawn whole, with all their weight.
    assert evaluate(rows, call=CALL | {"cluster": "user"}, weight="w")["low"].null_count() == 0


@pytest.mark.parametrize("n", [300, EXACT_ROWS + 1])
def test_a_draw_multiplies_rows_and_not_their_weight(n: int) -> None:
    rng = np.random.default_rng(4)
    rows = draw_rows(n).with_columns(w=pl.Series(rng.lognormal(0, 1, n)))
    found: list[Cells] = []
    for by in ((), "g"):
        data = sqleval.scan(rows, **SCORED, weight="w", by=by)
        drawn = Input(data.binding, data.source, None, data.engine)
        cells = count_cells(
            drawn,
            lambda bits, binding=data.binding: create_values(binding, bits, None, scored=True),
            None,
            is_large=n > EXACT_ROWS,
        )
        found.append(cells)
    cells = (
        found[0]
        .frame.group_by("label", "score")
        .agg(
            total=(pl.col("mean") * pl.col("factor")).sum(),
            squares=(pl.col("mean") * pl.col("factor") ** 2).sum(),
        )
    )
    # A Poisson number of draws per cell has the mean and variance of rows drawn one by one.
    # Weights are divided by the largest.
    assert cells["total"].sum() / cells["squares"].sum() ** 0.5 == pytest.approx(
        rows["w"].sum() / (rows["w"] ** 2).sum() ** 0.5, rel=1e-12
    )
    # In small slices each weight is a cell of its own; g is a key of slices with fewer rows.
    assert found[0].frame.height == n if n <= EXACT_ROWS else found[0].frame.height < n / 2
    assert found[1].frame.height == n


@pytest.mark.parametrize("n", [1_000, 3_000])
def test_replicates_of_weights_vary_as_linearised_errors_say(n: int) -> None:
    rng = np.random.default_rng(5)
    rows = draw_rows(n).with_columns(w=pl.Series(rng.lognormal(0, 1, n)))
    data = sqleval.scan(rows, **SCORED, weight="w")
    metrics = ["roc_auc", "log_loss", "brier_score"]
    closed = data.evaluate(metrics, ci=0.95).collect()
    drawn = data.evaluate(metrics, ci=0.95, ci_method="bootstrap", replicates=500).collect()
    ratio = (drawn["high"] - drawn["low"]) / (closed["high"] - closed["low"])
    # 500 replicates give a standard error within 3 %.
    assert ratio.is_between(0.9, 1.15).all()


def test_slice_keys_of_any_name() -> None:
    names = ["estimate", "defined", "stderr", "_low", "weight", "mean", "unit"]
    rows = ROWS.with_columns(pl.col("g").alias(name) for name in names).drop("g")
    found = evaluate(rows, "ks", CALL | {"ci_method": "bca"}, by=names)
    expected = evaluate(ROWS, "ks", CALL | {"ci_method": "bca"}, by="g")
    for name in names:
        others = [other for other in names if other != name]
        assert_frame_equal(found.drop(others).rename({name: "g"}), expected)


def test_labels_of_any_kind_are_the_same() -> None:
    expected = evaluate_rows()
    texts = ROWS.with_columns(y=pl.when(y=1).then(pl.lit("it's")).otherwise(pl.lit("no")))
    assert_same(evaluate(texts, positive="it's"), expected)
    # For scores and decisions the label is read in the same way.
    truths, signs = (ROWS.with_columns(y=y) for y in (pl.col("y") == 1, pl.col("y") * 2 - 1))
    assert_same(evaluate(truths, OF_SCORES), keep(expected, OF_SCORES))
    assert_same(evaluate(signs, "f1"), keep(expected, ["f1"]))
    # Late labels, some of them missing.
    keyed = ROWS.with_row_index("k")
    late = keyed.select("k", "y").head(250)
    with pytest.warns(UnmatchedRows):
        some = evaluate(keyed.drop("y"), OF_SCORES, labels=late, on="k", nulls="drop")
    assert_same(some, evaluate(ROWS.head(250), OF_SCORES))


def test_rows_left_out_leave_no_trace() -> None:
    expected = evaluate(ROWS.filter(pl.col("p") < 0.7))
    gaps = ROWS.with_columns(p=pl.when(pl.col("p") < 0.7).then("p"))
    assert_same(evaluate(gaps, nulls="drop"), expected)
    assert_same(evaluate(ROWS, OF_SCORES, where="p < 0.7"), keep(expected, OF_SCORES))


def test_float_scores_and_thresholds() -> None:
    small = ROWS.with_columns(p=(pl.col("p") * 1e-4).cast(pl.Float32))
    names = ["f1(threshold=3e-05)", "f1(threshold=5e-05)"]
    found = evaluate(small, names)
    expected = evaluate(ROWS, ["f1(threshold=0.3)", "f1(threshold=0.5)"])
    assert found["metric"].to_list() == names
    for i in range(2):
        assert found.select("value", "low", "high").row(i) == pytest.approx(
            expected.select("value", "low", "high").row(i)
        )


def test_models_are_the_same_as_each_alone() -> None:
    both = evaluate(ROWS, score={"one": "p", "two": "q"}, by="g")
    for name, column in (("one", "p"), ("two", "q")):
        alone = evaluate_rows("g") if column == "p" else evaluate(ROWS, score=column, by="g")
        assert_same(both.filter(model=name).drop("model"), alone)


def test_states_and_bins_contain_the_interval_of_the_rows() -> None:
    exact = evaluate(ROWS, ["ks", "roc_auc"])
    binned = evaluate(ROWS, ["ks", "roc_auc"], CALL | {"bins": 5})
    frame = sqleval.scan(ROWS, **SCORED).state(["ks", "roc_auc"], bins=5).collect()
    state = sqleval.from_state(frame).evaluate(["ks", "roc_auc"], **CALL).collect()
    bound = sqleval.scan(ROWS, **SCORED).evaluate(["ks", "roc_auc"], bins=5).collect()
    slack = bound["high"] - bound["low"]
    for found in (binned, state):
        assert (found["low"] <= exact["low"] + 0.02).all()
        assert (found["high"] >= exact["high"] - 0.02).all()
        width = found["high"] - found["low"]
        # Widened by the bound, but not also by an interval in closed form.
        assert (width <= (exact["high"] - exact["low"]) * 1.15 + slack * 1.01).all()


def test_bounds_of_bins_do_not_pass_for_intervals() -> None:
    """Also without a `ci_method` of replicates, if the metric has no interval in closed form."""
    rows = draw_rows(900).with_columns(pl.col("p") * 0.99 + pl.int_range(pl.len()) * 1e-6)
    call = {"ci": 0.9, "replicates": 100}
    exact = evaluate(rows, "ks", call).row(0, named=True)
    bound = sqleval.scan(rows, **SCORED)
    state = sqleval.from_state(bound.state("ks").collect())
    for lazy in (
        bound.evaluate("ks", bins=8, **call), bound.evaluate("ks", tolerance=1e-2, **call),
        state.evaluate("ks", **call),
    ):  # fmt: skip
        row = lazy.collect().row(0, named=True)
        assert "bootstrap" in row["method"]
        width = exact["high"] - exact["low"]
        assert width * 0.85 < row["high"] - row["low"] < width * 1.3 + 0.02
    none = bound.evaluate("ks", bins=8, ci=0.9, replicates=0).collect()
    assert "no interval" in none["note"].item()


def test_other_tasks_have_intervals() -> None:
    rng = np.random.default_rng(4)
    letters = np.array(["a", "b", "c"])[rng.integers(0, 3, 200)]
    guess = np.where(rng.random(200) < 0.6, letters, "b")
    mass = rng.random((200, 3)) + 0.5 * np.eye(3)[np.searchsorted(["a", "b", "c"], letters)]
    mass /= mass.sum(axis=1, keepdims=True)
    rows = pl.DataFrame(
        {"y": letters, "c": guess, "a": mass[:, 0], "b": mass[:, 1], "z": mass[:, 2]}
    )
    call = CALL | {"ci_method": "bca"}
    decided = sqleval.scan(rows, label="y", prediction="c", task="multiclass")
    averages = ["f1(average='macro')", "f1(average='weighted')", "accuracy", "cohen_kappa"]
    frame = decided.evaluate([*averages, "f1(average=None)"], **call).collect()
    assert frame["low"].null_count() == 0
    assert frame["class"].drop_nulls().to_list() == ["a", "b", "c"]
    assert set(averages) < set(frame["metric"])
    scores = {"a": "a", "b": "b", "c": "z"}
    scored = sqleval.scan(rows, label="y", score=scores, task="multiclass")
    names = ["roc_auc(average='macro')", "log_loss", "accuracy"]
    frame = scored.evaluate(names, **call).collect()
    assert frame["low"].null_count() == 0
    numbers = pl.DataFrame({"y": rng.normal(size=200)})
    numbers = numbers.with_columns(v=pl.col("y") + pl.Series(rng.normal(size=200)))
    bound = sqleval.scan(numbers, label="y", prediction="v", task="regression")
    frame = bound.evaluate(["rmse", "mae", "mse"], **CALL).collect()
    assert frame["low"].null_count() == 0
    errors = (numbers["y"] - numbers["v"]).to_numpy()
    drawn = rng.choice(errors**2, (2_000, 200)).mean(axis=1) ** 0.5
    rmse = frame.filter(metric="rmse").row(0, named=True)
    assert (rmse["high"] - rmse["low"]) / 2 / 1.645 == pytest.approx(drawn.std(), rel=0.25)


def test_only_columns_of_intervals_cost_replicates(monkeypatch: pytest.MonkeyPatch) -> None:
    calls: list[int] = []
    import sqleval.resampling.completion as module

    def count(*args: Any, **options: Any) -> pl.DataFrame:
        calls.append(1)
        return evaluate_replicates(*args, **options)

    monkeypatch.setattr(module, "evaluate_replicates", count)
    lazy = sqleval.scan(ROWS, **SCORED, by="g").evaluate(OF_SCORES, **CALL)
    full = sqleval.scan(ROWS, **SCORED, by="g").evaluate(OF_SCORES).collect()
    narrow = lazy.select("metric", "value", "n").collect()
    assert_frame_equal(narrow, full.select("metric", "value", "n"))
    assert not calls
    both = lazy.collect()
    assert calls
    assert_frame_equal(lazy.select("high").collect(), both.select("high"))
    above = pl.col("low") > 0.5
    assert_frame_equal(lazy.filter(above).collect(), both.filter(above))
    assert lazy.collect_schema() == both.schema
    calls.clear()
    sqleval.scan(ROWS, **SCORED).evaluate(["roc_auc", "f1"], ci=0.95).collect()
    assert not calls


UNDEFINED = pl.DataFrame(
    {
        "y": [1, 0, 1, 1, 1, 0, 1, 1, 0, 0, 1, 0] + [0, 1] * 20,
        "p": [0.9, 0.2, 0.8, 0.7, 0.9, 0.5, 0.5, 0.5, 0.5, 0.5, 0.5, 0.5] + [0.1, 0.9] * 20,
        "g": ["one"] + ["two"] * 1 + ["class"] * 3 + ["constant"] * 7 + ["perfect"] * 40,
    }
)


@pytest.mark.parametrize("method", [None, "bootstrap", "percentile", "bca"])
def test_slices_without_an_interval_say_why(method: str | None) -> None:
    call = {"ci": 0.95, "replicates": 100, "ci_method": method}
    bound = sqleval.scan(UNDEFINED, **SCORED, by="g")
    frame = bound.evaluate(
        ["ks", "f1", "accuracy", "break_even_point", "roc_auc", "best_accuracy_threshold"], **call
    ).collect()
    assert not (frame["low"].is_nan() | frame["high"].is_nan()).any()
    lacks = frame.filter(pl.col("low").is_null())
    assert lacks["high"].null_count() == lacks.height
    assert lacks["note"].null_count() == 0
    assert not frame["note"].fill_null("").str.contains("100 %").any()
    perfect = frame.filter(g="perfect", metric="break_even_point")
    assert perfect["note"].item() == "no interval: the metric is the same in all replicates"
    single = frame.filter(g="one", metric="break_even_point")
    assert "% of the replicates" in single["note"].item()
    if method is not None:
        # An interval in closed form must not replace the interval of the replicates.
        methods = frame["method"].fill_null("")
        assert not methods.str.contains("wilson|delta|delong").any()
        assert not methods.filter(frame["low"].is_null()).str.contains("bootstrap").any()


def test_empty_inputs_have_no_interval() -> None:
    for by in ((), "g"):
        found = sqleval.scan(ROWS.clear(), **SCORED, by=by).evaluate(METRICS, **CALL).collect()
        plain = sqleval.scan(ROWS.clear(), **SCORED, by=by).evaluate(METRICS).collect()
        assert_frame_equal(found.drop("method"), plain.drop("method"))


def test_a_stream_has_a_note_instead_of_replicates() -> None:
    reader = ROWS.to_arrow().to_reader()
    frame = sqleval.scan(reader, **SCORED).evaluate(["ks", "roc_auc"], ci=0.95).collect()
    low, note = frame["low"], frame["note"]
    assert (low[0] is None, "read once" in note[0], low[1] is not None) == (True, True, True)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"replicates": 99}, "from 100 to 1,000,000, or 0 for none"),
        ({"replicates": 1_000_001}, "from 100 to 1,000,000, or 0 for none"),
        ({"replicates": True}, "whole number"),
        ({"replicates": 100.0}, "whole number"),
        ({"seed": -1}, "seed=-1"),
        ({"seed": None}, "seed=None"),
        ({"replicates": 0, "ci_method": "bca"}, "leaves out the bootstrap"),
        ({"replicates": 0, "cluster": "user"}, "leaves out the bootstrap"),
        ({"ci_method": "bootstap"}, "did you mean 'bootstrap'"),
        ({"cluster": "usr"}, "did you mean 'user'"),
    ],
)
def test_wrong_options_are_refused(options: dict[str, Any], message: str) -> None:
    with pytest.raises(RequestError, match=message):
        sqleval.scan(ROWS, **SCORED).evaluate("ks", ci=0.95, **options)


def test_no_replicates_leave_a_note() -> None:
    frame = sqleval.scan(ROWS, **SCORED).evaluate("ks", ci=0.95, replicates=0).collect()
    assert frame["low"].item() is None
    assert "bootstrap" in frame["note"].item()


def compute_ks(label: np.ndarray, score: np.ndarray) -> float:
    return float(stats.ks_2samp(score[label == 1], score[label == 0], method="asymp").statistic)


@cache
def draw_statistics(n: int = 200) -> dict[str, np.ndarray]:
    """Return metrics of rows that NumPy draws, one value a draw."""
    rng = np.random.default_rng(9)
    label, score = ROWS["y"].to_numpy(), ROWS["p"].to_numpy()
    picks = rng.integers(0, len(label), (n, len(label)))
    # Decisions and losses are drawn with the rows, which saves a call of scikit-learn per draw.
    truth, decision = label[picks] == 1, score[picks] >= 0.5
    hits = (truth & decision).sum(axis=1)
    losses = -np.log(np.clip(np.where(label == 1, score, 1 - score), 1e-15, 1))
    one = picks[0]
    drawn = {
        "f1": 2 * hits / (truth.sum(axis=1) + decision.sum(axis=1)),
        "log_loss": losses[picks].mean(axis=1),
    }
    assert drawn["f1"][0] == pytest.approx(f1_score(label[one], score[one] >= 0.5))
    assert drawn["log_loss"][0] == pytest.approx(
        log_loss(label[one], np.clip(score[one], 1e-15, 1))
    )
    scored = score_draws(label, score, picks)
    assert scored["ks"][0] == pytest.approx(compute_ks(label[one], score[one]))
    return drawn | scored


@cache
def evaluate_percentiles() -> pl.DataFrame:
    call = CALL | {"replicates": 400, "ci_method": "percentile"}
    return evaluate(ROWS, [*METRICS, "average_precision", "roc_auc"], call)


@pytest.mark.parametrize("name", ["average_precision", "ks", "f1", "log_loss", "roc_auc"])
def test_the_standard_error_is_that_of_drawn_rows(name: str) -> None:
    row = evaluate_percentiles().filter(metric=name).row(0, named=True)
    found = (row["high"] - row["low"]) / 2 / stats.norm.ppf(0.95)
    assert found == pytest.approx(float(np.std(draw_statistics()[name])), rel=0.16)


@pytest.mark.parametrize("name", ["log_loss", "mse"])
def test_rounding_keeps_losses_that_are_small_beside_the_numbers(name: str) -> None:
    rows = pl.DataFrame({"y": [0, *[1] * 19] * 110, "p": 0.9995})
    roles: dict[str, Any] = SCORED
    if name == "mse":
        rows = rows.select(y=300.3, v=300.3 + 0.01 * pl.col("y"))
        roles = {"label": "y", "prediction": "v", "task": "regression"}
    of_rows = sqleval.scan(rows, **roles)
    drawn = of_rows.evaluate(name, ci=0.9, ci_method="bootstrap", replicates=200).collect()
    assert "scores of 9 bits" in drawn["method"].item()
    widths = [
        (each["high"] - each["low"]).item()
        for each in (drawn, of_rows.evaluate(name, ci=0.9).collect())
    ]
    assert widths[0] == pytest.approx(widths[1], rel=0.2)


@pytest.mark.parametrize("distance", [0, 300, 2_000])
def test_a_note_says_where_rounding_changes_the_metric(distance: int) -> None:
    rng = np.random.default_rng(4)
    label = rng.integers(0, 2, 4_200)
    score = (0.2 * label + rng.normal(0, 0.1, (2, len(label)))).round(1)  # of few cells
    rows = pl.DataFrame(
        {"y": label, "g": np.arange(len(label)) % 2, "p": score[0], "q": score[1]}
    ).with_columns(pl.col("p", "q") + distance * pl.col("g"))
    options: dict[str, Any] = {"replicates": 100}
    frame = sqleval.scan(rows, label="y", score="p", by="g")
    values = frame.evaluate("ks", ci=0.9, **options).collect()
    both = sqleval.scan(rows, label="y", score={"p": "p", "q": "q"}, by="g")
    differences = both.compare("ks", **options).collect()
    for result in (values, differences):
        near, far = result.sort("g")["note"]
        assert near is None
        assert (far is None) == (distance == 0), far
        assert distance == 0 or "with scores rounded to 9 bits the metric is" in far
        assert distance < 2_000 or far.startswith("no "), "all scores became equal"


def test_percentile_and_bca_are_those_of_scipy() -> None:
    """Accuracy is a mean, with a skewed distribution near 1."""
    hits = np.repeat([1.0, 0.0], [114, 6])
    rows = pl.DataFrame({"y": [1, 0] * 60, "h": hits}).with_columns(
        c=pl.when(h=1).then("y").otherwise(1 - pl.col("y"))
    )
    bound = sqleval.scan(rows, label="y", prediction="c")
    for method in ("percentile", "bca"):
        row = bound.evaluate(
            "accuracy", ci=0.95, ci_method=method, replicates=4_000
        ).collect().row(0, named=True)  # fmt: skip
        expected = stats.bootstrap(
            (hits,), np.mean, n_resamples=4_000, method=method.replace("bca", "BCa"),
            rng=np.random.default_rng(2),
        ).confidence_interval  # fmt: skip
        assert row["low"] == pytest.approx(expected.low, abs=0.012)
        assert row["high"] == pytest.approx(expected.high, abs=0.006)


@pytest.mark.parametrize("n", [60, 2_000])
def test_the_acceleration_is_that_of_single_rows(n: int) -> None:
    """The acceleration equals the value over single rows: for large cells, and for many cells."""
    rng = np.random.default_rng(5)
    values = np.round(rng.exponential(size=n), 1 if n == 60 else 4)
    counted = pl.Series("label", values).value_counts(sort=False).sort("label")
    cells = Cells(
        counted.select(
            "label", prediction=pl.lit(0.0), unit=pl.int_range(1, pl.len() + 1),
            mean=pl.col("count").cast(pl.Float64), factor=pl.lit(1.0), _rows="count",
            _is_rounded=pl.lit(value=False),
        ), (), {"label": "label", "prediction": "prediction", "task": "regression"},
    )  # fmt: skip
    frame = pl.DataFrame({"y": [0.0], "v": [0.0]})
    bound = sqleval.scan(frame, label="y", prediction="v", task="regression")
    (request,) = parse_requests(bound, "mae", None)
    found = evaluate_replicates(cells, [request], (), replicates=100, seed=0, jackknife=True)
    left = found.filter(pl.col("replicate") < 0)
    weight, value = left["weight"].to_numpy(), left["value"].to_numpy()
    mean = (weight * value).sum() / weight.sum()
    deviation = mean - value
    found_a = (weight * deviation**3).sum() / (6 * (weight * deviation**2).sum() ** 1.5)
    expected = stats.skew(values) / (6 * np.sqrt(n))
    assert found_a == pytest.approx(expected, abs=1e-9 + (0.02 if n == 2_000 else 0.003))


def test_quantiles_and_levels() -> None:
    """The formulas hold on replicates that are written out."""
    values = pl.DataFrame({"metric": "m", "replicate": range(102), "value": [50.0, *range(101)]})
    percentile = find_intervals(values, ["metric"], 0.9, "percentile").row(0, named=True)
    assert (percentile["low"], percentile["high"]) == pytest.approx((5, 95))
    # Without skewness and bias, BCa is the percentile.
    bca = find_intervals(values, ["metric"], 0.9, "bca").row(0, named=True)
    assert (bca["low"], bca["high"]) == pytest.approx((5, 95))
    # Efron (1987): with a bias z0, the levels are Phi(2 z0 + z).
    biased = values.with_columns(pl.when(replicate=0).then(70.0).otherwise("value").alias("value"))
    bca = find_intervals(biased, ["metric"], 0.9, "bca").row(0, named=True)
    z0 = stats.norm.ppf((70 + 0.5) / 101)
    expected = 100 * stats.norm.cdf(2 * z0 + stats.norm.ppf([0.05, 0.95]))
    assert (bca["low"], bca["high"]) == pytest.approx(tuple(expected))
    few = values.with_columns(pl.when(pl.col("replicate") < 12).then("value").alias("value"))
    assert find_intervals(few, ["metric"], 0.9, "bca")["low"].item() is None


@pytest.mark.parametrize("kind", [pl.Int64, pl.Float64, pl.String])
@pytest.mark.parametrize("options", [{}, {"bins": 6}, {"tolerance": 1e-3}])
def test_rows_without_a_cluster_are_left_out(
    options: dict[str, Any], kind: type[pl.DataType]
) -> None:
    rng = np.random.default_rng(4)
    rows = pl.DataFrame(
        {
            "y": rng.integers(0, 2, 300),
            "p": rng.random(300).round(2),
            "q": rng.random(300).round(2),
            "u": pl.Series([None if i % 50 == 0 else i % 30 for i in range(300)]).cast(kind),
        }
    )
    call = {"ci": 0.9, "cluster": "u", "replicates": 100}
    roles: dict[str, Any] = {"label": "y", "score": "p"}
    whole = sqleval.scan(rows.filter(pl.col("u").is_not_null()), **roles)
    names = ["roc_auc", "accuracy", "log_loss"]
    expected = whole.evaluate(names, **call, **options).collect()
    found = sqleval.scan(rows, **roles, nulls="drop").evaluate(names, **call, **options).collect()
    assert found["n_dropped"].to_list() == [6] * 3
    assert_frame_equal(found.drop("n_dropped"), expected.drop("n_dropped"))
    with pytest.raises(sqleval.DataError, match="'u' is NULL in 6 rows; whole clusters are drawn"):
        sqleval.scan(rows, **roles).evaluate(names, **call, **options).collect()
    models = {"label": "y", "score": {"a": "p", "b": "q"}}
    compared = sqleval.scan(rows, **models, nulls="drop").compare("roc_auc", cluster="u").collect()
    assert compared.select("n", "n_dropped").row(0) == (294, 6)


def test_clusters_are_drawn_whole() -> None:
    """Rows of a user are alike, so the standard error is computed over users, not over rows."""
    rng = np.random.default_rng(3)
    rate = np.repeat(rng.beta(2, 2, 80), 10)
    hit = rng.random(800) < rate
    rows = pl.DataFrame({"y": rng.integers(0, 2, 800), "u": np.repeat(np.arange(80), 10)})
    rows = rows.with_columns(c=pl.when(pl.Series(hit)).then("y").otherwise(1 - pl.col("y")))
    bound = sqleval.scan(rows, label="y", prediction="c")
    row = (
        bound.evaluate("accuracy", ci=0.9, cluster="u", replicates=400).collect().row(0, named=True)
    )
    found = (row["high"] - row["low"]) / 2 / stats.norm.ppf(0.95)
    means = hit.reshape(80, 10).mean(axis=1)
    drawn = np.array([rng.choice(means, 80).mean() for _ in range(2_000)]).std()
    assert found == pytest.approx(drawn, rel=0.15)
    assert found > 1.3 * np.sqrt(hit.var() / 800)
    assert "80 blocks of clusters" in row["method"]
    assert row["note"] is None
    # Any type of key, whatever it is called, and in any order.
    texts = rows.with_columns(pl.format("user {}", "u").alias("cluster")).reverse()
    for name in ("u", "cluster"):
        again = sqleval.scan(texts, label="y", prediction="c").evaluate(
            "accuracy", ci=0.9, cluster=name, replicates=400
        ).collect()  # fmt: skip
        assert again["high"].item() - again["low"].item() == pytest.approx(
            2 * 1.645 * drawn, rel=0.2
        )


def test_few_clusters_of_a_slice_are_noted() -> None:
    rows = draw_rows(600).with_columns(
        g=pl.when(pl.col("user") < 5).then(pl.lit("few")).otherwise(pl.lit("many"))
    )
    call = CALL | {"cluster": "user", "ci_method": "percentile"}
    frame = evaluate(rows, ["f1", "ks"], call, by="g").sort("g", "metric")
    sizes = rows.filter(g="few")["user"].value_counts()["count"].to_numpy()
    equal = round(sizes.sum() ** 2 / (sizes**2).sum(), 1)
    few = f"5 blocks of clusters count as {equal} of equal size: the interval may be too narrow"
    biased = r"replicates are biased by 0\.\d standard errors: the interval may contain the true .*"
    # ks is a maximum, which is biased upwards in replicates; f1 is not.
    notes = dict(frame.select(pl.format("{} {}", "g", "metric"), "note").iter_rows())
    assert (notes["many f1"], notes["few f1"]) == (None, few)
    assert re.fullmatch(f"{few}; {biased}", notes["few ks"])
    assert frame["method"].str.extract(r"(\d+) blocks").to_list() == ["5"] * 2 + ["55"] * 2
    two = sqleval.scan(rows.filter(pl.col("user") < 2), **SCORED).evaluate("accuracy", **call)
    assert two.collect()["note"].item() == "no interval: fewer than three clusters"


def test_many_clusters_are_hashed_into_blocks() -> None:
    rows = draw_rows(3_000).with_columns(user=pl.int_range(3_000))
    frame = evaluate(rows, "f1", CALL | {"cluster": "user"})
    blocks = int(frame["method"].str.extract(r"(\d+) blocks").item())
    assert 900 < blocks <= 1_000
    plain = evaluate(rows, "f1")
    width = plain["high"].item() - plain["low"].item()
    assert frame["high"].item() - frame["low"].item() == pytest.approx(width, rel=0.3)


def test_a_row_without_a_cluster_is_an_error() -> None:
    rows = ROWS.with_columns(user=pl.when(pl.col("user") > 50).then(None).otherwise("user"))
    lazy = sqleval.scan(rows, **SCORED).evaluate("ks", **CALL, cluster="user")
    missing = rows["user"].null_count()
    with pytest.raises(DataError, match=rf"cluster='user' is NULL in {missing} rows"):
        lazy.collect()
