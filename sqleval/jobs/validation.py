"""Checks a job against its source."""

from sqleval.frontend.binding import bound
from sqleval.inputs.opening import open_source
from sqleval.jobs import evaluation, gates, states
from sqleval.jobs.definitions import definitions, roles
from sqleval.jobs.file.model import Job
from sqleval.jobs.lake import dated


def _counted(count: int, what: str) -> str:
    return f"{count} {what}{'s' * (count != 1)}"


def checked(job: Job) -> str:
    """Check a job against its source, without reading rows, and say what it does.

    Raises
    ------
    RequestError
        If a column, metric or gate does not fit.
    SourceError
        If there is no such source.
    """
    job = states.described(job)
    opened = open_source(job.paths(job.sources), name="_sqleval_rows")
    paths = list(opened.files) or [str(job.paths(job.sources))]
    dated(job, paths[-1:])
    if job.from_state is not None:
        bounds = [states.added_up(job, paths, keys) for keys in job.key_sets]
    else:
        labels = None
        if job.labels is not None:
            labels = open_source(job.paths(job.labels.source), name="_sqleval_labels")
        on = None if job.labels is None else job.labels.on
        bounds = [
            bound(opened, labels, {**roles(job), "on": on, "by": keys}) for keys in job.key_sets
        ]
    for each in bounds:
        evaluation.check_keys(each.binding)
        each.evaluate(job.metrics, ci=job.ci)
    if job.states is not None:
        states.made(job, bounds[0], job.metrics)
    task = bounds[0].task
    found = definitions(job.model_copy(update={"task": task}))[0]
    metrics = found["metric"].to_list()
    gates.check_metrics(job, metrics)
    for secret in job.secrets:
        secret.value()
    return (
        f"{_counted(len(paths), 'file')}, {task}, {_counted(len(metrics), 'metric')} by "
        f"{' and by '.join(', '.join(keys) or 'all rows' for keys in job.key_sets)}, "
        f"{_counted(len(job.gates), 'gate')}, history in {job.history.url}"
    )
