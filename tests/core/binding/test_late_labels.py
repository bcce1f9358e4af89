"""Late labels: ``labels=`` joined to the rows by ``on=``, and the notice of what did not match."""

from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import duckdb
import polars as pl
import pyarrow.dataset as ds
import pytest
from sklearn.metrics import roc_auc_score

import sqleval
from sqleval import DataError, RequestError, UnmatchedRows
from tests.support.comparison import assert_frame_equal
from tests.support.flights import FLIGHTS, ROWS

SCORED = ROWS.drop("delayed", "delay_class")
#: The first 40 flights have no outcome yet; 7 outcomes belong to flights nobody scored.
KNOWN = pl.concat(
    [
        ROWS[40:].select("key", "delayed", "delay_class"),
        pl.DataFrame(
            {"key": [-i for i in range(1, 8)], "delayed": [1] * 7, "delay_class": ["minor"] * 7}
        ),
    ]
).sample(fraction=1, shuffle=True, seed=1)
NOTICE = r"labels=: 40 of 3000 rows have no label yet and are left out; 7 labels match no row"
LATE: dict[str, Any] = {"label": "delayed", "score": "p", "on": "key"}


def late_sources(folder: Path) -> Iterator[tuple[object, object]]:
    """Yield a source and its labels, in kinds that may meet in one call."""
    SCORED.write_parquet(folder / "scored.parquet")
    KNOWN.write_parquet(folder / "known.parquet")
    scored, known = folder / "scored.parquet", folder / "known.parquet"
    yield scored, known
    yield SCORED, KNOWN
    yield scored, KNOWN.lazy()
    yield SCORED.lazy(), KNOWN.lazy()
    yield SCORED.to_arrow().to_reader(), KNOWN.to_arrow()
    yield SCORED.to_arrow().to_reader(), KNOWN.to_arrow().to_reader()
    yield SCORED.to_pandas(), str(known)
    yield ds.dataset(scored), KNOWN.to_arrow().to_reader()
    yield duckdb.read_parquet(str(scored)), known
    yield scored, duckdb.read_parquet(str(known))
    yield duckdb.read_parquet(str(scored)), duckdb.read_parquet(str(known))
    yield duckdb.read_parquet(str(scored)), KNOWN


#: A metric of ranks and one of values: a statement of both would read a stream more than once.
METRICS = ["roc_auc", "log_loss"]


@cache
def evaluate_matched() -> pl.DataFrame:
    """Return the metrics of the rows that have a label."""
    matched = sqleval.scan(ROWS[40:], label="delayed", score="p", weight="w", by="carrier")
    return matched.evaluate(METRICS).collect().drop("n_dropped")


@pytest.mark.parametrize("nth", range(12))
def test_late_labels_are_joined(nth: int, tmp_path: Path) -> None:
    source, labels = list(late_sources(tmp_path))[nth]
    result = sqleval.scan(source, labels=labels, weight="w", by="carrier", **LATE)
    with pytest.warns(UnmatchedRows, match=NOTICE):
        got = result.evaluate(METRICS).collect()
    assert_frame_equal(got.drop("n_dropped"), evaluate_matched())
    by_carrier = got.filter(pl.col("metric") == "log_loss").select("carrier", "n", "n_dropped")
    counts = ROWS.with_row_index().group_by("carrier").agg(
        n=(pl.col("index") >= 40).sum().cast(pl.Int64),
        n_dropped=(pl.col("index") < 40).sum().cast(pl.Int64),
    )  # fmt: skip
    assert_frame_equal(by_carrier, counts, check_row_order=False)


def test_labels_on_the_connection_of_the_source(tmp_path: Path) -> None:
    con = duckdb.connect()
    con.from_arrow(SCORED.to_arrow()).create("scored")
    con.from_arrow(KNOWN.to_arrow()).create("known")
    for source, labels in (
        (con.table("scored"), con.table("known")),
        ("scored", con.table("known")),
    ):
        given = {"con": con} if isinstance(source, str) else {}
        with pytest.warns(UnmatchedRows, match=NOTICE):
            got = sqleval.scan(source, labels=labels, **given, **LATE).evaluate("roc_auc").collect()
        assert got["n"].item() == 2960
    bound = sqleval.scan(con.table("scored"), labels=KNOWN, where="carrier = 'AA'", **LATE)
    with pytest.warns(UnmatchedRows, match=r"18 of 1063 rows have no label yet"):
        assert bound.evaluate("roc_auc").collect()["n"].item() > 0


def test_where_and_a_filter_judge_the_rows_not_the_labels(tmp_path: Path) -> None:
    bound = sqleval.scan(SCORED, labels=KNOWN, where="carrier = 'AA'", **LATE)
    late = ROWS[:40].filter(pl.col("carrier") == "AA").height
    total = ROWS.filter(pl.col("carrier") == "AA").height
    with pytest.warns(UnmatchedRows, match=rf"{late} of {total} rows .* 7 labels match no row"):
        got = bound.evaluate("roc_auc").collect()
    assert got["n"].item() == total - late

    sliced = sqleval.scan(SCORED, labels=KNOWN, by="carrier", **LATE).evaluate("roc_auc")
    with pytest.warns(UnmatchedRows, match=r"7 labels match no row"):
        kept = sliced.filter(pl.col("carrier") == "AA").collect()
    assert kept["value"].to_list() == got["value"].to_list()


@pytest.mark.parametrize("by", [None, "carrier"])
def test_a_condition_that_no_row_meets(by: str | None) -> None:
    bound = sqleval.scan(SCORED, labels=KNOWN, where="carrier = 'none'", by=by, **LATE)
    with pytest.warns(UnmatchedRows, match=r"labels=: 0 of 0 rows .* 7 labels match no row"):
        bound.evaluate("roc_auc").collect()


def test_labels_that_all_match_give_no_notice() -> None:
    bound = sqleval.scan(SCORED[40:], labels=KNOWN.filter(pl.col("key") > 0), **LATE)
    assert bound.evaluate("roc_auc").collect()["n_dropped"].item() == 0


def test_curve_and_confusion_take_late_labels() -> None:
    bound = sqleval.scan(SCORED, labels=KNOWN, **LATE)
    with pytest.warns(UnmatchedRows, match=NOTICE):
        assert bound.confusion().collect()["n"].sum() == 2960
    with pytest.warns(UnmatchedRows, match=NOTICE):
        assert bound.curve("roc").collect()["fpr"].max() == 1


def test_late_labels_of_several_models_and_classes() -> None:
    models = sqleval.scan(
        SCORED, labels=KNOWN, label="delayed", on="key", score={"one": "p", "two": "q"}
    )
    # Two models do not make two rows.
    with pytest.warns(UnmatchedRows, match=NOTICE):
        got = models.evaluate("roc_auc").collect()
    assert got["model"].to_list() == ["one", "two"]
    assert got["n"].to_list() == [2960, 2960]
    assert got["value"].to_list() == [
        pytest.approx(roc_auc_score(ROWS[40:]["delayed"], ROWS[40:][score])) for score in "pq"
    ]


def test_the_label_may_stand_in_the_source_too() -> None:
    # A column of the same name in the source is not the truth: labels= says where that is.
    stale = SCORED.with_columns(delayed=pl.lit(0))
    with pytest.warns(UnmatchedRows, match=NOTICE):
        got = sqleval.scan(stale, labels=KNOWN, **LATE).evaluate("prevalence").collect()
    assert got["value"].item() == pytest.approx(ROWS[40:]["delayed"].mean())


def test_keys_repeated_among_the_labels_are_an_error() -> None:
    for labels in (pl.concat([KNOWN, KNOWN[:3]]), pl.concat([KNOWN, KNOWN[:3]]).lazy()):
        bound = sqleval.scan(SCORED, labels=labels, **LATE)
        for result in (bound.evaluate("roc_auc"), bound.curve("roc"), bound.confusion()):
            with pytest.raises(
                DataError, match=r"on='key' has 3 repeats; a key may have one label"
            ):
                result.collect()


def test_keys_repeated_among_the_rows_share_their_label() -> None:
    twice = pl.concat([SCORED[40:], SCORED[40:]])
    got = (
        sqleval.scan(twice, labels=KNOWN.filter(pl.col("key") > 0), **LATE)
        .evaluate("roc_auc")
        .collect()
    )
    assert got["n"].item() == 2 * 2960
    assert got["value"].item() == pytest.approx(roc_auc_score(ROWS[40:]["delayed"], ROWS[40:]["p"]))


def test_a_missing_key_matches_nothing() -> None:
    blank = {"key": [None, None], "p": [0.5, 0.5]}
    scored = pl.concat(
        [SCORED[40:].select("key", "p"), pl.DataFrame(blank, schema_overrides={"key": pl.Int64})]
    )
    labels = pl.concat(
        [
            KNOWN.filter(pl.col("key") > 0).select("key", "delayed"),
            pl.DataFrame({"key": [None], "delayed": [1]}, schema_overrides={"key": pl.Int64}),
        ]
    )
    with pytest.warns(UnmatchedRows, match=r"2 of 2962 rows .* 1 labels match no row"):
        got = sqleval.scan(scored, labels=labels, **LATE).evaluate("roc_auc").collect()
    assert got["n"].item() == 2960


def test_a_label_that_is_known_to_be_missing_is_a_missing_value() -> None:
    known = KNOWN.with_columns(delayed=pl.when(pl.col("key") % 10 > 0).then("delayed"))
    cancelled = ROWS[40:].filter(pl.col("key") % 10 == 0).height
    sentence = rf"label='delayed' is NULL or NaN in {cancelled} of 3000 rows"
    with pytest.raises(DataError, match=sentence):
        sqleval.scan(SCORED, labels=known, **LATE).evaluate("roc_auc").collect()
    with pytest.warns(UnmatchedRows, match=NOTICE):
        got = sqleval.scan(SCORED, labels=known, nulls="drop", **LATE).evaluate("roc_auc").collect()
    assert got["n_dropped"].item() == 40 + cancelled


def test_without_any_label_the_value_is_null_with_a_notice() -> None:
    with pytest.warns(UnmatchedRows, match=r"3000 of 3000 rows have no label yet"):
        got = sqleval.scan(SCORED, labels=KNOWN[:0], **LATE).evaluate("roc_auc").collect()
    assert got.select("value", "n", "n_dropped", "note").rows() == [(None, 0, 3000, "no rows")]


def test_the_whole_of_the_committed_labels() -> None:
    roles: dict[str, Any] = {"label": "delayed", "score": "p_boosted", "nulls": "drop"}
    predictions = FLIGHTS / "predictions"
    late = sqleval.scan(predictions, labels=FLIGHTS / "labels", on="key", **roles)
    direct = sqleval.scan(predictions, **roles)
    columns = ("metric", "value", "n", "n_dropped")
    assert_frame_equal(
        late.evaluate().select(columns).collect(), direct.evaluate().select(columns).collect()
    )


DAYS = pl.Series("id", [f"2025-01-0{day}" for day in range(1, 5)]).str.to_date()
FEW = pl.DataFrame({"id": DAYS, "p": [0.1, 0.4, 0.35, 0.8], "y": [0, 0, 1, 1]})


@pytest.mark.parametrize(
    ("ours", "theirs"),
    [
        (DAYS, DAYS.cast(pl.Datetime("us"))),
        (DAYS.cast(pl.Datetime("ns")), DAYS),
        # These numbers are equal as doubles.
        (pl.Series("id", [2**64 - i for i in range(1, 5)], dtype=pl.UInt64),) * 2,
    ],
)
def test_keys_are_compared_exactly(ours: pl.Series, theirs: pl.Series) -> None:
    rows, labels = FEW.select(ours, "p"), FEW.select(theirs, "y").reverse()
    found = sqleval.scan(rows, labels=labels, on="id", label="y", score="p")
    row = found.evaluate("roc_auc").collect().row(0, named=True)
    assert (row["value"], row["n"]) == (0.75, 4)


@pytest.mark.parametrize("kind", [pl.Date, pl.Datetime("us")])
def test_times_with_and_without_a_zone_never_match(kind: Any) -> None:
    zoned = FEW.select(DAYS.cast(pl.Datetime("us")).dt.replace_time_zone("UTC"), "y")
    rows = FEW.select(DAYS.cast(kind), "p")
    expected = r"on='id' is \w+ in .* and TIMESTAMP WITH TIME ZONE in .*: whether they are equal"
    with pytest.raises(RequestError, match=expected):
        sqleval.scan(rows, labels=zoned, on="id", label="y", score="p")
