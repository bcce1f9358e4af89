"""Requests: parses ``"f_beta(beta=2)"`` into a metric with its parameters, and formats it."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, cast

from sqleval.catalog.arguments import check_parameters
from sqleval.catalog.calls import CUTOFF, parse_call
from sqleval.catalog.catalogue import Catalogue, builtin
from sqleval.catalog.contract import Relation
from sqleval.catalog.curve_names import find_curve, look_up_curve
from sqleval.catalog.header import parse_range
from sqleval.catalog.parameters import format_value
from sqleval.catalog.tasks import TASKS, DefaultSet, TaskFacts
from sqleval.common.names import find_nearest
from sqleval.common.sql_text import Value
from sqleval.errors import RequestError

#: Averages over confusion matrices; another average may be a file called NAME_AVERAGE.
AVERAGES = ("macro", "micro", "weighted")
#: The average over the rows of many labels.
SAMPLES = "samples"
#: The reductions of the values over the keys of ``over=``, such as groups of customers: mean, mean
#: weighted by rows, smallest, largest, largest minus smallest, smallest divided by largest, largest
#: distance from the value of all rows, and area under the values over a numeric key.
REDUCTIONS = (
    "mean", "weighted_mean", "smallest", "largest", "difference", "ratio", "difference_to_all",
    "integral",
)  # fmt: skip
#: The average of ``average=None``: one row per class.
PER_CLASS = "none"
#: One-vs-rest and one-vs-one: a confusion matrix per class, or per pair of classes.
MULTI_CLASS = ("ovr", "ovo")


@dataclass(frozen=True)
class Request:
    """One metric with its parameters.

    Attributes
    ----------
    parameters : tuple of (str, value)
        The parameters in the request, by name.
    average : str or None
        The average over classes, pairs of classes or the keys of ``over=``.
    named : bool
        Whether the user named it; False for the default set.
    reduce : str or None
        The reduction of the values over the keys of ``over=``: one of `REDUCTIONS`.
    multi_class : str
        ``ovr`` or ``ovo``.
    zero_division : float or None
        The value that replaces an undefined one; None leaves it undefined. In a ranking it is
        ``empty=``, the value of a query without relevant items.
    catalogue : Catalogue
        The catalogue that holds the metric's file.
    """

    name: str
    parameters: tuple[tuple[str, Value], ...] = ()
    average: str | None = None
    named: bool = True
    reduce: str | None = None
    multi_class: str = "ovr"
    zero_division: float | None = None
    catalogue: Catalogue = field(default_factory=builtin, repr=False)

    @property
    def relation(self) -> Relation:
        """The metric's portable file."""
        return self.catalogue.get(self.name)

    @property
    def is_sum(self) -> bool:
        """Whether it is a sum, which depends on the number of rows."""
        return self.is_unnormalised or self.relation.is_sum

    @property
    def is_unnormalised(self) -> bool:
        """Whether ``normalize=False`` makes it the sum instead of the mean."""
        return dict(self.parameters).get("normalize") is False

    @property
    def header(self) -> Mapping[str, Any]:
        """The header of the metric's file, with the range and direction of this request."""
        header = self.relation.header
        if self.reduce in ("difference", "difference_to_all"):
            low, high = parse_range(str(header.get("range") or ".."))
            return {**header, "direction": "lower", "range": f"0 .. {high - low}"}
        if self.reduce == "ratio":
            # The ratio of two values of different sign may be any number.
            is_signed = str(header["range"]).startswith("-")
            return {**header, "direction": "higher", "range": "" if is_signed else "0 .. 1"}
        if self.reduce == "integral":
            return {**header, "range": ""}
        # The header has the range of the mean.
        return {**header, "range": "0 .. inf"} if self.is_unnormalised else header

    @property
    def is_per_class(self) -> bool:
        """Whether a metric of two classes is computed per class, or per pair of classes."""
        return self.average is not None and self.relation.is_per_class

    @property
    def is_per_row(self) -> bool:
        """Whether it is computed per row of many labels, and averaged over rows."""
        return self.average == SAMPLES or self.relation.is_per_row

    def depends_on(self, step: str) -> bool:
        """Whether the metric's file reads ``step``, directly or through others."""
        return self.catalogue.depends_on(self.name, step)


def _split_scorer_name(name: str, catalogue: Catalogue) -> tuple[str, dict[str, object]]:
    """Split scikit-learn's names (``f1_macro``, ``roc_auc_ovr_weighted``), and resolve aliases.

    ``precision@`` of ``precision@10`` is ``precision_at_k``, and ``ndcg@`` is ``ndcg``.
    """
    if name.endswith(CUTOFF):
        stem = name.removesuffix(CUTOFF)
        return catalogue.find(f"{stem}_at_k") or catalogue.find(stem) or stem, {}
    if full_name := catalogue.find(name):
        return full_name, {}
    options: dict[str, object] = {}
    stem, _, last = name.rpartition("_")
    if last in (*AVERAGES, SAMPLES):
        options["average"] = last
        name, (stem, _, last) = stem, stem.rpartition("_")
    if last in MULTI_CLASS:
        options = {"average": "macro", **options, "multi_class": last}
        name = stem
    return catalogue.find(name) or name, options


def find_name(text: str, catalogue: Catalogue | None = None) -> str:
    """Return the name of a request's file: ``f1`` for ``f1_macro``."""
    catalogue = catalogue or builtin()
    full_name = parse_call(text)[0]
    name = _split_scorer_name(full_name, catalogue)[0]
    return name if name in catalogue.names else full_name.removesuffix(CUTOFF)


def find_direction(text: str, catalogue: Catalogue | None = None) -> str:
    """Return the direction in which a metric is better: ``higher``, ``lower`` or ``none``."""
    catalogue = catalogue or builtin()
    return str(_get_metric(find_name(text, catalogue), catalogue).header["direction"])


def _get_metric(name: str, catalogue: Catalogue) -> Relation:
    relation = catalogue.get(name) if name in catalogue.names else None
    if relation is None or relation.kind != "metric":
        metrics = {each.name for each in catalogue.relations("metric")}
        names = metrics | {alias for alias, file in catalogue.aliases.items() if file in metrics}
        kind = catalogue.describe_kind(name) if relation else ""
        near = find_nearest(name, names) or (
            "; `sqleval list` shows them all, and --sql FOLDER (sql: in a job) adds your own"
        )
        raise RequestError(f"no metric called {name!r}{kind}{near}")
    return relation


def _check_choice(name: str, option: str, value: object, allowed: tuple[object, ...]) -> Any:
    if isinstance(value, bool) or value not in allowed:
        shown = ", ".join(map(repr, allowed))
        raise RequestError(f"{name}: {option}={value!r} is not known; use one of {shown}")
    return value


def parse(
    text: str, task: str, *, named: bool = True, folds: bool = False,
    catalogue: Catalogue | None = None,
) -> Request:  # fmt: skip
    """Parse a request, and check it against the catalogue and the task.

    Parameters
    ----------
    text : str
        A metric, optionally with parameters.
    task : str
        The task of the input.
    named : bool
        Whether the user named it; False for the default set.
    folds : bool
        Whether the input has ``over=``.
    catalogue : Catalogue, optional
        The built-in one by default.

    Raises
    ------
    RequestError
        For an unknown metric or parameter, a wrong type, or a metric that does not fit.
    """
    catalogue = catalogue or builtin()
    full_name, values = parse_call(text)
    if TASKS[task].has_queries and f"{full_name}_at_k" in catalogue.names:
        full_name += CUTOFF  # precision is a metric of two classes
    name, options = _split_scorer_name(full_name, catalogue)
    full_name = full_name.removesuffix(CUTOFF)
    relation = _get_metric(name if name in catalogue.names else full_name, catalogue)
    values = options | values
    average = values.pop("average", "")
    average = PER_CLASS if average is None else average
    multi_class = _check_choice(name, "multi_class", values.pop("multi_class", "ovr"), MULTI_CLASS)
    zero_division = values.pop("zero_division", None)
    if zero_division is not None:
        zero_division = float(_check_choice(name, "zero_division", zero_division, (0, 1)))
    if relation.has_queries and "empty" in values:
        empty = _check_choice(name, "empty", values.pop("empty"), ("skip", 0, 1))
        zero_division = None if empty == "skip" else float(empty)
    if average and average not in (*AVERAGES, PER_CLASS, SAMPLES):
        name, relation = _get_average_file(name, average, catalogue)
        average = ""
    reduce = values.pop("reduce", None)
    if reduce is not None:
        _check_reduce(name, reduce, TASKS[task], average, folds=folds)
    average = _check_average(relation, task, str(average), multi_class, folds=folds)
    parameters = check_parameters(name, values, catalogue)
    return Request(
        name, parameters, average or None, named, cast("str | None", reduce), multi_class,
        zero_division, catalogue,
    )  # fmt: skip


def _check_reduce(
    name: str, reduce: object, task: TaskFacts, average: object, *, folds: bool
) -> None:
    """Raise `RequestError` if ``reduce=`` does not fit the metric or the input."""
    _check_choice(name, "reduce", reduce, REDUCTIONS)
    if not folds:
        raise RequestError(
            f"{name}: reduce={reduce!r} is over groups of rows, and over= names their column"
        )
    if reduce == "weighted_mean" and task.has_queries:
        raise RequestError(
            f"{name}: reduce={reduce!r} weighs groups by their rows, and here queries count: leave "
            "it out for the mean over all queries"
        )
    if average and not task.takes_averages:
        raise RequestError(f"{name}: average= and reduce= both fold over=; leave one out")
    if average == PER_CLASS:
        raise RequestError(f"{name}: reduce= folds one value per group; name an average of classes")


def _get_average_file(name: str, average: object, catalogue: Catalogue) -> tuple[str, Relation]:
    """Return the file NAME_AVERAGE, such as ``f1_macro_of_means``."""
    whole = f"{name}_{average}"
    if whole not in catalogue.names:
        allowed = ", ".join(map(repr, AVERAGES))
        raise RequestError(
            f"average={average!r} is not known for {name}; use one of {allowed}, None"
        )
    return whole, _get_metric(whole, catalogue)


def _check_average(
    relation: Relation, task: str, average: str, multi_class: str, *, folds: bool
) -> str:
    """Return the average of a metric for a task; raise if the metric does not fit the task."""
    name, several = relation.name, TASKS[task].has_several_classes
    across = relation.header.get("across") == "matrices"
    per_class, is_ovo = relation.takes_average(task), multi_class == "ovo"
    ways = ", ".join(f"task={each!r} (--task {each})" for each in relation.tasks)
    named = f"the task: {ways}" if relation.has_labels else "value=COLUMN (--value COLUMN)"
    if relation.has_values and relation.has_labels and TASKS[task].has_one_score:
        named += ", with prediction= (--prediction) instead of score="
    refusals = (
        (across and not several and not folds,
            f"{name} averages over several matrices: give over=, or several classes"),
        (relation.has_queries and average,
            f"{name}: average= is not for ranking; it is the mean over the queries"),
        (task not in relation.tasks and not (across and folds),
            f"{name} is a {relation.family} metric and the task is {task}; name another metric, or "
            f"{named}"),
        (average == SAMPLES and not TASKS[task].has_many_labels,
            f"{name}: average='samples' is the mean over rows of many labels (task='multilabel')"),
        (not per_class and (average == PER_CLASS or (average and not folds)),
            f"{name}: average= is for metrics of two classes over several classes "
            "(task='multiclass'), or over the keys of over="),
        (is_ovo and not (several and (per_class or across)),
            f"{name}: multi_class='ovo' is for metrics of two classes over several"),
        (is_ovo and average == PER_CLASS,
            f"{name}: pairs of classes need an average, such as average='macro'"),
    )  # fmt: skip
    for is_refused, why in refusals:
        if is_refused:
            raise RequestError(why)
    return average or ("macro" if per_class else "")


def list_metrics(metrics: object) -> list[str]:
    """Return the texts of one metric or several; raise `RequestError` for other objects."""
    texts = [metrics] if isinstance(metrics, str) else metrics
    if isinstance(texts, Iterable):
        listed = list(cast("Iterable[object]", texts))
        if all(isinstance(text, str) for text in listed):
            return cast("list[str]", listed)
    raise RequestError(f"metrics={metrics!r} must be the name of a metric, or a list of names")


def parse_all(
    metrics: str | Iterable[str] | None,
    task: str,
    has_score: bool,
    *,
    folds: bool = False,
    catalogue: Catalogue | None = None,
) -> tuple[Request, ...]:
    """Parse one metric, several, or (None) the default set of the task."""
    if metrics is None:
        metrics = TASKS[task].list_defaults(has_score=has_score)
    texts = list_metrics(metrics)
    if not texts:
        raise RequestError("no metric is named; leave metrics out for the default set")
    named = not isinstance(metrics, DefaultSet)
    parsed = (parse(text, task, named=named, folds=folds, catalogue=catalogue) for text in texts)
    return tuple(dict.fromkeys(parsed))


def parse_curve(
    name: str, parameters: Mapping[str, object], task: str, catalogue: Catalogue | None = None
) -> Request:
    """Parse the request for a curve; ``roc`` is short for ``roc_curve``.

    Raises
    ------
    RequestError
        For an unknown curve or parameter, or a task without curves.
    """
    catalogue = catalogue or builtin()
    name, values = parse_call(name)
    full = find_curve(name, catalogue)
    if task not in (tasks := catalogue.get(full).tasks):
        fitting = [each.name for each in catalogue.relations("curve") if task in each.tasks]
        raise RequestError(
            f"{full} needs {' or '.join(f'task={each!r}' for each in tasks)} (--task), and the "
            f"task is {task!r}; its curves: {', '.join(fitting) or 'none'}"
        )
    return Request(
        full, check_parameters(full, {**values, **parameters}, catalogue), catalogue=catalogue
    )


def has_parameter(name: str, option: str, catalogue: Catalogue | None = None) -> bool:
    """Whether a curve has a parameter of this name."""
    catalogue = catalogue or builtin()
    full = look_up_curve(parse_call(name)[0], catalogue)
    return full is not None and option in catalogue.parameters(full)


def parse_table(text: str, task: str, catalogue: Catalogue | None = None) -> Request | None:
    """Parse the request for a curve or the confusion table; None for a metric."""
    catalogue = catalogue or builtin()
    name, values = parse_call(text)
    # If a name fits both a metric and a curve (ks, ks_curve), it means the metric.
    is_metric = name in catalogue.names and catalogue.get(name).kind == "metric"
    if not is_metric and (full := look_up_curve(name, catalogue)) is not None:
        return parse_curve(full, values, task, catalogue)
    return parse_confusion(values, catalogue) if name == "confusion" else None


#: The files of the confusion table.
TABLES = ("confusion", "confusion_shares")


def parse_confusion(values: Mapping[str, object], catalogue: Catalogue) -> Request:
    """Return the request for the confusion table; with ``normalize``, it has shares."""
    name = TABLES[1] if "normalize" in values else TABLES[0]
    return Request(name, check_parameters(name, values, catalogue), catalogue=catalogue)


def format_request(request: Request) -> str:
    """Return the text of a request, with the parameters that differ from their defaults."""
    options: list[str] = []
    if request.parameters:
        declared = request.catalogue.parameters(request.name)
        options = [
            f"{k}={format_value(v)}" for k, v in request.parameters if v != declared[k].default
        ]
    if request.zero_division is not None:
        option = "empty" if request.relation.has_queries else "zero_division"
        options.insert(0, f"{option}={format_value(request.zero_division)}")
    if request.multi_class != "ovr":
        options.insert(0, f"multi_class={request.multi_class!r}")
    if request.reduce is not None:
        options.insert(0, f"reduce={request.reduce!r}")
    if request.average:
        options.insert(0, f"average={None if request.average == PER_CLASS else request.average!r}")
    return f"{request.name}({', '.join(options)})" if options else request.name
