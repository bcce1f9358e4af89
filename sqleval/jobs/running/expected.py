"""Evaluates expected metrics of periods without mature labels, and checks the calibration."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import polars as pl

from sqleval.errors import SqlevalError
from sqleval.frontend.calibration import METRICS, describe_calibration
from sqleval.frontend.predictions import Predictions
from sqleval.jobs.binding import bind_periods
from sqleval.jobs.definitions import (
    create_arrival,
    create_expectation,
    list_definitions,
    list_slice_sets,
)
from sqleval.jobs.file.model import Job
from sqleval.jobs.past import Past
from sqleval.jobs.periods.lake import PERIOD, Lake
from sqleval.jobs.running.evaluation import collect
from sqleval.jobs.slices import write_slices

#: The number of last labelled periods on which the calibration is checked.
CHECKED = 7


@dataclass(frozen=True)
class Expectation:
    """The job, files and history from which expected metrics are evaluated.

    Attributes
    ----------
    job : Job
        The job without labels, from `Job.expect`.
    lake : Lake
        The files of the predictions.
    past : Past
        The history of the job.
    definitions : polars.DataFrame
        The expected metrics with their definitions.
    """

    job: Job
    lake: Lake
    past: Past
    definitions: pl.DataFrame

    def list_stored(self, periods: Sequence[str]) -> set[str]:
        """Return the periods whose stored rows have the present files, definitions and slices."""
        now = self.lake.fingerprints
        current_definitions = set(self.definitions["definition"])
        current_keys = list_slice_sets(self.job)
        keys_by_period = self.past.read_key_sets(periods, is_expected=True)
        here = self.past.expected.filter(pl.col("period").is_in(list(periods)))
        rows = here.group_by("period").agg(
            pl.col("fingerprint").first(),
            pl.col("definition").unique(),
            failed=pl.col("has_failed").any(),
        )
        return {
            period
            for period, fingerprint, definitions, failed in rows.iter_rows()
            if not failed
            and now.get(period) == fingerprint
            and {*definitions} == current_definitions
            and keys_by_period.get(period, current_keys) == current_keys
        }


def prepare_expectation(job: Job, lake: Lake, past: Past) -> Expectation | None:
    """Return what is needed to evaluate a job before its labels; None without late labels.

    With ``expected: true`` a run evaluates expected metrics, otherwise it counts the rows.
    """
    expecting = create_expectation(job) or create_arrival(job)
    if expecting is None:
        return None
    files = replace(lake, job=expecting, files=lake.files.filter(side="source"))
    return Expectation(expecting, files, past, list_definitions(expecting)[0])


def check_calibration(job: Job, lake: Lake, periods: Sequence[str]) -> pl.DataFrame:
    """Describe in words how well the scores of labelled periods are calibrated, by slice.

    Parameters
    ----------
    job, lake : Job, Lake
        The job with its labels.
    periods : sequence of str
        The labelled periods; the words say so if there are none, or they cannot be read.

    Returns
    -------
    polars.DataFrame
        ``slice`` and ``calibration``.
    """
    frames = [pl.DataFrame(schema={"slice": pl.String, "calibration": pl.String})]
    for keys in job.key_sets if periods else []:
        try:
            whole = _leave_out_period(bind_periods(job, lake, periods, [keys]))
            measured = collect(whole.evaluate(METRICS))
        except SqlevalError:
            continue  # the evaluation of these periods has reported the error
        slices = write_slices(measured, whole.binding.key_names)
        frames.append(describe_calibration(measured.with_columns(slice=slices), ["slice"]))
    return pl.concat(frames)


def _leave_out_period(predictions: Predictions) -> Predictions:
    """Return predictions of several periods as one sample, by slice keys alone."""
    by = tuple(column for column in predictions.binding.by if column.name != PERIOD)
    types = {key: kind for key, kind in predictions.key_types.items() if key != PERIOD}
    binding = replace(predictions.binding, by=by)
    return replace(predictions, binding=binding, key_types=pl.Schema(types))
