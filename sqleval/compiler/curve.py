"""Compiles one curve or step into a statement with the columns of its file."""

from functools import lru_cache

from sqleval.binding.binding import Binding
from sqleval.catalog.contract import Relation
from sqleval.catalog.request import Request
from sqleval.compiler.builder import Builder
from sqleval.compiler.domain import DomainChecks
from sqleval.compiler.metric_rows import write_order
from sqleval.compiler.requirements import (
    check_names,
    check_request,
    collect_values,
    name_request,
)
from sqleval.compiler.rewrite import SLICE
from sqleval.compiler.scope import Plan, Scope
from sqleval.compiler.state_rows import create_relations
from sqleval.compiler.statement import Statement
from sqleval.compiler.substitution import CLASSES, LABELS, Substitution, list_keys
from sqleval.errors import RequestError


def is_per_class(binding: Binding, relation: Relation) -> bool:
    """Whether a curve of two classes is computed once per class."""
    return binding.has_several_classes and relation.task == "two classes"


def _list_substitutions(binding: Binding, relation: Relation) -> tuple[Substitution, ...]:
    """Return the classes or labels for each of which a curve is computed."""
    if binding.many is not None:
        return (LABELS,)
    return (CLASSES,) if is_per_class(binding, relation) else ()


@lru_cache(maxsize=256)
def compile_curve(
    binding: Binding, request: Request, plan: Plan = "rows", predicate: str | None = None
) -> Statement:
    """Return the statement of one curve or step.

    Raises
    ------
    RequestError
        If a role is missing, or a slice key is called like a column of the curve.
    """
    # A curve has one row per score, so its units are distinct scores.
    builder = Builder(create_relations(binding, plan), request.catalogue, portable=True)
    builder.relations.place(builder, predicate)
    return place_curve(builder, request)


def place_curve(builder: Builder, request: Request) -> Statement:
    """Write a curve or step over an input that is already placed."""
    binding = builder.binding
    relation = request.relation
    is_step = relation.kind not in ("curve", "metric")
    substitutions = () if is_step else _list_substitutions(binding, relation)
    checks = DomainChecks()
    try:
        check_request(builder, request, relation, checks)
        cte = builder.place(request.name, Scope(substitutions, collect_values(binding, request)))
    except RequestError as error:
        raise name_request(request, error) from None
    builder.relations.place_audit(builder, checks)
    columns = [column for column in relation.columns if column != SLICE]
    extra = [key for key in list_keys(substitutions) if key not in columns]
    keys = dict(zip(binding.key_names, binding.keys, strict=True))
    if relation.header.get("across") == "model":
        del keys["model"]
    check_names(keys, [*columns, *extra])
    items = {name: f"r.{key}" for name, key in keys.items()}
    having = set(keys.values())
    order = [write_order(binding, key) for key in binding.keys_in_order if key in having]
    home = {column: f"r.{column}" for column in (*extra, *columns)}
    if LABELS in substitutions:
        # A row per label, or several, instead of the classes 1 and 0.
        key = home.pop(LABELS.supply.keys[0])
        home = {"class": key} | home | {"class": key}
        extra = ["class"]
    items |= home
    order += [home[key] for key in extra]
    for part in str(relation.header.get("order", ", ".join(columns))).split(", "):
        column, *direction = part.split()
        order.append(" ".join([home[column], *direction]))
    return builder.build_statement(items, cte, order)
