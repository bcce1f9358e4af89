"""The definition of a job's numbers: one hash of each metric's SQL, parameters and input.

Numbers of one definition may be compared. The hash is of a text that is written out here, key by
key, so that no change of a Python class or of a comment in a SQL file makes another definition.
"""

import gzip
import hashlib
import json
import re
from collections.abc import Iterable
from importlib.resources import files
from typing import Any, cast

import polars as pl
from pydantic_core import to_json

from sqleval.catalog import request
from sqleval.catalog.contract import Relation
from sqleval.catalog.request import Request
from sqleval.errors import RequestError
from sqleval.jobs.file.model import Job

#: The roles and options by which predictions are bound, in the order of the hashed texts.
_ROLES = (
    "label", "score", "prediction", "weight", "counts", "qid", "positive", "threshold", "where",
    "nulls", "task",
)  # fmt: skip
#: What of a SQL file's header decides about numbers; the other keys are words.
_HEADER = (
    "range", "domain", "params", "weights", "interval", "across", "means", "unbinned", "bound",
    "units",
)  # fmt: skip
#: Quoted text, or else a comment or white space.
_COMMENT = re.compile(r"""('(?:[^']|'')*'|"(?:[^"]|"")*")|(?:/\*.*?\*/|--[^\n]*|\s)+""", re.DOTALL)


def roles(job: Job) -> dict[str, Any]:
    """Return the roles and options that the predictions are bound by."""
    return {name: getattr(job, name) for name in _ROLES}


def period_text(job: Job) -> str:
    """Return the job's period as one text, of which the fingerprints of files are hashes."""
    period = job.period
    of = (("column", period.column), ("grain", period.grain), ("timezone", period.timezone))
    return f"Period({', '.join(f'{name}={value!r}' for name, value in of)})"


def input_text(job: Job, *, task: bool) -> str:
    """Return what a job's rows are bound to and cut by as JSON, of which states are marked."""
    period = job.period
    named = {name: value for name, value in roles(job).items() if task or name != "task"}
    named["period"] = {
        "column": period.column, "grain": period.grain, "timezone": period.timezone,
    }  # fmt: skip
    return to_json({**named, "ci": job.ci}).decode()


def parameters(wanted: Request) -> str:
    """Return every parameter of a metric with its value, as JSON."""
    declared = wanted.catalogue.parameters(wanted.name)
    values = {name: param.default for name, param in declared.items()} | dict(wanted.given)
    for option in ("average", "zero_division"):
        if getattr(wanted, option) is not None:
            values[option] = getattr(wanted, option)
    if wanted.multi_class != "ovr":
        values["multi_class"] = wanted.multi_class
    return json.dumps(values, sort_keys=True, default=str)


def _file_text(file: Relation) -> list[object]:
    """Return a SQL file without its words: the keys of its header that decide, and its SQL."""
    sql = _COMMENT.sub(lambda match: match[1] or " ", file.text).strip()
    return [
        f"{file.family}/{file.path.name}",
        {key: file.header[key] for key in _HEADER if key in file.header},
        sql,
    ]


def _files(wanted: Request) -> Iterable[Relation]:
    """Return the files that a metric may be computed by: its own, its steps', and their twins."""
    catalogue = wanted.catalogue
    return (file for each in catalogue.closure(wanted.name) for file in catalogue.files(each))


def definition(job: Job, wanted: Request) -> str:
    """Return the hash of what a metric's number is: its SQL, its parameters and the job's input."""
    named: dict[str, Any] = {
        # Of several classes the first has the ties, so that their order is kept.
        name: list(cast("dict[object, object]", value).items())
        if isinstance(value, dict)
        else value
        for name, value in roles(job).items()
    }
    made_of = job.made_of
    whole: dict[str, Any] = {
        "metric": wanted.name,
        "parameters": json.loads(parameters(wanted)),
        "files": sorted((_file_text(file) for file in _files(wanted)), key=str),
        "input": named,
        "labels_on": None if job.labels is None else job.labels.on,
        "period": period_text(job),
        "ci": job.ci,
        "state": None if made_of is None else {"bits": made_of.bits, "roles": made_of.roles},
    }
    return hashlib.sha256(json.dumps(whole, sort_keys=True).encode()).hexdigest()[:12]


def _definitions_of_0_1(job: Job, wanted: Request) -> Iterable[str]:
    """Return the two hashes of release 0.1: of a metric by name, and of the default set.

    They are of the SQL files' whole texts, which are kept beside this module as they were.
    """
    packed = files("sqleval.jobs").joinpath("sql_of_0_1.json.gz").read_bytes()
    kept = json.loads(gzip.decompress(packed))
    texts = [kept["files"][path] for path in kept["reads"].get(wanted.name, [])]
    on = "" if job.labels is None else job.labels.on
    for named in (True, False):
        asked = (
            f"Request(name={wanted.name!r}, given={wanted.given!r}, average={wanted.average!r}, "
            f"named={named!r}, multi_class={wanted.multi_class!r}, "
            f"zero_division={wanted.zero_division!r})"
        )
        whole = [*texts, asked, parameters(wanted), input_text(job, task=True), on]
        whole += [] if job.made_of is None else [str((job.made_of.bits, job.made_of.roles))]
        yield hashlib.sha256("\0".join(whole).encode()).hexdigest()[:12]


def _possible(job: Job) -> list[tuple[Job, tuple[Request, ...]]]:
    """Return the job with each task that it may be, and the metrics that it then has.

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
    possible: list[tuple[Job, tuple[Request, ...]]] = []
    refused: list[RequestError] = []
    scored = job.score is not None if job.made_of is None else job.made_of.bits > 0
    for task in tasks:
        try:
            wanted = request.parse_all(job.metrics, task, scored)
        except RequestError as error:
            refused.append(error)
            continue
        possible.append((job.model_copy(update={"task": task}), wanted))
    if possible:
        return possible
    if len(set(map(str, refused))) == 1:
        raise refused[0]
    names = ", ".join(job.metrics or [])
    raise RequestError(f"no one task has all of {names}: {refused[0]}") from refused[0]


def definitions(job: Job) -> list[pl.DataFrame]:
    """Return each metric's name, parameters and definition, for each task that it may be.

    Raises
    ------
    RequestError
        If no task has these metrics.
    """
    names = ["metric", "parameters", "definition"]
    return [
        pl.DataFrame(
            [(request.label(each), parameters(each), definition(of, each)) for each in wanted],
            schema=names,
            orient="row",
        )
        for of, wanted in _possible(job)
    ]


def renamed(job: Job, stored: pl.DataFrame) -> dict[str, str]:
    """Return the definitions of release 0.1 among a history's rows, and what they are called now.

    Parameters
    ----------
    job : Job
        The job.
    stored : polars.DataFrame
        Its rows in the history.
    """
    found = set(stored["definition"].drop_nulls())
    possible = [(of, each) for of, wanted in _possible(job) for each in wanted]
    if found <= {definition(of, each) for of, each in possible}:
        return {}
    return {
        old: definition(of, each)
        for of, each in possible
        for old in _definitions_of_0_1(of, each)
        if old in found
    }
