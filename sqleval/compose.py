"""Metrics and a bound input to one WITH statement."""

from collections.abc import Iterable, Mapping
from ctypes import c_float
from functools import lru_cache
from typing import NamedTuple

from sqlglot import exp

from sqleval import catalog, graph, request
from sqleval.binding import Binding, Column
from sqleval.build import Builder, Context, Cte, Plan, Statement
from sqleval.catalog import Relation, Value
from sqleval.errors import RequestError
from sqleval.intervals import interval
from sqleval.names import literal, quote
from sqleval.reduce import reduced
from sqleval.request import Request
from sqleval.rewrite import SLICE, fusion_key, null_safe, text

#: The columns of every tall result, after the slice keys.
TALL = ("metric", "value", "low", "high", "method", "n", "n_dropped", "note")
_GUARD = "scores are outside 0 .. 1"


class _Instance(NamedTuple):
    """A metric placed in the statement: the CTE that holds it and its columns there."""

    cte: str
    columns: dict[str, str]


def _context(wanted: Request) -> Context:
    if wanted.average == "micro":
        return "micro"
    if wanted.average:
        return "one_vs_rest"
    return "per_query" if wanted.relation.family == "ranking" else None


def _reads(builder: Builder, name: str, context: Context) -> set[str]:
    def resolve(inner: str) -> Relation | None:
        return builder.resolve(inner, context, twin=inner != name)

    return set(graph.closure(name, resolve))


def _twins(builder: Builder, requests: Iterable[Request]) -> set[Request]:
    """Return the requests whose metric has a twin worth taking.

    A twin computes by itself what a step would share, so it pays only where no other
    metric asked for needs a step of the portable file.
    """
    asked = list(requests)
    others = asked if len(asked) > 1 else []
    closures = {r: _reads(builder, r.name, _context(r)) - {r.name} for r in others}
    taken: set[Request] = set()
    for wanted in asked:
        best = builder.resolve(wanted.name, _context(wanted))
        if best is None or not best.when & {"rows", "unweighted"}:
            if best is not None and best.when:
                taken.add(wanted)
            continue
        steps = set(wanted.relation.reads)
        if not any(steps & closures[other] for other in others if other != wanted):
            taken.add(wanted)
    return taken


_FILLED = ("value", "low", "high", "note")
_FOR_INTERVAL = ("successes", "trials", "stderr")


class _Metrics:
    """Places metrics, fusing those that are one plain SELECT from the same relation."""

    def __init__(self, builder: Builder, ci: bool) -> None:
        self.builder = builder
        self.wanted = (*_FILLED, *_FOR_INTERVAL) if ci else _FILLED
        self.fused: dict[object, tuple[str, exp.Select]] = {}

    def place(self, wanted: Request, relation: Relation, values: Mapping[str, Value]) -> _Instance:
        context = _context(wanted)
        query = self.builder.bound(relation, context, values)
        named = {item.alias_or_name: item for item in query.selects}
        plain = fusion_key(relation.query)
        key = (query.args["from_"].sql(), plain, context) if plain else (wanted,)
        if key not in self.fused:
            cte = self.builder.add_cte(f"_metrics_{len(self.fused) + 1}", "")
            assert isinstance(query, exp.Select)
            query.set("expressions", [named[name] for name in self.builder.keys(context)])
            self.fused[key] = (cte, query)
        cte, select = self.fused[key]
        i = 1 + sum(item.alias.startswith("value_") for item in select.selects)
        columns = {name: f"{name}_{i}" for name in self.wanted if name in named}
        for name, alias in columns.items():
            select.append("expressions", exp.alias_(named[name].unalias(), alias))
        return _Instance(cte, columns)

    def finish(self) -> None:
        for cte, select in self.fused.values():
            self.builder.ctes[cte] = Cte(cte, text(select))


def _values(binding: Binding, wanted: Request) -> dict[str, Value]:
    values: dict[str, Value] = dict(wanted.given)
    if "threshold" not in values and binding.threshold is not None:
        values["threshold"] = binding.threshold
    if "threshold" in values:
        values["threshold"] = _rounded(binding, values["threshold"])
    return values


def _rounded(binding: Binding, threshold: Value) -> Value:
    """Round a threshold as the score is: 0.7 as FLOAT is not 0.7 as DOUBLE."""
    kinds = {column.type for column in binding.columns_of("score")}
    return (
        c_float(float(threshold)).value
        if kinds == {"FLOAT"} and threshold is not None
        else threshold
    )


def refuse_clash(binding: Binding, columns: Iterable[str]) -> None:
    """Refuse a slice key whose name is that of a column of the result."""
    for name in binding.key_names:
        if name in columns:
            raise RequestError(
                f"by={name!r}: the result has a column of that name; rename the key, as in "
                f'query="SELECT *, {quote(name)} AS {quote(name + "_")} FROM ..."'
            )


@lru_cache(maxsize=256)
def evaluate(
    binding: Binding,
    requests: tuple[Request, ...],
    plan: Plan = "rows",
    ci: float | None = None,
    columns: tuple[str, ...] | None = None,
    predicate: str | None = None,
    limit: int | None = None,
) -> Statement:
    """Return the statement that computes the tall result of ``requests``."""
    refuse_clash(binding, TALL)
    # Counted groups stand for rows only where a weight counts rows.
    counted = all(each.relation.header.get("weights") == "frequency" for each in requests)
    if binding.task != "binary" or binding.weighted or not counted:
        plan = "rows"
    builder = Builder(binding, plan, portable=ci is not None)
    builder.place_input(predicate)
    z = ""
    if ci is not None:
        from statistics import NormalDist  # late: it costs more to import than to use

        z = "$" + builder.parameter("z", NormalDist().inv_cdf(0.5 + ci / 2))
    metrics = _Metrics(builder, ci is not None)
    twins = _twins(builder, requests)
    branches: list[str] = []
    needing: list[str] = []
    defaulted: list[str] = []
    placed: list[tuple[Request, _Instance, str | None]] = []
    for wanted in requests:
        relation = builder.resolve(wanted.name, _context(wanted), twin=wanted in twins)
        assert relation is not None
        try:
            guard = _guard(builder, wanted, relation, needing, defaulted)
            instance = metrics.place(wanted, relation, _values(binding, wanted))
        except RequestError as error:
            raise RequestError(f"{request.label(wanted)}: {error}") from None
        placed.append((wanted, instance, guard))
    metrics.finish()
    for i, (wanted, instance, guard) in enumerate(placed):
        branches.append(_branch(builder, wanted, instance, guard, z, i))
    guarded = any(guard for *_, guard in placed)
    builder.place_audit(needing, defaulted, guarded)
    builder.add_cte("_results", "\nUNION ALL\n".join(branches))
    return _outermost(builder, columns, guarded, len(requests) > 1, limit)


def _guard(
    builder: Builder, wanted: Request, relation: Relation, needing: list[str], defaulted: list[str]
) -> str | None:
    """Note what a metric asks of its scores; return the note if it was not asked for by name."""
    binding = builder.binding
    if binding.weighted and wanted.relation.header.get("weights") == "none":
        raise RequestError("weight= is given and this metric cannot use weights")
    if "threshold" in dict(wanted.given) and "prediction" in binding.role:
        raise RequestError("threshold= cannot change a prediction= that is given")
    domain = wanted.relation.header.get("domain")
    if not (domain and binding.has_score) and not _relies_on_default(builder, wanted, relation):
        return None
    if wanted.named:
        (needing if domain else defaulted).append(request.label(wanted))
        return None
    return _GUARD


def _relies_on_default(builder: Builder, wanted: Request, relation: Relation) -> bool:
    """Whether a decision is made at the default threshold, which nobody chose."""
    declared = builder.params_of(wanted.name, _context(wanted), relation)
    given = "threshold" in dict(wanted.given) or builder.binding.threshold is not None
    return "threshold" in declared and not given


def _units(builder: Builder, relation: Relation) -> str | None:
    """Return what the metric's cutoffs are made of, if it has any."""
    if not graph.stands_on(relation.name, "cutoffs"):
        return None
    return "rows" if {"rows", "unweighted"} <= builder.conditions(None) else "groups"


def _branch(
    builder: Builder, wanted: Request, instance: _Instance, guard: str | None, z: str, ordinal: int
) -> str:
    cte, columns = instance.cte, dict(instance.columns)
    context = _context(wanted)
    extra = catalog.EXTRA_KEYS.get(context or "")
    if extra:
        support = None
        if wanted.average == "weighted":
            support = builder.place("class_support", None, {})
        cte, columns = _reduce(builder, cte, columns, extra, support, bool(z))
    at = {name: f"r.{column}" for name, column in columns.items()}
    header = wanted.relation.header
    bounds = interval(at, z, header, weighted=builder.binding.weighted)
    how = [part for part in (_units(builder, wanted.relation), bounds.method) if part]
    method = literal("; ".join(how)) if how else "NULL"
    note = at.get("note", "CAST(NULL AS VARCHAR)")
    # Where a slice has rows and the metric's relation has none of them, they weigh nothing.
    if builder.binding.weighted:
        note = f"COALESCE({note}, CASE WHEN {at['value']} IS NULL THEN 'total weight is 0' END)"
    if z and not bounds.method:
        note = f"COALESCE({note}, 'no interval for this metric yet')"
    elif z:
        few = f"CASE WHEN {bounds.low} IS NULL THEN 'too few rows for an interval' END"
        note = f"COALESCE({note}, {few})"
    items = {key: f"a.{key}" for key in builder.binding.keys}
    items |= {
        "ordinal": str(ordinal),
        "metric": literal(request.label(wanted)),
        "value": f"CAST({at['value']} AS DOUBLE)",
        "low": f"CAST({bounds.low} AS DOUBLE)",
        "high": f"CAST({bounds.high} AS DOUBLE)",
        "method": f"CAST({method} AS VARCHAR)",
        "n": "CAST(a._used AS BIGINT)",
        "n_dropped": "CAST(a._rows - a._used AS BIGINT)",
        "note": f"CASE WHEN COALESCE(a._used, 0) = 0 THEN 'no rows' ELSE {note} END",
        "guard": literal(guard) if guard else "CAST(NULL AS VARCHAR)",
    }
    listed = ",\n  ".join(f"{sql} AS {name}" for name, sql in items.items())
    keys = builder.binding.keys
    join = (
        f"LEFT JOIN {cte} AS r ON {null_safe('a', 'r', keys)}" if keys else f"CROSS JOIN {cte} AS r"
    )
    return f"SELECT\n  {listed}\nFROM _audit AS a\n{join}"


def _reduce(
    builder: Builder,
    cte: str,
    columns: Mapping[str, str],
    extra: str,
    support: str | None,
    ci: bool,
) -> tuple[str, dict[str, str]]:
    sql, names = reduced(builder.binding.keys, cte, columns, extra, support, ci=ci)
    return builder.add_cte(f"{cte}_by_{extra}", sql), names


def _outermost(
    builder: Builder,
    columns: tuple[str, ...] | None,
    guarded: bool,
    several: bool,
    limit: int | None,
) -> Statement:
    """Give the slice keys their own names back; nothing else happens here."""
    binding = builder.binding
    items = {name: f"r.{key}" for key, name in zip(binding.keys, binding.key_names, strict=True)}
    items |= {name: f"r.{name}" for name in TALL}
    if guarded:
        test = "r.guard IS NOT NULL AND p.score_outside > 0"
        for name in ("value", "low", "high"):
            items[name] = f"CASE WHEN {test} THEN NULL ELSE r.{name} END"
        items["note"] = f"CASE WHEN {test} THEN r.guard ELSE r.note END"
    chosen = tuple(items) if columns is None else tuple(name for name in items if name in columns)
    order = [*(f"r.{key} NULLS LAST" for key in binding.keys), "r.ordinal"]
    order = order if binding.keys or several else []
    select = _final(items, chosen, "_results", order, limit)
    return builder.statement(select, chosen)


def _final(
    items: Mapping[str, str], chosen: tuple[str, ...], cte: str, order: list[str], limit: int | None
) -> str:
    listed = [f"{items[name]} AS {quote(name)}" for name in chosen]
    listed += ["p.problem AS _problem", "p.notice AS _notice"]
    order_by = "\nORDER BY\n  " + ",\n  ".join(order) if order else ""
    end = f"\nLIMIT {limit}" if limit is not None else ""
    return (
        "SELECT\n  "
        + ",\n  ".join(listed)
        + f"\nFROM {cte} AS r\nCROSS JOIN _problems AS p"
        + order_by
        + end
    )


@lru_cache(maxsize=256)
def relation(
    binding: Binding,
    name: str,
    given: tuple[tuple[str, Value], ...] = (),
    columns: tuple[str, ...] | None = None,
    predicate: str | None = None,
    limit: int | None = None,
) -> Statement:
    """Return the statement for one curve or step, with its own columns.

    Raises
    ------
    RequestError
        If a role is missing, or a slice key is called like a column of the curve.
    """
    # A curve has a row a score, so its units are distinct scores from the start.
    builder = Builder(binding, "rows", portable=True)
    builder.place_input(predicate)
    wanted = Request(name, given, None, True)
    found = builder.resolve(name, None)
    assert found is not None
    try:
        cte = builder.place(name, None, _values(binding, wanted))
    except RequestError as error:
        raise RequestError(f"{name}: {error}") from None
    relies = _relies_on_default(builder, wanted, found)
    builder.place_audit([], [name] if relies else [], guarded=False)
    own = [column for column in found.columns if column != SLICE]
    refuse_clash(binding, own)
    items = {n: f"r.{key}" for key, n in zip(binding.keys, binding.key_names, strict=True)}
    items |= {column: f"r.{column}" for column in own}
    chosen = tuple(items) if columns is None else tuple(n for n in items if n in columns)
    order = [f"r.{key} NULLS LAST" for key in binding.keys]
    order += [f"r.{part}" for part in str(found.header.get("order", ", ".join(own))).split(", ")]
    select = _final(items, chosen, cte, order, limit)
    return builder.statement(select, chosen)


def probe(binding: Binding, column: Column) -> str:
    """Return the statement that counts distinct scores among the first ones."""
    score = quote(column.name)
    return (
        f"SELECT COUNT(DISTINCT {score}), COUNT(*) FROM "
        f"(SELECT s.{score} FROM {binding.relation} AS s LIMIT 65536) AS first"
    )
