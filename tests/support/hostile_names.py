"""Lists names that a screen, a page or a parser could misread."""

#: Names and values, which any text column may hold.
HOSTILE = [
    "[other]", "[bold]x", "[/foo]", "[link=https://example.org]y[/link]", ":smile:",
    "\x1b[31mred", "\x1b]0;title\x07", "a\nb", "c\r\td", "\x7f\x9b2J",
    "<script>alert(1)</script>", "</pre></td><img src=x onerror=alert(1)>", "&lt;b&gt; &amp;",
    "a|b|c", "`rm -rf`", "'single' \"double\" \\back\\", "\u202eabc\u200f", "e\u0301 Zürich 東京",
    "👩\u200d👩\u200d👧 😀", "zero\u200bwidth\ufeff", "{{ 7 * 7 }} {% raw %} ${HOME}",
    "]]> --> */ ;", "long " * 50,
]  # fmt: skip
