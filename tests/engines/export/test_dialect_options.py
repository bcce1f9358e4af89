"""Each option of `evaluate`, as text for other engines, gives DuckDB's result there."""

from collections.abc import Iterator

import pytest

from tests.core.export import test_dialect_options as options
from tests.support.engines import ELSEWHERE, Engine


@pytest.fixture(scope="module", params=ELSEWHERE)
def engine(request: pytest.FixtureRequest) -> Iterator[Engine]:
    with options.start(ELSEWHERE[request.param]) as running:
        yield running


test_options_give_what_evaluate_gives = options.test_options_give_what_evaluate_gives
test_a_verdict_is_the_error_that_evaluate_raises = (
    options.test_a_verdict_is_the_error_that_evaluate_raises
)
