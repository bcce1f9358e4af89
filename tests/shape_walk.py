"""Walks through the shapes of predictions that people have: inspects, evaluates, compares, reports.

``python -m tests.shape_walk`` writes the outcomes into ``docs/guide/shapes.md``; with ``--check``
it fails where the page differs. ``python -m tests.shape_walk FOLDER`` leaves the files in a folder.
"""

from __future__ import annotations

import gzip
import itertools
import shlex
import sys
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import chdir, redirect_stderr, redirect_stdout
from io import StringIO
from pathlib import Path
from typing import NamedTuple

import polars as pl

from sqleval.cli import main
from tests.shapes import SHAPES

PAGE = Path(__file__).resolve().parents[1] / "docs" / "guide" / "shapes.md"
START, END = "<!-- outcomes: python -m tests.shape_walk -->", "<!-- /outcomes -->"
#: The characters of a line of a file, and the lines of a result, that the page shows.
_WIDTH, _LINES = 100, 7


class Walk(NamedTuple):
    """The steps for the files of a shape.

    Attributes
    ----------
    title : str
        The shape in words.
    inspect : str
        The arguments of ``sqleval inspect``.
    evaluate : tuple of str
        The arguments of the evaluations that people want.
    compare : str
        The arguments of ``sqleval compare``; empty without models or groups.
    report : str
        The arguments of ``sqleval report``; empty where there is nothing to report.
    later : str
        The wanted metrics that are still to come.
    """

    title: str
    inspect: str
    evaluate: tuple[str, ...]
    compare: str = ""
    report: str = ""
    later: str = ""


_MODELS = (
    "decisions.csv --label y_true --score lr=lr_proba --score rf=rf_proba "
    "--prediction lr=lr_pred --prediction rf=rf_pred"
)
_SIDES = (
    '--query "SELECT season, UNNEST([{p: prob1, y: outcome1}, {p: prob2, y: outcome2}], '
    "recursive := true) FROM 'games.csv'\" --label y --score p"
)
_RESULT = (
    "results.csv --label \"CASE WHEN win_a = 1 THEN 'a' WHEN win_b = 1 THEN 'b' ELSE 'tie' END\" "
    "--score a=prob_a --score b=prob_b --score tie=prob_tie --task multiclass"
)
_CLASSES = (
    "models.parquet --label label --score lstm.0=lstm_0 --score lstm.1=lstm_1 "
    "--score lstm.2=lstm_2 --score xgb.0=xgb_0 --score xgb.1=xgb_1 --score xgb.2=xgb_2 "
    "--task multiclass --nulls drop --common"
)
_PANEL = (
    "--query \"SELECT e.store, e.y, e.yhat AS ets, n.yhat AS naive FROM 'ets.csv' AS e "
    "JOIN 'naive.csv' AS n USING (store, date)\" --label y --prediction ets=ets "
    "--prediction naive=naive --task regression"
)
_RUN = "bm25.run --labels judged.qrels --on qid,doc --label relevance --score score --qid qid"
_WIN = "battles.csv --value \"CASE winner WHEN 'model_a' THEN 1 WHEN 'tie' THEN 0.5 ELSE 0 END\""
WALKS: Mapping[str, Walk] = {
    "decisions of models": Walk(
        "A row per case; each model has a probability and a decision of its own",
        "decisions.csv",
        (f"{_MODELS} -m roc_auc -m f1",),
        f"{_MODELS} -m roc_auc -m f1",
        f"{_MODELS} -m roc_auc -m f1",
    ),
    "integer score": Walk(
        "A score of whole numbers, and groups of people",
        "recidivism.csv",
        (
            "recidivism.csv --label two_year_recid --score decile_score --threshold 5 --by race "
            "-m false_positive_rate -m recall",
            "recidivism.csv --label two_year_recid --score decile_score --threshold 5 --over race "
            "-m \"false_positive_rate(reduce='difference')\"",
        ),
        "recidivism.csv --label two_year_recid --score decile_score --threshold 5 "
        "--groups race -m false_positive_rate",
        "recidivism.csv --label two_year_recid --score decile_score --threshold 5 --by race",
    ),
    "two outcomes": Walk(
        "Two outcomes in a row, each with its probability",
        "games.csv",
        (f"{_SIDES} -m brier_score -m brier_skill_score -m roc_auc",),
        report=_SIDES,
    ),
    "one-hot outcome": Walk(
        "Probabilities of several results, and a column of 0 and 1 for each result",
        "results.csv",
        (f"{_RESULT} -m log_loss -m brier_score",),
        report=_RESULT,
        later="the ranked probability score",
    ),
    "models and classes": Walk(
        "Several models times several classes in columns; some rows lack a model",
        "models.parquet",
        (f"{_CLASSES} -m \"f1(average='macro')\" -m \"roc_auc(average='macro')\"",),
        f"{_CLASSES} -m \"f1(average='macro')\" -m log_loss",
        _CLASSES,
    ),
    "panel of forecasts": Walk(
        "A panel of forecasts, a file per model",
        "ets.csv",
        (f"{_PANEL} --by store -m rmse -m mae",),
        f"{_PANEL} -m rmse -m mae",
        _PANEL,
        later="MAPE and WAPE",
    ),
    "quantile forecasts": Walk(
        "Quantile forecasts, a row per level, and a file of truths",
        "forecasts.csv",
        (
            "forecasts.csv --labels truth.csv --on location,target_end_date --label observation "
            '--prediction value --where "output_type_id = 0.5" --by horizon -m mae',
        ),
        later="coverage, the weighted interval score and the pinball loss",
    ),
    "TREC run": Walk(
        "A TREC run and its qrels",
        "bm25.run",
        (f"{_RUN} -m ndcg@10 -m map -m precision@10 -m mrr",),
        report=_RUN,
    ),
    "top-k lists": Walk(
        "A list of recommended items and a list of bought items in each row",
        "top5.parquet",
        (
            'top5.parquet --value "list_has_any(recommended, bought)" -m share --ci 0.95',
            'top5.parquet --value "len(list_intersect(recommended, bought)) / 5" -m mean --ci 0.95',
        ),
        report='top5.parquet --value "list_has_any(recommended, bought)"',
    ),
    "attempts": Walk(
        "Several attempts at each task, passed or not",
        "attempts.jsonl",
        ("attempts.jsonl --value passed -m mean --ci 0.95 --cluster task_id",),
        report="attempts.jsonl --value passed",
        later="pass@5 and pass@10",
    ),
    "MLflow table": Walk(
        "A table of MLflow: one JSON document with columns and data",
        "eval_results_table.json",
        ("eval_results_table.json --rows data --value answer_correctness -m mean --ci 0.95",),
        report="eval_results_table.json --rows data --value answer_correctness",
    ),
    "evaluation log": Walk(
        "A log of an evaluation: one JSON document with nested rows",
        "log.json",
        ("log.json --rows samples --value scores.correct -m share --ci 0.95",),
        report="log.json --rows samples --value scores.correct",
    ),
    "battles": Walk(
        "Battles of two models, with wins and ties",
        "battles.csv",
        (f"{_WIN} --by model_a -m mean --ci 0.95",),
        report=f"{_WIN} --by model_a",
        later="ratings",
    ),
    "Spark ML": Walk(
        "Predictions of Spark ML, with a vector of probabilities",
        "vectors.parquet",
        tuple(
            f"{file} --label label --score probability --prediction prediction -m roc_auc "
            "-m log_loss -m accuracy"
            for file in ("vectors.parquet", "lists.parquet")
        ),
        report="vectors.parquet --label label --score probability",
    ),
    "confidence": Walk(
        "The predicted class, and the probability of that class",
        "confidence.csv",
        (
            'confidence.csv --label "true_label = predicted_label" --score confidence '
            "-m prevalence -m brier_score",
            "confidence.csv --label true_label --score "
            '"CASE WHEN predicted_label = 1 THEN confidence ELSE 1 - confidence END" '
            "-m roc_auc -m accuracy",
        ),
        report="confidence.csv --label true_label --score "
        '"CASE WHEN predicted_label = 1 THEN confidence ELSE 1 - confidence END"',
    ),
    "many labels": Walk(
        "Several labels in a row: a column of 0 and 1 and a score for each",
        "comments.csv",
        (
            "comments.csv --label toxic=toxic --label obscene=obscene --label insult=insult "
            "--score toxic=toxic_score --score obscene=obscene_score --score insult=insult_score "
            '-m "f1(average=None)" -m f1_samples -m roc_auc',
            'lists.parquet --label labels --prediction predicted -m "f1(average=None)" '
            "-m f1_samples",
        ),
        report="comments.csv --label toxic --score toxic_score",
    ),
    "labels by position": Walk(
        "Predictions without a key, and labels in rows of the same order",
        "oof.csv",
        ("oof.csv --labels train.csv --by-position --label target --score p -m roc_auc",),
        report="oof.csv --labels train.csv --by-position --label target --score p",
    ),
    "readers": Walk(
        "Readers times cases times treatments",
        "readers.csv",
        (
            "readers.csv --label truth --score rating --by treatment --over reader "
            "-m \"roc_auc(average='macro')\"",
        ),
        "readers.csv --label truth --score rating --long model=treatment --key case,reader "
        "--over reader "
        "-m \"roc_auc(average='macro')\"",
        "readers.csv --label truth --score rating --by treatment",
    ),
    "survival": Walk(
        "Survival: time, event and risk",
        "survival.csv",
        (),
        later="the C index",
    ),
    "uplift": Walk(
        "Uplift: treatment, outcome and the predicted effect",
        "uplift.csv",
        ("uplift.csv --value visit --by treatment -m share --ci 0.95",),
        "uplift.csv --value visit --groups treatment -m share",
        later="the Qini coefficient",
    ),
    "text tables": Walk(
        "Text tables of other tools",
        "predictions.arff",
        (
            "predictions.arff --label y --positive 1 --score p -m roc_auc",
            "european.csv --csv separator=; --csv decimal=, --csv encoding=latin-1 --label y "
            "--score p -m roc_auc",
            'missing.csv --csv "na=NA|\\N" --label y --score p --nulls drop -m roc_auc',
            "percent.csv --label y --score \"CAST(REPLACE(p, '%', '') AS DOUBLE) / 100\" "
            "-m roc_auc",
            "csv+table.dat --label y --score p -m roc_auc",
            "whitespace+spaces.txt --label y --score p -m roc_auc",
            "packed.csv.gz --label y --score p -m roc_auc",
        ),
        report="whitespace+spaces.txt --label y --score p",
    ),
}


class Outcome(NamedTuple):
    """A command, its exit code, and what it wrote."""

    command: str
    code: int
    output: str
    errors: str


def run_line(line: str) -> Outcome:
    """Run a command line of ``sqleval`` in the working directory."""
    out, err = StringIO(), StringIO()
    with redirect_stdout(out), redirect_stderr(err):
        code = int(main.run_command(shlex.split(line)[1:]))
    return Outcome(line, code, out.getvalue(), err.getvalue())


def list_suggested(inspected: str) -> list[str]:
    """Return the commands that ``sqleval inspect`` suggests."""
    lines = inspected.splitlines()
    start = lines.index("Run") if "Run" in lines else len(lines)
    return [line.strip() for line in lines[start:] if line.strip().startswith("sqleval ")]


def walk(name: str, folder: Path, rows: int = 300) -> Iterator[tuple[str, Outcome]]:
    """Yield the step and the outcome of each command for the files of a shape."""
    steps = WALKS[name]
    SHAPES[name](folder, rows)
    with chdir(folder):
        inspected = run_line(f"sqleval inspect {steps.inspect}")
        yield "inspect", inspected
        for line in list_suggested(inspected.output):
            yield "suggested", run_line(line)
        for each in steps.evaluate:
            yield "wanted", run_line(f"sqleval evaluate {each}")
        if steps.compare:
            yield "compare", run_line(f"sqleval compare {steps.compare}")
        if steps.report:
            yield "report", run_line(f"sqleval report {steps.report} --output report.html")


def _show_file(path: Path) -> str:
    """Return the first lines of a text file, or the columns of a Parquet file."""
    if path.suffix == ".parquet":
        schema = pl.read_parquet_schema(path)
        return "\n".join(f"{name}: {kind}" for name, kind in schema.items())
    data = gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()
    lines = data.decode("utf-8", "replace").splitlines()[:3]
    return "\n".join(line if len(line) <= _WIDTH else f"{line[:_WIDTH]} ..." for line in lines)


def _show_output(text: str) -> str:
    lines = [line.rstrip() for line in text.rstrip().splitlines()]
    return "\n".join([*lines[:_LINES], *(["..."] if len(lines) > _LINES else [])])


def _write_shape(name: str, folder: Path) -> str:
    """Return the section of a shape: its first file, and what each command says."""
    steps, paths = WALKS[name], SHAPES[name](folder)
    outcomes = list(walk(name, folder))
    parts = [f"### {steps.title}", f"`{paths[0].name}`:\n\n```text\n{_show_file(paths[0])}\n```"]
    suggested = list_suggested(outcomes[0][1].output)
    if suggested:
        shown = "\n".join(suggested)
        parts.append(f"`sqleval inspect {steps.inspect}` suggests:\n\n```text\n{shown}\n```")
    for step, outcome in outcomes:
        if step in ("wanted", "compare"):
            shown = _show_output(outcome.output)
            parts.append(f"```text\n$ {outcome.command}\n{shown}\n```")
    if steps.later:
        parts.append(f"Still to come: {steps.later}.")
    return "\n\n".join(parts)


def _write_outcomes() -> str:
    """Return the table of outcomes, and a section per shape."""
    rows, sections = list[str](), list[str]()
    for name, steps in WALKS.items():
        with tempfile.TemporaryDirectory() as folder:
            sections.append(_write_shape(name, Path(folder)))
        anchor = "".join(c for c in steps.title.lower() if c.isalnum() or c in " -_")
        link = f"[{steps.title}](#{anchor.replace(' ', '-')})"
        evaluated = ", ".join(dict.fromkeys(_list_metrics(steps))) or "-"
        rows.append(f"| {link} | {evaluated} | {steps.later or '-'} |")
    head = ["| your file | what you get | still to come |", "| --- | --- | --- |"]
    return "\n\n".join(["\n".join([*head, *rows]), *sections])


def _list_metrics(steps: Walk) -> Iterator[str]:
    for arguments in steps.evaluate:
        words = shlex.split(arguments)
        yield from (f"`{b}`" for a, b in itertools.pairwise(words) if a == "-m")


def write_page(*, check: bool = False) -> bool:
    """Write the outcomes into the page; with ``check``, return whether it has them already."""
    page = PAGE.read_text(encoding="utf-8")
    before, _, rest = page.partition(START)
    after = rest.partition(END)[2]
    new = f"{before}{START}\n{_write_outcomes()}\n{END}{after}"
    if not check:
        PAGE.write_text(new, encoding="utf-8")
    return new == page


if __name__ == "__main__":
    if sys.argv[1:] and sys.argv[1] != "--check":
        for shape, make in SHAPES.items():
            target = Path(sys.argv[1]) / shape.replace(" ", "_")
            target.mkdir(parents=True, exist_ok=True)
            make(target)
    elif not write_page(check="--check" in sys.argv):
        sys.exit("docs/guide/shapes.md differs: python -m tests.shape_walk" if sys.argv[1:] else 0)
