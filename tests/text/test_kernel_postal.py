"""Postal addresses are proposed by a kernel and confirmed by expressions; trying every character finds the same."""

import pyarrow as pa
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from corpusmill.text.buffers import view
from corpusmill.text.pii import KINDS, pii_spans
from corpusmill.text.pii.postal import (
    STATES,
    STREET_ENDS,
    STREETS,
    VIAS,
    VOIES,
    WEAK_STREET_ENDS,
    WEAK_STREETS,
    WEAK_VIAS,
    WEAK_VOIES,
    address_at,
    address_spans,
)
from text_strategies import strings


def slow(text):
    """From left to right, wherever one begins."""
    at = 0
    while at < len(text):
        end = address_at(text, at)
        if end:
            yield text[at:end]
        at = end or at + 1


def addresses(text):
    raw = text.encode()
    return [raw[start:end].decode() for _, start, end in address_spans(view(strings(text))).tolist()]


WORDS = [*STREETS, *WEAK_STREETS, *VOIES, *WEAK_VOIES, *VIAS, *WEAK_VIAS]
ENDS = [*STREET_ENDS, *WEAK_STREET_ENDS]
NAMES = [
    "Baker",
    "N.",
    "S.E.",
    "Mass.",
    "O'Farrell",
    "Élysée",
    "d'",
    "dell'Arte",
    "Karl-Marx-",
    "5th",
    "The",
    "of",
    "la",
]
PARTS = [
    *["12", "221B", "7-9", "1929", "0", "123456", "12345", "10115", "NW1 6XE", "M5V 2S9", "75002", "1012 AB"],
    *["CA", "NY", "Texas", "D.C.", "London", "Paris", "New York", "Frankfurt am Main", "Apt 4B", "Suite 200", "# 3"],
    *["P.O. Box", "PO Box", "P.O.Box", "post office box", "Postfach", "PSC", "Unit", "Box", "APO", "AE", "Broadway"],
    *["Highway", "Avenue of the", "at", "in", "banks", "Flash", "-", "/", "“", "’", "»", "日", "ß", "\u00a0", "#", "$"],
]
SEPARATORS = [" ", " ", " ", " ", ", ", ",", "\n", ",\n  ", "  ", ".", ""]


@st.composite
def texts(draw):
    word = st.one_of(
        st.sampled_from(NAMES),
        st.sampled_from(WORDS).flatmap(lambda w: st.sampled_from([w, w.title(), w.upper(), f"{w.title()}."])),
        st.sampled_from(ENDS).flatmap(lambda e: st.sampled_from([f"Haupt{e}", f"Karl-Marx-{e}", e.title(), e])),
        st.sampled_from(PARTS),
    )
    pieces = draw(st.lists(st.tuples(word, st.sampled_from(SEPARATORS)), max_size=14))
    return "".join(part for pair in pieces for part in pair)


@given(texts())
@settings(max_examples=1500)
@example("12 Rue de la Paix de la Paix Sainte Marie, 75002 Paris")
@example("“Via dell'Arte Karl-Marx-Allee Baker Baker 12”")
def test_trying_every_character_finds_the_same(text):
    assert addresses(text) == list(slow(text)), text


@given(texts(), st.integers(0, 70))
@settings(max_examples=200)
def test_an_address_is_found_anywhere_in_a_block(text, before):
    text = " " * before + text
    assert addresses(text) == list(slow(text)), text


@given(st.lists(texts(), max_size=6), st.integers(1, 6))
@settings(max_examples=100)
def test_how_documents_are_batched_changes_nothing(documents, size):
    whole = pii_spans(pa.array(documents, pa.large_string()), KINDS).tolist()
    cut = [
        [start + span[0], *span[1:]]
        for start in range(0, len(documents), size)
        for span in pii_spans(pa.array(documents[start : start + size], pa.large_string()), KINDS).tolist()
    ]
    assert whole == cut


@pytest.mark.parametrize(
    "address",
    [
        "12 Baker Street",
        "221B, Baker Street, London NW1 6XE",
        "800 Main St., Suite 4, Austin, TX 78701",
        "1323 S.E. 17th Street",
        "1234 N Martin Luther King Jr. Blvd, Apt 4B\nSpringfield, Illinois 62701-1234",
        "7215 Cameron Road, Austin, TX 78752",
        "1615 L Street NW, Suite 700\n  Washington, D.C. 20036",
        "1633 Broadway, New York, NY 10019",
        "1221 Avenue of the Americas, New York, NY 10020",
        "7215 Highway 71, Austin, TX 78735",
        "501 Rosser Avenue, Brandon, Manitoba R7A 0K4",
        "1 Lincoln Court, Lincoln Road, Peterborough PE1 2RF",
        "3 The Green, Richmond TW9 1PX",
        "P.O. Box 12, Cambridge, MA 02139",
        "PO BOX 1203",
        "Post Office Box 408",
        "Postfach 10 11 61, 69451 Weinheim",
        "PSC 0413, Box 8144\nAPO AA 42323",
        "Hauptstraße 12, 10115 Berlin",
        "Frankfurter Straße 12a",
        "Karl-Marx-Allee 3, D-10178 Berlin",
        "Fritz-Walter-Weg 19\n70372 Stuttgart",
        "Keizersgracht 12, 1015 AB Amsterdam",
        "Västmannagatan 43",
        "12 rue de la Paix, 75002 Paris",
        "70 bis, avenue d'Iéna",
        "3 place de la Concorde, 75008 Paris",
        "Calle Mayor 5, 28013 Madrid",
        "Via dell'Arte, 5, 00184 Roma",
        "Rua João Pessoa 1636",
        "ul. Koszykowa 6a",
    ],
)
def test_an_address_is_found_whole_and_nothing_around_it(address):
    assert addresses(address) == [address]
    assert addresses(f"They live at {address}, or did.") == [address]
    assert addresses(f"日本 “{address}”") == [address]
    assert addresses(f"Jane Doe\n{address}\n(212) 555-0143") == [address]


@pytest.mark.parametrize(
    "text",
    [
        "in 1929 Wall Street crashed; May 5, 1990 Park Avenue",
        "9 Wall Street banks, 5 Main Street shops",
        "a 3 Bedroom Court, 8 Flash Drives, a 130 MB Hard Drive, 64 Flash Drive",
        "5 Mount St Helens, 14 Lake St. Petersburg",
        "110 S. Ct. 1839 (1990)",
        "5-1 ON THE ROAD, 2 T External drive, 89 Toyota Celica ST",
        "12 baker street",
        "Chapter 12 The Road",
        "$12 Baker Street, 1.12 Baker Street, #12 Baker Street, x12 Baker Street",
        "012 Baker Street, 123456 Baker Street",
        "Bundesstraße 224, Straße 2016, Hauptstraße 2016",
        "via Windows 95, Via Satellite 3, Plaza 5, Unit 3 Box 12",
        "3 place Finish, 2 cours Elementaire",
        "Cupertino, CA 95014",
        "Illustr. 12, Weg 5, Beitrag 12",
        "12 Baker, Street",
        "Copyright: 1987-1994, Anne M. Hill",
        "Copyright (C) 1987 Anne M. Drive",
        "© 1987-94 Anne Court\n\n2001, Anne M. Street",
        "1987 – 1994, Anne Park Drive and 1987–1994 Anne Park Drive",
        "(c) 1987-1994 Anne Lane, Springfield, IL 62701",
        "Copyright 1994 rue de la Paix",
    ],
)
def test_what_only_looks_like_one_is_not(text):
    assert addresses(text) == []


def test_a_word_on_its_own_line_counts_like_one_that_says_street():
    assert addresses("Jane Doe\n9 Palace Court\nLeeds") == ["9 Palace Court"]
    assert addresses("| 1312 Carlton Place | Phone") == ["1312 Carlton Place"]
    assert addresses("the 9 Palace Court cases") == []


def test_a_year_counts_after_at_and_with_a_place():
    assert addresses("at 1990 Park Avenue") == ["1990 Park Avenue"]
    assert addresses("in 1990 Park Avenue, New York, NY") == ["1990 Park Avenue, New York, NY"]
    assert addresses("in 1990-92 Park Avenue, New York, NY") == ["1990-92 Park Avenue, New York, NY"]
    assert addresses("1990, Park Avenue, New York, NY") == ["1990, Park Avenue, New York, NY"]


@pytest.mark.parametrize("state", STATES)
def test_every_state_is_one(state):
    address = f"12 Oak Lane, Springfield, {state.replace('_', ' ')} 62701"
    assert addresses(f"{address} USA") == [address]


def test_another_kind_has_precedence():
    raw = "12 Main St, Austin, TX 78701 +49 30 901820"
    spans = pii_spans(strings(raw), ["address", "phone"])
    assert [(KINDS[kind], raw[start:end]) for _, kind, start, end in spans.tolist()] == [
        ("address", "12 Main St, Austin, TX 78701"),
        ("phone", "+49 30 901820"),
    ]
    key = "AKIA" + "QYLPMN5H7XKTZ3WB"
    assert pii_spans(strings(f"12 Main St, Suite {key}"), ["address", "secret"])[:, 1].tolist() == [
        KINDS.index("address"),
        KINDS.index("secret"),
    ]
