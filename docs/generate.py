"""Writes the generated parts of the pages: ``python docs/generate.py [--check] [FILE...]``.

A part stands between ``<!-- NAME: python docs/generate.py -->`` and ``<!-- /NAME -->``. The page
on engines is not written here: it needs the engines; ``tests/support/support_matrix.py`` writes it.
"""

import ast
import contextlib
import inspect
import re
import sys
import tomllib
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import click
import polars as pl

import sqleval
from docs.troubles import list_troubles
from sqleval.catalog import builtin
from sqleval.catalog.intervals import REASONS
from sqleval.catalog.listing import find_cost, group_by_task
from sqleval.catalog.roles import ROLES, VALUES
from sqleval.checking.table import CLASS_CHECKS, CURVE_CHECKS, METRIC_CHECKS
from sqleval.inspection.lines import write_findings

ROOT = Path(__file__).resolve().parents[1]
DOCUMENTS = (
    "docs/guide/first-steps.md",
    "docs/guide/own-metrics.md",
    "docs/guide/scikit-learn.md",
    "docs/guide/splits.md",
    "docs/guide/troubleshooting.md",
    "docs/guide/whom-we-follow.md",
    "docs/reference/python.md",
    "docs/reference/metrics.md",
    "docs/reference/cli.md",
    "docs/reference/job-keys.md",
    "docs/reference/result-columns.md",
    "docs/reference/sources.md",
    "docs/developers/adding.md",
    "docs/developers/house.md",
    "sql/README.md",
)
#: Columns of a help text.
_WIDTH = 100


def write_table(names: Sequence[str], rows: Sequence[Sequence[object]]) -> str:
    """Return a Markdown table."""
    lines = [names, ["---"] * len(names), *rows]
    return "\n".join(
        f"| {' | '.join('' if c is None else str(c) for c in line)} |" for line in lines
    )


def escape_cell(text: object) -> str:
    """Return a text as a cell of a Markdown table."""
    return str(text).replace("|", "\\|")


# -- metrics -----------------------------------------------------------------------------------


def _scikit_learn() -> str:
    """Return the functions of scikit-learn that metrics and curves equal."""
    rows = []
    for relation in builtin().relations("metric", "curve"):
        # What a metric is beside the function is a comment, which the header as data lacks.
        (line,) = re.findall(r"^reference: (.*)$", relation.text, re.MULTILINE)
        function, _, remark = line.partition(" # ")
        if function.startswith("sklearn.metrics.") and "same_as" not in relation.header:
            name = function.removeprefix("sklearn.metrics.")
            rows.append((f"`{name}`", escape_cell(remark), f"`{relation.name}`"))
    return write_table(["scikit-learn", "how", "sqleval"], sorted(rows))


def _catalogue() -> str:
    """Return a table by task and family: what a metric is, its parameters, range and interval."""
    names = ["name", "what it is", "parameters", "range", "interval"]
    parts = []
    for title, metrics in group_by_task(sqleval.metrics()).items():
        rows = [
            (f"`{row['name']}`", _what(row), row["params"], row["range"], row["interval"])
            for row in metrics
        ]
        parts.append(f"### {title}\n\n{write_table(names, rows)}")
    return "\n\n".join(parts)


def _intervals() -> str:
    """Return the intervals of metrics, each with the reason."""
    return write_table(["interval", "which metrics, and why"], list(REASONS.items()))


def _what(row: Mapping[str, Any]) -> str:
    """Return what a metric is, with its other names and the files that compute it otherwise."""
    same = [f"`{each['name']}`" for each in sqleval.metrics() if each["same_as"] == row["name"]]
    names = ", ".join(f"`{alias}`" for alias in row["aliases"].split(", "))
    what = f"{row['summary']}; also {names}" if row["aliases"] else row["summary"]
    return f"{what}; other computations: {', '.join(same)}" if same else what


def _formulas() -> str:
    """Return every formula beside the reasons for NULL and the SQL file."""
    rows = []
    for relation in builtin().relations("metric", "curve"):
        place = f"{relation.family}/{relation.path.name}"
        reasons = "; ".join(dict.fromkeys(relation.notes))
        formula = escape_cell(relation.header["formula"])
        file, cost = f"[{place}](../../sql/{place})", find_cost(relation, builtin())
        rows.append((f"`{relation.name}`", formula, reasons, cost, file))
    return write_table(["name", "formula", "NULL, with this note", "cost", "file"], rows)


def _files() -> str:
    """Return the metrics of each family by their number of SQL files, and the family's steps."""
    catalogue = builtin()
    metrics: dict[str, dict[int, list[str]]] = {}
    readers: dict[str, set[str]] = {}
    for each in catalogue.relations("metric"):
        # One file, those of further columns (NAME.stderr.sql ...), and twins.
        count = min(len(catalogue.names[each.name]), 3)
        metrics.setdefault(each.family, {}).setdefault(count, []).append(f"`{each.name}`")
        for step in catalogue.closure(each.name).keys() & catalogue.names.keys():
            readers.setdefault(step, set()).add(each.family)
    rows: list[tuple[str, ...]] = []
    for family, by_count in metrics.items():
        steps = [
            f"`{name}`"
            for name, families in sorted(readers.items())
            if families == {family} and catalogue.get(name).kind != "metric"
        ]
        rows.append(
            (family, *(", ".join(by_count.get(n, [])) for n in (1, 2, 3)), ", ".join(steps))
        )
    return write_table(
        ["family", "one file", "two files", "more", "steps of the family alone"], rows
    )


# -- jobs and splits ---------------------------------------------------------------------------


def _keys() -> str:
    """Return the keys of a job file."""
    from sqleval.jobs.file.model import Job

    schema = Job.model_json_schema()
    rows: list[tuple[str, ...]] = []

    def add(properties: Mapping[str, Any], needed: Sequence[str], path: str) -> None:
        for name, key in properties.items():
            options = [key, *key.get("anyOf", [])]
            choices = [value for each in options for value in each.get("enum", [])]
            meaning = escape_cell(key.get("description", ""))
            meaning += f" ({', '.join(choices)})" if choices else ""
            has_default = key.get("default") not in (None, "PT0S", {}, [])
            default = f"`{key['default']}`" if has_default else ""
            rows.append((f"`{path}{name}`", meaning, "required" if name in needed else default))
            for each in [*options, key.get("items", {})]:
                below = schema["$defs"].get(str(each.get("$ref", "")).rpartition("/")[2])
                if below and "properties" in below and "env" not in below["properties"]:
                    add(below["properties"], below.get("required", []), f"{path}{name}.")

    add(schema["properties"], schema["required"], "")
    return write_table(["key", "meaning", "default"], rows)


def _methods() -> str:
    """Return the methods of splitting."""
    from sqleval.splits.methods import METHODS

    rows = []
    for name, method in METHODS.items():
        # Groups are left out one by one, or several together by a file of their own.
        file = "leave_p_out" if name == "leave_p_groups_out" else method.file
        header = builtin().get(file).header
        options = ", ".join(f"`{option}`" for option in sorted(method.takes))
        repeats = f" ({method.repeats} times)" if method.repeats > 1 else ""
        rows.append((f"`{name}`", f"{header['summary']}{repeats}", options, header["reference"]))
    return write_table(["method", "what it does", "options", "equals"], rows)


# -- the command line --------------------------------------------------------------------------


def _commands() -> str:
    """Return the help of every command."""
    from sqleval.cli.main import sqleval as program

    return "\n\n".join(_helps(program, "sqleval", None))


def _helps(command: click.Command, name: str, parent: click.Context | None) -> Iterator[str]:
    context = click.Context(
        command, info_name=name, parent=parent, terminal_width=_WIDTH, **command.context_settings
    )
    text = "\n".join(line.rstrip() for line in command.get_help(context).splitlines())
    yield f"## {context.command_path}\n\n```text\n{text}\n```"
    if isinstance(command, click.Group):
        for each in command.list_commands(context):
            below = command.get_command(context, each)
            if below is not None and not below.hidden:
                yield from _helps(below, each, context)


# -- the columns of results --------------------------------------------------------------------

_ROWS = pl.DataFrame(
    {
        "y": [0, 1, 0, 1],
        "p": [0.1, 0.6, 0.4, 0.8],
        "q": [0.3, 0.5, 0.2, 0.7],
        "id": [1, 2, 3, 4],
        "day": ["2013-07-01"] * 4,
        "fold": [1, 1, 2, 2],
        "role": ["train", "test", "test", "train"],
    }
)
_MODELS: Mapping[Any, str] = {"one": "p", "two": "q"}
#: What a column means, by the result that has it.
_MEANINGS: Mapping[str, Mapping[str, str]] = {
    "evaluate": {
        "metric": "name, with the parameters that are not the default: `f_beta(beta=2)`",
        "value": "the metric; NULL where it is undefined",
        "low": "lower end of the interval (`ci=`) or lower bound (`bins=`, `tolerance=`)",
        "high": "upper end, or upper bound",
        "method": "how it was computed: `rows`, `groups` (distinct scores) or bins; then the kind "
        "of interval (`wilson`, `delong, logit`, `delta method, log`, `normal`)",
        "n": "rows used",
        "n_dropped": "rows left out, because a value is missing",
        "note": "why a value or an interval is missing, or how far it can be trusted",
        "gap": "value minus that of all rows (`gap=True`)",
        "by": "the slice keys that the row is grouped by, `overall` for none (`sets=`)",
        "class": "the class (`average=None`)",
        "model": "name of the model (`score=` or `prediction=` with several)",
        "role": "`train`, `validation`, `test`, `gap` or `validation_gap` (`role=`)",
    },
    "curve": {
        "threshold": "rows with `score >= threshold` are predicted positive",
        "fpr": "false positive rate, fp / N",
        "tpr": "true positive rate, tp / P",
        "fnr": "false negative rate, fn / P",
        "precision": "tp / (tp + fp)",
        "recall": "tp / P",
        "f1": "harmonic mean of precision and recall",
        "distance": "absolute difference of `tpr` and `fpr`",
        "share": "rows so far, as a share of all rows: predicted positive, with the lowest "
        "predictions, or with the smallest errors",
        "gain": "positives found, as a share of all positives",
        "lift": "`gain` / `share`",
        "ks": "`tpr` minus `fpr`",
        "bin": "number of the bin, from 1; 0 for residuals below all bins",
        "predicted": "mean predicted probability, or mean prediction",
        "observed": "share of positives",
        "actual": "mean label",
        "stderr": "standard error of the mean label",
        "mae": "mean absolute error",
        "rmse": "root mean squared error",
        "bias": "mean error (prediction - label)",
        "mean": "mean residual (prediction - label)",
        "median": "median residual",
        **{f"q{q:02}": f"quantile {q / 100:g} of the residuals" for q in (5, 25, 75, 95)},
        "lower": "lower edge of a bin of residuals, -infinity for the rows below all bins",
        "upper": "upper edge of a bin of residuals, infinity for the rows above all bins",
        "label_share": "share of the sum of labels",
        "error": "absolute error",
        "prediction": "highest prediction of the rows so far",
        "n": "rows of the bin, or their total weight",
        "class": "the class",
        "support": "rows with this label, or their total weight",
        "predictions": "rows with this prediction, or their total weight",
        "probability_cost": "p cost_fn / (p cost_fn + (1 - p) cost_fp), with p the share of "
        "positives",
        "normalized_cost": "expected cost divided by that of always being wrong",
        "prior": "share of positives that has this `probability_cost` at the given costs",
        "model": "one model",
        "other_model": "the other model",
        "from_fpr": "start of the range of false positive rates",
        "to_fpr": "end of the range",
        "above": "the model whose curve is higher there; NULL where they coincide",
        "relation": "`encloses`, `is enclosed by`, `coincides with` or `crosses`",
        "crossings": "how often the curves cross",
        "first_crossing": "false positive rate of the first crossing",
        "last_crossing": "false positive rate of the last one",
    },
    "confusion": {
        "label": "the true class",
        "prediction": "the predicted class",
        "n": "number of rows, or their total weight",
    },
    "state": {
        "period": "first day of the period, or start of the hour in UTC (`grain=`)",
        "label": "the label; Int64, Float64 or String for other tasks than binary",
        "score": "the bin: the score rounded to the bits of the state",
        "score_low": "lowest score among the rows",
        "score_high": "highest score among the rows",
        "n": "number of rows",
        "weight": "their total weight (`weight=`)",
        "squares": "the sum of their squared weights, which intervals need",
        "used": "whether metrics use these rows; false where a value is missing",
        "definition": "what the state was made of, as JSON: task, bits, roles, grain and more",
    },
    "split": {
        "repeat": "number of the random split, from 1",
        "fold": "number of the fold, from 1",
        "inner_fold": "fold of the inner cross-validation (`nested_kfold`)",
        "role": "`train`, `test`, `validation` (`nested_kfold`) or `gap` (splits by time)",
        "in_bag_count": "how often the row was drawn (`bootstrap`)",
    },
    "check_split": {
        "check": "name of the check",
        "leak": "whether test rows are known from training (`sqleval split check` exits with 1)",
        "folds": "number of folds with the problem",
        "repeat": "repeat of the worst fold",
        "fold": "the worst fold",
        "found": "its number of rows, keys or groups, its share, or its z statistic",
        "warning": "what is wrong, and why it matters",
    },
    "drift": {
        "distribution": "what is compared: `score`, `prediction`, `label`, or `mix` (the slices)",
        "metric": "name of the measure",
        "value": "the drift; NULL where it is undefined",
        "low": "lower bound of the value of unrounded scores (states, `bins=`)",
        "high": "upper bound",
        "noise": "about the value without drift, of as many independent rows; NULL with weights",
        "n_reference": "rows of the reference with a value",
        "n_current": "rows of the current sample with a value",
        "missing_reference": "rows of the reference without a value",
        "missing_current": "rows of the current sample without a value",
        "method": "the bins or classes whose shares are compared, or how scores are rounded",
        "note": "why there is no value, or how many bins are empty",
    },
    "resample": {
        "metric": "name, as in `evaluate`",
        "mean": "mean over the folds",
        "std": "standard deviation over the folds",
        "stderr": "standard error of the mean",
        "low": "lower end of the corrected interval (`ci=`)",
        "high": "upper end",
        "pooled": "the metric of all test rows at once",
        "n_folds": "number of folds with a value",
        "n_undefined": "number of folds without a value",
        "train": "mean over the training rows of the folds (`role=`)",
        "gap": "how much worse the test rows are (`role=`)",
        "note": "why an interval is missing",
    },
    "history": {
        "job": "name of the job",
        "run": "id of the run that wrote the row",
        "evaluated_at": "start of that run, in UTC",
        "period": "first day of the period, or start of the hour in UTC",
        "grain": "length of the period",
        "slice": "the slice keys, as a JSON object",
        "metric": "name, as in `evaluate`; before labels come, `expected(NAME)` or `arrived(rows)`",
        "parameters": "every parameter with its value, as JSON",
        "value": "as in `evaluate`",
        "low": "as in `evaluate`",
        "high": "as in `evaluate`",
        "method": "as in `evaluate`",
        "n": "as in `evaluate`",
        "n_dropped": "as in `evaluate`",
        "note": "as in `evaluate`",
        "error": "why the period or slice could not be evaluated",
        "matured": "share of the period's rows that have a label",
        "fingerprint": "hash of the files with rows of the period",
        "definition": "versions of the metric's SQL files, a hash of parameters and roles",
        "versions": "versions of Python, sqleval, DuckDB and Polars, as JSON",
        "duration": "seconds that the evaluation took",
    },
    "restated": {
        "job": "name of the job",
        "period": "as in `history`",
        "slice": "as in `history`",
        "metric": "as in `history`",
        "value": "the number that was replaced",
        "low": "its lower end",
        "high": "its upper end",
        "n": "its number of rows",
        "n_dropped": "its number of rows left out",
        "definition": "its definition",
        "run": "the run that wrote it",
        "evaluated_at": "start of that run, in UTC",
        "new_value": "the number that replaced it; NULL if it is undefined or was removed",
        "new_n": "the number of rows of that; NULL if it was removed",
        "new_definition": "the definition of that",
        "new_run": "the run that replaced it",
        "restated_at": "start of that run, in UTC",
        "reason": "why, such as `data changed: labels/1.parquet is gone`",
    },
    "settled": {
        "job": "name of the job",
        "input": "its columns and conditions, as JSON: those of another input are settled anew",
        "task": "the task",
        "threshold": "the default threshold; NULL if scores are outside 0 .. 1",
        "period": "the period whose rows decided",
        "run": "the run that wrote it",
    },
}


def _kind(kind: object) -> str:
    return type(kind).__name__ if isinstance(kind, pl.DataType) else getattr(kind, "__name__", "")


def _columns(result: str, schema: Mapping[str, object]) -> str:
    """Return the columns of a result with types and meanings."""
    meanings = _MEANINGS[result]
    rows = [(f"`{name}`", _kind(kind), meanings.get(name, "")) for name, kind in schema.items()]
    return write_table(["column", "type", "meaning"], rows)


def _evaluate_columns() -> str:
    scan = sqleval.scan(_ROWS, label="y", score="p")
    return _columns("evaluate", scan.evaluate("roc_auc").collect_schema())


def _optional_columns() -> str:
    """Return the columns of `evaluate` that only some options add."""
    binary: dict[str, Any] = {"label": "y", "score": "p"}
    results = (
        sqleval.scan(_ROWS, label="y", score=_MODELS).evaluate("f1"),
        sqleval.scan(_ROWS, label="id", prediction="fold").evaluate("f1(average=None)"),
        sqleval.scan(_ROWS, **binary, role="role").evaluate("f1"),
        sqleval.scan(_ROWS, **binary, by="day", sets="overall").evaluate("f1", gap=True),
    )
    plain = {*sqleval.scan(_ROWS, **binary).evaluate("f1").collect_schema(), "day"}
    added = {
        name: kind
        for result in results
        for name, kind in result.collect_schema().items()
        if name not in plain
    }
    return _columns("evaluate", added)


def _curve_columns() -> str:
    """Return the columns of each curve, then what each column means."""
    curves: dict[str, pl.Schema] = {}
    for relation in builtin().relations("curve"):
        role = "prediction" if relation.task == "regression" else "score"
        roles: Any = {role: _MODELS if relation.header.get("across") else "p"}
        scan = sqleval.scan(_ROWS, label="y", **roles, task=relation.tasks[0])
        curves[relation.name] = scan.curve(relation.name).collect_schema()
    listed = [
        (f"`{name}`", ", ".join(f"`{column}`" for column in schema))
        for name, schema in curves.items()
    ]
    every = {column: kind for schema in curves.values() for column, kind in schema.items()}
    return f"{write_table(['curve', 'columns'], listed)}\n\n{_columns('curve', every)}"


def _confusion_columns() -> str:
    scan = sqleval.scan(_ROWS, label="y", score="p")
    return _columns("confusion", scan.confusion().collect_schema())


def _state_columns() -> str:
    scan = sqleval.scan(_ROWS, label="y", score="p", weight="q")
    schema = scan.state("roc_auc", grain="day", time="day").collect_schema()
    return _columns("state", schema)


def _split_columns() -> str:
    splits = (
        sqleval.split(_ROWS, key="id", method=method)
        for method in ("nested_kfold", "bootstrap", "holdout")
    )
    schema = {name: kind for each in splits for name, kind in each.collect_schema().items()}
    return _columns("split", {name: kind for name, kind in schema.items() if name != "id"})


def _check_columns() -> str:
    from sqleval.splits.check import SCHEMA

    return _columns("check_split", SCHEMA)


def _drift_columns() -> str:
    return _columns("drift", sqleval.drift(_ROWS, _ROWS, score="p").schema)


def _resample_columns() -> str:
    got = sqleval.resample(
        _ROWS, "accuracy", fold="fold", role="role", label="y", score="p", ci=0.95
    )
    return _columns("resample", got.schema)


def _history_columns() -> str:
    from sqleval.history.store import RESULTS

    return _columns("history", RESULTS)


def _restated_columns() -> str:
    from sqleval.history.store import RESTATED

    return _columns("restated", RESTATED)


def _settled_columns() -> str:
    from sqleval.history.store import SETTLED

    return _columns("settled", SETTLED)


# -- the Python interface ----------------------------------------------------------------------


def _functions() -> str:
    """Return the public functions and methods, each with what it does."""
    parts = []
    for name in sqleval.__all__:
        each = getattr(sqleval, name)
        if not isinstance(each, type):
            parts.append(_function(name, each))
        elif each is sqleval.Predictions:
            methods = {
                n: m
                for base in reversed(each.__mro__)
                for n, m in vars(base).items()
                if n[0] != "_" and callable(m)
            }
            parts += [_function(f"Predictions.{n}", m) for n, m in methods.items()]
    return "\n\n".join(parts)


def _function(name: str, function: Any) -> str:
    """Return a function's signature and docstring, its sections as the help has them."""
    signature = inspect.signature(function)
    given = [p for p in signature.parameters.values() if p.name not in ("self", "bound")]
    shown = signature.replace(
        parameters=[p.replace(annotation=p.empty) for p in given],
        return_annotation=inspect.Signature.empty,
    )
    text = inspect.getdoc(function) or ""
    first, _, rest = text.partition("\n\n")
    body = f"\n\n```text\n{rest.strip()}\n```" if rest.strip() else ""
    return f"## {name}\n\n`{name}{shown}`\n\n{first}{body}"


def _errors() -> str:
    """Return the errors and warnings, each with its cause."""
    found = [getattr(sqleval, name) for name in sqleval.__all__]
    rows = [
        (f"`{each.__name__}`", (each.__doc__ or "").partition("\n")[0])
        for each in found
        if isinstance(each, type) and issubclass(each, Exception)
    ]
    return write_table(["name", "cause"], rows)


# -- whom we follow ------------------------------------------------------------------------------


def compute_ours(columns: Mapping[str, Any], metric: str) -> tuple[float | None, str | None]:
    """Return our value and note of a metric of columns, given by role."""
    data: dict[str, Any] = {}
    roles: dict[str, Any] = {}
    for role, values in columns.items():
        named = values if isinstance(values, dict) else {"": values}
        data |= {f"{role}{name}": each for name, each in named.items()}
        given = {name: f"{role}{name}" for name in named} if isinstance(values, dict) else role
        roles["qid" if role == "query" else role] = given
    if "score" not in columns or isinstance(columns["score"], dict):
        roles["task"] = "multiclass" if "score" in columns else "regression"
    frame = sqleval.scan(pl.DataFrame(data, strict=False), **roles).evaluate(metric).collect()
    return frame["value"].item(), frame["note"].item()


def _list_values(values: object) -> str:
    """Return the values of a column on one line."""
    if isinstance(values, dict):
        return ", ".join(f"{name}: {_list_values(each)}" for name, each in values.items())
    return " ".join("NULL" if each is None else str(each) for each in values)  # type: ignore[attr-defined]


def _write_number(value: float | None, missing: str) -> str:
    """Return a number with up to four decimals, and a large one with three digits."""
    if value is None:
        return missing
    return f"{value:.3g}" if abs(value) >= 1e6 else f"{value:.4f}".rstrip("0").rstrip(".")


def _name_library(expression: str) -> str:
    """Return an expression that begins with the name of a library instead of its module."""
    for module, name in (("sklearn.metrics.", "scikit-learn "), ("scipy.stats.", "SciPy ")):
        expression = expression.replace(module, name)
    return expression


#: The columns of a table of disagreements.
DISAGREEMENT_COLUMNS = ("matter", "input", "sqleval", "others", "whom we follow")


def list_disagreements() -> Iterator[tuple[str, str, tuple[str, ...]]]:
    """Yield a group, a request and a row: our value, those of other libraries, whom we follow."""
    table = _read_table("pages/test_whom_we_follow.py", "DISAGREEMENTS")
    for group, matter, columns, metric, theirs, why in table:
        value, note = compute_ours(columns, metric)
        ours = _write_number(value, "NULL") + (f" ({note})" if note else "")
        given = "; ".join(f"{role} {_list_values(each)}" for role, each in columns.items())
        others = "<br>".join(
            f"{_name_library(name)}: {_write_number(each, 'NaN')}" for name, each in theirs.items()
        )
        yield group, metric, (matter, given, f"`{metric}`: {ours}", others, why)


def _disagreements() -> str:
    """Return a table of disagreements for each group."""
    parts: dict[str, list[tuple[str, ...]]] = {}
    for group, _, row in list_disagreements():
        parts.setdefault(group, []).append(row)
    return "\n\n".join(
        f"### {group}\n\n{write_table(DISAGREEMENT_COLUMNS, rows)}" for group, rows in parts.items()
    )


# -- the house ---------------------------------------------------------------------------------


def _read_table(file: str, name: str) -> Any:
    """Return a table of a test, without its imports."""
    tests = ast.parse((ROOT / "tests/core" / file).read_text(encoding="utf-8"))
    (table,) = (
        ast.literal_eval(node.value)
        for node in tests.body
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == name
    )
    return table


def _rooms() -> str:
    """Return each folder of the package, its job, its modules and what it may import."""
    allowed = _read_table("house/test_imports.py", "ALLOWED")
    rows = []
    for name, folders in allowed.items():
        package = ROOT / "sqleval" / name
        job = ast.get_docstring(ast.parse((package / "__init__.py").read_text(encoding="utf-8")))
        modules = (
            path.relative_to(package).with_suffix("").as_posix()
            for path in sorted(package.rglob("*.py"))
            if path.name != "__init__.py"
        )
        rows.append((name, job, ", ".join(modules), ", ".join(folders.split()) or "-"))
    return write_table(["folder", "its job", "modules", "may import"], rows)


def _roles() -> str:
    """Return the table of roles: what binds each, and what its column holds."""
    rows = []
    for name, facts in ROLES.items():
        values = VALUES[facts.values]
        texts = [values.words, values.must, ", ".join(facts.allowed)]
        words = ": ".join(filter(None, texts))
        rows.append((f"`{name}`", f"`{facts.argument}=`", words, facts.help))
    return write_table(["role", "argument, option and job key", "a value is", "what it is"], rows)


def _properties() -> str:
    """Return the checks of metrics and of curves, and what holds."""
    rows = [(name, check.what) for name, check in {**METRIC_CHECKS, **CLASS_CHECKS}.items()]
    rows += [(f"{name}, of a curve", check.what) for name, check in CURVE_CHECKS.items()]
    return write_table(["check", "what holds"], rows)


# -- sources -----------------------------------------------------------------------------------


def _sources() -> str:
    """Return each source, what reads it, and the test that has read it."""
    file = "sources/test_source_page.py"
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    extras = project["optional-dependencies"]
    rows = []
    for source, written, reader, extra, against, test in _read_table(file, "SOURCES"):
        needs = f"`.[{extra}]`: {', '.join(extras[extra])}" if extra else ""
        module, _, function = test.partition(".")
        words = function.removeprefix("test_").replace("_", " ")
        link = f"[{words}](../../tests/{module}.py)"
        versions = "newest" if module.startswith("engines/") else "both"
        rows.append((source, written, reader, needs, versions, against, link))
    names = ["source", "written as", "read by", "needs", "DuckDB, Polars", "tested with", "test"]
    engines = ", ".join(
        requirement for requirement in project["dependencies"]
        if requirement.startswith(("duckdb", "polars", "pyarrow"))
    )  # fmt: skip
    return f"{write_table(names, rows)}\n\nWithout an extra: `{engines}`."


# -- troubles ----------------------------------------------------------------------------------


def _troubles() -> str:
    """Return the messages of frequent errors, which are provoked, with cause and remedy."""
    parts: list[str] = []
    for title, rows in list_troubles():
        cells = [(f"`` {escape_cell(message)} ``", *rest) for message, *rest in rows]
        parts.append(f"## {title}\n\n{write_table(['message', 'cause', 'remedy'], cells)}")
    return "\n\n".join(parts)


# -- the first look ----------------------------------------------------------------------------


def _inspection() -> str:
    """Return what `sqleval inspect` prints on the flights, the list of columns cut short."""
    source = "data/flights/predictions"
    with contextlib.chdir(ROOT):
        findings = sqleval.inspect(source)
    text = "\n".join(map(click.unstyle, write_findings(source, findings, 80)))
    text = re.sub(r"(\nColumns\n(?:.+\n){3})(?:.+\n)*", r"\1  ...\n", text)
    return f"```text\n{text}\n```"


_PARTS: Mapping[str, Callable[[], str]] = {
    "inspection": _inspection,
    "troubles": _troubles,
    "rooms": _rooms,
    "roles": _roles,
    "properties": _properties,
    "sources": _sources,
    "disagreements": _disagreements,
    "scikit-learn": _scikit_learn,
    "functions": _functions,
    "errors": _errors,
    "catalogue": _catalogue,
    "intervals": _intervals,
    "files": _files,
    "formulas": _formulas,
    "keys": _keys,
    "methods": _methods,
    "commands": _commands,
    "evaluate": _evaluate_columns,
    "options": _optional_columns,
    "curve": _curve_columns,
    "confusion": _confusion_columns,
    "state": _state_columns,
    "split": _split_columns,
    "check": _check_columns,
    "drift": _drift_columns,
    "resample": _resample_columns,
    "history": _history_columns,
    "restated": _restated_columns,
    "settled": _settled_columns,
}


def updated(text: str) -> str:
    """Return a page's text with its generated parts made anew."""
    for name, make in _PARTS.items():
        start, end = f"<!-- {name}: python docs/generate.py -->\n", f"<!-- /{name} -->"
        pattern = re.escape(start) + ".*?" + re.escape(end)
        if re.search(pattern, text, re.DOTALL):
            part = f"{start}{make()}\n{end}"
            text = re.sub(pattern, lambda _, part=part: part, text, flags=re.DOTALL)
    return text


def main(arguments: list[str]) -> int:
    """Write the pages, or with ``--check`` say which are out of date."""
    check = "--check" in arguments
    stale = False
    for name in [a for a in arguments if not a.startswith("-")] or DOCUMENTS:
        path = ROOT / name
        text = path.read_text(encoding="utf-8")
        fresh = updated(text)
        if fresh != text and check:
            stale = True
            print(f"{name}: generated parts are out of date; run python docs/generate.py")
        elif fresh != text:
            path.write_text(fresh, encoding="utf-8")
    return int(stale)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
