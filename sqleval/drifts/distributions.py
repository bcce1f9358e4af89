"""Measures one distribution of two samples: a role within each slice, or the mix of slices."""

from __future__ import annotations

from collections.abc import Sequence
from math import log, pi, sqrt
from typing import Any, Literal

import polars as pl

from sqleval.compiler.bins import create_bins
from sqleval.drifts.measures import Measure, measure
from sqleval.drifts.samples import Sample
from sqleval.errors import RequestError
from sqleval.inputs.binding import OVERALL

#: The mean of Kolmogorov's distribution (1933), which the distance of two samples of one continuous
#: distribution follows, times sqrt(1 / n + 1 / m); with ties it is smaller.
_MEAN_OF_KS = sqrt(pi / 2) * log(2)

#: Units of time, the finest last.
_UNITS: tuple[Literal["ms", "us", "ns"], ...] = ("ms", "us", "ns")


def find_bits(samples: Sequence[Sample], bins: int | None) -> int:
    """Return the significant bits that the scores of both samples are rounded to; 0 for none.

    Raises
    ------
    RequestError
        If states have other bins than each other, or than ``bins``.
    """
    requested_bits = set[int]() if bins is None else {create_bins(bins).bits}
    held = {sample.bits for sample in samples} - {0}
    if len(held | requested_bits) > 1:
        shown = " and ".join(f"{each} bits" for each in sorted(held | requested_bits))
        raise RequestError(
            f"scores are in bins of {shown}; build the states with the same bins=, and leave out "
            "bins= here"
        )
    return max(held | requested_bits | {0})


def agree_on_kind(samples: Sequence[Sample], role: str) -> bool:
    """Return whether a role holds numbers with an order, in both samples.

    Raises
    ------
    RequestError
        If it holds numbers in one sample and classes in the other, or texts in one only.
    """
    kinds = {sample.is_number(role) for sample in samples}
    texts = {sample.binding.role[role].kind in ("text", "enum", "uuid") for sample in samples}
    binaries = {sample.binding.task == "binary" for sample in samples}
    if role != "score" and len(binaries) > 1 and any(sample.bits for sample in samples):
        raise RequestError(
            f"one sample is a state, whose {role} is 1 or 0; say with positive= which {role} of "
            "the other sample is 1"
        )
    if len(kinds) > 1 or (len(texts) > 1 and binaries != {True}):
        first, second = (sample.binding.role[role] for sample in samples)
        raise RequestError(
            f"{role}: {first.name!r} is {first.type} in the reference and {second.name!r} is "
            f"{second.type} in the current sample; cast one of them"
        )
    return kinds.pop()


def measure_role(
    role: str,
    sides: Sequence[pl.DataFrame],
    samples: Sequence[Sample],
    measures: Sequence[Measure],
    bits: int | None,
) -> pl.DataFrame:
    """Return the drift of a role within each slice.

    Parameters
    ----------
    role : str
        Its name.
    sides : sequence of polars.DataFrame
        The counts of both samples, of `Sample.count_rows`.
    samples : sequence of Sample
        The samples.
    measures : sequence of Measure
        What to compute.
    bits : int or None
        The significant bits of numbers, 0 where they are exact; None for categories.
    """
    keys = list(samples[0].binding.keys)
    sides = _agree_on_keys(sides, samples)
    is_number = bits is not None
    valid = [side.filter(pl.col("value").is_not_null() & (pl.col("weight") > 0)) for side in sides]
    names = ("of_reference", "of_current") if is_number else ("reference_rows", "current_rows")
    parts = [
        side.select(
            *keys,
            pl.col("value").alias("score" if is_number else "category"),
            *(
                pl.col(end if bits else "value").alias(end)
                for end in (("lowest", "highest") if is_number else ())
            ),
            **{name: "weight" if name == side_name else pl.lit(0) for name in names},
        )
        for side, side_name in zip(valid, names, strict=True)
    ]
    counts = pl.concat(parts, how="vertical_relaxed")
    if not is_number:
        counts = counts.group_by(*keys, "category").agg(pl.col(*names).sum())
    values = measure(measures, counts, keys, is_number=is_number)
    unit = "categories" if bits is None else "bins"
    sizes = _count_rows(sides, keys)
    frame = _add_sizes(values, sizes, keys, measures)
    return _describe(frame, role, samples, measures, unit, bits or 0)


def measure_mix(
    sides: Sequence[pl.DataFrame], samples: Sequence[Sample], measures: Sequence[Measure]
) -> pl.DataFrame:
    """Return the drift of the shares of the slices; its parameters are those of `measure_role`."""
    binding = samples[0].binding
    keys = list(binding.keys)
    by = keys[: len(binding.by)]
    sides = _agree_on_keys(sides, samples)
    if binding.sets:
        sides = [side.filter(pl.col(binding.set_key) != OVERALL) for side in sides]
    # A missing key is a category, and no text of another one.
    texts = [pl.format("={}", pl.col(key).cast(pl.String)).fill_null("-") for key in by]
    category = pl.concat_str(texts, separator="|")
    names = ("reference_rows", "current_rows")
    parts = [
        side.with_columns(category=category)
        .with_columns(pl.lit(None, side.schema[key]).alias(key) for key in by)
        .select(
            *keys,
            "category",
            **{name: "weight" if name == side_name else pl.lit(0) for name in names},
        )
        for side, side_name in zip(sides, names, strict=True)
    ]
    counts = pl.concat(parts, how="vertical_relaxed")
    counts = counts.group_by(*keys, "category").agg(pl.col(*names).sum())
    values = measure(measures, counts, keys, is_number=False)
    whole = [
        side.with_columns(
            *(pl.lit(None, side.schema[key]).alias(key) for key in by), value=pl.lit(0)
        )
        for side in sides
    ]
    frame = _add_sizes(values, _count_rows(whole, keys), keys, measures)
    return _describe(frame, "mix", samples, measures, "slices", 0)


def _agree_on_keys(
    sides: Sequence[pl.DataFrame], samples: Sequence[Sample]
) -> Sequence[pl.DataFrame]:
    """Return both sides with slice keys of the same types.

    Raises
    ------
    RequestError
        If a key is of one kind in the reference and of another one in the current sample.
    """
    binding = samples[0].binding
    common_types: dict[str, Any] = {}
    for key, name in zip(binding.keys, binding.key_names, strict=True):
        one, other = (side.schema[key] for side in sides)
        if one == other or pl.Null in (one, other):
            continue
        common_types[key] = _find_common_type(one, other)
        if common_types[key] is None:
            raise RequestError(
                f"by={name!r} is of type {one} in the reference and {other} in the current sample"
            )
    return [
        side.with_columns(pl.col(key).cast(to) for key, to in common_types.items())
        for side in sides
    ]


def _find_common_type(one: pl.DataType, other: pl.DataType) -> Any:
    """Return a type that holds the values of both, None if they are of two kinds."""
    both = (one, other)
    if all(each.is_numeric() or each == pl.Boolean for each in both):
        if not all(each.is_integer() or each == pl.Boolean for each in both):
            return pl.Float64
        return pl.Decimal(38, 0) if pl.UInt64 in both else pl.Int64
    zones = {each.time_zone for each in both if isinstance(each, pl.Datetime)}
    if not all(each.is_temporal() for each in both) or len(zones) != 1:
        return None
    if not all(isinstance(each, (pl.Date, pl.Datetime)) for each in both):
        return None
    (zone,) = zones
    if pl.Date in both and zone is not None:
        return None
    places = [_UNITS.index(each.time_unit) for each in both if isinstance(each, pl.Datetime)]
    return pl.Datetime(_UNITS[max(places)], zone)


def _count_rows(sides: Sequence[pl.DataFrame], keys: Sequence[str]) -> pl.DataFrame:
    """Return the rows of each slice with and without a value, in both samples."""
    parts = [
        side.select(*keys, "n", has=pl.col("value").is_not_null(), side=pl.lit(name))
        for side, name in zip(sides, ("reference", "current"), strict=True)
    ]
    rows = pl.concat(parts, how="vertical_relaxed")
    sums = [
        pl.col("n").filter((pl.col("side") == side) & (pl.col("has") == has)).sum()
        .cast(pl.Int64).alias(f"{name}_{side}")
        for name, has in (("n", True), ("missing", False))
        for side in ("reference", "current")
    ]  # fmt: skip
    return rows.group_by(keys).agg(sums) if keys else rows.select(sums)


def _add_sizes(
    values: pl.DataFrame, sizes: pl.DataFrame, keys: Sequence[str], measures: Sequence[Measure]
) -> pl.DataFrame:
    """Return a row per slice and measure, also where there is no value."""
    names = [each.text for each in measures]
    listed = pl.DataFrame({"place": range(len(names)), "metric": names}).cast({"place": pl.Int32})
    values = values.with_columns(
        pl.col("place").cast(pl.Int32), *(pl.col(key).cast(sizes.schema[key]) for key in keys)
    )
    return sizes.join(listed, how="cross").join(
        values, on=[*keys, "place"], how="left", nulls_equal=True, maintain_order="left"
    )


def _describe(
    frame: pl.DataFrame,
    distribution: str,
    samples: Sequence[Sample],
    measures: Sequence[Measure],
    unit: str,
    bits: int,
) -> pl.DataFrame:
    """Return measures with their noise, method and note."""
    place, has_value = pl.col("place"), pl.col("drift").is_not_null()
    of_shares = place.is_in([i for i, each in enumerate(measures) if each.is_of_shares])
    rounded = f", at the ends of score bins of {bits} bits" if bits else ""
    shares = pl.format(
        "{} {}" + rounded, pl.col("categories").cast(pl.Int64),
        pl.lit("quantile bins of the reference" if unit == "bins" else unit),
    )  # fmt: skip
    exact = pl.lit(f"score bins of {bits} bits" if bits else "exact")
    empty = {i: each.values.get("empty", 1e-4) for i, each in enumerate(measures)}
    share = place.replace_strict(empty, return_dtype=pl.Float64)
    empties = pl.col("empty_categories").cast(pl.Int64)
    filled = pl.format(
        "{} of {} {} empty in one sample; an empty one counts as a share of {}",
        empties, pl.col("categories").cast(pl.Int64),
        pl.when(empties == 1).then(pl.lit(f"{unit} is")).otherwise(pl.lit(f"{unit} are")), share,
    )  # fmt: skip
    note = (
        pl.when(pl.col("n_reference") == 0).then(pl.lit("no rows in the reference"))
        .when(pl.col("n_current") == 0).then(pl.lit("no rows in the current sample"))
        .when(has_value & (empties > 0)).then(filled)
        .when(has_value).then(None)
        .when(pl.col("metric") == "wasserstein")
        .then(pl.lit("infinite scores have no distance, or all weights are 0"))
        .otherwise(pl.lit("all weights are 0"))
    )  # fmt: skip
    ends = {"low": pl.col("low"), "high": pl.col("high")} if bits else dict[str, pl.Expr]()
    return frame.with_columns(
        distribution=pl.lit(distribution),
        value=pl.when((pl.col("n_reference") > 0) & (pl.col("n_current") > 0)).then("drift"),
        low=ends.get("low", pl.lit(None, pl.Float64)),
        high=ends.get("high", pl.lit(None, pl.Float64)),
        noise=pl.when(has_value).then(_write_noise(samples, measures)),
        method=pl.when(has_value).then(pl.when(of_shares).then(shares).otherwise(exact)),
        note=note,
    ).drop("place", "drift", "categories", "empty_categories")


def _write_noise(samples: Sequence[Sample], measures: Sequence[Measure]) -> pl.Expr:
    """Return about what each measure would be if both samples had the same distribution.

    With k categories, the sum over them of (q - p)^2 / p has the mean (k - 1) (1 / n + 1 / m):
    chi-squared. For small differences PSI is this sum, the divergence of Jensen and Shannon
    an eighth of it (in nats), and Hellinger's squared distance an eighth of it.
    """
    if any(sample.is_weighted for sample in samples):
        return pl.lit(None, pl.Float64)
    both = 1 / pl.col("n_reference") + 1 / pl.col("n_current")
    squares = (pl.col("categories") - 1) * both
    noises = {
        "psi": squares,
        "jensen_shannon": (squares / (8 * log(2))).sqrt(),
        "hellinger": (squares / 8).sqrt(),
        "ks": _MEAN_OF_KS * both.sqrt(),
    }
    noise = pl.lit(None, pl.Float64)
    for place, each in enumerate(measures):
        measure_noise = noises.get(each.name, pl.lit(None, pl.Float64))
        noise = pl.when(pl.col("place") == place).then(measure_noise).otherwise(noise)
    return noise
