"""A prefix names the format of a file with another ending; TREC runs and qrels."""

import gzip
import json
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import sqleval
from sqleval.engines.embedded import embedded
from sqleval.errors import DataError, RequestError, SourceError
from sqleval.sources.opening import open_source
from tests.support.commands import run

RUN = '1 Q0 d1 1 9.5 tag\n1 Q0 d"2 2 8 tag\n\n2\tQ0\td1  1 7e-1 tag\r\n'
QRELS = "1 0 d1 1\n1 0 d3 2\n2 0 d1 0\n"


def read(source: object, **options: Any) -> pl.DataFrame:
    """Return the rows of a source as the engine reads them."""
    opened, columns = embedded().describe(open_source(source, name="_sqleval_rows", **options))
    statement = f"SELECT * FROM {opened.relation} AS s"
    return embedded().run(statement, {}, [opened], opened.objects(list(columns)), pl.DataFrame)


def test_a_prefix_names_the_format(tmp_path: Path) -> None:
    rows = pl.DataFrame({"y": [0, 1, 1], "p": [0.2, 0.7, 0.4]})
    rows.write_csv(tmp_path / "csv.dat")
    rows.write_parquet(tmp_path / "parquet.dat")
    rows.write_ndjson(tmp_path / "json.dat")
    rows.write_ipc(tmp_path / "arrow.dat")
    (tmp_path / "whitespace.dat").write_text("y  p\n0 0.2\n1\t0.7\n 1   0.4 \n")
    (tmp_path / "arff.dat").write_text(
        "@relation r\n@attribute y integer\n@attribute p real\n@data\n0,0.2\n1,0.7\n1,0.4\n"
    )
    for name in ("csv", "parquet", "json", "arrow", "whitespace", "arff"):
        assert read(f"{name}+{tmp_path}/{name}.dat").equals(rows), name
        assert read([f"{name}+{tmp_path}/{name}.dat"]).equals(rows), name
    (tmp_path / "csv.dat.gz").write_bytes(gzip.compress((tmp_path / "csv.dat").read_bytes()))
    (tmp_path / "w.dat.gz").write_bytes(gzip.compress((tmp_path / "whitespace.dat").read_bytes()))
    assert read(f"csv+{tmp_path}/csv.dat.gz").equals(rows)
    assert read(f"whitespace+{tmp_path}/w.dat.gz").equals(rows)
    assert read(f"csv+{tmp_path}/c*.dat").equals(rows)


def test_a_prefix_reads_all_files_of_a_folder(tmp_path: Path) -> None:
    folder = tmp_path / "all" / "day=1"
    folder.mkdir(parents=True)
    for i in range(2):
        (folder / f"{i}.dat").write_text(f"y,p\n{i},0.5\n")
    (folder / ".hidden").write_text("x\n")
    found = read(f"csv+{tmp_path}/all").sort("y")
    assert found.rows() == [(0, 0.5, "1"), (1, 0.5, "1")]


def test_an_unknown_ending_names_the_prefixes(tmp_path: Path) -> None:
    (tmp_path / "scores.dat").write_text("y,p\n0,.1\n")
    with pytest.raises(SourceError, match=r"the format must precede the path: parquet\+, csv\+"):
        sqleval.scan(tmp_path / "scores.dat", label="y", score="p")
    roles = ["--label", "y", "--score", "p"]
    done = run("evaluate", str(tmp_path / "scores.dat"), *roles, code=2)
    assert f"as in csv+{tmp_path}" in done.stderr


def test_prefixes_of_a_list_must_be_the_same(tmp_path: Path) -> None:
    for name in ("a.csv", "b.dat"):
        (tmp_path / name).write_text("y,p\n0,.1\n1,.2\n")
    with pytest.raises(RequestError, match="write the same one before each path"):
        open_source([f"csv+{tmp_path}/b.dat", f"{tmp_path}/a.csv"], name="_sqleval_rows")
    assert read([f"csv+{tmp_path}/b.dat", f"csv+{tmp_path}/a.csv"]).height == 4


@pytest.mark.parametrize("name", ["a.run", "a.trec", "trec+a.txt"])
def test_a_trec_run(tmp_path: Path, name: str) -> None:
    prefix, _, file = name.rpartition("+")
    (tmp_path / file).write_text(RUN)
    path = f"{prefix}+{tmp_path}/{file}" if prefix else str(tmp_path / file)
    found = read(path)
    assert found.columns == ["qid", "iteration", "doc", "rank", "score", "run"]
    assert found.rows() == [
        ("1", "Q0", "d1", 1, 9.5, "tag"),
        ("1", "Q0", 'd"2', 2, 8.0, "tag"),
        ("2", "Q0", "d1", 1, 0.7, "tag"),
    ]


def test_qrels_have_keys_of_the_same_types(tmp_path: Path) -> None:
    (tmp_path / "a.qrels.gz").write_bytes(gzip.compress(QRELS.encode()))
    found = read(tmp_path / "a.qrels.gz")
    assert found.schema == {
        "qid": pl.String, "iteration": pl.String, "doc": pl.String, "relevance": pl.Int64
    }  # fmt: skip
    assert found.rows() == [("1", "0", "d1", 1), ("1", "0", "d3", 2), ("2", "0", "d1", 0)]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("1 Q0 d1 1 9.5 tag\n1 Q0 d2 2 8\n", "a line must have 6 values, and one is: 1 Q0 d2 2 8"),
        ("1 Q0 d1 1 x tag\n", "column score must be DOUBLE, but a value is x"),
        ("1 Q0 d1 1.5 1 tag\n", "column rank must be BIGINT, but a value is 1.5"),
    ],
)
def test_a_wrong_line_of_a_run_is_an_error(tmp_path: Path, text: str, message: str) -> None:
    (tmp_path / "a.run").write_text(text)
    with pytest.raises(DataError, match=f"a.run: {message}"):
        read(tmp_path / "a.run")


def test_a_command_reads_runs_and_qrels(tmp_path: Path) -> None:
    (tmp_path / "run.txt").write_text("1 Q0 d1 1 9 t\n1 Q0 d2 2 8 t\n1 Q0 d3 3 7 t\n")
    (tmp_path / "rel.txt").write_text("1 0 d1 1\n1 0 d2 0\n1 0 d3 1\n")
    done = run(
        "evaluate", f"trec+{tmp_path}/run.txt", "--labels", f"qrels+{tmp_path}/rel.txt",
        "--on", "doc", "--label", "relevance", "--score", "score", "--qid", "qid",
        "-m", "ndcg", "--format", "json",
    )  # fmt: skip
    # (1 + 1 / log2(4)) / (1 + 1 / log2(3))
    assert json.loads(done.stdout)[0]["value"] == pytest.approx(1.5 / 1.6309297535714573)


def test_outputs_do_not_overwrite_a_source_with_a_prefix(tmp_path: Path) -> None:
    path = tmp_path / "rows.json"
    path.write_text("y,p\n0,.1\n1,.2\n")
    before = path.read_text()
    done = run(
        "evaluate", f"csv+{path}", "--label", "y", "--score", "p", "--output", str(path), code=2
    )  # fmt: skip
    assert "would overwrite a file of" in done.stderr
    assert path.read_text() == before
