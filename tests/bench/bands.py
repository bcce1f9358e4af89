"""Coverage of bands: how often they contain the true curve, at a point and everywhere.

``python -m tests.bench.bands`` draws samples from a population whose curves are known, and prints
a table in Markdown. The sample's number is a slice key.
"""

import argparse

import numpy as np
import polars as pl

import sqleval
from sqleval.curves.grid import Axes, evaluate_at

from .coverage import draw_binary

SIZES = ((200, 0.5), (1000, 0.5), (1000, 0.1), (5000, 0.1))
CURVES = ("roc", "pr", "gain", "cost", "calibration")


def measure(curve: str, n: int, prevalence: float, sets: int, seed: int) -> tuple[float, float]:
    """Return the share of points, and of whole curves, that their bands contain."""
    population = draw_binary(1000, prevalence)
    roles = population.roles
    rng = np.random.default_rng(seed)
    drawn = rng.choice(population.rows.height, n * sets, p=population.share)
    rows = population.rows[drawn].with_columns(sample=np.repeat(np.arange(sets), n))
    whole = population.rows.with_columns(share=population.share)
    exact = sqleval.scan(whole, **roles, weight="share").curve(curve).collect()
    found = sqleval.scan(rows, **roles, by="sample").curve(curve, ci=0.95).collect()
    x, y = ("bin", "observed") if curve == "calibration" else found.columns[1:3]
    joined_by = "lines" if curve != "pr" else "steps"
    grid = found[x].unique().sort().cast(pl.Float64).to_numpy()
    axes = Axes(x, y, "points" if curve == "calibration" else joined_by)
    true = evaluate_at(exact, axes, [], grid).values[0]
    truth = pl.DataFrame({x: grid, "true": true}).with_columns(pl.col(x).cast(found.schema[x]))
    joined = found.join(truth, on=x)
    inner = pl.lit(value=True) if curve == "calibration" else pl.col(x).is_between(0.05, 0.95)
    joined = joined.filter(inner & pl.col("low").is_not_null())
    off = 1e-9
    point = pl.col("true").is_between(pl.col("low") - off, pl.col("high") + off)
    ends = (pl.col("simultaneous_low") - off, pl.col("simultaneous_high") + off)
    curves = joined.group_by("sample").agg(
        point=point.mean(), whole=pl.col("true").is_between(*ends).all()
    )
    return curves.select(pl.col("point", "whole").mean() * 100).row(0)


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sets", type=int, default=200, help="samples of each kind")
    parser.add_argument("--curve", choices=CURVES, help="only this one")
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    heads = [f"{n:,}, {prevalence:g}" for n, prevalence in SIZES]
    print(f"| curve | {' | '.join(heads)} |\n| --- |{' ---: |' * len(heads)}")
    for curve in [options.curve] if options.curve else CURVES:
        cells = [
            "{:.1f} / {:.1f}".format(*measure(curve, n, p, options.sets, options.seed))
            for n, p in SIZES
        ]
        print(f"| {curve} | {' | '.join(cells)} |", flush=True)


if __name__ == "__main__":
    main()
