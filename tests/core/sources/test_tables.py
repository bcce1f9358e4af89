"""Delta, Iceberg and Lance tables: versions, deleted rows, and files that are skipped."""

import json
import re
from datetime import UTC, date, datetime
from pathlib import Path
from traceback import format_exception
from typing import Any
from zoneinfo import ZoneInfo

import deltalake
import duckdb
import lance
import polars as pl
import pyarrow.dataset
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pyiceberg.catalog.sql import SqlCatalog
from pyiceberg.expressions import EqualTo
from pyiceberg.transforms import IdentityTransform
from pyiceberg.utils.config import Config

import sqleval
from sqleval import RequestError, SourceError
from sqleval.common.sql_text import quote
from sqleval.engines.duckdb_databases import open_catalogue
from sqleval.engines.embedded import embedded
from sqleval.sources.lake.tables import load_snapshot
from sqleval.sources.opening import open_source
from sqleval.sources.pruning import write_filter
from tests.support.commands import run
from tests.support.comparison import assert_frame_equal
from tests.support.delta import delete_rows, rename_columns, write_numbered
from tests.support.flights import FEW, ROLES, ROWS
from tests.support.iceberg_server import serve_catalogue

FIRST, SECOND = ROWS[:2000], ROWS[2000:]


def evaluate(source: object, **options: Any) -> pl.DataFrame:
    return sqleval.scan(source, **ROLES, **options).evaluate(FEW).collect().drop("method")


@pytest.fixture(scope="module")
def expected() -> dict[str, pl.DataFrame]:
    """Return the metrics of each version."""
    left = ROWS.filter((pl.col("carrier") != "DL").fill_null(True))
    return {"first": evaluate(FIRST), "both": evaluate(ROWS), "deleted": evaluate(left)}


@pytest.fixture(scope="module")
def delta(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Write a Delta table: rows, more rows, rows without a carrier; one column was renamed."""
    path = tmp_path_factory.mktemp("delta") / "table"
    deltalake.write_deltalake(path, FIRST.to_arrow(), partition_by=["month"])
    deltalake.write_deltalake(path, SECOND.to_arrow(), mode="append")
    deltalake.DeltaTable(path).delete("carrier = 'DL'")
    return path


class Iceberg:
    """An Iceberg table in a catalogue: rows, then more of them in other partitions, then less."""

    def __init__(self, folder: Path) -> None:
        self.catalog = SqlCatalog(
            "test", uri=f"sqlite:///{folder}/catalog.db", warehouse=f"file://{folder}"
        )
        self.catalog.create_namespace("lake")
        self.table = self.catalog.create_table("lake.flights", schema=ROWS.to_arrow().schema)
        self.table.append(FIRST.to_arrow())
        first = self.table.current_snapshot()
        with self.table.update_spec() as spec:
            spec.add_field("month", IdentityTransform(), "month")
        self.table.append(SECOND.to_arrow())
        both = self.table.current_snapshot()
        assert first
        assert both
        self.first, self.both = first.snapshot_id, both.snapshot_id
        self.table.manage_snapshots().create_tag(self.both, "published").commit()
        self.table.delete(EqualTo("carrier", "DL"))


@pytest.fixture(scope="module")
def iceberg(tmp_path_factory: pytest.TempPathFactory) -> Iceberg:
    return Iceberg(tmp_path_factory.mktemp("iceberg"))


def test_versions_of_a_delta_table(delta: Path, expected: dict[str, pl.DataFrame]) -> None:
    assert_frame_equal(evaluate(delta), expected["deleted"])
    assert_frame_equal(evaluate(f"delta+{delta}", version=1), expected["both"])
    assert_frame_equal(evaluate(deltalake.DeltaTable(delta)), expected["deleted"])
    assert_frame_equal(evaluate(deltalake.DeltaTable(delta, version=0)), expected["first"])
    commits = deltalake.DeltaTable(delta).history()
    (first,) = (each["timestamp"] for each in commits if each["version"] == 0)
    then = datetime.fromtimestamp(first / 1000, UTC)
    assert_frame_equal(evaluate(delta, timestamp=then), expected["first"])
    assert_frame_equal(evaluate(delta, timestamp="2999-01-01"), expected["deleted"])


def test_deletion_vectors_are_applied(tmp_path: Path) -> None:
    path = tmp_path / "table"
    deltalake.write_deltalake(
        path, ROWS.to_arrow(), configuration={"delta.enableDeletionVectors": "true"}
    )
    add = delete_rows(path, [0, 2, 5, 2999])
    written = pl.read_parquet(path / add["path"])
    left = written.with_row_index("at").filter(~pl.col("at").is_in([0, 2, 5, 2999])).drop("at")
    assert_frame_equal(evaluate(path), evaluate(left))
    assert_frame_equal(evaluate(path, version=0), evaluate(written))


@pytest.mark.parametrize(
    "where",
    [
        "month = 8", "month IS NULL", "month > 7 OR carrier = 'AA'", "carrier >= 'DL'",
        "key < 180000",
        "flight_date BETWEEN DATE '2013-08-05' AND DATE '2013-08-20'", "p >= 0.5",
        "at >= '2026-01-01 05:00:00.0005+00'", "at IS NULL", "NOT (at < '2026-01-01 20:00:00+00')",
    ],
)  # fmt: skip
def test_conditions_on_a_table_with_deleted_rows(where: str, deleted: tuple[Path, Any]) -> None:
    """They skip partitions, files and row groups, and the deleted rows are counted from the top."""
    path, left = deleted
    roles = {name: value for name, value in ROLES.items() if name != "where"}
    found, expected = (
        sqleval.scan(source, **roles, where=where).evaluate("roc_auc").collect().drop("method")
        for source in (path, left)
    )
    assert found["n"].sum() > 0
    assert_frame_equal(found, expected)
    # PyArrow reads the files one by one, and Polars many at a time.
    (dataset,) = sqleval.scan(path, **roles).source.objects(["p"]).values()
    assert isinstance(dataset, pyarrow.dataset.Dataset)


@pytest.fixture(scope="module")
def deleted(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, pl.DataFrame]:
    """Write a Delta table in partitions, one of them NULL, two of them with deleted rows."""
    path = tmp_path_factory.mktemp("deleted") / "table"
    hours = pl.datetime_range(
        datetime(2026, 1, 1), datetime(2026, 1, 2), "30m1us", time_zone="UTC", eager=True
    )
    at = hours.sample(ROWS.height, with_replacement=True, seed=1)
    rows = ROWS.with_columns(
        at=pl.when(pl.col("key") % 11 > 0).then(at),
        month=pl.when(pl.col("key") % 7 > 0).then("month"),
    )
    deltalake.write_deltalake(
        path, rows.to_arrow(), partition_by=["month"],
        configuration={"delta.enableDeletionVectors": "true"},
        writer_properties=deltalake.WriterProperties(max_row_group_size=128),
    )  # fmt: skip
    places = [0, 130, 131, 200]
    add = delete_rows(path, places, "month=8")
    gone = pl.read_parquet(path / add["path"])[places]["key"].to_list()
    left = rows.filter(~pl.col("key").is_in(gone))
    assert left.height == rows.height - 4
    return path, left


def test_snapshots_of_an_iceberg_table(iceberg: Iceberg, expected: dict[str, pl.DataFrame]) -> None:
    folder = iceberg.table.location().removeprefix("file://")
    for source in (iceberg.table, f"iceberg+{folder}", folder, iceberg.table.metadata_location):
        assert_frame_equal(evaluate(source), expected["deleted"])
        assert_frame_equal(evaluate(source, version=iceberg.first), expected["first"])
        assert_frame_equal(evaluate(source, version="published"), expected["both"])
    moment = iceberg.table.snapshot_by_id(iceberg.both)
    assert moment is not None
    then = datetime.fromtimestamp(moment.timestamp_ms / 1000, UTC)
    assert_frame_equal(evaluate(iceberg.table, timestamp=then), expected["both"])


def test_versions_of_a_lance_dataset(tmp_path: Path, expected: dict[str, pl.DataFrame]) -> None:
    path = tmp_path / "rows.lance"
    lance.write_dataset(FIRST.to_arrow(), path)
    lance.write_dataset(SECOND.to_arrow(), path, mode="append")
    lance.dataset(path).delete("carrier = 'DL'")
    assert_frame_equal(evaluate(path), expected["deleted"])
    assert_frame_equal(evaluate(lance.dataset(path), version=2), expected["both"])
    assert_frame_equal(evaluate(f"lance+{path}", version="1"), expected["first"])


def test_wrong_versions(delta: Path, iceberg: Iceberg) -> None:
    cases: list[tuple[object, dict[str, Any], str]] = [
        (delta, {"version": 99}, r"Delta table '.*/table' at version 99: "),
        (delta, {"version": -1}, r"Delta table '.*/table' at version -1: "),
        (delta, {"version": 10**30}, r"Delta table '.*/table' at version 1000"),
        (delta, {"version": "main"}, "versions of a Delta table are numbers"),
        (delta, {"timestamp": "2001-01-01"}, r"begins at 20\d\d-.* UTC, after 2001-01-01 00:00:00"),
        (delta, {"timestamp": "soon"}, "'soon' is not a time; write 2026-01-31"),
        (delta, {"version": 1, "timestamp": "2026-01-01"}, "give version= or timestamp=, not both"),
        (iceberg.table, {"version": 7}, rf"no snapshot at version 7 \(snapshots: {iceberg.first}"),
        (iceberg.table, {"version": "nosuch"}, "branches and tags: .*published"),
        (iceberg.table, {"timestamp": "2001-01-01"}, "no snapshot at 2001-01-01"),
        (ROWS, {"version": 1}, "version= and timestamp= need a table: Delta, Iceberg, Lance or"),
        ("delta+/nosuch", {}, "cannot read the Delta table '/nosuch': "),
        (
            "iceberg+/nosuch",
            {},
            r"'/nosuch' is not an Iceberg table: it has no metadata/\*.metadata",
        ),
        ("lance+/nosuch.lance", {}, "cannot read '/nosuch.lance': "),
        ("iceberg://nosuch/a.b", {}, "cannot read 'iceberg://nosuch/a.b': "),
    ]
    for source, options, message in cases:
        with pytest.raises((RequestError, SourceError), match=message):
            sqleval.scan(source, **ROLES, **options)


def set_catalogue(monkeypatch: pytest.MonkeyPatch, **variables: str) -> None:
    """Set variables of catalogues, which pyiceberg reads when it is imported."""
    for name, value in variables.items():
        monkeypatch.setenv(f"PYICEBERG_CATALOG__{name}", value)
    monkeypatch.setattr("pyiceberg.catalog._ENV_CONFIG", Config())


def test_a_token_of_a_catalogue_stays_out_of_messages(monkeypatch: pytest.MonkeyPatch) -> None:
    set_catalogue(monkeypatch, GONE__URI="http://127.0.0.1:9/catalog", GONE__TOKEN="hidden")
    message = "cannot read 'iceberg://gone/lake.flights': .*port=9.*Connection refused"
    with pytest.raises(SourceError, match=message) as raised:
        sqleval.scan("iceberg://gone/lake.flights", **ROLES)
    assert "hidden" not in "".join(format_exception(raised.value))


def test_tables_of_a_catalogue_by_name(
    iceberg: Iceberg, expected: dict[str, pl.DataFrame], monkeypatch: pytest.MonkeyPatch
) -> None:
    set_catalogue(monkeypatch, TEST__URI=iceberg.catalog.properties["uri"])
    assert_frame_equal(evaluate("iceberg://test/lake.flights"), expected["deleted"])
    assert_frame_equal(
        evaluate("iceberg://test/lake.flights", version="published"), expected["both"]
    )
    # The engine reads its files, also in a command, which may read only the files of the source.
    roles = {"label": "delayed", "score": "p"}
    opened = sqleval.scan("iceberg://test/lake.flights", **roles)
    assert "read_parquet(" in opened.sql(["roc_auc"])
    options = [f"--{role}={column}" for role, column in roles.items()]
    command = ("evaluate", "iceberg://test/lake.flights", *options, "-m", "roc_auc")
    done = run(*command, "--nulls", "drop", "--format", "json")
    (row,) = json.loads(done.stdout)
    left = ROWS.filter((pl.col("carrier") != "DL").fill_null(True))
    expected = sqleval.scan(left, **roles, nulls="drop").evaluate("roc_auc").collect()
    assert row["value"] == pytest.approx(expected["value"].item(), rel=1e-12)
    for name in ("lake.nosuch", "nosuch.flights", "flights"):
        with pytest.raises(SourceError, match=f"cannot read 'iceberg://test/{name}': "):
            sqleval.scan(f"iceberg://test/{name}", **ROLES)


def test_tables_of_a_rest_catalogue(
    iceberg: Iceberg, expected: dict[str, pl.DataFrame], monkeypatch: pytest.MonkeyPatch
) -> None:
    with serve_catalogue(iceberg.catalog, "secret-token") as (url, served):
        set_catalogue(monkeypatch, REST__URI=url, REST__TOKEN="secret-token")
        table = "iceberg://rest/lake.flights"
        assert_frame_equal(evaluate(table), expected["deleted"])
        assert_frame_equal(evaluate(table, version=iceberg.first), expected["first"])
        assert served.count("/v1/namespaces/lake/tables/flights") == 2
        message = "cannot read 'iceberg://rest/lake.nosuch': .*does not exist: lake.nosuch"
        with pytest.raises(SourceError, match=message) as unknown:
            sqleval.scan("iceberg://rest/lake.nosuch", **ROLES)
        set_catalogue(monkeypatch, REST__TOKEN="wrong-token")
        message = f"cannot read '{table}': NotAuthorizedException: the token is not valid"
        with pytest.raises(SourceError, match=message) as refused:
            sqleval.scan(table, **ROLES)
    for raised in (unknown, refused):
        assert "-token" not in "".join(format_exception(raised.value))


def test_a_condition_skips_files(delta: Path, iceberg: Iceberg) -> None:
    roles = {name: value for name, value in ROLES.items() if name != "where"}
    where = "month = 8 AND flight_date BETWEEN '2013-08-01' AND DATE '2013-08-31'"
    rows = ROWS.filter(month=8)
    expected = sqleval.scan(rows, **roles).evaluate("roc_auc").collect().drop("method")
    kept = expected["n"].sum()
    rest = ROWS.filter((pl.col("carrier") != "DL").fill_null(True), month=8)
    for source, frame in ((delta, rest), (iceberg.table, rest)):
        predictions = sqleval.scan(source, **roles, where=where)
        found = predictions.evaluate("roc_auc").collect().drop("method")
        assert_frame_equal(
            found, sqleval.scan(frame, **roles).evaluate("roc_auc").collect().drop("method")
        )
        assert found["n"].sum() < kept
        # Neither reader (the engine's or the library's) returns a row of another month.
        rows = f"SELECT COUNT(*) FROM {predictions.source.relation} AS s"
        objects = predictions.source.objects(["month"])
        if objects:
            assert embedded().rows(rows, {}, [], objects) == [(frame.height,)]
            continue
        # Not on the process's database, which does not optimize statements over so few rows.
        con = duckdb.connect()
        con.execute(f"EXPLAIN ANALYZE {rows} WHERE {where}")
        ((_, plan),) = con.fetchall()
        scans = plan.partition("READ_PARQUET")[2]
        assert re.findall(r"(\d+) rows", scans, re.IGNORECASE) == [str(frame.height)]


def evolve(table: Any) -> pl.DataFrame:
    """Add rows with a new column, to a table; return all of its rows."""
    more = SECOND.with_columns(pl.col("key") + 1, extra=pl.lit(0.25))
    if isinstance(table, Path):
        deltalake.write_deltalake(table, more.to_arrow(), mode="append", schema_mode="merge")
    else:
        with table.update_schema() as schema:
            schema.union_by_name(more.to_arrow().schema)
        table.append(more.to_arrow())
    return pl.concat([FIRST, more], how="diagonal")


def count_by_extra(source: object) -> pl.DataFrame:
    options = {**ROLES, "by": {"extra": "extra", "month": "month", "carrier": "carrier"}}
    return sqleval.scan(source, **options).evaluate(FEW).collect().drop("method")


def test_columns_that_a_delta_table_got_later(tmp_path: Path) -> None:
    path = tmp_path / "it's a table"
    deltalake.write_deltalake(path, FIRST.to_arrow(), partition_by=["month", "carrier"])
    rows = evolve(path)
    assert sqleval.scan(path, **ROLES).source.files
    assert_frame_equal(count_by_extra(path), count_by_extra(rows))


def test_columns_that_an_iceberg_table_got_later(tmp_path: Path) -> None:
    catalog = SqlCatalog("c", uri=f"sqlite:///{tmp_path}/c.db", warehouse=f"file://{tmp_path}")
    catalog.create_namespace("lake")
    table = catalog.create_table("lake.rows", schema=FIRST.to_arrow().schema)
    table.append(FIRST.to_arrow())
    rows = evolve(table)
    with table.update_schema() as schema:
        schema.rename_column("q", "it's renamed")
        schema.rename_column("p", "q")
    rows = rows.rename({"q": "it's renamed", "p": "q"})
    roles = {**ROLES, "score": "q", "by": {"extra": "extra", "carrier": "carrier"}}
    found, expected = (
        sqleval.scan(source, **roles).evaluate(FEW).collect().drop("method")
        for source in (table, rows)
    )
    assert sqleval.scan(table, **roles).source.files
    assert_frame_equal(found, expected)


def test_files_that_were_added_to_an_iceberg_table(tmp_path: Path) -> None:
    """Files without field ids, for which the engine would read NULL."""
    catalog = SqlCatalog("c", uri=f"sqlite:///{tmp_path}/c.db", warehouse=f"file://{tmp_path}")
    catalog.create_namespace("lake")
    table = catalog.create_table("lake.rows", schema=FIRST.to_arrow().schema)
    file = Path(table.location().removeprefix("file://")) / "data" / "added.parquet"
    file.parent.mkdir(parents=True, exist_ok=True)
    FIRST.write_parquet(file)
    table.add_files([str(file)])
    first = table.current_snapshot()
    assert first
    assert not sqleval.scan(table, **ROLES).source.files
    assert_frame_equal(evaluate(table), evaluate(FIRST))
    every = evolve(table)
    assert_frame_equal(count_by_extra(table), count_by_extra(every))
    assert_frame_equal(evaluate(table, version=first.snapshot_id), evaluate(FIRST))


def test_times_of_spark_without_a_zone(tmp_path: Path) -> None:
    """INT96 is read as UTC; DuckDB would read local times."""
    path = tmp_path / "table"
    rows = FIRST.with_columns(
        at=pl.datetime_range(datetime(2026, 1, 1), datetime(2026, 1, 2), "1h", time_zone="UTC",
                             eager=True).sample(FIRST.height, with_replacement=True, seed=1)
    )  # fmt: skip
    deltalake.write_deltalake(path, rows.to_arrow())
    options = {**ROLES, "by": {"day": "at::DATE"}, "where": "at >= '2026-01-01 05:00:00+00'"}
    assert sqleval.scan(path, **options).source.files
    (file,) = path.glob("*.parquet")
    log = path / "_delta_log" / f"{0:020}.json"
    size = file.stat().st_size
    pq.write_table(rows.to_arrow(), file, use_deprecated_int96_timestamps=True, store_schema=False)
    log.write_text(log.read_text().replace(f'"size":{size}', f'"size":{file.stat().st_size}'))
    assert not sqleval.scan(path, **options).source.files


def test_times_of_spark_in_the_year_9999(tmp_path: Path) -> None:
    """Their nanoseconds since 1970 do not fit 64 bits."""
    path = tmp_path / "table"
    rows = pl.DataFrame({"at": [datetime(9999, 12, 31, 8, tzinfo=UTC)], "y": [1]})
    deltalake.write_deltalake(path, rows.to_arrow())
    (file,) = path.glob("*.parquet")
    log = path / "_delta_log" / f"{0:020}.json"
    size = file.stat().st_size
    pq.write_table(rows.to_arrow(), file, use_deprecated_int96_timestamps=True, store_schema=False)
    log.write_text(log.read_text().replace(f'"size":{size}', f'"size":{file.stat().st_size}'))
    snapshot = load_snapshot(str(path), {}, open_catalogue)
    assert snapshot is not None
    # Read by a scan, and by a job.
    for opened in (
        open_source(str(path), name="t"),
        snapshot.open_files([each.path for each in snapshot.files], "t"),
    ):
        source, _ = embedded().describe(opened)
        statement = "SELECT EPOCH(s.at) FROM t AS s"
        objects = source.objects(["at"])
        assert embedded().rows(statement, {}, [source], objects) == [(253402243200.0,)]


SCHEMA: dict[str, pl.DataType] = {
    "t": pl.String(), "i": pl.Int64(), "d": pl.Date(), "s": pl.Datetime("us"), "f": pl.Float64(),
    "z": pl.Datetime("us", "Europe/Paris"),
    "m": pl.Datetime("ms"), "n": pl.Datetime("ns"), "u": pl.UInt8(), "^.*$": pl.String(),
}  # fmt: skip
VALUES: dict[str, list[Any]] = {
    "t": ["a", "b", "7", None, "", "B"], "i": [1, 7, -7, None, 0, 8],
    "d": [date(2026, 1, 1), date(2026, 1, 31), None] * 2,
    "s": [datetime(2026, 1, day, 8) for day in (1, 31)] + [None, datetime(1970, 1, 1)] * 2,
    "f": [1.0, float("nan"), None, -0.0, 7.0, -7.0],
    "z": [datetime(2026, 1, day, hour, tzinfo=ZoneInfo("Europe/Paris"))
          for day, hour in ((31, 8), (31, 9), (31, 7), (30, 23), (31, 0))] + [None],
    "m": [None, datetime(2026, 1, 31, 8), datetime(2026, 1, 31, 8, 0, 0, 1000)] * 2,
    "n": [None, datetime(2026, 1, 31, 8), datetime(2026, 1, 31, 8, 0, 0, 1)] * 2,
    "u": [0, 7, 255, None, 8, 1], "^.*$": ["a", "b", "7", None, "", "B"],
}  # fmt: skip
CONSTANTS = ["'a'", "'7'", "7", "-7", "'2026-01-31'", "DATE '2026-01-31'", "NULL", "7.0", "''",
             "-1", "256",
             "'2026-01-31 08:00:00.0005'", "'2026-01-31 08:00:00'", "DATE '2026-01-31 09:00:00'",
             "TIMESTAMP '2026-01-31 08:00:00'", "CAST('7' AS VARCHAR)",
             "TIMESTAMPTZ '2026-01-31 08:00:00+01:00'", "'2026-01-31 08:00:00+01:00'",
             "CAST('2026-01-31 08:00+01:00' AS TIMESTAMP)",
             "CAST('2026-01-31 08:00' AS DATE)"]  # fmt: skip


@st.composite
def conditions(draw: st.DrawFn, depth: int = 2) -> str:
    """Draw a condition over the columns; some cannot be judged by SQL."""
    if depth and draw(st.booleans()):
        left, right = draw(conditions(depth - 1)), draw(conditions(depth - 1))
        form = draw(st.sampled_from(["({}) AND ({})", "({}) OR ({})", "NOT (({}) AND ({}))"]))
        return form.format(left, right)
    column, one, two = draw(st.sampled_from(list(SCHEMA))), *draw(st.tuples(
        st.sampled_from(CONSTANTS), st.sampled_from(CONSTANTS)))  # fmt: skip
    form = draw(st.sampled_from([
        "s.{c} = {a}", "{a} < s.{c}", "s.{c} >= {a}", "s.{c} BETWEEN {a} AND {b}",
        "s.{c} IN ({a}, {b})", "s.{c} <> {a}", "s.{c} IS NULL", "s.{c} NOT IN ({a})",
    ]))  # fmt: skip
    return form.format(c=quote(column), a=one, b=two)


@pytest.fixture(scope="module")
def constants() -> tuple[pl.DataFrame, duckdb.DuckDBPyConnection]:
    """Return the values, and a connection with them as the table ``rows``."""
    con = duckdb.connect()
    frame = pl.DataFrame(VALUES, schema=SCHEMA).with_row_index("at")
    con.register("rows", frame.to_arrow())
    return frame, con


@settings(max_examples=150, deadline=None)
@given(condition=conditions())
def test_a_filter_keeps_all_rows_of_its_condition(
    constants: tuple[pl.DataFrame, duckdb.DuckDBPyConnection], condition: str
) -> None:
    frame, con = constants
    try:
        kept = con.execute(f"SELECT s.at FROM rows AS s WHERE {condition}").fetchall()
    except duckdb.Error:
        return  # refused before it is pushed down
    chosen = write_filter(condition, SCHEMA)
    if chosen is not None:
        left = frame.filter(chosen)["at"].to_list()
        assert {at for (at,) in kept} <= set(left), (condition, str(chosen))


def test_what_is_pushed_down() -> None:
    for condition, expected in {
        "s.i = 7": "== (dyn int: 7)]",
        "s.d >= '2026-01-31' AND s.f > 0.5": "by_name('d'",
        "s.t IN ('a', 'b')": "any_horizontal",
        "s.z < TIMESTAMPTZ '2026-01-31 08:00+01'": "by_name('z'",
    }.items():
        assert expected in str(write_filter(condition, SCHEMA))
    for condition in ("s.f = 1", "s.i = 7.5", "s.t = 7", "lower(s.t) = 'a'", "NOT s.i = 7",
                      "s.i = 7 OR s.f = 1", "s.s = '2026-01-31 08:00+01'"):  # fmt: skip
        assert write_filter(condition, SCHEMA) is None, condition


def test_a_secret_of_a_store_stays_out_of_messages(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "hidden")
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "hidden")
    monkeypatch.setenv("AWS_ENDPOINT_URL", "http://127.0.0.1:9")
    monkeypatch.setenv("AWS_REGION", "x")
    with pytest.raises(SourceError) as raised:
        sqleval.scan("lance+/nosuch.lance", **ROLES)
    assert not re.search("hidden", str(raised.value))


def test_computed_keys_and_a_condition_of_a_table(delta: Path) -> None:
    options: dict[str, Any] = {**ROLES, "where": "month = 8", "by": {"day": "flight_date"}}
    rest = ROWS.filter((pl.col("carrier") != "DL").fill_null(True))
    found = sqleval.scan(delta, **options).evaluate("roc_auc").collect().drop("method")
    assert_frame_equal(
        found, sqleval.scan(rest, **options).evaluate("roc_auc").collect().drop("method")
    )


def test_paths_of_a_delta_table_that_are_encoded(tmp_path: Path) -> None:
    """Polars 2.1 finds no file of such a folder, and no deletion vector of such a partition."""
    frame = ROWS.with_columns(carrier="of " + pl.col("carrier")).filter(
        pl.col("month") == 8, pl.col("carrier").is_not_null()
    )
    for folder in ("table", "a table"):
        path = tmp_path / folder
        deltalake.write_deltalake(
            path, frame.to_arrow(), partition_by=["carrier"],
            configuration={"delta.enableDeletionVectors": "true"},
        )  # fmt: skip
        delete_rows(path, [0, 1], "of DL")
        counts = [
            sqleval.scan(source, **ROLES).evaluate("roc_auc").collect().select("carrier", "n")
            for source in (path, frame)
        ]
        lost = counts[1].join(counts[0], on="carrier").filter(pl.col("n") != pl.col("n_right"))
        assert lost.select("carrier", pl.col("n") - pl.col("n_right")).rows() == [("of DL", 2)]


@pytest.mark.parametrize(
    ("reader", "mapping", "message"),
    [
        (2, "number", "it has column mapping by number"),
        (99, "none", "Unsupported.*version 99; deltalake .* does not read tables of this protocol"),
    ],
)
def test_delta_tables_that_are_refused(
    tmp_path: Path, reader: int, mapping: str, message: str
) -> None:
    path = tmp_path / "table"
    deltalake.write_deltalake(path, FIRST.to_arrow())
    rename_columns(path, {}, mapping, reader)
    with pytest.raises(SourceError, match=rf"cannot read the Delta table '.*/table'.*{message}"):
        sqleval.scan(path, **ROLES)


def test_nested_columns_that_may_be_renamed_within_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "table"
    nested = FIRST.with_columns(pair=pl.struct("p", "q"))
    deltalake.write_deltalake(path, nested.to_arrow())
    rename_columns(path, {"p": "score"})
    with pytest.raises(SourceError, match="column mapping by name, and 'pair' is a nested column"):
        sqleval.scan(path, **ROLES)


@pytest.mark.parametrize("has_deleted", [False, True])
@pytest.mark.parametrize("mapping", ["name", "id"])
def test_renamed_columns_of_a_delta_table(mapping: str, has_deleted: bool, tmp_path: Path) -> None:
    path = tmp_path / "table"
    if mapping == "id":
        write_numbered(path, FIRST, "month")
    else:
        deltalake.write_deltalake(
            path, FIRST.to_arrow(), partition_by=["month"],
            configuration={"delta.enableDeletionVectors": "true"},
        )  # fmt: skip
    rows = FIRST
    if has_deleted:
        add = delete_rows(path, [0, 2, 5, 60], "month=8")
        gone = pl.read_parquet(path / add["path"])[[0, 2, 5, 60]]["key"].to_list()
        rows = FIRST.filter(~pl.col("key").is_in(gone))
    # The names of two columns are exchanged, and a partition has another one.
    names = {"p": "q", "q": "p", "month": "it's the month"}
    rename_columns(path, names, mapping)
    roles: dict[str, Any] = {
        **ROLES, "score": "q", "by": {"month": '"it\'s the month"', "carrier": "carrier"},
        "where": '"it\'s the month" >= 8 AND p < 0.9',
    }  # fmt: skip
    found, expected = (
        sqleval.scan(source, **roles).evaluate(FEW).collect().drop("method")
        for source in (path, rows.rename(names))
    )
    assert found["n"].sum() > 0
    assert_frame_equal(found, expected)
    # The engine itself reads files without deleted rows.
    assert bool(sqleval.scan(path, **roles).source.files) == (not has_deleted)


def test_files_without_the_numbers_that_find_their_columns(tmp_path: Path) -> None:
    path = tmp_path / "table"
    deltalake.write_deltalake(path, FIRST.to_arrow())
    rename_columns(path, {}, "id")
    message = r"\.parquet: the table has column mapping by id, and the file has no column numbers"
    with pytest.raises(SourceError, match=message):
        sqleval.scan(path, **ROLES).evaluate("roc_auc").collect()


def test_a_reader_version_that_changes_nothing(
    tmp_path: Path, expected: dict[str, pl.DataFrame]
) -> None:
    path = tmp_path / "table"
    deltalake.write_deltalake(path, FIRST.to_arrow())
    rename_columns(path, {}, "none")
    assert_frame_equal(evaluate(path), expected["first"])
