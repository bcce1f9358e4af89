"""Writes the classes of labels, predictions and parameters, and the scores of each class."""

from collections.abc import Callable, Mapping, Sequence

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


def _name_scores(binding: Binding) -> list[str]:
    return [f"score_{i}" for i, _ in enumerate(binding.classes, start=1)]


def write_label_scores(binding: Binding, _: Buckets | None = None) -> str:
    """Return ``label_scores``: one row per prediction, with the place of its class among all.

    ``higher`` and ``tied`` are the numbers of classes with a higher and with the same score as the
    label's (itself included); ``is_top`` says whether `write_predicted_class` is the label.
    """
    scores, label = _name_scores(binding), binding.role["label"]
    of_label = " ".join(
        f"WHEN {write_class_value(label, value)} THEN {name}"
        for name, (value, _) in zip(scores, binding.classes, strict=True)
    )
    kept = {key: key for key in (*binding.keys, *binding.folds, "label")}
    weights = {name: name for name in WEIGHTS}
    predicted = write_predicted_class(binding, scores)
    inner = kept | {"score": f"CASE label {of_label} END"} | {name: name for name in scores}
    # Engines return one number for GREATEST of several.
    inner |= {"top_score": f"GREATEST({', '.join(scores)})" if len(scores) > 1 else scores[0]}
    inner |= {"is_top": f"CASE WHEN label = {predicted} THEN 1 ELSE 0 END"} | weights
    counts = {
        column: " + ".join(f"CASE WHEN {name} {sign} score THEN 1 ELSE 0 END" for name in scores)
        for column, sign in (("higher", ">"), ("tied", "="))
    }
    outer = kept | {name: name for name in ("score", "top_score", "is_top")} | counts | weights
    return select(outer, f"FROM ({select(inner, 'FROM predictions')}) AS p")


def write_cumulative_scores(binding: Binding, _: Buckets | None = None) -> str:
    """Return ``cumulative_scores``: a row per prediction and class except the last.

    ``reached`` is the sum of the scores up to this class, and ``is_reached`` whether the label is
    among these classes. The classes have the order of ``score=``.
    """
    scores, label = _name_scores(binding), binding.role["label"]
    values = [write_class_value(label, value) for value, _ in binding.classes]
    sums = [f"CAST({name} AS DOUBLE)" for name in scores]
    kept = {key: key for key in (*binding.keys, *binding.folds)}
    weights = {name: name for name in WEIGHTS}
    count = {"n_classes": str(len(scores))}
    if len(scores) > _MOST_SCANS and binding.dialect == "duckdb":
        # See `_write_listed_scores`.
        places = " ".join(f"WHEN {value} THEN {i}" for i, value in enumerate(values, start=1))
        listed = {"scores": f"[{', '.join(sums)}]", "label_place": f"CASE label {places} END"}
        inner = select(kept | listed | weights, "FROM predictions")
        columns = {key: f"p.{key}" for key in kept} | {"place": "c.place"} | count
        columns["reached"] = "list_sum(p.scores[1:c.place])"
        columns["is_reached"] = "CASE WHEN p.label_place <= c.place THEN 1 ELSE 0 END"
        columns |= {name: f"p.{name}" for name in WEIGHTS}
        return select(
            columns, f"FROM ({inner}) AS p\nCROSS JOIN range(1, {len(scores)}) AS c(place)"
        )
    selects: list[str] = []
    # One class alone has one row, so that a slice keeps its row.
    for i in range(1, max(len(scores), 2)):
        is_reached = f"CASE WHEN label IN ({', '.join(values[:i])}) THEN 1 ELSE 0 END"
        each = kept | {"place": str(i)} | count | {"reached": " + ".join(sums[:i])}
        selects.append(select(each | {"is_reached": is_reached} | weights, "FROM predictions"))
    return "\nUNION ALL\n".join(selects)


#: The relations with the scores of each class, and the function that writes each.
CLASS_RELATIONS: Mapping[str, Callable[[Binding, Buckets | None], str]] = {
    "class_scores": write_class_scores,
    "label_scores": write_label_scores,
    "cumulative_scores": write_cumulative_scores,
}
