"""Lists the conditions of twins (`catalog.header.CONDITIONS`) that hold in a statement."""

from collections.abc import Iterable

from sqleval.binding.binding import Binding
from sqleval.compiler.bins import Bins
from sqleval.compiler.buckets import Buckets
from sqleval.compiler.scope import Plan, Scope
from sqleval.compiler.singles import has_singles
from sqleval.compiler.thresholds import THRESHOLD


class Conditions:
    """The conditions of one statement.

    Parameters
    ----------
    binding : Binding
        Roles, slice keys and options.
    plan : Plan
        The units.
    dialect : str
        The engine's SQL.
    buckets : Buckets or None
        The ranges of the score within which windows run.
    few_rows : bool
        Whether the plan is ``few``.
    portable : bool
        Whether to take portable files instead of twins for rows.
    ci : bool
        Whether intervals are asked for.
    """

    def __init__(
        self,
        binding: Binding,
        plan: Plan,
        dialect: str,
        buckets: Buckets | None,
        *,
        few_rows: bool,
        portable: bool,
        ci: bool,
    ) -> None:
        self._binding = binding
        self._plan: Plan = plan
        self._dialect = dialect
        self._buckets = buckets
        self._has_few_rows = few_rows
        self._portable = portable
        self._has_intervals = portable or ci
        #: The thresholds that share one pass over the rows; none unless there are several.
        self.thresholds: tuple[float, ...] = ()
        self._listed: dict[object, frozenset[str]] = {}

    def share_thresholds(self, thresholds: Iterable[object]) -> None:
        """Let the decisions at several thresholds read the rows once."""
        # Mixed FLOAT and DOUBLE scores are compared with two numbers each; bins have a key for
        # each threshold.
        if isinstance(self._plan, Bins) or self._binding.many or has_singles(self._binding):
            return
        numbers = {each for each in thresholds if isinstance(each, (int, float))}
        self.thresholds = tuple(sorted(numbers)) if len(numbers) > 1 else ()
        self._listed.clear()

    def list_for(self, scope: Scope) -> frozenset[str]:
        """Return the conditions that hold in a scope."""
        supplied = frozenset(each.supply.twin for each in scope.substitutions) - {""}
        # A metric's own threshold replaces that of each model.
        cut = "prediction" not in self._binding.role
        cut |= bool(self._binding.thresholds) and THRESHOLD in scope.values
        key = (supplied, scope.runs, cut)
        if key not in self._listed:
            self._listed[key] = self._find(*key)
        return self._listed[key]

    def _find(self, supplied: frozenset[str], runs: bool, cut: bool) -> frozenset[str]:
        buckets, binding = self._buckets, self._binding
        has_rows, several = self._plan == "rows", binding.has_several_classes
        is_cut = binding.has_two_classes and cut
        holds = {
            "unweighted": has_rows and not (binding.has_fractions or binding.has_counts),
            "few_rows": self._has_few_rows and not self._has_intervals,
            "sorted": binding.is_sorted and not self._has_intervals,
            "bucketed": buckets is not None,
            "intervals": self._has_intervals,
            "binned": isinstance(self._plan, Bins),
            "multiclass": several and not supplied,
            "unscored": several and not binding.classes,
            "many_labels": binding.many is not None,
            "thresholded": is_cut,
            "several_thresholds": is_cut and bool(self.thresholds),
        }
        conditions = {self._dialect, *supplied, *(name for name in holds if holds[name])}
        # Twins that compute standard errors from rows exist only for these two conditions.
        takes_rows = not self._has_intervals or {"duckdb", "unweighted"} <= conditions
        takes_rows = has_rows and takes_rows and not self._portable
        if takes_rows and not (buckets and buckets.has_ties):
            conditions |= {"rows", "runs"} if runs else {"rows"}
        return frozenset(conditions)
