"""The command `report`: writes one page about predictions."""

from typing import Any

import click

from sqleval.cli.options import METRIC, ROLES, add_options, read_source
from sqleval.cli.screen import print_message


@click.command()
@add_options(*ROLES, METRIC)
@click.option(
    "--ci",
    type=float,
    default=0.95,
    metavar="LEVEL",
    show_default=True,
    help="Confidence level of the intervals.",
)
@click.option(
    "--min-rows",
    type=int,
    default=30,
    metavar="N",
    show_default=True,
    help="Leave out slices with fewer rows.",
)
@click.option("--output", "-o", metavar="FILE", required=True, help="The HTML file.")
def report(
    metrics: tuple[str, ...], ci: float, min_rows: int, output: str, **roles: Any
) -> None:  # fmt: skip
    r"""Write one page: the better model, numbers, data, curves, slices.

    Without Altair the page has no pictures, without SciPy no tests; its end says what to install.

    \b
    Example:
      sqleval report lake/preds --label delayed --score a=p_a --score b=p_b \
        --by carrier --nulls drop -o report.html
    """
    from sqleval.report.page import write_report

    source, arguments = read_source(roles)
    write_report(
        source,
        output,
        metrics=list(metrics) or None,
        ci=ci,
        min_rows=min_rows,
        **arguments,
    )
    print_message(f"wrote {output}")
