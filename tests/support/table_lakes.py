"""Makes lakes for jobs whose predictions are a table of Delta, Iceberg or Lance."""

from datetime import date, datetime
from pathlib import Path
from typing import Any

import deltalake
import lance
import polars as pl
from pyiceberg.catalog.sql import SqlCatalog
from pyiceberg.expressions import EqualTo

import sqleval
from sqleval.jobs.running.run import Run
from tests.support.lake import LATER, Lake, rows

DAYS = ["2026-01-01", "2026-01-02", "2026-01-03", "2026-01-04"]


class DeltaLake(Lake):
    """A lake whose predictions are a Delta table with one file per day."""

    kind = "delta"

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        self.table = folder / "table"
        self.spec |= {"source": "table", "metrics": ["roc_auc"], "by": None, "missing": "ignore"}

    def find_night(self) -> datetime:
        return LATER

    def append(self, frame: pl.DataFrame, **options: Any) -> None:
        options = {"partition_by": ["day"], **options}
        deltalake.write_deltalake(self.table, frame.to_arrow(), mode="append", **options)

    def delete(self, column: str, value: object) -> None:
        text = f"'{value}'" if isinstance(value, (str, date)) else value
        deltalake.DeltaTable(self.table).delete(f"{column} = {text}")

    def read(self) -> pl.DataFrame:
        return pl.read_delta(str(self.table))


class IcebergLake(Lake):
    """A lake whose predictions are an Iceberg table with one file per commit."""

    kind = "iceberg"

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        self.catalog = SqlCatalog(
            "test", uri=f"sqlite:///{folder}/catalog.db", warehouse=f"file://{folder}"
        )
        self.catalog.create_namespace("lake")
        self.made = self.catalog.create_table("lake.preds", schema=rows().to_arrow().schema)
        self.table = Path(self.made.location().removeprefix("file://"))
        source = "iceberg+lake/preds"
        self.spec |= {"source": source, "metrics": ["roc_auc"], "by": None, "missing": "ignore"}

    def find_night(self) -> datetime:
        return LATER

    def append(self, frame: pl.DataFrame) -> None:
        for part in frame.partition_by("day", maintain_order=True):
            self.made.append(part.to_arrow())

    def delete(self, column: str, value: object) -> None:
        self.made.delete(EqualTo(column, value))

    def read(self) -> pl.DataFrame:
        return pl.DataFrame(self.made.scan().to_arrow())


class LanceLake(Lake):
    """A lake whose predictions are a Lance dataset with one fragment per day."""

    kind = "lance"

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        self.table = folder / "table.lance"
        source = "table.lance"
        self.spec |= {"source": source, "metrics": ["roc_auc"], "by": None, "missing": "ignore"}

    def find_night(self) -> datetime:
        return LATER

    @property
    def made(self) -> Any:
        return lance.dataset(str(self.table))

    def append(self, frame: pl.DataFrame) -> None:
        for part in frame.partition_by("day", maintain_order=True):
            lance.write_dataset(part.to_arrow(), str(self.table), mode="append")

    def delete(self, column: str, value: object) -> None:
        text = f"DATE '{value}'" if isinstance(value, date) else value
        self.made.delete(f"{column} = {text}")

    def read(self) -> pl.DataFrame:
        return pl.DataFrame(self.made.to_table())


def check_values(lake: Any) -> None:
    """Compare the history with an evaluation of the rows from the table format's reader."""
    job = lake.job()
    roles = {"label": job.label, "score": job.score, "where": job.where, "nulls": job.nulls}
    expected = sqleval.scan(lake.read(), by="day", **roles).evaluate(job.metrics).collect()
    columns = ["period", "metric", "value", "n"]
    expected = expected.select(pl.col("day").cast(pl.String).alias("period"), *columns[1:])
    history = lake.history().filter(job=job.name)
    assert {*history["slice"]} == {"{}"}
    kept = history.sort("period", "metric").select(columns)
    assert kept.equals(expected.sort("period", "metric"))


def reasons(done: Run) -> dict[str, str]:
    return {d.period: d.reason for d in done.decisions if d.action == "evaluate"}
