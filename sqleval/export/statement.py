"""Writes metrics or a curve as one statement to paste, in the dialect of an engine."""

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import count
from typing import Any, NamedTuple, cast

import sqlglot
from sqlglot import exp

from sqleval.binding.arguments import check_level
from sqleval.binding.binding import Binding, Nulls, Task, list_columns_read
from sqleval.binding.expressions import is_expression, list_texts, map_texts, parse_role
from sqleval.binding.labelled import list_leaves
from sqleval.binding.model_columns import Named, has_classes_of_models
from sqleval.binding.roles import bind, take_common_rows
from sqleval.binding.slice_keys import SliceKey, add_slice_keys
from sqleval.catalog import request
from sqleval.catalog.catalogue import builtin
from sqleval.catalog.request import Request
from sqleval.catalog.roles import ROLES, list_arguments
from sqleval.catalog.tasks import TASKS, find_tasks
from sqleval.common.columns import NUMBERS, Column
from sqleval.common.sql_text import Scalar
from sqleval.compiler.bins import parse_bins
from sqleval.compiler.curve import compile_curve
from sqleval.compiler.metrics import compile_metrics
from sqleval.compiler.statement import Statement
from sqleval.dialects import portable
from sqleval.errors import RequestError
from sqleval.export import dialects
from sqleval.export.comments import write_comment, write_header
from sqleval.export.many_labels import expand_table
from sqleval.sources.source import Source

#: Expressions that are true or false.
_TRUTHS = (exp.Predicate, exp.And, exp.Or, exp.Not)
#: Placeholders for the table and the table of labels, until the statement is translated.
_INPUT, _LABELS = "_input", "_late"


class _UnknownColumns(Mapping[str, Column]):
    """Columns of a table that is not read: every name counts as a column.

    Parameters
    ----------
    numbers : collection of str
        The columns that are read as numbers; the types of all others are unknown.
    """

    def __init__(self, numbers: Iterable[str]) -> None:
        self._numbers = frozenset(numbers)

    def __getitem__(self, name: str) -> Column:
        return Column(name, "DOUBLE" if name in self._numbers else "", is_assumed=True)

    def __contains__(self, name: object) -> bool:
        return True

    def __iter__(self) -> Iterator[str]:
        return iter(self._numbers)

    def __len__(self) -> int:
        return len(self._numbers)


def _list_numeric_columns(task: Task, roles: Mapping[str, Any]) -> list[str]:
    """Return the columns whose role needs a number."""
    facts = TASKS[task]
    has_numbers = not facts.has_classes or (facts.has_two_classes and roles["positive"] is None)
    numeric = [
        each.argument
        for each in ROLES.values()
        if each.value_facts.kinds >= NUMBERS or (each.values == "label" and has_numbers)
    ]
    return [name for role in numeric for name in list_leaves(roles.get(role))]


def _find_task(metrics: Sequence[str], roles: Mapping[str, Any]) -> Task:
    """Return the task of the metrics and roles."""
    if isinstance(roles["label"], Mapping):
        return "multilabel"
    names = [request.find_name(text) for text in metrics]
    needed = {builtin().get(name).task for name in names if name in builtin().names}
    only = {find_tasks(each)[0] for each in needed if len(find_tasks(each)) == 1}
    averaged = any(
        re.search(r"\b(average|multi_class)\s*=|_(macro|micro|weighted)$", m) for m in metrics
    )
    if only:
        return next(name for name in TASKS if name in only)
    if roles["qid"] is not None or roles["value"] is not None:
        return "ranking" if roles["value"] is None else "value"
    if isinstance(roles["counts"], Mapping):
        return "binary"
    # With over=, an average means the mean over folds, not over classes.
    has_classes = has_classes_of_models(roles["score"])
    if (averaged and not roles["over"]) or has_classes:
        return "multiclass"
    return "multiclass" if roles["score"] is None and needed == {"classes"} else "binary"


def _parse_classes(score: Mapping[Any, Any]) -> dict[Any, Any]:
    """Return scores by class: the classes are whole numbers if all of their names are."""
    if has_classes_of_models(score):
        # Binding the columns refuses a value that is not a mapping.
        return {
            model: _parse_classes(cast("Mapping[Any, Any]", each))
            if isinstance(each, Mapping)
            else each
            for model, each in score.items()
        }
    whole = all(re.fullmatch(r"-?\d+", str(name)) for name in score)
    return {int(str(name)) if whole else name: column for name, column in score.items()}


def _parse_positive(value: Scalar | None) -> Scalar | None:
    """Return the positive value with its type in SQL: a truth value, a number or a text."""
    if not isinstance(value, str):
        return value
    try:
        return json.loads(value.lower() if value.lower() in ("true", "false") else value)
    except ValueError:
        return value.strip("'")


def _bind_table(
    metrics: Sequence[str], dialect: str, labels: str | None, roles: dict[str, Any]
) -> tuple[Binding, list[str]]:
    """Return the binding of a table whose column types are unknown, and the columns it reads."""
    has_rows = isinstance(roles["counts"], Mapping) or roles["value"] is not None
    if roles["label"] is None and not has_rows:
        raise RequestError("label= (--label) is needed and not given")
    task = roles["task"] or _find_task(metrics, roles)
    score = roles["score"]
    if TASKS[task].has_several_classes and isinstance(score, Mapping):
        roles["score"] = _parse_classes(cast("Mapping[Any, Any]", score))
    roles |= {"task": task, "positive": _parse_positive(roles["positive"])}
    roles, keys = _compute_roles(roles, dialect)
    columns = _UnknownColumns(_list_numeric_columns(task, roles))
    late = Source(_LABELS, label="the labels") if labels is not None else None
    if roles["where"] is not None:
        portable.check_condition(roles["where"], dialect)
    table = Source(_INPUT, label="the table")
    if keys:
        table = add_slice_keys(table, {}, keys, dialect)
    is_common = roles.pop("common", False)
    expanded = expand_table(table, late, columns, roles)
    columns = _UnknownColumns([*columns, *expanded.numbers])
    binding = bind(
        expanded.table, columns, labels=expanded.labels, label_columns=columns, **expanded.roles
    )
    binding = replace(binding, dialect=dialect)
    read = {name for names in list_columns_read(binding) for name in names}
    read = (read - expanded.added) | expanded.read
    return take_common_rows(binding) if is_common else binding, sorted(read)


def _compute_roles(roles: dict[str, Any], dialect: str) -> tuple[dict[str, Any], list[SliceKey]]:
    """Return the roles with a name for each expression, and the columns to compute.

    Every engine can write the name: the words of the expression.
    """
    if roles.pop("classes", None) is not None:
        raise RequestError(
            "classes= (--classes) needs the types of the table, which is not read; name the score "
            'of each class: --score a="p[1]" --score b="p[2]"'
        )
    everything = _UnknownColumns(())
    keys: dict[str, SliceKey] = {}
    for argument in list_arguments():
        for text in filter(is_expression, list_texts(roles.get(argument))):
            portable.check_condition(text, dialect, argument)
            key = parse_role(text, everything, "the table", argument)
            name = "_".join(["", *re.findall(r"\w+", text)])
            taken = {each.name for other, each in keys.items() if other != text}
            name = next(filter(lambda each: each not in taken, _number_names(name)))
            keys[text] = key._replace(name=name, sql=_write_number(key.sql))
    named = {
        argument: map_texts(value, lambda text: keys[text].name if text in keys else text)
        if argument in list_arguments()
        else value
        for argument, value in roles.items()
    }
    return named, [*keys.values()]


def _number_names(name: str) -> Iterator[str]:
    """Yield a name, and the name with 2, 3 and so on after it."""
    yield name
    yield from (f"{name}_{i}" for i in count(2))


def _write_number(sql: str) -> str:
    """Return an expression as SQL, as 1 and 0 if it is a truth value.

    Some engines do not cast a truth value to a number.
    """
    is_truth = isinstance(sqlglot.parse_one(sql, dialect="duckdb").unnest(), _TRUTHS)
    return f"CASE WHEN {sql} THEN 1 WHEN NOT ({sql}) THEN 0 END" if is_truth else sql


def _compile(
    metrics: Sequence[str], binding: Binding, ci: float | None, bins: int | None
) -> tuple[tuple[Request, ...], Statement]:
    """Return the requests and their statement, made of portable SQL files only."""
    plan = parse_bins(bins) or "rows"
    curve = request.parse_table(metrics[0], binding.task) if len(metrics) == 1 else None
    if curve is not None:
        if ci is not None:
            raise RequestError(f"ci= (--ci) is for metrics, and {curve.name} is a curve")
        return (curve,), compile_curve(binding, curve, plan)
    check_level(ci)
    requests = request.parse_all(
        list(metrics), binding.task, binding.has_score, folds=bool(binding.over)
    )
    return requests, compile_metrics(binding, requests, plan, ci)


def export_statement(
    metrics: Sequence[str],
    dialect: str,
    table: str,
    *,
    label: str | None = None,
    score: Named = None,
    prediction: str | Mapping[Scalar, str] | None = None,
    value: str | Mapping[Scalar, str] | None = None,
    classes: Sequence[Scalar] | None = None,
    weight: str | None = None,
    counts: str | Mapping[str, str] | None = None,
    qid: str | None = None,
    item: str | None = None,
    by: str | Sequence[str] = (),
    sets: str | Sequence[Sequence[str]] | None = None,
    over: str | Sequence[str] = (),
    role: str | None = None,
    positive: Scalar | None = None,
    threshold: float | Mapping[str, float] | None = None,
    where: str | None = None,
    nulls: Nulls = "error",
    common: bool = False,
    labels: str | None = None,
    on: str | Sequence[str] | None = None,
    task: Task | None = None,
    ci: float | None = None,
    bins: int | None = None,
    bare: bool = False,
    explain: bool = False,
    **further: str | None,
) -> str:
    """Return metrics (or one curve) as one statement in a dialect, ready to paste.

    It is the statement of `Predictions.evaluate`, in portable SQL. It returns the same rows with
    two more columns. ``_problem`` has the error about the input, because a statement cannot raise
    one; the values are valid only if it is NULL. ``_notice`` counts the rows without a label.

    Parameters
    ----------
    metrics : sequence of str
        Names, optionally with parameters: ``"f_beta(beta=2)"``.
    dialect : str
        One of `sqleval.export.dialects.DIALECTS`.
    table : str
        The table's name in the dialect: ``db.schema.preds``.
    label, score, prediction, value, weight, counts, qid, item, by, sets, over, role, threshold
        As for `sqleval.scan`. The table is not read, so every name counts as a column. Scores,
        weights, counts, the values of a regression or ranking and a binary label without
        ``positive`` are cast to DOUBLE; the other columns are used as they are.
    nulls, common, on : optional
        As for `sqleval.scan`.
    classes : sequence, optional
        Refused, because a list of scores is known by its type.
    positive : scalar, optional
        The positive value of the label; ``true`` for a column of truth values.
    where : str, optional
        A condition in portable SQL.
    labels : str, optional
        The name of a second table, which holds the label.
    task : str, optional
        The task; by default it follows from the metrics.
    ci, bins : optional
        As for `Predictions.evaluate`.
    bare : bool, optional
        Whether to leave out ``_problem`` and ``_notice`` with all checks of the rows: less than
        half of the text, for rows that are known to be right.
    explain : bool, optional
        Return a line of words for each step instead of the statement.
    **further
        The columns of further roles, as for `sqleval.scan`.

    Raises
    ------
    RequestError
        For an unknown dialect or metric, a missing role, or a construct that the dialect lacks.

    Examples
    --------
    >>> from sqleval.export.statement import export_statement
    >>> print(export_statement(["precision"], "spark", "lake.preds", label="y", score="p")[:32])
    -- precision: share of predicted
    """
    roles: dict[str, Any] = {
        "label": label, "score": score, "prediction": prediction, "value": value,
        "classes": classes, "weight": weight, "counts": counts, "qid": qid, "item": item, "by": by,
        "sets": sets, "over": over, "role": role, "positive": positive, "threshold": threshold,
        "where": where, "nulls": nulls, "on": on, "task": task, "common": common, **further,
    }  # fmt: skip
    exported = build_statement(
        metrics, dialect, table, roles, labels=labels, ci=ci, bins=bins, bare=bare
    )
    if explain:
        return "".join(f"{line}\n" for line in exported.steps)
    header = write_header(exported.requests, exported.binding, table, bare=bare)
    return f"{header}{exported.sql};\n"


class ExportedStatement(NamedTuple):
    """A statement in a dialect, with its binding, requests and columns.

    Attributes
    ----------
    comment : str
        Comment lines that describe the metrics and the rows used.
    sql : str
        The statement.
    binding : Binding
        The roles of its columns.
    requests : tuple of Request
        Its metrics, or its curve.
    columns : tuple of str
        The columns of its rows, without ``_problem`` and ``_notice``.
    steps : tuple of str
        A line of words for each of its relations.
    """

    comment: str
    sql: str
    binding: Binding
    requests: tuple[Request, ...]
    columns: tuple[str, ...]
    steps: tuple[str, ...]


def build_statement(
    metrics: Sequence[str],
    dialect: str,
    table: str,
    roles: Mapping[str, Any],
    *,
    labels: str | None = None,
    ci: float | None = None,
    bins: int | None = None,
    bare: bool = False,
    is_ordered: bool = True,
    problems_by: str = "",
) -> ExportedStatement:
    """Return metrics (or one curve) as one statement in a dialect; see `export_statement`.

    Parameters
    ----------
    metrics, dialect, table, labels, ci, bins, bare
        As for `export_statement`.
    roles : mapping
        The other options of `export_statement`.
    is_ordered : bool
        Whether the rows are sorted; a subquery does not need it.
    problems_by : str
        As for `sqleval.binding.binding.Binding`.
    """
    dialects.check_dialect(dialect)
    binding, read = _bind_table(metrics, dialect, labels, dict(roles))
    binding = replace(binding, problems_by=problems_by)
    tables = {_INPUT: dialects.parse_table(table, dialect)}
    if labels is not None:
        dialects.check_labels(dialect)
        tables[_LABELS] = dialects.parse_table(labels, dialect, "--labels")
    requests, statement = _compile(metrics, binding, ci, bins)
    if statement.outermost is not None:
        outermost = statement.outermost.leave_out_verdict() if bare else statement.outermost
        order = outermost.order if is_ordered else ()
        select = replace(outermost, order=order).write(None, None)
        statement = replace(statement, select=select)
    names = {name: dialects.parse_identifier(name, dialect) for name in read}
    sql = dialects.translate(statement.inline(), dialect, names, tables)
    comment = write_comment(requests, binding, bare=bare)
    steps = tuple(statement.explain())
    return ExportedStatement(comment, sql, binding, requests, statement.columns, steps)
