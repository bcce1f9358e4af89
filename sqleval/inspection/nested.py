"""Shapes with nested values: rows inside of a document, lists of items or labels, vectors."""

from collections.abc import Sequence
from typing import Any

from sqleval.binding.reading import MOST_CLASSES
from sqleval.binding.vectors import Vector, find_vector
from sqleval.common.sql_text import write_name
from sqleval.inspection.columns import Facts, read_rows
from sqleval.inspection.data import Inspection
from sqleval.inspection.names import list_class_names
from sqleval.inspection.shape import Look, Shape, compile_names, list_label_looks

_RECOMMENDED = compile_names(
    r"recommended(_.*)?|recommendations?|top_?k|top_?\d+|retrieved(_.*)?|ranked(_.*)?|ranking|"
    r"candidates|suggested|(.*_)?recs"
)
_TAKEN = compile_names(
    r"bought|purchased|purchases|relevant(_.*)?|clicked|consumed|viewed|watched|liked|(.*_)?bought"
)
_PREDICTED = compile_names(r"(.*_)?(pred(icted|ictions?|s)?|y_?pred)(_.*)?")
_TRUE = compile_names(r"(.*_)?(y_?true|labels?|truth|true|targets?|tags|actuals?|gold)(_.*)?")
_VECTOR = compile_names(
    r"(.*_)?(probability|probabilities|probs?|probas?|y_?prob(a)?|predict_proba|softmax|scores?)"
)
_RAW = compile_names(r"(.*_)?(logits?|log_?probs?|raw_?predictions?|outputs?|decision_function)")
_FEATURES = compile_names(
    r"(.*_)?(features?|embeddings?|inputs?|x|vectors?|coord(inate)?s?|position|location|b?box|"
    r"point|interval|range|ci)"
)
#: The longest list of which the first items are compared.
_MOST_ITEMS = 20


def list_fields(type_: str) -> dict[str, str]:
    """Return the fields of a struct type and their types; none for another type.

    Examples
    --------
    >>> list_fields('STRUCT(correct BIGINT, "a, b" STRUCT(c DOUBLE[]))')
    {'correct': 'BIGINT', 'a, b': 'STRUCT(c DOUBLE[])'}
    >>> list_fields("BIGINT[]")
    {}
    """
    if not type_.startswith("STRUCT(") or not type_.endswith(")"):
        return {}
    parts, depth, is_quoted, part = list[str](), 0, False, ""
    for char in type_[7:-1]:
        is_quoted ^= char == '"'
        depth += 0 if is_quoted else (char in "([") - (char in ")]")
        if char == "," and not depth and not is_quoted:
            parts.append(part.strip())
            part = ""
        else:
            part += char
    fields: dict[str, str] = {}
    for each in [*parts, part.strip()]:
        if each.startswith('"'):
            name, _, kind = each[1:].replace('""', "\0").partition('"')
            fields[name.replace("\0", '"')] = kind.strip()
        else:
            name, _, kind = each.partition(" ")
            fields[name] = kind
    return fields


def list_scalar_fields(facts: Sequence[Facts]) -> list[str]:
    """Return the fields of structs that hold one value each, except vectors of scores."""
    return [
        f"{write_name(f.name)}.{write_name(field)}"
        for f in facts
        if (vector := find_vector(f.name, f.column)) is None or len(vector.fields) == 1
        for field, kind in list_fields(f.column.type).items()
        if not kind.endswith("]") and not kind.startswith("STRUCT")
    ]


def _find_rows_inside(type_: str, path: str) -> str | None:
    """Return the path of a list of rows in a document."""
    if type_.endswith("[]") and (type_.startswith("STRUCT(") or type_.endswith("][]")):
        return path
    for name, kind in list_fields(type_).items():
        if found := _find_rows_inside(kind, f"{path}.{name}"):
            return found
    return None


def find_nested_rows(data: Inspection, facts: Sequence[Facts]) -> Shape | None:
    """Find rows inside of JSON documents, of which each file has one."""
    is_json = data.source.text_reader.startswith("read_json")
    if not is_json or data.rows > max(len(data.source.files), 1):
        return None
    for f in facts:
        if path := _find_rows_inside(f.column.type, f.name):
            look = Look(f"the rows in {path}", {"rows": path}, verb="inspect")
            reason = f"each file is one document, and its rows lie in {path}"
            return Shape("nested rows", (f.name,), reason, f"--rows {path}", [look])
    return None


def find_lists(data: Inspection, facts: Sequence[Facts]) -> Shape | None:
    """Find two columns of lists: recommended and taken items, or predicted and true labels."""
    lists = [f for f in facts if f.column.type.endswith("[]") and not _is_vector(f)]
    items = next((f for f in lists if _RECOMMENDED.fullmatch(f.name)), None)
    taken = next((f for f in lists if _TAKEN.fullmatch(f.name)), None)
    predicted = next((f for f in lists if _PREDICTED.fullmatch(f.name)), None)
    true = next((f for f in lists if f is not predicted and _TRUE.fullmatch(f.name)), None)
    if items and (relevant := taken or true):
        return _describe_top_k(data, items, relevant)
    if predicted and taken:
        return _describe_top_k(data, predicted, taken)
    if predicted and true:
        sets = _describe_label_sets(predicted, true)
        ranked = _describe_top_k(data, predicted, true)
        are_words = predicted.column.type.startswith("VARCHAR")
        return sets if are_words or ranked is None else _join_readings(sets, ranked)
    return None


def _join_readings(first: Shape, second: Shape) -> Shape:
    """Return a shape that has two readings."""
    return Shape(
        f"{first.name} or {second.name}", first.columns, f"{first.reason}; or {second.reason}",
        "it is not clear whether the order of a list has a meaning",
        [*first.looks, *second.looks],
    )  # fmt: skip


def _is_vector(facts: Facts) -> bool:
    return facts.column.type.startswith(("DOUBLE", "FLOAT", "DECIMAL", "STRUCT"))


def _describe_top_k(data: Inspection, items: Facts, taken: Facts) -> Shape | None:
    ((longest,),) = read_rows(data.source, f"MAX(LEN({items.value}))", [items.name])
    k = min(longest or 0, _MOST_ITEMS)
    if not k:
        return None
    first, second = write_name(items.name), write_name(taken.name)
    hits = [f"CAST(list_contains({second}, {first}[{i}]) AS INTEGER)" for i in range(1, k + 1)]
    total = " + ".join(f"COALESCE({hit}, 0)" for hit in hits)
    looks = [
        Look(f"precision at {k}", {"value": f"({total}) / {k}.0", "metric": "mean", "ci": 0.95}),
        Look("the share of rows with a hit", {
            "value": f"list_has_any({first}, {second})", "metric": "mean", "ci": 0.95,
        }),
    ]  # fmt: skip
    reason = f"a list of up to {longest} items in order, and a list of relevant ones"
    advice = "NDCG of lists is still to come; now: precision and hits"
    return Shape("top-k lists", (items.name, taken.name), reason, advice, looks)


def _describe_label_sets(predicted: Facts, true: Facts) -> Shape:
    looks = list_label_looks({"label": true.name, "prediction": predicted.name})
    advice = "a row has any number of labels: the task is multilabel"
    reason = "a list of true labels and a list of predicted ones"
    return Shape("sets of labels", (true.name, predicted.name), reason, advice, looks)


def find_label_scores(data: Inspection, facts: Sequence[Facts]) -> Shape | None:
    """Find a list of labels, their names or a 0 or 1 for each, beside the list of their scores."""
    lists = [f for f in facts if f.column.type.endswith("[]")]
    scores = [f for f in lists if _holds_fractions(f)]
    labels = [f for f in lists if f not in scores and _TRUE.fullmatch(f.name)]
    if len(scores) != 1 or len(labels) != 1:
        return None
    (score,), (label,) = scores, labels
    limit = f" LIMIT {MOST_CLASSES + 1}"
    named = read_rows(data.source, f"DISTINCT UNNEST({label.value})", [label.name], limit)
    values = {value for (value,) in named if value is not None}
    is_named = label.column.type.startswith("VARCHAR")
    length = str(len(values)) if is_named else f"LEN({label.value})"
    ((wrong,),) = read_rows(
        data.source,
        f"COUNT(CASE WHEN LEN({score.value}) IS DISTINCT FROM {length} THEN 1 END)",
        [label.name, score.name],
    )
    if wrong or len(values) < 2 or not (is_named or values <= {0, 1}):
        return None
    options: dict[str, Any] = {"label": label.name, "score": score.name}
    advice = "a row has any number of labels: the task is multilabel"
    if is_named:
        options["classes"] = sorted(values)
        advice += "; the scores are taken in the order of the names, which the file does not say"
    reason = "a list of labels and a list with the score of each"
    return Shape("lists of labels", (label.name, score.name), reason, advice,
                 list_label_looks(options))  # fmt: skip


def find_class_vector(
    data: Inspection, facts: Sequence[Facts], *, is_given: bool = False
) -> tuple[Facts, Vector] | None:
    """Return the column of lists, arrays or structs that have a score for each class.

    It needs the name of a score, unless no other column looks like a score.
    """
    if len(data.classes) < 2:
        return None
    found = [(f, find_vector(f.name, f.column)) for f in facts]
    vectors = [(f, each) for f, each in found if each is not None]
    named = [each for each in vectors if is_given or _VECTOR.fullmatch(each[0].name)]
    for each in named:
        if _has_each_class(data, *each):
            return each
    if is_given or data.find("score", facts).columns:
        return None
    left = [each for each in vectors if each not in named and _holds_fractions(each[0])]
    raw = [each for each in left if _RAW.fullmatch(each[0].name)]
    others = [each for each in left if not _FEATURES.fullmatch(each[0].name)]
    for some in (raw, others):
        fitting = [each for each in some if _has_each_class(data, *each)]
        if len(fitting) == 1:
            return fitting[0]
    return None


def _holds_fractions(facts: Facts) -> bool:
    return any(kind in facts.column.type for kind in ("DOUBLE", "FLOAT", "DECIMAL"))


def _has_each_class(data: Inspection, facts: Facts, vector: Vector) -> bool:
    """Whether a vector has as many scores as there are classes, or a field for each class."""
    if vector.fields:
        return {*vector.fields} == {*map(str, data.classes)}
    length = vector.write_length("duckdb")
    ((low, high),) = read_rows(data.source, f"MIN({length}), MAX({length})", [facts.name])
    return low == high == len(data.classes)


def describe_vector(
    data: Inspection, label: Facts, scores: Facts, vector: Vector, prediction: Facts | None
) -> Shape:
    """Return the shape of class scores in one column, with the evaluations to run."""
    classes = [*data.classes]
    given = {
        "label": label.name,
        "score": scores.name,
        "prediction": None if prediction is None else prediction.name,
        "positive": data.positive,
        "task": None if len(classes) == 2 else "multiclass",
    }
    options = {name: value for name, value in given.items() if value is not None}
    names = tuple(f.name for f in (label, scores, prediction) if f is not None)
    reason = f"{scores.name} has {len(classes)} class scores in each row"
    name, places = "class scores in one column", [*range(len(classes))]
    if {*classes} == {*places} or vector.fields:
        return Shape(name, names, reason, looks=[Look("all rows", options)])
    orders = {"in order, as scikit-learn has them": list_class_names(sorted(classes))}
    if all(isinstance(each, str) for each in classes):
        orders["by frequency, as Spark's StringIndexer has them"] = [*map(str, classes)]
    looks = [Look(f"classes {what}", {**options, "classes": each}) for what, each in orders.items()]
    advice = "the order of the classes is not known: --classes A,B,C"
    return Shape(name, names, reason, advice, looks)
