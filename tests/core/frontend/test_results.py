"""Results show themselves: in notebooks, as text, in Markdown, and a column per metric."""

import re
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.metrics import accuracy_score, roc_auc_score

import sqleval
import sqleval.pandas
from sqleval import DataError, RequestError
from tests.support.commands import run

RNG = np.random.default_rng(1)
FRAME = pl.DataFrame(
    {
        "y": RNG.integers(0, 2, 300),
        "p": RNG.random(300),
        "q": RNG.random(300),
        "g": RNG.choice(["a|b", "<i>"], 300),
    }
)
BY = sqleval.scan(FRAME, label="y", score="p", by="g")
PAIR = sqleval.scan(FRAME, label="y", score={"A": "p", "B": "q"})


def test_repr_starts_no_statement(statements: list[str]) -> None:
    text = repr(BY.evaluate("roc_auc", ci=0.95))
    assert text.startswith("<Result with the columns g, metric, value, low")
    assert "collect() computes it" in text
    assert statements == []


def test_a_notebook_shows_small_inputs(statements: list[str]) -> None:
    html = BY.evaluate(["roc_auc", "accuracy"])._repr_html_()
    assert statements != []
    cells = re.findall(r"<td[^>]*>([^<]*)</td>", html)
    assert [cells[i] for i in range(0, len(cells), 6)] == ["&lt;i&gt;"] * 2 + ["a|b"] * 2
    part = FRAME.filter(g="<i>")
    assert cells[2] == f"{roc_auc_score(part['y'], part['p']):,.6g}"
    assert "<th>note</th>" not in html


def test_a_notebook_says_what_to_call_for_large_and_remote_inputs(
    statements: list[str], tmp_path: Path
) -> None:
    large = pl.concat([FRAME] * 400)
    html = sqleval.scan(large, label="y", score="p").evaluate("roc_auc")._repr_html_()
    assert "<code>.show()</code> computes it" in html
    once = FRAME.to_arrow().to_reader()
    html = sqleval.scan(once, label="y", score="p", task="binary").evaluate("f1")._repr_html_()
    assert "<code>.show()</code> computes it" in html
    # What Polars makes of a result has the methods; its input is no longer known.
    html = BY.evaluate("roc_auc").filter(pl.col("g") == "a|b")._repr_html_()
    assert "<code>.show()</code> computes it" in html


def test_show_prints_whole_rows(capsys: pytest.CaptureFixture[str]) -> None:
    BY.evaluate("roc_auc").show(1)
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].split() == ["g", "metric", "value", "n", "n_dropped", "method"]
    assert lines[1].split()[:2] == ["<i>", "roc_auc"]
    assert lines[-1] == "... 1 more rows; show(None) has all"
    hostile = FRAME.with_columns(g=pl.lit("a\x1b[31m"))
    sqleval.scan(hostile, label="y", score="p", by="g").evaluate("roc_auc").show()
    assert "a\\x1b[31m" in capsys.readouterr().out


def test_a_comparison_shows_its_verdict_first_and_whole(
    capsys: pytest.CaptureFixture[str],
) -> None:
    result = PAIR.compare("roc_auc")
    verdict = result.collect()["verdict"].item()
    result.show()
    first, head, row = capsys.readouterr().out.splitlines()[:3]
    assert first.startswith("roc_auc: no evidence of a difference")
    assert head.split()[:4] == ["metric", "model", "baseline", "verdict"]
    assert verdict in row
    html = result._repr_html_()
    assert html.startswith("<p>roc_auc: no evidence")
    assert f">{verdict}<" in html


def test_a_column_per_metric() -> None:
    wide = BY.evaluate(["roc_auc", "accuracy"]).wide()
    assert wide.columns == ["g", "roc_auc", "accuracy"]
    for group, auc, accuracy in wide.rows():
        part = FRAME.filter(g=group)
        assert auc == pytest.approx(roc_auc_score(part["y"], part["p"]))
        assert accuracy == pytest.approx(accuracy_score(part["y"], part["p"] >= 0.5))
    assert PAIR.evaluate(["f1", "roc_auc"]).wide("n").rows() == [("A", 300, 300), ("B", 300, 300)]
    alone = sqleval.scan(FRAME, label="y", score="p").evaluate(["roc_auc", "f1(threshold=0.2)"])
    assert alone.wide().columns == ["roc_auc", "f1(threshold=0.2)"]
    differences = PAIR.compare(["roc_auc", "log_loss"]).wide()
    assert differences.columns == ["model", "baseline", "roc_auc", "log_loss"]
    with pytest.raises(RequestError, match=r"wide\(\) needs the columns 'metric' and 'value'"):
        BY.curve("roc").wide()
    with pytest.raises(RequestError, match="one row per metric"):
        BY.evaluate("roc_auc").drop("g").wide()  # type: ignore[operator]
    with pytest.raises(RequestError, match="'nope'"):
        BY.evaluate("roc_auc").wide("nope")


def test_markdown_keeps_its_cells() -> None:
    lines = BY.evaluate("roc_auc").to_markdown().splitlines()
    assert [len(re.findall(r"(?<!\\)\|", line)) for line in lines] == [7] * 4
    assert "a\\|b" in lines[3]
    named = FRAME.rename({"g": "g|h"}).with_columns(pl.lit("two\nlines").alias("g|h"))
    lines = sqleval.scan(named, label="y", score="p", by="g|h").evaluate("f1").to_markdown()
    assert lines.splitlines()[0].startswith("| g\\|h ")
    assert "two<br>lines" in lines


def test_errors_of_the_rows_are_raised_when_shown() -> None:
    frame = FRAME.with_columns(p=pl.lit(None, pl.Float64))
    with pytest.raises(DataError):
        sqleval.scan(frame, label="y", score="p").evaluate("roc_auc").show()


def test_an_inspection_shows_what_the_command_shows(tmp_path: Path) -> None:
    FRAME.write_parquet(tmp_path / "x.parquet")
    path = str(tmp_path / "x.parquet")
    found = sqleval.inspect(path)
    printed = run("inspect", path).stdout
    assert [line.strip() for line in repr(found).splitlines()][:4] == [
        line.strip() for line in printed.splitlines()
    ][:4]
    assert "Roles" in repr(found)
    assert found._repr_html_().startswith("<pre>")
    assert isinstance(found, list)


def test_the_accessor_of_pandas() -> None:
    frame = pd.DataFrame(FRAME.to_dict(as_series=False))
    accessor: Any = frame.sqleval
    value = accessor.evaluate("roc_auc", label="y", score="p")
    assert isinstance(value, pd.DataFrame)
    assert value["value"].item() == pytest.approx(roc_auc_score(FRAME["y"], FRAME["p"]))
    pair = {"A": "p", "B": "q"}
    assert len(accessor.compare("roc_auc", label="y", score=pair)) == 1
    assert {"fpr", "tpr"} <= {*accessor.curve("roc", label="y", score="p").columns}
    assert accessor.scan(label="y", score="p").rows(2).collect().height == 2
