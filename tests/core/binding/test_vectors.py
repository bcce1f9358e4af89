"""Tests a column of lists, arrays or structs that holds the scores of all classes."""

from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pyarrow as pa
import pytest
from scipy.special import softmax
from sklearn.metrics import accuracy_score, brier_score_loss, log_loss, roc_auc_score

import sqleval
from sqleval import DataError, RequestError
from tests.support.commands import run

RNG = np.random.default_rng(11)
N = 90
SCORES = RNG.dirichlet([1, 1, 1], N)
PLACES = np.array([RNG.choice(3, p=p) for p in SCORES])
NAMES = np.array(["ash", "birch", "cedar"])
#: Spark's struct of a vector.
VECTOR = pa.struct(
    [
        ("type", pa.int8()),
        ("size", pa.int32()),
        ("indices", pa.list_(pa.int32())),
        ("values", pa.list_(pa.float64())),
    ]
)


def make_vectors(scores: np.ndarray[Any, Any]) -> pa.Array:
    """Return Spark's vectors; those with a zero are sparse."""
    rows: list[dict[str, object]] = []
    for row in scores:
        places = np.flatnonzero(row)
        is_dense = len(places) == len(row)
        rows.append(
            {
                "type": 1 if is_dense else 0,
                "size": None if is_dense else len(row),
                "indices": None if is_dense else places.tolist(),
                "values": row[places].tolist(),
            }
        )
    return pa.array(rows, VECTOR)


TABLE = pa.table(
    {
        "place": pa.array(PLACES.astype(float)),
        "tree": pa.array(NAMES[PLACES]),
        "list": pa.array(SCORES.tolist()),
        "array": pa.FixedSizeListArray.from_arrays(pa.array(SCORES.ravel()), 3),
        "single": pa.array(SCORES.tolist(), pa.list_(pa.float32())),
        "fields": pa.array(
            [dict(zip(NAMES.tolist(), row, strict=True)) for row in SCORES.tolist()]
        ),
        "vector": make_vectors(SCORES),
        "output": pa.array([{"probs": row} for row in SCORES.tolist()]),
    }
)


def read_value(source: object, metric: str, **roles: Any) -> float:
    return sqleval.scan(source, **roles).evaluate(metric).collect()["value"].item()


@pytest.mark.parametrize(
    ("label", "score", "classes"),
    [
        ("place", "list", None),
        ("place", "array", None),
        ("place", "vector", None),
        ("place", "output.probs", None),
        ("tree", "fields", None),
        ("tree", "list", NAMES),
        ("tree", "array", [*NAMES]),
        ("place", "list", [0, 1, 2]),
    ],
)
def test_a_score_per_class(label: str, score: str, classes: Any, tmp_path: Path) -> None:
    path = tmp_path / "rows.parquet"
    pl.DataFrame(TABLE).write_parquet(path)
    for source in (TABLE, path):
        found = sqleval.scan(source, label=label, score=score, classes=classes).evaluate(
            ["log_loss", "roc_auc(average='macro')", "accuracy"]
        )
        want = [
            log_loss(PLACES, SCORES),
            roc_auc_score(PLACES, SCORES, multi_class="ovr"),
            accuracy_score(PLACES, SCORES.argmax(axis=1)),
        ]
        assert found.collect()["value"].to_list() == pytest.approx(want, abs=1e-12)


def test_a_list_of_floats() -> None:
    found = read_value(TABLE, "log_loss", label="place", score="single")
    assert found == pytest.approx(log_loss(PLACES, SCORES), abs=1e-6)


def test_models_with_vectors() -> None:
    found = sqleval.scan(TABLE, label="place", score={"a": "list", "b": "vector"})
    values = found.evaluate("log_loss").collect()["value"].to_list()
    assert values == pytest.approx([log_loss(PLACES, SCORES)] * 2, abs=1e-12)


@pytest.mark.parametrize("swap", [False, True])
def test_two_classes_have_one_score(swap: bool) -> None:
    scores = np.stack([1 - SCORES[:, 1], SCORES[:, 1]], axis=1)
    scores[:5] = [[1, 0], [0, 1]] * 2 + [[1, 0]]  # sparse
    truth = PLACES == 1
    columns = scores[:, ::-1] if swap else scores
    table = pa.table(
        {"y": pa.array(truth.astype(float)), "t": pa.array(np.where(truth, "yes", "no")),
         "v": make_vectors(columns), "l": pa.array(columns.tolist())}
    )  # fmt: skip
    want = roc_auc_score(truth, scores[:, 1])
    names = {True: ([1, 0], ["yes", "no"]), False: (None, ["no", "yes"])}[swap]
    for score in ("v", "l"):
        found = read_value(table, "roc_auc", label="y", score=score, classes=names[0])
        assert found == pytest.approx(want, abs=1e-12)
        found = read_value(
            table, "roc_auc", label="t", score=score, classes=names[1], positive="yes"
        )
        assert found == pytest.approx(want, abs=1e-12)


@pytest.mark.parametrize(
    ("kind", "positive"),
    [
        (pa.bool_(), True), (pa.bool_(), False), (pa.bool_(), "true"), (pa.float64(), 1.0),
        (pa.float64(), 0), (pa.int64(), "1"),
    ],
    ids=str,
)  # fmt: skip
def test_the_positive_value_of_a_label_chooses_the_place(kind: Any, positive: Any) -> None:
    truth = PLACES == 1
    both = np.stack([1 - SCORES[:, 1], SCORES[:, 1]], axis=1)
    table = pa.table({"y": pa.array(truth.astype(int)).cast(kind), "l": pa.array(both.tolist())})
    is_second = positive not in (0, False)
    want = roc_auc_score(truth == is_second, both[:, int(is_second)])
    found = read_value(table, "roc_auc", label="y", score="l", positive=positive)
    assert found == pytest.approx(want, abs=1e-12)


def test_the_second_field_of_a_struct_is_not_taken_for_the_positive_class() -> None:
    truth, p = PLACES == 1, SCORES[:, 1]
    rows = pa.table(
        {
            "y": pa.array(truth.astype(int)),
            "t": pa.array(np.where(truth, "won", "lost")),
            "p": pa.array([{"won": each, "lost": 1 - each} for each in p]),
            "q": pa.array([{"1": each, "0": 1 - each} for each in p]),
        }
    )
    want = roc_auc_score(truth, p)
    for roles in (
        {"label": "y", "score": "q"},
        {"label": "y", "score": "p.won"},
        {"label": "t", "score": "p", "positive": "won"},
    ):
        assert read_value(rows, "roc_auc", **roles) == pytest.approx(want, abs=1e-12)
    with pytest.raises(RequestError, match=r"positive class, score='p\.(won|lost)' or score='p"):
        sqleval.scan(rows, label="y", score="p")


def test_another_number_of_scores_is_an_error_that_shows_the_row() -> None:
    rows = pl.DataFrame({"y": [0, 1, 2, 1], "v": [[0.2, 0.3, 0.5]] * 3 + [[0.25, 0.75]]})
    for nulls in ("error", "drop"):
        with pytest.raises(DataError, match=r"2 scores in a row.*3 classes.*\[0\.25, 0\.75\]"):
            read_value(rows, "log_loss", label="y", score="v", nulls=nulls)
    missing = rows.with_columns(v=pl.when(pl.col("v").list.len() == 3).then("v"))
    with pytest.raises(DataError, match=r"score='v\[1\]' is NULL or NaN in 1 of 4 rows"):
        read_value(missing, "log_loss", label="y", score="v")
    assert sqleval.scan(missing, label="y", score="v", nulls="drop").evaluate("log_loss").collect()[
        "n_dropped"
    ].to_list() == [1]


@pytest.mark.parametrize(
    ("roles", "message"),
    [
        ({"label": "tree", "score": "list"}, r"a text.*classes=\['ash', 'birch', 'cedar'\]"),
        ({"label": "tree", "score": "array", "classes": ["a", "b"]}, "3 scores in each row, and"),
        ({"label": "tree", "score": "fields", "classes": ["a"]}, "fields ash, birch, cedar"),
        ({"label": "place", "score": "list[1]", "classes": [1]}, "has one number in each row"),
        ({"label": "place", "score": "array", "classes": [1, 1, 2]}, "names 1 twice"),
        ({"label": "place", "score": "list", "classes": []}, "names no class"),
        ({"label": "place = 1", "score": "list"}, r"a truth value: name .* score='list\[2\]'"),
    ],
)  # fmt: skip
def test_wrong_classes(roles: dict[str, Any], message: str) -> None:
    with pytest.raises(RequestError, match=message):
        sqleval.scan(TABLE, **roles)


def test_the_command_and_a_query(tmp_path: Path) -> None:
    path = tmp_path / "rows.parquet"
    pl.DataFrame(TABLE).write_parquet(path)
    want = f"{log_loss(PLACES, SCORES):.6f}"
    more = ("--classes", "ash,birch,cedar", "-m", "log_loss")
    assert want in run("evaluate", str(path), "--label", "tree", "--score", "list", *more).stdout
    query = f"SELECT tree, list FROM '{path}'"
    done = run("evaluate", "--query", query, "--label", "tree", "--score", "list", *more)
    assert want in done.stdout


@pytest.mark.parametrize("kind", [pl.Float64, pl.Float32])
@pytest.mark.parametrize("count", [2, 4])
def test_the_softmax_of_logits_is_evaluated(kind: Any, count: int) -> None:
    logits = RNG.normal(0, 2, (N, count)).astype(np.float32)
    logits[0] *= 500  # EXP would overflow
    truth = np.arange(N) % count
    rows = pl.DataFrame({"y": truth, "l": pl.Series(logits, dtype=pl.Array(kind, count))})
    p = softmax(logits.astype(float), axis=1)
    area = "roc_auc" if count == 2 else "roc_auc(average='macro')"
    found = sqleval.scan(rows, label="y", score="l").evaluate([area, "brier_score", "accuracy"])
    with pytest.warns(sqleval.UnmatchedRows, match="its softmax is evaluated"):
        values = found.collect()["value"].to_list()
    if count == 2:
        want = [roc_auc_score(truth, p[:, 1]), brier_score_loss(truth, p[:, 1])]
    else:
        squares = (p - np.eye(count)[truth]) ** 2
        want = [roc_auc_score(truth, p, multi_class="ovr"), squares.sum(axis=1).mean()]
    want.append(accuracy_score(truth, p.argmax(axis=1)))
    assert values == pytest.approx(want, abs=1e-12)


def test_logits_of_several_models() -> None:
    logits = RNG.normal(0, 2, (N, 3))
    rows = pl.DataFrame({"y": PLACES, "a": logits, "b": SCORES})
    found = sqleval.scan(rows, label="y", score={"a": "a", "b": "b"}).evaluate("log_loss")
    with pytest.warns(sqleval.UnmatchedRows, match="score='a' holds numbers outside"):
        values = found.collect()["value"].to_list()
    want = [log_loss(PLACES, softmax(logits, axis=1)), log_loss(PLACES, SCORES)]
    assert values == pytest.approx(want, abs=1e-12)
