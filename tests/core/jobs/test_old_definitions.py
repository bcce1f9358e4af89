"""A history whose definitions were hashes of SQL text keeps its numbers and their references."""

from collections.abc import Iterator
from datetime import UTC, date, datetime
from pathlib import Path

import polars as pl
import pytest

from sqleval.catalog import request
from sqleval.catalog.catalogue import builtin
from sqleval.history.definitions import is_old
from sqleval.history.view import list_definition_changes, read_rows
from sqleval.jobs.definitions import hash_definition
from sqleval.jobs.file.reading import read_job
from sqleval.jobs.running.plan import RunOptions
from sqleval.jobs.running.run import Run, open_job_store, run_job
from tests.support.lake import evaluated, on, steps
from tests.support.old_history import OWN, unpack

NIGHT, NEXT = datetime(2026, 1, 9, 3, tzinfo=UTC), datetime(2026, 1, 10, 3, tzinfo=UTC)
OTHERS = "3 periods, up to 2026-01-03, have another definition; --backfill evaluates them again"
DAYS = [f"2026-01-{day:02}" for day in range(1, 9)]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Unpack the history; a folder of metrics that a job adds is forgotten afterwards."""
    from sqleval.catalog import catalogue

    monkeypatch.setattr(catalogue, "_added", [])
    yield unpack(tmp_path)
    builtin.cache_clear()


def run(folder: Path, name: str, at: datetime = NIGHT, changed: str = "", **asked: object) -> Run:
    path = folder / f"{name}.yml"
    if changed:
        path.write_text(path.read_text(encoding="utf-8") + changed, encoding="utf-8")
    return run_job(read_job(path), RunOptions(as_of=at, **asked))  # type: ignore[arg-type]


def read(folder: Path, name: str) -> pl.DataFrame:
    """Return the rows of a job as they are stored."""
    return open_job_store(read_job(folder / f"{name}.yml")).read("sqleval_history", name)


def add_day(folder: Path) -> None:
    """Add the rows of the ninth day, a copy of the eighth."""
    for side in ("preds", "labels"):
        frame = pl.read_parquet(folder / side / "2026-01-08.parquet").with_columns(
            pl.col("key") + 60, *([pl.lit(date(2026, 1, 9)).alias("day")] * (side == "preds"))
        )
        frame.write_parquet(folder / side / "2026-01-09.parquet")


@pytest.mark.parametrize("name", ["nightly", "changed", "late", "arrived", "own"])
def test_nothing_is_evaluated_anew(folder: Path, name: str) -> None:
    before = read(folder, name)
    assert before.select(is_old(pl.col("definition")).all()).item()
    for asked in ({}, {"span": (*on("2026-01-04"), on("2026-01-08")[0])[::2]}):
        done = run(folder, name, **asked)
        assert not evaluated(done)
        assert {*steps(done).values()} <= {"keep", "wait"}
        assert done.notes == ([OTHERS] if name == "changed" else [])
    assert read(folder, name).equals(before)


@pytest.mark.parametrize("name", ["nightly", "late", "arrived", "own"])
def test_a_backfill_evaluates_nothing_anew(folder: Path, name: str) -> None:
    assert not evaluated(run(folder, name, backfill=True))


def test_a_new_period_is_compared_with_the_old_ones(folder: Path) -> None:
    before = read(folder, "nightly")
    add_day(folder)
    done = run(folder, "nightly", NEXT)
    assert evaluated(done) == ["2026-01-09"]
    assert done.notes == []
    assert {*done.verdicts["status"]} == {"passed"}
    metric = before.filter(metric="roc_auc", slice="{}")
    last = metric.filter(pl.col("period").is_in(DAYS[-3:]))
    limits = done.verdicts.filter(
        pl.col("gate").str.contains("roc_auc"), slice="{}", period="2026-01-09"
    )
    value = last["value"].mean()
    assert limits["limit"].item() == pytest.approx(value - 0.5, abs=1e-12)
    # The stored rows stay as they were.
    after = read(folder, "nightly").filter(pl.col("period") != "2026-01-09")
    assert after.equals(before)
    shown = read_rows(open_job_store(done.job), job="nightly")
    assert shown.select("metric", "definition").unique().height == 6  # with slices by is_high
    assert [*list_definition_changes(shown)] == []


def test_older_ones_of_the_old_form_stay_different(folder: Path) -> None:
    add_day(folder)
    done = run(folder, "changed", NEXT)
    assert done.notes == [OTHERS]
    limits = done.verdicts.filter(pl.col("gate").str.contains("roc_auc"), period="2026-01-09")
    assert {*limits["status"]} == {"passed"}
    changes = [*list_definition_changes(read_rows(open_job_store(done.job), job="changed"))]
    assert len(changes) == 3
    assert all("changed at 2026-01-04" in change for change in changes)
    # Metrics of periods with the older definition are evaluated again on request.
    assert evaluated(run(folder, "changed", NEXT, backfill=True)) == DAYS[:3]


def test_replaced_rows_decide_as_well(folder: Path) -> None:
    """If the last old definition has no rows any more, the one before it has no present one."""
    again = (on(DAYS[3])[0], on(DAYS[-1])[0])
    done = run(folder, "changed", span=again, force=True)
    assert evaluated(done) == DAYS[3:]
    assert done.notes == ["75 stored numbers were replaced; sqleval history --restated shows them",
                          OTHERS]  # fmt: skip
    stored = read(folder, "changed")
    assert {*stored.filter(is_old(pl.col("definition")))["period"]} == {*DAYS[:3]}
    assert run(folder, "changed").notes == [OTHERS]
    # The same holds if the first definition of the new form has no rows any more.
    done = run(folder, "changed", changed="where: p < 0.97\n", span=again, force=True)
    assert evaluated(done) == DAYS[3:]
    assert run(folder, "changed").notes == [OTHERS]


def test_a_role_that_changes_later_is_another_definition(folder: Path) -> None:
    add_day(folder)
    run(folder, "nightly", NEXT)
    done = run(folder, "nightly", NEXT, "threshold: 0.4\n", date=on("2026-01-09"))
    assert evaluated(done) == ["2026-01-09"]
    assert done.notes[-1].startswith("8 periods, up to 2026-01-08, have another definition")
    gated = done.verdicts.filter(period="2026-01-09")
    assert {*gated["status"]} == {"no reference"}
    changes = [*list_definition_changes(read_rows(open_job_store(done.job), job="nightly"))]
    assert len(changes) == 3
    assert all("changed at 2026-01-09" in change for change in changes)


def test_another_parameter_is_another_metric(folder: Path) -> None:
    path = folder / "nightly.yml"
    text = path.read_text(encoding="utf-8").replace("beta=2", "beta=3")
    path.write_text(text, encoding="utf-8")
    done = run(folder, "nightly", backfill=True)
    assert {step.reason for step in done.decisions} == {"definition changed"}
    history = read(folder, "nightly")
    assert "f_beta(beta=2)" not in {*history["metric"]}


def test_an_old_row_is_of_version_1(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(builtin().get("log_losses").header, "version", 3)  # type: ignore[arg-type]
    done = run(folder, "nightly")
    assert done.notes[-1].startswith("8 periods, up to 2026-01-08, have another definition")
    done = run(folder, "nightly", backfill=True)
    assert evaluated(done) == DAYS
    history = read(folder, "nightly")
    first = {**history.select("metric", pl.col("definition").str.head(3)).unique().rows_by_key(
        "metric", named=False, unique=True)}  # fmt: skip
    assert {metric: start for metric, (start,) in first.items()} == {
        "roc_auc": "v1-", "f_beta(beta=2)": "v1-", "log_loss": "v3-",
    }  # fmt: skip


def test_the_text_of_a_file_of_ones_own_is_part_of_its_definition(folder: Path) -> None:
    add_day(folder)
    run(folder, "own", NEXT)
    text = OWN.replace("AVG(score - label)", "AVG(label - score)")
    (folder / "ours" / "team" / "mean_error.sql").write_text(text, encoding="utf-8")
    builtin.cache_clear()
    done = run(folder, "own", NEXT)
    assert done.notes == ["9 periods, up to 2026-01-09, have another definition; "
                          "--backfill evaluates them again"]  # fmt: skip
    again = run(folder, "own", NEXT, backfill=True)
    assert {step.reason for step in again.decisions} == {"definition changed"}


def test_a_text_of_the_package_is_no_part_of_a_definition(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    job = read_job(folder / "nightly.yml")
    asked = request.parse("log_loss", "binary")
    definition = hash_definition(job, asked)
    steps = builtin().list_files_below("log_loss")
    assert {"log_loss.sql", "log_losses.sql", "log_losses.multiclass.sql"} <= {
        file.path.name for file in steps
    }
    monkeypatch.setattr(type(asked.relation), "text", "SELECT 1")
    assert hash_definition(job, asked) == definition
    for file in steps:
        monkeypatch.setitem(file.header, "version", 2)  # type: ignore[arg-type]
        other = hash_definition(job, asked)
        assert other.startswith("v2-")
        assert other[3:] != definition[3:]
        monkeypatch.undo()
