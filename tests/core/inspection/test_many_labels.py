"""A row per case and label is recognised, and the command that is printed runs."""

import shlex
from pathlib import Path

import numpy as np
import polars as pl
import pytest

import sqleval
from tests.support.commands import run
from tests.support.many_labels import ROLES, make_rows


def make_long() -> pl.DataFrame:
    rows = make_rows()
    parts = [rows.select("id", tag=pl.lit(name), y=f"y_{name}", p=f"p_{name}") for name in "abc"]
    return pl.concat(parts).sort("id", "tag")


def test_the_command_for_long_rows_gives_the_values_of_columns(tmp_path: Path) -> None:
    path = tmp_path / "long.csv"
    make_long().write_csv(path)
    printed = run("inspect", str(path)).stdout
    (command, *_) = (line for line in printed.splitlines() if "sqleval evaluate" in line)
    assert command.endswith("--label y --score p --long label=tag --key id")
    words = shlex.split(command)[1:]
    found = pl.read_csv(run(*words, "--format", "csv").stdout.encode())
    want = sqleval.scan(make_rows(), **ROLES).evaluate().collect()
    assert found["metric"].to_list() == want["metric"].to_list()
    assert found["value"].to_list() == pytest.approx(want["value"].to_list(), abs=1e-12)


@pytest.mark.parametrize("kind", ["names", "marks"])
def test_the_command_for_lists_gives_the_values_of_columns(kind: str, tmp_path: Path) -> None:
    rows = make_rows()
    marks = [pl.col(f"y_{name}") for name in "abc"]
    names = pl.concat_list(
        pl.when(mark == 1).then(pl.lit(name)) for name, mark in zip("abc", marks, strict=True)
    ).list.drop_nulls()
    path = tmp_path / "lists.parquet"
    rows.select(
        tags=names if kind == "names" else pl.concat_list(marks),
        scores=pl.concat_list(f"p_{name}" for name in "abc"),
    ).write_parquet(path)
    printed = run("inspect", str(path)).stdout
    (command, *_) = (line for line in printed.splitlines() if "sqleval evaluate" in line)
    assert command.endswith("--classes a,b,c" if kind == "names" else "--score scores")
    found = pl.read_csv(run(*shlex.split(command)[1:], "--format", "csv").stdout.encode())
    want = sqleval.scan(rows, **ROLES).evaluate().collect()
    assert found["metric"].to_list() == want["metric"].to_list()
    assert found["value"].to_list() == pytest.approx(want["value"].to_list(), abs=1e-12)


def test_lists_of_other_lengths_are_no_scores_of_labels() -> None:
    rows = pl.DataFrame({"tags": [["a"], ["b", "c"]], "scores": [[0.5, 0.2], [0.1, 0.9]]})
    assert "lists of labels" not in str(sqleval.inspect(rows))


def test_one_true_row_per_case_is_no_set_of_labels() -> None:
    rng = np.random.default_rng(3)
    rows = make_long().with_columns(
        y=pl.Series(np.eye(3, dtype=int)[rng.integers(0, 3, 120)].ravel())
    )
    assert "label=" not in str(sqleval.inspect(rows)).partition("long=")[2]
