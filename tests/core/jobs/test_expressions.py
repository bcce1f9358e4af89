"""Jobs whose roles are expressions keep the history of jobs whose columns hold the values."""

from pathlib import Path
from typing import Any

import deltalake
import duckdb
import polars as pl
import pytest

from sqleval.jobs.definitions import list_columns
from sqleval.jobs.running.validation import check_job
from tests.support.comparison import assert_frame_equal
from tests.support.lake import LATER, Lake, evaluated, rows, weekly
from tests.support.table_lakes import DAYS, DeltaLake, reasons

COLUMNS = ["period", "slice", "metric", "value", "n", "n_dropped", "matured", "note", "error"]
ROLES = {"label": "outcome = 'won'", "score": "1 - p_lost", "weight": "cents / 100"}
PLAIN = {"label": "y", "score": "p", "weight": "w"}


def _write(frame: pl.DataFrame) -> pl.DataFrame:
    """Return rows in which only expressions give the label, the score and the weight."""
    words = pl.col("y").replace_strict({0: "lost", 1: "won"}, return_dtype=pl.String)
    return _weigh(frame).select(
        "key", "day", "seg", outcome=words, p_lost=1 - pl.col("p"), cents=pl.col("w") * 100
    )


def _weigh(frame: pl.DataFrame) -> pl.DataFrame:
    return frame.with_columns(p=1 - (1 - pl.col("p")), w=(pl.col("key") % 3 + 1).cast(pl.Float64))


def _compare(one: Lake, other: Lake) -> None:
    keys = ["period", "slice", "metric"]
    left, right = (each.history().select(COLUMNS).sort(keys) for each in (one, other))
    assert left["error"].null_count() == left.height > 0
    assert_frame_equal(left, right, abs_tol=1e-12)


def _make_lakes(folder: Path, kind: Any = Lake) -> tuple[Lake, Lake]:
    """Return a lake whose job has expressions, and one with the same rows in columns."""
    made: list[Lake] = []
    for name, change, roles in (("written", _write, ROLES), ("plain", _weigh, PLAIN)):
        (folder / name).mkdir()
        lake = kind(folder / name)
        frame = change(rows())
        if kind is Lake:
            lake.put(frame)
        else:
            lake.append(frame)
        lake.spec |= {**roles, "slices": [[], ["seg"]], "by": None, "ci": 0.95}
        lake.spec["metrics"] = ["roc_auc", "log_loss", "precision"]
        made.append(lake)
    return made[0], made[1]


@pytest.mark.parametrize("kind", [Lake, DeltaLake])
def test_expressions_over_files_and_tables(kind: Any, tmp_path: Path) -> None:
    lakes = _make_lakes(tmp_path, kind)
    for lake in lakes:
        check_job(lake.job())
        assert evaluated(lake.run(backfill=True, as_of=LATER)) == DAYS
        assert evaluated(lake.run(backfill=True, as_of=LATER)) == []
    _compare(*lakes)


def test_another_expression_is_another_definition(tmp_path: Path) -> None:
    lake, _ = _make_lakes(tmp_path)
    lake.run(backfill=True, as_of=LATER)
    done = lake.run(backfill=True, as_of=LATER, changes={"score": "1 - p_lost / 2"})
    assert evaluated(done) == DAYS


def test_a_change_in_a_database_that_only_an_expression_reads(tmp_path: Path) -> None:
    lake = Lake(tmp_path)
    with duckdb.connect(tmp_path / "w.duckdb") as con:
        con.register("frame", _write(rows()).with_columns(remark=pl.lit("")).to_arrow())
        con.execute("CREATE TABLE preds AS FROM frame")
    lake.spec |= {**ROLES, "source": "w.duckdb#preds"}
    lake.run(backfill=True, as_of=LATER)
    other = "CASE WHEN outcome = 'won' THEN 'lost' ELSE 'won' END"
    changes = (f"outcome = {other} WHERE key = 1", "P_LOST = 0.5 WHERE key = 130", "cents = 5 "
               "WHERE key = 250", "remark = 'no job reads it'")  # fmt: skip
    with duckdb.connect(tmp_path / "w.duckdb") as con:
        for change in changes:
            con.execute(f"UPDATE preds SET {change}")
    done = lake.run(backfill=True, as_of=LATER)
    assert reasons(done) == dict.fromkeys(DAYS[:3], "data changed")


@pytest.mark.parametrize("maturity", ["0h", "1d"])
def test_late_labels(maturity: str, tmp_path: Path) -> None:
    lakes = _make_lakes(tmp_path)
    for lake, column in zip(lakes, ("outcome", "y"), strict=True):
        frame = pl.read_parquet(lake.folder / "preds" / "*.parquet")
        value = pl.col(column)
        # Two rows of the first day have a key and no label.
        labels = frame.select("key", pl.when(pl.col("key") > 1).then(value).alias(column))
        labels.write_parquet(lake.folder / "labels.parquet")
        lake.put(frame.drop(column))
        late = {"source": "labels.parquet", "on": "key", "maturity": maturity}
        lake.spec |= {"labels": late}
        check_job(lake.job())
        assert evaluated(lake.run(backfill=True, as_of=LATER)) == DAYS
        assert evaluated(lake.run(backfill=True, as_of=LATER)) == []
    _compare(*lakes)
    matured = lakes[0].history().group_by("period").agg(pl.col("matured").min()).sort("period")
    assert matured["matured"].to_list() == pytest.approx([118 / 120, 1, 1, 1])


def test_late_labels_of_a_database_are_read_again_when_they_change(tmp_path: Path) -> None:
    lake, _ = _make_lakes(tmp_path)
    frame = pl.read_parquet(lake.folder / "preds" / "*.parquet")
    lake.put(frame.drop("outcome"))
    with duckdb.connect(lake.folder / "w.duckdb") as con:
        con.register("frame", frame.select("key", "outcome").to_arrow())
        con.execute("CREATE TABLE labels AS FROM frame")
    lake.spec["labels"] = {"source": "w.duckdb#labels", "on": "key"}
    lake.run(backfill=True, as_of=LATER)
    with duckdb.connect(lake.folder / "w.duckdb") as con:
        con.execute(
            "UPDATE labels SET outcome = CASE outcome WHEN 'won' THEN 'lost' ELSE 'won' END "
            "WHERE key = 130"
        )
    assert reasons(lake.run(backfill=True, as_of=LATER)) == {DAYS[1]: "data changed"}


def test_rows_before_their_labels(tmp_path: Path) -> None:
    lakes = _make_lakes(tmp_path)
    for lake, column in zip(lakes, ("outcome", "y"), strict=True):
        frame = pl.read_parquet(lake.folder / "preds" / "*.parquet")
        frame.select("key", column).write_parquet(lake.folder / "labels.parquet")
        lake.put(frame.drop(column))
        late = {"source": "labels.parquet", "on": "key", "maturity": "1000d"}
        lake.spec |= {"labels": late, "ci": None, "weight": None}
        for expected in (False, True):
            lake.spec |= {"expected": expected, "name": f"nightly{expected}"}
            lake.run(backfill=True, as_of=LATER)
    _compare(*lakes)
    assert {"arrived(rows)", "expected(roc_auc)"} <= set(lakes[0].history()["metric"])


def test_states_and_weeks(tmp_path: Path) -> None:
    lakes = _make_lakes(tmp_path)
    for lake in lakes:
        lake.spec |= {"states": "states", "weight": None, "ci": None}
        lake.spec["metrics"] = ["log_loss", "roc_auc"]
        lake.run(backfill=True, as_of=LATER)
        weeks = weekly(lake)
        check_job(weeks.job())
        assert len(evaluated(weeks.run(backfill=True, as_of=LATER))) == 1
    _compare(*lakes)


def test_several_models_and_vectors(tmp_path: Path) -> None:
    lake, plain = _make_lakes(tmp_path)
    frame = _weigh(rows())
    both = pl.concat_list(1 - pl.col("p"), "p")
    lake.put(frame.with_columns(both=both))
    lake.spec |= {"label": "y", "weight": None, "ci": None, "metrics": ["roc_auc", "log_loss"]}
    plain.spec |= {"weight": None, "ci": None, "metrics": ["roc_auc", "log_loss"]}
    lake.spec["score"] = {"a": "both[2]", "b": "p / 2"}
    plain.put(frame.with_columns(half=pl.col("p") / 2))
    plain.spec["score"] = {"a": "p", "b": "half"}
    for each in (lake, plain):
        each.run(backfill=True, as_of=LATER)
    _compare(lake, plain)
    for each, score in ((lake, "both"), (plain, "p")):
        each.spec |= {"name": "single", "score": score}
        check_job(each.job())
        each.run(backfill=True, as_of=LATER)
    _compare(lake, plain)


def test_a_vector_of_three_classes(tmp_path: Path) -> None:
    lake, plain = _make_lakes(tmp_path)
    thirds = [pl.col("p") / 3, pl.col("p") / 3, 1 - pl.col("p") / 3 * 2]
    names = pl.col("seg").replace_strict({"a": "ant", "b": "bee", "c": "cat"})
    frame = rows().with_columns(y=names)
    lake.put(frame.with_columns(probability=pl.struct(values=pl.concat_list(thirds))))
    plain.put(frame.with_columns(p0=thirds[0], p1=thirds[1], p2=thirds[2]))
    same = {"label": "y", "weight": None, "ci": None, "slices": None, "metrics": ["log_loss"]}
    classes = ["ant", "bee", "cat"]
    lake.spec |= {**same, "score": "probability.values", "classes": classes}
    plain.spec |= {
        **same,
        "task": "multiclass",
        "score": dict(zip(classes, ["p0", "p1", "p2"], strict=True)),
    }
    for each in (lake, plain):
        check_job(each.job())
        assert evaluated(each.run(backfill=True, as_of=LATER)) == DAYS
    _compare(lake, plain)


@pytest.mark.parametrize("metrics", [None, ["log_loss"]])
@pytest.mark.parametrize("has_numbers", [False, True], ids=["texts", "places"])
def test_a_vector_of_three_classes_before_its_labels(
    metrics: list[str] | None, tmp_path: Path, *, has_numbers: bool
) -> None:
    lake, plain = _make_lakes(tmp_path)
    names = [0, 1, 2] if has_numbers else ["ant", "bee", "cat"]
    thirds = [pl.col("p") / 3, pl.col("p") / 3, 1 - pl.col("p") / 3 * 2]
    frame = rows().with_columns(
        y=pl.col("seg").replace_strict(dict(zip("abc", names, strict=True)))
    )
    for each in (lake, plain):
        frame.select("key", "y").write_parquet(each.folder / "labels.parquet")
        each.spec |= {"label": "y", "weight": None, "ci": None, "metrics": metrics}
    frame = frame.drop("y")
    lake.put(frame.with_columns(probability=pl.struct(values=pl.concat_list(thirds))))
    plain.put(frame.with_columns(p0=thirds[0], p1=thirds[1], p2=thirds[2]))
    lake.spec |= {"score": "probability.values"} | ({} if has_numbers else {"classes": names})
    columns = dict(zip(names, ["p0", "p1", "p2"], strict=True))
    plain.spec |= {"task": "multiclass", "score": columns}
    for each in (lake, plain):
        for maturity in ("1000d", "0h"):
            late = {"source": "labels.parquet", "on": "key", "maturity": maturity}
            each.spec |= {"labels": late}
            check_job(each.job())
            each.run(backfill=True, as_of=LATER)
    _compare(lake, plain)
    assert "arrived(rows)" in lake.history()["metric"]


def test_a_compaction(tmp_path: Path) -> None:
    lake = DeltaLake(tmp_path)
    for start in range(2):
        lake.append(_write(rows(days=1, start=start)), partition_by=None)
    lake.spec |= ROLES
    lake.run(backfill=True)
    assert deltalake.DeltaTable(lake.table).optimize.compact()["numFilesRemoved"] == 2
    assert evaluated(lake.run(backfill=True)) == []


def test_columns_that_decide_the_version_of_a_file(lake: Lake) -> None:
    roles = {**ROLES, "score": {"a": "probability.values[2]", "b": "x.y"}, "where": "z > 0"}
    read = {"outcome", "probability", "x", "cents", "z", "day"}
    assert read <= {*list_columns(lake.job(**roles))}
