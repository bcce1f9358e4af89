"""The statement of one curve or step, with its own columns."""

from functools import lru_cache

from sqleval import demands, tall
from sqleval.binding import Binding, Column
from sqleval.binned import Bins
from sqleval.build import Builder, Context
from sqleval.catalog import Relation
from sqleval.errors import RequestError
from sqleval.graph import stands_on
from sqleval.names import quote
from sqleval.relations import present
from sqleval.request import Request
from sqleval.rewrite import SLICE
from sqleval.state_builder import builder_of
from sqleval.statement import Statement


def is_per_class(binding: Binding, relation: Relation) -> bool:
    """Whether a curve of two classes is drawn once a class here."""
    return binding.task == "multiclass" and not stands_on(relation.name, "class_counts")


@lru_cache(maxsize=256)
def relation(
    binding: Binding,
    wanted: Request,
    columns: tuple[str, ...] | None = None,
    predicate: str | None = None,
    limit: int | None = None,
    bins: Bins | None = None,
) -> Statement:
    """Return the statement of one curve or step.

    Raises
    ------
    RequestError
        If a role is missing, or a slice key is called like a column of the curve.
    """
    # A curve has a row a score, so its units are distinct scores from the start.
    builder = builder_of(binding, bins or "rows", portable=True)
    builder.place_input(predicate)
    return place(builder, wanted, columns, limit)


def place(
    builder: Builder,
    wanted: Request,
    columns: tuple[str, ...] | None = None,
    limit: int | None = None,
) -> Statement:
    """Write a curve or step over the input that the builder has placed."""
    binding = builder.binding
    found = wanted.relation
    steps = found.kind not in ("curve", "metric")
    context: Context = None if steps or not is_per_class(binding, found) else "one_vs_rest"
    needing: list[str] = []
    defaulted: list[str] = []
    try:
        demands.guard(builder, wanted, found, needing, defaulted)
        cte = builder.place(wanted.name, context, demands.values_of(binding, wanted))
    except RequestError as error:
        raise RequestError(f"{wanted.name}: {error}") from None
    builder.place_audit(needing, defaulted, guarded=False)
    own = [column for column in found.columns if column != SLICE]
    extra = [key for key in builder.extra(context) if key not in own]
    keys = dict(zip(binding.key_names, binding.keys, strict=True))
    if found.header.get("across") == "model":
        del keys["model"]
    demands.refuse_clash(keys, [*own, *extra])
    items = {name: f"r.{key}" for name, key in keys.items()}
    having = set(keys.values())
    order = [tall.ordered(binding, key) for key in binding.keys_in_order if key in having]
    items |= {column: f"r.{column}" for column in (*extra, *own)}
    order += [f"r.{key}" for key in extra]
    order += [f"r.{part}" for part in str(found.header.get("order", ", ".join(own))).split(", ")]
    return builder.statement(items, columns, cte, order, limit)


def probe(binding: Binding, column: Column, rows: int | None) -> str:
    """Return the statement that looks at the first scores.

    It returns how many they are, how many of them are distinct, the lowest, the highest, how
    many pairs of them share one of 4,096 bins of equal width between the two, and how many rows
    there are in all, which are counted where that is not known.
    """
    total = f"(SELECT COUNT(*) FROM {binding.relation})" if rows is None else str(rows)
    score = f"s.{quote(column.name)}"
    known = present(score, column.type, finite=True)
    return (
        f"WITH first AS (SELECT CAST({score} AS DOUBLE) AS score FROM {binding.relation} AS s "
        f"WHERE {known} LIMIT 65536),\n"
        "ends AS (SELECT COUNT(*) AS n, COUNT(DISTINCT score) AS n_distinct, "
        "MIN(score) AS lowest, MAX(score) AS highest FROM first),\n"
        "bins AS (SELECT COUNT(*) AS n FROM first CROSS JOIN ends GROUP BY "
        "FLOOR((first.score - ends.lowest) / NULLIF(ends.highest - ends.lowest, 0) * 4.095e3))\n"
        "SELECT n, n_distinct, lowest, highest, "
        f"(SELECT CAST(SUM(bins.n * (bins.n - 1)) AS DOUBLE) FROM bins), {total} FROM ends"
    )
