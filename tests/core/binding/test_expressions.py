"""Tests roles that are SQL expressions, on every path that binds columns."""

from pathlib import Path

import duckdb
import numpy as np
import polars as pl
import pytest
from sklearn.metrics import accuracy_score, brier_score_loss, roc_auc_score

import sqleval
from sqleval import RequestError
from sqleval.export.statement import export_statement
from tests.support.commands import run

RNG = np.random.default_rng(7)
N = 240
Y = RNG.random(N) < 0.4
P = np.clip(0.3 * Y + 0.8 * RNG.random(N), 0, 1).round(2)
ROWS = pl.DataFrame(
    {
        "id": range(N),
        "outcome": np.where(Y, "won", "lost"),
        "p_no": 1 - P,
        "percent": [f"{round(100 * p)}%" for p in P],
        "nested": [{"values": [1 - p, p]} for p in P],
        "team": RNG.choice(["a", "b", "c"], N),
    }
)
WON = "outcome = 'won'"


def read_value(rows: object, metric: str, **roles: object) -> float:
    return sqleval.scan(rows, **roles).evaluate(metric).collect()["value"].item()  # pyright: ignore[reportArgumentType]


@pytest.mark.parametrize(
    "score",
    [
        "1 - p_no", "1 - P_NO", "nested.values[2]",
        "CAST(REPLACE(percent, '%', '') AS DOUBLE) / 100",
    ],
)  # fmt: skip
def test_a_role_is_an_expression(score: str) -> None:
    assert read_value(ROWS, "roc_auc", label=WON, score=score) == pytest.approx(
        roc_auc_score(Y, P), abs=1e-12
    )
    assert read_value(ROWS, "brier_score", label=WON, score=score) == pytest.approx(
        brier_score_loss(Y, P), abs=1e-12
    )


def test_several_roles_at_once() -> None:
    found = sqleval.scan(
        ROWS,
        label=WON,
        score={"a": "1 - p_no", "b": "p_no"},
        weight="1 + id % 3",
        by={"first": "left(team, 1)"},
        over="id % 2",
        where="team <> 'c'",
    ).evaluate("roc_auc(average='macro')")
    kept = ROWS.with_row_index().filter(pl.col("team") != "c")
    for first, model in (("a", "a"), ("b", "b")):
        want: list[float] = []
        for fold in (0, 1):
            rows = kept.filter(pl.col("team") == first, pl.col("id") % 2 == fold)
            score = rows["p_no"] if model == "b" else 1 - rows["p_no"]
            want.append(
                roc_auc_score(rows["outcome"] == "won", score, sample_weight=1 + rows["id"] % 3)
            )
        value = found.filter(pl.col("first") == first, pl.col("model") == model).collect()["value"]
        assert value.item() == pytest.approx(np.mean(want), abs=1e-12)


def test_a_name_goes_before_an_expression() -> None:
    rows = ROWS.with_columns((1 - pl.col("p_no")).alias("0 - p_no"))
    assert read_value(rows, "roc_auc", label=WON, score="0 - p_no") == pytest.approx(
        roc_auc_score(Y, P)
    )


def test_a_float_meets_its_threshold_as_a_float() -> None:
    rows = pl.DataFrame({"y": [1, 0, 1, 0, 1, 0], "p": [0.7, 0.1, 0.3, 0.7, 0.6, 0.2]})
    single = rows.with_columns(pl.col("p").cast(pl.Float32))
    for score in ("p", "p + 0", "CASE WHEN y >= 0 THEN p END"):
        found = read_value(single, "recall", label="y", score=score, threshold=0.7)
        assert found == pytest.approx(1 / 3)


@pytest.mark.parametrize(
    ("roles", "message"),
    [
        ({"score": "1 - p_yes"}, "score='p_yes': no such column"),
        ({"score": "p_on"}, "score='p_on': no such column"),
        ({"score": "avg(p_no)"}, "may not hold a subquery, an aggregate"),
        ({"score": "(SELECT 1)"}, "no such column .* nor is it an expression"),
        ({"score": "read_text('/etc/passwd') || p_no"}, "may not hold the function read_text"),
        ({"score": "1 -* p_no"}, "nor is it an expression in SQL"),
        ({"score": "nested.scores[2]"}, "'nested' has no field 'scores' .*fields: values"),
        ({"label": "outcome = won"}, "a text stands in quotes: 'won'"),
        ({"weight": "team || 'x'"}, "must be a number and is VARCHAR"),
    ],
)  # fmt: skip
def test_a_wrong_expression_is_named(roles: dict[str, str], message: str) -> None:
    with pytest.raises(RequestError, match=message):
        sqleval.scan(ROWS, **({"label": WON, "score": "p_no"} | roles))  # pyright: ignore[reportArgumentType]


def test_late_labels_are_expressions() -> None:
    labels = ROWS.select("id", "outcome", "team")
    rows = ROWS.select("id", "p_no")
    bound = {
        "labels": labels,
        "on": "id",
        "label": WON,
        "score": "1 - p_no",
        "weight": "length(team)",
    }
    assert read_value(rows, "roc_auc", **bound) == pytest.approx(roc_auc_score(Y, P))


def test_clusters_are_expressions() -> None:
    scanned = sqleval.scan(ROWS, label=WON, score="1 - p_no")
    named = sqleval.scan(ROWS.with_columns(g=pl.col("id") % 40), label=WON, score="1 - p_no")
    found, want = (
        each.evaluate("accuracy", ci=0.95, cluster=cluster).collect()
        for each, cluster in ((scanned, "id % 40"), (named, "g"))
    )
    assert found.select("value", "low", "high").equals(want.select("value", "low", "high"))


def test_comparisons_and_curves() -> None:
    rows = ROWS.with_columns(y=pl.Series(Y), p=pl.Series(P), q=pl.Series(P**2))
    named = sqleval.scan(rows, label="y", score={"a": "p", "b": "q"})
    written = sqleval.scan(rows, label=WON, score={"a": "1 - p_no", "b": "q + 0"})
    found, want = (each.compare(["roc_auc", "log_loss"]).collect() for each in (written, named))
    assert found["difference"].to_list() == pytest.approx(want["difference"].to_list(), abs=1e-12)
    found, want = (each.curve("roc").collect() for each in (written, named))
    assert found.select("fpr", "tpr", "model").equals(want.select("fpr", "tpr", "model"))


def test_states_and_drift(tmp_path: Path) -> None:
    state = sqleval.scan(ROWS, label=WON, score="1 - p_no", by={"t": "upper(team)"}).state(
        "roc_auc"
    )
    path = tmp_path / "state.parquet"
    state.collect().write_parquet(path)
    value = sqleval.from_state(path).evaluate("roc_auc").collect()["value"].item()
    assert value == pytest.approx(roc_auc_score(Y, P), abs=1e-3)
    found = sqleval.drift(ROWS.head(100), ROWS.tail(100), score="1 - p_no", label=WON)
    assert {"score", "label"} <= {*found["distribution"]}


def test_fractions_below_whole_numbers_are_not_rounded(tmp_path: Path) -> None:
    path = tmp_path / "rows.csv"
    path.write_text("n,y,p\n" + "1,0,1\n2,1,3\n" * 12_000 + "2,1,1.5\n")
    with pytest.raises(sqleval.DataError, match=r"fraction below them: 1\.5"):
        read_value(path, "roc_auc", label="y", score="p / 10")
    whole = tmp_path / "whole.csv"
    whole.write_text("n,y,p\n" + "1,0,1\n2,1,3\n" * 20)
    assert read_value(whole, "roc_auc", label="y = 1", score="p / 10", by={"m": "n * 0"}) == 1


def test_the_command(tmp_path: Path) -> None:
    path = tmp_path / "rows.parquet"
    ROWS.write_parquet(path)
    want = f"{accuracy_score(Y, P >= 0.5):.6f}"
    for score in ("1 - p_no", "nested.values[2]"):
        done = run("evaluate", str(path), "--label", WON, "--score", score, "-m", "accuracy")
        assert want in done.stdout
    done = run(
        "compare", str(path), "--label", WON, "--score", "a=1 - p_no", "--score", "b=p_no / 2",
        "-m", "roc_auc",
    )  # fmt: skip
    assert "b is worse than a" in done.stdout
    done = run("evaluate", str(path), "--label", WON, "--score", "a == 1", code=2)
    assert "no such column" in done.stderr


def test_text_for_other_dialects() -> None:
    done = run(
        "sql", "--table", "db.preds", "--dialect", "bigquery", "--label", WON, "--score",
        "1 - p_no", "-m", "precision",
    )  # fmt: skip
    assert "END AS `_outcome_won`" in done.stdout
    done = run(
        "sql", "--table", "t", "--dialect", "postgres", "--label", "y", "--score",
        "strptime(p, '%d') + 1", "-m", "precision", code=2,
    )  # fmt: skip
    assert "not read alike by all engines" in done.stderr


def test_text_to_paste_gives_the_same_numbers() -> None:
    statement = export_statement(
        ["roc_auc", "log_loss"],
        "duckdb",
        "rows",
        label=WON,
        score={"a": "(1 - p_no)", "b": "(1 + -p_no)", "c": "p_no"},
        weight="1 + id % 3",
    )
    con = duckdb.connect()
    con.register("rows", ROWS.to_arrow())
    found = {row[:2]: row[2] for row in con.execute(statement).fetchall()}
    weights = 1 + ROWS["id"].to_numpy() % 3
    for model, score in (("a", P), ("b", P), ("c", 1 - P)):
        want = roc_auc_score(Y, score, sample_weight=weights)
        assert found[model, "roc_auc"] == pytest.approx(want, abs=1e-12)


def test_a_slice_key_does_not_stand_for_an_expression() -> None:
    with pytest.raises(RequestError, match=r"by='id = 1' is an expression; a key's name is a word"):
        sqleval.scan(ROWS, label="id = 1", score="p_no", by={"id = 1": "team"})


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "has no rows, and no header"),
        ("y,p\n", "has a header and no rows"),
        ("y,p\n1,a\n", r"cannot be computed: .*explicit type casts\.$"),
    ],
)
def test_a_file_without_numbers_is_named(text: str, message: str, tmp_path: Path) -> None:
    path = tmp_path / "rows.csv"
    path.write_text(text)
    for roles in ({"score": "1 - p"}, {"score": "y", "by": {"k": "1 - p"}}):
        with pytest.raises((RequestError, sqleval.SourceError), match=message):
            sqleval.scan(path, label="y", **roles)  # pyright: ignore[reportArgumentType]
