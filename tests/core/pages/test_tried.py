"""Tests count the hostile texts, damages and faults, and the page has the same numbers."""

import pytest

from tests.support.tried import PAGE, Tried, read_tried

ROWS = read_tried()


def test_no_row_is_left_out() -> None:
    table = PAGE.read_text(encoding="utf-8").partition("## What the tests try\n")[2]
    lines = [line for line in table.partition("\n## ")[0].splitlines() if line.startswith("|")]
    assert len(ROWS) == len(lines) - 2  # without the header and the line below it


@pytest.mark.parametrize(("what", "tried"), ROWS.items(), ids=list(ROWS))
def test_a_number_is_checked_by_the_test_that_it_names(what: str, tried: Tried) -> None:
    words = " ".join(tried.test.read_text(encoding="utf-8").split())
    text = words.replace('" "', "")  # a text in several lines
    assert f'"{what}"' in text
    assert "check_tried(" in text
