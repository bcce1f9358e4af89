"""Jobs from end to end: which periods are evaluated, kept, left alone and judged."""

import os
from collections.abc import Callable
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from sklearn.metrics import log_loss, roc_auc_score

from sqleval import RequestError
from sqleval.jobs.judging import gates
from sqleval.jobs.running.plan import RunOptions
from sqleval.jobs.running.run import run_job
from sqleval.jobs.running.validation import check_job
from tests.support.lake import LATER, Lake, evaluated, on, rows, steps


def test_a_backfill_has_the_values_of_scikit_learn(lake: Lake) -> None:
    lake.backfill()
    history = lake.history()
    assert history.height == history["error"].null_count() == 4 * 3 * 2
    references: dict[str, Callable[..., float]] = {"roc_auc": roc_auc_score, "log_loss": log_loss}
    for (day, seg), part in rows().partition_by("day", "seg", as_dict=True).items():
        found = history.filter(period=str(day), slice=f'{{"seg":"{seg}"}}')
        assert found["metric"].to_list() == ["roc_auc", "log_loss"]
        for name, value, n in found.select("metric", "value", "n").iter_rows():
            assert value == pytest.approx(references[name](part["y"], part["p"]), abs=1e-12)
            assert n == part.height
    assert history["grain"].unique().to_list() == ["day"]
    assert history["parameters"].unique().sort().to_list() == [
        '{"eps": 2.220446049250313e-16}', "{}",
    ]  # fmt: skip
    assert (
        history.select("fingerprint", "definition", "versions", "duration", "run")
        .null_count()
        .row(0)
        == (0,) * 5
    )


def test_a_second_run_reads_no_file_and_changes_nothing(lake: Lake) -> None:
    lake.backfill()
    before = lake.history()
    for file in (lake.folder / "preds").iterdir():
        stat = file.stat()
        file.write_bytes(b"x" * stat.st_size)  # reading the file fails from now on
        os.utime(file, ns=(stat.st_atime_ns, stat.st_mtime_ns))
    done = lake.run(backfill=True)
    assert set(steps(done).values()) == {"keep"}
    assert not done.errors
    assert lake.history().equals(before)
    assert set(steps(lake.run(date=on("2026-01-02"))).values()) == {"keep"}
    assert set(steps(lake.run()).values()) == {"keep"}
    assert lake.history().equals(before)


def test_forced_periods_replace_their_rows_and_no_others(lake: Lake) -> None:
    lake.backfill()
    before = lake.history()
    lake.run(date=on("2026-01-02"), force=True)
    after = lake.history()
    there = pl.col("period") == "2026-01-02"
    assert after.filter(~there).equals(before.filter(~there))
    same = ["period", "slice", "metric", "value", "n", "fingerprint", "definition"]
    assert after.filter(there).select(same).equals(before.filter(there).select(same))
    assert after.filter(there)["run"].n_unique() == 1
    assert after.filter(there)["run"][0] != before["run"][0]


def test_late_data_evaluates_only_its_periods_again(lake: Lake) -> None:
    lake.backfill()
    before = lake.history()
    day = date(2026, 1, 3)
    lake.put(pl.concat([rows(), rows(seed=5)]).filter(pl.col("day") == day))
    (lake.folder / "preds" / "more.parquet").write_bytes(
        (lake.folder / "preds" / "2026-01-01.parquet").read_bytes()
    )
    for kind in ({}, {"backfill": True}):
        done = lake.run(**kind)
        assert evaluated(done) == ([] if kind else ["2026-01-01", "2026-01-03"])
    after = lake.history()
    still = pl.col("period").is_in(["2026-01-02", "2026-01-04"])
    assert (
        after.filter(still)
        .sort("period", "slice", "metric")
        .equals(before.filter(still).sort("period", "slice", "metric"))
    )
    doubled = after.filter(period="2026-01-01")["n"] - before.filter(period="2026-01-01")["n"]
    assert set(doubled) == {40}


def test_a_plain_run_takes_the_newest_then_what_follows(lake: Lake) -> None:
    assert evaluated(lake.run()) == ["2026-01-04"]
    lake.put(rows(days=2, start=4))
    assert evaluated(lake.run()) == ["2026-01-05", "2026-01-06"]
    assert evaluated(lake.run()) == []
    # Only --backfill evaluates periods before the first one of a run without dates.
    assert evaluated(lake.run(backfill=True)) == ["2026-01-01", "2026-01-02", "2026-01-03"]


def test_asked_by_date(lake: Lake) -> None:
    end = datetime(2026, 1, 3, 23, 59)
    done = lake.run(span=(datetime(2026, 1, 2), end))
    assert evaluated(done) == ["2026-01-02", "2026-01-03"]
    assert evaluated(lake.run(date=on("2026-01-01T07:00"))) == ["2026-01-01"]


def test_one_file_with_all_periods_and_a_dry_run(tmp_path: Path) -> None:
    made = Lake(tmp_path)
    rows().write_parquet(tmp_path / "all.parquet")
    job = made.job(source="all.parquet")
    done = run_job(job, RunOptions(as_of=LATER, backfill=True), dry=True)
    assert evaluated(done) == ["2026-01-01", "2026-01-02", "2026-01-03", "2026-01-04"]
    assert not (tmp_path / "history.duckdb").exists()
    assert evaluated(run_job(job, RunOptions(as_of=LATER, backfill=True))) == evaluated(done)


def test_several_sets_of_slices_models_and_parameters(lake: Lake) -> None:
    changes = {
        "by": None, "slices": [[], ["seg"]], "score": {"one": "p", "two": "p"},
        "metrics": ["f_beta(beta=2)", "roc_auc"], "ci": 0.9,
    }  # fmt: skip
    lake.run(changes=changes, date=on("2026-01-01"))
    history = lake.history()
    assert set(history["slice"]) == {
        *(f'{{"model":"{model}"}}' for model in ("one", "two")),
        *(f'{{"seg":"{seg}","model":"{model}"}}' for seg in "abc" for model in ("one", "two")),
    }
    f = history.filter(metric="f_beta(beta=2)")
    assert f["parameters"][0] == '{"beta": 2.0, "threshold": 0.5}'
    auc = history.filter(metric="roc_auc")
    assert (auc["low"] <= auc["value"]).all()
    assert (auc["value"] <= auc["high"]).all()


def test_weeks_come_from_days(lake: Lake) -> None:
    done = lake.run(changes={"period": {"column": "day", "grain": "week"}}, backfill=True)
    assert evaluated(done) == ["2025-12-29"]  # the Monday before
    assert lake.history()["n"].to_list() == [160] * 6


def test_a_changed_definition_is_shown_and_never_mixed(lake: Lake) -> None:
    gate = {"gates": ["drop(roc_auc, previous 7) < 1"]}
    lake.run(changes=gate, backfill=True)
    lake.put(rows(days=1, start=4))
    done = lake.run(changes={"where": "p < 0.9"})
    assert steps(done) == {"2026-01-04": "keep", "2026-01-05": "evaluate"}
    assert any("4 periods, up to 2026-01-04, have another definition" in n for n in done.notes)
    last = done.verdicts.filter(period="2026-01-05")
    assert set(last["status"]) == {"no reference"}  # nothing of this definition before it
    history = lake.history().filter(metric="roc_auc")
    assert history["definition"].n_unique() == 2
    done = lake.run(backfill=True)
    assert len(evaluated(done)) == 4
    assert lake.history().filter(metric="roc_auc")["definition"].n_unique() == 1
    assert done.notes == ["24 stored numbers were replaced; sqleval history --restated shows them"]
    # Gates, the history and similar keys are no part of a definition.
    assert not evaluated(lake.run(changes={"gates": []}, backfill=True))
    # An added metric is evaluated in the existing periods.
    more = lake.run(changes={"metrics": ["roc_auc", "log_loss", "ks"]}, backfill=True)
    assert len(evaluated(more)) == 5


def test_a_task_that_the_roles_do_not_say_is_not_read_again(lake: Lake) -> None:
    decided = rows().with_columns(decided=(pl.col("p") > 0.5).cast(pl.Int8))
    lake.put(decided)
    changes = {"score": None, "prediction": "decided", "metrics": ["accuracy"]}
    assert len(evaluated(lake.run(changes=changes, backfill=True))) == 4
    assert not evaluated(lake.run(backfill=True))


def late(lake: Lake) -> None:
    """Move the labels of the first two days to a folder of their own, and drop all others."""
    truth = rows().select("key", "y", "day")
    lake.put(rows().drop("y"))
    (lake.folder / "labels").mkdir()
    for n, day in enumerate(truth["day"].unique().sort()[:2]):
        part = truth.filter(pl.col("day") == day).drop("day")
        part.write_parquet(lake.folder / "labels" / f"{n}.parquet")
    lake.job(labels={"source": "labels", "on": "key", "maturity": "2d"})


def test_a_period_waits_until_its_labels_are_mature(lake: Lake) -> None:
    late(lake)
    done = lake.run(backfill=True, as_of=datetime(2026, 1, 4, tzinfo=UTC))
    assert steps(done) == {
        "2026-01-01": "evaluate", "2026-01-02": "check", "2026-01-03": "check",
        "2026-01-04": "wait",
    }  # fmt: skip
    history = lake.history().filter(~pl.col("metric").str.starts_with("arrived"))
    assert set(history["period"]) == {"2026-01-01"}
    assert history["matured"].to_list() == [1.0] * 6
    assert "2026-01-05 00:00" in done.decisions[1].reason


def test_labels_that_come_later_evaluate_their_periods_again(lake: Lake) -> None:
    late(lake)
    first = lake.run(backfill=True)
    assert first.notes == [
        "no row has a label: 2 periods, up to 2026-01-04; only the gate matured can judge this"
    ]
    history = lake.history()
    shares = dict(history.select("period", "matured").unique().iter_rows())
    assert shares == {"2026-01-01": 1, "2026-01-02": 1, "2026-01-03": 0, "2026-01-04": 0}
    assert set(history.filter(period="2026-01-03")["note"]) == {"no rows"}
    truth = rows().filter(pl.col("day") == date(2026, 1, 3)).select("key", "y")
    half = truth.with_columns(y=pl.when(pl.int_range(pl.len()) % 2 == 0).then("y"))
    half.write_parquet(lake.folder / "labels" / "2.parquet")
    done = lake.run(backfill=True)
    assert evaluated(done) == ["2026-01-03"]
    again = lake.history().filter(period="2026-01-03")
    assert again["matured"].to_list() == [0.5] * 6
    assert again["n"].to_list() == [20] * 6
    assert again["n_dropped"].to_list() == [20] * 6
    assert not evaluated(lake.run(backfill=True))
    # A file of labels that belongs to no row is recorded as well.
    truth.with_columns(key=pl.col("key") + 10_000).write_parquet(
        lake.folder / "labels" / "9.parquet"
    )
    assert not evaluated(lake.run(backfill=True))
    assert not lake.run(backfill=True).errors
    (lake.folder / "labels" / "0.parquet").unlink()
    assert evaluated(lake.run(backfill=True)) == ["2026-01-01"]


def test_the_gate_of_the_matured_share(lake: Lake) -> None:
    late(lake)
    done = lake.run(changes={"gates": ["matured >= 0.9"], "by": []}, backfill=True)
    assert dict(done.verdicts.select("period", "status").iter_rows()) == {
        "2026-01-01": "passed", "2026-01-02": "passed",
        "2026-01-03": "failed", "2026-01-04": "failed",
    }  # fmt: skip
    assert done.verdicts.filter(status="failed")["since"].to_list() == ["2026-01-03"] * 2


def test_a_slice_that_fails_is_recorded_and_the_rest_goes_on(lake: Lake) -> None:
    bad = (pl.col("day") == date(2026, 1, 2)) & (pl.col("seg") == "b")
    lake.put(rows().with_columns(p=pl.when(bad).then(1.5).otherwise("p")))
    done = lake.run(backfill=True)
    history = lake.history()
    failed = history.filter(pl.col("error").is_not_null())
    assert set(failed.select("period", "slice").iter_rows()) == {("2026-01-02", '{"seg":"b"}')}
    assert failed["metric"].to_list() == ["roc_auc", "log_loss"]
    assert failed["value"].null_count() == 2
    assert "is outside in 40 of 40 rows" in failed["error"][0]
    assert history.height == 24
    assert history.filter(pl.col("error").is_null())["value"].null_count() == 0
    assert len(done.errors) == 1
    assert done.errors[0].startswith("2026-01-02 seg=b: ")
    # The failed period is tried again, because the cause may have passed; others are left alone.
    lake.put(rows().filter(pl.col("day") == date(2026, 1, 2)))
    assert evaluated(lake.run()) == ["2026-01-02"]
    assert lake.history()["error"].null_count() == 24


def test_missing_values_without_slices(lake: Lake) -> None:
    lake.put(rows().with_columns(p=pl.when(pl.col("day") != date(2026, 1, 2)).then("p")))
    done = lake.run(changes={"nulls": "error", "by": []}, backfill=True)
    (error,) = done.errors
    assert error.startswith("2026-01-02 all rows: score='p' is NULL or NaN in 120 of 120 rows")
    failed = lake.history().filter(pl.col("error").is_not_null())
    assert failed["period"].to_list() == ["2026-01-02"] * 2


def test_a_broken_file_is_named_and_the_rest_goes_on(lake: Lake) -> None:
    broken = lake.folder / "preds" / "2026-01-02.parquet"
    whole = broken.read_bytes()
    broken.write_bytes(b"PAR1 no more")
    done = lake.run(backfill=True)
    assert evaluated(done) == ["2026-01-01", "2026-01-03", "2026-01-04"]
    assert len(done.errors) == 1
    assert "2026-01-02.parquet" in done.errors[0]
    assert lake.run(backfill=True).errors  # also if nothing is new
    broken.write_bytes(whole)
    assert evaluated(lake.run(backfill=True)) == ["2026-01-02"]


def test_a_source_that_is_not_there_is_recorded(lake: Lake) -> None:
    done = lake.run(changes={"source": "nowhere"}, as_of=datetime(2026, 1, 5, 3, tzinfo=UTC))
    assert done.errors
    history = lake.history()
    assert history["period"].unique().to_list() == ["2026-01-04"]
    assert "nowhere" in history["error"][0]
    done = lake.run(changes={"source": "preds"}, backfill=True)
    assert not done.errors
    assert lake.history()["error"].null_count() == 24


def test_a_column_that_is_not_there_is_a_wrong_job(lake: Lake) -> None:
    with pytest.raises(RequestError, match="score='q'"):
        lake.run(changes={"score": "q"}, backfill=True)
    with pytest.raises(RequestError, match=r"period\.column='dai'"):
        lake.run(changes={"score": "p", "period": {"column": "dai"}}, backfill=True)
    with pytest.raises(RequestError, match="no metric called 'roc_auk'"):
        lake.run(changes={"period": {"column": "day"}, "metrics": ["roc_auk"]}, backfill=True)
    with pytest.raises(RequestError, match="the job has no metric 'ks'"):
        lake.run(changes={"metrics": ["roc_auc"], "gates": ["ks > 0"]}, backfill=True)
    assert not (lake.folder / "history.duckdb").exists()


def test_rows_without_a_period_are_counted(lake: Lake) -> None:
    none = rows(days=1).with_columns(day=pl.lit(None, pl.Date)).head(5)
    none.write_parquet(lake.folder / "preds" / "none.parquet")
    done = lake.run(backfill=True)
    message = "5 rows without a period: day is missing or outside the years 1000 to 9998"
    assert done.notes == [message]
    assert lake.history().height == 24


def verdicts(lake: Lake, gate: Any, **more: Any) -> pl.DataFrame:
    done = lake.run(changes={"gates": [gate], **more}, backfill=True)
    return done.verdicts


def test_a_failed_level_has_its_shortfall_and_first_period(lake: Lake) -> None:
    bad = (pl.col("day") >= date(2026, 1, 3)) & (pl.col("seg") == "b")
    lake.put(rows().with_columns(p=pl.when(bad).then(1 - pl.col("p")).otherwise("p")))
    found = verdicts(lake, "roc_auc >= 0.65")
    failed = found.filter(status="failed")
    assert failed.select("period", "slice", "since").rows() == [
        ("2026-01-03", '{"seg":"b"}', "2026-01-03"),
        ("2026-01-04", '{"seg":"b"}', "2026-01-03"),
    ]
    assert (failed["limit"] - failed["value"] - failed["short_by"]).abs().max() < 1e-12  # type: ignore[operator]
    assert found.filter(status="passed").height == 10
    warned = verdicts(lake, {"check": "roc_auc >= 0.65", "severity": "warn"})
    assert set(warned["status"]) == {"passed", "warned"}
    slow = verdicts(lake, {"check": "roc_auc >= 0.65", "in_a_row": 2})
    named = slow.filter(pl.col("since").is_not_null()).sort("period")
    assert named["status"].to_list() == ["pending", "failed"]
    assert set(named["since"]) == {"2026-01-03"}
    few = verdicts(lake, {"check": "roc_auc >= 0.65", "min_rows": 41})
    why = "no slice has a result with at least 41 rows"
    days = [f"2026-01-0{n}" for n in range(1, 5)]
    assert few.select("status", "period", "reason").rows() == [
        *(("nothing to judge", day, why) for day in days),
        *(("failed", day, f"no gate could judge anything: {why} (1 verdict)") for day in days),
    ]
    beside = lake.run(changes={"gates": [*lake.spec["gates"], "rows >= 1"]}, backfill=True)
    assert not beside.has_failed_gate
    assert beside.verdicts.filter(status="nothing to judge")["period"].to_list() == days


def test_references_are_means_of_the_same_definition(lake: Lake) -> None:
    found = verdicts(lake, "drop(roc_auc, previous 2) < 0.001", by=[])
    auc = lake.history().filter(metric="roc_auc")["value"].to_list()
    means = [auc[0], (auc[0] + auc[1]) / 2, (auc[1] + auc[2]) / 2]
    assert found["status"][0] == "no reference"
    assert found["limit"].to_list()[1:] == pytest.approx([m - 0.001 for m in means])
    assert [s == "passed" for s in found["status"][1:]] == [
        value > mean - 0.001 for value, mean in zip(auc[1:], means, strict=True)
    ]
    base = {"from": "2026-01-01", "to": "2026-01-02"}
    found = verdicts(lake, "log_loss <= baseline + 0.01", baseline=base)
    loss = lake.history().filter(metric="log_loss")["value"].to_list()
    assert found["limit"].to_list() == pytest.approx([(loss[0] + loss[1]) / 2 + 0.01] * 4)


def test_bounds_and_slices_of_a_gate(lake: Lake) -> None:
    gate = {"check": "roc_auc >= 0.5", "on": "low", "by": []}
    found = verdicts(lake, gate, by=None, slices=[[], ["seg"]], ci=0.95)
    lows = lake.history().filter(metric="roc_auc", slice="{}")["low"].to_list()
    assert found["value"].to_list() == lows
    assert set(found["slice"]) == {"{}"}
    # A bound is compared with the earlier values.
    gate = {"check": "drop(roc_auc, previous 1) < 0", "on": "low", "by": []}
    auc = lake.history().filter(metric="roc_auc", slice="{}")["value"].to_list()
    assert verdicts(lake, gate)["limit"].to_list()[1:] == auc[:-1]


def test_undefined_values_neither_pass_nor_fail(lake: Lake) -> None:
    lake.put(rows().with_columns(y=pl.lit(0)))
    found = verdicts(lake, "roc_auc >= 0.5")
    undefined = found.filter(gate="roc_auc >= 0.5")
    assert set(undefined["status"]) == {"undefined"}
    assert set(undefined["reason"]) == {"no positive labels"}
    # Four nights without verdicts do not pass.
    silent = found.filter(gate="undefined")
    assert set(silent["status"]) == {"failed"}
    assert silent["period"].to_list() == [f"2026-01-0{n}" for n in range(1, 5)]
    assert set(silent["reason"]) == {
        "no gate could judge anything: no positive labels (3 verdicts)"
    }
    gate = {"check": "roc_auc >= 0.5", "undefined": "ignore"}
    assert set(verdicts(lake, gate)["status"]) == {"undefined"}
    assert set(verdicts(lake, {**gate, "undefined": "fail"})["status"]) == {"failed"}
    assert set(verdicts(lake, {**gate, "undefined": "warn"})["status"]) == {"warned"}
    beside = lake.run(changes={"gates": [gate, "rows >= 1"]}, backfill=True)
    assert not beside.has_failed_gate
    # Nor does a night whose rows are all left out, if no gate can judge it.
    lake.put(rows(days=1, start=4).with_columns(y=pl.lit(None, pl.Int8)))
    others = [{"check": "roc_auc >= 0.5", "min_rows": 500}, "age <= 1"]
    found = lake.run(changes={"gates": ["roc_auc >= 0.5", *others]}).verdicts
    assert found.filter(status="failed").select("gate", "period", "reason").rows()[1:] == [
        (
            "undefined",
            "2026-01-05",
            "no gate could judge anything: all rows are left out (4 verdicts)",
        )
    ]


def test_missing_data_is_a_gate_of_its_own(lake: Lake) -> None:
    lake.backfill()
    gone = datetime(2026, 1, 7)
    done = lake.run(span=(datetime(2026, 1, 4), gone))
    missing = done.verdicts.filter(gate="missing")
    assert missing.select("period", "status", "since").rows() == [
        (f"2026-01-0{n}", "failed", "2026-01-05") for n in (5, 6, 7)
    ]
    assert done.has_failed_gate
    absent = lake.history().filter(pl.col("period") > "2026-01-04")
    assert set(absent["n"]) == {0}
    before = lake.history()
    lake.run(span=(datetime(2026, 1, 4), gone))
    assert lake.history().equals(before)
    assert not lake.run(changes={"missing": "warn"}, date=(gone, gone)).has_failed_gate
    assert lake.run(changes={"missing": "ignore"}, date=(gone, gone)).verdicts.is_empty()
    lake.put(rows(days=1, start=6))
    assert evaluated(lake.run()) == ["2026-01-07"]


def test_history_outlives_the_data(lake: Lake) -> None:
    lake.backfill()
    before = lake.history()
    (lake.folder / "preds" / "2026-01-02.parquet").unlink()
    done = lake.run(date=on("2026-01-02"))
    assert done.decisions[0][1:] == ("keep", "its data is gone")
    assert lake.history().equals(before)


def test_a_slice_that_always_came_and_is_gone(tmp_path: Path) -> None:
    made = Lake(tmp_path)
    frame = rows(days=8)  # the fewest: seven days with the slice, and one without it
    made.put(frame.filter((pl.col("seg") != "c") | (pl.col("day") < date(2026, 1, 8))))
    found = made.run(backfill=True).verdicts
    assert found.select("gate", "status", "period", "slice").rows() == [
        ("missing", "failed", "2026-01-08", '{"seg":"c"}')
    ]


def test_rows_and_age_are_gates_as_well(lake: Lake) -> None:
    found = verdicts(lake, "rows >= 41", by=[])
    assert set(found["status"]) == {"passed"}
    found = verdicts(lake, "rows >= 41", by=["seg"])
    assert set(found["status"]) == {"failed"}
    for as_of, late_by in (((2026, 1, 5), 0), ((2026, 1, 6, 23), 1), ((2026, 1, 8), 3)):
        done = lake.run(changes={"gates": ["age <= 1"]}, as_of=datetime(*as_of, tzinfo=UTC))
        (row,) = done.verdicts.filter(gate="age <= 1").to_dicts()
        assert row["value"] == late_by
        assert row["status"] == ("passed" if late_by <= 1 else "failed")
        assert row["short_by"] == max(late_by - 1, 0)
    done = lake.run(changes={"gates": ["age <= 1"]}, as_of=datetime(2026, 1, 1, 12, tzinfo=UTC))
    assert done.verdicts["reason"].to_list() == ["no complete period has rows"]
    assert gates.find_last_complete(lake.job(), datetime(2026, 1, 8, tzinfo=UTC)) == "2026-01-07"


def test_replicates_give_intervals_to_metrics_without_a_closed_form(lake: Lake) -> None:
    changes: dict[str, Any] = {"metrics": ["roc_auc", "ks"], "ci": 0.95}

    def read(name: str) -> pl.DataFrame:
        return lake.history().filter(metric=name).sort("period", "slice")

    lake.run(backfill=True, changes=changes)
    assert read("ks")["low"].null_count() == read("ks").height
    done = lake.run(backfill=True, changes=changes | {"replicates": 100})
    # Results with replicates have another definition.
    assert {step.action for step in done.decisions} == {"evaluate"}
    found = read("ks").filter(pl.col("value").is_not_null())
    assert (found["low"] < found["value"]).all()
    assert found["method"].str.contains("bootstrap, 100 replicates").all()
    again = lake.run(backfill=True, changes=changes | {"replicates": 100})
    assert {step.action for step in again.decisions} == {"keep"}
    for wrong, message in (
        ({"replicates": 100}, "replicates: 100 needs ci: 0.95"),
        ({"replicates": -1, "ci": 0.9}, "replicates"),
        ({"replicates": 7, "ci": 0.9}, "replicates=7 must be a whole number from 100 to 1,000"),
        ({"name": "two words"}, "name: only letters, digits, _, . and - are allowed"),
    ):
        with pytest.raises(RequestError, match=message):
            check_job(lake.job(metrics=["ks"], **{"ci": None, "replicates": 0} | wrong))
