"""The page on jobs: its commands run, and each orchestrator runs a job."""

import json
import os
import re
import runpy
import subprocess
import sys
from pathlib import Path

import polars as pl
import pytest

from sqleval.jobs.file.reading import read_job
from sqleval.jobs.outputs.notifications import build_message
from tests.support.commands import run as run_here
from tests.support.commands import start_programs
from tests.support.lake import rows

from .pages import ROOT, read_page, run, unexpected

PAGE = read_page("docs/guide/jobs.md")
#: The orchestrators pin what the project does not, so they have an environment of their own.
OTHERS = ROOT / ".venv-orchestrators"

pytestmark = pytest.mark.slow


def block(heading: str, language: str, n: int = 0) -> str:
    part = PAGE.split(f"# {heading}\n", 1)[1]
    found = re.findall(rf"^```{language}\n(.*?)^```", part, re.MULTILINE | re.DOTALL)
    return str(found[n])


def environment(**more: str) -> dict[str, str]:
    """Return this environment with `sqleval` on the path."""
    places = (start_programs(), Path(sys.executable).parent, os.environ["PATH"])
    return {**os.environ, "PATH": os.pathsep.join(map(str, places)), **more}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    home = tmp_path_factory.mktemp("jobs")
    (home / "data").symlink_to(ROOT / "data")
    (home / "flights.yml").write_text(block("Three commands", "yaml"), encoding="utf-8")
    return home


@pytest.mark.long
def test_the_commands_run_in_order(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(folder)
    commands = block("Three commands", "sh").splitlines()
    commands += block("Three commands", "sh", 1).splitlines()
    output_of: dict[str, str] = {}
    for command in commands:
        done = run(command, folder, capfd)
        # As the page says, gates of its own job fail in the backfill.
        assert done.returncode == ("run flights.yml --backfill" in command), done.stderr
        assert unexpected(done) == []
        output_of[command] = done.stdout + done.stderr
    assert (
        "nightly: 1 evaluated, gates: 2 passed, 11 no reference, 5 undefined, 0 failed"
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


@pytest.mark.long
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
    # MLflow sets it for the rest of the process, whose commands could not be forks then.
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


# -- orchestrators -----------------------------------------------------------------------------


@pytest.fixture(scope="module")
def others() -> Path:
    subprocess.run(["bash", str(ROOT / ".ci" / "environment"), "orchestrators"], check=True)
    return OTHERS / "bin"


@pytest.fixture
def jobs(tmp_path: Path) -> Path:
    """Return a folder with a nightly job whose gate fails on the second day."""
    frame = rows(days=3)
    second = pl.col("day") == frame["day"][120]
    frame = frame.with_columns(
        p=pl.when(second).then(1 - pl.col("p")).otherwise("p"),
        day=pl.col("day").dt.offset_by("-4566d"),
    )
    assert str(frame["day"][0]) == "2013-07-02"
    frame.write_parquet(tmp_path / "preds.parquet")
    (tmp_path / "nightly.yml").write_text(
        "name: nightly\nsource: preds.parquet\nlabel: y\nscore: p\nperiod: {column: day}\n"
        "metrics: [roc_auc]\nhistory: history.duckdb\ngates: [roc_auc >= 0.6]\n",
        encoding="utf-8",
    )
    return tmp_path


def ran(script: str, others: Path, folder: Path, **more: str) -> str:
    """Run a script in the orchestrators' environment, and return what it printed."""
    path = folder / "script.py"
    # What it imports lives to the end: to look for garbage in it would take a fifth of the time.
    path.write_text(f"import gc\ngc.disable()\n{script}", encoding="utf-8")
    done = subprocess.run(
        [others / "python", path], capture_output=True, text=True, check=False, cwd=folder,
        env=environment(**more),
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.mark.long
def test_a_dagster_asset_is_materialised(others: Path, jobs: Path) -> None:
    code = block("Dagster", "python").replace("/srv/jobs", str(jobs))
    output = ran(
        code + "\n\nfor day in ('2013-07-02', '2013-07-03'):\n"
        "    with dg.DagsterInstance.ephemeral() as instance:\n"
        "        done = dg.materialize([nightly], partition_key=day, instance=instance)\n"
        "    (check,) = done.get_asset_check_evaluations()\n"
        "    print(day, done.success, check.passed, 'roc_auc' in check.metadata['failed'].text)\n",
        others, jobs, DAGSTER_DISABLE_TELEMETRY="1",
    )  # fmt: skip
    assert output.splitlines() == ["2013-07-02 True True False", "2013-07-03 True False True"]


@pytest.mark.long
def test_an_airflow_task_runs(others: Path, jobs: Path) -> None:
    code = block("Airflow", "python").replace("/srv/jobs", str(jobs))
    (jobs / "dags").mkdir()
    (jobs / "dags" / "nightly.py").write_text(code, encoding="utf-8")
    output = ran(
        "import sys\nsys.path.insert(0, 'dags')\n"
        "import pendulum\nfrom airflow.utils.db import initdb\ninitdb()\n"
        "from nightly import dag\n"
        "from airflow.dag_processing.bundles.manager import DagBundlesManager\n"
        "DagBundlesManager().sync_bundles_to_db()\n"
        "for day in ('2013-07-03', '2013-07-04'):\n"
        "    print('STATE', dag.test(logical_date=pendulum.parse(day)).state)\n",
        others, jobs, AIRFLOW_HOME=str(jobs / "airflow"), AIRFLOW__CORE__LOAD_EXAMPLES="False",
        AIRFLOW__CORE__DAGS_FOLDER=str(jobs / "dags"),
    )  # fmt: skip
    states = [line for line in output.splitlines() if line.startswith("STATE")]
    assert states == ["STATE success", "STATE failed"]
    done = run_here("history", str(jobs / "history.duckdb"), "--format", "csv")
    periods = pl.read_csv(done.stdout.encode())["period"].to_list()
    assert periods == ["2013-07-02", "2013-07-03"]
