"""Adjusted p-values against statsmodels, over groups and around missing values."""

from collections.abc import Iterator

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from statsmodels.stats.multitest import multipletests

from sqleval.errors import RequestError
from sqleval.inference.adjust import add_adjusted_p_values, adjust_by_holm, adjust_p_values

from . import patient

#: The name of each method in statsmodels.
METHODS = {"holm": "holm", "benjamini_hochberg": "fdr_bh", "bonferroni": "bonferroni"}
NAN = float("nan")


@pytest.fixture(autouse=True, scope="module")
def _no_garbage_collection() -> Iterator[None]:
    """Let statsmodels collect no garbage, as it does at each call: 0.15 s of what tests left."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("gc.collect", lambda: 0)
        yield


# Few different values, so that many are equal.
p_values = st.one_of(st.floats(0, 1), st.sampled_from([0.0, 0.01, 0.05, 1.0]))


def adjust_by(values: list[float | None]) -> dict[str, list[float | None]]:
    """Return the adjusted p-values by method, of one frame."""
    frame = pl.DataFrame({"p": values}, schema={"p": pl.Float64})
    columns = {name: adjust_p_values(pl.col("p"), name) for name in [*METHODS, "none"]}
    return frame.select(**columns).to_dict(as_series=False)


def adjust(values: list[float | None], method: str | None) -> list[float | None]:
    frame = pl.DataFrame({"p": values}, schema={"p": pl.Float64})
    return frame.select(adjust_p_values(pl.col("p"), method))["p"].to_list()


@patient
@given(st.lists(p_values, min_size=1, max_size=40))
def test_it_is_that_of_statsmodels(values: list[float]) -> None:
    adjusted = adjust_by(list(values))
    for method, name in METHODS.items():
        expected = multipletests(values, method=name)[1]
        assert adjusted[method] == pytest.approx(expected, rel=1e-12, abs=1e-300), method


@patient
@given(st.lists(st.one_of(p_values, st.none(), st.just(NAN)), max_size=40))
def test_missing_p_values_do_not_count_as_tests(values: list[float | None]) -> None:
    is_test = [value is not None and value == value for value in values]
    rest = [value for value, is_used in zip(values, is_test, strict=True) if is_used]
    adjusted, alone = adjust_by(values), adjust_by(rest)
    for method in METHODS:
        assert [value is not None for value in adjusted[method]] == is_test
        assert [value for value in adjusted[method] if value is not None] == alone[method]
    of_array = adjust_by_holm(np.array([NAN if value is None else value for value in values]))
    np.testing.assert_array_equal(of_array, np.array(adjusted["holm"], dtype=float))


@patient
@given(st.lists(p_values, min_size=2, max_size=40))
def test_invariants(values: list[float]) -> None:
    raw = np.array(values)
    for method, column in adjust_by(list(values)).items():
        adjusted = np.array(column, dtype=float)
        assert (adjusted >= raw * (1 - 1e-12)).all()
        assert (adjusted <= 1).all()
        assert (np.diff(adjusted[np.argsort(raw, kind="stable")]) >= 0).all()
        if method == "none":
            np.testing.assert_array_equal(adjusted, raw)


def test_printed_example() -> None:
    # Benjamini and Hochberg (1995), section 3.1: 15 tests of thrombolysis. At 5 % Bonferroni
    # rejects three hypotheses (as Holm does), the new procedure four.
    values = [
        0.0001, 0.0004, 0.0019, 0.0095, 0.0201, 0.0278, 0.0298, 0.0344, 0.0459, 0.3240,
        0.4262, 0.5719, 0.6528, 0.7590, 1.0000,
    ]  # fmt: skip
    rejected = {m: sum(p <= 0.05 for p in adjust(list(values), m) if p) for m in METHODS}
    assert rejected == {"holm": 3, "benjamini_hochberg": 4, "bonferroni": 3}


def test_groups_are_adjusted_apart() -> None:
    rng = np.random.default_rng(3)
    frame = pl.DataFrame(
        {
            "metric": ["roc_auc", "f1"] * 30,
            "model": ["a"] * 20 + ["b"] * 20 + [None] * 20,
            "p_value": rng.random(60),
        }
    )
    # The order of the rows says nothing about the groups.
    frame = frame.sample(fraction=1, shuffle=True, seed=1)
    for method in METHODS:
        adjusted = add_adjusted_p_values(frame, method)
        assert adjusted.drop("p_adjusted").equals(frame)
        parts = adjusted.partition_by("metric", "model")
        assert len(parts) == 6
        for part in parts:
            expected = multipletests(part["p_value"], method=METHODS[method])[1]
            assert part["p_adjusted"].to_list() == pytest.approx(expected)


def test_a_frame_without_the_keys_or_rows() -> None:
    frame = pl.DataFrame({"p_value": [0.01, 0.02]})
    assert add_adjusted_p_values(frame)["p_adjusted"].to_list() == [0.02, 0.02]
    assert add_adjusted_p_values(frame, None)["p_adjusted"].to_list() == [0.01, 0.02]
    empty = add_adjusted_p_values(frame.clear())
    assert empty.schema["p_adjusted"] == pl.Float64
    nothing = pl.DataFrame({"metric": ["f1"], "p_value": [None]})
    assert add_adjusted_p_values(nothing)["p_adjusted"].to_list() == [None]


def test_names_of_methods() -> None:
    assert adjust([0.01, 0.5], "BH") == adjust([0.01, 0.5], "fdr_bh")
    with pytest.raises(RequestError, match=r"adjust='hom'; did you mean 'holm'\?; one of: none"):
        adjust_p_values(pl.col("p"), "hom")
