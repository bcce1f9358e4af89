"""Checks the gates of a job file against its other keys."""

from collections.abc import Sequence

from sqleval.jobs.file.parts import Gate


def check_gates(
    gates: Sequence[Gate],
    key_sets: Sequence[Sequence[str]],
    *,
    has_baseline: bool,
    has_ci: bool,
    has_states: bool,
    is_expected: bool,
) -> None:
    """Raise `ValueError` if a gate needs what the job does not have, or two have one name."""
    for gate in gates:
        if gate.parsed.reference == "baseline" and not has_baseline:
            raise ValueError(
                f"{gate.check!r} needs a baseline, such as "
                "baseline: {from: 2013-07-01, to: 2013-07-31}"
            )
        if gate.parsed.is_worse and not has_ci:
            raise ValueError(f"{gate.check!r} needs the standard errors of ci: 0.95")
        if gate.parsed.is_drift and not has_states:
            raise ValueError(f"{gate.check!r} compares states; write states: states")
        if gate.parsed.is_expected and not is_expected:
            raise ValueError(f"{gate.check!r} is on an expected metric; write expected: true")
        if gate.on != "value" and not has_ci:
            raise ValueError(f"{gate.check!r} is on {gate.on}, which needs ci: 0.95")
        if gate.by is not None and sorted(gate.by) not in map(sorted, key_sets):
            raise ValueError(f"{gate.check!r} is by {gate.by}, and the job's slices are {key_sets}")
    names = [gate.name for gate in gates if gate.name is not None]
    for name in names:
        if names.count(name) > 1:
            raise ValueError(f"two gates have the name {name!r}; choose another for one")
