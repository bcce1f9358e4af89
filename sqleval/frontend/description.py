"""Describes predictions for consoles and notebooks."""

from collections.abc import Mapping, Sequence
from typing import cast

from sqleval.binding.binding import Binding
from sqleval.catalog.roles import name_argument
from sqleval.common.visible import escape_html, show_controls


def list_roles(binding: Binding) -> dict[str, object]:
    """Return the columns of each role: one, a list, or a mapping from model or class."""
    roles: dict[str, object] = {name_argument(role): column.name for role, column in binding.roles}
    if binding.models and not binding.classes:
        roles[binding.model_role] = {name: column.name for name, (column,) in binding.models}
    elif binding.models:
        classes = [value for value, _ in binding.classes]
        roles["score"] = {
            model: {value: column.name for value, column in zip(classes, columns, strict=True)}
            for model, columns in binding.models
        }
    elif binding.classes:
        roles["score"] = {name: column.name for name, column in binding.classes}
    models = [model for model, _ in binding.models]
    if binding.predictions:
        names = [column.name for column in binding.predictions]
        roles["prediction"] = dict(zip(models, names, strict=True))
    if binding.thresholds:
        roles["threshold"] = dict(zip(models, binding.thresholds, strict=True))
    if binding.by:
        roles["by"] = [column.name for column in binding.by]
    return roles


def write_line(binding: Binding, label: str) -> str:
    """Return a line with the task, the source and the columns of the roles."""
    shown = ", ".join(f"{role}={value!r}" for role, value in list_roles(binding).items())
    return show_controls(f"<Predictions ({binding.task}) of {label}: {shown}>")


def write_table(binding: Binding, label: str) -> str:
    """Return the parts of `write_line` as an HTML table."""
    rows = "".join(
        f"<tr><th style='text-align: left'>{escape_html(name)}</th>"
        f"<td style='text-align: left'>{escape_html(join_names(value))}</td></tr>"
        for name, value in {"task": binding.task, "source": label, **list_roles(binding)}.items()
    )
    return f"<table><caption>Predictions</caption>{rows}</table>"


def join_names(value: object) -> str:
    """Return the columns of a role as text."""
    if isinstance(value, dict):
        pairs = cast("Mapping[object, object]", value).items()
        return ", ".join(f"{name} = {column}" for name, column in pairs)
    if isinstance(value, list):
        return ", ".join(map(str, cast("Sequence[object]", value)))
    return str(value)
