"""Wikitext to lines of text or Markdown, by the tree that mwparserfromhell makes of it.

Inline marks of what becomes a block are control characters, which XML, and so wikitext, cannot hold: HEADING and ITEM
begin a line, HELD stands for a text whose blanks are kept, BREAK is a line's end inside a paragraph.
"""

import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

Markup = Literal["text", "markdown"]
HEADING, ITEM, HELD, BREAK = "\x01", "\x02", "\x03", "\x04"
CONTROLS = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f]")
QUOTES = re.compile(r"'{2,}")  # bold and italic
SWITCH = re.compile(r"__[A-Z]{3,40}__")  # __NOTOC__
HELD_MARK = re.compile(f"{HELD}(\\d+){HELD}")
ITEMS = re.compile(f"((?:{ITEM}[*#:;] ?)+)(.*)")
HEAD_MARK = re.compile(f"{HEADING}([1-6])(.*)")
# What a template leaves between brackets, or before a sign.
EMPTY_BRACKETS = re.compile(r" ?\((?:[\s,;:]|&nbsp;)*\)")
OPEN_BRACKET = re.compile(r"\((?:\s*[,;])+\s*")
BEFORE_SIGN = re.compile(r"(?<=\S) +([,.;:])(?=\s|$)")
BLANKS = re.compile(r"[ \t\xa0]+")
PICTURE = re.compile(r"[^\[\]|]+\.(?:jpe?g|png|gif|svg|tiff?|webp|webm|og[agv]|mp3|wav|mid|pdf|djvu|xcf|stl)\s*", re.I)
DROPPED = frozenset(
    "gallery timeline imagemap templatestyles indicator score graph maplink mapframe inputbox categorytree references "
    "templatedata hiero section styles style script includeonly".split()
)
CODE = frozenset(["syntaxhighlight", "source", "pre"])
BLOCKS = frozenset("p div blockquote center poem ul ol dl li dd dt h1 h2 h3 h4 h5 h6 hr".split())
ASIDE = ("navbox", "metadata", "infobox", "mbox", "sidebar", "toc")  # classes of tables that are no data
# Templates whose arguments are words of the sentence, as the larger wikis name them.
TEMPLATES = {
    **dict.fromkeys(("nowrap", "nobr", "small", "big", "abbr", "math", "mvar", "quote", "blockquote", "cquote"), "{1}"),
    **dict.fromkeys(
        ("code", "tt", "kbd", "var", "strong", "em", "sup", "sub", "val", "ill", "interlanguage link"), "{1}"
    ),
    **dict.fromkeys(("lang", "transl", "transliteration"), "{2}"),
    **dict.fromkeys(("convert", "cvt"), "{1} {2}"),
    "frac": "{1}/{2}",
    "sfrac": "{1}/{2}",
    "as of": "As of {1}",
    "circa": "c. {1}",
    "c.": "c. {1}",
    "ndash": "–",
    "mdash": "—",
    "snd": " – ",
    "spaced ndash": " – ",
    "!": "|",
    "=": "=",
    "pi": "π",
    "nbsp": " ",
}
MARKS = re.compile(
    r"(?P<comment><!--)|</(?P<close>[a-z][^\s<>/]*)|<(?P<tag>[a-z][^\s<>/]*)[^<>]*>|(?P<lone><(?=[a-z]))"
    r"|(?P<braces>\{\{+)|(?P<end_braces>\}\}+)|^[ \t:]*(?P<table>\{\|)|^[ \t]*(?P<end_table>\|\}(?!\}(?!\})))"
    r"|(?P<link>\[\[)|(?P<end_link>\]\])|\[(?=[a-z]*:?//[^\n\[\]]*\])|(?P<address>\[(?=[a-z]*:?//|mailto:))",
    re.IGNORECASE | re.MULTILINE,
)
OPENS = {"end_braces": "braces", "end_table": "table", "end_link": "link"}
# Tags that may have no end, and those whose content is not wikitext: as the parser has them.
SINGLE = frozenset("br wbr hr meta link img li dt dd th td tr".split())
LITERAL = frozenset(
    "categorytree ce chem gallery graph hiero imagemap inputbox math nowiki pre score section source syntaxhighlight "
    "templatedata timeline".split()
)
MAX_UNCLOSED = 20  # of a page: for each the parser reads on to the end of the page and comes back
MAX_PADDED = 100_000  # cells of a table of Markdown whose short rows are filled up
MAX_NESTED = 20  # lists in lists that are indented
ARGUMENT = re.compile(r"\{([^{}]+)\}")


@dataclass
class WikitextWriter:
    """Writes one page. `page` gives its text."""

    markup: Markup
    tables: bool
    references: bool
    templates: Mapping[str, str]
    held: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    def page(self, code: Any) -> str:
        blocks = _with_content(self._blocks(self.inline(code)))
        if self.notes:
            form = "[^{}]: {}" if self.markup == "markdown" else "[{}] {}"
            notes = [form.format(number, note) for number, note in enumerate(self.notes, 1)]
            blocks += [(0, self._unheld(note)) for note in notes]
        return ("\n\n" if self.markup == "markdown" else "\n").join(text for _, text in blocks)

    def inline(self, code: Any) -> str:
        """Text with the marks of blocks in it."""
        return "".join(map(self._node, code.nodes))

    def _node(self, node: Any) -> str:
        from mwparserfromhell import nodes

        if isinstance(node, nodes.Text):
            return SWITCH.sub("", QUOTES.sub(_quotes, CONTROLS.sub("", node.value)))
        if isinstance(node, nodes.Wikilink):
            return self._link(node)
        if isinstance(node, nodes.Template):
            return self._template(node)
        if isinstance(node, nodes.Tag):
            return self._tag(node)
        if isinstance(node, nodes.Heading):
            return f"\n{HEADING}{node.level}{_flat(self.inline(node.title))}\n"
        if isinstance(node, nodes.HTMLEntity):
            return _entity(node)
        if isinstance(node, nodes.ExternalLink):
            if node.title is not None:
                return self.inline(node.title)
            return "" if node.brackets else str(node.url)
        if isinstance(node, nodes.Argument):
            return self.inline(node.default) if node.default is not None else ""
        return ""  # comments, and what later versions of the parser know

    def _link(self, node: Any) -> str:
        title = str(node.title).strip()
        prefix = title.partition(":")[0].strip().lower() if ":" in title else ""
        if prefix in ("file", "image", "category", "media") or (prefix and PICTURE.fullmatch(title)):
            return ""
        if node.text is not None:
            return self.inline(node.text)
        return self.inline(node.title).strip().removeprefix(":")

    def _template(self, node: Any) -> str:
        name = " ".join(str(node.name).replace("_", " ").split())
        form = self.templates.get(name[:1].lower() + name[1:], self.templates.get(name.lower()))
        if form is None:
            return ""

        def argument(match: re.Match[str]) -> str:
            return self.inline(node.get(match[1]).value).strip() if node.has(match[1]) else ""

        return ARGUMENT.sub(argument, form)

    def _tag(self, node: Any) -> str:
        name = str(node.tag).strip().lower()
        if node.wiki_markup and name in ("li", "dd", "dt"):
            return f"{ITEM}{node.wiki_markup}"
        if name == "ref":
            return self._reference(node)
        if name in DROPPED:
            return ""
        if name == "br":
            return BREAK
        if name == "table":
            return self._table(node)
        if node.contents is None:
            return "\n" if name in BLOCKS else ""
        if name == "math":
            return self._hold(f"${str(node.contents).strip()}$")
        if name in CODE:
            return self._code(node)
        if name == "nowiki":
            return CONTROLS.sub("", _unescaped(str(node.contents)))
        inner = self.inline(node.contents)
        if name == "li":
            return f"\n{ITEM}*{inner.strip()}\n"
        if name in ("code", "tt", "kbd") and self.markup == "markdown" and inner.strip() and HELD not in inner:
            return self._hold(f"`{_flat(inner)}`")
        if name in ("h1", "h2", "h3", "h4", "h5", "h6"):
            return f"\n{HEADING}{name[1]}{_flat(inner)}\n"
        return f"\n\n{inner}\n\n" if name in BLOCKS else inner

    def _reference(self, node: Any) -> str:
        if not self.references or node.contents is None or not (note := _flat(self.inline(node.contents))):
            return ""
        self.notes.append(note)
        return f"[^{len(self.notes)}]" if self.markup == "markdown" else f"[{len(self.notes)}]"

    def _code(self, node: Any) -> str:
        code = _unescaped(str(node.contents)).strip("\n").rstrip()
        inline = "\n" not in code and node.has("inline")
        if self.markup == "text" or inline:
            return self._hold(f"`{code}`" if self.markup == "markdown" else code, block=not inline)
        spoken = str(node.get("lang").value).strip() if node.has("lang") else ""
        fence = "`" * max([3, *(len(run) + 1 for run in re.findall("`+", code))])
        return self._hold(f"{fence}{spoken}\n{code}\n{fence}", block=True)

    def _table(self, node: Any) -> str:
        kind = str(node.get("class").value).lower() if node.has("class") else ""
        if not self.tables or any(marker in kind for marker in ASIDE) or node.contents is None:
            return ""
        rows: list[list[str]] = []
        caption = ""
        loose: list[str] = []  # cells before the first mark of a row
        for part in node.contents.nodes:
            name = str(part.tag).strip().lower() if hasattr(part, "tag") else ""
            if name == "tr":
                rows.append(self._cells(part.contents))
            elif name == "caption":
                caption = _flat(self.inline(part.contents))
            elif name in ("td", "th"):
                loose += self._cells_of([part])
        if loose and loose[0].startswith("+"):  # |+ a caption, which the parser takes for a cell
            caption = loose.pop(0)[1:].strip()
        rows = [row for row in [loose, *rows] if any(row)]
        if not rows:
            return ""
        lines = [" | ".join(row) for row in rows]
        if self.markup == "markdown":
            width = max(map(len, rows))
            rows = [[cell.replace("|", "\\|") for cell in row] for row in rows]
            if width * len(rows) <= MAX_PADDED:
                rows = [[*row, *[""] * (width - len(row))] for row in rows]
            lines = ["| " + " | ".join(row) + " |" for row in rows]
            lines.insert(1, "|" + " --- |" * width)
        above = f"\n{caption}\n\n" if caption else ""
        return above + self._hold("\n".join(lines), block=True)

    def _cells(self, contents: Any) -> list[str]:
        return self._cells_of(contents.nodes) if contents is not None else []

    def _cells_of(self, nodes: Any) -> list[str]:
        cells = [node for node in nodes if hasattr(node, "tag") and str(node.tag).strip().lower() in ("td", "th")]
        return [_flat(self._unheld(self.inline(cell.contents))) if cell.contents is not None else "" for cell in cells]

    def _hold(self, text: str, block: bool = False) -> str:
        """A mark for a text whose blanks and line ends are kept."""
        self.held.append(CONTROLS.sub("", text))
        mark = f"{HELD}{len(self.held) - 1}{HELD}"
        return f"\n\n{mark}\n\n" if block else mark

    def _unheld(self, text: str) -> str:
        return HELD_MARK.sub(lambda match: self.held[int(match[1])], text)

    def _blocks(self, text: str) -> list[tuple[int, str]]:
        """(level of a heading or 0, text) of each block."""
        blocks: list[tuple[int, str]] = []
        paragraph: list[str] = []
        counts: list[int] = []  # of numbered items, by depth

        def flush() -> None:
            if paragraph and (line := _tidy(" ".join(paragraph))):
                blocks.append((0, self._unheld(line)))
            paragraph.clear()

        items: list[str] = []  # of a list, which is one block

        def end_list() -> None:
            if items:
                blocks.append((0, "\n".join(items)))
            items.clear()
            counts.clear()

        for line in text.split("\n"):
            if match := ITEMS.match(line):
                flush()
                if item := self._item(match, counts):
                    items.append(item)
                continue
            end_list()
            if match := HEAD_MARK.match(line):
                flush()
                level, title = int(match[1]), self._unheld(_tidy(match[2]))
                if title:
                    blocks.append((level, f"{'#' * level} {title}" if self.markup == "markdown" else title))
            elif not line.strip():
                flush()
            elif not HELD_MARK.fullmatch(line.strip()) or paragraph:
                paragraph.append(line)
            else:
                flush()
                blocks.append((0, self._unheld(line.strip())))
        flush()
        end_list()
        return blocks

    def _item(self, match: re.Match[str], counts: list[int]) -> str:
        marks = match[1].replace(ITEM, "").replace(" ", "")
        if not (item := self._unheld(_tidy(match[2]))):
            return ""
        if self.markup == "text" or marks[-1] in ":;":
            return item
        depth = min(len(marks), MAX_NESTED)
        del counts[depth:]
        counts += [0] * (depth - len(counts))
        counts[-1] = counts[-1] + 1 if marks[-1] == "#" else 0
        sign = f"{counts[-1]}." if marks[-1] == "#" else "-"
        inner = item.replace("\n", "\n" + "   " * depth)
        return f"{'   ' * (depth - 1)}{sign} {inner}"


def closed(text: str) -> str:
    """Wikitext in which all templates, links, tables, tags and comments but MAX_UNCLOSED have an end.

    Where more have none, their first characters are entities, which are what the parser would take them for.
    """
    loose = _unclosed(text)
    if len(loose) <= MAX_UNCLOSED:
        return text
    parts, at = [], 0
    for start, end in sorted(loose):
        parts += [text[at:start], *(f"&#{ord(c)};" for c in text[start:end])]
        at = end
    return "".join([*parts, text[at:]])


def _unclosed(text: str) -> list[tuple[int, int]]:
    """Where something is opened that is not closed, or only after what it is in."""
    loose: list[tuple[int, int]] = []
    stack: list[tuple[str, int, int]] = []
    open_now = Counter[str]()
    endless: set[str] = set()  # comments and literal tags of which no end follows
    at = 0
    while match := MARKS.search(text, at):
        at, kind, start = match.end(), match.lastgroup or "", match.start(match.lastgroup or 0)
        name = match[kind].lower() if kind in ("tag", "close") else kind
        if kind in ("lone", "address"):
            loose.append((start, start + 1))
        elif kind == "comment" or (kind == "tag" and name in LITERAL and not match[0].endswith("/>")):
            ending = "-->" if kind == "comment" else f"</{name}"
            end = None if name in endless else re.compile(ending, re.I).search(text, at)
            if end:
                at = end.end()
            else:
                endless.add(name)
                loose.append((match.start(), match.start() + 1))
        elif kind == "tag":
            if name not in SINGLE and not match[0].endswith("/>"):
                stack.append((name, match.start(), match.start() + 1))
                open_now[name] += 1
        elif kind in ("braces", "table", "link"):
            for first in range(start, at - 1, 2):
                stack.append((kind, first, first + 2))
                open_now[kind] += 1
        elif kind:
            opened = OPENS.get(kind, name)
            for _ in range((at - start) // 2 if kind == "end_braces" else 1):
                while open_now[opened]:
                    top, *span = stack.pop()
                    open_now[top] -= 1
                    if top == opened:
                        break
                    loose.append((span[0], span[1]))
    return loose + [(first, end) for _, first, end in stack]


def _with_content(blocks: list[tuple[int, str]]) -> list[tuple[int, str]]:
    """Without headings under which nothing stands: of lists of references, above all."""
    remaining: list[tuple[int, str]] = []
    for level, text in reversed(blocks):
        if level and (not remaining or 0 < remaining[-1][0] <= level):
            continue
        remaining.append((level, text))
    return remaining[::-1]


def _tidy(line: str) -> str:
    line = BLANKS.sub(" ", line)
    line = OPEN_BRACKET.sub("(", EMPTY_BRACKETS.sub("", line))
    line = BEFORE_SIGN.sub(r"\1", line)
    return "\n".join(part.strip() for part in line.split(BREAK)).strip()


def _flat(text: str) -> str:
    """On one line, without the marks of blocks."""
    text = re.sub(f"{HEADING}[1-6]|{ITEM}[*#:;]", " ", text)
    return " ".join(text.replace(BREAK, " ").split())


def _quotes(match: re.Match[str]) -> str:
    """What is text of a run of apostrophes: 4 are one and a mark of bold, more than 5 have the first as text."""
    count = len(match[0])
    return "'" * (1 if count == 4 else max(0, count - 5))


def _entity(node: Any) -> str:
    try:
        return CONTROLS.sub("", str(node.normalize()))
    except (ValueError, OverflowError):
        return ""


def _unescaped(text: str) -> str:
    from html import unescape

    return unescape(text)
