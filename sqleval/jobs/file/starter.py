"""Writes the first job file for a source, with comments."""

import os
import re
from collections.abc import Iterable, Mapping
from importlib.util import find_spec
from pathlib import Path

import yaml

from sqleval.common.columns import Column, is_float, is_number
from sqleval.common.sql_text import quote
from sqleval.engines.embedded import embedded
from sqleval.inputs.opening import open_source
from sqleval.inputs.source import Source
from sqleval.inputs.stores import is_remote, split_kind

#: Names of columns that are probably the label, and the score.
_LABEL = re.compile(r"y|label|labels|target|truth|actual|y_true|outcome|class", re.IGNORECASE)
_SCORE = re.compile(
    r"(p|score|prob|proba|probability|y_score|y_prob)(_.*)?|.*_(p|score|prob)", re.IGNORECASE
)
_TEXT = """\
# A job of sqleval: predictions are evaluated period by period, and gates check the results.
# sqleval validate {file}    checks this file
# sqleval run {file}         evaluates new and changed periods; --backfill: all periods
name: {name}

# Paths are relative to this file.
source: {source}
label: {label}{label_hint}
score: {score}{score_hint}
# score: {{logistic: p_logistic, boosted: p_boosted}}    # several models
# prediction: decided          # a predicted class or value instead of a score
# positive: "yes"              # the positive label, unless it is 1 or true
# weight: w
# where: "country = 'FR'"
nulls: drop                    # leave out rows without label or score; error: fail

# Labels from another source; a period is evaluated 7 days after its end.
# labels: {{source: labels/, on: key, maturity: 7d}}

# Sets of slice keys: one result per combination of values; [] is all rows together.
slices: {slices}
# by: [carrier]                # one set of keys, instead of slices

period:
  column: {period}{period_hint}
  grain: day                   # hour, day, week, month, quarter or year
  # timezone: Europe/Paris     # where a day begins

metrics:
{metrics}
ci: 0.95                       # confidence intervals, which the gates below need

# A DuckDB file, a Delta table (history.delta) or
# {{url: postgresql://user@host/db, password: {{env: PASSWORD}}}}
history: {name}.duckdb

# states: states               # keep counts and sums, for longer periods and later metrics

gates:
  # Fails if all rows or a slice got significantly worse, by 0.02: one false alarm a year.
  {worse}- worse(roc_auc, previous 28) < 0.02{worse_hint}
  # Fails if the interval lies below that of chance.
  - {{check: roc_auc >= 0.5, on: high, min_rows: 500}}
  - age <= 1                   # at most one period without data before now
  # - {{check: "drop(roc_auc, previous 7) < 0.02", by: [carrier], min_rows: 500, severity: warn}}
# baseline: {{from: 2026-01-01, to: 2026-01-31}}    # for gates: log_loss <= baseline + 0.01
missing: fail                  # periods and slices without rows: fail, warn or ignore

# report: {name}.html          # a page with the curves; needs pip install 'sqleval[plot]'
# outputs: {{json: {name}.json, junit: {name}.xml, prometheus: {name}.prom}}
"""


def _find_name(columns: Iterable[Column], pattern: re.Pattern[str]) -> str | None:
    """Return the name of the first column whose name matches."""
    return next((column.name for column in columns if pattern.fullmatch(column.name)), None)


def _find_period(columns: Mapping[str, Column]) -> str | None:
    """Return a column with the name or type of a date or time."""
    times = [c.name for c in columns.values() if c.kind in ("date", "timestamp", "instant")]
    named = [n for n in columns if re.fullmatch(r"day|date|ds|dt|period|.*_(date|day|at)", n, re.I)]
    return next((name for name in named if name in times), None) or (times or named or [None])[0]


def _find_label(columns: Mapping[str, Column], source: Source) -> str | None:
    """Return the column with the name of a label, or the first with the values of one."""
    named = _find_name(columns.values(), _LABEL)
    if named is not None:
        return named
    candidates = [c for c in columns.values() if is_number(c.type) and not is_float(c.type)]
    candidates += [c for c in columns.values() if c.kind == "boolean"]
    for column in candidates:
        low_high = f"MIN(s.{quote(column.name)}), MAX(s.{quote(column.name)})"
        statement = f"SELECT {low_high} FROM {source.relation} AS s"
        ((low, high),) = embedded().rows(statement, {}, [source], {})
        if (low, high) in ((0, 1), (-1, 1), (False, True)):
            return column.name
    return None


def _write_yaml(value: object) -> str:
    """Return a value as YAML on one line."""
    return yaml.safe_dump(value, default_flow_style=True, width=200).removesuffix("...\n").strip()


def write_starter(path: str, file: Path) -> str:
    """Return the text of a job file with comments for a source.

    Parameters
    ----------
    path : str
        Path, pattern or folder of the predictions.
    file : Path
        The path of the job file; the source is written relative to it.

    Raises
    ------
    SourceError
        If there is no such source.
    """
    source = open_source(path, name="_sqleval_rows")
    source, columns = embedded().describe(source)
    label, score, period = _find_label(columns, source), None, _find_period(columns)
    numbers = [c for c in columns.values() if is_float(c.type) or c.kind == "decimal"]
    score = _find_name(numbers, _SCORE) or (numbers[0].name if numbers else None)
    texts = [c.name for c in columns.values() if c.kind == "text" and c.name != label]
    kind, place = split_kind(path)
    relative = path if is_remote(path) else kind + os.path.relpath(place, file.resolve().parent)
    hint = "    # CHANGE: no such column found among " + " ".join(", ".join(columns).split())
    metrics = ["roc_auc", "log_loss"]
    sets: list[list[str]] = [[], texts[:1]] if texts else [[]]
    has_tests = find_spec("scipy") is not None
    return _TEXT.format(
        worse="" if has_tests else "# ",
        worse_hint="" if has_tests else "    # needs pip install 'sqleval[stats]'",
        file=file.name,
        name=re.sub(r"[^\w.-]", "_", file.stem),
        source=_write_yaml(relative),
        label=_write_yaml(label or "label"),
        label_hint="" if label else hint,
        score=_write_yaml(score or "score"),
        score_hint="" if score else hint,
        period=_write_yaml(period or "day"),
        period_hint="" if period else hint,
        slices=_write_yaml(sets),
        metrics="\n".join(f"  - {name}" for name in metrics),
    )
