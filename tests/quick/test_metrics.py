"""Every metric equals its reference on difficult data: alone, together, and in each plan."""

import math
import warnings
from collections.abc import Callable, Iterator
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import polars as pl
import pytest
from sklearn import config_context
from sklearn.metrics import confusion_matrix, roc_auc_score

import sqleval
from sqleval import RequestError
from sqleval.catalog import Relation, builtin, request
from tests.support.cases import (
    CASES,
    DATA,
    OPTIMIZED,
    ROLES,
    Case,
    Data,
    Rows,
    about,
    drawn,
    has_twins,
    key_in_stack,
    predictions,
    rows_of,
    stacked,
)
from tests.support.comparison import assert_frame_equal

FILES = builtin().relations("metric")


@pytest.fixture(scope="session")
def parquet(tmp_path_factory: pytest.TempPathFactory) -> Callable[[Data], Path]:
    """Return a function that writes a data set once and gives its path."""
    folder, written = tmp_path_factory.mktemp("data"), {}

    def path(data: Data) -> Path:
        if data not in written:
            written[data] = folder / f"{len(written)}.parquet"
            data.frame.write_parquet(written[data])
        return written[data]

    return path


@cache
def rows_by_slice(data: Data, threshold: float) -> dict[tuple[Any, ...], Rows]:
    """Return the rows of each slice for the references of all metrics."""
    groups = data.groups(data.known)
    return {
        key: rows_of(
            groups.get(key, data.known.clear()), data.kind, threshold=threshold, weight=data.weight
        )
        for key in data.groups(data.frame)
    }


@cache
def heights(data: Data) -> dict[tuple[Any, ...], int]:
    """Return the number of counted rows of each slice."""
    return {key: frame.height for key, frame in data.groups(data.known).items()}


#: The metrics share their arguments, so scikit-learn need not check them again.
UNCHECKED = {"assume_finite": True, "skip_parameter_validation": True}


@cache
def expected(case: Case, data: Data) -> dict[tuple[Any, ...], float | None]:
    """Return the reference's value of each slice, None where it is undefined."""
    if parts := stacked().get(data):
        return {
            key_in_stack(data, part, key): value
            for part in parts
            for key, value in expected(case, part).items()
        }
    threshold = case.threshold or data.options.get("threshold", 0.5)
    values: dict[tuple[Any, ...], float | None] = {}
    for key, rows in rows_by_slice(data, threshold).items():
        if not len(rows.label):
            values[key] = None
            continue
        with warnings.catch_warnings(), config_context(**UNCHECKED):
            # scikit-learn warns of the cases that are undefined here.
            warnings.simplefilter("ignore")
            value = case.reference(rows)
        values[key] = None if value is None or np.isnan(value) else float(value)
    return values


def check(case: Case, data: Data, result: list[dict[str, Any]]) -> None:
    """Compare the rows of one metric with the reference, slice by slice."""
    values = expected(case, data)
    rows = {tuple(row[key] for key in data.by): row for row in result}
    assert rows.keys() == values.keys()
    assert len(rows) == len(result)
    counts = heights(data)
    wrong: list[str] = []
    for key, row in rows.items():
        value, want = row["value"], values[key]
        assert row["n"] == counts.get(key, 0)
        if want is None or value is None:
            if value != want:
                wrong.append(f"{key}: {value} instead of {want} ({row['note']})")
            elif not row["note"]:
                wrong.append(f"{key}: undefined without a note")
        elif value != want and not abs(value - want) <= case.tolerance * max(1.0, abs(want)):
            wrong.append(f"{key}: {value} instead of {want}")
    assert not wrong, "; ".join(wrong)


def pairs() -> Iterator[Any]:
    seen: set[tuple[str, str, bool]] = set()
    for case in CASES:
        # Together, the metrics are tried on every data set. Alone, only a metric with a twin uses
        # other SQL, so any other metric gets one set: plain rows, or weights and keys, in turn.
        twins, first = has_twins(case), about(case) not in seen
        every = twins and first
        names = {"plain", "weights and keys" if case.weighted else "by two keys"}
        if not twins:
            names = {sorted(names)[len(seen) % 2]}
        seen.add(about(case))
        # Every data set; sets that differ only in values and keys are slices of one.
        for data in stacked() if every else DATA:
            if case.fits(data) and (every or ((twins or first) and data.name in names)):
                yield pytest.param(case, data, id=f"{case}-{data.name}")


@pytest.mark.parametrize(("case", "data"), list(pairs()))
def test_metric_equals_its_reference(case: Case, data: Data) -> None:
    found = predictions(data).evaluate(case.metric).collect()
    check(case, data, found.rows(named=True))


#: Data that are difficult for a plan: every plan is tried on them, also within stacks, and one
#: plan, in turn, on each other set. For intervals, slices without rows or weight also stand for
#: rows that are unusable, and for real weights.
BREAKING = {
    "plain", "no rows", "weights and keys", "a slice without weight", "heavy ties",
    "one class a slice", "infinite scores",
}  # fmt: skip


def plans() -> Iterator[Any]:
    for kind in ROLES:
        for nth, data in enumerate(data for data in stacked() if data.kind == kind):
            turns = {"rows"}
            # Only metrics with cutoffs have other plans, and other SQL files for an interval.
            if kind == "binary":
                turns = {("rows", "groups")[nth % 2]}
            breaking = any(part.name in BREAKING for part in stacked()[data] or [data])
            if kind == "binary" and breaking:
                turns = {"rows", "groups", "interval"}
            if data.weight:
                turns = turns - {"groups"} or {"rows"}
            listed = sorted(turns)
            yield pytest.param(data, listed, id=f"{data}-{'-'.join(listed)}")


def test_only_unweighted_binary_metrics_have_a_plan_of_groups() -> None:
    # Metrics with a single plan need no comparison of plans.
    for kind in ROLES:
        for weight in (None, "count"):
            cases = [case for case in CASES if case.kind == kind and (case.weighted or not weight)]
            metrics = [case.metric for case in {case.request: case for case in cases}.values()]
            if metrics:
                bound = sqleval.scan(drawn(kind), **ROLES[kind], weight=weight)
                alike = bound.sql(metrics, plan="rows") == bound.sql(metrics, plan="groups")
                assert alike == (kind != "binary" or weight is not None)


#: Scores on both sides of the limit at which eight bytes hold a score and its label.
_EDGES = [
    2.0**-10, np.nextafter(2.0**-10, 0), 1.0, np.nextafter(1.0, 0), np.nextafter(1.0, 2), 0.0,
    0.5, np.nextafter(0.5, 0), np.nextafter(0.5, 1), 5e-324, 1e-300, -1.0, 2.0, np.inf, -np.inf,
    0.1, -0.0,
]  # fmt: skip


def sets_of_all_sizes(kind: Any) -> list[pl.DataFrame]:
    """Return 300 small sets; the name of the first one is NULL."""
    rng = np.random.default_rng(7)
    sets: list[pl.DataFrame] = []
    for i in range(300):
        n = int(rng.integers(2, 60))
        near = rng.choice([1e-4, 2.0**-10, 0.01, 1.0, 3.0]) * rng.random(n)
        edges = rng.choice(_EDGES, n)
        drawn = (near, near.round(2), edges, np.where(rng.random(n) < 0.5, near, edges))[i % 4]
        score = np.clip(drawn, -3, 3) if kind.is_decimal() else drawn
        label = rng.integers(0, 2, n) if i % 7 else np.full(n, i // 7 % 2)
        sets.append(pl.DataFrame({"set": i if i else None, "y": label, "p": score},
                                 schema_overrides={"set": pl.Int64}))  # fmt: skip
    return [each.with_columns(pl.col("p").cast(kind)) for each in sets]


@pytest.mark.parametrize("kind", [pl.Float64, pl.Float32, pl.Decimal(38, 30)])
def test_roc_auc_alone_on_scores_of_all_sizes(kind: Any, tmp_path: Path) -> None:
    # Without other metrics, roc_auc sorts the rows differently.
    sets = sets_of_all_sizes(kind)[:150]
    frame = pl.concat(sets)
    frame.write_parquet(tmp_path / "sets.parquet")
    expected: dict[int | None, float | None] = {}
    for (i,), part in frame.partition_by("set", as_dict=True).items():
        # Ranks distinguish scores that are equal as DOUBLE.
        ranks = part["p"].rank("dense")
        two = part["y"].n_unique() == 2
        with config_context(**UNCHECKED):
            expected[i] = float(roc_auc_score(part["y"], ranks)) if two else None
    found = sqleval.scan(tmp_path / "sets.parquet", label="y", score="p", by="set")
    result = found.evaluate("roc_auc").collect()
    assert dict(result.select("set", "value").iter_rows()) == pytest.approx(expected, abs=1e-15)
    for i in (0, 7, 14, 101, 102):
        (value,) = (
            sqleval.scan(sets[i], label="y", score="p").evaluate("roc_auc").collect()["value"]
        )
        assert value == pytest.approx(expected[i or None], abs=1e-15)


def test_rows_are_as_good_as_groups_of_them(tmp_path: Path) -> None:
    # A run of negatives is one unit; thresholds and Brier's parts look rows up, each in its way.
    metrics = [file.name for file in FILES if file.header.get("units") == "runs"]
    assert "roc_auc" in metrics
    metrics.append("break_even_threshold")
    brier = ["brier_reliability", "brier_resolution"]
    metrics += ["best_f_beta(beta=3)", "best_f_beta_threshold(beta=3)"]
    metrics += [f"precision_at_recall{more}(recall=0)" for more in ("", "_threshold")]
    metrics += [f"recall_at_precision{more}(precision=1)" for more in ("", "_threshold")]
    pl.concat(sets_of_all_sizes(pl.Float64)).write_parquet(tmp_path / "sets.parquet")
    probabilities = {"where": "p BETWEEN 0 AND 1"}
    for asked, sign, options in (
        (metrics, "is_run", {"by": "set"}),
        (metrics, "is_run", {}),
        (brier, "looked_up", {"by": "set", **probabilities}),
        (brier, "looked_up", probabilities),
    ):
        bound = sqleval.scan(tmp_path / "sets.parquet", label="y", score="p", **options)
        rows, groups = (bound.sql(asked, plan=plan) for plan in ("rows", "groups"))
        assert (sign in rows, sign in groups) == (True, False)
        found, exact = (pl.DataFrame(duckdb.sql(sql)).drop("method") for sql in (rows, groups))
        assert exact["value"].count() > 100 or not options.get("by")
        assert_frame_equal(found, exact, abs_tol=1e-13)


def test_standard_errors_from_rows_are_those_from_distinct_scores(tmp_path: Path) -> None:
    # Ties, infinite scores, one class, two rows; the rows are ranked once for all the metrics.
    pl.concat(sets_of_all_sizes(pl.Float64)[:60]).write_parquet(tmp_path / "sets.parquet")
    for by in ({"by": "set"}, {}):
        bound = sqleval.scan(tmp_path / "sets.parquet", label="y", score="p", **by)
        asked = ["roc_auc", "gini", "average_precision"]
        rows, groups = (bound.sql(asked, ci=0.9, plan=plan) for plan in ("rows", "groups"))
        assert (rows.count("positive_ranks AS"), groups.count("positive_ranks AS")) == (1, 0)
        found, exact = (pl.DataFrame(duckdb.sql(sql)).drop("method") for sql in (rows, groups))
        assert exact["low"].count() > 70 or not by
        assert_frame_equal(found, exact)


def test_standard_error_of_an_area_by_hand() -> None:
    # Negatives below the positives 1, 2 and 2: 1.5, 2.5 and 2.5. Positives above the negatives 0, 1
    # and 2: 3, 2.5 and 1. With variances 1/3 and 13/12: (1/3 + 13/12) / 3 / 9 = 17/324.
    rows = pl.DataFrame({"y": [1, 1, 1, 0, 0, 0], "p": [1, 2, 2, 0, 1, 2]})
    statement = sqleval.scan(rows, label="y", score="p").statement("roc_auc", ci=0.95)
    (row,) = sqleval.scan(rows, label="y", score="p").evaluate("roc_auc", ci=0.95).collect().rows()
    area, error, z = 13 / 18, (17 / 324) ** 0.5, 1.959963984540054
    step = z * error / (area * (1 - area))
    ends = [1 / (1 + (1 - area) / area * math.exp(sign * step)) for sign in (1, -1)]
    assert row[1:4] == pytest.approx((area, *ends), rel=1e-12)
    assert "positive_ranks" in statement.sql


def cases_of(data: Data, plan: str) -> list[Case]:
    """Return the cases of a data set: each metric with all parameters, or with one, in turn.

    Other parameters are other numbers in the same SQL files, and averages combine the same values
    per class. Stacked sets and optimized statements get all parameters; with intervals, whose
    statements take longest, only stacked sets do. Metrics do not depend on the words for labels,
    so a quarter of the metrics gets each of these sets.
    """
    cases = list({case.request: case for case in CASES if case.fits(data)}.values())
    turn = [each for each in stacked() if each.kind == data.kind].index(data)
    if not (stacked()[data] or (data.name in OPTIMIZED and plan != "interval")):
        alike: dict[tuple[str, str, bool], list[Case]] = {}
        for case in cases:
            alike.setdefault(about(case), []).append(case)
        cases = [same[turn % len(same)] for same in alike.values()]
    return cases[turn % 4 :: 4] if "labels" in data.name else cases


def is_optimized(data: Data, plan: str) -> bool:
    """Whether DuckDB's optimizer is on; without it a statement takes two thirds of the time.

    Small inputs are evaluated without the optimizer.
    """
    return data.name in OPTIMIZED and (plan != "interval" or data.weight is not None)


def parts(cases: list[Case]) -> Iterator[tuple[str, ...]]:
    """Yield the metrics of each statement: not all, because planning grows faster than the number.

    Cases of a family are neighbours, because they share steps.
    """
    for start in range(0, len(cases), 35):
        yield tuple(case.metric for case in cases[start : start + 35])


#: The statements over one file, by everything except the path that they depend on.
_TEXTS: dict[tuple[object, ...], tuple[Path, str]] = {}


def text_of(data: Data, metrics: tuple[str, ...], plan: Any, path: Path) -> str:
    """Return a statement over a file; data sets that differ only in their rows share its text."""
    key = (data.kind, str(data.options), str(data.frame.schema), metrics, plan)
    if key not in _TEXTS:
        bound = predictions(data, path)
        interval = plan == "interval"
        text = bound.sql(metrics, ci=0.95) if interval else bound.sql(metrics, plan=plan)
        _TEXTS[key] = path, text
    first, text = _TEXTS[key]
    return text.replace(str(first), str(path))


@pytest.fixture(scope="module")
def console() -> Iterator[duckdb.DuckDBPyConnection]:
    # One thread, as for small inputs: a second thread would mostly wait.
    with duckdb.connect(config={"threads": 1}) as con:
        yield con


@pytest.mark.parametrize(("data", "turns"), list(plans()))
def test_metrics_together_equal_their_references(
    data: Data,
    turns: list[str],
    parquet: Callable[[Data], Path],
    console: duckdb.DuckDBPyConnection,
) -> None:
    # Together, metrics share steps instead of using twins, and each plan has its own units.
    # Intervals use the portable files.
    if not cases_of(data, "rows"):
        pytest.skip("no metric of this kind takes weights")
    problems: list[str] = []
    for plan in turns:
        cases = cases_of(data, plan)
        rows: dict[str, list[dict[str, Any]]] = {}
        for metrics in parts(cases):
            text = text_of(data, metrics, plan, parquet(data))
            optimizer = "enable" if is_optimized(data, plan) else "disable"
            console.execute(f"PRAGMA {optimizer}_optimizer")
            result = console.execute(text)
            names = [column[0] for column in result.description or []]
            for row in result.fetchall():
                named = dict(zip(names, row, strict=True))
                rows.setdefault(named["metric"], []).append(named)
                assert named["_problem"] is None
        for case in cases:
            try:
                check(case, data, rows.get(request.format_request(case.request), []))
            except AssertionError as error:
                problems.append(f"{plan}: {case.metric}: {error}")
    assert not problems, "\n".join(problems)


@pytest.mark.parametrize(
    "case", [case for case in CASES if not case.weighted and case.kind != "probabilities"], ids=str
)
def test_weights_are_refused_where_a_metric_cannot_use_them(case: Case) -> None:
    bound = sqleval.scan(drawn(case.kind), **ROLES[case.kind], weight="w")
    with pytest.raises(RequestError, match="cannot use weights"):
        bound.evaluate(case.metric)


@pytest.mark.parametrize("relation", FILES, ids=lambda relation: relation.name)
def test_every_metric_file_has_a_case(relation: Relation) -> None:
    assert relation.name in {case.name for case in CASES}


@pytest.mark.parametrize(
    "relation", [*FILES, *builtin().relations("curve")], ids=lambda relation: relation.name
)
def test_reference_in_the_header_exists(relation: Relation) -> None:
    name = relation.header["reference"]
    if name.split(".")[0] not in ("sklearn", "scipy", "numpy"):
        pytest.skip(f"{name} is a paper or no dependency of the tests")
    module, _, function = name.rpartition(".")
    assert callable(getattr(import_module(module), function))


@pytest.mark.parametrize("name", ["prediction column", "both columns", "words", "booleans"])
def test_hard_decisions_replace_the_threshold(name: str) -> None:
    frame = drawn("binary").with_columns(d=(pl.col("w") > 0.5).cast(pl.Int64))
    values = {0: "ham", 1: "spam"}
    options: dict[str, Any] = {"prediction": "d", "label": "y", "task": "binary"}
    bound = frame
    if name == "both columns":
        options["score"] = "p"
    if name == "words":
        bound = frame.with_columns(pl.col("y", "d").replace_strict(values))
        options["positive"] = "spam"
    if name == "booleans":
        bound = frame.with_columns(pl.col("y", "d") == 1)
    ((tn, fp), (fn, tp)) = confusion_matrix(frame["y"], frame["d"])
    result = sqleval.scan(bound, **options).evaluate(["precision", "recall", "accuracy"]).collect()
    rates = [tp / (tp + fp), tp / (tp + fn), (tp + tn) / frame.height]
    assert result["value"].to_list() == pytest.approx(rates, rel=1e-12)


def test_macro_auc_equals_one_versus_rest_of_scikit_learn() -> None:
    frame = drawn("probabilities", 300)
    scores = frame.select("p_a", "p_b", "p_c").to_numpy()
    # The order in which classes are named does not matter.
    roles = {**ROLES["probabilities"], "score": {"c": "p_c", "a": "p_a", "b": "p_b"}}
    bound = sqleval.scan(frame, **roles)
    for average in ("macro", "weighted"):
        want = roc_auc_score(frame["y"], scores, multi_class="ovr", average=average)
        got = bound.evaluate(f"roc_auc_ovr_{average}").collect()["value"].item()
        assert got == pytest.approx(want, rel=1e-12)


def test_undefined_classes_leave_the_mean_and_are_counted() -> None:
    frame = pl.DataFrame({"y": ["a", "a", "b", "c"], "c": ["a", "b", "b", "a"]})
    bound = sqleval.scan(frame, label="y", prediction="c")
    row = bound.evaluate("precision(average='macro')").collect().row(0, named=True)
    assert row["value"] == pytest.approx(0.5)
    assert row["note"] == "undefined for 1 of 3 classes"
