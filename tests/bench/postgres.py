"""Measure the cost of a result if PostgreSQL runs the statement, and if DuckDB reads the table.

``python -m tests.bench.postgres`` prints a row per request: processor time of the server and of
this process, in seconds, over a million rows in eight slices. Only Linux reports the server's.
"""

import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

import sqleval
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
    """Return the processor time of all processes of PostgreSQL, including ended ones."""
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
    main()
