"""Adds bands to a curve: pointwise, and simultaneous for the whole curve."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

import polars as pl

from sqleval.binding.arguments import check_key_names, check_level
from sqleval.catalog.request import Request
from sqleval.compiler.curve import compile_curve
from sqleval.curves.grid import Axes, Curves, create_grid, evaluate_at, read_axes
from sqleval.curves.thresholds import ENDS_OF_MEASURES, add_intervals
from sqleval.errors import RequestError
from sqleval.inference.bands import (
    Band,
    find_pointwise_band,
    find_simultaneous_band,
    raise_bias,
)
from sqleval.inference.libraries import load_library, np, special
from sqleval.inference.rates import find_exact_ends
from sqleval.resampling.cells import (
    EXACT_ROWS,
    Cells,
    Input,
    count_cells,
    count_rows,
)
from sqleval.resampling.completion import check_drawing
from sqleval.resampling.intervals import LEAST_DEFINED, LEFT_BIAS
from sqleval.resampling.replicates import bind_drawn, draw_replicates, run_drawn
from sqleval.resampling.values import create_values

if TYPE_CHECKING:
    from sqleval.inference.libraries import Array, Flags

#: Significant bits of scores in replicates; finer scores would not change a curve on the grid.
BITS = (7, 5)
#: The ends of the pointwise band, and of the simultaneous band.
ENDS = ("low", "high", "simultaneous_low", "simultaneous_high")


class Options(NamedTuple):
    """The options of bands: the level, the number of replicates, and their seed."""

    ci: float
    replicates: int = 500
    seed: int = 0


def parse_options(ci: float, replicates: int, seed: int) -> Options:
    """Check the options of bands and return them; raise `MissingExtra` without SciPy."""
    load_library("special")
    check_level(ci)
    check_drawing(replicates, seed)
    if not replicates:
        raise RequestError("replicates=0: bands of curves need replicates, such as replicates=500")
    return Options(ci, replicates, seed)


def check_source(data: Input, request: Request) -> None:
    """Raise `RequestError` if the input of a curve has no bands.

    Replicates read the rows again, and intervals of means are those of independent rows.
    """
    if data.cluster is not None and "stderr" in request.relation.columns:
        raise RequestError(
            f"{request.name}: cluster= is given, and its intervals are for independent rows"
        )
    binding = data.binding
    is_counted = not (binding.is_weighted or data.cluster or binding.state)
    if read_axes(request).joined == "thresholds" and not is_counted:
        raise RequestError(
            f"{request.name}: its intervals count independent rows, and weight=, cluster= or a "
            "state is given; evaluate() has intervals of precision(threshold=...) with them"
        )
    if data.source.once or (data.labels is not None and data.labels.once):
        raise RequestError("replicates read the rows more than once; collect the stream first")


def list_columns(request: Request, columns: Sequence[str]) -> list[str]:
    """Return the columns of a curve with bands, from the columns of the curve."""
    axes = read_axes(request)
    if axes.joined == "thresholds":
        check_key_names(columns, ENDS_OF_MEASURES, "a band")
        return [*columns, *ENDS_OF_MEASURES]
    check_key_names(columns, ENDS, "a band")
    if axes.joined == "points":
        return [*columns, *ENDS]
    keys = [name for name in columns if name not in request.relation.columns]
    return [*keys, axes.x, axes.y, *ENDS]


def add_bands(exact: pl.DataFrame, data: Input, request: Request, options: Options) -> pl.DataFrame:
    """Return a curve with its bands.

    A curve over 0 .. 1 is evaluated at `grid.POINTS` equally spaced places. Other curves keep their
    points, such as the bins of a calibration curve.

    Parameters
    ----------
    exact : polars.DataFrame
        The rows of the curve.
    data : Input
        The input of the curve.
    request : Request
        The curve.
    options : Options
        Level, replicates and seed.
    """
    axes = read_axes(request)
    binding = data.binding
    # Rename the user's keys, which may have the name of any column here.
    named = dict(zip(binding.keys, binding.key_names, strict=True))
    exact = exact.rename({user: key for key, user in named.items()})
    keys = [*binding.keys, *(["class"] if "class" in exact.columns else [])]
    if axes.joined == "thresholds":
        rows = add_intervals(exact, keys, options.ci, dict(request.parameters))
        return rows.rename({key: user for key, user in named.items() if key in rows.columns})
    grid = create_grid(exact, axes)
    curves = evaluate_at(exact, axes, keys, grid)
    counts_rows = not (binding.is_weighted or data.cluster or binding.state)
    if "stderr" in request.relation.columns:
        ends = _find_mean_bands(
            exact, axes, keys, grid, options.ci, is_weighted=binding.is_weighted
        )
    elif axes.joined == "points" and counts_rows:
        ends = _find_exact_bands(exact, axes, keys, grid, options.ci)
    else:
        ends = _find_bands(curves, data, request, options, grid)
    table = _tabulate(curves, dict(zip(ENDS, ends, strict=True)), axes, grid)
    if axes.joined == "points":
        on = [*keys, axes.x]
        table = table.drop(axes.y).with_columns(pl.col(axes.x).cast(exact.schema[axes.x]))
        table = exact.join(table, on=on, how="left", nulls_equal=True, maintain_order="left")
    names = list_columns(request, exact.columns)
    return table.select(pl.col(name).alias(named.get(name, name)) for name in names)


def _find_bands(
    curves: Curves,
    data: Input,
    request: Request,
    options: Options,
    grid: Array,
) -> list[Array]:
    """Return the ends of the bands from replicates of the curves."""
    is_large = count_rows(data) > EXACT_ROWS
    cells = count_cells(
        data,
        lambda bits: create_values(data.binding, bits, None, scored=True),
        None,
        is_large=is_large,
        bits=BITS,
    )
    drawn = draw_curves(cells, request, data.binding.keys, curves, options, grid)
    sample, replicates = drawn[0], drawn[1:]
    axes = read_axes(request)
    least = find_least_error(cells, curves, axes, grid)
    defined = (~np.isnan(replicates)).mean(axis=0)
    # From equal replicates no spread of a curve can be estimated.
    varies = (~np.isnan(replicates) & (np.abs(replicates - sample) > 1e-13)).any(axis=0)
    is_usable = (defined >= LEAST_DEFINED) & varies.any(axis=-1, keepdims=True)
    # If a ROC curve begins with a rise, its value at 0 is the top of the rise, which is too high in
    # every sample. The band at 0 then reaches from 0 to the band's height at the next place.
    rises = varies[:, 0] if axes.joined == "lines" else np.zeros(len(varies), bool)
    ends = _find_wider_ends(replicates, sample, least, rises, options.ci)
    # Replicates use rounded scores, but the curve is exact, so shift the band to the curve.
    shift = curves.values - sample
    band_ends = [end + shift for end in ends]
    for low, high in (band_ends[:2], band_ends[2:]):
        low[rises, 0] = 0
        high[rises, 0] = np.maximum(high[rises, 0], high[rises, 1])
    largest = axes.find_largest(grid)
    return [np.where(is_usable, np.clip(end, 0, largest), np.nan) for end in band_ends]


def _find_wider_ends(
    replicates: Array, sample: Array, least: Array, rises: Flags, ci: float
) -> list[Array]:
    """Return the ends of both bands; the simultaneous band is the wider one of two scales.

    Intervals are chosen alike. The pointwise band does not depend on the scale, because quantiles
    do not.
    """
    *pointwise, low, high = _find_ends(replicates, sample, least, rises, ci)
    inner = np.clip(sample, np.minimum(least, 0.5), 1 - np.minimum(least, 0.5))
    with np.errstate(all="ignore"):
        least = np.where(least > 0, least / (2 * np.sqrt(inner * (1 - inner))), 0.0)
    drawn, sample_angles = (
        np.arcsin(np.sqrt(np.clip(each, 0, 1))) for each in (replicates, sample)
    )
    angles = _find_ends(drawn, sample_angles, least, rises, ci)[2:]
    other_low, other_high = (np.sin(np.clip(end, 0, np.pi / 2)) ** 2 for end in angles)
    return [*pointwise, np.minimum(low, other_low), np.maximum(high, other_high)]


def _find_ends(
    replicates: Array, sample: Array, least: Array, rises: Flags, ci: float
) -> list[Array]:
    """Return the ends of the pointwise and of the simultaneous band, corrected for bias.

    The lowest cost over all thresholds, for example, is too low in a sample, and even lower in
    replicates.
    """
    is_known = ~np.isnan(replicates).all(axis=0)
    filled = np.where(is_known, replicates, 0.0)
    bias = np.where(is_known, np.nanmean(filled, axis=0), np.nan) - sample
    spread = np.nanstd(filled, axis=0)
    error = np.maximum(spread, least)
    pointwise = find_pointwise_band(replicates - 2 * bias, ci=ci, least_error=least)
    ends = [*_widen(pointwise, sample - bias, bias, error)]
    bias_everywhere = raise_bias(bias, spread, error)
    centre, drawn = sample - bias_everywhere, replicates - bias - bias_everywhere
    drawn[:, rises, 0] = centre[rises, 0]
    whole = find_simultaneous_band(drawn, centre, ci=ci, least_error=least)
    return [*ends, *_widen(whole, centre, bias_everywhere, error)]


def _widen(band: Band, centre: Array, bias: Array, error: Array) -> tuple[Array, Array]:
    """Return the ends of a band, widened by the remaining bias, as for intervals."""
    left = LEFT_BIAS * np.abs(bias)
    with np.errstate(all="ignore"):
        wider = np.where(error > 0, np.hypot(1.0, left / error), 1.0)
    below, above = centre - band.low, band.high - centre
    low = centre - np.where(bias > 0, below + left, below * wider)
    high = centre + np.where(bias < 0, above + left, above * wider)
    return low, high


def find_least_error(cells: Cells, curves: Curves, axes: Axes, grid: Array) -> Array:
    """Return the least standard error of a curve: about one positive, or one cluster.

    If all positives lie above a threshold, they do so in all replicates, too, and the band would
    have no width. The ends of a curve over 0 .. 1 are fixed.
    """
    on = [name for name in curves.groups.columns if name != "model"]
    counts = cells.count_units([*(name for name in on if name != "class"), "label"])
    if "class" in on:
        counts = counts.rename({"label": "class"})
    else:
        counts = counts.filter(pl.col("label") == 1)
    if on:
        typed = counts.with_columns(pl.col(key).cast(curves.groups.schema[key]) for key in on)
        joined = curves.groups.join(
            typed, on=on, how="left", nulls_equal=True, maintain_order="left"
        )
        sizes = joined["size"].fill_null(0).to_numpy()
    else:
        sizes = np.full(len(curves.values), counts["size"].sum())
    # The value at 0 is the value of the first step.
    share = np.maximum(grid, grid[1]) if axes.joined == "steps" else np.ones_like(grid)
    with np.errstate(all="ignore"):
        least = 1 / (sizes[:, np.newaxis] * share)
    is_inner = (grid > 0) & (grid < 1) | (axes.joined != "lines")
    return np.where(is_inner & np.isfinite(least), np.minimum(least, 1), 0.0)


def draw_curves(
    cells: Cells,
    request: Request,
    slice_keys: Sequence[str],
    exact: Curves,
    options: Options,
    grid: Array,
) -> Array:
    """Return the curves of the sample and of each replicate at the places of a grid.

    Parameters
    ----------
    cells : Cells
        The cells to draw from.
    request : Request
        The curve.
    slice_keys : sequence of str
        The slice keys among the columns of cells.
    exact : Curves
        The exact curves, whose keys are needed.
    options : Options
        Replicates and seed.
    grid : array
        The places.

    Returns
    -------
    array
        The sample and the replicates along axis 0, the curves of ``exact``, the places.
    """
    axes = read_axes(request)
    groups, keys = exact.groups, exact.groups.columns
    values = np.full((options.replicates + 1, *exact.values.shape), np.nan)
    numbered = groups.with_row_index("_group") if keys else None
    for frame in draw_replicates(cells, options.replicates, options.seed):
        source, binding, read = bind_drawn(frame, cells, slice_keys)
        rows = run_drawn(compile_curve(binding, request), source, read)
        curves = evaluate_at(rows, axes, [*keys, "replicate"], grid)
        curve_rows = curves.groups.with_columns(
            pl.col(key).cast(groups.schema[key]) for key in keys
        ).with_row_index("_row")
        if numbered is not None:
            curve_rows = curve_rows.join(numbered, on=keys, how="inner", nulls_equal=True)
        else:
            curve_rows = curve_rows.with_columns(_group=pl.lit(0))
        places = (curve_rows[name].to_numpy() for name in ("replicate", "_group", "_row"))
        replicate, group, row = places
        values[replicate, group] = curves.values[row]
    return values


def _find_exact_bands(
    exact: pl.DataFrame, axes: Axes, keys: Sequence[str], grid: Array, ci: float
) -> list[Array]:
    """Return the ends of exact intervals of the shares of rows in bins, which are independent."""
    counts = evaluate_at(exact, axes._replace(y="n"), keys, grid).values
    shares = evaluate_at(exact, axes, keys, grid).values
    successes = np.round(shares * counts)
    bins = (~np.isnan(counts)).sum(axis=-1, keepdims=True)
    ends = list(find_exact_ends(successes, counts, ci))
    for side in (0, 1):
        # Sidak: k independent intervals of level ci^(1/k) have the joint level ci.
        level = ci ** (1 / np.maximum(bins, 1))
        ends.append(_find_exact_side(successes, counts, level, side))
    return ends


def _find_mean_bands(
    exact: pl.DataFrame,
    axes: Axes,
    keys: Sequence[str],
    grid: Array,
    ci: float,
    *,
    is_weighted: bool,
) -> list[Array]:
    """Return the ends of intervals of means in bins, which are independent, by Student's t."""
    means, errors, counts = (
        evaluate_at(exact, axes._replace(y=name), keys, grid).values
        for name in (axes.y, "stderr", "n")
    )
    bins = (~np.isnan(counts)).sum(axis=-1, keepdims=True)
    ends: list[Array] = []
    for level in (np.full(bins.shape, ci), ci ** (1 / np.maximum(bins, 1))):
        # A sum of weights is no number of rows, so the quantile is the normal one.
        quantile = special.ndtri((1 + level) / 2)
        if not is_weighted:
            quantile = special.stdtrit(np.maximum(counts - 1, 1), (1 + level) / 2)
        ends += [means - quantile * errors, means + quantile * errors]
    return ends


def _find_exact_side(successes: Array, counts: Array, levels: Array, side: int) -> Array:
    """Return an end of exact intervals, whose levels differ by slice."""
    rows = [
        find_exact_ends(hits, n, float(level[0]))[side]
        for hits, n, level in zip(successes, counts, levels, strict=True)
    ]
    return np.stack(rows) if rows else successes


def _tabulate(curves: Curves, columns: dict[str, Array], axes: Axes, grid: Array) -> pl.DataFrame:
    """Return curves at the places of a grid as rows."""
    count, points = curves.values.shape
    row = pl.int_range(count * points, eager=True) // points
    numbers = {axes.y: curves.values, **columns}
    flat = {
        name: pl.Series(name, np.ascontiguousarray(array).reshape(-1)).fill_nan(None)
        for name, array in numbers.items()
    }
    x = pl.Series(axes.x, np.tile(grid, count))
    keys = [column.gather(row) for column in curves.groups.get_columns()]
    return pl.DataFrame([*keys, x, *flat.values()])
