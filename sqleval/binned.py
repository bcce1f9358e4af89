"""What becomes of rows whose scores are taken together in bins.

A row of ``_grouped`` stands for all rows of one slice and label whose scores share a bin. What a
step says of each row is then a key of it, or, where it is only ever summed, the mean over them.
"""

from collections.abc import Callable, Container, Mapping, Sequence
from math import ceil, inf, isfinite, log2
from typing import Any, NamedTuple

from sqlglot import exp

from sqleval import relations
from sqleval.binding import Binding
from sqleval.catalog import Relation
from sqleval.errors import RequestError
from sqleval.graph import stands_on
from sqleval.intervals import ends
from sqleval.relations import select
from sqleval.rewrite import null_safe

#: What a bin's rows keep of their scores; Veltkamp's constant leaves 1 bit at least.
BITS = range(1, 31)
#: Beyond it the product with the constant could overflow.
_HUGE = "1e290"
#: More bins of equal width than this are no faster than significant bits.
_MOST_PLACES = 2**20
#: What is open to less than this is found faster by ranking all rows.
_EXACT = 3e-6


class Bins(NamedTuple):
    """How scores are taken together.

    Attributes
    ----------
    bits : int
        Significant bits that a score keeps; 0 where bins are of equal width.
    low, factor : float
        Where the first bin of equal width lies, and how many there are to a unit.
    places : int
        How many bins of equal width there are.
    tolerance : float or None
        How much a metric may be left open; the heaviest bins are told apart until it is reached.
    bounds : tuple of str
        How it is found which bins are the heaviest: of `catalog.BOUNDS`.
    """

    bits: int = 0
    low: float = 0.0
    factor: float = 0.0
    places: int = 0
    tolerance: float | None = None
    bounds: tuple[str, ...] = ()

    @property
    def method(self) -> str:
        """What the result says of them."""
        if self.tolerance is not None:
            return f"bins within {self.tolerance:g}"
        return f"bins of {self.bits} bits"


def of_bits(bins: object) -> Bins:
    """Return bins of so many significant bits, or raise `RequestError`."""
    if isinstance(bins, bool) or not isinstance(bins, int) or bins not in BITS:
        raise RequestError(
            f"bins={bins!r} must be a whole number of significant bits from "
            f"{BITS[0]} to {BITS[-1]}; 11 keep about three decimal digits of each score"
        )
    return Bins(bins)


def fitting(probed: Sequence[Any], wanted: Bins) -> Bins:
    """Return bins for scores of which the first are known, as `curves.probe` tells of them.

    Bins of equal width are found and counted faster than significant bits, but where scores crowd
    together there would have to be too many of them.
    """
    assert wanted.tolerance is not None
    n, _, lowest, highest, pairs, _ = probed
    if not n or not 0 < highest - lowest < inf:
        return wanted
    margin = (highest - lowest) / 4
    low, high = lowest - margin, highest + margin
    if lowest >= 0 and highest <= 1:
        low, high = 0.0, 1.0
    # How much oftener two scores share a bin than they would if they were spread evenly.
    crowded = 4096 * pairs / max(n * (n - 1), 1) * ((high - low) / (highest - lowest))
    least = max(crowded / 2, 1) / wanted.tolerance
    if not least < _MOST_PLACES:
        return wanted
    # Precision turns on the few rows at the top, and a largest distance on those of a few bins.
    finer = 1 if wanted.bounds == ("pairs",) else 4
    places = min(2 ** ceil(log2(least)) * finer, _MOST_PLACES)
    if not isfinite(places / (high - low)):
        return wanted
    return wanted._replace(bits=0, low=low, factor=places / (high - low), places=places)


def asked(
    bins: object, tolerance: object = None, relations_: Sequence[Relation] = ()
) -> Bins | None:
    """Return the bins that are asked for, if any; those of a tolerance follow from the scores."""
    if bins is not None and tolerance is not None:
        raise RequestError("give bins= or tolerance=, not both")
    if bins is not None:
        return of_bits(bins)
    return None if tolerance is None else to_tolerance(tolerance, relations_)


def bin_of(score: str, bins: Bins) -> str:
    """Return the SQL of the bin of a score, in the order of the scores.

    A score keeps so many significant bits by Veltkamp's splitting, which is plain arithmetic and
    the same on every engine; or it gets the number of a bin of equal width, NULL outside them.
    """
    value = f"CAST({score} AS DOUBLE)"
    if not bins.bits:
        above = f"({value} - {bins.low!r}e0)" if bins.low else value
        return f"TRY_CAST({above} * {bins.factor!r}e0 AS INTEGER)"
    # Dekker (1971), doi:10.1007/BF01397083
    factor = f"{2.0 ** (53 - bins.bits) + 1!r}e0"

    def rounded(x: str) -> str:
        return f"{factor} * {x} - ({factor} * {x} - {x})"

    small = f"({value} * 5.421010862427522e-20)"
    return (
        f"CASE WHEN ABS({value}) < {_HUGE} THEN {rounded(value)}"
        f" WHEN ABS({value}) <= 1.7976931348623157e308 THEN {rounded(small)}"
        f" ELSE {value} END"
    )


def is_row_level(relation: Relation) -> bool:
    """Whether a step says something of each row of ``predictions``, and of nothing else."""
    return (
        relation.kind == "step"
        and relation.reads == ("predictions",)
        and isinstance(relation.query, exp.Select)
        and not relation.query.find(exp.Window, exp.Where, exp.Join, exp.Group)
    )


def expressions(query: exp.Query) -> dict[str, exp.Expr]:
    """Return each column of a row-level step as an expression over ``predictions``."""
    inside = query.args["from_"].this
    below = expressions(inside.this) if isinstance(inside, exp.Subquery) else {}

    def lowered(node: exp.Expr) -> exp.Expr:
        if not isinstance(node, exp.Column) or node.name not in below:
            return node
        found = below[node.name].copy()
        return found if isinstance(found, exp.Column) else exp.paren(found, copy=False)

    return {item.alias_or_name: item.unalias().copy().transform(lowered) for item in query.selects}


def of_source(binding: Binding, node: exp.Expr) -> exp.Expr:
    """Return an expression over ``predictions`` as one over ``_source``."""

    def raw(inner: exp.Expr) -> exp.Expr:
        if not isinstance(inner, exp.Column) or inner.name not in ("label", "prediction"):
            return inner
        sql = f"CAST({inner.name} AS DOUBLE)"
        if binding.task == "binary":
            sql = relations.two_values(binding, inner.name)
        return exp.maybe_parse(sql, dialect="duckdb")

    return node.copy().transform(raw)


def grouped(
    binding: Binding,
    bins: Bins,
    common: Mapping[str, str],
    sums: Mapping[str, str],
    *,
    domain: bool,
) -> dict[str, str]:
    """Return ``_grouped``, and what it reads: a row a slice, label and bin, however many rows.

    Parameters
    ----------
    binding : Binding
        The bound input.
    bins : Bins
        How scores are taken together.
    common, sums : mapping of str to str
        What the rows of a group must have in common besides, and sums over them, as SQL.
    domain : bool
        Whether scores outside 0 .. 1 are counted.
    """
    keys = {key: key for key in (*binding.keys, *binding.folds)}
    if binding.task == "regression":
        keys["_used"] = relations.usable(binding)
    else:
        keys |= {role: role for role in ("label", "prediction") if role in binding.role}
    keys |= {"_side": "_side"} if binding.labels else {}
    keys |= {"role": "role"} if "role" in binding.role else {}
    if binding.weighted:
        # A flawed weight must not vanish in the sum of sound ones.
        sound = relations.present("weight", "DOUBLE", finite=True)
        keys["_sign"] = f"CASE WHEN {sound} THEN SIGN(weight) END"
    keys |= common
    each = "weight * " if binding.weighted else ""
    totals = {"_rows": "COUNT(*)"}
    totals |= {"weight": "SUM(weight)"} if binding.weighted else {}
    totals |= {name: f"SUM({each}({sql}))" for name, sql in sums.items()}
    totals |= (
        {"_outside": f"SUM(CASE WHEN {relations.OUTSIDE} THEN 1 ELSE 0 END)"} if domain else {}
    )
    ends = {"score_low": "MIN(score)", "score_high": "MAX(score)"}
    if "score" not in binding.role:
        return {"_grouped": select(keys | totals, f"FROM _source\n{_group_by(len(keys))}")}
    group = _group_by(len(keys) + 1)
    bin_ = bin_of("score", bins)
    if bins.tolerance is None:
        items = keys | {"score": bin_} | ends | totals
        return {"_grouped": select(items, f"FROM _source\n{group}")}
    # The ends of all bins cost as much again as the bins.
    known = ends if bins.bits else {}
    coarse = select(keys | {"bin": bin_} | known | totals, f"FROM _source\n{group}")
    same = null_safe("a", "h", binding.keys)
    place = {"score": "CAST(a.bin AS DOUBLE)"} | {end: f"a.{end}" for end in ends}
    if not bins.bits:
        # A place within the bin, and one beside it: somewhere there the scores are.
        middle = f"a.bin / {bins.factor!r}e0 + {bins.low!r}e0"
        beside = f"(a.bin + 2.5e-1) / {bins.factor!r}e0 + {bins.low!r}e0"
        place = {"score": middle, "score_low": middle, "score_high": beside}
    light = select(
        {name: f"a.{name}" for name in keys} | place | {name: f"a.{name}" for name in totals},
        f"FROM _coarse AS a\nANTI JOIN heavy_bins AS h ON {same} "
        "AND a.bin IS NOT DISTINCT FROM h.bin",
    )
    refined = select(
        keys | {"score": "score"} | ends | totals,
        f"FROM _source AS a\nSEMI JOIN heavy_bins AS h ON {same} "
        f"AND {bin_} IS NOT DISTINCT FROM h.bin\n{group}",
    )
    return {"_coarse": coarse, "_grouped": f"{light}\nUNION ALL\n{refined}"}


def _group_by(places: int) -> str:
    return "GROUP BY " + ", ".join(str(place + 1) for place in range(places)) if places else ""


def coarse_bins(binding: Binding) -> str:
    """Return ``coarse_bins`` from ``_coarse``."""
    items = {key: key for key in binding.keys} | {"bin": "bin"}
    places = ", ".join(items)
    weight = "weight" if binding.weighted else "_rows"
    positive = relations.two_values(binding, "label")
    items["positives"] = f"COALESCE(SUM(CASE WHEN {positive} = 1 THEN {weight} END), 0)"
    items["negatives"] = f"COALESCE(SUM(CASE WHEN {positive} = 0 THEN {weight} END), 0)"
    # Rows that are left out say nothing of what the others leave open.
    sound = relations.usable(binding, but="score")
    return select(items, f"FROM _coarse\nWHERE {sound}\nGROUP BY {places}")


def heavy_bins(binding: Binding, found: Sequence[str]) -> str:
    """Return the bins to tell apart: those found, and the scores that no bin is for."""
    items = {key: key for key in (*binding.keys, "bin")}
    parts = [select(items, f"FROM {name}") for name in found]
    return "\nUNION ALL\n".join([*parts, select(items, "FROM coarse_bins\nWHERE bin IS NULL")])


def columns_read(query: exp.Query, *, stderr: bool) -> set[str]:
    """Return the names of the columns that a file reads, for its standard error as well or not."""
    query = query.copy()
    if not stderr:
        query.set("expressions", [i for i in query.selects if i.alias_or_name != "stderr"])
    return {column.name for column in query.find_all(exp.Column)}


def step(
    relation: Relation,
    keys: Sequence[str],
    used: Container[str],
    kept: Callable[[str, exp.Expr, str], str],
) -> str:
    """Return a row-level step over the rows that ``_grouped`` makes.

    Parameters
    ----------
    relation : Relation
        The step.
    keys : sequence of str
        What its ``slice`` stands for.
    used : set of str
        The columns that are read of it.
    kept : function
        Given ``sum`` or ``key``, an expression over ``predictions`` and the step's column for it,
        the name of the column that ``_grouped`` then has for its sum, or for its value where that
        is what its rows have in common.
    """
    means = relation.header.get("means") or ()
    items = {key: key for key in keys}
    for column, node in expressions(relation.query).items():
        if isinstance(node, exp.Column):
            items |= {} if column == "slice" else {column: node.name}
        elif column not in used:
            continue
        elif column in means:
            total = kept("sum", node, column)
            items[column] = f"COALESCE({total} / NULLIF(CAST(weight AS DOUBLE), 0), 0e0)"
        else:
            items[column] = kept("key", node, column)
    return select(items, "FROM predictions")


def to_tolerance(tolerance: object, relations_: Sequence[Relation]) -> Bins | None:
    """Return bins that leave these metrics no more open than that.

    None where no bins can promise it, or so many would be needed that exact is faster.

    Raises
    ------
    RequestError
        If it is no number that can be promised.
    """
    if isinstance(tolerance, bool) or not isinstance(tolerance, (int, float)):
        raise RequestError(f"tolerance={tolerance!r} must be a number, such as 1e-5")
    if not 1e-9 <= tolerance < 1:
        raise RequestError(f"tolerance={tolerance!r} must be from 1e-9 to below 1")
    cut = [each for each in relations_ if stands_on(each.name, "score_counts")]
    bounds = {each.header.get("bound") for each in cut}
    if None in bounds or tolerance < _EXACT:
        return None
    # What reaches from -1 to 1 is left open twice as far.
    twice = any((ends(each.header)[0] or "").startswith("-") for each in cut)
    least = tolerance / 2 if twice else float(tolerance)
    bits = min(max(ceil(log2(1 / least)) - 1, 10), 20)
    return Bins(bits, tolerance=least, bounds=tuple(sorted(map(str, bounds))))


def refuse(relation: Relation, values: Mapping[str, object]) -> None:
    """Raise `RequestError` for a file that needs every score."""
    told = str(relation.header.get("unbinned", ""))
    option, _, value = told.partition("=")
    given = values.get(option, relation.params[option].default) if value else None
    raw = "score" in relation.needs.get("predictions", ()) and "arranged" not in relation.when
    if told == "always" or (value and given == value) or (raw and relation.name != "score_bins"):
        what = f"{relation.name}({option}={value!r})" if value else relation.name
        raise RequestError(f"{what} needs every score, and bins= takes them together")


def refuse_binding(binding: Binding) -> None:
    """Raise `RequestError` for an input that bins are not for."""
    if binding.task != "binary" or "score" not in binding.role:
        raise RequestError("bins= is for the scores of two classes: give score=")
    if binding.over:
        raise RequestError("bins= is for one set of rows, and over= tells several apart")
    if binding.counted:
        raise RequestError("bins= is for rows, and counts= are given")
