"""Reads a job file (YAML); errors name the file and the line."""

import os
import re
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, cast, get_args

import yaml
from pydantic import ValidationError

from sqleval.catalog.catalogue import add_folder
from sqleval.common.names import find_nearest
from sqleval.errors import LoadError, RequestError, SourceError
from sqleval.jobs.file.fields import Strict
from sqleval.jobs.file.model import Job
from sqleval.jobs.file.parts import Gate

#: The beginning of an error about a gate or a key, such as label='y' or metrics: ...
_NAMED = re.compile(r"gate '(?P<gate>.*?)': |(?P<key>[a-z_]+(\.[a-z_]+)*)(=|: )")
#: Names of roles in errors, and their keys in a job file.
_KEYS_OF_ROLES = {"by": "slices", "on": "labels.on"}


class _Loader(yaml.SafeLoader):
    """YAML as of version 1.2 (``on`` and ``1:30`` are texts), dates as text, and unique keys.

    A number that begins with 0, such as 010, is a text too, as 08 is in any YAML.
    """

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Any, Any]:
        keys: set[str] = set()
        for key, _ in node.value:
            line = key.start_mark.line + 1
            if not isinstance(key, yaml.ScalarNode):
                raise RequestError(f"{self.name}:{line}: a key must be a text")
            if key.value in keys:
                raise RequestError(f"{self.name}:{line}: the key {key.value!r} occurs twice")
            keys.add(key.value)
        return super().construct_mapping(node, deep)


def _exclude_other_bases(pattern: re.Pattern[str]) -> re.Pattern[str]:
    """Return a pattern of numbers without those of YAML 1.1, in which 1:30 is 90 and 010 is 8."""
    return re.compile(f"(?![^:]*:|[-+]?0[0-9_])(?:{pattern.pattern})", pattern.flags)


_Loader.yaml_implicit_resolvers = {
    first: [
        (tag, _exclude_other_bases(pattern) if tag.endswith((":int", ":float")) else pattern)
        for tag, pattern in resolvers
        if not tag.endswith(":timestamp") and (first in "tTfF" or not tag.endswith(":bool"))
    ]
    for first, resolvers in yaml.SafeLoader.yaml_implicit_resolvers.items()
}


def _find_line(root: yaml.Node | None, location: tuple[int | str, ...]) -> int:
    """Return the line of an error's location in pydantic, or of the closest node around it."""
    node, line = root, 1
    for part in location:
        if isinstance(node, yaml.MappingNode):
            pairs = [(k, v) for k, v in node.value if k.value == str(part)]
            if pairs:
                key, node = pairs[-1]  # the last one: keys merged by << come first
                line = key.start_mark.line + 1
        elif isinstance(node, yaml.SequenceNode) and isinstance(part, int):
            node = node.value[part]
            line = node.start_mark.line + 1
    return line


def _find_named_line(root: Any, text: str) -> int | None:
    """Return the line of the gate or key that an error begins with; None if it names none."""
    match = _NAMED.match(text)
    if match is None or not isinstance(root, yaml.MappingNode):
        return None
    nodes: dict[str, Any] = {key.value: node for key, node in root.value}
    key = match["key"]
    if key is None:
        gates: list[Any] = nodes["gates"].value if "gates" in nodes else []
        lines = (gate.start_mark.line + 1 for gate in gates if match["gate"] in _list_texts(gate))
        return next(lines, None)
    location = (key if key in nodes else _KEYS_OF_ROLES.get(key, key)).split(".")
    return _find_line(root, tuple(location)) if location[0] in nodes else None


def _list_texts(node: Any) -> list[str]:
    """Return the text of a node, or the values of a mapping."""
    is_mapping = isinstance(node, yaml.MappingNode)
    return [value.value for _, value in node.value] if is_mapping else [node.value]


@contextmanager
def locate_errors(path: str | os.PathLike[str]) -> Generator[None]:
    """Add the job file to errors about it, and the line of the key or gate that they name."""
    try:
        yield
    except (RequestError, SourceError) as error:
        text, line = str(error), None
        try:
            loader = _Loader(Path(path).read_text(encoding="utf-8"))
            line = _find_named_line(loader.get_single_node(), text)
        except (OSError, ValueError, yaml.YAMLError):
            pass  # the file has changed since it was read
        error.args = (f"{path}{f':{line}' if line else ''}: {text}",)
        raise


def _list_keys(model: type[Strict]) -> dict[str, Any]:
    """Return the types of the keys of a mapping, by name."""
    return {field.alias or name: field.annotation for name, field in model.model_fields.items()}


def _find_mapping(kind: Any) -> type[Strict] | None:
    """Return the mapping among the types of a key, such as ``Gate`` of ``list[Gate]``."""
    if isinstance(kind, type) and issubclass(kind, Strict):
        return kind
    return next(filter(None, map(_find_mapping, get_args(kind))), None)


def _find_owner(model: type[Strict], location: tuple[int | str, ...]) -> type[Strict]:
    """Return the mapping that has the key at an error's location."""
    for part in location[:-1]:
        model = _find_mapping(_list_keys(model).get(str(part))) or model
    return model


def _format_error(error: Any, model: type[Strict]) -> str:
    """Return the message of one validation error."""
    # For a key of several types pydantic adds the type that it tried, such as list[str].
    tried = ("str", "int", "float", "bool", "Environment")
    parts = [str(part) for part in error["loc"] if part not in tried]
    place = ".".join(part for part in parts if not part.startswith(("list[", "dict[")))
    if error["type"] == "extra_forbidden":
        keys = list(_list_keys(_find_owner(model, error["loc"])))
        nearest = find_nearest(str(error["loc"][-1]), keys)
        return f"no key {place!r}{nearest} (keys: {', '.join(keys)})"
    if error["type"] == "missing":
        return f"{place!r} is needed"
    text = str(error["msg"]).removeprefix("Value error, ")
    if error["type"] == "string_pattern_mismatch":  # of `name`, the only key with a pattern
        text = "only letters, digits, _, . and - are allowed"
    value = error.get("input")
    if error["type"] == "list_type" and isinstance(value, str):
        text = f"write a list: [{value}]"
    # The validators of sqleval (value_error) put the value into the message themselves.
    is_secret = error["loc"][:2] in (("history", "password"), ("history", "options"))
    if error["type"] != "value_error" and isinstance(value, str | int | float) and not is_secret:
        text += f" (given: {value!r})"
    return f"{place}: {text}" if place else text


def _add_sql(folders: Any, file: Path, node: Any) -> None:
    """Add the folders of ``sql:`` to the catalogue, before metrics and gates are read."""
    for i, folder in enumerate(cast("list[Any]", folders) if isinstance(folders, list) else []):
        if isinstance(folder, str):
            try:
                add_folder(file.resolve().parent / folder)
            except LoadError as error:
                line = _find_line(node, ("sql", i))
                raise LoadError(f"{file}:{line}: sql: {error}") from error


def read_job(path: str | os.PathLike[str]) -> Job:
    """Read a job file and check its keys and values.

    Parameters
    ----------
    path : path
        The YAML file. Relative paths in it start in its folder.

    Returns
    -------
    Job

    Raises
    ------
    SourceError
        If there is no such file.
    RequestError
        If it is not YAML, or a key or value is wrong; the message names file and line.
    """
    file = Path(path)
    try:
        text = file.read_text(encoding="utf-8")
    except OSError as error:
        raise SourceError(f"cannot read the job file {str(path)!r}: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise RequestError(f"{path}: not UTF-8: {error}") from error
    try:
        loader = _Loader(text)
        loader.name = str(path)
        node = loader.get_single_node()
        content: Any = {} if node is None else cast("Any", loader).construct_document(node)
    except RequestError:  # about a key; it names the line
        raise
    except yaml.MarkedYAMLError as error:
        line = error.problem_mark.line + 1 if error.problem_mark else 1
        raise RequestError(f"{path}:{line}: not YAML: {error.problem}") from error
    except (yaml.YAMLError, ValueError, AttributeError, RecursionError) as error:
        # PyYAML raises these for a day 2026-13-45, a number of 5,000 digits, 5,000 brackets.
        raise RequestError(f"{path}: not YAML: {error}") from error
    if not isinstance(content, dict):
        raise RequestError(
            f"{path}:1: a job file has keys, such as source: preds/; this one has none"
        )
    _add_sql(cast("dict[Any, Any]", content).get("sql"), file, node)
    try:
        job = Job.model_validate(content)
    except ValidationError as error:
        lines = [
            f"{path}:{_find_line(node, each['loc'])}: {_format_error(each, Job)}"
            for each in error.errors(include_url=False)
        ]
        raise RequestError("\n".join(dict.fromkeys(lines))) from None
    return job.set_file(file.resolve())


def parse_gate(text: str) -> Gate:
    """Parse one gate as it stands in a job file: a check, or a mapping with a check.

    Raises
    ------
    RequestError
        If it cannot be read.

    Examples
    --------
    >>> parse_gate("{check: roc_auc >= 0.7, by: [carrier], severity: warn}").severity
    'warn'
    """
    content: Any = {"check": text}
    if text.lstrip().startswith("{"):
        try:
            content = cast("Any", _Loader(text)).get_single_data()
        except yaml.YAMLError as error:
            raise RequestError(f"gate {text!r}: not YAML: {error}") from error
    try:
        return Gate.model_validate(content)
    except ValidationError as error:
        (first, *_) = error.errors(include_url=False)
        raise RequestError(f"gate {text!r}: {_format_error(first, Gate)}") from None
