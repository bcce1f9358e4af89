"""`Predictions`: a binding with the methods that evaluate it, as lazy frames."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from os import PathLike, fspath
from typing import Any

import polars as pl

from sqleval.binding.arguments import check_level
from sqleval.binding.roles import check_threshold
from sqleval.catalog import request
from sqleval.common.numbers import convert_scalar
from sqleval.common.sql_text import Value
from sqleval.compiler.bins import Bins, create_bins, parse_bins
from sqleval.compiler.builder import Plan
from sqleval.compiler.curve import compile_curve
from sqleval.compiler.metrics import check_plan, compile_metrics
from sqleval.compiler.statement import Statement
from sqleval.errors import RequestError
from sqleval.frontend.comparisons import Comparisons
from sqleval.frontend.description import write_line, write_table
from sqleval.frontend.evaluations import Metrics
from sqleval.frontend.plan import BITS_OF_CURVES
from sqleval.frontend.schema import get_column_type
from sqleval.resampling.deferred import defer_frame


@dataclass(frozen=True, repr=False, eq=False)
class Predictions(Comparisons):
    """Predictions bound to their source. Made by `scan`; nothing has been read yet.

    Attributes
    ----------
    key_types : polars.Schema
        The slice keys of its results, and their types.
    catalogue : Catalogue
        The SQL files of its metrics and curves.
    """

    def __repr__(self) -> str:
        """Return the task, the source and the columns in their roles, on a line."""
        return write_line(self.binding, self.source.label)

    def _repr_html_(self) -> str:
        """Return the same as a table, as notebooks show it."""
        return write_table(self.binding, self.source.label)

    @property
    def task(self) -> str:
        """The task: ``binary``, ``multiclass``, ``regression`` or ``ranking``."""
        return self.binding.task

    def curve(
        self,
        name: str,
        *,
        ci: float | None = None,
        replicates: int = 500,
        seed: int = 0,
        cluster: str | None = None,
        **params: Value,
    ) -> pl.LazyFrame:
        """Return a curve with its own columns, such as ``roc_curve`` or ``pr_curve``.

        Parameters
        ----------
        name : str
            A curve from `sqleval.metrics`; the ending ``_curve`` may be left out.
        ci : float, optional
            Level of bands around a ROC, PR, gain, cost or calibration curve, such as 0.95. A curve
            over 0 .. 1 then has 201 equally spaced points. ``low`` .. ``high`` covers each point
            with probability ``ci``, ``simultaneous_low`` .. ``simultaneous_high`` the whole curve.
            The bands come from the bootstrap (percentiles; sup-t); those of a calibration curve of
            independent rows are exact intervals of the share in each bin. Needs SciPy.
        replicates, seed, cluster
            Of the bootstrap, as for `evaluate`; with ``ci`` replicates cannot be 0.
        **params
            The curve's parameters, such as ``drop_intermediate=True``. ``bins=``, for a curve that
            has no parameter of that name, is that of `evaluate`: the points are then the exact
            ones at the lowest score of each bin.

        Returns
        -------
        polars.LazyFrame
            The slice keys and the curve's columns, in the curve's order.

        Raises
        ------
        RequestError, MissingExtra
            Now, for a wrong curve, parameter or role; if ``ci`` needs SciPy.
        DataError
            On ``collect``, for rows that the curve cannot use.

        Examples
        --------
        >>> import polars as pl, sqleval
        >>> df = pl.DataFrame({"y": [0, 0, 1, 1], "p": [0.1, 0.4, 0.35, 0.8]})
        >>> sqleval.scan(df, label="y", score="p").curve("roc").collect()["tpr"].to_list()
        [0.0, 0.5, 0.5, 1.0, 1.0]
        """
        curve_request, bins = self._parse_curve(name, params)
        if self.binding.is_expected:
            self._refuse_expected(ci=ci, bins=bins)
        if ci is None:
            check_level(ci, cluster=cluster)
            return self._evaluate_curve(curve_request, bins)
        return self._evaluate_bands(curve_request, bins, ci, replicates, seed, cluster)

    def state(
        self,
        metrics: Metrics = None,
        *,
        by: str | Sequence[str] | None = None,
        grain: str | None = None,
        time: str | None = None,
        timezone: str | None = None,
        bins: int = 11,
        ci: bool = False,
    ) -> pl.LazyFrame:
        """Return counts and sums of the rows, by slice and period, for `from_state` to evaluate.

        Write it wherever tables are kept: ``.sink_parquet("day.parquet")``. States of different
        rows are added up by reading them together.

        Parameters
        ----------
        metrics : str or sequence of str, optional
            Metrics whose sums over rows the state must hold; the default set of the task if left
            out. Metrics of ranked scores need no sums: any state gives them.
        by : str or sequence of str, optional
            Slice keys, instead of those of `scan`.
        grain, time : str, optional
            The length of a period (hour, day, week, month, quarter, year), and the column, a date,
            time or text, that decides the period of a row; the key ``period`` is its first day.
        timezone : str, optional
            Where the days begin; UTC if left out.
        bins : int
            The significant bits of a score that are kept.
        ci : bool
            Also hold the sums of squared deviations that intervals of means need.

        Returns
        -------
        polars.LazyFrame
            One row a slice, label, bin and side of each threshold: the keys, ``label``,
            ``score`` (the bin), ``score_low``, ``score_high``, ``n``, ``used`` (whether the rows
            are usable), the sums, and ``definition``, which says what they are. Sorted by the keys.

        Raises
        ------
        RequestError
            If there is no score or decision, or a key has the name of one of these columns.

        Examples
        --------
        >>> import polars as pl, sqleval
        >>> df = pl.DataFrame({"y": [0, 0, 1, 1], "p": [0.1, 0.4, 0.35, 0.8]})
        >>> state = sqleval.scan(df, label="y", score="p").state("log_loss")
        >>> state.collect().select("label", "score", "n").sort("score").rows()[0]
        (0, 0.0999755859375, 1)
        """
        from sqleval.states import making  # late: most calls make no state

        built_state = making.build_state(
            self.binding, self.source, self.engine, metrics, by=by, grain=grain, time=time,
            timezone=timezone, bins=bins, ci=ci, catalogue=self.catalogue,
        )  # fmt: skip

        def statement(*_: object) -> Statement:
            return built_state.statement

        return replace(self, binding=built_state.binding)._create_lazy_frame(
            statement, built_state.schema
        )

    def plot(
        self,
        curve: str,
        output: str | PathLike[str] | None = None,
        *,
        ci: float | None = None,
        replicates: int = 500,
        seed: int = 0,
        cluster: str | None = None,
        **params: Value,
    ) -> Any:
        """Draw a curve: one line a slice, model or class. Needs the extra ``plot``.

        Parameters
        ----------
        curve : str
            As for `curve`: roc, pr, calibration, gain, ks, cost, cost_lines, gain_table ...
        output : path, optional
            A file to write as well, ending in ``.svg``, ``.png`` or ``.html``.
        ci, replicates, seed, cluster
            Of bands around the curve, as for `curve`.
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
        from sqleval.frontend.pictures import draw  # late: nothing else here needs Altair
        from sqleval.plots.charts import check_suffix, save_chart

        if output is not None:
            check_suffix(output)
        bands = {"ci": ci, "replicates": replicates, "seed": seed, "cluster": cluster}
        chart = draw(self, curve, params, bands)
        if output is not None:
            save_chart(chart, fspath(output))
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

        Raises
        ------
        RequestError
            If the predictions are not classes, or the threshold is not a number.
        DataError
            On ``collect``, for missing values, or scores outside 0 .. 1 without a threshold.

        Examples
        --------
        >>> import polars as pl, sqleval
        >>> df = pl.DataFrame({"y": [0, 0, 1, 1], "p": [0.1, 0.4, 0.35, 0.8]})
        >>> sqleval.scan(df, label="y", score="p").confusion().collect().rows()
        [(0, 0, 2), (1, 0, 1), (1, 1, 1)]
        """
        threshold = convert_scalar(threshold)
        check_threshold(threshold)
        if not self.binding.has_classes:
            raise RequestError(
                f"confusion() is for classes, and these are predictions of the task {self.task!r}; "
                "task='multiclass' (--task multiclass) takes numbers as classes"
            )
        parameters = () if threshold is None else (("threshold", float(threshold)),)
        confusion = request.Request("confusion", parameters, catalogue=self.catalogue)
        return self._evaluate_curve(confusion)

    def sql(
        self,
        metrics: Metrics = None,
        *,
        ci: float | None = None,
        bins: int | None = None,
        plan: Plan = "rows",
        params: bool = False,
    ) -> str:
        """Return the statement that `evaluate` runs, for a warehouse in its own SQL.

        Parameters
        ----------
        metrics, ci, bins
            As for `evaluate`. A curve's name gives the statement of the curve.
        plan : {"rows", "numbered", "groups"}
            The units of ``cutoffs``: rows, rows with an integer id in place of text slice keys, or
            distinct scores. `evaluate` chooses by itself.
        params : bool
            Keep the ``$parameters``, in DuckDB's SQL; otherwise their values stand in the text.

        Examples
        --------
        >>> import polars as pl, sqleval
        >>> df = pl.DataFrame({"y": [0, 1], "p": [0.1, 0.8]})
        >>> print(sqleval.scan(df, label="y", score="p").sql("precision")[:27])
        WITH _source AS NOT MATERIA
        """
        statement = self.statement(metrics, ci=ci, bins=bins, plan=plan)
        return statement.sql if params else self._write_sql(statement.inline())

    def statement(
        self,
        metrics: Metrics = None,
        *,
        ci: float | None = None,
        bins: int | None = None,
        plan: Plan = "rows",
    ) -> Statement:
        """Return the compiled statement, with its steps and parameters."""
        check_plan(plan)
        if isinstance(metrics, str) and (
            table_request := request.parse_table(metrics, self.task, self.catalogue)
        ):
            if ci is not None:
                raise RequestError(
                    f"ci= is for the SQL of metrics, and {table_request.name} is a curve; "
                    "curve() gives its bands"
                )
            return compile_curve(self.binding, table_request, parse_bins(bins) or "rows")
        requests = self._parse_requests(metrics, ci)
        return compile_metrics(self.binding, requests, parse_bins(bins) or plan, ci)

    def steps(
        self,
        metrics: Metrics = None,
        *,
        rows: int = 5,
        ci: float | None = None,
        bins: int | None = None,
        plan: Plan = "rows",
    ) -> Iterator[tuple[str, str, pl.DataFrame]]:
        """Run a statement step by step: yield each step's name, SQL and first rows.

        Examples
        --------
        >>> import polars as pl, sqleval
        >>> df = pl.DataFrame({"y": [0, 1], "p": [0.1, 0.8]})
        >>> [name for name, _, _ in sqleval.scan(df, label="y", score="p").steps("precision")][:2]
        ['_source', '_audit']
        """
        statement = self.statement(metrics, ci=ci, bins=bins, plan=plan)
        for cte in statement.ctes:
            yield cte.name, cte.sql, self._run_statement(statement.preview_step(cte.name, rows))

    def _parse_curve(
        self, name: str, params: Mapping[str, Value]
    ) -> tuple[request.Request, Bins | None]:
        """Return the request of a curve, and its bins."""
        arguments = dict(params)
        has_bins = request.has_parameter(name, "bins", self.catalogue)
        bins = None if has_bins else arguments.pop("bins", None)
        return request.parse_curve(name, arguments, self.task, self.catalogue), parse_bins(bins)

    def _evaluate_bands(
        self,
        curve_request: request.Request,
        bins: Bins | None,
        ci: float,
        replicates: int,
        seed: int,
        cluster: str | None,
    ) -> pl.LazyFrame:
        """Return a curve with bands."""
        from sqleval.curves import bands  # late: it needs SciPy

        options = bands.parse_options(ci, replicates, seed)
        data = self._create_input(cluster)
        bands.check_source(data)
        if bins is None and self.binding.state is None and self.source.is_large:
            is_ranked = curve_request.depends_on("score_counts")
            bins = create_bins(BITS_OF_CURVES) if is_ranked else None
        exact = self._evaluate_curve(curve_request, bins)
        types = exact.collect_schema()
        names = bands.list_columns(curve_request, types.names())
        schema = pl.Schema({name: types.get(name, pl.Float64) for name in names})
        return defer_frame(
            lambda: bands.add_bands(exact.collect(), data, curve_request, options), schema
        )

    def _evaluate_curve(
        self, curve_request: request.Request, bins: Bins | None = None
    ) -> pl.LazyFrame:
        def statement(plan: Plan, predicate: str | None) -> Statement:
            return compile_curve(self.binding, curve_request, plan, predicate)

        def choose() -> Plan:
            if bins is not None or not self.engine.is_distributed:
                return bins or "rows"
            if not curve_request.depends_on("score_counts"):
                return "rows"
            by_score = str(curve_request.relation.header.get("order")).startswith("threshold")
            return self._choose_points() if by_score else self._choose_buckets()

        # The keys that substitutions add to a curve are classes.
        kinds = {"class": "class", "other": "class", **curve_request.relation.types}
        names = statement(bins or "rows", None).columns
        column_types = {name: get_column_type(self.binding, kinds.get(name)) for name in names}
        return self._create_lazy_frame(
            statement, pl.Schema({**column_types, **self.key_types}), choose
        )
