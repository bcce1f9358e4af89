"""States on Spark of scores that are whole numbers."""

import polars as pl

import sqleval
from sqleval.engines.opening import open_engine


def test_a_state_of_whole_scores_has_their_bins() -> None:
    rows = pl.DataFrame({"y": [1, 0, 1, 0, 0], "p": [3, 1, 2, 2, 1]})
    session = open_engine("sail").session  # pyright: ignore[reportAttributeAccessIssue]
    ours, theirs = (
        sqleval.scan(source, label="y", score="p").state().collect().sort("score", "label")
        for source in (rows, session.createDataFrame(rows.to_arrow()))
    )
    columns = ["label", "score", "score_low", "score_high", "n", "used"]
    assert theirs.select(columns).equals(ours.select(columns))
