"""The command `compare`."""

from typing import Any

import click

from sqleval.cli.options import CI_METHOD, METRIC, OUTPUT, ROLES, add_options, scan_source

#: The columns of a comparison that the table on the screen leaves to the other formats.
_LEFT_OUT = ("baseline", "statistic", "p_value", "method", "n_dropped", "note")


_OPTIONS = [
    click.option("--baseline", metavar="MODEL",
        help="The model to compare with; the first if left out."),
    click.option("--test", metavar="NAME",
        help="delong, mcnemar, mcnemar_exact, paired_t, wilcoxon, bootstrap; with --over "
        "corrected_t, friedman, nemenyi. The best one for the metric if left out."),
    click.option("--alternative", type=click.Choice(["two-sided", "greater", "less"]),
        default="two-sided", show_default=True,
        help="greater: the model's value is above that of the baseline."),
    click.option("--model", metavar="COLUMN",
        help="The column of models, of a table with a row per model and --key."),
    click.option("--key", metavar="COLUMN", help="The column by which the rows of models match."),
    click.option("--unpaired", is_flag=True, help="The models are judged on different rows."),
    click.option("--ci", type=float, default=0.95, show_default=True, metavar="LEVEL",
        help="Level of the intervals and, less one, of the tests."),
    click.option("--adjust", default="holm", show_default=True, metavar="METHOD",
        help="Over slices: holm, benjamini_hochberg, bonferroni or none."),
    click.option("--margin", type=float, metavar="NUMBER",
        help="The largest difference that does not matter: tests equivalence, or with "
        "--alternative greater non-inferiority."),
]  # fmt: skip


@click.command()
@add_options(*ROLES, METRIC, *_OPTIONS, *CI_METHOD[1:], *OUTPUT)
def compare(
    metrics: tuple[str, ...],
    unpaired: bool,
    format_: str | None,
    output: str | None,
    baseline: str | None,
    test: str | None,
    alternative: str,
    ci: float,
    adjust: str,
    margin: float | None,
    model: str | None,
    key: str | None,
    replicates: int,
    seed: int,
    cluster: str | None,
    **roles: Any,
) -> None:
    r"""Compare models: differences with intervals, p-values and a verdict in words.

    \b
    Example:
      sqleval compare lake/preds --label delayed --score a=p_a --score b=p_b --nulls drop -m roc_auc
      sqleval compare lake/preds --label delayed --score a=p_a --score b=p_b \
        --by carrier --sets overall -m roc_auc -m log_loss
    """
    from sqleval.cli.output import write
    from sqleval.comparison.verdict import summarize

    predictions = scan_source(roles)
    found = predictions.compare(
        list(metrics) or None, baseline=baseline, test=test, alternative=alternative,
        paired=not unpaired, ci=ci, adjust=adjust, margin=margin, replicates=replicates, seed=seed,
        cluster=cluster, model=model, key=key,
    ).collect()  # fmt: skip
    if format_ not in (None, "table") or output is not None:
        write(found, format_, output)
        return
    write(found.drop(_LEFT_OUT), format_, output)
    keys = found.columns[: found.columns.index("metric")]
    for sentence in summarize(found, keys):
        click.echo(sentence)
