"""Jobs over broken or changing data: nothing is lost, mixed or left out silently."""

import errno
import json
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any
from unittest.mock import Mock
from xml.etree import ElementTree

import polars as pl
import pyarrow.parquet as pq
import pytest
from sklearn.metrics import roc_auc_score

from sqleval import RequestError
from sqleval.jobs.file.reading import read_job
from sqleval.jobs.judging import gates
from sqleval.jobs.outputs import report, results
from sqleval.jobs.periods import listing
from sqleval.jobs.running.run import open_job_store
from tests.support.lake import LATER, SMALLEST, Lake, evaluated, on, rows, steps
from tests.support.tried import check_tried


@pytest.fixture
def lake(lake: Lake) -> Lake:
    """Four days, and a job with one metric; the tests do not depend on which."""
    lake.spec["metrics"] = ["log_loss"]
    return lake


def numbers(lake: Lake) -> pl.DataFrame:
    return lake.history().select("period", "slice", "metric", "value", "n").sort(pl.all())


# -- files --------------------------------------------------------------------------------------


def test_the_type_of_one_file_does_not_round_the_others(lake: Lake) -> None:
    whole = rows(days=1).with_columns(p=pl.col("p").round().cast(pl.Int64))
    whole.write_parquet(lake.folder / "preds" / "2026-01-01.parquet")
    done = lake.run(backfill=True, changes={"by": None, "metrics": ["roc_auc"]})
    assert not done.errors
    for day in (1, 2):
        of = (whole if day == 1 else rows()).filter(pl.col("day") == date(2026, 1, day))
        value = lake.history().filter(period=f"2026-01-0{day}", metric="roc_auc")["value"].item()
        assert value == pytest.approx(roc_auc_score(of["y"], of["p"]), abs=1e-12)


def test_a_file_that_does_not_fit_is_recorded_and_the_rest_goes_on(lake: Lake) -> None:
    rows(days=1, start=4).drop("day").write_parquet(lake.folder / "preds" / "z.parquet")
    done = lake.run(backfill=True)
    assert len(evaluated(done)) == 4
    assert "period.column='day': no such column in" in done.errors[0]
    assert "_sqleval" not in done.errors[0]
    rows(days=1, start=5).drop("p").write_parquet(lake.folder / "preds" / "y.parquet")
    done = lake.run(as_of=datetime(2026, 1, 7, tzinfo=UTC))
    assert evaluated(done) == ["2026-01-06"]
    assert len(done.errors) == 2
    good = lake.history().filter(pl.col("error").is_null(), pl.col("n") > 0)
    assert good["period"].unique().len() == 4


def test_a_job_whose_columns_no_file_has_is_refused(lake: Lake) -> None:
    for changes in ({"score": "q"}, {"period": {"column": "q"}}):
        with pytest.raises(RequestError, match="no such column"):
            lake.run(backfill=True, changes=changes)
        lake.spec |= {"score": "p"}
    assert not (lake.folder / "history.duckdb").exists()


def test_numbers_stay_where_a_file_becomes_unreadable(lake: Lake) -> None:
    more = lake.folder / "preds" / "more.parquet"
    rows(days=1, seed=7).write_parquet(more)
    lake.run(backfill=True)
    before = numbers(lake)
    assert before["n"].max() == 80
    more.write_bytes(b"no Parquet")
    done = lake.run()
    assert "more.parquet" in " ".join(done.errors)
    assert evaluated(done) == ["2026-01-01"]
    assert numbers(lake).equals(before)
    assert evaluated(lake.run()) == ["2026-01-01"]  # tried again
    rows(days=1, seed=8).write_parquet(more)
    assert not lake.run().errors
    assert not numbers(lake).equals(before)
    assert (
        numbers(lake).select("period", "slice", "n").equals(before.select("period", "slice", "n"))
    )


def labelled(lake: Lake) -> Path:
    for file in (lake.folder / "preds").iterdir():
        pl.read_parquet(file).drop("y").write_parquet(file)
    labels = lake.folder / "labels.parquet"
    rows().select("key", "y").write_parquet(labels)
    lake.job(labels={"source": "labels.parquet", "on": "key"})
    return labels


def test_a_repeated_key_among_the_labels_concerns_its_period_alone(lake: Lake) -> None:
    labels = labelled(lake)
    lake.backfill()
    before = numbers(lake)
    whole = rows().select("key", "y")
    stranger = pl.DataFrame({"key": [10**6] * 2, "y": [1, 1]}, schema=whole.schema)
    pl.concat([whole, stranger]).write_parquet(labels)
    assert not lake.run().errors
    pl.concat([whole, whole.head(1)]).write_parquet(labels)
    done = lake.run()
    assert {error.split(" ")[0] for error in done.errors} == {"2026-01-01"}
    assert "repeats keys" in done.errors[0]
    assert (
        numbers(lake)
        .filter(pl.col("period") > "2026-01-01")
        .equals(before.filter(pl.col("period") > "2026-01-01"))
    )
    assert (lake.history()["matured"] <= 1).all()


def test_an_unreadable_file_of_labels_leaves_its_numbers(lake: Lake) -> None:
    labels = labelled(lake)
    lake.backfill()
    before = numbers(lake)
    labels.write_bytes(b"no Parquet")
    done = lake.run()
    assert "labels.parquet" in done.errors[0]
    assert numbers(lake).equals(before)


def test_a_page_that_differs_from_its_checksum_concerns_its_period_alone(lake: Lake) -> None:
    for file in (lake.folder / "preds").iterdir():
        pq.write_table(pq.read_table(file), file, write_page_checksum=True)
    damaged = lake.folder / "preds" / "2026-01-02.parquet"
    chunk = pq.read_metadata(damaged).row_group(0).column(2)
    content = bytearray(damaged.read_bytes())
    start = chunk.dictionary_page_offset or chunk.data_page_offset
    content[start + chunk.total_compressed_size - 1] ^= 1
    damaged.write_bytes(content)
    done = lake.run(backfill=True, changes={"verify": True})
    assert {error.split(" ")[0] for error in done.errors} == {"2026-01-02"}
    assert "column 'p', row group 1: a page differs from its checksum" in done.errors[0]
    good = lake.history().filter(pl.col("error").is_null())
    assert good["period"].unique().len() == 3


def test_an_outage_is_recorded_until_it_is_over(
    lake: Lake, monkeypatch: pytest.MonkeyPatch
) -> None:
    lake.backfill()
    before = numbers(lake)
    as_of = datetime(2026, 1, 8, tzinfo=UTC)
    error = PermissionError(errno.EACCES, "Permission denied", "preds")
    with monkeypatch.context() as context:
        context.setattr(listing, "load_snapshot", Mock(side_effect=error))
        assert lake.run(as_of=as_of).errors == ["cannot read 'preds': Permission denied"]
    (lake.folder / "preds").rename(lake.folder / "away")
    done = lake.run(as_of=as_of)
    assert "preds" in done.errors[0]
    assert lake.history().filter(pl.col("error").is_not_null())["period"].unique().to_list() == [
        "2026-01-07"
    ]
    (lake.folder / "away").rename(lake.folder / "preds")
    assert not lake.run(as_of=as_of).errors
    assert numbers(lake).filter(pl.col("period") < "2026-01-05").equals(before)
    since = lake.history().filter(pl.col("period") > "2026-01-04")
    assert set(since.select("period", "n").iter_rows()) == {(f"2026-01-0{n}", 0) for n in (5, 6, 7)}


def test_an_outage_leaves_nothing_where_no_rows_are_expected(lake: Lake) -> None:
    lake.job(missing="ignore")
    lake.backfill()
    before = lake.history()
    (lake.folder / "preds").rename(lake.folder / "away")
    as_of = datetime(2026, 1, 8, tzinfo=UTC)
    assert lake.run(as_of=as_of).errors
    assert lake.history().height > before.height
    (lake.folder / "away").rename(lake.folder / "preds")
    assert not lake.run(as_of=as_of).errors
    assert lake.history().equals(before)


# -- periods ------------------------------------------------------------------------------------


@pytest.mark.parametrize("day", ["9999-12-31", "0001-01-01"])
def test_dates_that_stand_for_missing_ones_are_counted(lake: Lake, day: str) -> None:
    odd = rows(days=1).head(3).with_columns(day=date.fromisoformat(day))
    odd.write_parquet(lake.folder / "preds" / "odd.parquet")
    done = lake.run(backfill=True)
    assert len(evaluated(done)) == 4
    assert done.notes[0].startswith("3 rows without a period")
    assert not done.errors


def test_periods_that_have_not_ended_wait(lake: Lake) -> None:
    far = rows(days=1).with_columns(day=date(2099, 12, 31))
    far.write_parquet(lake.folder / "preds" / "far.parquet")
    noon = datetime(2026, 1, 4, 12, tzinfo=UTC)
    done = lake.run(as_of=noon, backfill=True, changes={"gates": ["age <= 0"]})
    assert [p for p, action in steps(done).items() if action == "wait"] == [
        "2026-01-04", "2099-12-31",
    ]  # fmt: skip
    assert done.verdicts.filter(pl.col("gate").str.starts_with("age"))["value"].to_list() == [0.0]
    assert evaluated(lake.run(as_of=noon, date=on("2026-01-04"), force=True)) == ["2026-01-04"]


def test_the_first_period_is_tried_again(lake: Lake) -> None:
    first = lake.folder / "preds" / "2026-01-01.parquet"
    rows(days=1).with_columns(y=pl.lit(None, pl.Int8)).write_parquet(first)
    for day in (1, 2):
        lake.run(as_of=datetime(2026, 1, day + 1, 3, tzinfo=UTC))
    assert lake.history().filter(period="2026-01-01")["n"].max() == 0
    rows(days=1).write_parquet(first)
    assert "2026-01-01" in evaluated(lake.run())
    assert lake.history().filter(period="2026-01-01")["n"].min() == 40


def test_a_condition_that_leaves_nothing_is_missing_data(lake: Lake) -> None:
    done = lake.run(backfill=True, changes={"where": "day <> DATE '2026-01-02'"})
    empty = lake.history().filter(period="2026-01-02")
    assert empty["n"].to_list() == [0]
    assert done.verdicts.filter(gate="missing")["period"].to_list() == ["2026-01-02"]
    assert evaluated(lake.run(backfill=True)) == []


def test_another_grain_is_another_job(lake: Lake) -> None:
    lake.backfill()
    before = numbers(lake)
    with pytest.raises(RequestError, match="is by day, and the job is by week"):
        lake.run(backfill=True, changes={"period": {"column": "day", "grain": "week"}})
    lake.spec["period"] = {"column": "day"}
    assert numbers(lake).equals(before)


def test_a_span_has_an_end(lake: Lake) -> None:
    with pytest.raises(RequestError, match="more than 10,000 periods of one day"):
        lake.run(span=(datetime(1900, 1, 1), datetime(2026, 1, 4)))
    with pytest.raises(RequestError, match="is later than"):
        lake.run(span=(datetime(2026, 1, 4, tzinfo=UTC), datetime(2026, 1, 1)))


@pytest.mark.parametrize("suffix", ["Z", "+00:00", "+0000"])
def test_a_text_with_an_offset_is_an_instant(lake: Lake, suffix: str) -> None:
    for file in (lake.folder / "preds").iterdir():
        frame = pl.read_parquet(file)
        hour = pl.int_range(pl.len()).mod(24).cast(pl.String).str.zfill(2)
        text = pl.col("day").cast(pl.String) + "T" + hour + ":30:00" + suffix
        frame.with_columns(day=text).write_parquet(file)
    lake.run(backfill=True, changes={
        "by": None, "metrics": ["accuracy"],
        "period": {"column": "day", "timezone": "Asia/Tokyo"},
    })  # fmt: skip
    # In that zone nine hours of each day belong to the next one.
    assert numbers(lake).select("period", "n").rows() == [
        ("2026-01-01", 75), ("2026-01-02", 120), ("2026-01-03", 120), ("2026-01-04", 120),
        ("2026-01-05", 45),
    ]  # fmt: skip


def test_hours_of_local_texts_are_those_of_a_date(lake: Lake) -> None:
    for file in (lake.folder / "preds").iterdir():
        frame = pl.read_parquet(file)
        frame.with_columns(day=pl.col("day").cast(pl.String) + " 07:15").write_parquet(file)
    zone = {"column": "day", "grain": "hour", "timezone": "Europe/Paris"}
    lake.run(backfill=True, changes={"period": zone})
    done = lake.run(date=on("2026-01-02T07:00"))
    assert steps(done) == {"2026-01-02T06:00Z": "keep"}
    lake.put(rows())
    with pytest.raises(RequestError, match="a period of one hour needs a TIMESTAMP"):
        lake.run(backfill=True)


def test_nanoseconds_with_a_time_zone(lake: Lake) -> None:
    for file in (lake.folder / "preds").iterdir():
        frame = pl.read_parquet(file)
        frame.with_columns(pl.col("day").cast(pl.Datetime("ns", "UTC"))).write_parquet(file)
    assert len(evaluated(lake.run(backfill=True))) == 4


# -- slices and gates ---------------------------------------------------------------------------


def test_a_failed_slice_is_called_as_it_was(lake: Lake) -> None:
    number = pl.col("seg").replace_strict({"a": 1, "b": 2, "c": 3})
    is_bad = (pl.col("seg") == "b") & (pl.col("day") == date(2026, 1, 1))
    lake.put(rows().with_columns(seg=number, p=pl.when(is_bad).then(7.0).otherwise("p")))
    lake.run(backfill=True)
    failed = lake.history().filter(pl.col("error").is_not_null())
    assert set(failed["slice"]) == {'{"seg":2}'}


def test_a_key_of_any_name(lake: Lake) -> None:
    keys = ["^.*$", "*", 'a"b', "period", "slice", "job"]
    lake.put(rows().select("y", "p", "day", *(pl.col("seg").alias(key) for key in keys)))
    sets = [[key] for key in keys]
    done = lake.run(backfill=True, changes={"by": None, "slices": sets})
    assert not done.errors
    assert {*lake.history()["slice"]} == {
        json.dumps({key: seg}, separators=(",", ":")) for key in keys for seg in "abc"
    }


@pytest.mark.parametrize(
    ("column", "message"),
    [(pl.Series([b"x"] * 480), "is BLOB"), (pl.Series([[1]] * 480), r"is (BIGINT|INTEGER)\[\]")],
)
def test_a_key_that_cannot_be_written_is_refused(
    lake: Lake, column: pl.Series, message: str
) -> None:
    lake.put(rows().with_columns(odd=column))
    with pytest.raises(RequestError, match=message):
        lake.run(backfill=True, changes={"by": ["odd"]})


def test_slices_that_the_job_no_longer_has_are_not_missing(lake: Lake) -> None:
    lake.put(rows(days=10))
    first = datetime(2026, 1, 9, tzinfo=UTC)
    lake.run(as_of=first, backfill=True, changes={"by": None, "slices": [[], ["seg"]]})
    done = lake.run(changes={"slices": [[]]})
    assert len(evaluated(done)) == 2
    assert done.verdicts.filter(gate="missing").is_empty()


def test_a_slice_that_was_always_there_is_missed(lake: Lake) -> None:
    gone = (pl.col("seg") == "b") & (pl.col("day") == date(2026, 1, 9))
    late = (pl.col("seg") == "c") & (pl.col("day") < date(2026, 1, 5))
    unlabelled = (pl.col("seg") == "a") & (pl.col("day") == date(2026, 1, 10))
    lake.put(rows(days=10).filter(~gone, ~late).with_columns(y=pl.when(~unlabelled).then("y")))
    done = lake.run(backfill=True)
    after = "after at least 30 in each of the 7 periods before"
    assert done.verdicts.filter(gate="missing").select("period", "slice", "reason").rows() == [
        ("2026-01-09", '{"seg":"b"}', f"no rows, {after}"),
        ("2026-01-10", '{"seg":"a"}', f"all rows are left out, {after}"),
    ]


def test_gaps_and_other_definitions_give_no_reference(lake: Lake) -> None:
    for day in (2, 3):
        (lake.folder / "preds" / f"2026-01-0{day}.parquet").unlink()
    gate = {"check": "drop(log_loss, previous 2) < 1", "by": []}
    span = (datetime(2026, 1, 1), datetime(2026, 1, 4))
    done = lake.run(span=span, changes={"by": None, "gates": [gate]})
    found = done.verdicts.filter(gate=f"{gate['check']} (all rows)").sort("period")
    assert found["status"].to_list() == ["no reference", "undefined", "undefined", "passed"]
    gate = {"check": "drop(rows, previous 2) < 10", "by": []}
    changed = {"gates": [gate], "where": "key % 2 = 0"}
    done = lake.run(date=on("2026-01-04"), changes=changed)
    found = done.verdicts.filter(gate=f"{gate['check']} (all rows)")
    assert found["status"].to_list() == ["no reference"]


def test_a_task_inferred_from_the_rows_is_kept(lake: Lake) -> None:
    for file in (lake.folder / "preds").iterdir():
        frame = pl.read_parquet(file)
        frame.with_columns(d=pl.col("seg").reverse()).write_parquet(file)
    roles = {"label": "seg", "score": None, "prediction": "d", "by": None, "metrics": ["accuracy"]}
    lake.run(backfill=True, changes=roles)
    assert lake.run().notes == []
    lake.run(date=on("2026-01-09"))
    assert lake.history()["definition"].unique().len() == 1
    with pytest.raises(RequestError, match="rmse is a regression metric and the task is"):
        lake.run(changes={"metrics": ["accuracy", "rmse", "f1"]})


# -- what a run leaves --------------------------------------------------------------------------


def test_a_page_of_a_period_whose_data_is_gone(lake: Lake) -> None:
    page = {"report": "r.html", "metrics": ["log_loss"]}
    lake.run(backfill=True, changes=page)
    (lake.folder / "preds" / "2026-01-04.parquet").unlink()
    rows(days=1, seed=3).write_parquet(lake.folder / "preds" / "2026-01-01.parquet")
    assert report.write_report(lake.run()) != []
    assert "2026-01-04" in (lake.folder / "r.html").read_text(encoding="utf-8")
    done = lake.run(date=on("2026-01-09"))
    assert report.write_report(done) != []
    assert "the period has no rows" in (lake.folder / "r.html").read_text(encoding="utf-8")


def test_files_for_programs_hold_any_value(lake: Lake) -> None:
    odd = pl.col("seg").replace({"a": None, "b": "None", "c": "c\x01"})
    lake.put(rows().with_columns(seg=odd, p=pl.lit(0.5)))
    done = lake.run(backfill=True, changes={
        "metrics": ["best_accuracy_threshold"], "gates": ["best_accuracy_threshold >= 0"],
        "outputs": {"json": "o.json", "junit": "o.xml", "prometheus": "o.prom"},
    })  # fmt: skip
    assert done.verdicts["value"].is_infinite().any()
    assert not done.verdicts["short_by"].is_nan().any()
    results.write_outputs(done, 0)
    assert '"inf"' in (lake.folder / "o.json").read_text(encoding="utf-8")
    ElementTree.parse(lake.folder / "o.xml")
    text = (lake.folder / "o.prom").read_text(encoding="utf-8")
    assert 'slice="seg is null"' in text
    assert 'slice="seg=None"' in text
    assert 'sqleval_errors{job_name="nightly"} 0.0' in text


# -- job files ----------------------------------------------------------------------------------

WRONG: dict[str, tuple[bytes, str]] = {
    "no UTF-8": (b"\xff\xfe", "not UTF-8"),
    "a character": (b"a: \x00", "not YAML"),
    "a key": (b"? [a]\n: 1\n", "a key must be a text"),
    "a baseline": (b"baseline: {from: 2024-01-01, to: 2024-01-1}\n", "'2024-01-1' is not a period"),
    "turned round": (b"baseline: {from: 2024-02-01, to: 2024-01-01}\n", "is later than"),
    "no slices": (b"slices: []\n", "write [[]] for all rows"),
    "twice": (b"slices: [[a, b], [b, a]]\n", "slices occur twice"),
    "a name of ours": (b"slices: [[], [class]]\n", "'class' cannot be a slice key"),
    "an old age": (b"gates: [age <= previous 3 + 1]\n", "age must be compared with a number"),
    "a drop of age": (
        b"gates: ['drop(age, previous 3) < 1']\n",
        "age must be compared with a number",
    ),
    "a password": (b"history: postgresql://u@h/d?password=pw17\n", "must not contain a password"),
    "a secret": (b"history: {url: postgresql://u@h/d, password: pw17}\n", "history.password"),
    "an option": (b"history: {url: a.delta, options: {KEY: 1717}}\n", "history.options"),
}


def test_a_list_without_sources_is_refused(lake: Lake) -> None:
    with pytest.raises(RequestError, match="source: the list of paths is empty"):
        lake.job(source=[])


def test_the_page_counts_the_job_files() -> None:
    check_tried("wrong job files", len(WRONG))


@pytest.mark.parametrize("name", WRONG)
def test_a_wrong_job_file_is_one_clear_line(tmp_path: Path, name: str) -> None:
    added, message = WRONG[name]
    path = tmp_path / "job.yml"
    taken = {line.split(b":")[0] for line in added.splitlines()}
    if b"slices" in taken:
        taken.add(b"by")
    kept = [line for line in SMALLEST.encode().splitlines() if line.split(b":")[0] not in taken]
    path.write_bytes(b"\n".join([*kept, added]))
    with pytest.raises(RequestError) as raised:
        read_job(path)
    assert message in str(raised.value)
    assert "17" not in str(raised.value).replace(str(path), "")


def test_a_history_that_cannot_be_made(lake: Lake) -> None:
    from sqleval.errors import EngineError

    (lake.folder / "file").write_text("", encoding="utf-8")
    with pytest.raises(EngineError, match="the history"):
        lake.run(backfill=True, changes={"history": "file/history.duckdb"})


def test_the_verdicts_have_one_schema(lake: Lake) -> None:
    done: Any = lake.run(as_of=LATER, backfill=True, changes={"gates": ["rows > 1", "age <= 400"]})
    assert done.verdicts.schema == gates.VERDICTS
    assert open_job_store(lake.job()).read("sqleval_history").equals(lake.history())
