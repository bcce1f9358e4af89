"""The textbook computes its numbers, and shows the pictures that its commands draw."""

import re

from tests.support.pages import blocks, read_page

PAGE = "docs/textbook.md"


def test_the_page_computes_its_numbers() -> None:
    assert sum(block.text.count("assert ") for block in blocks(PAGE, "python")) > 50


def test_every_picture_comes_from_a_command_of_the_page() -> None:
    shown = set(re.findall(r"!\[[^]]*\]\(pictures/([^)]+)\)", read_page(PAGE)))
    commands = "".join(block.text for block in blocks(PAGE, "sh"))
    assert shown == set(re.findall(r"--plot (\S+)", commands))
