"""The commands `resample`, `select` and `bootstrap-632`: metrics over folds, model choice."""

from collections.abc import Mapping
from typing import Any

import click

from sqleval.cli.options import CI, METRIC, OUTPUT, ROLES, add_options, read_source
from sqleval.cli.parsing import parse_names

_FOLD = click.option(
    "--fold", multiple=True, metavar="A,B", default=("repeat,fold",), show_default=True,
    help="Columns that identify a fold; all but the last identify the repeat.",
)  # fmt: skip


def _open(roles: Mapping[str, Any]) -> tuple[Any, dict[str, Any]]:
    """Return the source, and the roles that the command sets."""
    source, arguments = read_source(roles)
    return source, {name: value for name, value in arguments.items() if value not in (None, [])}


@click.command()
@add_options(*ROLES, METRIC, _FOLD, CI)
@click.option(
    "--ratio",
    type=float,
    metavar="SHARE",
    help="Test rows divided by training rows; by default 1 / (k - 1) for k folds.",
)
@add_options(*OUTPUT)
def resample(
    metrics: tuple[str, ...], fold: tuple[str, ...], ci: float | None, ratio: float | None,
    format_: str | None, output: str | None, **roles: Any,
) -> None:  # fmt: skip
    r"""Compute metrics over folds.

    The result has the mean, spread and interval over the folds of a cross-validation.

    \b
    Example:
      sqleval resample preds.parquet --label y --score p --fold fold \
        -m roc_auc --ci 0.95
    """
    from sqleval.cli.output import write
    from sqleval.selection.resample import resample as evaluate

    source, arguments = _open(roles)
    frame = evaluate(
        source, list(metrics) or None, fold=parse_names(fold), ci=ci, ratio=ratio, **arguments
    )
    write(frame, format_, output)


@click.command()
@add_options(*ROLES)
@click.option("--metric", "-m", required=True, metavar="METRIC", help="The metric to rank by.")
@click.option(
    "--config",
    multiple=True,
    required=True,
    metavar="A,B",
    help="Columns of a configuration: parameters, the name of an algorithm.",
)
@add_options(_FOLD)
@click.option(
    "--rule",
    type=click.Choice(["best", "one_standard_error"]),
    default="best",
    show_default=True,
    help="The best mean, or the simplest configuration within one standard error of it.",
)
@click.option(
    "--simplest",
    multiple=True,
    metavar="A,-B",
    help="Configuration columns by complexity; a minus means that larger is simpler.",
)
@add_options(*OUTPUT)
def select(
    metric: str, config: tuple[str, ...], fold: tuple[str, ...], rule: str,
    simplest: tuple[str, ...], format_: str | None, output: str | None, **roles: Any,
) -> None:  # fmt: skip
    r"""Choose a configuration by a metric over folds.

    The table ranks all configurations, and says which one is chosen and why.

    \b
    Example:
      sqleval select grid.parquet --label y --score p --config depth,rate \
        --fold fold -m roc_auc
    """
    from sqleval.cli.output import write
    from sqleval.selection.choose import select as choose

    source, arguments = _open(roles)
    frame = choose(
        source, metric, config=parse_names(config), fold=parse_names(fold), rule=rule,
        simplest=parse_names(simplest), **arguments,
    )  # fmt: skip
    write(frame, format_, output)


@click.command("bootstrap-632")
@add_options(*ROLES, METRIC)
@click.option(
    "--repeat",
    default="repeat",
    show_default=True,
    metavar="COLUMN",
    help="Column that identifies a bootstrap sample.",
)
@add_options(*OUTPUT)
def bootstrap_632(
    metrics: tuple[str, ...], repeat: str, format_: str | None, output: str | None, **roles: Any
) -> None:  # fmt: skip
    r"""Compute the .632 estimates of a bootstrap.

    The estimates are .632 and .632+; the column of --role has train and test.

    \b
    Example:
      sqleval bootstrap-632 preds.parquet --label y --prediction c --role role \
        -m error_rate
    """
    from sqleval.cli.output import write
    from sqleval.selection.bootstrap import bootstrap_632 as estimate

    source, arguments = _open(roles)
    frame = estimate(source, list(metrics) or "error_rate", repeat=repeat, **arguments)
    write(frame, format_, output)
