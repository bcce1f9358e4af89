"""The kinds of values that a job file has beside texts and numbers."""

from __future__ import annotations

import os
import re
from datetime import timedelta
from typing import Annotated, Any

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, WithJsonSchema

from sqleval.errors import RequestError

_UNITS = {"h": "hours", "d": "days", "w": "weeks"}
_SPAN = re.compile(r"(\d+)\s*([hdw])")


def _span(value: object) -> object:
    """Read ``36h``, ``7d`` or ``2w``."""
    if not isinstance(value, str):
        return value
    found = _SPAN.fullmatch(value.strip())
    if found is None:
        raise ValueError(f"{value!r} is no span of time; write 36h, 7d or 2w")
    return timedelta(**{_UNITS[found[2]]: int(found[1])})


Span = Annotated[
    timedelta,
    BeforeValidator(_span),
    WithJsonSchema({"type": "string", "pattern": _SPAN.pattern, "examples": ["36h", "7d", "2w"]}),
]


def or_text(schema: dict[str, Any]) -> None:
    """Let a text stand for the whole where the schema has a mapping, or a list of them."""
    at = schema.get("items", schema)
    kinds = at["anyOf"] if "anyOf" in at else [{"$ref": at.pop("$ref")}]
    at["anyOf"] = [{"type": "string"}, *kinds]


Date = Annotated[str, BeforeValidator(str), WithJsonSchema({"type": ["string", "integer"]})]


class Strict(BaseModel):
    """A part of a job file: an unknown key is an error, and nothing is changed once it is read."""

    model_config = ConfigDict(extra="forbid", frozen=True, protected_namespaces=())


class Environment(Strict):
    """A secret: the name of the environment variable that holds it."""

    env: str = Field(description="Name of an environment variable.")

    def value(self) -> str:
        """Return the secret.

        Raises
        ------
        RequestError
            If the variable is not set.
        """
        if self.env not in os.environ:
            raise RequestError(f"the environment variable {self.env} is not set")
        return os.environ[self.env]
