"""Writes the values of a ranking's metrics by query, which states and cells hold."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

from sqleval.binding.binding import Binding
from sqleval.catalog.request import Request
from sqleval.common.columns import Column
from sqleval.common.sql_text import Value, select, write_key_equality
from sqleval.compiler.builder import Builder
from sqleval.compiler.domain import DomainChecks
from sqleval.compiler.late_labels import write_rows_only
from sqleval.compiler.metrics import write_metrics
from sqleval.compiler.placed import PlacedMetric
from sqleval.compiler.rows import write_usable
from sqleval.compiler.state_rows import create_relations, name_values
from sqleval.errors import RequestError


class QueryValues(NamedTuple):
    """The relation `NAME` of the values by query, and how to read it.

    Attributes
    ----------
    builder : Builder
        The statement with the relation. It has a row per query: the keys, ``query``, ``_usable``,
        ``_rows``, ``cluster`` (NULL if a query has several) and the values. For unusable rows,
        query and values are NULL.
    keys : tuple of str
        The slice keys, then the keys of folds that are not pooled.
    columns : dict of str to str
        The column of each metric, by the text that `name_values` returns.
    checks : DomainChecks
        The domain checks of the audit.
    """

    builder: Builder
    keys: tuple[str, ...]
    columns: dict[str, str]
    checks: DomainChecks

    @property
    def ctes(self) -> dict[str, str]:
        """The CTEs as SQL by name; the last is `NAME`."""
        return {name: cte.sql for name, cte in self.builder.ctes.items() if cte.sql}

    @property
    def params(self) -> Mapping[str, Value]:
        """The parameters of the statement."""
        return self.builder.params


#: The relation of the values by query.
NAME = "_by_query"


def write_query_values(
    binding: Binding,
    requests: Sequence[Request],
    predicate: str | None = None,
    cluster: Column | None = None,
) -> QueryValues:
    """Write the values of metrics by query.

    Parameters
    ----------
    binding : Binding
        The rows, or a state, of a ranking.
    requests : sequence of Request
        The metrics; all must have the same keys.
    predicate : str, optional
        A condition on the slice keys.
    cluster : Column, optional
        The column of clusters of queries, such as users.
    """
    for each in requests:
        if each.relation.is_of_all_queries:
            raise RequestError(
                f"{each.name} is one value of all lists, and a state holds values of each list: "
                "leave it out, or evaluate the rows"
            )
    read = binding
    if cluster is not None and "cluster" not in binding.role:
        read = replace(binding, roles=(*binding.roles, ("cluster", cluster)))
    builder = Builder(create_relations(read, "rows"), requests[0].catalogue)
    builder.relations.place(builder, predicate)
    placed, _, checks = write_metrics(builder, requests)
    keys = tuple(key for key in builder.keys(placed[0].substitutions) if key != "query")
    has_cluster = "cluster" in read.role
    builder.add_cte("_queries", _write_queries(binding, keys, has_cluster=has_cluster))
    sql, columns = _join_values(placed, keys, has_cluster=has_cluster)
    builder.add_cte(NAME, sql)
    return QueryValues(builder, keys, columns, checks)


def _write_queries(binding: Binding, keys: Sequence[str], *, has_cluster: bool) -> str:
    """Return the queries with their numbers of rows, and the numbers of unusable rows."""
    origin, usable, size = "_source", write_usable(binding), "COUNT(*)"
    if binding.state is not None:
        origin, usable, size = "_grouped", "_usable", "SUM(_rows)"
    items = {key: key for key in keys}
    items |= {
        "query": f"CASE WHEN {usable} THEN query END",
        "_usable": f"COALESCE({usable}, FALSE)",
    }
    places = ", ".join(str(i) for i in range(1, len(items) + 1))
    items["_rows"] = size
    if has_cluster:
        is_one = "MIN(cluster) = MAX(cluster) AND COUNT(cluster) = COUNT(*)"
        items["cluster"] = f"CASE WHEN {is_one} THEN MIN(cluster) END"
    return select(items, f"FROM {origin}{write_rows_only(binding)}\nGROUP BY {places}")


def _join_values(
    placed: Sequence[PlacedMetric], keys: Sequence[str], *, has_cluster: bool
) -> tuple[str, dict[str, str]]:
    """Return the queries with the values of metrics as SQL, and the columns of the values."""
    names = [*keys, "query", "_usable", "_rows", *(["cluster"] if has_cluster else [])]
    items = {name: f"q.{name}" for name in names}
    columns: dict[str, str] = {}
    joins: dict[str, str] = {}
    for i, each in enumerate(placed, start=1):
        on = f"{write_key_equality('q', each.cte, keys)} AND q.query = {each.cte}.query"
        joins[each.cte] = f"\nLEFT JOIN {each.cte} ON {on}"
        column = columns.setdefault(name_values(each.request), f"value_{i}")
        items[column] = f"CAST({each.cte}.{each.columns['value']} AS DOUBLE)"
    return select(items, f"FROM _queries AS q{''.join(joins.values())}"), columns
