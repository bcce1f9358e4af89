"""Names the tests of a difference, and chooses the best one that fits a metric and an input."""

from __future__ import annotations

from collections.abc import Iterator

from sqleval.binding.binding import Binding
from sqleval.catalog.request import Request, format_request
from sqleval.common.names import find_nearest
from sqleval.comparison.pairs import find_loss_step
from sqleval.compiler.substitution import averages_folds
from sqleval.errors import RequestError
from sqleval.resampling.cells import Input

#: The tests, and the text of each in the column ``method``.
TESTS = {
    "delong": "DeLong, paired",
    "mcnemar": "McNemar, corrected for continuity",
    "mcnemar_exact": "McNemar, exact",
    "paired_t": "paired t-test of row losses",
    "delong_joint": "DeLong, all areas at once",
    "cochran_q": "Cochran's Q",
    "wilcoxon": "Wilcoxon signed-rank test of row losses",
    "bootstrap": "paired bootstrap",
    "jackknife": "paired jackknife of clusters",
    "corrected_t": "corrected resampled t-test over folds",
    "friedman": "Friedman test over data sets",
    "nemenyi": "Nemenyi test over data sets",
    "newcombe": "score test of two rates, Newcombe's interval",
    "welch_t": "Welch's t-test of row losses",
}
#: The tests of models with different rows, and the text of each in ``method``.
UNPAIRED = {
    "delong": "DeLong, different rows", "newcombe": TESTS["newcombe"], "welch_t": TESTS["welch_t"],
}  # fmt: skip
#: Tests over folds or data sets (``over=``); they take any metric.
OVER = ("corrected_t", "friedman", "nemenyi")
#: Tests of all models at once, which ask whether any of them differ.
OMNIBUS = ("delong_joint", "cochran_q", "friedman")
#: Tests that cannot show that a difference is within a margin.
WITHOUT_MARGIN = ("wilcoxon", "delong_joint", "cochran_q", *OVER)
#: Tests that ask whether models differ, and not which one is better.
TWO_SIDED = (*OMNIBUS, "nemenyi")
#: Tests of ranks over folds.
RANKS = ("friedman", "nemenyi")
#: Note where a class has fewer rows than `MIN_PAIRS`, as in the SQL of DeLong's paired test.
FEW_ROWS_OF_A_CLASS = "few rows of a class: the test may find a difference too often"
#: The tests in closed form that take sampling weights.
WEIGHTED = {
    "delong", "delong_joint", "mcnemar", "paired_t", "newcombe", "welch_t",
}  # fmt: skip
#: Added to ``method`` if rows have weights.
LINEARISED = ", linearised"


def name_test(
    test: str, *, paired: bool = True, weighted: bool = False, request: Request | None = None
) -> str:
    """Return the text of a test in the column ``method``.

    Parameters
    ----------
    test : str
        One of `TESTS`.
    paired : bool
        Whether the models have the same rows.
    weighted : bool
        Whether the rows have sampling weights.
    request : Request, optional
        The metric; queries of a ranking are compared instead of rows, and values of rows without
        labels instead of losses.

    Examples
    --------
    >>> name_test("paired_t", weighted=True)
    'paired t-test of row losses, linearised'
    """
    name = TESTS[test] if paired else UNPAIRED.get(test, TESTS[test])
    if request is not None and request.relation.has_queries:
        name = name.replace("of row losses", "over queries")
    elif request is not None and not request.relation.has_labels:
        name = name.replace("of row losses", "of rows")
    if not weighted or test not in WEIGHTED:
        return name
    return ("McNemar" if test == "mcnemar" else name) + LINEARISED


def find_allowed(request: Request, data: Input, *, paired: bool = True) -> list[str]:
    """Return the tests that can compare two models by a metric, the best one first."""
    binding = data.binding
    allowed: list[str] = []
    # Tests in closed form pool all rows; they do not test a mean over folds.
    takes_rows_once = not (binding.has_counts or data.cluster or binding.state is not None)
    if takes_rows_once and not averages_folds(request, binding):
        allowed = [*(_list_paired if paired else _list_unpaired)(request, binding)]
    if binding.is_weighted:
        allowed = [test for test in allowed if test in WEIGHTED]
    # Without one cluster, a quantile is one of few neighbouring values: no measure of its error.
    is_smooth = request.relation.interval not in ("order statistics", "none")
    allowed += ["jackknife"] if data.cluster is not None and is_smooth else []
    allowed.append("bootstrap")
    # Tests over folds compare the folds' values, not a reduction of them.
    takes_folds = paired and request.reduce in (None, "mean")
    return [*allowed, *OVER] if binding.over and takes_folds else allowed


def _is_area(request: Request, binding: Binding) -> bool:
    return request.header.get("test") == "delong" and binding.has_two_classes


def _is_mean(request: Request, binding: Binding) -> bool:
    """Whether a metric is a mean of losses of rows, or of values of queries."""
    has_losses = binding.has_two_classes or binding.has_values
    return binding.has_queries or (has_losses and find_loss_step(request) is not None)


def _list_paired(request: Request, binding: Binding) -> Iterator[str]:
    """Yield the tests in closed form of models with the same rows."""
    if _is_area(request, binding):
        yield from ("delong", "delong_joint")
    if request.header.get("test") == "mcnemar":
        yield from ("mcnemar", "mcnemar_exact", "cochran_q")
    elif _is_mean(request, binding):
        yield from ("paired_t", "wilcoxon")


def _list_unpaired(request: Request, binding: Binding) -> Iterator[str]:
    """Yield the tests in closed form of models with different rows."""
    if _is_area(request, binding):
        yield "delong"
    if request.relation.interval == "wilson" and request.average is None:
        yield "newcombe"
    elif _is_mean(request, binding):
        yield "welch_t"


def choose_test(request: Request, data: Input, test: str | None, *, paired: bool) -> str:
    """Return the test that compares models by a metric.

    Raises
    ------
    RequestError
        If there is no such test, or it does not fit the metric or the input.
    """
    if test is not None and test not in list(TESTS):
        raise RequestError(f"test={test!r}{find_nearest(test, TESTS)}; one of: {', '.join(TESTS)}")
    if test == "jackknife" and data.cluster is None:
        raise RequestError("test='jackknife' needs cluster=, the column of what it leaves out")
    allowed = find_allowed(request, data, paired=paired)
    if not paired:
        if test not in (None, *allowed):
            raise RequestError(
                f"test={test!r} does not fit {format_request(request)} of different rows; with "
                f"paired=False: {', '.join(allowed)}"
            )
        return test or allowed[0]
    chosen = test or allowed[0]
    if chosen in allowed:
        if chosen in OVER:
            _refuse_slices_by_fold(chosen, data)
        if chosen == "corrected_t":
            _refuse_weighted_folds(request, data)
        return chosen
    name = format_request(request)
    if test in OVER and not data.binding.over:
        raise RequestError(f"test={test!r} needs over=, the column of the folds or data sets")
    why = ""
    if data.binding.has_counts or data.cluster:
        why = "; no other takes counts or clusters"
    elif data.binding.is_weighted:
        why = "; tests of ranks and counts take no weights"
    if request.reduce is not None:
        why = "; tests over folds compare values of folds, and reduce= makes one value of them"
    elif averages_folds(request, data.binding):
        why = "; any other compares values that are pooled over the folds"
    raise RequestError(f"test={test!r} does not fit {name}; allowed: {', '.join(allowed)}{why}")


def _refuse_weighted_folds(request: Request, data: Input) -> None:
    """Raise `RequestError` if the rows of folds are the only weights of a weighted average.

    With several classes it weighs the classes, and a note says how folds count.
    """
    if request.average == "weighted" and not data.binding.has_several_classes:
        raise RequestError(
            f"{format_request(request)}: test='corrected_t' compares the mean over folds, in which "
            "all folds count alike; name average='macro', or test='bootstrap'"
        )


def _refuse_slices_by_fold(test: str, data: Input) -> None:
    """Raise `RequestError` if a column of folds is a slice key, too."""
    over = {column.name for column in data.binding.over}
    if both := [column.name for column in data.binding.by if column.name in over]:
        raise RequestError(
            f"by={both[0]!r} is a column of over=, too: a slice would have one fold, and "
            f"test={test!r} needs several in each; leave it out of one of them"
        )
