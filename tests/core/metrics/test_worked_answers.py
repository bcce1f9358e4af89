"""Answers derived by hand or published, from worked.json."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import sqleval

#: Small tables with answers that were derived by hand or published, each with its source.
WORKED = json.loads((Path(__file__).parents[2] / "support" / "worked.json").read_text())
#: The densities of the case under a density, on [0, 1].
DENSITIES = {"uniform": lambda x: np.ones_like(x), "p_2x": lambda x: 2 * x}


def worked_frame(case: dict[str, Any]) -> pl.DataFrame:
    """Return the rows of a worked case."""
    if case["name"] == "simulated_1000":
        return simulated()
    if case["name"] == "holdout_arithmetic":
        return pl.DataFrame({"label": [1] * 300, "prediction": [0] * 90 + [1] * 210})
    return pl.DataFrame({key: case[key] for key in ("label", "score", "prediction") if key in case})


def simulated() -> pl.DataFrame:
    """Draw the rows by the recipe of the teaching material."""
    random = np.random.RandomState(100)
    label = np.array([0, 1] * 500)
    random.shuffle(label)
    random = np.random.RandomState(20)
    weak, strong = random.rand(1000), []
    for one in label:
        high = random.rand() > 0.05 if one else not random.rand() > 0.3
        strong.append(random.rand() / 2 + (0.5 if high else 0.0))
    return pl.DataFrame({"label": label, "score": weak, "strong": strong})


def worked_answer(case: dict[str, Any], name: str) -> Any:
    """Return sqleval's answer to the part ``name`` of a case."""
    if name in DENSITIES:
        return under_density(name)
    if "tp" in case:
        metric = {"fpr": "false_positive_rate"}.get(name, name)
        return [counted_answer(case, i, metric) for i in range(len(case["tp"]))]
    frame = worked_frame(case)
    roles: dict[str, Any] = {"label": "label", "task": "binary"}
    roles |= {role: role for role in ("score", "prediction") if role in frame.columns}
    if name.endswith("_per_class"):
        return split_per_class(name.removesuffix("_per_class"))
    positives = int(frame["label"].sum())
    pairs = positives * (frame.height - positives)
    if name in ("roc_points_fpr_tpr", "roc_thresholds"):
        curve = sqleval.scan(frame, **roles).curve("roc").collect()
        return curve.select("fpr", "tpr").rows() if "points" in name else curve["threshold"]
    if name in ("precision", "recall") and isinstance(case["expect"][name], list):
        return sqleval.scan(frame, **roles).curve("pr").collect()[name][1:]
    if name in ("positive_rank_sum", "concordant_pairs", "tied_pairs"):
        # Both follow from the area: pairs won, ties as half.
        won = (
            sqleval.scan(frame, **roles).evaluate("roc_auc_pairs").collect()["value"].item() * pairs
        )
        tied = case["expect"]["tied_pairs"] / 2
        return {
            "positive_rank_sum": won + positives * (positives + 1) / 2,
            "concordant_pairs": won - tied,
            "tied_pairs": 2 * (won - case["expect"]["concordant_pairs"]),
        }[name]
    score = {"roc_auc_strong": "strong", "roc_auc_of_prediction_as_score": "prediction"}
    if name.startswith("roc_auc_"):
        bound = sqleval.scan(frame, label="label", score=score.get(name, "score"))
        return bound.evaluate("roc_auc").collect()["value"].item()
    return sqleval.scan(frame, **roles).evaluate(name).collect()["value"].item()


def split_per_class(role: str) -> int:
    """Split 1,000 rows of two classes by strata, and count a class's rows of a role."""
    frame = pl.DataFrame({"id": range(1000), "label": [0, 1] * 500})
    found = sqleval.split(frame, key="id", stratify="label", test_size=0.3).collect()
    chosen = found.filter(role=role).join(frame, on="id")
    return int(chosen.group_by("label").len()["len"].unique().item())


def under_density(name: str) -> float:
    """Integrate by Gauss and Legendre, whose sum is exact for a polynomial."""
    nodes, widths = np.polynomial.legendre.leggauss(8)
    x = (nodes + 1) / 2
    frame = pl.DataFrame({"y": x, "v": 0.0 * x, "w": DENSITIES[name](x) * widths / 2})
    bound = sqleval.scan(frame, label="y", prediction="v", weight="w", task="regression")
    return bound.evaluate("mse(normalize=False)").collect()["value"].item()


def counted_answer(case: dict[str, Any], i: int, metric: str) -> float:
    cells = {"tp": (1, 1), "fp": (0, 1), "fn": (1, 0), "tn": (0, 0)}
    rows = [(*pair, case[cell][i]) for cell, pair in cells.items()]
    frame = pl.DataFrame(rows, schema=["label", "prediction", "n"], orient="row")
    bound = sqleval.scan(frame, label="label", prediction="prediction", weight="n", task="binary")
    return bound.evaluate(metric).collect()["value"].item()


@pytest.mark.parametrize(
    ("case", "name"),
    [
        pytest.param(case, name, id=f"{case['name']}-{name}")
        for case in WORKED
        for name in case["expect"]
    ],
)
def test_worked_answer(case: dict[str, Any], name: str) -> None:
    got, want = worked_answer(case, name), case["expect"][name]
    if want is None:
        assert got is None
        return
    if isinstance(want, list):
        want = np.array(want, dtype=float)
        got = np.array(got, dtype=float)
    # The simulated areas are printed with six decimals.
    tolerance = {"abs": 5e-7} if case["name"] == "simulated_1000" else {"rel": 1e-12, "abs": 1e-12}
    assert got == pytest.approx(want, **tolerance)
