"""Every command runs in this process on small files, and prints or writes its result."""

from itertools import pairwise
from pathlib import Path

import click
import polars as pl
import pytest

from sqleval.catalog import builtin, catalogue
from sqleval.cli.main import sqleval
from tests.support.commands import run
from tests.support.lake import rows

ROLES = ("--label", "y", "--score", "p")
TWO = ("--label", "y", "--score", "a=p", "--score", "b=q")
#: The arguments of each command, and an excerpt of its output.
COMMANDS: dict[str, tuple[tuple[str, ...], str]] = {
    "bootstrap-632": (("rows.parquet", *ROLES, "--role", "part", "-m", "error_rate"), "632"),
    "compare": (("rows.parquet", *TWO, "-m", "roc_auc"), "b is worse than a"),
    "check": (("own",), "holds"),
    "confusion": (("rows.parquet", *ROLES), "label"),
    "curve": (("roc", "rows.parquet", *ROLES), "threshold"),
    "drift": (("rows.parquet", "rows.parquet", "--score", "p", "-m", "psi"), "psi"),
    "evaluate": (("rows.parquet", *ROLES, "--by", "seg", "-m", "roc_auc"), "roc_auc"),
    "export dbt": (
        ("package", "preds", "--dialect", "postgres", "--time", "day", *ROLES, "-m", "ks"),
        "wrote package",
    ),
    "history show": (("nightly.yml",), "roc_auc"),
    "history prune": (("nightly.yml", "--keep", "2y", "--dry-run"), "0"),
    "init": (("rows.parquet", "--output", "made.yml"), "made.yml"),
    "inspect": (("rows.parquet",), "sqleval evaluate rows.parquet"),
    "list": ((), "roc_auc"),
    "macros": ((), "CREATE OR REPLACE"),
    "report": (("rows.parquet", *ROLES, "--output", "page.html"), "page.html"),
    "resample": (("rows.parquet", *ROLES, "--fold", "fold", "-m", "roc_auc"), "roc_auc"),
    "rows": (("rows.parquet", *ROLES, "--worst", "2"), "log_loss"),
    "slices": (("rows.parquet", *ROLES, "--search", "seg"), "searched"),
    "run": (("nightly.yml", "--backfill", "--force"), "2 evaluated"),
    "sample-size": (
        ("rows.parquet", *TWO, "-m", "roc_auc", "--difference", "0.1"), "roc_auc",
    ),
    "select": (
        ("rows.parquet", *ROLES, "--fold", "fold", "--config", "depth", "-m", "roc_auc"),
        "depth",
    ),
    "show": (("roc_auc",), "SELECT"),
    "split make": (("rows.parquet", "--key", "key"), "role"),
    "split check": (("split.parquet", "rows.parquet", "--key", "key"), ""),
    "sql": (("rows.parquet", *ROLES, "-m", "roc_auc"), "SELECT"),
    "state build": (("rows.parquet", *ROLES, "--output", "more.parquet"), ""),
    "state merge": (("state.parquet", "--output", "merged.parquet"), ""),
    "state evaluate": (("state.parquet", "-m", "roc_auc"), "roc_auc"),
    "validate": (("nightly.yml",), "binary (1 is positive, threshold 0.5), 1 metric"),
}  # fmt: skip
METRIC = """\
/*
summary: number of positive labels
formula: sum of labels
direction: none
range: 0 .. inf
reference: numpy.sum
weights: frequency
task: two classes
since: 0.2.0
*/
SELECT slice, tp + fn AS value FROM outcomes
"""
JOB = """\
name: nightly
source: rows.parquet
label: y
score: p
period: {column: day}
metrics: [roc_auc]
history: history.duckdb
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with rows, a split and a state of them, and a job that has run."""
    folder = tmp_path_factory.mktemp("commands")
    n = pl.int_range(pl.len())
    frame = rows(days=2).with_columns(
        q=(pl.col("p") * 7).mod(1), fold=n % 4, depth=n // 4 % 2, repeat=n % 4,
        part=pl.when(n % 3 == 0).then(pl.lit("test")).otherwise(pl.lit("train")),
    )  # fmt: skip
    frame.write_parquet(folder / "rows.parquet")
    (folder / "nightly.yml").write_text(JOB, encoding="utf-8")
    (folder / "own" / "binary").mkdir(parents=True)
    (folder / "own" / "binary" / "own_count.sql").write_text(METRIC, encoding="utf-8")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        run("split", "make", "rows.parquet", "--key", "key", "--output", "split.parquet")
        run("state", "build", "rows.parquet", *ROLES, "--output", "state.parquet")
        run("run", "nightly.yml", "--backfill")
    return folder


@pytest.mark.parametrize("name", COMMANDS)
def test_a_command(name: str, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    arguments, shown = COMMANDS[name]
    monkeypatch.chdir(folder)
    monkeypatch.setattr(catalogue, "_added", [])
    done = run(*name.split(), *arguments)
    if catalogue._added:
        builtin.cache_clear()  # a folder of this test is none of the next one's
    assert shown in done.stdout + done.stderr
    for option, target in pairwise(arguments):
        assert option != "--output" or (folder / target).stat().st_size > 0


def list_commands(group: click.Group, *parents: str) -> list[str]:
    """Return the names of all commands of a group and of the groups in it."""
    found: list[str] = []
    for name, command in group.commands.items():
        if isinstance(command, click.Group):
            found += list_commands(command, *parents, name)
        else:
            found.append(" ".join((*parents, name)))
    return found


def test_every_command_has_a_test() -> None:
    assert sorted(list_commands(sqleval)) == sorted(COMMANDS)
