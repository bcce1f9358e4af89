"""The header of a SQL file: a YAML mapping in its first comment."""

import re
from collections.abc import Iterable
from pathlib import Path
from typing import Any, cast

import yaml

from sqleval.common.names import find_nearest
from sqleval.errors import LoadError, get_first_line

#: The keys that a header may have.
HEADER_KEYS = {
    "summary", "formula", "direction", "range", "domain", "params", "reference", "weights",
    "cost", "since", "when", "interval", "order", "across", "means", "variances", "unbinned",
    "bound", "units", "task", "types", "aliases", "band", "allowed",
}  # fmt: skip


def make_error(path: Path, line: int, message: str) -> LoadError:
    """Return the error about a line of a SQL file."""
    return LoadError(f"{path.parent.name}/{path.name}:{line}: {message}")


def read_text(path: Path) -> str:
    """Return the text of a SQL file; raise `LoadError` if it is not UTF-8."""
    try:
        return path.read_text(encoding="utf-8")
    except UnicodeDecodeError as error:
        raise make_error(path, 1, f"the file is not UTF-8: {error.reason}") from error


def find_key_line(text: str, key: str) -> int:
    """Return the line of a key in the header."""
    match = re.search(rf"^\s*{re.escape(key)}\s*:", text, re.MULTILINE)
    return text.count("\n", 0, match.end()) + 1 if match else 1


def read_header(path: Path, text: str) -> dict[str, Any]:
    """Return the header of a SQL file's text.

    Raises
    ------
    LoadError
        If it is not a YAML mapping, or has an unknown key.
    """
    if not text.startswith("/*") or "*/" not in text:
        raise make_error(path, 1, "the file must start with its header, a /* YAML */ comment")
    block = text[2 : text.index("*/")]
    keys = re.findall(r"^(\w+)\s*:", block, re.MULTILINE)
    for key in keys:
        if keys.count(key) > 1:
            raise make_error(
                path, find_key_line(text, key), f"the header has the key {key!r} twice"
            )
    try:
        header: Any = yaml.load(block, Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader))
    except yaml.MarkedYAMLError as error:
        line = error.problem_mark.line + 1 if error.problem_mark else 1
        raise make_error(path, line, f"the header is not YAML: {error.problem}") from error
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        # A control character, a date such as 2026-13-45, or too many brackets.
        reason = get_first_line(error)
        raise make_error(path, 1, f"the header is not YAML: {reason}") from error
    if not isinstance(header, dict):
        raise make_error(path, 1, "the header must be a YAML mapping")
    for key in map(str, cast("dict[object, object]", header)):
        if key not in HEADER_KEYS:
            line = find_key_line(text, key)
            raise make_error(
                path, line, f"unknown header key {key!r}{find_nearest(key, HEADER_KEYS)}"
            )
    return header  # pyright: ignore[reportUnknownVariableType]


def read_aliases(path: Path) -> tuple[str, ...]:
    """Return the other names that a file's header gives it.

    Raises
    ------
    LoadError
        If they are not a list of names.
    """
    text = read_text(path)
    aliases: Any = read_header(path, text).get("aliases") or []
    for alias in cast("Iterable[object]", aliases if isinstance(aliases, list) else [aliases]):
        if not isinstance(aliases, list) or not str(alias).isidentifier():
            line = find_key_line(text, "aliases")
            raise make_error(path, line, f"aliases must be a list of names, not {alias!r}")
    return tuple(cast("list[str]", aliases))
