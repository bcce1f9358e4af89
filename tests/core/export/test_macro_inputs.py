"""Macros take any table, query and column name, and refuse what the library refuses."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import polars as pl
import pytest

from tests.support.macros import create_table, fetch_rows

NAMES = [
    "label", "score", "weight", "slice", "threshold", "metrics", "tbl", "nulls", "precision",
    "y", "value", "n", "_sqleval_source", "slice_1", "a", "s", "prediction", "note",
]  # fmt: skip


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("rows")


@pytest.fixture(scope="module")
def own(console: duckdb.DuckDBPyConnection, folder: Path) -> Iterator[duckdb.DuckDBPyConnection]:
    """Yield a connection with three right rows and two wrong, under names that could clash."""
    rows = "(VALUES (0, 0.1, 'u'), (0, 0.6, 'u'), (1, 0.7, 'v'), (1, 0.4, 'v'), (1, 0.9, 'u'))"
    con = console.cursor()
    con.execute(f"CREATE OR REPLACE TABLE t AS FROM {rows} AS v(y, p, g)")
    con.execute("CREATE SCHEMA IF NOT EXISTS other")
    con.execute("CREATE OR REPLACE TABLE other.t AS FROM t")
    con.execute("CREATE OR REPLACE VIEW seen AS FROM t")
    con.execute('CREATE OR REPLACE TABLE "odd name" AS SELECT y, p AS "the score" FROM t')
    con.execute("CREATE OR REPLACE VIEW with_nan AS FROM t UNION ALL SELECT 'nan'::DOUBLE, 1, 'u'")
    con.execute(f"COPY t TO '{folder}/one.parquet'")
    con.execute(f"COPY t TO '{folder}/two.parquet'")
    for name in ("predictions", "_sqleval_source", "_sqleval_predictions", "evaluate"):
        con.execute(f"CREATE OR REPLACE TABLE {name} AS FROM t")
    yield con
    for name in ("predictions", "_sqleval_source", "_sqleval_predictions", "evaluate"):
        con.execute(f"DROP TABLE {name}")


@pytest.mark.parametrize("kind", ["INTEGER", "DOUBLE", "DECIMAL(5, 2)", "BOOLEAN", "VARCHAR"])
def test_equal_classes_of_other_types(console: duckdb.DuckDBPyConnection, kind: str) -> None:
    con = console.cursor()
    rows = "(VALUES (0, 0), (0, 1), (1, 1), (1, 1), (NULL, 1)) AS v(y, c)"
    con.execute(f"CREATE OR REPLACE TABLE classes AS FROM {rows}")
    for label, prediction in ((f"y::{kind}", "c"), ("y", f"c::{kind}"), (f"y::{kind}",) * 2):
        found = con.execute(
            f"SELECT value, n FROM sqleval.accuracy('classes', label := {label}, "
            f"prediction := {prediction.replace('y', 'c')}, nulls := 'drop')"
        ).fetchall()
        assert found == [(0.75, 4)]


def test_numbers_beside_texts_are_refused(console: duckdb.DuckDBPyConnection) -> None:
    con = console.cursor()
    con.execute("CREATE OR REPLACE TABLE mixed AS FROM (VALUES ('1', 1), ('0', 1)) AS v(y, c)")
    call = "FROM sqleval.accuracy('mixed', label := {}, prediction := {})"
    with pytest.raises(duckdb.Error, match=r"prediction holds 1\.0, which no label spells so"):
        con.execute(call.format("y", "c::DOUBLE")).fetchall()
    for label, prediction in (("y", "c"), ("y::DOUBLE", "c::DOUBLE"), ("y || '.0'", "c::DOUBLE")):
        (row,) = con.execute(call.format(label, prediction)).fetchall()
        assert row[2] == 0.5


@pytest.mark.parametrize(
    "call",
    [
        "FROM sqleval.roc_auc('t', label := y, score := p)",
        "FROM sqleval.roc_auc('t', y, p)",
        "FROM sqleval.roc_auc(t, label := y, score := p)",
        "FROM sqleval.roc_auc('other.t', label := y, score := p)",
        "FROM sqleval.roc_auc('seen', label := y, score := p)",
        "WITH cte AS (FROM t) FROM sqleval.roc_auc('cte', label := y, score := p)",
        "WITH predictions AS (FROM t) FROM sqleval.roc_auc('predictions', label := y, score := p)",
        "FROM sqleval.roc_auc('predictions', label := y, score := p)",
        "FROM sqleval.roc_auc('_sqleval_predictions', label := y, score := p)",
        "FROM sqleval.roc_auc('_sqleval_source', label := y, score := p)",
        "FROM sqleval.roc_auc('evaluate', label := y, score := p)",
        'FROM sqleval.roc_auc(\'"odd name"\', label := y, score := "the score")',
        "FROM sqleval.roc_auc('{folder}/one.parquet', label := y, score := p)",
        "FROM sqleval.roc_auc('{folder}/*.parquet', label := y, score := p)",
        "FROM sqleval.roc_auc('t', label := (y = 1), score := 2 * p)",
        "FROM sqleval.roc_auc('t', label := y > 0, score := p - 7)",
        "FROM sqleval.roc_auc('t', label := 1 - y, score := -p)",
        "FROM sqleval.roc_auc('t', label := CAST(y AS VARCHAR), score := p)",
        "FROM sqleval.roc_auc_pairs('t', label := y, score := p, weight := 1)",
        "FROM sqleval.roc_auc('with_nan', label := y, score := p, nulls := 'drop')",
        "FROM sqleval.evaluate('t', label := y, score := p, metrics := 'roc_auc,roc_auc')",
        "FROM sqleval.roc_auc_pairs('t', label := y, score := p, weight := 2 * y + 1)",
        "FROM (FROM sqleval.evaluate('t', label := y, score := p)) WHERE metric = 'roc_auc'",
        "SELECT e.* FROM sqleval.evaluate('t', label := y, score := p, metrics := ['roc_auc']) e",
    ],
)
def test_inputs(call: str, own: duckdb.DuckDBPyConnection, folder: Path) -> None:
    (row,) = fetch_rows(own, call.format(folder=folder))
    assert row["value"] == pytest.approx(5 / 6)
    assert list(row) == ["slice", "metric", "value", "n", "n_dropped", "note"]


@pytest.mark.parametrize("label", NAMES)
def test_columns_of_any_name(label: str, own: duckdb.DuckDBPyConnection) -> None:
    # Also swapped: the label in a column called score. Each label ends with another score.
    place = NAMES.index(label)
    for score in [*NAMES[place + 1 :], *NAMES[:place]][::5]:
        others = "".join(f', 1000 AS "{name}"' for name in {*NAMES} - {label, score})
        own.execute(
            f'CREATE OR REPLACE TABLE odd AS SELECT y AS "{label}", p AS "{score}"{others} FROM t'
        )
        roles = f'label := "{label}", score := "{score}"'
        # Each pair of names has one of two metrics; each name has both, in either role.
        if (place + NAMES.index(score)) % 2:
            (row,) = fetch_rows(own, f"FROM sqleval.f1('odd', {roles}, threshold := 0.5)")
            assert (row["slice"], row["value"], row["n"]) == ("all", pytest.approx(2 / 3), 5)
        else:
            (row,) = fetch_rows(own, f"FROM sqleval.roc_auc('odd', {roles})")
            assert row["value"] == pytest.approx(5 / 6)
    slices = f'slice := {{"{label}": "{label}"}}'
    rows = fetch_rows(own, f"FROM sqleval.roc_curve('odd', {roles}, {slices})")
    assert [*{row["slice"][label]: 0 for row in rows}] == [0, 1]


@pytest.mark.parametrize("place", range(0, 9, 3))
def test_columns_of_any_name_for_evaluate(place: int, own: duckdb.DuckDBPyConnection) -> None:
    # `evaluate` plans every metric, so each name is a slice every time, and three of them have a
    # role once; the test above gives the others a role.
    label, score, weight = NAMES[place : place + 3]
    values = {**dict.fromkeys(NAMES, "y"), score: "p", weight: "2"}
    columns = ", ".join(f'{value} AS "{name}"' for name, value in values.items())
    own.execute(f"CREATE OR REPLACE TABLE odd AS SELECT {columns} FROM t")
    roles = f'label := "{label}", score := "{score}", weight := "{weight}"'
    slices = ", ".join(f'"{name}": "{name}"' for name in NAMES)
    rows = fetch_rows(own, f"FROM sqleval.evaluate('odd', {roles}, slice := {{{slices}}})")
    # A slice for each row.
    found = [
        (*row["slice"].values(), row["value"]) for row in rows if row["metric"] == "brier_score"
    ]
    squared = f'POW("{score}" - "{label}", 2)'
    expected = own.execute(f"SELECT *, {squared} FROM odd ORDER BY ALL").fetchall()
    assert sorted(found) == [(*row[:-1], pytest.approx(row[-1])) for row in expected]


ROWS = {"y": [1, 0, 1], "p": [0.2, 0.4, 0.9], "w": [1.0, 2.0, 1.0], "c": [1, 0, 0]}
OUTSIDE, NO_SCORE = {"p": [0.2, 1.5, -2.0]}, {"p": [None] * 3}
WORDS, NO_CLASS = {"y": ["yes", "no", "yes"]}, {"c": [None] * 3}
#: A call (``*`` stands for the table, the label and the score), columns, the message.
REFUSED: list[tuple[str, dict[str, Any], str]] = [
    ("roc_auc(*)", WORDS, "label must hold 0 and 1.*not no"),
    ("roc_auc(*)", {"y": [0, 1, 2]}, "label must hold 0 and 1"),
    ("roc_auc(*)", {"y": [-1, 0, 1]}, "label must hold 0 and 1"),
    ("roc_auc(*, slice := w)", {"y": [-1, 0, 1]}, "label must hold 0 and 1"),
    ("roc_auc(*)", {"y": [0.5, 0.0, 1.0]}, "label must hold 0 and 1"),
    ("roc_auc(*)", {"y": [1, None, 0]}, "label is NULL.*in 1 of 3 rows"),
    ("roc_auc(*)", {"y": [1.0, np.nan, 0.0]}, "label is NULL or NaN.*in 1 of 3 rows"),
    ("roc_auc(*)", {"p": [None, None, 0.5]}, "score is NULL.*in 2 of 3 rows"),
    ("roc_auc(*)", {"p": [np.nan, 0.1, 0.5]}, "score is NULL or NaN.*in 1 of 3"),
    ("roc_auc(*, weight := w)", {"w": [1.0, -1.0, 1.0]}, "weight is negative in 1 of 3"),
    ("log_loss(*, weight := w)", {"w": [1.0, np.nan, 1.0]}, "weight is NULL.*in 1 of 3"),
    ("log_loss(*, weight := w)", {"w": [1.0, 1e155, 1.0]}, "the largest weight .* is 1e[+]155"),
    ("f1(*, weight := w, slice := c)", {"w": [1e-200, 0.0, 2.0]}, "largest weight .* is 1e-200"),
    ("accuracy('t', label := y, prediction := c, weight := w)", {"w": [1e155] * 3}, "1e-100 .. 1e"),
    ("f1(*, weight := w)", {"w": [-1.0, -1.0, 1.0]}, "weight is negative in 2 of 3"),
    ("log_loss(*)", OUTSIDE, "log_loss: scores must lie in 0 .. 1.*in 2 of 3 rows"),
    ("evaluate(*, metrics := ['ks', 'log_loss'])", OUTSIDE, "log_loss: scores must lie"),
    ("evaluate(*, metrics := ['f1'])", OUTSIDE, "default threshold 0.5"),
    ("f1(*)", OUTSIDE, "default threshold 0.5 is for scores in 0 .. 1"),
    ("calibration_curve(*)", OUTSIDE, "must lie in 0 .. 1"),
    ("confusion(*)", OUTSIDE, "default threshold"),
    ("classification_report(*)", OUTSIDE, "default threshold"),
    ("f_beta(*, beta := 0)", {}, r"beta must be in \(0, 1e50\], not 0"),
    ("f_beta(*, beta := 'nan'::DOUBLE)", {}, "beta must be in"),
    ("f_beta(*, beta := 'inf'::DOUBLE)", {}, "beta must be in"),
    ("f_beta(*, beta := NULL)", {}, "beta must be"),
    ("partial_roc_auc(*, max_fpr := 1.5)", {}, r"max_fpr must be in \(0, 1\]"),
    ("evaluate(*, max_fpr := 0)", {}, "max_fpr must be in"),
    ('recall_at_precision(*, "precision" := 2)', {}, r"precision must be in \[0, 1\], not 2"),
    ("expected_calibration_error(*, strategy := 'even')", {}, "strategy must be in"),
    ("expected_calibration_error(*, bins := 0)", {}, "bins must be in"),
    ("gain_table(*, bins := 0)", {}, "bins must be"),
    ("ndcg(*, qid := w, k := 0)", {}, "k must be in"),
    ("ndcg(*, qid := w)", {"w": [1.0, np.nan, 1.0]}, "score or qid is NULL or NaN.*in 1 of 3"),
    ("evaluate(*, metrics := ['roc_auk'])", {}, "called 'roc_auk', did you mean 'roc_auc'"),
    ("evaluate(*, metrics := [])", {}, "no metric"),
    ("f1('t', label := y, prediction := c, average := 'makro')", {}, "macro"),
    ("f1('t', label := y, prediction := c)", {}, "average"),
    ("accuracy('t', label := y, prediction := c)", {"c": [None, 1, 1]}, "prediction.*in 1 of 3"),
    ("mae('t', label := y, prediction := p)", {"p": [np.inf, 1, 1]}, "prediction.*in 1 of 3"),
    ("roc_auc(*, treshold := 1)", {}, "(?s)Candidate.*roc_auc"),
    ("roc_auc('t', label := nope, score := p)", {}, "nope"),
    ("roc_auc('none', label := y, score := p)", {}, "none"),
    ("roc_auc(*, nulls := 'x')", {}, "nulls must be 'error' or 'drop', not x"),
    ("roc_auc(*, nulls := NULL)", {}, "nulls must be"),
    ("roc_auc_difference(*, baseline := w)", {"w": [1.0, None, 2.0]}, "baseline is NULL.*1 of 3"),
    ("roc_auc_difference(*, baseline := w, nulls := 'drop')", WORDS, "label must hold.*not no"),
    # An empty result is refused, too.
    ("roc_auc(*)", NO_SCORE, "score is NULL.*in 3 of 3 rows"),
    ("evaluate(*, metrics := ['ks'])", NO_SCORE, "score is NULL"),
    ("roc_curve(*)", NO_SCORE, "score is NULL.*in 3 of 3 rows"),
    ("roc_curve(*, nulls := 'x')", NO_SCORE, "nulls must be"),
    ("roc_curve(*)", WORDS, "label must hold"),
    ("confusion('t', label := y, prediction := c)", NO_CLASS, "prediction is NULL.*in 3 of 3"),
]


def call_of(text: str) -> str:
    return f"FROM sqleval.{text}".replace("*", "'t', label := y, score := p")


@pytest.mark.parametrize(("call", "columns", "message"), REFUSED)
def test_refused(
    call: str, columns: dict[str, Any], message: str, console: duckdb.DuckDBPyConnection
) -> None:
    types = {"p": pl.Float64, "w": pl.Float64, "c": pl.Int64}
    create_table(console, pl.DataFrame({**ROWS, **columns}, schema_overrides=types), "t")
    with pytest.raises(duckdb.Error, match=message):
        console.execute(call_of(call)).fetchall()


@pytest.mark.parametrize("call", [
    "roc_auc(*)", "f1(*, threshold := 3)", "confusion(*, threshold := 3)",
    "evaluate(*, metrics := ['f1', 'roc_auc'], threshold := 3)",
])  # fmt: skip
def test_scores_outside_that_are_taken(call: str, console: duckdb.DuckDBPyConnection) -> None:
    create_table(console, pl.DataFrame({"y": [1, 0, 1], "p": [4.0, 0.4, 0.9]}), "t")
    assert console.execute(call_of(call)).fetchall()


def test_defaults_that_scores_outside_leave_out(console: duckdb.DuckDBPyConnection) -> None:
    create_table(console, pl.DataFrame({"y": [1, 0, 1], "p": [4.0, 0.4, 0.9]}), "t")
    rows = fetch_rows(console, "FROM sqleval.evaluate('t', label := y, score := p)")
    notes = {row["metric"]: row["note"] for row in rows}
    assert notes["roc_auc"] is None
    assert notes["log_loss"] == notes["f1"] == "scores are outside 0 .. 1"


def test_a_score_of_truth_values(console: duckdb.DuckDBPyConnection) -> None:
    con = console.cursor()
    rows = "(VALUES (1, TRUE, 7), (0, FALSE, 7), (1, FALSE, 7), (0, TRUE, 7), (1, TRUE, 7))"
    con.execute(f"CREATE OR REPLACE TABLE truths AS FROM {rows} AS v(y, b, q)")
    for metric in ("roc_auc", "precision", "log_loss", "brier_score", "evaluate"):
        found, want = (
            con.execute(
                f"SELECT value FROM sqleval.{metric}('truths', label := y, score := {score})"
            ).fetchall()
            for score in ("b", "CAST(b AS DOUBLE)")
        )
        assert found == want
    found, want = (
        con.execute(
            f"SELECT value FROM sqleval.ndcg('truths', label := {label}, score := y, qid := q)"
        ).fetchall()
        for label in ("b", "CAST(b AS DOUBLE)")
    )
    assert found == want


@pytest.mark.parametrize(
    "call",
    [
        "accuracy('groups', label := 'g', prediction := g)",
        "evaluate('groups', label := 'g', prediction := g)",
        "roc_auc('groups', label := 'y', score := p)",
        "mse('groups', label := 'y', prediction := p)",
        "ndcg('groups', label := y, score := 'p', qid := g)",
        "ndcg('groups', label := y, score := p, qid := 'g')",
    ],
)
def test_the_name_of_a_column_in_single_quotes(own: duckdb.DuckDBPyConnection, call: str) -> None:
    own.execute("CREATE OR REPLACE TABLE groups AS FROM (VALUES (0, 0.1, 'u')) AS v(y, p, g)")
    words = r":= '(\w)' is one text in all rows, a column stands without .*: \w+ := \"\1\""
    with pytest.raises(duckdb.Error, match=words):
        own.execute(f"FROM sqleval.{call}")


def test_other_texts_are_values(console: duckdb.DuckDBPyConnection) -> None:
    own = console.cursor()
    own.execute("CREATE OR REPLACE TABLE groups AS FROM (VALUES ('v'), ('u'), ('u')) AS v(g)")
    call = "sqleval.accuracy('groups', label := g, prediction := 'u', slice := 'all rows')"
    assert own.execute(f"SELECT value FROM {call}").fetchall() == [(pytest.approx(2 / 3),)]
