"""The orchestrators of the page on jobs: each runs a job."""

import os
import subprocess
import sys
from pathlib import Path

import polars as pl
import pytest

from tests.core.pages import test_jobs_page as page
from tests.support.commands import run as run_here
from tests.support.commands import start_programs
from tests.support.lake import rows
from tests.support.pages import ROOT

#: The orchestrators pin what the project does not, so they have an environment of their own.
OTHERS = ROOT / ".venv-orchestrators"


def environment(**more: str) -> dict[str, str]:
    """Return this environment with `sqleval` on the path."""
    places = (start_programs(), Path(sys.executable).parent, os.environ["PATH"])
    return {**os.environ, "PATH": os.pathsep.join(map(str, places)), **more}


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


def test_a_dagster_asset_is_materialised(others: Path, jobs: Path) -> None:
    code = page.block("Dagster", "python").replace("/srv/jobs", str(jobs))
    output = ran(
        code + "\n\nfor day in ('2013-07-02', '2013-07-03'):\n"
        "    with dg.DagsterInstance.ephemeral() as instance:\n"
        "        done = dg.materialize([nightly], partition_key=day, instance=instance)\n"
        "    (check,) = done.get_asset_check_evaluations()\n"
        "    print(day, done.success, check.passed, 'roc_auc' in check.metadata['failed'].text)\n",
        others, jobs, DAGSTER_DISABLE_TELEMETRY="1",
    )  # fmt: skip
    assert output.splitlines() == ["2013-07-02 True True False", "2013-07-03 True False True"]


def test_an_airflow_task_runs(others: Path, jobs: Path) -> None:
    code = page.block("Airflow", "python").replace("/srv/jobs", str(jobs))
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
