"""Writes an overload of a macro for each form of input that a metric or curve can read."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache

from sqleval.binding.binding import Binding
from sqleval.catalog import request
from sqleval.catalog.catalogue import builtin
from sqleval.catalog.contract import Relation
from sqleval.catalog.parameters import Param
from sqleval.catalog.request import Request
from sqleval.catalog.roles import ROLES, list_further, name_argument
from sqleval.catalog.tasks import TASKS
from sqleval.common.columns import Column
from sqleval.common.sql_text import write_literal
from sqleval.compiler.curve import is_per_class
from sqleval.errors import RequestError
from sqleval.export.macro_files import (
    ANY_WEIGHT,
    CLASSES,
    GIVEN_WEIGHT,
    NO_WEIGHT,
    PREFIX,
    RANKED,
    SCORES,
    VALUES,
    Body,
    InputForm,
    Weight,
    is_value,
    name_relation,
    quote_argument,
)
from sqleval.export.macro_points import write_thinning
from sqleval.export.macro_wide import write_wide

_AUDIT = f"'{PREFIX}audit'"


def write_default(param: Param, name: str) -> str:
    """Return the default of an argument as SQL."""
    value = None if name == "threshold" else param.default
    if value is None or isinstance(value, bool):
        return str(value).upper().replace("NONE", "NULL")
    return write_literal(value) if isinstance(value, str) else repr(value)


@dataclass(frozen=True)
class _Writer:
    """Writes overloads, and collects in ``files`` the macros of the files that they call."""

    files: dict[str, str] = field(default_factory=dict[str, str])

    def create_body(self, form: InputForm, weight: Weight, *, portable: bool = False) -> Body:
        """Return the relations of a macro, before any is placed."""
        roles = form.roles if weight is NO_WEIGHT else (*form.roles, "weight")
        columns = tuple((role, Column(role, "DOUBLE")) for role in roles)
        binding = Binding("", form.task, columns, by=(Column("slice", "VARCHAR"),))
        return Body(binding, self.files, portable=portable)

    def write_curve(self, form: InputForm, weight: Weight, relation: Relation) -> str:
        """Return an overload of a curve or another table, whose columns the file defines."""
        # Portable files only: they return a curve's row for each score.
        body = self.create_body(form, weight, portable=True)
        per_class = form is CLASSES and relation.kind == "curve"
        if per_class and is_per_class(body.binding, relation):
            raise RequestError("a score per class is needed")
        cte = body.place(relation.name)
        columns = [column for column in relation.columns if column != "slice"]
        listed = ", ".join(f"c.{column} AS {column}" for column in columns)
        rows = f"SELECT c.slice_1 AS slice, {listed} FROM {name_relation(cte)} AS c"
        order = str(relation.header.get("order", ", ".join(columns))).split(", ")
        needs = _write_needs(form, relation, body)
        return _write_overload(
            form, weight, body, rows, needs=needs, order=order, measured=relation.measured
        )

    def write_metric(self, form: InputForm, weight: Weight, metric: Request) -> str:
        """Return an overload of one metric."""
        body = self.create_body(form, weight)
        cte = write_literal(name_relation(body.place_metric(metric)))
        needs = _write_needs(form, metric.relation, body)
        call = f"sqleval._metric({_AUDIT}, {cte}, {write_literal(metric.name)}, nulls"
        return _write_overload(form, weight, body, call, needs=needs)

    def has_metric(self, form: InputForm, metric: Request) -> bool:
        """Return whether a form of input, with weights, has the columns that a metric reads."""
        try:
            self.create_body(form, ANY_WEIGHT).place_metric(metric)
        except RequestError:
            return False
        return True

    def write_many(
        self,
        form: InputForm,
        weight: Weight,
        metrics: Mapping[str, Request],
        default: Sequence[str],
    ) -> str:
        """Return an overload that computes many metrics in one scan."""
        body = self.create_body(form, weight)
        # Metrics that need probabilities, and metrics with a threshold.
        of_probabilities: list[str] = []
        with_threshold: list[str] = []
        rows: list[str] = []
        for name, each in metrics.items():
            cte, guard = write_literal(name_relation(body.place_metric(each))), "FALSE"
            if form is SCORES and each.relation.header.get("domain"):
                of_probabilities.append(name)
                guard = "metrics IS NULL"
            elif form is SCORES and "threshold" in builtin().parameters(name):
                with_threshold.append(name)
                guard = "metrics IS NULL AND threshold IS NULL"
            by_default = str(name in default).upper()
            is_requested = f"sqleval._is_requested(metrics, {write_literal(name)}, {by_default})"
            label = write_literal(request.format_request(each))
            if body.has_own_sort(each):
                # If another metric reads the step ``cutoffs``, one sort serves both.
                others = (n for n in metrics if n != name and builtin().depends_on(n, "cutoffs"))
                is_shared = f"sqleval._is_any_requested(metrics, {_write_list(others)})"
                shared = write_literal(name_relation(body.place_metric(each, twin=False)))
                both = f"{is_requested} AND {is_shared}"
                rows.append(f"FROM sqleval._row({_AUDIT}, {shared}, {label}, {both}, {guard})")
                is_requested = f"{is_requested} AND NOT {is_shared}"
            rows.append(f"FROM sqleval._row({_AUDIT}, {cte}, {label}, {is_requested}, {guard})")
        needs = "NULL"
        if of_probabilities:
            at_threshold = f"LIST_INTERSECT(sqleval._names(metrics), {_write_list(with_threshold)})"
            late = f"CASE WHEN LEN({at_threshold}) > 0 THEN sqleval._needs_threshold(threshold) END"
            needs = f"COALESCE(sqleval._needs(metrics, {_write_list(of_probabilities)}), {late})"
        unknown = f"sqleval._unknown(sqleval._names(metrics), {_write_list(metrics)})"
        return _write_overload(
            form, weight, body, " UNION ALL ".join(rows), once=True,
            needs=needs, unknown=unknown,
            optional={"metrics": "NULL"}, order=["metric"],
        )  # fmt: skip


def _write_list(names: Iterable[str]) -> str:
    """Return names as a list of texts in SQL."""
    return f"[{', '.join(map(write_literal, names))}]"


def _write_needs(form: InputForm, relation: Relation, body: Body) -> str:
    """Return SQL for the reason why scores must lie in 0 .. 1, or NULL.

    The reason is a metric of probabilities, or the default threshold.
    """
    if form is SCORES and relation.header.get("domain"):
        name = _write_list([relation.name])
        return f"sqleval._needs({name}, {name})"
    return "sqleval._needs_threshold(threshold)" if "threshold" in body.arguments else "NULL"


def _write_delegate(
    form: InputForm, weight: Weight, params: Mapping[str, Param], metric: str
) -> str:
    """Return an overload that calls ``evaluate`` with one metric, whose name is SQL."""
    required, defaults = _list_arguments(form, weight, params)
    if form is CLASSES:
        required["average"] = "average"
    passed = [name.strip('"') for name in [*required, *defaults] if name not in ("tbl", "average")]
    listed = ", ".join(f"{quote_argument(name)} := {quote_argument(name)}" for name in passed)
    call = f"FROM sqleval.evaluate(tbl, metrics := [{metric}], {listed})"
    return f"({_write_signature(required, defaults)}) AS TABLE ({call})"


def _list_violations(params: Mapping[str, Param]) -> Iterator[str]:
    """Yield SQL for the problem with each argument: a text, or NULL."""
    for name, param in params.items():
        if is_value(param) and name != "threshold":
            is_wrong, words = param.write_violation(quote_argument(name))
            value = f"COALESCE(CAST({quote_argument(name)} AS VARCHAR), 'NULL')"
            yield f"CASE WHEN {is_wrong} THEN CONCAT('{name} must be {words}, not ', {value}) END"


def _list_arguments(
    form: InputForm, weight: Weight, params: Mapping[str, Param]
) -> tuple[dict[str, str], dict[str, str]]:
    """Return the declarations of the required arguments, and the defaults of the others."""
    required = form.declare_arguments() | ({"weight": "weight"} if weight.declaration else {})
    required |= {name: name for name, param in params.items() if not is_value(param)}
    defaults = {"weight": weight.default} if weight.default else {}
    # An ENUM of one byte sorts faster than text: twelve metrics took half the time in DuckDB 1.5.
    defaults |= {"slice": "CAST('all' AS ENUM('all'))", "nulls": "'error'"}
    defaults |= {
        quote_argument(name): write_default(param, name)
        for name, param in params.items()
        if is_value(param)
    }
    return required, defaults


def _write_signature(required: Mapping[str, str], defaults: Mapping[str, str]) -> str:
    """Return the arguments of an overload."""
    return ", ".join([*required.values(), *(f"{name} := {v}" for name, v in defaults.items())])


def _write_overload(
    form: InputForm,
    weight: Weight,
    body: Body,
    result: str,
    *,
    once: bool = False,
    needs: str = "NULL",
    unknown: str = "",
    optional: Mapping[str, str] | None = None,
    order: Sequence[str] = (),
    measured: Sequence[str] = (),
) -> str:
    """Return an overload: its arguments, its relations and its result.

    ``result`` is a query if there is an ``order``, else the start of a call whose last arguments
    are the problems. ``unknown`` is SQL for the problem of unknown metrics. With ``once`` the
    source is read once, into memory. ``measured`` are the columns that measure the length of a
    curve, which then has the argument ``points``.
    """
    required, defaults = _list_arguments(form, weight, body.arguments)
    defaults = dict(optional or {}) | defaults | ({"points": "NULL"} if measured else {})
    source = f"'{PREFIX}source'"
    columns = [*form.declare_arguments(), *([] if form is RANKED else [weight.sql]), "slice"]
    problems = [*([unknown] if unknown else []), *_list_violations(body.arguments)]
    problems += ["sqleval._wrong_points(points)"] if measured else []
    several = f"COALESCE({', '.join(problems)})"
    problem = several if len(problems) > 1 else "".join(problems) or "NULL"
    # Reading a source may be slow (a view); filtering its rows twice is fast.
    hint = "MATERIALIZED" if once else "NOT MATERIALIZED"
    parts = [
        f"{PREFIX}source AS {hint} (FROM sqleval._{form.name}({', '.join(columns)}))",
        f"{PREFIX}audit AS (FROM sqleval._{form.checks}_audit({source}))",
        f"{PREFIX}predictions AS NOT MATERIALIZED "
        f"(FROM sqleval._{form.checks}_predictions({source}))",
        *body.write_ctes(),
    ]
    end = f"FROM {result}, {needs}, {problem})"
    if order:
        if measured:
            parts += write_thinning(result, measured, order)
        else:
            parts.append(f"{PREFIX}result AS ({result})")
        by = ", ".join(f"r.{part}" for part in ("slice", *order))
        call = f"sqleval._checked({_AUDIT}, '{PREFIX}result', nulls, {needs}, {problem})"
        end = f"SELECT r.* FROM {call} AS r ORDER BY {by}"
    listed = ",\n".join(parts)
    return f"({_write_signature(required, defaults)}) AS TABLE (\nWITH {listed}\n{end}\n)"


def _write_if_possible(write: Callable[[], str]) -> list[str]:
    """Return the overload in a list; an empty list if the form of input cannot compute it."""
    try:
        return [write()]
    except RequestError:
        return []


def _choose_weights(relation: Relation) -> tuple[Weight, ...]:
    """Return the weights of the overloads: two if a file without weights is faster."""
    if relation.header.get("weights") == "none":
        return (NO_WEIGHT,)
    below = (file for name in builtin().closure(relation.name) for file in builtin().files(name))
    # A count of rows is a whole number, so tables of counts have two overloads as well.
    has_two = relation.kind != "metric" or any("unweighted" in file.when for file in below)
    return (NO_WEIGHT, GIVEN_WEIGHT) if has_two else (ANY_WEIGHT,)


def _list_lost_roles(relation: Relation) -> list[str]:
    """Return the arguments of roles that a relation reads and macros do not have."""
    below = (file for name in builtin().closure(relation.name) for file in builtin().files(name))
    read = {role for file in below for role in file.needs.get("predictions", ()) if role in ROLES}
    return [name_argument(role) for role in list_further(sorted(read)) if role not in RANKED.roles]


def _write_refusal(relation: Relation, lost: Sequence[str]) -> str:
    """Return an overload whose error names the command to use instead of the macro."""
    message = (
        f"{relation.name} reads {', '.join(f'{name}=' for name in lost)}, and console macros have "
        f"no argument for it: sqleval sql {relation.name} --table TABLE writes the statement"
    )
    arguments = ", ".join(f"{name} := NULL" for name in ("label", "score", "prediction", *lost))
    return f"(tbl, {arguments}) AS TABLE (SELECT ERROR({write_literal(message)}) AS value)"


def _list_overloads(writer: _Writer, relation: Relation) -> Iterator[str]:
    """Yield the overloads of a metric, curve or table, one for each form of input."""
    if relation.header.get("across") == "model":
        return  # a macro has no argument for several models
    if not relation.has_labels or relation.is_per_row:
        return  # nor for a column without a label (SQL has AVG and MEDIAN), or for many labels
    if lost := _list_lost_roles(relation):
        yield _write_refusal(relation, lost)
        return
    name, metric = relation.name, Request(relation.name)
    params = dict(builtin().parameters(name))
    if relation.has_values and relation.kind != "metric":
        yield writer.write_curve(VALUES, ANY_WEIGHT, relation)
    elif relation.has_values:
        yield writer.write_metric(VALUES, ANY_WEIGHT, metric)
    elif relation.has_queries:
        yield writer.write_metric(RANKED, NO_WEIGHT, metric)
    elif relation.kind != "metric":
        for form in (SCORES, CLASSES):
            for weight in _choose_weights(relation):
                yield from _write_if_possible(
                    lambda f=form, w=weight: writer.write_curve(f, w, relation)
                )
    else:
        if not relation.header.get("across"):
            first, *others = _choose_weights(relation)
            yield from _write_if_possible(lambda: writer.write_metric(SCORES, first, metric))
            for weight in others:
                yield _write_delegate(SCORES, weight, params, write_literal(name))
        if relation.task == "two classes":
            params.pop("threshold", None)
            if _Writer().has_metric(CLASSES, Request(name, average="macro")):
                averaged = f"CONCAT('{name}_', average)"
                yield _write_delegate(CLASSES, ANY_WEIGHT, params, averaged)
        else:
            yield from _write_if_possible(lambda: writer.write_metric(CLASSES, ANY_WEIGHT, metric))


def _list_evaluate_overloads(writer: _Writer) -> Iterator[str]:
    """Yield the overloads of the macro ``evaluate``, of many metrics."""
    trial = _Writer()
    of_scores: dict[str, Request] = {}
    of_classes: dict[str, Request] = {}
    for relation in builtin().relations("metric"):
        name = relation.name
        if relation.tables or relation.header.get("cost") == "n^2":
            continue  # it needs a table as an argument, or compares all rows with all others
        metric = Request(name)
        if SCORES.task in relation.tasks and trial.has_metric(SCORES, metric):
            of_scores[name] = metric
        for average in request.AVERAGES if relation.task == "two classes" else (None,):
            metric = Request(name, average=average)
            if CLASSES.task in relation.tasks and trial.has_metric(CLASSES, metric):
                of_classes[f"{name}_{average}" if average else name] = metric
    for weight in (NO_WEIGHT, GIVEN_WEIGHT):
        yield writer.write_many(SCORES, weight, of_scores, TASKS[SCORES.task].scored_defaults)
    defaults = (request.parse(text, CLASSES.task) for text in TASKS[CLASSES.task].defaults)
    names = [f"{each.name}_{each.average}" if each.average else each.name for each in defaults]
    yield writer.write_many(CLASSES, ANY_WEIGHT, of_classes, names)


@cache
def write_macros() -> tuple[Mapping[str, str], Mapping[str, tuple[str, ...]]]:
    """Return the macros of the files, and the overloads of each public macro, by name."""
    writer = _Writer()
    files = [*builtin().relations("metric", "curve"), *map(builtin().get, request.TABLES)]
    macros = {"evaluate": tuple(_list_evaluate_overloads(writer))}
    macros |= {relation.name: tuple(_list_overloads(writer, relation)) for relation in files}
    macros |= dict(write_wide(macros))
    return writer.files, {name: overloads for name, overloads in macros.items() if overloads}
