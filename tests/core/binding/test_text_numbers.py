"""A column of texts in place of numbers: the error says how to convert it."""

from pathlib import Path

import polars as pl
import pytest

import sqleval
from sqleval import RequestError


@pytest.mark.parametrize(
    ("texts", "number"),
    [
        (["0,5", "0,25", "1"], "CAST(REPLACE(\"p\", ',', '.') AS DOUBLE)"),
        (["1.234,5", "2,5"], "CAST(REPLACE(REPLACE(\"p\", '.', ''), ',', '.') AS DOUBLE)"),
        (["1,234.5", "1,234", "7"], "CAST(REPLACE(\"p\", ',', '') AS DOUBLE)"),
        (["90%", "12.5 %"], "CAST(REPLACE(\"p\", '%', '') AS DOUBLE) / 100"),
        (["12,5%"], "CAST(REPLACE(REPLACE(\"p\", '%', ''), ',', '.') AS DOUBLE) / 100"),
        (["0.5", "NA", "n/a", ""], 'TRY_CAST(TRIM("p") AS DOUBLE)'),
        (["[0.25, 0.75]"], 'CAST("p" AS DOUBLE[])[1]'),
        (["0.5", "1e-3"], 'CAST("p" AS DOUBLE)'),
    ],
)
def test_the_advice_makes_numbers(texts: list[str], number: str, tmp_path: Path) -> None:
    rows = pl.DataFrame({"y": [0, 1] * len(texts), "p": texts * 2})
    rows.write_parquet(tmp_path / "rows.parquet")
    for source in (rows, rows.lazy(), tmp_path / "rows.parquet"):
        with pytest.raises(
            RequestError, match="score='p' must be a number and is VARCHAR"
        ) as raised:
            sqleval.scan(source, label="y", score="p")
        assert f"; the expression {number} in its place makes it a number" in str(raised.value)
    rows.write_csv(tmp_path / "rows.csv")
    for name in ("rows.parquet", "rows.csv"):
        bound = sqleval.scan(tmp_path / name, label="y", score=number, nulls="drop")
        found = bound.evaluate("roc_auc")
        n = 2 * sum(text not in ("NA", "n/a", "") for text in texts)
        assert found.collect()["n"].item() == n


def test_texts_of_missing_values_among_labels(tmp_path: Path) -> None:
    rows = pl.DataFrame({"y": ["1", "0", "NA", "1"], "p": [0.5, 0.25, 0.75, 1.0]})
    rows.write_csv(tmp_path / "rows.csv")
    number = 'TRY_CAST(TRIM("y") AS DOUBLE)'
    with pytest.raises(
        RequestError, match=r"name the positive value .*; it holds 'NA'; "
    ) as raised:
        sqleval.scan(tmp_path / "rows.csv", label="y", score="p")
    advice = f"; the expression {number} in its place makes it a number, and NULL there"
    assert advice in str(raised.value)
    bound = sqleval.scan(tmp_path / "rows.csv", label=number, score="p", nulls="drop")
    found = bound.evaluate("roc_auc")
    assert found.collect().select("value", "n", "n_dropped").row(0) == (1.0, 3, 1)


def test_other_texts_are_shown() -> None:
    rows = pl.DataFrame({"y": [0, 1], "p": ["0.5", "high"]})
    with pytest.raises(RequestError, match=r"weight='p' must be .* VARCHAR; it holds 'high'$"):
        sqleval.scan(rows.with_columns(s=0.5), label="y", score="s", weight="p")
    with pytest.raises(RequestError, match=r"reference: score='p' must be a .*; it holds 'high'"):
        sqleval.drift(rows, rows, score="p")


def test_lists_are_refused() -> None:
    rows = pl.DataFrame({"y": [["a", "b"], ["a"], ["b"], ["c"]], "p": [["b", "a"], ["a"]] * 2})
    for task in ("multiclass", "binary"):
        with pytest.raises(
            RequestError, match=r"label='y' is VARCHAR\[\], and must be one value in"
        ):
            sqleval.scan(rows, label="y", prediction="p", task=task)
    several = rows.with_columns(z=pl.lit(1), s=[0.5], t=pl.struct(a=0.5))
    for score, value in (("s", r"s\[1\]"), ("t", "t.a")):
        with pytest.raises(RequestError, match=f"one score in each row; write score='{value}'"):
            sqleval.scan(several, label="z", score=score)
    with pytest.raises(RequestError, match=r'write weight="s\[1\]" \(--weight "s\[1\]"\)'):
        sqleval.scan(several, label="z", score="s[1]", weight="s")


def test_truth_values_are_relevance() -> None:
    rows = pl.DataFrame({"q": [1] * 4, "y": [True, False, True, False], "s": [0.1, 0.2, 0.3, 0.4]})
    found, want = (
        sqleval.scan(each, label="y", score="s", qid="q").evaluate("ndcg").collect()
        for each in (rows, rows.cast({"y": pl.Int8}))
    )
    assert found.equals(want)


def test_a_score_of_a_regression() -> None:
    rows = pl.DataFrame({"y": [1.5, 0.25, 3.0], "p": [1.0, 0.5, 2.5]})
    with pytest.raises(sqleval.DataError, match=r"prediction= \(--prediction\) instead of score="):
        sqleval.scan(rows, label="y", score="p").evaluate("roc_auc").collect()
    with pytest.raises(RequestError, match=r"give prediction= \(--prediction\) instead of score="):
        sqleval.scan(rows, label="y", score="p", task="regression").evaluate("mse")
