"""Measures the drift of one distribution: a role in each slice, or the mix of slices."""

from __future__ import annotations

from collections.abc import Generator, Sequence
from contextlib import ExitStack, contextmanager
from math import log, pi, sqrt
from typing import Any, Literal

import polars as pl

from sqleval.binding.binding import OVERALL
from sqleval.common.sql_text import select
from sqleval.compiler.bins import create_bins
from sqleval.drifts.measures import Measure, measure
from sqleval.drifts.samples import Counts, Sample
from sqleval.engines.embedded import embedded
from sqleval.errors import RequestError
from sqleval.sources.source import Source

#: The mean of Kolmogorov's distribution (1933). Times sqrt(1 / n + 1 / m), it is the mean distance
#: of two samples of one continuous distribution; with ties the distance is smaller.
_MEAN_OF_KS = sqrt(pi / 2) * log(2)

#: Names of columns: the counts of both samples, and the values that are counted.
_SCORE_COLUMNS = (("of_reference", "of_current"), "score")
_CATEGORY_COLUMNS = (("reference_rows", "current_rows"), "category")
#: Units of time, the finest last.
_UNITS: tuple[Literal["ms", "us", "ns"], ...] = ("ms", "us", "ns")


def find_bits(samples: Sequence[Sample], bins: int | None) -> int:
    """Return the significant bits to which both samples' scores are rounded; 0 if they are exact.

    Raises
    ------
    RequestError
        If the states have different bins, or bins that differ from ``bins``.
    """
    requested_bits = set[int]() if bins is None else {create_bins(bins).bits}
    bits = requested_bits | {sample.bits for sample in samples} - {0}
    if len(bits) > 1:
        shown = " and ".join(f"{each} bits" for each in sorted(bits))
        raise RequestError(
            f"scores are in bins of {shown}; build the states with the same bins=, and leave out "
            "bins= here"
        )
    return max(bits, default=0)


def agree_on_kind(samples: Sequence[Sample], role: str) -> bool:
    """Return whether a role holds ordered numbers in both samples, not classes.

    Raises
    ------
    RequestError
        If it holds numbers in one sample and classes in the other, or texts in only one.
    """
    kinds = {sample.is_number(role) for sample in samples}
    texts = {sample.binding.role[role].kind in ("text", "enum", "uuid") for sample in samples}
    binaries = {sample.binding.has_two_classes for sample in samples}
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


@contextmanager
def count_both(
    role: str, samples: Sequence[Sample], bits: int | None
) -> Generator[tuple[Source, Sequence[pl.DataFrame]]]:
    """Count the rows of both samples per slice and value of a role.

    Parameters
    ----------
    role : str
        The name of the role.
    samples : sequence of Sample
        The reference and the current sample.
    bits : int or None
        The significant bits of numbers, 0 if they are exact; None for categories.

    Yields
    ------
    tuple of Source and sequence of polars.DataFrame
        A table of the embedded engine with the rows of ``drift_categories`` or ``drift_scores``
        (without the columns ``lowest`` and ``highest`` for exact numbers), and the sizes of both
        samples; see `Counts`.
    """
    from sqleval.engines.kept import keep_rows  # late: it imports DuckDB

    with ExitStack() as kept:
        with ExitStack() as stack:
            # Not at once, because frames of both samples are registered under the same name.
            sides = [stack.enter_context(each.count_rows(role, bits or 0)) for each in samples]
            sizes = _agree_on_keys([side.sizes for side in sides], samples)
            sql = _write_both(sides, sizes, samples, bits)
            table = kept.enter_context(keep_rows(embedded(), sql, [s.table for s in sides], {}))
        yield table, sizes


def _write_both(
    sides: Sequence[Counts],
    sizes: Sequence[pl.DataFrame],
    samples: Sequence[Sample],
    bits: int | None,
) -> str:
    """Return the SELECT of the counts of both samples; see `count_both`."""
    names, value = _CATEGORY_COLUMNS if bits is None else _SCORE_COLUMNS
    ends = ("lowest", "highest") if bits else ()
    keys = samples[0].binding.keys
    parts: list[str] = []
    for side, its_sizes, side_name in zip(sides, sizes, names, strict=True):
        # A column without any value must be the constant NULL, which fits every type.
        items = {key: "NULL" if _is_missing(its_sizes, key) else key for key in keys}
        items |= {value: "value"} | {end: end for end in ends}
        items |= {name: "weight" if name == side_name else "0" for name in names}
        valid = f"FROM {side.table.relation}\nWHERE value IS NOT NULL AND weight > 0"
        parts.append(select(items, valid))
    groups = {name: name for name in (*keys, value, *ends)}
    # DuckDB sums whole numbers as 16 bytes, twice as many to sort.
    kind = "DOUBLE" if any(sample.is_weighted for sample in samples) else "BIGINT"
    sums = {name: f"CAST(SUM({name}) AS {kind})" for name in names}
    places = ", ".join(str(i) for i in range(1, len(groups) + 1))
    union = "\nUNION ALL\n".join(parts)
    return select(groups | sums, f"FROM (\n{union}\n) AS both_samples\nGROUP BY {places}")


def measure_role(
    role: str,
    table: Source,
    sizes: Sequence[pl.DataFrame],
    samples: Sequence[Sample],
    measures: Sequence[Measure],
    bits: int | None,
) -> pl.DataFrame:
    """Return the drift of a role within each slice.

    Parameters
    ----------
    role, samples, bits
        As for `count_both`.
    table, sizes
        The results of `count_both`.
    measures : sequence of Measure
        The measures to compute.
    """
    keys = list(samples[0].binding.keys)
    is_number = bits is not None
    ends = ", score AS lowest, score AS highest" if bits == 0 else ""
    counts = f"SELECT *{ends} FROM {table.relation}"
    values = measure(measures, counts, table, keys, is_number=is_number)
    unit = "categories" if bits is None else "bins"
    frame = _add_sizes(values, _count_rows(sizes, keys), keys, measures)
    return _describe(frame, role, samples, measures, unit, bits or 0)


def _is_missing(sizes: pl.DataFrame, key: str) -> bool:
    """Return whether a key is NULL in all rows."""
    return sizes[key].null_count() == sizes.height


def measure_mix(
    sizes: Sequence[pl.DataFrame], samples: Sequence[Sample], measures: Sequence[Measure]
) -> pl.DataFrame:
    """Return the drift of the shares of the slices; parameters are as for `measure_role`."""
    binding = samples[0].binding
    keys = list(binding.keys)
    by = keys[: len(binding.by)]
    if binding.sets:
        sizes = [side.filter(pl.col(binding.set_key) != OVERALL) for side in sizes]
    # A missing key is a category of its own, which no text of another one equals.
    texts = [pl.format("={}", pl.col(key).cast(pl.String)).fill_null("-") for key in by]
    category = pl.concat_str(texts, separator="|")
    names, _ = _CATEGORY_COLUMNS
    parts = [
        side.with_columns(category=category)
        .with_columns(pl.lit(None, side.schema[key]).alias(key) for key in by)
        .select(
            *keys,
            "category",
            **{name: "weight" if name == side_name else pl.lit(0) for name in names},
        )
        for side, side_name in zip(sizes, names, strict=True)
    ]
    counts = pl.concat(parts, how="vertical_relaxed")
    counts = counts.group_by(*keys, "category").agg(pl.col(*names).sum())
    objects = {"mix": counts}
    table = Source("mix", label="the counts of two samples", rows=counts.height)
    values = measure(measures, "SELECT * FROM mix", table, keys, is_number=False, objects=objects)
    whole = [
        side.with_columns(
            *(pl.lit(None, side.schema[key]).alias(key) for key in by), has_value=pl.lit(True)
        )
        for side in sizes
    ]
    frame = _add_sizes(values, _count_rows(whole, keys), keys, measures)
    return _describe(frame, "mix", samples, measures, "slices", 0)


def _agree_on_keys(
    sizes: Sequence[pl.DataFrame], samples: Sequence[Sample]
) -> Sequence[pl.DataFrame]:
    """Return the sizes of both samples with slice keys of the same types.

    Raises
    ------
    RequestError
        If the types of a key in the two samples have no common type.
    """
    binding = samples[0].binding
    common_types: dict[str, Any] = {}
    for key, name in zip(binding.keys, binding.key_names, strict=True):
        one, other = (side.schema[key] for side in sizes)
        if one == other:
            continue
        if any(_is_missing(side, key) for side in sizes):
            common_types[key] = other if _is_missing(sizes[0], key) else one
            continue
        common_types[key] = _find_common_type(one, other)
        if common_types[key] is None:
            raise RequestError(
                f"by={name!r} is of type {one} in the reference and {other} in the current sample"
            )
    return [
        side.with_columns(pl.col(key).cast(to) for key, to in common_types.items())
        for side in sizes
    ]


def _find_common_type(one: pl.DataType, other: pl.DataType) -> Any:
    """Return a type that holds the values of both types, or None if there is none."""
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


def _count_rows(sizes: Sequence[pl.DataFrame], keys: Sequence[str]) -> pl.DataFrame:
    """Count the rows of each slice with and without a value, in both samples."""
    parts = [
        side.select(*keys, "n", "has_value", side=pl.lit(name))
        for side, name in zip(sizes, ("reference", "current"), strict=True)
    ]
    rows = pl.concat(parts, how="vertical_relaxed")
    sums = [
        pl.col("n").filter((pl.col("side") == side) & (pl.col("has_value") == has_value)).sum()
        .cast(pl.Int64).alias(f"{name}_{side}")
        for name, has_value in (("n", True), ("missing", False))
        for side in ("reference", "current")
    ]  # fmt: skip
    return rows.group_by(keys).agg(sums) if keys else rows.select(sums)


def _add_sizes(
    values: pl.DataFrame, sizes: pl.DataFrame, keys: Sequence[str], measures: Sequence[Measure]
) -> pl.DataFrame:
    """Return a row per slice and measure, also for slices without a value."""
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
    """Return the approximate value of each measure for two samples of one distribution.

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
