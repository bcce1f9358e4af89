"""Fuses the column files of a metric, such as its standard error, into the metric's SELECT."""

from collections.abc import Container, Sequence
from dataclasses import replace

from sqlglot import exp

from sqleval.catalog.contract import Relation
from sqleval.catalog.header import COLUMN_FILES, find_column_word, find_word_line, make_error
from sqleval.catalog.queries import list_columns, list_needs, list_reads, list_uses


def add_parts(metric: Relation, parts: Sequence[Relation]) -> Relation:
    """Add column files to a metric, which then has their columns and reads their relations.

    Its query stays as it is; `fuse` adds the columns that a statement needs.

    Raises
    ------
    LoadError
        If a column file does not fit the metric.
    """
    if not parts:
        return metric
    for i, part in enumerate(parts):
        _check_part(part, (metric, *parts[:i]))
    files = (metric, *parts)
    return replace(
        metric,
        columns=tuple(dict.fromkeys(name for file in files for name in file.columns)),
        reads=tuple(dict.fromkeys(name for file in files for name in file.reads)),
        parts=tuple(parts),
    )


def fuse(metric: Relation, conditions: Container[str]) -> Relation:
    """Return a metric as one SELECT with the columns that hold under some conditions.

    The SELECT reads the relation of the last column file, which is the metric's relation or one
    with further columns.
    """
    words = {word for word, (condition, _) in COLUMN_FILES.items() if condition in conditions}
    parts = tuple(
        part
        for part in metric.parts
        if find_column_word(part.path) in words
        and not ("binned" in conditions and "unbinned" in part.header)
    )
    query = metric.query
    for part in parts:
        items = {item.alias_or_name: item for item in (*query.selects, *part.query.selects)}
        query = part.query.copy()
        query.set("expressions", [item.copy() for item in items.values()])
    reads, tables = list_reads(query, metric.params)
    ctes = {cte.alias for cte in query.find_all(exp.CTE)}
    return replace(
        metric,
        query=query,
        columns=list_columns(query),
        reads=reads,
        tables=tables,
        needs=list_needs(query, ctes),
        uses=list_uses(query, {*ctes, *tables}),
        parts=parts,
    )


def _check_part(part: Relation, before: Sequence[Relation]) -> None:
    """Raise if a column file lacks its columns, or columns that the files before it read."""
    metric, word = before[0], find_column_word(part.path)
    if metric.kind != "metric":
        message = f"only a metric has a file of its {word}, and {metric.path.name} returns no value"
        raise make_error(part.path, 1, message)
    line = find_word_line(part.text, "SELECT")
    missing = [name for name in COLUMN_FILES[str(word)][1] if name not in part.columns]
    if missing:
        raise make_error(part.path, line, f"the output needs the column {missing[0]}")
    source = part.query.args["from_"].this
    read = {
        column.name
        for file in before
        for item in file.query.selects
        if item.alias_or_name not in part.columns
        for column in item.find_all(exp.Column)
    }
    line = find_word_line(part.text, "FROM")
    if isinstance(source, exp.Subquery):
        lost = sorted(read - set(source.this.named_selects))
        if lost:
            message = f"FROM needs the column {lost[0]!r}, which the metric reads"
            raise make_error(part.path, line, message)
    elif read and not part.query.args.get("joins") and _frame(part) != _frame(metric):
        message = f"WHERE and GROUP BY must be as in {metric.path.name}"
        raise make_error(part.path, line, message)


def _frame(relation: Relation) -> str:
    """Return a query without its columns and the name of the relation that it reads.

    A column file may read another relation with the same columns; `Catalogue` checks that.
    """
    query = relation.query.copy()
    query.set("expressions", [exp.Star()])
    query.args["from_"].this.set("this", exp.to_identifier("relation"))
    return query.sql(comments=False)
