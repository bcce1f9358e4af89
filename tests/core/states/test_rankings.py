"""States of rankings: a row per query with the value of each metric."""

import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import sqleval
from sqleval.errors import DataError, RequestError
from sqleval.states.merging import merge_states
from tests.support.commands import run
from tests.support.comparison import assert_frame_equal
from tests.support.rankings import RANKED, draw_rankings, list_values, scan

METRICS = ["ndcg", "ndcg(k=3)"]


def drop_ends(frame: pl.DataFrame) -> pl.DataFrame:
    """Return a result without the bounds that a state adds to values without an interval."""
    return frame.drop("low", "high")


@pytest.mark.parametrize("by", [(), "g", ["g", "day"]])
def test_a_state_gives_what_the_rows_give(by: Any) -> None:
    state = scan(by=["g", "day"]).state(METRICS).collect()
    assert state.height == 60
    back = sqleval.from_state(state, by=by)
    for ci in (None, 0.95):
        found, expected = (x.evaluate(METRICS, ci=ci).collect() for x in (back, scan(by=by)))
        plain = drop_ends if ci is None else lambda frame: frame
        assert_frame_equal(plain(found), plain(expected))
    value = back.evaluate("ndcg").collect()["value"]
    if not by:
        expected = np.mean([*list_values(RANKED, "a").values()])
        assert value.item() == pytest.approx(expected, rel=1e-12)
    call: dict[str, Any] = {"ci": 0.9, "ci_method": "bootstrap", "replicates": 200}
    found, expected = (x.evaluate("ndcg", **call).collect() for x in (back, scan(by=by)))
    assert_frame_equal(found, expected)


def test_sets_of_keys_and_models() -> None:
    two = {"a": "a", "b": "b"}
    state = scan(score=two, by="g").state("ndcg").collect()
    back = sqleval.from_state(state, by=["g", "model"], sets=[["model"], ["g", "model"]])
    expected = scan(score=two, by="g", sets=[[], ["g"]]).evaluate("ndcg").collect()
    columns = ["g", "model", "value", "n", "note"]
    found = back.evaluate("ndcg").collect().select(columns)
    assert_frame_equal(found.sort(columns), expected.select(columns).sort(columns))


def test_parts_are_merged_and_parts_of_a_query_refused(tmp_path: Path) -> None:
    files = []
    for day, rows in RANKED.partition_by("day", as_dict=True).items():
        files.append(str(tmp_path / f"{day[0]}.parquet"))
        scan(rows).state(METRICS).collect().write_parquet(files[-1])
    merged = merge_states(files).collect()
    expected = scan().evaluate(METRICS, ci=0.95).collect()
    for states in (files, merged):
        found = sqleval.from_state(states).evaluate(METRICS, ci=0.95).collect()
        assert_frame_equal(found, expected)
    for part in (RANKED[:100], RANKED[100:]):
        files.append(str(tmp_path / f"part_{len(part)}.parquet"))
        scan(part).state(METRICS).collect().write_parquet(files[-1])
    # Query 12 has rows of both parts.
    message = "^1 queries are there several times in the states, slices or periods"
    with pytest.raises(RequestError, match=message):
        merge_states(files[2:])
    with pytest.raises(DataError, match=message):
        sqleval.from_state(files[2:]).evaluate("ndcg").collect()
    whole = sqleval.from_state(files[:2], by=[]).evaluate("ndcg").collect()
    assert whole["n"].item() == RANKED.height
    divided = scan(RANKED.with_columns(g=pl.col("k") % 2), by="g").state("ndcg").collect()
    with pytest.raises(DataError, match="60 queries are there several times"):
        sqleval.from_state(divided).evaluate("ndcg").collect()
    assert sqleval.from_state(divided, by="g").evaluate("ndcg").collect().height == 2


def test_rows_left_out_are_counted() -> None:
    rows = RANKED.with_columns(
        a=pl.when(pl.col("k") % 50 > 0).then("a").otherwise(math.nan),
        q=pl.when(pl.col("k") != 300).then("q"),
    )
    back = sqleval.from_state(scan(rows, nulls="drop").state("ndcg").collect())
    expected = scan(rows, nulls="drop").evaluate("ndcg").collect()
    assert_frame_equal(drop_ends(back.evaluate("ndcg").collect()), drop_ends(expected))
    assert expected["n_dropped"].item() == 10
    with pytest.raises(DataError, match="score='a' is NaN in 10 of 480"):
        scan(rows.with_columns(q=RANKED["q"])).state("ndcg").collect()
    labels = RANKED.select("k", "y").filter(pl.col("k") < 400)
    late = sqleval.scan(RANKED.drop("y"), label="y", score="a", qid="q", labels=labels, on="k")
    with pytest.warns(UserWarning, match="80 of 480 rows are not judged; 0 labels match no row$"):
        state = late.state("ndcg").collect()
    found = sqleval.from_state(state).evaluate("ndcg").collect()
    with pytest.warns(UserWarning, match="80 of 480"):
        expected = late.evaluate("ndcg").collect()
    assert expected["note"].item().endswith("; not judged: 80 of 480 items")
    assert_frame_equal(drop_ends(found).drop("note"), drop_ends(expected).drop("note"))
    empty = scan(RANKED[:0]).state("ndcg").collect()
    assert (empty.height, empty.schema["ndcg"]) == (0, pl.Float64)


def test_what_a_state_does_not_hold_is_refused() -> None:
    state = scan().state("ndcg").collect()
    with pytest.raises(RequestError, match=r"the state does not hold ndcg\(k=5\); it holds ndcg$"):
        sqleval.from_state(state).evaluate("ndcg(k=5)")
    other = scan(score="b").state("ndcg").collect()
    with pytest.raises(RequestError, match="these states cannot be merged: roles is"):
        sqleval.from_state(pl.concat([state, other]))
    for key in ("query", "ndcg"):
        with pytest.raises(RequestError, match="a state has a column of that name; rename the key"):
            scan(RANKED.with_columns(pl.col("g").alias(key)), by=key).state("ndcg")
    with pytest.raises(RequestError, match="roc_auc is a binary metric and the task is ranking"):
        sqleval.from_state(state).evaluate("roc_auc")


def test_the_command_keeps_and_evaluates_rankings(tmp_path: Path) -> None:
    rows, state = tmp_path / "rows.parquet", str(tmp_path / "state.parquet")
    draw_rankings().with_columns(pl.col("day").str.to_date()).write_parquet(rows)
    roles = ["--label", "y", "--score", "a", "--qid", "q"]
    build = ["state", "build", str(rows), *roles, "--grain", "day", "--time", "day"]
    done = run(*build, "--output", state)
    assert "60 rows, of 480 predictions" in done.stderr
    call = ["--format", "json", "--ci", "0.95", "-m", "ndcg"]
    found = json.loads(run("state", "evaluate", state, "--grain", "month", *call).stdout)
    expected = json.loads(run("evaluate", str(rows), *roles, *call).stdout)
    assert found[0].pop("period") == "2026-01-01"
    assert found == [pytest.approx(each) for each in expected]
    merged = str(tmp_path / "merged.parquet")
    assert "60 rows" in run("state", "merge", state, "--output", merged).stderr
    done = run("state", "merge", state, merged, "--output", str(tmp_path / "x.parquet"), code=2)
    assert "60 queries are there several times" in done.stderr
