"""Computes the rows needed to show a difference of two ROC AUCs, from AUCs and prevalence alone.

If predictions are at hand, `sample_size.find_rows` with DeLong's standard error is better, because
it needs no model of the scores.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, get_args

from sqleval.common.names import find_nearest
from sqleval.errors import RequestError
from sqleval.inference.libraries import np, special
from sqleval.inference.outcome import keep_defined, to_floats
from sqleval.inference.sample_size import divide_squared, find_quantiles, round_up

if TYPE_CHECKING:
    from sqleval.inference.libraries import Array, ArrayLike

#: The distribution that the scores of positives and negatives are assumed to have.
Model = Literal["exponential", "binormal", "rating"]


def compute_auc_variance(
    auc: ArrayLike, prevalence: ArrayLike, *, model: str = "exponential"
) -> Array:
    """Return the variance of a ROC AUC times the number of rows.

    Parameters
    ----------
    auc : array_like
        The expected AUC, from 0.5 to 1.
    prevalence : array_like
        Share of positives.
    model : {"exponential", "binormal", "rating"}
        ``exponential``: Hanley and McNeil's model, conservative if positives are few;
        ``binormal``: normal scores of equal variance; ``rating``: Obuchowski's model, for scores
        with few levels.

    Returns
    -------
    array
        NaN for an AUC below 0.5 or a prevalence outside 0 .. 1.

    Raises
    ------
    RequestError
        If there is no such model.

    References
    ----------
    Hanley and McNeil (1982), The meaning and use of the area under a ROC curve,
    doi:10.1148/radiology.143.1.7063747; Obuchowski, Lieber and Wians (2004), ROC curves in
    clinical chemistry, doi:10.1373/clinchem.2004.031823, formula 3.

    Examples
    --------
    >>> compute_auc_variance([0.8], [0.1]).round(3).tolist()
    [0.741]
    """
    if model not in get_args(Model):
        allowed = ", ".join(get_args(Model))
        raise RequestError(
            f"model={model!r}{find_nearest(model, get_args(Model))}; one of: {allowed}"
        )
    area, share = to_floats(auc, prevalence)
    is_defined = (area >= 0.5) & (area <= 1) & (share > 0) & (share < 1)
    with np.errstate(all="ignore"):
        if model == "rating":
            a = np.sqrt(2) * special.ndtri(np.minimum(area, 1 - 1e-15))
            by_positives = 5 * a**2 + 8 + (a**2 + 8) * share / (1 - share)
            variance = 0.0099 * np.exp(-(a**2) / 2) * by_positives / share
        else:
            # P(two positives rank above one negative), P(one positive above two negatives).
            two_positives, two_negatives = area / (2 - area), 2 * area**2 / (1 + area)
            if model == "binormal":
                # Both are P(X < h, Y < h) of normal variables with correlation 1/2, by Owen's T.
                both = area - 2 * special.owens_t(special.ndtri(area), 1 / np.sqrt(3))
                two_positives = two_negatives = np.where(area < 1, both, 1.0)
            variance = (two_positives - area**2) / (1 - share) + (two_negatives - area**2) / share
    return keep_defined(variance, is_defined)


def find_rows_for_auc(
    auc: ArrayLike,
    baseline_auc: ArrayLike,
    prevalence: ArrayLike,
    *,
    correlation: ArrayLike = 0.0,
    model: str = "exponential",
    alpha: float = 0.05,
    power: float = 0.8,
    alternative: str = "two-sided",
) -> Array:
    """Return the number of rows needed to detect that two ROC AUCs differ.

    Parameters
    ----------
    auc, baseline_auc : array_like
        The two AUCs under the alternative, from 0.5 to 1.
    prevalence : array_like
        Share of positives.
    correlation : array_like
        Correlation of the two estimated AUCs: 0 for different rows; for the same rows, two models
        of the same features often reach 0.8.
    model : {"exponential", "binormal", "rating"}
        As in `compute_auc_variance`.
    alpha, power, alternative
        As in `sqleval.inference.sample_size.find_rows`.

    Returns
    -------
    array
        The number of positives and negatives together; for different rows, the number of each
        model. Whole numbers, infinite for equal AUCs.

    References
    ----------
    Hanley and McNeil (1982), table III, and (1983), doi:10.1148/radiology.148.3.6878708, for the
    correlation.

    Examples
    --------
    >>> find_rows_for_auc([0.82], [0.80], 0.1, correlation=[0.0, 0.8]).tolist()
    [28770.0, 5759.0]
    """
    area, base, share, together = to_floats(auc, baseline_auc, prevalence, correlation)
    at_level, at_power = find_quantiles(alpha, power, alternative)
    variance = compute_auc_variance(area, share, model=model)
    null = compute_auc_variance(base, share, model=model)
    with np.errstate(all="ignore"):
        both = variance + null - 2 * together * np.sqrt(variance * null)
        is_defined = np.abs(together) < 1
        # Under the null hypothesis both models have the baseline's AUC.
        scale = at_level * np.sqrt(2 * null * keep_defined(1 - together, is_defined))
        return round_up(divide_squared(scale + at_power * np.sqrt(both), area - base))
