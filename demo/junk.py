"""The rest of the web: shops, spam, empty pages and lists, all of it invented."""

from collections.abc import Iterator
from random import Random

from passages import Passage

BLOCKED = (
    "lucky-spin-casino.example", "casino-bonus-royale.example", "free-poker-slots.example",
    "cheap-pills-pharmacy.example", "hot-adult-dating.example", "payday-loans-now.example",
    "replica-watches-outlet.example", "warez-torrent-cracks.example",
)  # fmt: skip
THINGS = (
    "garden chair", "desk lamp", "rain jacket", "kettle", "bread knife", "bicycle bell", "wool blanket", "tool box",
    "thermos flask", "notebook", "hiking boots", "bird feeder", "camping stove", "door mat", "alarm clock",
    "watering can",
)  # fmt: skip
MATERIALS = ("beech wood", "stainless steel", "recycled cotton", "enamel", "oiled oak", "aluminium", "merino wool")
HYPE = (
    "best price", "no deposit bonus", "free spins", "instant approval", "limited offer", "click here now",
    "order today", "100% guaranteed", "fast delivery worldwide", "no prescription", "win big", "easy cash",
    "VIP access", "buy cheap", "top rated", "risk free", "exclusive deal", "act now", "double your money",
    "secure payment",
)  # fmt: skip
LOREM = (
    "Lorem ipsum dolor sit amet, consectetur adipiscing elit, sed do eiusmod tempor incididunt ut labore et dolore.",
    "Ut enim ad minim veniam, quis nostrud exercitation ullamco laboris nisi ut aliquip ex ea commodo consequat.",
    "Duis aute irure dolor in reprehenderit in voluptate velit esse cillum dolore eu fugiat nulla pariatur.",
    "Excepteur sint occaecat cupidatat non proident, sunt in culpa qui officia deserunt mollit anim id est laborum.",
)


def made(title: str, lines: list[str], section: str) -> Passage:
    return Passage(title=title, paragraphs=tuple(lines), origin="written for the demo", section=section)


def products(count: int, rng: Random) -> Iterator[Passage]:
    """Pages of a shop: short lines, prices, a table of properties."""
    for number in range(count):
        thing, stuff = rng.choice(THINGS), rng.choice(MATERIALS)
        price = rng.randint(9, 240)
        name = f"{thing.title()} No. {rng.randint(100, 999)}"
        lines = [
            name,
            f"EUR {price}.{rng.choice(('00', '50', '90', '95'))}",
            f"In stock: {rng.randint(1, 80)}",
            "Add to basket",
            "Add to wish list",
            f"A {thing} made of {stuff}.",
            f"Material: {stuff}",
            f"Weight: {rng.randint(1, 40) / 10} kg",
            f"Size: {rng.randint(10, 90)} x {rng.randint(10, 60)} x {rng.randint(5, 40)} cm",
            f"Item number: {rng.randint(10**7, 10**8 - 1)}",
            f"Colour: {rng.choice(('grey', 'sand', 'moss green', 'dark blue', 'brick red'))}",
            f"Rating: {rng.randint(30, 50) / 10} of 5 ({rng.randint(2, 900)} reviews)",
            "Delivery in 2 to 4 days",
            "Returns within 30 days",
            *(
                f"Customers also bought: {rng.choice(THINGS)} ({rng.randint(9, 99)}.00)"
                for _ in range(rng.randint(2, 6))
            ),
        ]
        yield made(name, lines, f"shop/item-{number}")


def spam(count: int, rng: Random) -> Iterator[Passage]:
    """Keyword lists, one repeated sentence, capitals, and link farms."""
    for number in range(count):
        kind = number % 5
        some = rng.sample(HYPE, 6)
        if kind == 0:
            lines = [", ".join(rng.choices(HYPE, k=rng.randint(30, 90))) for _ in range(rng.randint(2, 5))]
        elif kind == 1:
            line = f"{some[0].capitalize()} and {some[1]} only here, {some[2]}, {some[3]}!"
            lines = [line] * rng.randint(8, 30)
        elif kind == 2:
            lines = [
                " ".join(rng.choices(HYPE, k=rng.randint(8, 16))).upper() + " !!!" for _ in range(rng.randint(4, 12))
            ]
        elif kind == 3:
            lines = [
                f"{rng.choice(HYPE)} {rng.choice(THINGS)} >>> http://{rng.choice(BLOCKED)}/{rng.randint(1, 999)}"
                for _ in range(25)
            ]
        else:
            lines = [
                f"Are you looking for a {rng.choice(THINGS)} with {rng.choice(HYPE)}? Then you have come to the right "
                f"place, because our {rng.choice(THINGS)} offers {rng.choice(HYPE)} and {rng.choice(HYPE)}. "
                f"Many people ask for {rng.choice(HYPE)}, and {some[number % 6]} is what they get."
                for _ in range(rng.randint(3, 7))
            ]
        yield made(" ".join(some[:3]).title(), lines, f"offers/{number}")


def thin(titles: list[str], rng: Random) -> Iterator[Passage]:
    """Pages without content: not found, log in, parked, script only, lists of titles, filler text, policies."""
    for number in range(9):
        lines = ["404", "The page that you are looking for does not exist.", "Go back to the start page"]
        yield made("Page not found", lines[number % 2 :], f"missing/{number}")
    for number in range(4):
        yield made(
            "Log in", ["User name", "Password", "Remember me", "Log in", "Forgot your password?"], f"login/{number}"
        )
    for number in range(4):
        lines = ["Please enable JavaScript to view this page.", "This application needs JavaScript and cookies."]
        yield made("App", lines[: 1 + number % 2], f"app/{number}")
    for number in range(4):
        name = f"{rng.choice(THINGS).replace(' ', '-')}-{rng.choice(THINGS).replace(' ', '-')}.example"
        yield made(
            name,
            [f"The domain {name} is for sale.", "Make an offer", "Related searches", *rng.sample(THINGS, 5)],
            f"parked/{number}",
        )
    for number in range(16):
        lines = [f"{title} ({rng.randint(0, 60)})" for title in rng.sample(titles, rng.randint(12, 40))]
        yield made(f"Archive, page {number + 1}", lines, f"archive/{number + 1}")
    for number in range(3):
        yield made("Sample page", [*LOREM[number:], *LOREM] * (number + 1), f"sample-page/{number}")
    for number in range(5):
        site = rng.choice(("our shop", "this forum", "the newsletter", "our web site", "the app"))
        lines = [
            f"This cookie policy explains how {site} makes use of cookies and similar techniques.",
            "A cookie is a small text file that is stored by your browser when you visit a page.",
            f"By using {site} you accept our terms of use and our privacy policy.",
            f"You can delete cookies at any time, but parts of {site} may then no longer work.",
            f"Our privacy policy was last changed on {rng.randint(1, 28)} May 2023 and applies to all who use {site}.",
        ]
        yield made("Cookie policy", lines, f"cookies/{number}")
    for number in range(5):
        rows = [
            f"{rng.randint(0, 23):02}:{rng.randint(0, 59):02} {rng.randint(-9, 31)} {rng.randint(980, 1040)} "
            f"{rng.randint(0, 99)} {rng.randint(0, 30)}.{rng.randint(0, 9)}"
            for _ in range(60)
        ]
        yield made("Station readings", ["time temp pressure humidity wind", *rows], f"readings/{number}")


def personal(rng: Random) -> Iterator[tuple[str, list[tuple[str, str]]]]:
    """Sentences with personal data, and the (kind, value) of each. All values are from ranges reserved for examples."""
    first = ("maria", "jonas", "li.wei", "amara", "peter_k", "s.okafor", "tomasz", "elin")
    hosts = ("example.com", "example.org", "example.net", "mail.example", "harbour.example")
    for number in range(24):
        mail = f"{rng.choice(first)}{rng.randint(1, 99)}@{rng.choice(hosts)}"
        phone = f"+1 {rng.choice((202, 303, 415, 617))}-555-01{rng.randint(0, 99):02}"
        v4 = f"{rng.choice(('192.0.2', '198.51.100', '203.0.113'))}.{rng.randint(1, 254)}"
        v6 = f"2001:db8:{rng.randint(1, 0xFFFF):x}::{rng.randint(1, 0xFFFF):x}"
        kind = number % 8
        if kind in (0, 1):
            yield (
                f"Letters to the editor reach us at {mail}, and we try to answer every one of them.",
                [("email", mail)],
            )
        elif kind == 2:
            yield (
                f"Please send corrections to {mail} or call {phone} in the morning.",
                [("email", mail), ("phone", phone)],
            )
        elif kind == 3:
            yield f"The comment was sent from {v4} shortly after midnight.", [("ipv4", v4)]
        elif kind == 4:
            yield f"The gauge answers at {v6}, and its older brother at {v4}.", [("ipv6", v6), ("ipv4", v4)]
        elif kind == 5:
            card = "4111 1111 1111 1111"
            yield f"Somebody had even written down a card number, {card}, and the date beside it.", [("card", card)]
        elif kind == 6:
            iban = "GB29 NWBK 6016 1331 9268 19"
            yield f"Gifts for the museum may be sent to the account {iban}.", [("iban", iban)]
        else:
            key = "AKIAIOSFODNN7EXAMPLE"
            yield f"In the margin of the print-out stood the key {key}, for everyone to see.", [("secret", key)]
