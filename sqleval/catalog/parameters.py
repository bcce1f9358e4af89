"""Parses and checks the parameters that a file declares: ``name: type in RANGE = default``."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from math import inf, isnan
from pathlib import Path
from typing import Any, TypeGuard, cast

import yaml

from sqleval.catalog.header import find_key_line, make_error
from sqleval.common.names import find_nearest
from sqleval.common.numbers import convert_scalar, is_real_number
from sqleval.common.sql_text import Cells, Value, write_literal
from sqleval.errors import RequestError

_DECLARED = re.compile(r"^(\w+)(?:\s+in\s+([(\[{].*?[)\]}]))?\s*=\s*(.*)$")
_TYPES: Mapping[str, type] = {
    "float": float,
    "int": int,
    "str": str,
    "bool": bool,
    "series": int,
    "matrix": tuple,
}
#: Kinds of parameters that a file reads as a relation.
_TABLES = ("series", "matrix")
_LONGEST_SERIES = 10_000
#: The parameter that column files read without a declaration: the normal quantile of ``ci=``.
LEVEL = "z"
#: The options that every metric has in addition to the parameters of its file.
_OPTIONS = ("average", "multi_class", "zero_division")


@dataclass(frozen=True)
class Param:
    """A declared parameter.

    Attributes
    ----------
    kind : str
        ``float``, ``int``, ``str``, ``bool``, or a table: ``series`` (a relation of 1 .. n; the
        value is n) or ``matrix`` (a relation of label, prediction and cost).
    default : value
        None for an optional parameter without a default, and for a matrix, which is required.
    within : str or None
        The range, such as ``(0, 1]``, or the choices, such as ``{uniform, quantile}``.
    """

    kind: str
    default: Value
    within: str | None = None

    @property
    def is_table(self) -> bool:
        """Whether the file reads it as a relation."""
        return self.kind in _TABLES

    @property
    def columns(self) -> str:
        """The columns of the relation."""
        return "i" if self.kind == "series" else "label, prediction, cost"

    @property
    def is_required(self) -> bool:
        """Whether a value must be given."""
        return self.kind == "matrix"

    def check(self, where: str, value: object) -> Value:
        """Convert ``value`` to this parameter's type, or raise `RequestError`."""
        if value is None and self.default is None and not self.is_required:
            return None
        if self.is_required:
            return _parse_matrix(where, value)
        expected, value = _TYPES[self.kind], convert_scalar(value)
        if expected is float and isinstance(value, int) and not isinstance(value, bool):
            value = float(value)
        if type(value) is not expected:
            article = "an" if expected is int else "a"
            raise RequestError(f"{where} must be {article} {expected.__name__}, not {value!r}")
        checked = cast("Value", value)
        if self.kind == "series" and not 1 <= cast("int", checked) <= _LONGEST_SERIES:
            raise RequestError(f"{where} must be from 1 to {_LONGEST_SERIES:,}, not {value!r}")
        if self.within and not _is_within(checked, self.within):
            near = (
                find_nearest(checked, _split_range(self.within)) if isinstance(checked, str) else ""
            )
            raise RequestError(f"{where} must be in {self.within}, not {value!r}{near}")
        return checked

    def write_violation(self, sql: str) -> tuple[str, str]:
        """Return the condition that ``sql`` is not an allowed value, and what is allowed."""
        inside, words = f"{sql} IS NOT NULL", "given"
        if self.kind == "series":
            inside, words = f"{sql} BETWEEN 1 AND {_LONGEST_SERIES}", f"1 to {_LONGEST_SERIES:,}"
        elif self.within:
            words = f"in {self.within}"
            choices = _split_range(self.within)
            if self.within[0] == "{":
                inside = f"{sql} IN ({', '.join(map(write_literal, choices))})"
            else:
                # SQL engines order NaN above infinity.
                low, high = (f"CAST('{each}' AS DOUBLE)" for each in choices)
                above = ">=" if self.within[0] == "[" else ">"
                below = "<=" if self.within[-1] == "]" else "<"
                inside = f"{sql} {above} {low} AND {sql} {below} {high}"
        violation = f"({inside}) IS NOT TRUE"
        return (f"{sql} IS NOT NULL AND {violation}" if self.default is None else violation), words

    def __str__(self) -> str:
        within = f" in {self.within}" if self.within else ""
        return f"{self.kind}{within} = {self.default}"


def _split_range(within: str) -> list[str]:
    return [each.strip() for each in within[1:-1].split(",")]


def _is_within(value: Value, within: str) -> bool:
    if within[0] == "{":
        return value in _split_range(within)
    low, high = (float(each) for each in _split_range(within))
    number = cast("float", value)
    above = number >= low if within[0] == "[" else number > low
    below = number <= high if within[-1] == "]" else number < high
    return above and below and not isnan(number)


def parse_parameter(text: str) -> Param:
    """Parse the declaration of a parameter.

    Raises
    ------
    ValueError
        If it is not ``type [in RANGE] = default``.

    Examples
    --------
    >>> parse_parameter("float in (0, 1] = 0.1").check("max_fpr", 1)
    1.0
    """
    match = _DECLARED.match(text)
    if not match or match[1] not in _TYPES:
        raise ValueError(f"it must read 'type [in RANGE] = default', not {text!r}")
    kind, within = match[1], match[2]
    if within and within[0] != "{":
        try:
            low, high = (float(each) for each in _split_range(within))
        except ValueError:
            low = high = inf
        if not -inf <= low < high:
            raise ValueError(f"{within} is not a range")
    try:
        default: Any = yaml.load(match[3], Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader))
        if kind == "float" and isinstance(default, str):
            default = float(default)  # YAML reads 1e-5 as a text
    except (ValueError, yaml.YAMLError) as error:
        raise ValueError(f"the default {match[3]!r} is not a {kind}") from error
    param = Param(kind, None, within)
    if default is None:
        return param
    return replace(param, default=param.check("the default", default))


def _are_cells(value: object) -> TypeGuard[Cells]:
    """Whether a value is a matrix that is already parsed, such as the matrix of a request."""
    if not isinstance(value, tuple) or not value:
        return False
    return all(map(_is_cell, cast("tuple[object, ...]", value)))


def _is_cell(value: object) -> bool:
    values = cast("tuple[object, ...]", value) if isinstance(value, tuple) else ()
    return len(values) == 3 and is_real_number(values[2]) and abs(values[2]) < inf


def _parse_matrix(where: str, value: object) -> Cells:
    """Return {label: {prediction: cost}} as a hashable tuple of cells."""
    expected = f"{where} must be {{label: {{prediction: cost}}}}"
    if _are_cells(value):
        return value
    if not isinstance(value, Mapping) or not value:
        raise RequestError(f"{expected}, not {value!r}")
    cells: list[tuple[str | int, str | int, float]] = []
    for label, row in cast("Mapping[str | int, object]", value).items():
        if not isinstance(row, Mapping):
            raise RequestError(f"{expected}; {label!r} has {row!r}")
        for prediction, cost in cast("Mapping[str | int, object]", row).items():
            if not is_real_number(cost) or not abs(cost) < inf:
                raise RequestError(
                    f"{where}: the cost of {label!r} as {prediction!r} is {cost!r}; it must be a "
                    "finite number"
                )
            cells.append((label, prediction, float(cost)))
    return tuple(cells)


def format_value(value: Value) -> str:
    """Return the text of a parameter's value in a request."""
    if not isinstance(value, tuple):
        return repr(value).removesuffix(".0")
    rows: dict[str | int, dict[str | int, float]] = {}
    for label, prediction, cost in value:
        rows.setdefault(label, {})[prediction] = cost
    return repr(rows)


def read_parameters(path: Path, text: str, header: Mapping[str, Any]) -> dict[str, Param]:
    """Return the parameters that the header of a file declares.

    Raises
    ------
    LoadError
        If a declaration cannot be read.
    """
    written: Any = header.get("params") or {}
    if not isinstance(written, dict):
        line = find_key_line(text, "params")
        raise make_error(path, line, "params must be a mapping, name: type = default")
    declared: dict[str, Param] = {}
    for name, declaration in cast("dict[str, object]", written).items():
        line = find_key_line(text, str(name))
        if not str(name).isidentifier():
            message = f"the name of a parameter has letters, digits and _ alone, not {name!r}"
            raise make_error(path, line, message)
        if name in _OPTIONS:
            message = f"{name!r} is an option of every metric; give the parameter another name"
            raise make_error(path, line, message)
        try:
            declared[name] = parse_parameter(str(declaration or ""))
        except ValueError as error:
            raise make_error(path, line, f"parameter {name!r}: {error}") from error
    return declared
