"""What the site does beside showing the Markdown pages of docs/, which stay readable on a forge.

- The reference, the decisions and what is linked outside of docs/ get their places in the navigation.
- Files of the repository that pages link to (recipes, notebooks, CHANGELOG.md …) become part of the site, so that it
  works without a repository beside it.
- Two blocks of code below `<!-- tabs -->` become tabs; a forge shows one below the other.
"""

import re
from pathlib import Path, PurePosixPath
from posixpath import normpath, relpath
from typing import Any

from mkdocs.structure.files import File, Files

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
LINK = re.compile(r"(\]\()([^)\s#:]+)((?:#[^)\s]*)?\))")
TABS = re.compile(r"<!-- tabs -->\n\n((?:```\w+\n.*?^```\n\n?)+)", re.DOTALL | re.MULTILINE)
FENCED = re.compile(r"^```(\w+)\n(.*?)^```\n", re.DOTALL | re.MULTILINE)
TITLES = {"yaml": "Recipe", "python": "Python", "bash": "Command line"}
# Pages of the repository that a reader wants on the site, and where.
REPOSITORY = {
    "Demo data": "demo/README.md",
    "Changes": "CHANGELOG.md",
    "Benchmarks": "benchmarks/RESULTS.md",
    "Contributing": "CONTRIBUTING.md",
}


def on_config(config: Any) -> Any:
    """Fill the navigation with what grows by itself: steps, readers, writers, decisions."""
    sections = {next(iter(part)): next(iter(part.values())) for part in config.nav}
    sections["Reference"][:0] = [
        {"Steps": ["reference/steps.md", *by_folder("reference/steps")]},
        {"Readers": ["reference/readers.md", *listed("reference/readers")]},
        {"Writers": ["reference/writers.md", *listed("reference/writers")]},
    ]
    sections["Reference"].append({"Shard format": "repository/src/corpusmill/shards/FORMAT.md"})
    decisions = next(part["Decisions"] for part in sections["Background"] if "Decisions" in part)
    decisions += listed("decisions")
    sections["Background"] += [{title: f"repository/{path}"} for title, path in REPOSITORY.items()]
    return config


def by_folder(folder: str) -> list[dict[str, Any]]:
    return [{part.name: listed(f"{folder}/{part.name}")} for part in sorted((DOCS / folder).iterdir()) if part.is_dir()]


def listed(folder: str) -> list[Any]:
    """The pages of a folder: steps and formats by their names in a recipe, others by their titles."""
    pages = [page for page in sorted((DOCS / folder).glob("*.md")) if page.name != "README.md"]
    paths = [page.relative_to(DOCS).as_posix() for page in pages]
    return [{page.stem: path} for page, path in zip(pages, paths)] if folder.startswith("reference") else list(paths)


def on_files(files: Files, config: Any) -> Files:
    """Take in the files outside of docs/ that pages link to, and those that these link to."""
    waiting = [ROOT / "docs" / file.src_uri for file in files if file.src_uri.endswith(".md")]
    waiting += [ROOT / path for path in REPOSITORY.values()]
    taken: set[Path] = set()
    while waiting:
        page = waiting.pop()
        if page in taken:
            continue
        taken.add(page)
        if not page.is_relative_to(DOCS) and page != ROOT / "README.md":  # docs/index.md is in its place
            files.append(File.generated(config, site_uri(page), content=page.read_bytes()))
        if page.suffix == ".md":
            targets = ((page.parent / target).resolve() for _, target, _ in LINK.findall(page.read_text("utf-8")))
            waiting += [target for target in targets if target.is_file() and not target.is_relative_to(DOCS)]
    return files


def site_uri(path: Path) -> str:
    """Where a file of the repository is on the site."""
    if path == ROOT / "README.md":
        return "index.md"
    inside = path.relative_to(DOCS if path.is_relative_to(DOCS) else ROOT).as_posix()
    return inside if path.is_relative_to(DOCS) else f"repository/{inside}"


def on_page_markdown(markdown: str, page: Any, config: Any, files: Files) -> str:
    """Links out of docs/ lead to the copies on the site; marked blocks become tabs; background is found last."""
    uri = page.file.src_uri
    if uri.startswith(("decisions/", "repository/", "seeds/", "log.md")):
        page.meta["search"] = {"boost": 0.3}
    here = ROOT / uri.removeprefix("repository/") if uri.startswith("repository/") else DOCS / uri

    def moved(match: re.Match[str]) -> str:
        target = Path(normpath((here.parent / match[2]).as_posix()))
        if not target.is_file() or not target.is_relative_to(ROOT):
            return match[0]
        return match[1] + relpath(site_uri(target), PurePosixPath(uri).parent.as_posix()) + match[3]

    return TABS.sub(tabs, LINK.sub(moved, markdown))


def tabs(match: re.Match[str]) -> str:
    parts = []
    for language, code in FENCED.findall(match[1]):
        block = f"```{language}\n{code}```"
        indented = "\n".join(f"    {line}" if line else "" for line in block.splitlines())
        parts.append(f'=== "{TITLES.get(language, language)}"\n\n{indented}\n')
    return "\n".join(parts) + "\n"
