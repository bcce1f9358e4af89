"""Writes the dbt model that keeps the metrics of every period."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from importlib.resources import files
from typing import Any, NamedTuple

from sqlglot import exp

from sqleval.binding.binding import OVERALL, list_columns_read, name_set
from sqleval.binding.key_sets import parse_sets
from sqleval.catalog.request import format_request
from sqleval.errors import RequestError
from sqleval.export import dialects
from sqleval.export.statement import ExportedStatement, build_statement
from sqleval.jobs.definitions import define_metrics

_BY_ROWS = {"incremental_strategy": "delete+insert", "unique_key": "period"}
_BY_PARTITION = {"incremental_strategy": "insert_overwrite"}
#: How dbt replaces a period in each dialect: its rows, or its partition.
STRATEGIES: Mapping[str, Mapping[str, object]] = {
    "bigquery": {**_BY_PARTITION, "partition_by": {"field": "period", "data_type": "date"}},
    "duckdb": _BY_ROWS,
    "postgres": _BY_ROWS,
    "snowflake": _BY_ROWS,
    "spark": {**_BY_PARTITION, "partition_by": ["period"], "file_format": "parquet"},
    "trino": _BY_ROWS,
}
#: The first day after a period that begins on the day ``first``, as Jinja. Months differ in length,
#: so the length of the longest one is added, which leads into the next one.
_AFTER = {
    "day": "first + modules.datetime.timedelta(days=1)",
    "week": "first + modules.datetime.timedelta(days=7)",
    "month": "(first + modules.datetime.timedelta(days=31)).replace(day=1)",
    "quarter": "(first + modules.datetime.timedelta(days=92)).replace(day=1)",
    "year": "(first + modules.datetime.timedelta(days=366)).replace(day=1)",
}
GRAINS = tuple(_AFTER)
#: The columns of the history besides the slice keys.
COLUMNS: Mapping[str, str] = {
    "period": "first day of the period",
    "slice_by": f"the slice keys of the row, `{OVERALL}` for none",
    "metric": "name, with the parameters that are not the default",
    "value": "the metric; NULL where it is undefined",
    "low": "lower end of the interval, or lower bound",
    "high": "upper end, or upper bound",
    "method": "how it was computed",
    "n": "rows used",
    "n_dropped": "rows left out, because a value is missing",
    "note": "why a value or an interval is missing, or how far it can be trusted",
    "problem": "error about the rows of the period, which has no values, or keeps earlier ones",
    "n_rows": "rows of the period when it was evaluated",
    "n_labels": "rows of the period with a label",
    "definition": "versions of the metrics, a hash of roles and options; gates compare equal ones",
    "evaluated_at": "start of the build that evaluated the period, in UTC",
}


class History(NamedTuple):
    """The model, and its properties that the gates need.

    Attributes
    ----------
    model : str
        The text of the file.
    is_due : str
        The text of the macro with the condition for the rows that the model reads.
    metrics : list of str
        The metrics.
    keys : list of str
        The slice keys in the dialect, beginning with ``slice_by``.
    key_names : list of str
        Their names, without ``slice_by``.
    sets : list of list of str
        The sets of slice keys.
    task : str
        The task of the metrics.
    """

    model: str
    is_due: str
    metrics: list[str]
    keys: list[str]
    key_names: list[str]
    sets: list[list[str]]
    task: str


def read_template(name: str) -> str:
    """Return the text of a file beside this module."""
    return files("sqleval.export.dbt").joinpath(name).read_text(encoding="utf-8")


def fill(template: str, **values: str) -> str:
    """Return a template whose ``__NAMES__`` are replaced by values."""
    return re.sub(r"__([A-Z_]+?)__", lambda match: values[match[1].lower()], template)


def escape(sql: str) -> str:
    """Return SQL in which Jinja finds no markup."""
    return re.sub(r"\{(?=[{%#])", "{{ '{' }}", sql)


def write_history(
    metrics: Sequence[str],
    dialect: str,
    time: str,
    grain: str,
    roles: Mapping[str, Any],
    options: Mapping[str, Any],
) -> History:
    """Return the model for these metrics.

    Parameters
    ----------
    metrics, dialect : sequence of str, str
        As for `sqleval.export.statement.export_statement`.
    time : str
        The column of type DATE or TIMESTAMP that decides the period.
    grain : str
        One of `GRAINS`.
    roles : mapping
        The roles of `sqleval.export.statement.export_statement`.
    options : mapping
        ``ci`` and ``bins``.

    Raises
    ------
    RequestError
        If a slice key has the name of another column.
    """
    by: list[str] = list(roles["by"])
    sets = [list(keys) for keys in parse_sets(roles["sets"], by)]
    roles_with_period = {
        **roles,
        "by": ["period", *by],
        "sets": [["period", *keys] for keys in sets] or None,
    }  # fmt: skip
    # slice_1 is the period, the first of the keys.
    exported = build_statement(
        metrics, dialect, "due_rows", roles_with_period, is_ordered=False, problems_by="slice_1",
        **options,
    )  # fmt: skip
    _check_names(exported)
    before = exported.columns[: exported.columns.index("metric")]
    key_names = [name for name in before if name not in ("period", "by")]
    keys = [write_name(name, dialect) for name in key_names]
    read = [name for name in list_columns_read(exported.binding)[0] if name != "period"]
    column = f"s.{write_name(time, dialect)}"
    label = roles["value"] if isinstance(roles["value"], str) else roles["label"]
    places = {
        "period": _write_period(column, grain, dialect),
        "time": _write_day(column, dialect),
        "counted": "*" if label is None else f"s.{write_name(label, dialect)}",
        "definition": define_metrics(exported.requests, roles, time=time, grain=grain, **options),
    }
    model = fill(
        read_template("metric_history.sql"),
        config=_write_config(dialect),
        columns=",\n    ".join(f"s.{write_name(name, dialect)}" for name in read),
        statement=escape(exported.comment + exported.sql),
        slice_by=_write_set_name(sets, by, dialect),
        keys="".join(f"r.{key},\n    " for key in keys),
        kept_keys="".join(f"h.{key},\n  " for key in keys),
        same_keys="".join(
            f"\n    AND (e.{key} = h.{key} OR (e.{key} IS NULL AND h.{key} IS NULL))"
            for key in keys
        ),
        **places,
    )
    is_due = fill(read_template("is_due.sql"), after=_AFTER[grain], **places)
    names = list(dict.fromkeys(map(format_request, exported.requests)))
    sets = sets or [by]
    task = exported.binding.task
    return History(model, is_due, names, ["slice_by", *keys], key_names, sets, task)


def write_name(name: str, dialect: str) -> str:
    """Return a column's name in a dialect, for a file of dbt."""
    return escape(dialects.parse_identifier(name, dialect).sql(dialect=dialect))


def _check_names(exported: ExportedStatement) -> None:
    """Refuse a curve, and names that columns of the model have."""
    if "metric" not in exported.columns:
        raise RequestError(f"{exported.requests[0].name} is a curve; the package holds metrics")
    others = replace(exported.binding, by=exported.binding.by[1:])
    for name in list_columns_read(others)[0]:
        if name.lower() == "period":
            raise RequestError(f"the column {name!r} has the name of the period; rename it")
    for column in others.by:
        if column.name.lower() in COLUMNS:
            raise RequestError(f"by={column.name!r}: the history has a column of that name")


def _write_config(dialect: str) -> str:
    """Return the configuration of the model."""
    options = {"materialized": "incremental", **STRATEGIES[dialect]}
    return ",\n    ".join(f"{name}={value!r}" for name, value in options.items())


def _write_day(column: str, dialect: str) -> str:
    """Return SQL for a time that can be compared with a date."""
    return f"DATE({column})" if dialect == "bigquery" else column


def _write_period(column: str, grain: str, dialect: str) -> str:
    """Return SQL for the first day of a time's period."""
    if dialect == "bigquery":
        part = "ISOWEEK" if grain == "week" else grain.upper()
        return f"DATE_TRUNC(DATE({column}), {part})"
    return f"CAST(DATE_TRUNC('{grain}', {column}) AS DATE)"


def _write_set_name(sets: Sequence[Sequence[str]], by: Sequence[str], dialect: str) -> str:
    """Return SQL for the name of a row's set of slice keys, without the period."""

    def write(keys: Sequence[str]) -> str:
        return escape(exp.Literal.string(name_set(keys)).sql(dialect=dialect))

    if not sets:
        return write(by)
    cases = "\n      ".join(f"WHEN {write(['period', *keys])} THEN {write(keys)}" for keys in sets)
    return f"CASE r.{write_name('by', dialect)}\n      {cases}\n    END"
