"""Long rows: the rows of a case differ by model, by class, or by both."""

import shlex
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from sklearn import metrics as sk

import sqleval
from sqleval import DataError, RequestError
from sqleval.report.page import write_report
from tests.support.commands import run
from tests.support.comparison import assert_frame_equal
from tests.support.lake import FIRST, Lake, read_results

N = 90
RNG = np.random.default_rng(3)
CLASSES = ["cat", "dog", "emu"]
Y = RNG.integers(0, 3, N)
SHARES = {m: RNG.dirichlet(np.ones(3) + (m == "b"), N).round(3) for m in "ab"}
SHARES = {m: shares / shares.sum(axis=1, keepdims=True) for m, shares in SHARES.items()}
PREDICTED = {m: RNG.integers(0, 3, N) for m in "ab"}
G, W = np.where(np.arange(N) % 3 == 0, "s", "t"), RNG.exponential(size=N)
#: A row per case, and the roles of a row per case.
WIDE = pl.DataFrame(
    {
        "id": np.arange(N),
        "y": [CLASSES[i] for i in Y],
        **{f"{m}_{c}": SHARES[m][:, i] for m in "ab" for i, c in enumerate(CLASSES)},
        **{f"d_{m}": [CLASSES[i] for i in PREDICTED[m]] for m in "ab"},
        "g": G,
        "w": W,
        "user": np.arange(N) // 2,
        "fold": np.arange(N) % 3,
    }
)
BY_MODEL = {m: {c: f"{m}_{c}" for c in CLASSES} for m in "ab"}
#: A row per case, model and class, in another order.
LONG = pl.concat(
    WIDE.select(
        "id", "y", "g", "w", "user", "fold", system=pl.lit(m), species=pl.lit(c),
        p=f"{m}_{c}", d=f"d_{m}", t=(pl.col("y") == c).cast(pl.Int8),
    )
    for m in "ab"
    for c in CLASSES
).sample(fraction=1, shuffle=True, seed=2)  # fmt: skip
BOTH = {"model": "system", "class": "species"}
ROLES: dict[str, Any] = {"label": "y", "score": "p", "long": BOTH, "key": "id"}
METRICS = ["log_loss", "brier_score", "roc_auc(average='macro')", "accuracy"]
OPTIONS: list[dict[str, Any]] = [
    {}, {"by": "g"}, {"weight": "w"}, {"by": {"late": "id > 40"}}, {"where": "g = 's'"},
    {"over": "fold"},
]  # fmt: skip


@pytest.mark.parametrize("label", ["y", "t"])
def test_classes_have_the_values_of_scikit_learn(label: str) -> None:
    found = sqleval.scan(LONG, **{**ROLES, "label": label}).evaluate(METRICS).collect()
    truth = np.eye(3)[Y]
    for m in "ab":
        right = [
            sk.log_loss(Y, SHARES[m]),
            ((SHARES[m] - truth) ** 2).sum(axis=1).mean(),
            sk.roc_auc_score(Y, SHARES[m], multi_class="ovr"),
            sk.accuracy_score(Y, SHARES[m].argmax(axis=1)),
        ]
        assert found.filter(model=m)["value"].to_list() == pytest.approx(right, rel=1e-12)
        assert found.filter(model=m)["n"].to_list() == [N] * 4


@pytest.mark.parametrize("options", OPTIONS, ids=str)
@pytest.mark.parametrize("label", ["y", "t"])
def test_long_rows_have_the_results_of_wide_rows(label: str, options: dict[str, Any]) -> None:
    long = sqleval.scan(LONG, **{**ROLES, "label": label}, prediction="d", **options)
    predicted = {"a": "d_a", "b": "d_b"}
    wide = sqleval.scan(WIDE, label="y", score=BY_MODEL, prediction=predicted, **options)
    for call in (
        {"ci": 0.9},
        {"ci": 0.9, "cluster": "user"},
    ):
        ours, theirs = (e.evaluate(METRICS, **call).collect() for e in (long, wide))
        assert_frame_equal(ours, theirs)
    ours, theirs = (e.compare(["log_loss", "accuracy"]).collect() for e in (long, wide))
    assert_frame_equal(ours, theirs)
    ours, theirs = (e.confusion().collect() for e in (long, wide))
    assert_frame_equal(ours, theirs)


def test_one_model_has_a_score_per_class() -> None:
    rows = LONG.filter(system="b")
    roles = {**ROLES, "long": {"class": "species"}, "label": "t", "prediction": "d"}
    found = sqleval.scan(rows, **roles).evaluate(["log_loss", "accuracy"]).collect()
    right = [sk.log_loss(Y, SHARES["b"]), sk.accuracy_score(Y, PREDICTED["b"])]
    assert found["value"].to_list() == pytest.approx(right, rel=1e-12)
    several = {**roles, "key": ["user", "id"], "classes": CLASSES}
    assert_frame_equal(sqleval.scan(rows, **several).evaluate(["log_loss"]).collect(), found[:1])


TWO = LONG.filter(species="cat").with_columns(hit=pl.col("d") == "cat")
OF_MODELS: dict[str, Any] = {
    "label": "t", "score": "p", "prediction": "hit", "long": {"model": "system"}, "key": "id",
}  # fmt: skip


def test_models_are_compared_without_naming_their_column() -> None:
    long = sqleval.scan(TWO, **OF_MODELS)
    found = long.evaluate(["roc_auc", "f1"]).collect()
    for m in "ab":
        hits = PREDICTED[m] == 0
        right = [sk.roc_auc_score(Y == 0, SHARES[m][:, 0]), sk.f1_score(Y == 0, hits)]
        assert found.filter(model=m)["value"].to_list() == pytest.approx(right, rel=1e-12)
    metrics = ["roc_auc", "log_loss"]
    told = sqleval.scan(TWO, label="t", score="p").compare(metrics, model="system", key="id")
    assert_frame_equal(long.compare(metrics).collect(), told.collect())
    wide = WIDE.with_columns(
        t=(pl.col("y") == "cat").cast(pl.Int8), a=pl.col("d_a") == "cat", b=pl.col("d_b") == "cat"
    )
    same = sqleval.scan(
        wide, label="t", score={"a": "a_cat", "b": "b_cat"}, prediction={"a": "a", "b": "b"}
    )
    metrics = ["roc_auc", "accuracy", "f1"]
    assert_frame_equal(long.compare(metrics).collect(), same.compare(metrics).collect())
    assert_frame_equal(long.leaderboard(metrics).collect(), same.leaderboard(metrics).collect())
    states = (e.state("f1").collect().drop("definition") for e in (long, same))
    ours, theirs = (state.sort(state.columns) for state in states)
    assert_frame_equal(ours, theirs)
    cut = sqleval.scan(
        TWO, **{**OF_MODELS, "prediction": None}, threshold={"a": 0.2, "b": 0.4}
    ).evaluate("recall")
    right = [
        sk.recall_score(Y == 0, SHARES[m][:, 0] >= t) for m, t in (("a", 0.2), ("b", 0.4))
    ]  # fmt: skip
    assert cut.collect()["value"].to_list() == pytest.approx(right, rel=1e-12)


def test_predicted_values_of_models_are_a_regression() -> None:
    values = {m: RNG.normal(size=N) for m in "ab"}
    y = RNG.normal(size=N)
    rows = pl.concat(
        pl.DataFrame({"id": range(N), "y": y, "value": values[m], "m": [m] * N}) for m in "ab"
    )
    bound = sqleval.scan(rows, label="y", prediction="value", long={"model": "m"}, key="id")
    found = bound.evaluate("mse").collect()["value"].to_list()
    right = [sk.mean_squared_error(y, values[m]) for m in "ab"]
    assert found == pytest.approx(right, rel=1e-12)


def test_values_may_be_expressions_and_float() -> None:
    rows = TWO.with_columns(low=1 - pl.col("p"), f=pl.col("p").cast(pl.Float32))
    right = sqleval.scan(TWO, **OF_MODELS).evaluate("roc_auc").collect()
    for change in ({"score": "1 - low"}, {"label": "y = 'cat'"}):
        found = sqleval.scan(rows, **{**OF_MODELS, **change}).evaluate("roc_auc").collect()
        assert_frame_equal(found, right)
    rows = pl.DataFrame(
        {"id": [1, 2], "m": ["a", "a"], "y": [1, 0], "p": pl.Series([0.7, 0.1], dtype=pl.Float32)}
    )
    rows = pl.concat([rows, rows.with_columns(m=pl.lit("b"))])
    bound = sqleval.scan(rows, label="y", score="p", long={"model": "m"}, key="id", threshold=0.7)
    assert bound.evaluate("recall").collect()["value"].to_list() == [1.0, 1.0]


def test_whole_number_classes_tell_labels_from_truths() -> None:
    number = {c: i for i, c in enumerate(CLASSES)}
    rows = LONG.with_columns(
        pl.col("species").replace_strict(number), pl.col("y").replace_strict(number)
    )
    right = sqleval.scan(LONG, **ROLES).evaluate(METRICS).collect()
    for label in ("y", "t"):
        found = sqleval.scan(rows, **{**ROLES, "label": label}).evaluate(METRICS).collect()
        assert_frame_equal(found, right)


@pytest.mark.parametrize("kind", ["lazy", "arrow", "csv", "parquet", "json"])
def test_every_source_can_be_long(kind: str, tmp_path: Path) -> None:
    right = sqleval.scan(LONG, **ROLES).evaluate("log_loss").collect()
    file = tmp_path / f"rows.{kind}"
    if kind in ("csv", "parquet"):
        getattr(LONG, f"write_{kind}")(file)
    elif kind == "json":
        LONG.write_ndjson(file)
    source = {"lazy": LONG.lazy(), "arrow": LONG.to_arrow()}.get(kind, file)
    assert_frame_equal(sqleval.scan(source, **ROLES).evaluate("log_loss").collect(), right)


def test_fractions_below_whole_numbers_of_a_csv_are_kept(tmp_path: Path) -> None:
    file = tmp_path / "rows.csv"
    begin = "".join(f"{i},{m},{i % 2},{i % 2}\n" for i in range(30_000) for m in "ab")
    file.write_text("id,m,y,p\n" + begin + "30001,a,1,0.25\n30001,b,1,0.75\n")
    bound = sqleval.scan(file, label="y", score="p", long={"model": "m"}, key="id")
    found = bound.evaluate("brier_score").collect()["value"].to_list()
    assert found == pytest.approx([0.75**2 / 30001, 0.25**2 / 30001], rel=1e-12)


def test_late_labels_belong_to_cases() -> None:
    labels = WIDE.select("id", "y")
    bound = sqleval.scan(LONG.drop("y", "t"), **ROLES, labels=labels, on="id")
    right = sqleval.scan(LONG, **ROLES).evaluate("log_loss").collect()
    assert_frame_equal(bound.evaluate("log_loss").collect(), right)


@pytest.mark.parametrize("kind", ["frame", "csv"])
def test_late_labels_and_weights_of_cases_may_be_expressions(kind: str, tmp_path: Path) -> None:
    late = pl.DataFrame({"id": np.arange(N), "code": Y * 10, "double": 2 * W})
    late.write_csv(tmp_path / "late.csv")
    labels = late if kind == "frame" else str(tmp_path / "late.csv")
    rows = LONG.filter(species="dog").drop("y", "t", "w")
    bound = sqleval.scan(
        rows, label="code + 0 = 10", score="p", weight="double / 2", by="g",
        long={"model": "system"}, key="id", labels=labels, on="id",
    )  # fmt: skip
    found = bound.evaluate("roc_auc").collect()["value"].to_list()
    right = [
        sk.roc_auc_score(Y[g == G] == 1, SHARES[m][g == G, 1], sample_weight=W[g == G])
        for g in "st"
        for m in "ab"
    ]
    assert found == pytest.approx(right, abs=1e-12)


def test_an_item_without_a_row_of_a_system_was_not_retrieved() -> None:
    items = pl.DataFrame(
        {"id": np.arange(N), "q": np.arange(N) // 9, "rel": Y, "a": SHARES["a"][:, 0]}
    )
    items = items.with_columns(b=pl.when(pl.col("id") % 4 > 0).then(1 - pl.col("a")))
    long = pl.concat(
        items.select("id", "q", "rel", p=m, system=pl.lit(m)).drop_nulls() for m in "ab"
    )
    roles: dict[str, Any] = {"label": "rel", "qid": "q"}
    wide = sqleval.scan(items, score={"a": "a", "b": "b"}, **roles)
    bound = sqleval.scan(long, score="p", long={"model": "system"}, key="id", **roles)
    assert_frame_equal(bound.evaluate("ndcg").collect(), wide.evaluate("ndcg").collect())


def change(name: str, value: Any, where: pl.Expr) -> pl.DataFrame:
    """Return the long rows with another value in some of them."""
    return LONG.with_columns(pl.when(where).then(pl.lit(value)).otherwise(name).alias(name))


CASE = pl.col("id") == 7
ROW = CASE & (pl.col("species") == "cat") & (pl.col("system") == "a")
ONE = {"label": "t"}


@pytest.mark.parametrize(
    ("rows", "more", "words"),
    [
        (change("y", "owl", ROW), {}, "key='id': 7 has two labels: "),
        (pl.concat([LONG, LONG.filter(ROW)]), {},
         "key='id': 7 has 2 rows of the class 'cat' of the model 'a'; key= names the case"),
        (LONG.filter(~ROW), {},
         "key='id': 7 has no row of the class 'cat' of the model 'a'; nulls='drop'"),
        (change("g", "z", ROW), {"by": "g"}, "key='id': 7 has several values of 'g': "),
        (change("g", None, ROW), {"by": "g"}, "key='id': 7 has several values of 'g': "),
        (change("w", 9.0, ROW), {"weight": "w"}, "key='id': 7 has several values of 'w': "),
        (change("g", "z", ROW), {"where": "g <> 'q'"}, "7 has several values of 'g'"),
        (change("g", "z", ROW), {"by": {"k": "upper(g)"}}, "7 has several values of 'g'"),
        (change("w", 9.0, ROW), {"weight": "w * 2"}, "7 has several values of 'w'"),
        (change("d", "emu", ROW), {"prediction": "d"}, "7 has several values of 'd'"),
        (change("id", None, ROW), {}, "key='id' is NULL in some rows"),
        (change("species", None, ROW), {}, "the class 'species' is NULL in some rows"),
        (change("p", None, ROW), {}, "'p[a, cat]', 'p[b, cat]' is NULL or NaN in 1 of 180 scores"),
        (LONG, {"classes": ["cat", "dog"]},
         "has a row of the class emu in 'species'; known are cat, dog"),
        (change("t", 1, CASE), ONE, "key='id': 7 has two labels: cat and emu"),
        (change("t", 0, CASE), ONE, "key='id': 7 has no row with 1 in 't', the true class"),
        (change("t", 2, ROW), ONE, "key='id': 7 has the value 2 in 't', which must be 1"),
        (LONG.clear(), {}, "has no rows, and so no model in 'system'"),
    ],
)  # fmt: skip
def test_a_wrong_case_is_named(rows: pl.DataFrame, more: dict[str, Any], words: str) -> None:
    with pytest.raises(DataError) as raised:
        sqleval.scan(rows, **{**ROLES, **more}).evaluate(["log_loss", "accuracy"]).collect()
    assert words in str(raised.value)


def test_unused_columns_may_differ_within_a_case() -> None:
    rows = LONG.with_row_index("place").with_columns(note=pl.concat_list("place"))
    right = sqleval.scan(LONG, **ROLES).evaluate("log_loss").collect()
    assert_frame_equal(sqleval.scan(rows, **ROLES).evaluate("log_loss").collect(), right)
    # Clusters that differ are missing.
    with pytest.raises(DataError, match=r"place.* NULL"):
        sqleval.scan(rows, **ROLES).evaluate("log_loss", ci=0.9, cluster="place").collect()


def test_incomplete_cases_are_dropped_and_counted() -> None:
    rows = LONG.filter(~ROW)
    bound = sqleval.scan(rows, **ROLES, nulls="drop")
    found = bound.evaluate("log_loss").collect()
    assert found["n"].to_list() == [N - 1, N]
    assert found["n_dropped"].to_list() == [1, 0]
    keep = np.arange(N) != 7
    right = [sk.log_loss(Y[keep], SHARES["a"][keep]), sk.log_loss(Y, SHARES["b"])]
    assert found["value"].to_list() == pytest.approx(right, rel=1e-12)
    common = sqleval.scan(rows, **ROLES, nulls="drop", common=True)
    assert common.evaluate("log_loss").collect()["n"].to_list() == [N - 1, N - 1]


def test_a_condition_may_leave_out_models() -> None:
    bound = sqleval.scan(LONG, **ROLES, where="system <> 'b' AND g = 's'")
    found = bound.evaluate("log_loss").collect()
    kept = G == "s"
    assert found["model"].to_list() == ["a"]
    assert found["value"].item() == pytest.approx(sk.log_loss(Y[kept], SHARES["a"][kept]))


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        ({"long": {"horizon": "g"}}, "long= names 'horizon', whose task does not exist yet"),
        ({"long": {"labels": "g"}}, "long= names 'labels'; did you mean 'label'?"),
        ({"long": {"modl": "g"}}, "long= names 'modl'; did you mean 'model'?"),
        ({"long": {}}, "long={} must map 'model', 'class' or 'label' to a column"),
        ({"long": "system"}, "long='system' must map 'model', 'class' or 'label'"),
        ({"long": {"model": 3}}, "long= maps 'model' to 3, which is not a column name"),
        ({"long": {"model": "sys"}}, "long='sys': no such column"),
        ({"key": None}, "long= needs key= (--key)"),
        ({"key": "idd"}, "key='idd': no such column in the DataFrame; did you mean 'id'?"),
        ({"key": "system"}, "'system' has two uses; each has a column"),
        ({"long": None}, "key='id' names the cases of long rows: long=None must map"),
        ({"score": {"a": "p"}}, "score= is one column of values, which long= divides by model"),
        ({"score": None, "prediction": "d"}, "needs score=, the column of the values"),
        ({"task": "binary"}, "long= names classes, whose task is multiclass"),
        ({"counts": "w"}, "long= goes without counts= and role="),
        ({"by": "system"}, "by= reads 'system', which differs between the rows of a case"),
        ({"by": {"k": "p > 0.5"}}, "by= reads 'p', which differs between the rows of a case"),
        ({"weight": "p * 2"}, "weight= reads 'p', which differs between the rows of a case"),
        ({"where": "p > 0.5"}, "where= reads 'p', which differs between the rows of a case"),
        ({"where": "system = 'a' OR g = 's'"}, "AND joins a condition on models or classes alone"),
        # The label of a case would be compared: the class, not 1 or 0.
        ({"label": "t", "where": "t = 1"}, "where= reads 't', which differs between the rows"),
    ],
    ids=str,
)
def test_what_does_not_fit_is_refused(wrong: dict[str, Any], words: str) -> None:
    with pytest.raises(RequestError) as raised:
        sqleval.scan(LONG, **{**ROLES, **wrong})
    assert words in str(raised.value)


def test_a_source_that_is_read_once_is_refused() -> None:
    with pytest.raises(RequestError, match="can be read only once; collect it first"):
        sqleval.scan(LONG.to_arrow().to_reader(), **ROLES)


def test_a_report_and_the_statement_read_long_rows(tmp_path: Path) -> None:
    page = tmp_path / "page.html"
    write_report(LONG, str(page), **ROLES, by="g")
    assert f"{sk.log_loss(Y, SHARES['a']):.4f}" in page.read_text()
    assert 'GROUP BY s."id"' in sqleval.scan(LONG, **ROLES).sql("log_loss")


def test_commands_read_long_rows(tmp_path: Path) -> None:
    file = tmp_path / "long.parquet"
    LONG.write_parquet(file)
    roles = f"{shlex.quote(str(file))} --label y --score p --long model=system --long class=species"
    done = run(*shlex.split(f"evaluate {roles} --key id -m log_loss --format csv"))
    found = pl.read_csv(done.stdout.encode())["value"].to_list()
    assert found == pytest.approx([sk.log_loss(Y, SHARES[m]) for m in "ab"], rel=1e-12)
    done = run(*shlex.split(f"compare {roles} --key user,id -m accuracy --format csv"))
    assert pl.read_csv(done.stdout.encode())["baseline"].item() == "a"
    TWO.write_parquet(file)
    two = f"compare {shlex.quote(str(file))} --label t --score p -m roc_auc --format csv"
    told, long = (
        run(*shlex.split(f"{two} {way} --key id")).stdout
        for way in ("--model system", "--long model=system")
    )
    assert told == long
    assert "needs key=" in run(*shlex.split(f"evaluate {roles}"), code=2).stderr
    assert (
        "a view with a row per case"
        in run(
            *shlex.split("sql log_loss --table t --label y --score p --long class=c --key id"),
            code=2,
        ).stderr
    )


def test_a_job_reads_long_rows(tmp_path: Path) -> None:
    lake = Lake(tmp_path)
    lake.spec |= {**ROLES, "by": "g", "metrics": ["log_loss"], "classes": CLASSES}
    days = pl.concat(
        # The keys of cases repeat on the next day.
        LONG.with_columns(day=pl.lit(FIRST.replace(day=i))) for i in (1, 2)
    )  # fmt: skip
    lake.put(days)
    found = read_results(lake.run(backfill=True)).sort("period", "slice")
    assert found.height == 8
    for place, (g, m) in enumerate([(g, m) for g in "st" for m in "ab"]):
        right = sk.log_loss(Y[g == G], SHARES[m][g == G])
        for row in (found.row(place, named=True), found.row(place + 4, named=True)):
            assert row["value"] == pytest.approx(right, rel=1e-12)
            assert row["n"] == (g == G).sum()


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        ({"classes": None}, "long: {class: ...} needs classes: [a, b]"),
        ({"key": None}, "long= needs key="),
        ({"long": {"level": "g"}}, "whose task does not exist yet"),
    ],
)  # fmt: skip
def test_a_job_needs_the_key_and_the_classes(
    wrong: dict[str, Any], words: str, tmp_path: Path
) -> None:
    lake = Lake(tmp_path)
    lake.spec |= {**ROLES, "by": None, "metrics": ["log_loss"], "classes": CLASSES}
    with pytest.raises(RequestError) as raised:
        lake.job(**wrong)
    assert words in str(raised.value)
