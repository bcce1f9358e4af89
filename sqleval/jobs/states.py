"""Reads and writes the states of a job: one Parquet file per period."""

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import polars as pl

from sqleval.binding.binding import Definition
from sqleval.catalog import request
from sqleval.common.sql_text import write_literal
from sqleval.common.whole_file import remove_drafts
from sqleval.errors import RequestError, SourceError, SqlevalError
from sqleval.frontend.from_state import create_state_predictions
from sqleval.frontend.predictions import Predictions
from sqleval.jobs.definitions import define_keys, write_input_text
from sqleval.jobs.file.model import Job
from sqleval.jobs.periods.lake import open_job_files
from sqleval.jobs.periods.listing import list_source
from sqleval.sources.verify import verify_source
from sqleval.states.copies import OWNER
from sqleval.states.files import write_state
from sqleval.states.reading import read_definition, unify_columns, write_longer_period_sql

#: Keys of the metadata of a file.
_FINGERPRINT, _MEANING = "sqleval.fingerprint", "sqleval.meaning"
_EXPRESSIONS = "sqleval.expressions"


def add_state_definition(job: Job) -> Job:
    """Return a job with the definition of its states, read from the last readable state.

    A job without ``from_state`` stays as it is.

    Raises
    ------
    RequestError
        If the grain or the time zone of the job does not fit its states.
    """
    definition = None if job.from_state is None else _read_last_definition(job)
    if definition is None:
        return job
    write_longer_period_sql(definition, job.period.grain)
    if definition.models and "model" in list_keys(job):
        raise RequestError(
            "slices: 'model' is the key of the several models of these states, which all results "
            "have; leave it out"
        )
    zone = dict(definition.roles).get("timezone", "")
    if zone != (job.period.timezone or ""):
        advice = f"period: {{timezone: {zone}}}" if zone else "no period.timezone"
        raise RequestError(f"the time zone of these states is {zone or 'UTC'}: write {advice}")
    return job.copy_with_state_definition(definition)


def _read_last_definition(job: Job) -> Definition | None:
    """Return the definition of the last readable state; `read_lake` reports unreadable ones."""
    try:
        files = list_source(job, job.sources).files
    except SourceError:
        return None
    for file in reversed(files):
        source = open_job_files(job, [file.path])
        try:
            return read_definition(source)[2]
        except SqlevalError:
            continue
    return None


def bind_key_sets(key_sets: Sequence[Sequence[str]]) -> dict[str, Any]:
    """Return the arguments ``by=`` and ``sets=`` for the slices of each set of keys.

    Examples
    --------
    >>> bind_key_sets([["a", "b"]])
    {'by': ['a', 'b'], 'sets': None}
    >>> bind_key_sets([[], ["a"]])
    {'by': ['a'], 'sets': [[], ['a']]}
    """
    by = list(dict.fromkeys(key for keys in key_sets for key in keys))
    return {"by": by, "sets": [[*keys] for keys in key_sets] if len(key_sets) > 1 else None}


def merge_states(
    job: Job,
    files: Sequence[str],
    key_sets: Sequence[Sequence[str]],
    periods: Sequence[str] | None = None,
) -> Predictions:
    """Return the predictions of the merged states in these files, by period and sets of keys.

    Raises
    ------
    RequestError
        If the states cannot be merged, or lack a slice key.
    SourceError
        If a file is not a state.
    """
    source = unify_columns(open_job_files(job, files))
    source = verify_source(source) if job.verify else source
    source, _, definition = read_definition(source)
    grain = job.period.grain
    if periods is not None:
        chosen = ", ".join(map(write_literal, periods))
        rows = (
            f"(SELECT s.* FROM {source.relation} AS s\n"
            f"WHERE {write_longer_period_sql(definition, grain)} IN ({chosen}))"
        )
        source = replace(source, relation=rows)
    models = ["model"] if definition.models else []
    keys = bind_key_sets([[*keys, *models] for keys in key_sets])
    if job.from_state is None:
        # A slice must have the same name as when it was evaluated from rows: same order of keys.
        keys["by"].sort(key=[*list_keys(job), *models].index)
    # A job's own states were filtered by `where` when they were built.
    where = None if job.from_state is None else job.where
    # They hold the predictions at the thresholds of models.
    is_held = job.from_state is None and isinstance(job.threshold, dict)
    threshold: Any = None if is_held else job.threshold
    return create_state_predictions(source, **keys, grain=grain, where=where, threshold=threshold)


def _hash_meaning(job: Job) -> str:
    """Return a hash of the rows and options from which the states of a job are built."""
    assert job.states is not None
    # The task is left out, because it is not known before the columns are read.
    on = "" if job.labels is None else ",".join(job.labels.keys)
    whole = "\0".join(
        [write_input_text(job, task=False), on, str(job.states.bins), *sorted(list_keys(job))]
    )
    whole += define_keys(job, list_keys(job))
    return hashlib.sha256(whole.encode()).hexdigest()[:16]


def list_keys(job: Job) -> list[str]:
    """Return all slice keys of a job."""
    return list(dict.fromkeys(key for keys in job.key_sets for key in keys))


def build_state(job: Job, predictions: Predictions, metrics: Sequence[str] | None) -> pl.LazyFrame:
    """Return the state of predictions.

    Raises
    ------
    RequestError
        If predictions of this kind have no state.
    """
    assert job.states is not None
    return predictions.state(
        metrics, by=list_keys(job), grain=job.period.grain, time=job.period.column,
        timezone=job.period.timezone, bins=job.states.bins, ci=job.ci is not None,
    )  # fmt: skip


def list_state_metrics(predictions: Predictions, metrics: Sequence[str]) -> list[str]:
    """Return the metrics whose sums a state holds: those of the job, and the default ones."""
    defaults = request.parse_all(None, predictions.task, predictions.binding.has_score)
    return list(dict.fromkeys([*metrics, *map(request.format_request, defaults)]))


def find_state_path(job: Job, period: str) -> Path:
    """Return the file of the state of a period."""
    assert job.states is not None
    return Path(job.resolve_path(job.states.folder)) / f"{period.replace(':', '')}.parquet"


def read_fingerprint(job: Job, period: str) -> str | None:
    """Return the fingerprint of a period's state, or None if the job would build another one."""
    metadata = _read_metadata(find_state_path(job, period))
    is_current = metadata.get(OWNER) == job.name and metadata.get(_MEANING) == _hash_meaning(job)
    return metadata.get(_FINGERPRINT) if is_current else None


def has_state(job: Job, period: str, keys: Sequence[str]) -> bool:
    """Return whether a period has a state with these slice keys, by the job's expressions."""
    path = find_state_path(job, period)
    stored = json.loads(_read_metadata(path).get(_EXPRESSIONS, "{}"))
    return path.exists() and all(stored.get(key) == job.expressions.get(key) for key in keys)


def _read_metadata(file: Path) -> dict[str, str]:
    """Return the metadata of a Parquet file; empty if it is missing or damaged."""
    try:
        return pl.read_parquet_metadata(file)
    except (OSError, pl.exceptions.ComputeError):
        return {}


def write_period_states(
    job: Job, state: pl.DataFrame, fingerprints: Mapping[str, str], periods: Sequence[str]
) -> None:
    """Write the state of each period, whole or not at all.

    Raises
    ------
    SourceError
        If a file cannot be written.
    RequestError
        If the folder has the states of another job.
    """
    folder = find_state_path(job, "").parent
    owners = {_read_metadata(file).get(OWNER) for file in [*folder.glob("*.parquet")][:1]}
    if owners - {job.name}:
        raise RequestError(
            f"the folder {str(folder)!r} has states of another job "
            f"({owners.pop() or 'unknown'}); give each job a folder of its own"
        )
    parts = state.partition_by("period", as_dict=True)
    for period in periods:
        metadata = {
            OWNER: job.name, _FINGERPRINT: fingerprints[period], _MEANING: _hash_meaning(job),
            _EXPRESSIONS: json.dumps(job.expressions),
        }  # fmt: skip
        path = str(find_state_path(job, period))
        write_state(parts.get((period,), state.clear()), path, metadata)


def clean_folder(job: Job) -> None:
    """Remove the unfinished files of runs that were killed."""
    if job.states is not None:
        remove_drafts(find_state_path(job, "").parent)


def remove_state(job: Job, period: str) -> None:
    """Remove the state of a period if it belongs to this job."""
    if (
        job.states is not None
        and _read_metadata(find_state_path(job, period)).get(OWNER) == job.name
    ):
        find_state_path(job, period).unlink()
