"""Column files: the standard error and the bounds of a metric, fused into its SELECT."""

import math
import re
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import sqleval
from sqleval import LoadError
from sqleval.catalog import Catalogue, builtin, find_sql_folder
from sqleval.compiler.rewrite import write_sql

HEADER = """/*
summary: share of positives
formula: P / n
direction: none
range: 0 .. 1
reference: numpy.mean
task: two classes
weights: frequency
since: 0.2.0
params:
  times: float = 1.0
*/
"""
METRIC = (
    HEADER
    + """SELECT
    slice,
    $times * CAST(SUM(weight * label) AS DOUBLE) / NULLIF(SUM(weight), 0) AS value
FROM predictions
WHERE weight > 0
GROUP BY slice
"""
)
SUMMARY = "/*\nsummary: s\n*/\n"
#: Of the same rows, with a parameter of the metric.
STDERR = (
    SUMMARY
    + """SELECT
    slice,
    $times * 5e-1 / NULLIF(SQRT(SUM(squares)), 0) AS stderr
FROM predictions
WHERE weight > 0
GROUP BY slice
"""
)
#: Of rows that carry the columns of the metric.
CARRYING = (
    SUMMARY
    + """SELECT
    slice,
    5e-1 / NULLIF(SQRT(SUM(one)), 0) AS stderr
FROM (
    SELECT
        slice,
        label,
        weight,
        CAST(squares AS DOUBLE) / NULLIF(weight, 0) AS one
    FROM predictions
    WHERE weight > 0
) AS units
GROUP BY slice
"""
)
ROWS = pl.DataFrame({"y": [0, 1, 1, 0, 1], "p": [0.2, 0.4, 0.6, 0.6, 0.8]})


def make(folder: Path, **columns: str) -> Catalogue:
    """Return a catalogue with the metric ``part`` and column files of it."""
    (folder / "ours").mkdir(exist_ok=True)
    files = {"part": METRIC, **{f"part.{word}": text for word, text in columns.items()}}
    for name, text in files.items():
        (folder / "ours" / f"{name}.sql").write_text(text, encoding="utf-8")
    return Catalogue(find_sql_folder(), folder)


def refuse(folder: Path, **columns: str) -> str:
    with pytest.raises(LoadError) as raised:
        make(folder, **columns).files("part")
    return str(raised.value)


@pytest.mark.parametrize("stderr", [STDERR, CARRYING], ids=["same rows", "further columns"])
def test_an_interval_comes_from_a_file_beside_the_metric(tmp_path: Path, stderr: str) -> None:
    bound = sqleval.scan(ROWS, label="y", score="p", catalogue=make(tmp_path, stderr=stderr))
    (row,) = bound.evaluate("part", ci=0.95).collect().to_dicts()
    assert row["value"] == 0.6
    assert row["low"] == pytest.approx(0.6 - 1.959963984540054 * 0.5 / math.sqrt(5))
    assert row["high"] == 1
    assert row["method"] == "normal"
    # The parameters are those of the metric.
    (row,) = bound.evaluate("part(times=0.5)", ci=0.95).collect().to_dicts()
    assert row["value"] == 0.3


def test_a_statement_has_the_columns_that_it_needs() -> None:
    bound = sqleval.scan(ROWS, label="y", score="p")
    plain, sampled = (bound.sql("roc_auc", plan="groups", ci=ci) for ci in (None, 0.95))
    binned = bound.sql("roc_auc", bins=6)
    both = bound.sql("roc_auc", bins=6, ci=0.95)
    assert [text.count("FROM cutoffs") for text in (plain, sampled, binned, both)] == [1, 1, 1, 1]
    assert ["AS stderr_1" in text for text in (plain, sampled, binned, both)] == [0, 1, 0, 1]
    assert ["AS low_1" in text for text in (plain, sampled, binned, both)] == [0, 0, 1, 1]
    # Metrics of one relation are one SELECT.
    assert bound.sql(["roc_auc", "ks", "gini"], plan="groups").count("FROM cutoffs") == 1


def test_the_columns_of_metrics_are_those_of_their_files() -> None:
    """Fused or not, a value is the expression of its metric's file, unless the other has one."""
    own_values = set[str]()
    for metric in builtin().relations("metric"):
        fused = builtin().choose(metric.name, frozenset({"intervals", "binned"}))
        assert fused is not None
        if not fused.parts:
            continue
        assert set(fused.columns) == set(metric.columns)
        values = [
            write_sql(item.copy())
            for file in (fused, metric)
            for item in file.query.selects
            if item.alias_or_name == "value"
        ]
        if any("value" in part.columns for part in fused.parts):
            own_values.add(metric.name)
        else:
            assert values[0] == values[1]
    # They read another metric's rows, or segments that have no positions.
    assert own_values == {
        "gini", "rank_loss", "roc_auc_rank_sum", "roc_auc_trapezoid", "pr_auc_interpolated",
    }  # fmt: skip


@pytest.mark.parametrize(
    ("word", "text", "message"),
    [
        (
            "stderr",
            STDERR.replace("stderr", "support"),
            "ours/part.stderr.sql:5: an interval needs ",
        ),
        (
            "bounds",
            STDERR,
            "ours/part.bounds.sql:4: the output needs the column low",
        ),
        (
            "stderr",
            STDERR.replace("stderr", "error"),
            "ours/part.stderr.sql:5: a metric returns no column 'error'",
        ),
        (
            "stderr",
            STDERR.replace("WHERE weight > 0\n", ""),
            "ours/part.stderr.sql:7: WHERE and GROUP BY must be as in part.sql",
        ),
        (
            "stderr",
            CARRYING.replace("        label,\n", ""),
            "ours/part.stderr.sql:7: FROM needs the column 'label', which the metric reads",
        ),
        (
            "stderr",
            STDERR.replace("$times", "$tims"),
            "ours/part.stderr.sql:6: $tims is not declared under params",
        ),
    ],
)
def test_a_file_that_does_not_fit_is_refused(
    word: str, text: str, message: str, tmp_path: Path
) -> None:
    assert refuse(tmp_path, **{word: text}).startswith(message)


def test_a_column_file_may_read_another_relation(tmp_path: Path) -> None:
    """It needs the columns that the metric reads."""
    columns = [
        STDERR.replace("FROM predictions", f"FROM {name}") for name in ("log_losses", "errors")
    ]
    roles: dict[str, Any] = {"label": "y", "score": "p"}
    bound = sqleval.scan(ROWS, catalogue=make(tmp_path, stderr=columns[0]), **roles)
    assert bound.evaluate("part", ci=0.95).collect()["value"].item() == 0.6
    bound = sqleval.scan(ROWS, catalogue=make(tmp_path, stderr=columns[1]), **roles)
    with pytest.raises(LoadError, match="errors has no column 'label'"):
        bound.evaluate("part", ci=0.95)


def test_a_column_file_may_need_every_row(tmp_path: Path) -> None:
    """Score bins and states leave it out, and then there is no interval."""
    every_row = STDERR.replace("summary: s", "summary: s\nunbinned: always")
    folder = make(tmp_path, stderr=every_row)
    fused = {
        word: folder.choose("part", frozenset({"intervals", *also}))
        for word, also in (("rows", ()), ("bins", ("binned",)))
    }
    assert [bool(each and "stderr" in each.columns) for each in fused.values()] == [True, False]


@pytest.mark.parametrize("words", ["stderr.duckdb", "duckdb.stderr", "bounds.stderr"])
def test_the_words_take_no_condition(words: str, tmp_path: Path) -> None:
    with pytest.raises(LoadError, match="bounds, stderr, ranks take no condition beside them"):
        make(tmp_path, **{words: STDERR})


def test_only_metrics_have_column_files(tmp_path: Path) -> None:
    (tmp_path / "ours").mkdir()
    step = SUMMARY + "SELECT slice, SUM(label) AS n FROM predictions GROUP BY slice\n"
    (tmp_path / "ours" / "counted.sql").write_text(step, encoding="utf-8")
    (tmp_path / "ours" / "counted.stderr.sql").write_text(
        STDERR.replace("$times * ", ""), encoding="utf-8"
    )
    message = "only a metric has a file of its stderr, and counted.sql returns no value"
    with pytest.raises(LoadError, match=re.escape(message)):
        Catalogue(find_sql_folder(), tmp_path).files("counted")


def test_a_column_file_without_its_metric_is_refused(tmp_path: Path) -> None:
    make(tmp_path, stderr=STDERR)
    (tmp_path / "ours" / "part.sql").unlink()
    with pytest.raises(LoadError, match="the portable file is missing"):
        Catalogue(find_sql_folder(), tmp_path)
