"""SQL text for other engines: runs without a server, refused requests, quoted names."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import cache

import pytest
import sqlglot

from sqleval import RequestError
from sqleval.export.statement import export_statement
from tests.support import support_matrix as matrix
from tests.support.engines import ENGINES, HERE
from tests.support.versions import needs

POLARS = needs("the SQL of Polars 1 has no literals such as 5e-1", polars="2")


def read_cells(column: str) -> set[str]:
    """Return the distinct cells of a column of the page, which has a row for each request."""
    lines = matrix.PAGE.read_text(encoding="utf-8").splitlines()
    header, _, *rows = (
        [cell.strip() for cell in line.split("|")] for line in lines if line.startswith("|")
    )
    assert [row[1] for row in rows] == [asked.shown for asked in matrix.every()]
    return {row[header.index(column)] for row in rows}


#: Metrics that together cover every method of intervals in closed form, with and without a SQL file
#: for intervals: they are requested with an interval, and values and intervals are compared.
_WITH_INTERVALS = {
    "gini", "average_precision", "cohen_kappa", "matthews_corrcoef", "expected_cost",
    "normalized_entropy", "pcoc", "brier_uncertainty", "log_loss", "rmse", "accuracy",
}  # fmt: skip
#: Statements of more metrics take longer than two of half as many.
_TOGETHER = 16


def _has_interval(asked: matrix.Call) -> bool:
    return asked.name in _WITH_INTERVALS


def _split(asked: list[matrix.Call]) -> Iterator[tuple[matrix.Call, list[str], float | None]]:
    """Yield the requests of each statement, and the level of their intervals, if any."""
    for ci in (None, 0.9):
        some = [each for each in asked if _has_interval(each) == (ci is not None)]
        for first, names in matrix.together(some) if some else []:
            for start in range(0, len(names), _TOGETHER):
                yield first, names[start : start + _TOGETHER], ci


@cache
def _write(first: str, names: tuple[str, ...], dialect: str, ci: float | None) -> str:
    """Return the statement of several requests; three engines run PostgreSQL's text."""
    asked = next(each for each in matrix.every() if each.shown == first)
    sql = export_statement(names, dialect, asked.table, nulls="drop", ci=ci, **asked.roles)
    return sql.rstrip().rstrip(";")


Rows = dict[object, list[tuple[object, ...]]]


def _group_by_metric(columns: Sequence[str], rows: Sequence[tuple[object, ...]]) -> Rows:
    """Return the rows of each metric by its name; a curve's rows stay together."""
    lower = [name.lower() for name in columns]
    place = lower.index("metric") if "metric" in lower else None
    grouped: Rows = {}
    # Units differ by engine: rows on DuckDB, distinct scores elsewhere.
    for row in rows:
        alike = [re.sub("^(rows|groups)(; |$)", "", x) if isinstance(x, str) else x for x in row]
        grouped.setdefault(None if place is None else row[place], []).append(tuple(alike))
    return grouped


@cache
def _evaluate(first: str, names: tuple[str, ...], ci: float | None) -> Rows:
    """Return the rows of each metric as `evaluate` gives them, once for all engines."""
    asked = next(each for each in matrix.every() if each.shown == first)
    source = matrix.tables()[asked.table]
    if ci is None:
        frame = matrix.evaluate(asked, names, source).collect()
    else:
        # A text has only the intervals in closed form.
        frame = matrix.bind(asked, source).evaluate(names, ci=ci, replicates=0).collect()
    # The audit of a text reports no problem.
    frame = frame.with_columns(_problem=None, _notice=None)
    return _group_by_metric(frame.columns, frame.rows())


#: The engines of this lane.
NAMES = [pytest.param(name, marks=[POLARS] if name == "Polars" else [], id=name) for name in HERE]


@pytest.mark.parametrize("name", NAMES)
def test_the_page_agrees_with_the_engine(name: str) -> None:
    check_engine(name)


def check_engine(name: str) -> None:
    """Check that an engine gives the values of all metrics and curves, as the page says."""
    assert read_cells(name) == {"="}
    every = matrix.every()
    assert {asked.name for asked in every if _has_interval(asked)} == _WITH_INTERVALS
    wrong: dict[object, str] = {}
    with ENGINES[name]() as engine:
        matrix.load(engine)
        for first, names, ci in _split(every):
            expected = _evaluate(first.shown, tuple(names), ci)
            result = engine.run(_write(first.shown, tuple(names), engine.dialect, ci))
            got = _group_by_metric(result.columns, result.rows)
            assert got.keys() == expected.keys(), names
            for metric, rows in expected.items():
                wrong[first.name, metric] = matrix.compare(got[metric], rows)
    assert not any(wrong.values()), {key: each for key, each in wrong.items() if each}


ROLES = {"label": "y", "score": "p"}
_REFUSED = [
    (["roc_acu"], "spark", "t", ROLES, r"no metric called 'roc_acu'; did you mean 'roc_auc'"),
    (["roc_auc"], "sprk", "t", ROLES, r"no dialect 'sprk'; did you mean 'spark'"),
    *(
        (["roc_auc"], gone, "t", ROLES, rf"no dialect '{gone}'.* \(bigquery, .*, trino\)")
        for gone in ("redshift", "tsql")
    ),
    (["roc_auc"], "duckdb", "t; DROP TABLE t", ROLES, "must be the name of a table"),
    (["roc_auc"], "duckdb", "(SELECT 1)", ROLES, "must be the name of a table"),
    (["roc_auc"], "duckdb", "t", {"label": "y"}, "give score= or prediction="),
    (["rmse"], "duckdb", "t", ROLES, "prediction= is needed"),
    (
        ["roc_auc"],
        "duckdb",
        "t",
        {**ROLES, "by": ["value"]},
        "the result has a column of that name",
    ),
]


@pytest.mark.parametrize(("metrics", "dialect", "table", "roles", "message"), _REFUSED)
def test_requests_that_a_dialect_lacks_are_refused(metrics, dialect, table, roles, message) -> None:
    with pytest.raises(RequestError, match=message):
        export_statement(metrics, dialect, table, **roles)


def test_names_are_quoted_where_needed() -> None:
    roles = {"label": 'y"; DROP TABLE t; --', "score": "order", "by": ["my key", "plain"]}
    sql = export_statement(["roc_auc"], "postgres", "lake.Preds", **roles)
    (tree,) = sqlglot.parse(sql, dialect="postgres")
    names = {column.name for column in tree.find_all(sqlglot.exp.Column)}
    assert {'y"; DROP TABLE t; --', "order", "my key", "plain"} <= names
    assert "s.plain AS" in sql  # quoted, it would no longer fold to the table's own case
    assert "FROM lake.Preds AS s" in sql
    sql = export_statement(["accuracy"], "bigquery", "t", label="y", score="p", by=["`my key`"])
    assert "AS `my key`," in sql


def test_relations_within_two_relations_have_different_names() -> None:
    # Spark's text has all relations at the top level.
    steps = ["logistic_calibration_intercept", "logistic_calibration_slope"]
    tree = sqlglot.parse_one(export_statement(steps, "spark", "t", **ROLES), dialect="spark")
    names = [cte.alias for cte in tree.ctes]
    assert names.count("steps") == names.count("steps_20") == 1
    assert len({*names}) == len(names) > 45


def test_a_positive_value_is_read_as_sql_reads_it() -> None:
    for given, shown in (("yes", "'yes'"), ("2", "2"), ("true", "TRUE"), ("'2'", "'2'")):
        sql = export_statement(["precision"], "postgres", "t", **ROLES, positive=given)
        assert "s.y AS label" in sql  # not cast, because the column's type is unknown
        assert f"CASE WHEN label = {shown} THEN 1 ELSE 0 END" in sql


def test_the_formula_stands_above_the_statement() -> None:
    sql = export_statement(["roc_auc", "f_beta(beta=2)"], "trino", "t", **ROLES)
    assert sql.startswith("-- roc_auc: probability that")
    assert "-- f_beta(beta=2): " in sql
    assert "valid only where _problem is NULL" in sql.partition("WITH")[0]
    assert "counted in n_dropped" not in sql
    dropping = export_statement(["roc_auc"], "trino", "t", **ROLES, nulls="drop")
    assert "Rows where y or p is NULL or NaN are left out and counted in n_dropped." in dropping
