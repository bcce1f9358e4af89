"""Runs a statement when a lazy frame is collected, and raises the problems that its audit found."""

import warnings
from collections.abc import Callable, Generator, Iterator, Mapping
from contextlib import contextmanager

import polars as pl

from sqleval.binding.where import write_key_condition
from sqleval.common.sql_text import Value
from sqleval.common.telemetry import keep_span
from sqleval.compiler.scope import Plan
from sqleval.compiler.statement import Statement
from sqleval.dialects.portable import find_unportable
from sqleval.engines.audit import remove_audit, report_audit
from sqleval.engines.lazy_frames import create_lazy_frame
from sqleval.engines.waiting import on_pulse
from sqleval.errors import DataError, ManySlices
from sqleval.frontend.bound import Bound, list_objects, list_sources
from sqleval.frontend.schema import HIDDEN
from sqleval.frontend.sorting import sort_units

# Polars runs this module in a thread of its own, where no signal arrives. After Ctrl-C its next
# operation raises, so a trivial operation shows whether the user has interrupted.
on_pulse.append(lambda: pl.select(pl.lit(1)))
#: Compiles a statement for a plan and a predicate over the source.
Compile = Callable[[Plan, str | None], Statement]
#: Completes the rows of a statement, from the rows and the predicate over the source.
Finish = Callable[[pl.DataFrame, str | None], pl.DataFrame]


#: The warning `ManySlices` appears above this number of slices.
_MANY_SLICES = 5_000
#: The columns of a result that do not depend on intervals.
_EXACT = {"metric", "value", "n", "n_dropped"}
#: Kinds of slice keys that Python holds without loss; a DATE may lie outside Python's years.
_PLAIN = ("text", "boolean", "integer")


@contextmanager
def _explain_classes() -> Generator[None]:
    """Raise `DataError` for a class outside 64 bits, the only number that can overflow here."""
    try:
        yield
    except (pl.exceptions.PolarsError, OverflowError) as error:
        raise DataError(
            "a class is below -2^63 or above 2^63 - 1, so that no result can hold it as a whole "
            "number; read the label as a text, by query="
        ) from error


def create_frame(
    bound: Bound,
    statement: Compile,
    schema: pl.Schema,
    choose: Callable[[], Plan] = lambda: "rows",
    finish: Finish | None = None,
) -> pl.LazyFrame:
    """Return a frame that chooses a plan and runs the statement when it is collected.

    ``finish`` adds the values that SQL cannot compute; it gets the predicate on slice keys.
    """

    def read(
        columns: list[str] | None, predicate: pl.Expr | None, n_rows: int | None, _: int | None
    ) -> Iterator[pl.DataFrame]:
        needed_columns = None
        if columns is not None:
            also = predicate.meta.root_names() if predicate is not None else []
            needed_columns = tuple(dict.fromkeys([*columns, *also]))
        pushed = None
        if predicate is not None and n_rows is None:
            pushed = _write_predicate(bound, predicate)
        finishes = finish is not None and (columns is None or not {*columns} <= _EXACT)
        compiled = statement(choose(), pushed)
        if not finishes:
            compiled = compiled.narrow(needed_columns, n_rows)
        frame = run_statement(bound, compiled, schema)
        if not frame.height and not any(source.once for source in list_sources(bound)):
            # Without rows the audit's columns are lost, so its verdict is read by itself.
            verdict = run_statement(bound, compiled.preview_step(compiled.verdict_step, 1))
            report_audit(verdict["problem"][0], verdict["notice"][0])
        frame = remove_audit(frame)
        if finish is not None and finishes:
            frame = finish(frame, pushed)
        if "metric" in schema and bound.binding.by:
            _warn_of_many_slices(bound, frame)
        # Polars takes the first rows before it applies the predicate.
        frame = frame if n_rows is None else frame.head(n_rows)
        if predicate is not None:
            frame = frame.filter(predicate)
        yield frame.select(columns) if columns is not None else frame

    return create_lazy_frame(keep_span(read), schema)


def _write_predicate(bound: Bound, predicate: pl.Expr) -> str | None:
    keys = {column.name for column in bound.binding.by}
    # With sets, a key may be NULL in the result but not in the rows.
    if bound.binding.sets or not keys & set(predicate.meta.root_names()):
        return None
    sql = bound.engine.predicate_sql(predicate)
    condition = write_key_condition(sql, bound.binding) if sql else None
    dialect = bound.engine.dialect
    if condition is not None and dialect != "duckdb" and find_unportable(condition, dialect):
        return None  # then Polars filters the result
    return condition


def run_statement(
    bound: Bound, compiled: Statement | str, schema: pl.Schema | None = None
) -> pl.DataFrame:
    """Run a statement, and cast its columns to the schema."""
    sources, objects = list_sources(bound), list_objects(bound)
    if isinstance(compiled, str):
        return bound.engine.run(compiled, {}, sources, objects, pl.DataFrame)
    compiled, sorted_rows = sort_units(bound, compiled)
    objects |= sorted_rows
    has_relation = any(source.duckdb_relation is not None for source in sources)
    binding = bound.binding
    is_short = not binding.keys or binding.state is not None or not bound.source.is_large
    is_plain = all(column.kind in _PLAIN for column in binding.by)
    if schema is not None and "metric" in schema and is_short and is_plain and not has_relation:
        # A few rows are faster to read as tuples than as Arrow.
        named = {name: schema[name] for name in compiled.columns}
        named |= {name: HIDDEN[name] for name in compiled.hidden}
        rows = bound.engine.rows(
            compiled.sql,
            compiled.params,
            sources,
            objects,
            compiled.key_bits,
        )
        with _explain_classes():
            return pl.DataFrame(rows, schema=named, orient="row")
    sql = compiled.inline() if has_relation else compiled.sql
    params: Mapping[str, Value] = {} if has_relation else compiled.params
    frame = bound.engine.run(sql, params, sources, objects, pl.DataFrame, compiled.key_bits)
    # If a key differs from a column of the result only in case, engines rename one of them.
    frame.columns = [*compiled.columns, *compiled.hidden]
    if schema is None:
        return frame
    # Without expressions, which would read a key such as ^.*$ as a pattern.
    promised = set(compiled.columns)
    with _explain_classes():
        return pl.DataFrame(
            column.cast(schema[column.name]) if column.name in promised else column
            for column in frame.get_columns()
        )


def _warn_of_many_slices(bound: Bound, frame: pl.DataFrame) -> None:
    """Warn if there are more slices than anybody reads."""
    if frame.height <= _MANY_SLICES or "metric" not in frame.columns:
        return
    slices = frame.height // frame["metric"].n_unique()
    if slices > _MANY_SLICES:
        names = ", ".join(column.name for column in bound.binding.by)
        warnings.warn(
            f"by= ({names}) makes {slices:,} slices; min_rows= (--min-rows) blanks slices "
            "of few rows, and qcut() and cut() make intervals of numbers",
            ManySlices,
            stacklevel=3,
        )
