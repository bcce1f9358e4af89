"""Rows of many labels: lists, columns, averages, and errors."""

import json
import warnings
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from scipy import stats
from sklearn import metrics as sk
from sklearn.preprocessing import MultiLabelBinarizer

import sqleval
from sqleval import DataError, RequestError
from tests.support.commands import run

AVERAGES = ("macro", "micro", "weighted", "samples")


def evaluate(source: Any, metrics: Any, **roles: Any) -> dict[str, float | None]:
    """Return the value of each metric."""
    result = sqleval.scan(source, **roles).evaluate(metrics).collect()
    return dict(result.select("metric", "value").iter_rows())


def names_of(flags: np.ndarray, names: Any) -> list[list[str]]:
    """Return the list of a row's labels."""
    return [[name for name, flag in zip(names, row, strict=True) if flag] for row in flags]


def draw_sets() -> Iterator[tuple[np.ndarray, np.ndarray, np.ndarray]]:
    """Yield labels, tied scores and weights of small sets: rows without labels, and with all."""
    rng = np.random.default_rng(57)
    for _ in range(60):
        n, k = rng.integers(1, 40), rng.integers(2, 9)
        labels = (rng.random((n, k)) < rng.choice([0.05, 0.3, 0.9])).astype(int)
        scores = rng.integers(0, rng.choice([2, 4, 50]), (n, k)) / 50
        yield labels, scores, rng.integers(1, 4, n) / 2


RANKED: Mapping[str, Any] = {
    "label_ranking_average_precision": sk.label_ranking_average_precision_score,
    "coverage_error": sk.coverage_error,
    "label_ranking_loss": sk.label_ranking_loss,
}


def compute_expected(labels: Any, decided: Any, scores: Any, weight: Any) -> dict[str, float]:
    """Return scikit-learn's values, in which an undefined label or row counts 0."""
    options = {"sample_weight": weight, "zero_division": 0}
    values = {
        f"f1(average={average!r}, zero_division=0)": sk.f1_score(
            labels, decided, average=average, **options
        )
        for average in AVERAGES
    }
    values |= {
        name: function(labels, scores, sample_weight=weight) for name, function in RANKED.items()
    }
    return values | {
        "hamming_loss": sk.hamming_loss(labels, decided, sample_weight=weight),
        "subset_accuracy": sk.accuracy_score(labels, decided, sample_weight=weight),
    }


def test_random_lists_equal_scikit_learn() -> None:
    for labels, scores, weight in draw_sets():
        decided = (scores >= 0.5).astype(int)
        frame = pl.DataFrame({"y": labels.tolist(), "p": scores.tolist(), "w": weight})
        for weights, of_rows in (({}, None), ({"weight": "w"}, weight)):
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                want = compute_expected(labels, decided, scores, of_rows)
            if not labels.any():
                want.pop("f1(average='weighted', zero_division=0)")  # no label has a weight
            roles = {"label": "y", "score": "p", "task": "multilabel"}
            roles |= {"classes": list(range(labels.shape[1]))}
            found = evaluate(frame, [*want], **roles, **weights)
            assert [*found.values()] == pytest.approx([*want.values()], abs=1e-12)


def test_lists_of_names_are_the_same_as_columns() -> None:
    rng = np.random.default_rng(2)
    labels, decided = (rng.random((50, 3)) < share for share in (0.4, 0.5))
    names = ["toxic", "obscene", "insult"]
    lists = pl.DataFrame({"y": names_of(labels, names), "p": names_of(decided, names)})
    metrics = [f"f1_{average}" for average in AVERAGES] + ["hamming_loss", "subset_accuracy"]
    found = evaluate(lists, metrics, label="y", prediction="p")
    flags = pl.DataFrame({f"y_{name}": labels[:, i] for i, name in enumerate(names)}).with_columns(
        **{f"d_{name}": pl.Series(decided[:, i]) for i, name in enumerate(names)}
    )
    by_label = {"label": {n: f"y_{n}" for n in names}, "prediction": {n: f"d_{n}" for n in names}}
    assert evaluate(flags, metrics, **by_label) == pytest.approx(found, abs=1e-15)
    binarizer = MultiLabelBinarizer().fit([names])
    one, other = (binarizer.transform(lists[name].to_list()) for name in ("y", "p"))
    assert found["f1(average='samples')"] == pytest.approx(
        sk.f1_score(one, other, average="samples", zero_division=0), abs=1e-15
    )


def test_a_row_per_label() -> None:
    frame = pl.DataFrame({"y": [["a"], ["a", "b"], []], "p": [["a"], ["b"], ["b"]]})
    result = sqleval.scan(frame, label="y", prediction="p").evaluate("f1(average=None)").collect()
    assert result.select("class", "value", "n").rows() == [("a", 2 / 3, 3), ("b", 2 / 3, 3)]


def test_rows_without_labels_count_0_and_are_noted() -> None:
    frame = pl.DataFrame({"y": [["a"], ["b"], []], "p": [["a"], ["b"], []]})
    (row,) = (
        sqleval.scan(frame, label="y", prediction="p")
        .evaluate("f1_samples")
        .collect()
        .rows(named=True)
    )
    assert row["value"] == pytest.approx(2 / 3)
    assert row["note"] == "undefined for 1 of 3 rows, which count as 0"


def test_a_missing_value_leaves_out_the_whole_row() -> None:
    nan = float("nan")
    frame = pl.DataFrame({"y": [[0, 1], [1, 0], [1, 1]], "p": [[0.1, nan], [0.9, 0.2], [0.8, 0.7]]})
    roles = {"label": "y", "score": "p"}
    with pytest.raises(DataError, match=r"score='p of each label' is NULL or NaN in 1 of 3 rows"):
        evaluate(frame, "coverage_error", **roles)
    result = sqleval.scan(frame, **roles, nulls="drop").evaluate("coverage_error").collect()
    assert result.select("value", "n", "n_dropped").rows() == [(1.5, 2, 1)]


def test_thresholds_of_labels() -> None:
    frame = pl.DataFrame({"y": [[1, 0], [0, 1]], "p": [[0.4, 0.6], [0.2, 0.9]]})
    roles: dict[str, Any] = {"label": "y", "score": "p", "classes": ["a", "b"]}
    found = evaluate(frame, "hamming_loss", **roles, threshold={"a": 0.3, "b": 0.8})
    assert found == {"hamming_loss": 0.0}
    with pytest.raises(RequestError, match="threshold= names 'c', and it is none of the labels"):
        sqleval.scan(frame, **roles, threshold={"a": 0.3, "b": 0.8, "c": 0.1})


def test_models_of_many_labels() -> None:
    frame = pl.DataFrame(
        {"y": [[1, 0], [0, 1]], "m": [[0.9, 0.1], [0.2, 0.9]], "n": [[0.0, 1.0]] * 2}
    )
    scan = sqleval.scan(frame, label="y", score={"good": "m", "bad": "n"})
    result = scan.evaluate("hamming_loss").collect()
    assert result.select("model", "value").rows() == [("bad", 0.5), ("good", 0.0)]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"task": "binary", "label": {"a": "y", "b": "y"}}, "label= is a mapping, whose task is"),
        ({"label": "x"}, "label='x' is BIGINT; many labels are a list in each row, or a column"),
        ({"label": "y", "qid": "x"}, "task='multilabel' goes without qid="),
        (
            {"label": "y", "score": "x", "classes": ["a", "b"]},
            "score='x' is BIGINT, and the task is multilabel",
        ),
        ({"label": "y", "classes": ["a"]}, "needs two labels or more, and there is 1"),
        ({"label": "y", "classes": ["a", "a"]}, "names the label 'a' twice"),
        (
            {"label": {"a": "x", "b": "x"}, "score": {"a": "x"}},
            "score= has no column for the label 'b'",
        ),
    ],
)
def test_wrong_arguments(options: dict[str, Any], message: str) -> None:
    frame = pl.DataFrame({"x": [1], "y": [["a"]], "p": [["a"]]})
    with pytest.raises(RequestError, match=message):
        sqleval.scan(frame, **{"task": "multilabel", "prediction": "p"} | options)


def test_unknown_labels_and_other_lengths_are_errors() -> None:
    frame = pl.DataFrame({"y": [["a", "b"], ["c"]], "p": [[0.1, 0.2], [0.3]]})
    with pytest.raises(DataError, match=r"label='y' holds \[c\]; the labels are a, b"):
        evaluate(
            frame, "prevalence(average='macro')", label="y", prediction="y", classes=["a", "b"]
        )
    with pytest.raises(DataError, match=r"score='p' has 1 values in a row, and there are 3 labels"):
        evaluate(frame.tail(1), "coverage_error", label="y", score="p", classes=["a", "b", "c"])


def test_samples_are_of_many_labels_only() -> None:
    frame = pl.DataFrame({"y": [0, 1], "p": [0.2, 0.7]})
    with pytest.raises(
        RequestError, match="average='samples' is the mean over rows of many labels"
    ):
        sqleval.scan(frame, label="y", score="p").evaluate("f1_samples")


#: The rows of Spark's MultilabelMetricsSuite: the labels of each row, and the predicted ones.
SPARK = pl.DataFrame(
    {
        "y": [[0, 2], [0, 1], [0], [2], [2, 0], [0, 1], [1, 2]],
        "p": [[0, 1], [0, 2], [], [2], [2, 0], [0, 1, 2], [1]],
    }
)


def test_published_values_of_spark() -> None:
    # As scikit-learn, Spark counts a row without predicted labels as 0.
    metrics = {
        "subset_accuracy": 2 / 7, "precision(average='samples')": 2 / 3,
        "f1(average='samples')": 67 / 105, "precision(average='micro')": 8 / 11,
        "recall(average='micro')": 2 / 3,
    }  # fmt: skip
    found = evaluate(SPARK, [*metrics], label="y", prediction="p", task="multilabel")
    assert found == pytest.approx(metrics, abs=1e-12)
    of_labels = sqleval.scan(SPARK, label="y", prediction="p").evaluate("f1(average=None)")
    assert of_labels.collect()["value"][0] == pytest.approx(8 / 9, abs=1e-12)


def test_published_values_of_scikit_learn() -> None:
    guide = pl.DataFrame({"y": [[1, 0, 0], [0, 0, 1]], "p": [[0.75, 0.5, 1.0], [1.0, 0.2, 0.1]]})
    assert evaluate(guide, "coverage_error", label="y", score="p") == {"coverage_error": 2.5}


def make_long() -> pl.DataFrame:
    """Return a row per comment and label."""
    rng = np.random.default_rng(4)
    n = 40
    return pl.DataFrame(
        {
            "comment": np.repeat(np.arange(n), 3), "name": ["a", "b", "c"] * n,
            "y": rng.integers(0, 2, 3 * n), "p": rng.random(3 * n).round(2),
        }
    )  # fmt: skip


def test_a_row_per_label_is_the_same_as_lists() -> None:
    rows = make_long()
    lists = rows.group_by("comment", maintain_order=True).agg("y", "p")
    metrics = ["f1_macro", "f1_samples", "label_ranking_loss", "roc_auc_micro"]
    roles = {"label": "y", "score": "p"}
    want = evaluate(lists, metrics, **roles, task="multilabel")
    found = evaluate(rows.sample(fraction=1, shuffle=True, seed=1), metrics, **roles,
                     long={"label": "name"}, key="comment")  # fmt: skip
    assert found == pytest.approx(want, abs=1e-12)
    with pytest.raises(DataError, match="has no row of the label 'c'"):
        evaluate(rows[:-1], metrics, **roles, long={"label": "name"}, key="comment")
    with pytest.raises(RequestError, match="long= names labels, whose task is multilabel"):
        evaluate(rows, metrics, **roles, long={"label": "name"}, key="comment", task="binary")


def test_intervals_treat_the_labels_of_a_row_as_a_cluster() -> None:
    # Each label of a row is the same problem, so that three labels say no more than one.
    rng = np.random.default_rng(3)
    label, decided = rng.integers(0, 2, 200), rng.integers(0, 2, 200)
    frame = pl.DataFrame({"y": np.repeat(label, 3).reshape(-1, 3), "p": decided * 1.0})
    frame = frame.with_columns(p=pl.concat_list("p", "p", "p"))
    one = pl.DataFrame({"y": label, "p": decided})
    roles = {"label": "y", "score": "p"}
    single = sqleval.scan(one, label="y", prediction="p").evaluate("precision", ci=0.95).collect()
    pooled = sqleval.scan(frame, **roles, task="multilabel").evaluate("precision_micro", ci=0.95)
    (want,), (found,) = single.rows(named=True), pooled.collect().rows(named=True)
    assert found["value"] == pytest.approx(want["value"])
    width = found["high"] - found["low"]
    assert width == pytest.approx(want["high"] - want["low"], rel=0.15)


@pytest.mark.parametrize("weights", [None, "w"])
def test_interval_of_the_mean_over_rows(weights: str | None) -> None:
    rng = np.random.default_rng(6)
    labels, scores = rng.integers(0, 2, (80, 4)), rng.random((80, 4))
    weight = rng.integers(1, 5, 80) / 2 if weights else np.ones(80)
    frame = pl.DataFrame({"y": labels.tolist(), "p": scores.tolist(), "w": weight})
    scan = sqleval.scan(frame, label="y", score="p", weight=weights)
    (row,) = scan.evaluate("hamming_loss", ci=0.95).collect().rows(named=True)
    losses = (labels != (scores >= 0.5)).mean(axis=1)
    mean = np.average(losses, weights=weight)
    squares = (weight**2 * (losses - mean) ** 2).sum() / weight.sum() ** 2
    effective = weight.sum() ** 2 / (weight**2).sum()
    t = stats.t.ppf(0.975, effective - 1)
    # With weights, the correction for the residuals of large weights differs a little.
    width = 2 * t * np.sqrt(squares * 80 / 79)
    assert row["high"] - row["low"] == pytest.approx(width, rel=5e-3 if weights else 1e-3)


def test_models_are_compared_by_rows() -> None:
    rng = np.random.default_rng(8)
    labels = rng.integers(0, 2, (150, 3))
    good, bad = (np.clip(labels * shift + rng.random((150, 3)), 0, 1) for shift in (0.3, 0.0))
    frame = pl.DataFrame({"y": labels.tolist(), "a": good.tolist(), "b": bad.tolist()})
    scan = sqleval.scan(frame, label="y", score={"a": "a", "b": "b"})
    (row,) = scan.compare("f1_micro").collect().rows(named=True)
    assert (row["n"], row["n_dropped"], row["method"][:16]) == (150, 0, "paired jackknife")
    assert row["verdict"].startswith("b is worse than a")
    with pytest.raises(RequestError, match="is a mean over rows, which has no comparison"):
        scan.compare("f1_samples")


def test_curves_have_a_row_per_label() -> None:
    frame = pl.DataFrame({"y": [["a"], ["a", "b"], []], "p": [["a"], ["b"], ["b"]]})
    report = sqleval.scan(frame, label="y", prediction="p").curve("classification_report")
    assert report.collect().select("class", "precision", "recall", "support").rows() == [
        ("a", 1.0, 0.5, 2), ("b", 0.5, 1.0, 1),
    ]  # fmt: skip


def test_what_does_not_go_with_many_labels() -> None:
    frame = pl.DataFrame({"y": [[1, 0], [0, 1]], "p": [[0.4, 0.6], [0.2, 0.9]]})
    scan = sqleval.scan(frame, label="y", score="p")
    with pytest.raises(RequestError, match="does not go with many labels"):
        scan.confusion()
    with pytest.raises(RequestError, match="do not go with many labels"):
        scan.evaluate("roc_auc", bins=8)


def make_columns(n: int = 60) -> pl.DataFrame:
    """Return rows with a column per label, and with a score per label of two models."""
    rng = np.random.default_rng(12)
    labels = rng.random((n, 3)) < [0.3, 0.5, 0.2]
    frame = pl.DataFrame({"id": np.arange(n), "g": ["north", "south"] * (n // 2)})
    scores = {model: np.clip(shift * labels + rng.random((n, 3)), 0, 1).round(2)
              for model, shift in (("new", 0.3), ("old", 0.1))}  # fmt: skip
    return frame.with_columns(
        **{f"y_{name}": pl.Series(labels[:, i].astype(int)) for i, name in enumerate("abc")},
        **{f"{model}_{name}": pl.Series(each[:, i])
           for model, each in scores.items() for i, name in enumerate("abc")},
    )  # fmt: skip


METRICS = ["f1_macro", "f1_samples", "hamming_loss", "label_ranking_loss", "roc_auc_macro"]
BY_LABEL: dict[str, Any] = {
    "label": {name: f"y_{name}" for name in "abc"}, "score": {name: f"new_{name}" for name in "abc"}
}  # fmt: skip


@pytest.mark.parametrize("form", ["columns", "lists", "names"])
def test_late_labels_are_the_same_as_labels_beside_the_scores(form: str) -> None:
    frame = make_columns()
    roles, metrics = BY_LABEL, METRICS
    if form != "columns":
        frame = frame.select("id", "g", y=pl.concat_list("^y_.$"), p=pl.concat_list("^new_.$"))
        roles = {"label": "y", "score": "p", "classes": ["a", "b", "c"]}
    if form == "names":
        flags, scores = (np.array(frame[name].to_list()) for name in "yp")
        frame = frame.with_columns(
            y=pl.Series(names_of(flags == 1, "abc")), p=pl.Series(names_of(scores >= 0.5, "abc"))
        )
        roles, metrics = {"label": "y", "prediction": "p"}, METRICS[:3]
    want = sqleval.scan(frame, **roles, by="g").evaluate(metrics, ci=0.95, replicates=100).collect()
    ours = frame.select(pl.exclude("^y.*$"))
    late = frame.select("id", "^y.*$").sample(fraction=1, shuffle=True, seed=2)
    scan = sqleval.scan(ours, **roles, labels=late, on="id", by="g")
    found = scan.evaluate(metrics, ci=0.95, replicates=100).collect()
    assert found.select("g", "metric", "n", "n_dropped").equals(
        want.select("g", "metric", "n", "n_dropped")
    )
    assert found["value"].to_list() == pytest.approx(want["value"].to_list(), abs=1e-12)
    samples = pl.col("metric").is_in(["hamming_loss", "label_ranking_loss"])
    for end in ("low", "high"):
        assert found.filter(samples)[end].to_list() == pytest.approx(
            want.filter(samples)[end].to_list(), abs=1e-12
        )


def test_late_labels_are_counted_by_rows() -> None:
    rows = pl.DataFrame({"id": [1, 2, 3, 4], "p": [[0.9, 0.1], [0.2, 0.8], [0.7, 0.7], [0.1, 0.1]]})
    late = pl.DataFrame({"id": [1, 2, 3, 9], "y": [[1, 0], [0, 1], [1, 0], [1, 1]]})
    roles: dict[str, Any] = {"label": "y", "score": "p", "on": "id"}
    with pytest.warns(
        sqleval.UnmatchedRows,
        match=r"1 of 4 rows have no label yet and are left out; 1 labels match no row",
    ):
        result = sqleval.scan(rows, **roles, labels=late).evaluate("hamming_loss").collect()
    assert result.select("value", "n", "n_dropped").rows() == [(pytest.approx(1 / 6), 3, 1)]
    with pytest.raises(DataError, match="on='id' has 2 repeats; a key may have one label"):
        sqleval.scan(rows, **roles, labels=pl.concat([late, late[:2]])).evaluate("f1").collect()
    with pytest.raises(RequestError, match="many labels are joined by a key, on="):
        sqleval.scan(rows, label="y", score="p", labels=late, by_position=True)
    long = make_long()
    with pytest.raises(RequestError, match="join labels= to the rows before"):
        sqleval.scan(long.drop("y"), label="y", score="p", labels=long, on="comment",
                     long={"label": "name"}, key="comment")  # fmt: skip


def test_the_command_compares_models_with_a_column_per_label(tmp_path: Path) -> None:
    rows = make_columns()
    rows.write_parquet(tmp_path / "rows.parquet")
    named = [("--label", f"{name}=y_{name}") for name in "abc"]
    named += [("--score", f"{model}.{name}={model}_{name}") for model in ("new", "old")
              for name in "abc"]  # fmt: skip
    options = [word for each in named for word in each]
    done = run("compare", str(tmp_path / "rows.parquet"), *options, "-m", "f1_macro", "--format",
               "json")  # fmt: skip
    score = {model: {name: f"{model}_{name}" for name in "abc"} for model in ("new", "old")}
    want = sqleval.scan(rows, **BY_LABEL | {"score": score}).compare("f1_macro").collect()
    (row,) = json.loads(done.stdout)
    assert row["difference"] == pytest.approx(want["difference"].item(), abs=1e-12)
    flags, scores = rows.select("^y_.$").to_numpy(), rows.select("^old_.$").to_numpy()
    assert row["value"] == pytest.approx(
        sk.f1_score(flags, scores >= 0.5, average="macro"), abs=1e-12
    )
