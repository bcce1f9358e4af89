"""Several models with a column for each class have the same values as each model by itself."""

import json
import shlex
from datetime import UTC, datetime, time, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import polars as pl
import pytest
from scipy import stats
from sklearn import metrics as sk

import sqleval
from sqleval import DataError, RequestError
from sqleval.export.statement import export_statement
from sqleval.report.page import write_report
from tests.support.commands import run
from tests.support.comparison import assert_frame_equal
from tests.support.lake import FIRST, Lake, read_results

N = 180
RNG = np.random.default_rng(11)
PLACES = RNG.integers(0, 3, N)
METRICS = ["log_loss", "brier_score", "roc_auc(average='macro')", "accuracy", "f1(average='macro')"]
#: The values of a label, and the classes in score=.
LABELS: dict[str, tuple[Any, list[Any]]] = {
    "integer": (pl.Series(range(3)), [0, 1, 2]),
    "integers as texts": (pl.Series(range(3)), ["0", "1", "2"]),
    "text": (pl.Series(["low", "mid", "high"]), ["low", "mid", "high"]),
    "float": (pl.Series([0.0, 1.0, 2.5]), [0, 1, 2.5]),
    "decimal": (pl.Series([Decimal("0.0"), Decimal("1.5"), Decimal("2.0")]), ["0.0", "1.5", "2"]),
    "enum": (pl.Series(["u", "v", "w"], dtype=pl.Enum(["u", "v", "w"])), ["u", "v", "w"]),
}


def draw(strength: float) -> np.ndarray:
    """Return the probabilities of a model, with ties."""
    logits = np.round(RNG.normal(size=(N, 3)) + strength * (PLACES[:, None] == np.arange(3)), 1)
    return np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True)


SHARES = {"lstm": draw(1.2), "x.gb": draw(0.7)}
COLUMNS = {f"{m}_{i}": shares[:, i] for m, shares in SHARES.items() for i in range(3)}
ROWS = pl.DataFrame(
    {
        "k": np.arange(N),
        "y": PLACES,
        "g": np.where(np.arange(N) % 3 == 0, "s", "t"),
        "w": RNG.exponential(size=N),
        "fold": np.arange(N) % 4,
        **COLUMNS,
    }
)
SCORE = {m: {i: f"{m}_{i}" for i in range(3)} for m in SHARES}
ROLES: dict[str, Any] = {"label": "y", "score": SCORE}
LONG_ROLES: dict[str, Any] = {
    "label": "y", "score": {i: f"score_{i}" for i in range(3)}, "task": "multiclass",
}  # fmt: skip


def lengthen(rows: pl.DataFrame = ROWS) -> pl.DataFrame:
    """Return the rows with a row per model."""
    others = [name for name in rows.columns if name not in COLUMNS]
    parts = []
    for model in SHARES:
        scores = {f"score_{i}": pl.col(f"{model}_{i}") for i in range(3)}
        parts.append(rows.select(*others, model=pl.lit(model), **scores))
    return pl.concat(parts, how="vertical_relaxed")


LONG = lengthen()


def evaluate(rows: Any = ROWS, metrics: Any = METRICS, **options: Any) -> pl.DataFrame:
    names = ("ci", "ci_method", "replicates", "cluster", "seed")
    own = {name: options.pop(name) for name in names if name in options}
    lazy = sqleval.scan(rows, **ROLES | options).evaluate(metrics, **own)
    found = lazy.collect()
    assert found.schema == lazy.collect_schema()
    return found


def evaluate_long(rows: pl.DataFrame = LONG, by: Any = (), **options: Any) -> pl.DataFrame:
    names = ("ci", "ci_method", "replicates", "cluster", "seed")
    own = {name: options.pop(name) for name in names if name in options}
    bound = sqleval.scan(rows, **LONG_ROLES | options, by=[*by, "model"])
    return bound.evaluate(METRICS, **own).collect()


def test_values_are_those_of_scikit_learn() -> None:
    found = evaluate()
    assert sqleval.scan(ROWS, **ROLES).task == "multiclass"
    for model, shares in SHARES.items():
        values = dict(found.filter(model=model).select("metric", "value").rows())
        predicted = shares.argmax(axis=1)
        expected = {
            "log_loss": sk.log_loss(PLACES, shares),
            "brier_score": ((shares - np.eye(3)[PLACES]) ** 2).sum(axis=1).mean(),
            "roc_auc(average='macro')": sk.roc_auc_score(PLACES, shares, multi_class="ovr"),
            "accuracy": sk.accuracy_score(PLACES, predicted),
            "f1(average='macro')": sk.f1_score(PLACES, predicted, average="macro"),
        }
        assert values == pytest.approx(expected, rel=1e-12)
        table = sqleval.scan(ROWS, **ROLES).confusion().collect().filter(model=model)
        counts = {(y, c): n for y, c, n in table.select("label", "prediction", "n").rows()}
        matrix = sk.confusion_matrix(PLACES, predicted)
        assert counts == {(y, c): int(n) for (y, c), n in np.ndenumerate(matrix) if n}
        curve = sqleval.scan(ROWS, **ROLES).curve("roc").collect()
        own = curve.filter(**{"model": model, "class": 1})
        fpr, tpr, _ = sk.roc_curve(PLACES == 1, shares[:, 1], drop_intermediate=False)
        assert own["fpr"].to_list() == pytest.approx(fpr)
        assert own["tpr"].to_list() == pytest.approx(tpr)


@pytest.mark.parametrize(
    "options",
    [
        {}, {"by": ["g"]}, {"weight": "w"}, {"ci": 0.9}, {"ci": 0.9, "weight": "w"},
        {"over": "fold"}, {"where": "k > 20"}, {"by": ["g"], "ci": 0.9, "replicates": 200},
        {"ci": 0.9, "replicates": 200, "ci_method": "percentile", "cluster": "k"},
    ],
    ids=str,
)  # fmt: skip
def test_values_and_intervals_equal_those_of_a_long_table(options: dict[str, Any]) -> None:
    found, expected = evaluate(**options), evaluate_long(**options)
    keys = [*options.get("by", ()), "model"]
    order = [*keys, "metric"]
    assert_frame_equal(found.sort(order), expected.select(found.columns).sort(order))


@pytest.mark.parametrize("kind", LABELS)
def test_labels_of_any_type(kind: str) -> None:
    values, classes = LABELS[kind]
    score = {m: {c: f"{m}_{i}" for i, c in enumerate(classes)} for m in SHARES}
    # The classes of one model may be named in another order.
    score["x.gb"] = dict(reversed(score["x.gb"].items()))
    found = evaluate(ROWS.with_columns(y=values.gather(PLACES)), score=score)
    assert_frame_equal(found, evaluate())


def test_truth_values_are_two_classes() -> None:
    label = pl.Series(PLACES > 0)
    columns = {f"{m}_{c}": s[:, 0] if c == "no" else 1 - s[:, 0] for m, s in SHARES.items()
               for c in ("no", "yes")}  # fmt: skip
    rows = pl.DataFrame({"y": label, **columns})
    score = {m: {False: f"{m}_no", True: f"{m}_yes"} for m in SHARES}
    found = sqleval.scan(rows, label="y", score=score).evaluate("log_loss").collect()
    expected = [sk.log_loss(label, 1 - s[:, 0]) for s in SHARES.values()]
    assert found["value"].to_list() == pytest.approx(expected, rel=1e-12)


def test_a_float_of_single_precision_beside_a_double() -> None:
    names = [f"lstm_{i}" for i in range(3)]
    rows = ROWS.with_columns(pl.col(names).cast(pl.Float32))
    found = evaluate(rows)
    # In a long table all scores are DOUBLE, so the tolerance for their sums is smaller.
    expected = evaluate_long(lengthen(rows)).select(found.columns)
    assert_frame_equal(found.drop("note"), expected.drop("note"))
    assert found["note"].null_count() == found.height
    rows = rows.with_columns(x=pl.when(pl.col("k") < 3).then(float("nan")).otherwise("x.gb_1"))
    score = {**SCORE, "x.gb": {0: "x.gb_0", 1: "x", 2: "x.gb_2"}}
    with pytest.raises(DataError, match="score= of 'lstm_1', 'x' is NULL or NaN in 3 of 360"):
        evaluate(rows, score=score)


def test_missing_values_are_those_of_a_model() -> None:
    missing = pl.col("k") < 7
    rows = ROWS.with_columns(pl.when(~missing).then("x.gb_2").alias("x.gb_2"))
    with pytest.raises(DataError, match=r"score= of 'lstm_2', 'x.gb_2' is NULL or NaN in 7 of 360"):
        evaluate(rows)
    found = evaluate(rows, nulls="drop").filter(metric="log_loss")
    assert found.select("n", "n_dropped").rows() == [(N, 0), (N - 7, 7)]
    assert str(found["note"][0]).startswith("7 rows lack the value of another model; common=True")
    common = evaluate(rows, nulls="drop", common=True)
    assert_frame_equal(common.drop("n_dropped"), evaluate(where="k >= 7").drop("n_dropped"))
    assert common["n_dropped"].unique().to_list() == [7]
    with pytest.raises(DataError, match="label='y' is NULL or NaN in 7 of 180 rows"):
        evaluate(ROWS.with_columns(y=pl.when(~missing).then("y")))
    with pytest.raises(DataError, match="label='y' holds 5, a class without a score column, in 7"):
        evaluate(ROWS.with_columns(y=pl.when(~missing).then("y").otherwise(5)))


def test_files_streams_and_late_labels(tmp_path: Path) -> None:
    ROWS.write_parquet(tmp_path / "rows.parquet")
    ROWS.write_csv(tmp_path / "rows.csv")
    for source in (
        tmp_path / "rows.parquet",
        tmp_path / "rows.csv",
        ROWS.lazy(),
        ROWS.to_arrow().to_reader(),
    ):
        assert_frame_equal(evaluate(source), evaluate())
    late = ROWS.select("k", "y").filter(pl.col("k") >= 5)
    with pytest.warns(sqleval.UnmatchedRows, match="5 of 180 rows have no label yet"):
        found = evaluate(ROWS.drop("y"), labels=late, on="k")
    assert found["n_dropped"].unique().to_list() == [5]
    assert_frame_equal(found.drop("n_dropped"), evaluate(where="k >= 5").drop("n_dropped"))


def compare(metrics: Any = METRICS, rows: Any = ROWS, scan: Any = None, **options: Any) -> Any:
    lazy = sqleval.scan(rows, **ROLES | (scan or {})).compare(metrics, **options)
    found = lazy.collect()
    assert found.schema == lazy.collect_schema()
    return found


@pytest.mark.parametrize("test", ["jackknife", "bootstrap"])
@pytest.mark.parametrize("scan", [{}, {"by": "g"}, {"weight": "w"}], ids=str)
def test_differences_equal_those_of_a_long_table(test: str, scan: dict[str, Any]) -> None:
    found = compare(scan=scan, cluster="k", test=test)
    long = sqleval.scan(LONG, **LONG_ROLES | scan)
    expected = long.compare(METRICS, model="model", key="k", test=test).collect()
    assert_frame_equal(found, expected.select(found.columns))


def test_each_row_is_a_pair() -> None:
    found = compare(["log_loss", "accuracy"], cluster="k")
    losses = [-np.log(s[np.arange(N), PLACES]) for s in SHARES.values()]
    expected = stats.ttest_rel(losses[1], losses[0])
    assert found["statistic"][0] == pytest.approx(expected.statistic)
    assert found["p_value"][0] == pytest.approx(expected.pvalue)
    plain = compare(["log_loss", "accuracy"])
    # Tests by drawn rows, and by the rows that only one model gets right.
    low, high = plain.select("low", "high").row(0)
    ends = expected.confidence_interval()
    assert (low, high) == pytest.approx((ends.low, ends.high), abs=0.15 * (ends.high - ends.low))
    assert plain["method"].to_list() == ["paired bootstrap, 500 replicates",
                                         "McNemar, corrected for continuity"]  # fmt: skip
    right = [s.argmax(axis=1) == PLACES for s in SHARES.values()]
    only = [int((right[i] & ~right[1 - i]).sum()) for i in (0, 1)]
    statistic = (abs(only[0] - only[1]) - 1) ** 2 / sum(only)
    assert plain["p_value"][1] == pytest.approx(stats.chi2.sf(statistic, 1))
    labelled = {m: f"label_{m}" for m in SHARES}
    decided = ROWS.with_columns(
        pl.Series(f"label_{m}", s.argmax(axis=1)) for m, s in SHARES.items()
    )
    by_label = sqleval.scan(decided, label="y", prediction=labelled, task="multiclass")
    assert_frame_equal(by_label.compare("accuracy").collect(), plain.filter(metric="accuracy"))


def test_rows_of_missing_values_leave_all_models() -> None:
    rows = ROWS.with_columns(pl.when(pl.col("k") > 6).then("x.gb_2").alias("x.gb_2"))
    found = compare(rows=rows, scan={"nulls": "drop"})
    assert found["n_dropped"].unique().to_list() == [7]
    expected = compare(rows=ROWS.filter(pl.col("k") > 6))
    assert_frame_equal(found.drop("n_dropped"), expected.drop("n_dropped"))


def test_three_models_folds_ranks_and_sizes() -> None:
    rows = ROWS.with_columns(pl.col(f"lstm_{i}").alias(f"z_{i}") for i in range(3))
    scan = {"score": {**SCORE, "z": {i: f"z_{i}" for i in range(3)}}}
    found = compare("accuracy", rows, scan, test="cochran_q")
    assert found["model"].to_list() == ["x.gb", "z"]
    same = compare("log_loss", rows, scan).filter(model="z").row(0, named=True)
    assert (same["difference"], same["p_value"]) == (0.0, None)
    over = compare("log_loss", scan={"over": "fold"}, test="corrected_t")
    assert over["method"].item() == "corrected resampled t-test over folds"
    bound = sqleval.scan(rows, **ROLES | scan)
    assert bound.leaderboard("log_loss").collect()["model"].to_list() == ["lstm", "z", "x.gb"]
    assert bound.sample_size("accuracy", difference=0.1).collect()["rows_needed"].min() > 10
    unpaired = compare("accuracy", paired=False)
    assert unpaired["n"].item() == 2 * N


def test_what_has_no_meaning_says_what_to_do() -> None:
    bound = sqleval.scan(ROWS, **ROLES)
    with pytest.raises(RequestError, match=r"model= is for one score .* lstm, x.gb"):
        bound.compare("log_loss", model="g", key="k")
    with pytest.raises(RequestError, match="can be compared only with scores of two classes"):
        bound.compare_curves("roc")
    with pytest.raises(RequestError, match=r"a state .*not a score per class; prediction= takes"):
        bound.state("accuracy")
    with pytest.raises(RequestError, match="by= names 'model'"):
        sqleval.scan(ROWS.rename({"g": "model"}), **ROLES, by="model")
    one = sqleval.scan(ROWS, label="y", score={"lstm": SCORE["lstm"]})
    assert one.evaluate("accuracy").collect()["model"].item() == "lstm"
    with pytest.raises(RequestError, match="two models are needed"):
        one.compare("accuracy")
    assert repr(one).endswith("score={'lstm': {0: 'lstm_0', 1: 'lstm_1', 2: 'lstm_2'}}>")


NAMES = [f"--score={m}.{i}={m}_{i}" for m in SHARES for i in range(3)]


@pytest.fixture
def path(tmp_path: Path) -> str:
    ROWS.write_parquet(tmp_path / "rows.parquet")
    return str(tmp_path / "rows.parquet")


def test_the_command_divides_names_at_the_last_dot(path: str) -> None:
    command = ["evaluate", path, "--label=y", "--task=multiclass", "-mlog_loss", "--format=json"]
    found = pl.DataFrame(json.loads(run(*command, *NAMES).stdout))
    assert_frame_equal(
        found.select("model", "metric", "value", "n"),
        evaluate(metrics="log_loss").select("model", "metric", "value", "n"),
    )
    verdicts = run("compare", path, "--label=y", "--task=multiclass", "-maccuracy", *NAMES).stdout
    assert "x.gb" in verdicts
    # A single model has dots in the names of its classes.
    rows = ROWS.with_columns(y="v." + pl.col("y").cast(pl.String))
    rows.write_parquet(path)
    single = [f"--score=v.{i}=lstm_{i}" for i in range(3)]
    found = pl.DataFrame(json.loads(run(*command, *single).stdout))
    assert found["value"].item() == pytest.approx(evaluate()["value"][0], rel=1e-12)


@pytest.mark.parametrize(
    ("names", "message"),
    [
        (NAMES[:-1], "score= names the classes '0', '1', '2' of the model 'lstm', and '0', '1'"),
        ([*NAMES, "--score=z=x.gb_2"], "--score z=x.gb_2 names no model, and others are MODEL."),
        ([*NAMES[:-1], "--score=x.gb.2=q"], "score='q': no such column"),
        ([*NAMES, NAMES[0]], "--score names 'lstm.0' twice"),
        (
            [f"--score={each}=lstm_0" for each in ("1.0", "1.5", "2.0", "2.5")],
            "score='1.5' is not an integer, and 'y' is BIGINT",
        ),
    ],
)
def test_wrong_names_on_the_command_line(path: str, names: list[str], message: str) -> None:
    done = run("evaluate", path, "--label=y", "--task=multiclass", *names, code=2)
    assert message in " ".join(done.stderr.split())


@pytest.mark.parametrize("nulls", ["error", "drop"])
def test_the_statement_for_another_engine(nulls: Any) -> None:
    sql = export_statement(METRICS, "duckdb", "rows", **ROLES, nulls=nulls)
    con = duckdb.connect()
    con.register("rows", ROWS.to_arrow())
    found = con.sql(sql.rstrip(";\n")).pl().select("model", "metric", "value")
    assert_frame_equal(found, evaluate().select("model", "metric", "value"), rel_tol=1e-12)
    with pytest.raises(RequestError, match="score= maps 'b' to one column"):
        export_statement("log_loss", "duckdb", "rows", label="y", score={"a": {0: "p"}, "b": "q"})


def test_a_job_keeps_each_model(tmp_path: Path) -> None:
    made = Lake(tmp_path)
    made.spec |= {"label": "y", "score": SCORE, "by": None, "metrics": ["log_loss", "accuracy"]}
    made.put(ROWS.with_columns(day=pl.lit(FIRST)))
    found = read_results(made.run(backfill=True)).sort("metric", "slice")
    values = evaluate(metrics=["accuracy", "log_loss"]).sort("metric", "model")
    assert found["slice"].to_list() == ['{"model":"lstm"}', '{"model":"x.gb"}'] * 2
    assert found["value"].to_list() == pytest.approx(values["value"].to_list(), rel=1e-12)
    # If one model lacks a column on the next day, only this model fails.
    day = FIRST + timedelta(days=1)
    made.put(ROWS.drop("x.gb_2").with_columns(day=pl.lit(day)))
    done = made.run(backfill=True)
    assert "score='x.gb_2': no such column" in " ".join(done.errors)
    others = read_results(done).filter(pl.col("value").is_not_null(), period=str(day))
    expected = found.filter(slice='{"model":"lstm"}')
    assert others.sort("metric")["metric"].to_list() == expected["metric"].to_list()
    assert {*others["slice"]} == {'{"model":"lstm"}'}
    values = others.sort("metric")["value"].to_list()
    assert values == pytest.approx(expected["value"].to_list(), rel=1e-12)


def test_a_job_counts_the_rows_of_each_model_before_their_labels(tmp_path: Path) -> None:
    made = Lake(tmp_path)
    made.spec |= {"label": "y", "score": SCORE, "by": None, "metrics": ["log_loss"]}
    ROWS.select("k", "y").write_parquet(tmp_path / "labels.parquet")
    made.spec |= {"labels": {"source": "labels.parquet", "on": "k", "maturity": "7d"}}
    made.put(ROWS.drop("y").with_columns(day=pl.lit(FIRST)))
    night = datetime.combine(FIRST, time(3), UTC) + timedelta(days=1)
    found = made.run(as_of=night).rows
    assert {*found.select("metric", "slice", "n").rows()} == {
        ("arrived(rows)", f'{{"model":"{model}"}}', N) for model in SHARES
    }


def test_an_inspection_suggests_the_command_that_works(path: str) -> None:
    named = ROWS.rename({f"x.gb_{i}": f"xgb_{i}" for i in range(3)}).drop("w", "fold", "g")
    named.write_parquet(path)
    findings = sqleval.inspect(path, label="y")
    command = next(each.value for each in findings if each.check == "command")
    assert "--score lstm.2=lstm_2 --score xgb.0=xgb_0" in command
    found = pl.DataFrame(json.loads(run(*shlex.split(command)[1:], "--format=json").stdout))
    assert_frame_equal(
        found.filter(metric="log_loss").select("value"),
        evaluate().filter(metric="log_loss")["value"].to_frame(),
    )
    in_python = [each.value for each in sqleval.inspect(named, label="y")]
    assert any("score={'lstm': {'0': 'lstm_0'," in text for text in in_python)
    # Numbers that do not add up to 1 are no probabilities of a model.
    off = named.with_columns(pl.col("xgb_1") / 2)
    texts = " ".join(each.value for each in sqleval.inspect(off, label="y"))
    assert "score={'0': 'lstm_0', '1': 'lstm_1', '2': 'lstm_2'}" in texts


def test_a_report_has_each_model_and_no_advice_that_was_followed(tmp_path: Path) -> None:
    page = tmp_path / "page.html"
    write_report(ROWS, str(page), **ROLES)
    text = page.read_text()
    assert "Is a model better than lstm?" in text
    assert "cannot be computed" not in text
    assert "several classes: --task" not in text
    assert text.count("<svg") == 3
