"""Merged states equal the state of all rows, and states that do not fit are refused."""

import json
from functools import cache
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import polars as pl
import pytest
from click.testing import CliRunner

import sqleval
from sqleval import RequestError, SourceError
from sqleval.cli import main
from sqleval.states.files import write_state
from sqleval.states.merging import merge_states

RNG = np.random.default_rng(11)
N = 6000
FRAME = pl.DataFrame(
    {
        "y": RNG.integers(0, 2, N),
        "p": np.clip(RNG.normal(0.5, 0.2, N), 0, 1),
        "w": RNG.choice([0.0, 0.5, 2.0], N),
        "carrier": pl.Series([["AA", "DL", None][i] for i in RNG.integers(0, 3, N)]),
        "day": RNG.integers(0, 75, N),
        "v": RNG.normal(size=N),
        "c": RNG.choice(["x", "y", "z"], N),
        "d": RNG.choice(["x", "y", "z"], N),
    }
).with_columns(day=pl.date(2026, 1, 1) + pl.duration(days="day"))
EXACT = [
    "log_loss", "brier_score", "accuracy", "precision", "recall", "f1", "matthews_corrcoef",
    "prevalence", "balanced_accuracy", "expected_calibration_error", "precision(threshold=0.3)",
]  # fmt: skip
BOUNDED = ["roc_auc", "average_precision", "ks", "best_f_beta", "cost_curve_area"]


def state_of(frame: pl.DataFrame, metrics: Any = EXACT, **options: Any) -> pl.DataFrame:
    roles = {"label": "y", "score": "p", "by": "carrier"}
    roles |= {name: options.pop(name) for name in ("weight", "nulls", "by") if name in options}
    options = {"grain": "day", "time": "day", "bins": 9, **options}
    return sqleval.scan(frame, **roles).state(metrics, **options).collect()


@cache
def whole_state() -> pl.DataFrame:
    return state_of(FRAME)


def parts_of(count: int) -> list[pl.DataFrame]:
    return FRAME.with_columns(part=pl.int_range(pl.len()) % count).partition_by("part")


def same(found: pl.DataFrame, expected: pl.DataFrame, keys: list[str]) -> None:
    on = [*keys, "metric", "n", "n_dropped"]
    both = found.join(expected, on=on, nulls_equal=True, validate="1:1", suffix="_whole")
    assert both.height == found.height == expected.height
    for name in ("value", "low", "high"):
        known = both.filter(pl.col(f"{name}_whole").is_not_null())
        difference = (known[name] - known[f"{name}_whole"]).abs()
        # Bounds are rounded outward by a share that grows with the number of bins in the statement.
        allowed = 1e-12 if name == "value" else 1e-10
        assert known.is_empty() or difference.max() <= allowed, both  # type: ignore[operator]


# Sums are weighted before they are grouped, so one case of each is enough. A test below tries
# weights by slice, with values.
@pytest.mark.parametrize(("weight", "by"), [(None, ["carrier"]), ("w", [])])
def test_merged_states_give_what_all_rows_give(
    weight: str | None, by: list[str], tmp_path: Path
) -> None:
    # Independent files.
    for number, part in enumerate(parts_of(4)):
        state_of(part, weight=weight).write_parquet(tmp_path / f"{number}.parquet")
    is_bounded = pl.col("metric").is_in(BOUNDED)
    states = sqleval.from_state(tmp_path, by=by).evaluate([*EXACT, *BOUNDED]).collect()
    rows = sqleval.scan(FRAME, label="y", score="p", weight=weight, by=by)
    exact = rows.evaluate([*EXACT, *BOUNDED]).collect()
    same(states.filter(~is_bounded), exact.filter(~is_bounded), by)
    same(states.filter(is_bounded), rows.evaluate(BOUNDED, bins=9).collect(), by)
    both = states.filter(is_bounded).join(
        exact, on=[*by, "metric"], nulls_equal=True, suffix="_exact", validate="1:1"
    )
    assert both.height == len(BOUNDED) * (3 if by else 1)
    assert both.filter(pl.col("value_exact").is_between("low", "high")).height == both.height
    if weight is None:
        counts = whole_state()
        alike = ["carrier", "period", "label", "score"]
        parts = pl.concat([pl.read_parquet(file) for file in tmp_path.glob("*.parquet")])
        added = parts.group_by(alike).agg(pl.sum("n")).sort(alike)
        assert added.equals(counts.group_by(alike).agg(pl.sum("n")).sort(alike))


@pytest.mark.parametrize("grain", ["week", "month", "quarter", "year"])
def test_longer_periods_come_from_days(grain: str) -> None:
    states = sqleval.from_state(whole_state(), by="carrier", grain=grain)
    cut = FRAME.with_columns(
        period=pl.col("day").dt.truncate({"week": "1w", "month": "1mo"}.get(grain, f"1{grain[0]}"))
        .cast(pl.String)
    )  # fmt: skip
    rows = sqleval.scan(cut, label="y", score="p", by=["carrier", "period"])
    keys = ["carrier", "period"]
    same(states.evaluate(EXACT).collect(), rows.evaluate(EXACT).collect(), keys)


def test_a_window_of_days() -> None:
    window = "period BETWEEN '2026-01-10' AND '2026-02-08'"
    states = sqleval.from_state(whole_state(), by=["carrier"], where=window)
    rows = sqleval.scan(
        FRAME, label="y", score="p", by="carrier",
        where="day BETWEEN DATE '2026-01-10' AND DATE '2026-02-08'",
    )  # fmt: skip
    same(states.evaluate(EXACT).collect(), rows.evaluate(EXACT).collect(), ["carrier"])
    by_day = sqleval.from_state(whole_state(), by="period", where=window)
    assert by_day.evaluate("prevalence").collect().height == 30


def test_merged_is_the_same_and_smaller(tmp_path: Path) -> None:
    parts = [state_of(part) for part in parts_of(3)]
    together = merge_states(pl.concat(parts)).collect()
    assert together.height < sum(part.height for part in parts)
    whole = whole_state()
    assert together.height == whole.height
    assert together["n"].sum() == whole["n"].sum() == N
    same(
        sqleval.from_state(together, by="carrier").evaluate(EXACT).collect(),
        sqleval.from_state(whole, by="carrier").evaluate(EXACT).collect(),
        ["carrier"],
    )


def test_rows_of_weight_zero_do_not_widen_bounds() -> None:
    # The rows with weight have one score per bin; the rows of weight 0 would widen the bins.
    sure = pl.DataFrame({"y": [0, 1, 0, 1], "p": [0.2, 0.2, 0.7, 0.7], "w": [1.0, 2.0, 1.0, 3.0]})
    state_one, state_two = (
        sqleval.scan(frame, label="y", score="p", weight="w").state("roc_auc", bins=2).collect()
        for frame in (sure, sure.with_columns(p=pl.col("p") + 0.01, w=pl.lit(0.0)))
    )
    exact = sqleval.scan(sure, label="y", score="p", weight="w").evaluate("roc_auc").collect()
    both = pl.concat([state_one, state_two])
    for states in (both, merge_states(both).collect()):
        found = sqleval.from_state(states).evaluate("roc_auc").collect()
        for name in ("value", "low", "high"):
            assert found[name].item() == pytest.approx(exact["value"].item(), abs=1e-13), name


def test_metrics_find_their_sums_in_any_order() -> None:
    asked = ["brier_score", "log_loss", "expected_calibration_error", "accuracy"]
    states = sqleval.from_state(state_of(FRAME, asked))
    for order in (asked, asked[::-1]):
        found = states.evaluate(order).collect()
        assert found["metric"].to_list() == order
        assert found["value"].null_count() == 0


def test_bounds_where_a_bin_may_have_no_predicted_positives() -> None:
    rows = pl.DataFrame({"y": [0, 0, 0, 1, 1, 0], "p": [0.9, 0.9, 1.0, 0.1, 0.1, 0.1]})
    bound = sqleval.scan(rows, label="y", score="p", threshold=1.0)
    state = sqleval.scan(rows, label="y", score="p").state("roc_auc", bins=1).collect()
    metrics = ["matthews_corrcoef", "precision", "negative_predictive_value", "f1"]
    found = sqleval.from_state(state, threshold=1.0).evaluate(metrics).collect()
    both = found.join(bound.evaluate(metrics).collect(), on="metric", suffix="_exact")
    assert both.filter(pl.col("value_exact").is_between("low", "high")).height == len(metrics)
    assert both["low"][0] == pytest.approx(-(0.5**0.5))


def test_bounds_contain_the_value_of_zero_division() -> None:
    rows = pl.DataFrame({"y": [0, 1, 0], "p": [0.26, 0.3, 0.45], "g": ["a", "a", "b"]})
    bound = sqleval.scan(rows, label="y", score="p", by="g")
    asked = [f"{name}(zero_division=1, threshold=0.31)" for name in ("precision", "f1")]
    state = sqleval.from_state(bound.state("roc_auc", bins=1).collect(), by="g")
    found, exact = state.evaluate(asked).collect(), bound.evaluate(asked).collect()
    both = found.join(exact, on=["g", "metric"], suffix="_exact")
    assert both.filter(pl.col("value_exact").is_between("low", "high")).height == exact.height
    assert found.filter(g="a", metric=asked[0])["value"].item() == 1


def test_bounds_of_a_threshold_do_not_depend_on_other_metrics() -> None:
    states = sqleval.from_state(state_of(FRAME, ["log_loss", "precision"], bins=3))
    alone = states.evaluate("recall(threshold=0.51)").collect()
    beside = states.evaluate(["recall(threshold=0.51)", "recall", "log_loss"]).collect()
    assert beside.head(1).equals(alone)


def test_a_threshold_that_is_not_held_has_bounds() -> None:
    metrics = [
        "precision", "recall", "f1", "matthews_corrcoef", "cohen_kappa", "accuracy", "specificity",
        "expected_cost(cost_fn=3.0)", "youden_j", "fowlkes_mallows", "jaccard",
    ]  # fmt: skip
    state = state_of(FRAME, "roc_auc", bins=2)
    rows = sqleval.scan(FRAME, label="y", score="p", by="carrier")
    for threshold in (0.123, 0.45, 0.5, 0.61, 0.99):
        asked = [f"{m[:-1]}, threshold={threshold})" if "(" in m else f"{m}(threshold={threshold})"
                 for m in metrics]  # fmt: skip
        found = sqleval.from_state(state, by="carrier").evaluate(asked).collect()
        exact = rows.evaluate(asked).collect()
        both = found.join(exact, on=["carrier", "metric"], nulls_equal=True, suffix="_exact")
        inside = pl.col("value_exact").is_between("low", "high") | pl.col("value_exact").is_null()
        assert both.filter(inside).height == both.height == len(exact), both.filter(~inside)
        assert both.filter(pl.col("high") - pl.col("low") > 0.01).height > 0
    given = sqleval.from_state(state, threshold=0.3).evaluate("precision").collect()
    assert given["low"].item() < given["high"].item()


@pytest.mark.parametrize("predicted", ["d", None])
def test_decisions_and_values_have_states_as_well(predicted: str | None) -> None:
    roles: dict[str, Any] = {"label": "c", "prediction": "d"}
    if predicted is None:
        roles = {"label": "v", "prediction": "p", "weight": "w"}
    rows = sqleval.scan(FRAME, by="carrier", **roles)
    state = rows.state().collect()
    for by in ([], ["carrier"]):
        whole = sqleval.scan(FRAME, by=by, **roles).evaluate().collect()
        same(sqleval.from_state(state, by=by).evaluate().collect(), whole, by)


def test_models_and_sets_and_curves() -> None:
    two = FRAME.with_columns(q=1 - pl.col("p"))
    rows = sqleval.scan(two, label="y", score={"one": "p", "other": "q"}, by="carrier")
    state = rows.state("log_loss", bins=20).collect()
    found = sqleval.from_state(
        state, by=["carrier", "model"], sets=[["model"], ["carrier", "model"]]
    )
    result = found.evaluate(["log_loss", "roc_auc"], gap=False).collect()
    assert list(dict.fromkeys(result["by"])) == ["model", "carrier, model"]
    same(
        result.filter(by="carrier, model").drop("by"),
        rows.evaluate(["log_loss", "roc_auc"], bins=20).collect(),
        ["carrier", "model"],
    )
    one = sqleval.scan(FRAME, label="y", score="p")
    state = one.state(bins=7).collect()
    from_state = sqleval.from_state(state).curve("roc").collect()
    assert from_state.equals(one.curve("roc", bins=7).collect())


def test_rows_that_are_left_out_stay_counted() -> None:
    flawed = FRAME.with_columns(
        p=pl.when(pl.int_range(pl.len()) % 10 == 0).then(None).otherwise("p")
    )
    with pytest.raises(sqleval.DataError, match="score='p' is NULL or NaN in 600 of 6000 rows"):
        state_of(flawed)
    state = state_of(flawed, nulls="drop")
    found = sqleval.from_state(state).evaluate(["log_loss", "roc_auc"]).collect()
    assert found["n"].to_list() == [5400] * 2
    assert found["n_dropped"].to_list() == [600] * 2


def test_requests_that_a_state_cannot_answer_are_refused() -> None:
    state = state_of(FRAME, "roc_auc")
    found = sqleval.from_state(state)
    with pytest.raises(RequestError, match=r"loss_variance.*; for intervals, make .* with ci=True"):
        sqleval.from_state(state_of(FRAME, "log_loss")).evaluate("log_loss", ci=0.9)
    with pytest.raises(RequestError, match=r"does not hold log_losses\.loss"):
        found.evaluate("log_loss")
    with pytest.raises(RequestError, match="needs every score"):
        found.evaluate("brier_reliability")
    outside = sqleval.scan(FRAME.with_columns(p=pl.col("p") * 2), label="y", score="p")
    kept = outside.state("roc_auc").collect()
    with pytest.raises(sqleval.DataError, match=r"scores in 0 \.\. 1; score='p' is outside in"):
        sqleval.from_state(kept).evaluate("brier_resolution").collect()


def test_models_are_never_pooled() -> None:
    two = FRAME.with_columns(q=1 - pl.col("p"))
    state = sqleval.scan(two, label="y", score={"one": "p", "other": "q"}).state().collect()
    for options in ({}, {"by": "model", "sets": "overall"}):
        with pytest.raises(RequestError, match="needs 'model'"):
            sqleval.from_state(state, **options)  # type: ignore[arg-type]


def test_integers_that_round_to_one_double_are_not_ties() -> None:
    large = FRAME.with_columns(p=pl.lit(2**60) + (pl.col("p") * 50).cast(pl.Int64) + pl.col("y"))
    rows = sqleval.scan(large, label="y", score="p")
    exact = rows.evaluate("roc_auc").collect()["value"].item()
    found = sqleval.from_state(rows.state("roc_auc").collect()).evaluate("roc_auc").collect()
    assert found["low"].item() <= exact <= found["high"].item()


@pytest.mark.parametrize(
    "scores",
    [
        pl.Series([2**53, 2**53 + 1]),
        pl.Series([2**63, 2**63 + 1], dtype=pl.UInt64),
        pl.Series(["9" * 17 + "1", "9" * 17 + "2"]).cast(pl.Decimal(18, 0)),
        pl.Series(["0." + "1" * 18 + "1", "0." + "1" * 18 + "2"]).cast(pl.Decimal(38, 19)),
    ],
)
def test_integers_that_round_to_one_double_in_states_of_one_row(scores: pl.Series) -> None:
    rows = pl.DataFrame({"y": [0, 1], "p": scores})
    bound = sqleval.scan(rows, label="y", score="p")
    assert bound.evaluate("roc_auc").collect()["value"].item() == 1
    together = bound.state("roc_auc").collect()
    alone = [
        sqleval.scan(row, label="y", score="p").state("roc_auc").collect()
        for row in rows.iter_slices(1)
    ]
    for state in (together, pl.concat(alone)):
        found = sqleval.from_state(state).evaluate("roc_auc").collect()
        assert found.select("low", "high").row(0) == (0, 1)


def test_hours_of_a_time_zone_add_up_to_its_days() -> None:
    at = pl.datetime(2026, 3, 7, time_zone="UTC") + pl.duration(minutes=pl.int_range(pl.len()))
    timed = FRAME.with_columns(at=at)
    rows = sqleval.scan(timed, label="y", score="p")
    options = {"time": "at", "timezone": "America/New_York"}
    hours = rows.state("accuracy", grain="hour", **options).collect()  # type: ignore[arg-type]
    days = rows.state("accuracy", grain="day", **options).collect()  # type: ignore[arg-type]
    found = sqleval.from_state(hours, grain="day").evaluate("accuracy").collect()
    expected = sqleval.from_state(days, by="period").evaluate("accuracy").collect()
    assert found["period"][0] == "2026-03-06"
    same(found, expected, ["period"])
    # A condition chooses whole days of the result, not hours.
    where = "period >= '2026-03-07' AND period < '2026-03-08'"
    chosen = sqleval.from_state(hours, grain="day", where=where).evaluate("accuracy").collect()
    assert chosen["period"].to_list() == ["2026-03-07"]
    same(chosen, expected.filter(period="2026-03-07"), ["period"])


def test_states_of_lazy_frames_readers_and_late_labels() -> None:
    whole = sqleval.scan(FRAME, label="y", score="p")
    lazy = whole.state("accuracy")
    assert lazy.head(3).collect().height == 3
    expected = whole.evaluate("accuracy").collect()
    same(sqleval.from_state(lazy).evaluate("accuracy").collect(), expected, [])
    reader = lazy.collect().to_arrow().to_reader()
    same(sqleval.from_state(reader).evaluate("accuracy").collect(), expected, [])
    flawed = sqleval.scan(FRAME.with_columns(y=pl.col("y") * 2), label="y", score="p")
    with pytest.raises(sqleval.DataError, match="must hold 0 and 1"):
        sqleval.from_state(flawed.state())
    numbered = FRAME.with_row_index("id")
    late = sqleval.scan(
        numbered.drop("y"), labels=numbered.select("id", "y"), on="id", label="y", score="p"
    )
    state = late.state("accuracy", grain="month", time="day").collect()
    same(sqleval.from_state(state).evaluate("accuracy").collect(), expected, [])
    roles = FRAME.with_columns(role=pl.lit("train"))
    states = sqleval.scan(roles, label="y", score="p", role="role").state("accuracy").collect()
    assert sqleval.from_state(states, by="role").evaluate("accuracy").collect().height == 1
    with pytest.raises(RequestError, match="a list holds paths"):
        sqleval.from_state([FRAME])


UNLIKE: list[tuple[dict[str, Any], str]] = [
    ({"bins": 8}, "bits is 8 in some of them and 9 in others"),
    ({"grain": "week"}, "grain is 'day' in some of them and 'week'"),
    ({"weight": "w"}, "roles is"),
    ({"timezone": "Asia/Tokyo"}, "roles is .*timezone"),
]


@pytest.mark.parametrize(("options", "message"), UNLIKE, ids=[message for _, message in UNLIKE])
def test_states_that_differ_are_not_added_up(
    options: dict[str, Any], message: str, tmp_path: Path
) -> None:
    whole_state().write_parquet(tmp_path / "a.parquet")
    state_of(FRAME, **options).write_parquet(tmp_path / "b.parquet")
    for refused in (sqleval.from_state, merge_states):
        with pytest.raises(RequestError, match=message):
            refused(tmp_path)


def test_states_that_hold_more_give_what_all_hold(tmp_path: Path) -> None:
    half = FRAME.with_row_index()
    state_of(half.filter(pl.col("index") % 2 == 0), ["log_loss"]).write_parquet(
        tmp_path / "a.parquet"
    )
    other = state_of(half.filter(pl.col("index") % 2 == 1), ["log_loss", "brier_score"], by=[])
    other.write_parquet(tmp_path / "b.parquet")
    found = sqleval.from_state(tmp_path)
    rows = sqleval.scan(FRAME, label="y", score="p").evaluate("log_loss").collect()
    same(found.evaluate("log_loss").collect(), rows, [])
    with pytest.raises(RequestError, match=r"does not hold probabilities\.squared_error"):
        found.evaluate("brier_score")
    with pytest.raises(RequestError, match="by='carrier': no such column in all of"):
        sqleval.from_state(tmp_path, by="carrier")
    assert merge_states(tmp_path).collect()["n"].sum() == N


REFUSED: list[tuple[dict[str, Any], dict[str, Any], str]] = [
    ({}, {"grain": "day"}, "grain= and time= go together"),
    ({}, {"grain": "decade", "time": "day"}, "grain='decade' must be one of"),
    ({}, {"grain": "day", "time": "p"}, "is DOUBLE"),
    ({}, {"bins": 0}, "bins=0 must be"),
    ({"by": "score"}, {}, "a state has a column of that name"),
    ({"by": "N"}, {}, "a state has a column of that name"),
    ({}, {"by": ["c", "c"]}, "by= names 'c' twice"),
    ({}, {"grain": "day", "time": "day", "timezone": "Mars/X"}, "is not a time zone"),
    ({"by": "carrier", "sets": "cube"}, {}, "a state has all slice keys"),
    ({"counts": "one"}, {}, "not counts= or over="),
    ({"label": "c", "score": {"x": "p", "y": "p", "z": "p"}, "task": "multiclass"}, {},
     "not a score per class"),
]  # fmt: skip


@pytest.mark.parametrize(
    ("roles", "options", "message"), REFUSED, ids=[message for *_, message in REFUSED]
)
def test_requests_without_a_state_are_refused(
    roles: dict[str, Any], options: dict[str, Any], message: str
) -> None:
    frame = FRAME.with_columns(score=pl.col("carrier"), N=pl.col("carrier"), one=pl.lit(1))
    bound = sqleval.scan(frame, **{"label": "y", "score": "p", **roles})
    with pytest.raises(RequestError, match=message):
        bound.state(**options)


def test_files_that_are_not_states_are_refused(tmp_path: Path) -> None:
    state = state_of(FRAME, "roc_auc")
    with pytest.raises(SourceError, match="is not a state: it has no column 'definition'"):
        sqleval.from_state(FRAME)
    with pytest.raises(SourceError, match="with an unreadable definition"):
        sqleval.from_state(state.with_columns(definition=pl.lit("{}")))
    for version in (1, 3):
        other = json.loads(state["definition"][0]) | {"version": version}
        message = f"has version {version} of the state format.* build it from the rows"
        with pytest.raises(RequestError, match=message):
            sqleval.from_state(state.with_columns(definition=pl.lit(json.dumps(other))))
    with pytest.raises(SourceError, match="has no rows"):
        sqleval.from_state(state.clear())
    for name in ("label", "score_low"):
        with pytest.raises(SourceError, match=f"lacks a column of its states: '{name}'"):
            sqleval.from_state(state.drop(name))
    weighted = sqleval.scan(FRAME.with_columns(w=1.0), label="y", score="p", weight="w")
    for name in ("weight", "squares"):
        with pytest.raises(SourceError, match=f"lacks a column of its states: '{name}'"):
            sqleval.from_state(weighted.state("roc_auc").collect().drop(name))
    for options, message in (
        ({"grain": "hour"}, "periods of one day cannot be added up to one hour"),
        ({"grain": "ages"}, "must be one of"),
        ({"where": "p > 1"}, "where='p': no such column"),
        ({"where": ""}, "where='' is empty"),
        ({"threshold": "x"}, "must be a number"),
        ({"grain": "week", "by": "period"}, "which is the key that grain= adds"),
    ):
        with pytest.raises(RequestError, match=message):
            sqleval.from_state(state, **options)  # type: ignore[arg-type]
    undated = sqleval.scan(FRAME, label="y", score="p").state("roc_auc").collect()
    with pytest.raises(RequestError, match="these states have no periods"):
        sqleval.from_state(undated, grain="week")
    with pytest.raises(RequestError, match="these rows are a state already"):
        sqleval.from_state(undated).state()


def test_states_are_asked_again_where_their_files_have_changed(tmp_path: Path) -> None:
    file = tmp_path / "a.parquet"
    state_of(FRAME.head(100), "log_loss").write_parquet(file)
    assert sqleval.from_state(tmp_path).evaluate("log_loss").collect()["n"].item() == 100
    state_of(FRAME.head(70), "log_loss", grain=None, time=None).write_parquet(file)
    assert sqleval.from_state(tmp_path).evaluate("log_loss").collect()["n"].item() == 70
    with pytest.raises(RequestError, match="these states have no periods"):
        sqleval.from_state(tmp_path, grain="week")
    state_of(FRAME, "log_loss", bins=4).write_parquet(tmp_path / "b.parquet")
    with pytest.raises(RequestError, match="cannot be merged"):
        sqleval.from_state(tmp_path)
    file.unlink()
    (tmp_path / "b.parquet").rename(file)
    assert sqleval.from_state(tmp_path).evaluate("log_loss").collect()["n"].item() == N


def test_periods_stand_together_in_a_file(tmp_path: Path) -> None:
    file = tmp_path / "state.parquet"
    write_state(state_of(FRAME, by="carrier", bins=13), str(file))
    assert pl.read_parquet(file)["period"].is_sorted()
    with pytest.raises(SourceError, match=r"cannot write .*state\.parquet/no"):
        write_state(whole_state(), str(file / "no"))
    (tmp_path / "folder.parquet").mkdir()
    with pytest.raises(SourceError, match=r"cannot write .*folder\.parquet': Is a directory"):
        write_state(whole_state(), str(tmp_path / "folder.parquet"))
    (tmp_path / "link.parquet").symlink_to(file)
    write_state(state_of(FRAME.head(9)), str(tmp_path / "link.parquet"))
    assert pl.read_parquet(file)["n"].sum() == 9
    write_state(state_of(FRAME.head(7)), file.as_uri())
    assert pl.read_parquet(file)["n"].sum() == 7
    (tmp_path / "loop.parquet").symlink_to(tmp_path / "loop.parquet")
    longest = "n" * 247 + ".parquet"
    file.chmod(0o600)
    for name in (file.name, longest, "loop.parquet"):
        write_state(state_of(FRAME.head(5)), str(tmp_path / name))
        assert pl.read_parquet(tmp_path / name)["n"].sum() == 5
    assert file.stat().st_mode & 0o777 == 0o600
    for name, message in (("n" + longest, "File name too long"), ("a\0.parquet", "null byte")):
        with pytest.raises(SourceError, match=f"cannot write .*{message}"):
            write_state(whole_state(), str(tmp_path / name))
    assert not list(tmp_path.glob("*.part"))


def test_the_commands(tmp_path: Path) -> None:
    FRAME.head(3000).write_parquet(tmp_path / "one.parquet")
    FRAME.tail(3000).write_parquet(tmp_path / "two.parquet")

    def run(*arguments: str) -> str:
        done = CliRunner().invoke(main.sqleval, ["state", *arguments])
        assert done.exit_code == 0, done.output
        return done.stdout

    for name in ("one", "two"):
        run("build", str(tmp_path / f"{name}.parquet"), "--label", "y", "--score", "p",
            "--by", "carrier", "--grain", "day", "--time", "day", "-m", "log_loss",
            "--output", str(tmp_path / f"{name}_state.parquet"))  # fmt: skip
    pattern = str(tmp_path / "*_state.parquet")
    output = run("evaluate", pattern, "--by", "carrier", "-m", "log_loss", "--format", "csv")
    whole = sqleval.scan(FRAME, label="y", score="p", by="carrier").evaluate("log_loss").collect()
    found = pl.read_csv(output.encode(), schema_overrides={"carrier": pl.String})
    same(found.with_columns(carrier=pl.col("carrier").replace("", None)), whole, ["carrier"])
    nowhere = str(tmp_path / "no" / "both.duckdb")
    done = CliRunner().invoke(main.sqleval, ["state", "merge", pattern, "--output", nowhere])
    assert f"cannot write '{nowhere}': Cannot open file" in str(done.exception)
    run("merge", pattern, "--output", str(tmp_path / "both.duckdb"), "--into", "kept")
    with duckdb.connect(str(tmp_path / "both.duckdb")) as con:
        again = sqleval.from_state(con.table("kept"), by="carrier").evaluate("log_loss").collect()
    same(again, whole, ["carrier"])
    output = run("evaluate", str(tmp_path / "both.duckdb"), "--table", "kept", "-m", "log_loss",
               "--format", "csv")  # fmt: skip
    assert pl.read_csv(output.encode())["n"].item() == N
    weekly = run("evaluate", pattern, "--grain", "week", "-m", "roc_auc", "--format", "csv")
    assert pl.read_csv(weekly.encode())["period"][0] == "2025-12-29"
    for wrong, why in (
        (["both.duckdb"], "cannot read"),
        (["none.duckdb"], "cannot read"),
        (["both.duckdb", "one_state.parquet"], "a state in a DuckDB file cannot be read together"),
    ):
        paths = [str(tmp_path / name) for name in wrong]
        refused = CliRunner().invoke(main.sqleval, ["state", "evaluate", *paths])
        assert why in str(refused.exception)
