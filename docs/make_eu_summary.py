"""Write the public summary of training content of the demo, docs/guide/eu-summary.md: python docs/make_eu_summary.py

A test fails when the page shows something else.
"""

import tempfile
from pathlib import Path

import corpusmill
from corpusmill.execute.serial import Serial
from corpusmill.recipe.shipped import shipped

PAGE = Path(__file__).parent / "guide" / "eu-summary.md"
INTRODUCTION = """# A filled summary of training content

This is the draft that `corpusmill push runs/demo --card --eu-summary` writes for the demo, by the European
Commission's template of 24 July 2025 (Article 53(1)(d) of the AI Act): see [the Hub](hub.md). The run fills in what
it knows; a person must add the rest.
"""


def page(folder: Path) -> str:
    """The page, by a run of the demo in this folder."""
    done = corpusmill.run(shipped("demo").path, folder=folder, executor=Serial(), progress=False)
    corpusmill.card(done, eu_summary=True)
    summary = (folder / "eu-summary.md").read_text("utf-8")
    lines = [f"#{line}" if line.startswith("#") else line for line in summary.splitlines()]
    return f"{INTRODUCTION}\n{chr(10).join(lines)}\n"


if __name__ == "__main__":
    with tempfile.TemporaryDirectory(prefix="corpusmill-") as place:
        PAGE.write_text(page(Path(place) / "demo"), "utf-8")
    print(PAGE)
