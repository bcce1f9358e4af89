"""Writes the values of rows of which metrics are means as columns of one relation."""

from collections.abc import Mapping

from sqleval.catalog.contract import Relation
from sqleval.catalog.header import CENTRE, VARIANCE
from sqleval.catalog.relations import WEIGHTS
from sqleval.catalog.row_means import ENDING, UNDEFINED, VALUE
from sqleval.common.sql_text import select
from sqleval.compiler.bin_rows import is_row_level, read_expressions
from sqleval.compiler.rewrite import bind_query, write_sql

_NO_VARIANCE = "no_variance"


def has_row_value(relation: Relation | None) -> bool:
    """Whether a step computes a value of each row, of which a metric is the mean."""
    return relation is not None and VALUE in relation.columns and is_row_level(relation)


class RowValues:
    """The relations ``row_values``: one for each sequence of keys, with a column per metric."""

    def __init__(self) -> None:
        #: By the keys: the columns as SQL.
        self._items: dict[tuple[str, ...], dict[str, str]] = {}

    def add(
        self, relation: Relation, keys: tuple[str, ...], parameters: Mapping[str, str]
    ) -> tuple[str, dict[str, str]]:
        """Add the column of a step, unless there is an equal one.

        Parameters
        ----------
        relation : Relation
            The step with the rows of a metric.
        keys : tuple of str
            The columns that replace ``slice``.
        parameters : mapping of str to str
            The name of each of its parameters in the statement.

        Returns
        -------
        str
            The relation, as SQL.
        dict of str to str
            The names of the step's columns in it.
        """
        first = {key: key for key in keys} | {_NO_VARIANCE: "0e0"} | {w: w for w in WEIGHTS}
        items = self._items.setdefault(keys, first)
        expressions = read_expressions(relation.query)
        name = relation.name.removesuffix(ENDING)
        renamed = {VALUE + VARIANCE: _NO_VARIANCE}
        for column, ending in ((VALUE, ""), (UNDEFINED, "_undefined")):
            if column in expressions:
                sql = write_sql(bind_query(expressions[column], (), {}, parameters))
                renamed[column] = _add_column(items, name + ending, sql)
        renamed[VALUE + CENTRE] = renamed[VALUE]
        return select(items, "FROM predictions"), renamed


def _add_column(items: dict[str, str], name: str, sql: str) -> str:
    """Add a column unless there is an equal one; return its name, such as pinball_loss_2."""
    unique, i = name, 1
    while items.get(unique, sql) != sql:
        i += 1
        unique = f"{name}_{i}"
    items[unique] = sql
    return unique
