"""Types of values in a job file besides texts and numbers."""

from __future__ import annotations

import os
import re
from datetime import timedelta
from typing import Annotated, Any, cast, get_args

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    ValidationInfo,
    WithJsonSchema,
    create_model,
    field_validator,
)

from sqleval.catalog.roles import ROLES, list_added_arguments
from sqleval.catalog.tasks import TASKS, check_task
from sqleval.errors import RequestError

#: The name of a task.
TaskName = Annotated[
    str, AfterValidator(check_task), WithJsonSchema({"type": "string", "enum": [*TASKS]})
]
_UNITS = {
    "h": timedelta(hours=1), "d": timedelta(days=1), "w": timedelta(weeks=1),
    "y": timedelta(days=365, hours=6),
}  # fmt: skip
_LONGEST = 1000 * _UNITS["y"]
_SPAN = re.compile(r"(\d+)\s*([hdwy])")


def parse_span(value: object) -> timedelta:
    """Return ``36h``, ``7d``, ``2w`` or ``1y`` as a timedelta.

    Examples
    --------
    >>> parse_span("2w").days
    14
    """
    if isinstance(value, timedelta):
        return value
    match = _SPAN.fullmatch(str(value).strip())
    if match is None:
        raise ValueError(f"{value!r} is not a span of time; write 36h, 7d, 2w or 1y")
    try:
        span = int(match[1]) * _UNITS[match[2]]
    except OverflowError:
        span = timedelta.max
    if span > _LONGEST:  # there is no time so long before now
        raise ValueError(f"{value!r} is longer than 1000y")
    return span


Span = Annotated[
    timedelta,
    BeforeValidator(parse_span),
    WithJsonSchema({"type": "string", "pattern": _SPAN.pattern, "examples": ["36h", "7d", "1y"]}),
]


def allow_text(schema: dict[str, Any]) -> None:
    """Add the short form to a JSON schema: a text instead of a mapping (or of one in a list)."""
    target = schema.get("items", schema)
    kinds = target["anyOf"] if "anyOf" in target else [{"$ref": target.pop("$ref")}]
    target["anyOf"] = [{"type": "string"}, *kinds]


def allow_one(schema: dict[str, Any]) -> None:
    """Add the short form to a JSON schema of a list: one mapping instead of a list of them."""
    kind = {name: schema.pop(name) for name in ("type", "items")}
    schema["anyOf"] = [dict(kind["items"]), kind]


Date = Annotated[str, BeforeValidator(str), WithJsonSchema({"type": ["string", "integer"]})]


class Strict(BaseModel):
    """A part of a job file: immutable; an unknown key is an error."""

    model_config = ConfigDict(extra="forbid", frozen=True, protected_namespaces=())

    @field_validator("*", mode="before")
    @classmethod
    def _check_no_nul(cls, value: object) -> object:
        """Refuse the character NUL in a text: no path, column or command may hold it."""
        values = cast("list[object]", value) if isinstance(value, list) else [value]
        if any(isinstance(each, str) and "\0" in each for each in values):
            raise ValueError(f"{value!r} holds the character NUL, which no path or name may have")
        return cast("object", value)

    @field_validator("*", mode="before")
    @classmethod
    def _check_no_bool(cls, value: object, info: ValidationInfo) -> object:
        """Refuse true and false for a number, which would be 1 and 0."""
        kind = cls.model_fields[str(info.field_name)].annotation
        kinds = {kind, *get_args(kind)}
        if isinstance(value, bool) and kinds & {int, float} and bool not in kinds:
            raise ValueError(f"{str(value).lower()} is not a number")
        return value


_ADDED: dict[str, Any] = {
    facts.argument: (str | None, Field(default=None, description=facts.help))
    for facts in ROLES.values()
    if facts.argument in list_added_arguments()
}
#: The keys of the roles in the table of roles that `Job` does not write out.
RoleKeys: type[Strict] = create_model("RoleKeys", __base__=Strict, **_ADDED)


class Environment(Strict):
    """A secret, by the name of its environment variable."""

    env: str = Field(description="Name of an environment variable.")

    def read(self) -> str:
        """Return the value of the environment variable.

        Raises
        ------
        RequestError
            If the variable is not set.
        """
        if self.env not in os.environ:
            raise RequestError(f"the environment variable {self.env} is not set")
        return os.environ[self.env]
