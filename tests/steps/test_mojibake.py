import sys

import pytest

from conftest import docs
from corpusmill.errors import MissingExtraError
from corpusmill.steps.clean.mojibake import Mojibake


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("schÃ¶n", "schön"),
        ("itâ€™s", "it’s"),
        ("plain ASCII &amp; “good” ﬁne text", "plain ASCII &amp; “good” ﬁne text"),
        ("naïve\nschÃ¶n\r\n", "naïve\nschön\r\n"),  # a sound line beside a damaged one
        ("", ""),
        (None, None),
    ],
)
def test_only_damaged_lines_change(before, after):
    assert Mojibake().transform(docs(before))["text"].to_pylist() == [after]


def test_without_ftfy_the_step_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "ftfy", None)
    with pytest.raises(
        MissingExtraError, match=r"clean/mojibake needs ftfy. Install: pip install 'corpusmill\[clean\]'"
    ):
        Mojibake().transform(docs("schÃ¶n"))
