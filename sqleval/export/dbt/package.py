"""Writes a dbt package: macros, a history model, and gates as tests."""

import json
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import yaml

from sqleval.common.names import find_nearest
from sqleval.common.whole_file import write_text
from sqleval.errors import RequestError, SourceError
from sqleval.export.dbt.gates import list_subjects, write_tests
from sqleval.export.dbt.history import (
    COLUMNS,
    GRAINS,
    STRATEGIES,
    escape,
    fill,
    read_template,
    write_history,
    write_name,
)
from sqleval.export.statement import build_statement

#: Default number of the last periods that a build checks again.
LOOKBACK = 30
#: The first line of each written file; the next export replaces only files that have it.
_MARK = "Written by sqleval export dbt"
#: Start and end of a comment in each kind of file.
_COMMENTS = {".sql": ("{#", "#}"), ".yml": ("#", ""), ".md": ("<!--", "-->")}
#: Placeholder for the relation of a macro, until the statement is written.
_RELATION = "sqleval_relation"
#: Dialects in which a backslash in a text escapes nothing, and '' is a quote.
_PLAIN_TEXTS = ("duckdb", "postgres", "trino")
_PACKAGE_NAME = re.compile(r"[a-z_][a-z0-9_]*", re.ASCII)


def write_package(
    folder: str,
    predictions: str,
    metrics: Sequence[str],
    roles: Mapping[str, Any],
    *,
    dialect: str,
    time: str,
    grain: str = "day",
    name: str = "sqleval",
    gates: Sequence[str] = (),
    baseline: tuple[str, str] | None = None,
    lookback: int = LOOKBACK,
    ci: float | None = None,
    bins: int | None = None,
) -> list[str]:
    """Write a dbt package that evaluates predictions per period, and return its files.

    Parameters
    ----------
    folder : str
        The folder to write; files of an earlier export are replaced.
    predictions : str
        A dbt model (``preds``), a dbt source (``lake.preds``), or SQL that can stand after FROM.
    metrics : sequence of str
        Names, optionally with parameters.
    roles : mapping
        The roles of `sqleval.export.statement.export_statement`.
    dialect : str
        The warehouse: one of `sqleval.export.dbt.history.STRATEGIES`.
    time : str
        The column of type DATE or TIMESTAMP that decides the period.
    grain : str
        ``day``, ``week``, ``month``, ``quarter`` or ``year``.
    name : str
        The name of the package.
    gates : sequence of str
        Gates as in a job file.
    baseline : tuple of str, optional
        The first and the last period whose mean is the ``baseline`` of gates.
    lookback : int
        How many of the last periods a build checks again for late rows and labels.
    ci, bins : optional
        As for `sqleval.export.statement.export_statement`.

    Raises
    ------
    RequestError
        If an option is wrong.
    SourceError
        If the folder holds something else, or cannot be written.
    """
    _check_options(dialect, grain, name)
    if lookback < 1:
        raise RequestError(f"lookback={lookback} (--lookback) must be at least 1, the last period")
    if not metrics:
        raise RequestError("name a metric: --metric roc_auc")
    if not predictions.strip():
        raise RequestError("name the predictions: a model, a source, or SQL that follows FROM")
    options: Mapping[str, Any] = {"ci": ci, "bins": bins}
    history = write_history(metrics, dialect, time, grain, roles, options)
    for key in history.keys:
        _check_key(key, dialect)
    tests = write_tests(
        name, gates, history.metrics, history.sets, has_intervals=ci is not None, baseline=baseline
    )
    call = f"{name}.{_name_macro(history.metrics[0])}(ref('preds'))"
    readme = fill(
        read_template("readme.md"),
        package=name,
        folder=folder if re.fullmatch(r"[\w./-]+", folder) else json.dumps(folder),
        predictions=json.dumps(predictions),
        lookback=str(lookback),
        metrics=", ".join(f"`{metric}`" for metric in history.metrics),
        example=f"SELECT * FROM ({{{{ {call} }}}}) AS r",
    )
    files = {
        "README.md": readme,
        "dbt_project.yml": _write_project(name, predictions, lookback),
        "models/metric_history.sql": history.model,
        "models/metric_history.yml": _write_model(tests),
        "macros/is_due.sql": history.is_due,
        "macros/predictions.sql": read_template("predictions.sql"),
        f"tests/{name}_rows_without_time.sql": fill(
            read_template("rows_without_time.sql"), time=f"s.{write_name(time, dialect)}"
        ),
        "tests/generic/no_problem.sql": read_template("no_problem.sql"),
        "tests/generic/gate.sql": fill(
            read_template("gate.sql"),
            slice=", ".join(history.keys),
            subjects=json.dumps(list_subjects()),
            keys=json.dumps(history.key_names, ensure_ascii=False),
        ),
    }
    # A single metric could have another task than all of them together.
    roles = {**roles, "task": history.task}
    for metric in history.metrics:
        exported = build_statement([metric], dialect, _RELATION, roles, is_ordered=False, **options)
        statement = escape(exported.comment + exported.sql).replace(_RELATION, "{{ relation }}")
        macro = _name_macro(metric)
        files[f"macros/{macro}.sql"] = fill(
            read_template("metric.sql"), package=name, macro=macro, statement=statement
        )
    _write_files(Path(folder), files)
    return sorted(files)


def _check_key(key: str, dialect: str) -> None:
    """Raise `RequestError` if dbt or the gate's macro would change the name of a slice key."""
    if re.search(r"\{[{%#]", key) or re.match(r"\s*(env_var|ref|var|source|doc)\s*\(", key):
        raise RequestError(f"by={key!r}: dbt would read this name as Jinja; rename the column")
    if re.search(r"['\\]", key) and dialect not in _PLAIN_TEXTS:
        raise RequestError(f"by={key!r}: on {dialect} a name must not contain ' or \\")


def _check_options(dialect: str, grain: str, name: str) -> None:
    if dialect not in STRATEGIES:
        raise RequestError(
            f"no dbt package for the dialect {dialect!r}{find_nearest(dialect, STRATEGIES)} "
            f"({', '.join(STRATEGIES)}); sqleval sql --dialect prints statements for others"
        )
    if grain not in GRAINS:
        raise RequestError(f"grain={grain!r} must be one of {', '.join(GRAINS)}")
    if not _PACKAGE_NAME.fullmatch(name):
        raise RequestError(
            f"name={name!r}: the name of a dbt package has small letters, digits and underscores"
        )


def _name_macro(metric: str) -> str:
    """Return the name of a metric's macro: ``f_beta_beta_2`` for ``f_beta(beta=2)``."""
    return re.sub(r"\W+", "_", metric.replace("-", "minus_")).strip("_")


def _write_yaml(content: Mapping[str, Any]) -> str:
    return yaml.safe_dump(content, sort_keys=False, allow_unicode=True, width=100)


def _write_project(name: str, predictions: str, lookback: int) -> str:
    """Return the text of ``dbt_project.yml``."""
    return _write_yaml({
        "name": name,
        "version": "1.0.0",
        "config-version": 2,
        "require-dbt-version": [">=1.11.0", "<2.0.0"],
        "profile": name,
        "vars": {"predictions": predictions, "lookback": lookback},
    })  # fmt: skip


def _write_model(tests: Sequence[Mapping[str, Any]]) -> str:
    """Return the description of the history, with its tests."""
    columns = [{"name": name, "description": meaning} for name, meaning in COLUMNS.items()]
    return _write_yaml({
        "models": [
            {
                "name": "metric_history",
                "description": "Metrics of predictions: one row per period, slice and metric.",
                "columns": columns,
                "data_tests": tests,
            }
        ],
    })  # fmt: skip


def _write_files(folder: Path, files: Mapping[str, str]) -> None:
    """Write the files, and remove files of an earlier export."""
    project = folder / "dbt_project.yml"
    is_free = not folder.exists() or (folder.is_dir() and not any(folder.iterdir()))
    if not is_free and not _is_exported(project):
        raise SourceError(f"{str(folder)!r} holds something else; choose another folder")
    for path in (*folder.glob("macros/*.sql"), *folder.glob("tests/*.sql")):
        if _is_exported(path):
            path.unlink()
    for path, text in files.items():
        start, end = _COMMENTS[Path(path).suffix]
        write_text(str(folder / path), f"{start} {_MARK}. {end}".rstrip() + f"\n{text}")


def _is_exported(path: Path) -> bool:
    """Return whether an export wrote a file."""
    if not path.is_file():
        return False
    first, _, _ = path.read_text(encoding="utf-8", errors="replace").partition("\n")
    return _MARK in first
