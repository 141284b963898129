"""What the documentation shows works as it says.

Of each page, in order: a ```yaml block is a recipe, or a part of one that is completed here; a ```python block runs, in
a folder where the demo has run; a ```text block right after it is what it prints. A block whose first line is a
comment with a file name is saved under that name before, so that later blocks can use it.
"""

import contextlib
import importlib
import io
import re
import shlex
import shutil
import sys
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
import typer

import corpusmill
from corpusmill import read, steps, write
from corpusmill.cli.app import app
from corpusmill.cli.demo import demo
from corpusmill.cli.tables import print_waterfall
from corpusmill.execute.serial import Serial
from corpusmill.recipe import Recipe
from corpusmill.recipe.shipped import DEMO_FILES, shipped
from docs import make_reference

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
PAGES = sorted([*ROOT.glob("*.md"), *DOCS.rglob("*.md")])
BLOCK = re.compile(r"^```(\w*)( \w+)?\n(.*?)^```$", re.DOTALL | re.MULTILINE)
SHOWN = {
    "demo": {},
    "mix": {"WEB": DEMO_FILES["wet"], "BOOKS": DEMO_FILES["jsonl"]},
}  # recipes that pages use, and their inputs
FILE = re.compile(r"# ([\w-]+\.(?:py|yaml))\n")
LINK = re.compile(r"\[[^\]]*\]\(([^)\s]+)\)")
STEP = re.compile(
    r"(?<![\w/])((?:annotate|clean|decontaminate|dedup|extract|filter|mix|pack|redact|tokenize)/[a-z0-9][a-z0-9_]*)\b"
)


def text_of(page: Path) -> str:
    return page.read_text("utf-8")


def blocks(page: Path) -> list[tuple[str, str]]:
    """(kind, content) of the fenced blocks of a page: "yaml", "python", "text", "yaml error" …"""
    return [(kind + mark, content) for kind, mark, content in BLOCK.findall(text_of(page))]


def prose(page: Path) -> str:
    """A page without its fenced blocks."""
    return BLOCK.sub("", text_of(page))


def having(kind: str) -> list[Any]:
    """The pages with blocks of this kind."""
    shown = [page for page in PAGES if any(k == kind for k, _ in blocks(page))]
    return [pytest.param(page, id=page.relative_to(ROOT).as_posix()) for page in shown]


def whole(recipe: str) -> str:
    """A recipe, completed where a page shows only the steps of one, or what follows a step that stands above."""
    if recipe.lstrip().startswith("- "):
        recipe = f"steps:\n{recipe}"
    return recipe if re.search(r"^read:", recipe, re.MULTILINE) else f"read: {{jsonl: docs.jsonl}}\n{recipe}"


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A folder with the demo, which has run."""
    place = tmp_path_factory.mktemp("docs")
    shutil.copytree(ROOT / "demo", place / "code")
    for name, inputs in SHOWN.items():
        text = shipped(name).text
        for variable, path in inputs.items():
            text = text.replace(f"${{{variable}}}", path)
        (place / f"{name}.yaml").write_text(text, "utf-8")
    shutil.copy(ROOT / "tests" / "data" / "river.ngram", place / "wiki.lm")  # the model that pages speak of
    with contextlib.chdir(place):
        corpusmill.run("demo.yaml", executor=Serial())
    return place


@pytest.fixture
def inside(folder, monkeypatch):
    """In that folder, whose modules can be imported."""
    monkeypatch.chdir(folder)
    monkeypatch.syspath_prepend(str(folder))
    before = set(sys.modules)
    yield folder
    for name in set(sys.modules) - before:
        if getattr(sys.modules[name], "__file__", None) and str(folder) in str(sys.modules[name].__file__):
            del sys.modules[name]


def save(content: str) -> str | None:
    """Save a block that begins with a file name; returns the name."""
    match = FILE.match(content)
    if match:
        Path(match[1]).write_text(content, "utf-8")
        importlib.invalidate_caches()
    return match[1] if match else None


@pytest.mark.parametrize("page", having("python") + [p for p in having("yaml") if p not in having("python")])
def test_what_a_page_shows_works(page, inside, monkeypatch):
    for name in ("CORPUS", "MIN_WORDS", "WORKERS"):
        monkeypatch.delenv(name, raising=False)
    names: dict[str, Any] = {"__name__": __name__}  # a dataclass asks the module that it says it is from
    printed: str | None = None
    for kind, content in blocks(page):
        if kind == "text" and printed is not None:
            assert printed == content
        printed = None
        if kind == "yaml":
            recipe = Recipe.parse(whole(content))
            assert Recipe.parse(recipe.dump()) == recipe
            save(content)
        elif kind == "python" and not (save(content) or "").endswith(".py"):
            with contextlib.redirect_stdout(io.StringIO()) as out:
                exec(compile(content, str(page), "exec"), names)
            printed = out.getvalue()


def test_the_first_screen_is_what_the_demo_prints(inside, monkeypatch, capsys):
    """Lines of "…" stand for lines that are left out; how long it took differs from machine to machine."""
    monkeypatch.setenv("COLUMNS", "100")
    print_waterfall(corpusmill.run("demo.yaml", executor=Serial()).waterfall)
    printed = capsys.readouterr().out.splitlines()
    shown = next(content for kind, content in blocks(ROOT / "README.md") if kind == "console").splitlines()
    table = [line for line in shown[1 : shown.index("")] if line != "…"]
    at = [printed.index(line) for line in table]
    assert at == sorted(at) and len(at) > 10
    documents = re.match(r"([\d,]+) documents in, ([\d,]+) out", shown[shown.index("") + 1])
    assert documents and (documents[1], documents[2]) == ("1,676", printed[-2].split()[2])


def test_the_demo_is_the_recipe_that_pages_run_and_says_what_to_do_next(inside, capsys):
    demo(workers=1)
    printed = capsys.readouterr().out
    assert "corpusmill new" in printed.partition("\nNext:")[2]
    assert len(list((inside / "runs" / "demo" / "stages").glob("pass-1-*"))) == 1, "nothing is done again"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_links_lead_somewhere(page):
    for target in LINK.findall(prose(page)):
        if re.match(r"[a-z]+:", target):
            continue
        path, _, heading = target.partition("#")
        file = (page.parent / path).resolve() if path else page
        assert file.exists(), f"{target}: there is no {file}"
        if heading:
            assert heading in headings(file), f"{target}: there is no such heading"


def headings(page: Path) -> set[str]:
    """The anchors of a page, as they are made of its headings."""
    titles = re.findall(r"^#+ (.+)$", prose(page), re.MULTILINE)
    return {re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-") for heading in titles}


def commands(page: Path) -> list[str]:
    """Every command line of ours that a page shows, in blocks and in sentences."""
    shown = [line for kind, content in blocks(page) if kind in ("bash", "console") for line in content.splitlines()]
    shown += re.findall(r"`(corpusmill [^`]+)`", prose(page))
    lines = [line.removeprefix("$ ").partition(" #")[0].partition(" > ")[0] for line in shown]
    return [line for line in lines if line.startswith("corpusmill ")]


@pytest.mark.parametrize("page", [page for page in PAGES if commands(page)], ids=lambda page: page.stem)
def test_commands_are_commands_with_options_that_they_take(page):
    verbs = typer.main.get_command(app()).commands  # type: ignore[attr-defined]
    for line in commands(page):
        verb, *args = shlex.split(line)[1:]
        if verb.startswith("--"):
            assert verb in ("--help", "--version"), line
            continue
        assert verb in verbs, line
        if args and "--help" not in args:  # a verb alone only names it
            verbs[verb].make_context(verb, args)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_steps_that_are_named_exist(page):
    told = prose(page) + "".join(content for kind, content in blocks(page) if kind in ("yaml", "bash"))
    named = set(STEP.findall(told))
    assert named <= set(steps.names()), named - set(steps.names())


def test_the_reference_is_as_the_code_is_now():
    """The worked results, too: every step is run again on the documents of docs/step_examples.yaml."""
    made = make_reference.pages()
    for name, content in made.items():
        assert text_of(DOCS / "reference" / name) == content, f"{name} is old: run python docs/make_reference.py"
    assert {page.relative_to(DOCS / "reference").as_posix() for page in (DOCS / "reference").rglob("*.md")} == set(made)
    for path, content in make_reference.guide().items():
        assert text_of(path) == content, f"{path.name} is old: run python docs/make_reference.py"
    for folder, registry in (("steps", steps), ("readers", read), ("writers", write)):
        for name in registry.names():
            assert f"\n# {name}\n" in made[f"{folder}/{name}.md"]
            assert f"({folder}/{name}.md)" in made[f"{folder}.md"]
    # Three draw for training, and the guide shows it; the others need a model that is an extra, or a server.
    assert {name for name in steps.names() if "## Result" not in made[f"steps/{name}.md"]} == {
        "annotate/embedding",
        "annotate/model",
        "generate/rewrite",
        "mix/buckets",
        "mix/rehydrate",
        "mix/sources",
        "redact/names",
    }


def test_every_page_is_in_the_navigation_of_the_site():
    """docs/site_hooks.py adds the pages of the folders in which every file is one."""
    named = set(re.findall(r"[\w/-]+\.md", text_of(ROOT / "mkdocs.yml")))
    by_hand = {page.relative_to(DOCS).as_posix() for page in DOCS.rglob("*.md")}
    by_folder = {name for name in by_hand if name.startswith(("reference/", "decisions/"))}
    assert by_hand - by_folder <= named, by_hand - by_folder - named
    assert named <= by_hand, named - by_hand


def test_every_asset_that_ships_has_its_notice():
    from corpusmill.assets import manifest

    notice = (ROOT / "NOTICE").read_text("utf-8")
    for name, entry in manifest().items():
        assert entry["file"] in notice, f"{name}: say in NOTICE what it is, whose, and under which licence"


def test_every_page_can_be_reached_from_the_first():
    """By links alone, from README.md on a forge or docs/index.md on the site."""
    reached, waiting = set(), [ROOT / "README.md", DOCS / "index.md"]
    while waiting:
        page = waiting.pop()
        if page not in reached and page.suffix == ".md":
            reached.add(page)
            links = (link.partition("#")[0] for link in LINK.findall(text_of(page)) if ":" not in link)
            waiting += [(page.parent / link).resolve() for link in links if link]
    assert set(DOCS.rglob("*.md")) <= reached, set(DOCS.rglob("*.md")) - reached


@pytest.mark.parametrize(
    ("name", "said", "in_the_end"),
    [
        ("killed", ["Killed", "1 stage already done"], "1,676 documents in, 844 out"),
        ("changed", ["FAIL  min_sentences: sentences 3, dropped below 5", "c4.min_sentences was 5, is 3"], " 871 out"),
    ],
)
def test_a_recording_shows_what_its_page_says(name, said, in_the_end):
    path = DOCS / "screenshots" / f"{name}.svg"
    assert path.stat().st_size < 150_000 and f"screenshots/{name}.svg)" in "".join(map(text_of, PAGES))
    root = ElementTree.fromstring(text_of(path))
    kinds = {kind: f"{{http://www.w3.org/2000/svg}}{kind}" for kind in ("g", "use", "text", "script")}
    assert root.find(f".//{kinds['script']}") is None
    lines = {
        group.get("id"): "  ".join(text.text or "" for text in group.iter(kinds["text"]))
        for group in root.iter(kinds["g"])
    }
    for line in said:
        assert any(line in shown for shown in lines.values()), line
    strip = next(group for group in root.iter(kinds["g"]) if group.get("id") == "strip")
    last = int(re.findall(r"-?\d+", strip.attrib["transform"])[1])  # without animation, the last screen is seen
    shown = [lines[use.attrib["href"][1:]] for use in strip.iter(kinds["use"]) if float(use.attrib["y"]) >= -last]
    assert any(in_the_end in line for line in shown), shown
