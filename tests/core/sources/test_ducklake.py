"""DuckLakes that DuckDB's extension wrote (`tests/support/ducklakes.py`) are read without it."""

import shutil
import sqlite3
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import duckdb
import polars as pl
import pytest

import sqleval
from sqleval import RequestError, SourceError
from sqleval.engines.embedded import embedded
from sqleval.sources.opening import open_source
from tests.support.commands import run
from tests.support.comparison import assert_frame_equal
from tests.support.ducklakes import unpack

ROLES: dict[str, Any] = {"label": "y", "score": "p", "by": "day", "nulls": "drop"}
CATALOGUES = {"duckdb": "lake.ducklake", "sqlite": "lake.sqlite"}


@pytest.fixture(scope="module")
def lakes(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return unpack(tmp_path_factory.mktemp("ducklakes"))


@pytest.fixture
def sqlite(lakes: Path, tmp_path: Path) -> Path:
    """Return a copy of the catalogue that a test may change."""
    shutil.copytree(lakes / "sqlite", tmp_path / "lake")
    return tmp_path / "lake" / "lake.sqlite"


def change(catalogue: Path, statement: str) -> None:
    with sqlite3.connect(catalogue) as con:
        con.execute(statement)


def read(source: str, version: int) -> pl.DataFrame:
    """Return all rows of a table, as sqleval's statement reads them."""
    opened, _ = embedded().describe(open_source(source, name="t", version=version))
    statement = f"SELECT * FROM {opened.relation} AS s"
    return embedded().run(statement, {}, [opened], opened.objects([]), pl.DataFrame)


@pytest.mark.parametrize("kind", CATALOGUES)
def test_every_snapshot_of_a_ducklake(lakes: Path, kind: str) -> None:
    """Rows in files and in the catalogue, deleted there or by files, and all kinds of columns."""
    expected = pl.read_parquet(lakes / kind / "rows.parquet")
    catalogue = lakes / kind / CATALOGUES[kind]
    sizes: set[int] = set()
    # The other catalogue is attached once per version, so only every third version is read.
    parts = [*expected.partition_by("snapshot", as_dict=True).items()]
    for (version,), rows in parts if kind == "sqlite" else parts[::-3][::-1]:
        found = read(f"ducklake:{catalogue}#preds", int(version))
        sizes.add(found.height)
        rows = rows.select(found.columns).with_columns(pl.col("key").cast(found["key"].dtype))
        assert_frame_equal(found.sort("key", "p"), rows.sort("key", "p"))
    assert read(f"ducklake:{catalogue}#empty", int(version)).height == 0
    if kind == "sqlite":
        assert sizes == {120, 122, 110, 108, 109, 149, 138, 128, 148, 168, 165, 185, 186}


@pytest.mark.parametrize("kind", CATALOGUES)
def test_metrics_of_a_ducklake(lakes: Path, kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    rows = pl.read_parquet(lakes / kind / "rows.parquet")
    first, last = (rows.filter(snapshot=at) for at in (2, rows["snapshot"].max()))
    expected = {
        at: sqleval.scan(frame, **ROLES).evaluate(["roc_auc", "ks"]).collect().drop("method")
        for at, frame in {"first": first, "last": last}.items()
    }
    source = f"ducklake:{lakes / kind / CATALOGUES[kind]}#preds"
    with sqlite3.connect(lakes / "sqlite" / "lake.sqlite") as con:
        ((text,),) = con.execute("SELECT snapshot_time FROM ducklake_snapshot WHERE snapshot_id=2")
    times = {"timestamp": text} if kind == "sqlite" else {"version": "2"}
    for options, at in (({}, "last"), (times, "first")):
        predictions = sqleval.scan(source, **ROLES, **options)
        found = predictions.evaluate(["roc_auc", "ks"]).collect().drop("method")
        assert_frame_equal(found, expected[at])
    # The command reads only the catalogue and the files that the catalogue names.
    monkeypatch.chdir(lakes / kind)
    options = ["--label", "y", "--score", "p", "--by", "day", "--nulls", "drop", "-m", "roc_auc"]
    done = run("evaluate", f"ducklake:{CATALOGUES[kind]}#main.preds", *options, "--format", "csv")
    printed = pl.read_csv(done.stdout.encode(), try_parse_dates=True)
    assert_frame_equal(
        printed.select("day", "value", "n"),
        expected["last"].filter(metric="roc_auc").select("day", "value", "n"),
    )


def test_a_time_of_a_ducklake(lakes: Path) -> None:
    source = f"ducklake:{lakes / 'sqlite' / 'lake.sqlite'}#preds"
    with sqlite3.connect(lakes / "sqlite" / "lake.sqlite") as con:
        times = dict(con.execute("SELECT snapshot_id, snapshot_time FROM ducklake_snapshot"))
    third = datetime.fromisoformat(times[3])
    for moment, label in ((third, "3"), (third - timedelta(microseconds=1), "2")):
        assert sqleval.scan(source, **ROLES, timestamp=moment).source.label.endswith(
            f"#main.preds (snapshot {label})"
        )


def test_a_statement_reads_the_snapshot_of_its_scan(lakes: Path, sqlite: Path) -> None:
    """Also where the catalogue itself held rows that were later moved to files."""
    source = f"ducklake:{sqlite}#preds"
    predictions = sqleval.scan(source, **ROLES)
    expected = predictions.evaluate("roc_auc").collect()
    with sqlite3.connect(sqlite) as con:
        ((name,),) = con.execute(
            "SELECT table_name FROM ducklake_inlined_data_tables WHERE table_id = 1 "
            "ORDER BY schema_version DESC LIMIT 1"
        )
        assert con.execute(f"DELETE FROM {name}").rowcount > 0
    assert_frame_equal(predictions.evaluate("roc_auc").collect(), expected)
    assert sqleval.scan(source, **ROLES).evaluate("roc_auc").collect()["n"].sum() == (
        expected["n"].sum() - 1
    )


@pytest.mark.parametrize(
    ("text", "options", "message"),
    [
        ("{}#pred", {}, r"has no table 'pred'; did you mean 'preds'\? .*, such as 'ducklake:"),
        ("{}#other.labels", {}, r"label='y': no such column in .*other.labels .* \(columns: key\)"),
        ("{}#other.lists", {}, "it has no column of a simple type"),
        ("{}", {}, r"holds 5 tables \(main.empty, .*choose one, such as"),
        ("{}x#preds", {}, r"no such file: '.*lake.sqlitex'; did you mean 'lake.sqlite'\?"),
        ("{}#preds", {"version": 99}, r"has no snapshot 99 \(0 to \d+\)"),
        ("{}#preds", {"version": 0}, "the DuckLake '.*' holds no table"),
        ("{}#preds", {"version": "main"}, "the versions of a DuckLake are numbers"),
        ("{}#preds", {"timestamp": "2001-01-01"}, "has no snapshot at 2001-01-01 .*, or before"),
        ("{}#preds", {"query": "SELECT 1"}, "query= cannot read a DuckLake"),
    ],
)  # fmt: skip
def test_wrong_tables_of_a_ducklake(
    lakes: Path, text: str, options: dict[str, Any], message: str
) -> None:
    source = "ducklake:" + text.format(lakes / "sqlite" / "lake.sqlite")
    with pytest.raises((RequestError, SourceError), match=message):
        sqleval.scan(source, **ROLES, **options)


def test_files_that_are_not_catalogues_are_refused(tmp_path: Path) -> None:
    duckdb.connect(tmp_path / "plain.db").execute("CREATE TABLE preds(y INTEGER, p DOUBLE)")
    change(tmp_path / "plain.sqlite", "CREATE TABLE preds(y INTEGER, p DOUBLE)")
    (tmp_path / "text.db").write_text("not a database")
    for name, message in {
        "plain.db": "is not a catalogue of a DuckLake: no table ducklake_metadata",
        "plain.sqlite": "is not a catalogue of a DuckLake: no table ducklake_metadata",
        "text.db": "cannot read '.*text.db': ",
    }.items():
        with pytest.raises(SourceError, match=message):
            sqleval.scan(f"ducklake:{tmp_path / name}#preds", **ROLES)


@pytest.mark.parametrize(
    ("statement", "message"),
    [
        ("UPDATE ducklake_metadata SET value = '0.3' WHERE key = 'version'",
         r"has version 0.3 of the format, and 1.0 is read; .* ATTACH 'ducklake:...' \(AUTOMATIC"),
        ("UPDATE ducklake_metadata SET value = 's3://lake/data/' WHERE key = 'data_path'",
         "cannot read ducklake:.*: s3://lake/data/main/preds/ is not local"),
        ("UPDATE ducklake_data_file SET encryption_key = 'x' WHERE data_file_id = 0",
         r"cannot read ducklake:.*parquet or its deleted rows are encrypted"),
        ("UPDATE ducklake_delete_file SET format = 'puffin'",
         r"cannot read ducklake:.*parquet or its deleted rows are puffin"),
        ("UPDATE ducklake_name_mapping SET is_partition = 1",
         "added.parquet was added with columns in its path"),
        ("UPDATE ducklake_metadata SET value = '/nosuch/' WHERE key = 'data_path'",
         "cannot read ducklake:.*: IO Error: No files found .*\"/nosuch/main/preds/ducklake-"),
    ],
)  # fmt: skip
def test_parts_of_a_ducklake_that_cannot_be_read(
    sqlite: Path, statement: str, message: str
) -> None:
    change(sqlite, statement)
    with pytest.raises(SourceError, match=message):
        sqleval.scan(f"ducklake:{sqlite}#preds", **ROLES)
