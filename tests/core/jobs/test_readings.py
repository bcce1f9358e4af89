"""Jobs over CSV files with options, rows inside of JSON, and files with a prefix."""

import gzip
import json
from pathlib import Path

import polars as pl
import pytest

import sqleval
from tests.support.commands import run

OPTIONS = ["--as-of", "2024-02-01", "--backfill"]
HISTORY = "metrics: [roc_auc]\nhistory: h.duckdb\n"
DAYS = ("2024-01-01", "2024-01-02", "2024-01-03")


def make_rows(day: int) -> list[dict[str, object]]:
    """Return the rows of a day, 40 with scores that depend on the day."""
    return [
        {"id": 100 * day + i, "day": DAYS[day], "y": i % 2, "p": (i * (day + 3) % 11) / 10}
        for i in range(40)
    ]


def read_values(job: Path) -> dict[str, float]:
    done = run("history", str(job), "--format", "json")
    return {row["period"]: row["value"] for row in json.loads(done.stdout)}


def compute_values() -> dict[str, float]:
    rows = pl.DataFrame([row for day in range(3) for row in make_rows(day)])
    found = sqleval.scan(rows, label="y", score="p", by="day").evaluate("roc_auc").collect()
    return dict(found.select("day", "value").iter_rows())


def write_job(folder: Path, text: str, roles: str = "label: y\nscore: p\n") -> Path:
    job = folder / "job.yml"
    job.write_text(f"name: j\n{text}{roles}{HISTORY}")
    return job


def test_a_job_over_csv_with_options(tmp_path: Path) -> None:
    (tmp_path / "preds").mkdir()
    for day in range(3):
        lines = ["made by hand", "id;day;y;p"]
        for row in make_rows(day):
            year, month, date = str(row["day"]).split("-")
            score = str(row["p"]).replace(".", ",")
            lines.append(f"{row['id']};{date}.{month}.{year};{row['y']};{score}")
        lines.append(f"9;0{day + 1}.01.2024;1;NA")
        data = "\n".join(lines).encode()
        (tmp_path / "preds" / f"{day}.dat.gz").write_bytes(gzip.compress(data))
    text = (
        "source: csv+preds\nnulls: drop\nperiod: {column: day}\ncsv:\n  skip: 1\n  decimal: ','\n"
        "  na: [NA]\n  date_format: '%d.%m.%Y'\n"
    )
    job = write_job(tmp_path, text)
    assert "3 files, binary (1 is positive" in run("validate", str(job)).stderr
    run("run", str(job), *OPTIONS)
    expected = compute_values()
    assert read_values(job) == expected
    # Nothing has changed. Another reading of the same files makes other values.
    again = run("run", str(job), *OPTIONS, "--format", "json")
    assert "add" not in again.stdout
    job.write_text(job.read_text().replace("na: [NA]", "na: [NA, '0,9']"))
    changed = run("run", str(job), *OPTIONS, "--format", "json")
    assert "replace" in changed.stdout
    values = read_values(job)
    assert values.keys() == expected.keys()
    assert values != expected


def test_a_job_over_rows_inside_of_json(tmp_path: Path) -> None:
    (tmp_path / "logs").mkdir()
    for day in range(3):
        log = {"eval": {"model": "m"}, "results": {"rows": make_rows(day)}}
        (tmp_path / "logs" / f"{day}.json").write_text(json.dumps(log))
    job = write_job(tmp_path, "source: logs\nrows: results.rows\nperiod: {column: day}\n")
    run("validate", str(job))
    run("run", str(job), *OPTIONS)
    assert read_values(job) == compute_values()
    # A file of one day is replaced, so only this day is evaluated again.
    rows = [{**row, "p": 1 - float(str(row["p"]))} for row in make_rows(1)]
    (tmp_path / "logs" / "1.json").write_text(json.dumps({"results": {"rows": rows}}))
    run("run", str(job), *OPTIONS)
    values = read_values(job)
    expected = compute_values()
    assert values[DAYS[0]] == expected[DAYS[0]]
    assert values[DAYS[1]] == pytest.approx(1 - expected[DAYS[1]], abs=1e-15)


def test_a_job_over_a_table_of_mlflow(tmp_path: Path) -> None:
    rows = [row for day in range(3) for row in make_rows(day)]
    table = {"columns": [*rows[0]], "data": [[*row.values()] for row in rows]}
    (tmp_path / "a.json").write_text(json.dumps(table))
    text = "source: a.json\nrows: data\nperiod: {column: day, format: '%Y-%m-%d'}\n"
    job = write_job(tmp_path, text)
    run("run", str(job), *OPTIONS)
    assert read_values(job) == compute_values()


def test_a_job_with_late_labels_in_another_format(tmp_path: Path) -> None:
    rows = [row for day in range(3) for row in make_rows(day)]
    lines = [f"{row['id']}   {row['day']}  {row['p']}" for row in rows]
    (tmp_path / "preds.txt").write_text("\n".join(["id day p", *lines]) + "\n")
    lines = [f"{row['id']};{row['y']}" for row in rows]
    (tmp_path / "labels.csv").write_text("\n".join(["id;y", *lines]) + "\n")
    labels = "labels: {source: labels.csv, on: id}\n"
    text = f"source: whitespace+preds.txt\nperiod: {{column: day}}\n{labels}"
    job = write_job(tmp_path, text + "csv: {types: {id: VARCHAR, p: DOUBLE}}\n")
    run("validate", str(job))
    run("run", str(job), *OPTIONS)
    assert read_values(job) == compute_values()


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("csv: {sep: ';'}\n", "no option 'sep'; did you mean 'separator'"),
        ("csv: {decimal: x}\n", "must be the decimal sign"),
        ("rows: samples\n", "rows='samples' (--rows) is for JSON"),
        ("engine: spark\ncsv: {header: true}\n", "it cannot with csv, rows, or a prefix"),
    ],
)
def test_wrong_readings_are_refused(tmp_path: Path, text: str, message: str) -> None:
    rows = pl.DataFrame([row for day in range(3) for row in make_rows(day)])
    rows.write_csv(tmp_path / "a.csv")
    job = write_job(tmp_path, f"source: a.csv\nperiod: {{column: day}}\n{text}")
    if "spark" in text:
        pytest.importorskip("pyspark")
    assert message in " ".join(run("validate", str(job), code=2).stderr.split())


def test_options_of_csv_are_for_text(tmp_path: Path) -> None:
    rows = pl.DataFrame([row for day in range(3) for row in make_rows(day)])
    rows.write_parquet(tmp_path / "a.parquet")
    text = "source: a.parquet\nperiod: {column: day, format: '%Y-%m-%d'}\ncsv: {decimal: ','}\n"
    job = write_job(tmp_path, text)
    assert "csv= (--csv) is for CSV files" in run("validate", str(job), code=2).stderr


def test_the_starter_reads_files_as_it_is_told(tmp_path: Path) -> None:
    lines = [f"{DAYS[i % 3]};{i % 2};0,{i % 7}1" for i in range(90)]
    (tmp_path / "a.txt").write_text("day;y;p\n" + "\n".join(lines) + "\n")
    document = {"payload": {"events": [row for day in range(3) for row in make_rows(day)]}}
    (tmp_path / "b.json").write_text(json.dumps(document))
    csv = ["--csv", "decimal=,", "--csv", "separator=;", "--csv", "date_format=%Y-%m-%d"]
    for source, options in (
        (f"csv+{tmp_path}/a.txt", csv), (f"{tmp_path}/b.json", ["--rows", "payload.events"])
    ):  # fmt: skip
        job = tmp_path / f"{source[-3:].strip('.')}.yml"
        run("init", source, *options, "--output", str(job))
        text = job.read_text()
        assert "CHANGE" not in text
        assert "label: y" in text
        assert "column: day" in text
        assert "binary (1 is positive" in run("validate", str(job)).stderr
    failed = run("init", f"{tmp_path}/b.json", *csv, "--output", f"{tmp_path}/c.yml", code=2)
    assert "csv= (--csv) is for CSV files" in failed.stderr
