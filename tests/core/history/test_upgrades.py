"""A run adds missing tables and columns to older histories; newer ones are refused."""

import subprocess
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Barrier
from typing import Protocol

import deltalake
import duckdb
import polars as pl
import pytest

from sqleval.errors import EngineError
from sqleval.history import schema
from sqleval.history.opening import open_store
from sqleval.history.store import FILES, RESTATED, RESULTS, TABLES, Selection, retry_while_busy
from tests.core.history.test_history import files, results
from tests.support.commands import run, start_programs
from tests.support.lake import Lake, rows

#: Tables of an older release: two of today's, each without one column.
LACKING = {"sqleval_history": "matured", "sqleval_files": "labelled"}
DAYS = ["2026-01-01", "2026-01-02"]


def list_old_tables() -> dict[str, pl.DataFrame]:
    """Return the tables of an older history, with their rows."""
    frames = {"sqleval_history": results("a", DAYS), "sqleval_files": files("a", "x")}
    return {table: frame.drop(LACKING[table]) for table, frame in frames.items()}


class Hand(Protocol):
    """Changes a history by hand, without a store."""

    url: str

    def create(self) -> None:
        """Create a history as an older release wrote it."""
        ...

    def describe(self, text: str | None = None) -> str | None:
        """Return the description of the results; if `text` is given, write it first."""
        ...

    def look(self) -> object:
        """Return a value that changes with every change of the history."""
        ...


class DuckDBHand:
    def __init__(self, folder: Path) -> None:
        self.url = str(folder / "history.duckdb")

    def create(self) -> None:
        with duckdb.connect(self.url) as con:
            for table, frame in list_old_tables().items():
                con.register("old", frame)
                con.execute(f"CREATE TABLE {table} AS FROM old")

    def describe(self, text: str | None = None) -> str | None:
        with duckdb.connect(self.url) as con:
            if text is not None:
                con.execute(f"COMMENT ON TABLE sqleval_history IS '{text}'")
            query = "SELECT comment FROM duckdb_tables() WHERE table_name = 'sqleval_history'"
            return (con.execute(query).fetchone() or (None,))[0]

    def look(self) -> object:
        return Path(self.url).read_bytes()


class DeltaHand:
    def __init__(self, folder: Path) -> None:
        self.url = str(folder / "history.delta")

    def create(self) -> None:
        for table, frame in list_old_tables().items():
            deltalake.write_deltalake(f"{self.url}/{table}", frame, partition_by="job")

    def describe(self, text: str | None = None) -> str | None:
        table = deltalake.DeltaTable(f"{self.url}/sqleval_history")
        if text is not None:
            table.alter.set_table_description(text)
        return table.metadata().description

    def look(self) -> object:
        return sorted(Path(self.url).rglob("*"))


@pytest.fixture(params=[DuckDBHand, DeltaHand], ids=["duckdb", "delta"])
def hand(request: pytest.FixtureRequest, tmp_path: Path) -> Hand:
    return request.param(tmp_path)


def test_an_older_history_is_read_as_it_is(hand: Hand) -> None:
    hand.create()
    before, store = hand.look(), open_store(hand.url)
    assert store.read("sqleval_history").equals(results("a", DAYS))
    assert store.read("sqleval_files", "a").equals(files("a", "x"))
    for table in ("sqleval_restated", "sqleval_settled"):
        assert store.read(table).schema == TABLES[table]
    only = Selection(columns=["matured", "has_rows", "period"], distinct=True, first=DAYS[1])
    assert store.read("sqleval_history", "a", only).rows() == [(None, True, DAYS[1])]
    assert hand.look() == before


def test_an_older_history_gets_what_it_lacks_when_a_run_writes(hand: Hand) -> None:
    hand.create()
    store, at = open_store(hand.url), [DAYS[1], "2026-01-03"]
    new = results("a", at, 0.75).with_columns(matured=0.5)
    seen = files("a", "y").with_columns(labelled=pl.lit(4, pl.Int64))
    shared = [name for name in RESTATED if name in RESULTS]
    replaced = results("a", DAYS[1:]).select(shared)
    replaced = pl.concat([pl.DataFrame(schema=RESTATED), replaced], how="diagonal")
    store.replace("a", at, new, seen, replaced)
    store.append("sqleval_settled", pl.DataFrame([{"job": "a"}], schema=TABLES["sqleval_settled"]))
    assert hand.describe() == f"schema version {schema.VERSION}"
    expected = pl.concat([results("a", DAYS[:1]), new])
    found = store.read("sqleval_history", "a").sort("period", maintain_order=True)
    assert found.equals(expected)
    assert store.read("sqleval_files", "a").equals(seen)
    assert store.read("sqleval_restated", "a").equals(replaced)
    assert store.read("sqleval_settled")["job"].to_list() == ["a"]
    # Rows of both versions are written together, and the version stays.
    store.tidy("a")
    store.compact()
    assert hand.describe() == f"schema version {schema.VERSION}"
    store.remove("a", DAYS)
    left = store.read("sqleval_history").sort("period", maintain_order=True)
    assert left.equals(expected.filter(period="2026-01-03"))


def test_a_history_of_the_first_version_keeps_its_description(hand: Hand) -> None:
    hand.create()
    text = "Results of models"
    hand.describe(text)
    store = open_store(hand.url)
    for _ in range(2):
        store.replace("a", DAYS, results("a", DAYS), files("a", "x"))
        assert hand.describe() == f"{text} schema version {schema.VERSION}"


def test_a_newer_history_is_refused_by_every_call(hand: Hand) -> None:
    hand.create()
    newer = schema.VERSION + 1
    hand.describe(f"Results. schema version {newer}")
    before, store = hand.look(), open_store(hand.url)
    calls: list[Callable[[], object]] = [
        lambda: store.read("sqleval_history"),
        lambda: store.replace("a", DAYS, results("a", DAYS), files("a", "x")),
        lambda: store.append("sqleval_history", results("a", DAYS)),
        lambda: store.remove("a", DAYS),
    ]
    text = f"has schema version {newer}, and this release of sqleval reads versions up to "
    for call in calls:
        with pytest.raises(EngineError, match=f"{text}{schema.VERSION}; upgrade sqleval"):
            call()
    assert hand.look() == before


def test_writers_that_upgrade_at_once_all_succeed(hand: Hand) -> None:
    hand.create()
    start = Barrier(4)

    def write(job: str) -> None:
        store = open_store(hand.url)
        start.wait()
        new = results(job, DAYS).with_columns(matured=0.5)
        retry_while_busy(lambda: store.replace(job, DAYS, new, files(job, "y")))

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(write, "bcde"))
    found = open_store(hand.url).read("sqleval_history").sort("job", maintain_order=True)
    assert found["matured"].to_list() == [None] * 4 + [0.5] * 16
    assert open_store(hand.url).read("sqleval_files").height == 5
    assert hand.describe() == f"schema version {schema.VERSION}"


def test_runs_that_upgrade_at_once_are_green(hand: Hand, tmp_path: Path) -> None:
    hand.create()
    lake = Lake(tmp_path)
    lake.put(rows(days=1))
    for n in range(3):
        lake.job(name=f"job{n}", history=hand.url)
        (tmp_path / "job.yml").rename(tmp_path / f"{n}.yml")
    command = start_programs() / "sqleval"
    running = [
        subprocess.Popen(
            [command, "run", f"{n}.yml", "--as-of", "2026-01-02"],
            cwd=tmp_path, stderr=subprocess.PIPE,
        )
        for n in range(3)
    ]  # fmt: skip
    outputs = [process.communicate()[1].decode() for process in running]
    assert [process.returncode for process in running] == [0] * 3, outputs
    history = open_store(hand.url).read("sqleval_history")
    assert history.filter(job="a").equals(results("a", DAYS))
    counts = history.filter(pl.col("job") != "a").group_by("job").len().sort("job").rows()
    assert counts == [(f"job{n}", 6) for n in range(3)]
    assert hand.describe() == f"schema version {schema.VERSION}"


def test_run_and_validate_refuse_a_newer_history_alike(
    hand: Hand, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    lake = Lake(tmp_path)
    lake.put(rows(days=1))
    lake.job(history=hand.url)
    run("run", "job.yml", "--backfill")
    assert hand.describe() == f"schema version {schema.VERSION}"
    hand.describe("schema version 99")
    text = (
        f"has schema version 99, and this release of sqleval reads versions up to "
        f"{schema.VERSION}; upgrade sqleval, or name another history"
    )
    commands = "run", "run --explain", "validate", "history", "history prune --keep 1d"
    for command in commands:
        assert text in run(*command.split(), "job.yml", code=3).stderr, command


def test_the_version_is_raised_with_the_columns() -> None:
    columns = {table: len(types) for table, types in TABLES.items()}
    assert (schema.VERSION, columns) == (
        2,
        {"sqleval_history": 21, "sqleval_files": 10, "sqleval_restated": 18, "sqleval_settled": 6},
    ), "raise VERSION with every column and table, and change this test"
    assert set(LACKING.values()) < {*RESULTS, *FILES}
