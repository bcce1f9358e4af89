"""The commands `compare` and `sample-size`."""

from collections.abc import Sequence
from typing import Any

import click

from sqleval.cli.options import CI_METHOD, METRIC, OUTPUT, ROLES, add_options, scan_source
from sqleval.cli.parsing import parse_names
from sqleval.cli.screen import print_text

#: Columns of a comparison that the table on the screen leaves out; the other formats have them.
_LEFT_OUT = ("baseline", "statistic", "method", "n_dropped")

#: Options that cannot be combined with --curve, and with --leaderboard.
_OF_METRICS = (
    "metrics", "test", "alternative", "model", "key", "groups", "unpaired", "adjust", "margin",
    "leaderboard",
)  # fmt: skip
_OF_BASELINE = ("baseline", "alternative", "margin", "groups")

#: Options of tests, for comparisons and sample sizes.
_TEST = [
    click.option("--baseline", metavar="MODEL",
        help="The model to compare with; the first if left out."),
    click.option("--test", metavar="NAME",
        help="delong, delong_joint, mcnemar, mcnemar_exact, cochran_q, paired_t, wilcoxon, "
        "bootstrap; with --cluster "
        "jackknife; with --over corrected_t, friedman, nemenyi; with --unpaired newcombe, "
        "welch_t, delong. The best one for the metric if left out."),
    click.option("--alternative", type=click.Choice(["two-sided", "greater", "less"]),
        default="two-sided", show_default=True,
        help="greater: the model's value is above the baseline's."),
    click.option("--ci", type=float, default=0.95, show_default=True, metavar="LEVEL",
        help="Confidence level of the intervals; the tests have the level 1 - LEVEL."),
]  # fmt: skip
_COMPARE = [
    click.option("--curve", metavar="NAME",
        help="Compare curves instead of metrics: roc, pr, gain or cost."),
    click.option("--leaderboard", is_flag=True,
        help="Rank the models, and mark those not shown to be worse than the best."),
    *_TEST,
    click.option("--model", metavar="COLUMN",
        help="Column that names the model, in a table with a row per model; --key is the column, "
        "or the columns, by which the rows of models match."),
    click.option("--unpaired", is_flag=True, help="The models are judged on different rows."),
    click.option("--groups", metavar="COLUMN",
        help="Compare each group of rows, such as a region, with all other rows."),
    click.option("--adjust", default="holm", show_default=True, metavar="METHOD",
        help="Over slices: holm, benjamini_hochberg, bonferroni or none."),
    click.option("--margin", type=float, metavar="NUMBER",
        help="The largest difference that does not matter: tests equivalence, or with "
        "--alternative greater non-inferiority."),
]  # fmt: skip
_PLAN = [
    click.option("--difference", type=float, metavar="NUMBER", help="The difference that matters."),
    click.option("--power", type=float, default=0.8, show_default=True, metavar="SHARE",
        help="Probability with which the test shows it."),
    click.option("--correlation", type=float, metavar="NUMBER",
        help="With one model: correlation of its errors with a second model's errors; 0 (the "
        "default) for different rows."),
]  # fmt: skip


@click.command()
@add_options(*ROLES, METRIC, *_COMPARE, *CI_METHOD[1:], *OUTPUT)
def compare(
    metrics: tuple[str, ...],
    unpaired: bool,
    format_: str | None,
    output: str | None,
    curve: str | None,
    leaderboard: bool,
    baseline: str | None,
    test: str | None,
    alternative: str,
    ci: float,
    adjust: str,
    margin: float | None,
    model: str | None,
    groups: str | None,
    replicates: int,
    seed: int,
    cluster: str | None,
    **roles: Any,
) -> None:
    r"""Compare models: differences, intervals, p-values, a verdict.

    \b
    Example:
      sqleval compare lake/preds --label delayed --score a=p_a --score b=p_b \
        --nulls drop -m roc_auc
      sqleval compare lake/preds --label delayed --score a=p_a --score b=p_b \
        --by carrier --sets overall -m roc_auc -m log_loss
      sqleval compare lake/preds --label delayed --score a=p_a --score b=p_b \
        --curve roc
    """
    from sqleval.cli.output import write
    from sqleval.comparison.verdict import summarize
    from sqleval.curves.compare import summarize_curves

    key = None
    if not roles["long"]:
        # The key of --model is an argument of the comparison, and no role.
        key, roles["key"] = parse_names(roles["key"]) or None, ()
    predictions = scan_source(roles)
    resampling: dict[str, Any] = {"replicates": replicates, "seed": seed, "cluster": cluster}
    chosen: dict[str, Any] = {
        "test": test,
        "paired": not unpaired,
        "adjust": adjust,
        "model": model,
        "key": key,
    }
    names = list(metrics) or None
    hidden, sentences = "p_value", []
    if curve is not None:
        _refuse_options("curve", "compares whole curves", _OF_METRICS)
        result = predictions.compare_curves(curve, baseline=baseline, ci=ci, **resampling).collect()
        hidden, sentences = "verdict", summarize_curves(result)
    elif leaderboard:
        _refuse_options("leaderboard", "compares with the best", _OF_BASELINE)
        result = predictions.leaderboard(names, ci=ci, **chosen, **resampling).collect()
    else:
        result = predictions.compare(
            names, baseline=baseline, alternative=alternative, ci=ci, margin=margin,
            groups=groups, **chosen, **resampling,
        ).collect()  # fmt: skip
        keys = result.columns[: result.columns.index("metric")]
        sentences = summarize(result, keys, has_sets=bool(predictions.binding.sets))
    if format_ not in (None, "table") or output is not None:
        write(result, format_, output)
        return
    left_out = (*_LEFT_OUT, hidden)
    write(result.drop(left_out, strict=False), format_, output)
    for sentence in sentences:
        print_text(sentence)


def _refuse_options(option: str, why: str, others: Sequence[str]) -> None:
    """Raise if the command has options that cannot be combined with another one."""
    context = click.get_current_context()
    written = [
        f"--{name.replace('metrics', 'metric')}"
        for name in others
        if context.get_parameter_source(name) is click.core.ParameterSource.COMMANDLINE
    ]
    if written:
        raise click.UsageError(f"--{option} {why}; leave out {', '.join(written)}")


@click.command("sample-size")
@add_options(*ROLES, METRIC, *_PLAN, *_TEST, *CI_METHOD[1:], *OUTPUT)
def sample_size(
    metrics: tuple[str, ...],
    difference: float | None,
    power: float,
    correlation: float | None,
    baseline: str | None,
    test: str | None,
    alternative: str,
    ci: float,
    replicates: int,
    seed: int,
    cluster: str | None,
    format_: str | None,
    output: str | None,
    **roles: Any,
) -> None:
    r"""Compute how many rows are needed to show a difference.

    The result also says how small a difference the rows at hand could show.

    \b
    Example:
      sqleval sample-size lake/preds --label delayed --score a=p_a \
        --score b=p_b --nulls drop -m roc_auc --difference 0.005
    """
    from sqleval.cli.output import write

    result = scan_source(roles).sample_size(
        list(metrics) or None, difference=difference, power=power, ci=ci, alternative=alternative,
        correlation=correlation, baseline=baseline, test=test, replicates=replicates, seed=seed,
        cluster=cluster,
    ).collect()  # fmt: skip
    write(result, format_, output)
