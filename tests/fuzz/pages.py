"""Pages of HTML, changed at random, for the extractor that is ours: kernels, which a wrong offset would kill."""

from pathlib import Path
from random import Random
from typing import Any

from fuzz.case import Files, Wrong
from fuzz.mutate import mutated
from fuzz.seeds import prose

WORDS = [
    *(b"<table>", b"<tr><td>", b"</table>", b"<ul><li>", b"</ul>", b"<a href=x>", b"</a>", b"<br>", b"<!--", b"-->"),
    *(
        b"<pre>",
        b"</pre>",
        b"<code>",
        b"</code>",
        b"<title>",
        b"<math>",
        b"</math>",
        b"<img alt='$x$'>",
        b"<svg>",
        b"<h1>",
    ),
    *(
        b"<script type='math/tex'>",
        b"</script>",
        b"&#x10FFFF;",
        b"&nGt;",
        b"&amp",
        b"<div class='comment x",
        b"<blockquote>",
    ),
    *(
        b"<annotation encoding='application/x-tex'>x",
        b"\xf9",
        b"\xfa",
        b"\xe3\x80",
        b"<div>" * 600,
        b"</b>" * 400,
        b"</",
    ),
]


class Extraction:
    """Text and Markdown of a page in UTF-8, or nearly."""

    name = "extract-blocks"

    def prepare(self, base: Path) -> None:
        random = Random(1)
        self.pages = [self.page(random, size) for size in (2, 10, 60)]

    def page(self, random: Random, size: int) -> bytes:
        inside = [
            f"<{tag} class=x>{prose(random)}</{tag}>" for tag in random.choices("p li td h2 pre div".split(), k=size)
        ]
        return f"<html><head><title>{prose(random, 4)}</title><body>{''.join(inside)}</body></html>".encode()

    def plain(self) -> list[Files]:
        return [{"case": page} for page in self.pages]

    def make(self, random: Random) -> Files:
        data = random.choice(self.pages)
        for _ in range(random.choice((1, 3, 12))):
            data = mutated(random, data, self.pages, WORDS)
        return {"case": data}

    def check(self, folder: Path) -> str:
        from corpusmill.steps.extract.blocks import Blocks

        page = (folder / "case").read_bytes()
        for markup in ("text", "markdown"):
            step = Blocks(markup=markup, comments="keep", favour="recall")
            if step.html_text(page) != step.html_text(page):
                raise Wrong(f"two texts of one page, as {markup}")
        return "right"


def targets() -> list[Any]:
    return [Extraction()]
