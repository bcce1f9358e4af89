"""Writes the classes of labels, predictions and parameters, and the scores of each class."""

from collections.abc import Mapping, Sequence

from sqleval.binding.binding import Binding
from sqleval.binding.canonical import spell
from sqleval.catalog.parameters import Param
from sqleval.catalog.relations import WEIGHTS
from sqleval.common.columns import Column, is_integer, is_number
from sqleval.common.sql_text import Scalar, Value, select, write_literal, write_scalar
from sqleval.compiler.buckets import Buckets, write_bucket
from sqleval.errors import RequestError

#: Up to this many classes, one scan of the rows per class is faster.
_MOST_SCANS = 16


def write_class(column: Column, name: str) -> str:
    """Return the SQL of a class: a whole number or a text; unchanged if the type is unknown."""
    return name if is_integer(column.type) or not column.type else f"CAST({name} AS VARCHAR)"


def write_class_literal(binding: Binding, value: str | int) -> str:
    """Return a class that a parameter names, as a literal of the label's type."""
    if binding.has_two_classes:
        # Expected metrics have two classes, and no column of labels.
        return _write_whole_class(value, "0 and 1")
    column = binding.role["label"]
    if is_integer(column.type):
        return _write_whole_class(value, f"whole, as {column.name!r} is")
    return write_class_value(column, str(value)) if column.type else write_scalar(value)


def write_class_value(column: Column, value: Scalar) -> str:
    """Return a class that a parameter or an option names, in the form of `write_class`."""
    if column.form is not None:
        return write_literal(spell(value, column.form))
    if is_number(column.type) and not is_integer(column.type):
        # A number's text depends on its type: 1 as DECIMAL(3, 1) is 1.0.
        return f"CAST(CAST({write_literal(str(value))} AS {column.type}) AS VARCHAR)"
    return write_scalar(value)


def _write_whole_class(value: str | int, classes: str) -> str:
    try:
        return str(int(value))
    except ValueError:
        raise RequestError(f"the class {value!r} is not known; classes are {classes}") from None


def write_param_rows(binding: Binding, param: Param, value: Value) -> list[tuple[str, ...]]:
    """Return the rows of a parameter that is read as a relation, each value as SQL."""
    if isinstance(value, int):
        return [(str(i),) for i in range(1, value + 1)]
    assert isinstance(value, tuple)
    return [
        (write_class_literal(binding, label), write_class_literal(binding, prediction), repr(cost))
        for label, prediction, cost in value
    ]


def write_sum_test(binding: Binding) -> str:
    """Return the SQL test that the scores of a row do not sum to 1.

    Scores that are rounded to four decimals pass; they are off by half of the last one each.
    Scores of single precision have scikit-learn's tolerance, the square root of their precision.
    """
    names = [f"score_{i}" for i, _ in enumerate(binding.classes, start=1)]
    total = " + ".join(f"CAST({name} AS DOUBLE)" for name in names)
    is_single = any(c.kind == "float32" or c.has_singles for _, c in binding.classes)
    rounding = len(names) * 5e-5
    tolerance = max(rounding, 3.4527e-4) if is_single else rounding
    return f"ABS({total} - 1e0) > {tolerance:e} + 1e-8"


def write_predicted_class(binding: Binding, names: Sequence[str] | None = None) -> str:
    """Return the SQL of the class with the highest score; ties go to the first class.

    ``names`` are the columns of the scores, by default those in ``predictions``.
    """
    names = names or [f"score_{i}" for i, _ in enumerate(binding.classes, start=1)]
    cases = " ".join(
        f"WHEN {name} THEN {write_class_value(binding.role['label'], value)}"
        for name, (value, _) in zip(names, binding.classes, strict=True)
    )
    return f"CASE GREATEST({', '.join(names)}) {cases} END"


def write_class_scores(binding: Binding, buckets: Buckets | None = None) -> str:
    """Return ``class_scores``: one row per prediction and class, with the bucket of its score."""
    # Cast to small types, because sorting rows with their class is faster with fewer bytes.
    label = binding.role["label"]
    whole = is_integer(label.type) or not label.type
    small = whole and all(isinstance(v, int) and abs(v) < 128 for v, _ in binding.classes)
    names = [write_class_value(label, value) for value, _ in binding.classes]
    names = [f"CAST({name} AS TINYINT)" for name in names] if small else names
    items = {key: key for key in (*binding.keys, *binding.folds, "label")}
    if len(names) > _MOST_SCANS and binding.dialect == "duckdb":
        return _write_listed_scores(items, names)
    selects: list[str] = []
    weights = {name: name for name in WEIGHTS}
    for i, name in enumerate(names, start=1):
        each = items | {"class": name, "score": f"score_{i}"} | weights
        each |= {"bucket": write_bucket(f"score_{i}", buckets)} if buckets is not None else {}
        selects.append(select(each, "FROM predictions"))
    # One scan per class, which reads one column, is faster than a CASE over all columns.
    return "\nUNION ALL\n".join(selects)


def _write_listed_scores(items: Mapping[str, str], names: Sequence[str]) -> str:
    """Return ``class_scores`` from one scan, in which each row has the list of its scores.

    With one scan per class, every scan names the columns of all classes: planning time grows nearly
    with the cube of the number of classes (half a minute for 500).
    """
    scores = ", ".join(f"score_{i}" for i, _ in enumerate(names, start=1))
    weights = {name: name for name in WEIGHTS}
    listed = select({**items, "scores": f"[{scores}]", **weights}, "FROM predictions")
    classes = ", ".join(f"({i}, {name})" for i, name in enumerate(names, start=1))
    columns = {key: f"p.{key}" for key in items}
    columns |= {"class": "c.class", "score": "p.scores[c.nth]"}
    columns |= {name: f"p.{name}" for name in WEIGHTS}
    return select(columns, f"FROM ({listed}) AS p\nCROSS JOIN (VALUES {classes}) AS c(nth, class)")
