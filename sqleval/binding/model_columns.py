"""Reads the columns of several models or classes from ``score=`` or ``prediction=``."""

from collections.abc import Mapping, Sequence
from typing import Any, Literal, NamedTuple, TypeVar, cast

from sqleval.common.columns import Column, is_float
from sqleval.common.names import find_nearest
from sqleval.common.numbers import is_real_number
from sqleval.common.sql_text import Scalar
from sqleval.errors import RequestError

#: A column; or a column per model or class; or a column per model and class.
Named = str | Mapping[Scalar, str] | Mapping[str, Mapping[Scalar, str]] | None
_ByName = Mapping[Scalar, object]
_ByModel = Mapping[Scalar, Mapping[Scalar, str]]
_Value = TypeVar("_Value", str, float)

_FORM = "score={'a': {class: column, ...}, 'b': {class: column, ...}} (--score a.CLASS=COLUMN)"


class ModelColumns(NamedTuple):
    """The columns that ``score=`` and ``prediction=`` name.

    Attributes
    ----------
    role : {"score", "prediction", "value"}
        The role of the columns.
    names : tuple of (Scalar, str)
        Each model or class, and its column; with ``models``, the classes of one model after
        another.
    models : tuple of str
        The models, if each has a column per class; otherwise empty.
    predictions : tuple of str
        The column of each model's prediction, if ``names`` are scores and there are both.
    """

    role: Literal["score", "prediction", "value"] = "score"
    names: tuple[tuple[Scalar, str], ...] = ()
    models: tuple[str, ...] = ()
    predictions: tuple[str, ...] = ()

    @property
    def model_names(self) -> tuple[str, ...]:
        """The models, or the classes of a single model."""
        return self.models or tuple(str(name) for name, _ in self.names)


def find_model_columns(score: Named, prediction: Named) -> ModelColumns:
    """Return the columns of several models or classes; none if a role has a single column.

    Raises
    ------
    RequestError
        If the models of both roles differ, or the models do not have the same classes.

    Examples
    --------
    >>> find_model_columns({"a": {0: "a_0", 1: "a_1"}, "b": {1: "b_1", 0: "b_0"}}, None).names
    ((0, 'a_0'), (1, 'a_1'), (0, 'b_0'), (1, 'b_1'))
    """
    for role, named in (("score", score), ("prediction", prediction)):
        if isinstance(named, Mapping) and not named:
            raise RequestError(f"{role}= is an empty mapping")
    if has_classes_of_models(prediction) or (
        has_classes_of_models(score) and isinstance(prediction, str)
    ):
        raise RequestError(
            "prediction= is one column per model, prediction={'a': column, 'b': column}, beside "
            f"the scores of several classes, {_FORM}; without it, a prediction is the class with "
            "the highest score"
        )
    if not isinstance(score, Mapping):
        named = cast("Mapping[Scalar, str]", prediction if isinstance(prediction, Mapping) else {})
        return ModelColumns("prediction" if named else "score", tuple(named.items()))
    scores = ModelColumns("score", tuple(cast("Mapping[Scalar, str]", score).items()))
    if has_classes_of_models(score):
        scores = _find_classes_of_models(cast("_ByName", score))
    if not isinstance(prediction, Mapping):
        return scores
    decided = order_by_model("prediction", cast("Mapping[Scalar, str]", prediction), scores)
    return scores._replace(predictions=decided)


def order_by_model(
    role: str, named: Mapping[Any, _Value], scores: ModelColumns
) -> tuple[_Value, ...]:
    """Return what ``prediction=`` or ``threshold=`` gives each model, in the order of the scores.

    Raises
    ------
    RequestError
        If they do not name the models of ``score=``.
    """
    values, models = {str(name): value for name, value in named.items()}, scores.model_names
    if not models or scores.role != "score":
        raise RequestError(
            f"{role}= names the models {', '.join(values)}, and score= names none: "
            "score={'a': column, 'b': column} (--score a=COLUMN --score b=COLUMN)"
        )
    for one, has, other, names in (
        ("score=", models, f"{role}=", values.keys()), (f"{role}=", values.keys(), "score=", models)
    ):  # fmt: skip
        if missing := [name for name in has if name not in names]:
            shown = ", ".join(map(repr, missing))
            near = find_nearest(missing[0], [name for name in names if name not in has])
            raise RequestError(
                f"{other} lacks {shown}, which {one} names{near}; both name the same models"
            )
    return tuple(values[name] for name in models)


def find_value_columns(value: Named) -> ModelColumns:
    """Return the columns of several models that ``value=`` names; none for a single column.

    Raises
    ------
    RequestError
        If the mapping is empty, or nested.

    Examples
    --------
    >>> find_value_columns({"a": "passed_a", "b": "passed_b"}).names
    (('a', 'passed_a'), ('b', 'passed_b'))
    """
    if not isinstance(value, Mapping):
        return ModelColumns("value")
    if not value:
        raise RequestError("value= is an empty mapping")
    if has_classes_of_models(value):
        raise RequestError("value= is one column per model: value={'a': column, 'b': column}")
    return ModelColumns("value", tuple(cast("Mapping[Scalar, str]", value).items()))


def _find_classes_of_models(by_name: _ByName) -> ModelColumns:
    """Return the columns of several models that each have a score for each class."""
    for name, value in by_name.items():
        if not isinstance(value, Mapping):
            raise RequestError(
                f"score= maps {name!r} to one column, {value!r}, and another model to a column "
                f"for each class; all models need them: {_FORM}"
            )
    by_model = cast("_ByModel", by_name)
    first = next(iter(by_model))
    classes = list(by_model[first])
    for name, columns in by_model.items():
        if len(columns) < 2:
            named = f"one class of the model {name!r}" if columns else f"no class of {name!r}"
            raise RequestError(f"score= names {named}; each class needs a column: {_FORM}")
        if {*map(str, columns)} != {*map(str, classes)}:
            shown = [", ".join(map(repr, by_model[each])) for each in (first, name)]
            raise RequestError(
                f"score= names the classes {shown[0]} of the model {first!r}, and {shown[1]} of "
                f"{name!r}; all models need a column for each class"
            )
    # Ties predict the first class, so all models need the same order of classes.
    texts = {
        name: {str(key): column for key, column in each.items()} for name, each in by_model.items()
    }
    names = [(key, each[str(key)]) for each in texts.values() for key in classes]
    return ModelColumns("score", tuple(names), tuple(map(str, by_model)))


def merge_columns(columns: Sequence[Column]) -> Column:
    """Return a column that stands for several, one of which supplies the value of each row.

    Examples
    --------
    >>> merge_columns([Column("a", "FLOAT"), Column("b", "DOUBLE")])[:2]
    ('a or b', 'DOUBLE')
    """
    floats = [column for column in columns if is_float(column.type)]
    doubles = [column for column in floats if column.kind == "float64"]
    widest = (doubles or floats or columns)[0]
    is_mixed = bool(doubles) and len(doubles) < len(floats)
    return widest._replace(
        name=" or ".join(column.name for column in columns),
        has_singles=is_mixed or any(column.has_singles for column in columns),
    )


def merge_models(columns: Sequence[Column]) -> Column:
    """Return the column of a role that each model fills: the first name, and a type for all."""
    return merge_columns(columns)._replace(name=columns[0].name)


def has_classes_of_models(score: object) -> bool:
    """Whether ``score=`` has a column for each class of models."""
    by_name = cast("Mapping[object, object]", score if isinstance(score, Mapping) else {})
    return any(isinstance(value, Mapping) for value in by_name.values())


def nest_classes(
    columns: Mapping[str, str], role: str = "score"
) -> Mapping[str, str] | Mapping[str, dict[str, str]]:
    """Nest columns named MODEL.CLASS by model and class; return other columns unchanged.

    The names are split if two models have at least two classes each and share one. The last dot
    splits a name: a model's name may contain dots, a class none. If all names are numbers, they are
    classes.

    Examples
    --------
    >>> nest_classes({"a.0": "a_0", "a.1": "a_1", "b.0": "b_0", "b.1": "b_1"})
    {'a': {'0': 'a_0', '1': 'a_1'}, 'b': {'0': 'b_0', '1': 'b_1'}}
    >>> nest_classes({"en.us": "p_1", "en.uk": "p_2", "de.at": "p_3", "de.ch": "p_4"})
    {'en.us': 'p_1', 'en.uk': 'p_2', 'de.at': 'p_3', 'de.ch': 'p_4'}
    """
    nested: dict[str, dict[str, str]] = {}
    for name, column in columns.items():
        model, _, key = name.rpartition(".")
        nested.setdefault(model, {})[key] = column
    several = [{*each} for model, each in nested.items() if model and len(each) > 1]
    is_shared = any(one & other for i, one in enumerate(several) for other in several[i + 1 :])
    if not is_shared or all(_is_number(name) for name in columns):
        return columns
    if alone := [name for name in columns if not name.rpartition(".")[0]]:
        raise RequestError(
            f"--{role} {alone[0]}={columns[alone[0]]} names no model, and others are MODEL.CLASS: "
            f"each needs both, as in --{role} {next(iter(nested))}.CLASS=COLUMN"
        )
    return nested


def _is_number(text: str) -> bool:
    try:
        return is_real_number(float(text))
    except ValueError:
        return False
