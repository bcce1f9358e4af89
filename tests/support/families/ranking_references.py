"""References of ranking metrics: trec_eval's values, as means over all orders of tied items.

trec_eval (by pytrec_eval) and ranx put tied items in an order of their own. McSherry and Najork
(2008) take the mean over all orders, which these functions do by listing them.
"""

from collections import Counter
from collections.abc import Callable, Iterator
from functools import cache
from itertools import product
from typing import NamedTuple

import numpy as np
import pytrec_eval
from sklearn.metrics import dcg_score, roc_auc_score

from tests.support.case import Reference, Rows

#: The cutoffs of the cases.
CUTOFFS = (1, 3, 10)


class Order(NamedTuple):
    """One order of a list: the labels of the retrieved items, then those of all others.

    An item that was not judged has the label None.
    """

    retrieved: tuple[float | None, ...]
    lost: tuple[float | None, ...] = ()

    @property
    def relevant(self) -> tuple[int, ...]:
        """Whether each retrieved item is relevant."""
        return tuple(int(label is not None and label > 0) for label in self.retrieved)

    @property
    def n_relevant(self) -> int:
        """The number of relevant items."""
        return sum(label is not None and label > 0 for label in (*self.retrieved, *self.lost))


def permute(labels: tuple[float | None, ...]) -> Iterator[tuple[float | None, ...]]:
    """Yield the distinct orders of labels, all of which are equally probable."""
    counts = Counter(labels)
    if not labels:
        yield ()
    for first in counts:
        rest = list((counts - Counter([first])).elements())
        yield from ((first, *others) for others in permute(tuple(rest)))


@cache
def permute_all(labels: tuple[float | None, ...]) -> list[tuple[float | None, ...]]:
    return list(permute(labels))


def list_orders(label: list[float | None], score: list[float | None]) -> list[Order]:
    """Return the equally probable orders of a list; a score of None was not retrieved."""
    ties: dict[float, list[float | None]] = {}
    for one, place in zip(label, score, strict=True):
        if place is not None:
            ties.setdefault(place, []).append(one)
    key = {None: -1.0}
    groups = [
        permute_all(tuple(sorted(ties[place], key=lambda one: key.get(one, one))))
        for place in sorted(ties, reverse=True)
    ]
    lost = tuple(one for one, place in zip(label, score, strict=True) if place is None)
    return [
        Order(tuple(one for group in groups for one in group), lost) for groups in product(*groups)
    ]


_JUDGED: dict[Order, dict[str, float]] = {}


def judge(orders: list[Order]) -> list[dict[str, float]]:
    """Return trec_eval's measures of lists without ties."""
    missing = [order for order in dict.fromkeys(orders) if order not in _JUDGED]
    qrels: dict[str, dict[str, int]] = {}
    run: dict[str, dict[str, float]] = {}
    for i, order in enumerate(missing):
        labels = {f"d{j}": one for j, one in enumerate((*order.retrieved, *order.lost))}
        qrels[str(i)] = {name: int(one > 0) for name, one in labels.items() if one is not None}
        run[str(i)] = {f"d{j}": -float(j) for j in range(len(order.retrieved))}
    at = ",".join(map(str, CUTOFFS))
    names = {f"{name}.{at}" for name in ("P", "recall", "map_cut", "success")}
    names |= {"map", "recip_rank", "Rprec", "bpref", "set_P", "set_recall"}
    if missing:
        found = pytrec_eval.RelevanceEvaluator(qrels, names).evaluate(run)
        _JUDGED.update((order, found[str(i)]) for i, order in enumerate(missing))
    return [_JUDGED[order] for order in orders]


#: A measure of one order, from the order and what trec_eval says of it.
Measure = Callable[[Order, dict[str, float]], float]


def from_trec(name: str) -> Measure:
    """Return a measure of trec_eval."""
    return lambda order, found: found[name]


def f1(k: int | None = None) -> Measure:
    """Return the harmonic mean of trec_eval's precision and recall."""
    names = ("set_P", "set_recall") if k is None else (f"P_{k}", f"recall_{k}")

    def measure(order: Order, found: dict[str, float]) -> float:
        precision, recall = (found[name] for name in names)
        return 2 * precision * recall / (precision + recall) if precision + recall else 0.0

    return measure


def rbp(p: float) -> Measure:
    """Moffat and Zobel (2008), section 3."""
    return lambda order, found: (
        (1 - p) * sum(p**i for i, relevant in enumerate(order.relevant) if relevant)
    )


def map_of_k(k: int) -> Measure:
    """Spark's divisor, the smaller one of k and the number of relevant items."""
    return lambda order, found: found[f"map_cut_{k}"] * order.n_relevant / min(k, order.n_relevant)


def first_at(k: int) -> Measure:
    """Return trec_eval's reciprocal rank, 0 after the first k places."""
    return lambda order, found: found["recip_rank"] if found["recip_rank"] >= 1 / k else 0.0


def expect(measure: Measure, label: list[float | None], score: list[float | None]) -> float | None:
    """Return the mean of a measure over all orders of a list; None without relevant items."""
    if not any(one is not None and one > 0 for one in label):
        return None
    orders = list_orders(label, score)
    return float(np.mean([*map(measure, orders, judge(orders))]))


def averaged(measure: Measure) -> Reference:
    """Return the mean over queries, without those that have no relevant items."""

    def reference(rows: Rows) -> float | None:
        values: list[float] = []
        for query in np.unique(rows.query):
            at = rows.query == query
            label = (rows.label[at] > 0).astype(float).tolist()
            value = expect(measure, label, rows.score[at].tolist())
            values += [] if value is None else [value]
        return float(np.mean(values)) if values else None

    return reference


def gain(k: int | None = None, *, exponential: bool = False, ideal: bool = False) -> Reference:
    """Return the mean of scikit-learn's DCG or (``ideal``) NDCG, which averages ties itself."""

    def add(gains: np.ndarray, scores: np.ndarray) -> float:
        # scikit-learn refuses a list of one.
        return gains[0] if len(gains) == 1 else dcg_score([gains], [scores], k=k)

    def reference(rows: Rows) -> float | None:
        values: list[float] = []
        for query in np.unique(rows.query):
            at = rows.query == query
            gains = 2.0 ** rows.label[at] - 1 if exponential else rows.label[at]
            if gains.any():
                value = add(gains, rows.score[at])
                values.append(value / add(gains, gains) if ideal else value)
        return float(np.mean(values)) if values else None

    return reference


def grouped_auc(rows: Rows) -> float | None:
    """Return the mean of scikit-learn's AUC over queries with both classes."""
    values = [
        roc_auc_score(rows.label[at] > 0, rows.score[at])
        for at in (rows.query == query for query in np.unique(rows.query))
        if 0 < (rows.label[at] > 0).sum() < at.sum()
    ]
    return float(np.mean(values)) if values else None
