"""Writes the relations that read the source: ``_source``, ``_grouped`` and ``predictions``.

The user's column names appear only here and in the outermost SELECT. The name of each CTE begins
with an underscore or is in the contract.
"""

from collections.abc import Container, Iterator, Mapping, Sequence

from sqleval.binding.binding import CELLS, Binding, name_set
from sqleval.binding.canonical import read_column
from sqleval.catalog.relations import WEIGHTS
from sqleval.catalog.roles import JUDGED, ROLES
from sqleval.common.columns import NO_TYPE, Column, is_float
from sqleval.common.sql_text import (
    quote,
    select,
    write_key_equality,
    write_literal,
    write_present_test,
    write_scalar,
)
from sqleval.compiler import late_labels
from sqleval.compiler.buckets import Buckets, write_bucket
from sqleval.compiler.classes import write_class, write_predicted_class
from sqleval.compiler.model_rows import (
    add_zero,
    is_computed,
    read_score,
    write_decision_case,
    write_role_test,
    write_score_case,
)
from sqleval.sources.order import PLACE

#: The SQL of a score outside 0 .. 1.
OUTSIDE = "score < 0 OR score > 1"


def list_internal_columns(binding: Binding) -> Iterator[tuple[str, str, Column]]:
    """Yield (internal name, role, the user's column) for each bound role and class score."""
    for role, column in binding.role.items():
        yield role, role, column
    for i, (_, column) in enumerate(binding.classes, start=1):
        yield f"score_{i}", "score", column


def may_be_missing(binding: Binding, role: str, column: Column) -> bool:
    """Whether a role's column can hold a missing value."""
    return role not in binding.facts.may_be_null or is_float(column.type)


def write_usable(binding: Binding, but: str = "") -> str:
    """Return the SQL condition that every bound role except ``but`` has a usable value."""
    parts = [
        write_role_test(binding, name, role, column)
        for name, role, column in list_internal_columns(binding)
        if role != but and may_be_missing(binding, role, column)
    ]
    if binding.labels and not binding.has_queries:
        parts.append("_side = 'both'")
    elif binding.labels and not binding.adds_items:
        parts.append("_side <> 'label'")
    return "\n  AND ".join(parts) or "TRUE"


def _read_key(binding: Binding, column: Column) -> str:
    """Return a slice key as SQL; -0.0 becomes 0.0, as texts of keys must be equal, too."""
    sql = f"s.{quote(column.name)}"
    return sql if binding.dialect == "duckdb" else add_zero(sql, column)


def _read_class_score(binding: Binding, column: Column, place: int) -> str:
    """Return the score of a class as SQL; with several models, the row's model decides."""
    return write_score_case(binding, place) if binding.models else read_score(binding, column)


def _write_slice_key(binding: Binding, column: Column, sql: str) -> str:
    """Return the SQL of a slice key, which is NULL in sets (``g``) without it."""
    having = [write_literal(name_set(keys)) for keys in binding.sets if column.name in keys]
    if len(having) == len(binding.sets):
        return sql
    if not having:
        return f"CASE WHEN FALSE THEN {sql} END"
    return f"CASE WHEN g.keys IN ({', '.join(having)}) THEN {sql} END"


def _write_cell_case(binding: Binding) -> str:
    cases = " ".join(
        f"WHEN {write_literal(name)} THEN {read_column(column)}" for name, column in binding.cells
    )
    return f"CASE c.cell {cases} END"


def write_row_count(binding: Binding) -> str:
    """Return the SQL of a row's count; 0 if it is missing."""
    condition = write_present_test("count", binding.role["count"].type, finite=True)
    return f"CASE WHEN {condition} THEN count ELSE 0 END"


def _read_keys(binding: Binding) -> dict[str, str]:
    """Return the slice keys, the set and the folds of a row as SQL."""
    keys = zip(binding.result_keys, binding.by, strict=False)
    items = {key: _read_key(binding, column) for key, column in keys}
    if binding.sets and not binding.is_numbered:
        named = zip(items.items(), binding.by, strict=True)
        items = {key: _write_slice_key(binding, column, sql) for (key, sql), column in named}
        items[binding.set_key] = "g.keys"
    folds = zip(binding.folds, binding.over, strict=True)
    items |= {key: _read_key(binding, column) for key, column in folds}
    return items | {key: f"s.{quote(column.name)}" for key, column in binding.label_keys.items()}


def _read_copies(binding: Binding) -> dict[str, str]:
    """Return the columns that differ between copies of a row (per model or count), as SQL."""
    items: dict[str, str] = {}
    if binding.models:
        items[binding.model_key] = "m.model"
        items |= {} if binding.classes else {binding.model_role: write_score_case(binding)}
    if binding.predictions or binding.thresholds:
        items["prediction"] = write_decision_case(binding)
    if "role" in binding.role:
        items[binding.role_key] = f"s.{quote(binding.role['role'].name)}"
    if binding.cells:
        count = _write_cell_case(binding)
        items |= {"label": "c.label", "prediction": "c.prediction", "count": count}
    return items


def _read_role(binding: Binding, role: str, column: Column, home: str) -> str:
    """Return the value of a role as SQL."""
    if role == "weight":
        return f"CAST({home}.{quote(column.name)} AS DOUBLE)"
    if role == "score":
        return read_score(binding, column, home)
    return read_column(column, home, binding.dialect)


def write_source(
    binding: Binding, predicate: str | None, also: Mapping[str, str] | None = None
) -> dict[str, str]:
    """Return the CTEs that read the user's rows under internal names; the last is ``_source``.

    ``also`` are further columns of ``_source``, as SQL over the source ``s``.
    """
    ctes = dict[str, str]()
    items = _read_keys(binding) | _read_copies(binding)
    for role, column in binding.roles:
        if role not in items:
            items[role] = _read_role(binding, role, *late_labels.locate_role(binding, role, column))
    for i, (_, column) in enumerate(binding.classes):
        items[f"score_{i + 1}"] = _read_class_score(binding, column, i)
    items |= {binding.keys[-1]: binding.period.sql} if binding.period else {}
    items |= also or {}
    rows = f"FROM {binding.relation} AS s"
    if binding.labels:
        rows, items["_side"] = late_labels.write_joined_rows(binding, ctes)
        if binding.labels.is_by_position:
            items["_place"] = "COALESCE({0}.{2}, {1}.{2})".format("s", "l", quote(PLACE))
    conditions = late_labels.list_conditions(binding, predicate)
    where = "\nWHERE " + "\n  AND ".join(conditions) if conditions else ""
    ctes["_source"] = select(items or {"_one": "1"}, f"{rows}{_write_copies(binding)}{where}")
    return ctes


def _write_copies(binding: Binding) -> str:
    """Return the joins that copy each row for every set of keys, model or count."""
    joins = ""
    if binding.sets and not binding.is_numbered:
        names = ", ".join(f"({write_literal(name_set(keys))})" for keys in binding.sets)
        joins += f"\nCROSS JOIN (VALUES {names}) AS g(keys)"
    if binding.models:
        names = ", ".join(f"({write_literal(name)})" for name, _ in binding.models)
        joins += f"\nCROSS JOIN (VALUES {names}) AS m(model)"
    if binding.cells:
        cells = ", ".join(
            "({}, {}, {})".format(write_literal(name), *CELLS[name]) for name, _ in binding.cells
        )
        joins += f"\nCROSS JOIN (VALUES {cells}) AS c(cell, label, prediction)"
    return joins


def write_numbered_slices(binding: Binding) -> dict[str, str]:
    """Return the CTEs that replace slice keys of ``_named`` by one integer id.

    The id sorts faster than text or several keys. ``_slices`` has the keys of each id. ``_source``
    is ``_named`` with ids, with a copy of each row for every set of keys.
    """
    by = binding.result_keys[: len(binding.by)]
    keys = {key: f"n.{key}" for key in binding.numbered_keys if key in by}
    distinct = f"FROM (SELECT DISTINCT {', '.join(keys)} FROM _named) AS n"
    if binding.sets:
        number, copies = _write_set_ids(binding)
        columns = zip(keys, binding.by, strict=True)
        items = {key: _write_slice_key(binding, column, keys[key]) for key, column in columns}
        items |= {binding.set_key: "g.keys", "number": number}
        listed = ", ".join(f"{sql} AS {key}" for key, sql in items.items())
        ctes = {
            "_combinations": select(keys | _write_ranks(binding, keys), distinct),
            "_slices": f"SELECT DISTINCT {listed}\nFROM _combinations AS n{copies}",
        }
    else:
        number, copies = "n.number", ""
        ids = {"number": "CAST(ROW_NUMBER() OVER () AS INTEGER)"}
        ctes = {"_slices": select(keys | ids, distinct)}
    same = write_key_equality("s", "n", tuple(keys))
    ctes["_source"] = (
        f"SELECT {number} AS {binding.numbered_keys[0]}, s.* EXCLUDE ({', '.join(keys)})\n"
        f"FROM _named AS s\nJOIN {next(iter(ctes))} AS n ON {same}{copies}"
    )
    return ctes


def _write_ranks(binding: Binding, keys: Mapping[str, str]) -> dict[str, str]:
    """Return, for each combination of keys, a column per set with the number of its slice.

    One row per combination and set would be joined more slowly: DuckDB would expect more of these
    than source rows, and then hold the source in memory.
    """
    ranks: dict[str, str] = {}
    for i, names in enumerate(binding.sets):
        columns = zip(keys.values(), binding.by, strict=True)
        keys_of_set = ", ".join(sql for sql, column in columns if column.name in names)
        order = f"ORDER BY {keys_of_set}" if keys_of_set else ""
        ranks[f"number_{i}"] = f"CAST(DENSE_RANK() OVER ({order}) AS INTEGER)"
    return ranks


def _write_set_ids(binding: Binding) -> tuple[str, str]:
    """Return the id of a slice of any set as SQL over `_write_ranks`, and the join of the sets."""
    count = len(binding.sets)
    cases = " ".join(f"WHEN {i} THEN n.number_{i}" for i in range(count))
    named = ", ".join(
        f"({i}, {write_literal(name_set(keys))})" for i, keys in enumerate(binding.sets)
    )
    # The sum tells sets apart. It also makes a new column: DuckDB 2.0 raises an internal error if a
    # CASE returns either number_0 or number_1 itself.
    number = f"CASE g.nth {cases} END * {count} + g.nth"
    return number, f"\nCROSS JOIN (VALUES {named}) AS g(nth, keys)"


def can_sort(binding: Binding) -> bool:
    """Whether one number can stand for the slice, the score and the label of a row."""
    score = binding.role.get("score")
    # Other keys than those of `by` are not numbered, and these must survive a copy to Arrow. Only
    # floats have one order as DOUBLE.
    has_one_number = len(binding.result_keys) == len(binding.by) and not binding.over
    is_plain = all(column.kind in ("text", "boolean", "integer", "date") for column in binding.by)
    is_float_score = score is not None and is_float(score.type)
    has_rows = binding.has_two_classes and not (binding.many or binding.labels)
    return has_one_number and is_plain and is_float_score and has_rows and not binding.is_expected


def _name_number(binding: Binding) -> str:
    return binding.numbered_keys[0] if binding.is_numbered else "0"


def write_slices(binding: Binding) -> str:
    """Return ``slices``: the number of each slice, which is also its key."""
    key = _name_number(binding)
    if not binding.is_numbered:
        return f"SELECT {key} AS slice_number"
    return f"SELECT DISTINCT number AS {key}, number AS slice_number\nFROM _slices"


def write_groups(binding: Binding) -> str:
    """Return the distinct (label, score, ...) with their counts: the plan ``groups``."""
    names = [name for name, role, _ in list_internal_columns(binding) if role != "cluster"]
    columns = [*binding.keys, *binding.folds, *names, *(["_side"] if binding.labels else [])]
    keys, totals = write_clusters(binding)
    items = {name: name for name in columns} | keys | totals | {"_rows": "COUNT(*)"}
    return select(items, "FROM _source\nGROUP BY " + ", ".join([*columns, *keys.values()]))


def write_clusters(binding: Binding) -> tuple[dict[str, str], dict[str, str]]:
    """Return two columns: a key (whether a row has a cluster), and a value, NULL without one.

    Grouping by the cluster itself would make a group of nearly every row.
    """
    if "cluster" not in binding.role:
        return {}, {}
    is_present = write_present_test("cluster", binding.role["cluster"].type, finite=False)
    return {"_has_cluster": is_present}, {"cluster": "MIN(cluster)"}


def write_predictions(
    binding: Binding,
    origin: str,
    usable_only: bool,
    also: Sequence[str] = (),
    unit: str = "1",
    buckets: Buckets | None = None,
) -> str:
    """Return ``predictions`` as in the contract, with class scores as ``score_1`` ...

    ``also`` names further columns of score bins, ``unit`` is the weight of a row without weights,
    and ``buckets`` add the bucket of a score.
    """
    items = {key: key for key in (*binding.keys, *binding.folds, *binding.label_keys)}
    bound = {name for name, _, _ in list_internal_columns(binding)}
    if binding.has_values and origin == "_grouped":
        bound.clear()  # a row of sums has no values except those that it is grouped by
    if binding.is_expected:
        items["label"] = "e.label"
    items |= write_judged(binding, bound)
    if buckets is not None and binding.has_two_classes and "score" in bound:
        items["bucket"] = write_bucket("score", buckets)
    if binding.is_sorted:
        items["slice_number"] = _name_number(binding)
    items |= {role: write_further(binding, role) for role in binding.further}
    items |= _write_weights(binding, origin, unit)
    if binding.is_expected:
        # A score p counts as p positives and 1 - p negatives.
        probability = "CASE WHEN e.label = 1 THEN score ELSE 1 - score END"
        for name in WEIGHTS:
            items[name] = f"CAST({items[name]} AS DOUBLE) * {probability}"
        origin += " AS r\nCROSS JOIN (VALUES (1), (0)) AS e(label)"
    items |= {name: name for name in also}
    kept = "_used" if binding.has_values and origin == "_grouped" else write_usable(binding)
    where = f"\nWHERE {kept}" if usable_only else ""
    return select(items, f"FROM {origin}{where}")


def write_judged(binding: Binding, bound: Container[str]) -> dict[str, str]:
    """Return the `JUDGED` columns of ``predictions`` in the form of the task."""
    if binding.has_two_classes:
        roles = [role for role in ("label", "prediction") if role in bound]
        items = {role: write_zero_or_one(binding, role) for role in roles}
        return items | ({"score": "score"} if "score" in bound else {})
    if not binding.has_several_classes:
        return {role: f"CAST({role} AS DOUBLE)" for role in JUDGED if role in bound}
    items = {"label": write_class(binding.role["label"], "label")}
    if "prediction" in bound:
        items["prediction"] = write_class(binding.role["prediction"], "prediction")
    elif binding.classes:
        items["prediction"] = write_predicted_class(binding)
    scores = [f"score_{i}" for i, _ in enumerate(binding.classes, start=1)]
    return items | {name: name for name in scores}


def _write_weights(binding: Binding, origin: str, unit: str) -> dict[str, str]:
    """Return the columns `WEIGHTS` of ``predictions``, over ``_source`` or ``_grouped``.

    The squares give the variance of a sum of weights. A row of counts stands for rows of weight 1.
    """
    rows = "_rows" if origin == "_grouped" else unit
    if binding.has_counts:
        # Counts arrive as DOUBLE from some tools; the audit refuses fractions.
        rows = f"CAST({write_row_count(binding)} AS BIGINT)"
    items: dict[str, str] = dict.fromkeys(WEIGHTS, rows)
    if binding.is_weighted:
        squares = "squares" if origin == "_grouped" else "weight * weight"
        items |= {"weight": "weight", "squares": squares}
    return items


def write_further(binding: Binding, role: str) -> str:
    """Return the SQL of the value of a role other than label, score and prediction."""
    kind, column = ROLES[role].value_facts.type, binding.role[role]
    if kind == "TINYINT":
        test = role if column.kind == "boolean" else f"{role} = 1"
        return f"CAST(CASE WHEN {test} THEN 1 ELSE 0 END AS TINYINT)"
    return f"CAST({role} AS {kind})" if kind and kind != column.type else role


def write_zero_or_one(binding: Binding, role: str) -> str:
    """Return the SQL of a label or prediction as 1 or 0."""
    # TINYINT: window functions sort rows with their label, and fewer bytes sort faster.
    if binding.positive is not None and not is_computed(binding, role):
        test = f"{role} = {write_positive(binding, role)}"
    else:
        test = role if binding.role[role].kind == "boolean" else f"{role} = 1"
    return f"CAST(CASE WHEN {test} THEN 1 ELSE 0 END AS TINYINT)"


def write_positive(binding: Binding, role: str) -> str:
    """Return the positive value of a label or prediction as SQL, cast to its type if it has one."""
    assert binding.positive is not None
    value, kind = write_scalar(binding.positive), binding.role[role].type
    return f"CAST({value} AS {kind})" if kind and kind != NO_TYPE else value
