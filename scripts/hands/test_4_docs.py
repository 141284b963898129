"""The commands of the first pages of the docs, in order, as a reader copies them."""

import gzip
import re
import shutil
import subprocess
from pathlib import Path

import pytest
from environment import ROOT

PAGES = ["README.md", "docs/start/first-run.md", "docs/start/your-data.md"]
BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$", re.DOTALL | re.MULTILINE)
FILE = re.compile(r"# ([\w-]+\.yaml)\n")


@pytest.fixture(scope="module")
def reader(tmp_path_factory: pytest.TempPathFactory, user: Path) -> Path:
    """A folder with data under the names that the pages use: the demo's, from the installed package."""
    place = tmp_path_factory.mktemp("reader")
    (demo,) = user.parent.glob("lib/python*/site-packages/corpusmill/data/demo")
    (place / "crawl").mkdir()
    (place / "data").mkdir()
    shutil.copy(demo / "pages.warc.gz", place / "crawl")
    lines = gzip.decompress((demo / "extra.jsonl.gz").read_bytes()).splitlines(keepends=True)
    good = [line for line in lines if line.startswith(b"{") and b'"text"' in line]
    (place / "data" / "part-000.jsonl.gz").write_bytes(gzip.compress(b"".join(good[:200])))
    return place


@pytest.mark.parametrize("page", PAGES)
def test_the_commands_of_a_page(page: str, reader: Path, user: Path, home: dict[str, str]):
    env = home | {"PATH": f"{user}:{home['PATH']}"}
    for kind, content in BLOCK.findall((ROOT / page).read_text("utf-8")):
        if kind == "yaml" and (named := FILE.match(content)):
            text = content.replace("*.jsonl.zst", "*.jsonl.gz").replace(", text: body", "")
            (reader / named[1]).write_text(text, "utf-8")
        for line in content.splitlines() if kind == "bash" else ():
            if not line.startswith("corpusmill "):
                continue
            command = line.replace(".jsonl.zst", ".jsonl.gz")
            if command.startswith("corpusmill new ") and (written := re.search(r"\S+\.yaml", command)):
                (reader / written[0]).unlink(missing_ok=True)  # an earlier page wrote one of this name
            done = subprocess.run(
                ["bash", "-c", command], cwd=reader, env=env, capture_output=True, text=True, check=False
            )
            assert done.returncode == 0, f"{page}: {line}\n{done.stdout}\n{done.stderr}"
