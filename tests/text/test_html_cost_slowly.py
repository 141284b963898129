"""The cost of a page, against a parser of tags in regular expressions."""

import re
from typing import Any

from hypothesis import example, given, settings
from hypothesis import strategies as st

from corpusmill.text.html_cost import (
    LONGEST_LIST,
    MIN_COUNTED_ATTRIBUTES,
    Cost,
    html_cost,
)

WS = rb" \n\t\r\f"
NAME = re.compile(rb"[^%b/>]*" % WS)
ATTRIBUTE = re.compile(
    rb"""[%(ws)b/]*+[^>][^%(ws)b/>=]*+(?:[%(ws)b]*+=[%(ws)b]*+(?:"[^"]*+(?:"|\Z)|'[^']*+(?:'|\Z)|[^%(ws)b>]*+))?"""
    % {b"ws": WS}
)
RAW = b"script style textarea title xmp iframe noembed noframes".split()
FORMATTING = b"a b big code em font i nobr s small strike strong tt u".split()

ATOMS = [
    *(
        b"<" + name
        for name in b"p b i font FONT a svg math script Style title html body BODY textarea custom-element".split()
    ),
    *(b"</" + name for name in b"p b i font a svg math script style title html scripts textarea".split()),
    *(b" a=1", b" a", b" b='x>y'", b' c = "<p d>"', b" =", b"=", b"'", b'"', b"/", b"\xc3\xa9", b"\0", b"x", b"-"),
    *(b">", b">", b">", b"<", b" ", b"\n", b"<!--", b"-->", b"--", b"<!", b"<?", b"</", b"<\xc3\xa9 a>"),
    b" " + b" ".join(b"k%d" % i for i in range(MIN_COUNTED_ATTRIBUTES + 2)),
]
pages = st.lists(st.sampled_from(ATOMS), max_size=25).map(b"".join)


def slow_attributes(page: bytes, at: int) -> tuple[int, Any, int]:
    """How many attributes a tag has from a position on, what tells them from others, and where the tag ends."""
    begin, count = at, 0
    while found := ATTRIBUTE.match(page, at):
        if not found[0].strip(WS + b"/"):  # nothing but white space before the end of the page
            break
        count, at = count + 1, found.end()
    while at < len(page) and page[at] in WS + b"/":
        at += 1
    return count, page[begin:at] if count else at - begin, min(at + 1, len(page))


def end_of_raw(page: bytes, at: int, name: bytes) -> int:
    for found in re.compile(rb"(?=</([^%b/>]*))" % WS).finditer(page, at):
        if found[1].lower() == name:
            return found.start()
    return len(page)


def slow_cost(page: bytes) -> Cost:
    most = pairs = again = depth = at = 0
    of_once = {b"html": 0, b"body": 0}
    still_open: list[tuple[bytes, Any]] = []
    while (at := page.find(b"<", at) + 1) > 0:
        if page[at : at + 1] in (b"!", b"?"):
            comment = page[at : at + 3] == b"!--"
            end = page.find(b"-->", at + 1) + 2 if comment else page.find(b">", at + 1)
            if end < at:
                break
            at = end + 1
            continue
        is_end = page[at : at + 1] == b"/"
        at += is_end
        if not page[at : at + 1].isalpha():
            continue
        name = NAME.match(page, at)[0].lower()
        count, attributes, at = slow_attributes(page, at + len(name))
        most = max(most, count)
        pairs += count * count * (count > MIN_COUNTED_ATTRIBUTES)
        if name in (b"svg", b"math"):
            depth = max(0, depth + (-1 if is_end else 1))
        elif name not in FORMATTING:
            again += len(still_open)
            if name in of_once and not is_end:
                pairs += count * of_once[name]
                of_once[name] += count
                most = max(most, of_once[name])
            if name in RAW and not is_end and depth == 0:
                at = end_of_raw(page, at, name)
        elif is_end:
            of_name = [i for i, (other, _) in enumerate(still_open) if other == name]
            if of_name:
                del still_open[of_name[-1]]
        elif still_open.count((name, attributes)) < 3 and len(still_open) < LONGEST_LIST:
            still_open.append((name, attributes))
    return Cost(most, pairs, again)


@settings(max_examples=300, deadline=None)
@given(pages)
@example(b"<!--><p a>")
@example(b"<!---><p a>")
@example(b"<!--->x--><p a>")
@example(b"<script></</script><p a>")
@example(b"<p a = >")
@example(b"<p a=")
@example(b"<p /// ")
def test_a_page_costs_what_a_parser_in_expressions_counts(page):
    assert html_cost(page) == slow_cost(page)


@settings(max_examples=40, deadline=None)
@given(pages, st.binary(max_size=40))
def test_a_page_that_is_cut_or_followed_costs_no_less_in_elements_made_again(page, rest):
    """What comes later changes nothing of what was counted before, except in a tag that was cut."""
    whole = html_cost(page + b">" + rest)
    assert whole.again >= 0 and whole.attributes >= 0
    assert html_cost(page + b"><p>").again >= html_cost(page + b">").again
