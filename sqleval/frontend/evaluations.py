"""Metrics of predictions, as lazy frames."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Self

import polars as pl

from sqleval.binding.arguments import RESAMPLING_METHODS, check_level
from sqleval.binding.lookup import find_column
from sqleval.catalog import request
from sqleval.catalog.catalogue import Catalogue, builtin
from sqleval.compiler.bins import parse_bins
from sqleval.compiler.builder import Plan
from sqleval.compiler.metric_rows import COUNTS, has_class_column
from sqleval.compiler.metrics import compile_metrics
from sqleval.compiler.statement import Statement
from sqleval.errors import RequestError
from sqleval.frontend import calibration, slices
from sqleval.frontend.lazy import Finish, LazyStatements
from sqleval.frontend.schema import TALL, get_class_type
from sqleval.inference.libraries import load_library
from sqleval.inference.rates import add_exact_ends

if TYPE_CHECKING:
    from sqleval.common.columns import Column
    from sqleval.resampling.cells import Input

Metrics = str | Sequence[str] | None


@dataclass(frozen=True, repr=False, eq=False)
class Evaluations(LazyStatements):
    """Predictions as far as they are evaluated; see `Predictions`.

    Attributes
    ----------
    key_types : polars.Schema
        The slice keys of its results, and their types.
    catalogue : Catalogue
        The SQL files of its metrics and curves.
    labelled : Evaluations or None
        Labelled predictions whose calibration expected metrics name.
    """

    key_types: pl.Schema
    catalogue: Catalogue = field(default_factory=builtin, repr=False)
    labelled: Evaluations | None = field(default=None, repr=False)

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
            ``wilson`` or ``clopper_pearson`` (exact, with SciPy) for rates;
            ``delong`` for ROC AUC and Gini (value plus or minus quantile times standard error,
            cut at the ends of the range, instead of the scale of the logit); or the intervals of
            all metrics from replicates: ``bootstrap`` (normal, corrected for bias, and wider by
            what may be left of it), ``percentile``, or ``bca`` (corrected for bias and skewness).
            If left out, a metric has the interval of its closed form (Wilson, DeLong, delta
            method), or ``bootstrap`` where there is none.
        replicates, seed : int
            How many samples the bootstrap draws (100 to 1,000,000, or 0 for none), and the seed of
            the draws: equal seeds give equal intervals, whatever the threads, files, order of rows
            and engine.
        cluster : str, optional
            The column of what rows belong to, such as a user. The bootstrap then draws whole
            clusters, for all metrics. Rows without one are an error, or left out and counted
            (``nulls="drop"``).
        bins : int, optional
            Round scores to this many significant bits, 1 to 30, and aggregate rows per rounded
            score; 11 bits are about three decimal digits. This is faster, its memory does not grow
            with the rows, and ``low`` and ``high`` contain the exact value. Metrics that do not
            depend on the order of scores, and decisions at a threshold, stay exact.
        tolerance : float, optional
            The largest ``high - low`` that a metric may have, such as 1e-5: scores are binned no
            more coarsely than that allows. If bins cannot guarantee it for one of the metrics (its
            header has no ``bound``), all of them are exact.
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
            used), ``n_dropped`` (rows left out) and ``note`` (why a value or interval is missing,
            or how far it can be trusted).
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
        check_level(ci, ci_method, cluster)
        if self.binding.is_expected:
            self._refuse_expected(ci=ci, bins=bins, tolerance=tolerance, cluster=cluster)
        requests = self._parse_requests(metrics, ci)
        chosen = parse_bins(bins, tolerance, requests)

        bound = self if cluster is None else self._bind_cluster(cluster)[0]
        # Replicates replace the closed forms, also where they give no interval.
        is_resampled = cluster is not None or ci_method in RESAMPLING_METHODS
        closed = (None, None) if is_resampled else (ci, ci_method)

        def statement(plan: Plan, predicate: str | None) -> Statement:
            return compile_metrics(bound.binding, requests, plan, closed[0], predicate, closed[1])

        statement(chosen or "rows", None)  # now, so that a wrong request raises before collect

        def choose() -> Plan:
            if chosen is not None and chosen.tolerance is not None:
                return self._choose_bins(chosen)
            ranked = any(each.depends_on("score_counts") for each in requests)
            if chosen is None and ranked:
                return self._choose_rows_or_groups()
            return chosen or "rows"

        classes = {"class": get_class_type(self.binding)} if has_class_column(requests) else {}
        schema = pl.Schema({**self.key_types, **classes, **TALL})
        finish = None
        if ci is not None:
            finish = self._create_finish(requests, ci, ci_method, replicates, seed, cluster)
        elif self.labelled is not None:
            finish = self._create_note(self.labelled)
        if self.binding.models and self.binding.nulls == "drop" and self.binding.state is None:
            finish = self._note_different_rows(finish)
        result = bound._create_lazy_frame(statement, schema, choose, finish)
        return slices.apply_slice_options(
            result, self.binding, requests, min_rows=min_rows, gap=gap, worst_first=worst_first
        )

    def _refuse_expected(self, **options: object) -> None:
        """Raise if an option is given that expected metrics do not have."""
        for name, value in options.items():
            if value is not None:
                raise RequestError(
                    f"{name}= is for labelled rows: with expected= a row counts in parts"
                )

    def _create_note(self, labelled: Evaluations) -> Finish:
        """Return what adds the calibration of labelled rows to expected metrics."""
        if labelled.binding.key_names != self.binding.key_names:
            # With other slice keys the calibration is that of all labelled rows, or of each model.
            types = {key: kind for key, kind in labelled.key_types.items() if key == "model"}
            whole = replace(labelled.binding, by=(), sets=())
            labelled = replace(labelled, binding=whole, key_types=pl.Schema(types))

        def finish(frame: pl.DataFrame, _: str | None) -> pl.DataFrame:
            measured = labelled.evaluate(calibration.METRICS).collect()
            keys = labelled.binding.key_names
            described = calibration.describe_calibration(measured, keys)
            return calibration.note_calibration(frame, described, keys)

        return finish

    def _parse_requests(self, metrics: Metrics, ci: float | None) -> tuple[request.Request, ...]:
        check_level(ci)
        return request.parse_all(
            metrics,
            self.binding.task,
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
        data = self._create_input(cluster)
        is_exact = method == "clopper_pearson"
        if is_exact:
            load_library("special")  # a missing extra is an error before collect

        def finish(frame: pl.DataFrame, predicate: str | None) -> pl.DataFrame:
            frame = add_exact_ends(frame, ci, COUNTS) if is_exact else frame
            return complete_intervals(frame, data, requests, options, predicate)

        return finish

    def _note_different_rows(self, finish: Finish | None) -> Finish:
        """Return what says of models that they have different rows, after ``finish``."""
        from sqleval.frontend.common_rows import note_different_rows  # late: rare
        from sqleval.resampling.cells import Input

        data = Input(self.binding, self.source, self.labels, self.engine)

        def note(frame: pl.DataFrame, predicate: str | None) -> pl.DataFrame:
            finished = frame if finish is None else finish(frame, predicate)
            return note_different_rows(finished, data, predicate)

        return note

    def _create_input(self, cluster: str | None) -> Input:
        from sqleval.resampling.cells import Input

        if self.binding.is_expected:
            raise RequestError("expected= has no intervals or tests: they need labelled rows")
        bound, column = (self, None) if cluster is None else self._bind_cluster(cluster)
        return Input(bound.binding, self.source, self.labels, self.engine, column)

    def _bind_cluster(self, cluster: str) -> tuple[Self, Column]:
        """Return the predictions whose rows have a cluster, and the column of the clusters.

        Without ``nulls="drop"`` all rows stay: the cells raise where one has no cluster.
        """
        _, columns = self.engine.describe(self.source)
        column = find_column(columns, cluster, "cluster", self.source.label)
        if self.binding.nulls != "drop":
            return self, column
        roles = (*self.binding.roles, ("cluster", column))
        return replace(self, binding=replace(self.binding, roles=roles)), column
