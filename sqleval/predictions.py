"""Bound predictions, and their results as lazy frames."""

import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import polars as pl
from polars.io.plugins import register_io_source

from sqleval import bind, compose, curves, graph, request, tall
from sqleval.binding import Binding, is_integer
from sqleval.build import Plan, Statement
from sqleval.engine import duckdb as engine
from sqleval.errors import DataError, EngineError, RequestError, UnmatchedRows
from sqleval.names import quote
from sqleval.parameters import Value
from sqleval.source import Source, as_table

#: Compiles for a plan, the columns wanted, a predicate and a limit.
_Compile = Callable[
    [Plan, tuple[str, ...] | None, str | None, int | None],
    Statement,
]
Metrics = str | Sequence[str] | None

_TALL = pl.Schema(
    {
        "metric": pl.String, "value": pl.Float64, "low": pl.Float64, "high": pl.Float64,
        "method": pl.String, "n": pl.Int64, "n_dropped": pl.Int64, "note": pl.String,
    }
)  # fmt: skip


@dataclass(frozen=True)
class Predictions:
    """Predictions bound to their source. Made by `scan`; nothing has been read yet.

    Attributes
    ----------
    binding : Binding
        Roles, slice keys and options.
    source, labels : Source
        Where the rows and the late labels come from.
    """

    binding: Binding
    source: Source
    labels: Source | None
    _key_types: pl.Schema

    @property
    def task(self) -> str:
        """The task: ``binary``, ``multiclass``, ``regression`` or ``ranking``."""
        return self.binding.task

    def evaluate(self, metrics: Metrics = None, *, ci: float | None = None) -> pl.LazyFrame:
        """Return the metrics, one row a metric and slice, computed when collected.

        Parameters
        ----------
        metrics : str or sequence of str, optional
            Names from `sqleval.metrics`, with parameters where wanted: ``"f_beta(beta=2)"``.
            The default set of the task if left out.
        ci : float, optional
            Level of the intervals in ``low`` and ``high``, such as 0.95.

        Returns
        -------
        polars.LazyFrame
            The slice keys, then ``metric``, ``value``, ``low``, ``high``, ``method``, ``n`` (rows
            used), ``n_dropped`` (rows left out) and ``note`` (why a value or interval is missing).
            With ``average=None`` there is a row a class, and ``class`` before ``metric``.

        Raises
        ------
        RequestError
            Now, for an unknown metric or one that does not fit the roles.
        DataError
            On ``collect``, for rows that the metrics cannot use.

        Examples
        --------
        >>> import polars as pl, sqleval
        >>> df = pl.DataFrame({"y": [0, 0, 1, 1], "p": [0.1, 0.4, 0.35, 0.8]})
        >>> sqleval.scan(df, label="y", score="p").evaluate("roc_auc").collect()["value"].item()
        0.75
        """
        requests = self._requests(metrics, ci)
        compose.evaluate(self.binding, requests, "rows", ci)  # what can be refused is refused now

        def statement(
            plan: Plan, columns: tuple[str, ...] | None, predicate: str | None, limit: int | None
        ) -> Statement:
            return compose.evaluate(self.binding, requests, plan, ci, columns, predicate, limit)

        ranked = any(graph.stands_on(each.name, "cutoffs") for each in requests) and ci is None
        classes = {"class": self._own_type("class")} if tall.per_class(requests) else {}
        schema = pl.Schema({**self._key_types, **classes, **_TALL})
        return self._lazy(statement, schema, ranked=ranked)

    def curve(self, name: str, **params: Value) -> pl.LazyFrame:
        """Return a curve with its own columns, such as ``roc_curve`` or ``pr_curve``.

        Parameters
        ----------
        name : str
            A curve from `sqleval.metrics`; the ending ``_curve`` may be left out.
        **params
            The curve's parameters, such as ``drop_intermediate=True``.

        Returns
        -------
        polars.LazyFrame
            The slice keys and the curve's columns, in the curve's order.

        Examples
        --------
        >>> import polars as pl, sqleval
        >>> df = pl.DataFrame({"y": [0, 0, 1, 1], "p": [0.1, 0.4, 0.35, 0.8]})
        >>> sqleval.scan(df, label="y", score="p").curve("roc").collect()["tpr"].to_list()
        [0.0, 0.5, 0.5, 1.0, 1.0]
        """
        return self._relation(request.curve(name, params, self.task))

    def plot(self, curve: str, output: str | None = None, **params: Value) -> Any:
        """Draw a curve: one line a slice, model or class. Needs the extra ``plot``.

        Parameters
        ----------
        curve : str
            As for `curve`: roc, pr, calibration, gain, ks, cost, cost_lines, gain_table ...
        output : str, optional
            A file to write as well, ending in ``.svg``, ``.png`` or ``.html``.
        **params
            The curve's parameters.

        Returns
        -------
        altair.Chart
            Shown by notebooks as it is; ``.save`` and all of Altair work on it.

        Raises
        ------
        MissingExtra
            If Altair is not installed.
        RequestError
            If the curve cannot be drawn.

        Examples
        --------
        >>> import polars as pl, sqleval
        >>> df = pl.DataFrame({"y": [0, 0, 1, 1], "p": [0.1, 0.4, 0.35, 0.8]})
        >>> sqleval.scan(df, label="y", score="p").plot("roc").to_dict()["$schema"][:36]
        'https://vega.github.io/schema/vega-l'
        """
        from sqleval import plots  # late: nothing else here needs Altair

        wanted = request.curve(curve, params, self.task)
        frame = self._relation(wanted).collect()
        keys = [name for name in frame.columns if name not in wanted.relation.columns]
        chart = plots.chart(wanted.name, frame, keys)
        if output is not None:
            plots.save(chart, output)
        return chart

    def confusion(self, *, threshold: float | None = None) -> pl.LazyFrame:
        """Return how often each label met each prediction.

        Parameters
        ----------
        threshold : float, optional
            Overrides the threshold given to `scan`.

        Returns
        -------
        polars.LazyFrame
            The slice keys, ``label``, ``prediction`` and ``n`` (a count, or a sum of weights).

        Examples
        --------
        >>> import polars as pl, sqleval
        >>> df = pl.DataFrame({"y": [0, 0, 1, 1], "p": [0.1, 0.4, 0.35, 0.8]})
        >>> sqleval.scan(df, label="y", score="p").confusion().collect().rows()
        [(0, 0, 2), (1, 0, 1), (1, 1, 1)]
        """
        given: tuple[tuple[str, Value], ...] = ()
        if threshold is not None:
            given = (("threshold", float(threshold)),)
        return self._relation(request.Request("confusion", given))

    def sql(
        self,
        metrics: Metrics = None,
        *,
        ci: float | None = None,
        plan: Plan = "rows",
        params: bool = False,
    ) -> str:
        """Return the statement that `evaluate` runs.

        Parameters
        ----------
        metrics, ci
            As for `evaluate`. A curve's name gives the statement of the curve.
        plan : {"rows", "groups"}
            Whether the units of ``cutoffs`` are rows or distinct scores; the engine chooses
            when it runs.
        params : bool
            Keep the ``$parameters``; otherwise their values stand in the text.

        Examples
        --------
        >>> import polars as pl, sqleval
        >>> df = pl.DataFrame({"y": [0, 1], "p": [0.1, 0.8]})
        >>> print(sqleval.scan(df, label="y", score="p").sql("precision")[:27])
        WITH _source AS NOT MATERIA
        """
        statement = self.statement(metrics, ci=ci, plan=plan)
        return statement.sql if params else statement.inlined()

    def statement(
        self, metrics: Metrics = None, *, ci: float | None = None, plan: Plan = "rows"
    ) -> Statement:
        """Return the compiled statement, with its steps and parameters."""
        if isinstance(metrics, str) and (found := request.as_curve(metrics, self.task)):
            return curves.relation(self.binding, found)
        return compose.evaluate(self.binding, self._requests(metrics, ci), plan, ci)

    def steps(
        self, metrics: Metrics = None, *, rows: int = 5, ci: float | None = None
    ) -> Iterator[tuple[str, str, pl.DataFrame]]:
        """Run a statement step by step: yield each step's name, SQL and first rows.

        Examples
        --------
        >>> import polars as pl, sqleval
        >>> df = pl.DataFrame({"y": [0, 1], "p": [0.1, 0.8]})
        >>> [name for name, _, _ in sqleval.scan(df, label="y", score="p").steps("precision")][:2]
        ['_source', '_audit']
        """
        statement = self.statement(metrics, ci=ci)
        for cte in statement.ctes:
            yield cte.name, cte.sql, self._frame(statement.upto(cte.name, rows))

    # -- running ---------------------------------------------------------------------------

    def _requests(self, metrics: Metrics, ci: float | None) -> tuple[request.Request, ...]:
        if ci is not None and not 0 < ci < 1:
            raise RequestError(f"ci={ci!r} must be between 0 and 1, such as 0.95")
        return request.parse_all(
            metrics, self.task, self.binding.has_score, folds=bool(self.binding.over)
        )

    @property
    def _sources(self) -> list[Source]:
        return [self.source] + ([self.labels] if self.labels else [])

    def _objects(self) -> dict[str, object]:
        ours, theirs = bind.needed(self.binding)
        objects = self.source.objects(ours)
        return objects | (self.labels.objects(theirs) if self.labels else {})

    def _relation(self, wanted: request.Request) -> pl.LazyFrame:
        def statement(
            plan: Plan, columns: tuple[str, ...] | None, predicate: str | None, limit: int | None
        ) -> Statement:
            return curves.relation(self.binding, wanted, columns, predicate, limit)

        own = {name: self._own_type(name) for name in statement("rows", None, None, None).columns}
        return self._lazy(statement, pl.Schema({**own, **self._key_types}), ranked=False)

    def _own_type(self, column: str) -> pl.DataType:
        """Return the type of a curve's column: rates and thresholds, or classes and counts."""
        if column in ("n", "support", "predictions") and not self.binding.weighted:
            return pl.Int64()
        if column in ("model", "other_model", "above"):
            return pl.String()
        if column in ("bin",):
            return pl.Int64()
        if column in ("label", "prediction", "class"):
            several = self.task == "multiclass" and not is_integer(self.binding.role["label"].type)
            return pl.String() if several else pl.Int64()
        return pl.Float64()

    def _lazy(self, statement: _Compile, schema: pl.Schema, *, ranked: bool) -> pl.LazyFrame:
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
            compiled = statement(self._plan(ranked), asked, pushed, n_rows)
            frame = self._frame(compiled, schema)
            if not frame.height and not any(source.once for source in self._sources):
                # The verdict of the audit stands beside the rows, and there are none.
                self._judged(self._frame(compiled.upto("_problems", 1)))
            frame = self._checked(frame)
            if predicate is not None:
                frame = frame.filter(predicate)
            yield frame.select(columns) if columns is not None else frame

        return register_io_source(read, schema=schema)

    def _pushed(self, predicate: pl.Expr) -> str | None:
        keys = {column.name for column in self.binding.by}
        if not keys & set(predicate.meta.root_names()):
            return None
        sql = engine.predicate_sql(predicate)
        return bind.key_predicate(sql, self.binding) if sql else None

    def _plan(self, ranked: bool) -> Plan:
        """Choose rows or distinct scores from the first scores of a large source."""
        repeated = self.binding.weighted or self.binding.counted
        if not ranked or repeated or not self.source.is_large:
            return "rows"
        (column, *_) = self.binding.columns_of("score")
        statement = curves.probe(self.binding, column)
        ((distinct, rows),) = engine.few(
            statement, {}, self._sources, self.source.objects([column.name])
        )
        return "groups" if distinct < 0.5 * rows else "rows"

    def _frame(self, compiled: Statement | str, schema: pl.Schema | None = None) -> pl.DataFrame:
        if isinstance(compiled, str):
            with engine.many(compiled, {}, self._sources, self._objects()) as relation:
                return pl.DataFrame(relation)
        own = any(source.own is not None for source in self._sources)
        tall = schema is not None and "metric" in schema and "class" not in schema
        if schema is not None and tall and not self.binding.keys and not own:
            # Without slices there is a row a metric.
            named = {name: schema[name] for name in compiled.columns}
            named |= {"_problem": pl.String(), "_notice": pl.String()}
            rows = engine.few(compiled.sql, compiled.params, self._sources, self._objects())
            return pl.DataFrame(rows, schema=named, orient="row")
        sql = compiled.inlined() if own else compiled.sql
        params: Mapping[str, Value] = {} if own else compiled.params
        with engine.many(sql, params, self._sources, self._objects()) as relation:
            frame = pl.DataFrame(relation)
        if schema is None:
            return frame
        # Not by expressions: a key such as ^.*$ would be a pattern there.
        promised = set(compiled.columns)
        return pl.DataFrame(
            column.cast(schema[column.name]) if column.name in promised else column
            for column in frame.get_columns()
        )

    @staticmethod
    def _judged(verdict: pl.DataFrame) -> None:
        """Raise what the audit found, or give its notice."""
        problem, notice = verdict["problem"][0], verdict["notice"][0]
        if problem is not None:
            raise DataError(problem)
        if notice is not None:
            warnings.warn(notice, UnmatchedRows, stacklevel=3)

    def _checked(self, frame: pl.DataFrame) -> pl.DataFrame:
        """Judge a result by the verdict in its rows, and drop that."""
        verdict = frame.select(problem="_problem", notice="_notice").head(1)
        if frame.height:
            self._judged(verdict)
        return frame.drop("_problem", "_notice")


def bound(source: Source, labels: Source | None, roles: Mapping[str, Any]) -> Predictions:
    """Return predictions bound to the roles that `sqleval.scan` was given."""
    columns = engine.describe(source)
    late = None if labels is None else engine.describe(labels)
    if labels is not None:
        source, labels = as_table(source), as_table(labels)
    binding = bind.bind(source, columns, labels=labels, label_columns=late, **roles)
    if binding.where is not None:
        try:
            engine.check_condition(source, binding.where)
        except EngineError as error:
            text = str(error.__cause__).split("\n\n")[0]
            raise RequestError(f"where={roles['where']!r}: {text}") from error
    return Predictions(binding, source, labels, _key_types(binding))


def _key_types(binding: Binding) -> pl.Schema:
    """Return the slice keys and the Polars types that their DuckDB types become."""
    types: dict[str, Any] = {}
    for column in binding.by:
        if column.type == "INTERVAL":
            raise RequestError(f"by={column.name!r} is an INTERVAL, which cannot be a slice key")
    if binding.by:
        nulls = ", ".join(f"CAST(NULL AS {c.type}) AS {quote(c.name)}" for c in binding.by)
        with engine.many(f"SELECT {nulls} LIMIT 0", {}, [], {}) as relation:
            types |= pl.DataFrame(relation).schema
    types |= {name: pl.String() for name in binding.key_names if name not in types}
    return pl.Schema(types)
