"""Says why a statement counts scores outside 0 .. 1."""

from dataclasses import dataclass, field


@dataclass
class DomainChecks:
    """The reasons to count scores outside 0 .. 1 in the audit.

    Attributes
    ----------
    of_probabilities : list of str
        Metrics asked for by name that are defined for scores in 0 .. 1 only.
    at_default_threshold : list of str
        Metrics asked for by name that use the default threshold 0.5.
    has_guards : bool
        Whether a metric of the default set is left out if scores are outside.
    has_remarks : bool
        Whether a metric's note depends on it.
    """

    of_probabilities: list[str] = field(default_factory=list[str])
    at_default_threshold: list[str] = field(default_factory=list[str])
    has_guards: bool = False
    has_remarks: bool = False

    @property
    def is_needed(self) -> bool:
        """Whether scores outside 0 .. 1 change the result or are an error."""
        names = self.of_probabilities or self.at_default_threshold
        return bool(names or self.has_guards or self.has_remarks)
