"""Jobs of rankings, with judgements that are joined by query and document."""

from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from pydantic import ValidationError

from sqleval.errors import RequestError
from sqleval.jobs.running.validation import check_job
from tests.core.binding.test_qrels import ON, QRELS, RUN, join, mean
from tests.support.commands import run
from tests.support.lake import LATER, Lake, evaluated, read_results, steps

DAYS = RUN.with_columns(
    day=pl.date(2026, 1, "day"), seg=pl.when(pl.col("q") < 20).then(pl.lit("s")).otherwise("lang")
)


@pytest.fixture
def lists(tmp_path: Path) -> Lake:
    """Two days of lists, whose judgements lie in two files; a query comes on both days."""
    made = Lake(tmp_path)
    made.put(DAYS)
    (tmp_path / "qrels").mkdir()
    QRELS[:200].write_parquet(tmp_path / "qrels" / "first.parquet")
    made.job(
        label="y", score="a", qid="q", by=None, slices=[[], ["seg"]], metrics=["ndcg", "ndcg(k=3)"],
        labels={"source": "qrels", "on": ON}, nulls="error", gates=None,
    )  # fmt: skip
    return made


def expect(rows: pl.DataFrame, qrels: pl.DataFrame, k: int | None = None) -> tuple[float, int]:
    """Return NDCG and the number of items of a day: a query without rows belongs to no day."""
    joined = join(rows, qrels.filter(pl.col("q").is_in(rows["q"].implode())))
    return mean(joined, "a", k), joined.height


def check(done: Any, qrels: pl.DataFrame) -> None:
    assert done.errors == []
    results = read_results(done)
    for metric, k in (("ndcg", None), ("ndcg(k=3)", 3)):
        for (day,), rows in DAYS.partition_by("day", as_dict=True).items():
            parts = {"{}": rows} | {
                f'{{"seg":"{seg}"}}': part
                for (seg,), part in rows.partition_by("seg", as_dict=True).items()
            }
            found = results.filter(metric=metric, period=str(day))
            assert set(found["slice"]) == set(parts)
            for name, part in parts.items():
                (row,) = found.filter(slice=name).iter_rows(named=True)
                assert (row["value"], row["n"]) == pytest.approx(expect(part, qrels, k)), name
                assert "of them only in the labels" in row["note"]


def test_items_that_a_list_lacks_are_added_by_period(lists: Lake) -> None:
    done = lists.run(backfill=True)
    check(done, QRELS[:200])
    assert evaluated(lists.run(as_of=LATER)) == []
    # Judgements of documents that no list has change the values, too.
    seen = RUN.select(ON).unique()
    new = QRELS[200:]
    unseen = new.join(seen, on=ON, how="anti").filter(pl.col("q").is_in(RUN["q"].implode()))
    assert unseen.height > 0
    unseen.write_parquet(lists.folder / "qrels" / "second.parquet")
    done = lists.run(as_of=LATER)
    # Their queries are among those of the first day only.
    assert unseen["q"].min() >= 30
    assert evaluated(done) == ["2026-01-01"]
    check(done, pl.concat([QRELS[:200], unseen]))


def test_rows_without_a_score_arrive_before_their_labels(lists: Lake) -> None:
    lists.put(DAYS.with_columns(a=pl.when(pl.col("q") % 4 > 0).then("a")))
    labels = {"source": "qrels", "on": ON, "maturity": "7d"}
    night = datetime(2026, 1, 3, 3, tzinfo=UTC)
    done = lists.run(as_of=night, changes={"labels": labels})
    assert done.errors == []
    assert set(steps(done).values()) == {"check"}
    done = lists.run(as_of=night + timedelta(days=10), backfill=True)
    assert done.errors == []
    row = read_results(done).filter(metric="ndcg", slice="{}", period="2026-01-01")
    rows = DAYS.filter(day=date(2026, 1, 1)).with_columns(a=pl.when(pl.col("q") % 4 > 0).then("a"))
    assert row["value"].item() == pytest.approx(expect(rows, QRELS[:200])[0])


def test_states_of_added_items_give_the_week(lists: Lake) -> None:
    assert not lists.run(backfill=True, changes={"states": {"folder": "states", "bins": 12}}).errors
    (first, second) = (
        pl.read_parquet(path) for path in sorted((lists.folder / "states").rglob("*.parquet"))
    )
    for state, (_, rows) in zip(
        (first, second), DAYS.group_by("day", maintain_order=True), strict=True
    ):
        values = state.filter(pl.col("seg").is_not_null())["ndcg"].drop_nulls().to_numpy()
        assert np.mean(values) == pytest.approx(expect(rows, QRELS[:200])[0])


def test_other_tasks_join_by_several_keys(lists: Lake) -> None:
    labels = RUN.select("day", *ON, z=(pl.col("a") + pl.col("b") > 0).cast(int))
    labels = labels.with_columns(day=pl.date(2026, 1, "day"))
    labels[:-40].write_parquet(lists.folder / "labels.parquet")
    done = lists.run(
        backfill=True,
        changes={"qid": None, "label": "z", "metrics": ["roc_auc"], "history": "other.duckdb",
                 "labels": {"source": "labels.parquet", "on": ["day", *ON]}},
    )  # fmt: skip
    assert done.errors == []
    found = read_results(done).filter(slice="{}").sort("period")
    assert found["n"].sum() == RUN.height - 40


def test_wrong_keys_are_named(lists: Lake) -> None:
    with pytest.raises(RequestError, match=r"labels.on='dok': no such column|on='dok': no such"):
        check_job(lists.job(labels={"source": "qrels", "on": ["q", "dok"]}))
    with pytest.raises((ValidationError, RequestError)):
        lists.job(labels={"source": "qrels", "on": []})
    done = run("validate", str(lists.folder / "job.yml"), code=2)
    assert "labels.on" in done.stderr
