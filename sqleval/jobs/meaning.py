"""What a job's numbers mean: its metrics, their SQL files and parameters, and the job's roles."""

import hashlib
import json
from typing import Any

import polars as pl

from sqleval import catalog, graph, request
from sqleval.errors import RequestError
from sqleval.jobs.model import Job
from sqleval.request import Request

#: What of a job decides what its numbers mean.
MEANING = (
    "label", "score", "prediction", "weight", "counts", "qid", "positive", "threshold", "where",
    "nulls", "task", "period", "ci",
)  # fmt: skip


def roles(job: Job) -> dict[str, Any]:
    """Return the roles and options that the predictions are bound by."""
    return job.model_dump(include={*MEANING} - {"period", "ci"})


def parameters(wanted: Request) -> str:
    """Return every parameter of a metric with its value, as JSON."""
    declared = graph.inherited(wanted.name, request.widest)
    values = {name: param.default for name, param in declared.items()} | dict(wanted.given)
    for option in ("average", "zero_division"):
        if getattr(wanted, option) is not None:
            values[option] = getattr(wanted, option)
    if wanted.multi_class != "ovr":
        values["multi_class"] = wanted.multi_class
    return json.dumps(values, sort_keys=True, default=str)


def definition(job: Job, wanted: Request) -> str:
    """Return a hash of what a metric's number means: its files, parameters and the job's roles."""
    texts = [
        file.text
        for name in graph.closure(wanted.name, graph.portable)
        for file in catalog.files(name)
    ]
    meaning = job.model_dump_json(include={*MEANING})
    on = "" if job.labels is None else job.labels.on
    whole = [*texts, repr(wanted), parameters(wanted), meaning, on]
    whole += [] if job.made_of is None else [str((job.made_of.bits, job.made_of.roles))]
    return hashlib.sha256("\0".join(whole).encode()).hexdigest()[:12]


def definitions(job: Job) -> list[pl.DataFrame]:
    """Return each metric's name, parameters and definition, for each task that it may be.

    What the task is follows from the types of columns where the roles do not say it, and files
    are not read for this.

    Raises
    ------
    RequestError
        If no task has these metrics.
    """
    if job.task is not None:
        tasks = [job.task]
    elif job.qid is not None:
        tasks = ["ranking"]
    elif job.score is not None or job.positive is not None:
        tasks = ["binary"]
    else:
        tasks = ["binary", "multiclass", "regression"]
    found: list[pl.DataFrame] = []
    refused: list[RequestError] = []
    scored = job.score is not None if job.made_of is None else job.made_of.bits > 0
    for task in tasks:
        try:
            wanted = request.parse_all(job.metrics, task, scored)
        except RequestError as error:
            refused.append(error)
            continue
        of = job.model_copy(update={"task": task})
        rows = [(request.label(each), parameters(each), definition(of, each)) for each in wanted]
        names = ["metric", "parameters", "definition"]
        found.append(pl.DataFrame(rows, schema=names, orient="row"))
    if not found:
        if len(set(map(str, refused))) == 1:
            raise refused[0]
        names = ", ".join(job.metrics or [])
        raise RequestError(f"no one task has all of {names}: {refused[0]}") from refused[0]
    return found
