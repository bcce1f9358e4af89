"""The random numbers of the bootstrap are the same on an engine that is not DuckDB."""

from tests.core.resampling.test_draws import check_uniforms
from tests.support.engines import DataFusion


def test_datafusion_has_the_same_uniforms() -> None:
    check_uniforms(DataFusion)
