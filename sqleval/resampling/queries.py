"""Makes cells of a ranking: queries are drawn whole, each with its value of the metric."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import polars as pl

from sqleval.binding.binding import Binding, Definition
from sqleval.catalog.request import Request
from sqleval.common.sql_text import Value, select
from sqleval.compiler.queries import NAME, write_query_values
from sqleval.compiler.state_rows import name_values
from sqleval.compiler.substitution import averages_folds
from sqleval.engines.embedded import embedded
from sqleval.resampling.rounding import write_rounded
from sqleval.resampling.values import Values
from sqleval.sources.opening import open_source
from sqleval.sources.source import Source

if TYPE_CHECKING:
    from sqleval.resampling.cells import Cells, Input


def create_query_values(
    data: Input, request: Request, predicate: str | None
) -> Callable[[int], Values]:
    """Return a function from a number of significant bits to the `Values` of queries.

    Parameters
    ----------
    data : Input
        A ranking; each model is a slice.
    request : Request
        The metric.
    predicate : str or None
        A condition on the slice keys.
    """
    values = write_query_values(data.binding, [request], predicate, data.cluster)
    (column,) = values.columns.values()
    items = {key: key for key in values.keys} | {"value": column}
    items |= {"cluster": "cluster"} if data.cluster is not None else {}
    ctes = {**values.ctes, "_usable_rows": select(items, f"FROM {NAME}\nWHERE _usable")}
    return round_values(data.binding, request, ctes, values.params, {None: "value"})


def round_values(
    binding: Binding,
    request: Request,
    ctes: Mapping[str, str],
    params: Mapping[str, Value],
    columns: Mapping[str | None, str],
) -> Callable[[int], Values]:
    """Return a function from a number of significant bits to the rounded `Values` of queries.

    Parameters
    ----------
    binding : Binding
        The slice keys of the queries.
    request : Request
        The metric.
    ctes : mapping of str to str
        The CTEs of the queries; the last is ``_usable_rows``.
    params : mapping of str to value
        The parameters of the CTEs.
    columns : mapping of (str or None) to str
        By model (None if there is only one), the column of its values.
    """
    over = binding.over if averages_folds(request, binding) else ()
    # A query counts as one row without a weight.
    keyed = replace(binding, roles=(), state=None, over=over)
    definition = Definition(0, binding.task, 0, (), "", (), (name_values(request),))

    def create(bits: int) -> Values:
        items = {column: write_rounded(column, bits) for column in columns.values()}
        return Values(items, columns, bits > 0, ctes, params, keyed, definition)

    return create


def bind_queries(
    frame: pl.DataFrame, cells: Cells, keys: Sequence[str]
) -> tuple[Source, Binding, pl.DataFrame]:
    """Return drawn queries as a state that holds each query as often as it was drawn.

    Parameters
    ----------
    frame, cells, keys
        As for `replicates.bind_drawn`.
    """
    definition = cells.definition
    assert definition is not None
    (name,) = definition.columns
    by = [*keys, "replicate"]
    folds = [key for key in cells.keys if key not in keys]
    if None in cells.roles:
        frame = frame.rename({cells.roles[None]: name})
    else:
        models = {column: model for model, column in cells.roles.items()}
        frame = frame.unpivot(
            list(models), index=[*by, *folds, "n"], variable_name="model", value_name=name
        ).with_columns(pl.col("model").replace_strict(models, return_dtype=pl.String))
        by.append("model")
    frame = frame.with_columns(used=pl.lit(True))
    source = open_source(frame, name="_sqleval_rows")
    copies = "UNNEST(RANGE(CAST(r.n AS BIGINT)))"
    relation = f"(SELECT r.* FROM {source.relation} AS r CROSS JOIN {copies})"
    source, columns = embedded().describe(source.add_columns(relation, [], ["n"]))
    binding = Binding(
        source.relation,
        definition.task,
        (),
        by=tuple(columns[key] for key in by),
        over=tuple(columns[key] for key in folds),
        nulls="drop",
        state=definition,
    )
    return source, binding, frame
