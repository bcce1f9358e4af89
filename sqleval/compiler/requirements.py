"""What a request asks of the bound input, and what it is refused."""

from collections.abc import Iterable
from ctypes import c_float

from sqleval.catalog import graph, request
from sqleval.catalog.contract import Relation
from sqleval.catalog.request import Request
from sqleval.common.sql_text import Value, quote
from sqleval.compiler.builder import Builder, Context
from sqleval.errors import RequestError
from sqleval.inputs.binding import Binding


def context(wanted: Request, builder: Builder) -> Context:
    """Return the substitution under which a metric is placed."""
    if wanted.relation.family == "ranking":
        return "per_query"
    task = builder.binding.task
    across = wanted.relation.header.get("across") == "matrices"
    if task != "multiclass":
        folds = across or wanted.average in ("macro", "weighted")
        return "per_fold" if folds else _of_bins(wanted, builder)
    if wanted.average is None and not across:
        return None
    if wanted.average == "micro":
        return "micro_one_vs_one" if wanted.multi_class == "ovo" else "micro"
    return "one_vs_one" if wanted.multi_class == "ovo" else "one_vs_rest"


def _of_bins(wanted: Request, builder: Builder) -> Context:
    """Return under which substitution a metric finds its bounds, where units are bins."""
    # A file that says itself how far off it can be needs no other arrangement of the rows.
    if builder.bins is None or "low" in wanted.relation.columns:
        return None

    def stands_on(step: str) -> bool:
        return graph.stands_on(wanted.name, step, lambda name: builder.resolve(name, None))

    open_ = stands_on("score_counts")
    if not open_ and stands_on("decisions"):
        open_ = not builder.decided(values_of(builder.binding, wanted))
    return "arranged" if open_ else None


def values_of(binding: Binding, wanted: Request) -> dict[str, Value]:
    """Return the parameters given, and the threshold of the scan."""
    values: dict[str, Value] = dict(wanted.given)
    if "threshold" not in values and binding.threshold is not None:
        values["threshold"] = binding.threshold
    if "threshold" in values:
        values["threshold"] = _rounded(binding, values["threshold"])
    return values


def _rounded(binding: Binding, threshold: Value) -> Value:
    """Round a threshold as the score is: 0.7 as FLOAT is not 0.7 as DOUBLE."""
    kinds = {column.type for column in binding.columns_of("score")}
    if kinds == {"FLOAT"} and isinstance(threshold, (int, float)):
        return c_float(threshold).value
    return threshold


def refuse_clash(names: Iterable[str], columns: Iterable[str]) -> None:
    """Refuse a slice key whose name is that of a column of the result."""
    taken = {*columns, "_problem", "_notice"}  # which say whether the input is sound
    for name in names:
        if name in taken:
            raise RequestError(
                f"by={name!r}: the result has a column of that name; rename the key, as in "
                f'query="SELECT *, {quote(name)} AS {quote(name + "_")} FROM ..."'
            )


def guard(
    builder: Builder, wanted: Request, relation: Relation, needing: list[str], defaulted: list[str]
) -> str | None:
    """Note what a metric asks of its scores; return its guard if it was not asked for by name."""
    binding = builder.binding
    if (binding.weighted or binding.counted) and wanted.relation.header.get("weights") == "none":
        what = "weight=" if binding.weighted else "counts="
        raise RequestError(f"{what} is given and this metric cannot use weights")
    if "threshold" in dict(wanted.given) and "prediction" in binding.role:
        raise RequestError("threshold= cannot change a prediction= that is given")
    domain = wanted.relation.header.get("domain")
    if not (domain and binding.has_score) and not relies_on_default(builder, wanted, relation):
        return None
    if wanted.named:
        (needing if domain else defaulted).append(request.label(wanted))
        return None
    return builder.guard(domain=bool(domain))


def relies_on_default(builder: Builder, wanted: Request, relation: Relation) -> bool:
    """Whether a decision is made at the default threshold, which nobody chose."""
    declared = builder.params_of(wanted.name, context(wanted, builder), relation)
    given = "threshold" in dict(wanted.given) or builder.binding.threshold is not None
    return "threshold" in declared and not given
