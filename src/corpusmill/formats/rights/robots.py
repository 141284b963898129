"""robots.txt: whether an agent may fetch an address, and what Content-Signal, Content-Usage and License say to it.

Groups are divided here, because Content-Signal and Content-Usage hold for a group and because an agent obeys the groups
of its own name alone; paths are matched by Protego, Scrapy's parser. Of the 137 cases in the tests of Google's parser
134 are answered alike, 124 by Protego alone; in the other three RFC 9309 says that escapes are undone before a
comparison, and so it is here (tests/formats/test_robots.py).
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

from corpusmill.assets.extras import RIGHTS

MAX_LINE_CHARACTERS = 8 * 2083 - 1  # characters; Google cuts a line here
MAX_FILE_BYTES = 500 << 10  # bytes of a file that are read: RFC 9309, section 2.5, demands as many
EVERYBODY = "*"
LINE_ENDS = re.compile(r"\r\n|\r|\n")
USER_AGENT = re.compile(r"(?:user[ -]?agent)\s*(?::|\s)\s*(.*)", re.I)  # with the colon forgotten, too
TOKEN = re.compile(r"[A-Za-z0-9_-]+")  # RFC 9309 has no digits, and there are agents with some
RULE = re.compile(r"(?:dis+al+ow|allow|content-signal|content-usage)\b", re.I)
USAGE = re.compile(r"content-usage\s*:\s*(.*)", re.I)
LICENSE = re.compile(r"license\s*:\s*(https?://\S+)", re.I)
SIGNAL = re.compile(r"content-signal\s*:\s*(.*)", re.I)
SETTING = re.compile(r"([a-z-]+)\s*=\s*(yes|no)", re.I)
CACHED_FILES = 1024  # files, parsed


@dataclass(frozen=True)
class AgentRules:
    """What a file says to an agent: the lines of all groups that name it."""

    rules: str = ""
    signals: dict[str, str] = field(default_factory=dict)  # ai-train, ai-input, search … -> "yes" or "no"
    usage: tuple[str, ...] = ()  # rules of Content-Usage: [path] preferences


class Robots:
    """One robots.txt. Never fails: what is no rule is left out.

    licences   the addresses of its licences by RSL, which are for every agent
    """

    def __init__(self, text: str) -> None:
        self._lines, self._usage = _groups(text)
        self.licences = tuple(match[1] for line in _lines_of(text) if (match := LICENSE.fullmatch(line)))
        self._groups: dict[str, AgentRules] = {}
        self._parsed: dict[str, Any] = {}

    def group(self, agent: str) -> AgentRules:
        """The group of an agent by its product token, as GPTBot; that of "*" if none names it."""
        name = agent.lower()
        if name not in self._groups:
            lines = self._lines.get(name, self._lines.get(EVERYBODY))
            usage = _usage([*self._usage, *(lines or [])])
            rules = [line for line in lines or [] if not USAGE.fullmatch(line)]
            self._groups[name] = AgentRules("\n".join(rules), _signals(rules), usage)
        return self._groups[name]

    def allows(self, agent: str, url: str) -> bool:
        """Whether an agent may fetch an address of this host. RFC 9309, section 2.2.2: the longest rule that matches
        decides, and of equal ones the one that allows."""
        rules = self.group(agent).rules
        if not rules:
            return True
        if rules not in self._parsed:
            try:
                from protego import Protego
            except ImportError:
                raise RIGHTS.error("annotate/rights with captures of robots.txt") from None

            self._parsed[rules] = Protego.parse(f"user-agent: *\n{rules}")
        return bool(self._parsed[rules].can_fetch(url, EVERYBODY))


@lru_cache(CACHED_FILES)
def robots(text: str) -> Robots:
    return Robots(text)


def settings(signal: str) -> dict[str, str]:
    """The settings of a Content-Signal: {"ai-train": "no", "search": "yes"}. One that is said twice is "no" if it is
    that once.

    >>> settings("search=yes, ai-train=no")
    {'search': 'yes', 'ai-train': 'no'}
    """
    values: dict[str, str] = {}
    for part in signal.split(","):
        if match := SETTING.fullmatch(part.strip()):
            name, value = match[1].lower(), match[2].lower()
            values[name] = "no" if "no" in (value, values.get(name)) else value
    return values


def _lines_of(text: str) -> Iterator[str]:
    for raw in LINE_ENDS.split(text.removeprefix("\ufeff")):
        yield raw[:MAX_LINE_CHARACTERS].partition("#")[0].strip()


def _groups(text: str) -> tuple[dict[str, list[str]], list[str]]:
    """agent in lower case -> the lines of its groups; and those of Content-Usage before all groups, which hold for all:
    RFC 9309 would pass over them, and hosts mean them."""
    before: list[str] = []
    groups: dict[str, list[str]] = {}
    agents: list[str] = []
    open_head = False  # whether the line before named an agent, too: then both begin a group
    for line in _lines_of(text):
        if match := USER_AGENT.fullmatch(line):
            if not open_head:
                agents = []
            open_head = True
            agent = match[1].strip()
            token = TOKEN.match(agent)
            if agent == EVERYBODY or agent.startswith(("* ", "*\t")):
                agents.append(EVERYBODY)
            elif token:
                agents.append(token[0].lower())
            for name in agents:
                groups.setdefault(name, [])
        elif RULE.match(line):
            open_head = False
            if not groups and USAGE.fullmatch(line):
                before.append(line)
            for name in dict.fromkeys(agents):
                groups[name].append(line)
    return groups, before


def _usage(lines: list[str]) -> tuple[str, ...]:
    return tuple(match[1] for line in lines if (match := USAGE.fullmatch(line)))


def _signals(lines: list[str]) -> dict[str, str]:
    return settings(",".join(match[1] for line in lines if (match := SIGNAL.fullmatch(line))))
