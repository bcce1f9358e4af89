"""Compiles the choice of the worst rows, or of those near a threshold, into one statement."""

from collections.abc import Sequence
from functools import lru_cache
from typing import NamedTuple

from sqleval.binding.binding import CELLS, Binding
from sqleval.catalog.catalogue import Catalogue
from sqleval.catalog.request import Request
from sqleval.common.columns import Column, fits_frame
from sqleval.common.sql_text import quote, select, write_double
from sqleval.compiler.builder import Builder
from sqleval.compiler.domain import DomainChecks
from sqleval.compiler.input_rows import RowRelations
from sqleval.compiler.late_labels import list_late_columns
from sqleval.compiler.metric_rows import write_order
from sqleval.compiler.row_losses import (
    check_loss,
    list_row_conditions,
    select_rows,
    write_decision,
    write_row_loss,
)
from sqleval.compiler.statement import Statement

#: The column with the loss or the distance of a row.
_SORTED = "measured"


class Choice(NamedTuple):
    """Which rows of each slice are chosen, and in which order.

    Attributes
    ----------
    n : int
        The number of rows of each slice.
    loss : Request or None
        The metric whose rows are sorted by their loss, the largest first.
    to : float or None
        Without a loss: the score from which the distance of a row is measured, the least first.
    cell : str or None
        The cell of the confusion matrix, ``tp``, ``fp``, ``fn`` or ``tn``, to which rows belong.
    decisions : Request or None
        With a cell: a metric of the decisions, which says at which threshold.
    name : str
        The name of the column with the loss or the distance.
    """

    n: int
    loss: Request | None
    to: float | None
    cell: str | None
    decisions: Request | None
    name: str

    @property
    def direction(self) -> str:
        """The end of the ORDER BY term of the loss or distance."""
        return "" if self.loss is None else " DESC"


@lru_cache(maxsize=64)
def compile_rows(
    binding: Binding,
    columns: tuple[Column, ...],
    choice: Choice,
    catalogue: Catalogue,
    predicate: str | None = None,
) -> Statement:
    """Return the statement of the chosen rows, with the source's columns.

    Raises
    ------
    RequestError
        If the metric is no mean of the losses of rows, or a role is missing.
    """
    shown = {each.name: each for each in columns if each.name not in binding.key_names}
    internal = {name: f"_column_{i}" for i, name in enumerate(shown, start=1)}
    of_labels = list_late_columns(binding)
    also: dict[str, str] = {}
    for name, inner in internal.items():
        sql = f"{'l' if name in of_labels else 's'}.{quote(name)}"
        also[inner] = sql if fits_frame(shown[name].type) else f"CAST({sql} AS VARCHAR)"
    builder = Builder(RowRelations(binding, also=also, dialect=binding.dialect), catalogue)
    builder.relations.place(builder, predicate)
    checks = DomainChecks()
    order, conditions = _write_choice(builder, choice, checks)
    builder.relations.place_audit(builder, checks)
    sql = _select_rows(builder.binding, list(internal.values()), order, conditions, choice)
    cte = builder.add_cte("_chosen", sql, comment="the chosen rows")
    items = {name: f"r.{key}" for name, key in zip(binding.key_names, binding.keys, strict=True)}
    items |= {choice.name: f"r.{_SORTED}"}
    items |= {name: f"r.{inner}" for name, inner in internal.items()}
    keys = [write_order(binding, key) for key in binding.keys_in_order]
    return builder.build_statement(items, cte, [*keys, f"r.{_SORTED}{choice.direction}"])


def _write_choice(builder: Builder, choice: Choice, checks: DomainChecks) -> tuple[str, list[str]]:
    """Return the loss or distance of a row, and the conditions on rows, over ``_source``."""
    binding = builder.binding
    conditions = list_row_conditions(binding)
    for each in (choice.loss, choice.decisions):
        if each is not None:
            check_loss(builder, each, checks)
    if choice.decisions is not None and choice.cell is not None:
        threshold = dict(choice.decisions.parameters).get("threshold", binding.threshold)
        assert threshold is None or isinstance(threshold, (int, float))
        decision = write_decision(builder, threshold)
        for name, value in zip(("label", "prediction"), CELLS[choice.cell], strict=True):
            conditions.append(f"{decision[name]} = {value}")
    if choice.loss is not None:
        return write_row_loss(builder, choice.loss), conditions
    assert choice.to is not None
    return f"ABS(CAST(score AS DOUBLE) - {write_double(choice.to)})", conditions


def _select_rows(
    binding: Binding,
    columns: Sequence[str],
    value: str,
    conditions: Sequence[str],
    choice: Choice,
) -> str:
    """Return the first rows of each slice by their loss or distance."""
    kept = {name: name for name in (*binding.keys, *columns)}
    items, order = {**kept, _SORTED: _SORTED}, f"ORDER BY {_SORTED}{choice.direction}"
    inner = select_rows({**kept, _SORTED: value}, conditions)
    # A value of a row may be undefined, such as a percentage of 0.
    rest = f"FROM (\n{inner}\n) AS judged\nWHERE {_SORTED} IS NOT NULL"
    if not binding.keys:
        # DuckDB sorts only this column, and then reads the others of the chosen rows.
        return select(items, f"{rest}\n{order}\nLIMIT {choice.n}")
    place = f"ROW_NUMBER() OVER (PARTITION BY {', '.join(binding.keys)} {order})"
    ranked = select({**items, "place": place}, rest)
    return select(items, f"FROM (\n{ranked}\n) AS ranked\nWHERE place <= {choice.n}")
