"""A job with a query reads its rows as if they had been written so, from every kind of source."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import deltalake
import duckdb
import polars as pl
import pyarrow.parquet as pq
import pytest

from sqleval import RequestError
from sqleval.jobs.running.plan import RunOptions
from sqleval.jobs.running.run import run_job
from sqleval.jobs.running.validation import check_job
from tests.support.commands import run
from tests.support.comparison import assert_frame_equal
from tests.support.lake import LATER, Lake, evaluated, on, rows
from tests.support.table_lakes import DAYS, DeltaLake, IcebergLake, LanceLake, reasons

QUERY = """
SELECT day, probability.values[2] AS p, UNNEST(items) AS item, seg
FROM source
WHERE split = 'test' -- the training rows stay out
"""
FLAT = "SELECT * EXCLUDE (p, y), p / 100 AS p, y = 'yes' AS y FROM source WHERE split = 'test'"
COLUMNS = ["period", "slice", "metric", "value", "n", "n_dropped", "note", "error"]


def nest(frame: pl.DataFrame) -> pl.DataFrame:
    """Return the rows with a vector of probabilities, a list of labels, and other rows."""
    both = pl.concat_list(1 - pl.col("p"), "p")
    nested = frame.select(
        "key", "day", "seg",
        probability=pl.struct(type=pl.lit(1), values=both),
        items=pl.concat_list("y", "y"),
        split=pl.lit("test"),
    )  # fmt: skip
    empty = nested.with_columns(items=pl.col("items").list.head(0)).head(3)
    return pl.concat([nested, nested.with_columns(split=pl.lit("train")).head(50), empty])


def flatten(frame: pl.DataFrame) -> pl.DataFrame:
    """Return rows whose score is a per cent, and whose label is a word."""
    words = pl.col("y").replace_strict({0: "no", 1: "yes"}, return_dtype=pl.String)
    rows = frame.with_columns(p=pl.col("p") * 100, y=words, split=pl.lit("test"))
    return pl.concat([rows, rows.with_columns(split=pl.lit("train")).head(50)])


def compare(one: Lake, frame: pl.DataFrame, folder: Path, **changes: Any) -> None:
    """Compare the history of a lake with the history of rows that need no query."""
    folder.mkdir()
    plain = Lake(folder)
    plain.put(frame)
    plain.spec |= {name: one.spec.get(name) for name in ("metrics", "by", "slices", "period")}
    plain.spec |= changes
    plain.backfill(as_of=LATER)
    keys = ["period", "slice", "metric"]
    left, right = (each.history().select(COLUMNS).sort(keys) for each in (one, plain))
    assert left["error"].null_count() == left.height > 0
    assert_frame_equal(left, right, abs_tol=1e-12)


@pytest.fixture
def nested(tmp_path: Path) -> Lake:
    made = Lake(tmp_path)
    made.put(nest(rows()))
    made.spec |= {"query": QUERY, "label": "item", "slices": [[], ["seg"]], "by": None}
    return made


def test_nested_rows(nested: Lake, tmp_path: Path) -> None:
    done = nested.run(backfill=True, as_of=LATER)
    assert evaluated(done) == DAYS
    assert done.lake is not None
    assert [done.lake.count_rows(day) for day in DAYS] == [240] * 4
    compare(nested, pl.concat([rows(), rows()]), tmp_path / "plain")
    assert evaluated(nested.run(backfill=True, as_of=LATER)) == []
    # A file that changes is read again, alone.
    nested.put(nest(rows(days=1, start=1, seed=9)))
    assert reasons(nested.run(backfill=True, as_of=LATER)) == {DAYS[1]: "data changed"}


def test_the_command_reads_the_rows_of_a_query(nested: Lake) -> None:
    """The command lets the engine read only the files of the job."""
    nested.job()
    path = str(nested.folder / "job.yml")
    assert "4 files, binary" in run("validate", path).stderr
    explained = run("run", path, "--backfill", "--explain", "--as-of", "2027-01-01").stdout
    assert "240" in explained
    run("run", path, "--backfill", "--as-of", "2027-01-01")
    assert set(nested.history()["n"]) == {240, 80}


def test_another_query_is_another_input(nested: Lake) -> None:
    nested.run(backfill=True, as_of=LATER)
    same = "/* nightly */ SELECT day,  probability.values[2] AS p,\n UNNEST(items) AS item, seg "
    same += "FROM source WHERE split = 'test';"
    done = nested.run(backfill=True, as_of=LATER, changes={"query": same})
    assert evaluated(done) == []
    assert done.lake is not None
    assert not done.lake.is_changed
    before = nested.history()["definition"].unique()
    other = QUERY.replace("values[2]", "values[1]")
    done = nested.run(backfill=True, as_of=LATER, changes={"query": other})
    assert evaluated(done) == DAYS
    assert not before.is_in(nested.history()["definition"].implode()).any()
    nested.run(backfill=True, as_of=LATER, changes={"query": QUERY})
    assert nested.history()["definition"].unique().sort().equals(before.sort())


def make_csv(folder: Path) -> Lake:
    made = Lake(folder)
    for (day,), part in flatten(rows()).partition_by("day", as_dict=True).items():
        part.write_csv(folder / "preds" / f"{day}.csv")
    return made


def make_json(folder: Path) -> Lake:
    made = Lake(folder)
    for (day,), part in flatten(rows()).partition_by("day", as_dict=True).items():
        part.write_ndjson(folder / "preds" / f"{day}.jsonl")
    return made


def make_parquet(folder: Path) -> Lake:
    made = Lake(folder)
    made.put(flatten(rows()))
    return made


def make_table(kind: Any) -> Callable[[Path], Lake]:
    def make(folder: Path) -> Lake:
        if kind is IcebergLake:  # its columns are those of `rows`
            made = IcebergLake(folder)
            made.catalog.drop_table("lake.preds")
            schema = flatten(rows()).to_arrow().schema
            made.made = made.catalog.create_table("lake.preds", schema=schema)
        else:
            made = kind(folder)
        made.append(flatten(rows()))
        return made

    return make


def make_database(folder: Path) -> Lake:
    frame = flatten(rows())
    with duckdb.connect(folder / "w.duckdb") as con:
        con.register("frame", frame.to_arrow())
        con.execute("CREATE TABLE preds AS FROM frame")
    made = Lake(folder)
    made.spec["source"] = "w.duckdb#preds"
    return made


KINDS: dict[str, Callable[[Path], Lake]] = {
    "Parquet": make_parquet,
    "CSV": make_csv,
    "JSON": make_json,
    "Delta": make_table(DeltaLake),
    "Iceberg": make_table(IcebergLake),
    "Lance": make_table(LanceLake),
    "DuckDB": make_database,
}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("is_late", [False, True], ids=["labels in the rows", "late labels"])
def test_every_kind_of_source(kind: str, tmp_path: Path, *, is_late: bool) -> None:
    lake = KINDS[kind](tmp_path)
    lake.spec |= {"query": FLAT, "slices": [[], ["seg"]], "by": None, "missing": "fail"}
    lake.spec |= {"metrics": ["roc_auc", "log_loss"]}
    changes: dict[str, Any] = {}
    if is_late:
        rows().select("key", "y").write_parquet(tmp_path / "labels.parquet")
        late = {"source": str(tmp_path / "labels.parquet"), "on": "key"}
        lake.spec |= {"labels": late, "query": FLAT.replace("p, y)", "p, y, split)")}
        lake.spec["query"] = lake.spec["query"].replace(", y = 'yes' AS y", "")
        changes = {"labels": late}
    assert "4 files" in check_job(lake.job()) or kind == "DuckDB"
    done = lake.run(backfill=True, as_of=LATER)
    assert evaluated(done) == DAYS
    assert set(lake.history()["matured"]) == ({1.0} if is_late else {None})
    frame = rows().drop("y") if is_late else rows()
    compare(lake, frame, tmp_path / "plain", **changes)
    assert evaluated(lake.run(backfill=True, as_of=LATER)) == []


def test_a_change_in_a_database_that_only_the_query_reads(tmp_path: Path) -> None:
    lake = make_database(tmp_path)
    lake.spec |= {"query": FLAT, "by": None}
    lake.run(backfill=True, as_of=LATER)
    with duckdb.connect(tmp_path / "w.duckdb") as con:
        con.execute("UPDATE preds SET split = 'train' WHERE key = 3")
        con.execute("UPDATE preds SET y = 'no' WHERE key IN (SELECT MIN(key) FROM preds WHERE "
                    "y = 'yes' AND day = '2026-01-03')")  # fmt: skip
    done = lake.run(backfill=True, as_of=LATER)
    assert reasons(done) == dict.fromkeys([DAYS[0], DAYS[2]], "data changed")


def test_a_compaction_of_rows_that_the_query_keeps(tmp_path: Path) -> None:
    lake = DeltaLake(tmp_path)
    for start in range(2):
        lake.append(rows(days=1, start=start), partition_by=None)
    lake.spec["query"] = "SELECT * REPLACE (p / 2 AS p) FROM source"
    lake.run(backfill=True)
    assert deltalake.DeltaTable(lake.table).optimize.compact()["numFilesRemoved"] == 2
    assert evaluated(lake.run(backfill=True)) == []


@pytest.mark.parametrize(
    "renamed", ["* EXCLUDE (day), at AS day", "* RENAME (at AS day, day AS b)"]
)
@pytest.mark.parametrize("kind", [Lake, DeltaLake])
def test_a_period_that_the_query_computes(kind: Any, renamed: str, tmp_path: Path) -> None:
    """Statistics and partitions of the column of the same name must not exclude rows."""
    lake = kind(tmp_path)
    frame = rows().with_columns(at=pl.col("day"), day=pl.lit("2020-01-01").str.to_date())
    if kind is Lake:
        lake.put(frame, "at")
    else:
        lake.append(frame)
    lake.spec |= {"query": f"SELECT {renamed} FROM source", "by": ["seg"]}
    lake.spec["metrics"] = ["roc_auc", "log_loss"]
    assert evaluated(lake.run(backfill=True, as_of=LATER)) == DAYS
    compare(lake, rows(), tmp_path / "plain")


def test_whole_numbers_before_fractions_in_a_csv_file(tmp_path: Path) -> None:
    lake = Lake(tmp_path)
    whole = pl.concat([rows(1, 21_000).with_columns(p=pl.lit(1.0)), rows(1, 10, start=1)])
    text = whole.write_csv().replace(",1.0,", ",1,")
    (tmp_path / "preds" / "a.csv").write_text(text)
    lake.spec |= {"query": "SELECT * REPLACE (p / 2 AS p) FROM source", "by": None}
    lake.run(backfill=True, as_of=LATER)
    (error,) = lake.history()["error"].unique().drop_nulls()
    assert "column p holds whole numbers in the first rows, and a fraction below them" in error


def test_checksums_of_columns_that_only_the_query_reads(tmp_path: Path) -> None:
    lake = Lake(tmp_path)
    path = tmp_path / "preds" / f"{DAYS[0]}.parquet"
    frame = rows(days=1).with_columns(raw=pl.col("p") * 100).drop("p")
    pq.write_table(
        frame.to_arrow(), path, use_dictionary=False, compression="none", write_page_checksum=True
    )
    lake.spec |= {"query": "SELECT * EXCLUDE (raw), raw / 100 AS p FROM source", "verify": True}
    lake.run(backfill=True, as_of=LATER)
    assert lake.history()["error"].null_count() == lake.history().height
    column = pq.read_metadata(path).row_group(0).column(frame.columns.index("raw"))
    content = bytearray(path.read_bytes())
    content[column.data_page_offset + column.total_compressed_size - 100] ^= 1
    path.write_bytes(bytes(content))
    lake.run(date=on(DAYS[0]), force=True)
    done = lake.run(date=on(DAYS[0]), force=True)
    assert any("checksum" in str(error) and "'raw'" in str(error) for error in done.errors)


REFUSED_AS_TEXT = {
    "SELECT * FROM source LIMIT 5": "LIMIT is not allowed",
    "SELECT * FROM source JOIN labels USING (key)": "a join is not allowed",
    "SELECT * FROM read_text('job.yml')": "it reads FROM source",
}
REFUSED_BY_COLUMNS = {
    "SELECT *, q / 2 AS r FROM source": "query='q': no such column",
    "SELECT * EXCLUDE (q) FROM source": "query='q': no such column",
    "SELECT *, p / 2 AS P FROM source": r"the source has a column 'P' already: write \* EXCLUDE",
    "SELECT y, p, seg FROM source": "period.column='day': no such column",
    "SELECT * EXCLUDE (p) FROM source": "score='p': no such column",
    "SELECT * REPLACE (seg AS p) FROM source": "score='p' must be a number and is VARCHAR",
    "SELECT * REPLACE (year(seg) AS p) FROM source": "query: .*year",
    "SELECT *, UNNEST(p) AS q FROM source": "query: .*UNNEST",
}


@pytest.mark.parametrize("text", REFUSED_AS_TEXT)
def test_validate_and_run_name_the_line_of_a_query(text: str, lake: Lake) -> None:
    with pytest.raises(RequestError, match=f"job.yml:\\d+: query: {REFUSED_AS_TEXT[text]}"):
        lake.job(query=text)
    for command in ("validate", "run"):
        done = run(command, str(lake.folder / "job.yml"), code=2)
        assert f"query: {REFUSED_AS_TEXT[text]}" in done.stderr


@pytest.mark.parametrize("text", REFUSED_BY_COLUMNS)
def test_a_run_refuses_the_queries_that_validate_refuses(text: str, lake: Lake) -> None:
    job, message = lake.job(query=text), REFUSED_BY_COLUMNS[text]
    with pytest.raises(RequestError, match=message):
        check_job(job)
    with pytest.raises(RequestError, match=message):
        run_job(job, RunOptions(as_of=LATER, backfill=True))


def test_a_struct_is_not_unnested(lake: Lake) -> None:
    lake.put(rows().with_columns(both=pl.struct("p", "y")))
    job = lake.job(query="SELECT *, UNNEST(both) AS q FROM source")
    with pytest.raises(RequestError, match=r"query: 'q' is a struct, .* UNNEST takes a list"):
        check_job(job)


def test_names_are_spelled_as_in_the_source(lake: Lake) -> None:
    lake.spec["query"] = 'SELECT Y, SOURCE.P, "DAY", Seg, P / 2 AS Half FROM Source WHERE KEY > 0'
    lake.spec |= {"by": ["seg"], "score": "Half"}
    assert len(evaluated(lake.run(backfill=True, as_of=LATER))) == 4


def test_states_have_no_query(lake: Lake) -> None:
    with pytest.raises(RequestError, match="query does not fit a job with from_state"):
        lake.job(
            from_state="states", source=None, label=None, score=None, by=None, nulls=None,
            query="SELECT * FROM source", period={"column": "period"},
        )  # fmt: skip
