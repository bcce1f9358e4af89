"""The tests of servers that docs/reference/sources.md names exist."""

import pytest

from tests.core.sources.test_source_page import SOURCES, find_test

SERVERS = [row for row in SOURCES if row[-1].startswith("engines/")]


@pytest.mark.parametrize("row", SERVERS, ids=lambda row: row[0])
def test_a_source_of_the_page_is_tested(row: tuple[str, ...]) -> None:
    test, marks = find_test(row[-1])
    assert callable(test)
    assert not marks & {"skip", "skipif", "xfail"}
