"""Compares the files of a source: columns, types, label rates and mean scores."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from math import asin, sqrt
from os.path import commonpath, relpath
from typing import NamedTuple

from sqleval.common.columns import Column, is_number
from sqleval.common.sql_text import quote, write_literal, write_scalar
from sqleval.engines.embedded import embedded
from sqleval.frontend.computing import Described, compute_roles
from sqleval.inspection.columns import read_rows
from sqleval.inspection.data import Inspection
from sqleval.inspection.findings import Finding, format_number, format_share, list_first, problem
from sqleval.sources.files import open_files
from sqleval.sources.source import Source

#: A value is reported if it differs by this many standard errors,
_ERRORS = 5
#: and by this effect: Cohen's h of two rates or Cohen's d of two means, which he calls "small"
#: (Statistical Power Analysis, 1988); or if one rate is at least twice the other.
_EFFECT = 0.2
_FILE = "_sqleval_file"


class _Part(NamedTuple):
    """The rows, mean and variance of a number in one file."""

    file: str
    n: int
    mean: float
    variance: float


def _differ(part: _Part, others: _Part, *, is_rate: bool) -> float:
    """Return the difference of a file from the others in small effects; 0 if not reported."""
    error = sqrt(part.variance / part.n + others.variance / others.n)
    gap = abs(part.mean - others.mean)
    if gap <= _ERRORS * error:
        return 0.0
    if is_rate:
        effect = abs(2 * asin(sqrt(part.mean)) - 2 * asin(sqrt(others.mean)))
        low, high = sorted((part.mean, others.mean))
        effect = max(effect, _EFFECT if high >= 2 * low else 0.0)
    else:
        spread = sqrt((part.variance + others.variance) / 2)
        effect = gap / spread if spread else 2 * _EFFECT
    return effect / _EFFECT if effect >= _EFFECT else 0.0


def _join(parts: Sequence[_Part]) -> _Part:
    """Return the rows, mean and variance of several files together."""
    n = sum(part.n for part in parts)
    mean = sum(part.n * part.mean for part in parts) / n
    squares = sum(part.n * (part.variance + (part.mean - mean) ** 2) for part in parts)
    return _Part("", n, mean, squares / n)


def _compare(what: str, column: str, parts: Sequence[_Part]) -> Iterator[Finding]:
    """Yield the files in which a rate or a mean differs most from the other files.

    The worst file is removed before the next comparison, because the others would differ from it.
    """
    rest, differences, is_rate = list(parts), list[str](), what == "rate"
    while len(rest) > 1:
        others = [_join([other for other in rest if other is not part]) for part in rest]
        effects = [
            _differ(part, joined, is_rate=is_rate)
            for part, joined in zip(rest, others, strict=True)
        ]
        worst = effects.index(max(effects))
        if not effects[worst]:
            break
        mine, theirs = (
            format_share(each.mean, 1) if is_rate else format_number(each.mean)
            for each in (rest[worst], others[worst])
        )
        differences.append(f"{what} {mine} in {rest.pop(worst).file}, {theirs} in the others")
    if differences:
        more = "; {} more file differs" if len(differences) == 2 else "; {} more files differ"
        yield problem("drift", column, list_first(differences, more, 1))


def _write_moments(condition: str, number: str) -> list[str]:
    value = f"CASE WHEN {condition} THEN CAST({number} AS DOUBLE) END"
    return [f"COUNT({value})", f"AVG({value})", f"VAR_POP({value})"]


def _list_means(data: Inspection) -> Iterator[tuple[str, str, list[str]]]:
    """Yield the compared quantities: "rate" or "mean", the column, and the moments in SQL."""
    if (label := data.label) and data.task_facts.has_two_classes and len(data.classes) == 2:
        is_positive = f"{label.value} = {write_scalar(data.positive_value)}"
        number = f"CASE WHEN {is_positive} THEN 1 ELSE 0 END"
        yield "rate", label.name, _write_moments(label.write_test(finite=False), number)
    columns = [*data.scores.values()]
    if data.label and data.task_facts.has_values:
        columns = [data.label.name, *columns, *data.predictions.values()]
    for facts in (data.columns[name] for name in columns):
        if is_number(facts.column.type):
            yield "mean", facts.name, _write_moments(facts.write_test(finite=True), facts.value)


def _open_files(data: Inspection) -> Source:
    """Return the source with the name of each row's file, and with the roles' expressions."""
    opened = open_files(data.source.files, name_as=_FILE, reading=data.source.reading)
    opened, columns, *_ = describe_all_files(opened)
    roles = {role: [*names.values()] for role, names in data.given.items()}
    return compute_roles(Described(opened, columns), roles, embedded()).source


def compare_files(data: Inspection) -> Iterator[Finding]:
    """Yield the files whose label rate or mean score differs from the other files.

    Files of a table are not compared, because they may hold rows that the table has deleted.
    """
    files = data.source.files
    if len(files) < 2 or data.source.is_table:
        return
    means = list(_list_means(data))
    if not means:
        return
    select = ", ".join([quote(_FILE), *(each for _, _, moments in means for each in moments)])
    by_file = _open_files(data)
    tail = f" WHERE {data.condition} GROUP BY 1 ORDER BY 1"
    rows = read_rows(by_file, select, [], tail)
    folder = commonpath([str(row[0]) for row in rows]) if len(rows) > 1 else ""
    for i, (what, column, _) in enumerate(means):
        parts = [
            _Part(relpath(row[0], folder), *row[3 * i + 1 : 3 * i + 4])
            for row in rows
            if row[3 * i + 1]
        ]
        yield from _compare(what, column, parts)


def describe_all_files(
    source: Source,
) -> tuple[Source, dict[str, Column], list[Finding], frozenset[str]]:
    """Return the source to read, its columns, differences of its files, and the lacking columns.

    A column that some Parquet files lack is read as NULL in these files.
    """
    described, columns = embedded().describe(source)
    findings: list[Finding] = []
    if lacking := _find_lacking(source):
        if "union_by_name" not in described.relation:
            relation = described.relation.removesuffix(")") + ", union_by_name = TRUE)"
            described = replace(described, relation=relation)
            columns = {**embedded().describe(described)[1], **columns}
        for name, (count, file) in lacking.items():
            more = f" and {count - 1} more" if count > 1 else ""
            advice = "cannot be used in a role; --query can leave these files out"
            findings.append(problem("missing column", name, f"not in {file}{more}", advice))
    for column in columns.values():
        if column.unusable and column.name not in lacking:
            reason = column.unusable.partition(";")[0][:160]
            advice = "--query can select or cast it"
            findings.append(problem("cannot be used", column.name, reason, advice))
    return described, columns, findings, frozenset(lacking)


def _find_lacking(source: Source) -> Mapping[str, tuple[int, str]]:
    """Return the columns that some Parquet files lack, with the number of files and the first."""
    if not source.several:
        return {}
    schema = f"PARQUET_SCHEMA([{', '.join(map(write_literal, source.several))}])"
    # The first row of each file is the schema's root, not a column.
    first = "ROW_NUMBER() OVER (PARTITION BY file_name ORDER BY column_id) = 1"
    pairs = f"(SELECT file_name, name FROM {schema} QUALIFY NOT {first})"
    relation = (
        f"(SELECT c.name, f.file_name FROM (SELECT DISTINCT name FROM {pairs}) AS c "
        f"CROSS JOIN (SELECT DISTINCT file_name FROM {pairs}) AS f "
        f"ANTI JOIN {pairs} AS p ON p.name = c.name AND p.file_name = f.file_name)"
    )
    select, tail = "s.name, COUNT(*), MIN(s.file_name)", " GROUP BY 1 ORDER BY 1"
    rows = read_rows(Source(relation, label=source.label), select, [], tail)
    return {name: (count, file) for name, count, file in rows}
