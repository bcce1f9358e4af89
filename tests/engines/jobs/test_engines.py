"""Jobs whose rows another engine evaluates keep the history that DuckDB gives."""

from datetime import timedelta
from pathlib import Path

import polars as pl
import pytest

from sqleval import RequestError
from sqleval.jobs.running.validation import check_job
from tests.support.comparison import assert_frame_equal
from tests.support.lake import FIRST, Lake, evaluated, rows

COLUMNS = ["period", "slice", "metric", "value", "low", "high", "n", "n_dropped", "note"]


def compare(one: Lake, other: Lake) -> None:
    keys = ["period", "slice", "metric"]
    left, right = (each.history().select(COLUMNS).sort(keys) for each in (one, other))
    assert left.height > 0
    assert_frame_equal(left, right, abs_tol=1e-9)


@pytest.fixture
def lakes(tmp_path: Path) -> tuple[Lake, Lake]:
    """Return the same lake for Sail and for DuckDB."""
    made: list[Lake] = []
    for engine in ("sail", None):
        folder = tmp_path / str(engine)
        folder.mkdir()
        lake = Lake(folder)
        lake.spec |= {"slices": [[], ["seg"]], "by": None, "metrics": ["log_loss"]}
        if engine is not None:
            lake.spec["engine"] = engine
        lake.put(rows())
        made.append(lake)
    return made[0], made[1]


def test_a_changed_day_is_evaluated_alone(lakes: tuple[Lake, Lake]) -> None:
    for lake in lakes:
        # Intervals only here: the other tests are about files, labels and states.
        lake.spec |= {"ci": 0.95, "metrics": ["roc_auc", "log_loss"]}
        keys = {"third": "cut(p, [0.3, 0.6])", "even": "key % 2 = 0"}
        lake.spec["slices"] = [[], ["seg"], keys]
        assert len(evaluated(lake.run(backfill=True))) == 4
    compare(*lakes)
    for lake in lakes:
        lake.put(rows(days=1, start=4, seed=3))
        assert evaluated(lake.run()) == ["2026-01-05"]
        assert evaluated(lake.run()) == []
    compare(*lakes)


def test_a_query(lakes: tuple[Lake, Lake]) -> None:
    query = """
    SELECT * EXCLUDE (items), vector.values[1] / 2 AS p, UNNEST(items) AS y
    FROM source WHERE key % 5 > 0
    """
    both = pl.concat_list("y", 1 - pl.col("y"))
    frame = rows().with_columns(vector=pl.struct(values=pl.concat_list("p", "p")), items=both)
    for lake in lakes:
        lake.put(frame.drop("p", "y"))
        lake.spec |= {"query": query}
        check_job(lake.job())
        assert len(evaluated(lake.run(backfill=True))) == 4
    compare(*lakes)
    assert set(lakes[0].history()["n"]) >= {192}


def test_weeks_and_states(lakes: tuple[Lake, Lake]) -> None:
    states: list[pl.DataFrame] = []
    for lake in lakes:
        lake.spec |= {"period": {"column": "day", "grain": "week"}, "states": "states"}
        assert len(evaluated(lake.run(backfill=True))) == 1
        files = sorted((lake.folder / "states").glob("*.parquet"))
        states.append(pl.concat([pl.read_parquet(file) for file in files]))
    compare(*lakes)
    keys = ["seg", "label", "score"]
    one, other = (each.sort(keys).select(*keys, "n") for each in states)
    assert_frame_equal(one, other)


def test_late_labels(lakes: tuple[Lake, Lake]) -> None:
    for lake in lakes:
        frame = rows()
        lake.put(frame.drop("y"))
        frame.select("key", "y").write_parquet(lake.folder / "labels.parquet")
        lake.spec |= {"labels": {"source": "labels.parquet", "on": "key"}}
        assert len(evaluated(lake.run(backfill=True))) == 4
    compare(*lakes)


def test_files_in_folders_of_a_pattern_one_of_them_damaged(lakes: tuple[Lake, Lake]) -> None:
    # Spark finds no partition key of such a pattern, and fails over any file that it cannot read.
    frame = rows().with_columns(month=pl.col("day").dt.strftime("%m"), code=pl.lit("07"))
    for lake in lakes:
        for file in (lake.folder / "preds").glob("*.parquet"):
            file.unlink()
        for (day,), part in frame.drop("month", "code").partition_by("day", as_dict=True).items():
            path = (
                lake.folder / "preds" / "month=01" / "code=07" / f"of {day:%a}" / f"{day}.parquet"
            )
            path.parent.mkdir(parents=True)
            part.write_parquet(path)
        lake.spec |= {"source": "preds/**/*.parquet", "slices": [[], ["month", "code"]]}
        check_job(lake.job())
        assert len(evaluated(lake.run(backfill=True))) == 4
    compare(*lakes)
    slices = lakes[0].history()["slice"].unique().to_list()
    assert sorted(slices) == ['{"month":"01","code":"07"}', "{}"]
    for lake in lakes:
        day = FIRST + timedelta(days=2)
        (damaged,) = lake.folder.glob(f"preds/**/{day}.parquet")
        damaged.write_bytes(damaged.read_bytes()[:200])
        (other,) = lake.folder.glob(f"preds/**/{FIRST}.parquet")
        rows(days=1, seed=9).write_parquet(other)
        done = lake.run()
        assert evaluated(done) == [str(FIRST), str(day)]
        assert done.errors
        assert all(f"{day}.parquet" in error for error in done.errors), done.errors
    compare(*lakes)


def test_jobs_that_an_engine_cannot_run_are_refused(lakes: tuple[Lake, Lake]) -> None:
    lake = lakes[0]
    assert "4 files, binary (1 is positive, threshold 0.5), 1 metric" in check_job(lake.job())
    with pytest.raises(RequestError, match="engine: sail evaluates files; it cannot with verify"):
        check_job(lake.job(verify=True))
    with pytest.raises(RequestError, match="engine: a job does not evaluate in a database"):
        check_job(lake.job(verify=None, engine="postgresql://me@host/db"))
    with pytest.raises(RequestError, match=r"engine='sial' must be one of: duckdb, spark, sail"):
        check_job(lake.job(verify=None, engine="sial"))
