"""Checks and counts rows on the day they arrive, before their labels come."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, cast

import polars as pl

from sqleval.binding.binding import Binding, list_columns_read
from sqleval.binding.expressions import find_expression, parse_role
from sqleval.binding.lookup import find_column
from sqleval.binding.model_columns import has_classes_of_models
from sqleval.catalog.roles import must_be_finite, name_argument
from sqleval.catalog.tasks import has_several_classes
from sqleval.common.columns import Column
from sqleval.common.counts import format_row_count
from sqleval.common.sql_text import select, write_present_test, write_with
from sqleval.compiler.audit import is_refused_below_zero
from sqleval.compiler.rows import OUTSIDE, write_source
from sqleval.errors import DataError
from sqleval.frontend.predictions import Predictions
from sqleval.jobs.file.model import Job


def count_arrived_rows(job: Job, predictions: Predictions) -> pl.DataFrame:
    """Return the number of rows by slice: the slice keys, ``metric``, ``value`` and ``n``.

    Raises
    ------
    RequestError
        If a column is missing that metrics read only once the labels have come.
    DataError
        If a required value is missing, a score is no probability although metrics need one, or a
        weight is negative.
    """
    binding = predictions.binding
    _check_other_columns(job, predictions)
    roles = [(role, column) for role, column in binding.role.items() if role != "label"]
    items = {key: key for key in binding.result_keys} | {"n": "COUNT(*)"}
    tests = _write_tests(job, binding, roles)
    items |= {f"wrong_{i}": f"SUM(CASE WHEN {test} THEN 1 ELSE 0 END)" for i, (_, test) in tests}
    places = ", ".join(str(i) for i, _ in enumerate(binding.result_keys, start=1))
    sql = write_with(write_source(binding, None), select(items, f"FROM _source\nGROUP BY {places}"))
    source = predictions.source
    objects = source.objects(list_columns_read(binding)[0])
    counts = predictions.engine.run(sql, {}, [source], objects, pl.DataFrame)
    for i, (text, _) in tests:
        if wrong := int(counts[f"wrong_{i}"].sum() or 0):
            share = f"{wrong:,} of {format_row_count(int(counts['n'].sum()))}"
            raise DataError(text.format(share))
    named = dict(zip(binding.result_keys, binding.key_names, strict=True))
    counts = counts.rename(named).select(*binding.key_names, pl.col("n").cast(pl.Int64))
    counts = counts.cast({key: predictions.key_types[key] for key in binding.key_names})
    if has_classes_of_models(job.score):
        counts = _name_models(counts, cast("dict[Any, dict[Any, str]]", job.score))
    elif binding.models and (has_several_classes(job.task) or isinstance(job.score, str)):
        # Each class has a score, perhaps in one column; they are not several models.
        counts = counts.drop("model").unique(maintain_order=True)
    return counts.with_columns(
        metric=pl.lit("rows"), value=pl.col("n").cast(pl.Float64), n_dropped=pl.lit(0, pl.Int64),
        **{name: pl.lit(None, pl.Float64) for name in ("low", "high")},
        **{name: pl.lit(None, pl.String) for name in ("method", "note")},
    )  # fmt: skip


def _name_models(counts: pl.DataFrame, score: dict[Any, dict[Any, str]]) -> pl.DataFrame:
    """Return counts by model instead of by the number of a column; each model has several."""
    models = [str(model) for model, columns in score.items() for _ in columns]
    named = {str(i): model for i, model in enumerate(models)}
    model = pl.col("model").replace_strict(named, return_dtype=pl.String)
    return counts.with_columns(model).unique(maintain_order=True)


def _check_other_columns(job: Job, predictions: Predictions) -> None:
    """Raise `RequestError` if a column is missing that is bound only together with labels."""
    named = job.prediction if job.score is not None else None
    names = [*named.values()] if isinstance(named, dict) else [named] if named else []
    also = [("prediction", name) for name in names]
    also += [("qid", job.qid)] if job.qid else []
    also += [("labels.on", key) for key in (job.arrival.keys if job.arrival else ())]
    source, columns = predictions.engine.describe(predictions.source)
    for role, name in also:
        if find_expression(name, columns) is None:
            find_column(columns, name, role, source.label)
        else:
            parse_role(name, columns, source.label, role)


def _write_tests(
    job: Job, binding: Binding, roles: Sequence[tuple[str, Column]]
) -> list[tuple[int, tuple[str, str]]]:
    """Return numbered pairs of a message about faulty rows and the SQL test that finds them."""
    tests: list[tuple[str, str]] = []
    for role, column in roles:
        argument = f"{name_argument(role)}={column.name!r}"
        if job.nulls == "error":
            null = job.arrival is not None and role in job.arrival.may_be_null
            finite = must_be_finite(role)
            present = write_present_test(role, column.type, finite=finite, null=null)
            message = f"{argument} is missing in {{}}; nulls: drop leaves them out"
            tests.append((message, f"NOT ({present})"))
        if is_refused_below_zero(role):
            message = f"{argument} is negative in {{}}; {role}s are 0 or more"
            tests.append((message, f"{role} < 0"))
        if role == "score" and (names := job.arrival.metrics if job.arrival else ()):
            who = f"{', '.join(names)} {'needs' if len(names) == 1 else 'need'} scores in 0 .. 1"
            tests.append((f"{who}; {argument} is outside in {{}}", OUTSIDE))
    return [*enumerate(tests)]
