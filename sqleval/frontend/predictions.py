"""`Predictions`: a binding with the methods that evaluate it, as lazy frames."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import polars as pl

from sqleval.catalog import request
from sqleval.catalog.catalogue import Catalogue, builtin
from sqleval.common.sql_text import Value
from sqleval.compiler.bins import Bins, parse_bins
from sqleval.compiler.builder import Plan
from sqleval.compiler.curve import compile_curve
from sqleval.compiler.metric_rows import has_class_column
from sqleval.compiler.metrics import compile_metrics
from sqleval.compiler.statement import Statement
from sqleval.frontend import slices
from sqleval.frontend.clopper_pearson import choose_finish
from sqleval.frontend.description import write_line, write_table
from sqleval.frontend.lazy import Finish, LazyStatements
from sqleval.frontend.schema import TALL, get_class_type, get_column_type
from sqleval.inputs.arguments import RESAMPLING_METHODS, check_level
from sqleval.inputs.lookup import find_column

Metrics = str | Sequence[str] | None


@dataclass(frozen=True, repr=False)
class Predictions(LazyStatements):
    """Predictions bound to their source. Made by `scan`; nothing has been read yet.

    Attributes
    ----------
    key_types : polars.Schema
        The slice keys of its results, and their types.
    catalogue : Catalogue
        The SQL files of its metrics and curves.
    """

    key_types: pl.Schema
    catalogue: Catalogue = field(default_factory=builtin, repr=False)

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

    def evaluate(
        self,
        metrics: Metrics = None,
        *,
        ci: float | None = None,
        ci_method: str | None = None,
        replicates: int = 500,
        seed: int = 0,
        cluster: str | None = None,
        bins: int | None = None,
        tolerance: float | None = None,
        min_rows: int = 0,
        gap: bool = False,
        worst_first: bool = False,
    ) -> pl.LazyFrame:
        """Return the metrics, one row a metric and slice, computed when collected.

        Parameters
        ----------
        metrics : str or sequence of str, optional
            Names from `sqleval.metrics`, with parameters where wanted: ``"f_beta(beta=2)"``.
            The default set of the task if left out.
        ci : float, optional
            Level of the intervals in ``low`` and ``high``, such as 0.95.
        ci_method : str, optional
            ``wilson`` or ``clopper_pearson`` (exact, with ``sqleval[stats]``) for rates; or the
            intervals of all metrics from replicates: ``bootstrap`` (normal, corrected for bias),
            ``percentile``, or ``bca`` (corrected for bias and skewness). If left out, a metric has
            the interval of its closed form (Wilson, DeLong, delta method), or ``bootstrap`` where
            there is none.
        replicates, seed : int
            How many samples the bootstrap draws (0: none), and the number that they follow from:
            equal seeds give equal intervals, whatever the threads, files, order of rows and engine.
        cluster : str, optional
            The column of what rows belong to, such as a user. The bootstrap then draws whole
            clusters, for all metrics.
        bins : int, optional
            Round scores to this many significant bits, 1 to 30, and aggregate rows per rounded
            score; 11 bits are about three decimal digits. This is faster, its memory does not grow
            with the rows, and ``low`` and ``high`` contain the exact value. Metrics that do not
            depend on the order of scores, and decisions at a threshold, stay exact.
        tolerance : float, optional
            Take scores together as far as ``high - low`` of each metric stays within it, such as
            1e-5; scores in the bins that would leave most open are told apart. Where a metric is
            asked for that bins cannot promise it of (its header names no ``bound``), all are exact.
        min_rows : int
            Slices with fewer rows have no value, and a note that says so.
        gap : bool
            Add the column ``gap``: the value less that of all rows. ``sets=`` of `scan` must hold
            the set without keys, as ``"overall"`` does.
        worst_first : bool
            Order each metric's slices by its value, from the worst on.

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
        requests = self._parse_requests(metrics, ci)
        chosen = parse_bins(bins, tolerance, requests)

        check_level(ci, ci_method)
        # Replicates replace the closed forms, also where they give no interval.
        closed = (ci, ci_method)
        if ci is not None and (cluster is not None or ci_method in RESAMPLING_METHODS):
            closed = (None, None)

        def statement(plan: Plan, predicate: str | None) -> Statement:
            return compile_metrics(self.binding, requests, plan, closed[0], predicate, closed[1])

        statement(chosen or "rows", None)  # now, so that a wrong request raises before collect

        def choose() -> Plan:
            if chosen is not None and chosen.tolerance is not None:
                return self._choose_bins(chosen)
            ranked = any(each.depends_on("score_counts") for each in requests)
            if chosen is None and ranked and (ci is None or self.engine.is_distributed):
                return self._choose_rows_or_groups()
            return chosen or "rows"

        classes = {"class": get_class_type(self.binding)} if has_class_column(requests) else {}
        schema = pl.Schema({**self.key_types, **classes, **TALL})
        finish = None
        if ci is not None:
            finish = self._create_finish(requests, ci, ci_method, replicates, seed, cluster)
        result = self._create_lazy_frame(statement, schema, choose, finish)
        return slices.apply_slice_options(
            result, self.binding, requests, min_rows=min_rows, gap=gap, worst_first=worst_first
        )

    def compare(
        self,
        metrics: Metrics = None,
        *,
        baseline: str | None = None,
        test: str | None = None,
        alternative: str = "two-sided",
        paired: bool = True,
        ci: float = 0.95,
        adjust: str | None = "holm",
        margin: float | None = None,
        model: str | None = None,
        key: str | None = None,
        replicates: int = 500,
        seed: int = 0,
        cluster: str | None = None,
    ) -> pl.LazyFrame:
        """Return how much better each model is than the baseline, and whether that is chance.

        Parameters
        ----------
        metrics : str or sequence of str, optional
            As for `evaluate`.
        baseline : str, optional
            The model that the others are compared with; the first one if left out.
        test : str, optional
            ``delong``, ``mcnemar``, ``mcnemar_exact``, ``paired_t``, ``wilcoxon`` or ``bootstrap``;
            over the folds or data sets of ``over=`` also ``corrected_t``, ``friedman`` and
            ``nemenyi``. The best one for the metric if left out.
        alternative : {"two-sided", "greater", "less"}
            ``greater``: the model's value is above that of the baseline.
        paired : bool
            Whether the models are judged on the same rows.
        ci : float
            Level of the interval of the difference; a verdict needs an adjusted p-value below one
            minus it.
        adjust : {"holm", "benjamini_hochberg", "bonferroni", "none"}
            How p-values are adjusted for the number of slices.
        margin : float, optional
            The largest difference that does not matter: the test is then whether the models are
            equivalent, or with ``alternative="greater"`` whether the model is not inferior.
        model, key : str, optional
            For a table with a row per model and key: the column that names the model, and that of
            the key, by which rows are matched; keys without a row of every model are dropped and
            counted. With ``paired=False`` the models (periods, data sets) have rows of their own,
            and no key.
        replicates, seed, cluster
            Of the bootstrap, as for `evaluate`; with ``cluster`` every test is one.

        Returns
        -------
        polars.LazyFrame
            The slice keys, ``metric``, ``model``, ``baseline``, ``value``, ``baseline_value``,
            ``difference`` with its interval ``low`` .. ``high``, ``statistic``, ``p_value``,
            ``p_adjusted``, ``method``, ``n``, ``n_dropped``, ``note`` and ``verdict``.

        Raises
        ------
        RequestError
            Now, for an unknown metric, test or baseline, or one that does not fit.
        MissingExtra
            If SciPy is not installed.

        Examples
        --------
        >>> import polars as pl, sqleval
        >>> rows = {"y": [0, 0, 1, 1] * 25, "a": [0.1, 0.6, 0.4, 0.7] * 25}
        >>> df = pl.DataFrame({**rows, "b": [0.1, 0.3, 0.4, 0.7] * 25})
        >>> both = sqleval.scan(df, label="y", score={"a": "a", "b": "b"})
        >>> both.compare("roc_auc").collect()["verdict"].item()
        'b is better than a by 0.25 [0.164, 0.336]'
        """
        from sqleval.comparison.compare import create_comparison  # late: it needs SciPy
        from sqleval.comparison.options import Options

        requests = self._parse_requests(metrics, ci)
        options = Options(
            baseline, test, alternative, paired, ci, adjust, margin, replicates, seed, model, key
        )
        return create_comparison(self._create_input(cluster), requests, options, self.key_types)

    def curve(self, name: str, **params: Value) -> pl.LazyFrame:
        """Return a curve with its own columns, such as ``roc_curve`` or ``pr_curve``.

        Parameters
        ----------
        name : str
            A curve from `sqleval.metrics`; the ending ``_curve`` may be left out.
        **params
            The curve's parameters, such as ``drop_intermediate=True``. ``bins=``, for a curve that
            has no parameter of that name, is that of `evaluate`: the points are then the exact
            ones at the lowest score of each bin.

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
        return self._evaluate_curve(*self._parse_curve(name, params))

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
        """Return what the rows come to, by slice and period, for `from_state` to evaluate.

        Write it wherever tables are kept: ``.sink_parquet("day.parquet")``. States of different
        rows are added up by reading them together.

        Parameters
        ----------
        metrics : str or sequence of str, optional
            What it must hold the sums of; the default set of the task if left out. Every metric
            that depends on the order of the scores follows from any state.
        by : str or sequence of str, optional
            Slice keys, instead of those of `scan`.
        grain, time : str, optional
            How long a period is (hour, day, week, month, quarter, year), and the column of a
            date, time or text that it cuts; the key ``period`` names each by its first day.
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
            can be), the sums, and ``definition``, which says what they are.

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

        made = making.build_state(
            self.binding, self.source, self.engine, metrics, by=by, grain=grain, time=time,
            timezone=timezone, bins=bins, ci=ci, catalogue=self.catalogue,
        )  # fmt: skip

        def statement(*_: object) -> Statement:
            return made.statement

        return replace(self, binding=made.binding)._create_lazy_frame(statement, made.schema)

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
        from sqleval.frontend.pictures import draw  # late: nothing else here needs Altair
        from sqleval.plots.charts import save_chart

        chart = draw(self, curve, params)
        if output is not None:
            save_chart(chart, output)
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
        given = () if threshold is None else (("threshold", float(threshold)),)
        return self._evaluate_curve(request.Request("confusion", given, catalogue=self.catalogue))

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
            Whether the units of ``cutoffs`` are rows, with numbers for texts of slices, or
            distinct scores; the engine chooses when it runs.
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
        return statement.sql if params else self._write_sql(statement.inlined())

    def statement(
        self,
        metrics: Metrics = None,
        *,
        ci: float | None = None,
        bins: int | None = None,
        plan: Plan = "rows",
    ) -> Statement:
        """Return the compiled statement, with its steps and parameters."""
        if isinstance(metrics, str) and (
            found := request.parse_table(metrics, self.task, self.catalogue)
        ):
            return compile_curve(self.binding, found, parse_bins(bins) or "rows")
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

    def _parse_requests(self, metrics: Metrics, ci: float | None) -> tuple[request.Request, ...]:
        check_level(ci)
        return request.parse_all(
            metrics,
            self.task,
            self.binding.has_score,
            folds=bool(self.binding.over),
            catalogue=self.catalogue,
        )

    def _create_finish(
        self,
        requests: Sequence[request.Request],
        ci: float,
        method: str | None,
        replicates: int,
        seed: int,
        cluster: str | None,
    ) -> Finish:
        """Return what adds the intervals to a result that SQL alone cannot compute."""
        from sqleval.resampling.completion import complete_intervals, parse_options  # late: rare

        options = parse_options(ci, method, replicates, seed, is_clustered=cluster is not None)
        given = self._create_input(cluster)
        add_exact = choose_finish(ci, method)

        def finish(frame: pl.DataFrame, predicate: str | None) -> pl.DataFrame:
            return complete_intervals(add_exact(frame), given, requests, options, predicate)

        return finish

    def _create_input(self, cluster: str | None) -> Any:
        from sqleval.resampling.cells import Input

        column = None
        if cluster is not None:
            _, columns = self.engine.describe(self.source)
            column = find_column(columns, cluster, "cluster", self.source.label)
        return Input(self.binding, self.source, self.labels, self.engine, column)

    def _parse_curve(
        self, name: str, params: Mapping[str, Value]
    ) -> tuple[request.Request, Bins | None]:
        """Return the request of a curve, and its bins."""
        own = dict(params)
        bins = (
            None if request.has_parameter(name, "bins", self.catalogue) else own.pop("bins", None)
        )
        return request.parse_curve(name, own, self.task, self.catalogue), parse_bins(bins)

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

        # The keys of a substitution are classes.
        kinds = {"class": "class", "other": "class", **curve_request.relation.types}
        names = statement(bins or "rows", None).columns
        own = {name: get_column_type(self.binding, kinds.get(name)) for name in names}
        return self._create_lazy_frame(statement, pl.Schema({**own, **self.key_types}), choose)
