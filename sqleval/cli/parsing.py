"""Parses the values of options that several commands share."""

import re
from collections.abc import Mapping, Sequence
from typing import Any

from sqleval.binding.model_columns import nest_classes
from sqleval.errors import RequestError

#: A word before "=" is a name; so is any other text before "=" and the name of a column.
_NAMED = (
    re.compile(r"([\w.+-]+)=(?!=)(.*)", re.DOTALL),
    re.compile(r"(?![\w.\s]*[<>!]=)(.*[^\s=])=([\w.-]+)", re.DOTALL),
)


def split_name(text: str) -> tuple[str | None, str]:
    """Return the name and the column of NAME=COLUMN; no name for a column or an expression.

    Examples
    --------
    >>> split_name("a=x / 10"), split_name("on time=p_late"), split_name("outcome = 'won'")
    (('a', 'x / 10'), ('on time', 'p_late'), (None, "outcome = 'won'"))
    """
    match = next(filter(None, (pattern.fullmatch(text) for pattern in _NAMED)), None)
    return (match[1], match[2]) if match else (None, text)


def parse_columns(texts: Sequence[str], role: str) -> str | dict[Any, str] | None:
    """Return one COLUMN, or a dict of several NAME=COLUMN."""
    if not texts:
        return None
    pairs = [split_name(text) for text in texts]
    names = [name for name, _ in pairs if name is not None]
    if len(texts) == 1 and not names:
        return texts[0]
    if len(names) < len(pairs):
        raise RequestError(
            f"several --{role} need names: --{role} NAME=COLUMN --{role} NAME=COLUMN"
        )
    if twice := next((name for name in names if names.count(name) > 1), None):
        raise RequestError(f"--{role} names {twice!r} twice")
    return dict(zip(names, (column for _, column in pairs), strict=True))


def nest_columns(
    columns: str | dict[Any, str] | None, role: str, label: str | dict[Any, str] | None
) -> Any:
    """Return columns by model and class, if their names are MODEL.CLASS and not those of labels."""
    if not isinstance(columns, dict):
        return columns
    if {*columns} == {*(label or ())}:
        return columns
    return nest_classes(columns, role)


def split_commas(text: str) -> list[str]:
    """Return the parts of a text between commas that no bracket or quote encloses.

    Examples
    --------
    >>> split_commas("a, round(b, 1), 'c,d'")
    ['a', 'round(b, 1)', "'c,d'"]
    """
    parts, depth, quote = [""], 0, ""
    for char in text:
        if char == "," and not depth and not quote:
            parts.append("")
            continue
        parts[-1] += char
        if quote:
            quote = "" if char == quote else quote
        elif char in "'\"":
            quote = char
        else:
            depth += (char in "([") - (char in ")]")
    return [part.strip() for part in parts]


def parse_threshold(texts: Sequence[str]) -> float | dict[str, float] | None:
    """Return one threshold, or a dict of several NAME=NUMBER.

    Examples
    --------
    >>> parse_threshold([".3"]), parse_threshold(["a=.3", "b=.5"])
    (0.3, {'a': 0.3, 'b': 0.5})
    """
    if len(texts) == 1 and "=" not in texts[0]:
        return _parse_number(texts[0])
    named: dict[str, float] = {}
    for text in texts:
        name, _, number = text.rpartition("=")
        if not name or name in named:
            what = f"names {name!r} twice" if name else "needs a name of each model"
            raise RequestError(f"--threshold {text!r} {what}: --threshold a=0.3 --threshold b=0.5")
        named[name] = _parse_number(number)
    return named or None


def _parse_number(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise RequestError(
            f"--threshold {text!r} must be a number, or NAME=NUMBER for each model"
        ) from None


def parse_long(roles: Mapping[str, Any]) -> dict[str, Any]:
    """Return the arguments of long rows among a command's options, if it has them."""
    if "long" not in roles:
        return {}
    return {
        "long": parse_columns(roles["long"], "long"),
        "key": [name for name in parse_names(roles["key"]) if name] or None,
    }


def parse_names(texts: Sequence[str]) -> list[str]:
    """Return the names of ``--by a,b --by c``."""
    return [name for text in texts for name in split_commas(text)]


def parse_slice_keys(texts: Sequence[str]) -> list[str] | dict[str, str]:
    """Return the names of ``--by a,b``, or names and expressions if there is a ``NAME=SQL``."""
    named = [re.fullmatch(r"\s*(\w+)\s*=(.*)", text, re.DOTALL) for text in texts]
    if not any(named):
        return parse_names(texts)
    keys: dict[str, str] = {}
    for text, match in zip(texts, named, strict=True):
        for name, sql in [match.groups()] if match else ((n, n) for n in parse_names([text])):
            if name in keys:
                raise RequestError(f"--by names {name!r} twice")
            keys[name] = sql.strip()
    return keys


def parse_sets(text: str | None) -> Any:
    """Return the sets of keys of ``--sets``."""
    if text is None or text in ("overall", "rollup", "cube"):
        return text
    return [[key.strip() for key in each.split(",") if key.strip()] for each in text.split(";")]
