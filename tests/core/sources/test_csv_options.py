"""Options of CSV files, and headers of numbers."""

import datetime as dt
import gzip
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import sqleval
from sqleval.engines.embedded import embedded
from sqleval.errors import RequestError, SourceError
from sqleval.sources.opening import open_source
from tests.core.sources.test_prefixes import read
from tests.support.commands import run

TEXT = "näme;p;q;d\nä;0,5;NA;01.02.2024\nö;0,75;\\N;03.04.2024\nü;;3;05.12.2024\n"
OPTIONS = {"encoding": "latin-1", "decimal": ",", "na": ["NA", "\\N"], "date_format": "%d.%m.%Y"}
ROWS = [
    ("ä", 0.5, None, dt.date(2024, 2, 1)), ("ö", 0.75, None, dt.date(2024, 4, 3)),
    ("ü", None, 3, dt.date(2024, 12, 5)),
]  # fmt: skip


def write(path: Path, text: str, encoding: str = "utf-8") -> Path:
    data = text.encode(encoding)
    path.write_bytes(gzip.compress(data) if path.suffix == ".gz" else data)
    return path


@pytest.mark.parametrize("name", ["a.csv", "a.csv.gz"])
def test_a_file_of_a_german_spreadsheet(tmp_path: Path, name: str) -> None:
    path = write(tmp_path / name, TEXT, "latin-1")
    assert read(path, csv=OPTIONS).rows() == ROWS
    # PyArrow reads the encodings that DuckDB does not know; nothing guesses the separator.
    csv = {**OPTIONS, "encoding": "windows-1252", "separator": ";"}
    assert read(path, csv=csv).rows() == ROWS


@pytest.mark.parametrize("encoding", ["utf-8", "cp1252"])
def test_options_mean_the_same_to_both_readers(tmp_path: Path, encoding: str) -> None:
    path = write(tmp_path / "a.csv", "made by hand\n'a;b';007;1\nc;8;2\n", encoding)
    csv: dict[str, Any] = {
        "skip": "1", "header": "false", "separator": ";", "quote": "'", "encoding": encoding,
        "types": {"column1": "VARCHAR"},
    }  # fmt: skip
    found = read(path, csv=csv)
    assert found.columns == ["column0", "column1", "column2"]
    assert found.rows() == [("a;b", "007", 1), ("c", "8", 2)]


def test_comments_and_lines_before_the_header(tmp_path: Path) -> None:
    path = write(tmp_path / "a.csv", "title\nmade by\n# c\ny,p\n# d\n0,0.5\n1,0.7\n# e\n1,0.2\n")
    found = read(path, csv={"skip": 2, "comment": "#"})
    assert (found.columns, found.height) == (["y", "p"], 3)
    write(tmp_path / "b.csv", "title\nmade by\n# c\np,y\n0.5,0\n")
    found = read([str(path), str(tmp_path / "b.csv")], csv={"skip": 2, "comment": "#"})
    assert sorted(found.rows()) == [(0, 0.5), (0, 0.5), (1, 0.2), (1, 0.7)]


@pytest.mark.parametrize(
    ("csv", "message"),
    [
        ({"sep": ";"}, "no option 'sep'; did you mean 'separator'"),
        ({"delimeter": ";"}, "no option 'delimeter'"),
        ({"na_values": "x"}, "no option 'na_values'; did you mean 'na'"),
        ({"decimal": ";"}, "{'decimal': ';'} must be the decimal sign"),
        ({"header": "maybe"}, "must be whether the first line holds names, such as 'true'"),
        ({"skip": -1}, "must be the number of lines"),
        ({"encoding": "latin-99"}, "must be the encoding of the file"),
        ({"types": {"p": "FLOAT8"}}, "'FLOAT8' must be one of VARCHAR, DOUBLE"),
        ("x", "must map options to values"),
    ],
)
def test_a_wrong_option_is_an_error(tmp_path: Path, csv: Any, message: str) -> None:
    path = write(tmp_path / "a.csv", "y,p\n0,.1\n1,.2\n")
    with pytest.raises(RequestError, match=message):
        sqleval.scan(path, label="y", score="p", csv=csv)


def test_options_are_for_text(tmp_path: Path) -> None:
    rows = pl.DataFrame({"k": [1, 2], "y": [0, 1], "p": [0.1, 0.2]})
    rows.write_parquet(tmp_path / "a.parquet")
    for source in (rows, tmp_path / "a.parquet"):
        with pytest.raises(RequestError, match=r"csv= \(--csv\) is for CSV files and other text"):
            sqleval.scan(source, label="y", score="p", csv={"separator": ";"})
    # They are for whichever of the two sources is text.
    labels = write(tmp_path / "labels.csv", "k;z\n1;no\n2;-\n")
    found = sqleval.scan(
        rows, label="z", score="p", positive="-", labels=str(labels), on="k",
        csv={"separator": ";"},
    ).evaluate("roc_auc")  # fmt: skip
    assert found.collect()["value"][0] == 1.0


def test_a_command_takes_options(tmp_path: Path) -> None:
    path = write(tmp_path / "a.txt", "y;p\n1;0,7\n0;0,2\n1;NA\n" + "0;0,1\n1;0,9\n" * 20)
    options = ["--csv", "decimal=,", "--csv", "na=NA", "--csv", "separator=;"]
    source = [f"csv+{path}", *options]
    done = run("evaluate", *source, "--label", "y", "--score", "p", "--nulls", "drop",
        "-m", "roc_auc", "--format", "csv")  # fmt: skip
    assert done.stdout.split()[1].startswith("roc_auc,1.0,,,42,1,")
    shown = run("inspect", *source)
    command = shown.stdout.strip().splitlines()[-1]
    assert "--csv decimal=, --csv na=NA --csv 'separator=;'" in command
    wrong = run("evaluate", str(path), "--label", "y", "--score", "p", "--csv", "decimal", code=2)
    assert "'decimal' must be NAME=VALUE" in wrong.stderr


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("1400,1300,1200\n0.1,0.2,0.7\n0.3,0.3,0.4\n", ["1400", "1300", "1200"]),
        ("0,1,2\n0.1,0.2,0.7\n0.3,0.3,0.4\n1,0,0\n", ["0", "1", "2"]),
        ("0,1\n0.1,0.9\n0.3,0.7\n", ["0", "1"]),
        ("label,0,1,2\n0,0.1,0.2,0.7\n1,0.3,0.3,0.4\n", ["label", "0", "1", "2"]),
        ("id,1400,1200\na,0.2,0.7\nb,0.3,0.4\n", ["id", "1400", "1200"]),
        # A row: no header, and a model that is certain.
        ("1,0\n0.1,0.9\n0.3,0.7\n", ["column0", "column1"]),
        ("5,5\n0.1,0.9\n0.3,0.7\n", ["column0", "column1"]),
        ("1,2\n3,4\n5,6\n", ["column0", "column1"]),
        ("0.5,0.5\n0.1,0.9\n0.3,0.7\n", ["column0", "column1"]),
    ],
)
def test_a_header_of_numbers(tmp_path: Path, text: str, names: list[str]) -> None:
    path = write(tmp_path / "a.csv", text)
    found = read(path)
    assert found.columns == names
    assert found.height == text.count("\n") - (not names[0].startswith("column"))
    # Also with more rows, and in several files.
    write(tmp_path / "b.csv", text)
    assert read(tmp_path).columns == names
    lines = text.splitlines(keepends=True)
    write(tmp_path / "b.csv", lines[0] + "".join(lines[1:]) * 2000)
    assert read(tmp_path / "b.csv").columns == names


def test_an_unknown_column_of_a_file_without_header(tmp_path: Path) -> None:
    path = write(tmp_path / "a.csv", "1,2\n3,4\n5,6\n")
    with pytest.raises(RequestError, match=r"give csv=\{'header': True\} \(--csv header=true\)"):
        sqleval.scan(path, label="1", score="2")
    assert read(path, csv={"header": True}).columns == ["1", "2"]


def test_texts_with_signs_advise_what_to_do(tmp_path: Path) -> None:
    path = write(tmp_path / "a.csv", "y;p\n1;90%\n0;12.5%\n")
    with pytest.raises(
        RequestError, match=r"""CAST\(REPLACE\("?p"?, '%', ''\) AS DOUBLE\) / 100"""
    ):
        sqleval.scan(path, label="y", score="p")
    path = write(tmp_path / "b.csv", "y;p\n1;0,9\n0;0,125\n")
    with pytest.raises(RequestError, match=r"csv=\{'decimal': ','\} \(--csv decimal=,\)"):
        sqleval.scan(path, label="y", score="p")
    path = write(tmp_path / "d.csv", "y;p\n1;0,9\n0;NA\n1;\\N\n")
    advice = r"csv=\{'decimal': ',', 'na': 'NA\|\\\\N'\} \(--csv decimal=, --csv na='NA\|\\N'\)"
    with pytest.raises(RequestError, match=advice):
        sqleval.scan(path, label="y", score="p")
    path = write(tmp_path / "c.csv", "y;p\n1;0.9\n0;NA\n")
    with pytest.raises(RequestError, match=r"csv=\{'na': 'NA'\} \(--csv na=NA\)"):
        sqleval.scan(path, label="y", score="p")


def test_a_latin_file_says_which_option_to_give(tmp_path: Path) -> None:
    path = write(tmp_path / "a.csv", TEXT, "latin-1")
    with pytest.raises(SourceError, match=r"--csv encoding=latin-1"):
        sqleval.scan(path, label="y", score="p")


#: Values in a column, and DuckDB's type of it.
GUESSES = {
    "zeros": ("00012", "12345", "VARCHAR"), "code": ("00", "01", "VARCHAR"),
    "fraction": ("007.5", "1.5", "VARCHAR"), "plus": ("+5", "6", "VARCHAR"),
    "whole": ("-12", "0", "BIGINT"), "number": ("-0.5", "1e5", "DOUBLE"),
    "ends": ("5.", ".5", "DOUBLE"), "nan": ("nan", "0.5", "DOUBLE"),
    "inf": ("inf", "0.5", "VARCHAR"), "large": ("12345678901234567890123", "1", "HUGEINT"),
    "yes": ("yes", "no", "BOOLEAN"), "t": ("T", "f", "BOOLEAN"), "y": ("y", "n", "VARCHAR"),
    "true": ("True", "FALSE", "BOOLEAN"), "day": ("2024-01-02", "2024-02-03", "DATE"),
    "time": ("2024-01-02 10:00:00", "2024-01-02 10:00:01", "TIMESTAMP"),
    "none": ("", "", "VARCHAR"), "word": ("1_000", "é", "VARCHAR"),
}  # fmt: skip


def test_both_readers_guess_the_same_types(tmp_path: Path) -> None:
    columns = [",".join(GUESSES), *(",".join(v[i] for v in GUESSES.values()) for i in (0, 1))]
    path = write(tmp_path / "a.csv", "\n".join(columns) + "\n")
    latin = write(tmp_path / "b.csv", "\n".join(columns) + "\n", "cp1252")
    csv = {"encoding": "cp1252"}
    for source, options in ((path, None), (latin, csv)):
        _, columns = embedded().describe(open_source(source, name="_sqleval_rows", csv=options))
        types = {
            name: column.type.removesuffix("_S")
            for name, column in columns.items()
            if name != "none"
        }
        # DuckDB 1 takes it for a DOUBLE.
        assert types.pop("large") in ("HUGEINT", "DOUBLE")
        assert types | {"large": "HUGEINT"} == {
            n: kind for n, (_, _, kind) in GUESSES.items() if n != "none"
        }
    others = ("none", "large")
    assert read(latin, csv=csv).drop(others).equals(read(path).drop(others))


def test_keys_with_zeros_join_labels(tmp_path: Path) -> None:
    rows = write(tmp_path / "a.csv", "Kunden-Nr.;p\n00012;0.9\n00013;0.2\n", "cp1252")
    labels = write(tmp_path / "b.csv", "Kunden-Nr.;y\n00012;1\n00013;0\n", "cp1252")
    csv = {"encoding": "cp1252", "separator": ";"}
    found = sqleval.scan(
        str(rows), label="y", score="p", labels=str(labels), on="Kunden-Nr.", csv=csv
    ).evaluate("roc_auc")
    assert found.collect().select("value", "n").row(0) == (1.0, 2)


def test_texts_with_zeros_are_keys_in_tables_of_white_space(tmp_path: Path) -> None:
    path = write(tmp_path / "a.txt", "k p\n00012 0.5\n12 01.5\n")
    assert read(f"whitespace+{path}").rows() == [("00012", "0.5"), ("12", "01.5")]
    path.write_text("k p\n-1 0.5\n+12 -1e5\n")
    assert read(f"whitespace+{path}").rows() == [(-1, 0.5), (12, -1e5)]


def test_dates_of_an_unknown_format_need_one(tmp_path: Path) -> None:
    path = write(tmp_path / "a.csv", "d,y,p\n13.02.2024,1,0.9\n03.04.2024,0,0.1\n", "cp1252")
    roles: dict[str, Any] = {"label": "y", "score": "p", "where": "d > '2024-03-01'"}
    with pytest.raises(SourceError, match=r"'13.02.2024', whose format is unknown; give csv="):
        sqleval.scan(path, **roles, csv={"encoding": "cp1252"}).evaluate("accuracy")
    for option in ({"date_format": "%d.%m.%Y"}, {"types": {"d": "VARCHAR"}}):
        found = read(path, csv={"encoding": "cp1252", **option})
        first = "13.02.2024" if "types" in option else dt.date(2024, 2, 13)
        assert found.row(0) == (first, 1, 0.9)


@pytest.mark.parametrize("encoding", ["utf-8", "cp1252"])
@pytest.mark.parametrize(
    ("value", "text_format", "message"),
    [
        ("13.02.2024", "%Y-%m-%d", r"give csv=\{'date_format': '%d.%m.%Y'\}"),
        ("12/31/2024", "%d/%m/%Y", r"'12/31/2024', .* give csv=\{'date_format': '%m/%d/%Y'\}"),
        ("k.A.", "%d.%m.%Y", r"'k.A.', which .* does not fit; give csv=\{'na': 'k.A.'\}"),
    ],
)
def test_a_date_format_that_does_not_fit_is_an_error(
    tmp_path: Path, encoding: str, value: str, text_format: str, message: str
) -> None:
    other = "03/04/2024" if "/" in value else "03.04.2024"
    text = f"d,y,p\n{value},1,0.9\n{other},0,0.1\n{other},0,0.2\n"
    path = write(tmp_path / "a.csv", text, encoding)
    csv: dict[str, Any] = {"encoding": encoding, "date_format": text_format}
    roles: dict[str, Any] = {"label": "y", "score": "p"}
    with pytest.raises(SourceError, match=f"'d' has texts such as .*{message}"):
        sqleval.scan(path, **roles, csv=csv, where="d > '2024-03-01'").evaluate("accuracy")
    # Other columns can be used, and the texts if they are named so.
    assert sqleval.scan(path, **roles, csv=csv).evaluate("roc_auc").collect()["value"][0] == 1
    assert read(path, csv={**csv, "types": {"d": "VARCHAR"}}).row(0) == (value, 1, 0.9)


def test_labels_with_another_separator_name_the_cause(tmp_path: Path) -> None:
    rows = write(tmp_path / "a.csv", "k;p\n1;0,5\n2;0,75\n")
    labels = write(tmp_path / "b.csv", "k,y\n1,0\n2,1\n")
    roles = ["--label", "y", "--score", "p", "--labels", str(labels), "--on", "k", "-m", "roc_auc"]
    csv = ["--csv", "decimal=,"]
    failed = run("evaluate", str(rows), *roles, *csv, "--csv", "separator=;", code=2)
    assert "'k,y' was read as one name: its separator is ','. csv= (--csv) holds" in failed.stderr
    assert "(--csv separator=,)" in failed.stderr
    done = run("evaluate", str(rows), *roles, *csv, "--format", "csv")
    assert done.stdout.split()[1].startswith("roc_auc,1.0,")


def test_a_decimal_comma_is_no_example_of_a_text(tmp_path: Path) -> None:
    path = write(tmp_path / "a.csv", "y;p\n1;0,9\n0;0,125\n1;k.A.\n")
    with pytest.raises(RequestError, match=r"; it holds 'k\.A\.'"):
        sqleval.scan(path, label="y", score="p", csv={"decimal": ","})
