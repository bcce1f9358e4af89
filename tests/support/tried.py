"""Checks the numbers of hostile texts, damages and faults that the page on data lakes states."""

import re
from pathlib import Path
from typing import NamedTuple

PAGE = Path(__file__).parents[2] / "docs" / "guide" / "lake.md"
_HEADING = "## What the tests try\n"


class Tried(NamedTuple):
    """A row of the page: the number of trials, and the file of the test."""

    number: str
    test: Path


def read_tried() -> dict[str, Tried]:
    """Return the rows of the page by their subject."""
    text = PAGE.read_text(encoding="utf-8").partition(_HEADING)[2].partition("\n## ")[0]
    rows = re.findall(r"^\| (.+) \| ([\d,]+(?: of \d+)?) \| .+ \| \[.+\]\((.+)\) \|$", text, re.M)
    return {what: Tried(number, (PAGE.parent / link).resolve()) for what, number, link in rows}


def check_tried(what: str, count: int, total: int | None = None) -> None:
    """Check that the page states this number of trials, and this total."""
    found = f"{count:,}" if total is None else f"{count:,} of {total}"
    assert read_tried()[what].number == found, f"{PAGE.name}, {what}: {found} are tried"
