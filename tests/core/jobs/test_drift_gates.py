"""Gates on drift compare a period with the states of a reference."""

from pathlib import Path
from typing import Any

import polars as pl
import pytest

import sqleval
from sqleval.errors import RequestError
from sqleval.jobs.file.gate_text import parse_check
from sqleval.jobs.running.run import Run
from tests.support.lake import Lake, lake_with_states, rows, weekly

BASELINE = {"from": "2026-01-01", "to": "2026-01-04"}


def make_lake(folder: Path, *gates: Any, **changes: Any) -> Lake:
    lake = lake_with_states(folder)
    # On the last day all scores are higher, and the slice b is nearly gone.
    moved = rows(days=1, start=5).filter(
        (pl.col("seg") != "b") | (pl.int_range(pl.len()) % 20 == 0)
    )
    lake.put(moved.with_columns(p=pl.col("p").sqrt()))
    lake.spec |= {
        "metrics": ["log_loss"],
        "gates": list(gates),
        "baseline": BASELINE,
        "slices": [[], ["seg"]],
        **changes,
    }
    lake.spec.pop("by", None)
    return lake


def backfill(lake: Lake) -> Run:
    """Evaluate all days, the same way for all gates, and judge them."""
    gates = lake.spec["gates"]
    lake.backfill(gates=None)
    return lake.run(backfill=True, changes={"gates": gates})


def test_a_moved_day_is_red_and_the_others_are_not(tmp_path: Path) -> None:
    gates = ["drift(ks, baseline) < 0.35", "drift(psi of mix, previous 3) <= 0.3"]
    lake = make_lake(tmp_path, *gates, {"check": "drift(psi of label, baseline) < 9", "by": []})
    done = backfill(lake)
    assert not done.errors
    verdicts = done.verdicts.filter(pl.col("gate") != "missing")
    ks = verdicts.filter(gate=gates[0])
    red = ks.filter(status="failed")
    assert red["period"].unique().to_list() == ["2026-01-06"]
    assert {"{}", '{"seg":"a"}'} <= {*red["slice"]}
    days = pl.read_parquet(lake.folder / "preds/*.parquet").with_columns(pl.col("day").cast(str))
    june = days.filter(pl.col("day") <= "2026-01-04")
    expected = sqleval.drift(
        june, days.filter(day="2026-01-06"), "ks", score="p", by="seg", sets="overall", bins=12
    )
    value = dict(ks.filter(period="2026-01-06").select("slice", "value").iter_rows())
    assert value["{}"] == pytest.approx(expected.filter(by="overall")["value"].item())
    assert value['{"seg":"a"}'] == pytest.approx(
        expected.filter(seg="a", distribution="score")["value"].item()
    )
    assert red["reason"].str.contains("without drift it would be about").all()
    mix = verdicts.filter(gate=gates[1])
    assert dict(mix.select("period", "status").iter_rows()) == {
        f"2026-01-{day:02}": "no reference" if day == 1 else "failed" if day == 6 else "passed"
        for day in range(1, 7)
    }
    assert mix["slice"].unique().to_list() == ["{}"]
    label = verdicts.filter(pl.col("gate").str.contains("label"))
    assert label["status"].unique().to_list() == ["passed"]
    assert label["slice"].unique().to_list() == ["{}"]


def test_a_period_without_a_state_is_undefined(tmp_path: Path) -> None:
    gate = {"check": "drift(psi, baseline) < 0.2", "by": ["seg"], "min_rows": 10}
    lake = make_lake(tmp_path, gate)
    backfill(lake)
    for file in (lake.folder / "states").iterdir():
        file.unlink()
    done = lake.run()
    found = done.verdicts.filter(pl.col("gate").str.starts_with("drift"))
    assert found.select("status", "reason").unique().rows() == [
        ("undefined", "the period has no state")
    ]


def test_weeks_of_states(tmp_path: Path) -> None:
    lake = make_lake(tmp_path, "drift(ks, previous 1) < 1")
    backfill(lake)
    done = weekly(lake, gates=["drift(ks, previous 1) < 1"], baseline=None).run(backfill=True)
    assert not done.errors
    found = done.verdicts.filter(pl.col("gate").str.starts_with("drift"))
    states = [
        sqleval.from_state(lake.folder / "states", where=f"period {week}")
        for week in ("< '2026-01-05'", ">= '2026-01-05'")
    ]
    expected = sqleval.drift(*states, "ks").filter(distribution="score")["value"].item()
    last = found.filter(period="2026-01-05", slice="{}")
    assert last.select("status", "value").row(0) == ("passed", pytest.approx(expected))
    assert found.filter(period="2025-12-29")["status"].unique().to_list() == ["no reference"]


def test_one_night(tmp_path: Path) -> None:
    lake = Lake(tmp_path)
    lake.spec |= {"states": "states", "gates": ["drift(ks, previous 7) < 0.9"], "missing": "ignore"}
    lake.put(rows(days=2))
    first, second = lake.run(backfill=True).verdicts.sort("period", "slice").partition_by("period")
    assert first["status"].unique().to_list() == ["no reference"]
    assert second["status"].unique().to_list() == ["passed"]
    per_slice = rows(days=2).filter(pl.col("day").dt.day() == 2).group_by("seg").len().sort("seg")
    assert second["n"].to_list() == per_slice["len"].to_list()


def test_a_set_of_keys_that_cannot_be_judged_leaves_the_others(tmp_path: Path) -> None:
    lake = make_lake(tmp_path, "drift(ks, previous 1) < 1", slices=[[], ["noise"], ["seg"]])
    # The result of drift has a column of this name.
    lake.put(rows(days=6).with_columns(noise="seg"))
    found = backfill(lake).verdicts.filter(pl.col("gate").str.starts_with("drift"))
    last = found.filter(period="2026-01-06").sort("status", "slice")
    assert last.select("slice", "status").rows() == [
        *((f'{{"seg":"{seg}"}}', "passed") for seg in "abc"),
        ("{}", "passed"), ("{}", "undefined"),
    ]  # fmt: skip
    assert last["reason"][-1].startswith("by noise: by='noise': the result has a column of that")


@pytest.mark.parametrize(
    ("gate", "changes", "message"),
    [
        ("drift(psi, baseline) > 0.2", {}, "write drift"),
        ("drift(pzi, baseline) < 0.2", {}, "no measure of drift called 'pzi'"),
        ("drift(psi of scores, baseline) < 0.2", {}, "no distribution called 'scores'"),
        ("drift(psi, yesterday) < 0.2", {}, "is not a reference"),
        ("drift(psi, baseline) < 0.2", {"states": None}, "compares states"),
        ("drift(psi, baseline) < 0.2", {"baseline": None}, "needs a baseline"),
        (
            "drift(psi of mix, baseline) < 0.2",
            {"slices": [["seg"], ["day"], []]},
            r"\[seg\] or \[day\]",
        ),
        ({"check": "drift(psi of mix, baseline) < 0.2", "by": []}, {}, r"by: \[seg\]"),
        ("drift(psi of mix, baseline) < 0.2", {"slices": [[]]}, "the job has no slice keys"),
        ({"check": "drift(psi, baseline) < 0.2", "in_a_row": 2}, {}, "leave out on and in_a_row"),
        ({"check": "drift(psi, baseline) < 0.2", "windows": [1]}, {}, "fit a check worse"),
    ],
)
def test_wrong_gates(tmp_path: Path, gate: Any, changes: Any, message: str) -> None:
    lake = make_lake(tmp_path, gate)
    lake.spec |= changes
    with pytest.raises(RequestError, match=message):
        lake.run(backfill=True)


def test_texts_of_checks() -> None:
    check = parse_check(" drift(psi(bins=20) of mix, previous 28) <= .1 ")
    assert check.metric == "psi(bins=20)"
    assert (check.distribution, check.reference, check.op, check.offset) == ("mix", 28, "<=", 0.1)
    assert parse_check("drift(ks, baseline) < 0.1").distribution == "score"
    assert not parse_check("roc_auc >= 0.5").is_drift
