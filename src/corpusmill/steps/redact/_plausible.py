"""Which of the spans that a named-entity model reports can be names: small models report headings, products and code.

A span is cut to what looks like a name: at the end of a line, before "'s", and without marks at its ends. A word of a
name begins with a capital and goes on in lower case (Anna, O'Brien, McCarthy, Smith-Jones), is an initial (J., J), or,
between two others, a particle (van, de la). Names of people have two words or more, unless a title precedes (Dr Brown,
by Brown) or the same document has a longer name with that word (Anna Brown … Brown).
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

# A word of a name; capitals within it only after an apostrophe or a hyphen, and in Mc, Mac, De, Di, La, Le, Van.
UPPER = "[^\\W\\d_a-zß-öø-ÿ]"
LOWER = "[^\\W\\d_A-ZÀ-ÖØ-Þ]"
PART = rf"(?:(?:Mc|Mac|De|Di|Du|La|Le|Van|Fitz)?{UPPER}{LOWER}+|{UPPER}['’]{UPPER}{LOWER}+)"
WORD = re.compile(rf"{PART}(?:[-'’]{PART}|['’]{LOWER}+)*")
INITIAL = re.compile(rf"{UPPER}\.?(?:-?{UPPER}\.)*")
PARTICLES = frozenset(
    "af al ap av ben bin bint da dal das de del della den der des di do dos du el ibn la las le los of och "
    "ten ter und van von y zu zum zur".split()
)
TITLES = frozenset(
    "mr mrs ms miss mx dr prof professor sir dame lord lady madam madame monsieur herr frau señor señora signor don "
    "president chancellor senator governor mayor minister premier judge justice captain colonel general lieutenant "
    "major sergeant admiral inspector detective officer doctor nurse father sister brother rabbi imam pope bishop "
    "archbishop cardinal reverend rev saint king queen prince princess duke duchess emperor coach by uncle aunt".split()
)
# Words that no name of a person has: of pages and menus, of programs and their manuals, products and firms, calendars.
# Compiled for this project; given names and surnames that are ordinary words (Bill, Baker, Rose) are not in it.
NEVER = frozenset(
    """
about accept access account action actions add address advanced advertise album alert alerts all america american and
answer answers app appendix apple apps archive archives array article articles asia ask attendance attribute author
average award awards back bank beta blog blogger blogs board book books bookmark bot box boxing browse browser bug
business button buy calendar call career careers cart catalog categories category celebrity cell center central centre
champion championship change channel chapter chat check chrome city class classes click clothes cloud club code
collection college column columns comedy command comment comments committee common community company compare computer
conditions conference config console contact contents continue control cookie cookies copy copyright council country
county courier course create credit crime cup custom customer daily data database date days deal deals debug default
defense delete delivery demo department description design details development device digest digital directory
discipline display document documentation documents domain download downloads draft drop drupal edit edition editor
editorial education element email encyclopedia energy engine entertainment entry environment error errors europe
european event events example examples exchange exercise exit expert explorer express external extension extras
facebook facts family fan fashion feature features federal feed feedback file files film filter finance find firefox
first flag flash flickr float follow food football footer for format forum forums foundation frame free function
functions gallery game games get gift gifts git github global gmail go golf google group groups guardian guide guides
guilty handler hardware headline headlines health help hide high history home hotel hotels house how html http icon
image images index indian inc info information input insert inside instagram install insurance integer interface
international internet interview introduction iphone ipad issue issues item items iterate java javascript job jobs
join journal json kernel key keyboard keywords kindle kit language latest law league learn learning legal less letters
level library license licence life like limited link linkedin links linux list lists live loading local location log
login logout machine magazine mail main make manager manual map maps market marketing markets media member members
menu message messages method metallica microsoft military mobile mode model module modules money month more mortgage
mountain movie movies museum music myspace name names namespace national navigation netflix network new news
newsletter newsletters newspaper next node north note notes nothing notice number object office official offline one
online open opera opinion option options oracle order orchestra org other our out output overview package pages panel
parameter parent parser partner partners password path pattern paypal people perl permalink phone photo photos
physical php pinterest play player pleasures plugin podcast podcasts poker policies policy political politics popular
post posted posts premium press previous print printer privacy product products profile program programming programs
project properties property public publisher python query question questions quick quit quote quotes radio rails
random rate ratings reader reading real recent recipe recipes record reddit refer reference register registry related
release remove reply report reports request reserved reset resource resources response restaurant result results
resume return reuters review reviews rights rss ruby rule rules rust safari sales salesperson sample save scheme
school science scope scopes score scores screen script scroll search season second section security see select sell
send senior series server service services session set settings shape share sheet shop shopping show sign site sitemap
size skip sky skype sms social society software song sorry sort source south space special sport sports sql sqlite
staff standard star start state statement statements stats status stock stocks stone store stories story stream street
string strings struct style submit subscribe subscription success summary support survey symbolic syntax system table
tag tags tales taxes team tech technical technology template terms test testing text the theater theatre theme thread
tickets time times tip tips title today tool tools top topic topics total tour tours trademark trading traffic
transfer translate travel trial trust tutorial tutorials tv tweet tweets twitter type types uncategorized united
unicode union university unix unsubscribe update updated updates upload url usage user users using utility value
values variable vector version video videos view views visit volume wallpaper war watch weather web webmaster website
week weekly west what when where who why wiki wikipedia window windows wine wire women word wordpress words work world
worldwide write yahoo year years yes you your youtube zero zone zoom january february march july august september
october november december feb mar apr jun jul aug sep sept oct nov dec monday tuesday wednesday thursday friday
saturday sunday mon tue wed thu fri sat sun ltd llc gmbh corp plc spa co co. inc. ltd. corp. road avenue lane drive
boulevard square terrace strasse str rua airport bay beach harbour hospital island islands mountains ocean river sea
station valley village
""".split()
)


@dataclass(frozen=True)
class NameRules:
    """What counts as a name.

    min_words   the least words of a person's name that nothing before it makes one
    allow       what is never a name: a word or words, compared without case; or, between slashes, an expression that
                all of a name matches
    """

    min_words: int
    allow: tuple[str, ...]

    def allowed(self, name: str) -> bool:
        """Whether a name is one of those that stay."""
        return name.casefold() in _plain(self.allow) or any(e.fullmatch(name) for e in _expressions(self.allow))


def _plain(allow: tuple[str, ...]) -> set[str]:
    return {entry.casefold() for entry in allow if not is_expression(entry)}


def _expressions(allow: tuple[str, ...]) -> list[re.Pattern[str]]:
    return [re.compile(entry[1:-1]) for entry in allow if is_expression(entry)]


def is_expression(entry: str) -> bool:
    return len(entry) > 2 and entry[0] == entry[-1] == "/"


def plausible(text: str, spans: Sequence[tuple[str, int, int]], rules: NameRules) -> Iterator[tuple[str, int, int]]:
    """The spans that are names by these rules, cut to them; kind, first character and end, in order."""
    cut = [(kind, *trimmed(text, start, end)) for kind, start, end in spans]
    names = [(kind, start, end) for kind, start, end in cut if _is_name(text, kind, start, end, rules)]
    full = [(kind, start, end) for kind, start, end in names if kind != "person" or _stands(text, start, end, rules)]
    name_words = {name for kind, start, end in full if kind == "person" for name in text[start:end].split()}
    accepted = set(full)
    for span in names:
        if span in accepted or text[span[1] : span[2]] in name_words:
            yield span


def trimmed(text: str, start: int, end: int) -> tuple[int, int]:
    """The part of a span on its first line that has letters, without marks at its ends, "'s", numbers and titles.

    >>> text = "• Mr Brown's\\nHome"
    >>> start, end = trimmed(text, 0, len(text))
    >>> text[start:end]
    'Brown'
    """
    while start < end and not text[start].isalpha():
        start += 1
    end = min([end, *(at for at in (text.find(mark, start, end) for mark in "\n\r\t\x0b\x0c•|") if at >= 0)])
    while True:
        before = start, end
        while start < end and not (
            text[end - 1].isalpha() or (text[end - 1] == "." and text[end - 2 : end - 1].isupper())
        ):
            end -= 1
        if text[start:end].endswith(("'s", "’s")):
            end -= 2
        last = text.rfind(" ", start, end) + 1
        if last > start and any(character.isdigit() for character in text[last:end]):
            end = last
        first, _, remainder = text[start:end].partition(" ")
        if remainder and first.casefold().rstrip(".") in TITLES:
            start = end - len(remainder)
        while start < end and text[start].isspace():
            start += 1
        if (start, end) == before:
            return start, end


def _is_name(text: str, kind: str, start: int, end: int, rules: NameRules) -> bool:
    """Whether all words are those of a name, and none is one that names do not have."""
    name = text[start:end]
    words = name.split()
    if not words or rules.allowed(name) or _in_code(text, start, end):
        return False
    if not all(
        WORD.fullmatch(part) or INITIAL.fullmatch(part) or (0 < n < len(words) - 1 and part in PARTICLES)
        for n, part in enumerate(words)
    ):
        return False
    if INITIAL.fullmatch(words[-1]) or not any(WORD.fullmatch(part) for part in words):
        return False
    return kind != "person" or not any(part.casefold() in NEVER for part in words)


def _in_code(text: str, start: int, end: int) -> bool:
    """Whether a mark of code or of an address is beside it."""
    before, after, second = text[start - 1 : start], text[end : end + 1], text[end + 1 : end + 2]
    marks = "_/\\@#=<>{}[]$~^`*0123456789"
    return (
        (before != "" and before in marks)
        or (after != "" and after in marks)
        or (after in (*"(:",) and second.isalnum())
    )


def _stands(text: str, start: int, end: int, rules: NameRules) -> bool:
    """Whether a person's name has words enough, or a title before it."""
    if len(text[start:end].split()) >= rules.min_words:
        return True
    before = text[max(0, start - 20) : start].split()
    return bool(before) and text[start - 1 : start] == " " and before[-1].casefold().rstrip(".") in TITLES
