"""The history in each of its stores (DuckDB, PostgreSQL, Delta): writes, reads and its command."""

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import duckdb
import polars as pl
import pytest

from sqleval import RequestError
from sqleval.errors import EngineError, StoreBusy
from sqleval.history import view
from sqleval.history.opening import open_store
from sqleval.history.store import FILES, RESULTS, Store, retry_while_busy
from tests.support.commands import start_programs
from tests.support.engines import PostgreSQL


@pytest.fixture(scope="module")
def server() -> Iterator[PostgreSQL]:
    with PostgreSQL() as running:
        yield running


@pytest.fixture(params=["duckdb", "delta", pytest.param("postgres", marks=pytest.mark.slow)])
def url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    if request.param == "postgres":
        import psycopg  # it comes with the engines, as the server does

        running = request.getfixturevalue("server")
        with psycopg.connect(running.url, autocommit=True) as con:
            con.execute("DROP TABLE IF EXISTS sqleval_history, sqleval_files")
        return str(running.url)
    return str(tmp_path / f"history.{request.param}")


def results(job: str, periods: list[str], value: float = 0.5) -> pl.DataFrame:
    """Return rows with a missing value in every column that may have one."""
    rows = [
        {"job": job, "run": "r", "evaluated_at": "t", "period": period, "grain": "day",
         "slice": json.dumps({"seg": seg}), "metric": "roc_auc", "parameters": "{}",
         "value": value if seg else None, "n": 3, "n_dropped": 0, "note": seg or "o'clock",
         "definition": "d", "versions": "{}", "duration": 1.0}
        for period in periods for seg in ("é", None)
    ]  # fmt: skip
    return pl.DataFrame(rows, schema=RESULTS)


def files(job: str, name: str) -> pl.DataFrame:
    return pl.DataFrame([{"job": job, "side": "source", "file": name, "rows": 1}], schema=FILES)


def test_a_store_replaces_periods_and_nothing_else(url: str) -> None:
    store = open_store(url)
    assert store.read("sqleval_history").is_empty()
    assert store.read("sqleval_history", "a").schema == RESULTS
    assert store.read("sqleval_files").schema == FILES
    store.replace("a", ["1", "2"], results("a", ["1", "2"]), files("a", "x"))
    store.replace("b's", ["1"], results("b's", ["1"]), files("b's", "y"))
    assert store.read("sqleval_history", "a").equals(results("a", ["1", "2"]))
    store.replace("a", ["2", "3"], results("a", ["2", "3"], 0.25), None)
    wanted = pl.concat([results("a", ["1"]), results("a", ["2", "3"], 0.25)])
    found = store.read("sqleval_history", "a").sort("period", maintain_order=True)
    assert found.equals(wanted)
    assert store.read("sqleval_history", "b's").equals(results("b's", ["1"]))
    assert store.read("sqleval_files", "a").equals(files("a", "x"))
    store.replace("a", [], results("a", []), files("a", "z"))
    assert store.read("sqleval_files", "a")["file"].to_list() == ["z"]
    assert store.read("sqleval_history", "a").height == 6
    assert store.read("sqleval_history").height == 8
    store.replace("a", ["1"], results("a", []), None)
    assert store.read("sqleval_history", "a").height == 4


def test_definitions_of_one_job_are_renamed(url: str) -> None:
    store = open_store(url)
    store.replace("a", ["1"], results("a", ["1"]), None)
    store.replace("b's", ["1"], results("b's", ["1"]), None)
    store.replace_definitions("b's", {"d": "new'", "none": "other"})
    assert store.read("sqleval_history", "a").equals(results("a", ["1"]))
    renamed = results("b's", ["1"]).with_columns(definition=pl.lit("new'"))
    assert store.read("sqleval_history", "b's").equals(renamed)


@pytest.mark.long
@pytest.mark.slow
def test_ten_writers_at_one_time_lose_nothing(url: str) -> None:
    def write(n: int) -> None:
        store = open_store(url)
        for round_ in range(3):
            rows = results(f"job{n % 7}", [f"{n}-{round_}"], n)
            retry_while_busy(lambda rows=rows: store.replace(  # type: ignore[misc]
                f"job{n % 7}", rows["period"].unique().to_list(), rows, files(f"job{n % 7}", str(n))
            ))  # fmt: skip

    with ThreadPoolExecutor(10) as pool:
        list(pool.map(write, range(10)))
    found = open_store(url).read("sqleval_history")
    assert found.height == 10 * 3 * 2
    assert found.unique(["job", "period", "slice"]).height == found.height
    assert open_store(url).read("sqleval_files").height == 7


@pytest.mark.long
@pytest.mark.slow
def test_ten_jobs_in_processes_of_their_own(tmp_path: Path) -> None:
    frame = pl.DataFrame({"y": [0, 1] * 20, "p": [i / 40 for i in range(40)]})
    frame.with_columns(day=pl.lit("2026-01-01")).write_parquet(tmp_path / "preds.parquet")
    for n in range(10):
        text = (
            f"name: job{n}\nsource: preds.parquet\nlabel: y\nscore: p\nperiod: {{column: day}}\n"
            "metrics: [roc_auc, log_loss]\nhistory: history.duckdb\ngates: [roc_auc > 0.4]\n"
        )
        (tmp_path / f"{n}.yml").write_text(text, encoding="utf-8")
    command = start_programs() / "sqleval"
    running = [
        subprocess.Popen([command, "run", f"{n}.yml"], cwd=tmp_path, stderr=subprocess.PIPE)
        for n in range(10)
    ]
    said = [process.communicate()[1].decode() for process in running]
    assert [process.returncode for process in running] == [0] * 10, said
    history = open_store(str(tmp_path / "history.duckdb")).read("sqleval_history")
    assert history.group_by("job").len().sort("job").rows() == [(f"job{n}", 2) for n in range(10)]


@pytest.mark.long
def test_a_store_that_stays_busy_is_given_up(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "history.duckdb"
    open_store(str(path)).replace("a", [], results("a", []), None)
    hold = "import duckdb, sys; c = duckdb.connect(sys.argv[1]); print(1, flush=True); input()"
    holder = subprocess.Popen(
        [sys.executable, "-c", hold, str(path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    assert holder.stdout is not None
    holder.stdout.readline()
    with pytest.raises(StoreBusy, match="set lock"):
        open_store(str(path)).read("sqleval_history")
    monkeypatch.setattr("sqleval.history.store._TIMEOUT", 0.3)
    with pytest.raises(StoreBusy):
        retry_while_busy(lambda: open_store(str(path)).read("sqleval_history"))
    holder.communicate(b"\n")
    assert open_store(str(path)).read("sqleval_history").is_empty()


def test_a_file_that_older_engines_open(tmp_path: Path) -> None:
    path = str(tmp_path / "history.duckdb")
    open_store(path).replace("a", ["1"], results("a", ["1"]), None)
    with duckdb.connect(path) as con:
        (tags,) = con.execute("SELECT tags FROM duckdb_databases() WHERE NOT internal").fetchall()
    assert "v1.4" in str(tags) or "v1.2" in str(tags)


@pytest.mark.parametrize(
    "broken", ["history.duckdb", "history.delta", "postgresql://u@localhost:1/d"]
)
def test_what_is_no_store(broken: str, tmp_path: Path) -> None:
    url = broken if "://" in broken else str(tmp_path / broken)
    if url.endswith("duckdb"):
        Path(url).write_text("no database", encoding="utf-8")
    if url.endswith("delta"):
        log = Path(url) / "sqleval_history" / "_delta_log"
        log.mkdir(parents=True)
        (log / "00000000000000000000.json").write_text("{}", encoding="utf-8")
    with pytest.raises(EngineError, match="the history") as refused:
        open_store(url, password="hidden").read("sqleval_history")
    assert not isinstance(refused.value, StoreBusy)
    assert "hidden" not in str(refused.value)


def test_other_names_are_refused() -> None:
    with pytest.raises(RequestError, match=r"write a DuckDB file \(history.duckdb\)"):
        open_store("history.parquet")


# -- what is asked of it -----------------------------------------------------------------------


@pytest.fixture
def filled(tmp_path: Path) -> Store:
    store = open_store(str(tmp_path / "history.duckdb"))
    days = [f"2026-01-0{n}" for n in range(1, 6)]
    store.replace("a", days, results("a", days), None)
    changed = results("b", days).with_columns(
        definition=pl.when(pl.col("period") < "2026-01-03")
        .then(pl.lit("old"))
        .otherwise(pl.lit("new"))
    )
    store.replace("b", days, changed, None)
    return store


@pytest.mark.long
def test_rows_are_chosen_by_job_slice_and_period(filled: Store) -> None:
    assert view.read_rows(filled).height == 20
    assert view.read_rows(filled, job="a", slices=["seg=é"], newest=2)["period"].to_list() == [
        "2026-01-04", "2026-01-05",
    ]  # fmt: skip
    assert (
        view.read_rows(filled, job="a", first="2026-01-02", last="2026-01")["period"].min()
        == "2026-01-02"
    )
    for wrong, said in (
        ({"job": "c"}, "no job 'c'"), ({"metrics": ["roc"]}, "did you mean 'roc_auc'"),
        ({"slices": ["seg"]}, "KEY=VALUE"), ({"slices": ["sek=a"]}, "did you mean 'seg'"),
    ):  # fmt: skip
        with pytest.raises(RequestError, match=said):
            view.read_rows(filled, **wrong)  # type: ignore[arg-type]


def test_a_changed_definition_is_told_and_breaks_the_line(filled: Store) -> None:
    frame = view.read_rows(filled)
    (note,) = view.list_definition_changes(frame)
    assert note == "b: the definition of roc_auc changed at 2026-01-03 (old to new)"
    assert "definition" in view.expand_slices(frame, short=True).columns
    one_job = view.read_rows(filled, job="a")
    assert "definition" not in view.expand_slices(one_job, short=True).columns
    wide = view.expand_slices(frame, short=False)
    assert wide.columns[:3] == ["job", "period", "seg"]
    assert set(RESULTS) < set(wide.columns)
    assert set(wide["seg"]) == {"é", None}


def test_the_picture_has_a_line_a_slice(filled: Store) -> None:
    picture = view.draw_values(view.read_rows(filled, job="a", slices=["seg=é"]), color=False)
    assert "a: roc_auc" in picture
    assert "seg=é" in picture
    assert "2026-01-01" in picture
    assert "\x1b" not in picture
    with pytest.raises(RequestError, match="nothing to draw"):
        view.draw_values(view.read_rows(filled).filter(pl.col("value").is_null()), color=False)


@pytest.mark.long
def test_the_command_prints_and_exports(filled: Store, tmp_path: Path) -> None:
    def told(*arguments: str) -> subprocess.CompletedProcess[str]:
        command = [start_programs() / "sqleval", "history", "history.duckdb", *arguments]
        return subprocess.run(
            command, cwd=tmp_path, capture_output=True, text=True, check=False, env=os.environ
        )

    rows = json.loads(told("--format", "json").stdout)
    assert len(rows) == 20
    assert rows[0]["period"] == "2026-01-01"
    assert rows[0]["seg"] == "é"
    assert json.loads(rows[0]["slice"]) == {"seg": "é"}
    done = told("--job", "b", "--output", "rows.parquet")
    assert "definition of roc_auc changed" in done.stderr
    assert pl.read_parquet(tmp_path / "rows.parquet").height == 10
    wrong = told("--job", "none")
    assert (wrong.returncode, wrong.stdout) == (2, "")
    assert "no job 'none'" in wrong.stderr
