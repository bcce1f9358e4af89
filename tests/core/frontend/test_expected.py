"""Expected metrics, before labels come: against scikit-learn, NannyML and values worked by hand."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
import sklearn.metrics as sk

import sqleval
from sqleval.errors import DataError, RequestError
from tests.support.commands import run

RNG = np.random.default_rng(14)
#: Scores with ties, and with 0 and 1.
SCORES = np.r_[RNG.beta(2, 3, 150).round(2), 0.0, 1.0, 0.5, 0.5]
WEIGHTS = RNG.integers(0, 4, len(SCORES)) / 2
ROWS = pl.DataFrame({"p": SCORES, "w": WEIGHTS, "g": RNG.choice(["a", "b"], len(SCORES))})

#: Each row as a positive of weight p and a negative of weight 1 - p.
LABELS = np.repeat([1, 0], len(SCORES))
TWICE = np.tile(SCORES, 2)
PARTS = np.r_[SCORES, 1 - SCORES]
METRICS = {
    "roc_auc": sk.roc_auc_score,
    "average_precision": sk.average_precision_score,
    "brier_score": sk.brier_score_loss,
    "log_loss": lambda y, p, sample_weight: sk.log_loss(
        y, np.clip(p, 1e-15, 1 - 1e-15), sample_weight=sample_weight
    ),
}
DECISIONS = {
    "accuracy": sk.accuracy_score,
    "precision": sk.precision_score,
    "recall": sk.recall_score,
    "f1": sk.f1_score,
    "balanced_accuracy": sk.balanced_accuracy_score,
    "matthews_corrcoef": sk.matthews_corrcoef,
    "cohen_kappa": lambda y, d, sample_weight: sk.cohen_kappa_score(
        y, d, sample_weight=sample_weight
    ),
}


def expect(rows: Any, metrics: Any = None, **options: Any) -> dict[str, float]:
    """Return expected metrics by name."""
    scan = sqleval.scan(rows, score="p", expected=True, **options)
    return dict(scan.evaluate(metrics).collect().select("metric", "value").rows())


@pytest.mark.parametrize("weight", [None, "w"])
def test_each_row_counts_as_a_part_of_both_classes(weight: str | None) -> None:
    parts = PARTS * (np.tile(WEIGHTS, 2) if weight else 1)
    expected = {
        name: function(LABELS, TWICE, sample_weight=parts) for name, function in METRICS.items()
    }
    expected |= {
        name: function(LABELS, TWICE >= 0.5, sample_weight=parts)
        for name, function in DECISIONS.items()
    }
    found = expect(ROWS, list(expected), weight=weight)
    assert found == pytest.approx(expected, rel=1e-9)
    # A metric may use another SQL file alone than beside others.
    alone = expect(ROWS, "roc_auc", weight=weight)["roc_auc"]
    assert alone == pytest.approx(expected["roc_auc"], rel=1e-9)


def test_values_worked_by_hand() -> None:
    found = sqleval.scan(pl.DataFrame({"p": [0.8, 0.25]}), score="p", expected=True)
    assert found.confusion().collect().sort("label", "prediction")["n"].to_list() == pytest.approx(
        [0.75, 0.2, 0.25, 0.8]
    )
    names = ["accuracy", "precision", "recall", "brier_score", "prevalence"]
    values = found.evaluate(names).collect()["value"].to_list()
    brier = (0.8 * 0.2 + 0.25 * 0.75) / 2
    assert values == pytest.approx([1.55 / 2, 0.8, 0.8 / 1.05, brier, 1.05 / 2])


def test_expected_costs() -> None:
    # A row of score p costs 5 p where it is predicted negative, and 1 - p where it is positive.
    scores = [0.1, 0.4, 0.7]
    expected = sqleval.scan(pl.DataFrame({"p": scores}), score="p", expected=True)
    found = expected.evaluate("misclassification_cost(cost_matrix={0: {1: 1}, 1: {0: 5}})")
    assert found.collect()["value"].item() == pytest.approx((5 * 0.1 + 5 * 0.4 + 0.3) / 3)
    with pytest.raises(RequestError, match="'a' is not known; classes are 0 and 1"):
        expected.evaluate("misclassification_cost(cost_matrix={'a': {'b': 1}})").collect()


def test_values_of_nannyml() -> None:
    # nannyml 0.13.1, performance_estimation.confidence_based.metrics.estimate_*; it rounds the
    # counts of its ROC curve to 5 digits.
    scores = [0.05, 0.1, 0.2, 0.2, 0.35, 0.4, 0.45, 0.5, 0.6, 0.6, 0.7, 0.85, 0.9, 0.97]
    expected = {
        "accuracy": 0.7407142857142858, "f1": 0.738284066330209, "precision": 0.7314285714285714,
        "recall": 0.745269286754003, "specificity": 0.7363253856942497,
        "roc_auc": 0.8267453468645308,
    }  # fmt: skip
    found = expect(pl.DataFrame({"p": scores}), list(expected))
    assert found == pytest.approx(expected, abs=1e-6)


def test_the_mean_over_labels_that_are_drawn() -> None:
    # An expectation is the mean over all labels that calibrated scores may come with.
    scores = np.array([0.1, 0.3, 0.6, 0.9])
    means = dict.fromkeys(("accuracy", "log_loss", "precision"), 0.0)
    for outcome in range(16):
        labels = np.array([outcome >> i & 1 for i in range(4)])
        chance = np.prod(np.where(labels == 1, scores, 1 - scores))
        means["accuracy"] += chance * np.mean((scores >= 0.5) == labels)
        means["precision"] += chance * np.mean(labels[scores >= 0.5])
        means["log_loss"] -= chance * np.mean(np.log(np.where(labels == 1, scores, 1 - scores)))
    result = sqleval.scan(pl.DataFrame({"p": scores}), score="p", expected=True)
    frame = result.evaluate([*means, "recall"]).collect()
    assert frame["value"][:3].to_list() == pytest.approx([*means.values()])
    assert frame["method"].to_list() == ["expectation"] * 3 + ["of expected counts"]


def test_rows_are_counted_once() -> None:
    found = sqleval.scan(ROWS, score="p", by="g", sets="overall", expected=True).evaluate("roc_auc")
    frame = found.collect().sort("n", descending=True)
    assert frame["n"].to_list() == [
        ROWS.height, *ROWS["g"].value_counts(sort=True)["count"].to_list()
    ]  # fmt: skip
    one = ROWS.filter(g=frame["g"][1])
    assert frame["value"][1] == pytest.approx(expect(one, "roc_auc")["roc_auc"])


def test_missing_scores_and_empty_input() -> None:
    rows = pl.DataFrame({"p": [0.2, None, float("nan"), 0.9]})
    with pytest.raises(DataError, match="NULL or NaN in 2 of 4 rows"):
        expect(rows)
    found = sqleval.scan(rows, score="p", nulls="drop", expected=True).evaluate("accuracy")
    assert found.collect().select("value", "n", "n_dropped").row(0) == (
        pytest.approx(0.85), 2, 2,
    )  # fmt: skip
    empty = sqleval.scan(rows.clear(), score="p", expected=True).evaluate("roc_auc").collect()
    assert empty.select("value", "n", "note").row(0) == (None, 0, "no rows")


def test_one_class_is_undefined() -> None:
    frame = sqleval.scan(pl.DataFrame({"p": [0.0, 0.0]}), score="p", expected=True)
    row = frame.evaluate("roc_auc").collect().row(0, named=True)
    assert row["value"] is None
    assert row["note"] == "no positive labels"


def test_scores_outside_0_to_1_are_an_error() -> None:
    for metrics in (None, "roc_auc"):
        with pytest.raises(DataError, match=r"expected=.* scores in 0 .. 1; score='p' is outside"):
            expect(pl.DataFrame({"p": [0.5, 1.5]}), metrics)
    scan = sqleval.scan(pl.DataFrame({"p": [0.5, 1.5]}), score="p", expected=True)
    with pytest.raises(DataError, match="outside in 1 of 2 rows"):
        scan.curve("roc").collect()


def test_curves() -> None:
    scan = sqleval.scan(ROWS, score="p", expected=True)
    fpr, tpr, thresholds = sk.roc_curve(LABELS, TWICE, sample_weight=PARTS, drop_intermediate=False)
    curve = scan.curve("roc").collect()
    assert curve["threshold"].to_list() == thresholds.tolist()
    assert curve["fpr"].to_numpy() == pytest.approx(fpr)
    assert curve["tpr"].to_numpy() == pytest.approx(tpr)


def test_models_are_expected_by_their_own_scores() -> None:
    rows = ROWS.with_columns(q=(1 - pl.col("p")).round(2))
    scan = sqleval.scan(rows, score={"one": "p", "other": "q"}, expected=True)
    found = scan.evaluate("prevalence").collect()
    assert found["value"].to_list() == pytest.approx([SCORES.mean(), 1 - SCORES.mean()])


def test_the_note_names_the_calibration_of_labelled_rows() -> None:
    june = pl.DataFrame(
        {"p": [0.5] * 4 + [0.25] * 4, "y": [1, 1, 1, 0] + [0] * 4, "g": list("ab") * 4}
    )
    labelled = sqleval.scan(june, label="y", score="p")
    july = pl.DataFrame({"p": [0.5, 0.5], "g": ["a", "c"]})
    found = sqleval.scan(july, score="p", expected=labelled).evaluate(["roc_auc", "recall"])
    # 3 / 8 of the scores' mean against 3 / 8 positives; bins are off by a quarter each.
    note = (
        "calibration of 8 labelled rows: mean score 1.0 times the share of positives, "
        "expected calibration error 0.25"
    )
    assert found.collect()["note"].to_list() == [note, note]
    by = sqleval.scan(june, label="y", score="p", by="g")
    notes = sqleval.scan(july, score="p", by="g", expected=by).evaluate("recall").collect()["note"]
    assert notes[0].startswith("calibration of 4 labelled rows: ")
    assert notes[1] == "calibration unknown: no labelled rows"
    whole = sqleval.scan(july, score="p", expected=by).evaluate("recall").collect()["note"]
    assert whole.to_list() == [note]
    assert found.select("value").collect().height == 2


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"label": "y"}, "leave out label="),
        ({"score": None, "prediction": "d"}, "needs score="),
        ({"task": "multiclass"}, "is for two classes"),
        ({"over": "g"}, "not with over="),
        ({"expected": "june.parquet"}, "must be True, or the labelled predictions"),
    ],
)
def test_wrong_roles(options: dict[str, Any], message: str) -> None:
    rows = ROWS.with_columns(y=1, d=1)
    with pytest.raises(RequestError, match=message):
        sqleval.scan(rows, **{"score": "p", "expected": True, **options})


def test_what_needs_labels_is_refused() -> None:
    scan = sqleval.scan(ROWS, score="p", expected=True)
    both = sqleval.scan(ROWS, score={"a": "p", "b": "w"}, expected=True)
    wrong = (
        (lambda: scan.evaluate("pcoc"), "pcoc measures calibration"),
        (lambda: scan.curve("calibration"), "calibration_curve measures calibration"),
        (lambda: scan.evaluate("roc_auc", ci=0.95), "ci= is for labelled rows"),
        (lambda: scan.evaluate("roc_auc", bins=9), "bins= is for labelled rows"),
        (lambda: scan.sql("roc_auc", bins=9), "bins= is for labelled rows"),
        (lambda: scan.evaluate("roc_auc", tolerance=1e-3), "tolerance= is for labelled rows"),
        (lambda: scan.curve("roc", ci=0.9), "ci= is for labelled rows"),
        (lambda: scan.state("roc_auc"), "a state holds labels"),
        (lambda: both.compare("roc_auc"), "no intervals or tests"),
        (
            lambda: sqleval.scan(ROWS, score="p", expected=scan),
            "needs labelled predictions of two classes",
        ),
    )
    for call, message in wrong:
        with pytest.raises(RequestError, match=message):
            call()


def test_command(tmp_path: Path) -> None:
    path, labelled = str(tmp_path / "july.parquet"), str(tmp_path / "june.parquet")
    ROWS.write_parquet(path)
    ROWS.with_columns(y=(pl.col("p") > 0.3).cast(int)).write_parquet(labelled)
    call = ["evaluate", path, "--score", "p", "--expected", "-m", "roc_auc", "--format", "json"]
    (row,) = json.loads(run(*call).stdout)
    assert row["value"] == pytest.approx(expect(ROWS, "roc_auc")["roc_auc"])
    (row,) = json.loads(run(*call, "--checked-on", labelled, "--label", "y").stdout)
    assert row["note"].startswith(f"calibration of {ROWS.height} labelled rows")
    # The query is SOURCE, not the labelled rows.
    query = ["--query", f"SELECT p FROM '{path}'"]
    by_query = ["evaluate", *query, *call[2:], "--checked-on", labelled, "--label", "y"]
    assert json.loads(run(*by_query).stdout) == [row]
    assert "leave out --label" in run(*call, "--label", "y", code=2).stderr
    done = run("evaluate", path, "--score", "p", "--checked-on", labelled, code=2)
    assert "--checked-on needs --expected" in done.stderr
    assert "77.73" in run("confusion", path, "--score", "p", "--expected").stdout
    assert "threshold" in run("curve", "roc", path, "--score", "p", "--expected").stdout
