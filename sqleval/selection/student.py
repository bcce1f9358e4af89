"""Computes quantiles of Student's t distribution."""

from __future__ import annotations

from math import atan, cos, pi, sin, sqrt


def _compute_probability(t: float, freedom: int) -> float:
    """Return P(-t <= T <= t) for an integer number of degrees of freedom.

    Abramowitz and Stegun (1964), 26.7.3 and 26.7.4.
    """
    angle = atan(t / sqrt(freedom))
    term, total = 1.0, 0.0
    if freedom % 2:
        for i in range(1, (freedom - 1) // 2 + 1):
            term = cos(angle) if i == 1 else term * (2 * i - 2) / (2 * i - 1) * cos(angle) ** 2
            total += term
        return 2 / pi * (angle + sin(angle) * total)
    for i in range(1, freedom // 2 + 1):
        term = 1.0 if i == 1 else term * (2 * i - 3) / (2 * i - 2) * cos(angle) ** 2
        total += term
    return sin(angle) * total


def find_t_quantile(level: float, freedom: int) -> float:
    """Return the t with P(-t <= T <= t) = ``level``, by bisection.

    Examples
    --------
    >>> round(find_t_quantile(0.95, 9), 6)
    2.262157
    """
    low, high = 0.0, 1.0
    while _compute_probability(high, freedom) < level:
        high *= 2
    for _ in range(200):
        middle = (low + high) / 2
        low, high = (
            (middle, high) if _compute_probability(middle, freedom) < level else (low, middle)
        )
    return (low + high) / 2
