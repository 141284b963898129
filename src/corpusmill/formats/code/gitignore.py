"""Patterns of .gitignore and .gitattributes, as git reads them (gitignore(5))."""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import lru_cache


@dataclass(frozen=True)
class Pattern:
    """One line: what it matches below the folder of its file, and what that means.

    folders   whether it matches folders alone
    negated   "!": what it matches is not ignored after all
    """

    regex: re.Pattern[str]
    folders: bool = False
    negated: bool = False

    def fits(self, path: str, is_folder: bool) -> bool:
        return (is_folder or not self.folders) and self.regex.fullmatch(path) is not None


@lru_cache(4096)
def pattern(line: str) -> Pattern | None:
    """The pattern of a line; None for comments, blank lines and what git takes for nothing."""
    line = line.rstrip("\r\n")
    if line.startswith("#"):
        return None
    line = re.sub(r"(?<!\\)((?:\\\\)*) +$", r"\1", line)
    negated = line.startswith("!")
    line = line[negated:]
    folders = line.endswith("/")
    line = line[: len(line) - folders]
    if not line:
        return None
    anchored = "/" in line
    line = line.removeprefix("/")
    try:
        regex = re.compile(("" if anchored else "(?:.*/)?") + _translated(line), re.S)
    except re.error:  # "[z-a]" and "[" match nothing
        return None
    return Pattern(regex, folders, negated)


def _translated(glob: str) -> str:
    out, at = "", 0
    while at < len(glob):
        remaining = glob[at:]
        first = at == 0 or glob[at - 1] == "/"
        if first and remaining.startswith("**/"):
            out, at = out + "(?:.*/)?", at + 3
        elif first and remaining == "**":
            out, at = out + ".+", at + 2
        elif remaining[0] == "*":
            stars = len(remaining) - len(remaining.lstrip("*"))
            out, at = out + "[^/]*", at + stars
        elif remaining[0] == "?":
            out, at = out + "[^/]", at + 1
        elif remaining[0] == "[" and (bracket := re.match(r"\[([!^]?)(\]?(?:\[:\w+:\]|\\.|[^\]\\])*)\]", remaining)):
            out, at = out + _set(bracket[1], bracket[2]), at + bracket.end()
        elif remaining[0] == "[":
            raise re.error("a set that does not end")
        elif remaining[0] == "\\" and len(remaining) > 1:
            out, at = out + re.escape(remaining[1]), at + 2
        else:
            out, at = out + re.escape(remaining[0]), at + 1
    return out


CLASSES = {"alpha": "a-zA-Z", "digit": "0-9", "alnum": "a-zA-Z0-9", "upper": "A-Z", "lower": "a-z", "space": r"\s",
           "xdigit": "0-9a-fA-F", "punct": r"!-/:-@\[-`{-~", "blank": r" \t"}  # fmt: skip


def _set(negation: str, inside: str) -> str:
    members = re.sub(r"\[:(\w+):\]", lambda found: f"\0{found[1]}\0", inside)
    members = members.replace("[", r"\[").replace("&&", r"&\&").replace("||", r"|\|").replace("~~", r"~\~")
    members = (rf"\{members}" if members.startswith(("]", "^")) else members).replace("--", r"-\-")
    members = re.sub("\0(\\w+)\0", lambda found: CLASSES.get(found[1], ""), members)
    return f"(?!/)[{'^' if negation else ''}{members}]"


@dataclass
class Ignored:
    """Which paths the files called .gitignore ignore, folder by folder.

    files   folder ("" is the root) -> the lines of its file
    more    lines that hold for the root, after its own
    """

    files: Mapping[str, str]
    more: Iterable[str] = ()
    _rules: dict[str, list[Pattern]] = field(init=False, default_factory=dict)
    _known: dict[str, bool] = field(init=False, default_factory=dict)

    def __post_init__(self) -> None:
        for folder, text in self.files.items():
            self._rules[folder] = patterns(text.split("\n"))
        if extra := patterns(self.more):
            self._rules[""] = [*self._rules.get("", []), *extra]

    def is_ignored(self, path: str) -> bool:
        """Whether a file is: by a pattern that fits it, or as it is in a folder that is."""
        if not self._rules:
            return False
        parts = path.split("/")
        return any(self._is("/".join(parts[:size]), size < len(parts)) for size in range(1, len(parts) + 1))

    def _is(self, path: str, is_folder: bool) -> bool:
        key = f"{path}/" if is_folder else path
        if key not in self._known:
            self._known[key] = self._decided(path, is_folder)
        return self._known[key]

    def _decided(self, path: str, is_folder: bool) -> bool:
        parts = path.split("/")
        for size in range(len(parts) - 1, -1, -1):  # the nearest file decides, and its last line that fits
            folder = "/".join(parts[:size])
            inside = "/".join(parts[size:])
            for rule in reversed(self._rules.get(folder, [])):
                if rule.fits(inside, is_folder):
                    return not rule.negated
        return False


def patterns(lines: Iterable[str]) -> list[Pattern]:
    return [rule for rule in map(pattern, lines) if rule is not None]


@dataclass
class Attributes:
    """What .gitattributes files say: `linguist-generated`, `linguist-vendored`, `linguist-documentation`,
    `linguist-language`.

    files   folder -> the text of its file
    """

    files: Mapping[str, str]
    _rules: dict[str, list[tuple[Pattern, dict[str, str]]]] = field(init=False, default_factory=dict)

    def __post_init__(self) -> None:
        for folder, text in self.files.items():
            for line in text.split("\n"):
                name, _, assignments = line.strip().partition(" ")
                values = dict(_attribute(attribute) for attribute in assignments.split() if "linguist-" in attribute)
                if values and (rule := pattern(name)) is not None and not rule.negated and not rule.folders:
                    self._rules.setdefault(folder, []).append((rule, values))

    def of_path(self, path: str) -> dict[str, str]:
        """attribute -> "true", "false" or its value."""
        merged: dict[str, str] = {}
        if self._rules:
            parts = path.split("/")
            for size in range(len(parts)):
                for rule, values in self._rules.get("/".join(parts[:size]), []):
                    if rule.fits("/".join(parts[size:]), False):
                        merged |= values
        return merged


def _attribute(assignment: str) -> tuple[str, str]:
    name, _, value = assignment.lstrip("-!").partition("=")
    return name, value or ("false" if assignment.startswith(("-", "!")) else "true")
