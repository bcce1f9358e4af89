"""ARFF files, against SciPy's reader."""

import gzip
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
import scipy.io.arff

import sqleval
from sqleval.errors import DataError, SourceError
from tests.core.sources.test_prefixes import read

HEADER = """% made by hand
@RELATION 'a relation'

@attribute 'the score' NUMERIC
@attribute y {no, yes}
@Attribute n integer
@attribute g {a,b,c}
@attribute day date "yyyy-MM-dd"
@attribute at date 'yyyy-MM-dd HH:mm:ss'
@data
"""
ROWS = """% a comment
0.5,yes,3,a,2024-01-05,'2024-01-05 10:11:12'
 1e-3 ,no, -1 ,b,2024-02-29, "2024-02-29 00:00:00"

?,yes,?,c,?,?
% the end
"""


def test_all_types_are_read_as_by_scipy(tmp_path: Path) -> None:
    path = tmp_path / "a.arff"
    # SciPy reads neither white space around a class nor a time of day in quotes.
    lines = (HEADER + ROWS).splitlines(keepends=True)
    path.write_text("".join(lines))
    found = read(path)
    assert found.schema == {
        "the score": pl.Float64, "y": pl.String, "n": pl.Int64, "g": pl.String, "day": pl.Date,
        "at": pl.Datetime("us"),
    }  # fmt: skip
    plain = [line for line in lines if not line.startswith("@attribute at")]
    plain = [line[: line.rindex(",")] + "\n" if line.count(",") > 4 else line for line in plain]
    other = tmp_path / "plain.arff"
    other.write_text("".join(plain))
    expected: Any = scipy.io.arff.loadarff(other)[0]
    assert np.allclose(
        found["the score"].to_numpy(), expected["the score"], rtol=0, atol=0, equal_nan=True
    )
    assert np.allclose(
        found["n"].cast(pl.Float64).fill_null(np.nan).to_numpy(), expected["n"], rtol=0, atol=0,
        equal_nan=True,
    )  # fmt: skip
    for name in ("y", "g"):
        assert found[name].to_list() == [each.decode() for each in expected[name]]
    days = [None if np.isnat(each) else each.item() for each in expected["day"]]
    assert found["day"].to_list() == days
    assert [str(each) for each in found["at"]] == [
        "2024-01-05 10:11:12", "2024-02-29 00:00:00", "None"
    ]  # fmt: skip


def test_texts_keep_signs_and_quotes(tmp_path: Path) -> None:
    path = tmp_path / "a.arff"
    path.write_text(
        "@relation r\n@attribute t string\n@attribute y {0,'1'}\n@data\n"
        "'it\\'s, 90%',1\na%b,0\n\"x 'y'\",1\n'?',0\n?,1\n'two\\nlines',0\n"
    )
    assert read(path).rows() == [
        ("it's, 90%", "1"), ("a%b", "0"), ("x 'y'", "1"), ("?", "0"), (None, "1"),
        ("two\nlines", "0"),
    ]  # fmt: skip


def test_names_and_classes_may_be_quoted(tmp_path: Path) -> None:
    path = tmp_path / "a.arff"
    path.write_text(
        "@relation r\n@attribute 'it\\'s a name' {a,'b c', \"d, e\" , 'f\\'s'}\n@data\n"
        "a\n 'b c' \n'd, e'\n\"b c\"\n'f\\'s'\n?\n"
    )
    found = read(path)
    assert found.columns == ["it's a name"]
    assert found["it's a name"].to_list() == ["a", "b c", "d, e", "b c", "f's", None]


def test_a_compressed_file_is_evaluated(tmp_path: Path) -> None:
    text = "@relation r\n@attribute y {no,yes}\n@attribute p real\n@data\n"
    rows = "".join(f"{'yes' if i % 3 else 'no'},{i % 7 / 7}\n" for i in range(1000))
    (tmp_path / "a.arff.gz").write_bytes(gzip.compress((text + rows).encode()))
    bound = sqleval.scan(tmp_path / "a.arff.gz", label="y", score="p", positive="yes")
    frame = pl.DataFrame(
        {"y": [int(i % 3 > 0) for i in range(1000)], "p": [i % 7 / 7 for i in range(1000)]}
    )
    expected = sqleval.scan(frame, label="y", score="p").evaluate("roc_auc").collect()
    assert bound.evaluate("roc_auc").collect()["value"][0] == expected["value"][0]


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ("{0 1, 1 yes}", "a row of ARFF is sparse"),
        ("1,maybe", "column y must be one of 'no', 'yes', but a value is maybe"),
        ("x,no", "column p must be DOUBLE, but a value is x"),
        ("1,no,2", "a line must have 2 values, and one is: 1,no,2"),
    ],
)
def test_a_wrong_row_is_an_error(tmp_path: Path, row: str, message: str) -> None:
    path = tmp_path / "a.arff"
    path.write_text(f"@relation r\n@attribute p real\n@attribute y {{no,yes}}\n@data\n{row}\n")
    with pytest.raises(DataError, match=message):
        read(path)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("@relation r\n@attribute p real\n1,2\n", "line 3: '1,2' is not a header of ARFF"),
        ("@relation r\n@attribute p real\n", "has no line @data"),
        ("@relation r\n@data\n1\n", "has no @attribute before @data"),
        ("@relation r\n@attribute p relational\n@data\n", "line 2: .* is not an attribute that"),
        ("@relation r\n@attribute d date QQ\n@data\n", "line 2: .* is not an attribute that"),
    ],
)
def test_a_wrong_header_is_an_error(tmp_path: Path, text: str, message: str) -> None:
    path = tmp_path / "a.arff"
    path.write_text(text)
    with pytest.raises(SourceError, match=message):
        read(path)


def test_files_must_declare_the_same_attributes(tmp_path: Path) -> None:
    for name, kind in (("a", "real"), ("b", "{x}")):
        (tmp_path / f"{name}.arff").write_text(f"@relation r\n@attribute p {kind}\n@data\n?\n")
    with pytest.raises(SourceError, match=r"the attributes of .*b\.arff' differ from"):
        read(tmp_path)
    (tmp_path / "b.arff").write_text("% other comments\n@relation s\n@attribute p real\n@data\n1\n")
    assert read(tmp_path)["p"].sort().to_list() == [None, 1.0]
