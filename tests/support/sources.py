"""Makes every kind of source that ``scan`` takes from the same rows."""

import gzip
from collections.abc import Callable
from pathlib import Path
from typing import Any

import adbc_driver_sqlite.dbapi as sqlite
import deltalake
import duckdb
import lance
import polars as pl
import pyarrow as pa
import pyarrow.dataset as ds
from pyiceberg.catalog.sql import SqlCatalog

from tests.support.flights import ROWS


def write_parts(folder: Path) -> list[Path]:
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
    write_parts(folder)
    return {"source": f"{folder}/*/[123].parquet"}


def as_deep_glob(folder: Path) -> dict[str, Any]:
    write_parts(folder)
    return {"source": f"{folder}/**/*.parquet"}


def as_list(folder: Path) -> dict[str, Any]:
    return {"source": write_parts(folder)}


def as_list_of_patterns(folder: Path) -> dict[str, Any]:
    write_parts(folder)
    return {"source": (f"{folder}/b/*.parquet", str(folder / "a" / "2.parquet"))}


def as_folder(folder: Path) -> dict[str, Any]:
    write_parts(folder)
    return {"source": folder}


def as_odd_path(folder: Path) -> dict[str, Any]:
    odd = folder / "it's a [1] *? folder"
    odd.mkdir()
    ROWS.write_parquet(odd / "rows [a].parquet")
    return {"source": odd / "rows [a].parquet"}


def as_odd_folder(folder: Path) -> dict[str, Any]:
    return {"source": as_odd_path(folder)["source"].parent}


def as_partitions(folder: Path) -> dict[str, Any]:
    # The key is only in the path, where a missing value has a special name.
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
    write_parts(folder)
    return {"source": pl.scan_parquet(folder / "**" / "*.parquet")}


def as_arrow_table(folder: Path) -> dict[str, Any]:
    return {"source": ROWS.to_arrow()}


def as_record_batch(folder: Path) -> dict[str, Any]:
    return {"source": ROWS.to_arrow().combine_chunks().to_batches()[0]}


def as_reader(folder: Path) -> dict[str, Any]:
    return {"source": ROWS.to_arrow().to_reader(max_chunksize=100)}


def as_dataset(folder: Path) -> dict[str, Any]:
    write_parts(folder)
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
    """Return a function that makes a table with a name that the statement also uses."""

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


def as_arrow_file(folder: Path) -> dict[str, Any]:
    ROWS.write_ipc(folder / "rows.arrow")
    return {"source": folder / "rows.arrow"}


def as_delta_table(folder: Path) -> dict[str, Any]:
    deltalake.write_deltalake(folder / "table", ROWS.to_arrow(), partition_by=["month"])
    return {"source": folder / "table"}


def as_iceberg_table(folder: Path) -> dict[str, Any]:
    catalogue = SqlCatalog("c", uri=f"sqlite:///{folder}/c.db", warehouse=f"file://{folder}")
    catalogue.create_namespace("lake")
    table = catalogue.create_table("lake.rows", schema=ROWS.to_arrow().schema)
    table.append(ROWS.to_arrow())
    return {"source": table}


def as_lance_dataset(folder: Path) -> dict[str, Any]:
    lance.write_dataset(ROWS.to_arrow(), folder / "rows.lance")
    return {"source": folder / "rows.lance"}


def as_duckdb_file(folder: Path) -> dict[str, Any]:
    with duckdb.connect(folder / "rows.duckdb") as con:
        con.from_arrow(ROWS.to_arrow()).create("rows")
    return {"source": f"{folder}/rows.duckdb#rows"}


def as_sqlite_file(folder: Path) -> dict[str, Any]:
    with sqlite.connect(str(folder / "rows.sqlite")) as con, con.cursor() as cursor:
        cursor.adbc_ingest("rows", ROWS.to_arrow())
        con.commit()
    return {"source": f"{folder}/rows.sqlite#rows"}


class Stream:
    """Rows of another library, which has no method except the export to Arrow."""

    def __init__(self, rows: Any) -> None:
        self.rows = rows

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        return self.rows.__arrow_c_stream__(requested_schema)


def as_stream(folder: Path) -> dict[str, Any]:
    return {"source": Stream(ROWS)}


#: Each writes or holds the rows in its own way, and returns the arguments for ``scan``.
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
    as_arrow_file, as_delta_table, as_iceberg_table, as_lance_dataset, as_duckdb_file,
    as_sqlite_file, as_stream,
]  # fmt: skip
READ_ONCE = (as_reader, as_stream)
NAMES = [make.__name__.removeprefix("as_") for make in MAKERS]
