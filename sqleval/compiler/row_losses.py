"""Writes the loss of each row, of which a metric is the mean, as SQL over ``_source``."""

from collections.abc import Iterable, Iterator, Mapping

from sqlglot import exp

from sqleval.binding.binding import Binding
from sqleval.catalog.contract import Relation
from sqleval.catalog.request import Request, format_request
from sqleval.catalog.row_means import VALUE
from sqleval.common.sql_text import select
from sqleval.compiler.bin_rows import is_row_level, read_expressions
from sqleval.compiler.builder import Builder
from sqleval.compiler.classes import write_class, write_class_value
from sqleval.compiler.domain import DomainChecks
from sqleval.compiler.requirements import check_request, collect_values, name_request
from sqleval.compiler.rewrite import bind_query, write_sql
from sqleval.compiler.row_values import has_row_value
from sqleval.compiler.rows import (
    list_internal_columns,
    write_further,
    write_judged,
    write_row_count,
    write_usable,
)
from sqleval.compiler.scope import Scope
from sqleval.errors import RequestError

#: The step with the label and the prediction of each row.
_DECISIONS = "decisions"


def list_row_conditions(binding: Binding) -> list[str]:
    """Return the conditions of rows that count: usable, and with a weight or count above 0."""
    conditions = [write_usable(binding)]
    if binding.is_weighted:
        conditions.append("weight > 0")
    if binding.has_counts:
        conditions.append(f"{write_row_count(binding)} > 0")
    return conditions


def select_rows(items: Mapping[str, str], conditions: Iterable[str]) -> str:
    """Return the SELECT of rows of ``_source`` that meet conditions."""
    where = "\n  AND ".join(f"({each})" for each in conditions if each != "TRUE")
    return select(items, "FROM _source" + (f"\nWHERE {where}" if where else ""))


def check_loss(builder: Builder, request: Request, checks: DomainChecks) -> None:
    """Add the needs of a metric to ``checks``; an error names the metric."""
    try:
        check_request(builder, request, request.relation, checks)
    except RequestError as error:
        raise name_request(request, error) from None


def write_row_loss(builder: Builder, request: Request) -> str:
    """Return the loss of a row, whose mean is the metric, as SQL over ``_source``.

    Raises
    ------
    RequestError
        If the metric is no mean of the losses of rows.
    """
    scope = Scope(values=collect_values(builder.binding, request))
    relation = builder.resolve(request.name, scope)
    node = None
    if relation is not None and relation.header.get("direction") == "lower":
        node = _read_loss(builder, relation, scope)
    if relation is None or node is None or request.average or request.reduce:
        names = ", ".join(list_losses(builder))
        raise RequestError(
            f"{format_request(request)} is no mean of a loss of each row; metrics that are: "
            f"{names or f'none of the task {builder.binding.task!r}'}"
        )
    return _write_over_source(builder, node, relation, scope)


def write_decision(builder: Builder, threshold: float | None) -> Mapping[str, str]:
    """Return ``label`` and ``prediction`` of a row of two classes as SQL over ``_source``."""
    scope = Scope(values={} if threshold is None else {"threshold": threshold})
    step = builder.resolve(_DECISIONS, scope)
    assert step is not None
    expressions = read_expressions(step.query)
    return {
        name: _write_over_source(builder, expressions[name], step, scope)
        for name in ("label", "prediction")
    }


def list_losses(builder: Builder) -> Iterator[str]:
    """Yield the metrics that are the mean of a loss of each row, of the task's metrics."""
    for each in builder.catalogue.relations("metric"):
        if each.task not in builder.binding.facts.metrics:
            continue
        relation = builder.resolve(each.name, Scope())
        if relation is None or relation.header.get("direction") != "lower":
            continue
        if _read_loss(builder, relation, Scope()) is not None:
            yield each.name


def _read_loss(builder: Builder, relation: Relation, scope: Scope) -> exp.Expr | None:
    """Return a metric's loss of a row as an expression over ``predictions``; None without one."""
    if (written := relation.header.get("row_value")) is not None:
        step, node = builder.resolve(_DECISIONS, scope), exp.maybe_parse(written, dialect="duckdb")
    elif len(relation.reads) != 1:
        return None
    else:
        step, node = builder.resolve(relation.reads[0], scope), _find_mean(relation)
    if step is None:
        return None
    if has_row_value(step):
        return read_expressions(step.query)[VALUE]
    if node is None or not (is_row_level(step) or _has_class_score(step)):
        return None
    below = read_expressions(step.query)

    def inline(inner: exp.Expr) -> exp.Expr:
        if not isinstance(inner, exp.Column) or inner.name not in below:
            return inner
        return exp.paren(below[inner.name].copy(), copy=False)

    return node.copy().transform(inline)


def _find_mean(relation: Relation) -> exp.Expr | None:
    """Return what a metric is the mean of: ``x`` in ``SUM(weight * x) / SUM(weight)``."""
    value = next((e for e in relation.query.selects if e.alias_or_name == "value"), None)
    ratio = value.unalias() if value is not None else None
    if not isinstance(ratio, exp.Div) or not isinstance(ratio.expression, exp.Nullif):
        return None
    total, weights = ratio.left.unnest(), ratio.expression.this
    total = total.this if isinstance(total, exp.Cast) else total
    if isinstance(weights, exp.Case):  # a metric with normalize=, which may also be the sum
        weights = weights.args["ifs"][0].args["true"]
    if not isinstance(total, exp.Sum) or weights.sql() != "SUM(weight)":
        return None
    product = total.this
    is_weighted = isinstance(product, exp.Mul) and product.left.sql() == "weight"
    return product.right if is_weighted else None


def _has_class_score(step: Relation) -> bool:
    """Whether a step has one row per row, with the score of its class."""
    where = step.query.find(exp.Where)
    return step.reads == ("class_scores",) and where is not None and where.this.sql() in _OF_LABEL


#: The conditions that keep the score of the label's class.
_OF_LABEL = ("label = class", "class = label")


def _write_over_source(builder: Builder, node: exp.Expr, relation: Relation, scope: Scope) -> str:
    """Write an expression over ``predictions`` as SQL over ``_source``."""
    binding = builder.binding
    columns = _list_columns(binding)
    declared = builder.list_parameters(scope, relation)
    names = {
        name: builder.add_parameter(name, scope.values.get(name, param.default))
        for name, param in declared.items()
        if param.kind != "matrix"
    }

    def replace_column(inner: exp.Expr) -> exp.Expr:
        is_known = isinstance(inner, exp.Column) and inner.name in columns
        return columns[inner.name].copy() if is_known else inner

    return write_sql(bind_query(node.copy().transform(replace_column), (), {}, names))


def _list_columns(binding: Binding) -> Mapping[str, exp.Expr]:
    """Return the columns of ``predictions`` as expressions over ``_source``."""
    bound = {name for name, _, _ in list_internal_columns(binding)}
    columns = write_judged(binding, bound)
    columns |= {role: write_further(binding, role) for role in binding.further}
    if binding.classes:
        label = binding.role["label"]
        cases = " ".join(
            f"WHEN {write_class_value(label, value)} THEN score_{i}"
            for i, (value, _) in enumerate(binding.classes, start=1)
        )
        columns["score"] = f"CASE {write_class(label, 'label')} {cases} END"
    return {
        name: exp.paren(exp.maybe_parse(sql, dialect="duckdb")) for name, sql in columns.items()
    }
