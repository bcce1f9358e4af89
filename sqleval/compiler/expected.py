"""Expected metrics, before labels come: each row of score p counts as p positives, 1 - p negatives.

`rows.write_predictions` writes the two parts of each row.
"""

from sqleval.catalog.request import Request, format_request
from sqleval.errors import RequestError
from sqleval.inputs.binding import Binding

#: Metrics that are sums over rows, divided by what does not depend on the labels: if the scores are
#: calibrated, the value is the expectation of the metric. Others are computed from expected counts,
#: as a recall is the ratio of two of them, which is nearly the expectation where rows are many.
_EXPECTATIONS = frozenset({
    "accuracy", "error_rate", "log_loss", "brier_score", "precision", "negative_predictive_value",
    "prevalence", "misclassification_cost",
})  # fmt: skip
#: Files that compare scores with the share of positives, which calibration says are equal.
_OF_CALIBRATION = frozenset({
    "pcoc", "expected_calibration_error", "brier_reliability", "calibration_curve",
})  # fmt: skip


def describe_expectation(request: Request) -> str:
    """Return what an expected metric is, in the words of the column ``method``.

    Examples
    --------
    >>> describe_expectation(Request("recall"))
    'of expected counts'
    """
    return "expectation" if request.name in _EXPECTATIONS else "of expected counts"


def find_obstacle(request: Request) -> str | None:
    """Return why a metric or curve cannot be expected without labels; None if it can.

    Examples
    --------
    >>> find_obstacle(Request("recall")) is None
    True
    """
    name = format_request(request)
    if request.name in _OF_CALIBRATION:
        return f"{name} measures calibration, which expected= supposes: it needs labels"
    if request.relation.header.get("weights") == "none":
        return f"{name} takes whole rows, and with expected= a row counts in parts"
    return None


def check_expected(binding: Binding, request: Request) -> None:
    """Raise `RequestError` if a metric or curve cannot be expected without labels."""
    obstacle = find_obstacle(request) if binding.is_expected else None
    if obstacle is not None:
        raise RequestError(obstacle)
