"""Student's t distribution."""

from __future__ import annotations

from math import atan, cos, pi, sin, sqrt


def _within(t: float, freedom: int) -> float:
    """Return the share of Student's t within -t .. t; exact for whole degrees of freedom.

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


def t_quantile(level: float, freedom: int) -> float:
    """Return the t that leaves ``level`` of Student's distribution within -t .. t.

    Examples
    --------
    >>> round(t_quantile(0.95, 9), 6)
    2.262157
    """
    low, high = 0.0, 1.0
    while _within(high, freedom) < level:
        high *= 2
    for _ in range(200):
        middle = (low + high) / 2
        low, high = (middle, high) if _within(middle, freedom) < level else (low, middle)
    return (low + high) / 2
