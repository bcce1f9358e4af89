"""Slice keys of a job: a column called model, and expressions in SQL."""

from pathlib import Path
from typing import Any

import polars as pl
import pytest

import sqleval
from sqleval import RequestError
from sqleval.history.view import list_definition_changes
from sqleval.jobs.file.reading import read_job
from sqleval.jobs.file.starter import write_starter
from sqleval.jobs.outputs.report import write_report
from sqleval.jobs.outputs.results import write_outputs
from sqleval.jobs.running.validation import check_job
from tests.support.lake import FIRST, Lake, evaluated, on, read_results, rows, steps, weekly


def phones(days: int = 4) -> pl.DataFrame:
    """Return predictions by a phone's model; model b gets worse on the last day."""
    frame = rows(days=days).rename({"seg": "model"})
    is_worse = (pl.col("model") == "b") & (pl.col("day") == pl.col("day").max())
    return frame.with_columns(p=pl.when(is_worse).then(1 - pl.col("p")).otherwise("p"))


def make_lake(folder: Path, frame: pl.DataFrame, **changes: Any) -> Lake:
    made = Lake(folder)
    made.put(frame)
    made.spec |= {"by": None, **changes}
    return made


def evaluate_days(frame: pl.DataFrame, metrics: list[str], by: Any) -> dict[Any, float]:
    """Return the values of each day, evaluated alone, by day, slice and metric."""
    values: dict[Any, float] = {}
    for (day,), part in frame.partition_by("day", as_dict=True).items():
        found = sqleval.scan(part, label="y", score="p", by=by).evaluate(metrics).collect()
        for *keys, metric, value in found.select(*by, "metric", "value").iter_rows():
            values[str(day), *keys, metric] = value
    return values


def read_values(history: pl.DataFrame, keys: list[str]) -> dict[Any, float]:
    """Return the values of a history in slices of these keys, by day, slice and metric."""
    values: dict[Any, float] = {}
    columns = ["period", "slice", "metric", "value"]
    for period, text, metric, value in history.select(columns).iter_rows():
        of = pl.Series([text]).str.json_decode(pl.Struct(dict.fromkeys(keys, pl.String)))
        if text.count(":") == len(keys):
            values[period, *of[0].values(), metric] = value
    return values


def test_a_slice_key_may_be_called_model(tmp_path: Path) -> None:
    gate = {"check": "drop(roc_auc, previous 3) < 0.2", "by": ["model"]}
    changes: dict[str, Any] = {"slices": [[], ["model"]], "states": "states", "gates": [gate]}
    lake = make_lake(tmp_path, phones(), **changes)
    done = lake.run(backfill=True)
    assert not done.errors
    history = lake.history()
    metrics = ["roc_auc", "log_loss"]
    assert read_values(history, ["model"]) == evaluate_days(phones(), metrics, ["model"])
    assert read_values(history, []) == evaluate_days(phones(), metrics, [])
    red = done.verdicts.filter(status="failed")
    assert red.select("period", "slice").rows() == [("2026-01-04", '{"model":"b"}')]
    (incident,) = done.incidents.to_dicts()
    assert incident["contributions"][0]["slice"] == '{"model":"b"}'
    merged = weekly(lake, slices=[[], ["model"]], gates=None)
    run = merged.run(backfill=True)
    assert not run.errors
    slices = read_results(run)["slice"].unique().sort().to_list()
    assert slices == ['{"model":"a"}', '{"model":"b"}', '{"model":"c"}', "{}"]


def test_several_models_have_a_key_called_model(tmp_path: Path) -> None:
    lake = make_lake(tmp_path, phones(), slices=[[], ["model"]], score={"one": "p", "two": "p"})
    with pytest.raises(RequestError, match="'model' cannot be a slice key of this job: the hist"):
        lake.job()
    lake.run(backfill=True, changes={"slices": [[]], "states": "states", "gates": None})
    with pytest.raises(RequestError, match="'model' is the key of the several models of these st"):
        weekly(lake, slices=[["model"]]).run(backfill=True)


BAND = "CASE WHEN key % 4 = 0 THEN 'low' WHEN p < 0.5 THEN 'mid' ELSE 'high' END"
OTHER = "CASE WHEN key % 5 = 0 THEN 'low' WHEN p < 0.5 THEN 'mid' ELSE 'high' END"
METRICS = ["roc_auc", "log_loss"]


@pytest.mark.parametrize("states", [None, "states"])
def test_an_expression_gives_the_values_of_evaluate(tmp_path: Path, states: str | None) -> None:
    third = {"third": "cut(p, [0.3, 0.6])"}
    slices = [[], ["seg"], {"band": BAND}, ["seg", "band"], third]
    lake = make_lake(tmp_path, rows(), slices=slices, states=states, metrics=METRICS)
    check_job(lake.job())
    assert not lake.run(backfill=True).errors
    history = lake.history()
    assert read_values(history, []) == evaluate_days(rows(), METRICS, [])
    assert read_values(history, ["seg", "band"]) == evaluate_days(
        rows(), METRICS, {"seg": "seg", "band": BAND}
    )
    one = history.filter(pl.col("slice").str.starts_with('{"band"'))
    assert read_values(one, ["band"]) == evaluate_days(rows(), METRICS, {"band": BAND})
    one = history.filter(pl.col("slice").str.starts_with('{"third"'))
    assert read_values(one, ["third"]) == evaluate_days(rows(), METRICS, third)
    sizes = history.filter(metric="roc_auc").group_by("period", pl.col("slice").str.len_chars() > 2)
    assert {*sizes.agg(pl.col("n").sum())["n"]} == {120, 4 * 120}


def test_validate_prints_expressions_and_checks_them(lake: Lake) -> None:
    said = check_job(lake.job(by={"seg": "seg", "band": BAND}))
    assert f"2 metrics by band = {BAND}, seg, 0 gates" in said
    said = check_job(lake.job(by={"band": BAND.replace(" WHEN", "\n  WHEN"), "\x1b[2J": "p > 0"}))
    assert f"by \\x1b[2J = p > 0, band = {BAND}, " in said
    for by, message in {
        "keys % 2": r"by='keys': no such column in .*did you mean 'key'.*\(columns: key, y, p",
        "p > (SELECT 1)": "may not hold a subquery",
        "read_text('/etc/passwd')": "may not hold",
        "sum(p)": "may not hold a subquery, an aggregate",
        "p <": "is not SQL",
    }.items():
        with pytest.raises(RequestError, match=message):
            check_job(lake.job(by={"band": by}))
        with pytest.raises(RequestError, match=message):
            lake.run(backfill=True)
    with pytest.raises(RequestError, match=r"by='seg' is a column of .*another name"):
        check_job(lake.job(by={"seg": "upper(seg)"}))
    for changes, message in (
        ({"by": {"band": "qcut(p, 4)"}}, r"qcut\(\) takes the ends of its intervals from the rows"),
        (
            {"by": None, "slices": [{"a": "p > 0"}, {"a": "p > 1", "seg": "seg"}]},
            "'a' is 'p > 0' in",
        ),
        ({"slices": [[]], "by": {"a": "p > 0"}}, "by and slices exclude each other"),
    ):
        with pytest.raises(RequestError, match=message):
            lake.job(**changes)


def test_another_expression_is_another_set_of_slices(tmp_path: Path) -> None:
    gates = [
        {"check": "drop(roc_auc, previous 3) < 9", "by": []},
        {"check": "drop(roc_auc, previous 3) < 9", "by": ["band"], "name": "band"},
    ]
    frame = rows(days=5)
    before = frame.filter(pl.col("day") < frame["day"].max())
    lake = make_lake(tmp_path, before, slices=[[], {"band": BAND}], gates=gates)
    lake.backfill()
    first = lake.history()
    lake.put(frame.filter(day=frame["day"].max()))
    done = lake.run(changes={"slices": [[], {"band": OTHER}]})
    assert "2026-01-04 has other slices than the job; --backfill evaluates older periods again" in (
        done.notes
    )
    assert not any("definition" in note for note in done.notes)
    assert evaluated(done) == ["2026-01-05"]
    status = dict(done.verdicts.filter(period="2026-01-05").select("gate", "status").iter_rows())
    # All rows stay comparable, and a slice is compared only with slices of the same expression.
    assert status == {"drop(roc_auc, previous 3) < 9 (all rows)": "passed", "band": "no reference"}
    assert [*list_definition_changes(lake.history())] == [
        "nightly: the expressions of slices by band changed at 2026-01-05 "
        f"({first['definition'].str.slice(13).max()} to {lake.history()['definition'][-1][13:]})"
    ]
    again = lake.run(backfill=True)
    assert {step.reason for step in again.decisions[:4]} == {"slices changed"}
    assert read_values(lake.history(), ["band"]) == evaluate_days(frame, METRICS, {"band": OTHER})
    assert set(steps(lake.run(backfill=True)).values()) == {"keep"}
    # Comments and white space do not change an expression.
    spaced = OTHER.replace(" WHEN", "\n  WHEN") + " -- as agreed"
    same = lake.run(backfill=True, changes={"slices": [[], {"band": spaced}]})
    assert set(steps(same).values()) == {"keep"}


def test_states_keep_the_expression_of_a_key(tmp_path: Path) -> None:
    gate = {"check": "drift(psi of mix, previous 3) < 9", "by": ["band"]}
    lake = make_lake(tmp_path, rows(days=6), slices=[{"band": BAND}], states="states", gates=[gate])
    lake.spec["metrics"] = ["log_loss"]
    lake.run(backfill=True)
    is_drift = pl.col("gate").str.contains("drift")
    days = rows(days=6).with_columns(pl.col("day").cast(str))
    expected = sqleval.drift(
        days.filter(pl.col("day").is_between(pl.lit("2026-01-03"), pl.lit("2026-01-05"))),
        days.filter(day="2026-01-06"), "psi", score="p", by={"band": BAND}, bins=12,
    )  # fmt: skip
    verdicts = lake.run(date=on("2026-01-06"), force=True).verdicts
    value = verdicts.filter(is_drift, period="2026-01-06")["value"].item()
    assert value == pytest.approx(expected.filter(distribution="mix")["value"].item(), abs=1e-12)
    # A metric is added from the states, in the slices of the expression.
    done = lake.run(backfill=True, changes={"metrics": ["log_loss", "brier_score"]})
    assert set(steps(done).values()) == {"add"}
    assert read_values(lake.history(), ["band"]) == pytest.approx(
        evaluate_days(rows(days=6), ["log_loss", "brier_score"], {"band": BAND}), abs=1e-12
    )
    # A week of another job merges them, and names the key.
    merged = weekly(lake, slices=[[], ["band"]], gates=None, metrics=["log_loss"])
    whole = read_results(merged.run(backfill=True)).filter(slice='{"band":"low"}')
    assert whole["n"].sum() == rows(days=6).filter(pl.col("key") % 4 == 0).height
    with pytest.raises(RequestError, match="'band' is an expression, and states have their keys"):
        merged.job(slices=[{"band": BAND}])
    # No gate compares a day with another expression, and no result merges both.
    changed = lake.run(
        date=on("2026-01-06"), force=True, changes={"slices": [{"band": OTHER}]}
    ).verdicts.filter(is_drift, period="2026-01-06")
    assert changed.select("status", "reason").row(0) == (
        "no reference", "no state of a period of the reference",
    )  # fmt: skip
    folder = str(tmp_path / "states" / "*.parquet")
    assert sqleval.from_state(folder).evaluate("log_loss").collect()["n"].item() == 6 * 120
    with pytest.raises(RequestError, match=r"by='band': some of .* have another expression"):
        sqleval.from_state(folder, by="band")


def test_an_expression_that_fails_in_a_period_fails_there_alone(tmp_path: Path) -> None:
    lake = make_lake(tmp_path, rows(), slices=[[], {"band": BAND}, {"third": "cut(p, [0.5])"}])
    file = tmp_path / "preds" / "2026-01-02.parquet"
    pl.read_parquet(file).drop("key").write_parquet(file)
    done = lake.run(backfill=True)
    (error,) = done.errors
    assert error.startswith("2026-01-02 all rows: by='key': no such column in")
    failed = lake.history().filter(pl.col("error").is_not_null())
    assert failed.select("period", "slice").unique().rows() == [("2026-01-02", "{}")]
    kept = lake.history().filter(pl.col("error").is_null(), period="2026-01-02")
    assert {text.partition(":")[0] for text in kept["slice"]} == {"{}", '{"third"'}
    # A missing label of one slice leaves the values of the other slices.
    frame = rows().with_columns(y=pl.when(pl.col("key") != 4).then("y"))
    (tmp_path / "other").mkdir()
    lake = make_lake(tmp_path / "other", frame, nulls="error", slices=[{"band": BAND}])
    done = lake.run(backfill=True)
    (error,) = done.errors
    assert error.startswith("2026-01-01 band=low: ")
    good = frame.filter((pl.col("day") != FIRST) | (pl.col("key") % 4 != 0))
    there = lake.history().filter(pl.col("error").is_null())
    assert read_values(there, ["band"]) == evaluate_days(good, METRICS, {"band": BAND})


def test_late_labels_wait_in_slices_by_an_expression(tmp_path: Path) -> None:
    lake = make_lake(tmp_path, rows().drop("y"), slices=[[], {"band": BAND}])
    rows().select("key", "y").write_parquet(tmp_path / "labels.parquet")
    late = {"source": "labels.parquet", "on": "key", "maturity": "30d"}
    lake.run(changes={"labels": late})
    early = lake.history().filter(metric="arrived(rows)", period="2026-01-04")
    counts = (
        rows()
        .filter(pl.col("day").dt.day() == 4)
        .sql(f"SELECT {BAND} AS band, COUNT(*) AS n FROM self GROUP BY band ORDER BY band")
    )
    found = early.filter(pl.col("slice") != "{}").sort("slice")
    assert found["n"].to_list() == counts["n"].to_list()
    assert set(steps(lake.run()).values()) <= {"keep", "wait"}
    lake.run(backfill=True)
    labelled = lake.history().filter(metric="roc_auc")
    assert read_values(labelled, ["band"]) == evaluate_days(rows(), ["roc_auc"], {"band": BAND})
    lake.run(backfill=True, changes={"expected": True, "metrics": ["brier_score"]})


def test_a_slice_by_an_expression_that_vanishes_is_missing(tmp_path: Path) -> None:
    frame = rows(days=9)
    is_last = pl.col("day") == frame["day"].max()
    frame = frame.filter(~is_last | (pl.col("key") % 4 != 0))
    lake = make_lake(tmp_path, frame, slices=[[], {"band": "key % 4 = 0"}], nulls="error")
    done = lake.run(backfill=True)
    (missing,) = done.verdicts.filter(gate="missing").to_dicts()
    assert (missing["period"], missing["slice"]) == ("2026-01-09", '{"band":true}')
    # Slices by another expression are new slices, so that none has vanished.
    done = lake.run(
        date=on("2026-01-09"), changes={"slices": [[], {"band": "key % 4 = 0 AND p > 2"}]}
    )
    assert done.verdicts.filter(gate="missing", period="2026-01-09").is_empty()


def test_the_page_and_the_other_outputs_show_slices_by_an_expression(tmp_path: Path) -> None:
    outputs = {"json": "out.json", "junit": "out.xml", "prometheus": "out.prom"}
    gate = {"check": "roc_auc >= baseline - 0.0001", "by": ["band"], "min_rows": 10}
    lake = make_lake(
        tmp_path, rows(), slices=[[], {"band": BAND}], outputs=outputs, report="page.html",
        gates=[gate], baseline={"from": "2026-01-01", "to": "2026-01-02"},
    )  # fmt: skip
    done = lake.run(backfill=True)
    assert done.verdicts.filter(pl.col("slice").str.contains("band"))["limit"].null_count() == 0
    write_report(done)
    write_outputs(done, 0)
    assert "band=low" in (tmp_path / "page.html").read_text(encoding="utf-8")
    assert 'band="low"' in (tmp_path / "out.prom").read_text(encoding="utf-8")


@pytest.mark.parametrize("others", [[], ["p_other"]], ids=["one model", "several models"])
def test_a_job_of_init_fits_a_column_called_model(tmp_path: Path, others: list[str]) -> None:
    frame = phones().drop("key").rename({"p": "p_first"})
    frame.with_columns(pl.col("p_first").alias(name) for name in others).write_parquet(
        tmp_path / "preds.parquet"
    )
    text = write_starter(str(tmp_path / "preds.parquet"), tmp_path / "job.yml")
    (tmp_path / "job.yml").write_text(text, encoding="utf-8")
    job = read_job(tmp_path / "job.yml")
    assert job.key_sets == ([[]] if others else [[], ["model"]])
    check_job(job)
