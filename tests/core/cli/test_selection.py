"""`resample`, `select` and `bootstrap-632` print what their functions return."""

import io
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import sqleval
from tests.support.commands import start_programs
from tests.support.comparison import assert_frame_equal


@pytest.fixture(scope="module")
def rows() -> pl.DataFrame:
    rng = np.random.default_rng(5)
    n = 800
    label = rng.integers(0, 2, n)
    score = np.clip(rng.normal(0.4 + 0.2 * label, 0.25), 0, 1)
    return pl.DataFrame(
        {
            "y": label, "p": score, "c": (score > 0.5).astype(int),
            "fold": np.arange(n) % 5 + 1, "depth": np.arange(n) // 5 % 2 + 1,
            "repeat": np.arange(n) % 4 + 1, "part": np.where(np.arange(n) % 3, "train", "test"),
        }
    )  # fmt: skip


ROLES: dict[str, Any] = {"label": "y", "score": "p"}
CALLS: dict[str, tuple[list[str], Any]] = {
    "resample": (
        ["--fold", "fold", "-m", "roc_auc", "-m", "accuracy", "--ci", "0.9",
         "--by", "twice=2 * depth"],
        lambda rows: sqleval.resample(
            rows, ["roc_auc", "accuracy"], fold="fold", ci=0.9,
            by={"twice": "2 * depth"}, **ROLES
        ),
    ),
    "select": (
        ["--fold", "fold", "-m", "roc_auc", "--config", "depth", "--simplest", "depth",
         "--rule", "one_standard_error"],
        lambda rows: sqleval.select(
            rows, "roc_auc", config="depth", fold="fold", simplest="depth",
            rule="one_standard_error", **ROLES,
        ),
    ),
    "bootstrap-632": (
        ["--role", "part", "-m", "error_rate", "--threshold", "0.5"],
        lambda rows: sqleval.bootstrap_632(rows, "error_rate", role="part", threshold=0.5, **ROLES),
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", CALLS)
def test_the_command_prints_what_the_function_returns(
    name: str, rows: pl.DataFrame, tmp_path: Path
) -> None:
    options, function = CALLS[name]
    rows.write_parquet(tmp_path / "rows.parquet")
    command = [start_programs() / "sqleval", name, str(tmp_path / "rows.parquet"),
               "--label", "y", "--score", "p", *options, "--format", "csv"]  # fmt: skip
    done = subprocess.run(command, capture_output=True, check=False)
    assert (done.returncode, done.stderr) == (0, b"")
    want = function(rows)
    shown = pl.read_csv(io.BytesIO(want.write_csv().encode()), infer_schema_length=None)
    assert_frame_equal(pl.read_csv(io.BytesIO(done.stdout), infer_schema_length=None), shown)


def test_an_error_names_the_nearest_column(tmp_path: Path, rows: pl.DataFrame) -> None:
    rows.write_parquet(tmp_path / "rows.parquet")
    command = [start_programs() / "sqleval", "resample", str(tmp_path / "rows.parquet"),
               "--label", "y", "--score", "p", "--fold", "fols"]  # fmt: skip
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert "did you mean 'fold'" in done.stderr
