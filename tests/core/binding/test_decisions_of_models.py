"""Several models with their scores and their own decisions: predictions, or thresholds."""

import shlex
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import polars as pl
import pytest
from scipy import stats
from sklearn import metrics as sk

import sqleval
from sqleval import RequestError
from sqleval.export.statement import export_statement
from sqleval.report.page import write_report
from tests.support.commands import run
from tests.support.comparison import assert_frame_equal
from tests.support.lake import FIRST, Lake, read_results

N = 300
RNG = np.random.default_rng(5)
Y = RNG.integers(0, 2, N)
SCORES = {
    "a": np.clip(RNG.normal(0.4 + 0.2 * Y, 0.2), 0, 1).round(2),
    "b": np.clip(RNG.normal(0.4 + 0.15 * Y, 0.2), 0, 1).round(2),
}
CUTS = {"a": 0.55, "b": 0.3}
#: The scores of b are FLOAT, in which 0.3 is not the DOUBLE 0.3.
DECIDED = {name: (SCORES[name] > CUTS[name] - 0.001).astype(int) for name in "ab"}
ROWS = pl.DataFrame(
    {
        "y": Y,
        "word": np.where(Y == 1, "yes", "no"),
        "pa": SCORES["a"],
        "pb": pl.Series(SCORES["b"], dtype=pl.Float32),
        "da": DECIDED["a"],
        "db": DECIDED["b"] == 1,
        "wa": np.where(DECIDED["a"] == 1, "yes", "no"),
        "wb": np.where(DECIDED["b"] == 1, "yes", "no"),
        "g": np.where(np.arange(N) % 3 == 0, "s", "t"),
        "w": RNG.exponential(size=N),
        "fold": np.arange(N) % 4,
        "user": np.arange(N) // 3,
    }
)
SCORE = {"a": "pa", "b": "pb"}
PREDICTION = {"a": "da", "b": "db"}
#: The ways to say what each model decides.
WAYS: dict[str, dict[str, Any]] = {
    "predictions": {"label": "y", "prediction": PREDICTION},
    # The order of the models is that of the scores.
    "thresholds": {"label": "y", "threshold": {"b": 0.3, "a": 0.55}},
    "texts": {"label": "word", "positive": "yes", "prediction": {"a": "wa", "b": "wb"}},
    "thresholds of texts": {"label": "word", "positive": "yes", "threshold": CUTS},
}
OPTIONS: list[dict[str, Any]] = [
    {}, {"by": "g"}, {"by": ["g"], "sets": "overall"}, {"weight": "w"}, {"over": "fold"},
]  # fmt: skip
METRICS = ["roc_auc", "f1", "accuracy", "log_loss"]


def pick(roles: dict[str, Any], model: str) -> dict[str, Any]:
    """Return the roles of a model alone."""
    return {name: each[model] if isinstance(each, dict) else each for name, each in roles.items()}


@pytest.fixture(params=WAYS.values(), ids=WAYS.keys())
def roles(request: pytest.FixtureRequest) -> dict[str, Any]:
    return {**request.param, "score": SCORE}


def test_the_values_are_those_of_scikit_learn(roles: dict[str, Any]) -> None:
    found = sqleval.scan(ROWS, **roles).evaluate(["roc_auc", "f1", "accuracy"]).collect()
    for model in "ab":
        values = found.filter(model=model)["value"].to_list()
        right = [
            sk.roc_auc_score(Y, SCORES[model]),
            sk.f1_score(Y, DECIDED[model]),
            sk.accuracy_score(Y, DECIDED[model]),
        ]
        assert values == pytest.approx(right, rel=1e-12)


@pytest.mark.parametrize("options", OPTIONS, ids=str)
@pytest.mark.parametrize("interval", [{}, {"cluster": "user"}, {"ci_method": "bca"}], ids=str)
def test_each_model_has_the_values_that_it_has_alone(
    roles: dict[str, Any], options: dict[str, Any], interval: dict[str, Any]
) -> None:
    found = sqleval.scan(ROWS, **roles, **options).evaluate(METRICS, ci=0.9, **interval).collect()
    for model in "ab":
        alone = sqleval.scan(ROWS, **pick(roles, model), **options)
        right = alone.evaluate(METRICS, ci=0.9, **interval).collect()
        # The method tells which rows DuckDB grouped, not what it computed.
        mine = found.filter(model=model).select(right.columns).drop("method")
        assert_frame_equal(mine, right.drop("method"))


def test_a_float_score_meets_its_threshold_as_float() -> None:
    scores = np.array([0.7, 0.1, 0.3, 0.7, 0.6, 0.2])
    rows = pl.DataFrame(
        {"y": [1, 0, 1, 0, 1, 0], "a": pl.Series(scores, dtype=pl.Float32), "b": scores}
    )
    bound = sqleval.scan(
        rows, label="y", score={"a": "a", "b": "b"}, threshold={"a": 0.7, "b": 0.7}
    )
    assert bound.evaluate("recall").collect()["value"].to_list() == pytest.approx([1 / 3, 1 / 3])
    assert bound.compare("recall", replicates=100).collect()["difference"].item() == 0


def test_areas_are_compared_by_scores_and_rates_by_decisions(roles: dict[str, Any]) -> None:
    bound = sqleval.scan(ROWS, **roles)
    found = bound.compare(["roc_auc", "accuracy", "f1"]).collect()
    scored = sqleval.scan(ROWS, label="y", score=SCORE).compare("roc_auc").collect()
    assert_frame_equal(found[:1], scored)
    right = {name: DECIDED[name] == Y for name in "ab"}
    only_a, only_b = (int((right[x] & ~right[z]).sum()) for x, z in ("ab", "ba"))
    statistic = (abs(only_a - only_b) - 1) ** 2 / (only_a + only_b)
    assert found["p_value"][1] == pytest.approx(stats.chi2.sf(statistic, 1), rel=1e-9)
    decided = sqleval.scan(ROWS, label="y", prediction=PREDICTION, task="binary")
    assert_frame_equal(found[2:], decided.compare("f1").collect())
    board = bound.leaderboard("accuracy").collect()
    assert board["value"].to_list() == sorted(found.row(1, named=True)[n] for n in VALUES)[::-1]
    clustered = [each.compare("f1", cluster="user").collect() for each in (bound, decided)]
    assert_frame_equal(*clustered)


VALUES = ("value", "baseline_value")


def test_folds_are_compared_by_the_decisions(roles: dict[str, Any]) -> None:
    bound = sqleval.scan(ROWS, **roles, over="fold")
    decided = sqleval.scan(ROWS, label="y", prediction=PREDICTION, task="binary", over="fold")
    call: dict[str, Any] = {"metrics": "f1(average='macro')", "test": "corrected_t"}
    assert_frame_equal(bound.compare(**call).collect(), decided.compare(**call).collect())


def test_a_threshold_of_a_metric_replaces_those_of_the_models() -> None:
    bound = sqleval.scan(ROWS, label="y", score=SCORE, threshold=CUTS)
    plain = sqleval.scan(ROWS, label="y", score=SCORE, threshold=0.4)
    text = "f1(threshold=0.4)"
    for call in ("evaluate", "compare"):
        ours, theirs = (getattr(e, call)(text).collect() for e in (bound, plain))
        assert_frame_equal(ours, theirs)
    ours, theirs = (
        e.evaluate(text, ci=0.9, ci_method="bca").collect() for e in (bound, plain)
    )  # fmt: skip
    assert_frame_equal(ours, theirs)
    both = bound.evaluate([text, "f1"]).collect()
    assert_frame_equal(both[::2], plain.evaluate(text).collect())
    assert_frame_equal(
        bound.confusion(threshold=0.4).collect(), plain.confusion(threshold=0.4).collect()
    )


def test_a_confusion_table_counts_the_decisions(roles: dict[str, Any]) -> None:
    found = sqleval.scan(ROWS, **roles).confusion().collect()
    for model in "ab":
        counts = found.filter(model=model)["n"].to_list()
        assert counts == sk.confusion_matrix(Y, DECIDED[model]).ravel().tolist()


@pytest.mark.parametrize("options", [{}, {"by": "g"}, {"weight": "w"}], ids=str)
@pytest.mark.parametrize("bins", [20, 9])
def test_a_state_holds_the_decisions(
    roles: dict[str, Any], options: dict[str, Any], bins: int
) -> None:
    bound = sqleval.scan(ROWS, **roles, **options)
    state = bound.state(["f1", "accuracy", "roc_auc"], ci=True, bins=bins).collect()
    keys = list(bound.binding.key_names)
    again = sqleval.from_state(state, by=keys)
    chosen = ["f1", "accuracy"]
    columns = [*keys, "metric", "value", "low", "high", "n"]
    found, right = (e.evaluate(chosen, ci=0.9).collect().select(columns) for e in (again, bound))
    assert_frame_equal(found.sort(keys), right.sort(keys))
    for refused in (0.5, CUTS):
        with pytest.raises(RequestError, match="threshold"):
            sqleval.from_state(state, by=keys, threshold=refused).evaluate(  # pyright: ignore[reportArgumentType]
                "f1(threshold=0.5)"
            )


def test_states_of_other_thresholds_are_not_merged() -> None:
    states = [
        sqleval.scan(ROWS, label="y", score=SCORE, threshold={**CUTS, "b": b}).state("f1").collect()
        for b in (0.3, 0.4)
    ]
    with pytest.raises(RequestError, match="threshold of model b"):
        sqleval.from_state(pl.concat(states), by="model").evaluate("f1")


@pytest.mark.parametrize("missing", ["pa", "pb", "da", "db"])
def test_common_rows_have_all_scores_and_decisions(missing: str) -> None:
    hole = pl.when(pl.int_range(pl.len()) % 7 == 0).then(None).otherwise(missing)
    rows = ROWS.with_columns(hole.alias(missing))
    roles: dict[str, Any] = {"label": "y", "score": SCORE, "prediction": PREDICTION}
    with pytest.raises(sqleval.DataError, match=f"(score|prediction)= of .*'{missing}'.* NULL"):
        sqleval.scan(rows, **roles).evaluate("f1").collect()
    bound = sqleval.scan(rows, **roles, nulls="drop", common=True)
    kept = rows.drop_nulls(missing)
    found = bound.evaluate(["f1", "roc_auc"]).collect()
    right = sqleval.scan(kept, **roles).evaluate(["f1", "roc_auc"]).collect()
    assert_frame_equal(found.drop("n_dropped"), right.drop("n_dropped"))
    assert found["n_dropped"].to_list() == [N - kept.height] * 4
    apart = sqleval.scan(rows, **roles, nulls="drop").evaluate("f1").collect()
    assert sorted(apart["n"]) == [kept.height, N]
    assert "lack the value of another model" in str(apart["note"].drop_nulls().item())
    compared = bound.compare("accuracy").collect()
    assert compared["n"].item() == kept.height


def test_scores_of_classes_have_predictions_beside_them() -> None:
    classes = ["low", "mid", "high"]
    y = RNG.choice(classes, N)
    shares = {m: RNG.dirichlet(np.ones(3), N) for m in "ab"}
    predicted = {m: RNG.choice(classes, N) for m in "ab"}
    columns = {f"{m}_{c}": shares[m][:, i] for m in "ab" for i, c in enumerate(classes)}
    rows = pl.DataFrame({"y": y, **columns, **predicted, "fold": np.arange(N) % 3})
    score = {m: {c: f"{m}_{c}" for c in classes} for m in "ab"}
    roles: dict[str, Any] = {"label": "y", "score": score, "prediction": {"b": "b", "a": "a"}}
    bound = sqleval.scan(rows, **roles)
    found = bound.evaluate(["accuracy", "f1(average='macro')", "log_loss"], ci=0.9).collect()
    for model in "ab":
        right = [
            sk.accuracy_score(y, predicted[model]),
            sk.f1_score(y, predicted[model], average="macro"),
            sk.log_loss(y, shares[model][:, [2, 0, 1]], labels=sorted(classes)),
        ]
        assert found.filter(model=model)["value"].to_list() == pytest.approx(right, rel=1e-12)
    decided = sqleval.scan(rows, label="y", prediction={"a": "a", "b": "b"})
    for metric in ("accuracy", "f1(average='macro')"):
        ours, theirs = (
            e.compare(metric).collect() for e in (bound, decided)
        )  # fmt: skip
        assert_frame_equal(ours, theirs)
    scored = sqleval.scan(rows, label="y", score=score)
    ours, theirs = (e.compare("log_loss", replicates=200).collect() for e in (bound, scored))
    assert_frame_equal(ours, theirs)


@pytest.mark.parametrize("kind", WAYS)
def test_a_statement_for_elsewhere_reads_the_decisions(kind: str) -> None:
    roles = {**WAYS[kind], "score": SCORE}
    sql = export_statement(["f1", "roc_auc"], "duckdb", "preds", **roles)
    with duckdb.connect() as con:
        con.register("preds", ROWS.to_arrow())
        rows = con.sql(sql).pl().filter(metric="f1")
    assert rows["_problem"].to_list() == [None, None]
    # A table that is not described reads scores as DOUBLE.
    b = DECIDED["b"] if "prediction" in roles else SCORES["b"].astype(np.float32) >= 0.3
    right = [sk.f1_score(Y, DECIDED["a"]), sk.f1_score(Y, b)]
    assert rows["value"].to_list() == pytest.approx(right, rel=1e-12)


def test_a_report_shows_decisions_and_thresholds(roles: dict[str, Any], tmp_path: Path) -> None:
    write_report(ROWS, str(tmp_path / "page.html"), **roles, by="g")
    page = (tmp_path / "page.html").read_text()
    assert f"{sk.f1_score(Y, DECIDED['a']):.4f}" in page
    assert f"{sk.precision_score(Y, SCORES['a'] >= 0.4):.4f}" in page


def test_a_report_takes_a_score_beside_a_prediction(tmp_path: Path) -> None:
    write_report(ROWS, str(tmp_path / "page.html"), label="y", score="pa", prediction="da")
    page = (tmp_path / "page.html").read_text()
    assert f"{sk.f1_score(Y, DECIDED['a']):.4f}" in page


def test_the_command_takes_both(tmp_path: Path) -> None:
    file = tmp_path / "p.parquet"
    ROWS.write_parquet(file)
    begin = f"evaluate {shlex.quote(str(file))} --label y --score a=pa --score b=pb -m f1"
    begin += " --format csv"
    right = [sk.f1_score(Y, DECIDED[model]) for model in "ab"]
    for way in ("--prediction a=da --prediction b=db", "--threshold a=.55 --threshold b=.3"):
        done = run(*shlex.split(f"{begin} {way}"))
        found = pl.read_csv(done.stdout.encode())["value"].to_list()
        assert found == pytest.approx(right, rel=1e-12)
    for wrong, words in (
        ("--threshold a=.55", "threshold= lacks 'b', which score= names"),
        ("--threshold a=.5 --threshold a=.6", "names 'a' twice"),
        ("--threshold a=x --threshold b=.6", "'x' must be a number"),
        ("--threshold .5 --threshold .6", "needs a name of each model"),
    ):
        assert words in run(*shlex.split(f"{begin} {wrong}"), code=2).stderr


@pytest.mark.parametrize("with_states", [False, True])
@pytest.mark.parametrize("kind", ["predictions", "thresholds"])
def test_a_job_has_the_decisions(kind: str, tmp_path: Path, *, with_states: bool) -> None:
    lake = Lake(tmp_path)
    lake.spec |= {**WAYS[kind], "score": SCORE, "by": None, "metrics": ["f1", "roc_auc"]}
    lake.spec |= {"gates": ["f1 >= 0.5"]}
    lake.spec |= {"states": str(tmp_path / "states")} if with_states else {}
    lake.put(ROWS.with_columns(day=pl.lit(FIRST)))
    found = read_results(lake.run(backfill=True)).filter(metric="f1").sort("slice")
    right = [sk.f1_score(Y, DECIDED[model]) for model in "ab"]
    assert found["value"].to_list() == pytest.approx(right, rel=1e-12)


def test_an_error_of_one_model_leaves_the_others(tmp_path: Path) -> None:
    lake = Lake(tmp_path)
    lake.spec |= {"label": "y", "score": SCORE, "prediction": PREDICTION, "by": None}
    lake.spec |= {"metrics": ["f1"]}
    lake.put(ROWS.with_columns(day=pl.lit(FIRST)))
    lake.put(ROWS.drop("pb", "db").with_columns(day=pl.lit(FIRST.replace(day=2))))
    found = read_results(lake.run(backfill=True)).sort("period", "slice")
    right = [sk.f1_score(Y, DECIDED[model]) for model in "aba"]
    assert found["value"].drop_nulls().to_list() == pytest.approx(right, rel=1e-12)


def test_predictions_describe_themselves() -> None:
    shown = repr(sqleval.scan(ROWS, label="y", score=SCORE, prediction=PREDICTION))
    assert "prediction={'a': 'da', 'b': 'db'}" in shown
    shown = repr(sqleval.scan(ROWS, label="y", score=SCORE, threshold=CUTS))
    assert "threshold={'a': 0.55, 'b': 0.3}" in shown


NESTED = {"a": {0: "pa", 1: "pb"}, "b": {0: "pa", 1: "pb"}}


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        ({"prediction": {"a": "da"}}, "prediction= lacks 'b', which score= names; both name"),
        ({"prediction": {"a": "da", "c": "db"}}, "lacks 'b', which score= names"),
        (
            {"prediction": {**PREDICTION, "c": "g"}},
            "score= lacks 'c', which prediction= names",
        ),
        ({"threshold": {"a": 0.5}}, "threshold= lacks 'b', which score= names"),
        ({"threshold": {"a": 0.5, "b": "x"}}, "threshold='x' must be a number"),
        ({"threshold": {"a": 0.5, "b": None}}, "threshold= maps 'b' to None"),
        ({"threshold": CUTS, "prediction": PREDICTION}, "threshold= cannot change a prediction="),
        ({"threshold": CUTS, "score": "pa"}, "threshold= names the models a, b, and score= names"),
        ({"prediction": {"a": "da", "b": "wb"}}, "need types that can be compared"),
        ({"prediction": {"a": "da", "b": "no"}}, "prediction='no': no such column"),
        ({"prediction": {"a": "da", "b": {}}}, "prediction= is one column per model"),
        ({"prediction": "da", "score": NESTED}, "prediction= is one column per model"),
        ({"threshold": CUTS, "score": NESTED}, "for two classes, and the task is multiclass"),
        (
            {"score": {0: "pa", 1: "pb"}, "prediction": {0: "da", 1: "da"}, "task": "multiclass"},
            "prediction= names several models, and score= a column for each class of one model",
        ),
    ],
    ids=str,
)  # fmt: skip
def test_decisions_that_do_not_fit_are_refused(wrong: dict[str, Any], words: str) -> None:
    with pytest.raises(RequestError) as raised:
        sqleval.scan(ROWS, **{"label": "y", "score": SCORE, **wrong})
    assert words in str(raised.value)


@pytest.mark.parametrize(
    ("roles", "words"),
    [
        ({"label": "pa", "prediction": "pb"}, "and the task is regression: leave it out"),
        ({"label": "y", "score": "pa", "qid": "y"}, "and the task is ranking: leave it out"),
        ({"label": "word", "prediction": "wa", "task": "multiclass"}, "task is multiclass"),
        ({"label": "y", "score": "pa", "prediction": "da"}, "cannot change a prediction= that"),
    ],
)
def test_a_threshold_that_decides_nothing_is_refused(roles: dict[str, Any], words: str) -> None:
    with pytest.raises(RequestError, match=words):
        sqleval.scan(ROWS, **roles, threshold=0.3)
