"""Writes the rows of several metrics: one after the other, or from a join that reads each once.

ClickHouse, DataFusion and Spark compute a relation anew for each place that reads it.
"""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from sqleval.common.sql_text import select, write_key_equality
from sqleval.compiler.builder import Builder


class Branch(NamedTuple):
    """The rows of a metric: a row per slice, or per class.

    Attributes
    ----------
    items : dict of str to str
        The columns, and the SQL of each; ``a`` is the audit.
    joins : tuple of str
        The joins of the audit with the relations that the columns are read from.
    """

    items: Mapping[str, str]
    joins: tuple[str, ...]


def write_join(keys: Sequence[str], cte: str, name: str, *, is_outer: bool = False) -> str:
    """Return the join of the audit with a relation of one row per slice."""
    if keys:
        return f"LEFT JOIN {cte} AS {name} ON {write_key_equality('a', name, keys)}"
    # Without rows there is no class.
    return f"LEFT JOIN {cte} AS {name} ON 1 = 1" if is_outer else f"CROSS JOIN {cte} AS {name}"


def write_union(branches: Sequence[Branch]) -> str:
    """Return the rows of the metrics one after the other."""
    selects = (select(items, _write_source(joins)) for items, joins in branches)
    return "\nUNION ALL\n".join(selects)


def write_joined(builder: Builder, branches: Sequence[Branch]) -> str:
    """Return the rows of the metrics from one row per slice that has the columns of all."""
    keys = builder.binding.keys
    names = [name for name in branches[0].items if name not in (*keys, "ordinal", "metric")]
    wide = {key: f"a.{key}" for key in keys}
    items = {key: f"j.{key}" for key in keys} | {"ordinal": "m.ordinal", "metric": "m.metric"}
    for name in names:
        columns: dict[str, str] = {}  # by their SQL
        for branch in branches:
            columns.setdefault(branch.items[name], f"{name}_{len(columns) + 1}")
        wide |= {column: sql for sql, column in columns.items()}
        cases = (f"WHEN {i} THEN j.{columns[each.items[name]]}" for i, each in enumerate(branches))
        only = next(iter(columns.values()))
        items[name] = f"j.{only}" if len(columns) == 1 else f"CASE m.ordinal {' '.join(cases)} END"
    joins = dict.fromkeys(join for branch in branches for join in branch.joins)
    builder.add_cte("_joined", select(wide, _write_source(list(joins))))
    listed = [(each.items["ordinal"], each.items["metric"]) for each in branches]
    metrics = builder.relations.write_table(("ordinal", "metric"), listed)
    return select(items, f"FROM _joined AS j\nCROSS JOIN (\n{metrics}\n) AS m")


def _write_source(joins: Sequence[str]) -> str:
    return "\n".join(["FROM _audit AS a", *joins])
