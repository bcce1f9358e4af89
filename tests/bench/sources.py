"""Processor time and peak memory of each way in: ``python -m tests.bench.sources [ROWS ...]``.

The same rows are evaluated (ROC AUC by bins, log loss) from each kind of source, each in a process
of its own. The first row is DuckDB's own reader of Parquet; memory that grows with the rows would
show from one number of rows to the next.
"""

import json
import os
import re
import resource
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import polars as pl

from tests.support.object_store import ObjectStore

KINDS = (
    "parquet", "lazy", "dataset", "ipc", "delta", "iceberg", "catalogue", "deletes", "lance", "s3",
    "s3 delta", "duckdb", "sqlite", "csv",
)  # fmt: skip
METRICS = ["roc_auc", "log_loss"]


def write(folder: Path, rows: int) -> None:
    """Write the rows in every form, in files of a million rows."""
    import adbc_driver_sqlite.dbapi as sqlite
    import deltalake
    import duckdb
    import lance
    from pyiceberg.catalog.sql import SqlCatalog

    from tests.support.iceberg_deletes import commit, write_deletes

    catalog = SqlCatalog("bench", uri=f"sqlite:///{folder}/c.db", warehouse=f"file://{folder}/ice")
    catalog.create_namespace("n")
    table: Any = None
    deletes: Any = None
    for name in ("parquet", "ipc", "csv"):
        (folder / name).mkdir()
    for part in range(rows // 1_000_000):
        at = pl.int_range(part * 1_000_000, (part + 1) * 1_000_000, dtype=pl.UInt64)
        p = at.hash(1).cast(pl.Float64) / 2.0**64
        frame = pl.select(
            y=(at.hash(2).cast(pl.Float64) / 2.0**64 < p).cast(pl.Int64),
            p=p, day=at.cast(pl.Int64) // 1_000_000,
            other=at.hash(3).cast(pl.Int64, strict=False).fill_null(0),
        )  # fmt: skip
        frame.write_parquet(folder / "parquet" / f"{part:03}.parquet")
        frame.write_ipc(folder / "ipc" / f"{part:03}.arrow")
        frame.write_csv(folder / "csv" / f"{part:03}.csv")
        arrow = frame.to_arrow()
        deltalake.write_deltalake(folder / "delta", arrow, mode="append")
        lance.write_dataset(arrow, folder / "rows.lance", mode="append" if part else "create")
        table = table or catalog.create_table("n.t", schema=arrow.schema)
        table.append(arrow)
        deletes = deletes or catalog.create_table("n.deletes", schema=arrow.schema)
        deletes.append(arrow)
        with duckdb.connect(folder / "rows.duckdb") as con:
            con.execute(
                "CREATE TABLE IF NOT EXISTS rows (y BIGINT, p DOUBLE, day BIGINT, o BIGINT)"
            )
            con.from_arrow(arrow).insert_into("rows")
        with sqlite.connect(str(folder / "rows.sqlite")) as con, con.cursor() as cursor:
            cursor.adbc_ingest("rows", arrow, mode="append" if part else "create")
            con.commit()
    first = pl.scan_parquet(folder / "parquet" / "000.parquet")
    values = first.select("other").filter(pl.col("other") % 5 == 1).collect()
    commit(deletes, write_deletes(deletes, values, [4]))


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
        "csv": str(folder / "csv"), "s3": "s3://bench/parquet", "s3 delta": "delta+s3://bench/delta",
    }[kind]  # fmt: skip


def measure(kind: str, folder: Path) -> None:
    """Evaluate one source and print its value and figures."""
    import sqleval

    # What starting costs is no matter of the source.
    sqleval.scan(pl.DataFrame({"y": [0, 1], "p": [0.1, 0.9]}), label="y", score="p").evaluate(
        METRICS
    ).collect()
    before = resource.getrusage(resource.RUSAGE_SELF)
    predictions = sqleval.scan(open_kind(kind, folder), label="y", score="p")
    values = predictions.evaluate(METRICS, bins=11).collect()["value"].to_list()
    after = resource.getrusage(resource.RUSAGE_SELF)
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    # The peak of getrusage would begin with that of the process that started this one.
    (peak,) = re.findall(r"VmHWM:\s+(\d+) kB", Path("/proc/self/status").read_text())
    print(json.dumps([values, cpu, int(peak) / 1024]))


def main(sizes: list[int]) -> None:
    """Print the table."""
    server = ObjectStore()
    environment = {
        **os.environ, "AWS_ENDPOINT_URL": server.url, "AWS_REGION": "eu-west-1",
        "AWS_ACCESS_KEY_ID": "k", "AWS_SECRET_ACCESS_KEY": "s",
    }  # fmt: skip
    print(f"{'source':<10}{'rows':>12}{'CPU s':>8}{'of DuckDB':>11}{'peak MB':>9}  value")
    for rows in sizes:
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            write(folder, rows)
            server.put_folder(folder / "parquet", "bench/parquet")
            server.put_folder(folder / "delta", "bench/delta")
            own = 0.0
            for kind in KINDS:
                done = subprocess.run(
                    [sys.executable, "-m", "tests.bench.sources", "--one", kind, name],
                    capture_output=True, text=True, check=True,
                    env={
                        **environment, "PYICEBERG_CATALOG__BENCH__URI": f"sqlite:///{folder}/c.db"
                    },
                )  # fmt: skip
                values, cpu, memory = json.loads(done.stdout)
                own = own or cpu
                figures = f"{cpu:>8.2f}{cpu / own:>11.1f}{memory:>9.0f}"
                print(f"{kind:<10}{rows:>12,}{figures}  {values[0]:.9f}", flush=True)
    server.close()


if __name__ == "__main__":
    if sys.argv[1:2] == ["--one"]:
        measure(sys.argv[2], Path(sys.argv[3]))
    else:
        main([int(size) for size in sys.argv[1:]] or [1_000_000, 10_000_000])
