"""Places the verdict on the rows: the first problem of the audit, and the notice."""

from collections.abc import Sequence

from sqleval.binding.binding import Binding
from sqleval.common.sql_text import select
from sqleval.compiler import problems
from sqleval.compiler.domain import DomainChecks

#: The columns of the audit, and the rest of its SELECT.
Audit = tuple[dict[str, str], str]


def judge_rows(binding: Binding, checks: DomainChecks, audit: Audit, origin: str) -> dict[str, str]:
    """Return ``_audit``, and ``_problems`` if the verdict cannot stand in ``_audit``.

    The verdict is the first ``problem``, and the ``notice``. With `Binding.problems_by`, there is
    one for each value of that key.

    Parameters
    ----------
    binding : Binding
        The bound input.
    checks : DomainChecks
        The reasons to count scores outside 0 .. 1.
    audit : (dict of str to str, str)
        The columns of the counts, and the rest of their SELECT; see `write_audit`.
    origin : str
        ``_source``, or ``_grouped`` with its counts of rows.
    """
    joined = problems.check_labels(binding)
    cases = [*joined, *problems.check_audit(binding), *problems.check_domain(binding, checks)]
    notice = problems.write_notice(binding, origin)
    # Without an aggregate, as in the cases of labels, there would be one row per slice.
    is_audited = len(cases) > len(joined) or notice != problems.NULL_TEXT or checks.is_needed
    return _place_verdict(binding, checks, audit, cases, notice, is_audited=is_audited)


def judge_state(binding: Binding, checks: DomainChecks, audit: Audit) -> dict[str, str]:
    """Return the relations of `judge_rows` for a state."""
    cases = problems.check_state(binding, checks)
    is_audited = bool(cases) or checks.is_needed
    return _place_verdict(binding, checks, audit, cases, problems.NULL_TEXT, is_audited=is_audited)


def is_judged_in_audit(binding: Binding) -> bool:
    """Whether ``_audit`` is one row that has the verdict as columns, and there is no ``_problems``.

    Several engines compute ``_audit`` anew for each relation that reads it.
    """
    return not (binding.keys or binding.labels)


def _place_verdict(
    binding: Binding,
    checks: DomainChecks,
    audit: Audit,
    cases: Sequence[problems.Case],
    notice: str,
    *,
    is_audited: bool,
) -> dict[str, str]:
    problem = problems.NULL_TEXT
    if cases:
        branches = "\n    ".join(f"WHEN {test}\n    THEN {sentence}" for test, sentence in cases)
        problem = f"CASE\n    {branches}\n  END"
    items = {"problem": problem, "notice": notice}
    if checks.is_needed:
        outside = (
            problems.aggregate_counts(binding, "SUM", "score_outside")
            if binding.has_probabilities
            else "1"
        )
        items["scores_outside"] = outside
    if is_judged_in_audit(binding):
        # The steps of a statement show all counts.
        read = {name: f"c.{name}" for name in audit[0]}
        return {"_audit": select(read | items, f"FROM (\n{select(*audit)}\n) AS c")}
    key = binding.problems_by
    verdict = select(items, "FROM _audit" if is_audited else "")
    if key:
        verdict = select({key: key} | items, f"FROM _audit\nGROUP BY {key}")
    return {"_audit": select(*audit), "_problems": verdict}
