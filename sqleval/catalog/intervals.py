"""Names the interval that ``ci=`` gives for a metric, and says why it has this one."""

from collections.abc import Container, Mapping
from math import isfinite
from typing import Any

from sqleval.catalog.header import INTERVALS, parse_range

#: The names of intervals, each with the metrics that have it and the reason.
REASONS: Mapping[str, str] = {
    "wilson": (
        "shares of rows; from successes and trials, it also holds its level near 0 and 1 and with "
        "few rows (Wilson 1927)"
    ),
    "wilson of the prevalence": (
        "p (1 - p) of a share p; the range of the value over Wilson's interval of p, because the "
        "standard error is 0 at 1/2"
    ),
    "delong, logit": (
        "areas under the ROC curve; the variance of the number of rows of the other class below a "
        "row (DeLong, DeLong and Clarke-Pearson 1988), on the scale of the logit, because an area "
        "ends at 1"
    ),
    "order statistics": (
        "medians and quantiles; two values of the sample, whose ranks are quantiles of a binomial "
        "distribution: no density has to be estimated"
    ),
    "normal": "means of losses and fits; the standard error of the mean over rows",
    "student": "means over rows; the standard error with Student's quantile",
    "student, over queries": (
        "means over the queries of a ranking; only queries are independent, items are not"
    ),
    "student, over rows": (
        "means over rows of many labels; only rows are independent, labels are not"
    ),
    "delta method": (
        "ratios, fits and correlations without ends; the standard error follows from the "
        "derivative of the metric by each row"
    ),
    "delta method, logit": (
        "values between two ends, such as 0 and 1; standard error by the delta method, symmetric "
        "on the scale of the logit, because values are skewed near an end"
    ),
    "delta method, log": (
        "values with one end, such as 0 or 1, and means of losses; symmetric on the scale of the "
        "logarithm of the distance to this end, because values are skewed"
    ),
    "bootstrap": (
        "all others, such as largest distances and errors over bins; no formula holds its level, "
        "so the rows are drawn again"
    ),
    "none": (
        "sums, which grow with the number of rows, and the largest error, because larger ones "
        "than those of the sample are unknown"
    ),
}


def find_interval(columns: Container[str], header: Mapping[str, Any]) -> str | None:
    """Return the method of a metric's interval, by its header or columns; None without one."""
    named = header.get("interval")
    methods = [str(named)] if named else [method for method in INTERVALS if INTERVALS[method]]
    return next((m for m in methods if all(name in columns for name in INTERVALS[m])), None)


def name_interval(columns: Container[str], header: Mapping[str, Any]) -> str | None:
    """Return the method of a metric's interval with its scale, as in the column ``method``.

    Examples
    --------
    >>> name_interval(("value", "stderr"), {"interval": "delta", "range": "0 .. 1"})
    'delta method, logit'
    """
    method = find_interval(columns, header)
    if method == "delta":
        ends = parse_range(str(header.get("range") or ".."))
        scale = ("", ", log", ", logit")[sum(map(isfinite, ends))]
        return f"delta method{scale}"
    if method == "normal" and "degrees" in columns:
        return "student"
    return "delong, logit" if method == "delong" else method
