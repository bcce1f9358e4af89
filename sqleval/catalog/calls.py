"""Parses a metric or a curve with its parameters, as text: ``f_beta(beta=2)``."""

import ast
from math import inf

from sqleval.errors import RequestError

#: Values that are written as names in lower case, as in SQL, YAML and headers. A threshold may be
#: infinite.
_VALUES = {"inf": inf, "true": True, "false": False, "none": None}
#: Ends the name of a metric with a number of places, ``precision@10``.
CUTOFF = "@"


class _Values(ast.NodeTransformer):
    """Replaces the names in `_VALUES` by their values."""

    def visit_Name(self, node: ast.Name) -> ast.expr:
        """Return the value of a name."""
        return ast.Constant(_VALUES[node.id]) if node.id in _VALUES else node


def parse_call(text: str) -> tuple[str, dict[str, object]]:
    """Parse ``name`` or ``name(key=literal, ...)``; ``@10`` after it is ``k=10``.

    Examples
    --------
    >>> parse_call("map@10(normalize='k')") == parse_call("map(normalize='k')@10")
    True
    """
    advice = "write it as f1 or f_beta(beta=2)"
    if not isinstance(text, str):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise RequestError(f"{text!r} must be the name of a metric or a curve, as a text")
    try:
        node = ast.parse(text.strip(), mode="eval").body
        if isinstance(node, (ast.Tuple, ast.List)):
            advice = (
                "it holds several: name each as a text of its own, ['roc_auc', 'log_loss'] "
                "(-m roc_auc -m log_loss)"
            )
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.MatMult):
            advice = "a number of places follows @, as in ndcg@10 or ndcg@10(empty=0)"
            call, places = node.left, node.right
            if isinstance(places, ast.Call) and isinstance(call, ast.Name):
                call, places = ast.Call(call, places.args, places.keywords), places.func
            name, values = parse_call(ast.unparse(call))
            k = ast.literal_eval(places)
            if type(k) is int and "k" not in values and CUTOFF not in name:
                return name + CUTOFF, {**values, "k": k}
        if isinstance(node, ast.Name):
            return node.id, {}
        if (
            isinstance(node, ast.Call)
            and isinstance(node.func, ast.Name)
            and not node.args
            and all(keyword.arg for keyword in node.keywords)
        ):
            names = [str(keyword.arg) for keyword in node.keywords]
            advice = _advise_on_texts(node) or advice
            named = _Values()
            values = {str(k.arg): ast.literal_eval(named.visit(k.value)) for k in node.keywords}
            repeated = next((name for name in names if names.count(name) > 1), None)
            if repeated is None:
                return node.func.id, values
            advice = f"{repeated}= is given twice"
    except (SyntaxError, ValueError):
        pass
    raise RequestError(f"cannot read the metric {text!r}; {advice}")


def _advise_on_texts(call: ast.Call) -> str:
    """Return how a call is written whose texts lack quotes; an empty text if none does."""
    words = [k.value for k in call.keywords if isinstance(k.value, ast.Name)]
    if all(word.id in _VALUES for word in words):
        return ""
    shown = [
        f"{k.arg}={k.value.id!r}"
        if isinstance(k.value, ast.Name) and k.value.id not in _VALUES
        else f"{k.arg}={ast.unparse(k.value)}"
        for k in call.keywords
    ]
    return f"texts need quotes: {ast.unparse(call.func)}({', '.join(shown)})"
