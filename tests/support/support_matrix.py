"""Runs every metric's SQL on every engine, and compares its values with DuckDB's.

``python -m tests.support.support_matrix`` writes ``docs/reference/engines.md`` from it, with each
engine in a process of its own; with the name of an engine it fails where that engine differs.
"""

from __future__ import annotations

import math
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import polars as pl
import pyarrow as pa

import sqleval
from sqleval.catalog import Relation, builtin, request
from sqleval.export.dialects import DIALECTS
from sqleval.export.statement import export_statement

if TYPE_CHECKING:
    from .engines import Engine


_COSTS = "misclassification_cost(cost_matrix={0: {0: 0, 1: 1}, 1: {0: 5, 1: 0}})"


class Call(NamedTuple):
    """A question: a metric or curve, over a table, with its roles."""

    name: str
    table: str
    roles: Mapping[str, Any]

    @property
    def shown(self) -> str:
        """The request as the page shows it."""
        if self.roles.get("task") != "multiclass":
            return f"`{self.name}`"
        return f"`{self.name}` of {'classes' if 'prediction' in self.roles else 'scores by class'}"


@cache
def tables() -> dict[str, pa.Table]:
    """Return the tables: ties, a slice without a name, missing values, weights, classes."""
    random = np.random.default_rng(5)
    n = 240
    label = random.integers(0, 2, n)
    score = np.round(np.clip(random.normal(0.35 + 0.3 * label, 0.2), 0, 1), 2)
    missing = random.random(n) < 0.05
    frame = pl.DataFrame(
        {
            "label": pl.Series(label, dtype=pl.Int32),
            "score": pl.Series(score).scatter(np.flatnonzero(missing), None),
            "w": np.round(random.random(n) * 3, 1),
            "seg": [("a", "b", None)[i] for i in random.integers(0, 3, n)],
            "c": random.integers(0, 3, n).astype("int64"),
            "kind": random.integers(0, 3, n).astype("int64"),
            "y": np.round(random.normal(size=n), 3),
            "yhat": np.round(random.normal(size=n), 3),
            "q": random.integers(0, 20, n).astype("int64"),
            "relevance": random.integers(0, 3, n).astype("int64"),
        }
    )  # fmt: skip
    thirds = random.dirichlet([1, 1, 1], n)
    # In a ranking, some items are not judged, and some are not retrieved.
    frame = frame.with_columns(
        relevance=pl.when(pl.col("kind") < 2).then("relevance"),
        retrieved=pl.when(pl.Series(random.random(n) < 0.8)).then("score"),
    )
    frame = frame.with_columns(item=pl.int_range(pl.len()).over("q"))  # none twice in a list
    frame = frame.with_columns(pl.Series(f"p{i}", thirds[:, i]) for i in range(3))
    return {"preds": frame.to_arrow().cast(_plain(frame.to_arrow().schema))}


def _plain(schema: pa.Schema) -> pa.Schema:
    kinds = {pa.large_string(): pa.string(), pa.string_view(): pa.string()}
    return pa.schema([(field.name, kinds.get(field.type, field.type)) for field in schema])


_BINARY = {"label": "label", "score": "score"}
_CLASSES = {"label": "c", "score": {"0": "p0", "1": "p1", "2": "p2"}}


def questions() -> Iterator[Call]:
    """Yield every metric and curve with the roles of its question."""
    for relation in builtin().relations("metric", "curve"):
        yield from _questions(relation)


def _questions(relation: Relation) -> Iterator[Call]:
    name, family = relation.name, relation.family
    if name == "misclassification_cost":
        name = _COSTS
    if family == "multilabel":
        return  # one row for each label is written for DuckDB alone
    if relation.task == "regression":
        roles = {"label": "y", "prediction": "yhat", "weight": "w", "task": "regression"}
        yield Call(name, "preds", roles)
    elif family == "value":
        roles = {"value": "label" if name == "share" else "y", "weight": "w", "by": ["seg"]}
        yield Call(name, "preds", roles)
    elif family == "ranking":
        roles = {"label": "relevance", "score": "retrieved", "qid": "q"}
        of_items = builtin().depends_on(name, "recommended_items")
        yield Call(name, "preds", {**roles, "item": "item"} if of_items else roles)
    elif builtin().depends_on(relation.name, "logits"):
        # Scores of 0 and 1 have no logit.
        yield Call(name, "preds", {"label": "label", "score": "p0", "by": ["seg"]})
    elif relation.header.get("across") == "model":
        yield Call(name, "preds", {"label": "label", "score": {"one": "p0", "two": "p1"}})
    elif relation.task == "several classes" and not relation.header.get("across"):
        yield Call(name, "preds", {**_CLASSES, "task": "multiclass"})
    elif relation.header.get("across"):
        yield Call(name, "preds", {"label": "c", "prediction": "kind", "task": "multiclass"})
    else:
        yield Call(name, "preds", {**_BINARY, "by": ["seg"]})


def averages() -> Iterator[Call]:
    """Yield metrics of several classes, by predicted class and by a score per class."""
    for each in ("f1(average='macro')", "f1(average='micro')", "recall(average='weighted')",
                 "accuracy", "cohen_kappa", "cohen_kappa(weights='linear')",
                 "matthews_corrcoef"):  # fmt: skip
        roles = {"label": "c", "prediction": "kind", "by": ["seg"], "task": "multiclass"}
        yield Call(each, "preds", roles)
    for each in ("log_loss", "brier_score", "roc_auc(average='macro')",
                 "roc_auc(multi_class='ovo')", "accuracy", "brier_skill_score",
                 "d2_log_loss"):  # fmt: skip
        yield Call(each, "preds", {**_CLASSES, "task": "multiclass"})


def expected(asked: Call, data: Mapping[str, pa.Table]) -> list[tuple[object, ...]]:
    """Return DuckDB's result through the front end, with which each engine is compared."""
    frame = evaluate(asked, [asked.name], data[asked.table]).collect()
    # Engines may use different methods; the audit must find no error.
    verdict = [pl.lit(None).alias(name) for name in ("_problem", "_notice")]
    return frame.drop("method", strict=False).with_columns(*verdict).rows()


def bind(asked: Call, source: object, **options: Any) -> sqleval.Predictions:
    """Return the predictions of a question."""
    roles = dict(asked.roles)
    if roles.get("task") == "multiclass" and isinstance(roles.get("score"), dict):
        roles["score"] = {int(key): column for key, column in roles["score"].items()}
    return sqleval.scan(source, nulls="drop", **roles, **options)


def evaluate(asked: Call, names: Sequence[str], source: object, **options: Any) -> pl.LazyFrame:
    """Return the curve of a question, or the named metrics, which have the same roles."""
    bound = bind(asked, source, **options)
    return bound.curve(asked.name) if is_curve(asked) else bound.evaluate([*names])


def is_curve(asked: Call) -> bool:
    """Return whether a question asks for a curve."""
    return request.parse_table(asked.name, asked.roles.get("task", "binary")) is not None


def write(asked: Call, dialect: str) -> str:
    """Return the text for a dialect."""
    return export_statement([asked.name], dialect, asked.table, nulls="drop", **asked.roles)


def compare(got: list[tuple[object, ...]], want: list[tuple[object, ...]]) -> str:
    """Return the first difference beyond 1e-9, or nothing."""
    if len(got) != len(want):
        return f"{len(got)} rows, not {len(want)}"
    for one, two in zip(sorted(got, key=_order), sorted(want, key=_order), strict=True):
        if len(one) != len(two):
            return f"{len(one)} columns, not {len(two)}"
        for a, b in zip(one, two, strict=True):
            if not _same(a, b):
                return f"{a!r}, not {b!r}"
    return ""


def _number(value: object) -> float | None:
    return float(value) if isinstance(value, (int, float)) else None


def _same(a: object, b: object) -> bool:
    x, y = _number(a), _number(b)
    if x is None or y is None:
        return a == b
    return x == y or math.isclose(x, y, rel_tol=1e-9, abs_tol=1e-9)


def _order(row: tuple[object, ...]) -> list[tuple[int, float, str]]:
    return [
        (value is None, round(number, 7) if (number := _number(value)) is not None else 0.0,
         value if isinstance(value, str) else "")
        for value in row
    ]  # fmt: skip


def run(engine: Engine, sql: str) -> list[tuple[object, ...]]:
    """Return the rows of a statement without the method, in which engines may differ."""
    result = engine.run(sql.rstrip().rstrip(";"))
    own = [i for i, name in enumerate(result.columns) if name.lower() != "method"]
    return [tuple(row[i] for i in own) for row in result.rows]


def load(engine: Engine) -> Mapping[str, pa.Table]:
    """Load the tables into an engine; return them."""
    data = tables()
    for table, rows in data.items():
        engine.load(table, rows)
    return data


def check(engine: Engine) -> None:
    """Raise an error if an engine's answer differs from DuckDB's."""
    data = load(engine)
    for asked in every():
        difference = compare(run(engine, write(asked, engine.dialect)), expected(asked, data))
        assert not difference, f"{asked.shown} on {engine.name}: {difference}"


def every() -> list[Call]:
    """Return every question."""
    return [*questions(), *averages()]


#: Questions, as the page shows them, that together cover every construct in SQL files, and every
#: kind of roles and of result columns.
_SAMPLE = {
    "`log_loss`", "`expected_calibration_error`", "`youden_j`", "`balanced_accuracy`",
    "`best_f_beta`", "`mse`", "`ndcg`", "`matthews_corrcoef` of classes",
    "`roc_auc(multi_class='ovo')` of scores by class",
    "`calibration_curve`", "`classification_report`", "`gain_table`", "`roc_curve`",
    "`roc_dominance`",
}  # fmt: skip


def sample() -> list[Call]:
    """Return a few questions, for clients of engines whose text other tests run in full."""
    return [asked for asked in every() if asked.shown in _SAMPLE]


def together(questions: Sequence[Call] = ()) -> list[tuple[Call, list[str]]]:
    """Return the questions grouped by statement: a curve, or all metrics with the same roles."""
    found: dict[str, tuple[Call, list[str]]] = {}
    for asked in questions or every():
        key = asked.name if is_curve(asked) else str(asked.roles)
        first, names = found.setdefault(key, (asked, []))
        names.append(asked.name)
        assert first.table == asked.table
    return list(found.values())


def name_statement(value: Call | list[str]) -> str:
    """Return the name of a test of several questions: the first one, and how many there are."""
    return value.name[:40] if isinstance(value, Call) else str(len(value))


#: The dialects that no engine here runs; their texts are only parsed.
TEXT_ONLY = sorted(
    {*DIALECTS} - {"clickhouse", "duckdb", "postgres", "snowflake", "spark", "sqlite"}
)

_INTRODUCTION = """# Metrics by engine

Each row is a request, each cell the result of the statement that
`sqleval sql REQUEST --dialect ... --table ...` prints:

- **=**: it was run on the engine, and every row equals that of `evaluate` or `curve` (numbers to
  1e-9, `note`, and no `_problem`), with ties, a slice key that is NULL, missing values, weights and
  several classes.
- **t**: it parses in this dialect; there was no such engine to run it on.

DataFusion and Polars run the PostgreSQL statement, and Sail that of Spark. Snowflake is fakesnow;
all others are the real engines. Every cell of an engine is run by itself when this page is written.
The tests do it again, with many metrics of the same columns in a statement; of Spark's column they
run a sample. The options of `evaluate` (`--where`, `--sets`, `--labels`, `--ci`, `--bins` and
others) are tested on the same engines; ClickHouse has no `--labels`, and SQLite no interval of a
mean over queries. In the text of `logistic_calibration_slope` and `logistic_calibration_intercept`,
20 or 25 relations read each other, for which Spark needs
`SET spark.sql.analyzer.maxIterations = 10000`.
`python -m tests.support.support_matrix` writes this page, and the tests check it.
"""


def document(engines: Sequence[str]) -> str:
    """Return the page: a row a question, a column an engine or a dialect."""
    names = [*engines, *(DIALECTS[dialect] for dialect in TEXT_ONLY)]
    cells = [*("=" for _ in engines), *("t" for _ in TEXT_ONLY)]
    lines = [f"| request | {' | '.join(names)} |", "| --- |" + " :-: |" * len(names)]
    lines += [f"| {asked.shown} | {' | '.join(cells)} |" for asked in every()]
    return "\n".join([_INTRODUCTION, *lines, ""])


PAGE = Path(__file__).parents[2] / "docs" / "reference" / "engines.md"


def main(engine: str | None) -> None:
    """Check an engine, or all of them and write the page."""
    from .engines import ENGINES, SLOW_ENGINES

    start = {**ENGINES, **SLOW_ENGINES}
    if engine is not None:
        with start[engine]() as running:
            check(running)
        return
    for name in start:
        subprocess.run([sys.executable, "-m", "tests.support.support_matrix", name], check=True)
    for asked in every():
        for dialect in TEXT_ONLY:
            write(asked, dialect)
    PAGE.write_text(document([*start]), encoding="utf-8")


if __name__ == "__main__":
    main(*sys.argv[1:] or [None])
