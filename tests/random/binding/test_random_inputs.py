"""Random inputs: a right result or a `SqlevalError`. ``python -m tests.bench.fuzz`` runs longer."""

import random
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import sqleval
from sqleval import LoadError, RequestError, SourceError
from sqleval.catalog.catalogue import Catalogue, find_sql_folder
from tests.support.commands import run
from tests.support.fuzzing import JOB, ROWS, TARGETS, mutate, try_inputs
from tests.support.tried import check_tried

#: The number of inputs per target; only the longer run tries inputs that may end the process.
COUNTS = {"name": 16, "command": 16, "header": 10, "job": 8, "source": 25}


@pytest.mark.parametrize("target", COUNTS)
def test_random_inputs(target: str) -> None:
    outcomes = list(try_inputs(target, 1, COUNTS[target]))
    others = sum(COUNTS.values()) - COUNTS[target]
    check_tried("random names, commands, headers, jobs and sources", others + len(outcomes))
    assert [each for each in outcomes if each[0].startswith("!")] == []
    assert {outcome for outcome, _ in outcomes} <= {"right", "refused"}


def test_all_targets_are_in_the_longer_run() -> None:
    assert TARGETS.keys() - COUNTS.keys() == {"bytes"}


#: Other columns of the rows and of the result; DuckDB itself names a column without a name.
TAKEN = {"", "y", "p", "metric", "value", "low", "high", "n", "n_dropped", "method", "note"}


@settings(max_examples=8, deadline=None)
@given(name=st.text(max_size=12), value=st.text(max_size=12))
def test_any_unicode_is_a_name_and_a_value(name: str, value: str) -> None:
    if name.casefold() in TAKEN or name.startswith("_sqleval_") or "\0" in name:
        return
    rows = ROWS.rename({"g": name}).with_columns(pl.lit(value).alias(name))
    for source in (rows, rows.lazy()):
        found = sqleval.scan(source, label="y", score="p", by=name).evaluate("accuracy").collect()
        assert found.select(name, "value").rows() == [(value, 0.6)]
        assert found.columns[0] == name


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        (b"\xff", "the file is not UTF-8: invalid start byte"),
        (b"\x18", "the header is not YAML: unacceptable character #x0018"),
        (b"2026-13-45", "the header is not YAML: month must be in"),
        (b"[" * 2_000, "the header is not YAML: "),
    ],
)
def test_a_header_that_cannot_be_read(changed: bytes, message: str, tmp_path: Path) -> None:
    text = (find_sql_folder() / "binary" / "precision.sql").read_bytes()
    text = text.replace(b"summary: ", b"summary: " + changed + b" \n#", 1)
    (tmp_path / "own").mkdir()
    (tmp_path / "own" / "mine.sql").write_bytes(text)
    with pytest.raises(LoadError, match=message):
        Catalogue(find_sql_folder(), tmp_path).get("mine")


@pytest.mark.parametrize("ends", ["0 . 1", "0 .. one", "0,1"])
def test_a_range_is_two_numbers(ends: str, tmp_path: Path) -> None:
    text = (find_sql_folder() / "binary" / "precision.sql").read_text()
    (tmp_path / "own").mkdir()
    (tmp_path / "own" / "mine.sql").write_text(text.replace("0 .. 1", ends))
    with pytest.raises(LoadError, match=r"range must read '0 \.\. 1', not "):
        Catalogue(find_sql_folder(), tmp_path).get("mine")


# The last one exceeds Python's recursion limit; PyYAML takes quadratic time in the depth.
@pytest.mark.parametrize("value", ["!!timestamp 1", "1" * 5_000, "[" * 600])
def test_a_job_that_cannot_be_read(value: str, tmp_path: Path) -> None:
    (tmp_path / "job.yml").write_text(JOB.replace("p < 2", value))
    done = run("run", str(tmp_path / "job.yml"), code=2)
    assert "job.yml" in done.stderr
    assert "not YAML: " in done.stderr


def test_a_torn_arrow_file_does_not_end_the_process(tmp_path: Path) -> None:
    rows = pl.concat([ROWS] * 50)
    rows.write_ipc(tmp_path / "rows.arrow")
    content = (tmp_path / "rows.arrow").read_bytes()
    read = refused = 0
    for seed in range(60):
        (tmp_path / "rows.arrow").write_bytes(mutate(content, random.Random(seed)))
        try:
            bound = sqleval.scan(tmp_path / "rows.arrow", label="y", score="p", by="g")
            bound.evaluate("roc_auc").collect()
            read += 1
        except sqleval.SqlevalError:
            refused += 1
    check_tried("torn Arrow files", read + refused)
    assert refused > 10


def test_a_key_with_a_nul(tmp_path: Path) -> None:
    ROWS.rename({"g": "a\0b"}).write_parquet(tmp_path / "rows.parquet")
    with pytest.raises(
        RequestError, match=r"by='a\\x00b': the name of a column may not hold a NUL"
    ):
        sqleval.scan(tmp_path / "rows.parquet", label="y", score="p", by="a\0b")


@pytest.mark.parametrize(
    ("source", "storage", "error", "message"),
    [
        ("s3://", None, RequestError, "names no bucket"),
        ("s3://lake/a\0", None, RequestError, "or holds a NUL"),
        ("s3://name:hidden@lake/a.csv", None, RequestError, "s3://...@lake may hold no password"),
        ("s3://lake/[z-a]/x.csv", None, RequestError, "lake/.z-a./x.csv. is not a pattern"),
        ("s3://lake/a", {"endpoint": "\ud800"}, SourceError, "cannot open the store of 's3://lake"),
        ("a.csv", "region", RequestError, "must map options to texts"),
        ("a.csv", {1: 2}, RequestError, "storage= has no option '1'"),
        ("a.csv", {"anonymous": "maybe"}, RequestError, "'maybe' must be true or false"),
        ("~nosuchuser/a.csv", None, SourceError, "no such file: '~nosuchuser/a.csv'"),
        ("~\0", None, SourceError, "no such file"),
        ("x" * 5_000, None, SourceError, "File name too long"),
    ],
)
def test_wrong_sources_are_refused(
    source: str, storage: Any, error: type[Exception], message: str
) -> None:
    with pytest.raises(error, match=message) as raised:
        sqleval.scan(source, label="y", score="p", storage=storage)
    assert "hidden" not in str(raised.value)
