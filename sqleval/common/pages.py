"""Opens templates of HTML pages, which escape every value."""

from collections.abc import Callable, Mapping
from importlib.resources import files
from typing import Any

from jinja2 import Environment, StrictUndefined
from markupsafe import Markup

from sqleval.common.visible import escape_html, show_controls


def _show(value: object) -> object:
    """Make the control characters of a text visible; leave markup, such as charts, unchanged."""
    if isinstance(value, str) and not isinstance(value, Markup):
        return show_controls(value)
    return value


def _keep_lines(text: str) -> Markup:
    """Escape a text of several lines, such as a statement, and keep its line breaks."""
    return Markup(escape_html(text, keep="\n"))


def load_page(package: str, name: str, filters: Mapping[str, Callable[..., str]]) -> Any:
    """Return a template of a package, which escapes each value that it shows.

    Parameters
    ----------
    package : str
        The package, such as ``sqleval.report``.
    name : str
        The file in it.
    filters : mapping
        Functions that the template calls, by name.
    """
    loader: Any = Environment(autoescape=True, undefined=StrictUndefined, finalize=_show)
    loader.filters |= {**filters, "lines": _keep_lines}
    return loader.from_string(files(package).joinpath(name).read_text(encoding="utf-8"))
