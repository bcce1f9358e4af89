"""The commands of the page on jobs run."""

import json
import re
import runpy
from pathlib import Path

import polars as pl
import pytest

from sqleval.jobs.file.reading import read_job
from sqleval.jobs.outputs.notifications import build_message
from tests.support.pages import ROOT, read_page, run, unexpected

PAGE = read_page("docs/guide/jobs.md")


def block(heading: str, language: str, n: int = 0) -> str:
    part = PAGE.split(f"# {heading}\n", 1)[1]
    found = re.findall(rf"^```{language}\n(.*?)^```", part, re.MULTILINE | re.DOTALL)
    return str(found[n])


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    home = tmp_path_factory.mktemp("jobs")
    (home / "data").symlink_to(ROOT / "data")
    (home / "flights.yml").write_text(block("Three commands", "yaml"), encoding="utf-8")
    return home


def test_the_commands_run_in_order(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(folder)
    commands = block("Three commands", "sh").splitlines()
    commands += block("Three commands", "sh", 1).splitlines()
    output_of: dict[str, str] = {}
    for command in commands:
        done = run(command, folder, capfd)
        # As the page says, gates of the page's job fail in the backfill.
        assert done.returncode == ("run flights.yml --backfill" in command), done.stderr
        assert unexpected(done) == []
        output_of[command] = done.stdout + done.stderr
    assert (
        "nightly: 1 evaluated, gates: 3 passed, 22 no reference, 10 undefined, 0 failed"
        in output_of[commands[2]]
    )
    assert "2013-07-01  evaluate  new" in output_of[commands[3]]
    assert "27 evaluated" in output_of[commands[4]]
    assert "1 kept" in output_of[commands[5]] or '"action": "keep"' in output_of[commands[5]]
    assert len(output_of[commands[6]].splitlines()) == 1 + 4 * 2
    assert "flights: roc_auc" in output_of[commands[7]]
    assert pl.read_csv(folder / "history.csv").height > 1000
    assert "<svg" in (folder / "flights.html").read_text(encoding="utf-8")
    done = run(block("Which periods a run evaluates", "sh").strip(), folder, capfd)
    assert "2013-12-23  keep" in done.stdout, done.stderr
    # Kept: the weeks of the baseline, and the last eight, which the gates compare.
    lines = block("Old results", "sh").splitlines()
    removals = [run(line, folder, capfd) for line in lines]
    assert all("note: kept though older" in done.stderr for done in removals), removals
    assert [done.stdout.split()[6] for done in removals][1] == "0"
    done = run(block("OpenTelemetry", "sh"), folder)
    for name in ("sqleval run", "evaluate periods", "duckdb statement"):
        assert f'"name": "{name}"' in done.stdout, done.stderr


@pytest.mark.filterwarnings("ignore:The ``noload`` loader strategy:DeprecationWarning")  # MLflow's
def test_months_come_from_the_states_of_days(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    # Ten days of two months of the flights are enough.
    folder, flights = tmp_path, Path("data") / "flights" / "predictions"
    for name in ("month=07", "month=08"):
        (folder / flights / name).mkdir(parents=True)
        rows = pl.read_parquet(ROOT / flights / name / "*.parquet", hive_partitioning=False)
        few = rows.filter(pl.col("flight_date").dt.day() <= 10)
        few.write_parquet(folder / flights / name / "few.parquet")
    heading = "Months from days, and metrics added later"
    for n, name in enumerate(("days", "months")):
        (folder / f"{name}.yml").write_text(block(heading, "yaml", n), encoding="utf-8")
    outputs: list[str] = []
    commands = block(heading, "sh").splitlines()
    for command in commands:
        done = run(command, folder, capfd)
        assert (done.returncode, unexpected(done)) == (0, []), done.stderr
        outputs.append(done.stdout + done.stderr)
    assert "days: 20 evaluated" in outputs[0]
    assert "months: 2 evaluated, gates: 2 passed, 0 failed" in outputs[0]
    assert outputs[1].count("2013-") == 2
    (folder / "runs.py").write_text(block("MLflow", "python"), encoding="utf-8")
    # MLflow sets the variable for the whole process, which could then not fork its commands.
    monkeypatch.setenv("MLFLOW_TRACKING_URI", "")
    monkeypatch.delenv("MLFLOW_TRACKING_URI")
    runpy.run_path("runs.py", run_name="__main__")
    printed = capfd.readouterr()
    values = pl.DataFrame(
        json.loads(run(f"{commands[1]} --format json", folder, capfd).stdout)
    ).sort("period")["value"]
    assert json.loads(printed.out) == [round(value, 3) for value in values], printed.err


def test_notifications_are_those_of_the_page(tmp_path: Path) -> None:
    path = tmp_path / "job.yml"
    path.write_text(block("Three commands", "yaml") + block("Notifications", "yaml"))
    job = read_job(path)
    assert [each.on for each in job.notify] == ["fail", "change", "always"]
    part = PAGE.split("| key of the JSON |", 1)[1].split("\n\n", 1)[0]
    listed = [key for row in part.splitlines() for key in re.findall(r"`(\w+)`", row.split("|")[1])]
    assert listed == [
        "version", "job", "run", "status", "exit_code", "text", "periods", "gates",
        "failed_gates", "failed", "n_failed", "incidents", "errors",
    ]  # fmt: skip
    assert sorted(build_message(job, 0, [])) == sorted(listed)
