"""`sqleval check`: planted faults are named with their values, and right metrics pass."""

import json
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest

import sqleval
from sqleval.catalog import catalogue
from sqleval.catalog.catalogue import builtin
from sqleval.catalog.roles import ROLES, RoleFacts
from sqleval.checking.check import Finding, check_folder
from sqleval.checking.data import make_data
from sqleval.checking.table import CLASS_CHECKS, CURVE_CHECKS, METRIC_CHECKS
from sqleval.cli.main import run_command
from tests.support.small_inputs import command

HEADER = """/*
summary: a metric of ours
formula: as it is written
direction: {direction}
range: {range}
reference: ours
task: {task}
weights: {weights}
since: 0.1.0
*/
"""
LIFT = """\
SELECT
    slice,
    CAST(tp AS DOUBLE) / NULLIF(tp + fp, 0)
        / NULLIF(CAST(tp + fn AS DOUBLE) / NULLIF(tp + fp + fn + tn, 0), 0) AS value,
    CASE
        WHEN tp + fp = 0 THEN 'no predicted positives'
        WHEN tp + fn = 0 THEN 'no positive labels'
    END AS note
FROM outcomes
"""
MEAN_LABEL = """\
SELECT
    slice,
    CAST(SUM(weight * label) AS DOUBLE) / NULLIF(SUM(weight), 0) AS value,
    CASE WHEN SUM(weight) = 0 THEN 'total weight is 0' END AS note
FROM predictions
GROUP BY slice
"""
AREA = """\
SELECT
    slice,
    5e-1 + CAST(SUM(negatives * tp - positives * fp) AS DOUBLE)
        / NULLIF(2e0 * SUM(positives) * SUM(negatives), 0) AS value,
    CASE
        WHEN SUM(positives) = 0 THEN 'no positive labels'
        WHEN SUM(negatives) = 0 THEN 'no negative labels'
    END AS note
FROM cutoffs
GROUP BY slice
"""
JUMPS = """\
SELECT
    slice,
    CAST(SUM(jump) AS DOUBLE) / NULLIF(COUNT(*), 0) AS value,
    CASE WHEN COUNT(*) = 0 THEN 'no rows' END AS note
FROM (
    SELECT
        slice,
        CASE
            WHEN label = LAG(label) OVER (PARTITION BY slice ORDER BY score) THEN 0
            ELSE 1
        END AS jump
    FROM predictions
) AS jumps
GROUP BY slice
"""
MEAN_ERROR = """\
SELECT
    slice,
    CAST(SUM(weight * (prediction - label)) AS DOUBLE) / NULLIF(SUM(weight), 0) AS value,
    CASE WHEN SUM(weight) = 0 THEN 'total weight is 0' END AS note
FROM predictions
GROUP BY slice
"""


HISTOGRAM = """/*
summary: number of rows in tenths of the score's range 0 .. 1
formula: n = number of rows with floor(10 score) = tenth
reference: numpy.unique
task: two classes
types: {tenth: integer, n: count}
order: tenth
weights: frequency
since: 0.1.0
*/
SELECT
    slice,
    tenth,
    SUM(weight) AS n
FROM (
    SELECT
        slice,
        CAST(LEAST(FLOOR(score * 1e1), 9e0) AS BIGINT) AS tenth,
        weight
    FROM predictions
) AS rows_by_tenth
GROUP BY
    slice,
    tenth
"""
AT_LEAST_1 = """\
    CAST(SUM(positives) AS DOUBLE) / NULLIF(SUM(positives), 0) AS low,
    CAST(SUM(positives) AS DOUBLE) / NULLIF(SUM(positives), 0) AS high,
    CASE
"""
#: By the name of a fault, the SQL, keys of the header, and what its checks say.
FAULTS: dict[str, tuple[str, dict[str, str], dict[str, str]]] = {
    "ignores_weights": (
        MEAN_LABEL.replace("weight * label", "label").replace("SUM(weight)", "COUNT(*)"),
        {},
        {
            "weights": " with weight, 0.", "counts": " with the rows repeated (",
            "state": "from a state without", "bins": "with bins of 1 bit without",
        },
    ),
    "depends_on_the_order": (JUMPS, {"weights": "none"}, {"order": "with the rows shuffled, "}),
    "divides_integers": (
        LIFT.replace("CAST(tp AS DOUBLE)", "tp", 1), {},
        {"reads": "team/divides_integers.sql:13: integer division differs"},
    ),
    "is_not_portable": (
        "SELECT\n    slice,\n    MEDIAN(score) AS value\nFROM predictions\nGROUP BY slice\n", {},
        {"reads": "team/is_not_portable.sql:13: Median is not portable"},
    ),
    "names_no_column": (
        MEAN_LABEL.replace("* label", "* lable"), {},
        {"reads": "team/names_no_column.sql:13: predictions has no column 'lable'; did you mean"},
    ),
    "leaves_its_range": (LIFT, {"range": "0 .. 1"}, {"range": " is outside 0 .. 1 ("}),
    "has_a_value_of_one_class": (
        AREA.replace("    5e-1 +", "    COALESCE(5e-1 +").replace(" AS value", ", 0e0) AS value"),
        {}, {"undefined": "0, though the note says 'no "},
    ),
    "says_no_reason": (
        AREA.replace("CASE", "CASE WHEN SUM(positives) < 0 THEN 'never' END AS note /*")
        .replace("END AS note\n", "*/\n"),
        {}, {"undefined": "undefined without a note ("},
    ),
    "has_the_wrong_direction": (
        AREA, {"direction": "lower"}, {"direction": " is better than 1 (right)"},
    ),
    "has_wrong_bounds": (
        AREA.replace("    CASE\n", AT_LEAST_1), {},
        {"bins": "1 .. 1 with bins of 1 bit without 0.5", "state": "1 .. 1 from a state"},
    ),
    "grows_with_the_weights": (
        MEAN_LABEL.replace("weight * label", "weight * weight * label"), {"range": "0 .. inf"},
        {"scale of weights": "with ten times the weights", "weights": "with weight"},
    ),
    "loses_slices": (
        LIFT + "WHERE tp > 0\n", {"range": "0 .. inf"},
        {"undefined": "undefined without a note (nothing predicted positive)"},
    ),
    "is_absolute": (
        MEAN_ERROR, {"task": "regression", "range": "0 .. inf"},
        {"range": "is outside 0 .. inf"},
    ),
}  # fmt: skip
#: Right ones.
RIGHT: dict[str, tuple[str, dict[str, str]]] = {
    "lift": (LIFT, {"direction": "higher", "range": "0 .. inf"}),
    "area": (AREA, {"direction": "higher"}),
    "bias": (MEAN_ERROR, {"task": "regression", "range": "-inf .. inf"}),
}


def put(folder: Path, name: str, sql: str, **keys: str) -> None:
    """Write a metric, or a curve with its header, into the folder."""
    defaults = {
        "direction": "none", "range": "0 .. 1", "task": "two classes", "weights": "frequency",
    }  # fmt: skip
    path = folder / "team" / f"{name}.sql"
    path.parent.mkdir(parents=True, exist_ok=True)
    header = "" if sql.startswith("/*") else HEADER.format(**{**defaults, **keys})
    path.write_text(header + sql, encoding="utf-8")


@pytest.fixture(autouse=True)
def as_before(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Take the folders of a test out of the catalogue."""
    monkeypatch.setattr(catalogue, "_added", [])
    monkeypatch.chdir(tmp_path)
    yield
    builtin.cache_clear()


@cache
def check_all() -> list[Finding]:
    """Check all of these at once."""
    with TemporaryDirectory() as folder:
        for name, (sql, keys, _) in FAULTS.items():
            put(Path(folder), name, sql, **keys)
        for name, (sql, keys) in RIGHT.items():
            put(Path(folder), name, sql, **keys)
        put(Path(folder), "histogram", HISTOGRAM)
        put(Path(folder), "histogram_of_rows", HISTOGRAM.replace("SUM(weight)", "COUNT(*)"))
        return check_folder(folder)


def find(name: str, status: str) -> dict[str, str]:
    """Return what the checks with a status say about a file."""
    return {
        each.check: str(each.detail)
        for each in check_all()
        if each.name == name and each.status == status
    }


@pytest.mark.parametrize("name", FAULTS)
def test_a_planted_fault_is_found(name: str) -> None:
    found, failures = find(name, "fails"), FAULTS[name][2]
    assert failures.keys() <= found.keys()
    for check, text in failures.items():
        assert text in found[check]
    # A mistake of one kind is not reported as every other one too.
    assert not {"alone", "slices", "missing labels", "average"} & found.keys()


@pytest.mark.parametrize("name", RIGHT)
def test_a_right_metric_fails_no_check(name: str) -> None:
    assert find(name, "fails") == {}
    holds = find(name, "holds")
    if name == "bias":
        assert find(name, "does not apply").keys() == {"bins", "state"}
        assert holds.keys() == {"reads", *METRIC_CHECKS} - {"bins", "state"}
    else:
        assert holds.keys() == {"reads", *METRIC_CHECKS, *CLASS_CHECKS}


def test_values_of_one_class_are_shown() -> None:
    told = find("lift", "holds")["undefined"]
    assert told == "only negatives: undefined (no positive labels); only positives: 1"


def test_a_check_that_does_not_apply_says_why() -> None:
    reasons = find("depends_on_the_order", "does not apply")
    assert "cannot use weights" in reasons["weights"]
    assert "cannot use weights" in reasons["state"]


def test_a_curve_is_checked() -> None:
    assert find("histogram", "holds").keys() == {"reads", *CURVE_CHECKS} - {"state"}
    failures = find("histogram_of_rows", "fails")
    assert failures.keys() == {"counts", "weights"}
    assert failures["weights"].startswith("binary: n of point 1 is ")


@pytest.mark.parametrize(
    "values", ["number", "whole", "two classes", "class", "text", "time", "list"]
)
def test_rows_are_made_for_an_added_role(values: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    facts = RoleFacts("exposure", values, "Column of the exposure.")
    monkeypatch.setitem(ROLES, "exposure", facts)
    data = make_data("binary")
    bound = sqleval.scan(data.frame, **data.roles)
    assert bound.binding.role["exposure"].name == "exposure_"
    assert bound.evaluate("accuracy").collect()["value"].item() > 0.5


def test_a_metric_of_an_added_role_is_checked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(ROLES, "exposure", RoleFacts("exposure", "number", "Column of exposure."))
    put(Path("ours"), "rate", MEAN_LABEL.replace("SUM(weight)", "SUM(weight * exposure)"))
    statuses = {each.check: (each.status, each.detail) for each in check_folder("ours")}
    assert {status for status, _ in statuses.values()} == {"holds", "does not apply"}, statuses
    refused = {name for name, (status, _) in statuses.items() if status != "holds"}
    assert refused == {"average"}, statuses


def test_the_command(capsys: pytest.CaptureFixture[str]) -> None:
    put(Path("ours"), "lift", LIFT, direction="higher", range="0 .. inf")
    printed = command(capsys, "check", "ours")
    assert printed.splitlines()[0] == "team/lift.sql"
    assert "  holds           reads, range, no rows, direction, order, alone, slices" in printed
    rows = json.loads(command(capsys, "check", "ours", "--format", "json"))
    assert {row["status"] for row in rows} == {"holds"}
    assert {(row["file"], row["name"]) for row in rows} == {("team/lift.sql", "lift")}


def test_the_command_fails_with_what_fails(capsys: pytest.CaptureFixture[str]) -> None:
    put(Path("ours"), "jumps", JUMPS, weights="none")
    assert run_command(["check", "ours"]) == 1
    printed = capsys.readouterr().out
    assert "  fails           order: " in printed
    assert "  does not apply  weights: jumps: weight= is given and this metric" in printed
    assert "there is no folder " in command(capsys, "check", "nowhere", code=2)
