"""Sequences of substitutions: averages over classes and folds at once, against scikit-learn."""

from collections.abc import Callable
from functools import partial

import numpy as np
import polars as pl
import pytest
from polars.testing import assert_frame_equal
from sklearn.metrics import accuracy_score, f1_score, roc_auc_score

import sqleval
from sqleval.binding.binding import Binding
from sqleval.catalog import request
from sqleval.compiler import classes, substitution
from sqleval.compiler.reducers import REDUCERS

CLASSES = ["x", "y", "z"]
SCORES = {name: f"p_{name}" for name in CLASSES}


@pytest.fixture(scope="module")
def rows() -> pl.DataFrame:
    """Return rows of three classes, four folds, two groups and both roles."""
    rng = np.random.default_rng(0)
    n = 600
    label = rng.choice(CLASSES, n)
    prediction = np.where(rng.random(n) < 0.6, label, rng.choice(CLASSES, n))
    scores = rng.dirichlet([1, 1, 1], n) + 0.5 * (np.array(CLASSES)[None, :] == label[:, None])
    scores /= scores.sum(axis=1, keepdims=True)
    return pl.DataFrame(
        {
            "label": label,
            "prediction": prediction,
            "fold": rng.integers(0, 4, n),
            "group": rng.choice(["a", "b"], n),
            "role": rng.choice(["train", "test"], n),
            **{column: scores[:, i] for i, column in enumerate(SCORES.values())},
        }
    )


def f1(frame: pl.DataFrame, average: str) -> float:
    return float(f1_score(frame["label"], frame["prediction"], average=average))


def accuracy(frame: pl.DataFrame) -> float:
    return float(accuracy_score(frame["label"], frame["prediction"]))


def auc(frame: pl.DataFrame, multi_class: str, average: str = "macro") -> float:
    scores = frame.select(SCORES.values()).to_numpy()
    return float(
        roc_auc_score(
            frame["label"], scores, labels=CLASSES, multi_class=multi_class, average=average
        )
    )


def over_folds(frame: pl.DataFrame, of: Callable[[pl.DataFrame], float], *, weigh: bool) -> float:
    parts = [part for _, part in frame.group_by("fold")]
    weights = [part.height for part in parts] if weigh else None
    return float(np.average([of(part) for part in parts], weights=weights))


DECIDED = {
    "f1(average='macro')": lambda frame: over_folds(
        frame, partial(f1, average="macro"), weigh=False
    ),
    "f1(average='weighted')": lambda frame: over_folds(
        frame, partial(f1, average="weighted"), weigh=True
    ),
    # The counts of all folds add up to the counts of all rows.
    "f1(average='micro')": partial(f1, average="micro"),
    "accuracy": accuracy,
    "accuracy(average='macro')": lambda frame: over_folds(frame, accuracy, weigh=False),
}
SCORED = {
    "roc_auc(average='macro')": lambda frame: over_folds(
        frame, partial(auc, multi_class="ovr"), weigh=False
    ),
    "roc_auc(multi_class='ovo', average='macro')": lambda frame: over_folds(
        frame, partial(auc, multi_class="ovo"), weigh=False
    ),
    "roc_auc(average='weighted')": lambda frame: over_folds(
        frame, partial(auc, multi_class="ovr", average="weighted"), weigh=True
    ),
}


@pytest.mark.parametrize("metric", [*DECIDED, *SCORED])
def test_classes_and_folds(rows: pl.DataFrame, metric: str) -> None:
    roles = {"prediction": "prediction"} if metric in DECIDED else {"score": SCORES}
    reference = {**DECIDED, **SCORED}[metric]
    scan = partial(sqleval.scan, rows, label="label", task="multiclass", over="fold", **roles)
    (value,) = scan().evaluate(metric).collect()["value"]
    assert value == pytest.approx(reference(rows), abs=1e-12)
    by = scan(by="group").evaluate(metric).collect()
    for group, found in by.select("group", "value").iter_rows():
        assert found == pytest.approx(reference(rows.filter(group=group)), abs=1e-12)


@pytest.mark.parametrize("kind", [pl.String, pl.Int64])
def test_the_scores_of_many_classes_are_read_in_one_scan(
    kind: type[pl.DataType], rows: pl.DataFrame, monkeypatch: pytest.MonkeyPatch
) -> None:
    names = {"x": "1", "y": "2", "z": "3"}
    rows = rows.with_columns(pl.col("label").replace(names).cast(kind))
    score = {
        name if kind == pl.String else int(name): column
        for name, column in zip(names.values(), SCORES.values(), strict=True)
    }
    scan = sqleval.scan(
        rows, label="label", score=score, task="multiclass", over="fold", by="group"
    )
    metrics = ["roc_auc(average='macro')", "log_loss"]
    one_each = scan.evaluate(metrics)
    monkeypatch.setattr(classes, "_MOST_SCANS", 2)
    listed = scan.evaluate(metrics, min_rows=1)
    assert "UNION ALL" not in scan.sql("log_loss").split("log_losses")[0]
    assert_frame_equal(listed.collect(), one_each.collect(), rel_tol=0, abs_tol=1e-13)


def test_classes_and_folds_with_min_rows_and_a_gap(rows: pl.DataFrame) -> None:
    metric = "f1(average='macro')"
    scan = partial(
        sqleval.scan, rows, label="label", prediction="prediction", task="multiclass", over="fold"
    )
    sizes = dict(rows.group_by("group").len().iter_rows())
    larger = max(sizes, key=lambda group: sizes[group])
    found = (
        scan(by="group", sets="overall")
        .evaluate(metric, min_rows=min(sizes.values()) + 1, gap=True)
        .collect()
    )
    whole, part = DECIDED[metric](rows), DECIDED[metric](rows.filter(group=larger))
    by_group = {row["group"]: row for row in found.iter_rows(named=True)}
    assert by_group[None]["value"] == pytest.approx(whole, abs=1e-12)
    assert by_group[larger]["value"] == pytest.approx(part, abs=1e-12)
    assert by_group[larger]["gap"] == pytest.approx(part - whole, abs=1e-12)
    smaller = by_group[min(sizes, key=lambda group: sizes[group])]
    assert smaller["value"] is None
    assert smaller["note"].startswith("fewer than")
    roles = scan(role="role").evaluate(metric).collect()
    value = dict(roles.select("role", "value").iter_rows())
    train, test = (DECIDED[metric](rows.filter(role=role)) for role in ("train", "test"))
    assert value["gap"] == pytest.approx(train - test, abs=1e-12)


def test_a_fold_without_a_class_is_counted_in_the_note() -> None:
    rows = pl.DataFrame(
        {"fold": [1, 1, 1, 2, 2, 2], "y": ["a", "b", "b", "a", "a", "c"], "q": ["a", "b", "a"] * 2}
    )
    scan = sqleval.scan(rows, label="y", prediction="q", task="multiclass", over="fold")
    (row,) = scan.evaluate("precision(average='macro')").collect().to_dicts()
    first = np.mean([1 / 2, 1.0])
    second = np.mean([1 / 2, 0.0])  # c is never predicted
    assert row["value"] == pytest.approx(np.mean([first, second]), abs=1e-12)
    none = rows.with_columns(q=pl.when(pl.col("fold") == 2).then(pl.lit("d")).otherwise("q"))
    scan = sqleval.scan(none, label="y", prediction="q", task="multiclass", over="fold")
    (row,) = scan.evaluate("recall(average='macro', zero_division=0)").collect().to_dicts()
    # d is not a label of the second fold: its recall is 0 / 0, and 0 here.
    assert row["value"] == pytest.approx(np.mean([np.mean([1.0, 1 / 2]), 0.0]), abs=1e-12)


def test_the_substitutions_of_a_request_are_in_order() -> None:
    binding = Binding("t", "multiclass", ())
    expected = request.parse("f1(average='weighted', multi_class='ovo')", "multiclass")
    (pairs,) = substitution.list_substitutions(expected, binding, is_arranged=False)
    assert pairs.supply == ("one_vs_one", ("class", "other"))
    assert pairs.reducer == "weighted mean"
    pooled = request.parse("f1(average='micro', multi_class='ovo')", "multiclass")
    (pairs,) = substitution.list_substitutions(pooled, binding, is_arranged=False)
    assert pairs.supply.keys == ()
    assert not pairs.is_folded
    ranking = request.parse("ndcg", "ranking")
    both = substitution.list_substitutions(ranking, Binding("t", "ranking", ()), is_arranged=True)
    assert [each.plural for each in both] == ["queries", "arrangements"]


def test_every_reducer_but_pooling_has_its_sql() -> None:
    named = set(substitution.Reducer.__args__)  # type: ignore[attr-defined]
    assert {*REDUCERS} == named - {"pooled"}
