"""The table of rules that find the probable role of a column by its name and its values."""

import re
from collections.abc import Callable, Container, Mapping, Sequence
from datetime import date
from functools import cache, lru_cache
from typing import Literal, NamedTuple

from sqleval.catalog.roles import ROLES, VALUES
from sqleval.common.columns import FRACTIONS, NUMBERS, TEXTS, WHOLE, Kind
from sqleval.inspection.columns import Facts

#: A column with more values than this has no useful slices.
MOST_SLICES = 50
#: A longer text is no class.
_LONGEST_CLASS = 60
#: A score of more whole numbers is probably a feature, such as credit_score.
_MOST_GRADES = 20
_CLASSES = TEXTS | frozenset[Kind]({"boolean", "integer"})
_KEYS = WHOLE | frozenset[Kind]({"text", "uuid"})


def is_probable_time(facts: Facts) -> bool:
    """Whether a column holds several dates or times."""
    return facts.low != facts.high and holds_times(facts)


def holds_times(facts: Facts) -> bool:
    """Whether a column holds dates or times; a Hive key is a text."""
    if facts.low is None:
        return False
    if facts.column.kind in VALUES["time"].kinds:
        return True
    if facts.column.kind != "text" or not _TIME.fullmatch(facts.name):
        return False
    try:
        return bool(date.fromisoformat(facts.low) and date.fromisoformat(facts.high))
    except ValueError:
        return False


def _makes_groups(facts: Facts) -> bool:
    """Whether the values are few, and a list of names can hold the column's name."""
    most = 12 if facts.column.kind == "integer" else MOST_SLICES
    if facts.column.kind not in _CLASSES or {",", "="} & {*facts.name}:
        return False
    return facts.name == facts.name.strip() and 2 <= facts.distinct <= min(most, facts.present // 2)


def _is_free_text(facts: Facts) -> bool:
    """Whether a column holds sentences, or texts of which most are in one row only."""
    if facts.column.kind != "text" or facts.low is None:
        return False
    ends = (facts.low, facts.high)
    if max(map(len, ends)) > _LONGEST_CLASS:
        return True
    are_sentences = all(len(each.split()) > 2 for each in ends)
    return 2 * facts.distinct > facts.present and (facts.present >= 20 or are_sentences)


#: Pairs of words for yes and no, in lower case and alphabetical order.
_YES_AND_NO = frozenset({
    ("no", "yes"), ("n", "y"), ("false", "true"), ("f", "t"), ("ja", "nein"), ("j", "n"),
    ("non", "oui"), ("no", "si"), ("no", "sí"), ("no", "sì"), ("ja", "nee"), ("não", "sim"),
})  # fmt: skip
#: The tests of a column's values that rules can use.
TESTS: Mapping[str, Callable[[Facts], bool]] = {
    "two values": lambda f: f.has_two_values,
    "not two values": lambda f: not f.has_two_values,
    "0 and 1": lambda f: f.has_two_values and (f.low, f.high) in ((0, 1), (-1, 1)),
    "numbers": lambda f: f.low is not None and f.column.kind in NUMBERS,
    "fractions": lambda f: f.low is not None and f.column.kind in FRACTIONS,
    "0 .. 1": lambda f: f.is_probability,
    "0 or more": lambda f: f.low >= 0,
    "numbers or classes": lambda f: f.low is not None and f.column.kind in NUMBERS | _CLASSES,
    "texts": lambda f: f.column.kind in TEXTS,
    "lists": lambda f: f.column.kind in VALUES["list"].kinds,
    "dates": holds_times,
    "truth values": lambda f: f.column.kind == "boolean" and f.has_two_values,
    "numbers or truth values": lambda f: f.low is not None
    and (f.column.kind in NUMBERS or f.column.kind == "boolean"),
    "yes and no": lambda f: f.has_two_values
    and f.column.kind == "text"
    and (f.low.strip().lower(), f.high.strip().lower()) in _YES_AND_NO,
    "few whole numbers": lambda f: f.column.kind in WHOLE and 2 < f.distinct <= _MOST_GRADES,
    "free text": _is_free_text,
    "training and test": lambda f: {f.low, f.high} <= {*ROLES["role"].allowed},
    "groups": _makes_groups,
    "times": is_probable_time,
    "one a row": lambda f: f.column.kind in _KEYS and 9 < 9 * f.present <= 10 * f.distinct,
    "repeated": lambda f: f.distinct < f.present,
}  # fmt: skip


def _compile(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern, re.IGNORECASE)


_LABEL = _compile(
    r"y|y_?true|labels?|targets?|truth|ground_?truth|actuals?|outcome|class|gold|relevance"
)
_LIKE_LABEL = _compile(
    r"(label|target|true|actual)_.*|.*_(label|target|truth|actual|outcome|class)|"
    # Spark's StringIndexer
    r"indexed_?label|label_?index(ed)?"
)
#: Outcomes that models often predict; such a name decides between columns of two values.
_OUTCOME = _compile(
    r"(is_|has_)?(churn(ed)?|fraud|default(ed)?|click(ed)?|convert(ed)?|conversion|delayed|spam|"
    r"survived|bought|purchased?|cancell?ed|died|response|responded|won|failed|failure)"
)
_SCORE = _compile(
    r"(p|score|scores|prob|proba|probability|y_score|y_prob|y_proba|logit|margin)(_.*|\d+)?|"
    r".*_(p|score|prob|proba|probability|logit|pd)|pd(_.*)?"
)
#: Names of scores that may be whole numbers; longer names are features, such as credit_score.
_BARE_SCORE = _compile(r"scores?|y_score|margin|logit")
#: Names of scores in few grades.
_GRADE = _compile(
    r"(.*_)?(scores?|ratings?|grades?|points|risk|deciles?)(_?(level|group|score|class))?|"
    r"(decile|risk)_.*"
)
_PREDICTION = _compile(
    r"(y_?)?(pred|predicted|prediction|predictions|hat)(_.*)?|decision|decided|forecast(_.*)?|"
    r".*_(pred|predicted|prediction|hat|forecast)"
)
_PREDICTED = _compile(r"(^|_)(pred|predicted|prediction|hat|forecast)(_|$)")
_WEIGHT = _compile(r"w|weights?|(sample|case|row|inverse_propensity)_weights?|ipw")
_KEY = _compile(r"id|key|uuid|guid|index|row_?(id|nr|number)?|.*_(id|key|uuid)")
_QUERY = _compile(r"qid|query|query_?id")
_ITEM = _compile(r"(item|product|article|doc|document)(_?id)?")
_FOLD = _compile(r"(cv_)?folds?(_id)?")
_SPLIT = _compile(r"split|subset|part|partition|role|(data_?)?set")
_TIME = _compile(r"day|date|ds|dt|ts|time|timestamp|event_.*|.*_(date|day|at|time|ts)")
_ANY = re.compile("(?s:.*)")


class Rule(NamedTuple):
    """A rule that recognises columns of a role; a role's rules are tried in order.

    Attributes
    ----------
    role : str
        The role, as `sqleval.catalog.roles` has it, or a time, key, fold or slice.
    names : pattern, optional
        The names of its columns; None for the columns after which a prediction is named.
    values : tuple of str
        The tests that their values must pass: keys of `TESTS`.
    reason : str
        The reason, with ``{}`` for a description of the values.
    takes : {"first", "all", "alone", "maybe", "none"}
        Whether the role goes to the first of these columns, to all of them, to one only if there is
        just one, to none of them but they are named as alternatives, or to none of them, whatever
        later rules say.
    is_other : bool
        Whether the columns are named as alternatives to a chosen column.
    """

    role: str
    names: re.Pattern[str] | None
    values: tuple[str, ...] = ()
    reason: str = "{}"
    takes: Literal["first", "all", "alone", "maybe", "none"] = "first"
    is_other: bool = True

    def meets(self, facts: Facts, predicted: Container[str]) -> bool:
        """Whether a column meets the rule by its name and values."""
        if self.names is None:
            is_named = facts.name.lower() in predicted
        else:
            is_named = self.names is _ANY or self.names.fullmatch(facts.name)
        return bool(is_named) and all(TESTS[each](facts) for each in self.values)


_LIKE_A_LABEL, THE_ONLY = "{}; named like a label", "{}; the only such"
_MEAN = "a metric with average='macro' is the mean over its values"
RULES = (
    Rule("label", _PREDICTION, takes="none"),
    *(Rule("label", _ANY, (values,), takes="none") for values in ("dates", "lists", "free text")),
    Rule("label", _LABEL, ("two values",), _LIKE_A_LABEL),
    Rule("label", _LABEL, (), _LIKE_A_LABEL),
    Rule("label", None, (), "{}; a prediction has its name"),
    Rule("label", _OUTCOME, ("two values",), "{}; named like an outcome"),
    Rule("label", _LIKE_LABEL, ("two values",), _LIKE_A_LABEL),
    Rule("label", _ANY, ("0 and 1",), THE_ONLY, takes="alone"),
    Rule("label", _ANY, ("yes and no",), THE_ONLY, takes="alone"),
    Rule("label", _LIKE_LABEL, (), _LIKE_A_LABEL),
    Rule("label", _ANY, ("two values",), THE_ONLY, takes="alone", is_other=False),
    # Scores in 0 .. 1 go before others with such names, for example logits of the same model.
    *(Rule("score", names, takes="none") for names in (_WEIGHT, _QUERY)),
    Rule("score", _SCORE, ("0 .. 1",), takes="all", is_other=False),
    Rule("score", _SCORE, ("fractions", "not two values"), is_other=False),
    Rule("score", _BARE_SCORE, ("numbers", "not two values"), is_other=False),
    Rule("score", _PREDICTION, ("0 .. 1",), takes="all", is_other=False),
    Rule("score", _GRADE, ("few whole numbers",), "{}; whole numbers, named like a score"),
    Rule("score", _ANY, ("0 .. 1",)),
    Rule("score", _SCORE, ("numbers", "not two values"), takes="maybe"),
    Rule("text of a score", _SCORE, ("texts",)),
    Rule("prediction", _PREDICTION, ("free text",), takes="none"),
    Rule("prediction", _PREDICTION, ("numbers or classes",), takes="all"),
    Rule("weight", _WEIGHT, ("numbers", "0 or more")),
    Rule("key", _KEY, ("one a row",)),
    Rule("time", _TIME, ("times",)),
    Rule("time", _ANY, ("times",)),
    Rule("query", _QUERY, ("repeated",), "by its name; metrics of ranked rows are per query",
        is_other=False),
    Rule("item", _ITEM, ("repeated",), "by its name; recommended items are counted over all lists",
        is_other=False),
    Rule("role", _SPLIT, ("groups", "training and test"), "rows of training and of test",
        is_other=False),
    Rule("fold", _FOLD, ("groups",), _MEAN, is_other=False),
    *(Rule("slices", names, takes="none") for names in (_PREDICTION, _KEY, _FOLD)),
    Rule("slices", _SPLIT, ("training and test",), takes="none"),
    Rule("slices", _ANY, ("times",), takes="none"),
    Rule("slices", _ANY, ("groups", "texts", "not two values")),
    Rule("slices", _ANY, ("groups", "texts")),
    Rule("slices", _ANY, ("groups", "not two values")),
    Rule("slices", _ANY, ("groups",)),
)  # fmt: skip


class Candidates(NamedTuple):
    """The columns that probably have a role, those that might have it, and the reason."""

    columns: Sequence[Facts] = ()
    others: Sequence[Facts] = ()
    reason: str = "{}"


@cache
def _compile_all() -> re.Pattern[str]:
    """Return the pattern of the names that any rule asks for."""
    patterns = {rule.names.pattern for rule in RULES if rule.names not in (None, _ANY)}
    return _compile("|".join(sorted(patterns)))


@lru_cache(maxsize=16_384)
def _is_named(name: str) -> bool:
    """Whether any rule asks for this name; most columns of a wide table have none of them."""
    return _compile_all().fullmatch(name) is not None


def find(role: str, facts: Sequence[Facts]) -> Candidates:
    """Return the columns of a role, chosen by the first rule that some column meets."""
    predicted = {_PREDICTED.sub("", f.name.lower()) for f in facts if _PREDICTION.fullmatch(f.name)}
    left, chosen, others = list(facts), Candidates(), dict[str, Facts]()
    named = {f.name for f in facts if _is_named(f.name)}
    for rule in (each for each in RULES if each.role == role):
        among = left if rule.names in (None, _ANY) else [f for f in left if f.name in named]
        meet = [f for f in among if rule.meets(f, predicted)]
        if rule.takes == "none":
            names = {f.name for f in meet}
            left = [f for f in left if f.name not in names]
            continue
        is_clear = rule.takes != "maybe" and (rule.takes != "alone" or len(meet) == 1)
        if meet and not chosen.columns and is_clear:
            chosen = Candidates(meet if rule.takes == "all" else meet[:1], reason=rule.reason)
        if rule.is_other or not chosen.columns:
            others.update((f.name, f) for f in meet)
    names = {f.name for f in chosen.columns}
    return chosen._replace(others=[f for name, f in others.items() if name not in names])


def is_named_score(facts: Facts) -> bool:
    """Whether a column has the name of a score or of a prediction."""
    return bool(_SCORE.fullmatch(facts.name)) or is_named_prediction(facts)


def is_named_prediction(facts: Facts) -> bool:
    """Whether a column has the name of a prediction."""
    return bool(_PREDICTION.fullmatch(facts.name))


def is_named_label(facts: Facts) -> bool:
    """Whether a column has the name of a label."""
    return bool(_LABEL.fullmatch(facts.name) or _LIKE_LABEL.fullmatch(facts.name))


def is_key(facts: Facts) -> bool:
    """Whether a column has the name of a key."""
    return bool(_KEY.fullmatch(facts.name))
