"""Windows of statements for many machines stay small, as one task sorts a window's rows."""

import json
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import polars as pl
import pytest
import sqlglot
from polars.testing import assert_frame_equal
from sqlglot import exp

import sqleval
from sqleval.compiler.buckets import Buckets
from sqleval.compiler.metrics import compile_metrics
from sqleval.compiler.statement import Cte, Statement
from sqleval.engines import kept
from sqleval.engines.duckdb import DuckDB
from sqleval.frontend import plan
from sqleval.frontend.bound import list_objects, list_sources, parse_requests
from sqleval.frontend.plan import fit_buckets
from sqleval.frontend.predictions import Predictions
from tests.core.compiler.test_buckets import compile_buckets, list_statements
from tests.support import many_labels, spark_process
from tests.support import support_matrix as matrix
from tests.support.versions import needs

pytestmark = needs("older engines print plans in another form, of the same text", duckdb="2")

Ask = Callable[[str, Mapping[str, Any]], list[tuple[Any, ...]]]
LIMIT = spark_process.ROWS_INTO_ONE_PARTITION


def list_windows(operator: dict[str, Any]) -> Iterator[tuple[int, str]]:
    """Yield the rows and the text of each window in a plan that has run."""
    if "WINDOW" in operator["type"]:
        texts = operator["extra_info"]["Projections"]
        for text in [texts] if isinstance(texts, str) else texts:
            yield operator["intermediate_rows"], text
    for child in operator.get("children", ()):
        yield from list_windows(child)


def create_ask(predictions: Predictions) -> Ask:
    """Return a function that runs a statement over the rows on DuckDB."""
    engine, sources, objects = (
        predictions.engine, list_sources(predictions), list_objects(predictions)
    )  # fmt: skip
    return lambda sql, params: engine.rows(sql, params, sources, objects)


def run_windows(ask: Ask, statement: Statement) -> list[tuple[int, str]]:
    """Return the rows and the text of each window that has run on DuckDB."""
    explain = f"EXPLAIN (ANALYZE, FORMAT JSON) {statement.sql}"
    ((_, text),) = ask(explain, statement.params)
    return list(list_windows(json.loads(text)["operator"][0]))


def list_partitions(statement: Statement) -> Iterator[tuple[str, str, Statement]]:
    """Yield, for the windows with PARTITION BY: their relation, keys, and a count of rows.

    The count is the statement of the number of rows of the largest partition.
    """
    for i, cte in enumerate(statement.ctes):
        tree: Any = sqlglot.parse_one(cte.sql, dialect="duckdb")
        nested = [Cte(each.alias, each.this.sql("duckdb")) for each in tree.ctes]
        for query in tree.find_all(exp.Select):
            windows = [each for each in query.find_all(exp.Window) if each.parent_select is query]
            for keys in {tuple(each.args.get("partition_by") or ()) for each in windows} - {()}:
                rows = query.copy()
                rows.set("with_", None)
                rows.set("expressions", [key.as_(f"key_{n}") for n, key in enumerate(keys)])
                names = ", ".join(f"key_{n}" for n, _ in enumerate(keys))
                sizes = f"SELECT COUNT(*) AS n FROM ({rows.sql('duckdb')}) GROUP BY {names}"
                largest = f"SELECT COALESCE(MAX(n), 0) FROM ({sizes})"
                count = replace(statement, ctes=(*statement.ctes[:i], *nested), select=largest)
                used = set(re.findall(r"\$(\w+)", count.sql))
                params = {name: statement.params[name] for name in statement.params if name in used}
                text = ", ".join(key.sql("duckdb") for key in keys)
                yield cte.name, text, replace(count, params=params)


def find_large(asked: Predictions | Ask, statement: Statement) -> list[tuple[int, str]]:
    """Return the windows of a statement that one task would sort, with the number of their rows."""
    ask = create_ask(asked) if isinstance(asked, Predictions) else asked
    # A window without PARTITION BY holds all of its rows. Unused ones do not run.
    whole = [(n, text) for n, text in run_windows(ask, statement) if "(PARTITION" not in text]
    parts: list[tuple[int, str]] = []
    for relation, keys, count in list_partitions(statement):
        ((n,),) = ask(count.sql, count.params)
        parts.append((n, f"{relation} by {keys}"))
    return [(n, text) for n, text in whole + parts if n > LIMIT]


def parse_statement(sql: str, params: Mapping[str, Any]) -> Statement:
    """Return a text as a statement of its relations."""
    tree: Any = sqlglot.parse_one(sql, dialect="duckdb")
    ctes = tuple(Cte(each.alias, each.this.sql("duckdb")) for each in tree.ctes)
    tree.set("with_", None)
    return Statement(ctes, tree.sql("duckdb"), params, ())


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[tuple[Statement, Ask]]:
    """Let DuckDB count as an engine of several machines, and list the statements that it runs."""
    statements: list[tuple[Statement, Ask]] = []
    monkeypatch.setattr(DuckDB, "is_distributed", True)
    monkeypatch.setattr(DuckDB, "dialect", "spark")
    monkeypatch.setattr(plan, "ROWS_OF_ONE_TASK", LIMIT)
    local = DuckDB()
    monkeypatch.setattr(kept, "embedded", lambda: local)
    call, ask = DuckDB.run, DuckDB.rows

    def record(
        engine: DuckDB, sql: str, params: Any, sources: Any, objects: Any, *given: Any
    ) -> Any:
        # Others have no window, or read a table that this process keeps; those of `rows` have few
        # rows.
        is_kept = any(source.relation.startswith("memory.") for source in sources)
        if sql.startswith("WITH") and not is_kept:
            statement = parse_statement(sql, params)
            statements.append((statement, lambda s, p: ask(engine, s, p, sources, objects)))
        return call(engine, sql, params, sources, objects, *given)

    monkeypatch.setattr(DuckDB, "run", record)
    return statements


@pytest.mark.parametrize("weight", [None, "w"])
@pytest.mark.parametrize("ties", [False, True])
def test_two_models_are_compared_in_parts(
    weight: str | None, ties: bool, rows: pl.DataFrame, asked: list[tuple[Statement, Ask]]
) -> None:
    tied = pl.when(pl.col("item") % 2 == 0).then(0.25).otherwise("score") if ties else "score"
    models = {"a": "a", "b": "noise"}
    weighted = rows.with_columns(w=pl.col("noise") + 0.5, a=tied)
    both = sqleval.scan(weighted, label="label", score=models, weight=weight)
    found = both.compare("roc_auc").collect()
    assert [large for each, ask in list(asked) for large in find_large(ask, each)] == []
    names = {cte.name for statement, _ in asked for cte in statement.ctes}
    assert ("score_placements" in names, "pair_buckets" in names) == (ties, True)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(DuckDB, "is_distributed", False)
        assert_frame_equal(found, both.compare("roc_auc").collect(), abs_tol=1e-12)


def test_states_and_drift_have_small_windows(
    rows: pl.DataFrame, asked: list[tuple[Statement, Ask]]
) -> None:
    scored = sqleval.scan(rows, label="label", score="score")
    scored.state(["roc_auc", "f1"]).collect()
    sqleval.drift(rows, rows.head(9_000), score="noise", bins=9)
    assert len(asked) == 3  # a state, and the counts of both samples
    assert [large for each, ask in list(asked) for large in find_large(ask, each)] == []


def compile_all(predictions: Predictions, names: list[str], rows: pl.DataFrame) -> Statement:
    """Return the statement of metrics and intervals, or a curve, in ranges of these scores."""
    return compile_buckets(predictions, names, fit_buckets(rows.select(score_0="score")), ci=0.95)


@pytest.fixture(scope="module")
def rows() -> pl.DataFrame:
    """Rows with the columns of `support_matrix.tables`, where values hardly repeat."""
    rng = np.random.default_rng(3)
    rows = spark_process.make_rows()
    thirds = rng.dirichlet([1, 1, 1], rows.height)
    # Half of the labels are 0, as sums of claims are.
    amounts = rng.gamma(2, 50, rows.height) * (rng.random(rows.height) < 0.5)
    return rows.select(
        label="y",
        score="even",
        c=rng.integers(0, 3, rows.height),
        kind=rng.integers(0, 3, rows.height),
        y=amounts,
        yhat=amounts + rng.normal(scale=30, size=rows.height),
        q=rng.integers(0, 20, rows.height),
        relevance=rng.integers(0, 3, rows.height),
        retrieved="noise",
        noise="noise",
        item=np.arange(rows.height),
        **{f"p{i}": thirds[:, i] for i in range(3)},
    )


@pytest.mark.parametrize(("first", "names"), list_statements(), ids=matrix.name_statement)
def test_no_task_ranks_all_rows(first: matrix.Call, names: list[str], rows: pl.DataFrame) -> None:
    # With sampling weights, most intervals are those of the bootstrap.
    roles = {role: first.roles[role] for role in first.roles if role not in ("by", "weight")}
    predictions = matrix.bind(first._replace(roles=roles), rows)
    # Metrics of pairs join rows, which takes seconds here and has no window.
    some = [name for name in names if name != "roc_auc_pairs"]
    assert find_large(predictions, compile_all(predictions, some, rows)) == []


def test_curves_of_many_points_are_compared_in_parts(rows: pl.DataFrame) -> None:
    # Most rows are negatives of different weights, so that each is a point of the curve.
    rng = np.random.default_rng(12)
    weighted = rows.with_columns(
        weight=pl.Series(rng.random(rows.height)),
        label=pl.col("label") * pl.Series(rng.random(rows.height) < 0.5),
    )
    models = {"score": "score", "noise": "noise"}
    predictions = sqleval.scan(
        weighted, label="label", score=models, weight="weight", where="score < 0.5e0"
    )
    assert find_large(predictions, compile_all(predictions, ["roc_dominance"], rows)) == []


def test_windows_over_all_rows_are_found(rows: pl.DataFrame) -> None:
    scored = sqleval.scan(rows, label="label", score="score")
    one_bucket = compile_buckets(scored, ["roc_auc"], Buckets((), has_ties=False))
    found = find_large(scored, one_bucket)
    assert {n for n, _ in found} == {rows.height}
    assert {text for _, text in found} >= {"cutoffs by units.bucket"}
    summarised = sqleval.scan(rows, value="noise")
    requests = parse_requests(summarised, "median", None)
    found = find_large(summarised, compile_metrics(summarised.binding, requests))
    assert {n for n, _ in found} == {rows.height}


def test_no_task_ranks_the_rows_of_a_label() -> None:
    rows = many_labels.make_rows(LIMIT + 1_000)
    scan = sqleval.scan(rows, **many_labels.ROLES)
    names = ["roc_auc_macro", "label_ranking_average_precision"]
    statement = compile_buckets(scan, names, fit_buckets(rows.select(score_0="p_a")))
    # DuckDB numbers the rows; a table of another engine has a key.
    large = find_large(scan, statement)
    assert [text for _, text in large if text.lower() != "row_number() over ()"] == []
