"""The options of a comparison: checks them, and applies the test that they choose."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, cast

from sqleval.binding.arguments import check_level
from sqleval.common.names import find_nearest
from sqleval.common.numbers import is_real_number
from sqleval.errors import RequestError
from sqleval.inference.adjust import check_adjustment
from sqleval.inference.difference import (
    apply_equivalence_test,
    apply_noninferiority_test,
    apply_t_test,
    apply_z_test,
    check_margin,
)
from sqleval.inference.libraries import load_library, np
from sqleval.inference.outcome import Outcome, check_alternative
from sqleval.resampling.completion import check_drawing

if TYPE_CHECKING:
    from sqleval.inference.libraries import Array


class Options(NamedTuple):
    """Options of a comparison, as `Predictions.compare` describes them."""

    baseline: str | None = None
    test: str | None = None
    alternative: str = "two-sided"
    paired: bool = True
    ci: float = 0.95
    adjust: str | None = "holm"
    margin: float | None = None
    replicates: int = 500
    seed: int = 0
    model: str | None = None
    key: tuple[str, ...] | None = None
    groups: str | None = None


def check_options(options: Options) -> None:
    """Raise `RequestError` if an option has a wrong value, `MissingExtra` without SciPy."""
    load_library("special")
    level, margin = cast("object", options.ci), cast("object", options.margin)
    if level is None:
        raise RequestError("ci=None: a comparison needs a level, such as 0.95")
    check_level(level)
    check_alternative(options.alternative)
    check_adjustment(options.adjust)
    check_drawing(options.replicates, options.seed)
    if options.paired not in (True, False):
        raise RequestError(f"paired={options.paired!r} must be True or False")
    if options.margin is not None:
        if not is_real_number(margin):
            raise RequestError(f"margin={options.margin!r} must be a number, such as 0.01")
        check_margin(options.margin)
        if options.alternative == "less":
            raise RequestError("margin= is for alternative='two-sided' (equivalence) or 'greater'")


def find_baseline(models: Sequence[str], baseline: str | None) -> str:
    """Return the model that the others are compared with; the first one by default."""
    if len(models) < 2:
        raise RequestError(
            "two models are needed: score={'a': column, 'b': column} "
            "(--score a=COLUMN --score b=COLUMN)"
        )
    if baseline is None:
        return models[0]
    if baseline not in models:
        raise RequestError(
            f"baseline={baseline!r}{find_nearest(baseline, models)}; models: {', '.join(models)}"
        )
    return baseline


def apply_test(
    difference: Array, stderr: Array, options: Options, sign: Array | float = 1.0, df: Any = None
) -> Outcome:
    """Test a difference by its standard error, against the margin if there is one.

    Parameters
    ----------
    difference, stderr : array
        The difference per slice, and its standard error.
    options : Options
        Level, alternative and margin.
    sign : array or float
        1 where higher is better, -1 where lower is better. Non-inferiority depends on it.
    df : array, optional
        Degrees of freedom of a t-test; a z-test without them.
    """
    if options.margin is None:
        call: dict[str, Any] = {"alternative": options.alternative, "ci": options.ci}
        if df is None:
            return apply_z_test(difference, stderr, **call)
        return apply_t_test(difference, stderr, df, **call)
    against: dict[str, Any] = {"ci": options.ci} | ({} if df is None else {"df": df})
    if options.alternative == "two-sided":
        return apply_equivalence_test(difference, stderr, options.margin, **against)
    outcome = apply_noninferiority_test(difference * sign, stderr, options.margin, **against)
    is_higher = np.broadcast_to(np.asarray(sign) >= 0, outcome.low.shape)
    return outcome._replace(
        low=np.where(is_higher, outcome.low, -outcome.high),
        high=np.where(is_higher, outcome.high, -outcome.low),
    )
