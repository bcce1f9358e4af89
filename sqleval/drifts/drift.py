"""Measures how far scores, predictions, labels and the mix of slices are from a reference."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import polars as pl

from sqleval.binding.arguments import check_key_names, check_text
from sqleval.catalog.request import list_metrics
from sqleval.common.sql_text import Scalar
from sqleval.drifts.distributions import (
    agree_on_kind,
    count_both,
    find_bits,
    measure_mix,
    measure_role,
)
from sqleval.drifts.measures import Measure, parse_measures
from sqleval.drifts.samples import DISTRIBUTIONS, Sample, keep_stream, open_sample
from sqleval.errors import DataError, RequestError

#: The columns of the result after its slice keys, and their types.
COLUMNS: Mapping[str, Any] = {
    "distribution": pl.String, "metric": pl.String, "value": pl.Float64, "low": pl.Float64,
    "high": pl.Float64, "noise": pl.Float64, "n_reference": pl.Int64, "n_current": pl.Int64,
    "missing_reference": pl.Int64, "missing_current": pl.Int64, "method": pl.String,
    "note": pl.String,
}  # fmt: skip
_SIDES = ("reference", "current")


def drift(
    reference: object,
    current: object,
    metrics: str | Sequence[str] | None = None,
    *,
    score: str | None = None,
    label: str | None = None,
    prediction: str | None = None,
    weight: str | None = None,
    positive: Scalar | None = None,
    by: str | Sequence[str] | Mapping[str, str] = (),
    sets: str | Sequence[Sequence[str]] | None = None,
    where: str | None = None,
    reference_where: str | None = None,
    current_where: str | None = None,
    bins: int | None = None,
) -> pl.DataFrame:
    """Return how far the distributions of a current sample are from a reference.

    No label is needed: name the columns that the samples have.

    Parameters
    ----------
    reference, current : path, frame, table or Predictions
        The two samples: sources as for `scan`, states (as files or frames), or the predictions of
        `scan` and `from_state`, which have their own columns and slices.
    metrics : str or sequence of str, optional
        ``psi``, ``ks``, ``jensen_shannon``, ``wasserstein``, ``hellinger``; all by default.
        ``psi``, ``jensen_shannon`` and ``hellinger`` compare the shares of classes or slices, and
        for a number the shares of 10 bins between quantiles of the reference; another number of
        bins is ``"psi(bins=20)"``. An empty bin counts as a share of 0.0001 in ``psi``; another
        share is ``"psi(empty=0.001)"``.
    score, label, prediction : str, optional
        The columns to compare. ``ks`` and ``wasserstein`` need an order, which scores and real
        numbers have; classes only have shares.
    weight : str, optional
        Non-negative weights.
    positive : scalar, optional
        The positive value of the label, if one sample is a state of two classes.
    by : str, sequence of str, or mapping
        Slice keys, as for `scan`: drift is measured in each slice. The distribution ``mix`` has
        the shares of the slices themselves.
    sets : str or sequence of sequence of str, optional
        Sets of the keys, as for `scan`; ``"overall"`` adds all rows.
    where, reference_where, current_where : str, optional
        SQL conditions on both samples, and on one of them.
    bins : int, optional
        Round scores to this many significant bits, as for `Predictions.evaluate`, to be faster.
        The scores of states are rounded already.

    Returns
    -------
    polars.DataFrame
        The slice keys, then ``distribution`` (``score``, ``prediction``, ``label`` or ``mix``),
        ``metric``, ``value``, ``low`` and ``high`` (bounds of the value of unrounded scores),
        ``noise`` (the approximate value without drift, for these numbers of rows),
        ``n_reference`` and ``n_current`` (rows with a value), ``missing_reference`` and
        ``missing_current`` (rows without), ``method`` and ``note``.

    Raises
    ------
    RequestError
        For an unknown measure or column, or samples that cannot be compared.
    DataError
        If weights are missing or negative, or no row has the positive value.
    SourceError
        If a sample cannot be read.

    Examples
    --------
    >>> import polars as pl, sqleval
    >>> june = pl.DataFrame({"p": [0.1, 0.2, 0.3, 0.4]})
    >>> july = pl.DataFrame({"p": [0.2, 0.3, 0.4, 0.5]})
    >>> sqleval.drift(june, july, "wasserstein", score="p")["value"].item()
    0.1
    """
    measures = parse_measures(None if metrics is None else list_metrics(metrics))
    if not measures:
        raise RequestError("no measure is named; leave metrics out for all of them")
    roles = {
        "score": score, "label": label, "prediction": prediction, "weight": weight,
        "positive": positive, "by": by, "sets": sets,
    }  # fmt: skip
    if reference is current:
        reference = current = keep_stream(reference)
    for condition in (where, reference_where, current_where):
        if condition is not None:
            check_text(condition)
    conditions = [_join(where, side_where) for side_where in (reference_where, current_where)]
    samples = [
        open_sample(source, name, roles | {"where": condition})
        for source, name, condition in zip((reference, current), _SIDES, conditions, strict=True)
    ]
    columns = [role for role in DISTRIBUTIONS if roles[role] is not None]
    if columns and all(each.binding.state is not None for each in samples):
        raise RequestError(
            f"both samples are states, which have their own columns; leave out {columns[0]}="
        )
    if positive is not None:
        _check_positive(samples, positive)
    return compare_samples(samples, measures, bins)


def _check_positive(samples: Sequence[Sample], positive: object) -> None:
    """Raise `DataError` if no row of both samples has the positive value."""
    for role in ("label", "prediction"):
        values = [each.list_values(role) for each in samples if role in each.roles]
        if any(values) and not any("1" in each for each in values):
            raise DataError(
                f"positive={positive!r}: no row has it in {role}=; is that spelled as in the data?"
            )


def _join(*conditions: str | None) -> str | None:
    """Join conditions by AND; return None if there are none."""
    return " AND ".join(f"({each})" for each in conditions if each is not None) or None


def _choose_roles(samples: Sequence[Sample], only: str | None) -> list[str]:
    """Return the distributions to compare; for the mix alone, one that supplies the counts."""
    first, second = samples
    roles = [role for role in DISTRIBUTIONS if role in first.roles and role in second.roles]
    if only not in (None, "mix"):
        roles = [role for role in roles if role == only]
    if not roles:
        raise RequestError("the samples have no column in common: give both a score or a label")
    return roles[:1] if only == "mix" else roles


def compare_samples(
    samples: Sequence[Sample],
    measures: Sequence[Measure],
    bins: int | None = None,
    only: str | None = None,
) -> pl.DataFrame:
    """Return the drift of every distribution that both samples have; see `drift`.

    Parameters
    ----------
    samples : sequence of Sample
        The reference and the current sample.
    measures : sequence of Measure
        The measures to compute.
    bins : int, optional
        The significant bits to which scores are rounded.
    only : str, optional
        The only distribution to measure.

    Raises
    ------
    RequestError
        If the samples cannot be compared, or do not have the distribution.
    """
    first, second = samples
    names, others = first.binding.key_names, second.binding.key_names
    if names != others:
        raise RequestError(
            f"the reference has the slice keys {list(names)} and the current sample "
            f"{list(others)}; give both the same by="
        )
    check_key_names(names, COLUMNS, "the result")
    roles = _choose_roles(samples, only)
    bits = find_bits(samples, bins)
    parts: list[pl.DataFrame] = []
    sizes: Sequence[pl.DataFrame] = []
    of_shares = [each for each in measures if each.is_of_shares]
    for role in roles:
        is_number = agree_on_kind(samples, role)
        chosen, role_bits = (measures, bits) if is_number else (of_shares, None)
        with count_both(role, samples, role_bits) as counts:
            table, sizes = counts
            if chosen and only != "mix":
                parts.append(measure_role(role, table, sizes, samples, chosen, role_bits))
    if of_shares and first.binding.by and only in (None, "mix"):
        parts.append(measure_mix(sizes, samples, of_shares))
    if not parts:
        named = ", ".join(each.text for each in measures)
        raise RequestError(f"{named} needs values with an order: a score or a real number")
    keys = first.binding.keys
    frame = pl.concat(parts, how="vertical_relaxed")
    frame = frame.sort([*first.binding.keys_in_order], nulls_last=True, maintain_order=True)
    frame = frame.select(*keys, *(pl.col(name).cast(kind) for name, kind in COLUMNS.items()))
    return frame.rename(dict(zip(keys, names, strict=True)))
