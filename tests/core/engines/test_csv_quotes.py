"""Wide CSV files are read with the quotes that DuckDB would have guessed."""

from pathlib import Path

import polars as pl
import pytest

import sqleval
from sqleval.engines.embedded import embedded
from sqleval.sources.opening import open_source

COLUMNS = 600


def write(path: Path, cells: list[str], separator: str = ",") -> None:
    names = ["y", "p", "text", *(f"f{i}" for i in range(COLUMNS))]
    rows = [["1", "0.75", cell, *["0.5"] * COLUMNS] for cell in cells]
    rows += [["0", "0.25", cell, *["1.5"] * COLUMNS] for cell in cells]
    path.write_text("".join(separator.join(row) + "\n" for row in [names, *rows]))


@pytest.mark.parametrize(
    ("cells", "separator", "is_stated"),
    [
        (["plain", "text"], ",", True),
        (['"a,b"', '"says ""no"""'], ",", True),
        (['"a;b"', "c"], ";", True),
        (["'a,b'", "'c'"], ",", False),
        (['"a\\"b"', "c"], ",", False),
    ],
)
def test_the_values_are_those_of_duckdb(
    cells: list[str], separator: str, is_stated: bool, tmp_path: Path
) -> None:
    path = tmp_path / "wide.csv"
    write(path, cells, separator)
    source, columns = embedded().describe(open_source(path, name="rows"))
    assert ("quote = " in source.reader_options) == is_stated
    select = "SELECT s.text, s.p, s.f7 FROM {} AS s ORDER BY ALL"
    found, want = (
        embedded().rows(select.format(relation), {}, [source], {})
        for relation in (source.relation, f"read_csv('{path}')")
    )
    assert found == want
    assert len(columns) == COLUMNS + 3
    assert sqleval.scan(path, label="y", score="p").evaluate("roc_auc").collect()[
        "value"
    ].item() == 1.0  # fmt: skip


def test_other_files_stay_as_they_are(tmp_path: Path) -> None:
    pl.DataFrame({"y": [0, 1], "p": [0.2, 0.7]}).write_csv(tmp_path / "narrow.csv")
    source, _ = embedded().describe(open_source(tmp_path / "narrow.csv", name="rows"))
    assert "quote" not in source.reader_options
