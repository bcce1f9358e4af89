"""Writes the relations by which the macro of a curve keeps only some points (``points :=``)."""

from collections.abc import Sequence

from sqleval.export.macro_files import PREFIX


def write_thinning(rows: str, measured: Sequence[str], order: Sequence[str]) -> list[str]:
    """Return the relations that end in the result: all points, or those that are kept.

    A step from one point to the next is the sum of the changes of all columns, each divided by
    the range of its column.

    Parameters
    ----------
    rows : str
        The query of all points.
    measured : sequence of str
        The columns that measure the length of the curve.
    order : sequence of str
        The columns that order its points, some with the word DESC.
    """
    along = f"PARTITION BY c.slice ORDER BY {', '.join(f'c.{part}' for part in order)}"
    changes = (
        f"COALESCE(ABS(c.{name} - LAG(c.{name}) OVER ({along})) / NULLIF("
        f"MAX(c.{name}) OVER (PARTITION BY c.slice) - MIN(c.{name}) OVER (PARTITION BY c.slice), "
        "0), 0)"
        for name in measured
    )
    curve, steps = f"{PREFIX}curve", f"{PREFIX}steps"
    return [
        f"{curve} AS NOT MATERIALIZED ({rows})",
        f"{steps} AS NOT MATERIALIZED (SELECT c.*, ROW_NUMBER() OVER ({along}) AS place, "
        f"{' + '.join(changes)} AS step FROM {curve} AS c)",
        # A constant condition removes one of the two from the plan.
        f"{PREFIX}result AS (SELECT c.* FROM {curve} AS c WHERE points IS NULL UNION ALL "
        f"SELECT t.* FROM sqleval._thinned('{steps}', points) AS t WHERE points IS NOT NULL)",
    ]
