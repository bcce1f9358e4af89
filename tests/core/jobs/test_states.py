"""Jobs that keep states, and jobs over states: weeks from days, metrics added later."""

import os
import shutil
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from sklearn.metrics import brier_score_loss, log_loss, roc_auc_score

import sqleval
from sqleval import RequestError, SourceError
from sqleval.jobs.file.reading import read_job
from sqleval.jobs.running.run import open_job_store
from sqleval.jobs.running.validation import check_job
from tests.support.lake import (
    Lake,
    evaluated,
    lake_with_states,
    on,
    read_results,
    rows,
    state_files,
    steps,
    week,
    weekly,
)


@pytest.fixture
def lake(tmp_path: Path) -> Lake:
    """Six days, and a job that keeps their states."""
    return lake_with_states(tmp_path)


def test_a_period_has_its_state_and_the_state_its_rows(lake: Lake) -> None:
    lake.backfill()
    history = lake.history()
    assert history["error"].null_count() == history.height == 6 * 3 * 2
    assert sorted(state_files(lake)) == [f"2026-01-{day:02}.parquet" for day in range(1, 7)]
    found = sqleval.from_state(lake.folder / "states", by=["seg", "period"])
    frame = found.evaluate(["log_loss", "accuracy", "roc_auc"]).collect()
    assert frame["n"].sum() == 3 * rows(days=6).height
    for (day, seg), part in rows(days=6).partition_by("day", "seg", as_dict=True).items():
        here = frame.filter(period=str(day), seg=seg)
        exact = roc_auc_score(part["y"], part["p"])
        value = dict(here.select("metric", "value").iter_rows())
        assert value["log_loss"] == pytest.approx(log_loss(part["y"], part["p"]), abs=1e-12)
        assert value["accuracy"] == ((part["p"] >= 0.5) == part["y"]).mean()
        (low, high) = here.filter(metric="roc_auc").select("low", "high").row(0)
        assert low <= exact <= high


def test_only_what_is_evaluated_again_has_a_new_state(lake: Lake) -> None:
    lake.backfill()
    before = state_files(lake)
    assert set(steps(lake.run(backfill=True)).values()) == {"keep"}
    assert state_files(lake) == before
    lake.put(rows(days=1, start=4, seed=5))
    assert [p for p, do in steps(lake.run()).items() if do == "evaluate"] == ["2026-01-05"]
    assert {name for name, at in state_files(lake).items() if at != before[name]} == {
        "2026-01-05.parquet"
    }


def test_weeks_come_from_days_without_the_rows(lake: Lake) -> None:
    lake.backfill()
    shutil.rmtree(lake.folder / "preds")
    other = weekly(lake)
    done = other.run(backfill=True)
    assert not done.errors
    assert steps(done) == {"2025-12-29": "evaluate", "2026-01-05": "evaluate"}
    history = other.history().filter(job="weekly")
    assert history["grain"].unique().to_list() == ["week"]
    for period, part in (("2025-12-29", week(1, 4)), ("2026-01-05", week(5, 6))):
        for seg, of in [("{}", part)] + [
            (f'{{"seg":"{seg}"}}', part.filter(seg=seg)) for seg in "abc"
        ]:
            here = history.filter(period=period, slice=seg)
            loss = here.filter(metric="log_loss").row(0, named=True)
            assert loss["value"] == pytest.approx(log_loss(of["y"], of["p"]), abs=1e-12)
            assert loss["n"] == of.height
            auc = here.filter(metric="roc_auc").row(0, named=True)
            assert auc["low"] <= roc_auc_score(of["y"], of["p"]) <= auc["high"]
            assert auc["high"] - auc["low"] < 1e-2
    assert set(steps(other.run(backfill=True)).values()) == {"keep"}


def test_a_week_is_evaluated_again_where_one_of_its_days_was(lake: Lake) -> None:
    lake.backfill()
    weekly(lake).backfill()
    changed = rows(days=1, start=5, seed=3)
    lake.put(changed)
    lake.run()
    done = weekly(lake).run(as_of=datetime(2026, 1, 12, tzinfo=UTC))
    assert steps(done) == {"2026-01-05": "evaluate"}
    of = pl.concat([week(5, 6).filter(pl.col("day").dt.day() != 6), changed])
    found = (
        read_results(done)
        .filter(period="2026-01-05", metric="log_loss", slice="{}")["value"]
        .item()
    )
    assert found == pytest.approx(log_loss(of["y"], of["p"]), abs=1e-12)


def test_months_gates_and_a_report_from_states(lake: Lake) -> None:
    lake.backfill()
    gates = ["log_loss < 0.1", {"check": "rows >= 720", "by": []}]
    other = weekly(
        lake, period={"column": "period", "grain": "month"}, gates=gates, report="month.html"
    )
    assert "1 file" not in check_job(other.job())
    done = other.run(backfill=True)
    assert done.verdicts.group_by("gate", "status").len().sort("gate").rows() == [
        ("log_loss < 0.1", "failed", 4), ("rows >= 720 (all rows)", "passed", 1)
    ]  # fmt: skip
    from sqleval.jobs.outputs.report import write_report

    (page,) = write_report(done)
    text = Path(page).read_text(encoding="utf-8")
    assert text.count("<svg") == 2 + 2  # trends of two metrics, and two curves
    assert "720" in text


def test_slices_are_those_of_the_rows_whatever_metrics_come_from(tmp_path: Path) -> None:
    lake = Lake(tmp_path)
    lake.put(rows(days=2).with_columns(p=pl.when(pl.col("day") < pl.date(2026, 1, 2)).then("p")))
    models = {"by": None, "score": {"one": "p", "two": "p"}, "slices": [[], ["seg"]]}
    lake.run(backfill=True, changes={**models, "states": "states", "metrics": ["roc_auc"]})
    done = lake.run(backfill=True, changes={"metrics": ["roc_auc", "brier_score"]})
    assert set(steps(done).values()) == {"add"}
    same = ["period", "slice", "n", "n_dropped", "note"]
    of_rows, of_states = lake.history().sort(same).partition_by("metric")
    assert of_rows.select(same).equals(of_states.select(same))
    # Slices whose rows were all left out are kept as well.
    assert len(evaluated(lake.run(backfill=True, changes={"slices": [["seg"]]}))) == 2


def test_a_metric_that_is_added_later_comes_from_the_states(lake: Lake) -> None:
    lake.backfill()
    first = lake.history()
    for file in (lake.folder / "preds").iterdir():
        stat = file.stat()
        file.write_bytes(b"x" * stat.st_size)  # reading the file fails from now on
        os.utime(file, ns=(stat.st_atime_ns, stat.st_mtime_ns))
    names = ["roc_auc", "log_loss", "brier_score", "ks"]
    assert set(steps(lake.run(changes={"metrics": names})).values()) == {"keep"}
    done = lake.run(backfill=True)
    assert not done.errors
    assert set(steps(done).values()) == {"add"}
    history = lake.history()
    assert history.height == 6 * 3 * 4
    old = history.filter(pl.col("metric").is_in(["roc_auc", "log_loss"]))
    assert old.sort("period", "slice", "metric").equals(first.sort("period", "slice", "metric"))
    for (day, seg), part in rows(days=6).partition_by("day", "seg", as_dict=True).items():
        here = history.filter(period=str(day), slice=f'{{"seg":"{seg}"}}')
        value = here.filter(metric="brier_score")["value"].item()
        assert value == pytest.approx(brier_score_loss(part["y"], part["p"]), abs=1e-12)
        ks = here.filter(metric="ks").row(0, named=True)
        exact = sqleval.scan(part, label="y", score="p").evaluate("ks").collect()["value"].item()
        assert ks["low"] <= exact <= ks["high"]
        assert ks["fingerprint"] == here["fingerprint"][0]
        assert here["n"].to_list() == [part.height] * 4
    assert set(steps(lake.run(backfill=True)).values()) == {"keep"}
    # Removing a metric reads no file.
    done = lake.run(backfill=True, changes={"metrics": ["roc_auc", "log_loss"]})
    assert not done.errors
    assert (
        lake.history()
        .sort("period", "slice", "metric")
        .equals(first.sort("period", "slice", "metric"))
    )


def test_what_a_state_does_not_hold_comes_from_the_rows(lake: Lake) -> None:
    lake.backfill()
    names = ["roc_auc", "log_loss", "accuracy(threshold=0.7)", "f_beta(beta=2, threshold=0.7)"]
    done = lake.run(backfill=True, changes={"metrics": names})
    assert set(steps(done).values()) == {"add"}
    names += ["expected_calibration_error(bins=7)"]
    done = lake.run(backfill=True, changes={"metrics": names})
    assert set(steps(done).values()) == {"evaluate"}
    assert "the state does not hold" in done.decisions[0].reason
    part = rows(days=6).filter(day=datetime(2026, 1, 3).date(), seg="b")
    here = read_results(done).filter(period="2026-01-03", slice='{"seg":"b"}')
    assert here["metric"].n_unique() == 5
    exact = sqleval.scan(part, label="y", score="p").evaluate(names).collect()
    assert here["value"].to_list() == pytest.approx(exact["value"].to_list(), abs=1e-12)
    # Now the state has the sum.
    for some in (names[:-1], names):
        done = lake.run(backfill=True, changes={"metrics": some})
        assert set(steps(done).values()) == {"add"}
    again = read_results(done).filter(period="2026-01-03", slice='{"seg":"b"}')
    assert again["n"].unique().to_list() == [part.height]
    assert again["value"].to_list() == pytest.approx(exact["value"].to_list(), abs=1e-12)


def test_data_that_is_gone_is_evaluated_from_its_state(lake: Lake) -> None:
    lake.backfill()
    (lake.folder / "preds" / "2026-01-02.parquet").unlink()
    names = ["roc_auc", "brier_score"]
    done = lake.run(backfill=True, changes={"metrics": names})
    assert steps(done)["2026-01-01"] == "add"
    asked = lake.run(date=on("2026-01-02"))
    assert steps(asked) == {"2026-01-02": "add"}
    # Metrics that can no longer be evaluated stay, even if the job no longer has them.
    assert lake.history().filter(period="2026-01-02")["metric"].unique().sort().to_list() == [
        "brier_score", "log_loss", "roc_auc",
    ]  # fmt: skip
    assert set(steps(lake.run(date=on("2026-01-02"))).values()) == {"keep"}
    assert not asked.errors
    # Metrics that the state lacks cannot be added, and stored ones stay.
    names += ["expected_calibration_error(bins=7)"]
    lost = lake.run(date=on("2026-01-02"), changes={"metrics": names})
    assert steps(lost) == {"2026-01-02": "keep"}
    assert "the state does not hold" in lost.decisions[0].reason
    assert lake.history().filter(period="2026-01-02").height == 3 * 3


def test_states_of_other_roles_slices_or_data_are_not_used(lake: Lake) -> None:
    lake.backfill()
    more = {"metrics": ["roc_auc", "log_loss", "ks"]}
    for changes in (
        {"where": "seg <> 'a'"},
        {"by": None},
        {"states": {"folder": "states", "bins": 9}},
    ):
        done = lake.run(backfill=True, changes=more | changes)
        assert set(steps(done).values()) == {"evaluate"}, changes
    # All states belong to this job now, except the one whose data has changed since.
    lake.put(rows(days=1, start=2, seed=9))
    done = lake.run(backfill=True, changes={"metrics": ["roc_auc", "log_loss", "ks", "f1"]})
    assert steps(done) == {f"2026-01-{d:02}": "evaluate" if d == 3 else "add" for d in range(1, 7)}


def test_states_that_are_missing_are_made_by_a_backfill(lake: Lake) -> None:
    lake.backfill()
    (lake.folder / "states" / "2026-01-04.parquet").unlink()
    assert set(steps(lake.run()).values()) == {"keep"}
    again = [p for p, do in steps(lake.run(backfill=True)).items() if do == "evaluate"]
    assert again == ["2026-01-04"]
    assert (lake.folder / "states" / "2026-01-04.parquet").exists()


def test_models_hours_and_a_zone(tmp_path: Path) -> None:
    lake = Lake(tmp_path)
    frame = rows(days=1, each=90).with_columns(
        at=pl.datetime(2026, 1, 1, 3) + pl.duration(minutes=24 * pl.int_range(pl.len())),
        q=1 - pl.col("p"),
    )
    frame.write_parquet(lake.folder / "preds" / "all.parquet")
    zone = "America/New_York"
    lake.spec |= {
        "states": "states", "score": {"one": "p", "two": "q"}, "by": [],
        "period": {"column": "at", "grain": "hour", "timezone": zone},
    }  # fmt: skip
    done = lake.run(backfill=True)
    assert not done.errors
    assert len(state_files(lake)) == len(done.decisions) == 36
    day = {"column": "period", "grain": "day"}
    with pytest.raises(RequestError, match=r"is America/New_York: write period: \{timezone: "):
        weekly(lake, period=day, slices=[[]]).run(backfill=True)
    done = weekly(lake, period=day | {"timezone": zone}, slices=[[]]).run(backfill=True)
    assert not done.errors
    local = frame.with_columns(
        day=pl.col("at").dt.replace_time_zone("UTC").dt.convert_time_zone(zone).dt.date()
    )
    assert sorted(steps(done)) == [str(d) for d in local["day"].unique().sort()]
    for (date,), part in local.partition_by("day", as_dict=True).items():
        for model, column in (("one", "p"), ("two", "q")):
            here = read_results(done).filter(
                period=str(date), slice=f'{{"model":"{model}"}}', metric="log_loss"
            )
            assert here["value"].item() == pytest.approx(
                log_loss(part["y"], part[column]), abs=1e-12
            )
            assert here["n"].item() == part.height


def test_a_slice_that_fails_has_no_state_until_it_is_mended(lake: Lake) -> None:
    bad = rows(days=1, start=3).with_columns(p=pl.when(seg="a").then(7.0).otherwise("p"))
    lake.put(bad)
    done = lake.run(backfill=True)
    assert len(done.errors) == 1
    assert "2026-01-04.parquet" not in state_files(lake)
    lake.put(rows(days=1, start=3))
    lake.run()
    assert "2026-01-04.parquet" in state_files(lake)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        (
            {"label": "y"},
            "label does not fit a job with from_state, which takes it from the states",
        ),
        ({"states": "other"}, "states does not fit"),
        ({"source": "preds"}, "source does not fit"),
        ({"period": {"column": "day"}}, "period.column='day': in a job with from_state it is"),
    ],
)
def test_a_job_over_states_has_no_roles(lake: Lake, changes: Any, message: str) -> None:
    with pytest.raises(RequestError, match=message):
        weekly(lake, **changes).job()


def test_wrong_states_are_refused(lake: Lake) -> None:
    with pytest.raises(RequestError, match="is a URL; states are kept in a local folder"):
        lake.job(states="s3://bucket/states")
    lake.spec["states"] = "states"
    other = weekly(lake)
    done = other.run(backfill=True)
    assert "no such file" in done.errors[0]
    lake.run(backfill=True)
    with pytest.raises(RequestError, match=r"by='carrier': no such column in all of"):
        weekly(lake, slices=[["carrier"]]).run(backfill=True)
    with pytest.raises(RequestError, match="periods of one day cannot be added up to one hour"):
        weekly(lake, period={"column": "period", "grain": "hour"}).run(backfill=True)
    with pytest.raises(SourceError, match=r"preds.* is not a state: it has no column 'definition'"):
        check_job(weekly(lake, from_state="preds").job())
    with pytest.raises(RequestError, match="the state does not hold"):
        check_job(weekly(lake, metrics=["expected_calibration_error(bins=9)"]).job())
    with pytest.raises(RequestError, match="a state holds a score or a decision, not counts"):
        check_job(lake.job(states="states", counts="key"))


def test_one_state_that_cannot_be_read(lake: Lake) -> None:
    lake.backfill()
    (lake.folder / "states" / "2026-01-01.parquet").write_bytes(b"no")
    done = weekly(lake).run(backfill=True)
    assert any("2026-01-01.parquet" in error for error in done.errors)
    assert steps(done) == {"2025-12-29": "evaluate", "2026-01-05": "evaluate"}


def test_late_labels_remake_the_state(lake: Lake) -> None:
    whole = rows(days=6)
    lake.put(whole.drop("y"))
    (lake.folder / "labels").mkdir()
    for name, part in (("a", whole.filter(pl.col("key") % 2 == 0)), ("b", whole)):
        part.select("key", "y").write_parquet(lake.folder / "labels" / f"{name}.parquet")
        if name == "b":
            (lake.folder / "labels" / "a.parquet").unlink()
        changes = {"labels": {"source": "labels", "on": "key", "maturity": "1d"}}
        assert not lake.run(backfill=True, changes=changes).errors
        done = weekly(lake, labels=None).run(backfill=True, as_of=datetime(2026, 2, 1, tzinfo=UTC))
        assert not done.errors
    found = read_results(done).filter(metric="log_loss", slice="{}").sort("period")
    expected = [log_loss(part["y"], part["p"]) for part in (week(1, 4), week(5, 6))]
    assert found["value"].to_list() == pytest.approx(expected, abs=1e-12)
    assert found["n"].to_list() == [4 * 120, 2 * 120]
    assert (
        open_job_store(read_job(lake.folder / "job.yml")).read("sqleval_history", "weekly").height
    )


def test_states_of_a_ranking_give_weeks(lake: Lake) -> None:
    """A query belongs to one day and slice; with rows of several, the week has no value."""
    days = rows(days=6).with_columns(visit=pl.format("{}/{}/{}", "day", "seg", pl.col("key") % 7))
    lake.put(days)
    ranking = {"metrics": ["ndcg", "ndcg(k=3)"], "gates": None, "ci": 0.95}
    lake.spec |= ranking | {"qid": "visit"}
    lake.backfill()
    other = weekly(lake, **ranking, qid=None)
    done = other.run(backfill=True)
    assert not done.errors
    found = other.history().filter(job="weekly", slice="{}").sort("period", "metric")
    expected = [
        sqleval.scan(part, label="y", score="p", qid="visit").evaluate(ranking["metrics"], ci=0.95)
        for part in (
            days.filter(pl.col("day").dt.day() <= 4),
            days.filter(pl.col("day").dt.day() > 4),
        )
    ]
    columns = ["metric", "value", "low", "high", "n"]
    frames = [each.collect().select(columns) for each in expected]
    assert found.select(columns).rows() == [pytest.approx(row) for row in pl.concat(frames).rows()]
    lake.spec |= {"qid": "seg"}
    assert not lake.run(backfill=True, changes={"states": {"folder": "others", "bins": 12}}).errors
    done = weekly(lake, **ranking, qid=None, from_state="others").run(backfill=True)
    assert "queries are there several times" in done.errors[0]
