"""States of many labels hold decisions by label, and sums over rows, which add up over days."""

from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from sklearn import metrics as sk

import sqleval
from sqleval import RequestError
from sqleval.states.merging import merge_states
from tests.support.commands import run
from tests.support.many_labels import METRICS, ROLES, make_rows

HELD = [
    *(name for name in METRICS if name != "roc_auc_macro"), "f1_weighted", "jaccard_samples",
    "matthews_corrcoef(average='macro')",
]  # fmt: skip


def read(lazy: pl.LazyFrame, keys: list[str]) -> dict[Any, Any]:
    """Return the value and the numbers of rows of each metric."""
    frame = lazy.collect()
    rows = frame.rows(named=True)
    names = [*keys, "class", "metric"]
    return {
        tuple(row.get(name) for name in names): (row["value"], row["n"], row["n_dropped"])
        for row in rows
    }


def check_equal(found: dict[Any, Any], want: dict[Any, Any]) -> None:
    assert found.keys() == want.keys()
    for key, (value, *counts) in want.items():
        assert found[key][0] == pytest.approx(value, abs=1e-12)
        assert [*found[key][1:]] == counts


@pytest.mark.parametrize("weight", [None, "w"])
@pytest.mark.parametrize("by", [[], ["g"]])
def test_states_of_days_give_the_values_of_all_rows(weight: str | None, by: list[str]) -> None:
    # A row without a score is left out as a whole, and counted.
    rows = make_rows().with_columns(
        p_a=pl.when(pl.col("id") % 9 > 0).then("p_a"),
        w=pl.col("id") % 4 * 0.5,
        day=pl.col("id") % 3,
    )
    roles: dict[str, Any] = {**ROLES, "weight": weight, "nulls": "drop"}
    days = [sqleval.scan(day, **roles, by="g").state(HELD).collect()
            for day in rows.partition_by("day")]  # fmt: skip
    want = read(sqleval.scan(rows, **roles, by=by).evaluate(HELD), by)
    state = pl.concat(days)
    check_equal(read(sqleval.from_state(state, by=by).evaluate(HELD), by), want)
    merged = merge_states(state).collect()
    assert merged.height < state.height
    check_equal(read(sqleval.from_state(merged, by=by).evaluate(HELD), by), want)


def test_means_over_rows_equal_scikit_learn(tmp_path: Path) -> None:
    rows = make_rows()
    labels, scores = (rows.select(name).to_numpy() for name in ("^y_.$", "^p_.$"))
    rows.write_parquet(tmp_path / "rows.parquet")
    named = [("--label", f"{name}=y_{name}", "--score", f"{name}=p_{name}") for name in "abc"]
    options = [word for each in named for word in each]
    state = str(tmp_path / "state.parquet")
    run("state", "build", str(tmp_path / "rows.parquet"), *options, "--output", state)
    found = read(sqleval.from_state(state).evaluate(), [])
    values = {metric: value for (_, metric), (value, *_) in found.items()}
    assert values == pytest.approx(
        {
            "f1(average='macro')": sk.f1_score(labels, scores >= 0.5, average="macro"),
            "f1(average='micro')": sk.f1_score(labels, scores >= 0.5, average="micro"),
            "f1(average='samples')": sk.f1_score(
                labels, scores >= 0.5, average="samples", zero_division=0
            ),
            "hamming_loss": sk.hamming_loss(labels, scores >= 0.5),
            "subset_accuracy": sk.accuracy_score(labels, scores >= 0.5),
        },
        abs=1e-12,
    )
    ranked = sqleval.from_state(state).evaluate("lrap").collect()["value"].item()
    assert ranked == pytest.approx(
        sk.label_ranking_average_precision_score(labels, scores), abs=1e-12
    )


def test_several_models_and_thresholds_of_labels() -> None:
    rows = make_rows()
    score = {"one": ROLES["score"], "other": {name: f"p_{name}" for name in "bca"}}
    score["other"] = dict(zip("abc", score["other"].values(), strict=True))
    scan = sqleval.scan(rows, label=ROLES["label"], score=score)
    want = read(scan.evaluate(HELD), ["model"])
    state = scan.state(HELD).collect()
    check_equal(read(sqleval.from_state(state, by="model").evaluate(HELD), ["model"]), want)
    limits = {"a": 0.3, "b": 0.5, "c": 0.7}
    scan = sqleval.scan(rows, **ROLES, threshold=limits)
    state = scan.state("f1_samples").collect()
    found = sqleval.from_state(state).evaluate(["f1_samples", "f1_micro"])
    check_equal(read(found, []), read(scan.evaluate(["f1_samples", "f1_micro"]), []))
    other = sqleval.scan(rows, **ROLES, threshold={**limits, "a": 0.4}).state("f1_samples")
    with pytest.raises(RequestError, match="these states cannot be merged: roles is"):
        sqleval.from_state(pl.concat([state, other.collect()]))


def test_no_rows() -> None:
    state = sqleval.scan(make_rows().head(0), **ROLES).state(HELD).collect()
    assert state.is_empty()
    with pytest.raises(sqleval.SourceError, match="has no rows, so it has no definition"):
        sqleval.from_state(state)


@pytest.mark.parametrize(
    ("metric", "message"),
    [
        ("roc_auc_macro", r"roc_auc\(average='macro'\) needs the scores of all rows"),
        ("log_loss(average='macro')", "needs the scores of all rows"),
        ("f1(average='macro', threshold=0.3)", r"holds one decision; give threshold="),
    ],
)
def test_what_needs_the_scores_is_refused(metric: str, message: str) -> None:
    with pytest.raises(RequestError, match=message):
        sqleval.scan(make_rows(), **ROLES).state(metric)


def test_what_a_state_of_many_labels_lacks() -> None:
    state = sqleval.scan(make_rows(), **ROLES).state("f1_samples").collect()
    with pytest.raises(RequestError, match="the state does not hold hamming_loss; it holds f1"):
        sqleval.from_state(state).evaluate("hamming_loss").collect()
    with pytest.raises(RequestError, match="labels of a row are not independent, and a state"):
        sqleval.from_state(state).evaluate("f1_macro", ci=0.95)
    with pytest.raises(RequestError, match="a state of many labels holds decisions"):
        sqleval.from_state(state, threshold=0.3)
    by_label = sqleval.from_state(state).evaluate("f1(average=None)", ci=0.95).collect()
    want = sqleval.scan(make_rows(), **ROLES).evaluate("f1(average=None)", ci=0.95).collect()
    assert by_label["low"].to_list() == pytest.approx(want["low"].to_list(), abs=1e-12)
    rows = make_rows().with_columns(pl.lit("x").alias("class"))
    with pytest.raises(RequestError, match="by='class': a state has a column of that name"):
        sqleval.scan(rows, **ROLES, by="class").state("f1_samples")
    assert np.isfinite(by_label["value"].to_numpy()).all()
