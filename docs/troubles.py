"""Provokes the most frequent errors, for the page on troubleshooting: message, cause, remedy."""

import contextlib
import re
import sys
import tempfile
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from io import StringIO
from pathlib import Path
from typing import Any, NamedTuple

import polars as pl

import sqleval
from sqleval.cli.main import run_command

#: Characters of a message that the page shows.
_LENGTH = 150
_ROWS = pl.DataFrame(
    {
        "id": [1, 2, 3, 4],
        "y": [0, 1, 1, 0],
        "p": [0.1, 0.9, 0.6, 0.4],
        "carrier": ["AA", "DL", "AA", "DL"],
        "answer": ["no", "yes", "yes", "no"],
        "kind": [0, 1, 2, 1],
        "amount": [1.5, 2.5, -3.5, 4.5],
        "day": ["2026-07-01"] * 4,
    }
)
_JOB = """\
name: nightly
source: predictions.parquet
label: y
score: p
period: {column: day}
metrics: [roc_auc]
history: history.duckdb
"""


class Trouble(NamedTuple):
    """A call or a command that fails, why it does, and what to do."""

    provoke: Callable[[], object] | Sequence[str]
    cause: str
    remedy: str


def _evaluate(
    metric: str = "roc_auc", source: object = _ROWS, **roles: Any
) -> Callable[[], object]:
    """Return a call that evaluates a metric; the roles replace those of the rows."""
    options = {name: roles.pop(name) for name in ("ci", "replicates") if name in roles}
    bound = {"label": "y", "score": "p", **roles}
    return lambda: sqleval.scan(source, **bound).evaluate(metric, **options).collect()


def _rows(**columns: list[Any]) -> pl.DataFrame:
    """Return the rows with other values in some columns."""
    return _ROWS.with_columns(**{name: pl.Series(values) for name, values in columns.items()})


def _match(**roles: Any) -> Callable[[], object]:
    """Return a call with labels of a second file."""
    return _evaluate(source="predictions.parquet", label="late", **roles)


def _plot_without_altair() -> object:
    # Other modules that are loaded meanwhile stay.
    loaded = {name: sys.modules.pop(name) for name in [*sys.modules] if name[:6] == "altair"}
    sys.modules["altair"] = None  # type: ignore[assignment]
    try:
        return sqleval.scan(_ROWS, label="y", score="p").plot("roc")
    finally:
        del sys.modules["altair"]
        sys.modules.update(loaded)


#: The troubles by the title of their part of the page.
_TROUBLES: Mapping[str, Sequence[Trouble]] = {
    "Files": [
        Trouble(
            _evaluate(source="predictons.parquet"),
            "The path is relative to another folder, or misspelt.",
            "Start the command in the right folder, or give the whole path.",
        ),
        Trouble(
            _evaluate(source="*.parq"),
            "The pattern matches no file below this folder.",
            "Check the folder and the ending; `**` goes into subfolders.",
        ),
        Trouble(
            _evaluate(source="empty"),
            "The folder has no file with a known ending.",
            "Name the format in front: `csv+scores.dat`.",
        ),
        Trouble(
            _evaluate(source="table.xlsx"),
            "The format is not read.",
            "Save the rows as CSV or Parquet, or pass a DataFrame.",
        ),
        Trouble(
            _evaluate(source=["predictions.parquet", "predictions.csv"]),
            "One source has files of one format.",
            "Evaluate the files apart, or convert some.",
        ),
        Trouble(
            _evaluate(source="broken.parquet"),
            "The file is cut off, empty, or has another format than its name says.",
            "Write it again, or name its format: `csv+broken.parquet`. See [damaged "
            "files](lake.md#damaged-files).",
        ),
        Trouble(
            _plot_without_altair,
            "An optional library is not installed.",
            "Run the command that the message ends with, in the environment of sqleval.",
        ),
    ],
    "Columns and metrics": [
        Trouble(
            _evaluate(label="labl"),
            "The column is not in the source, or has other capitals.",
            "Choose one of the listed columns; `sqleval inspect` shows them with their types.",
        ),
        Trouble(
            _evaluate(label=None),
            "No column holds the truth.",
            "Give `label=`; for a column without a truth see [without a "
            "label](without-a-label.md).",
        ),
        Trouble(
            ["evaluate", "predictions.parquet", "--label", "y"],
            "No column holds the output of the model.",
            "Give `score=` for probabilities and other scores, `prediction=` for classes and "
            "predicted numbers.",
        ),
        Trouble(
            _evaluate(score="carrier"),
            "The score is a text.",
            "Name another column; a predicted class is `prediction=`.",
        ),
        Trouble(
            _evaluate("rocauc"),
            "The metric is misspelt.",
            "`sqleval list` shows all names; those of scikit-learn work, too.",
        ),
        Trouble(
            _evaluate("f1(treshold=0.3)"),
            "The parameter is misspelt.",
            "`sqleval show f1` lists the parameters.",
        ),
        Trouble(
            _evaluate("f1(average=macro)"),
            "A text in the parentheses has no quotes.",
            "Write `f1(average='macro')`; in a shell, put the whole in double quotes.",
        ),
        Trouble(
            _evaluate(label="amount", score=None, prediction="p"),
            "The metric is for another task than the one that follows from the columns.",
            "Choose a metric of this task (`sqleval list --task regression`), or name the task.",
        ),
        Trouble(
            _evaluate("mae", label="amount", score=None, prediction="p", threshold=0.5),
            "A threshold decides between two classes only.",
            "Leave it out.",
        ),
        Trouble(
            _evaluate(by="carier"),
            "The slice key is misspelt.",
            "Choose one of the listed columns, or write an expression: `by={'long': 'km > 500'}`.",
        ),
        Trouble(
            _evaluate(where="carrier = AA"),
            "Without quotes, a text is read as a column.",
            "Write `where=\"carrier = 'AA'\"`.",
        ),
        Trouble(
            _evaluate(where="id IN (SELECT 1)"),
            "A condition reads the columns of one row.",
            "Join or filter the rows before: in a view, or with `query=`.",
        ),
        Trouble(
            _evaluate(ci=95),
            "The confidence level is a share.",
            "Write `ci=0.95`.",
        ),
        Trouble(
            lambda: sqleval.scan(_ROWS, label="y", score="p").compare("roc_auc").collect(),
            "There is only one model.",
            "Name several: `score={'old': 'p_old', 'new': 'p_new'}`.",
        ),
        Trouble(
            lambda: sqleval.evaluate([0, 1, 1], [0.1, 0.2]),
            "The arrays are of different data.",
            "Pass labels and scores of the same rows, in the same order.",
        ),
    ],
    "Rows": [
        Trouble(
            _evaluate(source=_rows(y=[0, None, 1, 0])),
            "Labels or scores are missing.",
            "Find out why; `nulls='drop'` leaves these rows out and counts them in `n_dropped`.",
        ),
        Trouble(
            _evaluate(label="answer"),
            "It is unknown which of two texts is positive.",
            "Give `positive='yes'`.",
        ),
        Trouble(
            _evaluate(label="answer", positive="YES"),
            "The positive value is not one of the labels.",
            "Write it as in the data.",
        ),
        Trouble(
            _evaluate(label="kind"),
            "The label has three or more values, and a metric of two classes was named.",
            "Look for wrong labels, or give `task='multiclass'` with a score per class.",
        ),
        Trouble(
            _evaluate("log_loss", source=_rows(p=[0.1, 1.9, 0.6, 0.4])),
            "The scores are logits, percents or ranks.",
            "Convert them: probabilities are from 0 to 1. Metrics of ranks, such as `roc_auc`, "
            "take any score.",
        ),
        Trouble(
            _evaluate(source=_rows(w=[-1.0, 1.0, 1.0, 1.0]), weight="w"),
            "A weight is below 0.",
            "Correct it, or leave these rows out by `where=`.",
        ),
    ],
    "Labels from a second source": [
        Trouble(
            _match(labels="double.parquet", on="id"),
            "A key has two labels, such as a correction beside the first one.",
            "Keep one label per key, in a view or by writing the file anew.",
        ),
        Trouble(
            _match(labels="labels.parquet"),
            "The key of the rows is not named.",
            "Give `on=`, a column of both sources.",
        ),
        Trouble(
            _match(labels="other.parquet", on="id"),
            "The keys are written differently, or labels are still to come.",
            "Compare some keys of both sources. Labels that come later are normal.",
        ),
    ],
    "Jobs": [
        Trouble(
            ["validate", "unknown.yml"],
            "The key is misspelt.",
            "[Job keys](../reference/job-keys.md) lists them; `sqleval validate --schema` is for "
            "editors.",
        ),
        Trouble(
            ["validate", "unnamed.yml"],
            "The history keeps results by the name of the job.",
            "Add the key `name`.",
        ),
        Trouble(
            ["validate", "commas.yml"],
            "YAML splits at the comma.",
            'Put the check in quotes: `"drop(roc_auc, previous 7) < 0.1"`.',
        ),
        Trouble(
            ["validate", "password.yml"],
            "A password in a file is read by everyone who reads the file.",
            "Write `password: {env: NAME}`, and set the variable where the job runs.",
        ),
        Trouble(
            ["run", "nightly.yml", "--date", "2026-07-01", "--as-of", "2026-07-01T10:00"],
            "The period is not over, or its labels are not mature.",
            "Run it later, or with `--force`.",
        ),
        Trouble(
            ["history", "nothing.duckdb"],
            "No run has written the history, or the path is relative to another folder.",
            "Name the job file instead: `sqleval history nightly.yml`.",
        ),
    ],
}  # fmt: skip


def _write_files() -> None:
    """Write the files that the troubles read into the current folder."""
    labels = pl.DataFrame({"id": [1, 2, 3, 4], "late": [0, 1, 1, 0]})
    _ROWS.write_parquet("predictions.parquet")
    _ROWS.write_csv("predictions.csv")
    labels.write_parquet("labels.parquet")
    pl.concat([labels, labels.head(1)]).write_parquet("double.parquet")
    labels.with_columns(pl.col("id") + 100).write_parquet("other.parquet")
    Path("empty").mkdir()
    texts = {
        "table.xlsx": "",
        "broken.parquet": "y,p\n1,0.5\n",
        "nightly.yml": _JOB,
        "unknown.yml": _JOB.replace("label:", "lable:"),
        "unnamed.yml": _JOB.replace("name: nightly\n", ""),
        "commas.yml": f"{_JOB}gates: [drop(roc_auc, previous 7) < 0.1]\n",
        "password.yml": _JOB.replace("history.duckdb", "postgresql://me:secret@db/metrics"),
    }
    for name, text in texts.items():
        Path(name).write_text(text, encoding="utf-8")


def _read_message(trouble: Trouble) -> str:
    """Return the message of a trouble."""
    if not callable(trouble.provoke):
        errors = StringIO()
        with contextlib.redirect_stderr(errors), contextlib.redirect_stdout(StringIO()):
            run_command(list(trouble.provoke))
        (first, *_) = [line for line in errors.getvalue().splitlines() if line[:6] == "error:"]
        return first.removeprefix("error: ")
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", sqleval.UnmatchedRows)
        try:
            trouble.provoke()
        except sqleval.SqlevalError as error:
            return str(error)
    for warning in caught:
        return str(warning.message)
    raise AssertionError(f"no error: {trouble.remedy}")


def list_troubles() -> Iterator[tuple[str, list[tuple[str, str, str]]]]:
    """Yield each part of the page: its title, and the message, cause and remedy of each error."""
    with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
        _write_files()
        for title, troubles in _TROUBLES.items():
            yield title, [(_shorten(_read_message(each)), *each[1:]) for each in troubles]


def _shorten(message: str) -> str:
    """Return the beginning of a message, without DuckDB's reason, which differs by release."""
    message = re.sub(r": Invalid Input Error: .*", ": ...", message)
    if len(message) <= _LENGTH:
        return message
    return f"{message[:_LENGTH].rpartition(' ')[0]} ..."
