"""Defines `Bound`, rows bound to their roles, and the helpers of the functions that take it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import polars as pl

from sqleval.binding.arguments import check_level
from sqleval.binding.binding import Binding, list_columns_read
from sqleval.binding.lookup import find_column, list_unique_names
from sqleval.catalog import request
from sqleval.catalog.catalogue import Catalogue, builtin
from sqleval.common.columns import Column
from sqleval.engines.base import Engine
from sqleval.errors import RequestError
from sqleval.frontend.computing import compute_roles, describe
from sqleval.resampling.cells import Input
from sqleval.sources.source import Source

Metrics = str | Sequence[str] | None


@dataclass(frozen=True, repr=False, eq=False)
class Bound:
    """A binding with its sources and its engine; no rows have been read yet.

    Like a lazy frame, it equals only itself, because unread rows of two sources may differ.

    Attributes
    ----------
    binding : Binding
        Roles, slice keys and options.
    source, labels : Source
        The sources of the rows and of the late labels.
    engine : Engine
        The engine that runs the statements.
    key_types : polars.Schema
        The slice keys of its results, and their types.
    catalogue : Catalogue
        The SQL files of its metrics and curves.
    labelled : Bound or None
        Labelled predictions, whose calibration is noted on expected metrics.
    """

    binding: Binding
    source: Source
    labels: Source | None
    engine: Engine
    key_types: pl.Schema
    catalogue: Catalogue = field(default_factory=builtin, repr=False)
    labelled: Bound | None = field(default=None, repr=False)


def list_sources(bound: Bound) -> list[Source]:
    """Return the sources that a statement reads."""
    return [bound.source] + ([bound.labels] if bound.labels else [])


def list_objects(bound: Bound) -> dict[str, object]:
    """Return the objects to register with the engine so that it can read the bound columns."""
    ours, theirs = list_columns_read(bound.binding)
    objects = bound.source.objects(ours)
    return objects | (bound.labels.objects(theirs) if bound.labels else {})


def write_sql(bound: Bound, statement: str) -> str:
    """Return a statement without parameters in the SQL that the engine runs."""
    return bound.engine.write_sql(statement, list_sources(bound))


def parse_requests(bound: Bound, metrics: Metrics, ci: float | None) -> tuple[request.Request, ...]:
    """Return the requests of metrics, checked against the roles."""
    check_level(ci)
    return request.parse_all(
        metrics,
        bound.binding.task,
        bound.binding.has_score,
        folds=bool(bound.binding.over),
        catalogue=bound.catalogue,
    )


def refuse_expected(bound: Bound, **options: object) -> None:
    """Raise if an option is given that expected metrics do not support."""
    for name, value in options.items():
        if value is not None:
            raise RequestError(
                f"{name}= is for labelled rows: with expected= a row counts in parts"
            )


def refuse_many_labels(bound: Bound, what: str) -> None:
    """Raise `RequestError` if rows have many labels, with which something does not go."""
    if bound.binding.many is not None:
        label = next(iter(bound.binding.many.names))
        raise RequestError(
            f"{what} does not go with many labels; evaluate one label as two classes, such as "
            f"label= and score= of {label!r}"
        )


def create_clustered(
    bound: Bound, cluster: str | None, requests: Sequence[request.Request]
) -> Input:
    """Return the input of a comparison, in which the labels of a row are a cluster.

    Raises
    ------
    RequestError
        For the mean over rows of many labels, which has no test.
    """
    data = create_input(bound, cluster)
    if bound.binding.many is None:
        return data
    if each := next((each for each in requests if each.is_per_row), None):
        raise RequestError(
            f"{request.format_request(each)} is a mean over rows, which has no comparison; name "
            "metrics by label or pooled, such as f1(average='macro') and f1(average='micro')"
        )
    return data if cluster is not None else data._replace(cluster=bound.binding.many.row)


def create_input(bound: Bound, cluster: str | None) -> Input:
    """Return the input of replicates and tests, with the column of the clusters."""
    from sqleval.resampling.cells import Input

    if bound.binding.is_expected:
        raise RequestError("expected= has no intervals or tests: they need labelled rows")
    rows, column = (bound, None) if cluster is None else bind_cluster(bound, cluster)
    return Input(rows.binding, rows.source, rows.labels, bound.engine, column)


def bind_matches(
    bound: Bound, model: str | None, key: str | Sequence[str] | None, groups: str | None = None
) -> tuple[Bound, tuple[str, ...] | None]:
    """Return the predictions with the columns of a comparison by rows, and the names of its key."""
    names = list_unique_names(key, "key") if key is not None else []
    given = {"model": model, "key": names, "groups": groups}
    if any(given.values()) and bound.binding.state is None:
        described = describe(bound.source, None, bound.engine)
        source = compute_roles(described, given, bound.engine).source
        if source is not described.source:
            binding = replace(bound.binding, relation=source.relation)
            bound = replace(bound, source=source, binding=binding)
    return bound, tuple(names) or None


def bind_cluster(bound: Bound, cluster: str) -> tuple[Bound, Column]:
    """Return the predictions and the column of their clusters, which may be an expression.

    With ``nulls="drop"``, rows without a cluster are left out; else the cells raise for them.
    """
    described = describe(bound.source, None, bound.engine)
    described = compute_roles(described, {"cluster": cluster}, bound.engine)
    source = described.source
    column = find_column(described.columns, cluster, "cluster", source.label)
    if source is not bound.source:
        binding = replace(bound.binding, relation=source.relation)
        bound = replace(bound, source=source, binding=binding)
    if bound.binding.nulls != "drop":
        return bound, column
    roles = (*bound.binding.roles, ("cluster", column))
    return replace(bound, binding=replace(bound.binding, roles=roles)), column
