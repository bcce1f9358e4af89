"""Writes the command, or the Python call, that evaluates a source with its roles."""

import re
import shlex
from collections.abc import Mapping, Sequence
from functools import partial
from os import PathLike
from pathlib import Path
from typing import Any, cast

from sqleval.binding.arguments import SOURCE_OPTIONS
from sqleval.binding.model_columns import nest_classes
from sqleval.catalog.roles import ROLES
from sqleval.catalog.tasks import TASKS, has_several_classes
from sqleval.common.sql_text import write_literal
from sqleval.common.visible import show_controls
from sqleval.inspection.data import Inspection, list_nested
from sqleval.inspection.shape import Look

#: Options without a value.
_FLAGS = ("verify", "worst-first", "common")
#: Options that are arguments of `evaluate`, not of `scan`.
_OF_EVALUATE = ("metric", "worst-first", "ci", "cluster")


def _list_options(data: Inspection, *, has_missing: bool) -> dict[str, Any]:
    """Return the arguments of `scan`."""
    several = {"score": data.scores, "prediction": data.predictions}
    roles: dict[str, Any] = {**data.single}
    for role, columns in several.items():
        is_named = len(columns) > 1 or (role == "score" and data.has_classes)
        roles[role] = columns if is_named else next(iter(columns.values()), None)
    options = {facts.argument: roles.get(role) for role, facts in ROLES.items()}
    is_task_named = not data.task_facts.has_two_classes and not data.task_facts.has_queries
    options |= {
        "positive": data.positive,
        "where": data.where,
        "nulls": "drop" if has_missing else None,
        "task": data.task if is_task_named else None,
        "common": (has_missing and _differ_in_missing(data)) or None,
    }
    return {name: value for name, value in options.items() if value is not None}


def _differ_in_missing(data: Inspection) -> bool:
    """Whether some of several models lack rows that others have."""
    by_model: dict[str, list[int]] = {}
    for name, column in data.scores.items():
        model = name.rpartition(".")[0] if data.has_classes else name
        by_model.setdefault(model, []).append(data.columns[column].missing)
    return len({max(counts) for counts in by_model.values()}) > 1


def _write_shell(verb: str, source: object, query: str | None, options: Mapping[str, Any]) -> str:
    words = ["sqleval", *verb.split()]
    words += [str(source)] if source is not None else []
    words += ["--query", query] if query is not None else []
    for name, value in options.items():
        if name in _FLAGS:
            words.append(f"--{name}")
            continue
        if isinstance(value, Mapping):
            named = cast("Mapping[object, object]", value).items()
            values = [f"{key}={_write_value(each)}" for key, each in named]
        elif isinstance(value, list):
            values = [",".join(map(str, cast("list[object]", value)))]
        else:
            text = str(value)
            # A word before = would be the name of a model.
            is_pair = name in ("score", "prediction") and re.match(r"[^=<>!]*[^=<>!\s]=\S", text)
            values = [f"{name}={text}" if is_pair else text]
        for each in values:
            words += [f"--{name}", each]
    return " ".join(map(quote_word, words))


def _write_value(value: object) -> str:
    """Return a value of ``NAME=VALUE`` as the command reads it."""
    if isinstance(value, Mapping):
        pairs = cast("Mapping[object, object]", value).items()
        return "|".join(f"{name}:{each}" for name, each in pairs)
    if isinstance(value, (list, tuple)):
        return "|".join(map(str, cast("Sequence[object]", value)))
    return str(value)


def quote_word(word: str) -> str:
    """Return a word as a shell reads it, in double quotes if it has single ones."""
    if show_controls(word) != word:
        return _quote_controls(word)
    if "'" in word and not {*word} & {*'"$`\\!'}:
        return f'"{word}"'
    return shlex.quote(word)


def _quote_controls(word: str) -> str:
    """Return a word with control characters quoted as bash and zsh read them."""

    def write(char: str) -> str:
        if show_controls(char) != char:
            return f"\\U{ord(char):08x}"
        return f"\\{char}" if char in "\\'" else char

    return f"$'{''.join(map(write, word))}'"


def _write_python(source: object, query: str | None, options: Mapping[str, Any]) -> str:
    if isinstance(score := options.get("score"), Mapping) and has_several_classes(
        options.get("task")
    ):
        options = {**options, "score": nest_classes(cast("Mapping[str, str]", score))}
    arguments = [f"{name}={value!r}" for name, value in options.items()]
    if query is not None:
        arguments.insert(0, f"query={query!r}")
    if isinstance(source, (str, list)):
        arguments.insert(0, repr(cast("object", source)))
    elif query is None or source is not None:
        arguments.insert(0, "SOURCE")
    return f"sqleval.scan({', '.join(arguments)})"


def _list_looks(data: Inspection) -> list[tuple[str, dict[str, Any]]]:
    """Return the evaluations to run, all rows first: a description, and further options."""
    looks: list[tuple[str, dict[str, Any]]] = [("all rows", {})]
    if data.other_task is not None and not data.scores:
        read_as = "classes" if TASKS[data.other_task].has_classes else "numbers"
        label = data.single["label"]
        looks.append((f"if the values of {label} are {read_as}", {"task": data.other_task}))
    metric = data.task_facts.headline
    if not metric or data.is_counts:
        return looks
    if metric == "roc_auc" and not data.scores:
        metric = "accuracy"
    if (by := data.single.get("slices")) and "role" not in data.single:
        looks.append((f"by {by}", {"metric": metric, "by": by, "worst-first": True}))
    if fold := data.single.get("fold"):
        what = f"the mean over the values of {fold}"
        looks.append((what, {"metric": f"{metric}_macro", "over": fold}))
    return looks


def _is_path(source: object) -> bool:
    return isinstance(source, (str, PathLike))


def write_commands(
    opening: Mapping[str, Any], data: Inspection, *, has_missing: bool
) -> Sequence[tuple[str, str]]:
    """Return the commands to run next, each with a description; none if a role is missing.

    They are shell commands for a path or a query, and Python calls for all other sources.
    ``opening`` has the source and the options that open it.
    """
    source, query, con = (opening[name] for name in ("source", "query", "con"))
    options = {name: opening[name] for name in SOURCE_OPTIONS if opening[name]}
    is_shell = con is None and (query is not None or _is_path(source))
    if data.maybe_label and is_shell:
        words = _write_shell("inspect", source, query, {**options, "label": data.maybe_label})
        return [(f"if {data.maybe_label} is the label", words)]
    more = {} if con is None else {"con": _Name("con")}
    write = partial(_write_shell, "evaluate") if is_shell else _write_evaluation
    commands: list[tuple[str, str]] = []
    is_usual = (data.shape is None or data.shape.is_open) and not list_nested(data)
    has_scores = data.scores and (data.has_classes or data.task_facts.has_one_score)
    if data.is_counts or (is_usual and data.label and (has_scores or data.predictions)):
        usual = options | _list_options(data, has_missing=has_missing) | more
        commands += [(what, write(source, query, usual | look)) for what, look in _list_looks(data)]
        if data.task_facts.has_values:
            curve = data.task_facts.unscored_curves[0]
            python = f"{_write_python(source, query, usual)}.curve({curve!r}).collect()"
            shell = _write_shell(f"curve {curve}", source, query, usual)
            commands.append(("by quantile of the prediction", shell if is_shell else python))
    for look in data.shape.looks if data.shape is not None else ():
        given = options | _list_look_options(data, look, has_missing=has_missing) | more
        if "csv" in look.options:
            given["csv"] = {**options.get("csv", {}), **look.options["csv"]}
        if look.verb == "inspect":
            shell = _write_shell("inspect", source, query, given)
            python = _write_python(source, query, given).replace("scan", "inspect", 1)
            commands.append((look.what, shell if is_shell else python))
        elif look.query is None:
            commands.append((look.what, write(source, query, given)))
        elif is_shell and (file := _find_one_file(source, options)):
            text = look.query.format(write_literal(file))
            commands.append((look.what, _write_shell("evaluate", None, text, given)))
    return commands


def _list_look_options(data: Inspection, look: Look, *, has_missing: bool) -> dict[str, Any]:
    """Return the arguments of an evaluation of a shape, with the user's condition."""
    options = dict(look.options)
    if look.verb == "inspect":
        return options
    if data.where is not None:
        own = options.get("where")
        options["where"] = data.where if own is None else f"({data.where}) AND ({own})"
    if has_missing:
        options["nulls"] = "drop"
    return options


def _find_one_file(source: object, options: Mapping[str, Any]) -> str | None:
    """Return the path of a source that DuckDB reads by its name alone."""
    path = str(source)
    is_plain = Path(path).is_file() and path.endswith((".csv", ".parquet", ".jsonl"))
    return path if is_plain and not options else None


def _write_evaluation(source: object, query: str | None, options: Mapping[str, Any]) -> str:
    """Return the Python call for the options of ``sqleval evaluate``."""
    bound = {name: each for name, each in options.items() if name not in _OF_EVALUATE}
    given = [f'"{options["metric"]}"'] if "metric" in options else []
    given += ["worst_first=True"] if "worst-first" in options else []
    given += [f"{name}={options[name]!r}" for name in ("ci", "cluster") if name in options]
    return f"{_write_python(source, query, bound)}.evaluate({', '.join(given)}).collect()"


class _Name(str):
    """A name of Python, which is written without quotes."""

    __slots__ = ()

    def __repr__(self) -> str:
        return str(self)
