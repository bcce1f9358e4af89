"""The metrics as DuckDB macros, one a file: ``FROM sqleval.roc_auc('preds', ...)``."""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from importlib.metadata import version

from sqleval.catalog import request
from sqleval.catalog.catalogue import builtin, sql_folder
from sqleval.catalog.contract import Relation
from sqleval.catalog.parameters import Param
from sqleval.catalog.request import Request
from sqleval.common.columns import Column
from sqleval.common.sql_text import literal
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
    Input,
    Weight,
    argument,
    is_value,
    relation_name,
)
from sqleval.inputs.binding import Binding

_AUDIT = f"'{PREFIX}audit'"


#: The columns of an example, by argument.
_EXAMPLE = {"label": "y", "score": "p", "prediction": "c", "qid": "q"}


def _default(param: Param, name: str) -> str:
    value = None if name == "threshold" else param.default
    if value is None or isinstance(value, bool):
        return str(value).upper().replace("NONE", "NULL")
    return literal(value) if isinstance(value, str) else repr(value)


# -- one macro a name, over each input that it can stand on ------------------------------------


@dataclass(frozen=True)
class _Maker:
    """Makes overloads; ``files`` collects the macros of the files that they call."""

    files: dict[str, str] = field(default_factory=dict[str, str])

    def body(self, given: Input, weight: Weight, *, portable: bool = False) -> Body:
        roles = given.roles if weight is NO_WEIGHT else (*given.roles, "weight")
        columns = tuple((role, Column(role, "DOUBLE")) for role in roles)
        binding = Binding("", given.task, columns, by=(Column("slice", "VARCHAR"),))
        return Body(binding, self.files, portable=portable)

    def curve(self, given: Input, weight: Weight, relation: Relation) -> str:
        """Return an overload of a curve or a table with columns of its own."""
        # A curve has a row a score.
        body = self.body(given, weight, portable=True)
        per_class = given is CLASSES and relation.kind == "curve"
        if per_class and is_per_class(body.binding, relation):
            raise RequestError("a score per class is needed")
        cte = body.place(relation.name)
        own = [column for column in relation.columns if column != "slice"]
        listed = ", ".join(f"c.{column} AS {column}" for column in own)
        rows = f"SELECT c.slice_1 AS slice, {listed} FROM {relation_name(cte)} AS c"
        order = str(relation.header.get("order", ", ".join(own))).split(", ")
        return _overload(
            given, weight, body, rows, needs=_needs(given, relation, body), order=order
        )

    def metric(self, given: Input, weight: Weight, wanted: Request) -> str:
        """Return an overload of one metric."""
        body = self.body(given, weight)
        cte = literal(relation_name(body.metric(wanted)))
        needs = _needs(given, wanted.relation, body)
        call = f"sqleval._metric({_AUDIT}, {cte}, {literal(wanted.name)}, nulls"
        return _overload(given, weight, body, call, needs=needs)

    def several(
        self, given: Input, weight: Weight, wanted: Mapping[str, Request], default: Sequence[str]
    ) -> str:
        """Return an overload that takes many metrics in one scan."""
        body = self.body(given, weight)
        minding: list[str] = []
        deciding: list[str] = []
        rows: list[str] = []
        for name, each in wanted.items():
            cte, guard = literal(relation_name(body.metric(each))), "FALSE"
            if given is SCORES and each.relation.header.get("domain"):
                minding.append(name)
                guard = "metrics IS NULL"
            elif given is SCORES and "threshold" in builtin().parameters(name):
                deciding.append(name)
                guard = "metrics IS NULL AND threshold IS NULL"
            asked = f"sqleval._asked(metrics, {literal(name)}, {str(name in default).upper()})"
            label = literal(request.format_request(each))
            if body.sorts_itself(each):
                # Where another metric needs the ranks of cutoffs, a sort of its own is not needed.
                others = (n for n in wanted if n != name and builtin().depends_on(n, "cutoffs"))
                is_shared = f"sqleval._any_asked(metrics, [{', '.join(map(literal, others))}])"
                shared = literal(relation_name(body.metric(each, twin=False)))
                both = f"{asked} AND {is_shared}"
                rows.append(f"FROM sqleval._row({_AUDIT}, {shared}, {label}, {both}, {guard})")
                asked = f"{asked} AND NOT {is_shared}"
            rows.append(f"FROM sqleval._row({_AUDIT}, {cte}, {label}, {asked}, {guard})")
        needs = "NULL"
        if minding:
            domain, threshold = (f"[{', '.join(map(literal, n))}]" for n in (minding, deciding))
            chosen = f"LEN(LIST_INTERSECT(sqleval._names(metrics), {threshold})) > 0"
            late = f"CASE WHEN {chosen} THEN sqleval._needs_threshold(threshold) END"
            needs = f"COALESCE(sqleval._needs(metrics, {domain}), {late})"
        known = f"[{', '.join(map(literal, wanted))}]"
        return _overload(
            given, weight, body, " UNION ALL ".join(rows), once=True,
            needs=needs, own=f"sqleval._unknown(sqleval._names(metrics), {known})",
            optional={"metrics": "NULL"}, order=["metric"],
        )  # fmt: skip


def _needs(given: Input, relation: Relation, body: Body) -> str:
    """Return for what scores must lie in 0 .. 1, as SQL."""
    if given is SCORES and relation.header.get("domain"):
        return f"sqleval._needs([{literal(relation.name)}], [{literal(relation.name)}])"
    return "sqleval._needs_threshold(threshold)" if "threshold" in body.used else "NULL"


def _delegated(
    name: str, given: Input, weight: Weight, used: Mapping[str, Param], what: str
) -> str:
    """Return an overload that asks ``evaluate`` for one metric."""
    required, defaults = _arguments(given, weight, used)
    if given is CLASSES:
        required["average"] = "average"
    passed = [name.strip('"') for name in [*required, *defaults] if name not in ("tbl", "average")]
    listed = ", ".join(f"{argument(name)} := {argument(name)}" for name in passed)
    call = f"FROM sqleval.evaluate(tbl, metrics := [{what}], {listed})"
    return f"({_declared(required, defaults)}) AS TABLE ({call})"


def _own(used: Mapping[str, Param]) -> Iterator[str]:
    """Yield what may be wrong with each argument, as a text or NULL."""
    for name, param in used.items():
        if is_value(param) and name != "threshold":
            wrong, words = param.write_violation(argument(name))
            found = f"COALESCE(CAST({argument(name)} AS VARCHAR), 'NULL')"
            yield f"CASE WHEN {wrong} THEN CONCAT('{name} must be {words}, not ', {found}) END"


def _arguments(
    given: Input, weight: Weight, used: Mapping[str, Param]
) -> tuple[dict[str, str], dict[str, str]]:
    """Return the required arguments and how they are declared, and the defaults of the others."""
    required = given.declared() | ({"weight": "weight"} if weight.declared else {})
    required |= {name: name for name, param in used.items() if not is_value(param)}
    defaults = {"weight": weight.default} if weight.default else {}
    # Sorting by one byte is faster than by text: twelve metrics took half the time of DuckDB 1.5.
    defaults |= {"slice": "CAST('all' AS ENUM('all'))", "nulls": "'error'"}
    defaults |= {
        argument(name): _default(param, name) for name, param in used.items() if is_value(param)
    }
    return required, defaults


def _declared(required: Mapping[str, str], defaults: Mapping[str, str]) -> str:
    return ", ".join([*required.values(), *(f"{name} := {v}" for name, v in defaults.items())])


def _overload(
    given: Input,
    weight: Weight,
    body: Body,
    result: str,
    *,
    once: bool = False,
    needs: str = "NULL",
    own: str = "",
    optional: Mapping[str, str] | None = None,
    order: Sequence[str] = (),
) -> str:
    """Return the text of an overload: its arguments, its relations, its result.

    ``result`` is a query where there is an order, and else a call that the reasons to refuse
    complete. With ``once`` the source is read once, into memory.
    """
    required, defaults = _arguments(given, weight, body.used)
    defaults = dict(optional or {}) | defaults
    source = f"'{PREFIX}source'"
    columns = [*given.declared(), *([] if given is RANKED else [weight.sql]), "slice"]
    wrong = [*([own] if own else []), *_own(body.used)]
    said = f"COALESCE({', '.join(wrong)})" if len(wrong) > 1 else "".join(wrong) or "NULL"
    # A source may be slow to read, such as a view; its usable rows are quickly found again.
    hint = "MATERIALIZED" if once else "NOT MATERIALIZED"
    parts = [
        f"{PREFIX}source AS {hint} (FROM sqleval._{given.name}({', '.join(columns)}))",
        f"{PREFIX}audit AS (FROM sqleval._{given.checks}_audit({source}))",
        f"{PREFIX}predictions AS NOT MATERIALIZED "
        f"(FROM sqleval._{given.checks}_predictions({source}))",
        *body.texts(),
    ]
    end = f"FROM {result}, {needs}, {said})"
    if order:
        parts.append(f"{PREFIX}result AS ({result})")
        by = ", ".join(f"r.{part}" for part in ("slice", *order))
        call = f"sqleval._checked({_AUDIT}, '{PREFIX}result', nulls, {needs}, {said})"
        end = f"SELECT r.* FROM {call} AS r ORDER BY {by}"
    listed = ",\n".join(parts)
    return f"({_declared(required, defaults)}) AS TABLE (\nWITH {listed}\n{end}\n)"


def _tried(make: Callable[[], str]) -> list[str]:
    """Return an overload, or none where the metric needs what the input does not have."""
    try:
        return [make()]
    except RequestError:
        return []


def _weights(relation: Relation) -> tuple[Weight, ...]:
    """Return the weights of the overloads: apart where rows that all count once are faster."""
    if relation.header.get("weights") == "none":
        return (NO_WEIGHT,)
    below = (file for name in builtin().closure(relation.name) for file in builtin().files(name))
    # A count of rows is a whole number, so tables of counts are apart as well.
    apart = relation.kind != "metric" or any("unweighted" in file.when for file in below)
    return (NO_WEIGHT, GIVEN_WEIGHT) if apart else (ANY_WEIGHT,)


def _overloads(maker: _Maker, relation: Relation) -> Iterator[str]:
    """Yield the overloads of one file's macro, over every input that it can stand on."""
    if relation.header.get("across") == "model":
        return  # rows of several models have no argument yet
    name, wanted = relation.name, Request(relation.name)
    used = dict(builtin().parameters(name))
    if relation.task == "regression":
        yield maker.metric(VALUES, ANY_WEIGHT, wanted)
    elif relation.task == "ranking":
        yield maker.metric(RANKED, NO_WEIGHT, wanted)
    elif relation.kind != "metric":
        for given in (SCORES, CLASSES):
            for weight in _weights(relation):
                yield from _tried(lambda g=given, w=weight: maker.curve(g, w, relation))
    else:
        if not relation.header.get("across"):
            first, *others = _weights(relation)
            yield from _tried(lambda: maker.metric(SCORES, first, wanted))
            for weight in others:
                yield _delegated(name, SCORES, weight, used, literal(name))
        if relation.task == "two classes":
            used.pop("threshold", None)
            if _tried(lambda: _Maker().metric(CLASSES, ANY_WEIGHT, Request(name, average="macro"))):
                what = f"CONCAT('{name}_', average)"
                yield _delegated(name, CLASSES, ANY_WEIGHT, used, what)
        else:
            yield from _tried(lambda: maker.metric(CLASSES, ANY_WEIGHT, wanted))


def _evaluate(maker: _Maker) -> Iterator[str]:
    """Yield the overloads of the macro that takes many metrics at once."""
    several: dict[str, Request] = {}
    averaged: dict[str, Request] = {}
    for relation in builtin().relations("metric"):
        name = relation.name
        if relation.tables or relation.header.get("cost"):
            continue  # a table is no argument of all, and what is quadratic is asked for alone
        wanted = Request(name)
        scores = "binary" in relation.tasks
        if scores and _tried(lambda w=wanted: _Maker().metric(SCORES, GIVEN_WEIGHT, w)):
            several[name] = wanted
        for average in request.AVERAGES if relation.task == "two classes" else (None,):
            each = Request(name, average=average)
            classes = "multiclass" in relation.tasks
            if classes and _tried(lambda w=each: _Maker().metric(CLASSES, ANY_WEIGHT, w)):
                averaged[f"{name}_{average}" if average else name] = each
    for weight in (NO_WEIGHT, GIVEN_WEIGHT):
        yield maker.several(SCORES, weight, several, request.DEFAULTS["binary", True])
    asked = (request.parse(text, "multiclass") for text in request.DEFAULTS["multiclass", False])
    default = [f"{each.name}_{each.average}" if each.average else each.name for each in asked]
    yield maker.several(CLASSES, ANY_WEIGHT, averaged, default)


# -- the bundle ------------------------------------------------------------------------------


@cache
def _macros() -> tuple[Mapping[str, str], Mapping[str, tuple[str, ...]]]:
    """Return the macros of the files, and the overloads of each public macro, by name."""
    maker = _Maker()
    files = [*builtin().relations("metric", "curve"), builtin().get("confusion")]
    made = {"evaluate": tuple(_evaluate(maker))}
    made |= {relation.name: tuple(_overloads(maker, relation)) for relation in files}
    return maker.files, {name: overloads for name, overloads in made.items() if overloads}


def _example(name: str, overload: str) -> str:
    """Return a call of an overload with the columns of an example."""
    required = overload[1 : overload.index(" AS TABLE")].split(":=")[0].split(", ")
    given = {argument.split(" ")[0] for argument in required}
    listed = [
        f"{argument} := {column}" for argument, column in _EXAMPLE.items() if argument in given
    ]
    more = ["average := 'macro'"] if "average" in given else []
    if "cost_matrix" in given:
        cells = ((1, 0, 5), (0, 1, 1), (0, 0, 0), (1, 1, 0))
        costs = ", ".join(f"{{label: {a}, prediction: {b}, cost: {c}}}" for a, b, c in cells)
        more.append(f"cost_matrix := [{costs}]")
    return f"FROM sqleval.{argument(name)}('preds', {', '.join([*listed, *more])})"


def _help(console: str) -> Iterator[tuple[str, ...]]:
    """Yield a row a macro: name, family, example, parameters, summary, formula, undefined."""
    about = "release of sqleval that made the macros"
    yield "version", "console", "SELECT sqleval.version()", "", about, "", ""
    for name, about in _COMMENT.findall(console):
        summary, _, call = about.replace("''", "'").rpartition(": ")
        yield name, "console", call, "", summary, "", ""
    for name, overloads in _macros()[1].items():
        call = _example(name, overloads[0])
        if name == "evaluate":
            about = "several metrics in one scan: metrics := ['roc_auc', 'log_loss']"
            yield name, "all", call, "metrics", about, "", ""
            continue
        relation = builtin().get(name)
        header, notes = relation.header, ", ".join(relation.notes)
        params = builtin().parameters(name).items()
        listed = ", ".join(
            f"{name} := {_default(param, name)}" if is_value(param) else name
            for name, param in params
        )
        yield (
            name, relation.family, call, listed, str(header["summary"]),
            str(header.get("formula", "")), notes,
        )  # fmt: skip


#: A comment in the part that is written by hand: what the macro is, and an example.
_COMMENT = re.compile(
    r"COMMENT ON MACRO (?:TABLE )?sqleval\.(\w+) IS '((?:[^']|'')+: (?:[^']|'')+)';"
)
_HELP = ("name", "family", "call", "parameters", "summary", "formula", "undefined")


def bundle() -> str:
    """Return the script that makes every macro, in the schema ``sqleval`` of any DuckDB.

    A statement ends where a line ends in a semicolon, and semicolons stand nowhere else:
    some consoles cut a script at every one of them.

    Examples
    --------
    >>> import duckdb
    >>> from sqleval.export.macro_script import bundle
    >>> con = duckdb.connect()
    >>> _ = con.execute(bundle())
    >>> _ = con.execute("CREATE TABLE preds AS FROM (VALUES (0, 0.1), (1, 0.8)) AS t(y, p)")
    >>> con.sql("SELECT value FROM sqleval.roc_auc('preds', label := y, score := p)").fetchall()
    [(1.0,)]
    """
    console = (sql_folder() / "console.sql").read_text(encoding="utf-8")
    files, macros = _macros()
    rows = list(_help(console))
    values = ",\n".join(f"({', '.join(map(literal, row))})" for row in rows)
    about = f"SELECT h.* FROM (VALUES\n{values}\n) AS h({', '.join(_HELP)})"
    parts = ["CREATE SCHEMA IF NOT EXISTS sqleval"]
    parts.append(f"CREATE OR REPLACE MACRO sqleval.version() AS {literal(version('sqleval'))}")
    parts.append(
        "COMMENT ON MACRO sqleval.version IS "
        "'release of sqleval that made the macros: SELECT sqleval.version()'"
    )
    parts += [part for each in console.split(";\n") if (part := each.strip())]
    parts += files.values()
    # DuckDB binds a macro that it makes, with those it calls: the largest is made last.
    evaluate = macros["evaluate"]
    stub = ",\n".join(
        f"{overload[: overload.index(' AS TABLE')]} AS TABLE (SELECT 1 AS a)"
        for overload in evaluate
    )
    parts.append(f"CREATE OR REPLACE MACRO sqleval.evaluate\n{stub}")
    for name, overloads in sorted(macros.items(), key=lambda item: item[0] == "evaluate"):
        parts.append(f"CREATE OR REPLACE MACRO sqleval.{argument(name)}\n" + ",\n".join(overloads))
    parts.append(f"CREATE OR REPLACE MACRO sqleval.help() AS TABLE\n{about}")
    parts.append("COMMENT ON MACRO TABLE sqleval.help IS 'every macro: FROM sqleval.help()'")
    for name, family, call, _, summary, *_ in rows:
        if family == "console":
            continue  # commented where it is made
        parts.append(
            f"COMMENT ON MACRO TABLE sqleval.{argument(name)} IS {literal(f'{summary}: {call}')}"
        )
    return "".join(f"{part.replace(';', ',')};\n" for part in parts)
