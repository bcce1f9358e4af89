"""Shows the statement behind an evaluation: its text, and its steps with their rows."""

from collections.abc import Iterator

import polars as pl

from sqleval.catalog import request
from sqleval.common.sql_text import join_parentheses
from sqleval.compiler.bins import parse_bins
from sqleval.compiler.curve import compile_curve
from sqleval.compiler.metrics import check_plan, compile_metrics
from sqleval.compiler.scope import Plan
from sqleval.compiler.statement import Statement
from sqleval.errors import RequestError
from sqleval.frontend.bound import Bound, Metrics, parse_requests, write_sql
from sqleval.frontend.lazy import run_statement


def sql(
    bound: Bound,
    metrics: Metrics = None,
    *,
    ci: float | None = None,
    bins: int | None = None,
    plan: Plan = "rows",
    params: bool = False,
) -> str:
    """Return the statement that `evaluate` runs, in the engine's SQL.

    Parameters
    ----------
    metrics, ci, bins
        As for `evaluate`. A curve's name gives the statement of the curve.
    plan : {"rows", "few", "numbered", "sorted", "groups"}
        The units of ``cutoffs``: rows, few rows, rows with an integer id in place of text slice
        keys, rows sorted by one integer for slice, score and label, or distinct scores. `evaluate`
        chooses the plan itself.
    params : bool
        Keep ``$parameters`` (in DuckDB's SQL) instead of inserting their values.

    Examples
    --------
    >>> import polars as pl, sqleval
    >>> df = pl.DataFrame({"y": [0, 1], "p": [0.1, 0.8]})
    >>> print(sqleval.scan(df, label="y", score="p").sql("precision")[:27])
    WITH _source AS NOT MATERIA
    """
    compiled = statement(bound, metrics, ci=ci, bins=bins, plan=plan)
    text = compiled.sql if params else write_sql(bound, compiled.inline())
    return join_parentheses(text) if bound.engine.dialect == "duckdb" else text


def statement(
    bound: Bound,
    metrics: Metrics = None,
    *,
    ci: float | None = None,
    bins: int | None = None,
    plan: Plan = "rows",
) -> Statement:
    """Return the compiled statement, with its steps and parameters."""
    check_plan(plan)
    requests = list_requests(bound, metrics, ci)
    if requests[0].relation.kind != "metric":
        return compile_curve(bound.binding, requests[0], parse_bins(bins) or "rows")
    return compile_metrics(bound.binding, requests, parse_bins(bins) or plan, ci)


def list_requests(
    bound: Bound, metrics: Metrics = None, ci: float | None = None
) -> tuple[request.Request, ...]:
    """Return the requests of a statement: metrics, or one curve.

    Raises
    ------
    RequestError
        If one of them is unknown, or a curve has intervals.
    """
    table_request = None
    if isinstance(metrics, str):
        table_request = request.parse_table(metrics, bound.binding.task, bound.catalogue)
    if table_request is None:
        return parse_requests(bound, metrics, ci)
    if ci is not None:
        raise RequestError(
            f"ci= is for the SQL of metrics, but {table_request.name} is a curve; "
            "curve() gives its bands"
        )
    return (table_request,)


def steps(
    bound: Bound,
    metrics: Metrics = None,
    *,
    rows: int = 5,
    ci: float | None = None,
    bins: int | None = None,
    plan: Plan = "rows",
) -> Iterator[tuple[str, str, pl.DataFrame]]:
    """Run a statement step by step, and yield each step's name, SQL and first rows.

    Examples
    --------
    >>> import polars as pl, sqleval
    >>> df = pl.DataFrame({"y": [0, 1], "p": [0.1, 0.8]})
    >>> [name for name, _, _ in sqleval.scan(df, label="y", score="p").steps("precision")][:2]
    ['_source', '_audit']
    """
    compiled = statement(bound, metrics, ci=ci, bins=bins, plan=plan)
    for cte in compiled.ctes:
        yield cte.name, cte.sql, run_statement(bound, compiled.preview_step(cte.name, rows))
