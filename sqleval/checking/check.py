"""Checks the metrics and curves of a folder on generated rows, and lists what holds or fails."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Literal, NamedTuple

from sqleval.catalog.catalogue import add_folder, builtin
from sqleval.catalog.contract import Relation
from sqleval.catalog.relations import CONTRACT
from sqleval.catalog.tasks import TASKS
from sqleval.checking.data import Data, make_data
from sqleval.checking.properties import Wrong
from sqleval.checking.table import CLASS_CHECKS, CURVE_CHECKS, METRIC_CHECKS, Check
from sqleval.errors import LoadError, MissingExtra, RequestError, SqlevalError

Status = Literal["holds", "does not apply", "fails"]
#: The names of metrics or of curves.
Names = Sequence[str]


class Finding(NamedTuple):
    """The outcome of a check of a file: a row of the result."""

    file: str
    name: str
    check: str
    status: Status
    detail: str | None = None


def check_folder(folder: str | Path) -> list[Finding]:
    """Check each file of a folder of SQL files on generated rows.

    The folder is added to the catalogue of the process.

    Parameters
    ----------
    folder : path
        A folder with one subfolder per family.

    Returns
    -------
    list of Finding
        Each check of each file: it holds, fails or does not apply.

    Raises
    ------
    LoadError
        If the folder holds no SQL files, or a name that is taken.
    """
    path = Path(folder).resolve()
    add_folder(path)
    findings: list[Finding] = []
    files: dict[str, str] = {}
    for name, paths_of_name in builtin().names.items():
        inside = [file for file in paths_of_name if path in file.parents]
        if inside:
            files[name] = str(inside[0].relative_to(path))
            findings.append(_read(name, files[name]))
    readable = [finding.name for finding in findings if finding.status == "holds"]
    relations = [builtin().get(name) for name in readable if name not in CONTRACT]
    for (name, check), results in _check_relations(relations).items():
        findings.append(Finding(files[name], name, check, *_merge(results)))
    order = list(dict.fromkeys(finding.file for finding in sorted(findings)))
    return sorted(findings, key=lambda finding: order.index(finding.file))


def _read(name: str, file: str) -> Finding:
    """Return whether a file and its twins can be read, and their inputs have the columns."""
    try:
        for relation in builtin().files(name):
            # Errors in a step are found through the metrics and curves that read it.
            if relation.kind in ("metric", "curve"):
                builtin().list_parameters(relation, relation.when)
    except LoadError as error:
        return Finding(file, name, "reads", "fails", str(error))
    return Finding(file, name, "reads", "holds")


#: The status of a check and its message, by task.
_Results = dict[str, tuple[Status, str | None]]


def _merge(results: _Results) -> tuple[Status, str | None]:
    """Return the status of a check over all tasks: a failure counts first, then a success."""
    order: tuple[Status, ...] = ("fails", "holds", "does not apply")
    task = min(results, key=lambda task: order.index(results[task][0]))
    status, detail = results[task]
    return status, f"{task}: {detail}" if status == "fails" and len(results) > 1 else detail


def _check_relations(relations: Sequence[Relation]) -> dict[tuple[str, str], _Results]:
    """Return the results of all checks of files, by name and check."""
    results: dict[tuple[str, str], _Results] = {}
    for task, facts in TASKS.items():
        data = make_data(task)
        of_models = replace(data, roles=data.models)
        groups: dict[str, list[str]] = {}
        for each in (each for each in relations if task in each.tasks):
            # Metrics of a label are those of two classes, which are checked there.
            if facts.has_many_labels and not each.is_per_row:
                continue
            is_averaged = facts.has_several_classes and each.is_per_class
            kind = "class" if is_averaged and each.kind == "metric" else each.kind
            kind = "models" if each.header.get("across") == "model" else kind
            groups.setdefault(kind, []).append(each.name)
        for kind, checks, rows in (
            ("metric", METRIC_CHECKS, data), ("class", CLASS_CHECKS, data),
            ("curve", CURVE_CHECKS, data), ("models", CURVE_CHECKS, of_models),
        ):  # fmt: skip
            for check_name, check in checks.items():
                for name, result in _run(check, rows, groups.get(kind, [])).items():
                    results.setdefault((name, check_name), {})[task] = result
    return results


def _run(check: Check, data: Data, names: Names) -> dict[str, tuple[Status, str | None]]:
    """Return the result of a check for each file."""
    results: dict[str, tuple[Status, str | None]] = {}
    texts: list[str] = []
    for name in names:
        tables = [key for key, each in builtin().parameters(name).items() if each.is_required]
        text = f"{name}({tables[0]}={data.costs})" if tables else name
        try:
            check.ask(data, text)
        except (RequestError, MissingExtra) as error:
            results[name] = ("does not apply", str(error))
        else:
            texts.append(text)
    wrong = _key_by_name(_find(check, data, texts))
    right = [text for text in texts if not wrong.get(text.partition("(")[0])]
    told = _key_by_name(check.tell(data, right)) if right else {}
    for name in names:
        message = wrong.get(name)
        results.setdefault(name, ("fails", message) if message else ("holds", told.get(name)))
    return results


def _key_by_name(texts: Mapping[str, str]) -> dict[str, str]:
    return {metric.partition("(")[0]: text for metric, text in texts.items()}


def _find(check: Check, data: Data, texts: Names) -> Wrong:
    """Return the faults of metrics; an error is assigned to the metric that raises it."""
    if not texts:
        return {}
    try:
        return check.find(data, texts)
    except SqlevalError as error:
        if len(texts) == 1:
            return {texts[0]: str(error)}
    half = len(texts) // 2
    return {**_find(check, data, texts[:half]), **_find(check, data, texts[half:])}
