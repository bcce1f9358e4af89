"""Expected metrics, before labels come: each row of score p counts as p positives, 1 - p negatives.

`rows.write_predictions` writes the two parts of each row.
"""

from sqleval.binding.binding import Binding
from sqleval.catalog.request import Request, format_request
from sqleval.errors import RequestError


def describe_expectation(request: Request) -> str:
    """Return the words of the column ``method`` for an expected metric.

    Examples
    --------
    >>> describe_expectation(Request("recall"))
    'of expected counts'
    """
    # With calibrated scores, a sum over rows divided by a quantity that does not depend on labels
    # is the exact expectation. A recall is a ratio of two expected counts, which is close to the
    # expectation if there are many rows.
    is_exact = request.header.get("expectation") == "exact"
    return "expectation" if is_exact else "of expected counts"


def find_obstacle(request: Request) -> str | None:
    """Return why a metric or curve cannot be computed without labels; None if it can.

    Examples
    --------
    >>> find_obstacle(Request("recall")) is None
    True
    """
    name = format_request(request)
    if request.header.get("expectation") == "none":
        return f"{name} measures calibration, which expected= supposes: it needs labels"
    if request.relation.header.get("weights") == "none":
        return f"{name} takes whole rows, and with expected= a row counts in parts"
    return None


def check_expected(binding: Binding, request: Request) -> None:
    """Raise `RequestError` if a metric or curve cannot be computed without labels."""
    obstacle = find_obstacle(request) if binding.is_expected else None
    if obstacle is not None:
        raise RequestError(obstacle)
