"""The page on coverage has the simulated coverage of every interval in closed form."""

import re

import pytest

import sqleval
from sqleval.catalog.intervals import REASONS
from tests.bench import coverage
from tests.support.pages import ROOT

#: Names of the rows that ``python -m tests.bench.coverage`` prints.
DRAWN = [
    *coverage.BINARY, *coverage.REGRESSION, *coverage.PREDICTED, *coverage.AMOUNTS,
    *coverage.CLASSES, *coverage.SCORED_CLASSES, *coverage.VALUES, *coverage.JUDGEMENTS,
    *coverage.RANKINGS, *coverage.MANY_LABELS,
]  # fmt: skip
CLOSED = [
    row
    for row in sqleval.metrics()
    if row["kind"] == "metric"
    and not row["same_as"]
    and row["interval"] not in ("bootstrap", "none")
]


def list_rows(text: str) -> dict[str, list[str]]:
    """Return the figures of each metric in the tables of coverage."""
    start, end = "## How often they contain the true value", "## Weights"
    rows: dict[str, list[str]] = {}
    for line in text[text.index(start) : text.index(end)].splitlines():
        if found := re.match(r"\| `(\w+)[`(]", line):
            rows.setdefault(found[1], []).extend(line.strip("| ").split(" | ")[1:])
    return rows


@pytest.mark.parametrize("row", CLOSED, ids=lambda row: row["name"])
def test_an_interval_in_closed_form_has_its_simulated_coverage(row: dict[str, str]) -> None:
    text = (ROOT / "docs/guide/coverage.md").read_text(encoding="utf-8")
    figures = list_rows(text).get(row["name"], [])
    assert len([each for each in figures if re.fullmatch(r"\(?\d+\.\d\)?", each)]) >= 3


@pytest.mark.parametrize("row", CLOSED, ids=lambda row: row["name"])
def test_the_simulation_draws_every_metric_with_an_interval(row: dict[str, str]) -> None:
    names = {re.split(r"[@(]", name)[0].removesuffix("_samples") for name in DRAWN}
    names |= {f"{name}_at_k" for name in names}
    assert row["name"] in names


def test_every_metric_says_which_interval_it_has_and_why() -> None:
    rows = [row for row in sqleval.metrics() if row["kind"] == "metric"]
    assert {row["interval"] for row in rows} == {*REASONS}
