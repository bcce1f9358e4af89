"""Control characters are visible wherever a name or value is shown."""

import unicodedata

import pytest

from sqleval.common.visible import escape_html, show_controls


@pytest.mark.parametrize(("text", "shown"), [
    ("plain Zürich 東京 😀", "plain Zürich 東京 😀"),
    ("\x1b[31mred\x07", r"\x1b[31mred\x07"),
    ("a\nb\r\tc\x00\x7f\x9b", r"a\nb\r\tc\x00\x7f\x9b"),
    ("a\u200bb\ufeff\u202ec\u2028", r"a\u200bb\ufeff\u202ec\u2028"),
    ("\ud800\ufffe\U0010ffff\U000e0041", r"\ud800\ufffe\U0010ffff\U000e0041"),
    ("a\u3000b\u00a0c", "a\u3000b\u00a0c"),  # spaces that have a width
    (r"a\nb", r"a\nb"),
])  # fmt: skip
def test_what_a_screen_obeys_or_hides_is_an_escape(text: str, shown: str) -> None:
    assert show_controls(text) == shown


def test_some_characters_may_stay() -> None:
    assert show_controls("a\n\tb\x1b", keep="\n") == "a\n\\tb\\x1b"


def test_every_character_of_xml_is_left() -> None:
    # https://www.w3.org/TR/xml/#charsets, without what is hidden.
    for code in range(0x110000):
        char = chr(code)
        is_xml = code in (9, 10, 13) or 0x20 <= code <= 0xD7FF or 0xE000 <= code <= 0xFFFD
        is_xml = is_xml or code >= 0x10000
        hidden = unicodedata.category(char) in ("Cc", "Cf", "Cs", "Zl", "Zp")
        if show_controls(char) == char:
            assert is_xml
            assert not hidden


def test_no_text_is_markup() -> None:
    assert escape_html("<b a='x'>\"&\x1b") == "&lt;b a=&#x27;x&#x27;&gt;&quot;&amp;\\x1b"
