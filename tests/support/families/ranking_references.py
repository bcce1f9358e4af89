"""References of ranking metrics: trec_eval's values, as means over all orders of tied items.

trec_eval (by pytrec_eval) and ranx put tied items in an order of their own. McSherry and Najork
(2008) take the mean over all orders, which these functions do by listing them.
"""

from collections import Counter
from collections.abc import Callable, Iterator
from functools import cache
from itertools import product
from math import comb
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


def err(k: int | None = None, largest: int = 4) -> Measure:
    """Chapelle et al. (2009), algorithm 2."""

    def measure(order: Order, found: dict[str, float]) -> float:
        value, reached = 0.0, 1.0
        for place, label in enumerate(order.retrieved[:k], start=1):
            stops = (2 ** (label or 0) - 1) / 2**largest
            value += reached * stops / place
            reached *= 1 - stops
        return value

    return measure


def err_of_ties(k: int | None = None, largest: int = 4) -> Reference:
    """Return the mean of ERR over queries, for ties with too many orders to list.

    The mean product of t of n numbers, over all ways to choose t of them, is their elementary
    symmetric polynomial of degree t divided by the number of ways; these are coefficients of
    NumPy's polynomial with the roots -q.
    """

    def measure(label: np.ndarray, score: np.ndarray) -> float:
        value, reached, place = 0.0, 1.0, 1
        for tied in sorted(set(score.tolist()), reverse=True):
            rest = 1 - (2 ** label[score == tied] - 1) / 2**largest
            n = len(rest)
            stays = [c / comb(n, t) for t, c in enumerate(np.poly(-rest))]
            for t in range(n):
                if k is None or place + t <= k:
                    value += reached * (stays[t] - stays[t + 1]) / (place + t)
            reached, place = reached * rest.prod(), place + n
        return value

    def reference(rows: Rows) -> float | None:
        lists = [(rows.label[at].astype(float), rows.score[at]) for at in _list_queries(rows)]
        values = [measure(*each) for each in lists if 0 < each[0].max() <= largest]
        return float(np.mean(values)) if values else None

    return reference


def _list_queries(rows: Rows) -> list[np.ndarray]:
    """Return the masks of the rows of each query."""
    return [rows.query == query for query in np.unique(rows.query)]


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


def expose(rows: Rows, k: int) -> np.ndarray | None:
    """Return the probabilities that each list recommends each item; None if one occurs twice."""
    items, column = np.unique(rows.item, return_inverse=True)
    table = np.zeros((len(np.unique(rows.query)), len(items)))
    for one, at in zip(table, _list_queries(rows), strict=True):
        if len(set(rows.item[at])) < at.sum():
            return None
        score = rows.score[at]  # NaN: not retrieved
        above = (score[None, :] > score[:, None]).sum(axis=1)
        tied = (score[None, :] == score[:, None]).sum(axis=1)
        one[column[at]] = np.clip(k - above, 0, tied) / np.maximum(tied, 1)
    return table


def coverage(k: int = 10, items: int | None = None) -> Reference:
    """Return the share of the items that some list recommends."""

    def reference(rows: Rows) -> float | None:
        table = expose(rows, k)
        if table is None or not 0 < table.shape[1] <= (items or table.shape[1]):
            return None
        return float((1 - np.prod(1 - table, axis=0)).sum() / (items or table.shape[1]))

    return reference


def gini(k: int = 10, items: int | None = None) -> Reference:
    """Return half the mean absolute difference of two items' exposures, divided by their mean."""

    def reference(rows: Rows) -> float | None:
        table = expose(rows, k)
        if table is None or not 0 < table.shape[1] <= (items or table.shape[1]) or not table.any():
            return None
        of_items = np.zeros(items or table.shape[1])
        of_items[: table.shape[1]] = table.sum(axis=0)
        return float(np.abs(np.subtract.outer(of_items, of_items)).mean() / 2 / of_items.mean())

    return reference


def popularity(k: int = 10, *, bits: bool = False) -> Reference:
    """Return the mean popularity of recommended items, or (``bits``) their mean novelty."""

    def reference(rows: Rows) -> float | None:
        table = expose(rows, k)
        n = sum(bool((rows.label[at] > 0).any()) for at in _list_queries(rows))
        if table is None or not n or not table.any():
            return None
        users = np.array(
            [
                np.count_nonzero((rows.item == item) & (rows.label > 0))
                for item in np.unique(rows.item)
            ]
        )
        value = -np.log2(np.maximum(users, 1) / n) if bits else users / n
        return float((table @ value / table.sum(axis=1)).mean())

    return reference
