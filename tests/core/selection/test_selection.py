"""Resampling, bootstrap intervals, and the choice among configurations by folds."""

from itertools import product
from typing import Any

import numpy as np
import polars as pl
import pytest
from scipy import stats
from sklearn.metrics import accuracy_score, brier_score_loss, f1_score, roc_auc_score

import sqleval
from sqleval import DataError, RequestError
from sqleval.selection.student import find_t_quantile
from tests.support.comparison import assert_frame_equal


def predictions(n: int = 400, repeats: int = 3, k: int = 5, seed: int = 0) -> pl.DataFrame:
    """Return predictions of rows that are tested once a repeat."""
    rng = np.random.default_rng(seed)
    label = rng.integers(0, 2, n)
    frames: list[pl.DataFrame] = []
    for repeat in range(1, repeats + 1):
        score = 1 / (1 + np.exp(-(1.2 * (label - 0.5) + rng.normal(size=n))))
        frames.append(pl.DataFrame({
            "id": range(n), "repeat": repeat, "fold": 1 + rng.permutation(n) % k, "y": label,
            "p": score, "g": np.where(np.arange(n) % 3 == 0, "a", "b"),
        }))  # fmt: skip
    return pl.concat(frames)


ROLES: dict[str, Any] = {"label": "y", "score": "p"}


@pytest.mark.parametrize("level", [0.5, 0.9, 0.95, 0.99])
@pytest.mark.parametrize("freedom", [1, 2, 3, 4, 9, 10, 99, 100, 1001])
def test_students_t_is_scipys(level: float, freedom: int) -> None:
    assert find_t_quantile(level, freedom) == pytest.approx(
        stats.t.ppf((1 + level) / 2, freedom), rel=1e-10
    )


def test_means_over_folds_and_the_pooled_value() -> None:
    rows = predictions()
    got = sqleval.resample(rows, ["roc_auc", "accuracy"], ci=0.95, **ROLES)
    assert got["metric"].to_list() == ["roc_auc", "accuracy"]
    functions = {
        "roc_auc": roc_auc_score,
        "accuracy": lambda y, p: accuracy_score(y, p >= 0.5),
    }
    for row in got.iter_rows(named=True):
        of = functions[row["metric"]]
        values = np.array([
            of(part["y"], part["p"]) for part in rows.partition_by("repeat", "fold")
        ])  # fmt: skip
        assert row["mean"] == pytest.approx(values.mean(), abs=1e-12)
        assert row["std"] == pytest.approx(values.std(ddof=1), abs=1e-12)
        assert row["stderr"] == pytest.approx(values.std(ddof=1) / np.sqrt(15), abs=1e-12)
        assert row["pooled"] == pytest.approx(of(rows["y"], rows["p"]), abs=1e-12)
        # Nadeau and Bengio: a fold of five has a quarter as many test as training rows.
        width = stats.t.ppf(0.975, 14) * np.sqrt((1 / 15 + 1 / 4) * values.var(ddof=1))
        assert row["low"] == pytest.approx(values.mean() - width, abs=1e-9)
        assert row["high"] == pytest.approx(values.mean() + width, abs=1e-9)
        assert (row["n_folds"], row["n_undefined"], row["note"]) == (15, 0, None)


def test_each_model_has_its_own_folds() -> None:
    rng = np.random.default_rng(7)
    rows = predictions(repeats=2).with_columns(q=pl.Series(rng.random(800)))
    got = sqleval.resample(
        rows, ["roc_auc", "accuracy"], ci=0.95, label="y", score={"one": "p", "two": "q"}
    )
    assert got.height == 4
    for model, column in (("one", "p"), ("two", "q")):
        alone = sqleval.resample(rows, ["roc_auc", "accuracy"], ci=0.95, label="y", score=column)
        assert_frame_equal(got.filter(model=model).drop("model"), alone)
        values = [
            roc_auc_score(part["y"], part[column]) for part in rows.partition_by("repeat", "fold")
        ]
        auc = got.row(by_predicate=(pl.col("model") == model) & (pl.col("metric") == "roc_auc"),
                      named=True)  # fmt: skip
        assert auc["mean"] == pytest.approx(np.mean(values), abs=1e-12)
        assert auc["pooled"] == pytest.approx(roc_auc_score(rows["y"], rows[column]), abs=1e-12)
        assert auc["n_folds"] == 10


def test_each_class_has_its_own_folds() -> None:
    rng = np.random.default_rng(8)
    rows = pl.DataFrame({"fold": np.arange(300) % 3, "y": rng.integers(0, 3, 300)})
    rows = rows.with_columns(q=pl.Series(np.where(rng.random(300) < 0.6, rows["y"], 0)))
    roles: dict[str, Any] = {"label": "y", "prediction": "q", "task": "multiclass"}
    got = sqleval.resample(rows, "f1(average=None)", fold="fold", ci=0.9, **roles).sort("class")
    assert got["class"].to_list() == [0, 1, 2]
    per_class: Any = {"average": None}
    values = [f1_score(part["y"], part["q"], **per_class) for part in rows.partition_by("fold")]
    assert got["mean"].to_list() == pytest.approx(np.mean(values, axis=0).tolist(), abs=1e-12)
    assert got["std"].to_list() == pytest.approx(np.std(values, axis=0, ddof=1).tolist())
    pooled = np.asarray(f1_score(rows["y"], rows["q"], **per_class))
    assert got["pooled"].to_list() == pytest.approx(pooled.tolist(), abs=1e-12)


@pytest.mark.parametrize("sets", ["overall", "cube", [["g"], []]])
def test_sets_of_keys_are_means_over_folds_too(sets: Any) -> None:
    rows = predictions(repeats=2).with_columns(h=pl.col("id") % 2)
    by = ["g", "h"] if sets == "cube" else ["g"]
    got = sqleval.resample(rows, "roc_auc", by=by, sets=sets, ci=0.9, **ROLES)
    for keys in ([], ["g"], ["h"], ["g", "h"]) if sets == "cube" else ([], ["g"]):
        alone = sqleval.resample(rows, "roc_auc", by=keys, ci=0.9, **ROLES)
        of_set = got.filter(pl.col("by") == (", ".join(keys) or "overall"))
        assert of_set.select(pl.col(by).exclude(keys)).null_count().row(0) == tuple(
            [of_set.height] * (len(by) - len(keys))
        )
        assert_frame_equal(of_set.select(alone.columns), alone, check_row_order=False)
    with pytest.raises(RequestError, match="sets= names 'fold', which is not in by"):
        sqleval.resample(rows, "roc_auc", by="g", sets=[["fold"]], **ROLES)


def test_the_interval_respects_what_folds_share() -> None:
    # The truth is the accuracy on rows that no fold has seen; a model learns one threshold.
    sets: list[pl.DataFrame] = []
    for seed in range(60):
        rng = np.random.default_rng(seed)
        x, y = rng.normal(size=80), rng.integers(0, 2, 80)
        x = x + 0.8 * y
        folds = np.array([1 + rng.permutation(80) % 10 for _ in range(10)])
        above = np.empty(folds.shape, bool)
        for repeat, fold in product(range(10), range(1, 11)):
            inside, out = folds[repeat] != fold, folds[repeat] == fold
            cut = (x[inside & (y == 1)].mean() + x[inside & (y == 0)].mean()) / 2
            above[repeat, out] = x[out] > cut
        rows = {
            "repeat": np.repeat(np.arange(1, 11), 80), "fold": folds.ravel(),
            "y": np.tile(y, 10), "q": above.ravel().astype(int),
        }  # fmt: skip
        sets.append(pl.DataFrame(rows).with_columns(seed=pl.lit(seed)))
    options: dict[str, Any] = {"label": "y", "prediction": "q", "by": "seed"}
    # Of more than 5,000 slices it would warn.
    found = pl.concat(
        sqleval.resample(pl.concat(half), "accuracy", ci=0.9, **options)
        for half in (sets[:30], sets[30:])
    )
    assert found.height == 60
    covered = {"naive": 0, "corrected": 0}
    truth = stats.norm.cdf(0.4)
    for row in found.iter_rows(named=True):
        covered["corrected"] += row["low"] <= truth <= row["high"]
        reach = stats.t.ppf(0.95, 99) * row["stderr"]
        covered["naive"] += abs(row["mean"] - truth) <= reach
    assert covered["naive"] < 30
    assert covered["corrected"] > covered["naive"] + 10


def test_slices_undefined_folds_and_hold_outs() -> None:
    rows = predictions(repeats=1)
    one = rows.with_columns(y=pl.when(pl.col("fold") == 1).then(1).otherwise("y"))
    got = sqleval.resample(one, "roc_auc", fold="fold", ci=0.9, by="g", **ROLES)
    assert got["g"].to_list() == ["a", "b"]
    assert got["n_folds"].to_list() == [4, 4]
    assert got["n_undefined"].to_list() == [1, 1]
    held = predictions(k=1)
    got = sqleval.resample(held, "roc_auc", ci=0.9, **ROLES).row(0, named=True)
    assert got["low"] is None
    assert got["note"] == "no interval: ratio= of test to training rows is needed"
    got = sqleval.resample(held, "roc_auc", ci=0.9, ratio=3 / 7, **ROLES).row(0, named=True)
    width = stats.t.ppf(0.95, 2) * np.sqrt(1 / 3 + 3 / 7) * got["std"]
    assert got["high"] - got["mean"] == pytest.approx(width, rel=1e-9)
    single = sqleval.resample(predictions(repeats=1, k=1), "roc_auc", ci=0.9, ratio=1.0, **ROLES)
    assert single["note"].to_list() == ["no interval: one fold"]


def test_the_error_by_role_and_its_gap() -> None:
    rows = predictions(repeats=2).with_columns(role=pl.lit("test"))
    easier = rows.with_columns(p=(pl.col("p") + pl.col("y")) / 2, role=pl.lit("train"))
    got = sqleval.resample(pl.concat([rows, easier]), ["roc_auc", "log_loss"], role="role", **ROLES)
    plain = sqleval.resample(rows, ["roc_auc", "log_loss"], **ROLES)
    assert got["mean"].to_list() == pytest.approx(plain["mean"].to_list())
    assert got["pooled"].to_list() == pytest.approx(plain["pooled"].to_list())
    auc, loss = got.iter_rows(named=True)
    assert auc["gap"] == pytest.approx(auc["train"] - auc["mean"])
    assert loss["gap"] == pytest.approx(loss["mean"] - loss["train"])
    assert auc["gap"] > 0
    assert loss["gap"] > 0


# -- bootstrap ----------------------------------------------------------------------------------


def test_the_632_estimates_are_the_papers() -> None:
    rng = np.random.default_rng(1)
    rows = predictions(200, repeats=4, k=1).with_columns(role=pl.lit("test"))
    train = rows.with_columns(
        p=(pl.col("p") + 3 * pl.col("y")) / 4 * 0.9 + 0.1 * rng.random(800), role=pl.lit("train")
    )
    both = pl.concat([rows, train])
    got = sqleval.bootstrap_632(both, ["error_rate", "accuracy", "brier_score"], **ROLES)
    by_metric = {row["metric"]: row for row in got.iter_rows(named=True)}
    losses = {
        "error_rate": lambda y, p: 1 - accuracy_score(y, p >= 0.5),
        "brier_score": brier_score_loss,
    }
    # The loss of each row with each prediction, as labels that know nothing of it have.
    pair_losses = {
        "error_rate": lambda y, p: (y != (p >= 0.5)).mean(),
        "brier_score": lambda y, p: ((y - p) ** 2).mean(),
    }
    for name, loss in losses.items():
        row = by_metric[name]
        sides = {
            role: np.mean([loss(part["y"], part["p"]) for part in frame.partition_by("repeat")])
            for role, frame in (("train", train), ("test", rows))
        }
        blind = np.mean([
            pair_losses[name](part["y"].to_numpy()[:, None], part["p"].to_numpy())
            for part in train.partition_by("repeat")
        ])  # fmt: skip
        assert row["train"] == pytest.approx(sides["train"], abs=1e-12)
        assert row["out_of_bag"] == pytest.approx(sides["test"], abs=1e-12)
        assert row["no_information"] == pytest.approx(blind, abs=1e-12)
        assert row["estimate_632"] == pytest.approx(0.368 * sides["train"] + 0.632 * sides["test"])
        rate = (sides["test"] - sides["train"]) / (blind - sides["train"])
        weight = 0.632 / (1 - 0.368 * rate)
        plus = (1 - weight) * sides["train"] + weight * sides["test"]
        assert 0 < rate < 1
        assert row["overfitting"] == pytest.approx(rate)
        assert row["estimate_632_plus"] == pytest.approx(plus)
    for column in ("train", "out_of_bag", "no_information", "estimate_632", "estimate_632_plus"):
        assert by_metric["accuracy"][column] == pytest.approx(1 - by_metric["error_rate"][column])
    with pytest.raises(RequestError, match=r"'roc_auc' has no \.632 estimate"):
        sqleval.bootstrap_632(both, "roc_auc", **ROLES)


def test_a_model_that_knows_rows_by_heart_is_not_believed() -> None:
    # Labels of chance, one nearest neighbour: no training error, and half of the others wrong.
    rng = np.random.default_rng(0)
    label = rng.integers(0, 2, 400)
    frames = [
        pl.DataFrame({"repeat": r, "role": role, "y": label,
                      "q": label if role == "train" else rng.permutation(label)})
        for r in range(1, 21) for role in ("train", "test")
    ]  # fmt: skip
    row = sqleval.bootstrap_632(pl.concat(frames), label="y", prediction="q").row(0, named=True)
    assert row["train"] == 0
    assert row["estimate_632"] == pytest.approx(0.316, abs=0.01)
    assert row["estimate_632_plus"] == pytest.approx(0.5, abs=0.02)
    assert row["overfitting"] == pytest.approx(1, abs=0.03)


def test_models_and_sets_have_their_own_632_estimates() -> None:
    rng = np.random.default_rng(9)
    rows = predictions(200, repeats=4, k=1).with_columns(role=pl.lit("test"))
    train = rows.with_columns(p=(pl.col("p") + pl.col("y")) / 2, role=pl.lit("train"))
    both = pl.concat([rows, train]).with_columns(q=pl.Series(rng.random(1600)))
    got = sqleval.bootstrap_632(both, label="y", score={"one": "p", "two": "q"})
    assert got["model"].to_list() == ["one", "two"]
    for model, column in (("one", "p"), ("two", "q")):
        alone = sqleval.bootstrap_632(both, label="y", score=column)
        assert_frame_equal(got.filter(model=model).drop("model"), alone)
    got = sqleval.bootstrap_632(both, by="g", sets="overall", **ROLES)
    whole = got.filter(by="overall").drop("g", "by")
    assert_frame_equal(whole, sqleval.bootstrap_632(both, **ROLES))
    slices = got.filter(by="g").drop("by")
    assert_frame_equal(slices, sqleval.bootstrap_632(both, by="g", **ROLES), check_row_order=False)


# -- the choice ---------------------------------------------------------------------------------


def grid(values: list[float] | None = None, folds: int = 5, seed: int = 0) -> pl.DataFrame:
    """Return predictions of a grid: three parameters, of which the first alone matters."""
    rng = np.random.default_rng(seed)
    frames: list[pl.DataFrame] = []
    values = [0, 0.05, 0.1, 0.15, 0.2] if values is None else values
    for a in values:
        for b in values:
            for c in values:
                y = np.tile([0, 1], folds * 20)
                wrong = rng.random(len(y)) < 0.1 + a
                role = np.repeat(["validation", "test"], folds * 20)
                fold = 1 + np.arange(len(y)) // 2 % folds
                frames.append(pl.DataFrame({
                    "a": float(a), "b": float(b), "c": float(c), "fold": fold,
                    "role": role, "y": y, "q": np.where(wrong, 1 - y, y),
                }))  # fmt: skip
    return pl.concat(frames)


CHOICE: dict[str, Any] = {
    "config": ["a", "b", "c"],
    "fold": "fold",
    "label": "y",
    "prediction": "q",
}


def test_the_grid_is_counted_ranked_and_judged() -> None:
    rows = grid()
    got = sqleval.select(rows, "accuracy", role="role", **CHOICE)
    assert got.height == 125
    chosen = got.filter("chosen").row(0, named=True)
    assert (
        "5 x 5 x 5 values, 125 configurations; train again on all rows with a=0.0"
        in chosen["reason"]
    )
    # As 625 calls of scikit-learn, which take a second.
    accuracies = (
        rows.filter(role="validation")
        .group_by("a", "b", "c", "fold")
        .agg(accuracy=(pl.col("y") == pl.col("q")).mean())
    )
    means = {
        (a, b, c): mean
        for a, b, c, mean in accuracies.group_by("a", "b", "c")
        .agg(pl.col("accuracy").mean())
        .iter_rows()
    }
    assert {row[:3]: row[4] for row in got.iter_rows()} == pytest.approx(means)
    assert got["mean"].to_list() == pytest.approx(sorted(means.values(), reverse=True))
    assert chosen["rank"] == 1
    own = rows.filter(role="test", a=chosen["a"], b=chosen["b"], c=chosen["c"])
    held = np.mean([accuracy_score(f["y"], f["q"]) for f in own.partition_by("fold")])
    assert chosen["test"] == pytest.approx(held)
    # What has been picked as the best of 125 is better than it is.
    of_chosen = accuracies.filter(a=chosen["a"], b=chosen["b"], c=chosen["c"]).sort("fold")
    best = accuracies.group_by("fold").agg(pl.col("accuracy").max()).sort("fold")
    gaps = (best["accuracy"] - of_chosen["accuracy"]).to_numpy()
    assert len(gaps) == 5
    assert chosen["optimism"] == pytest.approx(np.mean(gaps))
    assert chosen["optimism"] > 0
    assert got.filter(~pl.col("chosen"))["test"].null_count() == 124


def test_one_standard_error_chooses_the_simplest_nearby() -> None:
    rows = grid([0, 0.01, 0.3]).filter(pl.col("b") == 0, pl.col("c") == 0)
    order = {"simplest": "-a", "config": "a", "fold": "fold", "label": "y", "prediction": "q"}
    got = sqleval.select(rows, "accuracy", role="role", rule="one_standard_error", **order)
    best = got.row(0, named=True)
    near = got.filter(pl.col("mean") >= best["mean"] - best["stderr"])
    chosen = got.filter("chosen").row(0, named=True)
    assert chosen["a"] == max(near["a"])
    assert f"the simplest of {near.height} within one standard error" in chosen["reason"]


def test_losses_ties_and_gaps_in_the_grid() -> None:
    y = [0, 1, 0, 1]
    part = {"fold": [1, 1, 2, 2], "y": y}
    rows = pl.concat([
        pl.DataFrame({**part, "m": "a", "d": 2, "p": [0.2, 0.8, 0.2, 0.8]}),
        pl.DataFrame({**part, "m": "b", "d": 1, "p": [0.2, 0.8, 0.2, 0.8]}),
        pl.DataFrame({**part, "m": "a", "d": 1, "p": [0.4, 0.8, 0.2, 0.8]}),
    ])  # fmt: skip
    options: dict[str, Any] = {"config": ["m", "d"], "fold": "fold", "simplest": "d", **ROLES}
    got = sqleval.select(rows, "log_loss", **options)
    assert got.select("m", "d", "rank").rows() == [("b", 1, 1.0), ("a", 2, 1.0), ("a", 1, 3.0)]
    chosen = got.filter("chosen").row(0, named=True)
    assert chosen["m"] == "b"
    assert "2 share the best mean" in chosen["reason"]
    assert "3 configurations, of a grid of 4" in chosen["reason"]
    one = rows.with_columns(
        y=pl.when((pl.col("fold") == 1) & (pl.col("m") == "b")).then(1).otherwise("y")
    )
    got = sqleval.select(one, "roc_auc", **options)
    assert got.row(-1, named=True)["m"] == "b"
    assert got.row(-1, named=True)["rank"] is None


WRONG: list[tuple[dict[str, Any], str]] = [
    ({"rule": "first"}, "rule='first' must be one of"),
    ({"rule": "one_standard_error"}, "needs simplest="),
    ({"simplest": "z"}, "simplest='z' must be one of"),
    ({"by": "a"}, "select takes no by="),
    ({"sets": "overall"}, "select takes no sets="),
    ({"prediction": {"one": "q", "two": "y"}}, "select ranks the configurations of one model"),
    ({"metric": "f1(average=None)", "task": "multiclass"}, "has one per class; name another"),
    ({"role": "nobody"}, "no row with 'validation'"),
    ({"config": "nope"}, "^config='nope': no such column in the DataFrame"),
    ({"fold": "nope"}, "^fold='nope': no such column in the DataFrame"),
    ({"role": "nope"}, "^role='nope': no such column in the DataFrame"),
    ({"metric": "roc_acu"}, "no metric called 'roc_acu'"),
    ({"config": []}, "config= and fold= are needed"),
    ({"config": 3}, "config=3 must be the name of a column"),
    ({"role": []}, "role=.* must be the name of a column"),
    ({"metric": None}, "None must be the name of a metric"),
    ({"metric": "f1_macro"}, "f1: average= is for metrics of two classes"),
]


@pytest.mark.parametrize(("options", "message"), WRONG)
def test_wrong_choices_are_refused(options: dict[str, Any], message: str) -> None:
    given = {"metric": "accuracy", **CHOICE, **options}
    rows = grid([0, 0.1]).with_columns(nobody=pl.lit("test"))
    with pytest.raises(RequestError, match=message):
        sqleval.select(rows, **given)


def test_a_configuration_of_some_folds_is_not_chosen() -> None:
    part = {"fold": [1, 1, 2, 2], "y": [0, 1, 0, 1]}
    rows = pl.concat([
        pl.DataFrame({**part, "c": 1, "p": [0.1, 0.9, 0.2, 0.8]}).head(2),
        pl.DataFrame({**part, "c": 2, "p": [0.1, 0.9, 0.8, 0.9]}),
    ])  # fmt: skip
    got = sqleval.select(rows, "log_loss", config="c", fold="fold", **ROLES)
    assert got.select("c", "rank", "chosen").rows() == [(2, 1, True), (1, None, False)]


def test_slice_keys_may_be_expressions() -> None:
    rows = pl.DataFrame({
        "a fold": [1, 1, 2, 2, 1, 1, 2, 2], "y": [0, 1] * 4, "z": [0, 1, 1, 1, 0, 0, 0, 1],
        "site": ["x"] * 4 + ["Y"] * 4, "role": ["train", "test"] * 4,
    })  # fmt: skip
    plain = rows.with_columns(place=pl.col("site").str.to_uppercase())
    roles: dict[str, Any] = {"label": "y", "prediction": "z", "task": "binary"}
    for evaluate in (
        lambda rows, by: sqleval.resample(rows, "accuracy", fold="a fold", by=by, **roles),
        lambda rows, by: sqleval.bootstrap_632(
            rows, "error_rate", repeat="a fold", role="role", by=by, **roles
        ),
    ):
        found = evaluate(rows, {"place": "upper(site)"})
        expected = evaluate(plain, "place")
        assert_frame_equal(found, expected, check_row_order=False)
        assert sorted(found["place"]) == ["X", "Y"]
    by = {"k": "upper(site)"}
    for fold, message in {
        "k": "by= names 'k' twice", "no fold": "fold='no fold': no such column",
    }.items():  # fmt: skip
        with pytest.raises(RequestError, match=message):
            sqleval.resample(rows, "accuracy", fold=fold, by=by, **roles)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"ci": 95}, "must be a number between 0 and 1"), ({"ci": 1}, "ci=1 must be a number"),
        ({"ratio": -5.0}, "must be a number above 0"), ({"ratio": float("nan")}, "above 0"),
        ({"ratio": "1/9"}, "above 0"),
        ({"role": "g"}, "no row with 'test'"), ({"fold": []}, "fold= is needed"),
    ],
)  # fmt: skip
def test_wrong_options_over_folds_are_refused(options: dict[str, Any], message: str) -> None:
    with pytest.raises(RequestError, match=message):
        sqleval.resample(predictions(50), "roc_auc", **options, **ROLES)


def test_columns_that_do_not_fit_are_refused() -> None:
    rows = predictions(50).with_columns(mean=pl.col("g"), role=pl.lit("test"))
    with pytest.raises(RequestError, match="the result has a column of this name"):
        sqleval.resample(rows, "roc_auc", by="mean", **ROLES)
    with pytest.raises(RequestError, match="needs rows with 'train' and with 'test'"):
        sqleval.bootstrap_632(rows, **ROLES)


def test_a_learning_curve_is_a_slice_by_training_size() -> None:
    rows = pl.concat([
        predictions(300, repeats=1, seed=size).with_columns(training_rows=pl.lit(size))
        for size in (50, 100, 200)
    ])  # fmt: skip
    got = sqleval.resample(rows, "roc_auc", by="training_rows", ci=0.9, **ROLES)
    assert got["training_rows"].to_list() == [50, 100, 200]
    assert (got["low"] < got["mean"]).all()


def test_folds_without_a_value_have_their_own_note() -> None:
    # Leave-one-out: no test set holds both classes.
    rows = pl.DataFrame({"fold": range(6), "y": [0, 1] * 3, "p": [0.1, 0.9, 0.4, 0.6, 0.3, 0.2]})
    alone = sqleval.resample(rows, "roc_auc", fold="fold", label="y", score="p", ci=0.95)
    assert alone.select("n_folds", "n_undefined", "note").row(0) == (0, 6, "undefined in all folds")
    pair = rows.with_columns(fold=pl.Series([0, 0, 1, 2, 3, 4]))
    one = sqleval.resample(pair, "roc_auc", fold="fold", label="y", score="p", ci=0.95)
    assert one["note"].item() == "no interval: undefined in all folds but one"


@pytest.mark.parametrize("missing", [None, float("nan")])
def test_rows_without_a_fold_are_an_error_or_dropped(missing: float | None) -> None:
    rows = predictions(repeats=1).with_columns(
        fold=pl.when(pl.col("fold") > 1).then(pl.col("fold").cast(pl.Float64)).otherwise(missing),
        role=pl.when(pl.col("id") % 2 == 0).then(pl.lit("train")).otherwise(pl.lit("test")),
    )
    calls: dict[str, Any] = {
        "fold": lambda **options: sqleval.resample(
            rows, ["accuracy", "f1"], fold="fold", ci=0.95, by="g", sets="overall", **ROLES,
            **options,
        ),
        "repeat": lambda **options: sqleval.bootstrap_632(
            rows, repeat="fold", role="role", **ROLES, **options
        ),
    }  # fmt: skip
    configs = {"config": "g", "fold": "fold", **ROLES}
    message = r"='fold' is NULL or NaN in 80 rows; each row needs a value, or nulls='drop'"
    for option, call in calls.items():
        with pytest.raises(DataError, match=option + message):
            call()
    with pytest.raises(DataError, match="fold" + message):
        sqleval.select(rows, "accuracy", **configs)
    dropped = [call(nulls="drop") for call in calls.values()]
    chosen = sqleval.select(rows, "accuracy", **configs, nulls="drop")
    rows = rows.filter(pl.col("fold") > 1, pl.col("fold").is_not_nan())
    for found, call in zip(dropped, calls.values(), strict=True):
        assert_frame_equal(found, call())
    assert_frame_equal(chosen, sqleval.select(rows, "accuracy", **configs))
    assert dropped[0]["n_folds"].unique().to_list() == [4]


def test_slices_without_training_or_test_rows_stay_in_the_632_estimates() -> None:
    rows = predictions(repeats=2).with_columns(
        role=pl.when(pl.col("id") % 2 == 0).then(pl.lit("train")).otherwise(pl.lit("test")),
        h=pl.when(pl.col("g") == "b").then(pl.col("id") % 2),
    )
    found = sqleval.bootstrap_632(rows, ["accuracy", "brier_score"], by="h", **ROLES)
    assert found.height == 6
    notes = dict(found.filter(metric="accuracy").select("h", "note").rows())
    assert notes == {
        None: None, 0: "no value of out-of-bag rows", 1: "no value of training rows",
    }  # fmt: skip
    estimates = ("overfitting", "estimate_632", "estimate_632_plus")
    assert found.filter(pl.col("h").is_not_null()).select(estimates).null_count().row(0) == (4,) * 3
    whole = sqleval.bootstrap_632(
        rows.filter(pl.col("h").is_null()), ["accuracy", "brier_score"], **ROLES
    )
    assert_frame_equal(found.filter(pl.col("h").is_null()).drop("h"), whole)
