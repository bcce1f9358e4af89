"""Inspects a source before it is evaluated: its columns, problems, and the options that help."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from sqleval.common.columns import Column, is_float, is_number
from sqleval.common.sql_text import quote
from sqleval.engines.embedded import embedded
from sqleval.errors import DataError, RequestError
from sqleval.frontend.scan import scan
from sqleval.inputs.lookup import find_column
from sqleval.inputs.opening import open_source
from sqleval.inputs.source import Source
from sqleval.inputs.verify import verify_source

#: Values of a label that are listed; more are counted.
_SHOWN = 12


@dataclass(frozen=True)
class Finding:
    """One line of an inspection.

    Attributes
    ----------
    check : str
        What was looked at.
    column : str or None
        The column, if it is about one.
    value : str
        What was found.
    advice : str or None
        The option or command that helps, where something should be done.
    """

    check: str
    column: str | None
    value: str
    advice: str | None = None


def _read_rows(
    source: Source, select: str, columns: Sequence[str], tail: str = ""
) -> list[tuple[Any, ...]]:
    statement = f"SELECT {select} FROM {source.relation} AS s{tail}"
    return embedded().rows(statement, {}, [source], source.objects(columns))


def _inspect_column(source: Source, column: Column) -> Iterator[Finding]:
    name, quoted = column.name, f"s.{quote(column.name)}"
    parts = ["COUNT(*)", f"COUNT({quoted})", f"MIN({quoted})", f"MAX({quoted})"]
    parts.append(f"COUNT(DISTINCT {quoted})")
    if is_float(column.type):
        parts += [
            f"COUNT(CASE WHEN ISNAN({quoted}) THEN 1 END)",
            f"COUNT(CASE WHEN ISINF({quoted}) THEN 1 END)",
        ]
    ((rows, present, low, high, distinct, *odd),) = _read_rows(source, ", ".join(parts), [name])
    span = f"{column.type}, {distinct:,} distinct"
    yield Finding("column", name, f"{span}, from {low} to {high}" if present else span)
    if rows > present:
        yield Finding("NULL", name, f"{rows - present:,} of {rows:,} rows", "--nulls drop")
    nan, infinite = odd or (0, 0)
    if nan:
        yield Finding("NaN", name, f"{nan:,} of {rows:,} rows", "--nulls drop")
    if infinite:
        advice = f"legal for ranking metrics; otherwise --where 'isfinite({quote(name)})'"
        yield Finding("infinite", name, f"{infinite:,} of {rows:,} rows", advice)


def _inspect_classes(source: Source, label: Column) -> Iterator[Finding]:
    quoted = f"s.{quote(label.name)}"
    tail = f" WHERE {quoted} IS NOT NULL GROUP BY 1 ORDER BY 2 DESC, 1 LIMIT {_SHOWN + 1}"
    counts = _read_rows(source, f"{quoted}, COUNT(*)", [label.name], tail)
    shown = ", ".join(f"{value!s}: {n:,}" for value, n in counts[:_SHOWN])
    more = ", ..." if len(counts) > _SHOWN else ""
    advice = None
    values = {value for value, _ in counts}
    if len(counts) == 1:
        advice = "one class only: rates and rank metrics that need the other are NULL"
    elif len(counts) == 2 and not (values <= {0, 1} or values <= {-1, 1}):
        advice = f"name the positive value: --positive '{counts[-1][0]}'"
    elif 2 < len(counts) <= _SHOWN:
        advice = "several classes: --task multiclass, or --positive VALUE with --where"
    yield Finding("classes", label.name, shown + more, advice)


def _inspect_score(
    opened: Source, label: str, score: Column, options: dict[str, Any]
) -> Iterator[Finding]:
    quoted = f"s.{quote(score.name)}"
    ((low, high),) = _read_rows(opened, f"MIN({quoted}), MAX({quoted})", [score.name])
    if low is not None and low == high:
        advice = "every rank metric is that of chance; look at the model or the column"
        yield Finding("constant score", score.name, str(low), advice)
    elif low is not None and (low < 0 or high > 1):
        advice = "no probability: give --threshold T; log_loss and brier_score do not apply"
        yield Finding("score range", score.name, f"{low} to {high}", advice)
    try:
        bound = scan(label=label, score=score.name, nulls="drop", **options)
        auc = bound.evaluate("roc_auc").collect()["value"][0]
    except (DataError, RequestError) as error:
        yield Finding("roc_auc", score.name, "cannot be computed", str(error))
        return
    if auc is None:
        return
    below = "below 0.5: the score or the positive class is inverted; --positive VALUE, or negate"
    negated = f'{below} it with --query "SELECT *, -{quote(score.name)} AS negated FROM ..."'
    yield Finding("roc_auc", score.name, f"{auc:.6f}", negated if auc < 0.5 else None)


def inspect(
    source: object = None,
    *,
    label: str | None = None,
    score: Sequence[str] = (),
    key: str | None = None,
    positive: Any = None,
    query: str | None = None,
    con: Any = None,
    verify: bool = False,
) -> list[Finding]:
    """Look at a source and say what would keep it from being evaluated, and what helps.

    Parameters
    ----------
    source, query, con, verify
        As for `sqleval.scan`; a source that can be read only once cannot be inspected.
    label : str, optional
        The label's column: its classes are listed.
    score : sequence of str
        Score columns: range, constant scores and ROC AUC.
    key : str, optional
        The row key: repeats are counted.
    positive : scalar, optional
        The positive value of the label.

    Returns
    -------
    list of Finding
        The number of rows, then what was found column by column.

    Raises
    ------
    RequestError
        If a column does not exist.
    """
    opened = open_source(source, query=query, con=con, name="_sqleval_rows")
    if opened.once:
        raise RequestError("this source can be read only once; inspect it as a Table or a Dataset")
    if verify:
        opened = verify_source(opened)
    opened, columns = embedded().describe(opened)
    named = [("label", label), *(("score", name) for name in score), ("key", key)]
    chosen = [
        find_column(columns, name, role, opened.label) for role, name in named if name is not None
    ]
    ((rows,),) = _read_rows(opened, "COUNT(*)", list(columns)[:1])
    findings = [Finding("rows", None, f"{rows:,}", None if rows else "nothing to evaluate")]
    for column in chosen or columns.values():
        findings += _inspect_column(opened, column)
    if label is not None:
        findings += _inspect_classes(opened, columns[label])
    if key is not None:
        quoted = f"s.{quote(key)}"
        ((again,),) = _read_rows(opened, f"COUNT({quoted}) - COUNT(DISTINCT {quoted})", [key])
        advice = f'--query "SELECT DISTINCT ON ({quote(key)}) * FROM ..." keeps one row a key'
        findings.append(Finding("duplicate keys", key, f"{again:,}", advice if again else None))
    options = {
        "source": source, "query": query, "con": con, "positive": positive, "verify": verify,
    }  # fmt: skip
    for name in score:
        if not is_number(columns[name].type):
            number = f"CAST({quote(name)} AS DOUBLE) AS {quote(name)}"
            advice = f'--query "SELECT * REPLACE ({number}) FROM ..."'
            findings.append(Finding("score type", name, columns[name].type, advice))
        elif label is not None:
            findings += _inspect_score(opened, label, columns[name], options)
    return findings
