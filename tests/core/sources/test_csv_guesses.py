"""Types guessed from the first rows of CSV and JSON files must hold for all rows."""

import datetime as dt
import json
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import sqleval
from sqleval.errors import DataError, SourceError
from tests.support.commands import run

US = ("09/11/2018", "09/12/2018", "09/13/2018")
STATED = "; state the format: csv={'date_format': '%d/%m/%Y'}"


def write_days(folder: Path, days: dict[str, tuple[str, ...]]) -> Path:
    """Write a file of four rows a day; each name has its days."""
    folder.mkdir(exist_ok=True)
    for name, texts in days.items():
        rows = [f"{text},{i % 2},0.{i}" for text in texts for i in range(1, 5)]
        (folder / f"{name}.csv").write_text("\n".join(["day,y,p", *rows]) + "\n")
    return folder


def read_days(path: Path) -> list[object]:
    found = sqleval.scan(path, label="y", score="p", by="day").evaluate("roc_auc").collect()
    assert found["n"].to_list() == [4] * len(found)
    return found["day"].sort().to_list()


@pytest.mark.parametrize(
    ("texts", "expected"),
    [
        (US, [(2018, 9, 11), (2018, 9, 12), (2018, 9, 13)]),
        (("11.09.2018", "12.09.2018", "13.09.2018"), [(2018, 9, 11), (2018, 9, 12), (2018, 9, 13)]),
        (("09-11-18", "09-12-18", "09-30-18"), [(2018, 9, 11), (2018, 9, 12), (2018, 9, 30)]),
        (("2018-09-11", "2018-09-12", "2018-12-01"), [(2018, 9, 11), (2018, 9, 12), (2018, 12, 1)]),
        # Both formats read the text as the same day.
        (("01/01/2018", "02/02/2018"), [(2018, 1, 1), (2018, 2, 2)]),
    ],
)
def test_one_format_fits_all_files(
    tmp_path: Path, texts: tuple[str, ...], expected: list[tuple[int, int, int]]
) -> None:
    days = [dt.date(*each) for each in expected]
    by_file = write_days(tmp_path / "files", {f"{i}": (text,) for i, text in enumerate(texts)})
    assert read_days(by_file) == days
    one = write_days(tmp_path / "one", {"all": texts})
    assert read_days(one) == days


def test_a_day_below_the_first_rows_decides(tmp_path: Path) -> None:
    folder = write_days(tmp_path / "long", {"all": (US[0],) * 10_000 + (US[2],)})
    found = sqleval.scan(folder, label="y", score="p", by="day").evaluate("roc_auc").collect()
    assert dict(found.select("day", "n").iter_rows()) == {
        dt.date(2018, 9, 11): 40_000, dt.date(2018, 9, 13): 4
    }  # fmt: skip


def test_the_order_of_one_column_holds_for_all(tmp_path: Path) -> None:
    path = tmp_path / "two.csv"
    path.write_text("day,sent,y,p\n09/11/2018,13/11/2018,0,.1\n09/11/2018,14/12/2018,1,.2\n")
    assert read_two(path) == [dt.date(2018, 11, 9)]


def read_two(path: Path) -> list[object]:
    found = sqleval.scan(path, label="y", score="p", by="day").evaluate("roc_auc").collect()
    return found["day"].to_list()


def test_times_with_two_readings_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "times.csv"
    path.write_text("at,y,p\n09/11/2018 10:11:12,0,.1\n09/12/2018 10:00:00,1,.2\n")
    with pytest.raises(SourceError, match="can be read as '%d/%m/%Y %H:%M:%S' or '%m/%d/%Y"):
        sqleval.scan(path, label="y", score="p", where="at > '2018-01-01'")


def test_dates_with_two_readings_are_refused_where_they_are_used(tmp_path: Path) -> None:
    folder = write_days(tmp_path / "files", {"a": US[:1], "b": US[1:2]})
    message = "has dates such as '09/11/2018', which can be read as '%d/%m/%Y' or '%m/%d/%Y'"
    options: list[dict[str, Any]] = [{"by": "day"}, {"where": "day >= DATE '2018-01-01'"}]
    for option in options:
        with pytest.raises(SourceError, match=message + STATED):
            sqleval.scan(folder, label="y", score="p", **option)
    # The other columns can be used.
    assert sqleval.scan(folder, label="y", score="p").evaluate("roc_auc").collect()["n"][0] == 8
    stated = f"FROM read_csv('{folder}/*.csv', dateformat = '%m/%d/%Y')"
    found = sqleval.scan(query=stated, label="y", score="p", by="day").evaluate("roc_auc").collect()
    assert found["day"].sort().to_list() == [dt.date(2018, 9, 11), dt.date(2018, 9, 12)]


def test_the_name_of_a_file_states_no_format(tmp_path: Path) -> None:
    folder = write_days(tmp_path / ", dateformat = x", {"dateformat": US[:2]})
    with pytest.raises(SourceError, match="can be read as"):
        sqleval.scan(folder / "dateformat.csv", label="y", score="p", by="day")


def test_files_with_other_columns_have_one_format(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("y,p,day,k\n0,.1,09/11/2018,1\n1,.2,09/11/2018,1\n")
    (tmp_path / "b.csv").write_text("p,day,y,k\n.3,09/13/2018,0,1\n.1,09/13/2018,1,1\n")
    found = sqleval.scan(tmp_path, label="y", score="p", by="day").evaluate("roc_auc").collect()
    assert found["day"].sort().to_list() == [dt.date(2018, 9, 11), dt.date(2018, 9, 13)]


def test_dates_that_no_format_fits_are_refused(tmp_path: Path) -> None:
    folder = write_days(tmp_path / "files", {"a": ("09/13/2018",), "b": ("13/09/2018",)})
    with pytest.raises(SourceError, match="has dates that no single format fits"):
        sqleval.scan(folder, label="y", score="p", by="day")


@pytest.mark.parametrize("days", [US[:2], ("2018-09-11", "2018-09-12")])
def test_dates_of_stdin_stay_texts(
    tmp_path: Path, days: tuple[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    options = ["-", "--label", "y", "--score", "p", "--by", "day", "--format", "csv"]
    with (write_days(tmp_path / "files", {"a": days}) / "a.csv").open() as content:
        monkeypatch.setattr("sys.stdin", content)
        done = run("evaluate", *options, "-m", "roc_auc")
    assert [line.split(",")[0] for line in done.stdout.split()[1:]] == [*days]


@pytest.mark.parametrize("ending", ["csv", "jsonl"])
@pytest.mark.parametrize("column", ["y", "q", "g"])
def test_a_fraction_below_whole_classes_or_keys_is_an_error(
    tmp_path: Path, ending: str, column: str
) -> None:
    rows = [{"y": i % 3, "q": (i + 1) % 3, "g": i % 2} for i in range(30_000)]
    rows.append({"y": 1, "q": 2, "g": 0, column: 1.5})  # pyright: ignore[reportArgumentType]
    path = tmp_path / f"rows.{ending}"
    if ending == "csv":
        text = "\n".join(["y,q,g", *(",".join(map(str, row.values())) for row in rows)])
    else:
        text = "\n".join(str(row).replace("'", '"') for row in rows)
    path.write_text(text + "\n")
    message = f"column {column} holds whole numbers in the first rows, and a fraction below .*: 1.5"
    with pytest.raises(DataError, match=message) as raised:
        sqleval.scan(path, label="y", prediction="q", by="g").evaluate("accuracy").collect()
    assert f"--csv types={column}:DOUBLE" in str(raised.value)


def test_a_job_states_the_format(tmp_path: Path) -> None:
    write_days(tmp_path / "files", {"a": US[:1], "b": US[1:2]})
    job = tmp_path / "job.yml"
    text = (
        "name: j\nsource: files\nlabel: y\nscore: p\nmetrics: [roc_auc]\nhistory: h.duckdb\n"
        "period: {column: day%s}\n"
    )
    options = ["run", str(job), "--as-of", "2018-09-13", "--backfill"]
    job.write_text(text % "")
    assert "in a job by period.format" in " ".join(run(*options, code=3).stderr.split())
    job.write_text(text % ", format: '%m/%d/%Y'")
    run(*options)
    assert list_periods(job) == ["2018-09-11", "2018-09-12"]
    # With another date format, the rows of the same files belong to other periods.
    job.write_text(text % ", format: '%d/%m/%Y'")
    run("run", str(job), "--as-of", "2018-12-31", "--backfill")
    assert {"2018-11-09", "2018-12-09"} < {*list_periods(job)}
    job.write_text(text % ", format: '%m/%Y'")
    assert "'%m/%Y' is no format of a date" in " ".join(run(*options, code=2).stderr.split())


def list_periods(job: Path) -> list[str]:
    done = run("history", str(job), "--format", "json")
    return sorted({row["period"] for row in json.loads(done.stdout)})


def test_a_job_reads_texts_of_parquet_in_its_format(tmp_path: Path) -> None:
    rows = pl.DataFrame({"at": [f"{day} 23:30 +0200" for day in US] * 2, "y": 0, "p": 0.5})
    rows.write_parquet(tmp_path / "rows.parquet")
    job = tmp_path / "job.yml"
    job.write_text(
        "name: j\nsource: rows.parquet\nlabel: y\nscore: p\nmetrics: [log_loss]\n"
        "history: h.duckdb\n"
        "period: {column: at, format: '%m/%d/%Y %H:%M %z', timezone: Europe/Moscow}\n"
    )
    options = ["run", str(job), "--as-of", "2018-09-15T12:00", "--backfill"]
    run(*options)
    # Half past midnight of the next day in Moscow.
    assert list_periods(job) == ["2018-09-12", "2018-09-13", "2018-09-14"]


def test_a_job_reads_times_of_csv_files_in_its_format(tmp_path: Path) -> None:
    rows = [f"{day} 23:30:00,{i % 2},0.5" for i, day in enumerate(US[:2] * 2)]
    (tmp_path / "rows.csv").write_text("\n".join(["at,y,p", *rows]) + "\n")
    job = tmp_path / "job.yml"
    job.write_text(
        "name: j\nsource: rows.csv\nlabel: y\nscore: p\nmetrics: [log_loss]\n"
        "history: h.duckdb\nperiod: {column: at, format: '%m/%d/%Y %H:%M:%S'}\n"
    )
    run("run", str(job), "--as-of", "2018-09-13", "--backfill")
    assert list_periods(job) == ["2018-09-11", "2018-09-12"]


def test_init_writes_the_format(tmp_path: Path) -> None:
    write_days(tmp_path / "files", {"a": US})
    job = tmp_path / "job.yml"
    run("init", str(tmp_path / "files"), "--output", str(job))
    assert "format: '%m/%d/%Y'" in job.read_text()
