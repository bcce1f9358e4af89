"""Values of every metric over made rows, each in the ways that reach all of its SQL files.

``python -m tests.core.catalog.values`` writes them to ``values.json``, and refuses values that
changed while the versions of the metric's files did not.
"""

import json
import re
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from math import isclose
from pathlib import Path
from typing import Any, NamedTuple
from unittest import mock

import polars as pl

import sqleval
from sqleval.catalog import builtin, request
from sqleval.catalog.contract import Relation
from sqleval.compiler import bin_rows, builder
from sqleval.compiler.bins import Bins
from sqleval.compiler.buckets import Buckets
from sqleval.compiler.metrics import compile_metrics
from sqleval.errors import RequestError
from sqleval.frontend.bound import list_objects, list_sources, parse_requests

Values = dict[str, list[float | None]]

PLACE = Path(__file__).with_name("values.json")
ADVICE = (
    "raise `version:` in the header of the SQL file whose values changed, or mend the fault; then "
    "python -m tests.core.catalog.values"
)
_COSTS = "cost_matrix={0: {0: 0, 1: 1, 2: 3}, 1: {0: 5, 1: 0, 2: 1}, 2: {0: 2, 1: 1, 2: 0}}"


def make_rows(n: int = 72) -> pl.DataFrame:
    """Return rows by whole-number arithmetic: ties, weights, slices (one is NULL), classes."""
    places = range(n)
    draws = {name: [(seed * (i + 3) ** 3 + 17 * i) % 101 for i in places]
             for name, seed in (("a", 7), ("b", 13), ("c", 29), ("d", 31))}  # fmt: skip
    label = [int(value < 45) for value in draws["a"]]
    frame = pl.DataFrame(
        {
            "label": label,
            "score": [(8 * y + b // 4) / 40 for y, b in zip(label, draws["b"], strict=True)],
            "w": [(value % 7) / 2 for value in draws["c"]],
            "seg": [("a", "b", None)[i % 3] for i in places],
            "class": [value % 3 for value in draws["d"]],
            "predicted": [(value + (other < 60)) % 3 for value, other in
                          zip(draws["d"], draws["c"], strict=True)],
            "y": [value / 8 for value in draws["c"]],
            "yhat": [value / 8 + other / 64 - 1 for value, other in
                     zip(draws["c"], draws["a"], strict=True)],
            "q": [i % 9 for i in places],
            "item": [(i // 9 * 3 + i % 9) % 11 for i in places],
            "second": [int(value < 30) for value in draws["d"]],
            "relevance": [value % 4 for value in draws["b"]],
        }
    )  # fmt: skip
    parts = [pl.Series(draws[name]) + 1 + 60 * (frame["class"] == i).cast(int)
             for i, name in enumerate("abc")]  # fmt: skip
    return frame.with_columns((part / sum(parts)).alias(f"p{i}") for i, part in enumerate(parts))


class Input(NamedTuple):
    """The roles of rows, the metrics that are asked for, and the ways in which they are."""

    name: str
    roles: Mapping[str, Any]
    metrics: Sequence[str]
    ways: Sequence[str]


#: Ways to evaluate: the plan, the confidence, and the dialect for which the text is written.
WAYS: Mapping[str, tuple[Any, float | None, str]] = {
    "rows": ("rows", None, "duckdb"),
    "intervals": ("rows", 0.95, "duckdb"),
    "scores": ("groups", None, "duckdb"),
    "few rows": ("few", None, "duckdb"),
    "sorted": ("sorted", None, "duckdb"),
    "bins": (Bins(5), 0.95, "duckdb"),
    "state": ("rows", 0.95, "duckdb"),
    "elsewhere": ("rows", 0.95, "spark"),
    "buckets": (Buckets((0.1, 0.3, 0.6), has_ties=False), None, "spark"),
    "buckets, ties": (Buckets((0.1, 0.3, 0.6), has_ties=True), 0.95, "spark"),
}
#: The metrics whose sums a state holds; others of the same steps, and thresholds, follow from it.
_HELD = ("roc_auc", "log_loss", "brier_score", "f1")
#: A portable file that only DuckDB needs, which has a twin of it; `test_sorting` compares both.
_REPLACED = "unit_ties.sql"
_WEIGHTED = ("intervals", "bins", "buckets, ties")
_SEVERAL = ("rows", "intervals", "elsewhere", "buckets")
#: Metrics of two classes that read different steps, which have twins for several classes.
_AVERAGED = ("f1", "jaccard", "prevalence", "roc_auc", "average_precision", "ks", "best_youden_j")


def list_inputs() -> Iterator[Input]:
    """Yield what is asked; the ways that a metric does not have are found out by asking."""
    by_task: dict[str, list[str]] = {}
    for each in builtin().relations("metric"):
        name = f"{each.name}({_COSTS})" if each.name == "misclassification_cost" else each.name
        by_task.setdefault(each.task, []).append(name)
    two, classes = by_task["two classes"], by_task["classes"]
    several = [*classes, *by_task["several classes"]]
    averages = [f"{name}(average='macro')" for name in _AVERAGED]
    averages += [f"{name}(average='weighted')" for name in ("f1", "roc_auc")]
    averages += [f"{name}(average='macro', multi_class='ovo')" for name in ("f1", "roc_auc")]
    averages += ["ranked_probability_score(normalize=False)"]
    averages += ["top_label_calibration_error(norm='l2')", "cohen_kappa(weights='quadratic')"]
    # This threshold lies within a bin of a state.
    inside = [f"{name}(threshold=0.37)" for name in ("f1", "accuracy")]
    binary = {"label": "label", "score": "score", "by": ["seg"]}
    of_classes = {"label": "class", "task": "multiclass", "by": ["seg"]}
    scores = {**of_classes, "score": {i: f"p{i}" for i in range(3)}}
    predicted = {**of_classes, "prediction": "predicted"}
    regression = {"label": "y", "prediction": "yhat", "task": "regression", "by": ["seg"]}
    alone = {"value": "relevance", "by": ["seg"]}
    judged = {"value": "label", "by": ["seg"]}
    labelled = {
        "label": {"a": "label", "b": "second"}, "score": {"a": "score", "b": "p0"},
        "task": "multilabel", "by": ["seg"],
    }  # fmt: skip
    several_labels = [f"f1(average='{each}')" for each in ("macro", "weighted", "samples")]
    ranking = {"label": "relevance", "score": "score", "qid": "q", "by": ["seg"]}
    of_items = [n for n in by_task["ranking"] if builtin().depends_on(n, "recommended_items")]
    lists = [name for name in by_task["ranking"] if name not in of_items]
    # Alone, a metric may have a twin that shares no step with others.
    yield Input("alone", binary, ["roc_auc"], ["rows", "few rows", "intervals", "sorted"])
    for kind, roles, metrics, ways in (
        ("two classes", binary, [*two, *classes, *inside], [*WAYS]),
        ("scores of classes", scores, [*several, *averages], _SEVERAL),
        ("predicted classes", predicted, [*several, *averages], _SEVERAL),
        ("numbers", regression, by_task["regression"], _SEVERAL),
        ("numbers by relevance", {**regression, "by": ["relevance"]}, by_task["regression"],
         ["rows", "elsewhere", "buckets"]),
        ("values", alone, [*by_task["value"], "quantile(q=0.8)"], [*_SEVERAL, "bins"]),
        ("values of 0 and 1", judged, by_task["value"], [*_SEVERAL, "bins"]),
        ("many labels", labelled, [*by_task["many labels"], *several_labels], _SEVERAL),
        ("lists", ranking, [each for name in lists for each in (name, f"{name}(k=2)")], _SEVERAL),
        ("items", {**ranking, "item": "item"},
         [each for name in of_items for each in (name, f"{name}(k=2)")], _SEVERAL),
    ):  # fmt: skip
        yield Input(kind, roles, metrics, ways)
        weighted = [way for way in ways if way in _WEIGHTED]
        yield Input(f"{kind}, weights", {**roles, "weight": "w"}, metrics, weighted)


@contextmanager
def record_files() -> Iterator[set[str]]:
    """Yield the names of the SQL files that statements are made of meanwhile."""
    reached: set[str] = set()

    def watch(module: Any, write: Any) -> Any:
        def written(relation: Relation, *others: Any, **options: Any) -> Any:
            reached.update(part.path.name for part in relation.files)
            return write(relation, *others, **options)

        return mock.patch.object(module, write.__name__, written)

    # A statement that was made before is not made again.
    compile_metrics.cache_clear()
    with ExitStack() as stack:
        for write in (builder.write_file, builder.write_metric):
            stack.enter_context(watch(builder, write))
        stack.enter_context(watch(bin_rows, bin_rows.write_binned_step))
        yield reached


def compute(rows: pl.DataFrame, asked: Input, way: str, metrics: Sequence[str]) -> Values:
    """Return the numbers of each metric: value, low and high of each slice."""
    plan, ci, dialect = WAYS[way]
    scan = sqleval.scan(rows, **asked.roles)
    if way == "state":
        scan = sqleval.from_state(scan.state(_HELD, bins=5).collect())
    binding = replace(scan.binding, dialect=dialect)
    requests = parse_requests(scan, [*metrics], None)
    statement = compile_metrics(binding, requests, plan, ci)
    found = scan.engine.rows(
        statement.sql, statement.params, list_sources(scan), list_objects(scan)
    )
    # Only intervals and bins have ends.
    columns = ("metric", "value", "low", "high")[: 4 if ci is not None else 2]
    places = [statement.columns.index(name) for name in columns]
    values: Values = {}
    for row in found:
        metric, *numbers = (row[place] for place in places)
        values.setdefault(metric, []).extend(numbers)
    names = dict(zip(map(request.format_request, requests), metrics, strict=True))
    return {names[metric]: numbers for metric, numbers in values.items()}


def compute_possible(rows: pl.DataFrame, asked: Input, way: str) -> Values:
    """Return the numbers of those metrics that can be computed in a way, each asked alone first."""
    possible: list[str] = []
    for metric in asked.metrics:
        try:
            compute(rows, asked, way, [metric])
        except RequestError:
            continue
        possible.append(metric)
    return compute(rows, asked, way, possible) if possible else {}


def list_needed_files() -> dict[str, int]:
    """Return the files that may compute metrics, with their versions."""
    metrics = builtin().relations("metric")
    files = {file for each in metrics for file in builtin().list_files_below(each.name)}
    return {file.path.name: file.version for file in files if file.path.name != _REPLACED}


def list_versions() -> dict[str, int]:
    """Return the versions above 1, by file."""
    return {name: each for name, each in sorted(list_needed_files().items()) if each > 1}


def read_stored() -> dict[str, Any]:
    """Return ``versions`` above 1 of files, and ``values`` by input, way and metric."""
    return json.loads(PLACE.read_text(encoding="utf-8"))


def are_equal(one: Sequence[float | None], other: Sequence[float | None]) -> bool:
    """Whether numbers are equal but for rounding."""
    return len(one) == len(other) and all(
        a == b or (a is not None and b is not None and isclose(a, b, rel_tol=1e-12, abs_tol=1e-15))
        for a, b in zip(one, other, strict=True)
    )


def find_changes(stored: Mapping[str, Any], now: Mapping[str, Any]) -> list[str]:
    """Return the metrics whose numbers differ, with the input and the way."""
    return [
        f"{metric} ({asked}, {way})"
        for asked, by_way in stored.items()
        for way, values in by_way.items()
        for metric, numbers in values.items()
        if metric in now.get(asked, {}).get(way, {})
        and not are_equal(numbers, now[asked][way][metric])
    ]


def main() -> int:
    """Write the table; return 1 if a value changed and no version did."""
    rows, stored = make_rows(), read_stored() if PLACE.exists() else {"versions": {}, "values": {}}
    values: dict[str, dict[str, Values]] = {}
    for asked in list_inputs():
        for way in asked.ways:
            if numbers := compute_possible(rows, asked, way):
                values.setdefault(asked.name, {})[way] = numbers
    versions = list_versions()
    changes = find_changes(stored["values"], values)
    if changes and versions == stored["versions"]:
        print(f"values changed: {'; '.join(changes)}\n{ADVICE}", file=sys.stderr)
        return 1
    text = json.dumps({"versions": versions, "values": values}, indent=1)
    # The numbers of a metric on one line.
    text = re.sub(r"\[[^\[\]]*\]", lambda match: " ".join(match[0].split()), text)
    PLACE.write_text(text + "\n", encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
