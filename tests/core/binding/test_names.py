"""Any text works as the name of a column, slice, class or model."""

import re
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Any

import duckdb
import polars as pl
import pytest

import sqleval
from sqleval import RequestError
from tests.support.comparison import assert_frame_equal
from tests.support.tried import check_tried
from tests.support.wrong_inputs import ROWS

NAMES = [
    "slice", "label", "score", "prediction", "weight", "query", "key", "select", "value", "metric",
    "model", "n", "note", "problem", "notice", "ordinal", "_rows", "_source", "_one", "slice_1",
    "s", "a", 'a"b', '"', "'", "it's", "x; DROP TABLE t", "-- comment", "with space", " ",
    "größe", "UPPER", "$threshold", "?", "a.b", "new\nline", "rowid", "filename",
]  # fmt: skip
CONFUSION = {"label", "prediction", "n"}
TALL = {"metric", "value", "low", "high", "n", "n_dropped", "method", "note"}


def quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


#: The values of a column in each role.
VALUES: dict[str, list[Any]] = {
    "label": [0, 1, 0, 1],
    "score": [0.1, 0.9, 0.8, 0.2],
    "weight": [1.0, 1.0, 1.0, 1.0],
    "where": ["a", "a", "b", "b"],
    "by": ["a", "a", "b", "b"],
}


def name_columns() -> Iterator[tuple[str, dict[str, list[str]]]]:
    """Yield a kind of source, and names for each role.

    Every name is used for a slice key, which the result shows, and for two other roles. All roles
    have such a name at once, because each is looked up by itself.
    """
    keys = [name for name in NAMES if name not in TALL]
    for at in range(0, len(NAMES), 2):
        others = {
            role: [NAMES[(at + offset) % len(NAMES)]]
            for role, offset in {"label": 7, "score": 12, "weight": 19, "where": 28}.items()
        }
        yield (
            ("file", "stream", "frame")[at // 2 % 3],
            {**others, "by": [keys[at % len(keys)], keys[(at + 1) % len(keys)]]},
        )


NAMED = [*name_columns()]


def test_the_page_counts_the_names() -> None:
    keys = {name for _, roles in NAMED for name in roles["by"]}
    check_tried("odd names of columns", len(keys | TALL.intersection(NAMES)))
    check_tried("odd texts as slices", len({*ODD}))
    others = [name for _, roles in NAMED for role in roles if role != "by" for name in roles[role]]
    assert {others.count(name) for name in NAMES} == {2}


@pytest.mark.parametrize(("kind", "roles"), NAMED)
def test_any_name_is_a_name(kind: str, roles: dict[str, list[str]], tmp_path: Path) -> None:
    columns = [(name, VALUES[role]) for role, names in roles.items() for name in names]
    frame = pl.DataFrame(dict(columns))
    assert frame.width == len(columns)
    frame.write_parquet(tmp_path / "rows.parquet")
    source: Any = {"frame": frame, "stream": frame.lazy(), "file": tmp_path / "rows.parquet"}
    (label,), (score,), (weight,), (where,), by = roles.values()
    bound = sqleval.scan(
        source[kind], label=label, score=score, weight=weight, by=by,
        where=f"{quoted(where)} <> 'c'",
    )  # fmt: skip
    # Metrics of ranks and of decisions read the columns differently.
    got = bound.evaluate(["roc_auc", "precision"]).filter(pl.col(by[0]) != "c").collect()
    assert got.columns[:2] == by
    for (_,), values in got.group_by("metric", maintain_order=True):
        assert values["value"].to_list() == [1, 0]
        assert values.select(by).rows() == [("a", "a"), ("b", "b")]
    assert bound.curve("roc").collect().height == 6
    if CONFUSION.isdisjoint(by):
        assert {*bound.confusion().collect().select(by).rows()} == {("a", "a"), ("b", "b")}


@pytest.mark.parametrize("name", ["*", "^.*$"])
def test_a_key_may_be_called_as_a_pattern(name: str, tmp_path: Path) -> None:
    frame = pl.DataFrame({"y": [0, 1, 0, 1], "p": [0.1, 0.9, 0.8, 0.2], name: ["a", "a", "b", "b"]})
    frame.write_parquet(tmp_path / "rows.parquet")
    for source in (frame, frame.lazy(), tmp_path):
        got = sqleval.scan(source, label="y", score="p", by=name).evaluate("roc_auc").collect()
        assert got[name].to_list() == ["a", "b"]
        assert got["value"].to_list() == [1, 0]


@cache
def compare_models(role: str, key: str) -> list[pl.DataFrame]:
    """Compare two models, where a column in a role, or one of the models, has the name."""
    frame = pl.DataFrame(
        {"y": [0, 1, 1] * 40, "p": [i % 7 / 7 for i in range(120)],
         "q": [i % 11 / 11 for i in range(120)], "a": ["s", "t"] * 60,
         "plain": [i % 3 for i in range(120)]}
    ).sort("plain")  # fmt: skip
    models = {key if role == "model" else "one": "p", "two": "q"}
    column = "plain" if role == "model" else key
    option = "by" if role == "by" else "over"
    roles: dict[str, Any] = {"label": "y", "score": models, option: column}
    bound = sqleval.scan(frame.rename({"plain": column}), **roles)
    test: dict[str, Any] = {"test": "corrected_t"} if role != "by" else {"replicates": 100}
    results = [bound.compare("roc_auc", **test)]
    if role == "by":
        results += [bound.leaderboard("roc_auc", **test), bound.sample_size("roc_auc")]
        results.append(bound.compare(["roc_auc", "brier_score"]))
    return [result.collect() for result in results]


@pytest.mark.parametrize(("role", "name"), [
    ("by", "*"), ("by", "^a.*$"), ("over", "*"), ("over", "^.*$"), ("model", "*"),
    ("model", "^.*$"),
])  # fmt: skip
def test_a_comparison_takes_the_name_of_a_pattern(name: str, role: str) -> None:
    found = compare_models(role, "plain"), compare_models(role, name)
    for plain, renamed in zip(*found, strict=True):
        assert renamed.columns == [name if c == "plain" else c for c in plain.columns]
        texts = pl.col(pl.String).replace(name, "plain").str.replace(name, "plain", literal=True)
        assert_frame_equal(renamed.rename({name: "plain"}, strict=False).with_columns(texts), plain)


@cache
def plot_by(key: str, curve: str) -> str:
    """Return the plot of a curve by a slice key of this name."""
    rows = {"y": [0, 0, 1, 1] * 2, "p": [0.1, 0.9, 0.8, 0.2] * 2, "abc": ["x"] * 8}
    frame = pl.DataFrame({**rows, key: ["s", "t"] * 4})
    return sqleval.scan(frame, label="y", score="p", by=key).plot(curve).to_json()


@pytest.mark.parametrize("name", ["*", "^.*$", "^a.*$"])
def test_a_plot_takes_the_name_of_a_pattern(name: str) -> None:
    for curve in ("roc", "pr")[: 1 + (name == "*")]:
        assert plot_by(name, curve).replace(name, "plain") == plot_by("plain", curve)


@pytest.mark.parametrize("name", ["*", "^.*$", "^a.*$"])
def test_over_folds_no_key_may_be_called_as_a_pattern(name: str) -> None:
    frame = pl.DataFrame(
        {"y": [0, 1] * 4, "p": [0.1, 0.9, 0.8, 0.2] * 2, "f": [1, 1, 2, 2] * 2,
         "r": ["train", "test"] * 4, name: [1, 1, 1, 1, 2, 2, 2, 2]}
    )  # fmt: skip
    roles: dict[str, Any] = {"label": "y", "score": "p"}
    calls: list[tuple[str, Callable[[], object]]] = [
        ("by", lambda: sqleval.resample(frame, "accuracy", fold="f", by=name, **roles)),
        ("fold", lambda: sqleval.resample(frame, "accuracy", fold=name, **roles)),
        ("config", lambda: sqleval.select(frame, "accuracy", config=name, fold="f", **roles)),
        ("by", lambda: sqleval.bootstrap_632(
            frame, "accuracy", repeat="f", role="r", by=name, **roles)),
    ]  # fmt: skip
    for option, call in calls:
        message = f"{option}={name!r}: over folds a key must not have this name"
        with pytest.raises(RequestError, match=re.escape(message) + ".*AS key_column"):
            call()
    renamed = {"k": quoted(name)}
    assert sqleval.resample(frame, "accuracy", fold="f", by=renamed, **roles).height == 2


def test_names_may_all_be_swapped() -> None:
    frame = pl.DataFrame(
        {"score": [0, 1, 0, 1], "label": [0.1, 0.9, 0.8, 0.2], "weight": ["a", "a", "b", "b"],
         "slice": [1.0, 1.0, 1.0, 1.0], "prediction": ["c", "c", "c", "d"]}
    )  # fmt: skip
    bound = sqleval.scan(
        frame, label="score", score="label", weight="slice", by=["weight", "prediction"],
        where="prediction <> 'd'",
    )  # fmt: skip
    got = bound.evaluate("roc_auc").collect()
    assert got.select("weight", "prediction", "value", "note").rows() == [
        ("a", "c", 1.0, None),
        ("b", "c", None, "no positive labels"),
    ]


def test_a_key_may_not_be_called_like_a_column_of_the_result() -> None:
    frame = pl.DataFrame({"yy": [0, 1], "pp": [0.1, 0.9], "value": ["a", "a"], "tpr": ["b", "b"]})
    bound = sqleval.scan(frame, label="yy", score="pp", by="value")
    assert bound.curve("roc").collect()["value"].unique().to_list() == ["a"]
    with pytest.raises(RequestError, match="by='tpr'"):
        sqleval.scan(frame, label="yy", score="pp", by="tpr").curve("roc")
    for name in CONFUSION:
        bound = sqleval.scan(frame.rename({"value": name}), label="yy", score="pp", by=name)
        with pytest.raises(RequestError, match=f"by='{name}'"):
            bound.confusion()


@pytest.mark.parametrize("n", [200, 30_000])  # as a small input and a large one are run
def test_a_key_may_differ_in_case_from_a_column_of_the_result(n: int) -> None:
    rows = pl.DataFrame({"y": [0, 1] * n, "p": [0.25, 0.5, 0.5, 0.75] * (n // 2)})
    rows = rows.with_columns(key=pl.col("p") > 0.6, other=pl.lit(1))
    plain = sqleval.scan(rows, label="y", score="p", by=["key", "other"]).curve("roc").collect()
    names = {"key": "Threshold", "other": "rowid"}
    scan = sqleval.scan(rows.rename(names), label="y", score="p", by=list(names.values()))
    assert_frame_equal(scan.curve("roc").collect(), plain.rename(names))


def test_where_finds_columns_as_sql_does() -> None:
    frame = ROWS.rename({"carrier": "Carrier"})
    for text in ("CARRIER = 'AA'", "\"Carrier\" = 'AA'", "carrier LIKE 'A%' AND p < .5e0 + 1"):
        got = sqleval.scan(frame, label="y", score="p", where=text).evaluate("roc_auc").collect()
        assert got["n"].item() == 2


ODD = [
    "it's",
    "'; DROP TABLE x; --",
    'say "a"',
    "$threshold",
    "a\\b",
    "größe 点",
    "",
    " ",
    "\n",
    "%",
]


@pytest.mark.parametrize("kind", ["file", "stream"])
def test_any_text_is_a_slice(kind: str, tmp_path: Path) -> None:
    frame = pl.DataFrame({"y": [0, 1] * len(ODD), "p": [0.2, 0.7] * len(ODD)})
    frame = frame.with_columns(g=pl.Series([text for text in ODD for _ in range(2)]))
    frame.write_parquet(tmp_path / "rows.parquet")
    source: Any = {"frame": frame, "stream": frame.lazy(), "file": tmp_path / "rows.parquet"}
    bound = sqleval.scan(source[kind], label="y", score="p", by="g")
    got, counted = bound.evaluate("roc_auc").collect(), bound.evaluate("prevalence")
    assert sorted(got["g"]) == sorted(ODD)
    assert got["value"].to_list() == [1.0] * len(ODD)
    for text in ODD:
        assert counted.filter(pl.col("g") == text).collect()["g"].to_list() == [text]
        where = "g = '" + text.replace("'", "''") + "'"
        only = sqleval.scan(source[kind], label="y", score="p", where=where).evaluate("prevalence")
        assert only.collect()["n"].item() == 2


def test_any_text_is_a_class() -> None:
    classes = ODD[:4]
    rows = {"y": classes, "z": [*classes[:3], classes[0]]}
    rows |= {f"p{i}": [1.0 if i == j else 0.0 for j in range(4)] for i in range(4)}
    frame = pl.DataFrame(rows)
    decided = sqleval.scan(frame, label="y", prediction="z")
    assert decided.evaluate("accuracy").collect()["value"].item() == 0.75
    assert set(decided.confusion().collect()["label"]) == set(classes)
    scored = sqleval.scan(
        frame, label="y", score={c: f"p{i}" for i, c in enumerate(classes)}, task="multiclass"
    )
    assert scored.evaluate(["accuracy", "roc_auc_ovr"]).collect()["value"].to_list() == [1, 1]
    for text in classes:
        two = frame.with_columns(y=pl.when(pl.col("y") == text).then("y").otherwise(pl.lit("x")))
        bound = sqleval.scan(two, label="y", score=f"p{classes.index(text)}", positive=text)
        assert bound.evaluate("roc_auc").collect()["value"].item() == 1


def test_any_text_is_a_model() -> None:
    names = [re.sub(r"^$", "none", text) for text in ODD]
    bound = sqleval.scan(ROWS, label="y", score=dict.fromkeys(names, "p"), by="carrier")
    result = bound.evaluate(["roc_auc", "precision"])
    got = result.collect()
    assert set(got["model"]) == set(names)
    assert got.height == 2 * 2 * len(names)
    for name in names:
        assert result.filter(pl.col("model") == name).collect().height == 4
    pasted = duckdb.connect()
    pasted.register("_sqleval_rows", ROWS.to_arrow())
    assert pasted.sql(bound.sql("roc_auc")).pl()["model"].n_unique() == len(names)
