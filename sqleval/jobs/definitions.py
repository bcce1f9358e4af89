"""Computes the definition of each metric of a job: versions of its files, parameters and input.

Values with the same definition are comparable. The hashed text is written key by key, so that
changes of Python classes do not change definitions. Nor does the SQL text of the package's files.
"""

import hashlib
import json
import re
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from typing import Any, cast

import polars as pl
from pydantic_core import to_json

from sqleval.binding.expressions import is_expression, list_texts
from sqleval.binding.lookup import list_names
from sqleval.binding.model_columns import has_classes_of_models
from sqleval.catalog import find_sql_folder, request
from sqleval.catalog.contract import Relation
from sqleval.catalog.request import Request
from sqleval.catalog.roles import list_added_arguments, list_arguments
from sqleval.catalog.tasks import TASKS
from sqleval.compiler.expected import find_obstacle
from sqleval.errors import RequestError
from sqleval.history.definitions import write_definition
from sqleval.history.store import DIGITS
from sqleval.jobs.file.model import Job
from sqleval.jobs.file.row_keys import SIDES
from sqleval.sources.reading import check_csv

#: The roles and options of the binding, in the order of the hashed text.
_ROLES = (
    "label", "score", "prediction", "weight", "counts", "qid", "positive", "threshold", "where",
    "nulls", "task",
)  # fmt: skip
#: The keys of the header of a user's SQL file that change values; the others are documentation.
_HEADER = (
    "range", "domain", "params", "weights", "interval", "across", "means", "variances", "unbinned",
    "bound", "units",
)  # fmt: skip
#: Quoted text, or else a comment or white space.
_COMMENT = re.compile(r"""('(?:[^']|'')*'|"(?:[^"]|"")*")|(?:/\*.*?\*/|--[^\n]*|\s)+""", re.DOTALL)


def _read_arrival_roles(job: Job) -> dict[str, Any]:
    """Return the roles that check columns and types of rows without labels."""
    # Long rows are counted as they are.
    names = ("weight", "counts", "threshold", "where", "nulls")
    roles: dict[str, Any] = {name: getattr(job, name) for name in names}
    roles |= {"classes": job.classes} if job.classes is not None else {}
    if job.score is not None:
        return roles | {"score": _number_columns(job.score), "task": "binary", "expected": True}
    named = job.prediction
    first = next(iter(named.values())) if isinstance(named, dict) else named
    # A prediction has the type of a label.
    also = {"label": first, "prediction": named, "task": job.task, "positive": job.positive}
    return roles | also


def _number_columns(score: Any) -> Any:
    """Return scores by class; the scores of several models get numbers instead of classes."""
    if not has_classes_of_models(score):
        return score
    columns = (column for each in score.values() for column in each.values())
    return {str(i): column for i, column in enumerate(columns)}


def read_roles(job: Job) -> dict[str, Any]:
    """Return the roles and options that bind the predictions."""
    if job.arrival is not None:
        return _read_arrival_roles(job)
    named = {name: getattr(job, name) for name in _ROLES}
    # Unused options and roles are left out, so that stored definitions stay valid.
    named |= {"common": True} if job.common else {}
    named |= {"classes": job.classes} if job.classes is not None else {}
    named |= {"long": job.long} if job.long else {}
    named |= {"key": job.key} if job.key else {}
    named |= {"value": job.value} if job.value is not None else {}
    named |= {"item": job.item} if job.item is not None else {}
    added = ((name, getattr(job, name)) for name in list_added_arguments())
    named |= {name: column for name, column in added if column is not None}
    return named | {"expected": True} if job.is_expectation else named


def name_metric(job: Job, metric: str) -> str:
    """Return the name of a metric in the history."""
    if job.arrival is not None:
        return f"arrived({metric})"
    return f"expected({metric})" if job.is_expectation else metric


def create_expectation(job: Job) -> Job | None:
    """Return the job that evaluates expected metrics; None without ``expected: true``.

    Raises
    ------
    RequestError
        If none of the metrics can be expected without labels.
    """
    if not job.expected:
        return None
    requests = request.parse_all(job.metrics, "binary", has_score=True)
    possible = [request.format_request(each) for each in requests if find_obstacle(each) is None]
    if not possible:
        raise RequestError(f"expected: true: {find_obstacle(requests[0])}")
    return job.expect(possible)


def create_arrival(job: Job) -> Job | None:
    """Return the job that checks and counts rows before late labels come; None without any."""
    if job.expected or job.labels is None or not job.labels.maturity or job.value is not None:
        return None
    of_task, requests = _list_possible_tasks(job)[0]
    assert of_task.task is not None
    named = [each for each in requests if each.named and each.relation.header.get("domain")]
    names = tuple(map(request.format_request, named))
    return job.arrive(names, TASKS[of_task.task].may_be_null)


def define_keys(job: Job, keys: Iterable[str]) -> str:
    """Return the suffix of a metric's definition: a hash of the expressions among slice keys.

    It is empty without expressions, so that values by columns and of all rows stay comparable.
    """
    texts = {key: job.expressions[key] for key in sorted(keys) if key in job.expressions}
    if not texts:
        return ""
    texts = {key: _remove_comments(text) for key, text in texts.items()}
    return f"/{hashlib.sha256(json.dumps(texts).encode()).hexdigest()[:DIGITS]}"


def list_slice_sets(job: Job) -> set[tuple[frozenset[str], str]]:
    """Return the sets of slice keys of a job, each with the definition of its expressions."""
    return {(frozenset(keys), define_keys(job, keys)) for keys in job.key_sets}


def write_expressions(job: Job) -> str:
    """Return the SQL of a job: its query, its condition, and the expressions of keys and roles."""
    # The dot of a field is no operator, as the name of a column may also have it.
    roles = [text for text in _list_roles(job) if "." in text or is_expression(text)]
    return "\n".join([job.query or "", job.where or "", *job.expressions.values(), *roles])


def _list_roles(job: Job) -> list[str]:
    """Return the columns and expressions of all roles."""
    named = [getattr(job, name) for name in list_arguments() if name in Job.model_fields]
    return [text for each in named for text in list_texts(each)]


def list_columns(job: Job) -> list[str]:
    """Return the columns on which the values of a job depend, and the words in its SQL."""
    texts: list[str] = [job.period.column, *(key for keys in job.key_sets for key in keys)]
    texts += _list_roles(job)
    on = [*job.labels.keys] if job.labels else []
    on += [*list_texts(job.long), *list_names(job.key, "key")]
    return list(dict.fromkeys([*texts, *on, *re.findall(r"\w+", write_expressions(job))]))


def write_period_text(job: Job) -> str:
    """Return the period of the job as text, a part of the hashed version of files."""
    keys = _describe_period(job).items()
    return f"Period({', '.join(f'{name}={value!r}' for name, value in keys)})"


def _describe_period(job: Job) -> dict[str, str | None]:
    """Return the keys that decide the period of a row; the format only if the job has one."""
    period = job.period
    described = {"column": period.column, "grain": period.grain, "timezone": period.timezone}
    return described | ({"format": period.format} if period.format else {})


def define_reading(job: Job) -> dict[str, Any]:
    """Return how the files of a job are read, where its keys or prefixes say so.

    Another separator, say, makes other values of the same files.
    """
    named: dict[str, Any] = {}
    for side in SIDES:
        reading = job.read_side(side)
        named |= {f"{side}.format": reading.format_name} if reading.format_name else {}
    named |= {"rows": job.rows} if job.rows else {}
    return named | ({"csv": sorted(check_csv(job.csv))} if job.csv else {})


def write_input_text(job: Job, *, task: bool) -> str:
    """Return the binding and the period of a job as JSON, a part of the hash in its states."""
    named = {name: value for name, value in read_roles(job).items() if task or name != "task"}
    named["period"] = _describe_period(job)
    named |= {} if job.query is None else {"query": normalize_query(job)}
    named |= define_reading(job)
    return to_json({**named, "ci": job.ci}).decode()


def write_parameters(metric_request: Request) -> str:
    """Return all parameters of a metric with their values, as JSON."""
    declared = metric_request.catalogue.parameters(metric_request.name)
    values = {name: param.default for name, param in declared.items()} | dict(
        metric_request.parameters
    )
    for option in ("average", "reduce", "zero_division"):
        if getattr(metric_request, option) is not None:
            values[option] = getattr(metric_request, option)
    if metric_request.multi_class != "ovr":
        values["multi_class"] = metric_request.multi_class
    return json.dumps(values, sort_keys=True, default=str)


@cache
def _remove_comments(sql: str) -> str:
    """Return SQL with one space for each comment and white space; cached, as a run repeats it."""
    return _COMMENT.sub(lambda match: match[1] or " ", sql).strip()


def normalize_query(job: Job) -> str | None:
    """Return the query of a job without comments and white space that mean nothing."""
    return None if job.query is None else _remove_comments(job.query).rstrip("; ")


def _describe_file(file: Relation) -> list[object]:
    """Return the parts of a SQL file that change values: header keys, and SQL without comments."""
    return [
        f"{file.family}/{file.path.name}",
        {key: file.header[key] for key in _HEADER if key in file.header},
        _remove_comments(file.text),
    ]


def define_metrics(requests: Sequence[Request], roles: Mapping[str, Any], **others: Any) -> str:
    """Return the definition of metrics that are evaluated together.

    A definition holds the versions of SQL files above 1, so that steps may be split or renamed
    while values stay the same. For files outside the package it also holds their text, because
    nobody raises their versions. New roles, options and parameters count only where they are set.

    Parameters
    ----------
    requests : sequence of Request
        The metrics with their parameters.
    roles : mapping of str to object
        The roles and options that bind the input.
    **others
        Further keys that decide about values.
    """
    files = {file for each in requests for file in each.catalogue.list_files_below(each.name)}
    versions = {each.path.name: each.version for each in files}
    named = {name: _list_items(value) for name, value in roles.items() if value is not None}
    whole: dict[str, Any] = {
        "metrics": [request.format_request(each) for each in requests],
        "versions": {name: version for name, version in versions.items() if version > 1},
        "files": sorted((_describe_file(file) for file in files if not _is_ours(file)), key=str),
        "input": named,
        **others,
    }
    content = {name: value for name, value in whole.items() if value not in (None, 0, [], {})}
    return write_definition(content, 1 + sum(version - 1 for version in versions.values()))


def _list_items(value: object) -> object:
    """Return mappings as lists: the order of classes matters, as the first one wins ties."""
    if not isinstance(value, dict):
        return value
    items = cast("dict[object, object]", value).items()
    return [[key, _list_items(each)] for key, each in items]


def _is_ours(file: Relation) -> bool:
    """Whether a file is one of the package."""
    return find_sql_folder() in file.path.parents


def hash_definition(job: Job, metric_request: Request) -> str:
    """Return the definition of a metric: its versions, its parameters and the job's input."""
    state = job.state_definition
    return define_metrics(
        [metric_request],
        read_roles(job),
        labels_on=None if job.labels is None else job.labels.on,
        query=normalize_query(job),
        period=write_period_text(job),
        ci=job.ci,
        ci_method=job.ci_method,
        replicates=job.replicates,
        reading=define_reading(job),
        state=None if state is None else {"bits": state.bits, "roles": state.roles},
    )


def _list_possible_tasks(job: Job) -> list[tuple[Job, tuple[Request, ...]]]:
    """Return the job with each task that it may have, and the metrics of this task.

    If neither the job file nor the roles determine the task, the types of columns do; no file is
    read here.

    Raises
    ------
    RequestError
        If no task has all metrics of the job.
    """
    if job.task is not None:
        tasks = [job.task]
    elif job.qid is not None:
        tasks = ["ranking"]
    elif job.value is not None:
        tasks = ["value"]
    elif has_classes_of_models(job.score) or len(job.classes or ()) > 2:
        tasks = ["multiclass"]
    elif job.score is not None or job.positive is not None:
        tasks = ["binary"]
    else:
        tasks = [name for name, facts in TASKS.items() if not facts.role]
    possible: list[tuple[Job, tuple[Request, ...]]] = []
    errors: list[RequestError] = []
    has_score = (
        job.score is not None if job.state_definition is None else job.state_definition.bits > 0
    )
    for task in tasks:
        try:
            requests = request.parse_all(job.metrics, task, has_score)
        except RequestError as error:
            errors.append(error)
            continue
        possible.append((job.model_copy(update={"task": task}), requests))
    if possible:
        return possible
    if len(set(map(str, errors))) == 1:
        raise RequestError(f"metrics: {errors[0]}") from errors[0]
    names = ", ".join(job.metrics or [])
    raise RequestError(f"metrics: no task has all of {names}: {errors[0]}") from errors[0]


def list_definitions(job: Job) -> list[pl.DataFrame]:
    """Return the metrics with parameters and definitions, one table per possible task.

    Raises
    ------
    RequestError
        If no task has all metrics of the job.
    """
    names = ["metric", "parameters", "definition"]
    if job.arrival is not None:
        definition = define_metrics(
            [], read_roles(job), arrival=job.arrival, period=write_period_text(job),
            query=normalize_query(job), reading=define_reading(job),
        )  # fmt: skip
        return [pl.DataFrame([(name_metric(job, "rows"), "{}", definition)], names, orient="row")]
    return [
        pl.DataFrame(
            [
                (
                    name_metric(each_job, request.format_request(each)),
                    write_parameters(each),
                    hash_definition(each_job, each),
                )
                for each in requests
            ],
            schema=names,
            orient="row",
        )
        for each_job, requests in _list_possible_tasks(job)
    ]


def list_present_definitions(job: Job) -> pl.DataFrame:
    """Return ``job``, ``metric`` and ``definition`` of the metrics that a job evaluates.

    There are no rows while several tasks are possible.
    """
    early = create_expectation(job) or create_arrival(job)
    tables = [list_definitions(each) for each in (job, early) if each is not None]
    present = pl.concat(table[0] for table in tables if len(table) == 1)
    return present.select("metric", "definition", job=pl.lit(job.name))
