"""Checks a job against the columns of its source."""

from collections.abc import Sequence

from sqleval.common.visible import show_controls
from sqleval.engines.base import Engine
from sqleval.frontend.binding import bind_source
from sqleval.frontend.predictions import Predictions
from sqleval.history.store import retry_while_busy
from sqleval.jobs import states
from sqleval.jobs.binding import check_keys, name_keys, open_job_engine, prepare_metrics
from sqleval.jobs.definitions import create_expectation, list_definitions, read_roles
from sqleval.jobs.file.model import Job
from sqleval.jobs.judging import gates
from sqleval.jobs.judging.sensitivity import describe_gates, measure_gates
from sqleval.jobs.past import check_grain, read_past
from sqleval.jobs.periods.databases import is_database
from sqleval.jobs.periods.lake import add_query, open_with_period
from sqleval.jobs.periods.listing import list_source
from sqleval.jobs.places import check_places, check_secrets, check_sources
from sqleval.jobs.running.run import open_job_store
from sqleval.jobs.running.settling import are_probabilities, read_scores, recall_metrics
from sqleval.sources.opening import check_used, open_source
from sqleval.sources.source import Source


def _format_count(count: int, noun: str) -> str:
    return f"{count} {noun}{'s' * (count != 1)}"


def _open_side(job: Job, side: str, engine: Engine | None) -> Source:
    """Return the rows, or the labels, of all periods."""
    source, name = job.sources, "_sqleval_rows"
    if side == "labels":
        assert job.labels is not None
        source, name = job.labels.source, "_sqleval_labels"
    files, snapshot, _ = list_source(job, source)
    if engine is not None:
        return engine.open_files([file.path for file in files], name)
    if snapshot is not None:
        return snapshot.open([file.path for file in files], name)
    rows = job.rows if side == "source" else None
    return open_source(
        job.resolve_paths(source), name=name, storage=job.storage, rows=rows, csv=job.csv
    )


def check_job(job: Job) -> str:
    """Check a job against its source without reading rows, and return a summary.

    Raises
    ------
    RequestError
        If a column, metric or gate does not fit.
    SourceError
        If there is no such source.
    """
    check_places(job)
    check_secrets(job)
    job = recall_metrics(states.add_state_definition(job), open_job_store(job))
    listings = {"source": list_source(job, job.sources)}
    if job.labels is not None:
        listings["labels"] = list_source(job, job.labels.source)
    check_sources(job, listings)
    files, snapshot, _ = listings["source"]
    paths = [file.path for file in files]
    open_with_period(job, paths[-1:], snapshot)
    if job.from_state is not None:
        predictions = [states.merge_states(job, paths, [keys]) for keys in job.key_sets]
    else:
        late = None if job.labels is None else listings["labels"].snapshot
        engine = open_job_engine(job, snapshot or late)
        opened = add_query(job, _open_side(job, "source", engine), engine)
        labels = None
        if job.labels is not None:
            labels = _open_side(job, "labels", engine)
        check_used(job.csv, opened, labels)
        on = None if job.labels is None else job.labels.on
        roles = {**read_roles(job), "on": on}
        every_key = [states.list_keys(job)] if job.states is not None else []
        predictions = [
            bind_source(opened, labels, {**roles, "by": name_keys(job, keys)}, engine=engine)
            for keys in [*job.key_sets, *every_key]
        ]
        expecting = create_expectation(job)
        if expecting is not None:
            roles = read_roles(expecting)
            bind_source(opened, None, roles, engine=engine).evaluate(expecting.metrics)
    task = predictions[0].task
    definitions = list_definitions(job.model_copy(update={"task": task}))[0]
    for each in predictions:
        check_keys(each.binding)
        prepare_metrics(job, each)
    if job.states is not None:
        states.build_state(job, predictions[-1], job.metrics)
    metrics = definitions["metric"].to_list()
    gates.check_metrics(job, metrics)
    noun = "table" if is_database(snapshot) else "file"
    return (
        f"{_format_count(len(paths), noun)}, {_describe_reading(job, predictions[0])}, "
        f"{_format_count(len(metrics), 'metric')} by "
        f"{' and by '.join(_describe_keys(job, keys) for keys in job.key_sets)}, "
        f"{_format_count(len(job.gates), 'gate')}, history in {job.history.url}"
    )


def _describe_keys(job: Job, keys: Sequence[str]) -> str:
    """Return the names of slice keys; expressions have their SQL, on one line."""
    texts = {key: f"{key} = {' '.join(text.split())}" for key, text in job.expressions.items()}
    return show_controls(", ".join(texts.get(key, key) for key in keys)) or "all rows"


def _describe_reading(job: Job, predictions: Predictions) -> str:
    """Return the task, and for two classes the positive value and the decision threshold."""
    binding = predictions.binding
    if binding.many is not None:
        return f"{binding.task} ({len(binding.many.names)} labels)"
    if not binding.has_two_classes or binding.state is not None:
        return binding.task
    positive = f"{binding.positive_as_written or 1} is positive"
    if isinstance(job.threshold, dict):
        named = ", ".join(f"{value:g} of {name}" for name, value in job.threshold.items())
        return f"binary ({positive}, threshold {named})"
    if "prediction" in binding.role:
        return f"binary ({positive})"
    threshold = f"threshold {job.threshold:g}" if job.threshold is not None else "threshold 0.5"
    if job.threshold is None and not are_probabilities(read_scores(predictions)):
        threshold = "no threshold, as scores are outside 0 .. 1"
    return f"binary ({positive}, {threshold})"


def describe_expectations(job: Job) -> list[str]:
    """Return the expected alarms of each gate in words, computed from the job's history.

    Raises
    ------
    EngineError
        If the history cannot be read or written.
    RequestError
        If the history has another grain.
    """
    store = open_job_store(job)
    retry_while_busy(store.check_rights)
    job = recall_metrics(job, store)
    past = read_past(job, store)
    check_grain(job, past)
    return describe_gates(measure_gates(job, past), job.period.grain)
