"""Printed tables fit a terminal of 80 or 60 columns."""

import io
import re
import time

import polars as pl
import pytest

import sqleval
from sqleval.cli.output import ProgressBar, show_step, write


class Terminal(io.StringIO):
    """A text file that is a terminal."""

    def isatty(self) -> bool:
        return True


@pytest.fixture
def result() -> pl.DataFrame:
    rows = pl.DataFrame(
        {
            "carrier": ["AA", "AA", "AA", "HA", "HA"] * 40,
            "y": [1, 0, 1, 0, 0] * 40,
            "p": [0.9, 0.2, 0.4, 0.3, 0.1] * 40,
        }
    )
    metrics = ["roc_auc", "precision", "precision(threshold=0.99999)", "log_loss"]
    predictions = sqleval.scan(rows, label="y", score={"logistic": "p"}, by="carrier")
    return predictions.evaluate(metrics, ci=0.95).collect()


@pytest.mark.parametrize("width", [200, 100, 80, 60])
def test_a_terminal_shows_whole_numbers_and_notes(
    width: int,
    result: pl.DataFrame,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    terminal = Terminal()
    monkeypatch.setenv("COLUMNS", str(width))
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setattr("sys.stdout", terminal)
    write(result, None, None)
    lines = re.sub(r"\x1b\[[0-9;]*m", "", terminal.getvalue()).splitlines()
    assert max(map(len, lines)) <= width
    header = lines[0].split()
    assert header[:4] == ["carrier", "model", "metric", "value"]
    assert "n" in header
    text = " ".join(lines)
    for name in ("value", "low", "high"):
        if name in header:
            shown = [f"{value:.6f}" for value in result[name].drop_nulls()]
            assert all(value in text for value in shown)
    assert ("low" in header) == (width > 60)
    for note in result["note"].drop_nulls().unique():
        assert note in re.sub(r"\s+", " ", text)
    output = capsys.readouterr().err
    assert all((name in header) != (name in output) for name in ("n_dropped", "method"))
    assert ("low" in header) == ("high" in header)


def show_in_80_columns(
    frame: pl.DataFrame, monkeypatch: pytest.MonkeyPatch, kept: int | None = None
) -> list[str]:
    """Return the lines of a table on a terminal of 80 columns."""
    terminal = Terminal()
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.setattr("sys.stdout", terminal)
    write(frame, None, None, kept)
    return re.sub(r"\x1b\[[0-9;]*m", "", terminal.getvalue()).splitlines()


def test_slices_in_80_columns_keep_value_and_interval(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    row = {
        "metric": "error_rate", "slice": "month = '12'", "n": 27020, "share": 0.16, "value": 0.29,
        "rest": 0.197, "difference": 0.094, "low": 0.081, "high": 0.106, "p_adjusted": 1e-200,
        "searched": 107,
    }  # fmt: skip
    lines = show_in_80_columns(pl.DataFrame([row]), monkeypatch)
    assert len(lines) == 2
    assert {"value", "difference", "low", "high"} <= {*lines[0].split()}
    assert "searched" in capsys.readouterr().err


def test_rows_in_80_columns_keep_the_first_columns(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    frame = pl.DataFrame({name: ["a text of twenty let"] for name in "abcdef"})
    lines = show_in_80_columns(frame, monkeypatch, kept=2)
    assert lines[0].split() == ["a", "b", "c"]
    assert "--format csv also has d, e, f" in capsys.readouterr().err
    wide = pl.DataFrame({name: ["a text of twenty let" * 3] for name in "abc"})
    assert show_in_80_columns(wide, monkeypatch, kept=2)[0].split() == ["a", "b"]


@pytest.mark.parametrize("keys", [{}, {"carrier": "American Air", "by": "carrier"}])
def test_a_comparison_of_80_columns_has_each_row_in_a_line(
    keys: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    row = keys | {
        "metric": "log_loss", "model": "boosted", "baseline": "logistic", "value": 0.47,
        "baseline_value": 0.49, "difference": -0.02, "low": -0.03, "high": -0.01,
        "p_adjusted": 1e-9, "n": 9000, "verdict": "boosted is better than logistic by 0.02",
    }  # fmt: skip
    lines = show_in_80_columns(pl.DataFrame([row] * 2), monkeypatch)
    assert len(lines) == 3
    names = ["metric", "model", "value", "difference", "low", "high", "p_adjusted", "n"]
    left_out = {"value", "low", "high"} if keys else set()
    assert lines[0].split() == [*keys, *(name for name in names if name not in left_out)]


@pytest.mark.parametrize(
    ("row", "whole", "left"),
    [
        (
            {"curve": "roc_curve", "model": "boosted", "baseline": "logistic", "start": 0.0,
             "end": 0.99, "better": "boosted", "difference": 0.04, "at": 0.06, "low": 0.03,
             "high": 0.05, "p_value": 0.002},
            ["roc_curve", "boosted", "0.040000"], "csv also has low, high, at, baseline",
        ),
        (
            {"status": "failed", "gate": "roc_auc >= 0.7 (by carrier; at least 500 rows; on high)",
             "period": "2013-12-16", "slice": "carrier=B6, model=logistic", "value": 0.67,
             "limit": 0.7, "short_by": 0.03, "since": "2013-12-16", "n": 500, "reason": None},
            ["failed", "roc_auc >= 0.7 (by", "2013-12-16", "carrier=B6,", "0.670000"],
            "json also has since, short_by, n",
        ),
        (
            {"origin": "EWR", "by": "origin", "distribution": "score", "metric": "jensen_shannon",
             "value": 0.1, "noise": 0.01, "n_reference": 10475, "n_current": 10359},
            ["EWR", "origin", "score", "jensen_shannon", "0.100000"],
            "csv also has n_reference, n_current",
        ),
    ],
)  # fmt: skip
def test_words_are_whole_in_80_columns(
    row: dict[str, object],
    whole: list[str],
    left: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    terminal = Terminal()
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.setattr("sys.stdout", terminal)
    write(pl.DataFrame([row] * 2), None, None)
    lines = re.sub(r"\x1b\[[0-9;]*m", "", terminal.getvalue()).splitlines()
    assert max(map(len, lines)) <= 80
    assert all(word in lines[1] for word in whole)
    assert left in capsys.readouterr().err


def test_a_narrow_terminal_cuts_no_number(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = Terminal()
    monkeypatch.setenv("COLUMNS", "20")
    monkeypatch.setattr("sys.stdout", terminal)
    row = {
        "name": "a long text " * 9,
        "h": "b",
        "year": 2013,
        "day": 20131231,
        "threshold": 0.123456,
    }
    write(pl.DataFrame([row]), None, None)
    words = re.sub(r"\x1b\[[0-9;]*m", "", terminal.getvalue()).split()
    assert {"b", "2013", "20131231", "0.123456", "threshold"} <= {*words}


def test_a_pipe_has_every_column_in_one_line(
    result: pl.DataFrame, capsys: pytest.CaptureFixture[str]
) -> None:
    write(result, None, None)
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == result.height + 1
    assert set(lines[0].split()) == set(result.columns)


def test_counts_have_separators_and_keys_have_none(capsys: pytest.CaptureFixture[str]) -> None:
    # A key may be called *, which Polars takes for all columns.
    frame = pl.DataFrame({"*": [2013], "label": [4711], "metric": ["mae"], "n": [12_345]})
    write(frame, None, None)
    assert capsys.readouterr().out.splitlines()[1].split() == ["2013", "4711", "mae", "12,345"]


@pytest.mark.parametrize("file", [Terminal(), io.StringIO()], ids=["terminal", "pipe"])
def test_lines_of_sql_are_whole(file: io.StringIO, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "60")
    monkeypatch.setattr("sys.stdout", file)
    text = f"SELECT\n    {' + '.join(f'column_{i}' for i in range(99))} AS value\nFROM rows"
    show_step("sums", text, pl.DataFrame({"value": [1]}))
    shown = re.sub(r"\x1b\[[0-9;]*m", "", file.getvalue())
    assert f"-- sums\n{text}\n" in re.sub(r" +\n", "\n", shown)


def test_a_bar_is_for_statements_that_take_longer_than_a_second(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    now = [0.0]
    monkeypatch.setattr(time, "monotonic", lambda: now[0])
    monkeypatch.setenv("TTY_COMPATIBLE", "1")
    bar = ProgressBar()
    now[0] = 60.0  # since the command began
    for percent in (0.0, 50.0, 100.0):
        bar(percent)
        now[0] += 0.9
    assert capsys.readouterr().err == ""
    bar(0.0)
    now[0] += 1.1
    bar(50.0)
    bar.stop()
    shown = capsys.readouterr().err
    assert shown.rindex("\x1b[?25l") < shown.rindex("\x1b[?25h")


@pytest.mark.parametrize(("name", "option"), [("metric", "--output"), ("action", "--format json")])
def test_a_long_table_names_an_option_of_its_command(
    name: str, option: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    # `run`, whose tables have actions or gates, has no --output.
    monkeypatch.setattr("sqleval.cli.output._MAX_ROWS", 2)
    write(pl.DataFrame({name: ["a", "b", "c"]}), "table", None)
    assert f"1 more rows; {option}" in capsys.readouterr().err
