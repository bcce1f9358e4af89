"""Runs the statements of bound predictions, and judges what their audit found."""

import warnings
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import polars as pl
from polars.io.plugins import register_io_source

from sqleval.common.sql_text import Value
from sqleval.compiler.bins import Bins, fitting
from sqleval.compiler.builder import Plan
from sqleval.compiler.statement import Statement
from sqleval.engines.base import Engine
from sqleval.engines.embedded import embedded
from sqleval.errors import DataError, UnmatchedRows
from sqleval.frontend.plan import FEW_SCORES, distinct_scores, probe, probed_files
from sqleval.inputs.binding import Binding, list_columns_read
from sqleval.inputs.source import Source
from sqleval.inputs.where import write_key_condition

# Polars calls what runs here from a thread of its own, where no signal arrives; but it raises in
# the next of its operations, so the least of them tells whether the user has interrupted.
embedded().on_pulse(lambda: pl.select(pl.lit(1)))
#: Compiles for a plan and a predicate over the source.
Compile = Callable[[Plan, str | None], Statement]


#: The types of slice keys whose values are the same in Python; a DATE may lie beyond its years.
_PLAIN = ("text", "boolean", "integer")


@dataclass(frozen=True)
class Bound:
    """A binding beside the sources that its statements read.

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

    def _objects(self) -> dict[str, object]:
        """Return what must be registered to read the bound columns."""
        ours, theirs = list_columns_read(self.binding)
        objects = self.source.objects(ours)
        return objects | (self.labels.objects(theirs) if self.labels else {})

    def _lazy(
        self, statement: Compile, schema: pl.Schema, choose: Callable[[], Plan] = lambda: "rows"
    ) -> pl.LazyFrame:
        """Return the frame that runs a statement when collected, under the plan chosen then."""

        def read(
            columns: list[str] | None, predicate: pl.Expr | None, n_rows: int | None, _: int | None
        ) -> Iterator[pl.DataFrame]:
            asked = None
            if columns is not None:
                also = predicate.meta.root_names() if predicate is not None else []
                asked = tuple(dict.fromkeys([*columns, *also]))
            pushed = None
            if predicate is not None and n_rows is None:
                pushed = self._pushed(predicate)
            compiled = statement(choose(), pushed).narrowed(asked, n_rows)
            frame = self._frame(compiled, schema)
            if not frame.height and not any(source.once for source in self._sources):
                # The verdict of the audit stands beside the rows, and there are none.
                verdict = self._frame(compiled.upto("_problems", 1))
                self._judged(verdict["problem"][0], verdict["notice"][0])
            frame = self._checked(frame)
            # So many rows are taken before the predicate judges them.
            frame = frame if n_rows is None else frame.head(n_rows)
            if predicate is not None:
                frame = frame.filter(predicate)
            yield frame.select(columns) if columns is not None else frame

        return register_io_source(read, schema=schema)

    def _pushed(self, predicate: pl.Expr) -> str | None:
        keys = {column.name for column in self.binding.by}
        # A key that is not in force is NULL, and says nothing of the rows.
        if self.binding.sets or not keys & set(predicate.meta.root_names()):
            return None
        sql = self.engine.predicate_sql(predicate)
        return write_key_condition(sql, self.binding) if sql else None

    @property
    def _looks_ahead(self) -> bool:
        """Whether it is worth a look at the first scores before a plan is chosen."""
        return self.source.is_large and self.engine.looks_ahead

    def _probed(self) -> tuple[Any, ...]:
        """Return what `probe` says of the first scores."""
        (column, *_) = self.binding.columns_of("score")
        statement = probe(self.binding, column, self.source.approximate_rows)
        objects = self.source.objects([column.name])
        if objects or self.source.con is not None or self.source.duckdb_relation is not None:
            return self.engine.rows(statement, {}, self._sources, objects)[0]
        return probed_files(statement, self.source.label, self.engine)

    def _rows_or_groups(self) -> Plan:
        """Choose rows, with numbers for texts of slices, or distinct scores by the first ones."""
        if not self._looks_ahead or self.binding.state is not None:
            return "rows"
        if self.binding.weighted or self.binding.counted:
            return "numbered"
        probed = self._probed()
        # Measured: up to then groups are found sooner than rows are ranked.
        return "groups" if distinct_scores(probed) < 0.09 * probed[-1] else "numbered"

    def _fitting(self, bins: Bins) -> Plan:
        """Choose the bins that leave a metric open by no more than the tolerance.

        Where scores repeat, their groups are exact, and sooner found; and slices are ranked as
        fast as all rows, while each would have bins of its own.
        """
        if not self._looks_ahead or self.source.once:
            return bins
        if self.binding.keys:
            return self._rows_or_groups()
        probed = self._probed()
        if distinct_scores(probed) < FEW_SCORES and not self.binding.weighted:
            return "groups"
        return fitting(probed, bins)

    def _frame(self, compiled: Statement | str, schema: pl.Schema | None = None) -> pl.DataFrame:
        """Run a statement; its columns take the types that were promised."""
        if isinstance(compiled, str):
            return self.engine.run(compiled, {}, self._sources, self._objects(), pl.DataFrame)
        own = any(source.duckdb_relation is not None for source in self._sources)
        short = not self.binding.keys or self.binding.state is not None or not self.source.is_large
        plain = all(column.kind in _PLAIN for column in self.binding.by)
        if schema is not None and "metric" in schema and short and plain and not own:
            # A row a metric, and slice: of little, that is read in the time of one plan.
            named = {name: schema[name] for name in compiled.columns}
            named |= {"_problem": pl.String(), "_notice": pl.String()}
            rows = self.engine.rows(
                compiled.sql, compiled.params, self._sources, self._objects(), compiled.dense
            )
            return pl.DataFrame(rows, schema=named, orient="row")
        sql = compiled.inlined() if own else compiled.sql
        params: Mapping[str, Value] = {} if own else compiled.params
        frame = self.engine.run(
            sql, params, self._sources, self._objects(), pl.DataFrame, compiled.dense
        )
        if schema is None:
            return frame
        # Not by expressions: a key such as ^.*$ would be a pattern there.
        promised = set(compiled.columns)
        return pl.DataFrame(
            column.cast(schema[column.name]) if column.name in promised else column
            for column in frame.get_columns()
        )

    @staticmethod
    def _judged(problem: str | None, notice: str | None) -> None:
        """Raise what the audit found, or give its notice."""
        if problem is not None:
            raise DataError(problem)
        if notice is not None:
            warnings.warn(notice, UnmatchedRows, stacklevel=3)

    def _checked(self, frame: pl.DataFrame) -> pl.DataFrame:
        """Judge a result by the verdict in its rows, and drop that."""
        if frame.height:
            self._judged(frame["_problem"][0], frame["_notice"][0])
        return frame.drop("_problem", "_notice")
