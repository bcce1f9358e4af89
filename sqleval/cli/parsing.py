"""Parses the values of options that several commands share."""

import re
from collections.abc import Sequence
from typing import Any

from sqleval.errors import RequestError


def parse_columns(texts: Sequence[str], role: str) -> str | dict[Any, str] | None:
    """Return one COLUMN, or a dict of several NAME=COLUMN."""
    if not texts:
        return None
    if len(texts) == 1 and "=" not in texts[0]:
        return texts[0]
    pairs = [text.partition("=") for text in texts]
    if not all(separator for _, separator, _ in pairs):
        raise RequestError(
            f"several --{role} need names: --{role} NAME=COLUMN --{role} NAME=COLUMN"
        )
    names = [name for name, _, _ in pairs]
    if twice := next((name for name in names if names.count(name) > 1), None):
        raise RequestError(f"--{role} names {twice!r} twice")
    return {name: column for name, _, column in pairs}


def parse_names(texts: Sequence[str]) -> list[str]:
    """Return the names of ``--by a,b --by c``."""
    return [name.strip() for text in texts for name in text.split(",")]


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
