"""The text of a split, run on other engines, gives the front end's split."""

import pytest

from tests.core.splits.test_splits import check_engine
from tests.support.engines import ELSEWHERE


@pytest.mark.parametrize("name", ELSEWHERE)
def test_every_engine_splits_alike(name: str) -> None:
    check_engine(ELSEWHERE[name])
