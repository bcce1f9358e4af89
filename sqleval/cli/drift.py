"""The command `drift`."""

from __future__ import annotations

from typing import Any

import click

from sqleval.cli.confinement import allow_sources
from sqleval.cli.controls import CONTROL
from sqleval.cli.options import OUTPUT, add_options, show_progress
from sqleval.cli.parsing import parse_sets, parse_slice_keys
from sqleval.cli.stdin import open_stdin

_SAMPLES = [
    click.argument("reference", callback=show_progress),
    click.argument("current", required=False),
]
_MEASURE = click.option(
    "--metric", "-m", "metrics", multiple=True, metavar="MEASURE",
    help='psi, ks, jensen_shannon, wasserstein, hellinger or "psi(bins=20)"; repeat for several. '
    "All by default.",
)  # fmt: skip
_COLUMNS = [
    click.option("--score", metavar="COLUMN", help="Score to compare."),
    click.option("--label", metavar="COLUMN", help="Label to compare, where there are labels."),
    click.option("--prediction", metavar="COLUMN", help="Predicted class or value to compare."),
    click.option("--weight", metavar="COLUMN", help="Column of non-negative weights."),
    click.option("--positive", metavar="VALUE",
        help="Positive value of the label, where one sample is a state."),
    click.option("--by", multiple=True, metavar="A,B|NAME=SQL",
        help="Slice keys: drift is measured in each slice, and for the mix of slices."),
    click.option("--sets", metavar="SETS", help="Sets of the keys, as for evaluate."),
    click.option("--where", metavar="SQL", help="Condition on the rows of both samples."),
    click.option("--reference-where", metavar="SQL", help="Condition on the rows of REFERENCE."),
    click.option("--current-where", metavar="SQL", help="Condition on the rows of CURRENT."),
    click.option("--bins", type=int, metavar="BITS",
        help="Round scores to this many significant bits, which is faster."),
]  # fmt: skip
#: Columns that the table on the screen leaves out; the other formats have them.
_LEFT_OUT = ("missing_reference", "missing_current", "method")


@click.command()
@add_options(*_SAMPLES, *_COLUMNS, _MEASURE, *OUTPUT, *CONTROL)
def drift(
    reference: str,
    current: str | None,
    metrics: tuple[str, ...],
    by: tuple[str, ...],
    sets: str | None,
    format_: str | None,
    output: str | None,
    **roles: Any,
) -> None:
    r"""Compare two samples: distributions of scores, labels, slices.

    REFERENCE and CURRENT are files, folders or tables with predictions, or states. No label is
    needed. Without CURRENT, both samples are rows of REFERENCE, chosen by --reference-where and
    --current-where.

    \b
    Example:
      sqleval drift lake/june lake/july --score p --by carrier -m psi -m ks
      sqleval drift lake/preds --score p --reference-where "day < '2026-07-01'" \
        --current-where "day >= '2026-07-01'"
      sqleval drift states/june.parquet states/july.parquet
    """
    from sqleval.cli.output import write
    from sqleval.drifts.drift import drift as measure_drift

    if current is None and not (roles["reference_where"] and roles["current_where"]):
        raise click.UsageError(
            "give CURRENT, or both --reference-where and --current-where for rows of REFERENCE"
        )
    allow_sources([reference, current])
    first = open_stdin(reference)
    result = measure_drift(
        first, first if current is None else open_stdin(current), list(metrics) or None,
        by=parse_slice_keys(by), sets=parse_sets(sets), **roles,
    )  # fmt: skip
    if format_ in (None, "table") and output is None:
        result = result.drop(_LEFT_OUT)
    write(result, format_, output)
