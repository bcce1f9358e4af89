"""Writes the first job file for a source, with comments."""

import os
import re
from collections.abc import Mapping
from importlib.util import find_spec
from pathlib import Path

import yaml

from sqleval.common.imports import advise_install
from sqleval.inspection.data import Inspection
from sqleval.inspection.inspect import suggest_roles
from sqleval.inspection.rules import holds_times
from sqleval.sources.stores import expand_home, is_remote, split_kind

_TEXT = """\
# A job of sqleval: predictions are evaluated period by period, and gates check the results.
# sqleval validate {file}    checks this file
# sqleval run {file}         evaluates new and changed periods; --backfill: all periods
name: {name}

# Paths are relative to this file.
source: {source}
{reading}label: {label}{label_hint}
score: {score}{score_hint}
# score: {{logistic: p_logistic, boosted: p_boosted}}    # several models
# prediction: decided          # a predicted class or value instead of a score
{settled}# weight: w
# where: "country = 'FR'"
nulls: drop                    # leave out rows without label or score; error: fail

# Labels from another source; a period is evaluated 7 days after its end.
# labels: {{source: labels/, on: key, maturity: 7d}}

# Sets of slice keys: one result per combination of values; [] is all rows together.
slices: {slices}
# slices: [[], {{night: "hour >= 22 OR hour < 6"}}]    # a key may be an expression in SQL
# by: [carrier]                # one set of keys, instead of slices

period:
  column: {period}{period_hint}
{format}  grain: day                   # hour, day, week, month, quarter or year
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

# report: {name}.html          # a page with the curves; needs {plot}
# outputs: {{json: {name}.json, junit: {name}.xml, prometheus: {name}.prom}}
"""


def _write_yaml(value: object) -> str:
    """Return a value as YAML on one line."""
    return yaml.safe_dump(value, default_flow_style=True, width=200).removesuffix("...\n").strip()


def _write_settled(data: Inspection) -> str:
    """Return the lines of the keys that the rows decide; later rows of another kind fail."""
    columns = [data.columns[name] for name in data.scores.values()]
    keys: dict[str, tuple[object, str]] = {"task": (data.task, "later rows of another kind fail")}
    if data.positive is not None:
        keys["positive"] = (data.positive, "the positive label")
    if columns and all(facts.low >= 0 and facts.high <= 1 for facts in columns):
        keys["threshold"] = (0.5, "positive when score >= threshold")
    lines = ((f"{name}: {_write_yaml(value)}", text) for name, (value, text) in keys.items())
    return "".join(f"{line:<30} # {text}\n" for line, text in lines)


def _write_format(data: Inspection) -> str:
    """Return the line of the date format, if CSV files decided it."""
    settled = re.search(r", dateformat = '([^']*)'", data.source.reader_options)
    if settled is None or settled[1].startswith("%Y"):
        return ""
    return f"  format: {_write_yaml(settled[1]):<20} # of the dates in every file\n"


def write_starter(
    path: str,
    file: Path,
    rows: str | None = None,
    csv: Mapping[str, object] | None = None,
) -> str:
    """Return the text of a job file with comments for a source.

    Parameters
    ----------
    path : str
        Path, pattern or folder of the predictions.
    file : Path
        The path of the job file; the source is written relative to it.
    rows : str, optional
        The field of JSON documents that holds the rows.
    csv : mapping of str to object, optional
        Options of CSV files.

    Raises
    ------
    SourceError
        If there is no such source.
    """
    path = expand_home(path)
    data = suggest_roles(path, rows, csv)
    label, score = data.single.get("label"), next(iter(data.scores.values()), None)
    models: Mapping[str, str] = {} if data.has_classes or len(data.scores) < 2 else data.scores
    # The first source may hold a single period.
    times = (facts.name for facts in data.columns.values() if holds_times(facts))
    period = data.single.get("time") or next(times, None)
    kind, place = split_kind(path)
    relative = path if is_remote(path) else kind + os.path.relpath(place, file.resolve().parent)
    hint = "    # CHANGE: no such column found among " + " ".join(", ".join(data.columns).split())
    metrics = ["roc_auc", "log_loss"]
    # Results have a key of this name already.
    by = data.single.get("slices")
    is_taken = by == "class" or (by == "model" and bool(models))
    sets: list[list[str]] = [[], [by]] if by and not is_taken else [[]]
    has_tests = find_spec("scipy") is not None
    return _TEXT.format(
        settled=_write_settled(data),
        worse="" if has_tests else "# ",
        worse_hint="" if has_tests else f"    # needs {advise_install('stats')}",
        plot=advise_install("plot"),
        file=file.name,
        name=re.sub(r"[^\w.-]", "_", file.stem),
        source=_write_yaml(relative),
        label=_write_yaml(label or "label"),
        label_hint="" if label else hint,
        score=_write_yaml(models or score or "score"),
        score_hint="" if score else hint,
        period=_write_yaml(period or "day"),
        period_hint="" if period else hint,
        reading="".join(
            f"{key}: {_write_yaml(value)}\n"
            for key, value in (("rows", rows), ("csv", csv))
            if value
        ),
        format="" if csv and "date_format" in csv else _write_format(data),
        slices=_write_yaml(sets),
        metrics="\n".join(f"  - {name}" for name in metrics),
    )
