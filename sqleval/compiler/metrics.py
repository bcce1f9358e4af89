"""Compiles metrics over a bound input into one statement."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from functools import lru_cache
from typing import get_args

from sqleval.binding.binding import Binding
from sqleval.catalog import graph
from sqleval.catalog.contract import Relation, list_interval_columns
from sqleval.catalog.parameters import LEVEL
from sqleval.catalog.request import Request
from sqleval.common.sql_text import Value
from sqleval.compiler import metric_rows, requirements
from sqleval.compiler.bins import Bins
from sqleval.compiler.buckets import Buckets
from sqleval.compiler.builder import Builder
from sqleval.compiler.domain import DomainChecks
from sqleval.compiler.intervals import Level
from sqleval.compiler.placed import PlacedMetric
from sqleval.compiler.rewrite import MetricText, is_plain
from sqleval.compiler.scope import Plan, Scope
from sqleval.compiler.state_rows import create_relations
from sqleval.compiler.statement import Cte, Statement
from sqleval.compiler.thresholds import DECISION_COUNTS, THRESHOLD
from sqleval.errors import RequestError


def _list_steps(builder: Builder, name: str, scope: Scope) -> set[str]:
    def resolve(inner: str) -> Relation | None:
        return builder.resolve(inner, scope, twin=inner != name)

    return set(graph.closure(name, resolve))


def _choose_twins(builder: Builder, requests: Iterable[Request]) -> set[Request]:
    """Return the requests for which a twin of the metric's file is faster.

    A twin does not share the steps of the portable file. It is faster only if no other requested
    metric needs one of these steps.
    """
    candidates = list(requests)
    others = candidates if len(candidates) > 1 else []
    scopes = {r: requirements.create_scope(r, builder)._replace(runs=False) for r in candidates}
    closures = {r: _list_steps(builder, r.name, scopes[r]) - {r.name} for r in others}
    taken: set[Request] = set()
    for request in candidates:
        best = builder.resolve(request.name, scopes[request])
        needed = best is not None and "intervals" in best.when
        if best is None or needed or not best.when & {"rows", "unweighted"}:
            if best is not None and best.when:
                taken.add(request)
            continue
        steps = set(request.relation.reads)
        if not any(steps & closures[other] for other in others if other != request):
            taken.add(request)
    return taken


def _list_thresholds(builder: Builder, requests: Iterable[Request]) -> Iterator[Value]:
    """Yield the threshold of each metric that reads the counts of decisions."""
    for request in requests:
        scope = requirements.create_scope(request, builder)
        if DECISION_COUNTS in _list_steps(builder, request.name, scope):
            declared = builder.list_parameters(scope, request.relation)
            if THRESHOLD in declared:
                yield scope.values.get(THRESHOLD, declared[THRESHOLD].default)


_FILLED = ("value", "note")
_BOUNDS = ("low", "high")


class _Metrics:
    """Places metrics, and fuses metrics that are plain SELECTs from the same relation."""

    def __init__(self, builder: Builder, ci: bool) -> None:
        self.builder = builder
        # With bins, metrics have bounds: the columns low and high.
        bounds = _BOUNDS if builder.bins is not None else ()
        self.wanted = (*_FILLED, *bounds, *(list_interval_columns() if ci else ()))
        self.fused: dict[object, tuple[str, MetricText, list[str], dict[str, None]]] = {}

    def place(self, request: Request, relation: Relation, scope: Scope) -> PlacedMetric:
        """Write a metric; return its CTE and columns."""
        substitutions = scope.substitutions
        text = self.builder.relations.write_kept_metric(request, self.builder.keys(substitutions))
        text = text or self.builder.write_metric(relation, scope)
        reasons = tuple(each.undefined for each in substitutions if each.undefined)
        if relation.header.get("across"):
            # The file itself aggregates over the keys of the innermost substitution.
            substitutions = substitutions[1:]
        supplies = tuple(each.supply for each in substitutions)
        key = (text.frame, supplies) if is_plain(relation.query) else (request,)
        if key not in self.fused:
            cte = self.builder.add_cte(f"_metrics_{len(self.fused) + 1}", "")
            keys = [text.keys[name] for name in self.builder.keys(substitutions)]
            self.fused[key] = (cte, text, keys, {})
        cte, _, items, names = self.fused[key]
        names[request.name] = None
        i = 1 + sum(item.rpartition(" AS ")[2].startswith("value_") for item in items)
        columns = {name: f"{name}_{i}" for name in self.wanted if name in text.items}
        items += [f"{text.items[name]} AS {alias}" for name, alias in columns.items()]
        return PlacedMetric(request, cte, columns, substitutions, reasons)

    def finish(self) -> None:
        for cte, text, items, names in self.fused.values():
            comment = ", ".join(names)
            if len(names) == 1:
                header = self.builder.catalogue.get(comment).header
                comment += f": {header['summary']}"
            self.builder.ctes[cte] = Cte(cte, text.select(items), comment=comment)


def check_plan(plan: object) -> None:
    """Raise `RequestError` for an unknown plan."""
    if not isinstance(plan, (Bins, Buckets)) and plan not in list(get_args(get_args(Plan)[0])):
        raise RequestError(f"plan={plan!r} must be 'rows', 'few', 'numbered', 'sorted' or 'groups'")


@lru_cache(maxsize=256)
def compile_metrics(
    binding: Binding,
    requests: tuple[Request, ...],
    plan: Plan = "rows",
    ci: float | None = None,
    predicate: str | None = None,
    ci_method: str | None = None,
) -> Statement:
    """Return the statement that computes the result of ``requests``.

    ``ci_method`` is as in `Predictions.evaluate`, or ``parts``: then the result has hidden columns
    (`placed.PARTS`) from which tests are computed.

    Raises
    ------
    RequestError
        If a metric does not fit the input.
    """
    # A group may replace its rows only if its count can be a weight.
    frequency = all(each.relation.header.get("weights") == "frequency" for each in requests)
    has_plain_rows = not (binding.has_fractions or binding.has_counts)
    can_group = binding.has_two_classes and has_plain_rows and frequency and binding.many is None
    if plan == "groups" and not can_group:
        plan = "rows"
    builder = Builder(create_relations(binding, plan), requests[0].catalogue, ci=ci is not None)
    builder.relations.place(builder, predicate)
    return place_metrics(builder, requests, ci, ci_method)


def place_metrics(
    builder: Builder,
    requests: Sequence[Request],
    ci: float | None = None,
    ci_method: str | None = None,
) -> Statement:
    """Write the result of ``requests`` over an input that is already placed."""
    return metric_rows.build_statement(builder, *write_metrics(builder, requests, ci, ci_method))


def write_metrics(
    builder: Builder,
    requests: Sequence[Request],
    ci: float | None = None,
    ci_method: str | None = None,
) -> tuple[list[PlacedMetric], Level | None, DomainChecks]:
    """Write the relations of ``requests``, and return each as a `PlacedMetric`."""
    binding = builder.binding
    requirements.check_names(binding.key_names, metric_rows.list_columns(requests))
    level = None
    if ci is not None:
        from statistics import NormalDist  # late: it costs more to import than to use

        level = Level(
            z="$" + builder.add_parameter(LEVEL, NormalDist().inv_cdf(0.5 + ci / 2)),
            alpha="$" + builder.add_parameter("alpha", 1 - ci),
            is_exact=ci_method == "clopper_pearson",
            has_parts=ci_method == "parts",
            is_plain=ci_method == "delong",
        )
    builder.conditions.share_thresholds(_list_thresholds(builder, requests))
    metrics = _Metrics(builder, builder.has_intervals)
    twins = _choose_twins(builder, requests)
    checks = DomainChecks()
    placed: list[PlacedMetric] = []
    for request in requests:
        try:
            scope = requirements.create_scope(request, builder)
            relation = builder.resolve(request.name, scope, twin=request in twins)
            assert relation is not None
            guard = requirements.check_request(builder, request, relation, checks)
            remark = requirements.check_threshold(builder, request, relation, checks)
            remark = remark or requirements.check_class_sums(binding, request, checks)
            metric = metrics.place(request, relation, scope)
            if request.reduce == "difference_to_all":
                rest = scope._replace(substitutions=scope.substitutions[:-1])
                plain = replace(request, reduce=None)
                metric = metric._replace(whole=metrics.place(plain, relation, rest))
            placed.append(metric._replace(guard=guard, remark=remark))
        except RequestError as error:
            raise requirements.name_request(request, error) from None
    metrics.finish()
    return placed, level, checks
