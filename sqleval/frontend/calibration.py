"""Says of expected metrics how well calibrated the scores of labelled rows have been."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import polars as pl

from sqleval.errors import RequestError
from sqleval.frontend.evaluations import Evaluations

if TYPE_CHECKING:
    from sqleval.frontend.predictions import Predictions

#: The mean score by the share of positives, and the mean distance of the two over score bins.
_METRICS = ("pcoc", "expected_calibration_error")


def add_reference(predictions: Predictions, reference: object) -> Predictions:
    """Return predictions whose expected metrics name the calibration of labelled ones.

    Raises
    ------
    RequestError
        If these are no labelled predictions of two classes with a score.
    """
    if not isinstance(reference, Evaluations):
        raise RequestError(
            f"expected={reference!r} must be True, or the labelled predictions of sqleval.scan"
        )
    binding = reference.binding
    if binding.is_expected or binding.task != "binary" or "score" not in binding.role:
        raise RequestError("expected= needs labelled predictions of two classes, with a score")
    if [name for name, _ in binding.models] != [name for name, _ in predictions.binding.models]:
        raise RequestError("expected= needs labelled predictions of the same models")
    if "role" in binding.role or binding.over:
        raise RequestError("expected= needs labelled predictions without role= and over=")
    return replace(predictions, labelled=reference)


def add_calibration(
    frame: pl.DataFrame, labelled: Evaluations, keys: Sequence[str]
) -> pl.DataFrame:
    """Return a result whose notes say how calibrated the labelled rows are.

    Parameters
    ----------
    frame : polars.DataFrame
        The result of `Predictions.evaluate`.
    labelled : Evaluations
        The labelled predictions.
    keys : sequence of str
        The slice keys of the result. Labelled predictions with the same keys are looked up by
        slice; others by model, or as a whole.
    """
    if labelled.binding.key_names != tuple(keys):
        labelled = replace(
            labelled,
            binding=replace(labelled.binding, by=(), sets=()),
            key_types=pl.Schema({k: v for k, v in labelled.key_types.items() if k == "model"}),
        )
    on = list(labelled.binding.key_names)
    wide = labelled.evaluate(_METRICS).collect().pivot(
        "metric", index=[*on, "n"], values="value", aggregate_function="first"
    )  # fmt: skip
    ratio, error = (pl.col(name).round_sig_figs(3) for name in _METRICS)
    words = pl.format(
        "calibration of {} labelled rows: mean score {} times the share of positives, error {}",
        "n", ratio, error,
    )  # fmt: skip
    none = pl.format("calibration unknown: {} labelled rows", "n")
    said = wide.select(*on, _calibration=pl.coalesce(words, none))
    if on:
        said = said.with_columns(pl.col(key).cast(frame.schema[key]) for key in on)
        joined = frame.join(said, on=on, how="left", nulls_equal=True, maintain_order="left")
    else:
        joined = frame.join(said, how="cross", maintain_order="left")
    unknown = pl.lit("calibration unknown: no labelled rows")
    note = pl.concat_str(
        [pl.col("note"), pl.coalesce("_calibration", unknown)], separator="; ", ignore_nulls=True
    )
    return joined.with_columns(note=note).drop("_calibration")
