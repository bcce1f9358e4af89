"""Writes the result of metrics: one row per metric and slice, always with the same columns."""

from collections.abc import Sequence
from typing import NamedTuple

from sqleval.binding.binding import Binding, name_set
from sqleval.catalog.request import PER_CLASS, Request, format_request
from sqleval.common.sql_text import LARGEST, select, write_key_equality, write_literal
from sqleval.compiler import weights
from sqleval.compiler.audit import UNKNOWN
from sqleval.compiler.builder import Builder
from sqleval.compiler.domain import DomainChecks
from sqleval.compiler.expected import describe_expectation
from sqleval.compiler.intervals import (
    Bounds,
    Level,
    clip_rounding,
    is_rounded,
    read_range,
)
from sqleval.compiler.joined import Branch, write_join, write_joined, write_union
from sqleval.compiler.placed import (
    PlacedMetric,
    list_hidden,
    write_bounds,
    write_hidden,
)
from sqleval.compiler.reducers import Folding, write_fold
from sqleval.compiler.scope import Scope
from sqleval.compiler.statement import Statement
from sqleval.compiler.substitution import LABELS, Substitution, averages_folds, create_folds

#: The columns of every result of metrics, after the slice keys (and ``class``, where there is one).
COLUMNS = ("metric", "value", "low", "high", "n", "n_dropped", "method", "note")
#: The note of a metric whose interval needs replicates.
NO_CLOSED_FORM = "no interval in closed form; the bootstrap gives one"
#: The note of a sum over rows.
NO_SUM = "no interval: a sum depends on the number of rows, and the mean has one"
#: The note of a metric of all queries together.
NO_MEAN = "no interval: it is one value of all lists, not a mean over them"
#: Start of the text in ``method`` for a metric that ``over=`` does not average.
_POOLED = "pooled over "
#: Regular expression of that text.
POOLED = rf"({_POOLED}\d+ folds)$"
#: Values of the key ``role`` for gaps: how much worse a metric is on this role than on train.
_GAPS = {"test": "gap", "validation": "validation_gap"}
_ROLE_ORDER = ("train", "validation", "test", *_GAPS.values())


def _describe_units(builder: Builder, request: Request) -> str | None:
    """Return the units of the metric's cutoffs; None if it reads no cutoffs."""
    if not request.depends_on("score_counts"):
        return None
    if builder.bins is not None:
        return builder.bins.method
    conditions = builder.list_conditions(Scope())
    # The portable files group by score.
    ranked = {"rows", "unweighted", "duckdb"} <= conditions or {"rows", "bucketed"} <= conditions
    return "rows" if ranked else "groups"


def has_class_column(requests: Sequence[Request]) -> bool:
    """Whether the result has the column ``class``."""
    return any(request.average == PER_CLASS for request in requests)


def explain_no_interval(request: Request) -> str | None:
    """Return the note of a metric that has no interval, not even by the bootstrap."""
    if request.is_sum:
        return NO_SUM
    return NO_MEAN if request.relation.is_of_all_queries else None


def list_columns(requests: Sequence[Request]) -> tuple[str, ...]:
    """Return the columns of a result after its slice keys."""
    return ("class", *COLUMNS) if has_class_column(requests) else COLUMNS


def _choose_undefined(request: Request, folded: Substitution) -> float | None:
    """Return the value that replaces an undefined one before a fold; None leaves it out."""
    given = request.zero_division
    return folded.undefined_value if given is None else given


def _fold_substitutions(
    builder: Builder, placed: PlacedMetric, ci: bool
) -> tuple[str, dict[str, str]]:
    """Reduce the substitutions' keys, the innermost first; return the CTE and its columns."""
    request, cte, columns, substitutions = placed[:4]
    for i, each in enumerate(substitutions):
        if not each.is_folded:
            continue
        outer = substitutions[i + 1 :]
        support = None
        if each.reducer == "weighted mean":
            # Keys that are columns of the rows are also keys of the weights.
            under = outer if each.supply.twin else substitutions[i:]
            support = builder.place(each.support, Scope(under))
        whole = None
        if placed.whole is not None and each.reducer == "difference to all":
            relation, of_all = _fold_substitutions(builder, placed.whole, False)
            whole = (relation, of_all["value"])
        ends = read_range(request.header)
        folding = Folding(
            each, builder.keys(outer), cte, columns, support, whole, ends, ci=ci,
            # Only the first fold replaces undefined values: none are left for the second.
            zero_division=_choose_undefined(request, each) if i == 0 else None,
        )  # fmt: skip
        sql, columns = write_fold(folding)
        over = each.supply.keys[0] if each.reducer != "extremes" else ""
        cte = builder.add_cte(f"{cte}_over_{over}" if over else f"{cte}_bounds", sql)
    return cte, columns


def _write_note(
    builder: Builder, placed: PlacedMetric, at: dict[str, str], bounds: Bounds, *, ci: bool
) -> str:
    note = at.get("note", "CAST(NULL AS VARCHAR)")
    for why in placed.reasons:
        none = f"CASE WHEN {at['value']} IS NULL THEN {write_literal(why)} END"
        note = f"COALESCE({note}, {none})"
    # If a slice has rows, but the metric's relation has none, all weights are 0.
    if builder.binding.has_fractions or builder.binding.has_counts:
        note = f"COALESCE({note}, CASE WHEN {at['value']} IS NULL THEN 'total weight is 0' END)"
    if ci and bounds.method is None:
        why = explain_no_interval(placed.request) or NO_CLOSED_FORM
        note = f"COALESCE({note}, {write_literal(why)})"
    elif ci:
        why = f"CASE WHEN {bounds.low} IS NULL THEN 'no interval: too few rows' END"
        why = f"COALESCE({bounds.note}, {why})" if bounds.note else why
        if builder.binding.is_weighted:
            why = weights.add_remark(why, weights.describe_weights(binned=builder.bins is not None))
        note = f"COALESCE({note}, {why})"
    if remarks := _list_remarks(builder.binding):
        note = f"CONCAT(COALESCE('; ' || ({note}), ''), {', '.join(remarks)})"
        note = f"NULLIF(SUBSTRING({note}, 3), '')"
    return f"CASE WHEN COALESCE(a._used, 0) = 0 THEN 'no rows' ELSE {note} END"


def _list_remarks(binding: Binding) -> list[str]:
    """Return the SQL of remarks on items not retrieved and not judged, each after a semicolon.

    A state has none: it holds the values of queries, not their items.
    """
    remarks: list[str] = []
    for name, role in UNKNOWN.items() if binding.state is None else ():
        if binding.has_queries and role in binding.role:
            # Some engines write the sum of whole numbers as a fraction.
            count, total, added = (
                f"CAST(CAST(a.{column} AS BIGINT) AS VARCHAR)"
                for column in (name, "_used", "_added")
            )
            what = write_literal(f"; {name.strip('_').replace('_', ' ')}: ")
            parts = [what, count, "' of '", total, "' items'"]
            if binding.adds_items and role == "score":
                parts += ["', '", added, "' of them only in the labels'"]
            remarks.append(f"CASE WHEN a.{name} > 0 THEN CONCAT({', '.join(parts)}) ELSE '' END")
    return remarks


def write_order(binding: Binding, key: str, home: str = "r") -> str:
    """Return the ORDER BY term of a slice key; roles and sets have a special order."""
    if binding.sets and key == binding.set_key:
        names = (write_literal(name_set(keys)) for keys in binding.sets)
        places = " ".join(f"WHEN {name} THEN {i}" for i, name in enumerate(names))
        return f"CASE {home}.{key} {places} END"
    if "role" not in binding.role or key != binding.role_key:
        return f"{home}.{key} NULLS LAST"
    places = " ".join(f"WHEN '{name}' THEN {i}" for i, name in enumerate(_ROLE_ORDER))
    return f"CASE r.{key} {places} END NULLS LAST"


class Layout(NamedTuple):
    """The columns of a statement besides the slice keys and `COLUMNS`.

    These are ``class``, the note for scores that are all in 0 .. 1, hidden columns from which
    intervals and tests are computed, and the verdict, where ``_audit`` has it. ``homes`` has the
    name of each relation that is joined.
    """

    class_keys: tuple[str, ...]
    has_remarks: bool
    hidden: tuple[str, ...]
    verdict: tuple[str, ...]
    homes: dict[str, str] | None

    def find_home(self, cte: str) -> str:
        """Return the name of a metric's relation in the results; ``r`` if each is read alone."""
        if self.homes is None:
            return "r"
        return self.homes.setdefault(cte, f"r{len(self.homes) + 1}")


def _write_metric(
    builder: Builder, placed: PlacedMetric, level: Level | None, ordinal: int, layout: Layout
) -> Branch:
    """Return the columns of a metric, and the relations from which they are read."""
    request, binding = placed.request, builder.binding
    cte, columns = _fold_substitutions(builder, placed, level is not None)
    if level is not None and binding.is_weighted:
        cte, columns = weights.place_effective_trials(builder.add_cte, cte, columns)
    home = layout.find_home(cte)
    at = {name: f"{home}.{column}" for name, column in columns.items()}
    bounds = write_bounds(builder, placed, at, level)
    is_pooled = bool(binding.over) and not averages_folds(request, binding)
    folds = _place_folds(builder) if is_pooled else None
    items = {key: f"a.{key}" for key in binding.keys}
    if layout.class_keys:
        of_class = f"{home}.{'class' if binding.many is None else LABELS.supply.keys[0]}"
        is_listed = request.average == PER_CLASS
        items["class"] = of_class if is_listed else _write_no_class(builder)
    items |= {
        "ordinal": str(ordinal),
        "metric": write_literal(format_request(request)),
        "value": f"CAST({_write_value(builder, placed, at['value'])} AS DOUBLE)",
        "low": f"CAST({bounds.low} AS DOUBLE)",
        "high": f"CAST({bounds.high} AS DOUBLE)",
        "n": _write_rows(binding, "a._used"),
        "n_dropped": _write_rows(binding, "a._rows - a._used"),
        "method": f"CAST({_write_method(builder, request, bounds, folds)} AS VARCHAR)",
        "note": _write_note(builder, placed, at, bounds, ci=level is not None),
        "guard": placed.guard or "CAST(NULL AS VARCHAR)",
    }
    items |= write_hidden(builder, placed, at, bounds, level)
    if layout.has_remarks:
        items["remark"] = placed.remark or "CAST(NULL AS VARCHAR)"
    items |= {name: f"a.{name}" for name in layout.verdict}
    if "role" in binding.role:
        items["better"] = "-1" if request.header["direction"] == "higher" else "1"
    # A join is computed once, a subquery for each end of each metric.
    margin = "_margin" if "m.margin" in bounds.low + bounds.high else None
    joins = [write_join(binding.keys, cte, home, is_outer=request.average == PER_CLASS)]
    for relation, name in ((margin, "m"), (folds, "f")):
        joins += [write_join(binding.keys, relation, name)] if relation else []
    return Branch(items, tuple(joins))


def _write_value(builder: Builder, placed: PlacedMetric, value: str) -> str:
    """Return the value of a metric: clipped to its range, and zero_division= if undefined."""
    request = placed.request
    if builder.binding.has_fractions:
        value = clip_rounding(value, request.header)
    if request.zero_division is None or placed.is_averaged:
        return value
    return f"COALESCE({value}, CASE WHEN a._used > 0 THEN {request.zero_division:e} END)"


def _write_method(builder: Builder, request: Request, bounds: Bounds, folds: str | None) -> str:
    """Return the SQL of the column ``method``: how a value and its interval are computed.

    With ``folds``, the relation that counts folds, it says that folds are pooled.
    """
    expected = describe_expectation(request) if builder.binding.is_expected else None
    how = [part for part in (_describe_units(builder, request), bounds.method, expected) if part]
    text = write_literal("; ".join(how)) if how else "NULL"
    if folds is None:
        return text
    start = write_literal("; ".join([*how, _POOLED]))
    pooled = f"{start} || CAST(f.folds AS VARCHAR) || ' folds'"
    return f"CASE WHEN f.folds > 1 THEN {pooled} ELSE {text} END"


def _place_folds(builder: Builder) -> str:
    """Return the relation with the number of folds of each slice."""
    keys = builder.binding.keys
    if "_folds" not in builder.ctes:
        each = builder.place("fold_support", Scope((create_folds(builder.binding, None),)))
        group = f"\nGROUP BY {', '.join(keys)}" if keys else ""
        items = {key: key for key in keys} | {"folds": "COUNT(*)"}
        builder.add_cte("_folds", select(items, f"FROM {each}{group}"))
    return "_folds"


def _write_rows(binding: Binding, count: str) -> str:
    """Return a number of rows as SQL; a row of many labels was counted once per label."""
    if binding.many is not None:
        count = f"({count}) / {len(binding.many.names)}"
    return f"CAST({count} AS BIGINT)"


def _write_no_class(builder: Builder) -> str:
    """Return the class of a metric of all classes: NULL, with a type if it is known.

    Sail takes the type of a column of UNION ALL from the first SELECT.
    """
    many = builder.binding.many
    label = builder.binding.role["label"] if many is None else many.label
    return f"CAST(NULL AS {label.type})" if label.kind in ("integer", "text") else "NULL"


def _write_gaps(binding: Binding, layout: Layout) -> str:
    """Return the rows with gaps: how much worse a metric is on other roles than on train."""
    role = binding.role_key
    others = [key for key in binding.keys if key != role]
    shared = [*others, *layout.class_keys]
    names = " ".join(f"WHEN '{name}' THEN '{gap}'" for name, gap in _GAPS.items())
    both_infinite = f"(ABS(a.value) > {LARGEST} AND ABS(b.value) > {LARGEST})"
    items = {key: f"a.{key}" for key in others}
    items |= {role: f"CASE b.{role} {names} END"}
    items |= {name: f"a.{name}" for name in layout.class_keys}
    items |= {
        "ordinal": "a.ordinal",
        "metric": "a.metric",
        "value": f"CASE WHEN NOT {both_infinite} THEN a.better * (b.value - a.value) END",
        "low": "CAST(NULL AS DOUBLE)",
        "high": "CAST(NULL AS DOUBLE)",
        "n": "a.n + b.n",
        "n_dropped": "a.n_dropped + b.n_dropped",
        "method": (
            f"CASE WHEN a.better > 0 THEN b.{role} || ' - train' ELSE 'train - ' || b.{role} END"
        ),
        "note": (
            "CASE WHEN a.value IS NULL OR b.value IS NULL THEN COALESCE(a.note, b.note)"
            f" WHEN {both_infinite} THEN 'both values are infinite' END"
        ),
        "guard": "a.guard",
    }
    items |= dict.fromkeys(layout.hidden, "CAST(NULL AS DOUBLE)")
    items |= {"remark": "a.remark"} if layout.has_remarks else {}
    roles = ", ".join(f"'{name}'" for name in _GAPS)
    return select(
        items,
        f"FROM _by_role AS a\nJOIN _by_role AS b ON {write_key_equality('a', 'b', shared)}"
        f"\n  AND a.ordinal = b.ordinal AND a.{role} = 'train' AND b.{role} IN ({roles})",
    )


def _place_margin(builder: Builder, placed: Sequence[PlacedMetric]) -> None:
    """Place the relation with the relative error of sums of doubles, if bins bound a value."""
    binding = builder.binding
    rounded = any(is_rounded(each.request.relation.header) for each in placed)
    if builder.bins is not None and "score" in binding.role and rounded:
        # A sum of n doubles has at most n rounding errors, and each term has a few more.
        items = {key: key for key in binding.keys} | {"margin": "1e-15 * (1.6e1 + COUNT(*))"}
        groups = f"\nGROUP BY {', '.join(binding.keys)}" if binding.keys else ""
        builder.add_cte("_margin", select(items, f"FROM {builder.place('score_bins')}{groups}"))


def _list_outermost(binding: Binding, checks: DomainChecks, layout: Layout) -> dict[str, str]:
    """Return the columns of the result: user's key names, and NULL where the audit forbids."""
    outside = f"{'r' if layout.verdict else 'p'}.scores_outside"
    called = zip(binding.result_keys, binding.key_names, strict=True)
    items = {name: f"{_find_home(binding, key)}.{key}" for key, name in called}
    items |= {name: f"r.{name}" for name in (*layout.class_keys, *COLUMNS)}
    if checks.has_guards:
        test = f"r.guard IS NOT NULL AND {outside} > 0"
        for name in ("value", "low", "high"):
            items[name] = f"CASE WHEN {test} THEN NULL ELSE r.{name} END"
        items["note"] = f"CASE WHEN {test} THEN r.guard ELSE r.note END"
    if checks.has_remarks:
        remark = f"CASE WHEN {outside} = 0 THEN r.remark END"
        note = f"COALESCE({items['note']}, {remark})"
        if binding.classes:
            # A remark on probabilities stands beside a note, such as one on the interval.
            both = f"{items['note']} IS NOT NULL AND ({remark}) IS NOT NULL"
            note = f"CASE WHEN {both} THEN CONCAT({items['note']}, '; ', {remark}) ELSE {note} END"
        items["note"] = note
    return items


def _find_home(binding: Binding, key: str) -> str:
    """Return the relation that holds a slice key: the numbered slices, or the results."""
    return "k" if binding.is_numbered and key in binding.numbered_keys else "r"


def build_statement(
    builder: Builder,
    placed: Sequence[PlacedMetric],
    level: Level | None,
    checks: DomainChecks,
) -> Statement:
    """Return the statement whose rows are the placed metrics."""
    binding = builder.binding
    _place_margin(builder, placed)
    class_keys = ("class",) if has_class_column([each.request for each in placed]) else ()
    # DuckDB computes a relation once for all places that read it. A metric of each class has
    # several rows per slice.
    is_joined = len(placed) > 1 and not class_keys and builder.relations.dialect != "duckdb"
    homes = dict[str, str]() if is_joined else None
    verdict = list[str]()
    if builder.relations.has_verdict_in_audit:
        verdict = ["problem", "notice", *(["scores_outside"] if checks.is_needed else [])]
    layout = Layout(class_keys, checks.has_remarks, list_hidden(level), tuple(verdict), homes)
    branches = [_write_metric(builder, each, level, i, layout) for i, each in enumerate(placed)]
    builder.relations.place_audit(builder, checks)
    rows = write_joined(builder, branches) if is_joined else write_union(branches)
    if "role" in binding.role:
        builder.add_cte("_by_role", rows)
        names = [*binding.keys, *layout.class_keys, "ordinal", *COLUMNS, "guard", *layout.hidden]
        names += ["remark"] if layout.has_remarks else []
        gaps = _write_gaps(binding, layout)
        rows = f"SELECT {', '.join(names)} FROM _by_role\nUNION ALL\n{gaps}"
    builder.add_cte("_results", rows)
    order = [write_order(binding, key, _find_home(binding, key)) for key in binding.keys_in_order]
    if order or class_keys or len(placed) > 1:
        order += ["r.ordinal", *(f"r.{name}" for name in layout.class_keys)]
    items = _list_outermost(binding, checks, layout)
    hidden = {name: f"r.{name}" for name in layout.hidden}
    return builder.build_statement(items, "_results", order, is_judged=True, hidden=hidden)
