"""Folders and patterns of files: partition columns, differing column types, hidden files."""

import errno
import gzip
import os
import re
from pathlib import Path
from typing import Any

import duckdb
import polars as pl
import pytest
from sklearn.metrics import roc_auc_score

import sqleval
from sqleval import RequestError, SourceError
from tests.support.commands import run
from tests.support.comparison import assert_frame_equal
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


def test_files_that_writers_hide_are_not_read(tmp_path: Path) -> None:
    rows = pl.DataFrame({"y": [0, 1], "p": [0.1, 0.9]})
    for name in ("_part=a/1.parquet", "_temporary/0/2.parquet", ".3.parquet", "_part=b/4.parquet"):
        rows.write_parquet(tmp_path / name, mkdir=True)
    found = sqleval.scan(tmp_path, label="y", score="p").evaluate("roc_auc").collect()
    assert found["n"].item() == 4


def write_as(rows: pl.DataFrame, path: Path) -> None:
    """Write rows in the format of a file's ending."""
    name = path.name.lower()
    if name.endswith((".parquet", ".pq")):
        rows.write_parquet(path)
        return
    text = rows.write_csv() if ".csv" in name else rows.write_csv(separator="\t")
    if "json" in name:
        text = rows.write_ndjson()
    path.write_bytes(gzip.compress(text.encode()) if name.endswith(".gz") else text.encode())


@pytest.mark.parametrize(
    "names",
    [
        ("a.csv", "b.csv.gz", "c.CSV"),
        ("a.parquet", "b.pq", "c.PARQUET"),
        ("a.jsonl", "b.ndjson.gz"),
    ],
)
def test_files_of_one_format_are_all_read(names: tuple[str, ...], tmp_path: Path) -> None:
    rows = pl.DataFrame({"y": [0, 1, 1], "p": [0.1, 0.9, 0.3]})
    folder = tmp_path / "rows"
    folder.mkdir()
    for name in names:
        write_as(rows, folder / name)
    (folder / "README.md").write_text("no data")
    (folder / "_SUCCESS").touch()
    whole = sqleval.scan(folder, label="y", score="p").evaluate("roc_auc").collect()
    assert whole["n"].item() == 3 * len(names)
    (folder / "README.md").unlink()
    every = sqleval.scan(f"{folder}/*", label="y", score="p").evaluate("roc_auc").collect()
    assert every["n"].item() == 3 * len(names)


@pytest.mark.parametrize("other", ["b.csv", "b.jsonl", "b.tsv.gz", "b.arrow"])
def test_files_of_several_formats_are_refused(other: str, tmp_path: Path) -> None:
    rows = pl.DataFrame({"y": [0, 1], "p": [0.1, 0.9]})
    rows.write_parquet(tmp_path / "a.parquet")
    write_as(rows, tmp_path / other)
    for source in (tmp_path, f"{tmp_path}/*"):
        with pytest.raises(SourceError, match=other):
            sqleval.scan(source, label="y", score="p")


def test_a_column_that_some_files_lack_is_refused_where_it_is_bound(tmp_path: Path) -> None:
    rows = pl.DataFrame({"y": [0, 1], "p": [0.1, 0.9], "g": ["a", "b"]})
    for first, frames in {"more": (rows, rows.drop("g")), "less": (rows.drop("g"), rows)}.items():
        for name, frame in zip("ab", frames, strict=True):
            frame.write_parquet(tmp_path / first / f"{name}.parquet", mkdir=True)
        folder = tmp_path / first
        found = sqleval.scan(folder, label="y", score="p").evaluate("roc_auc").collect()
        assert found["n"].item() == 4
        types = ["VARCHAR in .*a.parquet", "none in .*b.parquet"]
        types = types if first == "more" else ["none in .*a.parquet", "VARCHAR in .*b.parquet"]
        for option in ({"by": "g"}, {"where": "g = 'a'"}, {"by": {"k": "lower(g)"}}):
            message = f"='g' is not the same in all files: {', '.join(types)}"
            with pytest.raises(SourceError, match=message):
                sqleval.scan(folder, label="y", score="p", **option)


def test_names_in_other_letter_case_are_one_column(tmp_path: Path) -> None:
    rows = pl.DataFrame({"y": [0, 1], "p": [0.1, 0.9]})
    other = pl.DataFrame({"y": [1], "P": [1]})
    rows.write_parquet(tmp_path / "a.parquet")
    other.write_parquet(tmp_path / "b.parquet")
    found = sqleval.scan(tmp_path, label="y", score="p").evaluate("roc_auc").collect()
    assert found["value"].item() == 1
    other.with_columns(P=pl.lit("x")).write_parquet(tmp_path / "b.parquet")
    with pytest.raises(SourceError, match=r"score='p' is not the same.*: DOUBLE in .*, VARCHAR in"):
        sqleval.scan(tmp_path, label="y", score="p")


def test_a_partition_is_text_in_files_whose_types_differ(tmp_path: Path) -> None:
    for part, kind in (("7", pl.Int64), ("none", pl.Float64)):
        rows = pl.DataFrame({"y": [0, 1], "p": [0.1, 0.9]}).with_columns(pl.col("y").cast(kind))
        rows.write_parquet(tmp_path / f"part={part}" / "rows.parquet", mkdir=True)
    found = sqleval.scan(tmp_path, label="y", score="p", by="part").evaluate("roc_auc").collect()
    assert found["part"].to_list() == ["7", "none"]


@pytest.mark.parametrize("name", ["rows.csv", "rows.jsonl"])
def test_a_number_is_read_as_it_is_far_below_whole_ones(name: str, tmp_path: Path) -> None:
    # The engine takes a type from about the first 20,000 rows, and would round 0.7 to 1.
    n = 15_000
    rows = pl.DataFrame(
        {"y": [0, 1] * n + [1], "p": [1.0, 9.0] * n + [0.7], "w": [1.0, 1.0] * n + [0.5]}
    )
    text = rows.with_columns(pl.col("p", "w").cast(pl.String).str.strip_suffix(".0"))
    write_as(text, tmp_path / name)
    content = (tmp_path / name).read_text()
    if name.endswith("jsonl"):
        content = re.sub(r'"([\d.]+)"', r"\1", content)
    (tmp_path / name).write_text(content)
    roles: dict[str, Any] = {"label": "y", "score": "p", "weight": "w"}
    found = (
        sqleval.scan(tmp_path / name, **roles).evaluate(["roc_auc", "average_precision"]).collect()
    )
    expected = sqleval.scan(rows, **roles).evaluate(["roc_auc", "average_precision"]).collect()
    assert_frame_equal(found.drop("method"), expected.drop("method"))
    roles = {"label": "p", "prediction": "w", "task": "regression"}
    found = sqleval.scan(tmp_path / name, **roles).evaluate("mae").collect()
    expected = sqleval.scan(rows, **roles).evaluate("mae").collect()
    assert_frame_equal(found.drop("method"), expected.drop("method"))


def test_columns_of_csv_files_are_matched_by_name(tmp_path: Path) -> None:
    # The engine would read p as a whole number, because the first file's second column holds one.
    (tmp_path / "a.csv").write_text("y,p\n0,1\n1,2\n")
    (tmp_path / "b.csv.gz").write_bytes(gzip.compress(b"p,y,g\n0.5,1,a\n1,0,b\n"))
    found = sqleval.scan(tmp_path, label="y", score="p").evaluate("roc_auc").collect()
    assert found["value"].item() == roc_auc_score([0, 1, 1, 0], [1, 2, 0.5, 1])
    with pytest.raises(SourceError, match=r"'g' is not the same.*: none in .*a.csv, VARCHAR in"):
        sqleval.scan(tmp_path, label="y", score="p", by="g")


def test_a_column_without_a_value_fits_any_type(tmp_path: Path) -> None:
    rows = pl.DataFrame({"y": [0, 1], "p": [0.1, 0.9], "g": [None, None]})
    rows.write_parquet(tmp_path / "a.parquet")
    rows.with_columns(g=pl.Series([1, 2])).write_parquet(tmp_path / "b.parquet")
    found = sqleval.scan(tmp_path, label="y", score="p", by="g").evaluate("roc_auc").collect()
    assert found["g"].to_list() == [1, 2, None]


def _write_linked_lake(folder: Path) -> Path:
    """Write a lake of two days; the first day is a link to a folder elsewhere."""
    for day in (1, 2):
        frame = pl.DataFrame({"y": [0, 1], "p": [0.1, 0.9], "k": [day, day + 2]})
        frame.write_parquet(folder / "real" / f"day={day}" / "rows.parquet", mkdir=True)
    lake = folder / "lake"
    lake.mkdir()
    (lake / "day=1").symlink_to("../real/day=1")
    (folder / "real" / "day=2").rename(lake / "day=2")
    return lake


@pytest.mark.parametrize("pattern", ["lake", "lake/", "lake/**/*.parquet", "**/rows.parquet"])
def test_links_to_folders_are_followed(
    pattern: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lake = _write_linked_lake(tmp_path)
    monkeypatch.chdir(tmp_path if pattern.startswith("lake") else lake)
    arguments = ("evaluate", pattern, "--label", "y", "--score", "p", "--by", "day",
                 "-m", "prevalence", "--format", "csv")  # fmt: skip

    def count() -> list[tuple[str, int]]:
        roles: dict[str, Any] = {"label": "y", "score": "p", "by": "day"}
        found = sqleval.scan(pattern, **roles).evaluate("prevalence").collect()
        assert len(run(*arguments).stdout.splitlines()) == 1 + found.height
        return found.select("day", "n").rows()

    assert count() == [("1", 2), ("2", 2)]
    # Links that form a cycle, and one to a folder that is read anyway.
    for name, target in (("self", "."), ("up", ".."), ("latest", "day=2")):
        (lake / name).symlink_to(target)
    (tmp_path / "real" / "day=1" / "back").symlink_to(lake)
    assert count() == [("1", 2), ("2", 2)]
    (lake / "day=3").symlink_to("day=1")
    with pytest.raises(SourceError, match=r"day=1.*day=3.*are one file, to which links lead"):
        sqleval.scan(pattern, label="y", score="p")


@pytest.mark.parametrize("pattern", ["*/rows.parquet", "day=*/*.parquet"])
def test_a_command_lists_only_folders_on_the_way_of_a_pattern(
    pattern: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lake = _write_linked_lake(tmp_path)
    (lake / "elsewhere" / "deep").mkdir(parents=True)
    (lake / "elsewhere" / "link").symlink_to(tmp_path / "real")
    monkeypatch.chdir(lake)
    scandir, listed = os.scandir, set[str]()

    def list_folder(path: Any) -> Any:
        listed.add(os.fspath(path))
        return scandir(path)

    monkeypatch.setattr(os, "scandir", list_folder)
    done = run("evaluate", pattern, "--label", "y", "--score", "p", "-m", "prevalence")
    assert "prevalence" in done.stdout
    assert listed
    assert [each for each in listed if "deep" in each or "link" in each] == []


def test_a_file_that_a_list_names_twice_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(_write_linked_lake(tmp_path))
    for again in ("day=2/rows.parquet", "../lake/day=2/rows.parquet", "day=2", "*=2/*"):
        with pytest.raises(RequestError, match=r"list of paths names '.*day=2.*' twice; name each"):
            sqleval.scan(["day=2/rows.parquet", again], label="y", score="p")


def test_a_folder_without_permission_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows = pl.DataFrame({"y": [0, 1], "p": [0.2, 0.7]})
    for name in ("day=1", "day=2"):
        rows.write_parquet(tmp_path / name / "rows.parquet", mkdir=True)
    scandir, refused = os.scandir, {"_old", "lost+found"}
    for name in refused:
        (tmp_path / name).mkdir()

    def list_folder(path: str) -> Any:
        if Path(path).name in refused:
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), path)
        return scandir(path)

    monkeypatch.setattr(os, "scandir", list_folder)
    assert sqleval.scan(tmp_path, label="y", score="p").evaluate("roc_auc").collect()["n"][0] == 4
    refused.add("day=2")
    for source in (tmp_path, tmp_path / "**" / "*.parquet"):
        with pytest.raises(SourceError, match=r"cannot read .*day=2': Permission denied"):
            sqleval.scan(source, label="y", score="p")


@pytest.mark.parametrize("source", [".", "*.parquet", "**/*.parquet"])
def test_a_file_that_appears_after_the_scan_is_refused(
    source: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # DuckDB would take the types of the file that comes first, and round all other scores.
    monkeypatch.chdir(tmp_path)
    pl.DataFrame({"y": [0, 1], "p": [0.2, 0.7]}).write_parquet("b.parquet")
    bound = sqleval.scan(source, label="y", score="p")
    pl.DataFrame({"y": [0, 1], "p": [0, 1]}).write_parquet("a.parquet")
    with pytest.raises(SourceError, match=r"'a\.parquet' is new since '.*' was opened; open it"):
        bound.evaluate("roc_auc").collect()
    assert sqleval.scan(source, label="y", score="p").evaluate("roc_auc").collect()["n"][0] == 4


def test_many_small_files_are_read_once(tmp_path: Path) -> None:
    rows = pl.DataFrame({"y": [0, 1] * 300, "p": [i / 600 for i in range(600)]})
    for i in range(30):
        rows.slice(20 * i, 20).write_parquet(tmp_path / f"{i:02}.parquet")
    rows.write_parquet(tmp_path / "whole.parquet")
    small = sqleval.scan(str(tmp_path / "[0-9]*.parquet"), label="y", score="p")
    whole = sqleval.scan(str(tmp_path / "whole.parquet"), label="y", score="p")
    metrics = ["roc_auc", "log_loss", "precision"]

    def count_scans(bound: sqleval.Predictions) -> int:
        plan = duckdb.sql(f"EXPLAIN {bound.sql(metrics)}").fetchall()
        return sum(text.count("READ_PARQUET") for _, text in plan)

    # DuckDB 1 writes the name of a scan twice.
    assert 0 < 3 * count_scans(small) <= count_scans(whole)
    assert_frame_equal(small.evaluate(metrics).collect(), whole.evaluate(metrics).collect())
