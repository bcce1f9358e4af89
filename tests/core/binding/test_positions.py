"""Labels that are joined to the rows by their place, ``by_position=True``."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import polars as pl
import pyarrow.dataset as ds
import pytest
from sklearn.metrics import roc_auc_score

import sqleval
from sqleval.errors import DataError, RequestError
from sqleval.jobs.file.reading import read_job
from tests.support.commands import run
from tests.support.lake import SMALLEST


def draw(n: int, seed: int = 0) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Return predictions and labels; the score is high for few, scattered rows."""
    rng = np.random.default_rng(seed)
    label = rng.random(n) < 0.3
    score = np.round(0.3 * label + 0.7 * rng.random(n), 4)
    rows = pl.DataFrame({"p": score, "q": rng.random(n), "g": np.arange(n) % 3})
    return rows, pl.DataFrame({"target": label.astype("int64")})


ROWS, LABELS = draw(3_000)
ROLES: dict[str, Any] = {"label": "target", "score": "p", "by_position": True}
AREA = roc_auc_score(LABELS["target"], ROWS["p"])


def evaluate(source: Any, labels: Any, **roles: Any) -> float:
    found = sqleval.scan(source, labels=labels, **(ROLES | roles)).evaluate(["roc_auc", "log_loss"])
    return float(found.collect()["value"][0])


def write_csv(folder: Path, frame: pl.DataFrame, name: str) -> str:
    frame.write_csv(folder / f"{name}.csv")
    return str(folder / f"{name}.csv")


FORMS: dict[str, Callable[[Path, pl.DataFrame, str], Any]] = {
    "frame": lambda _, frame, name: frame,
    "lazy": lambda _, frame, name: frame.lazy(),
    "pandas": lambda _, frame, name: frame.to_pandas(),
    "table": lambda _, frame, name: frame.to_arrow(),
    "reader": lambda _, frame, name: frame.to_arrow().to_reader(max_chunksize=100),
    "csv": write_csv,
}


@pytest.mark.parametrize("form", FORMS)
def test_each_row_has_the_label_of_its_place(form: str, tmp_path: Path) -> None:
    make = FORMS[form]
    found = evaluate(make(tmp_path, ROWS, "a"), make(tmp_path, LABELS, "b"))
    assert found == pytest.approx(AREA, rel=1e-12)


def test_options_go_with_positions() -> None:
    kept = ROWS["q"] > 0.5
    expected = roc_auc_score(LABELS["target"].filter(kept), ROWS["p"].filter(kept))
    bound = sqleval.scan(ROWS, labels=LABELS, where="q > 0.5", **ROLES)
    assert bound.evaluate("roc_auc").collect()["value"].item() == pytest.approx(expected, rel=1e-12)
    sliced = sqleval.scan(ROWS, labels=LABELS, by={"third": "g + 1"}, **ROLES).evaluate("roc_auc")
    for third, value in sliced.collect().select("third", "value").iter_rows():
        part = ROWS["g"] == third - 1
        area = roc_auc_score(LABELS["target"].filter(part), ROWS["p"].filter(part))
        assert value == pytest.approx(area, rel=1e-12)
    joined = ROWS.with_columns(LABELS.get_columns())
    plain = sqleval.scan(joined, label="target", score={"p": "p", "q": "q"})
    placed = sqleval.scan(ROWS, labels=LABELS, **(ROLES | {"score": {"p": "p", "q": "q"}}))
    for verb in (
        lambda x: x.compare("roc_auc"),
        lambda x: x.evaluate("roc_auc", ci=0.9, ci_method="bootstrap", replicates=100),
        lambda x: x.curve("roc"),
        lambda x: x.evaluate("roc_auc", tolerance=1e-3),
        lambda x: x.leaderboard("roc_auc"),
    ):
        assert verb(placed).collect().equals(verb(plain).collect())
    state = sqleval.scan(ROWS, labels=LABELS, **ROLES).state("roc_auc").collect()
    one = sqleval.scan(joined, label="target", score="p").state("roc_auc").collect()
    assert state.drop("definition").equals(one.drop("definition"))


@pytest.mark.parametrize("ending", ["parquet", "csv", "arrow"])
def test_files_are_read_in_the_order_of_the_list(
    ending: str, tmp_path: Path, set_threads: Callable[[int], None]
) -> None:
    """Several row groups, threads and files, whose names do not sort in the order of the list."""
    rows, labels = draw(400_000, 1)
    area = roc_auc_score(labels["target"], rows["p"])

    def write(frame: pl.DataFrame, name: str, cuts: list[int]) -> list[str]:
        paths = [str(tmp_path / f"{name}{9 - i}.{ending}") for i in range(len(cuts) - 1)]
        for path, start, end in zip(paths, cuts[:-1], cuts[1:], strict=True):
            part = frame[start:end]
            if ending == "parquet":
                part.write_parquet(path, row_group_size=10_000)
            elif ending == "arrow":
                part.write_ipc(path, record_batch_size=10_000)
            else:
                part.write_csv(path)
        return paths

    sources = write(rows, "a", [0, 150_001, 150_003, 400_000])
    late = write(labels, "b", [0, 7, 123_457, 300_000, 399_999, 400_000])
    set_threads(8)
    for source, target in ((sources, late), (tuple(sources), labels), (rows.lazy(), late)):
        assert evaluate(source, target, where="q >= 0") == pytest.approx(area, rel=1e-12)
    kept = rows["q"] < 0.01
    expected = roc_auc_score(labels["target"].filter(kept), rows["p"].filter(kept))
    assert evaluate(sources, late, where="q < 0.01") == pytest.approx(expected, rel=1e-12)
    # The same files in another order are other rows.
    assert abs(evaluate(sources[::-1], late) - area) > 0.05


@pytest.mark.parametrize("counted", [True, False])
def test_each_model_and_slice_has_one_row(*, counted: bool) -> None:
    # No other check of the rows has an aggregate, which would make one row of all slices.
    rows = pl.DataFrame({"a": [0.1, 0.5, 0.9, 0.3], "b": [0.2, 0.4, 0.1, 0.8], "g": [1, 1, 2, 2]})
    labels = pl.DataFrame({"won": ["y", "n", "y", "n"]}).head(4 if counted else 3)
    found = sqleval.scan(
        rows, label="won = 'y'", score={"a": "a", "b": "b"}, threshold={"a": 0.3, "b": 0.6},
        by="g", nulls="drop", labels=labels, by_position=True,
    ).evaluate("accuracy")  # fmt: skip
    if counted:
        assert found.collect()["value"].to_list() == [0.0, 0.5, 0.5, 0.0]
    else:
        with pytest.raises(DataError, match="the source has 4 rows, and labels= has 3"):
            found.collect()


@pytest.mark.parametrize("verb", ["evaluate", "where", "compare", "state", "bins", "stream"])
def test_unequal_counts_are_an_error(verb: str) -> None:
    for rows, labels, counts in (
        (ROWS[:5], LABELS[:3], "the source has 5 rows, and labels= has 3"),
        (ROWS[:3], LABELS[:5], "the source has 3 rows, and labels= has 5"),
        (ROWS[:0], LABELS[:2], "the source has 0 rows, and labels= has 2"),
    ):
        source: Any = rows.to_arrow().to_reader() if verb == "stream" else rows
        more: dict[str, Any] = {"where": "q > 2"} if verb == "where" else {}
        more |= {"score": {"p": "p", "q": "q"}} if verb == "compare" else {}
        bound = sqleval.scan(source, labels=labels, **(ROLES | more))
        if verb == "compare":
            if rows.is_empty():  # nothing is compared, and the note says so
                continue
            result = bound.compare("roc_auc")
        elif verb == "state":
            result = bound.state("roc_auc")
        else:
            result = bound.evaluate("roc_auc", bins=10 if verb == "bins" else None)
        with pytest.raises(DataError, match=f"True needs a label for each row: {counts}"):
            result.collect()


def test_sources_without_an_order_are_refused_by_name(tmp_path: Path) -> None:
    (tmp_path / "many").mkdir()
    ROWS.write_parquet(tmp_path / "many" / "a.parquet")
    con = duckdb.connect(str(tmp_path / "x.duckdb"))
    con.execute("CREATE TABLE t AS SELECT 1 AS p")
    relation = con.table("t")
    folder, pattern = str(tmp_path / "many"), str(tmp_path / "many" / "*.parquet")
    for source, name in (
        (folder, "many"),
        (pattern, r"\*\.parquet"),
        ([pattern], r"\*\.parquet"),
        (ds.dataset(folder), "the dataset"),
        (relation, "the relation"),
    ):
        for pair in ((source, LABELS), (ROWS, source)):
            with pytest.raises(RequestError, match=f"in a stated order, which .*{name} does not"):
                sqleval.scan(pair[0], labels=pair[1], **ROLES)
    with pytest.raises(RequestError, match="which t does not have; give a file"):
        sqleval.scan("t", con=con, labels=LABELS, **ROLES)
    with pytest.raises(RequestError, match="which the query does not have"):
        sqleval.scan(query="SELECT 1 AS p", labels=LABELS, **ROLES)
    con.close()
    goes = r"by_position=True \(--by-position\) goes with labels= \(--labels\), and without on="
    for more in ({"labels": LABELS, "on": "p"}, {}):
        with pytest.raises(RequestError, match=goes):
            sqleval.scan(ROWS, **ROLES, **more)
    with pytest.raises(RequestError, match="does not go with long="):
        sqleval.scan(ROWS, labels=LABELS, long={"model": "g"}, key="q", **ROLES)


def test_a_job_and_other_engines_refuse_positions(tmp_path: Path) -> None:
    path = tmp_path / "job.yml"
    path.write_text(SMALLEST + "labels: {source: labels.csv, by_position: true}\n")
    with pytest.raises(RequestError, match="labels: by_position: a job reads the files of periods"):
        read_job(path)
    done = run("sql", "roc_auc", "--dialect", "spark", "--table", "t", "--label", "y", "--score",
               "p", "--labels", "u", "--by-position", code=2)  # fmt: skip
    assert "--by_position cannot be used with --table" in done.stderr


def test_the_command(tmp_path: Path) -> None:
    rows, labels = write_csv(tmp_path, ROWS, "oof"), write_csv(tmp_path, LABELS, "train")
    call = ["evaluate", rows, "--labels", labels, "--label", "target", "--score", "p"]
    done = run(*call, "--by-position", "-m", "roc_auc", "--format", "csv")
    assert f"roc_auc,{AREA:.9f}" in done.stdout
    assert done.stderr == ""
    short = write_csv(tmp_path, LABELS[:-1], "short")
    call[3] = short
    done = run(*call, "--by-position", "-m", "roc_auc", code=2)
    assert "the source has 3000 rows, and labels= has 2999" in done.stderr
