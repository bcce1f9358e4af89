"""What is asked for: ``"f_beta(beta=2)"`` to a metric with its parameters, and back."""

import ast
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from sqleval import catalog, graph
from sqleval.catalog import Relation, Value
from sqleval.errors import RequestError
from sqleval.names import nearest

#: Averages over classes; any other text may name a file of its own, NAME_AVERAGE.
AVERAGES = ("macro", "micro", "weighted")

#: Families that make sense for a task; ``binary`` needs an average for several classes.
FAMILIES: Mapping[str, frozenset[str]] = {
    "binary": frozenset({"classification", "binary", "curve"}),
    "multiclass": frozenset({"classification", "binary", "multiclass"}),
    "regression": frozenset({"regression"}),
    "ranking": frozenset({"ranking"}),
}

#: What is evaluated when nothing is named, by task and by whether there is a score.
DEFAULTS: Mapping[tuple[str, bool], tuple[str, ...]] = {
    ("binary", True): (
        "roc_auc", "average_precision", "ks", "log_loss", "brier_score",
        "accuracy", "balanced_accuracy", "precision", "recall", "f1",
        "matthews_corrcoef", "prevalence",
    ),
    ("binary", False): (
        "accuracy", "balanced_accuracy", "precision", "recall", "specificity", "f1",
        "matthews_corrcoef", "cohen_kappa", "prevalence",
    ),
    ("multiclass", True): (
        "accuracy", "balanced_accuracy", "f1(average='macro')", "matthews_corrcoef",
        "cohen_kappa", "log_loss", "brier_score", "roc_auc(average='macro')",
    ),
    ("multiclass", False): (
        "accuracy", "balanced_accuracy", "f1(average='macro')", "f1(average='weighted')",
        "matthews_corrcoef", "cohen_kappa",
    ),
    ("regression", False): ("mse", "rmse", "mae"),
    ("ranking", True): ("ndcg", "ndcg(k=10)"),
}  # fmt: skip


@dataclass(frozen=True)
class Request:
    """One metric with its parameters; ``named`` is False when it came from the default set."""

    name: str
    given: tuple[tuple[str, Value], ...]
    average: str | None
    named: bool

    @property
    def relation(self) -> Relation:
        """The metric's portable file."""
        return catalog.get(self.name)


def _call(text: str) -> tuple[str, dict[str, object]]:
    """Read ``name`` or ``name(key=literal, ...)``."""
    try:
        node = ast.parse(text.strip(), mode="eval").body
        if isinstance(node, ast.Name):
            return node.id, {}
        if (
            isinstance(node, ast.Call)
            and isinstance(node.func, ast.Name)
            and not node.args
            and all(keyword.arg for keyword in node.keywords)
        ):
            values = {str(k.arg): ast.literal_eval(k.value) for k in node.keywords}
            return node.func.id, values
    except (SyntaxError, ValueError):
        pass
    raise RequestError(f"cannot read the metric {text!r}; write it as f1 or f_beta(beta=2)")


def _scorer(name: str) -> tuple[str, str | None]:
    """Split scikit-learn's scorer names: ``f1_macro``, ``roc_auc_ovr_weighted``."""
    known = catalog.index()
    if name in known:
        return name, None
    stem, _, last = name.rpartition("_")
    if last in AVERAGES and stem.removesuffix("_ovr") in known:
        return stem.removesuffix("_ovr"), last
    if last == "ovr" and stem in known:
        return stem, "macro"
    return name, None


def _known_metric(name: str) -> Relation:
    relation = catalog.get(name) if name in catalog.index() else None
    if relation is None or relation.kind != "metric":
        names = [each.name for each in catalog.relations("metric")]
        kind = f" ({name!r} is a {relation.kind})" if relation else ""
        near = nearest(name, names) or "; `sqleval list` shows them all"
        raise RequestError(f"no metric called {name!r}{kind}{near}")
    return relation


def parse(text: str, task: str, *, named: bool = True) -> Request:
    """Return the request written as ``text``, checked against the catalogue and the task.

    Raises
    ------
    RequestError
        For an unknown metric or parameter, a wrong type, or a metric that does not fit.
    """
    name, values = _call(text)
    name, scorer_average = _scorer(name)
    average = values.pop("average", scorer_average)
    relation = _known_metric(name)
    if average is not None and average not in AVERAGES:
        whole = f"{name}_{average}"
        if whole not in catalog.index():
            raise RequestError(
                f"average={average!r} is not known for {name}; use one of {', '.join(AVERAGES)}"
            )
        name, average, relation = whole, None, _known_metric(whole)
    if relation.family not in FAMILIES[task]:
        raise RequestError(
            f"{name} is a {relation.family} metric and the task is {task}; "
            f"task= or another metric is needed"
        )
    if relation.family == "binary" and task == "multiclass":
        average = average or "macro"
    elif average is not None:
        raise RequestError(f"{name}: average= is for binary metrics over several classes")
    given = _given(name, values)
    return Request(name, given, str(average) if average else None, named)


def widest(name: str) -> Relation | None:
    """Prefer the twin that declares parameters, so that every parameter can be named."""
    if name in catalog.CONTRACT:
        return None
    return max(catalog.files(name), key=lambda relation: len(relation.params))


def parse_all(
    metrics: str | Iterable[str] | None, task: str, has_score: bool
) -> tuple[Request, ...]:
    """Return the requests for one metric, several, or (None) the default set of the task."""
    if metrics is None:
        names = DEFAULTS[task, has_score]
        return tuple(parse(text, task, named=False) for text in names)
    texts = [metrics] if isinstance(metrics, str) else list(metrics)
    if not texts:
        raise RequestError("no metric is named; leave metrics out for the default set")
    return tuple(dict.fromkeys(parse(text, task) for text in texts))


def curve(name: str, given: Mapping[str, object], task: str) -> Request:
    """Return the request for a curve; ``roc`` is short for ``roc_curve``.

    Raises
    ------
    RequestError
        For an unknown curve or parameter, or a task without curves.
    """
    full = name if name in catalog.index() else f"{name}_curve"
    names = [each.name for each in catalog.relations("curve")]
    if full not in names:
        raise RequestError(
            f"no curve called {name!r}{nearest(full, names)} (curves: {', '.join(names)})"
        )
    if task != "binary":
        raise RequestError(f"{full} is for a binary task, and the task is {task}")
    return Request(full, _given(full, given), None, True)


def as_curve(text: str, task: str) -> Request | None:
    """Return the request for ``text`` if it names a curve or a step with own columns."""
    name, values = _call(text)
    for full in (name, f"{name}_curve"):
        if full in catalog.index() and catalog.get(full).kind == "curve":
            return curve(full, values, task)
    return Request(name, _given(name, values), None, True) if name == "confusion" else None


def _given(name: str, values: Mapping[str, object]) -> tuple[tuple[str, Value], ...]:
    """Check parameters against those the file and its steps declare."""
    if not values:
        return ()
    declared = graph.inherited(name, widest)
    for key in values:
        if key not in declared:
            near = nearest(key, declared) or f"; it takes {', '.join(declared) or 'none'}"
            raise RequestError(f"{name} has no parameter {key!r}{near}")
    return tuple((k, declared[k].check(f"{name}({k}=)", v)) for k, v in sorted(values.items()))


def label(request: Request) -> str:
    """Return the text of a request: parameters shown when they are not the default."""
    shown: list[str] = []
    if request.given:
        declared = graph.inherited(request.name, widest)
        shown = [f"{k}={v!r}" for k, v in request.given if v != declared[k].default]
    if request.average:
        shown.insert(0, f"average={request.average!r}")
    shown = [part.removesuffix(".0") for part in shown]
    return f"{request.name}({', '.join(shown)})" if shown else request.name
