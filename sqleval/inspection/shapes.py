"""The table of shapes whose columns are recognised by their names and values."""

from collections.abc import Callable, Sequence
from itertools import pairwise

from sqleval.binding.reading import MOST_CLASSES
from sqleval.common.sql_text import write_name
from sqleval.inspection.columns import Facts, read_rows
from sqleval.inspection.data import Inspection
from sqleval.inspection.judged import find_judged
from sqleval.inspection.long_tables import find_long
from sqleval.inspection.nested import find_label_scores, find_lists, find_nested_rows
from sqleval.inspection.number_texts import find_number_texts, find_other_number_texts
from sqleval.inspection.pairs import find_pairs
from sqleval.inspection.rules import TESTS
from sqleval.inspection.shape import (
    Look,
    Shape,
    compile_names,
    is_text,
    pick,
    pick_all,
    write_is_one,
    write_value,
)

_TIME = compile_names(
    r"(survival_?|follow_?up_?)?(time|duration|days|weeks|months|years)(_to_event)?|"
    r"follow_?up|tenure|.*_(time|days|weeks|months|years)|t"
)
_EVENT = compile_names(r"event(_?observed)?|status|cens(or(ed)?)?|is_event|died|death|dead|e")
_RISK = compile_names(r"risk(_.*)?|.*_risk|(partial_)?hazard(_.*)?|linear_predictor|lp")
_TREATMENT = compile_names(r"treat(ment|ed)?|is_treat(ment|ed)|treatment_.*|exposure|exposed")
_EFFECT = compile_names(r"(.*_)?(uplift|cate|ite|tau|tau_hat|effect)(_.*)?")
_OUTCOME = compile_names(
    r"y|outcome|visit(ed)?|conversion|converted|response|responded|spend|purchased?|label|target"
)
_SCORE = compile_names(r"(.*_)?scores?")
_READER = compile_names(r"(.*_)?(reader|rater|radiologist|observer)(_?id)?")
_CASE = compile_names(r"(case|patient|image|scan|subject|item)(_?(id|nr|number))?")
_METHOD = compile_names(r"treatment|modality|method|condition|technique|test|system")
_TRUTH = compile_names(r"(.*_)?(truth|label|gold|y_?true|y|disease|diagnosis)")
_RATING = compile_names(r"(.*_)?(rating|score|confidence|grade|likelihood)")
_LEVEL = compile_names(r"quantile(_?level)?s?|output_type_id|level|alpha|tau|q")
_VALUE = compile_names(r"values?|predictions?|pred|forecast|y_?hat|y_?pred")
_OBSERVED = compile_names(r"observations?|observed|actuals?|y|y_?true|truth|target|true_value")
_QUANTILE = compile_names(r"(?:.*_)?(?:q|quantile|p|pct|percentile)_?(0?\.\d+|\d\d?)")
_WINNER = compile_names(r"(.*_)?(winner|preference|preferred|better|verdict|chosen)(_.*)?")
_SIDES = (("a", "b"), ("1", "2"), ("left", "right"), ("x", "y"))
#: Values that mean the first of two competitors.
_FIRST = ("model_a", "a", "left", "first", "1")
_RUN = {"qid", "doc", "rank", "score"}


def _find_run(data: Inspection, facts: Sequence[Facts]) -> Shape | None:
    if not {f.name for f in facts} >= _RUN or any(_TRUTH.fullmatch(f.name) for f in facts):
        return None
    if any(f.name in ("relevance", "rel") for f in facts):
        return None
    advice = (
        "evaluate THIS --label relevance --score score --qid qid --labels qrels+QRELS --on qid,doc "
        "joins the judgements"
    )
    reason = "retrieved documents of queries; the judgements are in another file (qrels)"
    return Shape("TREC run", ("qid", "doc", "score"), reason, advice)


def _find_survival(data: Inspection, facts: Sequence[Facts]) -> Shape | None:
    time = pick(facts, _TIME, "numbers", "not two values", "0 or more")
    event = pick(facts, _EVENT, "two values", "numbers or truth values")
    if time is None or event is None:
        return None
    left = [f for f in facts if f not in (time, event)]
    risk = pick(left, _RISK, "numbers", "not two values") or pick(left, _SCORE, "numbers")
    if risk is None:
        return None
    horizon = _find_median(data, time)
    at, name = write_value(horizon), write_name(time.name)
    is_censored = "cens" in event.name.lower()
    one = write_is_one(event)
    happened = f"NOT ({one})" if is_censored else one
    options = {
        "label": f"{happened} AND {name} <= {at}",
        "score": risk.name,
        "where": f"({happened}) OR {name} > {at}",
        "metric": "roc_auc",
    }
    what = f"events up to {time.name} {at}, the median; rows censored before are left out"
    reason = "a time, whether the event came, and a risk"
    advice = "the C index is still to come; now: AUC of the risk for events up to a time"
    names = (time.name, event.name, risk.name)
    return Shape("survival", names, reason, advice, [Look(what, options)])


def _find_median(data: Inspection, facts: Facts) -> object:
    ((median,),) = read_rows(data.source, f"QUANTILE_DISC({facts.value}, 0.5)", [facts.name])
    return float(median) if isinstance(median, float) else int(median)


def _find_uplift(data: Inspection, facts: Sequence[Facts]) -> Shape | None:
    treatment = pick(facts, _TREATMENT, "two values")
    if treatment is None:
        return None
    left = [f for f in facts if f is not treatment]
    effect = pick(left, _EFFECT, "numbers", "not two values")
    # A score outside of 0 .. 1 is no probability, so it is probably a difference.
    score = effect or pick(left, _SCORE, "fractions", "not two values")
    outcome = pick([f for f in left if f is not score], _OUTCOME, "numbers or truth values")
    if score is None or outcome is None or outcome is score:
        return None
    names = (treatment.name, outcome.name, score.name)
    looks = [Look(f"the mean of {outcome.name} by treatment", {
        "value": outcome.name, "metric": "mean", "by": treatment.name, "ci": 0.95,
    })]  # fmt: skip
    advice = f"Qini is still to come; now: the mean of {outcome.name} by {treatment.name}"
    if effect is None and score.low >= 0:
        return Shape(
            "uplift?", names, f"{treatment.name} may be a treatment, and {score.name} its effect",
            advice, looks, is_open=True,
        )  # fmt: skip
    return Shape("uplift", names, "a treatment, an outcome, and the effect", advice, looks)


def _find_readers(data: Inspection, facts: Sequence[Facts]) -> Shape | None:
    reader, case = pick(facts, _READER, "repeated"), pick(facts, _CASE, "repeated")
    if reader is None or case is None:
        return None
    left = [f for f in facts if f not in (reader, case)]
    truth = pick(left, _TRUTH, "two values")
    rating = pick([f for f in left if f is not truth], _RATING, "numbers", "not two values")
    if truth is None or rating is None:
        return None
    options = {
        "label": truth.name, "score": rating.name, "metric": "roc_auc_macro", "over": reader.name,
    }  # fmt: skip
    if truth.high not in (1, True):
        options["positive"] = str(truth.high)
    by = [f.name for f in pick_all(left, _METHOD, "groups") if f not in (truth, rating)][:1]
    what = f"the mean AUC over {reader.name}"
    looks = [Look(f"{what}, by {each}", {**options, "by": each}) for each in by]
    looks.append(Look(what, options))
    names = (reader.name, case.name, truth.name, rating.name, *by)
    reason = "several readers rate each case"
    advice = "a test for readers and cases as random is still to come"
    return Shape("multi-reader", names, reason, advice, looks)


def _find_quantile_rows(data: Inspection, facts: Sequence[Facts]) -> Shape | None:
    level = next((f for f in pick_all(facts, _LEVEL, "repeated") if _holds_levels(data, f)), None)
    value = pick(facts, _VALUE, "numbers", "not two values")
    if level is None or value is None or level is value:
        return None
    observed = pick([f for f in facts if f is not value], _OBSERVED, "numbers", "not two values")
    names = (level.name, value.name)
    reason = f"a row per quantile level, {level.low} to {level.high}"
    advice = "coverage and the interval score are still to come"
    if observed is None:
        advice += (
            f'; now: the median against a file of truths: --where "{write_name(level.name)} = 0.5" '
            "--labels TRUTH --on KEYS"
        )
        return Shape("quantile forecasts", names, reason, advice)
    number = write_name(level.name)
    if is_text(level):
        number = f"TRY_CAST({number} AS DOUBLE)"
    below = f"{write_name(observed.name)} <= {write_name(value.name)}"
    looks = [
        Look("the share of truths up to each quantile", {
            "value": below, "metric": "mean", "by": level.name, "ci": 0.95,
        }),
        Look("the median as a forecast", {
            "label": observed.name, "prediction": value.name, "where": f"{number} = 0.5",
            "task": "regression",
        }),
    ]  # fmt: skip
    return Shape("quantile forecasts", (*names, observed.name), reason, advice, looks)


def _holds_levels(data: Inspection, facts: Facts) -> bool:
    """Whether a column holds a few levels between 0 and 1; other texts may be among them."""
    if not (3 <= facts.distinct <= MOST_CLASSES and facts.low is not None):
        return False
    if not is_text(facts):
        return TESTS["fractions"](facts) and facts.low > 0 and facts.high < 1
    number = f"TRY_CAST({facts.value} AS DOUBLE)"
    select = f"COUNT(DISTINCT {number}), MIN({number}), MAX({number})"
    ((count, low, high),) = read_rows(data.source, select, [facts.name])
    return count >= 3 and low > 0 and high < 1


def _find_quantile_columns(data: Inspection, facts: Sequence[Facts]) -> Shape | None:
    levels: dict[float, Facts] = {}
    for f in facts:
        if (match := _QUANTILE.fullmatch(f.name)) and TESTS["numbers"](f):
            text = match[1]
            levels[float(text) if "." in text else int(text) / 100] = f
    columns = [levels[level] for level in sorted(levels)]
    left = [f for f in facts if f not in columns]
    observed = pick(left, _OBSERVED, "numbers", "not two values")
    if len(columns) < 3 or min(levels) <= 0 or observed is None:
        return None
    if all(f.is_probability for f in columns) or not _ascend(data, columns):
        return None
    (low, first), *_, (high, last) = sorted(levels.items())
    name, lower, upper = (write_name(f.name) for f in (observed, first, last))
    inside = f"{name} BETWEEN {lower} AND {upper}"
    what = f"coverage of {first.name} to {last.name}, which should be {high - low:.4g}"
    looks = [Look(what, {"value": inside, "metric": "mean", "ci": 0.95})]
    if 0.5 in levels:
        options = {"label": observed.name, "prediction": levels[0.5].name, "task": "regression"}
        looks.append(Look("the median as a forecast", options))
    names = (*(f.name for f in columns), observed.name)
    advice = "the interval score and pinball loss are still to come"
    return Shape("quantile forecasts", names, "a column per quantile level", advice, looks)


def _ascend(data: Inspection, columns: Sequence[Facts]) -> bool:
    """Whether values do not fall from column to column in nearly all rows."""
    pairs = pairwise(columns)
    falls = " OR ".join(f"{a.value} > {b.value}" for a, b in pairs)
    select = f"COUNT(CASE WHEN {falls} THEN 1 END)"
    ((wrong,),) = read_rows(data.source, select, [f.name for f in columns])
    return wrong <= 0.01 * data.rows


def _find_battles(data: Inspection, facts: Sequence[Facts]) -> Shape | None:
    winner = pick(facts, _WINNER, "groups")
    by_name = {f.name: f for f in facts if is_text(f) and f.distinct >= 2}
    pairs = [
        (first, by_name[first.name[: len(first.name) - len(a)] + b])
        for first in by_name.values()
        for a, b in _SIDES
        if first.name.endswith(a) and first.name[: len(first.name) - len(a)] + b in by_name
    ]
    if winner is None or not pairs or winner in pairs[0]:
        return None
    first, second = pairs[0]
    rows = read_rows(data.source, winner.value, [winner.name], " GROUP BY 1 ORDER BY 1 LIMIT 20")
    values = [value for (value,) in rows if value is not None]
    words = {str(value).lower(): value for value in values}
    side = first.name[len(_shared_start(first.name, second.name)) :].lower()
    names_of_first = (first.name.lower(), side, f"model_{side}", *_FIRST)
    won = next((words[name] for name in names_of_first if name in words), None)
    names = (first.name, second.name, winner.name)
    expression = f"{write_name(winner.name)} = {write_value(won)}"
    if won is None:
        select = f"MIN({first.value}), MAX({first.value})"
        if not set(map(str, read_rows(data.source, select, [first.name])[0])) & {*map(str, values)}:
            advice = f"--value \"{write_name(winner.name)} = '...'\" --by {first.name}"
            return Shape("battles", names, f"it is not clear who won: {winner.name}", advice)
        expression = f"{write_name(winner.name)} = {write_name(first.name)}"
    options = {"value": expression, "metric": "mean", "ci": 0.95}
    looks = [
        Look(f"how often {first.name} won", options),
        Look(f"the win rate by {first.name}", {**options, "by": first.name}),
    ]
    advice = "ratings are still to come; now: win rates, in which a tie is no win"
    return Shape("battles", names, "two competitors and the winner", advice, looks)


def _shared_start(first: str, second: str) -> str:
    length = next((i for i, (a, b) in enumerate(zip(first, second, strict=False)) if a != b), 0)
    return first[:length]


#: The shapes in the order in which they are tried.
SHAPES: Sequence[Callable[[Inspection, Sequence[Facts]], Shape | None]] = (
    find_nested_rows,
    find_number_texts,
    _find_run,
    _find_readers,
    _find_survival,
    _find_uplift,
    _find_battles,
    _find_quantile_rows,
    _find_quantile_columns,
    find_lists,
    find_label_scores,
    find_long,
    find_pairs,
    find_judged,
    find_other_number_texts,
)


def find_shape(data: Inspection, facts: Sequence[Facts]) -> Shape | None:
    """Return the first shape that the columns have."""
    return next((shape for find in SHAPES if (shape := find(data, facts)) is not None), None)
