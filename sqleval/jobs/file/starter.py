"""A job file to start from, and the check of one that was written."""

import os
import re
from collections.abc import Iterable, Mapping
from pathlib import Path

import yaml

from sqleval.common.columns import Column, is_float, is_number
from sqleval.common.sql_text import quote
from sqleval.engines.embedded import embedded
from sqleval.inputs.files import is_remote
from sqleval.inputs.opening import open_source
from sqleval.inputs.source import Source

_TRUTH = re.compile(r"y|label|labels|target|truth|actual|y_true|outcome|class", re.IGNORECASE)
_SCORE = re.compile(
    r"(p|score|prob|proba|probability|y_score|y_prob)(_.*)?|.*_(p|score|prob)", re.IGNORECASE
)
_TEXT = """\
# A job of sqleval: what is evaluated, period by period, and what must hold.
# sqleval validate {file}    checks it
# sqleval run {file}         evaluates what is due; --backfill: every period
name: {name}

# Paths are relative to this file.
source: {source}
label: {label}{doubt_label}
score: {score}{doubt_score}
# score: {{logistic: p_logistic, boosted: p_boosted}}    # several models
# prediction: decided          # a predicted class or value instead of a score
# positive: "yes"              # the positive label, unless it is 1 or true
# weight: w
# where: "country = 'FR'"
nulls: drop                    # rows without label or score; error: they stop the slice

# Labels that arrive later, from another source: a period waits until they are there.
# labels: {{source: labels/, on: key, maturity: 7d}}

# One result a value of these columns.
by: {by}
# slices: [[], [carrier], [carrier, origin]]    # several sets, in place of by

period:
  column: {period}{doubt_period}
  grain: day                   # hour, day, week, month, quarter or year
  # timezone: Europe/Paris     # where a day begins

metrics:
{metrics}
# ci: 0.95                     # intervals

# A DuckDB file, a Delta table (history.delta) or
# {{url: postgresql://user@host/db, password: {{env: PASSWORD}}}}
history: {name}.duckdb

# states: states               # keep what rows come to: for weeks from days, for later metrics

gates:
{gates}
  # - {{check: "drop(roc_auc, previous 7) < 0.02", by: [carrier], min_rows: 500, severity: warn}}
# baseline: {{from: 2026-01-01, to: 2026-01-31}}    # for gates: log_loss <= baseline + 0.01
missing: fail                  # periods and slices without rows: fail, warn or ignore

# report: {name}.html          # a page with the curves; needs pip install 'sqleval[plot]'
# outputs: {{json: {name}.json, junit: {name}.xml, prometheus: {name}.prom}}
"""


def _first(columns: Iterable[Column], pattern: re.Pattern[str]) -> str | None:
    return next((column.name for column in columns if pattern.fullmatch(column.name)), None)


def _period(columns: Mapping[str, Column]) -> str | None:
    times = [c.name for c in columns.values() if c.kind in ("date", "timestamp", "instant")]
    named = [n for n in columns if re.fullmatch(r"day|date|ds|dt|period|.*_(date|day|at)", n, re.I)]
    return next((name for name in named if name in times), None) or (times or named or [None])[0]


def _label(columns: Mapping[str, Column], source: Source) -> str | None:
    """Return the column that is called like a label, or the first of no more than two numbers."""
    named = _first(columns.values(), _TRUTH)
    if named is not None:
        return named
    whole = [c for c in columns.values() if is_number(c.type) and not is_float(c.type)]
    whole += [c for c in columns.values() if c.kind == "boolean"]
    for column in whole:
        low_high = f"MIN(s.{quote(column.name)}), MAX(s.{quote(column.name)})"
        statement = f"SELECT {low_high} FROM {source.relation} AS s"
        ((low, high),) = embedded().rows(statement, {}, [source], {})
        if (low, high) in ((0, 1), (-1, 1), (False, True)):
            return column.name
    return None


def _plain(value: object) -> str:
    return yaml.safe_dump(value, default_flow_style=True, width=200).removesuffix("...\n").strip()


def starter(path: str, file: Path) -> str:
    """Return a commented job file for a source.

    Parameters
    ----------
    path : str
        Path, pattern or folder of the predictions.
    file : Path
        Where the job file will lie; the source is written relative to it.

    Raises
    ------
    SourceError
        If there is no such source.
    """
    source = open_source(path, name="_sqleval_rows")
    source, columns = embedded().describe(source)
    label, score, period = _label(columns, source), None, _period(columns)
    numbers = [c for c in columns.values() if is_float(c.type) or c.kind == "decimal"]
    score = _first(numbers, _SCORE) or (numbers[0].name if numbers else None)
    texts = [c.name for c in columns.values() if c.kind == "text" and c.name != label]
    relative = path if is_remote(path) else os.path.relpath(path, file.resolve().parent)
    change = "    # CHANGE: not found among " + " ".join(", ".join(columns).split())
    metrics = ["roc_auc", "log_loss"]
    return _TEXT.format(
        file=file.name,
        name=re.sub(r"[^\w.-]", "_", file.stem),
        source=_plain(relative),
        label=_plain(label or "label"),
        doubt_label="" if label else change,
        score=_plain(score or "score"),
        doubt_score="" if score else change,
        period=_plain(period or "day"),
        doubt_period="" if period else change,
        by=_plain(texts[:1]),
        metrics="\n".join(f"  - {name}" for name in metrics),
        gates="  - roc_auc >= 0.6",
    )
