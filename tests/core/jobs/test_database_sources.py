"""Jobs over tables of databases: a hash of the rows of each period says what changed."""

import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import duckdb
import polars as pl
import pytest

import sqleval
from sqleval import RequestError, SourceError
from sqleval.jobs.running.plan import RunOptions
from sqleval.jobs.running.run import open_job_store, run_job
from sqleval.jobs.running.validation import check_job
from tests.support.commands import run
from tests.support.lake import LATER, Lake, evaluated, rows, weekly
from tests.support.table_lakes import DAYS, check_values, reasons


class DatabaseLake(Lake):
    """A lake whose predictions are the table `preds` of a database."""

    def __init__(self, folder: Path, url: str, query: Callable[[str], pl.DataFrame | None]) -> None:
        super().__init__(folder)
        self.url, self.query = url, query
        self.spec |= {"source": f"{url}#preds", "metrics": ["roc_auc"], "by": None}
        self.spec |= {"missing": "ignore", "where": "seg <> 'z'"}

    def write(self, table: str, frame: pl.DataFrame) -> None:
        """Make a table, with a column that the condition reads, and one that no job reads."""
        names = {"key": "BIGINT", "y": "INTEGER", "p": "DOUBLE PRECISION", "day": "DATE"}
        columns = [f"{name} {names.get(name, 'TEXT')}" for name in frame.columns]
        columns += ['"the note" TEXT', "remark TEXT"]
        self.query(f"CREATE TABLE {table} ({', '.join(columns)})")
        self.insert(table, frame)

    def insert(self, table: str, frame: pl.DataFrame) -> None:
        texts = frame.cast({pl.Date: pl.String})
        values = ", ".join(str((*row, "", "")) for row in texts.iter_rows())
        self.query(f"INSERT INTO {table} VALUES {values}")

    def read_files(self) -> pl.DataFrame:
        """Return the records of the job's source in the history."""
        return open_job_store(self.job()).read("sqleval_files", "nightly")

    def read(self) -> pl.DataFrame:
        frame = self.query("SELECT * FROM preds")
        assert frame is not None
        return frame


def make_duckdb(folder: Path) -> DatabaseLake:
    con = duckdb.connect()  # opening the file itself takes ten times as long as attaching it

    def query(statement: str) -> pl.DataFrame | None:
        con.execute(f"ATTACH '{folder / 'w.duckdb'}' AS w")
        con.execute("USE w")
        found = con.sql(statement)  # None if it returns no rows
        frame = None if found is None else pl.DataFrame(found.to_arrow_table())
        con.execute("USE memory")
        con.execute("DETACH w")
        return frame

    return DatabaseLake(folder, "w.duckdb", query)


def make_sqlite(folder: Path) -> DatabaseLake:
    def query(statement: str) -> pl.DataFrame | None:
        with closing(sqlite3.connect(folder / "w.dat")) as con, con:
            found = con.execute(statement)
            names = [name for name, *_ in found.description or ()]
            return pl.DataFrame(found.fetchall(), names, orient="row") if names else None

    return DatabaseLake(folder, "sqlite:///w.dat", query)


@pytest.fixture(params=["duckdb", "sqlite"])
def lake(request: pytest.FixtureRequest, tmp_path: Path) -> DatabaseLake:
    made = {"duckdb": make_duckdb, "sqlite": make_sqlite}[request.param](tmp_path)
    made.write("preds", rows(days=3))
    return made


def test_a_run_evaluates_the_periods_whose_rows_have_changed(lake: DatabaseLake) -> None:
    """Every kind of database is read correctly; the tests below use one kind."""
    assert evaluated(lake.run(backfill=True)) == DAYS[:3]
    written = lake.read_files()
    for statement in (
        "UPDATE preds SET remark = 'no job reads it'",
        # The same rows in another order.
        "CREATE TABLE others AS SELECT * FROM preds ORDER BY p DESC",
        "DROP TABLE preds", "ALTER TABLE others RENAME TO preds",
    ):  # fmt: skip
        lake.query(statement)
    done = lake.run(backfill=True)
    assert evaluated(done) == []
    assert done.lake is not None
    assert not done.lake.is_changed
    assert lake.read_files().equals(written)
    lake.insert("preds", rows(days=1, start=3))
    for statement in (
        "DELETE FROM preds WHERE key = 150",
        "UPDATE preds SET p = 0.125 WHERE key = 3",
        # Two rows swap their labels.
        "UPDATE preds SET y = 1 - y WHERE key IN (243, 244)",
    ):
        lake.query(statement)
    assert reasons(lake.run()) == dict.fromkeys(DAYS[:3], "data changed") | {DAYS[3]: "new"}
    check_values(lake)


@pytest.fixture
def small(tmp_path: Path) -> DatabaseLake:
    made = make_duckdb(tmp_path)
    made.write("preds", rows(days=3))
    return made


def test_what_only_the_condition_reads_and_rows_without_a_period(small: DatabaseLake) -> None:
    small.spec["where"] = """seg <> 'z' AND "the note" <> 'z'"""
    small.run(backfill=True)
    small.query("UPDATE preds SET seg = 'z' WHERE key = 245")
    assert reasons(small.run()) == {DAYS[2]: "data changed"}
    # The column's name needs quotes.
    small.query("""UPDATE preds SET "the note" = 'z' WHERE key = 246""")
    assert reasons(small.run()) == {DAYS[2]: "data changed"}
    found = small.history().filter(job="nightly").sort("period")
    assert found["n"].to_list() == [120, 120, 118]
    small.query("UPDATE preds SET day = NULL WHERE key = 3")
    assert small.run().notes[0].startswith("1 row without a period")
    small.query("DELETE FROM preds WHERE key < 120")
    assert small.run().notes == []
    assert small.history().filter(job="nightly", period=DAYS[0])["n"].to_list() == [119]


def test_labels_in_a_table(lake: DatabaseLake, tmp_path: Path) -> None:
    """Labels in a database work, with predictions in the same one or in files."""
    rows(days=3).drop("y").write_parquet(tmp_path / "preds" / "all.parquet")
    lake.write("labels", rows(days=3).select("key", "y").filter(pl.col("key") != 130))
    labels = {"source": f"{lake.url}#labels", "on": "key"}
    lake.query("ALTER TABLE preds DROP COLUMN y")
    cases = {"table": lake.spec["source"]}
    if lake.url.endswith(".duckdb"):
        cases["files"] = "preds"
    for name, source in cases.items():
        changes = {"name": name, "source": source, "labels": labels}
        assert evaluated(lake.run(backfill=True, changes=changes)) == DAYS[:3]
        done = lake.run()
        assert evaluated(done) == []
        assert done.lake is not None
        assert not done.lake.is_changed
        found = lake.history().filter(job=name).sort("period")
        assert found["matured"].to_list() == pytest.approx([1, 119 / 120, 1])
    lake.insert("labels", pl.DataFrame({"key": [130, 9_999], "y": [1, 0]}))
    for name, source in cases.items():
        done = lake.run(changes={"name": name, "source": source})
        assert reasons(done) == {DAYS[1]: "data changed"}
    labelled = rows(days=3).with_columns(y=pl.when(key=130).then(1).otherwise("y"))
    expected = sqleval.scan(labelled, label="y", score="p", by="day").evaluate("roc_auc").collect()
    for name in cases:
        found = lake.history().filter(job=name).sort("period")
        assert found["matured"].to_list() == [1.0] * 3
        assert found["value"].to_list() == pytest.approx(expected["value"].to_list(), abs=1e-12)


def test_labels_in_files(small: DatabaseLake) -> None:
    small.query("ALTER TABLE preds DROP COLUMN y")
    (small.folder / "labels").mkdir()
    for start in range(3):
        labels = rows(days=1, start=start).select("key", "y")
        labels.write_parquet(small.folder / "labels" / f"{start}.parquet")
    small.spec |= {"labels": {"source": "labels", "on": "key"}}
    assert evaluated(small.run(backfill=True)) == DAYS[:3]
    assert evaluated(small.run()) == []
    more = rows(days=1, start=1).select("key", y=1 - pl.col("y"))
    more.write_parquet(small.folder / "labels" / "1.parquet")
    assert reasons(small.run()) == {DAYS[1]: "data changed"}
    small.query("DELETE FROM preds WHERE key = 250")
    assert reasons(small.run()) == {DAYS[2]: "data changed"}
    assert set(small.history()["matured"]) == {1.0}


def test_the_command_and_states(small: DatabaseLake) -> None:
    small.job(states="states", slices=[[], ["seg"]], history="w2.duckdb")
    done = run("run", str(small.folder / "job.yml"), "--backfill")
    assert "3 evaluated" in done.stdout + done.stderr
    shown = run("validate", str(small.folder / "job.yml")).stderr
    assert ": 1 table, binary (1 is positive, threshold 0.5), 1 metric by" in shown
    small.query("UPDATE preds SET p = 0.125 WHERE key = 3")
    done = run("run", str(small.folder / "job.yml"), "--explain")
    assert "reads 1 file in all" in done.stdout
    assert f"{DAYS[0]}  evaluate  data changed: w.duckdb#preds changed" in done.stdout
    weekly(small, metrics=["roc_auc"]).run(backfill=True)


def test_a_database_that_cannot_be_read(small: DatabaseLake) -> None:
    small.run(backfill=True)
    with duckdb.connect(small.folder / "w.duckdb"):  # as if another process wrote it
        done = small.run()
    assert "has it open for writing" in done.errors[0]
    assert evaluated(small.run()) == []
    small.query("ALTER TABLE preds RENAME TO others")
    assert "has no table 'preds'" in small.run().errors[0]
    assert small.history().filter(pl.col("n") > 0)["error"].to_list() == [None] * 3
    small.query("ALTER TABLE others RENAME TO preds")
    small.query("ALTER TABLE preds DROP COLUMN day")
    for check in (check_job, lambda job: run_job(job, RunOptions(as_of=LATER))):
        with pytest.raises(RequestError, match=r"'day': no such column in .*w\.duckdb#preds"):
            check(small.job())
        with pytest.raises(RequestError, match="is a table in a list of 2 sources"):
            check(small.job(name="two", source=["w.duckdb#preds", "preds"]))
        small.job(source="w.duckdb#preds")


def test_a_wrong_table_is_the_same_error_at_every_door(lake: DatabaseLake) -> None:
    job = lake.job(source=f"{lake.url}#perds")
    path = str(job.resolve_paths(job.sources))
    with pytest.raises(SourceError) as raised:
        sqleval.scan(path, label="y", score="p")
    message = str(raised.value)
    assert "has no table 'perds'; did you mean 'preds'? (" in message
    # The last part is a source that each entry accepts: an argument, or the value of a key.
    advised = message.partition("; choose one, such as ")[2].strip("'")
    assert advised.endswith(".preds")
    assert "query" not in message
    assert run("evaluate", path, "--label", "y", "--score", "p", code=2).stderr.count(message) == 1
    file = str(lake.folder / "job.yml")
    assert message in run("validate", file, code=2).stderr
    assert message in run("run", file, "--backfill", code=3).stderr
    lake.job(source=advised)
    assert "3 evaluated" in run("run", file, "--backfill").stderr
    lake.job(labels={"source": f"{lake.url}#perds", "on": "key"})
    assert message in run("validate", file, code=2).stderr


def test_a_history_in_the_database_itself(small: DatabaseLake) -> None:
    small.spec["history"] = "w.duckdb"
    assert evaluated(small.run(backfill=True)) == DAYS[:3]
    small.insert("preds", rows(days=1, start=3))
    assert reasons(small.run()) == {DAYS[3]: "new"}
