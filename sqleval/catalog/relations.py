"""Lists the relations that the compiler writes, and the columns that SQL files may read."""

from collections.abc import Mapping

from sqleval.catalog.roles import list_columns

#: The weight of a row, its sum of squared weights, and the number of rows that it stands for. A row
#: of ``counts=`` stands for rows of weight 1, so that all three are the count.
WEIGHTS = ("weight", "squares", "n_rows")
#: The relation with a value of each row, of which a metric is the mean.
ROW_VALUES = "row_values"
#: The relations that the compiler writes, and the columns that files may read. ``predictions`` also
#: has a column for each role.
CONTRACT: Mapping[str, frozenset[str]] = {
    "predictions": frozenset({"slice", *WEIGHTS, "key", "fold", "model"})
    # For binned scores: the lowest and the highest score of a bin.
    | {"score_low", "score_high"}
    # For engines of several machines: a range of the score.
    | {"bucket"}
    # For rows that are sorted by one number: the number of the slice.
    | {"slice_number"},
    "slices": frozenset({"slice", "slice_number"}),
    # Score bins, from which the bins are chosen that are split into distinct scores.
    "coarse_bins": frozenset({"slice", "bin", "positives", "negatives"}),
    "class_scores": frozenset({"slice", "label", "class", "score", *WEIGHTS, "bucket"}),
    # The rows of a metric that is a mean. With score bins, a row has the moments of a bin's values.
    ROW_VALUES: frozenset(
        {"slice", "row_value", "row_value_centre", "row_value_variance", "is_undefined", *WEIGHTS}
    ),
    "label_scores": frozenset(
        {"slice", "label", "score", "top_score", "is_top", "higher", "tied", *WEIGHTS}
    ),
    "cumulative_scores": frozenset(
        {"slice", "place", "n_classes", "reached", "is_reached", *WEIGHTS}
    ),
    # The units that a split assigns: rows, or groups of rows. Their ``slice`` is their key.
    "units": frozenset({"slice", "text", "stratum", "members", "time"}),
    # All combinations of units that are left out together: the place of each unit.
    "combinations": frozenset({"fold", "place"}),
    # The cells from which the bootstrap draws, and the random numbers of each replicate.
    "cells": frozenset({"slice", "unit", "mean"}),
    "replicates": frozenset({"replicate", "first_salt", "second_salt"}),
    # The rows of two models that are compared, and the loss of each model on a row.
    "pairs": frozenset(
        {"slice", "label", "score", "baseline_score", "prediction", "baseline_prediction"}
        # For engines of several machines: ranges of both scores.
        | {"bucket", "baseline_bucket", "weight"}
    ),
    "losses": frozenset({"slice", "loss", "baseline_loss"}),
    # The numbers of rows of two samples per score, or per score bin.
    "drift_scores": frozenset(
        {"slice", "score", "lowest", "highest", "of_reference", "of_current"}
    ),
    # The numbers of rows of two samples per category: a bin of scores, a class, a slice.
    "drift_categories": frozenset({"slice", "category", "reference_rows", "current_rows"}),
    # A split joined to its rows, for the checks of a split.
    "assigned": frozenset(
        {"slice", "repeat", "fold", "role", "stratum", "grouping_key", "time", "content"}
    ),
}


def list_contract_columns(name: str) -> frozenset[str]:
    """Return the columns of a relation that the compiler writes; none for another name."""
    roles = list_columns() if name == "predictions" else frozenset[str]()
    return CONTRACT.get(name, frozenset()) | roles
