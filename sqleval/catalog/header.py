"""Reads and checks the header of a SQL file, a YAML mapping in its first comment."""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, cast

import yaml

from sqleval.catalog.chart import CHART_KEYS, KINDS
from sqleval.catalog.tasks import list_kinds
from sqleval.common.names import find_nearest
from sqleval.common.numbers import is_real_number
from sqleval.errors import LoadError, get_first_line

_Header = Mapping[str, Any]
#: Keys of a header, each with the message about it.
_Problems = Iterator[tuple[str, str]]
#: The keys that a header may have.
HEADER_KEYS = {
    "summary", "formula", "direction", "range", "domain", "params", "reference", "weights",
    "cost", "since", "when", "interval", "order", "across", "means", "centres", "variances",
    "unbinned", "bound", "units", "task", "types", "aliases", "band", "test", "scale",
    "expectation", "no_information", "chart", "repeat", "version", "same_as",
    "row_value",
}  # fmt: skip
#: The conditions that a twin may name in ``when`` (or as its second suffix), and their meaning.
CONDITIONS: Mapping[str, str] = {
    "duckdb": "the engine is DuckDB",
    "unweighted": "no weights are bound",
    "rows": "the plan works on rows, not on distinct scores",
    "few_rows": "there are few rows",
    "sorted": "rows are sorted by one number for slice, score and label",
    "runs": "neighbouring negatives form one unit",
    "thresholded": "the prediction is the score at a threshold",
    "several_thresholds": "several metrics decide at different thresholds",
    "multiclass": "the task is multi-class",
    "unscored": "the task is multi-class, and classes have no scores",
    "many_labels": "each label of rows of many labels is evaluated by itself",
    "one_vs_rest": "one class is judged against the others",
    "one_vs_one": "one class is judged against one other",
    "binned": "scores are binned",
    "bucketed": "windows run within buckets of the score, for engines of several machines",
    "arranged": "the rows within a bin are arranged in a given order",
    "grouped": "groups are assigned, not rows",
    "intervals": "intervals are asked for (ci=)",
}

#: The files with further columns of a metric, ``NAME.WORD.sql``: the condition under which the
#: metric has these columns, and the columns that the file must return.
COLUMN_FILES: Mapping[str, tuple[str, tuple[str, ...]]] = {
    "bounds": ("binned", ("low", "high")),
    "stderr": ("intervals", ("stderr",)),
    "ranks": ("intervals", ("lower", "upper")),
}

#: Keys that a file may aggregate over: its ``slice`` then lacks this key of the relation it reads.
#: A step of all slices together has no ``slice``.
ACROSS = ("matrices", "model", "query", "slices")

#: Measures of the uncertainty that a bin causes; the steps are ``refined_bins_by_pairs`` and so on.
BOUNDS = ("pairs", "precision", "distance")

#: The endings of the names of columns: a variance, and the mean that it is taken around. The name
#: of the column that they belong to comes first.
VARIANCE, CENTRE = "_variance", "_centre"

#: The methods of intervals, and the columns from which each is computed. A metric has the method
#: that its header names, or else the first one whose columns it returns. With ``none`` in its
#: header it has no interval, not even from the bootstrap.
INTERVALS: Mapping[str, tuple[str, ...]] = {
    "wilson": ("successes", "trials"),
    "wilson of the prevalence": ("positives", "trials"),
    "delong": ("stderr", "pairs"),
    "order statistics": ("lower", "upper"),
    "normal": ("stderr",),
    "delta": ("stderr",),
    "none": (),
}
#: The tests of a difference of two models that a header may name: for areas under ROC curves, and
#: for rates of right rows. A mean of row losses needs no key.
TESTS = ("delong", "mcnemar")
#: How a metric is computed from calibrated scores before labels come: as its exact expectation, or
#: not at all, because it measures calibration. Without the key, expected counts are used.
EXPECTATIONS = ("exact", "none")
#: The types of columns that are not DOUBLE: a count of rows (with weights, a sum of weights), a
#: whole number, a text, or a class in the label's type.
TYPES = ("count", "integer", "text", "class")
_VALUES = {
    "task": list_kinds(),
    "direction": ("higher", "lower", "none"),
    "weights": ("frequency", "none"),
    "across": ACROSS,
    "bound": BOUNDS,
    "interval": tuple(INTERVALS),
    "units": ("runs",),
    "cost": ("n^2", "n log^2 n"),
    "test": TESTS,
    "expectation": EXPECTATIONS,
    "domain": ("score: 0 .. 1",),
}
_REQUIRED = {
    "metric": {
        "summary",
        "formula",
        "direction",
        "range",
        "reference",
        "task",
        "weights",
        "since",
    },
    "curve": {"summary", "formula", "reference", "task", "weights", "since"},
    "split": {"summary", "formula", "reference", "since"},
}


def make_error(path: Path, line: int, message: str) -> LoadError:
    """Return the error about a line of a SQL file."""
    return LoadError(f"{path.parent.name}/{path.name}:{line}: {message}")


def find_home(path: Path) -> Path:
    """Return the folder of a file's family; the family of steps, ``base``, has subfolders."""
    return path.parents[1] if path.parents[1].name == "base" else path.parent


def find_column_word(path: Path) -> str | None:
    """Return the key of `COLUMN_FILES` in a file's name; None for any other file."""
    words = path.name.split(".")[1:-1]
    return words[0] if len(words) == 1 and words[0] in COLUMN_FILES else None


def read_text(path: Path) -> str:
    """Return the text of a SQL file; raise `LoadError` if it is not UTF-8."""
    try:
        # Editors on Windows may write a byte order mark.
        return path.read_text(encoding="utf-8-sig")
    except UnicodeDecodeError as error:
        raise make_error(path, 1, f"the file is not UTF-8: {error.reason}") from error


def find_key_line(text: str, key: str) -> int:
    """Return the line of a key in the header."""
    match = re.search(rf"^\s*{re.escape(key)}\s*:", text, re.MULTILINE)
    return text.count("\n", 0, match.end()) + 1 if match else 1


def find_word_line(text: str, word: str) -> int:
    """Return the first line below the header that contains a word outside of comments."""
    lines = text.splitlines()
    first = text.count("\n", 0, text.index("*/"))
    for number, line in enumerate(lines[first:], first + 1):
        if re.search(rf"\b{re.escape(word)}\b", line.partition("--")[0], re.IGNORECASE):
            return number
    return 1


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
        has_colon = "mapping values" in str(error.problem)
        hint = "; a text with a colon stands in quotes" if has_colon else ""
        raise make_error(path, line, f"the header is not YAML: {error.problem}{hint}") from error
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        # A control character, a date such as 2026-13-45, or too many brackets.
        reason = get_first_line(error)
        raise make_error(path, 1, f"the header is not YAML: {reason}") from error
    if not isinstance(header, dict):
        raise make_error(path, 1, "the header must be a YAML mapping")
    for key in map(str, cast("dict[object, object]", header)):
        if key not in HEADER_KEYS:
            line = find_key_line(text, key)
            near = (
                find_nearest(key, HEADER_KEYS) or f"; the keys are {', '.join(sorted(HEADER_KEYS))}"
            )
            raise make_error(path, line, f"unknown header key {key!r}{near}")
    return header  # pyright: ignore[reportUnknownVariableType]


def _is_text(value: object) -> bool:
    return value not in (None, "") and not isinstance(value, (list, dict))


def _is_list(value: object, *sizes: int) -> bool:
    return isinstance(value, list) and len(cast("list[object]", value)) in sizes


#: Keys with free values: the test of a value, and the words of an error.
_FORMS: Mapping[str, tuple[Callable[[Any], bool], str]] = {
    **dict.fromkeys(("summary", "formula", "reference"), (_is_text, "be a text")),
    "scale": (lambda value: is_real_number(value) and value > 0, "be a number above 0"),
    "version": (lambda value: type(value) is int and value >= 1, "be a whole number from 1"),
    "range": (lambda value: _is_range(str(value)), "read '0 .. 1'"),
    "types": (
        lambda value: not value or isinstance(value, dict),
        "be a mapping, name of a column: type",
    ),
    "band": (
        lambda value: not value or _is_list(value, 3, 4),
        "be [x, y, lines], [x, y, steps], [x, y, points] or [x, y, thresholds], x and y columns",
    ),
}


def check_header(path: Path, text: str, header: Mapping[str, Any], kind: str) -> None:
    """Raise if the header lacks a key that its kind needs, or a value is not allowed."""
    missing = sorted(_REQUIRED.get(kind.removeprefix("row "), {"summary"}) - header.keys())
    if missing:
        values = {**_VALUES, "range": ("such as 0 .. 1",)}
        allowed = {key: f" ({', '.join(values[key])})" if key in values else "" for key in missing}
        keys = ", ".join(f"{key!r}{allowed[key]}" for key in missing)
        raise make_error(path, 1, f"the header of a {kind} needs {keys}")
    for key, allowed in _VALUES.items():
        if key in header and header[key] not in allowed:
            line = find_key_line(text, key)
            raise make_error(
                path, line, f"{key} must be one of {', '.join(allowed)}, not {header[key]!r}"
            )
    if kind == "curve" and "range" in header:
        message = "a metric, which has a range, returns the column 'value'; a curve has no range"
        raise make_error(path, find_key_line(text, "range"), message)
    if "chart" in header:
        _check_chart(path, text, header["chart"])
    for key, (is_allowed, must) in _FORMS.items():
        if key in header and not is_allowed(header[key]):
            line = find_key_line(text, key)
            raise make_error(path, line, f"{key} must {must}, not {header[key]!r}")


def _check_chart(path: Path, text: str, chart: object) -> None:
    line = find_key_line(text, "chart")
    if isinstance(chart, str):
        return  # the name of a curve with the same axes
    if not isinstance(chart, dict) or "title" not in chart:
        raise make_error(path, line, "chart must be a mapping with a title, or the name of a curve")
    written = cast("dict[str, object]", chart)
    for key in written:
        if key not in CHART_KEYS:
            near = find_nearest(key, CHART_KEYS)
            keys = ", ".join(CHART_KEYS)
            raise make_error(path, line, f"unknown key {key!r} of chart{near}; the keys are {keys}")
    if (kind := written.get("draw", "line")) not in KINDS:
        raise make_error(path, line, f"draw must be one of {', '.join(KINDS)}, not {kind!r}")
    if kind == "line" and not {"x", "y"} <= written.keys():
        raise make_error(path, line, "chart must have x and y, each [COLUMN, TITLE OF THE AXIS]")


def check_named_columns(path: Path, text: str, header: _Header, columns: Sequence[str]) -> None:
    """Raise if a header names a column that the file does not return, or an unknown type."""
    finds = (_find_unknown_columns, _find_wrong_moments, _find_wrong_types)
    for key, problem in (each for find in finds for each in find(header, columns)):
        raise make_error(path, find_key_line(text, key), problem)


def _find_unknown_columns(header: _Header, columns: Sequence[str]) -> _Problems:
    order = str(header.get("order") or "").split(",")
    named: dict[str, Iterable[object]] = {
        **{key: header.get(key) or () for key in ("means", "centres", "variances", "types")},
        "order": [part.split()[0] for part in order if part.strip()],
        "band": (header.get("band") or [])[:2],
        "chart": _list_chart_columns(header.get("chart") or {}),
    }
    for key, name in ((key, name) for key, names in named.items() for name in names):
        if name not in columns:
            near = find_nearest(name, columns) or f"; it returns {', '.join(columns)}"
            yield key, f"{key}: no column {name!r}{near}"


def _find_wrong_moments(header: _Header, columns: Sequence[str]) -> _Problems:
    for key, ending in (("centres", CENTRE), ("variances", VARIANCE)):
        for name in header.get(key) or ():
            if not name.endswith(ending) or name.removesuffix(ending) not in columns:
                yield key, f"{key}: {name!r} must be the name of a column and {ending!r}"


def _find_wrong_types(header: _Header, _: Sequence[str]) -> _Problems:
    types: Mapping[str, object] = header.get("types") or {}
    for name, type_name in types.items():
        if type_name not in TYPES:
            allowed = ", ".join(TYPES)
            yield "types", f"the type of {name} must be one of {allowed}, not {type_name!r}"


def _list_chart_columns(chart: Mapping[str, Any] | str) -> list[Any]:
    if isinstance(chart, str):
        return []
    axes = [chart[axis][0] for axis in ("x", "y") if axis in chart]
    return [*axes, *chart.get("columns", ())]


def parse_range(text: str) -> tuple[float, float]:
    """Return the two ends of a range; an end that is left out is infinite.

    Raises
    ------
    ValueError
        If the text is not two ascending numbers with two dots between them.

    Examples
    --------
    >>> parse_range("0 .. 1"), parse_range("0 ..")
    ((0.0, 1.0), (0.0, inf))
    """
    low, dots, high = text.partition("..")
    ends = float(low.strip() or "-inf"), float(high.strip() or "inf")
    if not dots or not ends[0] < ends[1]:
        raise ValueError(text)
    return ends


def _is_range(text: str) -> bool:
    try:
        parse_range(text)
    except ValueError:
        return False
    return True


def read_repeat(path: Path, text: str, header: Mapping[str, Any], *, has_ctes: bool) -> int:
    """Return how often the last CTE of a file is written: once without the key ``repeat``."""
    times = header.get("repeat", 1)
    if "repeat" in header and not (type(times) is int and times > 1 and has_ctes):
        message = f"repeat must be a whole number above 1, of a file with a CTE, not {times!r}"
        raise make_error(path, find_key_line(text, "repeat"), message)
    return times


def parse_aliases(path: Path, text: str, header: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the aliases in the header of a file.

    Raises
    ------
    LoadError
        If they are not a list of names.
    """
    aliases: Any = header.get("aliases") or []
    for alias in cast("Iterable[object]", aliases if isinstance(aliases, list) else [aliases]):
        if not isinstance(aliases, list) or not str(alias).isidentifier():
            line = find_key_line(text, "aliases")
            raise make_error(path, line, f"aliases must be a list of names, not {alias!r}")
    return tuple(cast("list[str]", aliases))
