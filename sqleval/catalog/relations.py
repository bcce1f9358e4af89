"""The relations that the compiler writes for the SQL files to read."""

from collections.abc import Mapping

from sqleval.catalog.roles import list_columns

#: The weight of a row, the sum of squared weights and the number of rows that it stands for. A row
#: of ``counts=`` stands for rows of weight 1: all three are the count.
WEIGHTS = ("weight", "squares", "n_rows")
#: Relations that the compiler writes, and the columns that files may read from them, those of
#: ``predictions`` besides the roles.
CONTRACT: Mapping[str, frozenset[str]] = {
    "predictions": frozenset({"slice", *WEIGHTS, "key", "fold", "model"})
    # For binned scores: the lowest and the highest score of a bin.
    | {"score_low", "score_high"}
    # For engines of several machines: a range of the score.
    | {"bucket"},
    # Score bins, before the bins are chosen that must be split into distinct scores.
    "coarse_bins": frozenset({"slice", "bin", "positives", "negatives"}),
    "class_scores": frozenset({"slice", "label", "class", "score", *WEIGHTS, "bucket"}),
    # The units that a split assigns: rows, or groups of rows. Their slice is their key.
    "units": frozenset({"slice", "text", "stratum", "members", "time"}),
    # All combinations of a number of units that are left out together: the place of each.
    "combinations": frozenset({"fold", "place"}),
    # What replicates of the bootstrap are drawn from, and the random numbers of each replicate.
    "cells": frozenset({"slice", "unit", "mean"}),
    "replicates": frozenset({"replicate", "first_salt", "second_salt"}),
    # The rows of two models that are compared, and what each loses on a row.
    "pairs": frozenset(
        {"slice", "label", "score", "baseline_score", "prediction", "baseline_prediction"}
    ),
    "losses": frozenset({"slice", "loss", "baseline_loss"}),
    # The scores of two samples, a row per sample and score (or score bin): how many rows of each.
    "drift_scores": frozenset(
        {"slice", "score", "lowest", "highest", "of_reference", "of_current"}
    ),
    # How many rows of two samples are in each category: a bin of scores, a class, a slice.
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
