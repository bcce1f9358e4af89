"""The commands that show where a model is wrong: ``sqleval rows`` and ``sqleval slices``."""

from typing import Any

import click

from sqleval.cli.options import OUTPUT, ROLES, add_options, complete_names, scan_source
from sqleval.cli.parsing import parse_names
from sqleval.cli.screen import print_message

_LOSS = click.option(
    "--metric", "-m", metavar="METRIC", shell_complete=complete_names("metric"),
    help="A metric that is a mean of losses of rows. By default log_loss of classes with scores, "
    "error_rate of classes without, mae of a regression.",
)  # fmt: skip


@click.command()
@add_options(*ROLES, _LOSS)
@click.option("--worst", type=int, metavar="N", help="The N rows of each slice with the largest "
    "loss; 20 by default.")  # fmt: skip
@click.option("--cell", metavar="CELL", help="Only rows of a cell of the confusion matrix: tp, fp, "
    "fn or tn.")  # fmt: skip
@click.option("--nearest", type=int, metavar="N", help="Instead of --worst: the N rows of each "
    "slice whose score is nearest to --to.")  # fmt: skip
@click.option("--to", type=float, metavar="SCORE", help="With --nearest: the score; by default the "
    "threshold.")  # fmt: skip
@add_options(*OUTPUT)
def rows(
    metric: str | None,
    worst: int | None,
    cell: str | None,
    nearest: int | None,
    to: float | None,
    format_: str | None,
    output: str | None,
    **roles: Any,
) -> None:
    r"""Show the rows with the largest loss, of a cell, or near a threshold.

    \b
    Example:
      sqleval rows lake/preds --label delayed --score p --worst 10
      sqleval rows lake/preds --label delayed --score p --cell fp --by carrier \
        --worst 3 --output wrong.parquet
      sqleval rows lake/preds --label delayed --score p --nearest 10 --to 0.3
    """
    from sqleval.cli.output import write

    predictions = scan_source(roles)
    found = predictions.rows(worst, by=metric, cell=cell, nearest=nearest, to=to).collect()
    if format_ not in (None, "table") or output is not None:
        write(found, format_, output)
        return
    # On the screen, the columns of roles follow the loss.
    first = [*found.columns[: len(predictions.binding.key_names) + 1]]
    of_roles = [column.name for column in predictions.binding.role.values()]
    first += [name for name in of_roles if name in found.columns and name not in first]
    write(
        found.select(*first, *(n for n in found.columns if n not in first)), None, None, len(first)
    )


@click.command()
@add_options(*ROLES, _LOSS)
@click.option("--search", multiple=True, metavar="A,B", help="Columns or SQL expressions; by "
    "default all columns that are no role.")  # fmt: skip
@click.option("--depth", type=int, default=2, show_default=True, metavar="N",
    help="The largest number of columns of a slice.")  # fmt: skip
@click.option("--min-rows", type=int, default=30, show_default=True, metavar="N",
    help="The least number of rows of a slice.")  # fmt: skip
@click.option("--ci", type=float, default=0.95, show_default=True, metavar="LEVEL",
    help="One minus the probability of a false finding.")  # fmt: skip
@click.option("--top", type=int, default=10, show_default=True, metavar="N",
    help="The largest number of slices.")  # fmt: skip
@add_options(*OUTPUT)
def slices(
    metric: str | None,
    search: tuple[str, ...],
    depth: int,
    min_rows: int,
    ci: float,
    top: int,
    format_: str | None,
    output: str | None,
    **roles: Any,
) -> None:
    r"""Search the slices in which the model is worse than elsewhere.

    Values, ranges and pairs of columns are tested, with a correction for having searched.

    \b
    Example:
      sqleval slices lake/preds --label delayed --score p
      sqleval slices lake/preds --label delayed --score p \
        --search carrier,origin,distance -m error_rate
    """
    from sqleval.cli.output import write

    names = parse_names(search) or None
    found = scan_source(roles).slices(
        names, metric, depth=depth, min_rows=min_rows, ci=ci, top=top
    ).collect()  # fmt: skip
    if found.is_empty():
        print_message("no slice is worse than the other rows, as far as the data can tell")
    write(found, format_, output)
