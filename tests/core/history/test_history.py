"""The history in DuckDB files and Delta tables: writes, reads and its command."""

import json
import logging
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from functools import partial
from pathlib import Path

import duckdb
import polars as pl
import pytest
import yaml

from sqleval import RequestError
from sqleval.cli.main import run_command
from sqleval.errors import EngineError, StoreBusy
from sqleval.history import view
from sqleval.history.delta import Delta
from sqleval.history.opening import open_store
from sqleval.history.retention import prune_store
from sqleval.history.store import (
    FILES,
    RESTATED,
    RESULTS,
    Selection,
    Store,
    retry_while_busy,
)
from sqleval.jobs.file.reading import read_job
from tests.support.commands import run, start_programs
from tests.support.lake import Lake, rows


@pytest.fixture
def lake(tmp_path: Path) -> Lake:
    made = Lake(tmp_path)
    made.put(rows(days=1))
    return made


@pytest.fixture(params=["duckdb", "delta"])
def url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
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
    expected = pl.concat([results("a", ["1"]), results("a", ["2", "3"], 0.25)])
    found = store.read("sqleval_history", "a").sort("period", maintain_order=True)
    assert found.equals(expected)
    assert store.read("sqleval_history", "b's").equals(results("b's", ["1"]))
    assert store.read("sqleval_files", "a").equals(files("a", "x"))
    store.replace("a", [], results("a", []), files("a", "z"))
    assert store.read("sqleval_files", "a")["file"].to_list() == ["z"]
    assert store.read("sqleval_history", "a").height == 6
    assert store.read("sqleval_history").height == 8
    store.replace("a", ["1"], results("a", []), None)
    assert store.read("sqleval_history", "a").height == 4
    assert store.read("sqleval_restated").is_empty()
    old = [{"job": "a", "period": str(n), "value": n / 3, "new_n": n} for n in range(2)]
    for row in old:
        store.replace("a", [], results("a", []), None, pl.DataFrame([row], schema=RESTATED))
    kept = store.read("sqleval_restated", "a").sort("period")
    assert kept.equals(pl.DataFrame(old, schema=RESTATED))


def test_a_store_reads_what_is_selected(url: str) -> None:
    store = open_store(url)
    only = Selection(columns=["metric"], distinct=True)
    assert store.read("sqleval_history", None, only).schema == {"metric": pl.String}
    days = ["2026-01-30", "2026-01-31", "2026-02-01"]
    for job in ("a", "b's"):
        store.replace(job, days, results(job, days), None)
    slices = ['{"seg": "\\u00e9"}', '{"seg": null}']
    for only, expected in (
        (Selection(metrics=["roc_auc", "ks"]), 6), (Selection(metrics=["ks"]), 0),
        (Selection(metrics=[]), 0), (Selection(slices=slices[:1]), 3),
        (Selection(slices=slices, periods=days[1:]), 4), (Selection(first="2026-01-31"), 4),
        (Selection(last="2026-01"), 4), (Selection(first="2026-01-31", last="2026-01-31"), 2),
        (Selection(first="2026-02", last="2026"), 2), (Selection(last="2025"), 0),
    ):  # fmt: skip
        assert store.read("sqleval_history", "b's", only).height == expected, only
        assert store.read("sqleval_history", None, only).height == 2 * expected, only
    only = Selection(columns=["period", "job"], first="2026-01-31", distinct=True)
    assert sorted(store.read("sqleval_history", None, only).rows()) == [
        (day, job) for day in days[1:] for job in ("a", "b's")
    ]
    flags = ["period", "has_rows", "has_any", "has_failed"]
    for only in (Selection(columns=flags), Selection(columns=flags, distinct=True)):
        found = store.read("sqleval_history", "a", only)
        assert sorted(found.rows()) == [
            (day, True, True, False) for day in days for _ in range(1 if only.distinct else 2)
        ]
    for column in ("value", "n"):
        only = Selection(columns=[column])
        found = store.read("sqleval_history", "a", only)
        assert found.equals(results("a", days).select(column))


def test_old_periods_are_removed_from_one_job(url: str) -> None:
    store, days = open_store(url), [f"2026-01-{day}" for day in (29, 30, 31)]
    shared = [name for name in RESTATED if name in RESULTS]
    for job in ("a", "b's"):
        replaced = pl.DataFrame(schema=RESTATED)
        replaced = pl.concat([replaced, results(job, days).select(shared)], how="diagonal")
        store.replace(job, days, results(job, days), files(job, "1.parquet"), replaced)
    removals = prune_store(store, "b's", datetime(2026, 1, 31, tzinfo=UTC))
    assert [(each.removed, each.kept) for each in removals] == [(4, 2), (4, 2), (0, 1)]
    for table in ("sqleval_history", "sqleval_restated"):
        assert store.read(table, "b's")["period"].to_list() == days[2:] * 2, table
        assert store.read(table, "a")["period"].to_list() == [day for day in days for _ in "12"]


def test_an_older_file_of_duckdb_gets_the_table_of_replaced_results(tmp_path: Path) -> None:
    path = str(tmp_path / "history.duckdb")
    store, days = open_store(path), ["2026-01-01", "2026-01-02"]
    for change in (lambda: store.remove("a", days[:1]), store.compact):
        store.replace("a", days, results("a", days), None)
        with duckdb.connect(path) as con:
            con.execute("DROP TABLE sqleval_restated")
        change()
        assert store.read("sqleval_restated").is_empty()
    assert store.read("sqleval_history", "a").height == 4


def test_a_delta_table_without_a_data_file_is_an_error(tmp_path: Path) -> None:
    store = open_store(str(tmp_path / "history.delta"))
    store.replace("a", ["1"], results("a", ["1"]), None)
    (data,) = (tmp_path / "history.delta" / "sqleval_history").rglob("*.parquet")
    data.unlink()
    with pytest.raises(EngineError, match=rf"^the history .*{data.name}") as refused:
        store.read("sqleval_history")
    assert len(str(refused.value).splitlines()) == 1


def test_an_object_store_that_does_not_answer_is_an_error_of_one_line() -> None:
    nobody = {"endpoint_url": "http://127.0.0.1:9", "allow_http": "true", "max_retries": "0"}
    store = open_store("s3://lake/history", options={**nobody, "skip_signature": "true"})
    for call in (partial(store.read, "sqleval_history"), partial(store.remove, "a", ["1"])):
        with pytest.raises(EngineError, match=r"^the history s3://.* error ↳ .*127\.0\.0\.1:9"):
            call()


def test_six_writers_at_one_time_lose_nothing(url: str) -> None:
    def write(n: int) -> None:
        store = open_store(url)
        for round_ in range(2):
            rows = results(f"job{n % 4}", [f"{n}-{round_}"], n)
            retry_while_busy(lambda rows=rows: store.replace(  # type: ignore[misc]
                f"job{n % 4}", rows["period"].unique().to_list(), rows, files(f"job{n % 4}", str(n))
            ))  # fmt: skip

    with ThreadPoolExecutor(6) as pool:
        list(pool.map(write, range(6)))
    found = open_store(url).read("sqleval_history")
    assert found.height == 6 * 2 * 2
    assert found.unique(["job", "period", "slice"]).height == found.height
    assert open_store(url).read("sqleval_files").height == 4


def test_a_delta_table_that_another_job_creates_first_is_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = open_store(str(tmp_path / "history.delta"))
    store.replace("a", ["1"], results("a", ["1"]), None)
    original, looks = Delta._load, iter([True])
    with monkeypatch.context() as patch:
        # The other job creates the table between this check and the creation.
        patch.setattr(Delta, "_load", lambda *at: None if next(looks, False) else original(*at))
        store.replace("b", ["1"], results("b", ["1"]), None)
    assert store.read("sqleval_history")["job"].unique().sort().to_list() == ["a", "b"]


def test_six_jobs_in_processes_of_their_own(tmp_path: Path) -> None:
    frame = pl.DataFrame({"y": [0, 1] * 20, "p": [i / 40 for i in range(40)]})
    frame.with_columns(day=pl.lit("2026-01-01")).write_parquet(tmp_path / "preds.parquet")
    for n in range(6):
        text = (
            f"name: job{n}\nsource: preds.parquet\nlabel: y\nscore: p\nperiod: {{column: day}}\n"
            "metrics: [roc_auc, log_loss]\nhistory: history.duckdb\ngates: [roc_auc > 0.4]\n"
        )
        (tmp_path / f"{n}.yml").write_text(text, encoding="utf-8")
    command = start_programs() / "sqleval"
    running = [
        subprocess.Popen([command, "run", f"{n}.yml"], cwd=tmp_path, stderr=subprocess.PIPE)
        for n in range(6)
    ]
    outputs = [process.communicate()[1].decode() for process in running]
    assert [process.returncode for process in running] == [0] * 6, outputs
    history = open_store(str(tmp_path / "history.duckdb")).read("sqleval_history")
    assert history.group_by("job").len().sort("job").rows() == [(f"job{n}", 2) for n in range(6)]


def test_a_store_that_stays_busy_is_given_up(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "history.duckdb"
    open_store(str(path)).replace("a", [], results("a", []), None)
    holder = hold(path, "writes")
    with pytest.raises(StoreBusy, match="set lock"):
        open_store(str(path)).read("sqleval_history")
    monkeypatch.setattr("sqleval.history.store._TIMEOUT", 0.3)
    with pytest.raises(StoreBusy, match="set lock"):
        retry_while_busy(lambda: open_store(str(path)).read("sqleval_history"))
    holder.communicate(b"\n")
    assert open_store(str(path)).read("sqleval_history").is_empty()


HOLD = """
import duckdb, sys
con = duckdb.connect(sys.argv[1], read_only=sys.argv[2] == "reads")
print(1, flush=True)
input()
"""


def hold(path: Path, how: str) -> subprocess.Popen[bytes]:
    """Start a process that has a DuckDB file open."""
    started = subprocess.Popen(
        [sys.executable, "-c", HOLD, str(path), how], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    assert started.stdout is not None
    started.stdout.readline()
    return started


def test_a_reader_elsewhere_and_write_protection_do_not_stop_a_reader(
    filled: Store, tmp_path: Path
) -> None:
    path = tmp_path / "history.duckdb"
    path.chmod(0o444)
    before = path.stat()
    reader = hold(path, "reads")
    try:
        done = run("history", str(path), "--job", "a", "--format", "json")
        assert len(json.loads(done.stdout)) == 10
        assert done.stderr == ""
        assert path.stat().st_mtime_ns == before.st_mtime_ns
    finally:
        reader.communicate(b"\n")


@pytest.mark.parametrize("flags", [[], ["--log-json"]])
def test_a_run_that_waits_names_the_holder_of_the_history(lake: Lake, flags: list[str]) -> None:
    lake.run(backfill=True)
    writer = hold(lake.folder / "history.duckdb", "writes")
    command = [start_programs() / "sqleval", "run", "job.yml", "--as-of", "2026-01-02", *flags]
    started = subprocess.Popen(command, cwd=lake.folder, stderr=subprocess.PIPE, text=True)
    try:
        assert started.stderr is not None
        line = started.stderr.readline()
        assert "waiting up to 180 s for the history" in line
        assert f"(PID {writer.pid})" in line
        assert "See also" not in line
        assert line.startswith("{" if flags else "note: ")
    finally:
        writer.communicate(b"\n")
        rest = started.communicate()[1]
    assert started.returncode == 0
    assert "waiting" not in rest


def test_a_file_that_older_engines_open(tmp_path: Path) -> None:
    path = str(tmp_path / "history.duckdb")
    open_store(path).replace("a", ["1"], results("a", ["1"]), None)
    with duckdb.connect(path) as con:
        (tags,) = con.execute("SELECT tags FROM duckdb_databases() WHERE NOT internal").fetchall()
    assert "v1.4" in str(tags) or "v1.2" in str(tags)


@pytest.mark.parametrize(
    "broken", ["history.duckdb", "history.delta", "postgresql://u@localhost:1/d"]
)
def test_wrong_stores_are_refused(broken: str, tmp_path: Path) -> None:
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


@pytest.mark.parametrize(
    "url",
    [
        "postgresql://me:pw17@h/d", "postgresql://me:p/pw17@h/d", "postgresql://me:pw17",
        "postgresql://h/d?user=me&password=pw17", "postgresql://h/d?p%61ssword=pw17",
        "postgresql://me:p[pw17]@h/d", "postgresql://me:p#pw17@h/d", "POSTGRES://me:p?pw17@[::1]/d",
        "s3://me:pw17@bucket/history", "mysql://me:p/pw17@h", "https://h/a?sig=pw17",
    ],
)  # fmt: skip
def test_a_url_with_a_password_is_refused_and_not_shown(url: str, tmp_path: Path) -> None:
    with pytest.raises(RequestError) as refused:
        open_store(url)
    assert "pw17" not in str(refused.value)
    path = tmp_path / "job.yml"
    path.write_text(f"history: {json.dumps(url)}\noutputs: {{mlflow: {json.dumps(url)}}}\n")
    with pytest.raises(RequestError, match=r"job file must not contain|URL must be") as refused:
        read_job(path)
    assert "pw17" not in str(refused.value)


@pytest.mark.parametrize(
    "host", ["h.invalid:5432", "", "[::1", "[::1]:1", "u@localhost:1,localhost:2", "u@%2Fno:x"]
)
def test_no_output_shows_the_password(
    host: str, lake: Lake, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    secret = "zq@zq:zq/z'q\\zq"
    monkeypatch.setenv("HISTORY_PASSWORD", secret)
    monkeypatch.setenv("PGHOST", str(lake.folder))
    monkeypatch.chdir(lake.folder)
    history = {"url": f"postgresql://{host}/d", "password": {"env": "HISTORY_PASSWORD"}}
    (lake.folder / "job.yml").write_text(yaml.safe_dump({**lake.spec, "history": history}))
    # The command replaces the hook and the handlers; the test restores them.
    monkeypatch.setattr(sys, "unraisablehook", sys.unraisablehook)
    logger = logging.getLogger("sqleval")
    monkeypatch.setattr(logger, "handlers", [*logger.handlers])
    monkeypatch.setattr(logger, "level", logger.level)
    # The streams of the process are read: what libpq or DuckDB write is there as well.
    assert run_command(["run", "job.yml", "--log-json", "--debug"]) != 0
    out, err = capfd.readouterr()
    assert "PostgreSQL" in err or "the history" in err
    # Nor parts of the password, nor its form in a URL.
    assert "zq" not in (out + err).replace(str(lake.folder), "")


def test_other_names_are_refused() -> None:
    with pytest.raises(RequestError, match=r"write a DuckDB file \(history.duckdb\)"):
        open_store("history.parquet")


# -- queries -----------------------------------------------------------------------------------


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


def test_rows_are_chosen_by_job_slice_and_period(filled: Store) -> None:
    assert view.read_rows(filled).height == 20
    assert view.read_rows(filled, job="a", slices=["seg=é"], newest=2)["period"].to_list() == [
        "2026-01-04", "2026-01-05",
    ]  # fmt: skip
    # The last periods of each job that have the metrics and slices.
    late = results("late", ["2026-03-01", "2026-03-02"])
    filled.replace("late", ["2026-03-01", "2026-03-02"], late, None)
    newest = view.read_rows(filled, newest=2).select("job", "period").unique().sort(pl.all()).rows()
    assert newest == [
        *(("a", f"2026-01-0{n}") for n in (4, 5)), *(("b", f"2026-01-0{n}") for n in (4, 5)),
        *(("late", f"2026-03-0{n}") for n in (1, 2)),
    ]  # fmt: skip
    assert view.read_rows(filled, job="a", first="2027").is_empty()
    assert (
        view.read_rows(filled, job="a", first="2026-01-02", last="2026-01")["period"].min()
        == "2026-01-02"
    )
    for wrong, message in (
        ({"job": "c"}, "no job 'c'"), ({"metrics": ["roc"]}, "did you mean 'roc_auc'"),
        ({"slices": ["seg"]}, "KEY=VALUE"), ({"slices": ["sek=a"]}, "did you mean 'seg'"),
        ({"first": "2026-02", "last": "2026-01"}, "--from 2026-02 is later than --to 2026-01"),
    ):  # fmt: skip
        with pytest.raises(RequestError, match=message):
            view.read_rows(filled, **wrong)  # type: ignore[arg-type]


def test_names_of_replaced_results_are_checked(filled: Store) -> None:
    assert view.read_rows(filled, job="a", restated=True).is_empty()
    chosen = {"metrics": ["roc_auc"], "slices": ["seg=é"], "restated": True}
    assert view.read_rows(filled, job="b", **chosen).is_empty()  # type: ignore[arg-type]
    old = [{"job": "a", "period": "2026-01-01", "slice": '{"old": 1}', "metric": "ks"}]
    filled.replace("a", [], results("a", []), None, pl.DataFrame(old, schema=RESTATED))
    found = view.read_rows(filled, metrics=["ks"], slices=["old=1"], restated=True)
    assert found["job"].to_list() == ["a"]
    for wrong, message in (
        ({"job": "c"}, "no job 'c'"), ({"metrics": ["roc"]}, "did you mean 'roc_auc'"),
        ({"metrics": ["ks", "roc"]}, "no metric 'roc'"), ({"slices": ["sek=a"]}, "mean 'seg'"),
    ):  # fmt: skip
        with pytest.raises(RequestError, match=message):
            view.read_rows(filled, restated=True, **wrong)  # type: ignore[arg-type]


def test_a_changed_definition_is_noted_and_breaks_the_line(filled: Store) -> None:
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


def test_the_command_prints_and_exports(
    filled: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    rows = json.loads(run("history", "history.duckdb", "--format", "json").stdout)
    assert len(rows) == 20
    assert rows[0]["period"] == "2026-01-01"
    assert rows[0]["seg"] == "é"
    assert json.loads(rows[0]["slice"]) == {"seg": "é"}
    done = run("history", "history.duckdb", "--job", "b", "--output", "rows.parquet")
    assert "definition of roc_auc changed" in done.stderr
    assert pl.read_parquet(tmp_path / "rows.parquet").height == 10
    wrong = run("history", "history.duckdb", "--job", "none", code=2)
    assert wrong.stdout == ""
    assert "no job 'none'" in wrong.stderr
