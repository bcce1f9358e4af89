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


def test_one_true_row_per_case_is_no_set_of_labels() -> None:
    rng = np.random.default_rng(3)
    rows = make_long().with_columns(
        y=pl.Series(np.eye(3, dtype=int)[rng.integers(0, 3, 120)].ravel())
    )
    assert "label=" not in str(sqleval.inspect(rows)).partition("long=")[2]
