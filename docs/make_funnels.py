"""Write the funnels that docs/seeds/*.md show: python docs/make_funnels.py

Each recipe is run on the demo's data. A test fails when a page shows something else.
"""

import contextlib
import io
import os
import re
import tempfile
from pathlib import Path

import corpusmill
from corpusmill.cli.tables import print_mixes, print_packing, print_waterfall
from corpusmill.execute.serial import Serial
from corpusmill.recipe.shipped import DEMO_FILES, shipped
from corpusmill.report.figures.mix import mixes
from corpusmill.report.tables import RunTables

ROOT = Path(__file__).parents[1]
PAGES = sorted((ROOT / "docs" / "seeds").glob("*.md"))
OTHERS = {"WIKIPEDIA": str(ROOT / "demo" / "prose" / "articles.txt"), "GITHUB": str(ROOT / "demo" / "*.py")}
FUNNEL = re.compile(r"(?<=^```console\n).*?(?=^```$)", re.DOTALL | re.MULTILINE)


def on_the_demo(name: str) -> dict[str, str]:
    """What to set so that a recipe reads the demo's data: its variables and their values."""
    inputs = shipped(name).inputs
    return {variable: OTHERS.get(variable) or DEMO_FILES[reader] for variable, reader in inputs.items()}


def funnel(name: str, folder: Path) -> str:
    """What a run of a recipe that ships prints at its end, on the demo's data."""
    before = dict(os.environ)
    os.environ |= on_the_demo(name)
    try:
        done = corpusmill.run(shipped(name).path, folder=folder, executor=Serial())
    finally:
        os.environ.clear()
        os.environ |= before
    with contextlib.redirect_stdout(io.StringIO()) as out:
        print_waterfall(done.waterfall)
        print_mixes(mixes(RunTables(folder)))
        print_packing(done.waterfall, None)
    return out.getvalue()


def with_funnel(page: Path, folder: Path) -> str:
    """The page with the funnel of its recipe, as it is now."""
    return FUNNEL.sub(lambda _: funnel(page.stem, folder), page.read_text("utf-8"))


if __name__ == "__main__":
    os.environ["COLUMNS"] = "120"  # the pages look the same wherever they are written
    with tempfile.TemporaryDirectory(prefix="corpusmill-") as place:
        for page in PAGES:
            page.write_text(with_funnel(page, Path(place) / page.stem), "utf-8")
            print(page)
