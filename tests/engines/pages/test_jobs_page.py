"""Each orchestrator of the page on jobs runs a job."""

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

#: The orchestrators pin other versions than the project, so they have a separate environment.
OTHERS = ROOT / ".venv-orchestrators"


def environment(**more: str) -> dict[str, str]:
    """Return this environment with `sqleval` on the path."""
    places = (start_programs(), Path(sys.executable).parent, os.environ["PATH"])
    return {**os.environ, "PATH": os.pathsep.join(map(str, places)), **more}


@pytest.fixture(scope="module")
def others() -> Path:
    subprocess.run(["bash", str(ROOT / ".ci" / "environment"), "orchestrators"], check=True)
    return OTHERS / "bin"


#: The nights from the second day on; the labels of a day come two days after its end.
NIGHTS = [f"2013-07-{day:02}T03:00:00+00:00" for day in range(3, 9)]
#: The gate's verdict in each: the second day, which is bad, is mature in the third night. A run
#: judges the last evaluated day once more.
CODES = [0, 0, 1, 1, 0, 0]
#: The evaluated days: in each night except the first, a day whose labels are mature.
EVALUATED = [f"2013-07-{day:02}" for day in range(2, 7)]


@pytest.fixture
def jobs(tmp_path: Path) -> Path:
    """Return a folder with a nightly job whose labels are late, and whose second day is bad."""
    frame = rows(days=7).with_columns(pl.col("day").dt.offset_by("-4566d"))
    days = frame["day"].unique().sort()
    assert str(days[0]) == "2013-07-02"
    is_bad = pl.col("day") == days[1]
    frame = frame.with_columns(p=pl.when(is_bad).then(1 - pl.col("p")).otherwise("p"))
    frame.drop("y").write_parquet(tmp_path / "preds.parquet")
    frame.select("key", "y").write_parquet(tmp_path / "labels.parquet")
    (tmp_path / "nightly.yml").write_text(
        "name: nightly\nsource: preds.parquet\nlabel: y\nscore: p\nperiod: {column: day}\n"
        "labels: {source: labels.parquet, on: key, maturity: 1d}\n"
        "metrics: [roc_auc]\nhistory: history.duckdb\ngates: [roc_auc >= 0.6]\n",
        encoding="utf-8",
    )
    return tmp_path


def read_evaluated(folder: Path) -> list[str]:
    """Return the periods that the job has evaluated, in order."""
    done = run_here("history", str(folder / "history.duckdb"), "--format", "csv")
    history = pl.read_csv(done.stdout.encode()).filter(metric="roc_auc")
    return history["period"].sort().to_list()


def ran(script: str, others: Path, folder: Path, **more: str) -> str:
    """Run a script in the orchestrators' environment, and return what it printed."""
    path = folder / "script.py"
    # Imported modules live to the end; searching them for garbage would take a fifth of the time.
    path.write_text(f"import gc\ngc.disable()\n{script}", encoding="utf-8")
    done = subprocess.run(
        [others / "python", path], capture_output=True, text=True, check=False, cwd=folder,
        env=environment(**more),
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_dagster_evaluates_each_night_what_is_mature(others: Path, jobs: Path) -> None:
    code = page.block("Dagster", "python").replace("/srv/jobs", str(jobs))
    output = ran(
        code + f"\n\nfrom datetime import datetime\nfor night in {NIGHTS}:\n"
        "    with dg.DagsterInstance.ephemeral() as instance:\n"
        "        at = datetime.fromisoformat(night)\n"
        "        context = dg.build_schedule_context(instance, scheduled_execution_time=at)\n"
        "        request = every_night(context)\n"
        "        config = request.run_config\n"
        "        done = dg.materialize([nightly], run_config=config, instance=instance)\n"
        "    (check,) = done.get_asset_check_evaluations()\n"
        "    failed = 'roc_auc' in check.metadata['failed'].text\n"
        "    print('NIGHT', done.success, int(not check.passed), failed)\n",
        others, jobs, DAGSTER_DISABLE_TELEMETRY="1",
    )  # fmt: skip
    nights = [line for line in output.splitlines() if line.startswith("NIGHT")]
    assert nights == [f"NIGHT True {code} {code == 1}" for code in CODES]
    assert read_evaluated(jobs) == EVALUATED


def test_airflow_evaluates_each_night_what_is_mature(others: Path, jobs: Path) -> None:
    code = page.block("Airflow", "python").replace("/srv/jobs", str(jobs))
    (jobs / "dags").mkdir()
    (jobs / "dags" / "nightly.py").write_text(code, encoding="utf-8")
    output = ran(
        "import sys\nsys.path.insert(0, 'dags')\n"
        "import pendulum\nfrom airflow.utils.db import initdb\ninitdb()\n"
        "from nightly import dag\n"
        "from airflow.dag_processing.bundles.manager import DagBundlesManager\n"
        "DagBundlesManager().sync_bundles_to_db()\n"
        f"for night in {NIGHTS}:\n"
        "    print('STATE', dag.test(logical_date=pendulum.parse(night)).state)\n",
        others, jobs, AIRFLOW_HOME=str(jobs / "airflow"), AIRFLOW__CORE__LOAD_EXAMPLES="False",
        AIRFLOW__CORE__DAGS_FOLDER=str(jobs / "dags"),
    )  # fmt: skip
    states = [line for line in output.splitlines() if line.startswith("STATE")]
    assert states == [f"STATE {'failed' if code else 'success'}" for code in CODES]
    assert read_evaluated(jobs) == EVALUATED
