"""Computes standard errors of differences by the jackknife, which leaves out each cluster once."""

from __future__ import annotations

from collections.abc import Sequence

import polars as pl

from sqleval.catalog.request import Request, format_request
from sqleval.resampling.cells import Cells
from sqleval.resampling.replicates import SAMPLE, evaluate_replicates, leave_out_units

#: A slice with more clusters than this is divided into this many blocks of clusters.
_MOST_BLOCKS = 200
#: With fewer clusters, counted as clusters of equal size, a note warns of few clusters.
_FEW_CLUSTERS = 10


def group_clusters(cells: Cells, keys: Sequence[str]) -> Cells:
    """Put clusters together, so that each slice has at most `_MOST_BLOCKS` of them."""
    size = pl.col("unit").n_unique()
    is_large = (size.over(keys) if keys else size) > _MOST_BLOCKS
    block = pl.when(is_large).then(pl.col("unit") % _MOST_BLOCKS + 1).otherwise("unit")
    frame = cells.frame.with_columns(unit=block)
    sums = ("factor", "_rows")
    by = [name for name in frame.columns if name not in sums]
    return cells._replace(frame=frame.group_by(by, maintain_order=True).agg(pl.col(sums).sum()))


def leave_out_clusters(
    cells: Cells, requests: Sequence[Request], keys: Sequence[str], over: Sequence[str]
) -> pl.DataFrame:
    """Return the metrics of all rows (replicate 0), and without each cluster (-1, -2 ...).

    Parameters
    ----------
    cells, requests, keys
        As for `evaluate_replicates`.
    over : sequence of str
        The slice keys without the key ``model`` of models with different rows: a cluster is left
        out of all models at once, such as the rows of a user before and after a change.
    """
    sample = evaluate_replicates(cells, requests, keys, replicates=0, seed=0)
    if not cells.frame.height:
        return sample
    return pl.concat([sample, leave_out_units(cells, requests, keys, over).drop("weight")])


def find_jackknife_errors(
    differences: pl.DataFrame, by: Sequence[str], cells: Cells, requests: Sequence[Request]
) -> pl.DataFrame:
    """Return the standard errors of differences, and their degrees of freedom.

    With G clusters, the variance is (G - 1) / G times the sum of the squared changes that leaving
    out a cluster makes. It is NULL if the difference is undefined without one of the clusters.

    Parameters
    ----------
    differences : polars.DataFrame
        The columns ``by``, ``replicate`` (as `leave_out_clusters` numbers them) and ``value``.
    by : sequence of str
        Slice keys, ``metric`` and ``model``.
    cells : Cells
        The cells from which the differences were computed.
    requests : sequence of Request
        The metrics.

    Returns
    -------
    polars.DataFrame
        ``by``, ``stderr``, ``df``, ``clusters`` (their number) and ``defined`` (how many of them
        leave a defined difference).

    References
    ----------
    MacKinnon, Nielsen and Webb (2023), Fast and reliable jackknife and bootstrap methods for
    cluster-robust inference, doi:10.1002/jae.2969: the standard error CV3.
    """
    keys = list(by[: by.index("metric")])
    value, number = pl.col("value"), pl.col("replicate")
    changes = value.filter(number < SAMPLE) - value.filter(number == SAMPLE).first()
    errors = differences.group_by(by, maintain_order=True).agg(
        defined=changes.count(), squares=(changes**2).sum()
    )
    clusters = pl.col("unit").n_unique().alias("clusters")
    sizes = cells.frame.group_by(keys).agg(clusters) if keys else cells.frame.select(clusters)
    parts = [
        find_degrees(cells, keys, by_class=each.depends_on("score_counts")).with_columns(
            metric=pl.lit(format_request(each))
        )
        for each in requests
    ]
    for other, on in ((pl.concat(parts), [*keys, "metric"]), (sizes, keys)):
        typed = other.with_columns(pl.col(name).cast(errors.schema[name]) for name in on)
        errors = (
            errors.join(typed, on=on, how="left", nulls_equal=True, maintain_order="left")
            if on
            else errors.join(typed, how="cross", maintain_order="left")
        )
    count = pl.col("clusters")
    stderr = ((count - 1) / count * pl.col("squares")).sqrt()
    whole = (pl.col("defined") == count) & (stderr > 0)
    return errors.with_columns(stderr=pl.when(whole).then(stderr)).drop("squares")


def find_degrees(cells: Cells, keys: Sequence[str], *, by_class: bool) -> pl.DataFrame:
    """Return the degrees of freedom of the jackknife's standard error: ``keys`` and ``df``.

    With clusters of unequal size, the variance is a sum of squares of unequal weight. For the mean
    of independent rows, it is approximated by a multiple of chi-square with the same mean and
    variance, whose degrees of freedom are returned. G clusters of equal size give G - 1.

    Parameters
    ----------
    cells : Cells
        The cells.
    keys : sequence of str
        The slice keys.
    by_class : bool
        Whether the rows of each class count by themselves, as for metrics of ranked scores. Then
        the class with the fewest degrees of freedom decides; so does the model with the fewest if
        models have different rows.

    References
    ----------
    Bell and McCaffrey (2002), Bias reduction in standard errors for linear regression with
    multi-stage samples: the same approximation (Satterthwaite's) for another standard error.
    """
    within = [*keys, *(["model"] if "model" in cells.keys else [])]
    within += ["label"] if by_class else []
    sizes = cells.frame.group_by([*within, "unit"]).agg(size=pl.col("factor").sum())
    total = pl.col("size").sum()
    rest = (total.over(within) if within else total) - pl.col("size")
    # The variance is the sum of (e / (1 - h))^2 over the clusters, where h is a cluster's share of
    # the rows and e the residual of its sum. Residuals have variance h (1 - h), covariance -h h'.
    odds = pl.col("odds")
    squares, fourth = (odds**2).sum(), (odds**4).sum()
    df = odds.sum() ** 2 / (squares + squares**2 - fourth)
    sizes = sizes.with_columns(odds=pl.when(rest > 0).then(pl.col("size") / rest))
    # If a class has a single cluster, the degrees of freedom are undefined.
    df = pl.when(odds.null_count() == 0).then(df)
    degrees = sizes.group_by(within).agg(df=df) if within else sizes.select(df=df)
    least = pl.when(pl.col("df").null_count() == 0).then(pl.col("df").min())
    return degrees.group_by(keys).agg(df=least) if keys else degrees.select(df=least)


def write_cluster_note(df: pl.Expr) -> pl.Expr:
    """Return the note on few clusters; NULL where there are enough."""
    few = pl.format(
        "few clusters: they count as {} of equal size, so that only large differences are found",
        (df + 1).round(1),
    )
    return pl.when(df + 1 < _FEW_CLUSTERS).then(few)
