"""Folders and patterns of files: partition columns, differing column types, hidden files."""

from pathlib import Path
from typing import Any

import polars as pl
import pytest
from sklearn.metrics import roc_auc_score

import sqleval
from tests.support.flights import FLIGHTS, ROWS


def test_a_partition_column_is_a_key_and_a_condition() -> None:
    roles: dict[str, Any] = {"label": "delayed", "score": "p_boosted", "nulls": "drop"}
    folder = sqleval.scan(FLIGHTS / "predictions", by="month", where="month <= '08'", **roles)
    got = folder.evaluate("roc_auc").collect()
    assert got["month"].to_list() == ["07", "08"]
    for month, value in got.select("month", "value").iter_rows():
        file = FLIGHTS / "predictions" / f"month={month}" / "part-0.parquet"
        assert sqleval.scan(file, **roles).evaluate("roc_auc").collect()["value"].item() == value


def test_a_numeric_partition_stays_text_whatever_its_values(tmp_path: Path) -> None:
    for part in ("1", "2", "none"):
        (tmp_path / f"part={part}").mkdir()
        ROWS.write_parquet(tmp_path / f"part={part}" / "rows.parquet")
    got = (
        sqleval.scan(tmp_path, label="delayed", score="p", by="part").evaluate("roc_auc").collect()
    )
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
