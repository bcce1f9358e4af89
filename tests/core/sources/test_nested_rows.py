"""Rows that lie inside of JSON documents."""

import gzip
import json
from pathlib import Path
from typing import Any

import pandas as pd
import polars as pl
import pytest

import sqleval
from sqleval.errors import DataError, RequestError, SourceError
from tests.core.sources.test_prefixes import read
from tests.support.commands import run

LOG = {
    "version": 2,
    "eval": {"model": "m"},
    "samples": [
        {"id": "a", "scores": {"correct": 1, "why": "x"}, "p": 0.5},
        {"id": "b", "scores": {"correct": 0, "why": None}, "p": 1, "extra": {"k": 1}},
    ],
}


def write(path: Path, content: object) -> Path:
    data = json.dumps(content, indent=1).encode()
    path.write_bytes(gzip.compress(data) if path.suffix == ".gz" else data)
    return path


@pytest.mark.parametrize("name", ["log.json", "log.json.gz"])
def test_rows_that_are_objects(tmp_path: Path, name: str) -> None:
    found = read(write(tmp_path / name, LOG), rows="samples")
    assert found.drop("extra").rows(named=True) == [
        {"id": "a", "scores": {"correct": 1, "why": "x"}, "p": 0.5},
        {"id": "b", "scores": {"correct": 0, "why": None}, "p": 1.0},
    ]
    assert found["extra"].to_list() == [None, {"k": 1}]


def test_rows_below_other_fields_and_in_several_files(tmp_path: Path) -> None:
    folder = tmp_path / "logs" / "day=2"
    folder.mkdir(parents=True)
    for i in range(3):
        write(folder / f"{i}.json", {"results": {"rows": [{"y": i}, {"y": i + 10}]}})
    found = read(tmp_path / "logs", rows="results.rows").sort("y")
    assert found.rows() == [(y, "2") for y in (0, 1, 2, 10, 11, 12)]
    lines = [json.dumps({"results": {"rows": [{"y": i}]}}) for i in range(30_000)]
    (tmp_path / "many.jsonl").write_text("\n".join([*lines, '{"results": {"rows": [{"y": 0.5}]}}']))
    many = read(tmp_path / "many.jsonl", rows="results.rows")
    assert (many.height, many["y"].sum()) == (30_001, sum(range(30_000)) + 0.5)


def test_a_table_of_mlflow(tmp_path: Path) -> None:
    path = write(
        tmp_path / "eval_results_table.json",
        {
            "columns": ["id", "p", "text", "ok", "meta", "mixed"],
            "data": [
                [1, 0.5, "x", True, {"k": 1}, "a"],
                [2, 1, "y", False, None, 3],
                [3, None, None, None, {"k": 2}, None],
            ],
        },
    )
    found = read(path, rows="data")
    assert found.schema == {
        "id": pl.Int64, "p": pl.Float64, "text": pl.String, "ok": pl.Boolean,
        "meta": pl.Struct({"k": pl.Int64}), "mixed": pl.String,
    }  # fmt: skip
    assert found["p"].to_list() == [0.5, 1.0, None]
    assert found["mixed"].to_list() == ["a", "3", None]
    assert found["meta"].to_list() == [{"k": 1}, None, {"k": 2}]


def test_a_frame_of_pandas_with_orient_split(tmp_path: Path) -> None:
    frame = pd.DataFrame({"y": [0, 1, 1], "p": [0.25, 1.0, 0.5], "n": ["a", 'b "c"', "d"]})
    frame.to_json(tmp_path / "a.json", orient="split")
    found = read(tmp_path / "a.json", rows="data")
    assert found.to_pandas().equals(pd.read_json(tmp_path / "a.json", orient="split"))
    frame.columns = range(3)  # pyright: ignore[reportAttributeAccessIssue]
    frame.to_json(tmp_path / "a.json", orient="split")
    assert read(tmp_path / "a.json", rows="data").columns == ["0", "1", "2"]


def test_a_document_larger_than_the_usual_limit(tmp_path: Path) -> None:
    rows = [{"y": i % 2, "p": i / 250_000, "text": "x" * 80} for i in range(250_000)]
    (tmp_path / "a.json").write_text(json.dumps({"samples": rows}))
    assert (tmp_path / "a.json").stat().st_size > 17_000_000
    found = sqleval.scan(tmp_path / "a.json", label="y", score="p", rows="samples")
    expected = sqleval.scan(pl.DataFrame(rows), label="y", score="p")
    values = [each.evaluate("roc_auc").collect()["value"][0] for each in (found, expected)]
    assert values[0] == values[1]


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ("sample", "there is no field 'sample'; did you mean 'samples'.*lists are 'samples'"),
        ("eval", "holds STRUCT.*it must hold a list of objects"),
        ("version.rows", "'version' holds BIGINT, which has no fields"),
        ("eval.rows", r"there is no field 'eval\.rows'"),
        ("samples.", "must be the field that holds the rows"),
    ],
)
def test_a_wrong_field_is_an_error(tmp_path: Path, rows: str, message: str) -> None:
    path = write(tmp_path / "a.json", LOG)
    with pytest.raises(RequestError, match=message):
        sqleval.scan(path, label="y", score="p", rows=rows)


@pytest.mark.parametrize(
    ("content", "error", "message"),
    [
        ({"data": [[1, 2]]}, SourceError, "the field 'columns', which names their values, is mis"),
        ({"columns": ["a", "b"], "data": [[1, 2], [3]]}, DataError, "a row must have 2 values"),
    ],
)
def test_wrong_lists_are_an_error(
    tmp_path: Path, content: object, error: Any, message: str
) -> None:
    path = write(tmp_path / "a.json", content)
    with pytest.raises(error, match=message):
        read(path, rows="data")


def test_lists_of_several_files_have_one_set_of_names(tmp_path: Path) -> None:
    for name in "ab":
        write(tmp_path / f"{name}.json", {"columns": ["y", name], "data": [[1, 2]]})
    with pytest.raises(SourceError, match="differs between documents"):
        read(tmp_path, rows="data")
    write(tmp_path / "b.json", {"columns": ["y", "a"], "data": [[2, 0.5]]})
    assert read(tmp_path, rows="data").sort("y").rows() == [(1, 2.0), (2, 0.5)]


def test_rows_are_for_json(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("y,p\n0,.1\n")
    for source in (tmp_path / "a.csv", pl.DataFrame({"y": [1]})):
        with pytest.raises(RequestError, match=r"rows='x' \(--rows\) is for JSON"):
            sqleval.scan(source, label="y", score="p", rows="x")


def test_commands_take_rows(tmp_path: Path) -> None:
    samples = [{"y": i % 2, "p": (i % 5) / 5, "id": i} for i in range(40)]
    path = str(write(tmp_path / "a.json", {"samples": samples}))
    roles = ["--label", "y", "--score", "p"]
    done = run("evaluate", path, "--rows", "samples", *roles, "-m", "roc_auc", "--format", "json")
    expected = sqleval.scan(pl.DataFrame(samples), label="y", score="p").evaluate("roc_auc")
    assert json.loads(done.stdout)[0]["value"] == expected.collect()["value"][0]
    shown = run("inspect", path, "--rows", "samples")
    assert f"sqleval evaluate {path} --rows samples --label y --score p" in shown.stdout
    split = run("split", path, "--rows", "samples", "--key", "id", "--format", "csv")
    assert len(split.stdout.split()) == 41


def test_messages_name_rows_and_fields(tmp_path: Path) -> None:
    rows = [{"judge": {"score": i / 9, "pass": i > 4}} for i in range(9)]
    path = tmp_path / "a.json"
    path.write_text(json.dumps({"meta": {"day": 1}, "payload": {"events": rows}}))
    for roles, given, message in (
        (("judge.pass", "judge.score"), None,
         r"\(columns: meta, payload\); 'payload.events' holds .* \(--rows payload.events\)"),
        (("judge.pass", "judge.score"), "payload.event",
         "no field 'payload.event'; did you mean 'payload.events'"),
        (("judge.pass", "judge.score"), "payload", "did you mean 'payload.events'"),
        (("judge.pass", "judge.scor"), "payload.events",
         r"score='judge.scor': 'judge' has no field 'scor' in .*; did you mean 'score'\? "
         r"\(fields: score, pass\)"),
        (("judge.pas", "judge.score"), "payload.events", "no field 'pas' .*did you mean 'pass'"),
    ):  # fmt: skip
        with pytest.raises(RequestError, match=message):
            sqleval.scan(path, label=roles[0], score=roles[1], rows=given)
    scanned = {"label": "judge.pass", "score": "judge.score", "rows": "payload.events"}
    for more in ({"where": "judge.scor > 3"}, {"by": {"x": "judge.scor + 1"}}):
        with pytest.raises(RequestError, match=r"'judge' has no field 'scor' in .*'score'"):
            sqleval.scan(path, **scanned, **more).evaluate("roc_auc")
    found = sqleval.scan(path, **scanned, where="judge.SCORE > 0").evaluate("roc_auc")
    assert found.collect().select("value", "n").row(0) == (1.0, 8)
