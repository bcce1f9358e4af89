"""Metrics and a bound input to one WITH statement."""

from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from typing import get_args

from sqlglot import exp

from sqleval.catalog import graph, request
from sqleval.catalog.contract import Relation
from sqleval.catalog.request import Request
from sqleval.common.sql_text import Value
from sqleval.compiler import requirements
from sqleval.compiler.bins import Bins
from sqleval.compiler.builder import Builder, Context, Plan
from sqleval.compiler.metric_rows import Placed, columns_beside_keys, statement
from sqleval.compiler.rewrite import fusion_key, text
from sqleval.compiler.state_rows import builder_of
from sqleval.compiler.statement import Cte, Statement
from sqleval.errors import RequestError
from sqleval.inputs.binding import Binding


def _reads(builder: Builder, name: str, context: Context) -> set[str]:
    def resolve(inner: str) -> Relation | None:
        return builder.resolve(inner, context, twin=inner != name)

    return set(graph.closure(name, resolve))


def _twins(builder: Builder, requests: Iterable[Request]) -> set[Request]:
    """Return the requests whose metric has a twin worth taking.

    A twin computes by itself what a step would share, so it pays only where no other
    metric asked for needs a step of the portable file.
    """
    asked = list(requests)
    others = asked if len(asked) > 1 else []
    contexts: dict[Request, Context] = {r: requirements.context(r, builder) for r in asked}
    closures = {r: _reads(builder, r.name, contexts[r]) - {r.name} for r in others}
    taken: set[Request] = set()
    for wanted in asked:
        best = builder.resolve(wanted.name, contexts[wanted])
        if best is None or not best.when & {"rows", "unweighted"}:
            if best is not None and best.when:
                taken.add(wanted)
            continue
        steps = set(wanted.relation.reads)
        if not any(steps & closures[other] for other in others if other != wanted):
            taken.add(wanted)
    return taken


_FILLED = ("value", "note")
_BOUNDS = ("low", "high")
_FOR_INTERVAL = ("successes", "trials", "stderr")


class _Metrics:
    """Places metrics, fusing those that are one plain SELECT from the same relation."""

    def __init__(self, builder: Builder, ci: bool) -> None:
        self.builder = builder
        # Only bins are not exact, and leave something between a low and a high.
        bounds = _BOUNDS if builder.bins is not None else ()
        self.wanted = (*_FILLED, *bounds, *(_FOR_INTERVAL if ci else ()))
        self.fused: dict[object, tuple[str, exp.Select]] = {}

    def place(
        self, wanted: Request, relation: Relation, context: Context, values: Mapping[str, Value]
    ) -> Placed:
        """Write a metric; return the CTE that holds it and its columns there."""
        query = self.builder.bound(relation, context, values)
        if relation.header.get("across"):
            context = None  # what it reads has the substitution's keys, and it has folded them
        named = {item.alias_or_name: item for item in query.selects}
        plain = fusion_key(relation.query)
        key = (query.args["from_"].sql(), plain, context) if plain else (wanted,)
        if key not in self.fused:
            cte = self.builder.add_cte(f"_metrics_{len(self.fused) + 1}", "")
            assert isinstance(query, exp.Select)
            query.set("expressions", [named[name] for name in self.builder.keys(context)])
            self.fused[key] = (cte, query)
        cte, select = self.fused[key]
        i = 1 + sum(item.alias.startswith("value_") for item in select.selects)
        columns = {name: f"{name}_{i}" for name in self.wanted if name in named}
        for name, alias in columns.items():
            select.append("expressions", exp.alias_(named[name].unalias(), alias))
        return Placed(wanted, cte, columns, context)

    def finish(self) -> None:
        for cte, select in self.fused.values():
            self.builder.ctes[cte] = Cte(cte, text(select))


@lru_cache(maxsize=256)
def compile_metrics(
    binding: Binding,
    requests: tuple[Request, ...],
    plan: Plan = "rows",
    ci: float | None = None,
    columns: tuple[str, ...] | None = None,
    predicate: str | None = None,
    limit: int | None = None,
) -> Statement:
    """Return the statement that computes the tall result of ``requests``."""
    if not isinstance(plan, Bins) and plan not in get_args(get_args(Plan)[0]):
        raise RequestError(f"plan={plan!r} must be 'rows', 'numbered' or 'groups'")
    numbered = plan == "numbered" and binding.state is None
    # Counted groups stand for rows only where a weight counts rows.
    frequency = all(each.relation.header.get("weights") == "frequency" for each in requests)
    if not isinstance(plan, Bins) and (
        binding.task != "binary" or binding.weighted or binding.counted or not frequency
    ):
        plan = "rows"
    plan = "rows" if plan == "numbered" else plan
    builder = builder_of(binding, plan, portable=ci is not None)
    builder.numbered = binding.text_keys if numbered else ()
    builder.place_input(predicate)
    return place_metrics(builder, requests, ci, columns, limit)


def place_metrics(
    builder: Builder,
    requests: Sequence[Request],
    ci: float | None = None,
    columns: tuple[str, ...] | None = None,
    limit: int | None = None,
) -> Statement:
    """Write the tall result of ``requests`` over the input that the builder has placed."""
    binding = builder.binding
    requirements.refuse_clash(binding.key_names, columns_beside_keys(requests))
    z = ""
    if ci is not None:
        from statistics import NormalDist  # late: it costs more to import than to use

        z = "$" + builder.parameter("z", NormalDist().inv_cdf(0.5 + ci / 2))
    metrics = _Metrics(builder, ci is not None)
    twins = _twins(builder, requests)
    needing: list[str] = []
    defaulted: list[str] = []
    placed: list[tuple[Placed, str | None]] = []
    for wanted in requests:
        try:
            context = requirements.context(wanted, builder)
            builder.runs = wanted.relation.header.get("units") == "runs"
            relation = builder.resolve(wanted.name, context, twin=wanted in twins)
            assert relation is not None
            guard = requirements.guard(builder, wanted, relation, needing, defaulted)
            values = requirements.values_of(binding, wanted)
            placed.append((metrics.place(wanted, relation, context, values), guard))
        except RequestError as error:
            said = "" if str(error).startswith(f"{wanted.name} ") else f"{request.label(wanted)}: "
            raise RequestError(f"{said}{error}") from None
    metrics.finish()
    return statement(builder, placed, z, needing, defaulted, columns, limit)
