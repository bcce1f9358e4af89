"""Processor time and peak memory of each way in: ``python -m tests.bench.sources [ROWS ...]``.

    python -m tests.bench.sources 2000000 12000000 --kind postgres --kind ducklake

The same rows are evaluated (ROC AUC by bins, log loss) from each kind of source, each in a process
of its own. The first row is DuckDB's own reader of Parquet; memory that grows with the rows would
show between numbers of rows. The memory of a server is not counted.
"""

import argparse
import json
import os
import re
import resource
import sqlite3
import subprocess
import sys
import tempfile
from contextlib import ExitStack, closing
from importlib import import_module
from pathlib import Path
from typing import Any

import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq

from tests.support.ducklakes import MERGED, unpack
from tests.support.engines import PostgreSQL
from tests.support.object_store import ObjectStore

KINDS = (
    "parquet", "lazy", "dataset", "ipc", "delta", "iceberg", "catalogue", "deletes", "lance", "s3",
    "s3 delta", "duckdb", "ducklake", "sqlite", "postgres", "postgres engine", "csv",
)  # fmt: skip
METRICS = ["roc_auc", "log_loss"]


#: Where the server of PostgreSQL is.
URL = "SQLEVAL_BENCH_POSTGRES"
#: Kinds that are read from the files of another kind.
FORMS = {"lazy": "parquet", "dataset": "parquet", "s3": "parquet", "s3 delta": "delta",
         "postgres engine": "postgres"}  # fmt: skip


def write(folder: Path, rows: int, forms: set[str], url: str) -> None:
    """Write the rows in some forms, in files of a million rows."""
    for part in range(rows // 1_000_000):
        at = pl.int_range(part * 1_000_000, (part + 1) * 1_000_000, dtype=pl.UInt64)
        p = at.hash(1).cast(pl.Float64) / 2.0**64
        frame = pl.select(
            y=(at.hash(2).cast(pl.Float64) / 2.0**64 < p).cast(pl.Int64),
            p=p, day=at.cast(pl.Int64) // 1_000_000,
            other=at.hash(3).cast(pl.Int64, strict=False).fill_null(0),
        )  # fmt: skip
        write_files(folder, part, frame, forms)
        write_tables(folder, part, frame.to_arrow(), forms)
        write_databases(folder, part, frame.to_arrow(), forms, url)
    if "deletes" in forms:
        delete_values(folder)


def write_files(folder: Path, part: int, frame: pl.DataFrame, forms: set[str]) -> None:
    for name, ending, how in (
        ("parquet", "parquet", frame.write_parquet), ("ipc", "arrow", frame.write_ipc),
        ("csv", "csv", frame.write_csv),
    ):  # fmt: skip
        if name in forms:
            (folder / name).mkdir(exist_ok=True)
            how(folder / name / f"{part:03}.{ending}")


def write_tables(folder: Path, part: int, arrow: pa.Table, forms: set[str]) -> None:
    if "delta" in forms:
        import deltalake

        deltalake.write_deltalake(folder / "delta", arrow, mode="append")
    if "lance" in forms:
        import lance

        lance.write_dataset(arrow, folder / "rows.lance", mode="append" if part else "create")
    if forms & {"iceberg", "catalogue", "deletes"}:
        catalog = open_catalogue(folder)
        catalog.create_namespace_if_not_exists("n")
        for name in ("t", "deletes"):
            catalog.create_table_if_not_exists(f"n.{name}", schema=arrow.schema).append(arrow)
    if "ducklake" in forms:
        if not part:
            unpack(folder, MERGED)
        write_lake_file(folder / "merged", part, arrow)


def open_catalogue(folder: Path) -> Any:
    from pyiceberg.catalog.sql import SqlCatalog

    uri, place = f"sqlite:///{folder}/c.db", f"file://{folder}/ice"
    return SqlCatalog("bench", uri=uri, warehouse=place)


def delete_values(folder: Path) -> None:
    """Delete rows of the first file from an Iceberg table, by their values."""
    from tests.support.iceberg_deletes import commit, write_deletes

    table = open_catalogue(folder).load_table("n.deletes")
    first = pl.scan_parquet(folder / "parquet" / "000.parquet")
    values = first.select("other").filter(pl.col("other") % 5 == 1).collect()
    commit(table, write_deletes(table, values, [4]))


def write_lake_file(folder: Path, part: int, arrow: pa.Table) -> None:
    """Add a file to the lake that DuckDB's extension made; the first one replaces its files."""
    numbers = {"y": b"3", "p": b"4"}
    fields = [
        arrow.schema.field(name).with_metadata({"PARQUET:field_id": number})
        for name, number in numbers.items()
    ]
    path = folder / "data" / "main" / "preds" / f"{part:03}.parquet"
    pq.write_table(arrow.select([*numbers]).cast(pa.schema(fields)), path)
    with closing(sqlite3.connect(folder / "three.sqlite")) as con, con:
        if not part:
            con.execute("DELETE FROM ducklake_data_file")
            con.execute("DELETE FROM ducklake_column WHERE column_name NOT IN ('y', 'p')")
        con.execute(
            "INSERT INTO ducklake_data_file (data_file_id, table_id, begin_snapshot, path, "
            "path_is_relative, file_format, record_count, file_size_bytes) "
            "VALUES (?, 1, 2, ?, 1, 'parquet', ?, ?)",
            (part, path.name, arrow.num_rows, path.stat().st_size),
        )


def write_databases(folder: Path, part: int, arrow: pa.Table, forms: set[str], url: str) -> None:
    if "duckdb" in forms:
        import duckdb

        with duckdb.connect(folder / "rows.duckdb") as con:
            con.execute(
                "CREATE TABLE IF NOT EXISTS rows (y BIGINT, p DOUBLE, day BIGINT, o BIGINT)"
            )
            con.from_arrow(arrow).insert_into("rows")
    for form, name, address in (
        ("sqlite", "adbc_driver_sqlite", str(folder / "rows.sqlite")),
        ("postgres", "adbc_driver_postgresql", url),
    ):
        if form in forms:
            driver: Any = import_module(f"{name}.dbapi")
            with driver.connect(address) as con, con.cursor() as cursor:
                cursor.adbc_ingest("rows", arrow, mode="append" if part else "create")
                con.commit()


def open_kind(kind: str, folder: Path) -> Any:
    """Return the source of a kind."""
    if kind == "lazy":
        return pl.scan_parquet(folder / "parquet")
    if kind == "dataset":
        import pyarrow.dataset as ds

        return ds.dataset(folder / "parquet", format="parquet")
    if kind == "iceberg":
        return str(next((folder / "ice").glob("n*/t")))
    if kind == "deletes":
        return str(next((folder / "ice").glob("n*/deletes")))
    if kind == "catalogue":
        return "iceberg://bench/n.t"
    return {
        "parquet": str(folder / "parquet"), "ipc": str(folder / "ipc"),
        "delta": str(folder / "delta"), "lance": str(folder / "rows.lance"),
        "duckdb": str(folder / "rows.duckdb"), "sqlite": str(folder / "rows.sqlite"),
        "ducklake": f"ducklake:{folder}/merged/three.sqlite", "csv": str(folder / "csv"),
        "postgres": f"{os.environ.get(URL)}#rows", "postgres engine": "rows",
        "s3": "s3://bench/parquet", "s3 delta": "delta+s3://bench/delta",
    }[kind]  # fmt: skip


def measure(kind: str, folder: Path) -> None:
    """Evaluate one source and print its value and figures."""
    import sqleval

    # The cost of starting does not depend on the source.
    sqleval.scan(pl.DataFrame({"y": [0, 1], "p": [0.1, 0.9]}), label="y", score="p").evaluate(
        METRICS
    ).collect()
    before = resource.getrusage(resource.RUSAGE_SELF)
    engine = os.environ[URL] if kind == "postgres engine" else None
    predictions = sqleval.scan(open_kind(kind, folder), label="y", score="p", engine=engine)
    values = predictions.evaluate(METRICS, bins=11).collect()["value"].to_list()
    after = resource.getrusage(resource.RUSAGE_SELF)
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    # The peak of getrusage would include the process that started this one.
    (peak,) = re.findall(r"VmHWM:\s+(\d+) kB", Path("/proc/self/status").read_text())
    print(json.dumps([values, cpu, int(peak) / 1024]))


def main(sizes: list[int], kinds: list[str]) -> None:
    """Print the table."""
    print(f"{'source':<16}{'rows':>12}{'CPU s':>8}{'of DuckDB':>11}{'peak MB':>9}  value")
    for rows in sizes:
        with ExitStack() as stack:
            name = stack.enter_context(tempfile.TemporaryDirectory())
            folder = Path(name)
            forms = {FORMS.get(kind, kind) for kind in kinds}
            url = stack.enter_context(PostgreSQL()).url if "postgres" in forms else ""
            write(folder, rows, forms, url)
            environment = {
                **os.environ, URL: url,
                "PYICEBERG_CATALOG__BENCH__URI": f"sqlite:///{folder}/c.db",
            }  # fmt: skip
            if {"s3", "s3 delta"} & {*kinds}:
                server = stack.enter_context(closing(ObjectStore()))
                for form in {"parquet", "delta"} & forms:
                    server.put_folder(folder / form, f"bench/{form}")
                environment |= {
                    "AWS_ENDPOINT_URL": server.url, "AWS_REGION": "eu-west-1",
                    "AWS_ACCESS_KEY_ID": "k", "AWS_SECRET_ACCESS_KEY": "s",
                }  # fmt: skip
            own = 0.0
            for kind in kinds:
                done = subprocess.run(
                    [sys.executable, "-m", "tests.bench.sources", "--one", kind, name],
                    capture_output=True, text=True, check=True, env=environment,
                )  # fmt: skip
                values, cpu, memory = json.loads(done.stdout)
                own = own or cpu
                figures = f"{cpu:>8.2f}{cpu / own:>11.1f}{memory:>9.0f}"
                print(f"{kind:<16}{rows:>12,}{figures}  {values[0]:.9f}", flush=True)


if __name__ == "__main__":
    if sys.argv[1:2] == ["--one"]:
        measure(sys.argv[2], Path(sys.argv[3]))
    else:
        parser = argparse.ArgumentParser(description=__doc__)
        parser.add_argument("rows", type=int, nargs="*", default=[1_000_000, 10_000_000])
        parser.add_argument("--kind", choices=KINDS, action="append", default=["parquet"])
        given = parser.parse_args()
        main(given.rows, given.kind if given.kind[1:] else [*KINDS])
