"""Whatever holds the rows, the numbers are those of the same rows in one Parquet file."""

import datetime
import gzip
import threading
import weakref
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.dataset as ds
import pytest
from polars.io.plugins import register_io_source
from polars.testing import assert_frame_equal
from sklearn.metrics import accuracy_score, log_loss, roc_auc_score

import sqleval
from sqleval import DataError, RequestError, SourceError, UnmatchedRows

FLIGHTS = Path(__file__).resolve().parents[2] / "data" / "flights"
METRICS = ["roc_auc", "average_precision", "ks", "log_loss", "precision", "f_beta(beta=2)"]
ROLES: dict[str, Any] = {
    "label": "delayed",
    "score": "p",
    "weight": "w",
    "by": ["carrier"],
    "where": "month <> 9",
}


def flights(rows: int) -> pl.DataFrame:
    """Return real predictions, with whole weights and one slice whose key is missing."""
    table = pl.scan_parquet(FLIGHTS / "predictions", hive_partitioning=True)
    return (
        table.filter(pl.col("delayed").is_not_null(), pl.col("carrier").is_in(["AA", "DL", "VX"]))
        .select(
            "key",
            pl.col("month").cast(pl.Int64),
            pl.col("carrier").replace("VX", None),
            "flight_date",
            pl.col("delayed").cast(pl.Int64),
            "delay_class",
            p="p_boosted",
            q="p_logistic",
            w=pl.col("key") % 4,
        )
        .gather_every(7)
        .head(rows)
        .collect()
    )


ROWS = flights(3000)


def run(frame: pl.LazyFrame) -> pl.DataFrame:
    return frame.collect()


def assert_same(got: pl.DataFrame, wanted: pl.DataFrame) -> None:
    # Sums of doubles repeat to 1e-12, whatever the order of the rows.
    assert_frame_equal(got, wanted, check_exact=False, rel_tol=1e-12, abs_tol=1e-12)


@pytest.fixture(scope="module")
def one_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("one") / "rows.parquet"
    ROWS.write_parquet(path)
    return path


@pytest.fixture(scope="module")
def wanted(one_file: Path) -> pl.DataFrame:
    return run(sqleval.scan(one_file, **ROLES).evaluate(METRICS))


def in_parts(folder: Path) -> list[Path]:
    """Write the rows to files in two folders, out of order and of unequal size."""
    paths = [folder / "a" / "2.parquet", folder / "b" / "1.parquet", folder / "b" / "3.parquet"]
    for path, part in zip(paths, (ROWS[2000:], ROWS[:10], ROWS[10:2000]), strict=True):
        path.parent.mkdir(exist_ok=True)
        part.write_parquet(path)
    return paths


def as_path(folder: Path) -> dict[str, Any]:
    ROWS.write_parquet(folder / "rows.parquet")
    return {"source": folder / "rows.parquet"}


def as_text(folder: Path) -> dict[str, Any]:
    return {"source": str(as_path(folder)["source"])}


def as_glob(folder: Path) -> dict[str, Any]:
    in_parts(folder)
    return {"source": f"{folder}/*/[123].parquet"}


def as_deep_glob(folder: Path) -> dict[str, Any]:
    in_parts(folder)
    return {"source": f"{folder}/**/*.parquet"}


def as_list(folder: Path) -> dict[str, Any]:
    return {"source": in_parts(folder)}


def as_list_of_patterns(folder: Path) -> dict[str, Any]:
    in_parts(folder)
    return {"source": (f"{folder}/b/*.parquet", str(folder / "a" / "2.parquet"))}


def as_folder(folder: Path) -> dict[str, Any]:
    in_parts(folder)
    return {"source": folder}


def as_odd_path(folder: Path) -> dict[str, Any]:
    odd = folder / "it's a [1] *? folder"
    odd.mkdir()
    ROWS.write_parquet(odd / "rows [a].parquet")
    return {"source": odd / "rows [a].parquet"}


def as_odd_folder(folder: Path) -> dict[str, Any]:
    return {"source": as_odd_path(folder)["source"].parent}


def as_partitions(folder: Path) -> dict[str, Any]:
    # The key is in the path only, where a missing value has a name of its own.
    ds.write_dataset(
        ROWS.with_columns(one=1).to_arrow(),
        folder / "hive",
        format="parquet",
        partitioning=ds.partitioning(pa.schema([("one", pa.int64())]), flavor="hive"),
    )
    return {"source": folder / "hive"}


def as_csv(folder: Path) -> dict[str, Any]:
    ROWS.write_csv(folder / "rows.csv")
    return {"source": folder / "rows.csv"}


def as_gzipped_csv(folder: Path) -> dict[str, Any]:
    (folder / "rows.csv.gz").write_bytes(gzip.compress(ROWS.write_csv().encode()))
    return {"source": folder / "rows.csv.gz"}


def as_tsv(folder: Path) -> dict[str, Any]:
    ROWS.write_csv(folder / "rows.tsv", separator="\t")
    return {"source": folder / "rows.tsv"}


def as_json_lines(folder: Path) -> dict[str, Any]:
    ROWS.write_ndjson(folder / "rows.ndjson")
    return {"source": folder / "rows.ndjson"}


def as_query(folder: Path) -> dict[str, Any]:
    path = as_path(folder)["source"]
    return {"query": f"SELECT * FROM '{path}' WHERE key > 0;"}


def as_query_with_comment(folder: Path) -> dict[str, Any]:
    path = as_path(folder)["source"]
    return {"query": f"WITH a AS (FROM '{path}') SELECT * FROM a -- every row"}


def as_query_on_connection(folder: Path) -> dict[str, Any]:
    return {"query": "SELECT * FROM rows", "con": as_table(folder)["con"]}


def as_frame(folder: Path) -> dict[str, Any]:
    return {"source": ROWS}


def as_lazy_frame(folder: Path) -> dict[str, Any]:
    return {"source": ROWS.lazy()}


def as_lazy_scan(folder: Path) -> dict[str, Any]:
    in_parts(folder)
    return {"source": pl.scan_parquet(folder / "**" / "*.parquet")}


def as_arrow_table(folder: Path) -> dict[str, Any]:
    return {"source": ROWS.to_arrow()}


def as_record_batch(folder: Path) -> dict[str, Any]:
    return {"source": ROWS.to_arrow().combine_chunks().to_batches()[0]}


def as_reader(folder: Path) -> dict[str, Any]:
    return {"source": ROWS.to_arrow().to_reader(max_chunksize=100)}


def as_dataset(folder: Path) -> dict[str, Any]:
    in_parts(folder)
    return {"source": ds.dataset(folder, format="parquet")}


def as_memory_dataset(folder: Path) -> dict[str, Any]:
    return {"source": ds.dataset(ROWS.to_arrow())}


def as_relation(folder: Path) -> dict[str, Any]:
    con = duckdb.connect()
    return {"source": con.read_parquet(str(as_path(folder)["source"]))}


def as_relation_of_frame(folder: Path) -> dict[str, Any]:
    return {"source": duckdb.connect().from_arrow(ROWS.to_arrow()).filter("key > 0")}


def as_relation_of_default_connection(folder: Path) -> dict[str, Any]:
    return {"source": duckdb.read_parquet(str(as_path(folder)["source"]))}


def as_table(folder: Path) -> dict[str, Any]:
    con = duckdb.connect(folder / "store.duckdb")
    con.from_arrow(ROWS.to_arrow()).create("rows")
    return {"source": "rows", "con": con}


def as_temporary_table(folder: Path) -> dict[str, Any]:
    con = as_table(folder)["con"]
    con.execute("CREATE TEMP TABLE temporary AS FROM rows; DROP TABLE rows")
    return {"source": "temporary", "con": con}


def as_temporary_view(folder: Path) -> dict[str, Any]:
    con = as_table(folder)["con"]
    con.execute("CREATE TEMP VIEW seen AS FROM rows")
    return {"source": "seen", "con": con}


def as_uncommitted_table(folder: Path) -> dict[str, Any]:
    con = as_table(folder)["con"]
    con.execute("BEGIN; CREATE TABLE later AS FROM rows; DROP TABLE rows")
    return {"source": "later", "con": con}


def as_registered_name(folder: Path) -> dict[str, Any]:
    con = duckdb.connect()
    con.register("given", ROWS.to_arrow())
    return {"source": "given", "con": con}


def as_table_in_schema(folder: Path) -> dict[str, Any]:
    con = as_table(folder)["con"]
    con.execute("CREATE SCHEMA scored; CREATE TABLE scored.rows AS FROM rows; DROP TABLE rows")
    return {"source": "scored.rows", "con": con}


def as_table_in_catalog(folder: Path) -> dict[str, Any]:
    return {**as_table(folder), "source": "store.main.rows"}


def as_table_called(name: str) -> Callable[[Path], dict[str, Any]]:
    """Return the maker of a table whose name the statement itself uses for something else."""

    def make(folder: Path) -> dict[str, Any]:
        con = as_table(folder)["con"]
        con.execute(f'CREATE TABLE "{name}" AS FROM rows; DROP TABLE rows')
        return {"source": name, "con": con}

    make.__name__ = f"as_table_called_{name}"
    return make


def as_pandas(folder: Path) -> dict[str, Any]:
    return {"source": ROWS.to_pandas()}


def as_pandas_with_index(folder: Path) -> dict[str, Any]:
    return {"source": ROWS.to_pandas().set_index("key", drop=False).iloc[::-1]}


def as_pandas_on_arrow(folder: Path) -> dict[str, Any]:
    return {"source": ROWS.to_pandas(use_pyarrow_extension_array=True)}


MAKERS = [
    as_path, as_text, as_glob, as_deep_glob, as_list, as_list_of_patterns, as_folder,
    as_odd_path, as_odd_folder, as_partitions, as_csv, as_gzipped_csv, as_tsv, as_json_lines,
    as_query, as_query_with_comment, as_query_on_connection, as_frame, as_lazy_frame,
    as_lazy_scan, as_arrow_table, as_record_batch, as_reader, as_dataset, as_memory_dataset,
    as_relation, as_relation_of_frame, as_relation_of_default_connection, as_table,
    as_temporary_table, as_temporary_view, as_uncommitted_table, as_registered_name,
    as_table_in_schema, as_table_in_catalog, as_table_called("predictions"),
    as_table_called("_source"), as_table_called("_audit"), as_table_called("cutoffs"),
    as_table_called("select"), as_pandas, as_pandas_with_index, as_pandas_on_arrow,
]  # fmt: skip
READ_ONCE = (as_reader,)
NAMES = [make.__name__.removeprefix("as_") for make in MAKERS]


@pytest.mark.parametrize("make", MAKERS, ids=NAMES)
def test_same_numbers_as_one_file(
    make: Callable[[Path], dict[str, Any]], tmp_path: Path, wanted: pl.DataFrame
) -> None:
    bound = sqleval.scan(**make(tmp_path), **ROLES)
    result = bound.evaluate(METRICS)
    assert_same(run(result), wanted)
    if make not in READ_ONCE:
        assert_same(run(result), wanted)
        curve = run(bound.curve("roc"))
        assert curve.height > 100
        assert curve["tpr"].max() == 1


def test_the_numbers_are_those_of_scikit_learn(wanted: pl.DataFrame) -> None:
    used = ROWS.filter(pl.col("month") != 9)
    assert wanted["carrier"].unique().sort().to_list() == [None, "AA", "DL"]
    for (carrier,), rows in used.group_by("carrier"):
        got = wanted.filter(pl.col("carrier").eq_missing(pl.lit(carrier)))
        auc = got.filter(pl.col("metric") == "roc_auc")
        reference = roc_auc_score(rows["delayed"], rows["p"], sample_weight=rows["w"])
        assert auc["value"].item() == pytest.approx(reference, rel=1e-12)
        assert auc["n"].item() == rows.height


def test_a_partition_column_is_a_key_and_a_condition() -> None:
    roles: dict[str, Any] = {"label": "delayed", "score": "p_boosted", "nulls": "drop"}
    folder = sqleval.scan(FLIGHTS / "predictions", by="month", where="month <= '08'", **roles)
    got = run(folder.evaluate("roc_auc"))
    assert got["month"].to_list() == ["07", "08"]
    for month, value in got.select("month", "value").iter_rows():
        file = FLIGHTS / "predictions" / f"month={month}" / "part-0.parquet"
        assert run(sqleval.scan(file, **roles).evaluate("roc_auc"))["value"].item() == value


def test_a_numeric_partition_stays_text_whatever_its_values(tmp_path: Path) -> None:
    for part in ("1", "2", "none"):
        (tmp_path / f"part={part}").mkdir()
        ROWS.write_parquet(tmp_path / f"part={part}" / "rows.parquet")
    got = run(sqleval.scan(tmp_path, label="delayed", score="p", by="part").evaluate("roc_auc"))
    assert got["part"].to_list() == ["1", "2", "none"]


@pytest.mark.parametrize("first", ["a", "b"])
def test_a_number_of_several_types_takes_the_widest(first: str, tmp_path: Path) -> None:
    whole = pl.DataFrame({"y": [0, 1], "p": [0, 1]})
    parts = pl.DataFrame({"y": [0, 1, 1], "p": [0.6, 0.7, 0.1]})
    named = {first: whole, ("a" if first == "b" else "b"): parts}
    for name, frame in named.items():
        frame.write_parquet(tmp_path / f"{name}.parquet")
    rows = pl.concat([whole, parts], how="vertical_relaxed")
    expected = roc_auc_score(rows["y"], rows["p"])
    for source in (tmp_path, sorted(map(str, tmp_path.iterdir())), f"{tmp_path}/*.parquet"):
        found = sqleval.scan(source, label="y", score="p").evaluate("roc_auc").collect()
        assert found["value"].item() == pytest.approx(expected, abs=1e-15)


def test_what_writers_hide_is_no_data(tmp_path: Path) -> None:
    rows = pl.DataFrame({"y": [0, 1], "p": [0.1, 0.9]})
    for name in ("_part=a/1.parquet", "_temporary/0/2.parquet", ".3.parquet", "_part=b/4.parquet"):
        rows.write_parquet(tmp_path / name, mkdir=True)
    found = sqleval.scan(tmp_path, label="y", score="p").evaluate("roc_auc").collect()
    assert found["n"].item() == 4


def test_the_connection_is_left_as_it_was(tmp_path: Path) -> None:
    con = as_uncommitted_table(tmp_path)["con"]
    before = con.execute("SELECT view_name FROM duckdb_views() ORDER BY ALL").fetchall()
    labels = ROWS.select("key", "delayed")
    bound = sqleval.scan(
        "later", con=con, score="p", label="delayed", labels=labels.lazy(), on="key"
    )
    run(bound.evaluate("roc_auc"))
    assert con.execute("SELECT view_name FROM duckdb_views() ORDER BY ALL").fetchall() == before
    con.execute("ROLLBACK")
    assert con.execute("SELECT COUNT(*) FROM rows").fetchall() == [(ROWS.height,)]


def test_a_relation_keeps_its_connection_usable(tmp_path: Path) -> None:
    con = as_table(tmp_path)["con"]
    result = sqleval.scan(con.table("rows"), **ROLES).evaluate(METRICS)
    run(result)
    con.execute("DELETE FROM rows WHERE carrier = 'AA'")
    assert run(result)["carrier"].unique().sort().to_list() == [None, "DL"]


def test_python_variables_are_no_tables() -> None:
    hidden = ROWS
    with pytest.raises(sqleval.SqlevalError, match="hidden"):
        sqleval.scan(query="SELECT * FROM hidden", label="delayed", score="p")
    assert hidden.height


@pytest.mark.parametrize(
    "odd",
    [pl.lit(1, pl.Int128), pl.lit(1, pl.Float16), pl.lit(pl.Series([object()] * ROWS.height))],
    ids=["Int128", "Float16", "Object"],
)
def test_a_frame_may_have_columns_that_no_engine_knows(odd: pl.Expr) -> None:
    # The call does not name the column, so it is no business of the call.
    for frame in (ROWS.with_columns(odd=odd), ROWS.with_columns(odd=odd).lazy()):
        got = run(sqleval.scan(frame, label="delayed", score="p").evaluate("roc_auc"))
        assert got["value"].item() == pytest.approx(roc_auc_score(ROWS["delayed"], ROWS["p"]))


def test_a_key_that_the_result_cannot_hold_is_refused() -> None:
    frame = pl.DataFrame({"y": [0, 1], "p": [0.1, 0.9], "g": [datetime.timedelta(1)] * 2})
    with pytest.raises(RequestError, match=r"by='g'.*INTERVAL"):
        sqleval.scan(frame, label="y", score="p", by="g")
    bound = sqleval.scan(frame.rename({"g": "_problem"}).drop("_problem").with_columns(
        _problem=pl.lit("a")), label="y", score="p", by="_problem")  # fmt: skip
    with pytest.raises(RequestError, match="by='_problem': the result has a column of that name"):
        bound.evaluate("roc_auc")


@pytest.mark.parametrize(
    ("kind", "keys"),
    [
        (pl.Int8, [1, 2]),
        (pl.UInt64, [1, 2**63 + 1]),
        (pl.Float32, [0.5, 1.5]),
        (pl.Boolean, [False, True]),
        (pl.Date, [datetime.date(2013, 7, 1), datetime.date(2013, 7, 2)]),
        (pl.Datetime("us"), [datetime.datetime(2013, 7, 1, 12), datetime.datetime(2013, 7, 2)]),
        (pl.Decimal(10, 2), ["1.25", "2.50"]),
        (pl.Time, [datetime.time(1, 2, 3), datetime.time(4, 5, 6)]),
    ],
    ids=str,
)
@pytest.mark.parametrize("kind_of_source", ["file", "frame", "stream"])
def test_a_key_keeps_its_type_and_value(
    kind: Any, keys: list[Any], kind_of_source: str, tmp_path: Path
) -> None:
    groups = pl.Series("g", [keys[0]] * 3 + [keys[1]] * 3 + [None] * 2).cast(kind)
    frame = pl.DataFrame({"y": [0, 1, 0, 1, 1, 0, 0, 1], "p": np.linspace(0, 1, 8), "g": groups})
    frame.write_parquet(tmp_path / "rows.parquet")
    source: Any = {"frame": frame, "stream": frame.lazy(), "file": tmp_path / "rows.parquet"}
    lazy = sqleval.scan(source[kind_of_source], label="y", score="p", by="g").evaluate("roc_auc")
    got = run(lazy)
    assert got["g"].to_list() == [*groups.unique().drop_nulls().sort().to_list(), None]
    assert got.schema == lazy.collect_schema()
    below = run(lazy.filter(pl.col("g") < pl.lit(groups[3], dtype=groups.dtype)))
    assert below["g"].to_list() == [groups[0]]


@pytest.mark.parametrize(
    "keys",
    [
        "CAST('00000000-0000-0000-0000-00000000000' || i AS UUID)",
        "CASE i WHEN 0 THEN DATE '9999-12-31' ELSE DATE 'infinity' END",
        "DATE '20000-01-01' + CAST(i AS INTEGER)",
        "DATE '0044-03-15 (BC)' + CAST(i AS INTEGER)",
    ],
)
def test_a_key_that_python_does_not_know_is_kept(keys: str, tmp_path: Path) -> None:
    con = duckdb.connect()
    con.execute(
        f"CREATE TABLE t AS SELECT k % 2 AS y, k / 10 AS p, {keys} AS g "
        "FROM RANGE(4) AS r(k), RANGE(2) AS s(i)"
    )
    con.execute(f"COPY t TO '{tmp_path / 'rows.parquet'}' (FORMAT parquet)")
    found = [
        run(sqleval.scan(source, label="y", score="p", by="g", **given).evaluate("brier_score"))
        for source, given in (
            (con.table("t"), {}),
            ("t", {"con": con}),
            (tmp_path / "rows.parquet", {}),
        )
    ]
    assert found[0]["g"].n_unique() == 2
    for other in found[1:]:
        assert_frame_equal(found[0], other)


@pytest.mark.parametrize("kind", [pl.Categorical(), pl.Enum(["a", "b"])], ids=str)
def test_categories_are_keys_and_labels(kind: Any) -> None:
    frame = pl.DataFrame({"y": ["a", "b", "a", "b"], "p": [0.1, 0.9, 0.4, 0.3]})
    frame = frame.with_columns(
        y=pl.col("y").cast(kind), g=pl.Series(["a", "a", "b", "b"], dtype=kind)
    )
    got = run(sqleval.scan(frame, label="y", score="p", positive="b", by="g").evaluate("roc_auc"))
    assert got["value"].to_list() == [1, 0]
    assert got["g"].cast(pl.String).to_list() == ["a", "b"]


# -- streams -------------------------------------------------------------------------------


def counted(batches: int, rows: int) -> tuple[pl.LazyFrame, dict[str, Any]]:
    """Return a LazyFrame made of batches, and what is seen of its reading.

    The numbers stand in NumPy arrays without a copy, so an array's death is the moment at
    which every engine has let go of its batch.
    """
    seen: dict[str, Any] = {"reads": 0, "alive": 0, "peak": 0, "columns": set()}
    lock = threading.Lock()

    def died() -> None:
        with lock:
            seen["alive"] -= 1

    def read(
        columns: list[str] | None, predicate: pl.Expr | None, limit: int | None, size: int | None
    ) -> Iterator[pl.DataFrame]:
        seen["reads"] += 1
        seen["columns"] |= set(columns or ["all"])
        for i in range(batches):
            score = np.random.default_rng(i).random(rows)
            weakref.finalize(score, died)
            with lock:
                seen["alive"] += 1
                seen["peak"] = max(seen["peak"], seen["alive"])
            table = pa.table({"p": pa.array(score)})
            del score
            frame = pl.DataFrame(pl.from_arrow(table)).with_columns(
                y=(pl.int_range(pl.len()) % 3 == 0).cast(pl.Int8), wide=pl.lit("x" * 100)
            )
            del table
            frame = frame if predicate is None else frame.filter(predicate)
            yield frame.select(columns) if columns is not None else frame
            del frame

    schema = {"p": pl.Float64, "y": pl.Int8, "wide": pl.String}
    return register_io_source(read, schema=schema), seen


def test_a_lazy_frame_is_streamed_and_only_what_is_needed_is_read() -> None:
    lazy, seen = counted(batches=200, rows=10_000)
    result = sqleval.scan(lazy, label="y", score="p").evaluate(["log_loss", "precision"])
    assert seen["reads"] == 0
    got = run(result)
    assert got["n"].to_list() == [2_000_000, 2_000_000]
    assert seen["columns"] == {"p", "y"}
    assert seen["reads"] == 1
    assert 0 < seen["peak"] < 100
    run(result)
    assert seen["reads"] == 2


def test_a_lazy_frame_is_read_once_however_many_metrics_share_it() -> None:
    lazy, seen = counted(batches=3, rows=1000)
    bound = sqleval.scan(lazy, label="y", score="p")
    got = run(bound.evaluate())
    assert got.height == 12
    assert seen["reads"] == 1


def test_an_error_inside_a_lazy_frame_is_raised_and_leaves_the_next_read_working() -> None:
    frame = pl.DataFrame({"y": ["0", "1", "x"], "p": [0.1, 0.9, 0.5]})
    broken = frame.lazy().with_columns(pl.col("y").cast(pl.Int64))
    with pytest.raises(sqleval.SqlevalError, match="conversion from `str` to `i64` failed"):
        run(sqleval.scan(broken, label="y", score="p").evaluate("roc_auc"))
    sound = frame[:2].lazy().with_columns(pl.col("y").cast(pl.Int64))
    got = run(sqleval.scan(sound, label="y", score="p").evaluate("roc_auc"))
    assert got["value"].item() == 1


def test_a_reader_is_read_once() -> None:
    bound = sqleval.scan(as_reader(Path())["source"], **ROLES)
    result = bound.evaluate(METRICS)
    run(result)
    for again in (result, bound.evaluate("roc_auc"), bound.curve("roc")):
        with pytest.raises(SourceError, match="this RecordBatchReader has been read, and it can"):
            run(again)


def test_a_dataset_reads_only_the_columns_it_needs(tmp_path: Path) -> None:
    # The second file's `carrier` cannot be read as text, which is no business of this call.
    ROWS.write_parquet(tmp_path / "1.parquet")
    ROWS.with_columns(carrier=pl.struct("key")).write_parquet(tmp_path / "2.parquet")
    source = ds.dataset(tmp_path, format="parquet")
    got = run(sqleval.scan(source, label="delayed", score="p").evaluate("roc_auc"))
    assert got["n"].item() == 2 * ROWS.height


# -- late labels ---------------------------------------------------------------------------

SCORED = ROWS.drop("delayed", "delay_class")
#: The first 40 flights have no outcome yet; 7 outcomes belong to flights nobody scored.
KNOWN = pl.concat(
    [
        ROWS[40:].select("key", "delayed", "delay_class"),
        pl.DataFrame(
            {"key": [-i for i in range(1, 8)], "delayed": [1] * 7, "delay_class": ["minor"] * 7}
        ),
    ]
).sample(fraction=1, shuffle=True, seed=1)
NOTICE = r"labels=: 40 of 3000 rows have no label yet and are left out; 7 labels match no row"
LATE: dict[str, Any] = {"label": "delayed", "score": "p", "on": "key"}


def late_sources(folder: Path) -> Iterator[tuple[object, object]]:
    """Yield a source and its labels, in kinds that may meet in one call."""
    SCORED.write_parquet(folder / "scored.parquet")
    KNOWN.write_parquet(folder / "known.parquet")
    scored, known = folder / "scored.parquet", folder / "known.parquet"
    yield scored, known
    yield SCORED, KNOWN
    yield scored, KNOWN.lazy()
    yield SCORED.lazy(), KNOWN.lazy()
    yield SCORED.to_arrow().to_reader(), KNOWN.to_arrow()
    yield SCORED.to_arrow().to_reader(), KNOWN.to_arrow().to_reader()
    yield SCORED.to_pandas(), str(known)
    yield ds.dataset(scored), KNOWN.to_arrow().to_reader()
    yield duckdb.read_parquet(str(scored)), known
    yield scored, duckdb.read_parquet(str(known))
    yield duckdb.read_parquet(str(scored)), duckdb.read_parquet(str(known))
    yield duckdb.read_parquet(str(scored)), KNOWN


@pytest.mark.parametrize("nth", range(12))
def test_late_labels_are_joined(nth: int, tmp_path: Path) -> None:
    source, labels = list(late_sources(tmp_path))[nth]
    result = sqleval.scan(source, labels=labels, weight="w", by="carrier", **LATE)
    with pytest.warns(UnmatchedRows, match=NOTICE):
        got = run(result.evaluate(METRICS))
    matched = sqleval.scan(ROWS[40:], label="delayed", score="p", weight="w", by="carrier")
    assert_same(got.drop("n_dropped"), run(matched.evaluate(METRICS)).drop("n_dropped"))
    by_carrier = got.filter(pl.col("metric") == "ks").select("carrier", "n", "n_dropped")
    counts = ROWS.with_row_index().group_by("carrier").agg(
        n=(pl.col("index") >= 40).sum().cast(pl.Int64),
        n_dropped=(pl.col("index") < 40).sum().cast(pl.Int64),
    )  # fmt: skip
    assert_frame_equal(by_carrier, counts, check_row_order=False)


def test_labels_on_the_connection_of_the_source(tmp_path: Path) -> None:
    con = duckdb.connect()
    con.from_arrow(SCORED.to_arrow()).create("scored")
    con.from_arrow(KNOWN.to_arrow()).create("known")
    for source, labels in (
        (con.table("scored"), con.table("known")),
        ("scored", con.table("known")),
    ):
        given = {"con": con} if isinstance(source, str) else {}
        with pytest.warns(UnmatchedRows, match=NOTICE):
            got = run(sqleval.scan(source, labels=labels, **given, **LATE).evaluate("roc_auc"))
        assert got["n"].item() == 2960
    bound = sqleval.scan(con.table("scored"), labels=KNOWN, where="carrier = 'AA'", **LATE)
    with pytest.warns(UnmatchedRows):
        assert run(bound.evaluate("roc_auc"))["n"].item() > 0


def test_where_and_a_filter_judge_the_rows_not_the_labels(tmp_path: Path) -> None:
    bound = sqleval.scan(SCORED, labels=KNOWN, where="carrier = 'AA'", **LATE)
    late = ROWS[:40].filter(pl.col("carrier") == "AA").height
    total = ROWS.filter(pl.col("carrier") == "AA").height
    with pytest.warns(UnmatchedRows, match=rf"{late} of {total} rows .* 7 labels match no row"):
        got = run(bound.evaluate("roc_auc"))
    assert got["n"].item() == total - late

    sliced = sqleval.scan(SCORED, labels=KNOWN, by="carrier", **LATE).evaluate("roc_auc")
    with pytest.warns(UnmatchedRows, match=r"7 labels match no row"):
        kept = run(sliced.filter(pl.col("carrier") == "AA"))
    assert kept["value"].to_list() == got["value"].to_list()


def test_labels_that_all_match_give_no_notice() -> None:
    bound = sqleval.scan(SCORED[40:], labels=KNOWN.filter(pl.col("key") > 0), **LATE)
    assert run(bound.evaluate("roc_auc"))["n_dropped"].item() == 0


def test_curve_and_confusion_take_late_labels() -> None:
    bound = sqleval.scan(SCORED, labels=KNOWN, **LATE)
    with pytest.warns(UnmatchedRows, match=NOTICE):
        assert run(bound.confusion())["n"].sum() == 2960
    with pytest.warns(UnmatchedRows, match=NOTICE):
        assert run(bound.curve("roc"))["fpr"].max() == 1


def test_late_labels_of_several_models_and_classes() -> None:
    models = sqleval.scan(
        SCORED, labels=KNOWN, label="delayed", on="key", score={"one": "p", "two": "q"}
    )
    # Two models are no two rows.
    with pytest.warns(UnmatchedRows, match=NOTICE):
        got = run(models.evaluate("roc_auc"))
    assert got["model"].to_list() == ["one", "two"]
    assert got["n"].to_list() == [2960, 2960]
    assert got["value"].to_list() == [
        pytest.approx(roc_auc_score(ROWS[40:]["delayed"], ROWS[40:][score])) for score in "pq"
    ]


def test_the_label_may_stand_in_the_source_too() -> None:
    # A column of the same name in the source is not the truth: labels= says where that is.
    stale = SCORED.with_columns(delayed=pl.lit(0))
    with pytest.warns(UnmatchedRows, match=NOTICE):
        got = run(sqleval.scan(stale, labels=KNOWN, **LATE).evaluate("prevalence"))
    assert got["value"].item() == pytest.approx(ROWS[40:]["delayed"].mean())


def test_keys_repeated_among_the_labels_are_an_error() -> None:
    for labels in (pl.concat([KNOWN, KNOWN[:3]]), pl.concat([KNOWN, KNOWN[:3]]).lazy()):
        bound = sqleval.scan(SCORED, labels=labels, **LATE)
        for result in (bound.evaluate("roc_auc"), bound.curve("roc"), bound.confusion()):
            with pytest.raises(DataError, match=r"labels= repeats keys: on='key' has 3 repeats"):
                run(result)


def test_keys_repeated_among_the_rows_share_their_label() -> None:
    twice = pl.concat([SCORED[40:], SCORED[40:]])
    got = run(
        sqleval.scan(twice, labels=KNOWN.filter(pl.col("key") > 0), **LATE).evaluate("roc_auc")
    )
    assert got["n"].item() == 2 * 2960
    assert got["value"].item() == pytest.approx(roc_auc_score(ROWS[40:]["delayed"], ROWS[40:]["p"]))


def test_a_missing_key_matches_nothing() -> None:
    blank = {"key": [None, None], "p": [0.5, 0.5]}
    scored = pl.concat(
        [SCORED[40:].select("key", "p"), pl.DataFrame(blank, schema_overrides={"key": pl.Int64})]
    )
    labels = pl.concat(
        [
            KNOWN.filter(pl.col("key") > 0).select("key", "delayed"),
            pl.DataFrame({"key": [None], "delayed": [1]}, schema_overrides={"key": pl.Int64}),
        ]
    )
    with pytest.warns(UnmatchedRows, match=r"2 of 2962 rows .* 1 labels match no row"):
        got = run(sqleval.scan(scored, labels=labels, **LATE).evaluate("roc_auc"))
    assert got["n"].item() == 2960


def test_a_label_that_is_known_to_be_missing_is_a_missing_value() -> None:
    known = KNOWN.with_columns(delayed=pl.when(pl.col("key") % 10 > 0).then("delayed"))
    cancelled = ROWS[40:].filter(pl.col("key") % 10 == 0).height
    sentence = rf"label='delayed' is NULL or NaN in {cancelled} of 3000 rows"
    with pytest.raises(DataError, match=sentence):
        run(sqleval.scan(SCORED, labels=known, **LATE).evaluate("roc_auc"))
    with pytest.warns(UnmatchedRows, match=NOTICE):
        got = run(sqleval.scan(SCORED, labels=known, nulls="drop", **LATE).evaluate("roc_auc"))
    assert got["n_dropped"].item() == 40 + cancelled


def test_no_label_at_all_is_no_number_and_a_notice() -> None:
    with pytest.warns(UnmatchedRows, match=r"3000 of 3000 rows have no label yet"):
        got = run(sqleval.scan(SCORED, labels=KNOWN[:0], **LATE).evaluate("roc_auc"))
    assert got.select("value", "n", "n_dropped", "note").rows() == [(None, 0, 3000, "no rows")]


def test_the_whole_of_the_committed_labels() -> None:
    roles: dict[str, Any] = {"label": "delayed", "score": "p_boosted", "nulls": "drop"}
    predictions = FLIGHTS / "predictions"
    late = sqleval.scan(predictions, labels=FLIGHTS / "labels", on="key", **roles)
    direct = sqleval.scan(predictions, **roles)
    columns = ("metric", "value", "n", "n_dropped")
    assert_same(run(late.evaluate().select(columns)), run(direct.evaluate().select(columns)))


# -- roles ---------------------------------------------------------------------------------


def test_a_mapping_of_scores_compares_models(one_file: Path) -> None:
    bound = sqleval.scan(
        one_file, label="delayed", score={"boosted": "p", "logistic": "q"}, by="carrier"
    )
    got = run(bound.evaluate(METRICS))
    assert got.columns[:2] == ["carrier", "model"]
    for model, column in (("boosted", "p"), ("logistic", "q")):
        alone = sqleval.scan(one_file, label="delayed", score=column, by="carrier")
        mine = got.filter(pl.col("model") == model).drop("model")
        assert_same(mine, run(alone.evaluate(METRICS)))


def test_a_mapping_of_predictions_compares_models() -> None:
    frame = ROWS.with_columns(
        a=(pl.col("p") > 0.4).cast(pl.Int8), b=(pl.col("q") > 0.3).cast(pl.Int8)
    )
    got = run(
        sqleval.scan(
            frame, label="delayed", prediction={"a": "a", "b": "b"}, task="binary"
        ).evaluate(["accuracy", "precision"])
    )
    for model in ("a", "b"):
        alone = sqleval.scan(frame, label="delayed", prediction=model, task="binary")
        mine = got.filter(pl.col("model") == model).drop("model")
        assert_same(mine, run(alone.evaluate(["accuracy", "precision"])))


def test_a_mapping_of_predicted_values_compares_regressions() -> None:
    frame = pl.DataFrame({"y": [1.0, 2.0, 3.0], "a": [1.0, 2.0, 4.0], "b": [0.0, 2.0, 3.0]})
    bound = sqleval.scan(frame, label="y", prediction={"a": "a", "b": "b"}, task="regression")
    got = run(bound.evaluate("mse"))
    assert got.select("model", "value").rows() == [
        ("a", pytest.approx(1 / 3)),
        ("b", pytest.approx(1 / 3)),
    ]


@pytest.mark.parametrize("kind_of_source", ["file", "stream", "relation"])
def test_a_mapping_of_classes(kind_of_source: str, tmp_path: Path) -> None:
    classes = ["on time", "minor", "major"]
    columns = [f"{name.replace(' ', '_')}_boosted" for name in classes]
    frame = (
        pl.scan_parquet(FLIGHTS / "predictions")
        .filter(pl.col("delay_class").is_not_null())
        .select("delay_class", *columns)
        .gather_every(50)
        .collect()
    )
    frame.write_parquet(tmp_path / "rows.parquet")
    source: Any = {
        "file": tmp_path / "rows.parquet",
        "stream": frame.lazy(),
        "relation": duckdb.connect().from_arrow(frame.to_arrow()),
    }
    bound = sqleval.scan(
        source[kind_of_source],
        label="delay_class",
        score=dict(zip(classes, columns, strict=True)),
        task="multiclass",
    )
    got = dict(
        run(bound.evaluate(["accuracy", "log_loss", "roc_auc_ovr"]))
        .select("metric", "value")
        .rows()
    )
    scores = frame.select(columns).to_numpy()
    order = np.argsort(classes)
    chosen = np.array(classes)[scores.argmax(axis=1)]
    assert got["accuracy"] == pytest.approx(accuracy_score(frame["delay_class"], chosen), rel=1e-12)
    truth, ordered = frame["delay_class"].to_numpy(), scores[:, order]
    assert got["log_loss"] == pytest.approx(log_loss(truth, ordered), rel=1e-12)
    ovr = roc_auc_score(truth, ordered, multi_class="ovr")
    assert got["roc_auc(average='macro')"] == pytest.approx(ovr, rel=1e-12)


@pytest.mark.parametrize("kind_of_source", ["file", "frame", "stream"])
def test_dropped_rows_are_counted_by_slice(kind_of_source: str, tmp_path: Path) -> None:
    frame = ROWS.with_columns(
        delayed=pl.when(pl.col("key") % 7 > 0).then("delayed"),
        p=pl.when(pl.col("key") % 5 == 1).then(float("nan")).otherwise("p"),
    ).with_columns(p=pl.when(pl.col("key") % 5 > 0).then("p"))
    frame.write_parquet(tmp_path / "rows.parquet")
    source: Any = {"frame": frame, "stream": frame.lazy(), "file": tmp_path / "rows.parquet"}
    bound = sqleval.scan(
        source[kind_of_source], label="delayed", score="p", weight="w", by="carrier", nulls="drop"
    )
    got = run(bound.evaluate(METRICS))
    kept = frame.filter(pl.col("delayed").is_not_null(), pl.col("p").is_not_nan())
    clean = sqleval.scan(kept, label="delayed", score="p", weight="w", by="carrier")
    assert_same(got.drop("n_dropped"), run(clean.evaluate(METRICS)).drop("n_dropped"))
    totals = dict(frame.group_by("carrier").len().rows())
    for carrier, n, dropped in got.select("carrier", "n", "n_dropped").iter_rows():
        assert n + dropped == totals[carrier]


def test_each_model_drops_its_own_rows() -> None:
    frame = ROWS.with_columns(q=pl.when(pl.col("key") % 2 == 0).then("q"))
    bound = sqleval.scan(frame, label="delayed", score={"p": "p", "q": "q"}, nulls="drop")
    got = run(bound.evaluate("roc_auc"))
    missing = frame["q"].null_count()
    assert got.select("model", "n", "n_dropped").rows() == [
        ("p", 3000, 0),
        ("q", 3000 - missing, missing),
    ]


def test_a_slice_without_a_usable_row_appears() -> None:
    frame = pl.DataFrame({"y": [0, 1, None], "p": [0.1, 0.9, 0.5], "g": ["a", "a", "b"]})
    got = run(sqleval.scan(frame, label="y", score="p", by="g", nulls="drop").evaluate("roc_auc"))
    assert got.select("g", "value", "n", "n_dropped", "note").rows() == [
        ("a", 1.0, 2, 0, None),
        ("b", None, 0, 1, "no rows"),
    ]


def test_an_empty_source_is_one_row_without_a_number() -> None:
    got = run(sqleval.scan(ROWS[:0], label="delayed", score="p").evaluate())
    assert got.height == 12
    assert got["n"].to_list() == [0] * 12
    assert got["value"].null_count() == 12
    assert set(got["note"]) == {"no rows"}


LABELS = [0, 1, 1, 0, 1, 0]


@pytest.mark.parametrize(
    ("values", "positive"),
    [
        (LABELS, None),
        ([float(y) for y in LABELS], None),
        ([bool(y) for y in LABELS], None),
        ([2 * y - 1 for y in LABELS], None),
        ([float(2 * y - 1) for y in LABELS], None),
        (LABELS, 1),
        ([1 - y for y in LABELS], 0),
        ([bool(y) for y in LABELS], True),
        ([not y for y in LABELS], False),
        ([y + 1 for y in LABELS], 2),
        ([y + 1.5 for y in LABELS], 2.5),
        (["yes" if y else "no" for y in LABELS], "yes"),
        (["no" if y else "yes" for y in LABELS], "no"),
        (["it's" if y else "it is" for y in LABELS], "it's"),
        ([datetime.date(2013, 7, 1 + y) for y in LABELS], "2013-07-02"),
    ],
    ids=str,
)
@pytest.mark.parametrize("kind_of_source", ["file", "frame", "stream"])
def test_two_values_of_any_kind(
    values: list[Any], positive: Any, kind_of_source: str, tmp_path: Path
) -> None:
    score = [0.1, 0.7, 0.4, 0.45, 0.9, 0.6]
    frame = pl.DataFrame({"y": values, "p": score})
    frame.write_parquet(tmp_path / "rows.parquet")
    source: Any = {"frame": frame, "stream": frame.lazy(), "file": tmp_path / "rows.parquet"}
    bound = sqleval.scan(source[kind_of_source], label="y", score="p", positive=positive)
    got = run(bound.evaluate(["roc_auc", "recall", "prevalence"]))
    assert got["value"].to_list() == [roc_auc_score(LABELS, score), pytest.approx(2 / 3), 0.5]


def test_positive_names_a_value_of_label_and_prediction() -> None:
    frame = pl.DataFrame({"y": ["bad", "good", "bad", "bad"], "z": ["bad", "bad", "good", "bad"]})
    bound = sqleval.scan(frame, label="y", prediction="z", positive="bad")
    got = run(bound.evaluate(["precision", "recall", "accuracy"]))
    assert got["value"].to_list() == [pytest.approx(2 / 3), pytest.approx(2 / 3), 0.5]


def test_a_label_and_a_prediction_may_write_the_same_truth_differently() -> None:
    frame = pl.DataFrame({"y": [True, False, True], "z": [1, -1, -1]})
    bound = sqleval.scan(frame, label="y", prediction="z", task="binary")
    assert run(bound.evaluate("recall"))["value"].item() == 0.5


def test_what_cannot_be_a_source_says_what_can() -> None:
    with pytest.raises(RequestError, match=r"cannot evaluate a builtins\.dict; give a path"):
        sqleval.scan({"y": [0, 1]}, label="y", score="y")
    with pytest.raises(RequestError, match="give a source or query=, not both"):
        sqleval.scan(ROWS, query="SELECT 1", label="y", score="y")
