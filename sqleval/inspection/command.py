"""Writes the command, or the call of Python, that evaluates a source in its roles."""

import shlex
from collections.abc import Mapping, Sequence
from os import PathLike
from typing import Any, cast

from sqleval.binding.arguments import SOURCE_OPTIONS
from sqleval.binding.model_columns import nest_classes
from sqleval.catalog.tasks import has_several_classes
from sqleval.common.visible import show_controls
from sqleval.inspection.roles import Roles


def _list_options(roles: Roles, *, has_missing: bool) -> dict[str, Any]:
    """Return the arguments of `scan`."""
    scores, predictions = roles.scores, roles.predictions
    first_score, first = next(iter(scores.values()), None), next(iter(predictions.values()), None)
    is_named = not roles.facts.has_two_classes and roles.query is None
    options: dict[str, Any] = {
        "label": roles.label,
        "score": scores if len(scores) > 1 or roles.has_classes else first_score,
        "prediction": predictions if len(predictions) > 1 else first,
        "weight": roles.weight,
        "qid": roles.query,
        "role": roles.split,
        "positive": roles.positive,
        "where": roles.where,
        "nulls": "drop" if has_missing else None,
        "task": roles.task if is_named else None,
    }
    return {name: value for name, value in options.items() if value is not None}


def _write_shell(
    verb: str, source: object, query: str | None, options: Mapping[str, Any]
) -> list[str]:
    words = ["sqleval", verb]
    words += [str(source)] if source is not None else []
    words += ["--query", query] if query is not None else []
    for name, value in options.items():
        if name == "verify":  # the only option without a value
            words.append(f"--{name}")
            continue
        if isinstance(value, Mapping):
            named = cast("Mapping[object, object]", value).items()
            values = [f"{key}={column}" for key, column in named]
        else:
            text = str(value)
            is_pair = name in ("score", "prediction") and "=" in text
            values = [f"{name}={text}" if is_pair else text]
        for each in values:
            words += [f"--{name}", each]
    return words


def _join_words(words: Sequence[str]) -> str:
    """Return words as a shell takes them: control characters as bash and zsh have them."""
    return " ".join(_quote_controls(w) if show_controls(w) != w else shlex.quote(w) for w in words)


def _quote_controls(word: str) -> str:
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


def _is_path(source: object) -> bool:
    return isinstance(source, (str, PathLike))


def write_commands(
    opening: Mapping[str, Any], roles: Roles, *, has_missing: bool
) -> Sequence[tuple[str, str]]:
    """Return the commands to run next, each with what it does; none where a role is missing.

    They are of the shell for a path or a query, and of Python for all else. ``opening`` has the
    source and the options that open it.
    """
    source, query, con = (opening[name] for name in ("source", "query", "con"))
    of_source = {name: opening[name] for name in SOURCE_OPTIONS if opening[name]}
    is_shell = con is None and (query is not None or _is_path(source))
    if roles.maybe_label and is_shell:
        words = _write_shell("inspect", source, query, {**of_source, "label": roles.maybe_label[0]})
        return [(f"if {roles.maybe_label[0]} is the label", _join_words(words))]
    has_roles = roles.label is not None and bool(roles.scores or roles.predictions)
    if not (roles.is_counts or has_roles):
        return []
    options = {**of_source, **_list_options(roles, has_missing=has_missing)}
    metric = roles.facts.headline or ""
    if metric == "roc_auc" and not roles.scores:
        metric = "accuracy"
    # By what, the metric, further arguments of `scan`, and whether the worst slice comes first.
    further: list[tuple[str, str, dict[str, Any], bool]] = []
    if metric and not (roles.query or roles.is_counts):
        if roles.by and not roles.split:
            further.append((f"by {roles.by}", metric, {"by": roles.by}, True))
        if roles.fold:
            what = f"the mean over the values of {roles.fold}"
            further.append((what, f"{metric}_macro", {"over": roles.fold}, False))
    if is_shell:
        words = _write_shell("evaluate", source, query, options)
        commands = [("all rows", _join_words(words))]
        for what, name, more, is_sorted in further:
            also = [word for key, value in more.items() for word in (f"--{key}", value)]
            also += ["--worst-first"] if is_sorted else []
            commands.append((what, _join_words([*words, "--metric", name, *also])))
        return commands
    call_options = options if con is None else {**options, "con": _Name("con")}
    commands = [("all rows", f"{_write_python(source, query, call_options)}.evaluate().collect()")]
    for what, name, more, is_sorted in further:
        call = _write_python(source, query, {**call_options, **more})
        arguments = f'"{name}"' + (", worst_first=True" if is_sorted else "")
        commands.append((what, f"{call}.evaluate({arguments}).collect()"))
    return commands


class _Name(str):
    """A name of Python, which is written without quotes."""

    __slots__ = ()

    def __repr__(self) -> str:
        return str(self)
