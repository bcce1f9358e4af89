"""Counts of 1e10 rows on each engine: every metric has the same value as for few rows.

``python -m tests.engines.export.test_large_counts`` prints the differences on Spark, which needs a
separate process.
"""

import json
import os
import subprocess
import sys
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import NamedTuple

import pyarrow as pa
import pytest

from sqleval.export.statement import export_statement
from tests.support import support_matrix as matrix
from tests.support.engines import ENGINES, SLOW_ENGINES, Engine

#: The factor of the counts of a slice.
SCALES = (1, 10**9, 10**10)
#: Twelve rows with ties, of two classes and of three.
_COUNTS = (5, 1, 2, 4, 1, 3, 2, 3, 1, 4, 2, 5)
_ROWS = {
    "label": pa.array([1, 0, 1, 1, 0, 1, 0, 0, 1, 0, 0, 0], pa.int32()),
    "score": pa.array([0.9, 0.8, 0.8, 0.7, 0.6, 0.6, 0.4, 0.3, 0.3, 0.2, 0.1, 0.05]),
    "c": pa.array([0, 1, 2, 0, 1, 2, 0, 1, 2, 0, 1, 2], pa.int64()),
    "kind": pa.array([0, 0, 2, 1, 1, 2, 2, 0, 1, 0, 1, 0], pa.int64()),
    "p0": pa.array([0.6, 0.3, 0.1, 0.3, 0.2, 0.1, 0.3, 0.7, 0.3, 0.5, 0.2, 0.4]),
    "p1": pa.array([0.3, 0.3, 0.2, 0.4, 0.5, 0.2, 0.2, 0.2, 0.6, 0.3, 0.6, 0.4]),
    "p2": pa.array([0.1, 0.4, 0.7, 0.3, 0.3, 0.7, 0.5, 0.1, 0.1, 0.2, 0.2, 0.2]),
    "y": pa.array([0.5, 1.5, -1.0, 2.0, 0.0, 1.0, 3.0, 2.5, -2.0, 0.5, 1.0, 4.0]),
    "yhat": pa.array([0.0, 1.0, -1.5, 2.5, 0.5, 1.0, 2.0, 3.5, -1.0, 0.0, 1.5, 3.0]),
}
#: Metrics that multiply counts in whole numbers. Sail runs the text of all others, for which Spark
#: plans for minutes.
_AREAS = ("roc_auc", "gini", "rank_loss", "roc_auc_rank_sum", "roc_auc_trapezoid")
#: Statements of more metrics take longer than two of half as many.
_TOGETHER = 16
#: A metric, a slice, a column of the result, and the value there.
_Results = dict[tuple[object, object, str], object]


class _Statement(NamedTuple):
    """A set of metrics with the same roles."""

    first: matrix.Call
    names: Sequence[str]

    def write(self, dialect: str) -> str:
        sql = export_statement(
            self.names, dialect, "preds", ci=0.9, nulls="drop", **self.first.roles
        )
        return sql.rstrip().rstrip(";")

    def evaluate(self) -> _Results:
        bound = matrix.bind(self.first, _make_rows())
        frame = bound.evaluate([*self.names], ci=0.9, replicates=0).collect()
        return _list_results(frame.columns, frame.rows())


@cache
def _make_rows() -> pa.Table:
    tables = [
        pa.table(
            {
                **_ROWS,
                "count": pa.array([count * scale for count in _COUNTS], pa.int64()),
                "scale": pa.array([scale] * len(_COUNTS), pa.int64()),
            }
        )
        for scale in SCALES
    ]
    return pa.concat_tables(tables)


#: Metrics whose values grow with the counts.
_TOTALS = ("count", "sum")
#: Metrics whose values depend on the number of rows; all engines have the same ones.
_OF_ROWS = (
    "adjusted_r2", "debiased_calibration_error", "hosmer_lemeshow", "spiegelhalter_z",
)  # fmt: skip


def _list_statements(names: Sequence[str] = ()) -> list[_Statement]:
    """Return the statements of the metrics with these names, by default of all that take counts."""
    asked = [
        each._replace(roles={**each.roles, "weight": None, "counts": "count", "by": ["scale"]})
        for each in matrix.every()
        # A sum and a count grow with the counts.
        if "qid" not in each.roles and not matrix.is_curve(each) and each.name not in _TOTALS
    ]
    return [
        _Statement(first, listed[start : start + _TOGETHER])
        for first, listed in matrix.together([x for x in asked if not names or x.name in names])
        for start in range(0, len(listed), _TOGETHER)
    ]


def _list_results(columns: list[str], rows: list[tuple[object, ...]]) -> _Results:
    lower = [name.lower() for name in columns]
    named = [dict(zip(lower, row, strict=True)) for row in rows]
    assert not any(row.get("_problem") for row in named)
    return {
        (row["metric"], row["scale"], column): row[column]
        for row in named
        for column in ("value", "low", "high", "note")
    }


def find_differences(engine: Engine, names: Sequence[str] = ()) -> list[str]:
    """Return the results of an engine that differ from DuckDB's, or from those of few rows."""
    engine.load("preds", _make_rows())
    wrong: list[str] = []
    for statement in _list_statements(names):
        result = engine.run(statement.write(engine.dialect))
        got, expected = _list_results(result.columns, result.rows), statement.evaluate()
        assert got.keys() == expected.keys()
        for (metric, scale, column), given in got.items():
            wanted = [expected[metric, scale, column]]
            is_fixed = column == "value" and str(metric).partition("(")[0] not in _OF_ROWS
            wanted += [expected[metric, 1, column]] if is_fixed else []
            if any(matrix.compare([(given,)], [(each,)]) for each in wanted):
                wrong.append(f"{column} of {metric}, counts times {scale}: {given}, not {wanted}")
    return wrong


@pytest.mark.parametrize("name", ENGINES)
def test_a_value_does_not_depend_on_the_size_of_the_counts(name: str) -> None:
    with ENGINES[name]() as engine:
        assert find_differences(engine) == []


def test_a_value_does_not_depend_on_the_size_of_the_counts_on_spark() -> None:
    # Without the variables that PySpark has set in this process, if it used Connect.
    ours = {name: each for name, each in os.environ.items() if not name.startswith("SPARK_")}
    printed = subprocess.run(
        [sys.executable, "-W", "ignore", "-m", __name__],
        stdout=subprocess.PIPE, cwd=Path(__file__).parents[3], env=ours, check=True,
    ).stdout  # fmt: skip
    assert json.loads(printed) == []


if __name__ == "__main__":
    with SLOW_ENGINES["Spark"]() as spark:
        # Without ANSI mode, a number too large for a BIGINT is truncated, and not an error.
        spark.run("SET spark.sql.ansi.enabled = false")
        print(json.dumps(find_differences(spark, _AREAS)))
