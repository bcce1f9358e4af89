"""Several sets of slice keys in one result, the total beside the slices, and the worst slices."""

import re
from collections.abc import Callable
from functools import cache
from itertools import combinations
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import polars as pl
import pytest
from click.testing import CliRunner
from sklearn.metrics import f1_score, roc_auc_score

import sqleval
from sqleval import RequestError
from sqleval.cli import main
from sqleval.engines.duckdb import DuckDB
from sqleval.frontend import choosing
from sqleval.sources.source import Source
from tests.support.comparison import assert_frame_equal

RNG = np.random.default_rng(5)
FRAME = pl.DataFrame(
    {
        "id": np.arange(900),
        "y": RNG.integers(0, 2, 900),
        "p": np.round(RNG.random(900), 2),
        "w": RNG.choice([0.5, 1.0, 3.0], 900),
        "a": RNG.choice(["x", "y", None], 900),
        "b": RNG.integers(0, 3, 900),
        "c": RNG.choice([True, False], 900),
    }
)
KEYS = ["a", "b", "c"]
METRICS = ["roc_auc", "f1(threshold=0.4)", "log_loss"]


@cache
def expected(weight: str | None) -> pl.DataFrame:
    """Return scikit-learn's values for every set of keys."""
    rows: list[dict[str, Any]] = []
    for n in range(4):
        for keys in combinations(KEYS, n):
            parts = FRAME.partition_by(keys, maintain_order=True) if keys else [FRAME]
            for part in parts:
                of = {key: part[key][0] if key in keys else None for key in KEYS}
                w = part[weight] if weight else None
                decided = (part["p"] >= 0.4).cast(int)
                for metric, value in (
                    ("roc_auc", roc_auc_score(part["y"], part["p"], sample_weight=w)),
                    ("f1(threshold=0.4)", f1_score(part["y"], decided, sample_weight=w)),
                ):
                    by = ", ".join(keys) or "overall"
                    rows.append({**of, "by": by, "metric": metric, "value": value, "n": len(part)})
    return pl.DataFrame(rows, infer_schema_length=None)


@pytest.mark.parametrize(("weight", "how"), [(None, {}), ("w", {"bins": 20})], ids=["rows", "bins"])
def test_a_cube_is_every_set_by_itself(weight: str | None, how: dict[str, Any]) -> None:
    bound = sqleval.scan(FRAME, label="y", score="p", weight=weight, by=KEYS, sets="cube")
    found = bound.evaluate(METRICS, **how).collect()
    assert found.columns[:5] == [*KEYS, "by", "metric"]
    assert list(dict.fromkeys(found["by"])) == [
        "overall", "a", "b", "c", "a, b", "a, c", "b, c", "a, b, c",
    ]  # fmt: skip
    theirs = expected(weight)
    ours = found.filter(pl.col("metric") != "log_loss")
    keys = [*KEYS, "by", "metric", "n"]
    both = ours.join(theirs, on=keys, nulls_equal=True, validate="1:1")
    assert both.height == ours.height == theirs.height
    assert (both["value"] - both["value_right"]).abs().max() < 1e-12  # type: ignore[operator]


def test_the_other_sets() -> None:
    for sets, names in (
        ("overall", ["overall", "a, b, c"]),
        ("rollup", ["overall", "a", "a, b", "a, b, c"]),
        ([["b"], "a", []], ["b", "a", "overall"]),
    ):
        bound = sqleval.scan(FRAME, label="y", score="p", by=KEYS, sets=sets)
        found = bound.evaluate("prevalence").collect()
        assert list(dict.fromkeys(found["by"])) == names
        for name in names:
            keys = [] if name == "overall" else name.split(", ")
            alone = sqleval.scan(FRAME, label="y", score="p", by=keys).evaluate("prevalence")
            part = found.filter(by=name)
            assert part["value"].to_list() == alone.collect()["value"].to_list()
            idle = [key for key in KEYS if key not in keys]
            assert all(part[key].null_count() == part.height for key in idle)


def test_a_key_that_is_null_is_not_one_out_of_force() -> None:
    bound = sqleval.scan(FRAME, label="y", score="p", by="a", sets="overall")
    lazy = bound.evaluate("prevalence")
    found = lazy.collect()
    assert found.filter(pl.col("a").is_null())["by"].to_list() == ["overall", "a"]
    # Nor does a condition on a key change the rows of the whole.
    some = lazy.filter(pl.col("a").is_null()).collect()
    assert some.equals(found.filter(pl.col("a").is_null()))


def test_curves_and_models_and_roles_and_late_labels(tmp_path: Path) -> None:
    two = sqleval.scan(
        FRAME.with_columns(q=1 - pl.col("p")), label="y", score={"one": "p", "other": "q"},
        by="c", sets="overall",
    )  # fmt: skip
    found = two.evaluate("roc_auc", gap=True).collect()
    assert found.columns[:6] == ["c", "by", "model", "metric", "value", "gap"]
    whole = found.filter(by="overall")
    assert whole["gap"].to_list() == [0.0, 0.0]
    for model, value in zip(whole["model"], whole["value"], strict=True):
        part = found.filter(model=model)
        assert part["gap"].to_list() == (part["value"] - value).to_list()
    curve = sqleval.scan(FRAME, label="y", score="p", by="c", sets="overall").curve("roc").collect()
    alone = sqleval.scan(FRAME, label="y", score="p").curve("roc").collect()
    assert curve.filter(by="overall").drop("c", "by").equals(alone)
    FRAME.drop("y").write_parquet(tmp_path / "preds.parquet")
    FRAME.select("id", "y").head(800).write_parquet(tmp_path / "labels.parquet")
    late = sqleval.scan(
        tmp_path / "preds.parquet", labels=tmp_path / "labels.parquet", on="id",
        label="y", score="p", by=["b", "c"], sets="cube",
    )  # fmt: skip
    with pytest.warns(sqleval.UnmatchedRows, match="100 of 900 rows have no label yet"):
        matched = late.evaluate("prevalence").collect()
    assert matched.filter(by="overall")["n"].to_list() == [800]


def test_the_worst_come_first_and_small_slices_say_nothing() -> None:
    bound = sqleval.scan(FRAME, label="y", score="p", by=["a", "b"], sets="overall")
    plain = bound.evaluate(METRICS).collect()
    least = int(plain["n"].sort()[3])
    found = bound.evaluate(METRICS, min_rows=least, worst_first=True, gap=True).collect()
    assert list(dict.fromkeys(found["metric"])) == METRICS
    for metric in METRICS:
        part = found.filter(metric=metric)
        values = part["value"].drop_nulls().to_list()
        assert values == sorted(values, reverse=metric == "log_loss")
        assert part["value"].null_count() == part.filter(pl.col("n") < least).height > 0
        assert part["value"][-1] is None
        assert part["note"][-1] == f"fewer than {least} rows"
    assert found.height == plain.height


REFUSED: list[tuple[dict[str, Any], dict[str, Any], str]] = [
    ({"sets": "cube"}, {}, "needs by="),
    ({"sets": "cubes", "by": "a"}, {}, "must be 'overall', 'rollup', 'cube' or a list"),
    ({"sets": [["z"]], "by": "a"}, {}, "names 'z', which is not in by=.* overall, rollup and cube"),
    ({"sets": [["a"], "a"], "by": "a"}, {}, "twice"),
    ({"sets": [], "by": "a"}, {}, "is empty"),
    (
        {"sets": "cube", "by": {f"k{i}": "a" for i in range(13)}},
        {},
        "sets='cube' of 13 keys has 8,192 sets, and at most 4,096 are evaluated",
    ),
    ({"sets": [["a"]] * 4097, "by": "a"}, {}, "sets= has 4,097 sets"),
    ({"by": "a"}, {"gap": True}, "gap= needs the value of all rows: sets='overall'"),
    ({"sets": "cube", "by": "by"}, {}, "which is the key that sets= adds"),
    ({"sets": "overall", "by": "overall"}, {}, "two sets of keys would be called 'overall'"),
    ({"sets": "overall", "by": "gap"}, {"gap": True}, "by= names 'gap'"),
    ({"by": "a"}, {"min_rows": -1}, "min_rows=-1 must be a whole number"),
]


@pytest.mark.parametrize(
    ("roles", "asked", "message"), REFUSED, ids=[message for *_, message in REFUSED]
)
def test_what_is_refused(roles: dict[str, Any], asked: dict[str, Any], message: str) -> None:
    frame = FRAME.with_columns(by=pl.lit(1), overall=pl.lit(1), gap=pl.lit(1))
    with pytest.raises(RequestError, match=message):
        sqleval.scan(frame, label="y", score="p", **roles).evaluate("prevalence", **asked)


def test_no_rows_have_no_slices() -> None:
    bound = sqleval.scan(FRAME.clear(), label="y", score="p", by="a", sets="overall")
    assert bound.evaluate("prevalence", gap=True, worst_first=True).collect().is_empty()


def test_the_command(tmp_path: Path) -> None:
    path = tmp_path / "preds.parquet"
    FRAME.write_parquet(path)
    done = CliRunner().invoke(
        main.sqleval,
        ["evaluate", str(path), "--label", "y", "--score", "p", "--by", "a,b", "--sets", "a;a,b;",
         "-m", "roc_auc", "--min-rows", "50", "--gap", "--worst-first", "--format", "csv"],
    )  # fmt: skip
    assert done.exit_code == 0, done.output
    found = pl.read_csv(done.output.encode())
    assert found.columns[:6] == ["a", "b", "by", "metric", "value", "gap"]
    assert set(found["by"]) == {"a", "a, b", "overall"}
    values = found["value"].drop_nulls().to_list()
    assert values == sorted(values)


TEXTS = FRAME.with_columns(
    d=pl.Series([["", "x", "Zürich", "zz" * 9, None][i] for i in RNG.integers(0, 5, 900)]),
    q=RNG.random(900),
    role=pl.Series(["train", "test"] * 450),
    gone=pl.when(pl.int_range(900) % 7 > 0).then("p"),
)
NUMBERED: list[dict[str, Any]] = [
    {"by": "a"},
    {"by": ["b", "d", "c", "a"], "score": "gone", "nulls": "drop"},
    {"by": ["d", "b"], "where": "b > 0", "weight": "w", "role": "role"},
    {"by": ["d", "b", "a"], "sets": "cube"},
    {"by": "b", "sets": "rollup"},
    {"by": "a", "score": {"one": "p", "two": "q"}},
    {"by": "a", "where": "y > 1"},
]


@pytest.mark.parametrize("options", NUMBERED, ids=str)
def test_sorting_by_integer_ids_of_text_keys_changes_nothing(
    options: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    TEXTS.write_parquet(tmp_path / "rows.parquet")
    bound = sqleval.scan(tmp_path / "rows.parquet", **{"label": "y", "score": "p", **options})
    asked = [*METRICS, "average_precision", "ks", "brier_reliability", "break_even_threshold"]
    if NUMBERED.index(options) > 0:  # metrics do not depend on these options
        asked = ["average_precision", "brier_reliability"]
    few = ["roc_auc", "f1"]
    statement = bound.sql(few, ci=0.9, plan="numbered")
    assert "_slices" in statement
    assert "_slices" not in bound.sql(few)
    every, some = bound.evaluate(asked), bound.evaluate(few, ci=0.9)
    parts: list[Callable[[Any], Any]] = [
        lambda rows: rows.filter(
            pl.col("b") == 1 if "b" in options["by"] else pl.col(options["by"][0]) == "x"
        ),
        lambda rows: rows.select("metric", "value"),
        lambda rows: rows.head(3),
        lambda rows: rows.filter(pl.col("value") > 0.5).select(options["by"]),
    ][: 4 if "where" in options or isinstance(options.get("score"), dict) else 1]
    ways = [every, *(part(some) for part in parts)]
    whole = some.collect()
    exact = [every.collect(), *(part(whole) for part in parts)]
    # Pretend that the file is large and its scores hardly repeat.
    monkeypatch.setattr(Source, "is_large", True)
    monkeypatch.setattr(choosing, "_probe_scores", lambda _: (900, 900, 900, 900))
    ran: list[str] = []
    for name in ("rows", "run"):
        monkeypatch.setattr(DuckDB, name, recorded(getattr(DuckDB, name), ran))
    for way, known in zip(ways, exact, strict=True):
        assert_frame_equal(way.collect(), known, abs_tol=1e-13)
    assert all("_slices" in text for text in ran if "_results" in text)
    with duckdb.connect() as con:
        pasted = con.sql(statement).pl().drop("_problem", "_notice")
    assert_frame_equal(pasted.cast(dict(whole.schema)), whole, abs_tol=1e-13)


def test_scores_are_counted_where_they_repeat_within_slices() -> None:
    rows = 400_000
    few = pl.DataFrame({"i": range(rows)}).select(
        y=pl.col("i") % 7 % 2, p=(pl.col("i") * 61 % 101) / 100,
        many=(pl.col("i") % 1_003).cast(pl.String), two=(pl.col("i") % 2).cast(pl.String),
    )  # fmt: skip
    many = sqleval.scan(few, label="y", score="p", by="many").evaluate("roc_auc", ci=0.9).collect()
    alone = sqleval.scan(few, label="y", score="p", by="two").evaluate("roc_auc").collect()
    plans = [found["method"].str.split(";").list[0].unique().to_list() for found in (many, alone)]
    assert plans == [["rows"], ["groups"]]
    # Slices of different sets have different ids.
    sets = sqleval.scan(few, label="y", score="p", by=["many", "two"], sets=[["two"], ["many"]])
    both = sets.evaluate("roc_auc", ci=0.9).collect()
    own = both.filter(by="two").select("two", "value")
    assert_frame_equal(own, alone.select("two", "value"))


def test_the_steps_are_those_of_the_plan() -> None:
    bound = sqleval.scan(TEXTS, label="y", score="p", by="a")
    steps = [name for name, _, _ in bound.steps("roc_auc", plan="numbered")]
    assert steps[:3] == ["_named", "_slices", "_source"]
    assert "_grouped" in [name for name, _, _ in bound.steps("roc_auc", plan="groups")]
    plan: Any
    for plan in ("other", ["rows"]):
        message = re.escape(
            f"plan={plan!r} must be 'rows', 'few', 'numbered', 'sorted' or 'groups'"
        )
        with pytest.raises(RequestError, match=message):
            bound.sql("roc_auc", plan=plan)
    rows: Any
    for rows in (-1, "1; SELECT 2", True):
        with pytest.raises(RequestError, match=f"rows={rows!r} must be a whole number from 0 on"):
            next(bound.steps("roc_auc", rows=rows))


def recorded(call: Callable[..., Any], into: list[str]) -> Callable[..., Any]:
    def run(engine: DuckDB, statement: str, *arguments: Any, **options: Any) -> Any:
        into.append(statement)
        return call(engine, statement, *arguments, **options)

    return run


def test_sorting_by_integer_ids_of_rows_without_labels_changes_nothing(tmp_path: Path) -> None:
    TEXTS.drop("y").write_parquet(tmp_path / "rows.parquet")
    TEXTS.select("id", "y").head(700).write_parquet(tmp_path / "labels.parquet")
    bound = sqleval.scan(
        tmp_path / "rows.parquet", labels=tmp_path / "labels.parquet", on="id", label="y",
        score="p", by=["a", "d"],
    )  # fmt: skip
    with pytest.warns(UserWarning, match="200 of 900 rows have no label yet"):
        exact = bound.evaluate("roc_auc").collect()
    with duckdb.connect() as con:
        found = con.sql(bound.sql("roc_auc", plan="numbered")).pl()
    assert "200 of 900 rows" in found["_notice"][0]
    assert_frame_equal(found.drop("_problem", "_notice").cast(dict(exact.schema)), exact)
