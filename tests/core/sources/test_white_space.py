"""Tables whose columns are divided by white space."""

import datetime as dt
from pathlib import Path

import pandas as pd
import polars as pl
import pytest

from sqleval.errors import DataError, RequestError, SourceError
from tests.core.sources.test_prefixes import read


def test_columns_and_types_are_those_of_pandas(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    path.write_text(
        "  id   y\tp        name     ok\n"
        "   1   0  0.25     a,b   true\n\n"
        '  20   1\t1e-3    b"c   false\n'
        " 300   1  NaN      300   true   \r\n"
    )
    found = read(f"whitespace+{path}")
    expected = pd.read_csv(path, sep=r"\s+", quoting=3)
    assert found.columns == list(expected.columns)
    assert found["id"].to_list() == expected["id"].to_list()
    assert found["y"].to_list() == expected["y"].to_list()
    assert found["p"].to_list()[:2] == expected["p"].to_list()[:2]
    assert found["p"].is_nan().to_list() == [False, False, True]
    assert found["name"].to_list() == expected["name"].to_list()
    assert found["ok"].to_list() == expected["ok"].to_list()
    assert found.dtypes == [pl.Int64, pl.Int64, pl.Float64, pl.String, pl.Boolean]


def test_a_table_as_r_writes_it(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text('"y" "p" "g"\n"r 1" 1 0.5 "a b"\n"r 2" 0 0.25 "c"\n')
    found = read(f"whitespace+{tmp_path}/a.txt")
    assert found.columns == ["row_names", "y", "p", "g"]
    assert found.rows() == [("r 1", 1, 0.5, "a b"), ("r 2", 0, 0.25, "c")]


def test_options_of_a_table(tmp_path: Path) -> None:
    text = "made by hand\n# a comment\ny p d t id\n1 0,5 2024-01-05 a,b 007\n# more\nNA 1 - - 8\n"
    (tmp_path / "a.txt").write_text(text)
    csv = {"skip": 1, "comment": "#", "decimal": ",", "na": "NA|-", "types": "id:VARCHAR"}
    assert read(f"whitespace+{tmp_path}/a.txt", csv=csv).rows() == [
        (1, 0.5, dt.date(2024, 1, 5), "a,b", "007"), (None, 1.0, None, None, "8")
    ]  # fmt: skip
    (tmp_path / "b.txt").write_bytes("n p\nä .5\n".encode("latin-1"))
    assert read(f"whitespace+{tmp_path}/b.txt", csv={"encoding": "latin-1"}).rows() == [("ä", 0.5)]
    with pytest.raises(RequestError, match="no option 'separator' for a white-space table; it has"):
        read(f"whitespace+{tmp_path}/b.txt", csv={"separator": ";"})
    with pytest.raises(RequestError, match="has no column 'q'"):
        read(f"whitespace+{tmp_path}/b.txt", csv={"types": {"q": "DOUBLE"}})


def test_a_table_without_a_header(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("0.1 0.2\n0.3 0.4\n")
    with pytest.raises(SourceError, match=r"holds numbers instead of names; without a header"):
        read(f"whitespace+{tmp_path}/a.txt")
    found = read(f"whitespace+{tmp_path}/a.txt", csv={"header": False})
    assert found.columns == ["column0", "column1"]
    assert found.rows() == [(0.1, 0.2), (0.3, 0.4)]


@pytest.mark.parametrize(("value", "kind"), [("1.5", "BIGINT"), ("x", "BIGINT")])
def test_a_later_value_of_another_type_is_an_error(tmp_path: Path, value: str, kind: str) -> None:
    (tmp_path / "a.txt").write_text("y p\n" + "1  0.5\n" * 30_000 + f"{value} 0.7\n")
    message = f"column y must be {kind}, but a value is {value}; its type is that of the first rows"
    with pytest.raises(DataError, match=message):
        read(f"whitespace+{tmp_path}/a.txt")
    found = read(f"whitespace+{tmp_path}/a.txt", csv={"types": {"y": "VARCHAR"}})
    assert found["y"][-1] == value
    assert found.height == 30_001


def test_files_with_one_header_are_one_table(tmp_path: Path) -> None:
    for i, name in enumerate("ab"):
        (tmp_path / f"{name}.txt").write_text(f"y p\n{i} 0.{i + 1}\n")
    assert read(f"whitespace+{tmp_path}/*.txt").sort("y").rows() == [(0, 0.1), (1, 0.2)]
    (tmp_path / "b.txt").write_text("p y\n0.2 1\n")
    with pytest.raises(SourceError, match=r"the header of .*b\.txt' differs"):
        read(f"whitespace+{tmp_path}/*.txt")
