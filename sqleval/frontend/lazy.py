"""Runs statements when a lazy frame is collected, and raises the problems of their audit."""

import warnings
from collections.abc import Callable, Generator, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import polars as pl

from sqleval.binding.binding import Binding, list_columns_read
from sqleval.binding.where import write_key_condition
from sqleval.common.sql_text import Value
from sqleval.common.telemetry import keep_span
from sqleval.compiler.bins import Bins, create_bins, fit_bins
from sqleval.compiler.builder import Plan
from sqleval.compiler.statement import Statement
from sqleval.dialects.portable import find_unportable
from sqleval.engines.audit import remove_audit, report_audit
from sqleval.engines.base import Engine
from sqleval.engines.lazy_frames import create_lazy_frame
from sqleval.engines.waiting import on_pulse
from sqleval.errors import DataError, FewerPoints, ManySlices
from sqleval.frontend import plan
from sqleval.frontend.plan import (
    BITS_OF_CURVES,
    FEW_SCORES,
    MANY_POINTS,
    estimate_distinct_scores,
    estimate_largest_slice,
    estimate_points,
    fit_buckets,
    probe_files,
    write_probe,
    write_row_count,
    write_score_sample,
)
from sqleval.frontend.schema import HIDDEN
from sqleval.sources.source import Source

# Polars runs this module in a thread of its own, where no signal arrives. After Ctrl-C its next
# operation raises, so a trivial operation shows whether the user has interrupted.
on_pulse.append(lambda: pl.select(pl.lit(1)))
#: Compiles a statement for a plan and a predicate over the source.
Compile = Callable[[Plan, str | None], Statement]
#: Completes the rows of a statement, given the predicate over the source.
Finish = Callable[[pl.DataFrame, str | None], pl.DataFrame]


#: More slices than this give the warning `ManySlices`.
_MANY_SLICES = 5_000
#: The columns of a result that do not depend on intervals.
_EXACT = {"metric", "value", "n", "n_dropped"}
#: Types of slice keys that Python holds without loss; a DATE may be outside its years.
_PLAIN = ("text", "boolean", "integer")


@contextmanager
def _explain_classes() -> Generator[None]:
    """Raise `DataError` for a class outside 64 bits: no other number of a result can be one."""
    try:
        yield
    except (pl.exceptions.PolarsError, OverflowError) as error:
        raise DataError(
            "a class is below -2^63 or above 2^63 - 1, so that no result can hold it as a whole "
            "number; read the label as a text, by query="
        ) from error


@dataclass(frozen=True, eq=False)
class LazyStatements:
    """A binding and its sources: compiles and runs statements as lazy frames.

    Each is equal to itself alone, as a lazy frame is: sources may differ in rows that nobody read.

    Attributes
    ----------
    binding : Binding
        Roles, slice keys and options.
    source, labels : Source
        Where the rows and the late labels come from.
    engine : Engine
        What runs the statements.
    """

    binding: Binding
    source: Source
    labels: Source | None
    engine: Engine

    @property
    def _sources(self) -> list[Source]:
        """The sources that a statement reads."""
        return [self.source] + ([self.labels] if self.labels else [])

    def _list_objects(self) -> dict[str, object]:
        """Return the objects to register with the engine so that it can read the bound columns."""
        ours, theirs = list_columns_read(self.binding)
        objects = self.source.objects(ours)
        return objects | (self.labels.objects(theirs) if self.labels else {})

    def _write_sql(self, statement: str) -> str:
        """Return a statement without parameters as the engine runs it."""
        if self.engine.dialect == "duckdb":
            return statement  # DuckDB finds objects by name; to list them may use up a stream
        return self.engine.write_sql(statement, self._list_objects())

    def _create_lazy_frame(
        self,
        statement: Compile,
        schema: pl.Schema,
        choose: Callable[[], Plan] = lambda: "rows",
        finish: Finish | None = None,
    ) -> pl.LazyFrame:
        """Return the frame that runs a statement when collected, under the plan chosen then.

        ``finish`` adds to the rows what SQL cannot compute, given the predicate on slice keys.
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
                pushed = self._write_predicate(predicate)
            finishes = finish is not None and (columns is None or not {*columns} <= _EXACT)
            compiled = statement(choose(), pushed)
            if not finishes:
                compiled = compiled.narrow(needed_columns, n_rows)
            frame = self._run_statement(compiled, schema)
            if not frame.height and not any(source.once for source in self._sources):
                # The verdict is a column of the rows, and there are none.
                verdict = self._run_statement(compiled.preview_step("_problems", 1))
                report_audit(verdict["problem"][0], verdict["notice"][0])
            frame = remove_audit(frame)
            if finish is not None and finishes:
                frame = finish(frame, pushed)
            if "metric" in schema and self.binding.by:
                self._warn_of_many_slices(frame)
            # Polars takes the first rows before it applies the predicate.
            frame = frame if n_rows is None else frame.head(n_rows)
            if predicate is not None:
                frame = frame.filter(predicate)
            yield frame.select(columns) if columns is not None else frame

        return create_lazy_frame(keep_span(read), schema)

    def _write_predicate(self, predicate: pl.Expr) -> str | None:
        keys = {column.name for column in self.binding.by}
        # With sets a key may be NULL in the result and not in the rows.
        if self.binding.sets or not keys & set(predicate.meta.root_names()):
            return None
        sql = self.engine.predicate_sql(predicate)
        condition = write_key_condition(sql, self.binding) if sql else None
        dialect = self.engine.dialect
        if condition is not None and dialect != "duckdb" and find_unportable(condition, dialect):
            return None  # Polars filters the result
        return condition

    @property
    def _should_probe(self) -> bool:
        """Whether a look at the first scores, to choose a plan, saves time."""
        return self.source.is_large and self.engine.looks_ahead

    def _probe_scores(self) -> tuple[Any, ...]:
        """Return the row of `plan.write_probe`: what the first scores are like."""
        (column, *_) = self.binding.score_columns
        statement = write_probe(self.binding, column, self.source.approximate_rows)
        objects = self.source.objects([each.name for each in (column, *self.binding.by)])
        source = self.source
        places = (source.con, source.duckdb_relation, source.database)
        if objects or any(place is not None for place in places):
            return self.engine.rows(statement, {}, self._sources, objects)[0]
        return probe_files(statement, self.source.label, self.engine)

    def _sample_scores(self) -> tuple[pl.DataFrame, int] | None:
        """Return scores and slice keys of a random sample of rows, and how many rows there are.

        None if one task can rank all rows.
        """
        columns = self.binding.score_columns
        if self.binding.state is not None or not columns:
            return None
        objects = self._list_objects()
        statement = write_row_count(self.binding)
        ((rows,),) = self.engine.rows(statement, {}, self._sources, objects)
        if rows <= plan.ROWS_OF_ONE_TASK:
            return None
        sample = write_score_sample(self.binding, columns, rows)
        return self.engine.run(sample, {}, self._sources, objects, pl.DataFrame), rows

    def _fit_windows(self, sample: pl.DataFrame, rows: int) -> Plan:
        """Return rows, if one task can rank those of any slice, or else ranges of the score."""
        # A set may have fewer keys than the rows have, or none.
        is_sliced = self.binding.by and not self.binding.sets
        if is_sliced and estimate_largest_slice(sample, rows) <= plan.ROWS_OF_ONE_TASK:
            return "rows"
        return fit_buckets(sample.select(pl.col("^score_.*$")))

    def _choose_buckets(self) -> Plan:
        """Choose ranges of the score, so that no task of a distributed engine ranks all rows."""
        sampled = self._sample_scores()
        return "rows" if sampled is None else self._fit_windows(*sampled)

    def _choose_points(self) -> Plan:
        """Choose bins for a curve that has a point a score, where that is too many to send."""
        sampled = self._sample_scores()
        if sampled is None:
            return "rows"
        points = estimate_points(sampled[0])
        if points <= MANY_POINTS:
            return self._fit_windows(*sampled)
        bins = create_bins(BITS_OF_CURVES)
        warnings.warn(
            f"the curve has {points:,.0f} points or more; those at the lowest scores of "
            f"{bins.method} are returned, which are exact; bins= chooses others",
            FewerPoints,
            stacklevel=3,
        )
        return bins

    def _choose_rows_or_groups(self) -> Plan:
        """Choose rows (with integer ids for text slice keys) or distinct scores."""
        if self.engine.is_distributed:
            return self._choose_buckets()
        if not self._should_probe or self.binding.state is not None:
            return "rows"
        if self.binding.has_fractions or self.binding.has_counts:
            return "numbered"
        probed = self._probe_scores()
        # Measured: up to this share, grouping is faster than ranking rows.
        return "groups" if estimate_distinct_scores(probed) < 0.09 * probed[-1] else "numbered"

    def _choose_bins(self, bins: Bins) -> Plan:
        """Choose bins that keep the tolerance, or an exact plan where that is faster.

        Few distinct scores are grouped exactly in less time. With slices, ranking rows is as fast
        as without, while each slice would need bins of its own.
        """
        if not self._should_probe or self.source.once:
            return bins
        if self.binding.keys:
            return self._choose_rows_or_groups()
        probed = self._probe_scores()
        if estimate_distinct_scores(probed) < FEW_SCORES and not self.binding.is_weighted:
            return "groups"
        return fit_bins(probed, bins)

    def _run_statement(
        self, compiled: Statement | str, schema: pl.Schema | None = None
    ) -> pl.DataFrame:
        """Run a statement; cast its columns to the schema."""
        if isinstance(compiled, str):
            return self.engine.run(compiled, {}, self._sources, self._list_objects(), pl.DataFrame)
        has_relation = any(source.duckdb_relation is not None for source in self._sources)
        is_short = (
            not self.binding.keys or self.binding.state is not None or not self.source.is_large
        )
        is_plain = all(column.kind in _PLAIN for column in self.binding.by)
        if schema is not None and "metric" in schema and is_short and is_plain and not has_relation:
            # A few rows are read faster as tuples than as Arrow.
            named = {name: schema[name] for name in compiled.columns}
            named |= {name: HIDDEN[name] for name in compiled.hidden}
            rows = self.engine.rows(
                compiled.sql,
                compiled.params,
                self._sources,
                self._list_objects(),
                compiled.key_bits,
            )
            with _explain_classes():
                return pl.DataFrame(rows, schema=named, orient="row")
        sql = compiled.inline() if has_relation else compiled.sql
        params: Mapping[str, Value] = {} if has_relation else compiled.params
        frame = self.engine.run(
            sql, params, self._sources, self._list_objects(), pl.DataFrame, compiled.key_bits
        )
        # A key may differ from a column of the result in case alone; engines rename one of them.
        frame.columns = [*compiled.columns, *compiled.hidden]
        if schema is None:
            return frame
        # Not by expressions: a key such as ^.*$ would be a pattern there.
        promised = set(compiled.columns)
        with _explain_classes():
            return pl.DataFrame(
                column.cast(schema[column.name]) if column.name in promised else column
                for column in frame.get_columns()
            )

    def _warn_of_many_slices(self, frame: pl.DataFrame) -> None:
        """Warn if so many slices were asked for that nobody reads them."""
        if frame.height <= _MANY_SLICES or "metric" not in frame.columns:
            return
        slices = frame.height // frame["metric"].n_unique()
        if slices > _MANY_SLICES:
            names = ", ".join(column.name for column in self.binding.by)
            warnings.warn(
                f"by= ({names}) makes {slices:,} slices; min_rows= (--min-rows) blanks those of "
                "few rows, and qcut() and cut() make intervals of numbers",
                ManySlices,
                stacklevel=3,
            )
