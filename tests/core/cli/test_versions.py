"""The command reads versions of tables: copies of the flights give the numbers of the files."""

from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import deltalake
import polars as pl
import pytest
from pyiceberg.catalog.sql import SqlCatalog

from tests.support.commands import run
from tests.support.comparison import assert_frame_equal
from tests.support.flights import FLIGHTS

#: One month is enough.
SUMMER, AUTUMN = ("07",), ("10",)
METRICS = ["roc_auc", "log_loss", "precision", "prevalence"]


class Copy(NamedTuple):
    """A copy of the flights: its table, and the versions that hold the summer and both months."""

    source: str
    summer: str
    year: str


def read_months(*months: str) -> pl.DataFrame:
    rows = pl.scan_parquet(FLIGHTS / "predictions", hive_schema={"month": pl.String()})
    return rows.filter(pl.col("month").is_in(months)).collect()


def copy_to_delta(folder: Path) -> Copy:
    path = folder / "flights"
    deltalake.write_deltalake(path, read_months(*SUMMER).to_arrow(), partition_by=["month"])
    deltalake.write_deltalake(path, read_months(*AUTUMN).to_arrow(), mode="append")
    deltalake.DeltaTable(path).delete("carrier = 'UA'")
    return Copy(str(path), "0", "1")


def copy_to_iceberg(folder: Path) -> Copy:
    place = f"file://{folder}"
    catalog = SqlCatalog("copies", uri=f"sqlite:///{folder}/catalog.db", warehouse=place)
    catalog.create_namespace("lake")
    first = read_months(*SUMMER).to_arrow()
    table = catalog.create_table("lake.flights", schema=first.schema)
    versions: list[str] = []
    for rows in (first, read_months(*AUTUMN).to_arrow()):
        table.append(rows)
        snapshot = table.current_snapshot()
        assert snapshot
        versions.append(str(snapshot.snapshot_id))
    table.delete("carrier = 'UA'")
    return Copy(table.location().removeprefix("file://"), *versions)


def evaluate(*source: str) -> pl.DataFrame:
    """Return the result of the command for a source and its options."""
    options = ["--label", "delayed", "--score", "p_boosted", "--nulls", "drop", "--by", "month"]
    metrics = [text for metric in METRICS for text in ("-m", metric)]
    done = run("evaluate", *source, *options, *metrics, "--format", "json")
    # The method of a number may differ between files and a table.
    return pl.read_json(done.stdout.encode()).drop("method").sort("month", "metric")


@pytest.fixture(scope="module")
def expected() -> tuple[pl.DataFrame, ...]:
    """Return the results of the files: of the summer, of both months, and without a carrier."""
    lake = FLIGHTS / "predictions"
    summer = evaluate(f"{lake}/month=07/*.parquet")
    both = f"{lake}/month=[01][07]/*.parquet"
    year = evaluate(both)
    newest = evaluate(both, "--where", "carrier <> 'UA'")
    assert summer["month"].unique().sort().to_list() == [*SUMMER]
    assert year["month"].unique().sort().to_list() == [*SUMMER, *AUTUMN]
    # Without the carrier, every number of every month differs.
    assert (newest["value"] != year["value"]).all()
    assert (newest["n"] < year["n"]).all()
    return summer, year, newest


@pytest.mark.parametrize("write", [copy_to_delta, copy_to_iceberg])
def test_an_old_version_gives_the_numbers_of_its_files(
    write: Callable[[Path], Copy], tmp_path: Path, expected: tuple[pl.DataFrame, ...]
) -> None:
    copy = write(tmp_path)
    options = (["--version", copy.summer], ["--version", copy.year], [])
    for version, wanted in zip(options, expected, strict=True):
        assert_frame_equal(evaluate(copy.source, *version), wanted, rel_tol=0, abs_tol=1e-12)
