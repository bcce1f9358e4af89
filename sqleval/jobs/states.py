"""The states that jobs keep and read: one file a period."""

import hashlib
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import polars as pl

from sqleval.catalog import request
from sqleval.common.sql_text import literal
from sqleval.errors import RequestError, SourceError, SqlevalError
from sqleval.frontend.from_state import of_rows
from sqleval.frontend.predictions import Predictions
from sqleval.inputs.binding import Definition
from sqleval.inputs.files import of_files
from sqleval.jobs.definitions import input_text
from sqleval.jobs.file.model import Job
from sqleval.jobs.lake import FILE, listed
from sqleval.states.files import write as write_state
from sqleval.states.reading import by_name, known, longer_periods

_OWNER, _FINGERPRINT, _MEANING = "sqleval.job", "sqleval.fingerprint", "sqleval.meaning"


def described(job: Job) -> Job:
    """Return a job over states with what they were made of, as the last that can be read says.

    Raises
    ------
    RequestError
        If their periods are not what the job adds up.
    """
    made_of = None if job.from_state is None else _last(job)
    if made_of is None:
        return job
    longer_periods(made_of, job.period.grain)
    zone = dict(made_of.roles).get("timezone", "")
    if zone != (job.period.timezone or ""):
        wanted = f"period: {{timezone: {zone}}}" if zone else "no period.timezone"
        raise RequestError(f"the periods of these states are of {zone or 'UTC'}: write {wanted}")
    return job.of_states(made_of)


def _last(job: Job) -> Definition | None:
    """Return what the last state that has rows says, if there is one: `look` tells what is not."""
    try:
        files = listed(job, job.sources)
    except SourceError:
        return None
    for file in reversed(files):
        source = of_files([file.path], name_as=FILE)
        try:
            return known(source)[1]
        except SqlevalError:
            continue
    return None


def added_up(
    job: Job, files: Sequence[str], keys: Sequence[str], periods: Sequence[str] | None = None
) -> Predictions:
    """Return what the states in these files come to, in these periods, by slice keys and period.

    Raises
    ------
    RequestError
        If they cannot be added up, or have no such keys.
    SourceError
        If a file is no state.
    """
    source = by_name(of_files(files, name_as=FILE))
    made_of, grain = known(source)[1], job.period.grain
    if periods is not None:
        chosen = ", ".join(map(literal, periods))
        rows = (
            f"(SELECT s.* FROM {source.relation} AS s\n"
            f"WHERE {longer_periods(made_of, grain)} IN ({chosen}))"
        )
        source = replace(source, relation=rows)
    models = ["model"] if made_of.models else []
    # What a job keeps has been chosen by its condition when it was made.
    where = None if job.from_state is None else job.where
    return of_rows(source, by=[*keys, *models], grain=grain, where=where, threshold=job.threshold)


def _meaning(job: Job) -> str:
    """Return a hash of what the job's states are made of."""
    assert job.states is not None
    # The task may have been told by the columns meanwhile.
    on = "" if job.labels is None else job.labels.on
    whole = "\0".join(
        [input_text(job, task=False), on, str(job.states.bins), *sorted(keys_of(job))]
    )
    return hashlib.sha256(whole.encode()).hexdigest()[:16]


def keys_of(job: Job) -> list[str]:
    """Return all slice keys of a job."""
    return list(dict.fromkeys(key for keys in job.key_sets for key in keys))


def made(job: Job, found: Predictions, metrics: Sequence[str] | None) -> pl.LazyFrame:
    """Return the state of predictions that are bound to the job's roles.

    Raises
    ------
    RequestError
        If they have none.
    """
    assert job.states is not None
    return found.state(
        metrics, by=keys_of(job), grain=job.period.grain, time=job.period.column,
        timezone=job.period.timezone, bins=job.states.bins, ci=job.ci is not None,
    )  # fmt: skip


def sums(found: Predictions, metrics: Sequence[str]) -> list[str]:
    """Return the metrics that a state is to hold the sums of: the job's, and the default set's."""
    usual = request.parse_all(None, found.task, found.binding.has_score)
    return list(dict.fromkeys([*metrics, *map(request.label, usual)]))


def path(job: Job, period: str) -> Path:
    """Return where the state of a period is kept."""
    assert job.states is not None
    return Path(job.path(job.states.folder)) / f"{period.replace(':', '')}.parquet"


def fingerprint(job: Job, period: str) -> str | None:
    """Return of which data a period's state is, if there is one that the job would make so."""
    said = _said(path(job, period))
    ours = said.get(_OWNER) == job.name and said.get(_MEANING) == _meaning(job)
    return said.get(_FINGERPRINT) if ours else None


def _said(file: Path) -> dict[str, str]:
    """Return what a file says of itself; nothing if it is none, or damaged: it is made anew."""
    try:
        return pl.read_parquet_metadata(file)
    except (OSError, pl.exceptions.ComputeError):
        return {}


def write(job: Job, found: pl.DataFrame, prints: dict[str, str], periods: Sequence[str]) -> None:
    """Write the state of each period, whole or not at all.

    Raises
    ------
    SourceError
        If a file cannot be written.
    RequestError
        If the folder has the states of another job.
    """
    folder = path(job, "").parent
    owners = {_said(file).get(_OWNER) for file in [*folder.glob("*.parquet")][:1]}
    if owners - {job.name}:
        raise RequestError(
            f"{str(folder)!r} has states of another job ({owners.pop() or 'unknown'}), with which "
            "these would be added up; give each job a folder of its own"
        )
    parts = found.partition_by("period", as_dict=True)
    for period in periods:
        said = {_OWNER: job.name, _FINGERPRINT: prints[period], _MEANING: _meaning(job)}
        write_state(parts.get((period,), found.clear()), str(path(job, period)), said)


def forget(job: Job, period: str) -> None:
    """Remove the state of a period, if it is the job's."""
    if job.states is not None and _said(path(job, period)).get(_OWNER) == job.name:
        path(job, period).unlink()
