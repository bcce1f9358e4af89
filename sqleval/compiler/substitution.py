"""Lists substitutions: they add keys to a relation, which a reducer later folds away.

A request has a sequence of substitutions, the innermost first. Files under ``sql/`` do not mention
them, because the keys are added to their ``slice``.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal, NamedTuple, cast

from sqleval.binding.binding import Binding
from sqleval.catalog.request import PER_CLASS, Request
from sqleval.common.columns import NUMBERS
from sqleval.errors import RequestError

#: The reducers of the values over a substitution's keys; `reducers.REDUCERS` has the SQL.
#: ``pooled`` instead aggregates the rows of the first mergeable step, before the metric.
Reducer = Literal[
    "mean", "weighted mean", "extremes", "pooled", "smallest", "largest", "difference", "ratio",
    "difference to all", "integral",
]  # fmt: skip


class Supply(NamedTuple):
    """The source of a relation's further keys; equal supplies give the same relation.

    Attributes
    ----------
    twin : str
        The condition (of `catalog.header.CONDITIONS`) of the twins that write the relation; empty
        if the rows have the keys as columns.
    keys : tuple of str
        The keys that it adds to ``slice``.
    """

    twin: str
    keys: tuple[str, ...]


@dataclass(frozen=True)
class Substitution:
    """One way to supply a relation with further keys.

    Attributes
    ----------
    supply : Supply
        The relation and its keys.
    plural : str
        The plural noun for the keys in notes: ``classes``.
    reducer : Reducer or None
        The reducer that folds the keys away; None keeps a row for each.
    support : str
        The step with the weights, for the weighted mean.
    sampled : bool
        Whether the keys are a sample, so that the mean over them has a standard error.
    role : str
        The role that the input must have.
    undefined_value : float, optional
        The value of a key whose value is undefined; None leaves the key out.
    scored : bool
        Whether it gives each class a score, so that ``score`` need not be a role.
    undefined : str
        A reason for a missing value, in addition to the reasons in the SQL file.
    """

    supply: Supply
    plural: str
    reducer: Reducer | None = None
    support: str = ""
    sampled: bool = False
    role: str = ""
    scored: bool = False
    undefined: str = ""
    undefined_value: float | None = None

    @property
    def is_folded(self) -> bool:
        """Whether its keys are folded away after the metric is computed."""
        return self.reducer is not None and self.reducer != "pooled"


#: Each query of a ranking.
QUERIES = Substitution(
    Supply("", ("query",)), "queries", reducer="mean", sampled=True, role="query"
)
#: The possible orders of the rows within score bins.
ARRANGEMENTS = Substitution(
    Supply("arranged", ("arrangement",)), "arrangements", reducer="extremes"
)
#: Each label of rows of many labels, with one row per label. Steps have a column ``class`` of their
#: own.
LABELS = Substitution(Supply("", ("label_key",)), "labels")
#: Each class against the others, with one row per class.
CLASSES = Substitution(Supply("one_vs_rest", ("class",)), "classes", scored=True)

_REDUCER: dict[str | None, Reducer] = {
    "macro": "mean", "weighted": "weighted mean", "micro": "pooled",
}  # fmt: skip


def create_classes(average: str | None, multi_class: str = "ovr") -> Substitution:
    """Return the substitution of classes, or pairs of classes, for an average."""
    reducer = _REDUCER.get(average)
    ovo = multi_class == "ovo"
    keys = () if reducer == "pooled" else ("class", "other") if ovo else ("class",)
    return Substitution(
        Supply("one_vs_one" if ovo else "one_vs_rest", keys),
        "pairs of classes" if ovo else "classes",
        reducer=reducer,
        support="pair_support" if ovo else "class_support",
        scored=True,
        undefined="fewer than two classes" if ovo else "",
    )


def create_labels(request: Request, binding: Binding) -> tuple[Substitution, ...]:
    """Return the substitution of the labels of a row, or of the rows of many labels.

    Of pooled labels there is none: each label of each row counts once.
    """
    average = request.average
    if request.is_per_row:
        assert binding.many is not None
        if binding.state is not None:
            return ()  # a state holds the sums over rows
        if binding.many.row is None:
            raise RequestError(
                f"{request.name} needs the key of each row: key=COLUMN (--key), as rows have no "
                f"numbers in {binding.dialect}"
            )
        # scikit-learn and Spark count 0 for a row without labels or without predicted labels.
        value = 0.0 if request.depends_on("decisions") else None
        rows = Substitution(
            Supply("", ("query",)), "rows", reducer="mean", sampled=True, undefined_value=value
        )
        if binding.has_fractions or binding.has_counts:
            rows = replace(rows, reducer="weighted mean", support="row_support")
        return (rows,)
    if average == PER_CLASS:
        return (LABELS,)
    if average == "micro":
        return ()
    none = "no positive labels" if average == "weighted" else ""
    return (
        replace(LABELS, reducer=_REDUCER.get(average), support="label_support", undefined=none),
    )


def create_folds(binding: Binding, average: str | None, reduce: str | None = None) -> Substitution:
    """Return the substitution of the data sets, folds, runs or groups of ``over=``."""
    supply = Supply("", binding.folds)
    if reduce is not None:
        if reduce == "integral":
            _check_integral(binding)
        reducer = cast("Reducer", reduce.replace("_", " "))
        return Substitution(supply, "groups", reducer=reducer, support="fold_support")
    return Substitution(supply, "folds", reducer=_REDUCER.get(average), support="fold_support")


def _check_integral(binding: Binding) -> None:
    """Raise `RequestError` unless ``over=`` names one column of numbers."""
    columns = [f"{column.name!r} ({column.type})" for column in binding.over]
    if len(columns) > 1 or binding.over[0].kind not in NUMBERS:
        raise RequestError(
            f"reduce='integral' is over one column of numbers, and over= names {', '.join(columns)}"
        )


def averages_folds(request: Request, binding: Binding) -> bool:
    """Whether a metric reduces its values over the keys of ``over=``, instead of pooling rows."""
    several = binding.has_several_classes
    across = request.relation.header.get("across") == "matrices"
    is_named = request.average in ("macro", "weighted") or (across and not several)
    is_named |= request.reduce is not None
    return bool(binding.over) and is_named


def list_substitutions(
    request: Request, binding: Binding, *, is_arranged: bool
) -> tuple[Substitution, ...]:
    """Return the substitutions of a metric, the innermost first.

    Parameters
    ----------
    request : Request
        The metric.
    binding : Binding
        The input.
    is_arranged : bool
        Whether the metric depends on the order of rows within a score bin.
    """
    several = binding.has_several_classes
    across = request.relation.header.get("across") == "matrices"
    substitutions: list[Substitution] = []
    if request.relation.has_queries or request.relation.is_of_all_queries:
        substitutions.append(QUERIES)
    if is_arranged:
        substitutions.append(ARRANGEMENTS)
    if binding.many is not None:
        substitutions += create_labels(request, binding)
    if several and (across or request.is_per_class):
        substitutions.append(
            CLASSES
            if request.average == PER_CLASS
            else create_classes(request.average, request.multi_class)
        )
    if averages_folds(request, binding):
        substitutions.append(create_folds(binding, request.average, request.reduce))
    return tuple(substitutions)


def list_keys(substitutions: Sequence[Substitution]) -> tuple[str, ...]:
    """Return the keys that substitutions add to ``slice``."""
    return tuple(key for each in substitutions for key in each.supply.keys)


def remove_supplied(
    substitutions: Sequence[Substitution], conditions: frozenset[str]
) -> tuple[Substitution, ...]:
    """Return the substitutions without those that a twin with these conditions supplies itself."""
    return tuple(each for each in substitutions if each.supply.twin not in conditions)
