"""Chooses the worst slices from sums of losses: makes ranges, and tests them."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import polars as pl

from sqleval.common.columns import NUMBERS, is_float
from sqleval.common.sql_text import write_literal
from sqleval.compiler.slice_sums import SUMS, Searched, list_sets
from sqleval.inference.adjust import adjust_p_values
from sqleval.inference.libraries import np
from sqleval.inference.worse_slices import (
    Sums,
    compare_means,
    compute_mean,
    compute_permutation_p,
)

#: The condition of a slice on one column: a value, a missing value, or the first and last range.
_VALUE, _MISSING = "=", "missing"


class Options(NamedTuple):
    """The options of the search.

    Attributes
    ----------
    min_rows : int
        The least number of rows of a slice, and of the other rows.
    alpha : float
        The largest probability of a false finding.
    top : int
        The largest number of slices.
    is_binary : bool
        Whether each loss is 0 or 1, and no row has a weight.
    """

    min_rows: int
    alpha: float
    top: int
    is_binary: bool


def find_worse(
    add_up: Callable[[tuple[str, ...]], pl.DataFrame],
    searched: Sequence[Searched],
    depth: int,
    options: Options,
) -> pl.DataFrame:
    """Return the slices that are worse than the other rows, the clearest first.

    After the clearest slice, its rows are left out, and the clearest of the others is found among
    the rows that remain.

    Parameters
    ----------
    add_up : callable
        Returns the columns of `compile_sums`, without the rows that meet conditions.
    searched : sequence of Searched
        The columns that were searched.
    depth : int
        The largest number of columns of a slice.
    options : Options
        The options.
    """
    codes = {f"code_{i}": each for i, each in enumerate(searched, start=1)}
    tested = _test_all(add_up(()), codes, depth, options)
    found = worse = _select_worse(tested, codes, options)
    kept, left_out = found.clear(), list[str]()
    while worse.height and kept.height < options.top:
        clearest = worse.head(1).select(*codes)
        kept = pl.concat([kept, found.join(clearest, on=[*codes], nulls_equal=True)])
        left_out.append(_write_code_condition(dict(zip(codes, clearest.row(0), strict=True))))
        if kept.height == found.height:
            break
        again = _test_all(add_up(tuple(left_out)), codes, depth, options)
        others = found.join(kept, on=[*codes], how="anti", nulls_equal=True)
        worse = _select_worse(again, codes, options).join(
            others, on=[*codes], how="semi", nulls_equal=True, maintain_order="left"
        )
    conditions = [_write_condition(row, codes) for row in kept.select(*codes).rows()]
    return kept.drop(*codes).with_columns(
        pl.Series("slice", conditions, pl.String), searched=pl.lit(tested.height)
    )


def _test_all(
    sums: pl.DataFrame, codes: Mapping[str, Searched], depth: int, options: Options
) -> pl.DataFrame:
    """Return all slices that are large enough, with their tests and intervals."""
    everything = _select_set(sums, (), codes)
    most = (everything["n"].sum() or 0) - options.min_rows
    frames = [_combine(sums, names, codes) for names in list_sets([*codes], depth) if names]
    slices = pl.concat([*frames, everything.clear()], how="diagonal")
    slices = slices.filter(pl.col("n").is_between(options.min_rows, most))
    # Without rows there is no sum of all, and no slice.
    return _test(slices, everything if everything.height else sums.head(0).clear(1), options)


def _select_set(
    sums: pl.DataFrame, names: Sequence[str], codes: Mapping[str, Searched]
) -> pl.DataFrame:
    """Return the sums of the slices of a set of columns."""
    flags = {name: f"is_all_{name.removeprefix('code_')}" for name in codes}
    is_set = [pl.col(flag) == (name not in names) for name, flag in flags.items()]
    return sums.filter(is_set).select(*codes, "mean", *SUMS)


def _combine(
    sums: pl.DataFrame, names: Sequence[str], codes: Mapping[str, Searched]
) -> pl.DataFrame:
    """Return the sums of all slices of a set of columns, with all ranges of their numbers."""
    frame = _select_set(sums, names, codes)
    for name in names:
        if edges := codes[name].edges:
            ranges = _list_ranges(len(edges) + 1)
            table = pl.DataFrame(
                [(str(i), f"{low}:{high}") for low, high in ranges for i in range(low, high + 1)],
                schema={name: pl.String, "part": pl.String},
                orient="row",
            )
            part = pl.col("part")
            frame = frame.join(table, on=name, how="left")
        else:
            part = _VALUE + pl.col(name)
        frame = frame.with_columns(part.fill_null(_MISSING).alias(name)).drop("part", strict=False)
    totals = [pl.col(column).sum() for column in SUMS]
    return frame.group_by(names).agg(pl.col("mean").first(), *totals)


def _list_ranges(count: int) -> Iterator[tuple[int, int]]:
    """Yield each range alone, all below an end, and all above an end, as first and last range."""
    last = count - 1
    listed = [(i, i) for i in range(count)]
    listed += [(0, i) for i in range(last)] + [(i, last) for i in range(1, count)]
    yield from dict.fromkeys(listed)


def _read_sums(frame: pl.DataFrame) -> Sums:
    return Sums(*(frame[name].cast(pl.Float64).to_numpy() for name in SUMS))


def _test(slices: pl.DataFrame, everything: pl.DataFrame, options: Options) -> pl.DataFrame:
    """Return all slices with their tests and intervals."""
    ours, total = _read_sums(slices), _read_sums(everything)
    mean = everything["mean"][0] or 0.0
    others = total.subtract(ours)
    welch = compare_means(ours, others)
    shuffled = compute_permutation_p(ours, total, is_binary=options.is_binary, mean=mean)
    # Without a variance there is no evidence.
    p_values = np.maximum(*(np.nan_to_num(each, nan=1.0) for each in (welch.p_value, shuffled)))
    rest = mean + compute_mean(others)
    rest = np.where(np.abs(rest) < 1e-12 * abs(mean), 0.0, rest)  # a rounding error
    low, high = welch.compute_ends(1 - options.alpha / max(slices.height, 1))
    columns = {
        "share": ours.weight / total.weight if slices.height else ours.weight,
        "value": mean + compute_mean(ours), "rest": rest,
        "difference": welch.difference, "low": low, "high": high,
        "p_value": p_values, "error": welch.error,
    }  # fmt: skip
    tested = slices.with_columns(**{name: pl.Series(value) for name, value in columns.items()})
    return tested.sort("p_value").with_columns(
        p_adjusted=adjust_p_values(pl.col("p_value"), "holm")
    )


def _select_worse(tested: pl.DataFrame, codes: Iterable[str], options: Options) -> pl.DataFrame:
    """Return the slices that are worse than the other rows, the clearest first."""
    is_worse = (pl.col("p_adjusted") <= options.alpha) & (pl.col("difference") > 0)
    clearness = pl.col("difference") / pl.col("error")
    # Of equal slices, such as two names of one city, the one with fewer columns comes first.
    size = pl.sum_horizontal(pl.col(*codes).is_not_null())
    return tested.filter(is_worse).sort(
        clearness.alias("clearness"), size.alias("size"), *codes,
        descending=[True, False, *[False for _ in codes]], nulls_last=True,
    )  # fmt: skip


def _write_code_condition(parts: Mapping[str, str | None]) -> str:
    """Return the condition of a slice in SQL over the codes; a missing code is no code."""
    conditions: list[str] = []
    for name, part in parts.items():
        if part == _MISSING:
            conditions.append(f"{name} IS NULL")
        elif part is not None and (ends := _read_range(part)) is not None:
            listed = ", ".join(f"'{i}'" for i in range(ends[0], ends[1] + 1))
            conditions.append(f"COALESCE({name} IN ({listed}), FALSE)")
        elif part is not None:
            value = write_literal(part.removeprefix(_VALUE))
            conditions.append(f"COALESCE({name} = {value}, FALSE)")
    return " AND ".join(conditions)


def _read_range(part: str) -> tuple[int, int] | None:
    """Return the first and last range of a condition; None if it is a value."""
    if part.startswith(_VALUE) or part == _MISSING:
        return None
    low, high = part.split(":")
    return int(low), int(high)


def _write_condition(parts: Sequence[Any], codes: Mapping[str, Searched]) -> str:
    """Return the condition of a slice in SQL."""
    pairs = zip(codes.values(), parts, strict=True)
    return " AND ".join(_write_part(each, part) for each, part in pairs if part is not None)


def _write_part(each: Searched, part: str) -> str:
    """Return the condition on one column, which selects the rows of the part."""
    column, name = each.column, each.write_name()
    if part == _MISSING:
        return f"({name} IS NULL OR isnan({name}))" if each.has_nan else f"{name} IS NULL"
    number = f"CAST({name} AS DOUBLE)" if column.kind == "float32" else name
    if (ends := _read_range(part)) is None:
        value = part.removeprefix(_VALUE)
        if is_float(column.type) and not math.isfinite(float(value)):
            return f"{number} = CAST({write_literal(value)} AS DOUBLE)"
        is_plain = column.kind in NUMBERS | {"boolean"}
        return f"{number} = {value if is_plain else write_literal(value)}"
    first, last = ends
    texts = [f"{edge:.0f}" if edge.is_integer() else repr(edge) for edge in each.edges]
    parts = [f"{number} >= {texts[first - 1]}"] if first else []
    parts += [f"{number} < {texts[last]}"] if last < len(texts) else []
    if each.has_nan and last == len(texts):
        parts.append(f"NOT isnan({name})")  # NaN is above all numbers
    return " AND ".join(parts)
