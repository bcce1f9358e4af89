"""Weights of many magnitudes: areas under precision and recall, their bounds, and entropies."""

from decimal import Decimal, localcontext
from fractions import Fraction
from itertools import groupby

import numpy as np
import polars as pl
import pytest

import sqleval

ROLES = {"label": "y", "score": "p", "weight": "w"}


def values(rows: pl.DataFrame, metric: str, ci: float | None) -> list[float | None]:
    """Return the value of each slice; with `ci=`, a metric uses another SQL file."""
    replicates = {} if ci is None else {"replicates": 0}
    result = sqleval.scan(rows, **ROLES, by="s").evaluate(metric, ci=ci, **replicates).collect()
    return result.sort("s")["value"].to_list()


def draw_sets(count: int) -> pl.DataFrame:
    """Return small sets of rows with ties, whose weights span up to 30 magnitudes."""
    rng = np.random.default_rng(54)
    sets: list[pl.DataFrame] = []
    for i in range(count):
        n, span = int(rng.integers(2, 25)), float(rng.choice([0, 3, 8, 12, 16, 30]))
        columns = {
            "s": np.full(n, i),
            "y": rng.integers(0, 2, n),
            "p": rng.random(n).round(int(rng.choice([1, 2, 6]))),
            "w": 10.0 ** rng.uniform(-span / 2, span / 2, n),
        }
        sets.append(pl.DataFrame(columns))
    return pl.concat(sets)


def find_average_precision(rows: pl.DataFrame) -> Fraction | None:
    """Return the average precision in rational numbers."""
    units = sorted(rows.select("p", "y", "w").rows(), reverse=True)
    tp = fp = area = Fraction(0)
    for _, tie in groupby(units, key=lambda unit: unit[0]):
        weights = [(y, Fraction(w)) for _, y, w in tie]
        positives = sum((w for y, w in weights if y), Fraction(0))
        tp += positives
        fp += sum((w for y, w in weights if not y), Fraction(0))
        area += positives * tp / (tp + fp)
    return area / tp if tp else None


@pytest.mark.parametrize("bits", [1, 2, 3, 8])
def test_bounds_of_average_precision_hold(bits: int) -> None:
    rows = draw_sets(1000)
    result = sqleval.scan(rows, **ROLES, by="s").evaluate("average_precision", bins=bits).collect()
    exact = [find_average_precision(part) for part in rows.partition_by("s")]
    found = result.sort("s").select("low", "high").rows()
    pairs = [(ends, value) for ends, value in zip(found, exact, strict=True) if value is not None]
    assert len(pairs) > 950
    assert [ends for ends, value in pairs if not ends[0] <= value <= ends[1]] == []


@pytest.mark.parametrize("ci", [None, 0.9])
@pytest.mark.parametrize(
    ("weight", "expected"),
    # By the integral of tp / (tp + fp) in 60 digits.
    [(1e-12, 2.4999999999991666e-13), (1e-15, 2.4999999999999994e-16), (1.0, 0.18906978378367124),
     (1e12, 0.99999999994612425)],
)  # fmt: skip
def test_light_positives_below_heavy_negatives(
    weight: float, expected: float, ci: float | None
) -> None:
    rows = pl.DataFrame({"s": 0, "y": [0, 1, 0], "p": [0.9, 0.5, 0.2], "w": [2.0, weight, 2.0]})
    assert values(rows, "pr_auc_interpolated", ci) == [pytest.approx(expected, rel=1e-14, abs=0)]


@pytest.mark.parametrize("ci", [None, 0.9])
def test_interpolated_areas_of_weights_of_many_magnitudes(ci: float | None) -> None:
    rows = draw_sets(100)
    for part, value in zip(
        rows.partition_by("s"), values(rows, "pr_auc_interpolated", ci), strict=True
    ):
        expected = find_interpolated_area(part)
        assert value == (None if expected is None else pytest.approx(expected, abs=1e-12))


def find_interpolated_area(rows: pl.DataFrame) -> float | None:
    """Return the area of Keilwagen, Grosse and Grau (2014), equation 6, in 60 digits."""
    units = sorted(rows.select("p", "y", "w").rows(), reverse=True)
    with localcontext(prec=60):
        tp = fp = area = Decimal(0)
        for _, tie in groupby(units, key=lambda unit: unit[0]):
            weights = [(y, Decimal(w)) for _, y, w in tie]
            positives = sum((w for y, w in weights if y), Decimal(0))
            negatives = sum((w for y, w in weights if not y), Decimal(0))
            if positives:
                skew = negatives / positives
                area += positives / (1 + skew)
                if tp + fp:
                    ratio = (tp + fp + positives + negatives) / (tp + fp)
                    area -= (fp - skew * tp) / (1 + skew) ** 2 * ratio.ln()
            tp, fp = tp + positives, fp + negatives
        return float(area / tp) if tp else None


@pytest.mark.parametrize("ci", [None, 0.9])
@pytest.mark.parametrize("weights", [(1e9, 1.0), (1.0, 1e9), (1e-14, 3.0), (2.0, 5.0)])
def test_the_entropy_of_a_rare_class(weights: tuple[float, float], ci: float | None) -> None:
    rows = pl.DataFrame({"s": 0, "y": [1, 0], "p": [0.9, 0.3], "w": weights})
    with localcontext(prec=60):
        one, zero, high, low = map(Decimal, (*weights, 0.9, 0.3))
        loss = -one * high.ln() - zero * (1 - low).ln()
        n = one + zero
        entropy = -one * (one / n).ln() - zero * (zero / n).ln()
        expected = float(loss / entropy)
    assert values(rows, "normalized_entropy", ci) == [pytest.approx(expected, rel=4e-16, abs=0)]
