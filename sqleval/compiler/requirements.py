"""Checks that the bound input has what a request needs, and collects its parameters."""

from collections.abc import Iterable

from sqlglot import exp

from sqleval.binding.binding import CELLS, SQUARES, Binding
from sqleval.catalog import graph
from sqleval.catalog.contract import Relation
from sqleval.catalog.request import Request, format_request
from sqleval.common.sql_text import Value, quote, write_literal
from sqleval.compiler.builder import Builder
from sqleval.compiler.domain import DomainChecks
from sqleval.compiler.expected import check_expected
from sqleval.compiler.scope import Scope
from sqleval.compiler.singles import round_threshold
from sqleval.compiler.substitution import list_substitutions
from sqleval.errors import RequestError

#: The step with the four counts of the confusion matrix as columns.
_OUTCOMES = "outcomes"
#: Reasons why a metric of the default set is left out.
_GUARD = "scores are outside 0 .. 1"
_NO_PROBABILITIES = "the scores of earlier rows were outside 0 .. 1"


def create_scope(request: Request, builder: Builder) -> Scope:
    """Return the scope of a metric: its substitutions, parameter values and units of cutoffs."""
    binding = builder.binding
    substitutions = list_substitutions(request, binding, is_arranged=_is_arranged(request, builder))
    runs = request.relation.header.get("units") == "runs"
    return Scope(substitutions, collect_values(binding, request), runs)


def _is_arranged(request: Request, builder: Builder) -> bool:
    """Whether the metric depends on the order of rows within a score bin, which is unknown."""
    # A file that returns bounds itself needs no arrangements of the rows to find them.
    if builder.bins is None or builder.binding.has_queries or "low" in request.relation.columns:
        return False

    def depends_on(step: str) -> bool:
        return graph.depends_on(request.name, step, lambda name: builder.resolve(name, Scope()))

    if depends_on("score_counts"):
        return True
    values = collect_values(builder.binding, request)
    return depends_on("decisions") and not builder.relations.is_decided(values)


def collect_values(binding: Binding, request: Request) -> dict[str, Value]:
    """Return the parameters of a request, and the threshold of the input."""
    values: dict[str, Value] = dict(request.parameters)
    if "threshold" not in values and binding.threshold is not None:
        values["threshold"] = binding.threshold
    if "threshold" in values:
        values["threshold"] = round_threshold(binding, values["threshold"])
    return values


def name_request(request: Request, error: RequestError) -> RequestError:
    """Put the name of the metric or curve before an error, unless it begins with it."""
    is_named = str(error).startswith(f"{request.name} ")
    return RequestError(str(error) if is_named else f"{format_request(request)}: {error}")


def check_names(names: Iterable[str], columns: Iterable[str]) -> None:
    """Raise `RequestError` if a slice key is called like a column of the result."""
    # Also reserved: the audit's columns and those from which intervals and tests are made.
    reserved = {*columns, "_problem", "_notice", "_successes", "_trials", "_stderr"}
    for name in names:
        if name in reserved:
            raise RequestError(
                f"by={name!r}: the result has a column of that name; rename the key, as in "
                f'query="SELECT *, {quote(name)} AS {quote(name + "_")} FROM ..."'
            )


def check_request(
    builder: Builder, request: Request, relation: Relation, checks: DomainChecks
) -> str | None:
    """Add a metric's needs for its scores to ``checks``; return the guard of a default metric.

    Raises
    ------
    RequestError
        If the metric cannot use the bound roles or options.
    """
    binding = builder.binding
    check_expected(binding, request)
    _check_cells(binding, request, relation)
    takes_weights = request.relation.header.get("weights") != "none"
    if not takes_weights and (binding.is_weighted or binding.has_counts):
        what = "weight=" if binding.is_weighted else "counts="
        raise RequestError(f"{what} is given and this metric cannot use weights")
    if not takes_weights and builder.bins is not None and not binding.has_queries:
        raise RequestError(
            "this metric cannot use weights, by which score bins (bins=, tolerance=) and states "
            "count equal rows"
        )
    is_decided = "prediction" in binding.role and not binding.thresholds
    if "threshold" in dict(request.parameters) and is_decided:
        raise RequestError("threshold= cannot change a prediction= that is given")
    domain = request.relation.header.get("domain")
    if not (domain and binding.has_score) and not relies_on_default(builder, request, relation):
        return None
    if not request.named:
        checks.has_guards = True
        return write_literal(_GUARD if binding.has_probabilities else _NO_PROBABILITIES)
    if not binding.has_probabilities:
        needs = "needs scores in 0 .. 1" if domain else "needs threshold= (--threshold)"
        raise RequestError(f"{format_request(request)} {needs}: {_NO_PROBABILITIES}")
    names = checks.of_probabilities if domain else checks.at_default_threshold
    names.append(format_request(request))
    return None


def _check_cells(binding: Binding, request: Request, relation: Relation) -> None:
    """Raise `RequestError` if a metric reads a count of the confusion matrix that is missing."""
    names = [name for name, _ in binding.cells]
    needed = set(CELLS)
    if binding.has_two_classes and set(relation.reads) == {_OUTCOMES}:
        read = {column.name for column in relation.query.find_all(exp.Column)}
        needed = {name for name in CELLS if name in read or f"{name}_{SQUARES}" in read}
    missing = [name for name in CELLS if names and name in needed and name not in names]
    if missing:
        advice = "" if request.named else "; or name metrics (--metric) that read no others"
        raise RequestError(
            f"counts= (--counts) names {', '.join(names)}; {', '.join(missing)} must be there as "
            f"well{advice}"
        )


def check_threshold(
    builder: Builder, request: Request, relation: Relation, checks: DomainChecks
) -> str | None:
    """Return the SQL of the remark on a threshold that no probability can reach."""
    threshold = collect_values(builder.binding, request).get("threshold")
    if not isinstance(threshold, (int, float)) or 0 <= threshold <= 1:
        return None
    if not builder.binding.has_score or not _takes_threshold(builder, request, relation):
        return None
    checks.has_remarks = True
    return write_literal(f"threshold {threshold:g} is outside 0 .. 1, and all scores are inside")


def check_class_sums(binding: Binding, request: Request, checks: DomainChecks) -> str | None:
    """Return the SQL of the remark on rows whose probabilities do not sum to 1."""
    if not binding.classes or not request.relation.header.get("domain"):
        return None
    checks.has_remarks = True
    begin, of = (
        write_literal(text) for text in ("the scores of a row do not sum to 1 in ", " of ")
    )
    sentence = (
        f"CONCAT({begin}, CAST(a._sums_off AS VARCHAR), {of}, CAST(a._used AS VARCHAR), ' rows')"
    )
    return f"CASE WHEN a._sums_off > 0 THEN {sentence} END"


def _takes_threshold(builder: Builder, request: Request, relation: Relation) -> bool:
    scope = create_scope(request, builder)
    return "threshold" in builder.list_parameters(scope, relation)


def relies_on_default(builder: Builder, request: Request, relation: Relation) -> bool:
    """Whether decisions use the default threshold, because none is set."""
    has_threshold = "threshold" in dict(request.parameters) or builder.binding.threshold is not None
    return not has_threshold and _takes_threshold(builder, request, relation)


def is_linearised(builder: Builder, name: str) -> bool:
    """Whether a metric's file, or a file it reads, makes the standard error of squared weights."""
    relation = builder.resolve(name, Scope())
    if relation is None or relation.interval is None:
        return False
    columns = {column.name for column in relation.query.find_all(exp.Column)}
    has_squares = any(column.split("_")[-1] == SQUARES for column in columns)
    return has_squares or any(is_linearised(builder, read) for read in relation.reads)
