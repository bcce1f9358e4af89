"""Properties of every metric, read from its header: range, row order, weights, slices, notes."""

from collections.abc import Iterator
from functools import cache
from itertools import pairwise
from math import isinf
from pathlib import Path
from typing import Any

import duckdb
import polars as pl
import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

import sqleval
from sqleval.catalog import Relation, builtin
from sqleval.checking import properties
from sqleval.checking.properties import Rows, Values, find_differences
from sqleval.compiler.bin_rows import read_expressions
from tests.support.cases import CASES, DATA, ROLES, Case, Data, Kind, about, drawn, has_twins
from tests.support.macros import ALL

few = settings(
    max_examples=12,
    deadline=None,
    derandomize=True,
    # Without shrinking: drawn frames are small, and shrinking a failing one takes minutes.
    phases=[Phase.explicit, Phase.generate],
    database=None,
    suppress_health_check=list(HealthCheck),
)
KINDS = list(ROLES)


def metrics_of(kind: Kind, *, weighted: bool = False, by: Any = "example") -> list[str]:
    """Return the text of each metric that takes this kind of data, with one set of parameters.

    Other parameters are other numbers in the same files, and averages combine the same values per
    class, so they take turns; slices get others than all rows. `test_metrics` compares all of
    them with references.
    """
    alike: dict[object, dict[object, Case]] = {}
    for case in CASES:
        if case.kind == kind and (case.weighted or not weighted):
            alike.setdefault(about(case), {})[case.request] = case
    turn = 1 if by else 0
    sets = [[*same.values()] for same in alike.values()]
    return [same[(turn + i) % len(same)].metric for i, same in enumerate(sets)]


#: Metrics whose best value depends on the share of positives, or the number of labels of a row.
BEST_BY_PREVALENCE = {
    "brier_resolution", "precision_at_k", "recall_at_k", "f1_at_k", "rbp", "err", "coverage_error",
    "catalogue_coverage", "exposure_gini",
}  # fmt: skip


def statements(metrics: list[str]) -> list[list[str]]:
    """Return the metrics of each statement: many short ones are planned faster than a long one."""
    return [metrics[start : start + 35] for start in range(0, len(metrics), 35)]


def rows(frame: pl.DataFrame, kind: Kind, **options: Any) -> Rows:
    """Return rows with the roles of their kind."""
    return Rows(frame, {**ROLES[kind], **options})


# -- range and best end ------------------------------------------------------------------------

SCORES = st.sampled_from([0.0, 0.25, 0.5, 0.75, 1.0]) | st.floats(0, 1, width=32)
WEIGHTS = st.sampled_from([0.0, 0.1, 0.2, 0.3, 0.7, 1.0, 2.0, 3.0])


def frames(kind: Kind) -> st.SearchStrategy[pl.DataFrame]:
    """Return small frames of a kind, full of ties, with weights and keys."""
    letters = st.sampled_from("abc")
    finite = st.floats(-100, 100, width=32)
    columns: dict[Kind, dict[str, st.SearchStrategy[Any]]] = {
        "binary": {"y": st.integers(0, 1), "p": SCORES},
        "multiclass": {"y": letters, "c": letters},
        "probabilities": {"y": letters, "p_a": SCORES, "p_b": SCORES, "p_c": SCORES},
        "regression": {"y": finite, "v": finite},
        "ranking": {
            "y": st.integers(0, 3),
            "p": st.sampled_from([0.0, 1.0, 2.0]),
            "q": st.integers(0, 3),
        },
        "recommendation": {
            "y": st.integers(0, 2),
            "p": st.sampled_from([0.0, 1.0, 2.0]),
            "q": st.integers(0, 3),
            "i": st.integers(0, 9),
        },
        "value": {"y": st.integers(0, 1), "v": finite | st.sampled_from([0.0, 1.0])},
        "many labels": {f"y_{name}": st.integers(0, 1) for name in "abc"}
        | {f"p_{name}": SCORES for name in "abc"},
    }
    shared = {
        "count": st.integers(0, 3),
        "w": WEIGHTS,
        "g": st.sampled_from(["north", "south", None]),
        "h": st.integers(1, 2),
    }
    # The types of drawn rows hold also where a column is all NULL.
    schema = drawn(kind, 1).schema
    row = st.fixed_dictionaries(columns[kind] | shared)
    made = st.lists(row, min_size=1, max_size=12).map(
        lambda rows: pl.DataFrame(rows, schema=schema, orient="row")
    )
    if kind != "probabilities":
        return made
    # Probabilities of the classes sum to 1.
    scores = pl.col("p_a", "p_b", "p_c") + 0.125
    return made.map(lambda frame: frame.with_columns(scores / pl.sum_horizontal(scores)))


@cache
def examples(kind: Kind) -> pl.DataFrame:
    """Return small frames of a kind as one, with the column ``example`` as their number.

    A statement takes longer to plan than to run, so one statement evaluates all examples: as
    slices, and pooled.
    """
    found: list[pl.DataFrame] = []

    @few
    @given(frames(kind))
    def gather(frame: pl.DataFrame) -> None:
        found.append(frame)

    gather()
    return pl.concat(frame.with_columns(example=i) for i, frame in enumerate(found))


EACH: list[dict[str, Any]] = [{"by": ["example"]}, {"by": []}]


@pytest.mark.parametrize("weight", [None, "w"])
@pytest.mark.parametrize("kind", KINDS)
def test_value_is_in_range(kind: Kind, weight: str | None) -> None:
    for options in EACH:
        metrics = metrics_of(kind, weighted=weight is not None, **options)
        bound = rows(examples(kind), kind, weight=weight, **options)
        assert properties.check_range(bound, metrics) == {}


#: Metrics that are undefined if all probabilities are 0 or 1, or no prediction is too high.
NO_ERRORS = ("hosmer_lemeshow", "index_of_ideality_of_correlation")


@pytest.mark.parametrize("weight", [None, "w"])
@pytest.mark.parametrize("kind", KINDS)
def test_perfect_predictions_reach_the_best_end(kind: Kind, weight: str | None) -> None:
    label = pl.col("y")
    right: dict[Kind, dict[str, Any]] = {
        "binary": {"p": label.cast(float)},
        "multiclass": {"c": label},
        "probabilities": {f"p_{c}": (label == c).cast(float) for c in "abc"},
        "regression": {"v": label},
        "ranking": {"p": label.cast(float)},
        "recommendation": {"p": label.cast(float)},
        "value": {"v": pl.lit(1.0)},
        "many labels": {f"p_{name}": pl.col(f"y_{name}").cast(float) for name in "abc"},
    }
    metrics = metrics_of(kind, weighted=weight is not None)
    frame = drawn(kind)
    if kind == "many labels":  # a row without labels, and without predicted ones, counts 0
        frame = frame.filter(pl.any_horizontal(pl.col("^y_.$") == 1))
    if kind == "regression":
        # Deviances and logarithms need labels above 0.
        frame = frame.with_columns(pl.col("y").abs())
    bound = rows(frame.with_columns(**right[kind]), kind, weight=weight)
    wrong: dict[str, float | None] = {}
    for (name,), value in properties.evaluate(bound, metrics).items():
        request = bound.parse([name])[name]
        low, high = bound.read_range(request)
        best = {"higher": high, "lower": low}.get(request.header["direction"])
        is_open = best is None or isinf(best)
        if request.is_sum or request.name in (*BEST_BY_PREVALENCE, *NO_ERRORS) or is_open:
            continue
        if value is None or abs(value - best) > properties.TOLERANCE:
            wrong[name] = value
    assert not wrong


# -- what must not matter ----------------------------------------------------------------------


@pytest.mark.parametrize("weight", [None, "w"])
@pytest.mark.parametrize("kind", KINDS)
def test_row_order_and_files_do_not_matter(kind: Kind, weight: str | None, tmp_path: Path) -> None:
    # With weights all examples are pooled; without weights each is a slice.
    options = EACH[1 if weight else 0]
    metrics = metrics_of(kind, weighted=weight is not None, **options)
    if not metrics:
        pytest.skip("no metric of this kind takes weights")
    bound = rows(examples(kind), kind, weight=weight, **options)
    assert properties.check_order(bound, metrics) == {}
    # One file has a single row, and one has none.
    for i, (start, end) in enumerate(pairwise([0, 1, 20, 20, 45, bound.frame.height])):
        bound.frame[start:end].write_parquet(tmp_path / f"{i}.parquet")
    files = properties.evaluate(bound, metrics, source=tmp_path / "*.parquet")
    expected = properties.evaluate(bound, metrics)
    assert find_differences(files, expected, ("in files", "as a frame")) == {}


#: Metrics that use another SQL file alone than together with others.
ALONE = [
    pytest.param(case.kind, [case.metric], id=str(case))
    for case in {about(case): case for case in reversed(CASES) if has_twins(case)}.values()
]


@pytest.mark.parametrize(
    ("kind", "metrics"),
    [*(pytest.param(kind, metrics_of(kind), id=kind) for kind in KINDS), *ALONE],
)
def test_grouped_equals_filtered(kind: Kind, metrics: list[str]) -> None:
    frame = drawn(kind, 200, seed=3)
    assert frame["g"].n_unique() == 3
    assert properties.check_slices(rows(frame, kind), metrics, "g") == {}


@pytest.mark.parametrize(("kind", "metrics"), ALONE)
def test_weight_2_equals_the_row_twice(kind: Kind, metrics: list[str]) -> None:
    # The next test evaluates the metrics together, with weights of 0 to 3.
    frame = drawn(kind, 90, seed=5).with_columns(two=1 + pl.col("h") % 2)
    assert properties.check_repeats(rows(frame, kind), metrics, "weight", "two") == {}


@pytest.mark.parametrize("kind", [kind for kind in KINDS if "qid" not in ROLES[kind]])
def test_counts_as_weights_equal_repeated_rows(kind: Kind) -> None:
    # Each example is a slice; `test_metrics` has counts without slices.
    bound, options = rows(examples(kind), kind, **EACH[0]), EACH[0]
    assert (bound.frame["count"] == 0).any()
    metrics = metrics_of(kind, weighted=True, **options)
    assert properties.check_repeats(bound, metrics, "weight", "count") == {}


def test_a_monotone_change_of_scores_changes_no_ranking_metric() -> None:
    metrics = ["roc_auc", "roc_auc_pairs", "roc_auc_trapezoid", "roc_auc_rank_sum", "ks"]
    metrics.append("average_precision")
    places = pl.col("p").rank("dense").cast(pl.Int64) * 3 - 40
    for options in EACH:
        bound = rows(examples("binary"), "binary", **options)
        changed = bound.replace(bound.frame.with_columns(p=places))
        found, expected = (properties.evaluate(each, metrics) for each in (changed, bound))
        assert find_differences(found, expected, ("by places", "by scores")) == {}


def assert_same_area(got: Values, want: Values) -> None:
    """Compare the values of two metrics; the keys of the values end with the metric's name."""
    one, other = ({(*key[:-1], "area"): v for key, v in each.items()} for each in (got, want))
    assert find_differences(one, other, ("so", "as roc_auc")) == {}


def test_each_definition_of_roc_auc_gives_the_same() -> None:
    for options in EACH:
        bound = rows(examples("binary"), "binary", **options)
        # One at a time, so that each takes its own file.
        area, *others = (
            properties.evaluate(bound, [name])
            for name in ("roc_auc", "roc_auc_pairs", "roc_auc_trapezoid", "roc_auc_rank_sum")
        )
        for other in others:
            assert_same_area(other, area)


@pytest.mark.parametrize("name", ["roc_auc_pairs", "roc_auc_trapezoid"])
def test_each_definition_of_roc_auc_takes_weights_alike(name: str) -> None:
    for options in EACH:
        bound = rows(examples("binary"), "binary", weight="w", **options)
        got = properties.evaluate(bound, [name, "roc_auc"])
        other, area = (
            {key: v for key, v in got.items() if key[-1] == m} for m in (name, "roc_auc")
        )
        assert_same_area(other, area)


def test_plans_agree(tmp_path: Path) -> None:
    # Metrics of other kinds, and weighted ones, have one plan: see test_metrics. For few rows,
    # `evaluate` chooses the plan of rows.
    examples("binary").write_parquet(path := tmp_path / "rows.parquet")
    metrics = metrics_of("binary")
    by_rows = properties.evaluate(rows(examples("binary"), "binary", by=["example"]), metrics)
    bound = sqleval.scan(path, **ROLES["binary"], by="example")
    texts = [bound.sql(part, plan="groups") for part in statements(metrics)]
    with duckdb.connect() as con:
        parts = pl.concat(con.sql(text).pl() for text in texts)
    found = {(*row[:-1],): row[-1] for row in parts.select("example", "metric", "value").rows()}
    assert find_differences(found, by_rows, ("by groups", "by rows")) == {}


# -- notes -------------------------------------------------------------------------------------


#: Metrics are undefined on few rows: these data sets hold many such slices.
UNDEFINED = [data for data in ALL if data.name in ("cases as slices", "no weight at all")]


@cache
def notes_of_undefined(data: Data) -> dict[str, set[str]]:
    """Return the notes of all metrics of a data set, by name.

    The case with the most parameters can be undefined for the most reasons.
    """
    cases = sorted(
        (case for case in CASES if case.fits(data)), key=lambda case: len(case.request.parameters)
    )
    names = {case.metric: name for name, case in {case.name: case for case in cases}.items()}
    bound = sqleval.scan(data.frame, **ROLES[data.kind], **data.options)
    notes: dict[str, set[str]] = {}
    for part in statements([*names]):
        rows = bound.evaluate(part).collect().drop_nulls("note")
        for metric, note in rows.select("metric", "note").unique().iter_rows():
            notes.setdefault(metric.partition("(")[0], set()).add(note)
    return notes


def given_notes(name: str) -> Iterator[str]:
    """Yield the notes that a metric gives over all data sets of its kind."""
    cases = [case for case in CASES if case.name == name]
    for data in UNDEFINED:
        if any(case.fits(data) for case in cases):
            yield from notes_of_undefined(data).get(name, ())
    if name.endswith("_threshold"):
        # Two rows in one bin, the positive above the negative.
        rows = pl.DataFrame({"y": [1, 0], "p": [0.51, 0.5]})
        bound = sqleval.scan(rows, label="y", score="p")
        yield from bound.evaluate(name, bins=2).collect()["note"].drop_nulls()
    if name in RARE:
        text, columns = RARE[name]
        roles = {"qid": "q"} if "q" in columns else {}
        bound = sqleval.scan(pl.DataFrame(columns), label="y", score="p", **roles)
        steps = bound.steps(text, rows=100) if roles else []
        yield from bound.evaluate(text).collect()["note"].drop_nulls()
        for step, _, rows in steps:
            if step == "_metrics_1":
                yield from rows["note_1"].drop_nulls()
    several = [data for data in DATA if data.kind == "probabilities"]
    pairs = [(case, data) for case in cases for data in (*ALL, *several)]
    # Rows without weight come first: they produce notes already with few parameters.
    pairs.sort(
        key=lambda pair: (
            pair[1].name != "no weight at all", len(pair[0].request.parameters),
            pair[1].frame.height,
        )
    )  # fmt: skip
    for case, data in pairs:
        if case.fits(data):
            bound = sqleval.scan(data.frame, **ROLES[data.kind], **data.options)
            yield from bound.evaluate(case.metric).collect()["note"].drop_nulls()
            if "qid" in ROLES[case.kind]:
                # The mean over queries counts notes, and items that were not retrieved are counted
                # as well; the note of a single query is in its step.
                for step, _, rows in bound.steps(case.metric, rows=100):
                    if step == "_metrics_1":
                        yield from rows["note_1"].drop_nulls()


#: Reasons that no data set gives: the metric, and rows.
RARE: dict[str, tuple[str, dict[str, list[Any]]]] = {
    "logistic_calibration_slope": (
        "logistic_calibration_slope",
        {"y": [0, 0, 1, 1], "p": [0.1, 0.2, 0.7, 0.8]},
    ),
    "roc_auc_pairs": ("roc_auc_pairs(max_rows=1)", {"y": [0, 1], "p": [0.1, 0.2]}),
    "err": ("err(largest=8)", {"q": [1] * 9, "y": [*range(9)], "p": [0.0] * 9}),
    **{
        name: (f"{name}(gain='exponential')", {"q": [1, 1], "y": [2000, 1], "p": [0.1, 0.2]})
        for name in ("dcg", "ndcg")
    },
}
#: Metrics that are undefined only without rows or without weight, as all metrics are then.
ALWAYS = {
    "count", "sum", "median", "quantile", "hamming_loss", "subset_accuracy", "coverage_error",
    "label_ranking_average_precision", "label_ranking_loss",
    "median_absolute_error", "absolute_error_quantile",
    "max_error", "mean_bias", "smape", "huber", "log_cosh", "pinball_loss",
}  # fmt: skip


@pytest.mark.parametrize("relation", builtin().relations("metric"), ids=lambda file: file.name)
def test_every_note_has_a_case(relation: Relation) -> None:
    declared = {note for file in builtin().files(relation.name) for note in file.notes}
    if relation.name in ALWAYS:
        assert not declared
        assert {*given_notes(relation.name)} <= {"no rows", "total weight is 0"}
        return
    assert declared, "an undefined value needs its reason"
    missing = set(declared)
    for note in given_notes(relation.name):
        missing.discard(note)
        if not missing:
            return
    pytest.fail(f"no data set gives {sorted(missing)}")


# -- the statement -----------------------------------------------------------------------------


def squeezed(sql: str) -> str:
    """Return SQL without the white space that formatting adds."""
    return "".join(sql.split())


def expressions(name: str) -> Iterator[str]:
    """Yield the value expression of each file of a metric; for a mean, the value of a row."""
    for file in builtin().files(name):
        value = next(item for item in file.query.selects if item.alias_or_name == "value").unalias()
        if file.reads == (f"{name}_rows",):
            value = read_expressions(builtin().get(f"{name}_rows").query)["row_value"]
        yield squeezed(value.sql(dialect="duckdb", comments=False))


@cache
def together(kind: Kind, plan: Any) -> str:
    """Return the statement of all metrics of a kind, without parameters where they need none."""
    bound = sqleval.scan(drawn(kind), **ROLES[kind])
    cases = sorted(
        (case for case in CASES if case.kind == kind),
        key=lambda case: -len(case.request.parameters),
    )
    metrics = [case.metric for case in {case.name: case for case in cases}.values()]
    return squeezed(bound.statement(metrics, plan=plan).sql)


@cache
def bind(kind: Kind) -> sqleval.Predictions:
    """Return predictions of a kind, which are only written as statements."""
    return sqleval.scan(drawn(kind), **ROLES[kind])


@pytest.mark.parametrize(
    ("case", "plan"),
    [
        pytest.param(case, plan, id=f"{case}-{plan}")
        for case in CASES
        # Metrics of other kinds have one plan: see `test_metrics`.
        for plan in (("rows", "groups") if case.kind == "binary" else ("rows",))
    ],
)
def test_statement_contains_the_files_own_expression(case: Case, plan: Any) -> None:
    bound = bind(case.kind)
    own = list(expressions(case.name))
    alone = squeezed(bound.statement(case.metric, plan=plan).sql)
    assert any(expression in alone for expression in own), own
    # Parameters of repeated files are numbered: compare only the first instance.
    if not case.request.parameters:
        assert any(expression in together(case.kind, plan) for expression in own), own
