"""Inspects a source before it is evaluated: problems, roles, columns, and a command to run."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Any

from sqleval.binding.lookup import Columns, find_column, list_names
from sqleval.binding.where import check_condition, keep_nan
from sqleval.engines.embedded import embedded
from sqleval.errors import EngineError, RequestError
from sqleval.frontend.computing import Described, compute_roles, find_reason
from sqleval.inspection import checks
from sqleval.inspection.choosing import choose_roles
from sqleval.inspection.columns import describe_column, describe_columns
from sqleval.inspection.command import write_commands
from sqleval.inspection.data import Inspection, list_named_columns
from sqleval.inspection.days import check_days
from sqleval.inspection.files import compare_files, describe_all_files
from sqleval.inspection.findings import Finding, problem
from sqleval.inspection.lines import Findings
from sqleval.sources.opening import check_used, open_source
from sqleval.sources.source import Source

_Columns = str | Sequence[str] | Mapping[str, str] | None


def _map_names(columns: _Columns, role: str) -> dict[str, str]:
    """Return columns by the name of their model, which is "" for a single column."""
    if isinstance(columns, Mapping):
        return dict(columns)
    names = list_names(columns, role)
    return {"": names[0]} if len(names) == 1 else dict(zip(names, names, strict=True))


def _check_roles(data: Inspection) -> Iterator[Finding]:
    """Yield the findings about columns in their roles."""
    columns, evaluated, label = data.columns, checks.list_evaluated(data), data.label
    for name in evaluated:
        where = data.where if columns[name] is label else None
        yield from checks.check_missing(columns[name], where)
    if label is not None:
        yield from checks.check_classes(data, label)
    for name in data.scores.values():
        yield from checks.check_score_type(data, columns[name])
        if not data.task_facts.has_queries:
            yield from checks.check_score_range(data, columns[name])
        if label is not None:
            yield from checks.check_auc(data, label, columns[name])
    for name in data.predictions.values():
        yield from checks.check_prediction_type(data, columns[name])
    if label is not None:
        for name in dict.fromkeys([*data.scores.values(), *data.predictions.values()]):
            yield from checks.check_equal(data, label, columns[name])
    if key := data.single.get("key"):
        yield from checks.check_key(data, columns[key], is_given=bool(data.given.get("key")))
    if label is not None and (time := data.single.get("time")):
        yield from check_days(data, label, columns[time])
    yield from compare_files(data)
    yield from checks.check_constants(data, evaluated)


def _find_columns(
    columns: Columns, where: str, single: Mapping[str, str | None], several: Mapping[str, _Columns]
) -> Mapping[str, Mapping[str, str]]:
    """Return the user's roles; raise `RequestError` for a column that does not exist."""
    given = {role: {} if name is None else {"": name} for role, name in single.items()}
    given |= {role: _map_names(names, role) for role, names in several.items()}
    for role, names in given.items():
        for name in names.values():
            find_column(columns, name, role, where)
    return given


def _choose_rows(source: Source, columns: Columns, where: str) -> tuple[Source, str]:
    """Return the source of the rows that meet a condition, and the condition as SQL."""
    checked, used = check_condition(where, columns, source.label)
    try:
        embedded().check_condition(source, checked)
    except EngineError as error:
        raise RequestError(f"where={where!r}: {find_reason(error)}") from error
    condition = keep_nan(checked, columns)
    relation = f"(SELECT * FROM {source.relation} AS s WHERE {condition})"
    return replace(source.add_columns(relation, [], used), rows=None), condition


def inspect(
    source: object = None,
    *,
    label: str | None = None,
    score: _Columns = (),
    prediction: _Columns = (),
    weight: str | None = None,
    key: str | None = None,
    time: str | None = None,
    positive: Any = None,
    where: str | None = None,
    query: str | None = None,
    con: Any = None,
    storage: Mapping[str, str | bool] | None = None,
    version: int | str | None = None,
    timestamp: datetime | str | None = None,
    verify: bool = False,
    rows: str | None = None,
    csv: Mapping[str, Any] | None = None,
    suggest: bool = True,
) -> Findings:
    """Look at a source before it is evaluated.

    The result lists problems to look at first, the probable role of each column and the reason,
    the content of the columns, and the command to run. Roles that are given are not suggested.

    Parameters
    ----------
    source, query, con, storage, version, timestamp, verify, rows, csv
        As for `sqleval.scan`; a source that can be read only once cannot be inspected.
    label : str, optional
        The column of the truth: its classes are listed.
    score, prediction : str, sequence of str or mapping, optional
        The columns to evaluate, or a mapping from model to column: range, constant scores, ROC
        AUC.
    weight : str, optional
        The column of weights.
    key : str, optional
        The row key: repeats are counted.
    time : str, optional
        The date or time of a row: the last days may have fewer labels than those before.
    positive : scalar, optional
        The positive value of the label.
    where : str, optional
        A SQL condition on columns of the source: other rows are left out.
    suggest : bool
        Whether to suggest commands and the roles that are not given; if false, only the columns of
        given roles are read.

    Returns
    -------
    list of Finding
        The number of rows, problems, roles, columns and commands; ``section`` tells them apart.
        Numbers of distinct values are estimates, with ``~``, for more than a million rows. A
        console or notebook shows the list as `sqleval inspect` does.

    Raises
    ------
    SourceError
        If the source cannot be read.
    RequestError
        If a column does not exist, or ``where`` is not a condition.

    Examples
    --------
    >>> import polars as pl, sqleval
    >>> df = pl.DataFrame({"late": [0, 1, 1, 0], "p": [0.2, 0.7, 0.4, 0.5]})
    >>> findings = sqleval.inspect(df)
    >>> [(each.check, each.column) for each in findings if each.section == "role"][:2]
    [('label', 'late'), ('score', 'p')]
    >>> findings[-1].value
    "sqleval.scan(SOURCE, label='late', score='p').evaluate().collect()"
    """
    opened = open_source(
        source, query=query, con=con, name="_sqleval_rows",
        storage=storage, version=version, timestamp=timestamp, verify=verify, rows=rows, csv=csv,
    )  # fmt: skip
    check_used(csv, opened)
    if opened.once:
        raise RequestError("this source can be read only once; inspect it as a Table or a Dataset")
    opened, columns, differing, lacking = describe_all_files(opened)
    single = {"label": label, "weight": weight, "key": key, "time": time}
    several = {"score": score, "prediction": prediction}
    computed = compute_roles(Described(opened, columns), {**single, **several}, embedded())
    opened, columns = computed.source, computed.columns
    # A column that is a part of an expression has no role by itself.
    lacking = lacking.union(*computed.computed.values())
    given = _find_columns(columns, opened.label, single, several)
    selected_columns = (
        columns if suggest else {name: columns[name] for name in list_named_columns(given)}
    )
    condition = "TRUE"
    if where is not None:
        opened, condition = _choose_rows(opened, columns, where)
    count, facts = describe_columns(opened, selected_columns or columns)
    options = {
        "source": source, "query": query, "con": con, "storage": storage, "version": version,
        "timestamp": timestamp, "verify": verify, "rows": rows, "csv": csv,
    }  # fmt: skip
    by_name = {each.name: each for each in facts}
    data = Inspection(opened, count, by_name, options, lacking, condition, given, positive, where)
    sizes = [Finding("rows", None, f"{count:,}")]
    if len(opened.files) > 1 and not opened.is_table:
        sizes.append(Finding("files", None, f"{len(opened.files):,}"))
    shown = [describe_column(each) for each in facts if each.name not in computed.computed]
    if not count:
        nothing = problem("rows", None, "0", "nothing to evaluate")
        return Findings([nothing, *differing, *shown], opened.label)
    choose_roles(data)
    checked = list(_check_roles(data))
    if not suggest:
        return Findings([*sizes, *differing, *checked, *shown], opened.label)
    findings = [*data.findings, *differing, *checked]
    missing = any(data.columns[name].missing for name in checks.list_evaluated(data))
    commands = [
        Finding("command", None, text, what, "command")
        for what, text in write_commands(options, data, has_missing=missing)
    ]
    problems = [each for each in findings if each.section == "problem"]
    others = [each for each in findings if each.section != "problem"]
    listed = [*sizes, *problems, *data.listed, *others, *shown, *commands]
    return Findings(listed, opened.label)


def suggest_roles(
    source: str, rows: str | None = None, csv: Mapping[str, object] | None = None
) -> Inspection:
    """Return the facts about a source, with the likeliest roles of its columns.

    ``rows`` and ``csv`` say how its files are read.

    Raises
    ------
    SourceError
        If the source cannot be read.
    """
    opened = open_source(source, name="_sqleval_rows", rows=rows, csv=csv)
    check_used(csv, opened)
    opened, columns, _, lacking = describe_all_files(opened)
    count, facts = describe_columns(opened, columns)
    by_name = {each.name: each for each in facts}
    data = Inspection(opened, count, by_name, {"source": source}, lacking)
    choose_roles(data)
    return data
