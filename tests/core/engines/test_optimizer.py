"""DuckDB's optimizer is off only where it takes more time than it saves."""

from collections.abc import Sequence
from typing import Any

import pytest

import sqleval
from sqleval.engines import duckdb, duckdb_connection
from sqleval.sources.source import Source
from tests.support.cases import drawn


@pytest.mark.parametrize(
    ("asked", "n", "optimized"),
    [
        # Its windows sum: without the optimizer, their time grows with the square of the rows.
        ("curve", 300, False), ("curve", 1_000, True), ("curve", 20_000, True),
        # It has no windows.
        ("metric", 300, False), ("metric", 20_000, False), ("metric", 20_001, True),
        ("classes", 5_000, False), ("classes", 5_001, True),
    ],
)  # fmt: skip
def test_what_is_optimized(
    asked: str, n: int, optimized: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    decisions: list[bool] = []

    def decide(statement: str, sources: Sequence[Source]) -> bool:
        decisions.append(duckdb_connection.should_optimize(statement, sources))
        return decisions[-1]

    monkeypatch.setattr(duckdb, "should_optimize", decide)
    frame = drawn("binary", n)
    score: Any = "p"
    if asked == "classes":
        score = {i: f"p_{i}" for i in range(17)}
        frame = frame.with_columns(frame["p"].alias(name) for name in score.values())
    task = "multiclass" if asked == "classes" else "binary"
    scan = sqleval.scan(frame, label="y", score=score, task=task)
    lazy: Any = scan.curve("roc") if asked == "curve" else scan.evaluate("accuracy")
    lazy.collect()
    assert decisions[-1] is optimized


@pytest.mark.parametrize(("length", "optimized"), [(200_000, False), (200_001, True)])
def test_a_long_statement_is_optimized(length: int, optimized: bool) -> None:
    source = Source("t", rows=10)
    assert duckdb_connection.should_optimize(f"SELECT {'1' * (length - 7)}", [source]) is optimized


@pytest.mark.parametrize(
    ("statement", "sums"),
    [
        ("SELECT SUM(a) AS a, RANK() OVER (ORDER BY b), LAG(b) OVER (ORDER BY b)", 0),
        ("SELECT SUM(a) OVER (), COUNT(*) OVER (PARTITION BY b)", 2),
        ("SELECT MAX(\n  CASE WHEN a IN (1, (2)) THEN f(g(b)) END\n) OVER (ORDER BY b)", 1),
    ],
)
def test_sums_over_windows_are_counted(statement: str, sums: int) -> None:
    assert duckdb_connection._count_sums(statement) == sums
