"""Tests whether a model is better than the first one, by one metric."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import polars as pl

from sqleval.catalog.request import Request, format_request
from sqleval.comparison.verdict import add_verdicts
from sqleval.errors import DataError, MissingExtra, RequestError
from sqleval.frontend.predictions import Predictions
from sqleval.inference.adjust import add_adjusted_p_values


class Answer(NamedTuple):
    """The tested differences of a metric from the first model, or the reason for their absence.

    ``rows`` come from a comparison, whose p-values are then adjusted for the number of models.
    ``missing`` names the library that is not installed.
    """

    metric: str
    baseline: str
    tests: Sequence[str]
    rows: Sequence[dict[str, Any]]
    tested: int
    reason: str
    missing: str = ""


def compare_models(bound: Predictions, metric: Request, ci: float) -> Answer | None:
    """Test which models differ from the first one; return None for fewer than two models.

    Only tests that need one statement are used: the replicates of a bootstrap would take longer
    than the whole page.

    Parameters
    ----------
    bound : Predictions
        The predictions, without slices.
    metric : Request
        The metric.
    ci : float
        The level of the intervals. A difference counts if its p-value is below one minus the level.
    """
    models = [model for model, _ in bound.binding.models]
    if len(models) < 2:
        return None
    name = format_request(metric)
    try:
        frame = _test(bound, name, ci)
    except MissingExtra as error:
        return Answer(
            name,
            models[0],
            (),
            (),
            0,
            "the test needs a library that the end of this page names",
            str(error),
        )
    except (DataError, RequestError) as error:
        return Answer(name, models[0], (), (), 0, str(error))
    frame = add_adjusted_p_values(frame, "holm", by=["metric"])
    frame = add_verdicts(frame, bound.catalogue, 1 - ci, None, "two-sided")
    tested = frame.filter(pl.col("p_value").is_not_null())
    tests = tested["method"].unique(maintain_order=True).to_list()
    return Answer(name, models[0], tests, frame.to_dicts(), tested.height, "")


def _test(bound: Predictions, name: str, ci: float) -> pl.DataFrame:
    bound.compare(name, ci=ci)  # raises if no test fits
    try:
        comparison = bound.compare(name, ci=ci, replicates=0)
    except RequestError as error:
        raise RequestError(
            f"the test of {name} is the bootstrap, which may take longer than all of this page; "
            f"`sqleval compare -m {name!r}` does it"
        ) from error
    return comparison.collect()
