"""What a result costs where PostgreSQL runs its statement, and where DuckDB reads its table.

``python -m tests.bench.postgres`` prints a row a request: processor time of the server and of this
process, in seconds, over a million rows in eight slices. Linux alone tells the server's.

``python -m tests.bench.postgres ROWS`` compares numbers of connections that read a table of so many
rows.
"""

import os
import sys
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median
from typing import Any

import adbc_driver_postgresql.dbapi as adbc
import numpy as np
import polars as pl

import sqleval
from sqleval.inputs import postgres_parts
from tests.support.engines import PostgreSQL

N = 1_000_000
ROLES: dict[str, Any] = {"label": "y", "score": "p", "by": "seg"}
REQUESTS: dict[str, Callable[[sqleval.Predictions], pl.LazyFrame]] = {
    "accuracy, log_loss": lambda scan: scan.evaluate(["accuracy", "log_loss"]),
    "roc_auc": lambda scan: scan.evaluate("roc_auc"),
    "the default set": lambda scan: scan.evaluate(),
    "roc_auc, bins=11": lambda scan: scan.evaluate("roc_auc", bins=11),
    "a state": lambda scan: scan.state("roc_auc"),
}


def read_server_seconds() -> float:
    """Return the processor time of all processes of PostgreSQL, with those that have ended."""
    ticks = 0
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            if (folder / "comm").read_text().strip() == "postgres":
                fields = (folder / "stat").read_text().rpartition(")")[2].split()
                ticks += sum(map(int, fields[11:15]))
        except OSError:
            continue  # it has ended
    return ticks / os.sysconf("SC_CLK_TCK")


def measure(lazy: pl.LazyFrame) -> tuple[float, float]:
    """Return the processor time of the server, and of this process, for a result."""
    server, own = read_server_seconds(), time.process_time()
    lazy.collect()
    own = time.process_time() - own
    time.sleep(0.5)  # Until the process of the connection has ended.
    return read_server_seconds() - server, own


def write_rows(url: str, rows: int) -> None:
    """Write the table `rows`: scores p as doubles, and the same as numbers n."""
    with adbc.connect(url) as con, con.cursor() as cursor:
        for start in range(0, rows, 1_000_000):
            at = pl.int_range(start, start + 1_000_000, dtype=pl.UInt64)
            p = at.hash(1).cast(pl.Float64) / 2.0**64
            frame = pl.select(y=(at.hash(2).cast(pl.Float64) / 2.0**64 < p).cast(pl.Int64), p=p)
            cursor.adbc_ingest("parts", frame.to_arrow(), mode="append" if start else "create")
        cursor.execute("CREATE TABLE rows AS SELECT y, p, ROUND(p::numeric, 6) AS n FROM parts")
        con.commit()
    with adbc.connect(url, autocommit=True) as con, con.cursor() as cursor:
        cursor.execute("VACUUM ANALYZE rows")


def compare_connections(rows: int, repeats: int = 7) -> None:
    """Print seconds by the number of connections, in turn, and processor time of both processes."""
    with PostgreSQL() as server:
        write_rows(server.url, rows)
        print("| score | connections | seconds | times one stream | this process | server |")
        for score in ("p", "n"):
            figures: dict[int, list[tuple[float, ...]]] = {1: [], 2: [], 4: []}
            values: set[str] = set()
            for _ in range(repeats):
                for connections, each in figures.items():
                    postgres_parts.count_connections = lambda number=connections: number
                    scan = sqleval.scan(f"{server.url}#rows", label="y", score=score)
                    lazy = scan.evaluate("roc_auc", bins=11)
                    start = time.perf_counter()
                    before, own = read_server_seconds(), time.process_time()
                    values.add(f"{lazy.collect()['value'].item():.12f}")
                    seconds, own = time.perf_counter() - start, time.process_time() - own
                    time.sleep(0.5)  # Until the processes of the connections have ended.
                    each.append((seconds, own, read_server_seconds() - before))
            assert len(values) == 1, values
            for connections, each in figures.items():
                seconds, own, there = (median(column) for column in zip(*each, strict=True))
                pairs = zip(figures[1], each, strict=True)
                ratio = median(one[0] / other[0] for one, other in pairs)
                row = f"{seconds:.2f} | {ratio:.2f} | {own:.2f} | {there:.2f}"
                print(f"| {score} | {connections} | {row} |", flush=True)


def main() -> None:
    """Print the table."""
    rng = np.random.default_rng(0)
    label = rng.integers(0, 2, N)
    score = rng.random(N) * 0.5 + 0.5 * label * rng.random(N)
    rows = pl.DataFrame({"y": label, "p": score, "seg": rng.choice(list("abcdefgh"), N)})
    with PostgreSQL() as server:
        server.load("preds", rows.to_arrow())
        print("| request | engine: server | this process | source: server | this process |")
        for name, ask in REQUESTS.items():
            figures: list[float] = []
            for scan in (
                sqleval.scan("preds", engine=server.url, **ROLES),
                sqleval.scan(f"{server.url}#preds", **ROLES),
            ):
                figures += measure(ask(scan))
            print(f"| {name} | {' | '.join(f'{each:.1f}' for each in figures)} |", flush=True)


if __name__ == "__main__":
    if sys.argv[1:]:
        compare_connections(int(sys.argv[1]))
    else:
        main()
