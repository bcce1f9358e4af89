"""Other engines read labels and predictions of several types as DuckDB does."""

import itertools
import warnings
from collections.abc import Iterator
from typing import Any

import pyarrow as pa
import pytest
from sklearn.metrics import accuracy_score, f1_score

import sqleval
from sqleval import UnmatchedRows
from sqleval.engines.opening import open_engine
from tests.support.engines import PostgreSQL

TYPES = ("BOOLEAN", "TINYINT", "BIGINT", "DECIMAL(4, 1)", "FLOAT", "DOUBLE", "STRING")
Y, C = [1, 0, 1, 0, 1], [1, 1, 1, 0, 0]
LABELS, PREDICTIONS = [0, 1, 2, 2, 1, 0], [0, 1, 1, 2, 2, 0]


@pytest.fixture(scope="module")
def session() -> Iterator[Any]:
    """Return Sail's session."""
    engine: Any = open_engine("sail")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # PySpark 4.2 about pandas 3
        yield engine.session


def select(session: Any, labels: list[int], predictions: list[int], *types: str) -> Any:
    rows = ", ".join(f"({y}, {c})" for y, c in zip(labels, predictions, strict=True))
    y, c = (f"CAST({name} AS {kind}) AS {name}" for name, kind in zip("yc", types, strict=True))
    return session.sql(f"SELECT {y}, {c} FROM VALUES {rows} AS t(y, c)")


@pytest.mark.parametrize(
    ("label", "prediction"), [pair for pair in itertools.product(TYPES, TYPES) if "BIGINT" in pair]
)
def test_0_and_1_of_any_types(label: str, prediction: str, session: Any) -> None:
    frame = select(session, Y, C, label, prediction)
    bound = sqleval.scan(frame, label="y", prediction="c")
    assert bound.task == "binary"
    found = bound.evaluate(["accuracy", "f1"]).collect()["value"].to_list()
    assert found == pytest.approx([accuracy_score(Y, C), f1_score(Y, C)])


@pytest.mark.parametrize(
    ("label", "prediction"),
    [("BIGINT", "DOUBLE"), ("STRING", "BIGINT"), ("DECIMAL(4, 1)", "TINYINT"), ("STRING", "FLOAT")],
)
def test_whole_numbers_of_any_types(label: str, prediction: str, session: Any) -> None:
    bound = sqleval.scan(
        select(session, LABELS, PREDICTIONS, label, prediction), label="y", prediction="c"
    )
    assert bound.task == "multiclass"
    found = bound.evaluate(["accuracy", "f1_macro"]).collect()["value"].to_list()
    macro = f1_score(LABELS, PREDICTIONS, average="macro")
    assert found == pytest.approx([accuracy_score(LABELS, PREDICTIONS), macro])


def test_texts_are_not_rounded(session: Any) -> None:
    frame = session.sql(
        "SELECT * FROM VALUES ('1.5', 2), ('2', 2), ('3.4', 3), ('x', 5) AS t(y, c)"
    )
    with pytest.warns(UnmatchedRows, match="no class of the label"):
        found = sqleval.scan(frame, label="y", prediction="c").evaluate("accuracy").collect()
    assert found["value"].item() == 0.25


@pytest.fixture(scope="module")
def server() -> Iterator[PostgreSQL]:
    with PostgreSQL() as server:
        yield server


@pytest.mark.parametrize(
    ("texts", "accuracy"),
    [(["1", "1.0", " 1 ", "0", "0e0"], 0.6), (["x", "1e999", "1", "1.5", "0"], 0.2)],
)
def test_postgresql_reads_texts_as_numbers(
    texts: list[str], accuracy: float, server: PostgreSQL
) -> None:
    server.load("texts", pa.table({"y": Y, "c": texts}))
    bound = sqleval.scan("texts", label="y", prediction="c", task="multiclass", engine=server.url)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UnmatchedRows)
        assert bound.evaluate("accuracy").collect()["value"].item() == pytest.approx(accuracy)
