"""Names of columns that differ only in case are numbered, in frames as in files."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import duckdb
import polars as pl
import pytest

import sqleval

FRAME = pl.DataFrame(
    {"Label": [0, 1, 1, 0], "label": [0, 1, 0, 1], "P": [0.1, 0.8, 0.4, 0.3], "LABEL_1": [1] * 4}
)
KINDS: dict[str, Callable[[pl.DataFrame], Any]] = {
    "DataFrame": lambda frame: frame,
    "LazyFrame": lambda frame: frame.lazy(),
    "table": lambda frame: frame.to_arrow(),
    "batch": lambda frame: frame.to_arrow().to_batches()[0],
    "reader": lambda frame: frame.to_arrow().to_reader(),
    "pandas": lambda frame: frame.to_pandas(),
}


@pytest.mark.parametrize("kind", KINDS)
def test_both_columns_can_be_evaluated(kind: str) -> None:
    for label, auc in (("Label", 1.0), ("label_1", 0.75)):
        result = sqleval.scan(KINDS[kind](FRAME), label=label, score="P").evaluate("roc_auc")
        assert result.collect()["value"].item() == auc
    if kind != "reader":
        columns = [f.column for f in sqleval.inspect(KINDS[kind](FRAME)) if f.section == "column"]
        assert columns[1:] == ["Label", "label_1", "P", "LABEL_1_1"]


def test_the_names_are_those_of_a_file(tmp_path: Path) -> None:
    path = tmp_path / "rows.parquet"
    FRAME.write_parquet(path)
    assert duckdb.sql(f"FROM '{path}'").columns == ["Label", "label_1", "P", "LABEL_1_1"]
    result = sqleval.scan(path, label="label_1", score="P").evaluate("roc_auc").collect()
    assert result["value"].item() == 0.75
