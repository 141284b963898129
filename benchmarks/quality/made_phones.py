"""Telephone numbers of all countries, made from the example numbers of phonenumbers' metadata, in sentences, and
numbers that are none: judged with the country given, and with none.

A number is an example of a country's fixed lines or mobiles with other last digits that is valid, as the country writes
it (libphonenumber's national format), or in digits alone. Sentences are divided by a hash of their template: forms are
chosen with the development half.
"""

import random
from collections.abc import Iterator
from hashlib import sha256

import pyarrow as pa

from benchmarks.common import Figure, row, table
from corpusmill.steps.personal_data import find

SEED, EACH, OTHERS = 20251, 6, 600  # numbers of a country and type; false numbers of a form
PRECISION, RECALL = 0.95, 0.80

LABELLED = """
Tel. {n}|Phone: {n}|Telephone {n}, Monday to Friday|Call us on {n} today.|You can reach me at {n}.|Fax: {n}
Mobile: {n}|Please ring {n} for an appointment.|For bookings call {n} or write to us.|Tel.: {n} - Fax on request
Telefon: {n}|Tel {n}|Téléphone : {n}|Teléfono: {n}|Telefone: {n}|Telefoon {n}|Telefono {n}|Handy: {n}|Mobil: {n}
Тел.: {n}|Телефон {n}|電話:{n}|电话:{n}|전화 {n}|Τηλ. {n}|هاتف {n}|WhatsApp {n}|Contact number: {n}
My number is {n}, call any time.|Our phone number is {n}.|Text {n} to join.|Cell {n}|Office: {n}
Dr Baker's surgery (tel {n}) is closed.|Hotline {n}|Customer service: call {n}|{n} (mobile)|{n} (office)
""".replace("\n", "|")
UNLABELLED = """
Mill Lane 4, {n}|info at the front desk, {n}, daily|Anna Berg | {n} | Sales|{n}|Contact: {n}|Garage Miller {n}
Opening hours 9 to 5. {n}. Closed on Sundays.|Write to us, or {n}.
""".replace("\n", "|").replace(" | ", " / ")
NO_NUMBERS = """
Order {d6}-{d4} was shipped.|ISBN {d3}-{d1}-{d5}-{d3}-{d1}|The total was {d3} {d3} {d3} in 2019.|Invoice no. {d10}
Between {year}-{year} it grew.|Published {day}.{month}.{year} in print.|On {year}-{month}-{day} at noon.|Page {d3}-{d3}
Version {d1}.{d2}.{d4} is out.|{d2}.{d6}, {d2}.{d6} are the coordinates.|Population: {d3},{d3},{d3}
Article number {d8}|Tracking {d12}|Item {d4}-{d4}-{d4} is sold out.|Scores: {d2}-{d2}, {d2}-{d2}, {d2}-{d2}
{d2}/{d2}/{d4} {d2}:{d2}|Grant {d3}/{d5} of the ministry|ISSN {d4}-{d4}|Case {d2}-{d5} was dismissed.
Account {d3} {d4} {d4}|It costs {d1} {d3} {d3} a year.|The call cost {d3} {d3} last year.|Part {d5}-{d5} fits.
Tax number {d3}/{d4}/{d4}|Room {d3}, {d3}, {d4}|In {year} {d3} {d3} people lived there.|Patent {d1},{d3},{d3}
Serial 0{d3}-{d6}|Lot 0{d2} {d3} {d4}|Item (0{d2}) {d6}|Reference 0{d9}
""".replace("\n", "|")


def templates(text: str, part: str) -> list[str]:
    return [t for t in (t.strip() for t in text.split("|")) if t and half(t) == part]


def half(template: str) -> str:
    return "test" if sha256(template.encode()).digest()[0] % 2 else "development"


def numbers(rng: random.Random) -> Iterator[tuple[str, str]]:
    """(country, number in national form)"""
    import phonenumbers as p

    for region in sorted(p.SUPPORTED_REGIONS):
        for kind in (p.PhoneNumberType.FIXED_LINE, p.PhoneNumberType.MOBILE):
            if (example := p.example_number_for_type(region, kind)) is None:
                continue
            made, tries = 0, 0
            while made < EACH and tries < 50 * EACH:
                tries += 1
                raw = p.national_significant_number(example)
                other = raw[:-4] + "".join(rng.choice("0123456789") for _ in range(4))
                number = p.parse(p.format_number(example, p.PhoneNumberFormat.E164)[: -len(raw)] + other)
                if not p.is_valid_number_for_region(number, region):
                    continue
                made += 1
                national = p.format_number(number, p.PhoneNumberFormat.NATIONAL)
                yield region, national if rng.random() < 0.85 else "".join(filter(str.isdigit, national))


def false_number(template: str, rng: random.Random) -> str:
    for digits in range(12, 0, -1):
        while f"{{d{digits}}}" in template:
            value = str(rng.randrange(1, 10)) + "".join(rng.choice("0123456789") for _ in range(digits - 1))
            template = template.replace(f"{{d{digits}}}", value, 1)
    for name, low, high in (("year", 1950, 2025), ("month", 1, 12), ("day", 1, 28)):
        while f"{{{name}}}" in template:
            template = template.replace(f"{{{name}}}", f"{rng.randint(low, high):02}", 1)
    return template


def cases(part: str, labelled: bool) -> tuple[list[str], list[str], set[tuple[int, int, int]]]:
    """texts, the country of each, and the spans of the numbers: text, first byte, end"""
    rng = random.Random(f"{SEED} {part} {labelled}")
    forms = templates(LABELLED if labelled else UNLABELLED, part)
    texts: list[str] = []
    regions: list[str] = []
    wanted: set[tuple[int, int, int]] = set()
    known = sorted(numbers(rng))
    for region, number in known:
        before, _, after = rng.choice(forms).partition("{n}")
        first = len(before.encode())
        wanted.add((len(texts), first, first + len(number.encode())))
        texts.append(before + number + after)
        regions.append(region)
    for template in templates(NO_NUMBERS, part):
        for _ in range(OTHERS // 10):
            texts.append(false_number(template, rng))
            regions.append(rng.choice(known)[0])
    return texts, regions, wanted


def run() -> list[Figure]:
    print("## telephone numbers of all countries, made from examples of phonenumbers, and numbers that are none\n")
    table("half", "sentences", "country", "labelled", "found", "precision", "recall")
    figures = []
    for part in ("development", "test"):
        for labelled in (True, False):
            texts, countries, wanted = cases(part, labelled)
            for given in (True, False) if labelled else (True,):
                found = _found(texts, countries if given else None)
                precision, recall = len(found & wanted) / max(1, len(found)), len(found & wanted) / len(wanted)
                what = "with a word for telephone" if labelled else "without such a word"
                whose = "given" if given else "none"
                values = f"{len(wanted):,}", f"{len(found):,}", f"{precision:.4f}", f"{recall:.4f}"
                row(part, what, whose, *values)
                if part == "test" and labelled:
                    for name, value, bar in (("precision", precision, PRECISION), ("recall", recall, RECALL)):
                        figures.append(
                            Figure(f"telephone numbers made, {what}, country {whose}: {name}", value, "", bar, digits=4)
                        )
    print()
    return figures


def _found(texts: list[str], countries: list[str] | None) -> set[tuple[int, int, int]]:
    regions = (lambda document: (countries[document],)) if countries else None
    found = find(pa.array(texts, pa.large_string()), ("phone",), public_only=False, regions=regions)
    return {(document, start, end) for document, _, start, end in found.spans.tolist()}


if __name__ == "__main__":
    run()
