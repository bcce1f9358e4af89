"""Properties of every metric, read from its header: range, row order, weights, slices, notes."""

import math
from collections.abc import Iterator
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import polars as pl
import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

import sqleval
from sqleval.catalog import Relation, builtin
from tests.support.cases import CASES, ROLES, Case, Data, Kind, about, drawn, has_twins
from tests.support.macros import ALL

TOLERANCE = 1e-12
few = settings(
    max_examples=12,
    deadline=None,
    derandomize=True,
    # Frames are small as drawn, and making a failing one smaller takes minutes.
    phases=[Phase.explicit, Phase.generate],
    database=None,
    suppress_health_check=list(HealthCheck),
)
KINDS = list(ROLES)


def metrics_of(kind: Kind, *, weighted: bool = False, by: Any = "example") -> list[str]:
    """Return the text of each metric that takes this kind of data, with one set of parameters.

    Others are other numbers in the same files, and other averages of what each class has; they
    take turns, and slices see other ones than rows together. `test_metrics` compares all of them
    with references.
    """
    alike: dict[object, dict[object, Case]] = {}
    for case in CASES:
        if case.kind == kind and (case.weighted or not weighted):
            alike.setdefault(about(case), {})[case.request] = case
    turn = 1 if by else 0
    sets = [[*same.values()] for same in alike.values()]
    return [same[(turn + i) % len(same)].metric for i, same in enumerate(sets)]


def is_sum(metric: str) -> bool:
    """Whether it is an integral, whose range is that of the weights."""
    return "normalize=False" in metric


#: Their best end depends on the share of positives.
BEST_BY_PREVALENCE = {"brier_resolution"}


def values(
    source: object, kind: Kind, metrics: list[str] | str, **options: Any
) -> dict[tuple[Any, ...], float | None]:
    """Return the value of each metric and slice."""
    bound = sqleval.scan(source, **ROLES[kind], **options)
    return {
        (*row[:-1],): row[-1]
        for part in statements(metrics)
        for row in bound.evaluate(part)
        .collect()
        .select(*options.get("by", []), "metric", "value")
        .rows()
    }


def statements(metrics: list[str] | str) -> list[list[str] | str]:
    """Return the metrics of each statement: many short ones are planned faster than a long one."""
    if isinstance(metrics, str):
        return [metrics]
    return [metrics[start : start + 35] for start in range(0, len(metrics), 35)]


def assert_same(got: dict[Any, float | None], want: dict[Any, float | None]) -> None:
    assert got.keys() == want.keys()
    wrong = {
        key: (value, want[key])
        for key, value in got.items()
        if (value is None) != (want[key] is None)
        or (value is not None and abs(value - want[key]) > TOLERANCE * max(1.0, abs(want[key])))
    }
    assert not wrong


def ends(header: Any) -> tuple[float, float]:
    low, _, high = header["range"].partition("..")
    return float(low), float(high)


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
    """Return small frames of a kind in one, told apart by the column ``example``.

    A statement takes longer to plan than to run, and so all are asked in one: each by its slice,
    and their rows together.
    """
    found: list[pl.DataFrame] = []

    @few
    @given(frames(kind))
    def gather(frame: pl.DataFrame) -> None:
        found.append(frame)

    gather()
    return pl.concat(frame.with_columns(example=i) for i, frame in enumerate(found))


EACH: list[dict[str, Any]] = [{"by": ["example"]}, {"by": []}]


@cache
def answered(kind: Kind, weight: str | None) -> list[dict[tuple[Any, ...], float | None]]:
    """Return every metric of the examples: of each one, and of their rows together."""
    return [
        values(
            examples(kind), kind, metrics_of(kind, weighted=weight is not None, **options),
            weight=weight, **options,
        )
        for options in EACH
    ]  # fmt: skip


@pytest.mark.parametrize("weight", [None, "w"])
@pytest.mark.parametrize("kind", KINDS)
def test_value_is_in_range(kind: Kind, weight: str | None) -> None:
    if not metrics_of(kind, weighted=weight is not None):
        pytest.skip("no metric of this kind takes weights")
    wrong: list[tuple[Any, ...]] = []
    for found in answered(kind, weight):
        for (*_, name), value in found.items():
            low, high = ends(resolved(name, kind).header)
            fits = value is None or low <= value <= high + TOLERANCE
            if not (fits or is_sum(name)):
                wrong.append((name, value))
    assert not wrong


def resolved(text: str, kind: Kind) -> Relation:
    """Return the file that stands for a metric on this kind of data."""
    found = builtin().files(text.partition("(")[0])
    several = kind in ("multiclass", "probabilities")
    return next((r for r in found if several and "multiclass" in r.when), found[0])


@pytest.mark.parametrize("weight", [None, "w"])
@pytest.mark.parametrize("kind", KINDS)
def test_perfect_predictions_reach_the_best_end(kind: Kind, weight: str | None) -> None:
    frame = drawn(kind)
    label = pl.col("y")
    right: dict[Kind, dict[str, Any]] = {
        "binary": {"p": label.cast(float)},
        "multiclass": {"c": label},
        "probabilities": {f"p_{c}": (label == c).cast(float) for c in "abc"},
        "regression": {"v": label},
        "ranking": {"p": label.cast(float)},
    }
    metrics = metrics_of(kind, weighted=weight is not None)
    if not metrics:
        pytest.skip("no metric of this kind takes weights")
    options = {"weight": weight} if weight else {}
    wrong: dict[str, float | None] = {}
    for (name,), value in values(
        frame.with_columns(**right[kind]), kind, metrics, **options
    ).items():
        header = resolved(name, kind).header
        low, high = ends(header)
        best = {"higher": high, "lower": low}.get(header["direction"])
        if is_sum(name) or name.partition("(")[0] in BEST_BY_PREVALENCE:
            continue
        if best is not None and (value is None or abs(value - best) > TOLERANCE):
            wrong[name] = value
    assert not wrong


# -- what must not matter ----------------------------------------------------------------------


@pytest.mark.parametrize("weight", [None, "w"])
@pytest.mark.parametrize("kind", KINDS)
def test_row_order_and_files_do_not_matter(kind: Kind, weight: str | None, tmp_path: Path) -> None:
    if not metrics_of(kind, weighted=weight is not None):
        pytest.skip("no metric of this kind takes weights")
    shuffled = examples(kind).sample(fraction=1, shuffle=True, seed=1)
    # One of the files has a row, and one has none.
    for i, (start, end) in enumerate(pairwise([0, 1, 20, 20, 45, shuffled.height])):
        shuffled[start:end].write_parquet(tmp_path / f"{i}.parquet")
    files = str(tmp_path / "*.parquet")
    # With weights the rows of all examples together, without weights those of each.
    at = 1 if weight else 0
    metrics = metrics_of(kind, weighted=weight is not None, **EACH[at])
    expected = answered(kind, weight)[at]
    assert_same(values(files, kind, metrics, weight=weight, **EACH[at]), expected)


#: What takes another file alone than together.
ALONE = [
    pytest.param(case.kind, case.metric, id=str(case))
    for case in {about(case): case for case in reversed(CASES) if has_twins(case)}.values()
]


@pytest.mark.parametrize(
    ("kind", "metrics"),
    [*(pytest.param(kind, metrics_of(kind), id=kind) for kind in KINDS), *ALONE],
)
def test_grouped_equals_filtered(kind: Kind, metrics: list[str] | str) -> None:
    frame = drawn(kind, 200, seed=3)
    grouped = values(frame, kind, metrics, by=["g"])
    keys = {key for key, _ in grouped}
    assert keys == {"north", "south", None}
    # Rows that are cut out beforehand have no slice any more: two keys stand for all, and metrics
    # alone for the condition of the second.
    for key in ("north", None):
        want = {(name,): value for (of, name), value in grouped.items() if of == key}
        assert len(want) == (1 if isinstance(metrics, str) else len(metrics))
        where = "g IS NULL" if key is None else f"g = '{key}'"
        if key is None and not isinstance(metrics, str):
            part, options = frame.filter(pl.col("g").is_null()), {}
        else:
            part, options = frame, {"where": where}
        assert_same(values(part, kind, metrics, **options), want)


@pytest.mark.parametrize(("kind", "metric"), ALONE)
def test_weight_2_equals_the_row_twice(kind: Kind, metric: str) -> None:
    # Together the metrics have weights of 0 to 3 in the next test.
    frame = drawn(kind, 90, seed=5).with_columns(two=1 + pl.col("h") % 2)
    twice = pl.concat([frame, frame.filter(two=2)])
    weighted = values(frame, kind, metric, weight="two")
    assert len(weighted) == 1
    assert_same(weighted, values(twice, kind, metric))


@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind != "ranking"])
def test_counts_as_weights_equal_repeated_rows(kind: Kind) -> None:
    # Each example is a slice; counts of rows together, and alone, are those of `test_metrics`.
    frame, (by, _) = examples(kind), EACH
    repeated = frame[np.repeat(np.arange(frame.height), frame["count"].to_numpy())]
    metrics = metrics_of(kind, weighted=True, **by)
    weighted = values(frame, kind, metrics, weight="count", **by)
    found = values(repeated, kind, metrics, **by)
    assert found.keys() < weighted.keys()
    # Of rows without weight the values are undefined, and without rows there is no slice.
    assert_same(weighted, {key: found.get(key) for key in weighted})


def test_a_monotone_change_of_scores_changes_no_ranking_metric() -> None:
    metrics = ["roc_auc", "roc_auc_pairs", "roc_auc_trapezoid", "roc_auc_rank_sum", "ks"]
    metrics.append("average_precision")
    frame = examples("binary")
    places = pl.col("p").rank("dense").cast(pl.Int64) * 3 - 40
    for options in EACH:
        assert_same(
            values(frame.with_columns(p=places), "binary", metrics, **options),
            values(frame, "binary", metrics, **options),
        )


def assert_same_area(got: dict[Any, float | None], want: dict[Any, float | None]) -> None:
    """Compare the values of two metrics, whose keys end with their names."""
    assert_same({key[:-1]: v for key, v in got.items()}, {key[:-1]: v for key, v in want.items()})


def test_each_definition_of_roc_auc_gives_the_same() -> None:
    for options in EACH:
        # One at a time, so that each takes its own file.
        area, *others = (
            values(examples("binary"), "binary", name, **options)
            for name in ("roc_auc", "roc_auc_pairs", "roc_auc_trapezoid", "roc_auc_rank_sum")
        )
        for other in others:
            assert_same_area(other, area)


@pytest.mark.parametrize("name", ["roc_auc_pairs", "roc_auc_trapezoid"])
def test_each_definition_of_roc_auc_takes_weights_alike(name: str) -> None:
    for options in EACH:
        got = values(examples("binary"), "binary", [name, "roc_auc"], weight="w", **options)
        other, area = (
            {key: v for key, v in got.items() if key[-1] == m} for m in (name, "roc_auc")
        )
        assert_same_area(other, area)


def test_plans_agree(tmp_path: Path) -> None:
    # The metrics of other kinds, and weighted ones, have one plan: see test_metrics. Of few rows
    # `evaluate` takes the plan of rows.
    examples("binary").write_parquet(path := tmp_path / "rows.parquet")
    by_rows, _ = answered("binary", None)
    bound = sqleval.scan(path, **ROLES["binary"], by="example")
    texts = [bound.sql(part, plan="groups") for part in statements(metrics_of("binary"))]
    with duckdb.connect() as con:
        parts = pl.concat(con.sql(text).pl() for text in texts)
    rows = parts.select("example", "metric", "value").rows()
    assert_same({(*row[:-1],): row[-1] for row in rows}, by_rows)


# -- notes -------------------------------------------------------------------------------------


#: What is undefined is so of few rows: many such slices at once, whatever the parameters.
UNDEFINED = [data for data in ALL if data.name in ("cases as slices", "no weight at all")]


@cache
def notes_of_undefined(data: Data) -> dict[str, set[str]]:
    """Return the notes of all metrics of a data set, by name.

    The case with the most parameters is undefined for the most reasons.
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
        # Two rows that one bin holds, of which the positive stands above.
        rows = pl.DataFrame({"y": [1, 0], "p": [0.51, 0.5]})
        bound = sqleval.scan(rows, label="y", score="p")
        yield from bound.evaluate(name, bins=2).collect()["note"].drop_nulls()
    pairs = [(case, data) for case in cases for data in ALL]
    # Rows without weight come first, of which fewer parameters know more.
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
            if case.kind == "ranking":
                # The mean over queries counts them; one query's own note stands in its step.
                for step, _, rows in bound.steps(case.metric, rows=100):
                    if step == "_metrics_1":
                        yield from rows["note_1"].drop_nulls()


@pytest.mark.parametrize("relation", builtin().relations("metric"), ids=lambda file: file.name)
def test_every_note_has_a_case(relation: Relation) -> None:
    declared = {note for file in builtin().files(relation.name) for note in file.notes}
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
    """Yield the value expression of each file of a metric."""
    for file in builtin().files(name):
        value = next(item for item in file.query.selects if item.alias_or_name == "value")
        yield squeezed(value.unalias().sql(dialect="duckdb", comments=False))


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
    # Of several instances of one file the parameters are numbered: compare the file's first.
    if not case.request.parameters:
        assert any(expression in together(case.kind, plan) for expression in own), own


def test_ranges_are_readable() -> None:
    for file in builtin().relations("metric"):
        low, high = ends(file.header)
        assert low < high
        assert not math.isnan(low)
        assert file.header["direction"] in ("higher", "lower", "none")
