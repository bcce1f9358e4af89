"""Provides rows of the committed flights, and the metrics that tests of inputs evaluate."""

from pathlib import Path
from typing import Any

import polars as pl

FLIGHTS = Path(__file__).resolve().parents[2] / "data" / "flights"
METRICS = ["roc_auc", "average_precision", "ks", "log_loss", "precision", "f_beta(beta=2)"]
#: One metric of scores and one of predictions are enough, because every metric reads a source by
#: the same relation; `quick/test_source_kinds.py` has curves and ranks of all kinds of sources.
FEW = ["log_loss", "f_beta(beta=2)"]
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
