"""What `sqleval run --explain` shows, and that it changes nothing."""

import json
from datetime import timedelta
from pathlib import Path
from typing import Any

import polars as pl

from tests.support.commands import run
from tests.support.lake import Lake, rows


def read_contents(folder: Path) -> dict[str, bytes]:
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in folder.rglob("*")
        if path.is_file() and path.name != "job.yml"
    }


def explain(lake: Lake, *options: str, **changes: Any) -> dict[str, Any]:
    """Return the explanation as JSON; nothing may be written."""
    lake.job(**changes)
    before = read_contents(lake.folder)
    path = str(lake.folder / "job.yml")
    done = run("run", path, "--explain", "--format", "json", *options)
    assert read_contents(lake.folder) == before
    (document,) = json.loads(done.stdout)
    assert document["rows_written"] == 0
    return document["plan"]


def find_reasons(plan: dict[str, Any]) -> dict[str, tuple[str, str]]:
    return {each["period"]: (each["action"], each["reason"]) for each in plan["periods"]}


def test_a_new_job_and_the_files_that_it_would_read(lake: Lake) -> None:
    plan = explain(lake, "--as-of", "2026-01-05T03:00")
    (period,) = plan["periods"]
    size = (lake.folder / "preds" / "2026-01-04.parquet").stat().st_size
    assert period == {
        "period": "2026-01-04", "action": "evaluate", "reason": "new",
        "chosen": "the newest period, on the first run", "rows": 120, "files": 1, "bytes": size,
    }  # fmt: skip
    plan = explain(lake, "--backfill")
    assert {each["chosen"] for each in plan["periods"]} == {"asked for by --backfill"}
    sizes = [path.stat().st_size for path in (lake.folder / "preds").iterdir()]
    assert (plan["files"], plan["bytes"]) == (4, sum(sizes))
    assert not (lake.folder / "history.duckdb").exists()


def test_a_file_of_several_periods_is_counted_once(tmp_path: Path) -> None:
    made = Lake(tmp_path)
    rows().write_parquet(tmp_path / "preds" / "all.parquet")
    plan = explain(made, "--backfill")
    assert [each["files"] for each in plan["periods"]] == [1] * 4
    size = (tmp_path / "preds" / "all.parquet").stat().st_size
    assert (plan["files"], plan["bytes"]) == (1, size)


def test_changed_files_and_following_periods(lake: Lake) -> None:
    lake.backfill()
    lake.put(rows(days=1, each=90, start=1))
    lake.put(rows(days=1, start=4))
    night = lake.find_night() + timedelta(days=1)
    plan = explain(lake, "--as-of", night.isoformat())
    assert find_reasons(plan) == {
        "2026-01-02": ("evaluate", "data changed: preds/2026-01-02.parquet changed"),
        "2026-01-04": ("keep", "nothing new"),
        "2026-01-05": ("evaluate", "new"),
        "2026-01-06": ("missing", "no rows"),
    }
    assert [each["chosen"] for each in plan["periods"]] == [
        "changed or failed since", "the last evaluated period",
        "after the last evaluated period", "after the last evaluated period",
    ]  # fmt: skip
    assert [each["rows"] for each in plan["periods"]] == [90, 0, 120, 0]


def test_changed_definitions_name_the_metrics(lake: Lake) -> None:
    lake.run(changes={"metrics": ["roc_auc", "log_loss", "recall"]}, backfill=True)
    day = ("--date", "2026-01-02")
    plan = explain(lake, *day, metrics=["roc_auc", "recall(threshold=0.4)", "f1"])
    assert find_reasons(plan)["2026-01-02"] == (
        "evaluate",
        "definition changed: f1, recall(threshold=0.4) new; log_loss, recall no longer wanted",
    )
    plan = explain(lake, *day, metrics=["roc_auc", "log_loss", "recall"], threshold=0.4)
    reason = "definition changed: log_loss, recall, roc_auc changed"
    assert find_reasons(plan)["2026-01-02"] == ("evaluate", reason)
    assert plan["periods"][0]["chosen"] == "asked for by --date"


def test_a_period_whose_labels_are_not_mature(lake: Lake) -> None:
    rows().select("key", "y").write_parquet(lake.folder / "labels.parquet")
    for path in (lake.folder / "preds").iterdir():
        pl.read_parquet(path).drop("y").write_parquet(path)
    labels = {"source": "labels.parquet", "on": "key", "maturity": "3d"}
    plan = explain(lake, "--backfill", "--as-of", "2026-01-06", labels=labels)
    assert find_reasons(plan)["2026-01-03"] == ("check", "labels mature until 2026-01-07 00:00")
    assert find_reasons(plan)["2026-01-02"] == ("evaluate", "new")
    # The predictions of each of four days, and the labels.
    assert plan["files"] == 5


def test_gates_and_places(lake: Lake) -> None:
    gates = ["roc_auc >= 0.6", "log_loss <= baseline", "drop(roc_auc, previous 7) < 0.1"]
    plan = explain(
        lake, "--backfill", gates=[*gates[:2], {"check": gates[2], "severity": "warn"}],
        baseline={"from": "2026-01-01", "to": "2026-01-02"}, states="states", report="r.html",
        outputs={"json": "o.json", "openlineage": "http://127.0.0.1:9"},
        notify={"command": ["true"], "on": "change"},
    )  # fmt: skip
    assert [tuple(gate.values()) for gate in plan["gates"]] == [
        (gates[0], "fail", "a fixed limit"),
        (gates[1], "fail", "the baseline 2026-01-01 to 2026-01-02"),
        (gates[2], "warn", "the 7 periods before"),
        ("missing", "fail", "slices of the periods before"),
    ]
    assert [tuple(place.values()) for place in plan["writes"]] == [
        ("history", str(lake.folder / "history.duckdb"), "results of 4 periods"),
        ("states", str(lake.folder / "states"), "states of 4 periods"),
        ("report", str(lake.folder / "r.html"), "replaced"),
        ("outputs.json", str(lake.folder / "o.json"), "replaced"),
        ("outputs.openlineage", "http://127.0.0.1:9", "two events"),
        ("notify", "the command true", "on: change"),
        ("notify", str(lake.folder / "nightly.notified.json"), "what was sent last"),
    ]


def test_the_table_on_the_screen(lake: Lake) -> None:
    lake.job(gates=["roc_auc >= 0.6"])
    path = str(lake.folder / "job.yml")
    text = run("run", path, "--explain", "--as-of", "2026-01-05T03:00").stdout
    assert "2026-01-04  evaluate  new     the newest period, on the first run   120" in text
    assert "reads 1 file of" in text
    assert "roc_auc >= 0.6  fail" in text
    assert "results of 1 period" in text
    early = run("run", path, "--explain", "--as-of", "2025-12-01").stdout
    assert early.startswith("no period is due")


def test_a_source_that_is_gone_is_an_error(lake: Lake) -> None:
    lake.job(source="nowhere")
    done = run("run", str(lake.folder / "job.yml"), "--explain", code=3)
    assert "nowhere" in done.stderr
