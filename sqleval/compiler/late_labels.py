"""Writes the join of the rows with their late labels."""

from sqleval.binding.binding import Binding
from sqleval.binding.canonical import choose_key_form, write_canonical, write_keys
from sqleval.binding.label_keys import Labels
from sqleval.binding.many_labels import LABEL
from sqleval.common.columns import Column
from sqleval.common.sql_text import quote, select

#: The side of a joined row, over the rows ``s`` and the labels ``l``.
_SIDE = "CASE WHEN s._one IS NULL THEN 'label' WHEN l._one IS NULL THEN 'row' ELSE 'both' END"


def write_equal_keys(labels: Labels, homes: tuple[str, str], dialect: str) -> str:
    """Return the condition that all keys of a row and of a label are equal."""
    pairs = (write_keys(*pair, homes, dialect) for pair in labels.pairs)
    return " AND ".join(f"{left} = {right}" for left, right in pairs)


def write_labels_of_rows(binding: Binding, rows: str) -> str:
    """Return the relation of the labels that have a row; in a ranking, of the queries of rows."""
    labels = binding.labels
    assert labels is not None
    if binding.adds_items:
        query = binding.role["query"].name
        labels = labels._replace(pairs=tuple(p for p in labels.pairs if p[0].name == query))
    labels = labels.of_rows
    pairs = [write_keys(*pair, ("s", "l"), binding.dialect) for pair in labels.pairs]
    theirs = ", ".join(right for _, right in pairs)
    ours = ", ".join(left for left, _ in pairs)
    return (
        f"(SELECT l.* FROM {labels.relation} AS l\n"
        f"WHERE ({theirs}) IN (SELECT {ours} FROM {rows} AS s))"
    )


def write_unequal_counts() -> tuple[str, str, str]:
    """Return the SQL of the condition that there are not as many rows as labels, and of both."""
    alone = "FROM _source WHERE _side <> 'both')"
    side = f"(SELECT MIN(_side) {alone}"
    most, least = f"(SELECT MAX(_place) {alone}", f"(SELECT MIN(_place) - 1 {alone}"
    rows, labels = (
        f"CASE WHEN {side} = '{longer}' THEN {most} ELSE {least} END" for longer in ("row", "label")
    )
    return f"{side} IS NOT NULL", rows, labels


def count_repeats(labels: Labels, dialect: str) -> str:
    """Return the SQL of the number of labels whose keys stand in an earlier label, too.

    Of a row with many labels, one of them is counted.
    """
    keys = [write_keys(*pair, ("s", "l"), dialect)[1] for pair in labels.pairs]
    present = " AND ".join(f"{key} IS NOT NULL" for key in keys)
    if labels.of_rows != labels:
        name = f"l.{quote(LABEL)}"
        present += f" AND {name} = (SELECT MIN({name}) FROM _labels AS l)"
    each = f"SELECT COUNT(*) AS n FROM _labels AS l WHERE {present} GROUP BY {', '.join(keys)}"
    return f"(SELECT COALESCE(SUM(n - 1), 0) FROM ({each}) AS k)"


def write_rows_only(binding: Binding) -> str:
    """Return the WHERE clause over ``_source`` that leaves out labels which are no rows."""
    only = binding.labels is not None and not binding.adds_items
    return "\nWHERE _side <> 'label'" if only else ""


def locate_role(binding: Binding, role: str, column: Column) -> tuple[Column, str]:
    """Return a role's column, and the relation that has it: the rows ``s`` or the labels ``l``."""
    if binding.labels is None or role not in binding.labels.roles:
        return column, "s"
    return (column._replace(name=f"_late_{role}"), "s") if binding.adds_items else (column, "l")


def list_late_columns(binding: Binding) -> dict[str, Column]:
    """Return the columns of roles that the labels have, by name."""
    late = binding.labels.roles if binding.labels else frozenset[str]()
    return {column.name: column for role, column in binding.roles if role in late}


def list_conditions(binding: Binding, predicate: str | None) -> list[str]:
    """Return the conditions on the rows ``s``; labels without a row stay, where they are read."""
    where, labels = binding.where, binding.labels
    if labels is None:
        return [f"({each})" for each in (where, predicate) if each]
    if labels.is_by_position:
        # A row or label without a partner is an error, whatever the conditions.
        alone = "s._one IS NULL OR l._one IS NULL"
        return [f"({each} OR {alone})" for each in (where, predicate) if each]
    if not binding.adds_items:
        return [f"({each} OR s._one IS NULL)" for each in (where, predicate) if each]
    # The rows met the condition before the join, and an added item is in a list of such rows. A
    # query without rows is judged by the keys, which are its only columns.
    of_lists = f"(s._side <> 'label' OR s._listed = 1 OR ({where}))" if where else None
    return [each for each in (of_lists, f"({predicate})" if predicate else None) if each]


def write_joined_rows(binding: Binding, ctes: dict[str, str]) -> tuple[str, str]:
    """Write the full join of the source with its late labels.

    Returns
    -------
    rows : str
        The FROM clause, with the rows ``s``.
    side : str
        The SQL of ``_side``: whether a joined row is a ``row``, a ``label``, or ``both``.
    """
    labels = binding.labels
    assert labels is not None
    late = [column.name for role, column in binding.roles if role in labels.roles]
    columns = ",\n  ".join(f"l.{quote(name)}" for name in dict.fromkeys([*labels.on, *late]))
    ctes["_labels"] = f"SELECT\n  {columns},\n  1 AS _one\nFROM {labels.relation} AS l"
    if binding.adds_items:
        return _add_items(binding, labels, ctes), "s._side"
    picked = ", ".join(f"r.{quote(name)}" for name in _list_columns(binding, labels))
    rows = f"(SELECT {picked}, 1 AS _one FROM {binding.relation} AS r)"
    equal = write_equal_keys(labels, ("s", "l"), binding.dialect)
    return f"FROM {rows} AS s\nFULL JOIN _labels AS l ON {equal}", _SIDE


def _list_columns(binding: Binding, labels: Labels) -> list[str]:
    """Return the columns that are read from the rows."""
    names = [*labels.on, *(column.name for column in (*binding.by, *binding.over))]
    names += [column.name for role, column in binding.roles if role not in labels.roles]
    names += [column.name for column in binding.mapped_columns]
    names += [column.name for column in binding.label_keys.values()]
    names += [*binding.where_columns]
    names += [binding.period.column.name] if binding.period else []
    return list(dict.fromkeys(names))


def _add_items(binding: Binding, labels: Labels, ctes: dict[str, str]) -> str:
    """Write the rows of a ranking, and the judged items that its lists lack; return the FROM.

    A list has the rows of one query and one value of each slice key and fold. A label is an item of
    every list of its query, and also of a query without rows, whose slice keys are NULL.
    """
    picked = ", ".join(f"s.{quote(name)}" for name in _list_columns(binding, labels))
    where = f"\nWHERE ({binding.where})" if binding.where else ""
    ctes["_rows"] = f"SELECT {picked}, 1 AS _one\nFROM {binding.relation} AS s{where}"
    query = labels.on.index(binding.role["query"].name)
    ours, theirs = write_keys(*labels.pairs[query], ("s", "l"), binding.dialect)
    keys = [*binding.by, *binding.over]
    keys += [binding.period.column] if binding.period else []
    keys += [binding.role["role"]] if "role" in binding.role else []
    named = {name: f"_key_{i}" for i, name in enumerate(dict.fromkeys(c.name for c in keys))}
    items, equal = "_labels", write_equal_keys(labels, ("s", "l"), binding.dialect)
    shared = {f"s.{quote(name)}": key for name, key in named.items()}
    added = {name: f"l.{key}" for name, key in named.items() if name not in labels.on}
    if cluster := binding.role.get("cluster"):
        added[cluster.name] = "l._cluster"
    if named or where or cluster:
        items = "_items"
        groups = {"_query": ours} | {key: sql for sql, key in shared.items()}
        of_lists = {"_listed": "1"} | (
            {"_cluster": f"MIN(s.{quote(cluster.name)})"} if cluster else {}
        )
        ctes["_lists"] = select(
            groups | of_lists, f"FROM _rows AS s\nGROUP BY {', '.join(groups.values())}"
        )
        alike = [f"t._query = {theirs}"]
        alike += [f"t.{key} = l.{quote(name)}" for name, key in named.items() if name in labels.on]
        listed = ", ".join(f"t.{name}" for name in (*groups, *of_lists))
        late = [column.name for role, column in binding.roles if role in labels.roles]
        columns = ", ".join(f"l.{quote(name)}" for name in dict.fromkeys([*labels.on, *late]))
        ctes["_items"] = (
            f"SELECT {columns}, l._one, {listed}\n"
            f"FROM _labels AS l\nLEFT JOIN _lists AS t ON {' AND '.join(alike)}"
        )
        equal += "".join(f" AND {sql} IS NOT DISTINCT FROM l.{key}" for sql, key in shared.items())
    return f"FROM (\n{_select_items(binding, labels, added, items, equal)}\n) AS s"


def _select_items(
    binding: Binding, labels: Labels, added: dict[str, str], items: str, equal: str
) -> str:
    """Return the SELECT of rows and added items.

    ``added`` has the value of a column of an item without a row; a score is NULL without a row.
    """
    values = {name: f"s.{quote(name)}" for name in _list_columns(binding, labels)}
    for name, sql in added.items():
        values[name] = f"CASE WHEN s._one IS NULL THEN {sql} ELSE {values[name]} END"
    for ours, theirs in labels.pairs:
        values[ours.name] = _write_either(ours, theirs, binding.dialect)
    named = {quote(name): sql for name, sql in values.items()}
    named |= {
        quote(f"_late_{role}"): f"l.{quote(column.name)}"
        for role, column in binding.roles
        if role in labels.roles
    }
    named["_side"] = _SIDE
    named |= {"_listed": "l._listed"} if items == "_items" else {}
    return select(named, f"FROM _rows AS s\nFULL JOIN {items} AS l ON {equal}")


def _write_either(ours: Column, theirs: Column, dialect: str) -> str:
    """Return the key of a row, or of a label without a row; as text where the types differ."""
    sides = [f"s.{quote(ours.name)}", f"l.{quote(theirs.name)}"]
    form = choose_key_form(ours, theirs)
    if form is not None:
        pairs = zip(sides, (ours.type, theirs.type), strict=True)
        sides = [write_canonical(sql, kind, form, dialect) for sql, kind in pairs]
    elif ours.type != theirs.type and ours.type:
        sides[1] = f"CAST({sides[1]} AS {ours.type})"
    return f"COALESCE({', '.join(sides)})"
