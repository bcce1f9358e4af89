"""Splits a change of a mean over slices into changes of their shares and of their values."""

import polars as pl


def decompose_change(before: pl.DataFrame, after: pl.DataFrame) -> pl.DataFrame:
    """Return each slice's contributions to the change of the mean over all rows.

    Parameters
    ----------
    before, after : polars.DataFrame
        One row per slice: ``slice``, ``value`` and ``n``. Rows without a value are left out.

    Returns
    -------
    polars.DataFrame
        ``slice``, ``mix`` (from the change of its share of rows) and ``quality`` (from the change
        of its value), the largest contribution first. All contributions sum to the change of the
        mean of values, weighted by rows. This is the metric's change if the metric is a mean over
        rows, and close to it otherwise, for example for an area under a curve. A slice that is
        new or gone has only a mix.

    References
    ----------
    Kitagawa (1955), Components of a difference between two rates,
    doi:10.1080/01621459.1955.10501299.

    Examples
    --------
    >>> before = pl.DataFrame({"slice": ["a", "b"], "value": [0.8, 0.6], "n": [50, 50]})
    >>> after = pl.DataFrame({"slice": ["a", "b"], "value": [0.8, 0.5], "n": [50, 50]})
    >>> decompose_change(before, after).with_columns(pl.col("quality").round(3)).row(0)
    ('b', -0.0, -0.05)
    """
    shares = [
        frame.filter(pl.col("value").is_not_null(), pl.col("n") > 0).select(
            "slice", "value", share=pl.col("n") / pl.col("n").sum()
        )
        for frame in (before, after)
    ]
    was, now = pl.col("value"), pl.col("value_after")
    both = (
        shares[0].join(shares[1], on="slice", how="full", suffix="_after", coalesce=True)
        .with_columns(pl.col("share", "share_after").fill_null(0.0))
        .with_columns(value=pl.coalesce(was, now), value_after=pl.coalesce(now, was))
    )  # fmt: skip
    share, middle = (pl.col("share") + pl.col("share_after")) / 2, (was + now) / 2
    overall = ((pl.col("share") * was).sum() + (pl.col("share_after") * now).sum()) / 2
    return both.select(
        "slice",
        mix=(pl.col("share_after") - pl.col("share")) * (middle - overall),
        quality=share * (now - was),
    ).sort((pl.col("mix") + pl.col("quality")).abs(), "slice", descending=[True, False])
