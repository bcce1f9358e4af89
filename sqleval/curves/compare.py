"""Compares curves of models: finds ranges in which one is better, and tests them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import polars as pl

from sqleval.binding.arguments import check_key_names
from sqleval.binding.binding import Binding
from sqleval.catalog.request import Request
from sqleval.comparison.options import find_baseline
from sqleval.comparison.pairs import Pairs, replace_input, write_presence
from sqleval.comparison.resamples import count_paired
from sqleval.compiler.bins import create_bins
from sqleval.compiler.curve import compile_curve
from sqleval.curves.bands import Options, draw_curves, find_least_error
from sqleval.curves.grid import Curves, create_grid, evaluate_at, read_axes
from sqleval.engines.audit import remove_audit
from sqleval.errors import RequestError
from sqleval.inference.bands import Band, compute_curve_p_value, find_simultaneous_band
from sqleval.inference.libraries import np
from sqleval.resampling.cells import EXACT_ROWS, Input, count_rows
from sqleval.resampling.intervals import LEAST_DEFINED

if TYPE_CHECKING:
    from sqleval.inference.libraries import Array

#: The columns of the result after its slice keys.
COLUMNS: Mapping[str, Any] = {
    "curve": pl.String, "model": pl.String, "baseline": pl.String, "start": pl.Float64,
    "end": pl.Float64, "better": pl.String, "difference": pl.Float64, "at": pl.Float64,
    "low": pl.Float64, "high": pl.Float64, "p_value": pl.Float64, "note": pl.String,
    "verdict": pl.String,
}  # fmt: skip
#: The significant bits of bins; exact curves have a point at the lowest score of each bin.
_BITS = 11
#: Bits and number of cells: scores of several models make many cells, and replicates need fewer.
_CELLS: Mapping[str, Any] = {"bits": (6, 5, 4), "most": 20_000}
#: The largest number of crossings or ranges that a sentence names.
_NAMED = 3
#: Smaller differences are rounding errors.
_ROUNDING = 1e-12


def check_curve(request: Request, binding: Binding, baseline: str | None) -> None:
    """Raise `RequestError` if models cannot be compared by a curve."""
    axes = read_axes(request)
    differing = {"points": "bins", "thresholds": "thresholds"}.get(axes.joined)
    if differing:
        raise RequestError(f"{request.name} cannot be compared: its {differing} differ by model")
    if not binding.has_two_classes or not binding.has_score:
        raise RequestError(f"{request.name} can be compared only with scores of two classes")
    if binding.state is not None:
        raise RequestError(
            f"{request.name} cannot be compared: a state does not hold which rows models share"
        )
    find_baseline([model for model, _ in binding.models], baseline)
    check_key_names(binding.key_names, COLUMNS.keys() - {"model"}, "a comparison")


def compare_curves(
    data: Input, request: Request, baseline: str | None, options: Options
) -> pl.DataFrame:
    """Return the ranges in which a model's curve is better than the baseline's.

    Parameters
    ----------
    data : Input
        The input, with several models.
    request : Request
        The curve.
    baseline : str or None
        The model with which the others are compared; the first one if None.
    options : Options
        Level, replicates and seed.
    """
    names = [model for model, _ in data.binding.models]
    pairs = Pairs(data, find_baseline(names, baseline), tuple(names))
    axes = read_axes(request)
    # Count each row once, whatever the number of models.
    is_large = count_rows(replace_input(data, pairs.joint)) > EXACT_ROWS
    exact = _evaluate(pairs, request, is_large=is_large)
    keys = list(pairs.joint.keys)
    grid = create_grid(exact, axes)
    curves = evaluate_at(exact, axes, [*keys, "model"], grid)
    cells = count_paired(pairs, request, scored=True, is_large=is_large, **_CELLS)
    drawn = draw_curves(cells, request, keys, curves, options, grid)
    least = find_least_error(cells, curves, axes, grid)
    sign = -1.0 if request.relation.header["direction"] == "lower" else 1.0
    parts: list[pl.DataFrame] = []
    for slices, rows in _list_slices(curves, keys):
        if pairs.baseline not in rows:
            continue  # the source is empty
        baseline_row = rows[pairs.baseline]
        for model in names:
            if model == pairs.baseline:
                continue
            difference = curves.values[rows[model]] - curves.values[baseline_row]
            replicates = drawn[:, rows[model]] - drawn[:, baseline_row]
            ranges = _describe(
                (difference, replicates, least[baseline_row]),
                grid,
                sign,
                (model, pairs.baseline),
                options,
            )
            named = ranges.with_columns(
                curve=pl.lit(request.name), model=pl.lit(model), baseline=pl.lit(pairs.baseline)
            )
            parts.append(slices.join(named, how="cross") if keys else named)
    schema = {key: exact.schema[key] for key in keys} | dict(COLUMNS)
    table = pl.concat(parts) if parts else pl.DataFrame(schema=pl.Schema(schema))
    user = dict(zip(pairs.joint.keys, pairs.joint.key_names, strict=True))
    return table.select(list(schema)).rename(user)


def _evaluate(pairs: Pairs, request: Request, *, is_large: bool) -> pl.DataFrame:
    """Return the exact curves over the rows that all models have."""
    binding = pairs.data.binding
    plan = create_bins(_BITS) if is_large else "rows"
    statement = compile_curve(binding, request, plan, write_presence(binding))
    frame = pairs.data.run(statement.sql, statement.params)
    return pairs.rename_keys(remove_audit(frame))


def _list_slices(
    curves: Curves, keys: Sequence[str]
) -> Iterator[tuple[pl.DataFrame, dict[str, int]]]:
    """Yield the keys of each slice, and the row of each model's curve."""
    numbered = curves.groups.with_row_index("_row")
    parts = numbered.partition_by(keys, maintain_order=True) if keys else [numbered]
    for part in parts:
        rows = dict(part.select(pl.col("model").cast(pl.String), "_row").iter_rows())
        yield part.select(keys).head(1), rows


def _describe(
    curve: tuple[Array, Array, Array],
    grid: Array,
    sign: float,
    models: tuple[str, str],
    options: Options,
) -> pl.DataFrame:
    """Return the ranges of one slice and model, each with the better model.

    ``curve`` is the difference, its replicates, and the least standard error.
    """
    difference, replicates, least = curve
    sample, replicates = replicates[0], replicates[1:]
    defined = (~np.isnan(replicates)).mean(axis=0) >= LEAST_DEFINED
    is_inner = defined & ~np.isnan(difference) & (grid > 0) & (grid < 1)
    model, baseline = models
    empty: dict[str, Any] = dict.fromkeys(COLUMNS)
    untested = empty | {"note": "no test: a curve is undefined", "verdict": "no test"}
    if not is_inner.any():
        return pl.DataFrame([untested], schema=pl.Schema(COLUMNS))
    # Replicates use rounded scores, but the curves are exact, so shift the replicates.
    places, away = grid[is_inner], difference[is_inner]
    drawn = replicates[:, is_inner] - sample[is_inner] + away
    least = least[is_inner]
    band = find_simultaneous_band(drawn, away, ci=options.ci, least_error=least)
    p_value = float(compute_curve_p_value(drawn, away, least_error=least))
    is_apart = bool((np.abs(away) > _ROUNDING).any())
    if np.isnan(p_value) or (is_apart and float(band.critical) < _ROUNDING):
        untested["note"] = "no test: the difference is the same in all replicates"
        return pl.DataFrame([untested], schema=pl.Schema(COLUMNS))
    varies = band.high > band.low
    better = np.where(varies & (band.low > 0), sign, np.where(varies & (band.high < 0), -sign, 0))
    named = {1.0: model, -1.0: baseline, 0.0: None}
    rows: list[dict[str, Any]] = []
    for start, end in _list_runs(better):
        largest = start + int(np.argmax(np.abs(away[start:end])))
        rows.append(
            empty
            | {
                "start": places[start] if start else 0.0,
                "end": places[end - 1] if end < len(places) else 1.0,
                "better": named[float(better[start])],
                "difference": away[largest],
                "at": places[largest],
                **_read_band(band, largest),
                "p_value": p_value,
            }
        )
    verdict = _write_verdict(rows, places, away * sign, models)
    table = pl.DataFrame(rows, schema=pl.Schema(COLUMNS))
    return table.with_columns(verdict=pl.lit(verdict))


def _read_band(band: Band, place: int) -> dict[str, float]:
    return {"low": float(band.low[place]), "high": float(band.high[place])}


def _list_runs(values: Array) -> list[tuple[int, int]]:
    """Return start and end of each run of equal values.

    Examples
    --------
    >>> _list_runs(np.array([0.0, 0.0, 1.0]))
    [(0, 2), (2, 3)]
    """
    changes = [0, *(np.flatnonzero(np.diff(values)) + 1).tolist(), len(values)]
    return list(pairwise(changes))


def _write_verdict(
    rows: Sequence[Mapping[str, Any]], places: Array, ahead: Array, models: tuple[str, str]
) -> str:
    """Return a text with the ranges in which each model is better, and the crossings."""
    model, baseline = models
    parts: list[str] = []
    for name in models:
        runs = [(row["start"], row["end"]) for row in rows if row["better"] == name]
        ranges = [f"{start:.3g} to {end:.3g}" for start, end in runs]
        if len(ranges) > _NAMED:
            between = f"{runs[0][0]:.3g} and {runs[-1][1]:.3g}"
            parts.append(f"{name} is better in {len(ranges)} ranges between {between}")
        elif ranges:
            parts.append(f"{name} is better from {', '.join(ranges)}")
    if not parts:
        parts.append("no evidence of a difference")
    # Where two curves meet, a difference of rounding size counts as equal.
    side = np.sign(np.where(np.abs(ahead) > _ROUNDING, ahead, 0))
    apart = side != 0
    turns = np.flatnonzero(np.diff(side[apart]))
    crossings = places[apart][turns + 1]
    if not len(crossings):
        first = model if (side > 0).any() else baseline
        parts.append(f"the curve of {first} is nowhere worse" if apart.any() else "equal curves")
    elif len(crossings) <= _NAMED:
        parts.append(f"the curves cross near {', '.join(f'{x:.3g}' for x in crossings)}")
    else:
        parts.append(f"the curves cross {len(crossings)} times")
    return "; ".join(parts)


def summarize_curves(frame: pl.DataFrame) -> list[str]:
    """Return a sentence per slice and model.

    Examples
    --------
    >>> rows = {"carrier": ["AA", "HA"], "curve": ["roc_curve"] * 2, "model": ["b"] * 2}
    >>> words = {"verdict": ["b is better from 0.1 to 0.9", "no test"]}
    >>> summarize_curves(pl.DataFrame({**rows, **words}))
    ['roc_curve of AA: b is better from 0.1 to 0.9', 'roc_curve of HA: no test']
    """
    keys = frame.columns[: frame.columns.index("curve")]
    once = frame.unique([*keys, "model"], keep="first", maintain_order=True)
    several = once["model"].n_unique() > 1
    named = [*keys, *(["model"] if several else [])]
    texts = [pl.col(key).cast(pl.String).fill_null("NULL") for key in named]
    name = pl.concat_str([pl.lit(" of "), pl.concat_str(texts, separator=" / ")])
    which = name if named else pl.lit("")
    sentences = once.select(pl.format("{}{}: {}", "curve", which, "verdict"))
    return sentences.to_series().to_list()
