"""Splits by size, strata, groups and time: equal on every engine, wrong options refused."""

import hashlib
import inspect
import math
from collections import Counter
from collections.abc import Callable
from datetime import date, datetime, timedelta
from functools import cache
from itertools import combinations
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import polars as pl
import pyarrow as pa
import pytest
from click.testing import CliRunner
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import chisquare, multinomial
from sklearn.model_selection import GroupKFold, LeavePGroupsOut, TimeSeriesSplit, train_test_split

import sqleval
from sqleval import DataError, RequestError, SourceError
from sqleval.catalog import builtin
from sqleval.cli import main
from sqleval.export.split import export_split
from sqleval.sources.opening import open_source
from sqleval.splits.methods import DEFAULTS, METHODS
from sqleval.splits.split import to_lazy_frame
from sqleval.splits.statement import build_split
from tests.support.engines import DuckDB, Engine


def rows(n: int = 1000, **columns: Any) -> pl.DataFrame:
    made = {
        "id": range(n),
        "y": [i % 2 for i in range(n)],
        "g": [i * 7919 % 37 for i in range(n)],
        "day": [date(2020, 1, 1) + timedelta(days=i // 3) for i in range(n)],
    }
    return pl.DataFrame({**made, **columns})


def made(source: Any = None, **options: Any) -> pl.DataFrame:
    options = {"key": "id", **options}
    return sqleval.split(rows() if source is None else source, **options).collect()


def held_out(found: pl.DataFrame) -> dict[tuple[int, int], set[int]]:
    """Return the keys that each fold tests."""
    of = found.filter(role="test").group_by("repeat", "fold").agg("id")
    return {(repeat, fold): set(ids) for repeat, fold, ids in of.iter_rows()}


# -- hold-out -----------------------------------------------------------------------------------


def test_the_textbooks_hold_out() -> None:
    found = made(stratify="y", test_size=0.3).join(rows(), on="id")
    counts = found.group_by("role", "y").len().sort("role", "y")
    assert counts.rows() == [
        ("test", 0, 150), ("test", 1, 150), ("train", 0, 350), ("train", 1, 350),
    ]  # fmt: skip


@pytest.mark.parametrize(("n", "size"), [(10, 0.3), (7, 0.5), (999, 0.1), (1000, 0.333), (2, 0.5)])
def test_as_many_test_rows_as_scikit_learn_takes(n: int, size: float) -> None:
    _, test = train_test_split(np.arange(n), test_size=size, random_state=0)
    found = made(rows(n), test_size=size)
    assert found.height == n
    assert found.filter(role="test").height == len(test)


@settings(max_examples=15, deadline=None)
@given(
    st.lists(st.sampled_from("aabcd"), min_size=12, max_size=200),
    st.floats(0.05, 0.95),
    st.integers(2, 12),
)
def test_strata_are_shared_out_to_the_row(strata: list[str], size: float, k: int) -> None:
    frame = pl.DataFrame({"id": range(len(strata)), "s": strata})
    held = made(frame, stratify="s", test_size=size).filter(role="test").join(frame, on="id")
    total = min(math.ceil(size * len(strata) - 1e-9), len(strata) - 1)
    assert held.height == total
    counts = Counter(strata)
    for stratum, n in held.group_by("s").len().iter_rows():
        assert abs(n - counts[stratum] * total / len(strata)) < 1
    folds = made(frame, stratify="s", method="kfold", n_splits=k).filter(role="test")
    assert folds["id"].is_duplicated().sum() == 0
    assert set(folds["id"]) == set(frame["id"])
    sizes = [folds.filter(fold=fold).height for fold in range(1, k + 1)]
    assert max(sizes) - min(sizes) <= 1
    per = folds.join(frame, on="id").group_by("s", "fold").len()
    for stratum, n in counts.items():
        of = per.filter(s=stratum)["len"].to_list()
        of += [0] * (k - len(of))
        assert sum(of) == n
        assert max(of) - min(of) <= 1


def test_ten_times_ten_folds_train_as_often_as_a_hundred_hold_outs() -> None:
    folds = made(method="repeated_kfold").select("repeat", "fold").unique().height
    assert folds == made(method="repeated_holdout").select("repeat", "fold").unique().height == 100


def test_repeats_differ_and_seeds_do() -> None:
    found = held_out(made(repeats=3))
    assert len({frozenset(ids) for ids in found.values()}) == 3
    assert held_out(made(seed=1))[1, 1] != found[1, 1]
    assert held_out(made())[1, 1] == found[1, 1]


# -- folds --------------------------------------------------------------------------------------


def test_each_row_is_tested_once_and_trains_otherwise() -> None:
    found = made(method="kfold", n_splits=7, repeats=2)
    assert found.height == 1000 * 7 * 2
    for repeat in (1, 2):
        own = found.filter(repeat=repeat)
        assert own.filter(role="test")["id"].n_unique() == own.filter(role="test").height == 1000
        assert own.group_by("id").len()["len"].unique().to_list() == [7]


@pytest.mark.parametrize("stratify", [None, "y"])
@pytest.mark.parametrize("method", ["kfold", "holdout", "hash_kfold", "hash_holdout", "bootstrap"])
def test_groups_are_never_split(method: str, stratify: str | None) -> None:
    options = {} if method.startswith("hash") else {"stratify": stratify}
    found = made(method=method, group="g", **options).join(rows(), on="id")
    assert found.group_by("repeat", "fold", "g").agg(pl.col("role").n_unique())["role"].max() == 1
    if method == "kfold":
        sizes = found.filter(role="test").group_by("fold").len()["len"]
        theirs = [len(t) for _, t in GroupKFold(10).split(np.zeros(1000), groups=rows()["g"])]
        biggest = rows().group_by("g").len()["len"].max()
        assert sizes.max() <= max(theirs) + biggest  # type: ignore[operator]


def test_leaving_out_is_what_scikit_learn_leaves_out() -> None:
    few = rows(60, g=[i % 6 for i in range(60)])
    for p in (1, 2, 3):
        found = held_out(made(few, method="leave_p_groups_out", group="g", p=p))
        theirs = LeavePGroupsOut(p).split(np.zeros(60), groups=few["g"])
        assert {frozenset(ids) for ids in found.values()} == {frozenset(t) for _, t in theirs}
    alone = made(few, method="leave_one_out")
    assert alone.height == 60 * 60
    assert {frozenset(ids) for ids in held_out(alone).values()} == {
        frozenset([i]) for i in range(60)
    }


def test_nested_folds_keep_the_test_rows_out_of_the_choice() -> None:
    found = made(method="nested_kfold", n_splits=4)
    outer = found.filter(role="test")
    assert outer["inner_fold"].null_count() == outer.height == 1000
    for fold in range(1, 5):
        own = found.filter(fold=fold)
        held = set(own.filter(role="test")["id"])
        inner = own.filter(pl.col("role") != "test")
        assert not held & set(inner["id"])
        # Each of the other rows is validated once, and trains in the other inner folds.
        assert inner.filter(role="validation")["id"].n_unique() == 1000 - len(held)
        assert inner.filter(role="validation").height == 1000 - len(held)
        assert inner.filter(role="train").height == 2 * (1000 - len(held))


# -- bootstrap ----------------------------------------------------------------------------------


def test_out_of_bag_is_near_a_share_of_one_over_e() -> None:
    m = 1000
    found = made(method="bootstrap", repeats=500)
    sums = found.group_by("repeat").agg(pl.col("in_bag_count").sum())
    assert sums["in_bag_count"].unique().to_list() == [m]
    assert ((found["in_bag_count"] == 0) == (found["role"] == "test")).all()
    out = (found["role"] == "test").mean()
    assert out == pytest.approx((1 - 1 / m) ** m, abs=2e-3)
    assert out == pytest.approx(0.368, abs=2e-3)


def test_in_bag_counts_are_draws_with_replacement() -> None:
    # All ten ways in which three draws can fall on three rows, against their probabilities.
    found = made(rows(3), method="bootstrap", repeats=9999).sort("repeat", "id")
    ways = Counter(found.group_by("repeat", maintain_order=True).agg("in_bag_count")
                   .select(pl.col("in_bag_count").list.eval(pl.element().cast(pl.String))
                           .list.join(",")).to_series())  # fmt: skip
    law = multinomial(3, [1 / 3] * 3)
    expected = {
        f"{a},{b},{3 - a - b}": law.pmf([a, b, 3 - a - b]) * 9999
        for a in range(4) for b in range(4 - a)
    }  # fmt: skip
    assert set(ways) == set(expected)
    assert chisquare([ways[w] for w in expected], list(expected.values())).pvalue > 1e-4


# -- time ---------------------------------------------------------------------------------------


def test_windows_are_those_of_scikit_learn() -> None:
    n, k = 120, 5
    frame = pl.DataFrame({"id": range(n), "t": range(n)})
    for window in (None, 15):
        more = (
            {"method": "expanding"} if window is None else {"method": "sliding", "window": window}
        )
        found = made(frame, time="t", n_splits=k, gap=4, **more)
        theirs = TimeSeriesSplit(k, gap=4, max_train_size=window).split(np.zeros(n))
        for fold, (train, test) in enumerate(theirs, start=1):
            own = found.filter(fold=fold)
            assert sorted(own.filter(role="test")["id"]) == test.tolist()
            assert sorted(own.filter(role="train")["id"]) == train.tolist()


@pytest.mark.parametrize("gap", ["10d", "240h", timedelta(days=10)])
def test_the_latest_rows_are_held_out_after_a_gap(gap: str | timedelta) -> None:
    found = made(time="day", test_size=0.2, gap=gap).join(rows(), on="id")
    sides = {
        role: part["day"] for (role,), part in found.partition_by("role", as_dict=True).items()
    }
    assert len(sides["test"]) <= 200
    assert len(sides["test"]) > 200 - 3  # rows of one day stay together
    assert sides["train"].max() < sides["test"].min() - timedelta(days=10)  # type: ignore[operator]
    assert sides["gap"].max() < sides["test"].min()  # type: ignore[operator]
    assert sum(map(len, sides.values())) == 1000


@pytest.mark.parametrize("test_size", [0.3, 0.5, 0.7])
def test_a_last_time_of_many_rows_is_tested_alone(test_size: float) -> None:
    frame = pl.DataFrame({"id": range(40), "day": [date(2020, 1, 1 + i // 20) for i in range(40)]})
    found = made(frame, time="day", test_size=test_size)
    assert sorted(found.filter(role="test")["id"]) == [*range(20, 40)]
    assert sorted(found.filter(role="train")["id"]) == [*range(20)]


@pytest.mark.parametrize("more", [{"method": "expanding"}, {"method": "sliding", "window": 5}])
def test_each_fold_by_time_has_rows(more: dict[str, Any]) -> None:
    # Half of the rows have the first time, so half of the blocks would have no time of their own.
    frame = pl.DataFrame({"id": range(100), "t": [0] * 50 + [*range(1, 51)]})
    message = (
        r"gives 6 of n_splits=10 folds: of its 51 times some have more rows .*; lower n_splits"
    )
    with pytest.raises(DataError, match=message):
        made(frame, time="t", **more)
    found = made(frame, time="t", n_splits=1, **more)
    assert found["fold"].unique().to_list() == [1]


# -- where the rows lie -------------------------------------------------------------------------


def share(text: str, seed: int = 0, repeat: int = 1) -> float:
    digest = hashlib.md5(f"{seed}:{repeat}:{text}".encode()).digest()
    return (int.from_bytes(digest, "little") >> 76) / 2**52


@pytest.mark.parametrize(
    ("key", "texts"),
    [
        ([5, -3, 2**40], ["5", "-3", str(2**40)]),
        (["a", "größe", "it's", ""], ["a", "größe", "it's", ""]),
        ([date(2020, 1, 2), date(1999, 12, 31)], ["2020-01-02", "1999-12-31"]),
    ],
)
def test_the_hash_is_that_of_the_page(key: list[Any], texts: list[str]) -> None:
    frame = pl.DataFrame({"id": key})
    found = made(frame, method="hash_kfold", n_splits=7, repeats=2, seed=3).filter(role="test")
    for repeat in (1, 2):
        own = dict(found.filter(repeat=repeat).select("id", "fold").iter_rows())
        assert own == {
            k: 1 + math.floor(7 * share(t, 3, repeat)) for k, t in zip(key, texts, strict=True)
        }
    found = made(frame, method="hash_holdout", test_size=0.4)
    assert dict(found.select("id", "role").iter_rows()) == {
        k: "test" if share(t) < 0.4 else "train" for k, t in zip(key, texts, strict=True)
    }


def test_several_columns_are_one_key() -> None:
    frame = pl.DataFrame({"a": [1, 1, 2], "b": ["x", "y", "x"]})
    found = made(frame, key=["a", "b"], method="hash_kfold").filter(role="test")
    assert {(a, b): f for a, b, f in found.select("a", "b", "fold").iter_rows()} == {
        (a, b): 1 + math.floor(10 * share(f"{a}|{b}")) for a, b in frame.iter_rows()
    }


def test_new_rows_never_move_old_ones() -> None:
    for method in ("hash_kfold", "hash_holdout"):
        before, after = made(rows(500), method=method), made(rows(1000), method=method)
        assert after.join(before, on=before.columns, how="semi").height == before.height


@pytest.mark.parametrize("method", sorted(METHODS))
def test_neither_order_nor_layout_matters(method: str, tmp_path: Path) -> None:
    takes = METHODS[method].takes
    options: dict[str, Any] = {"method": method}
    options |= {"time": "day"} if method in ("expanding", "sliding") else {}
    options |= {"window": "30d"} if "window" in takes else {}
    options |= {"group": "g"} if method == "leave_p_groups_out" else {}
    options |= {"repeats": 2} if "repeats" in takes else {}
    few = rows(90)
    shuffled = few.sample(fraction=1, shuffle=True, seed=1)
    shuffled.head(40).write_parquet(tmp_path / "1.parquet")
    shuffled.tail(50).write_parquet(tmp_path / "2.parquet")
    first = made(few, **options)
    assert first.schema["role"] == pl.String
    # Methods do not depend on the source: each is tried on files and on one other kind.
    other = shuffled.lazy() if sorted(METHODS).index(method) % 2 else shuffled.to_arrow()
    for source in (tmp_path, other):
        found = made(source, **options)
        assert found.sort(pl.all()).equals(first.sort(pl.all()))


FEW = rows(90).with_columns(pl.col("y").cast(pl.Int32), id=pl.col("id").cast(pl.String))


@cache
def split_few(method: str) -> tuple[dict[str, Any], pl.DataFrame]:
    """Return options of a method, and the sorted split that every engine must give."""
    options: dict[str, Any] = {
        "method": method, "key": ["id"], "repeats": 2, "seed": 5,
        "n_splits": 3 if "fold" in method else 10,
        "stratify": [] if method.startswith("hash") else ["y"], "group": [], "time": None,
        "test_size": 0.3, "gap": 0, "window": None, "p": 1,
    }  # fmt: skip
    return options, made(FEW, **options).sort(pl.all())


def test_the_text_splits_alike() -> None:
    check_engine(DuckDB)


def check_engine(start: Callable[[], Engine]) -> None:
    """Compare the splits of the SQL text, run on an engine, with the front end's."""
    table = pa.table({"id": pa.array(FEW["id"].to_list()),
                      "y": pa.array(FEW["y"].to_list(), pa.int32())})  # fmt: skip
    with start() as engine:
        engine.load("preds", table)
        for method in ("holdout", "kfold", "bootstrap", "hash_kfold", "nested_kfold"):
            options, expected = split_few(method)
            result = engine.run(export_split("preds", engine.dialect, options))
            found = pl.DataFrame(result.rows, schema=expected.schema, orient="row")
            assert found.sort(pl.all()).equals(expected), method


@pytest.mark.parametrize(
    "options", [{"stratify": ["s"], "n_splits": 50}, {"repeats": 2, "n_splits": 97}]
)
def test_the_twins_split_alike(options: dict[str, Any]) -> None:
    # The twin needs more than 2 * 97**2 rows for parts of the hashes in which no fold ends.
    frame = pl.DataFrame({"id": range(20_000), "s": [i % 7 // 3 for i in range(20_000)]})
    given = {
        "method": "kfold", "key": ["id"], "stratify": [], "group": [], "time": None,
        "test_size": 0.3, "n_splits": 10, "repeats": 1, "seed": 0, "gap": 0, "window": None,
        "p": 1, "roles": ["test"], **options,
    }  # fmt: skip
    found = {
        dialect: to_lazy_frame(
            build_split(open_source(frame, name="_sqleval_rows"), given, dialect=dialect)
        )
        .collect()
        .sort("repeat", "id")
        for dialect in ("duckdb", "postgres")
    }
    assert found["duckdb"].height == 20_000 * given["repeats"]
    assert found["duckdb"].equals(found["postgres"])


def test_only_what_is_asked_for_is_made() -> None:
    lazy = sqleval.split(rows(2000), key="id", method="leave_one_out")
    assert lazy.filter(pl.col("role") == "test").collect().height == 2000
    assert lazy.select("fold").head(3).collect().shape == (3, 1)
    assert lazy.collect_schema().names() == ["id", "repeat", "fold", "role"]


# -- errors -------------------------------------------------------------------------------------

WRONG: list[tuple[dict[str, Any], str]] = [
    ({"method": "kfolds"}, "no method 'kfolds'; did you mean 'kfold'"),
    ({"key": "idd"}, "key='idd': no such column"),
    ({"key": []}, "key= is needed"),
    ({"key": 3}, "key=3 must be the name of a column"),
    ({"where": 3}, "where= must be a condition in SQL"),
    ({"time": "id", "gap": []}, "gap=.* must be a number, or a span"),
    ({"test_size": 1.5}, r"test_size= must be in \(0, 1\)"),
    ({"method": "kfold", "n_splits": 1}, "n_splits="),
    ({"method": "kfold", "time": "day"}, "time= does not go with method='kfold'"),
    (
        {"time": "day", "stratify": "y"},
        "stratify= does not go with method='holdout', which takes gap",
    ),
    ({"method": "expanding"}, "needs time="),
    ({"method": "sliding", "time": "day"}, "needs window="),
    ({"method": "leave_p_groups_out"}, "needs group="),
    ({"method": "leave_p_groups_out", "group": "g", "p": 0}, "p=0 must be a whole number from 1"),
    ({"method": "kfold", "p": 2}, "p= does not go with method='kfold'"),
    ({"method": "expanding", "time": "name"}, "time='name' is VARCHAR"),
    ({"time": "day", "gap": "7 dayz"}, "is not a span of time"),
    ({"key": "x"}, "key='x' is DOUBLE, whose text is not the same on every engine"),
    ({"where": "nope = 1"}, "nope"),
    ({"key": ["id", "id"]}, "key= names a column twice"),
    ({"gap": 3}, "gap= does not go with method='holdout'"),
    ({"time": "day", "repeats": 3}, "repeats= does not go with"),
    ({"time": "id", "gap": "1d"}, "is a span of time, but time='id' is a number"),
    ({"time": "id", "gap": timedelta(1)}, "is a span of time, but time='id' is a number"),
    ({"time": "day", "gap": 2}, "gap=2 is a number, but time='day' is DATE; .* as 2d, 12h"),
    (
        {"method": "sliding", "time": "day", "window": 2.0},
        "window=2.0 is a number, but time='day' is DATE",
    ),
    (
        {"method": "expanding", "time": "at", "gap": 60},
        "gap=60 is a number, but time='at' is TIMESTAMP",
    ),
]


@pytest.mark.parametrize(("options", "message"), WRONG)
def test_wrong_options_are_refused(options: dict[str, Any], message: str) -> None:
    with pytest.raises(RequestError, match=message):
        made(rows(10, name=["a"] * 10, x=[0.5] * 10, at=[datetime(2020, 1, 1)] * 10), **options)


TOO_FEW: list[tuple[dict[str, Any], str]] = [
    ({"method": "kfold", "n_splits": 11}, "has fewer rows than the split needs: 10 of 11"),
    ({"method": "kfold", "group": "name"}, "has fewer groups than the split needs: 1 of 10"),
    ({"time": "name_day"}, "has fewer times than the split needs: 1 of"),
    ({"method": "expanding", "time": "id"}, "has fewer times than the split needs: 10 of 11"),
    ({"time": "gone"}, "the time of 3 rows of the DataFrame is NULL or NaN"),
    ({"where": "id < 1"}, "has fewer rows than the split needs: 1 of"),
    (
        {"method": "leave_p_groups_out", "group": "id", "p": 10},
        "has fewer groups than the split needs: 10 of",
    ),
]


@pytest.mark.parametrize("once", [False, True])
@pytest.mark.parametrize(("options", "message"), TOO_FEW)
def test_too_few_rows_are_refused(options: dict[str, Any], message: str, once: bool) -> None:
    frame = rows(10, name=["a"] * 10, name_day=[date(2020, 1, 1)] * 10,
                 gone=[None, None, float("nan"), *map(float, range(7))])  # fmt: skip
    # A reader can be read only once: its rows are counted as they are split.
    source = frame.to_arrow().to_reader() if once else frame
    message = message.replace("the DataFrame", "the .*") if once else message
    with pytest.raises(DataError, match=message):
        made(source, **options)


@pytest.mark.parametrize(
    "options",
    [{"group": "g"}, {"time": "id", "method": "expanding", "n_splits": 3}, {"method": "kfold"}],
)
def test_what_can_be_read_once_is_split_alike(options: dict[str, Any]) -> None:
    reader = rows(50).to_arrow().to_reader()
    assert made(reader, **options).sort(pl.all()).equals(made(rows(50), **options).sort(pl.all()))
    lazy = sqleval.split(rows(50).to_arrow().to_reader(), key="id", **options)
    assert lazy.filter(pl.col("role") == "nothing").collect().shape == (0, 4)
    with pytest.raises(DataError, match=r"fewer .* than the split needs"):
        made(rows(50).head(0).to_arrow().to_reader(), **options)


@pytest.mark.parametrize("method", ["holdout", "kfold", "bootstrap", "hash_kfold"])
def test_a_row_without_a_group_is_refused(method: str) -> None:
    # The text of a NULL group must not equal the text of the empty group.
    frame = pl.DataFrame({"id": range(6), "g": ["", "", "", None, "b", None], "h": [1] * 6})
    for group in ("g", ["h", "g"]):
        with pytest.raises(DataError, match="the group of 2 rows of the DataFrame is NULL; filter"):
            made(frame, method=method, group=group)
    options: dict[str, Any] = {"n_splits": 2} if "fold" in method else {}
    found = made(frame, method=method, group="g", where="g IS NOT NULL", **options)
    assert sorted(set(found["id"])) == [0, 1, 2, 4]


@pytest.mark.parametrize("name", ["repeat", "Fold", "role"])
def test_columns_of_the_split_cannot_be_keys(name: str) -> None:
    with pytest.raises(RequestError, match="has a column of this name"):
        made(pl.DataFrame({name: [1, 2]}), key=name)


def test_a_filter_after_a_head_judges_those_rows() -> None:
    lazy_frame = sqleval.split(rows(20), key="id", method="kfold", n_splits=4)
    first = lazy_frame.head(5).collect()
    assert first.height == 5
    assert lazy_frame.head(5).filter(pl.col("role") == "test").collect().height <= 5
    assert lazy_frame.filter(pl.col("role") == "test").head(7).collect().height == 7


def test_the_ends_of_the_test_size() -> None:
    for size, n in ((1e-9, 1), (0.9999, 19)):
        assert made(rows(20), test_size=size).filter(role="test").height == n


def test_defaults_of_split_and_sql_files_agree() -> None:
    signature = inspect.signature(sqleval.split).parameters
    declared = {
        name: param.default
        for method in METHODS.values()
        for name, param in builtin().parameters(method.file).items()
    }
    for option, default in DEFAULTS.items():
        assert signature[option].default == default
        assert declared.get(option, default) == default


def test_engines_without_the_hash_are_named() -> None:
    with pytest.raises(RequestError, match="SQLite has no function MD5"):
        export_split("t", "sqlite", {"method": "kfold", "key": "id"})


# -- check --------------------------------------------------------------------------------------


def checks(found: Any, source: Any = None, **options: Any) -> dict[str, dict[str, Any]]:
    source = rows() if source is None else source
    result = sqleval.check_split(found, source, key="id", **{"content": ["id"], **options})
    return {row["check"]: row for row in result.iter_rows(named=True)}


def test_a_good_split_has_no_finding() -> None:
    assert checks(made(stratify="y"), stratify="y") == {}
    assert checks(made(group="g"), group="g") == {}
    of_numpy: Any = {"test_size": np.float64(0.3), "seed": np.int64(1), "repeats": np.int32(2)}
    plain = made(test_size=0.3, seed=1, repeats=2)
    assert made(**of_numpy).sort(pl.all()).equals(plain.sort(pl.all()))
    assert checks(made(time="day"), time="day") == {}
    assert checks(sqleval.split(rows(), key="id", method="kfold", n_splits=4)) == {}


def test_leaks_are_counted() -> None:
    found = made()
    held = set(found.filter(role="test")["id"])
    both = {g for g in range(37) if len({i in held for i in range(1000) if i * 7919 % 37 == g}) > 1}
    got = checks(found, group="g")["groups"]
    assert (got["leak"], got["found"], got["folds"]) == (True, len(both), 1)
    again = pl.concat([found, found.head(3)])
    assert checks(again)["keys"]["found"] == 3
    twins = rows(1000, x=[i // 2 for i in range(1000)])
    equal = sum(1 for i in held if (i ^ 1) not in held)
    assert checks(found, twins, content="x")["duplicates"]["found"] == equal
    first = min(rows().filter(pl.col("id").is_in(list(held)))["day"])
    late = rows().filter(~pl.col("id").is_in(list(held)), pl.col("day") >= first).height
    assert checks(found, time="day")["future"]["found"] == late


def test_a_split_that_can_be_read_once_is_not_checked() -> None:
    reader = made().to_arrow().to_reader()
    with pytest.raises(RequestError, match="it can be read once; pass a Table or a file"):
        checks(reader)


def test_splits_of_others_are_checked_as_well() -> None:
    other = made().select("id", fold=pl.lit("A"), role="role")
    got = checks(other, group="g")["groups"]
    assert (got["fold"], got["repeat"]) == ("A", "1")
    twice = pl.concat([rows(), rows(3)])
    assert "keys" not in checks(made(), twice)
    for role, message in (
        ("train", "has no row with 'test'"),
        ("test", "has no row with 'train'"),
        ("gap", "has no row with 'train' or 'test'"),
        ("valid", "not 'valid'"),
    ):
        with pytest.raises(RequestError, match=f"the role of a split is .*{message}"):
            checks(other.with_columns(role=pl.lit(role)))


def test_a_fold_without_training_or_test_rows_is_found() -> None:
    # The training window of the second fold lies in the months without rows.
    days = [date(2024, 1, 1 + i) for i in range(6)] + [date(2024, 6, 1 + i) for i in range(3)]
    frame = pl.DataFrame({"id": range(9), "day": days})
    split = made(frame, method="sliding", time="day", window="3d", n_splits=2)
    got = checks(split, frame, time="day")
    assert set(got) == {"untrained"}
    assert got["untrained"]["warning"] == "1 fold without training rows: there is no model to test"
    assert (got["untrained"]["fold"], got["untrained"]["leak"]) == ("2", False)
    trained = split.filter((pl.col("fold") == 2) | (pl.col("role") == "train"))
    got = checks(trained, frame)
    assert got["untested"]["warning"] == "1 fold without test rows: the model is tested on nothing"
    assert got["untested"]["fold"] == "1"


def test_keys_of_other_rows_are_found() -> None:
    split = made(method="kfold")
    got = checks(split, rows().filter(pl.col("id") >= 7))
    assert set(got) == {"unknown"}
    assert got["unknown"]["warning"] == "7 keys of the split are not in the source"
    # No rows are left for the test.
    held = made().filter(role="test")["id"]
    got = checks(made(), rows().filter(~pl.col("id").is_in(held.implode())))
    assert set(got) == {"untested", "share", "unknown"}


def test_many_strata_give_no_false_warning() -> None:
    # The test has 13 of the 25 rows of a stratum, and 6 or 7 of others: z = 3.2, which is rare for
    # one stratum (p = 0.002), but not for the largest z of forty.
    split = pl.DataFrame(
        {
            "id": range(1000),
            "fold": 1,
            "role": [
                "test" if i // 40 < (13 if i % 40 == 0 else 6) or i in (241, 242, 243) else "train"
                for i in range(1000)
            ],
        }
    )
    forty = rows(s=[i % 40 for i in range(1000)])
    assert "strata" not in checks(split, forty, stratify="s")
    two = rows(s=[i % 40 == 0 for i in range(1000)])
    assert "by z = 3.2 in" in checks(split, two, stratify="s")["strata"]["warning"]


def test_doubtful_splits_have_warnings() -> None:
    halves = rows().select("id", fold=1, role=pl.when(pl.col("y") == 1).then(pl.lit("test"))
                           .otherwise(pl.lit("train")))  # fmt: skip
    got = checks(halves, stratify="y")
    assert set(got) == {"strata", "share"}
    assert "z = 31.6" in got["strata"]["warning"]
    assert not got["strata"]["leak"]
    assert checks(halves.head(900))["unassigned"]["found"] == 100
    few = checks(made(test_size=0.02))
    assert set(few) == {"small", "share"}
    assert few["small"]["found"] == 20
    assert "only 20 test rows: the standard error of a rate is up to 11 " in few["small"]["warning"]
    # The advice for one hold-out does not apply to folds and resamples, which pool their test rows.
    assert not checks(made(method="kfold"))
    assert not checks(made(method="kfold", n_splits=50))
    assert not checks(made(method="bootstrap", repeats=5))
    alone = checks(made(method="leave_one_out", where="id < 400"), rows(400))
    assert set(alone) == {"models"}
    assert "400 models here, each trained on 399 rows" in alone["models"]["warning"]


def test_rows_that_share_a_label_are_not_copies() -> None:
    labelled = pl.DataFrame({"id": range(200), "y": [0, 1] * 100})
    folds = sqleval.split(labelled, key="id", test_size=0.25).collect()
    assert sqleval.check_split(folds, labelled, key="id").is_empty()
    asked = sqleval.check_split(folds, labelled, key="id", content=["y"])
    assert asked["check"].to_list() == ["duplicates"]


def test_chance_imbalance_gives_no_warning() -> None:
    # By chance alone, at most once in a hundred times over all folds.
    warned = sum("strata" in checks(made(seed=seed), stratify="y") for seed in range(20))
    assert warned <= 2


# -- the command --------------------------------------------------------------------------------


def run(*arguments: str) -> tuple[int, str]:
    result = CliRunner().invoke(main.sqleval, ["split", *arguments], standalone_mode=False)
    if isinstance(result.exception, Exception):
        raise result.exception
    return int(result.return_value or result.exit_code), result.output


def test_the_command_writes_what_python_makes(tmp_path: Path) -> None:
    source = tmp_path / "rows.parquet"
    rows().write_parquet(source)
    whole = tmp_path / "split.parquet"
    _, output = run(str(source), "--key", "id", "--stratify", "y", "--output", str(whole))
    assert f"wrote {whole}: 1,000 rows" in output
    assert pl.read_parquet(whole).sort("id").equals(made(stratify="y").sort("id"))
    folder = tmp_path / "folds"
    run(str(source), "--key", "id", "--method", "kfold", "--role", "test", "--by", "fold",
        "--output", str(folder))  # fmt: skip
    assert len(list(folder.iterdir())) == 10
    found = pl.read_parquet(folder).select("id", "repeat", "fold", "role")
    expected = made(method="kfold").filter(role="test")
    assert found.sort("id").equals(expected.sort("id"))
    base = tmp_path / "splits.duckdb"
    for _ in range(2):
        _, output = run(str(source), "--key", "id", "--output", str(base), "--into", "by hand")
        assert f"wrote {base}, table by hand: 1,000 rows" in output
    with duckdb.connect(str(base)) as con:
        kept = con.sql('FROM "by hand"').pl()
    assert kept.sort("id").equals(made().sort("id"))
    code, output = run("check", str(whole), str(source), "--key", "id", "--group", "g")
    assert code == 1
    assert "groups have rows on both sides" in output
    code, output = run("check", str(whole), str(source), "--key", "id", "--stratify", "y",
                     "--content", "id")  # fmt: skip
    assert (code, output) == (0, "no problems found\n")
    _, output = run("--table", "db.rows", "--dialect", "spark", "--key", "id")
    assert "FROM db.rows AS s" in output


def test_the_command_refuses_what_does_not_fit(tmp_path: Path) -> None:
    with pytest.raises(SourceError, match="no such file"):
        run(str(tmp_path / "nothing.parquet"), "--key", "id")
    with pytest.raises(RequestError, match="--by needs --output"):
        run("--query", "SELECT 1 AS id", "--key", "id", "--by", "fold")
    with pytest.raises(RequestError, match="--by 'nope' must be one of"):
        run("--query", "SELECT 1 AS id", "--key", "id", "--by", "nope", "--output", "x")
    with pytest.raises(SourceError, match="is not empty"):
        run("--query", "SELECT 1 AS id", "--key", "id", "--by", "fold", "--output", str(Path.cwd()))
    for options, named in {
        ("x",): "SOURCE",
        ("--storage", "region=x", "--version", "3"): "--storage, --version",
        ("--into", "foo", "--timestamp", "2026-01-01"): "--timestamp, --into",
        ("--output", "x.parquet", "--verify"): "--verify, --output",
    }.items():
        with pytest.raises(RequestError, match=f"--table replaces SOURCE.*; leave out {named}$"):
            run(*options, "--table", "t", "--key", "id")
    failing = "SELECT error('computed') AS id"
    for output, options, message in (
        ("x.xyz", (), "use one of the suffixes"),
        ("x.duckdb", ("--format", "csv"), "--format does not fit a DuckDB file"),
    ):
        with pytest.raises(RequestError, match=message):
            run("--query", failing, "--key", "id", "--output", output, *options)


def test_all_pairs_of_rows_are_left_out_once() -> None:
    few = rows(8, g=list(range(8)))
    found = held_out(made(few, method="leave_p_groups_out", group="g", p=2))
    assert sorted(map(sorted, found.values())) == sorted(map(list, combinations(range(8), 2)))
