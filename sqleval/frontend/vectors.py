"""Replaces a column of lists, arrays or structs in ``score=`` by a column per class."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, cast

from sqleval.binding.expressions import list_texts, map_texts
from sqleval.binding.slice_keys import SliceKey
from sqleval.binding.vectors import Vector, find_vector, name_classes
from sqleval.catalog.tasks import TASKS
from sqleval.common.columns import Column
from sqleval.common.sql_text import Scalar, quote
from sqleval.engines.base import Engine
from sqleval.errors import RequestError
from sqleval.frontend.computing import Described, add_computed
from sqleval.frontend.first_values import FirstValues

#: The name of a column that is computed from a vector to look at its first values.
_COMPUTED = "_sqleval_computed"
#: The positive class of two by default, and its texts.
_POSITIVE = ("1", "1.0", "true")
#: The places of two classes without names, by the texts of the label's values.
_PLACES = {"0": 0, "0.0": 0, "-1": 0, "-1.0": 0, "false": 0, **dict.fromkeys(_POSITIVE, 1)}


def expand_vectors(
    described: Described, roles: Mapping[str, Any], engine: Engine
) -> tuple[Described, dict[str, Any], str]:
    """Return the input and its roles with a column for each score of a vector, and a remark.

    Of two classes without ``task="multiclass"``, only the score of the positive class is bound. If
    the scores are logits, their softmax is bound.

    Raises
    ------
    RequestError
        If ``classes=`` does not fit the vectors, or there are none.
    """
    roles = dict(roles)
    classes = cast("Sequence[Scalar] | None", roles.pop("classes", None))
    texts = list_texts(roles.get("score"))
    columns = {text: described.columns[text] for text in texts if text in described.columns}
    found = {text: find_vector(text, column) for text, column in columns.items()}
    vectors = {text: vector for text, vector in found.items() if vector is not None}
    _check_classes(classes)
    if not vectors:
        if classes is not None:
            raise RequestError(
                "classes= (--classes) names the places of a list, array or struct of scores, and "
                f"score={roles.get('score')!r} has one number in each row"
            )
        return described, roles, ""
    named = _Named(described, roles, engine, classes)
    by_text = {text: named.list_scores(vector) for text, vector in vectors.items()}
    for text, scores in by_text.items():
        if len(scores) == 1:
            only = next(iter(scores.values())).name
            raise RequestError(f"score={text!r} has one score in each row; write score={only!r}")
    notice = ""
    for text in [text for text, vector in vectors.items() if named.has_logits(vector)]:
        described, by_text[text] = _take_softmax(described, text, by_text[text], engine)
        notice = f"score={text!r} holds numbers outside 0 .. 1: its softmax is evaluated"
    keys = [key for scores in by_text.values() for key in scores.values()]
    task = roles.get("task")
    if all(len(scores) == 2 for scores in by_text.values()) and (
        task is None or TASKS[task].has_two_classes
    ):
        chosen = {
            text: _choose_positive(vectors[text], each, roles) for text, each in by_text.items()
        }
        keys = [key for key in keys if key.name in chosen.values()]
        roles["score"] = map_texts(roles["score"], lambda text: chosen.get(text, text))
    else:
        columns_of = {
            text: {name: key.name for name, key in scores.items()}
            for text, scores in by_text.items()
        }
        roles["score"] = map_texts(roles["score"], lambda text: columns_of.get(text, text))
        roles["task"] = task or "multiclass"
    if taken := next((key.name for key in keys if key.name in described.columns), None):
        raise RequestError(f"score= needs the name {taken!r}, which is a column; rename it")
    return add_computed(described, keys, [], engine), roles, notice


def _take_softmax(
    described: Described, text: str, logits: Mapping[Scalar, SliceKey], engine: Engine
) -> tuple[Described, dict[Scalar, SliceKey]]:
    """Return the input with what the softmax of logits needs, and its column for each class.

    The largest logit is subtracted from all, because EXP would overflow. It and the sum are columns
    of their own, so that the SQL grows with the classes, and not with their square.
    """
    columns = [f"CAST(s.{quote(key.name)} AS DOUBLE)" for key in logits.values()]
    largest, total = (f"_sqleval_{what}({text})" for what in ("largest", "total"))
    powers = [f"EXP({column} - s.{quote(largest)})" for column in columns]
    greatest = SliceKey(largest, f"GREATEST({', '.join(columns)})", (text,))
    added = SliceKey(total, " + ".join(powers), (text,))
    for keys in (logits.values(), [greatest], [added]):
        described = add_computed(described, keys, [], engine)
    softmax = {
        name: SliceKey(f"softmax({key.name})", f"{power} / s.{quote(total)}", (text,))
        for (name, key), power in zip(logits.items(), powers, strict=True)
    }
    return described, softmax


def _check_classes(classes: Sequence[Scalar] | None) -> None:
    """Raise `RequestError` if there is no class, or a class has two places."""
    if classes is not None and not classes:
        raise RequestError("classes= (--classes) names no class")
    texts = [str(each) for each in classes or ()]
    if twice := next((each for each in texts if texts.count(each) > 1), None):
        raise RequestError(f"classes= (--classes) names {twice} twice")


def _choose_positive(
    vector: Vector, scores: Mapping[Scalar, SliceKey], roles: Mapping[str, Any]
) -> str:
    """Return the column of the positive class of two."""
    positive = roles.get("positive")
    shown = " and ".join(map(repr, scores))
    if positive is None:
        default = next((name for name in scores if str(name).lower() in _POSITIVE), None)
        if default is None and vector.fields:
            # The order of fields is not the user's, so the second one may be either class.
            columns = " or ".join(f"score={key.name!r}" for key in scores.values())
            raise RequestError(
                f"score={vector.text!r} has the fields {shown}, neither of which is 1 or true: "
                f"name the field of the positive class, {columns}, or the positive value of a "
                "label that is a text, positive= (--positive)"
            )
        name = list(scores)[1] if default is None else default
        return scores[name].name
    place = _PLACES.get(str(positive).lower()) if list(scores) == [0, 1] else None
    for name, key in scores.items():
        if str(name) == str(positive) or (place is not None and name == place):
            return key.name
    raise RequestError(
        f"positive={positive!r} is none of the classes {shown} of score=; name the class of each "
        "place with classes= (--classes A,B)"
    )


class _Named(NamedTuple):
    """An input whose vectors get the names of their classes."""

    described: Described
    roles: Mapping[str, Any]
    engine: Engine
    classes: Sequence[Scalar] | None

    def list_scores(self, vector: Vector) -> dict[Scalar, SliceKey]:
        """Return the computed column of each class of a vector."""
        if vector.fields:
            if self.classes is not None and {*map(str, self.classes)} != {*vector.fields}:
                raise RequestError(
                    f"score={vector.text!r} has the fields {', '.join(vector.fields)}, which name "
                    "its classes; leave out classes="
                )
            return {field: vector.write_field(field) for field in vector.fields}
        size = vector.size or (0 if self.classes is not None else self._read_size(vector))
        names = name_classes(vector, self.classes, self._find_label(), size, self._read_labels)
        if size and len(names) != size:
            raise RequestError(
                f"score={vector.text!r} has {size} scores in each row, and classes= names "
                f"{len(names)}: {', '.join(map(str, names))}"
            )
        dialect = self.engine.dialect
        return {
            name: vector.write_score(place, len(names), dialect) for place, name in enumerate(names)
        }

    def has_logits(self, vector: Vector) -> bool:
        """Whether one of the first scores lies outside 0 .. 1."""
        # A sum of rounded probabilities may leave 0 .. 1 by a rounding error.
        return any(
            not -1e-6 <= value <= 1 + 1e-6
            for sql in vector.write_extremes(self.engine.dialect)
            for value in self._read_first(vector, sql)
        )

    def _read_first(self, vector: Vector, sql: str) -> list[float]:
        """Return a number that is computed from the vector, in the first rows."""
        key = SliceKey(_COMPUTED, sql, (vector.text,))
        source = add_computed(self.described._replace(labels=None), [key], [], self.engine).source
        columns = [("score", Column(_COMPUTED, "DOUBLE"))]
        (values,) = FirstValues(source, None, self.engine).read(None, None, (), columns)
        return [float(str(value)) for value in values]

    def _find_label(self) -> Column | None:
        label, late = self.roles.get("label"), self.described.late
        columns = self.described.columns if late is None else late
        return columns.get(label) if isinstance(label, str) else None

    def _read_labels(self) -> list[object]:
        """Return the first values of the label."""
        label, source = self._find_label(), self.described.labels or self.described.source
        if label is None:
            return []
        first = FirstValues(source, None, self.engine)
        return first.read(None, None, (), [("label", label)])[0]

    def _read_size(self, vector: Vector) -> int:
        """Return the largest number of scores in the first rows."""
        lengths = self._read_first(vector, vector.write_length(self.engine.dialect))
        if not lengths:
            raise RequestError(
                f"score={vector.text!r} has no scores in the first rows; name the class of each "
                "place with classes= (--classes A,B,C)"
            )
        return int(max(lengths))
