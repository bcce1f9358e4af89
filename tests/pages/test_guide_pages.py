"""Every page of the guide runs where it shows, in a folder that has only the data."""

from pathlib import Path

import pytest

from .pages import blocks, page, placed, run_commands, run_python

#: The pages whose examples are Python and single commands; the others have tests of their own.
PAGES = [
    "reading-a-result", "scikit-learn", "thresholds", "slices", "compare", "gallery", "shell",
]  # fmt: skip
PICTURES = Path(__file__).parents[2] / "docs" / "pictures"


@pytest.mark.long
@pytest.mark.slow
@pytest.mark.parametrize("name", PAGES)
def test_the_examples_of_a_page_run(name: str, tmp_path: Path) -> None:
    text = page(f"guide/{name}.md")
    assert blocks(text, "python") or blocks(text, "sh")
    if blocks(text, "python"):
        assert run_python(text, placed(tmp_path))
    else:
        placed(tmp_path)
    run_commands(text, tmp_path)
    # What a page shows is what its commands draw.
    if name == "gallery":
        drawn = {file.name for file in tmp_path.glob("*.svg")}
        assert len(drawn) == text.count("--plot ")
        assert drawn <= {file.name for file in PICTURES.glob("*.svg")}
