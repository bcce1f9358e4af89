"""Checks a job against its source."""

from sqleval.frontend.predictions import bound
from sqleval.inputs.opening import open_source
from sqleval.jobs import gates, states
from sqleval.jobs.binding import check_keys
from sqleval.jobs.definitions import list_definitions, read_roles
from sqleval.jobs.file.model import Job
from sqleval.jobs.lake import open_with_period


def _count(count: int, what: str) -> str:
    return f"{count} {what}{'s' * (count != 1)}"


def check_job(job: Job) -> str:
    """Check a job against its source, without reading rows, and say what it does.

    Raises
    ------
    RequestError
        If a column, metric or gate does not fit.
    SourceError
        If there is no such source.
    """
    job = states.add_state_definition(job)
    opened = open_source(job.resolve_paths(job.sources), name="_sqleval_rows")
    paths = list(opened.files) or [str(job.resolve_paths(job.sources))]
    open_with_period(job, paths[-1:])
    if job.from_state is not None:
        bounds = [states.merge_states(job, paths, keys) for keys in job.key_sets]
    else:
        labels = None
        if job.labels is not None:
            labels = open_source(job.resolve_paths(job.labels.source), name="_sqleval_labels")
        on = None if job.labels is None else job.labels.on
        bounds = [
            bound(opened, labels, {**read_roles(job), "on": on, "by": keys})
            for keys in job.key_sets
        ]
    for each in bounds:
        check_keys(each.binding)
        each.evaluate(job.metrics, ci=job.ci)
    if job.states is not None:
        states.build_state(job, bounds[0], job.metrics)
    task = bounds[0].task
    found = list_definitions(job.model_copy(update={"task": task}))[0]
    metrics = found["metric"].to_list()
    gates.check_metrics(job, metrics)
    for secret in job.secrets:
        secret.read()
    return (
        f"{_count(len(paths), 'file')}, {task}, {_count(len(metrics), 'metric')} by "
        f"{' and by '.join(', '.join(keys) or 'all rows' for keys in job.key_sets)}, "
        f"{_count(len(job.gates), 'gate')}, history in {job.history.url}"
    )
