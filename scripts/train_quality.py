"""Make src/corpusmill/data/quality-en.quality, the model of annotate/quality that ships, and enter it in MANIFEST.json.

    python scripts/train_quality.py

All of its data may be redistributed, and is in this repository: the good documents are running text of the demo crawl
(books and speeches in the public domain, documentation under permissive licences, articles and threads written for the
demo), cut to many lengths; the bad ones are generated here and by demo/junk.py: shops, spam, menus, lists, teasers, and
the boilerplate of pages without their text. So the model distinguishes running text from boilerplate, in English only.
Running this again gives the same bytes.
"""

import gzip
import hashlib
import json
import sys
from collections.abc import Iterator
from pathlib import Path
from random import Random

import pyarrow as pa

from corpusmill.assets import demo_path
from corpusmill.train.quality import Settings, train

ROOT = Path(__file__).parent.parent
DATA = ROOT / "src" / "corpusmill" / "data"
NAME = "quality-en"
ORIGINS = {  # of the texts in extra.jsonl.gz that are running text; demo/LICENSES.md has the notices
    "standard-ebooks": "CC0-1.0", "us-government": "public domain", "gutenberg": "public domain", "boost": "BSL-1.0",
    "attrs": "MIT", "express": "MIT", "gin": "MIT", "requests": "Apache-2.0",
}  # fmt: skip
EACH = 3000  # documents of each kind
SEED = 20240607

sys.path.insert(0, str(ROOT / "demo"))
import junk  # noqa: E402
from passages import own  # noqa: E402

MENU = (
    "Home", "About", "About us", "Contact", "Contact us", "Search", "Login", "Log in", "Sign in", "Sign up", "Register",
    "Menu", "Skip to content", "Skip to main content", "Share this", "Share on Facebook", "Tweet", "Print",
    "Email this", "Read more", "Read More »", "Continue reading", "View all", "See more", "Show more", "Load more",
    "Next", "Previous", "Next page", "« Older posts", "Newer posts »", "Back to top", "Add to cart", "Add to basket",
    "Add to wish list", "Buy now", "Checkout", "My account", "Shopping cart", "Your cart is empty", "Out of stock",
    "In stock", "Free shipping", "Privacy policy", "Terms of use", "Terms and conditions", "Cookie policy",
    "All rights reserved.", "Copyright © 2019", "Subscribe", "Subscribe to our newsletter", "Enter your e-mail address",
    "Follow us", "RSS", "Sitemap", "FAQ", "Help", "Comments", "Leave a comment", "No comments yet", "Post a comment",
    "Reply", "Quote", "Report abuse", "Permalink", "Related posts", "Related articles", "You may also like",
    "Categories", "Tags", "Archives", "Recent posts", "Popular", "Forum index", "Members", "Who is online", "Guest",
    "Joined", "Posts", "Views", "Topics", "Profile", "Private message", "Be the first to review this", "Write a review",
    "Customer reviews", "Sort by", "Price: low to high", "Filter", "Reset", "Download", "Click here",
    "Click to enlarge", "Photo", "Photos", "Video", "Gallery", "Image 1 of 5", "Advertisement", "Loading...",
    "Please wait", "Upload", "Browse", "Submit", "Cancel", "Password", "Forgot your password?", "Username", "Location",
    "Directions", "Opening hours", "Phone", "Fax", "Mobile", "Address", "Map", "Book now", "Reserve",
    "Check availability", "Request a quote", "Get a free quote", "Call us today", "Call now", "Email", "Website",
)  # fmt: skip
FACTS = (
    "Price: ${n}.{nn}", "${n}.{nn}", "Item #{n}{nn}", "SKU: {n}{nn}", "Weight: {n} kg", "Size: {n} x {nn} cm",
    "Length: {n}", "Color: black", "Condition: new", "Quantity: {n}", "Views: {n}", "Posts: {n}", "Joined: {date}",
    "Posted on {date}", "Posted by admin on {date}", "By {name}", "{date} at {n}:{nn} pm",
    "Showing {n} of {nn} results", "Page {n} of {nn}", "Found {n} results", "{n} comments", "{n} reviews", "{n} likes",
    "Tel: 555-01{nn}", "Fax: 555-01{nn}", "Date: {date}", "Time: {n}:{nn}", "Bedrooms: {n}", "Sleeps: {n}",
    "Category: {name}", "Author: {name}", "Location: {name}", "ID: {n}{nn}", "Rating: {n}/10", "Last updated: {date}",
    "Duration: {n} min", "Filed under: {name}", "Tagged: {name}, {name}", "- {name}", "Brand: {name}",
    "Model: {name} {n}", "| {name} | {n} | {nn} |", "Re: {name}", "Member since {date}", "{n}%", "{n} / {nn}",
)  # fmt: skip
PITCH = (
    "We offer the best {name} at the lowest price!", "Call us today for a free quote.",
    "Don't miss out on this great deal!", "Our team of experts is ready to help you with {name}.",
    "Looking for {name}? Look no further!", "Order now and save {n}%!", "100% satisfaction guaranteed.",
    "Visit our website for more information.", "We are your number one source for {name}.",
    "Great value, fast delivery, excellent service.", "Please contact us for more details.", "Sign up now for free!",
    "Click on the link below to find out more.", "Best {name} online.", "Cheap {name} for sale.",
    "Check out our {name}!!!", "With over {n} years of experience we provide quality {name}.",
    "Enjoy your stay at our {name}.", "Limited time offer.", "Sorry, no posts matched your criteria.",
    "You must be logged in to reply to this topic.", "This page is not available.",
)  # fmt: skip
MONTHS = (
    "January",
    "February",
    "March",
    "April",
    "May",
    "June",
    "July",
    "August",
    "September",
    "October",
    "November",
    "Dec",
)


def main() -> None:
    rng = Random(SEED)
    works = running_text()
    model = train(
        column(good(works, rng)),
        column(bad(works, rng)),
        Settings(seed=SEED),
        {
            "licence": "Apache-2.0, as this project; of texts whose licences demo/LICENSES.md holds",
            "data": {
                "good": "running text of demo/crawl/extra.jsonl.gz and demo/prose, cut to 40 to 1,500 words",
                "bad": "made by scripts/train_quality.py and demo/junk.py; titles and teasers are cut from the same "
                "texts",
            },
            "note": "Tells running English text from page furniture, lists and advertising. It has read no real web "
            "page. Its scores below are on made documents as those it learned from; docs/guide/quality.md has those on "
            "real pages.",
        },
    )
    path = DATA / f"{NAME}.quality"
    model.save(path)
    enter(
        NAME,
        {
            "file": path.name,
            "sha256": hashlib.sha256(path.read_bytes()).hexdigest(),
            "source": "scripts/train_quality.py on texts in demo/",
            "licence": "Apache-2.0",
            "note": "tells running English text from page furniture; the file holds a card with its data and scores",
        },
    )
    held = model.card["held_out"]
    print(f"{path}: {path.stat().st_size:,} bytes, AUC {held['auc']} on {held['documents']} made documents held out")


def running_text() -> list[list[str]]:
    """The paragraphs of each work."""
    works = []
    with gzip.open(demo_path("demo://extra.jsonl.gz")) as lines:
        for line in lines:
            try:
                record = json.loads(line)
            except ValueError:
                continue  # a bad line that was planted in the demo
            if not isinstance(record, dict) or record.get("source") not in ORIGINS or record.get("lang") != "eng":
                continue
            text = record["text"]
            if is_prose(text):
                works.append([paragraph for paragraph in text.split("\n") if len(paragraph.split()) > 8])
    for name in ("articles", "threads"):
        works += [list(passage.paragraphs) for passage in own(name)] * 4  # the only contemporary ones
    return works


def is_prose(text: str) -> bool:
    """Whether most of a text is in lines of a sentence or more, unlike source files and lists."""
    lines = [line for line in text.split("\n") if line.strip()]
    return sum(len(line) for line in lines if len(line.split()) > 12) > 0.7 * len(text)


def good(works: list[list[str]], rng: Random) -> Iterator[str]:
    for _ in range(EACH):
        words = int(40 * (1500 / 40) ** rng.random())
        paragraphs: list[str] = []
        while sum(len(paragraph.split()) for paragraph in paragraphs) < words:
            work = rng.choice(works)
            first = rng.randrange(len(work)) if work else 0
            paragraphs += work[first : first + rng.randint(2, 8)]
        if rng.random() < 0.5:
            paragraphs.insert(0, title(works, rng))
        for _ in range(rng.choice((0, 0, 1, 3))):  # boilerplate around the text, sometimes
            paragraphs.insert(rng.choice((0, len(paragraphs))), rng.choice(MENU))
        yield rng.choice(("\n", "\n\n")).join(paragraphs)


def bad(works: list[list[str]], rng: Random) -> Iterator[str]:
    made = [
        *junk.products(EACH // 20, rng),
        *junk.spam(EACH // 10, rng),
        *junk.thin([title(works, rng) for _ in range(200)], rng),
    ]
    for passage in made:
        yield "\n".join(passage.paragraphs)
    for _ in range(EACH - len(made)):
        makers = (
            lambda: rng.choice(MENU),
            lambda: filled(rng.choice(FACTS), works, rng),
            lambda: title(works, rng),
            lambda: teaser(works, rng),
            lambda: " ".join(filled(rng.choice(PITCH), works, rng) for _ in range(rng.randint(1, 4))),
        )
        weights = [rng.random() ** 2 for _ in makers]  # each page has its own mixture
        lines = int(2 * (150 / 2) ** rng.random() ** 1.5)
        parts = [rng.choices(makers, weights)[0]() for _ in range(lines)]
        yield rng.choice(("\n", "\n", "\n\n", " | ")).join(parts)


def title(works: list[list[str]], rng: Random) -> str:
    """Some words of a text as a heading."""
    words = sentence(works, rng).split()
    first = rng.randrange(max(len(words) - 5, 1))
    text = " ".join(words[first : first + rng.randint(1, 7)]).strip(' .,;:!?"“”')
    return rng.choice((text, text.title(), text.title(), text.upper(), f"{text.title()} ({rng.randint(1, 99)})"))


def teaser(works: list[list[str]], rng: Random) -> str:
    """The truncated beginning of a text."""
    words = sentence(works, rng).split()
    return " ".join(words[: rng.randint(6, 25)]) + rng.choice(("...", " …", " [...]", "... Read more", ""))


def sentence(works: list[list[str]], rng: Random) -> str:
    while True:
        work = rng.choice(works)
        if work:
            return rng.choice(work)


def filled(form: str, works: list[list[str]], rng: Random) -> str:
    while "{name}" in form:
        name = rng.choice((rng.choice(junk.THINGS), title(works, rng)))
        form = form.replace("{name}", " ".join(name.split()[:3]), 1)
    date = f"{rng.choice(MONTHS)} {rng.randint(1, 28)}, {rng.randint(2003, 2023)}"
    return (
        form.replace("{date}", date).replace("{nn}", str(rng.randint(10, 99))).replace("{n}", str(rng.randint(1, 300)))
    )


def column(texts: Iterator[str]) -> pa.LargeStringArray:
    return pa.array(list(texts), pa.large_string())


def enter(name: str, entry: dict[str, str]) -> None:
    """Write the entry of an asset into the manifest."""
    path = DATA / "MANIFEST.json"
    manifest = json.loads(path.read_text("utf-8"))
    manifest[name] = entry
    path.write_text(json.dumps(manifest, indent=2, sort_keys=True, ensure_ascii=False) + "\n", "utf-8")


if __name__ == "__main__":
    main()
