"""Checks a job against the columns of its source."""

from sqleval.frontend.binding import bind_source
from sqleval.inputs.opening import open_source
from sqleval.jobs import gates, states
from sqleval.jobs.binding import check_keys
from sqleval.jobs.definitions import list_definitions, read_roles
from sqleval.jobs.file.model import Job
from sqleval.jobs.lake import open_with_period


def _format_count(count: int, noun: str) -> str:
    return f"{count} {noun}{'s' * (count != 1)}"


def check_job(job: Job) -> str:
    """Check a job against its source without reading rows, and return a summary.

    Raises
    ------
    RequestError
        If a column, metric or gate does not fit.
    SourceError
        If there is no such source.
    """
    job = states.add_state_definition(job)
    opened = open_source(job.resolve_paths(job.sources), name="_sqleval_rows", storage=job.storage)
    paths = [path for path, _, _ in opened.listing()]
    open_with_period(job, paths[-1:])
    if job.from_state is not None:
        predictions = [states.merge_states(job, paths, keys) for keys in job.key_sets]
    else:
        labels = None
        if job.labels is not None:
            labels = open_source(
                job.resolve_paths(job.labels.source), name="_sqleval_labels", storage=job.storage
            )
        on = None if job.labels is None else job.labels.on
        predictions = [
            bind_source(opened, labels, {**read_roles(job), "on": on, "by": keys})
            for keys in job.key_sets
        ]
    for each in predictions:
        check_keys(each.binding)
        each.evaluate(job.metrics, ci=job.ci)
    if job.states is not None:
        states.build_state(job, predictions[0], job.metrics)
    task = predictions[0].task
    definitions = list_definitions(job.model_copy(update={"task": task}))[0]
    metrics = definitions["metric"].to_list()
    gates.check_metrics(job, metrics)
    for secret in job.secrets:
        secret.read()
    return (
        f"{_format_count(len(paths), 'file')}, {task}, {_format_count(len(metrics), 'metric')} by "
        f"{' and by '.join(', '.join(keys) or 'all rows' for keys in job.key_sets)}, "
        f"{_format_count(len(job.gates), 'gate')}, history in {job.history.url}"
    )
