"""Checks the types of what users pass as arguments."""

from collections.abc import Container, Iterable, Mapping, Sequence
from typing import cast

from sqleval.binding.model_columns import has_classes_of_models
from sqleval.catalog.roles import list_arguments
from sqleval.catalog.tasks import may_have_two_classes
from sqleval.common.names import find_nearest
from sqleval.common.numbers import is_real_number
from sqleval.errors import RequestError

_SEVERAL = ("by", "over", "on")


#: The options of a source besides ``query``.
SOURCE_OPTIONS = ("storage", "version", "timestamp", "verify", "rows", "csv")
#: The methods of ``ci_method=``; by default each metric has its own.
CI_METHODS = ("wilson", "clopper_pearson", "delong", "bootstrap", "percentile", "bca")
#: The methods that need replicates.
RESAMPLING_METHODS = CI_METHODS[3:]


def check_level(ci: object, ci_method: object = None, cluster: object = None) -> None:
    """Raise `RequestError` for a level that is not between 0 and 1, or an unknown method.

    A method, or clusters, without a level are an error, too.

    Examples
    --------
    >>> check_level(0.95, "clopper_pearson")
    """
    if ci_method is not None and ci_method not in CI_METHODS:
        allowed = ", ".join(map(repr, CI_METHODS))
        near = find_nearest(str(ci_method), CI_METHODS)
        raise RequestError(f"ci_method={ci_method!r} must be one of {allowed}{near}")
    if ci is None:
        for name, value in (("ci_method", ci_method), ("cluster", cluster)):
            if value is not None:
                raise RequestError(f"{name}={value!r} needs ci=, such as ci=0.95")
        return
    # Each tail has (1 - ci) / 2, which must not be lost when 1 is added.
    if not is_real_number(ci) or not 0 < ci < 1 or (1 + ci) / 2 == 1:
        raise RequestError(f"ci={ci!r} must be a number between 0 and 1, such as 0.95")


def check_key_names(names: Iterable[str], columns: Container[str], result: str) -> None:
    """Raise `RequestError` if a slice key is called like a column of the result.

    Examples
    --------
    >>> check_key_names(["carrier"], ["metric", "value"], "the result")
    """
    for name in names:
        if name in columns:
            raise RequestError(f"by={name!r}: {result} has a column of that name; rename the key")


def _is_names(value: object) -> bool:
    return isinstance(value, (list, tuple)) and all(
        isinstance(each, str) for each in cast("Sequence[object]", value)
    )


def _is_named_texts(value: object) -> bool:
    return isinstance(value, Mapping) and all(
        isinstance(each, str)
        for pair in cast("Mapping[object, object]", value).items()
        for each in pair
    )


def check_roles(roles: Mapping[str, object]) -> None:
    """Raise `RequestError` if a column's name, or a condition, is not a text.

    Parameters
    ----------
    roles : mapping of str to object
        The arguments of `sqleval.scan` by name.
    """
    for name, value in roles.items():
        if value is None or isinstance(value, str):
            continue
        if name in (*list_arguments(single=True), "task", "nulls"):
            raise RequestError(f"{name}={value!r} must be one name, as a text")
        if name == "by" and _is_named_texts(value):
            continue
        if name in _SEVERAL and not _is_names(value):
            also = ", or a mapping of names to SQL expressions" if name == "by" else ""
            raise RequestError(
                f"{name}={value!r} must be the name of a column, or a list of names{also}"
            )
        if name == "where":
            check_text(value)
        if name in ("label", "score", "prediction", "value"):
            _check_models(name, value)


def check_text(where: object) -> None:
    """Raise `RequestError` if a condition is not a text."""
    if not isinstance(where, str):
        raise RequestError(
            'where= must be a condition in SQL, as a text such as where="p > 0.5"; for a '
            "Polars expression pass frame.filter(...) as the source"
        )


def _check_models(name: str, value: object) -> None:
    if not isinstance(value, Mapping):
        names = cast("list[str]", value) if _is_names(value) and value else ["a", "b"]
        shown = ", ".join(f"{each!r}: {each!r}" for each in names)
        names = "labels" if name == "label" else "models"
        raise RequestError(
            f"{name}={value!r} must be the name of a column, or a mapping of {names} to columns, "
            f"such as {{{shown}}}"
        )
    for key, column in cast("Mapping[object, object]", value).items():
        if isinstance(column, Mapping):
            for each, of_class in cast("Mapping[object, object]", column).items():
                _check_column(f"{name}= of {key!r}", each, of_class)
        else:
            _check_column(f"{name}=", key, column)


def _check_column(what: str, key: object, column: object) -> None:
    if not isinstance(column, str):
        raise RequestError(f"{what} maps {key!r} to {column!r}, which is not a column name")


def check_expected(
    label: object, score: object, counts: object, labels: object, task: str | None, *others: object
) -> str:
    """Return the task of expected metrics; raise if the roles do not fit it."""
    if label is not None or labels is not None:
        raise RequestError(
            "expected= counts each row by its score and reads no label: leave out label= and "
            "labels="
        )
    if score is None:
        raise RequestError("expected= needs score=, the calibrated probability of the positive")
    if not may_have_two_classes(task):
        raise RequestError(f"expected= is for two classes, and task={task!r} is given")
    if has_classes_of_models(score):
        raise RequestError("expected= is for two classes, and score= names several classes")
    if isinstance(counts, Mapping) or any(others):
        raise RequestError(
            "expected= goes with score=, weight= and by=, not with over=, role= or "
            "a table of counts"
        )
    return "binary"
