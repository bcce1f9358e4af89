"""Writes the verdict on a difference in words, and sums up verdicts over slices."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import polars as pl

from sqleval.catalog.catalogue import Catalogue
from sqleval.comparison.tests import OMNIBUS, TESTS

_NONE = "no evidence"
#: Start of a summary sentence, and the words of the verdicts whose slices it names.
_KINDS = {
    "better for": " is better ", "worse for": " is worse ", "higher for": " is higher ",
    "lower for": " is lower ", "equivalent for": " is equivalent ",
    "not inferior for": " is not inferior ", "the models differ for": "the models differ",
}  # fmt: skip
#: The same for verdicts whose slices are only counted.
_COUNTED = {
    "no evidence for": _NONE, "not shown for": " is not shown ", "no test for": "no test",
}  # fmt: skip
#: A sentence names at most this many slices.
_NAMED = 5


def add_verdicts(
    frame: pl.DataFrame, catalogue: Catalogue, level: float, margin: float | None, alternative: str
) -> pl.DataFrame:
    """Add the column ``verdict``: whether a model is better, and by how much.

    Parameters
    ----------
    frame : polars.DataFrame
        The rows of a comparison.
    catalogue : Catalogue
        The catalogue, whose headers say which direction of a metric is better.
    level : float
        A difference is significant if the adjusted p-value is below it.
    margin : float or None
        The margin of non-inferiority or equivalence.
    alternative : str
        The alternative: ``two-sided`` tests equivalence, ``greater`` non-inferiority.
    """
    signs = find_signs(frame["metric"].unique(), catalogue)
    sign = pl.col("metric").replace_strict(signs, return_dtype=pl.Float64)
    difference, low, high = pl.col("difference"), pl.col("low"), pl.col("high")
    is_clear = pl.col("p_adjusted") < level
    if margin is not None:
        shown = "equivalent to" if alternative == "two-sided" else "not inferior to"
        unshown = f"not shown {shown.replace('not inferior', 'non-inferior')}"
        words = pl.when(is_clear).then(pl.lit(shown)).otherwise(pl.lit(unshown))
        text = pl.format("{} is {} {} within {}", "model", words, "baseline", pl.lit(f"{margin:g}"))
        is_reversed = pl.lit(value=False)
    else:
        # A test of ranks may point the other way than the difference of the values.
        by_ranks = _find_side_by_ranks(sign)
        is_contrary = (by_ranks * difference < 0).fill_null(value=False)
        side = pl.when(is_contrary).then(by_ranks).otherwise(difference)
        word = (
            pl.when(side * sign > 0)
            .then(pl.lit("better"))
            .when(side * sign < 0)
            .then(pl.lit("worse"))
            .when(side > 0)
            .then(pl.lit("higher"))
            .otherwise(pl.lit("lower"))
        )
        size = pl.when(is_contrary).then(pl.lit("ranks, though not by value"))
        size = size.otherwise(write_number(difference.abs()))
        clear = pl.format("{} is {} than {} by {}", "model", word, "baseline", size)
        unclear = pl.concat_str(
            pl.lit(_NONE),
            _write_question(sign, alternative),
            pl.when(pl.col("p_value") < level).then(pl.lit(" after adjustment")),
            ignore_nulls=True,
        )
        is_omnibus = pl.col("method").is_in([TESTS[name] for name in OMNIBUS])
        clear = pl.when(is_omnibus).then(pl.lit("the models differ")).otherwise(clear)
        text = pl.when(is_clear).then(clear).otherwise(unclear)
        # The words give the size without a sign ("better by 0.01"), so a negative difference's
        # interval is negated.
        is_reversed = is_clear & (difference < 0)
    ends = [pl.when(is_reversed).then(-high).otherwise(low)]
    ends += [pl.when(is_reversed).then(-low).otherwise(high)]
    interval = pl.format(" [{}, {}]", *map(write_number, ends))
    has_ends = low.is_not_null() & high.is_not_null()
    verdict = pl.concat_str(text, pl.when(has_ends).then(interval).otherwise(pl.lit("")))
    has_test = pl.col("p_adjusted").is_not_null()
    return frame.with_columns(verdict=pl.when(has_test).then(verdict).otherwise(pl.lit("no test")))


def _find_side_by_ranks(sign: pl.Expr) -> pl.Expr:
    """Return a number with the sign of the difference according to a test of ranks, or NULL.

    Wilcoxon's statistic is positive if the losses are higher, Nemenyi's if the ranks are better.
    """
    method, statistic = pl.col("method"), pl.col("statistic")
    better = pl.when(sign < 0).then(-statistic).otherwise(statistic)
    return (
        pl.when(method.str.starts_with(TESTS["wilcoxon"]))
        .then(statistic)
        .when(method == TESTS["nemenyi"])
        .then(better)
    )


def _write_question(sign: pl.Expr, alternative: str) -> pl.Expr:
    """Return the claim for which a test that does not reject found no evidence.

    A one-sided test says nothing about a difference that points the other way.
    """
    if alternative == "two-sided":
        return pl.lit(" of a difference")
    merit = sign if alternative == "greater" else -sign
    word = (
        pl.when(merit > 0)
        .then(pl.lit("better"))
        .when(merit < 0)
        .then(pl.lit("worse"))
        .otherwise(pl.lit("higher" if alternative == "greater" else "lower"))
    )
    return pl.format(" that {} is {} than {}", "model", word, "baseline")


def write_number(value: pl.Expr) -> pl.Expr:
    """Return a number as text with three significant digits.

    Examples
    --------
    >>> [pl.select(write_number(pl.lit(x))).item() for x in (0.012345, 1.0, 755123.4)]
    ['0.0123', '1.0', '755000']
    """
    rounded = value.round_sig_figs(3)
    return (
        pl.when(value.is_infinite())
        .then(pl.when(value > 0).then(pl.lit("inf")).otherwise(pl.lit("-inf")))
        .when(rounded.abs() < 1e3)
        .then(rounded.cast(pl.String))
        .otherwise(rounded.cast(pl.String).str.strip_suffix(".0"))
    )


def find_signs(metrics: Iterable[str], catalogue: Catalogue) -> dict[str, float]:
    """Return 1 for metrics where higher is better, -1 where lower is better, 0 for neither."""
    signs = {"higher": 1.0, "lower": -1.0, "none": 0.0}
    return {
        name: signs[str(catalogue.get(name.partition("(")[0]).header["direction"])]
        for name in metrics
    }


def summarize(frame: pl.DataFrame, keys: Sequence[str], *, has_sets: bool = False) -> list[str]:
    """Sum up a comparison: per metric and model, the overall verdict and the slices that differ.

    Parameters
    ----------
    frame : polars.DataFrame
        A comparison.
    keys : sequence of str
        Its slice keys.
    has_sets : bool
        Whether the key ``by`` names the set of slice keys of a row, instead of a user's column.

    Examples
    --------
    >>> rows = {"carrier": ["AA", "HA", "UA"], "metric": ["roc_auc"] * 3, "model": ["b"] * 3}
    >>> words = {"verdict": ["b is better than a by 0.1", "b is worse than a by 0.2", "no test"]}
    >>> summarize(pl.DataFrame({**rows, **words}), ["carrier"])
    ['roc_auc: better for AA; worse for HA; no test for 1 slice']
    """
    sentences: list[str] = []
    several = frame["model"].n_unique() > 1
    named = [key for key in keys if not (has_sets and key == "by")]
    for group in frame.partition_by("metric", "model", maintain_order=True):
        parts: list[str] = []
        whole = pl.lit(not named)
        if has_sets:
            whole = pl.col("by") == "overall"
        parts += group.filter(whole)["verdict"].to_list()
        parts += _count_slices(group.filter(~whole), named)
        name, model, text = group["metric"][0], group["model"][0], "; ".join(parts)
        is_named = not named and text.startswith(f"{model} is ")
        name += f" of {model}" if several and not is_named else ""
        sentences.append(f"{name}: {text}")
    return sentences


def _count_slices(slices: pl.DataFrame, keys: Sequence[str]) -> list[str]:
    """Return the names of slices that differ, and the number of slices that do not."""
    if slices.is_empty():
        return []
    texts = [pl.col(key).cast(pl.String).fill_null("NULL") for key in keys]
    name, verdict = pl.concat_str(texts, separator=" / "), pl.col("verdict")
    parts: list[str] = []
    shown = slices.filter(~verdict.str.starts_with(_NONE))
    for words, text in _KINDS.items():
        matches = shown.filter(verdict.str.contains(text, literal=True))
        names = matches.select(name).to_series().to_list()
        if names:
            more = f" and {len(names) - _NAMED:,} more" if len(names) > _NAMED else ""
            parts.append(f"{words} {', '.join(names[:_NAMED])}{more}")
    for words, text in _COUNTED.items():
        if count := slices.filter(verdict.str.contains(text, literal=True)).height:
            parts.append(f"{words} {count:,} slice{'s' if count > 1 else ''}")
    return parts
