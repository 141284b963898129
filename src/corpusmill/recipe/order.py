"""Do the parts of a recipe fit together? Text before tokens before rows, and pages need text extraction."""

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal

from corpusmill.errors import RecipeError
from corpusmill.read import HTML_PAGES, GivesPages, PageKind
from corpusmill.recipe.names import name_of, source_names
from corpusmill.recipe.parts import RecipeParts, Sections
from corpusmill.recipe.selection import applied
from corpusmill.recipe.stages import check_stages, parts_of
from corpusmill.recipe.tree import Node, Position, Problems, TableNode
from corpusmill.recipe.values import parameters
from corpusmill.steps import ChecksRecipe, CorpusStep, MakesDocuments, Tokenize, keeps_parts

Kind = Literal["extract", "text", "mix", "tokenize", "pack", "any"]

SHORTEST_ROW = 32  # tokens: room for one character of any tokenizer, between sentinels and ends
# Steps on text that have something to do with a page, too, before its text is extracted: they look at its address, its
# bytes, its metadata, or at what other steps have left. All others would drop it, or pass it unseen.
BEFORE_TEXT = {
    *("annotate/bucket", "annotate/licence", "annotate/metadata", "annotate/rights", "dedup/url"),
    *("filter/function", "filter/keep_where", "filter/pareto", "filter/rights", "filter/top", "filter/url"),
}
KINDS_BY_FOLDER: dict[str, Kind] = {
    "extract": "extract",
    "clean": "text",
    "annotate": "text",
    "filter": "text",
    "redact": "text",
    "dedup": "text",
    "decontaminate": "text",
    "map": "text",
    "mix": "mix",
    "tokenize": "tokenize",
    "pack": "pack",
}
KINDS_BY_MEMBER: dict[str, Kind] = {  # by which the protocols of corpusmill.steps are distinguished
    "transform": "text",
    "signals": "text",
    "reasons": "text",
    "keys": "text",
    "encode": "tokenize",
    "remainder": "pack",
}


@dataclass(frozen=True)
class RecipePart:
    """A reader, step or writer of a recipe: its section, its place there, its name, and its class if that is known.

    sources       those that a step applies to, or the one that a reader reads; None: all of them, or it is not known
    html_column   whether a reader gives HTML pages, from a column or by another parameter
    """

    section: str
    index: int
    name: str
    cls: type[Any] | None
    sources: tuple[str, ...] | None = None
    html_column: bool = False

    @property
    def pages(self) -> PageKind | None:
        """What the documents of a reader are, where they have no text yet."""
        if self.html_column:
            return HTML_PAGES
        return getattr(self.cls, "gives", None) if self.section == "read" else None

    def meets(self, part: "RecipePart") -> bool:
        """Whether a document may be of both."""
        return self.sources is None or part.sources is None or not set(self.sources).isdisjoint(part.sources)


def check_order(recipe: RecipeParts, tree: Node | None = None) -> None:
    """Raises RecipeError with every part that cannot work in its place, and what to do about it.

    tree   of the recipe, for the lines in messages; without it they say steps[3]
    """
    problems = Problems()
    names = source_names(recipe.read, recipe.steps)
    parts = [
        RecipePart(section, index, name_of(value), type(value), sources, section == "read" and _gives_html(value))
        for section, values in (
            ("read", [(source.reader, (source.source,)) for source in recipe.read]),
            ("steps", [(step, applied(selection, names)) for step, selection in zip(recipe.steps, recipe.selections)]),
            ("write", [(writer, None) for writer in recipe.write]),
        )
        for index, (value, sources) in enumerate(values)
    ]
    for part, message in [
        *misplaced(parts),
        *misfits(recipe, parts),
        *cuts_parts(recipe, parts),
        *missed(recipe, parts),
    ]:
        problems.add(position_of(tree, part), f"{part.name} {message}")
    if recipe.split and recipe.split.by == "cluster" and not any(map(finds_clusters, recipe.steps)):
        at = tree.entries["split"].at if isinstance(tree, TableNode) and "split" in tree.entries else Position("split")
        problems.add(at, "split: by: cluster is by what dedup/minhash finds, and no step is that; add it, or drop `by`")
    for number, message in (*_of_tokens(recipe), *check_stages(recipe)):
        problems.add(stage_place(tree, number), f'stage "{recipe.stages[number].name}": {message}')
    problems.check()


def _of_tokens(recipe: RecipeParts) -> list[tuple[int, str]]:
    """The number of each stage of training whose tokens and rows do not fit together, and why."""
    mistakes = []
    if not any(isinstance(step, Tokenize) for step in recipe.steps):
        return []
    for number, stage in enumerate(recipe.stages):
        try:
            tokenize, pack, writer = parts_of(recipe, stage)
        except (TypeError, RecipeError):  # of its length, which `check_stages` says
            continue
        own = [tokenize] if pack is None else [tokenize, pack]
        steps = [RecipePart("steps", index, name_of(step), type(step)) for index, step in enumerate(own)]
        parts = [*steps, RecipePart("write", 0, name_of(writer), type(writer))]
        variant = Sections("", 0, [], own, [writer], recipe.run, [None] * len(own), [])
        mistakes += [(number, f"{part.name} {message}") for part, message in cuts_parts(variant, parts)]
    return mistakes


def finds_clusters(step: Any) -> bool:
    """Whether a step finds clusters of near-duplicates."""
    return isinstance(step, CorpusStep) and {"cluster_id", "lost"} <= set(step.verdict.names)


def gives_pages(reader: Any) -> bool:
    """Whether a reader gives HTML pages, without their text."""
    return isinstance(reader, GivesPages) or _gives_html(reader)


def _gives_html(reader: Any) -> bool:
    """Whether a reader gives HTML pages because of its parameters, which its class does not say."""
    return isinstance(getattr(reader, "html", None), str) or getattr(reader, "gives", None) == HTML_PAGES


def cuts_parts(recipe: RecipeParts, parts: Sequence[RecipePart]) -> list[tuple[RecipePart, str]]:
    """The tokenizing step, if packing would cut what it makes to be whole."""
    steps = list(zip((part for part in parts if part.section == "steps"), recipe.steps))
    tokenize = next((part for part, step in steps if keeps_parts(step)), None)
    prefixed = next((part for part, step in steps if getattr(step, "prefix", None) is not None), None)
    if prefixed and any(getattr(step, "method", None) == "buckets" for _, step in steps):
        return [(prefixed, "puts prefixes before documents, and pack/buckets may cut them; take pack/best_fit")]
    packs = [(part.name, step) for part, step in steps if kind_of(part) == "pack"]
    rows = any(hasattr(part.cls, "write_rows") for part in parts if part.section == "write")
    if tokenize is None or not rows:
        return []
    remedy = "take pack/best_fit, or pack/concat with split_at: paragraph"
    if not packs:
        return [
            (tokenize, f"fills in documents, and rows of a stream without packing would cut them in half; {remedy}")
        ]
    ((name, pack),) = packs[:1]
    if pack.method == "buckets" or (pack.method == "concat" and pack.split_at is None):
        return [(tokenize, f"fills in documents, and {name} would cut them in half; {remedy}")]
    if pack.length < SHORTEST_ROW:
        return [(tokenize, f"fills in documents, which needs rows of {SHORTEST_ROW} tokens or more; got {pack.length}")]
    return []


def misfits(recipe: RecipeParts, parts: Sequence[RecipePart]) -> list[tuple[RecipePart, str]]:
    """Each step that cannot work on these sources, with the reason and the remedy: `incompatibility` says so."""
    sources = tuple(source_names(recipe.read, recipe.steps))
    tokenizer = any(kind_of(part) == "tokenize" for part in parts if part.section == "steps")
    steps = [part for part in parts if part.section == "steps"]
    answers = [
        (part, step.incompatibility(sources, tokenizer))
        for part, step in zip(steps, recipe.steps)
        if isinstance(step, ChecksRecipe)
    ]
    return [(part, message) for part, message in answers if message]


def missed(recipe: RecipeParts, parts: Sequence[RecipePart]) -> list[tuple[RecipePart, str]]:
    """Each step that cannot be for the sources that it is said to be for, with the reason and the remedy."""
    names = source_names(recipe.read, recipe.steps)
    mistakes = []
    for part, selection in zip((part for part in parts if part.section == "steps"), recipe.selections):
        if part.cls is not None and "only" in parameters(part.cls):
            mistakes.append(
                (part, 'has a parameter "only", which every step takes for the sources it is for; rename it')
            )
        if selection is None:
            continue
        (key, _), *_ = selection.to_plain().items()
        if kind_of(part) == "mix":
            mistakes.append((part, f'draws from all sources, so it takes no "{key}"; use its weights'))
        elif kind_of(part) in ("tokenize", "pack"):
            mistakes.append((part, f'makes the tokens of all sources, so it takes no "{key}"; leave it out'))
        elif problem := selection.problem(names):
            mistakes.append((part, problem))
    return [*mistakes, *made_twice(recipe, parts)]


def made_twice(recipe: RecipeParts, parts: Sequence[RecipePart]) -> list[tuple[RecipePart, str]]:
    """Each step that makes documents of a source that is there already."""
    taken = {source.source for source in recipe.read}
    mistakes = []
    for part, step in zip((part for part in parts if part.section == "steps"), recipe.steps):
        if isinstance(step, MakesDocuments):
            if step.source in taken:
                mistakes.append(
                    (part, f'makes documents of the source "{step.source}", which is another\'s; rename it')
                )
            taken.add(step.source)
    return mistakes


def position_of(tree: Node | None, part: RecipePart) -> Position:
    """The place of a part in the text of the recipe."""
    if isinstance(tree, TableNode) and part.section in tree.entries:
        section = tree.entries[part.section].value
        return getattr(section, "items", (section,))[part.index].at
    return Position(f"{part.section}[{part.index}]")


def stage_place(tree: Node | None, number: int) -> Position:
    """The place of a stage of training in the text of the recipe."""
    if isinstance(tree, TableNode) and "stages" in tree.entries:
        section = tree.entries["stages"].value
        nodes: Sequence[Node] = getattr(section, "items", (section,))
        return nodes[number].at
    return Position(f"stages[{number}]")


def misplaced(parts: Sequence[RecipePart]) -> list[tuple[RecipePart, str]]:
    """Each part that cannot work in its place, with the reason and the remedy.

    If a class is unknown or not a step, only classes that are not steps are reported: other problems may follow from
    it.
    """
    kinds = [(part, kind_of(part)) for part in parts if part.section == "steps"]
    mistakes = [
        (part, f"is not a step: its class has none of {', '.join(KINDS_BY_MEMBER)}, see corpusmill.steps")
        for part, kind in kinds
        if kind is None and part.cls is not None
    ]
    mistakes += [(part, problem) for part, _ in kinds if (problem := _of_needs(part.cls))]
    if any(kind is None for _, kind in kinds):
        return mistakes
    pages = [part for part in parts if part.pages]
    extractors = [part for part, kind in kinds if kind == "extract"]
    kinds_of_pages = {part.pages for part in pages}
    for part in pages:
        if part.pages and not any(map(part.meets, extractors)):
            own = f", with only: {', '.join(part.sources)}" if len(kinds_of_pages) > 1 and part.sources else ""
            add = f"add {part.pages.extractor} as the first step{own}"
            message = f"gives {part.pages.words}, and no step extracts their text; {add}"
            mistakes.append((part, message))
    tokenizer: RecipePart | None = None
    packer: RecipePart | None = None
    mix: RecipePart | None = None
    for part, kind in kinds:
        if packer is not None and kind == "pack":
            mistakes.append((part, f"is a second step that packs, after {packer.name}; keep one of them"))
        elif packer is not None:
            mistakes.append((part, f"cannot follow {packer.name}, which makes the rows to write; move it above"))
        elif kind == "tokenize" and tokenizer is not None:
            mistakes.append((part, f"is a second step that tokenizes, after {tokenizer.name}; keep one of them"))
        elif kind in ("text", "extract", "mix") and tokenizer is not None:
            mistakes.append((part, f"works on text, but comes after {tokenizer.name}; move it above {tokenizer.name}"))
        elif mix is not None and kind == "mix":
            mistakes.append((part, f"is a second mix, after {mix.name}; keep one of them"))
        elif mix is not None and kind in ("text", "extract"):
            mistakes.append((part, f"would change what {mix.name} has drawn; move it above {mix.name}"))
        elif kind == "pack" and tokenizer is None:
            mistakes.append((part, "packs tokens, and no step before it makes them; add tokenize/bpe above it"))
        elif _reads_text(part, kind) and (later := _later_extractor(part, pages, extractors)):
            page, extractor = later
            assert page.pages
            others = any(reader.section == "read" and reader not in pages and part.meets(reader) for reader in parts)
            alternative = ', or name the other sources in "only"' if others else ""
            gives = f"read/{page.name} gives {page.pages.words}, which have none before {extractor.name}"
            message = f"reads text, and {gives}"
            mistakes.append((part, f"{message}; move it below {extractor.name}{alternative}"))
        tokenizer = part if kind == "tokenize" else tokenizer
        packer = part if kind == "pack" else packer
        mix = part if kind == "mix" else mix
    if packer is None:
        remedy = (
            "add pack/concat as the last step" if tokenizer else "add tokenize/bpe and pack/concat as the last steps"
        )
        mistakes += [
            (part, f"writes packed tokens, and no step packs; {remedy}")
            for part in parts
            if part.section == "write" and hasattr(part.cls, "write_rows") and getattr(part.cls, "needs_rows", True)
        ]
    if tokenizer is None:
        mistakes += [
            (part, "writes tokens, and no step makes them; add tokenize/bpe as the last step")
            for part in parts
            if part.section == "write" and _writes_tokens(part.cls)
        ]
    return mistakes


def _of_needs(cls: type[Any] | None) -> str:
    """What is wrong with the `needs` of a class, "" if nothing is. A property is known of a step alone."""
    needs = getattr(cls, "needs", ())
    if isinstance(needs, property | cached_property) or (
        isinstance(needs, tuple | list) and all(isinstance(need, str) for need in needs)
    ):
        return ""
    example = f'("{needs}",)' if isinstance(needs, str) else '("words",)'
    return f"has needs = {needs!r}, which is not a tuple of names; write needs = {example}"


def _writes_tokens(cls: type[Any] | None) -> bool:
    """Whether a writer needs a tokenizer and no packing."""
    stream = hasattr(cls, "write_rows") and not getattr(cls, "needs_rows", True)
    return hasattr(cls, "write_tokens") or stream or bool(getattr(cls, "adds_tokens", False))


def kind_of(part: RecipePart) -> Kind | None:
    """What a step works on: by its folder, or by its members if it is your own; None if neither tells."""
    folder, slash, _ = part.name.partition("/")
    if slash and ":" not in part.name:
        return KINDS_BY_FOLDER.get(folder, "any" if part.cls else None)
    return next((kind for member, kind in KINDS_BY_MEMBER.items() if hasattr(part.cls, member)), None)


def _later_extractor(
    part: RecipePart, pages: Sequence[RecipePart], extractors: Sequence[RecipePart]
) -> tuple[RecipePart, RecipePart] | None:
    """Pages that a step applies to, and their first extractor, if it comes after that step; None: the text is there."""
    for page in filter(part.meets, pages):
        first = next(filter(page.meets, extractors), None)
        if first and part.index < first.index:
            return page, first
    return None


def _reads_text(part: RecipePart, kind: Kind | None) -> bool:
    """Whether a step works on text: of the user's own it is known where they ask for measures of it."""
    if ":" not in part.name:
        return kind == "text" and part.name not in BEFORE_TEXT
    needs = getattr(part.cls, "needs", ())
    if isinstance(needs, property) and part.cls is not None:  # by parameters: those that are the default tell as well
        with suppress(Exception):  # without parameters that must be given, nothing can be said
            needs = part.cls().needs
    return isinstance(needs, tuple) and any("." not in need and need != "*" for need in needs)
