"""Make src/corpusmill/data/quality-en.quality, the model of annotate/quality that ships, and enter it in MANIFEST.json.

    python scripts/train_quality.py --data DIR

Most of its weight is on pages that people called good or bad, DCLM's labels: quality/dclm_human_labels.jsonl.gz. The
rest are kinds of documents that these have few of (scripts/quality_examples.py), half of the mails of SpamAssassin,
text and furniture of pages of extraction benchmarks, running text of the demo, and made pages: shops, spam, menus,
lists, teasers. The file holds hashed weights and no text. How well it ranks pages is measured on labelled pages that a
model has not seen: tenths of them are left out of the training in turn. Running this again gives the same bytes.
"""

import argparse
import gzip
import hashlib
import json
import sys
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from random import Random
from typing import NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

import corpusmill
from corpusmill.assets import demo_path
from corpusmill.models.quality import QualityModel
from corpusmill.models.quality_score import Linear
from corpusmill.text.hashing import hash64
from corpusmill.train.quality import QualitySettings, fit, fit_shape, judge, rounded, shapes_of

ROOT = Path(__file__).parent.parent
DATA = ROOT / "src" / "corpusmill" / "data"
NAME = "quality-en"
ORIGINS = {  # of the texts in extra.jsonl.gz that are running text; demo/LICENSES.md has the notices
    "standard-ebooks": "CC0-1.0", "us-government": "public domain", "gutenberg": "public domain", "boost": "BSL-1.0",
    "attrs": "MIT", "express": "MIT", "gin": "MIT", "requests": "Apache-2.0",
}  # fmt: skip
EACH = 300  # documents of each kind
PAGES = 400  # of extraction benchmarks
SEED = 20240607
FOLDS = 10
SHARE = 0.4  # of the weight, that is not on labelled pages
# The part of each kind in that, good and bad ones by themselves; `web` keeps it from learning 238 pages by heart.
GOOD = {"questions": 1.0, "verse": 0.3, "recipes": 0.3, "prose": 0.5, "web": 6.0, "mails": 0.1}
# A little of mails that people wanted keeps it from calling a mail bad for being one.
BAD = {"ruins": 1.0, "lists": 0.5, "pages": 0.3, "web": 6.0, "spam": 2.0}
SETTINGS = QualitySettings(epochs=4, seed=SEED)
LABELLED = "quality/dclm_human_labels.jsonl.gz"

sys.path.insert(0, str(ROOT / "demo"))
import junk  # noqa: E402
import quality_examples as examples  # noqa: E402
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


class Examples(NamedTuple):
    """Texts, whether each is good, and its weight."""

    texts: list[str]
    good: NDArray[np.bool_]
    weight: NDArray[np.float64]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True, help="folder of real and labelled documents")
    data = parser.parse_args().data
    labels, beside = labelled(data), others(data)
    texts = column(iter(labels.texts))
    scores, by_shape = cross_validated(labels, beside)
    held = judge(scores, texts, labels.good, shapes_of(texts)[:, 0], by_shape)
    card = {
        "kind": "quality",
        "corpusmill": corpusmill.__version__,
        "licence": "Apache-2.0, as this project: hashed weights, no text",
        "settings": asdict(SETTINGS),
        "documents": {"good": int(labels.good.sum()), "bad": int((~labels.good).sum()), "repeated": 0, "disputed": 0},
        "data": {
            "labelled": "web pages that people called good or bad, of DCLM (MIT)",
            "good": "marked text of pages of extraction benchmarks; Stack Exchange; Shakespeare; prose of the demo; "
            "half of SpamAssassin's mails",
            "bad": "the rest of those pages; half of SpamAssassin's spam; made: ruins of scanned print, lists, shops, "
            "spam, menus",
        },
        "note": f"English. Its scores below are on the labelled pages, each scored by a model trained without it "
        f"({FOLDS} folds).",
        "held_out": rounded(asdict(held)),
    }
    model = QualityModel(card, train(labels, beside))
    path = DATA / f"{NAME}.quality"
    model.save(path)
    enter(
        NAME,
        {
            "file": path.name,
            "sha256": hashlib.sha256(path.read_bytes()).hexdigest(),
            "source": "scripts/train_quality.py --data DIR: DCLM's human labels, and what the card in the file lists",
            "licence": "Apache-2.0",
            "note": "how likely people call an English page good; the file holds a card with its data and scores",
        },
    )
    print(f"{path}: {path.stat().st_size:,} bytes, AUC {held.auc:.3f} on labelled pages in {FOLDS} folds")
    for part in ("dev", "test"):
        for kind, score in by_kind(model, data, part).items():
            print(f"{part:4}  {kind:9}  {len(score):3} documents, median score {np.median(score):.2f}, "
                  f"{100 * (score >= 0.5).mean():3.0f} % of 0.5 or more")  # fmt: skip


def labelled(data: Path) -> Examples:
    records = list(examples.records(data / LABELLED))
    good = np.array([record["label"] == 1 for record in records])
    return Examples([record["text"] for record in records], good, np.where(good, 0.5 / good.sum(), 0.5 / (~good).sum()))


def others(data: Path) -> Examples:
    """All examples beside the labelled ones; the weights are 1 together."""
    rng = Random(SEED)
    works = running_text()
    well, ill = examples.web(data, PAGES, rng)
    made = rng.sample(list(bad(works, rng, 10 * EACH)), EACH)
    kinds = {
        True: examples.good(data, "train", rng) | {"prose": list(good(works, rng, EACH)), "web": well},
        False: examples.bad(data, "train", rng, EACH) | {"pages": made, "web": ill},
    }
    texts: list[str] = []
    labels: list[bool] = []
    weights: list[float] = []
    for label, shares in ((True, GOOD), (False, BAD)):
        for kind, share in shares.items():
            of_kind = kinds[label][kind]
            texts += of_kind
            labels += [label] * len(of_kind)
            weights += [0.5 * share / sum(shares.values()) / len(of_kind)] * len(of_kind)
    return Examples(texts, np.array(labels), np.array(weights))


def train(labels: Examples, beside: Examples, chosen: NDArray[np.bool_] | None = None) -> Linear:
    """A model of the chosen labelled pages, all if not given, and of the other examples."""
    chosen = np.ones(len(labels.texts), bool) if chosen is None else chosen
    texts = [text for text, taken in zip(labels.texts, chosen) if taken] + beside.texts
    own_weight = labels.weight[chosen]
    weight = np.concatenate([(1 - SHARE) * own_weight / own_weight.sum(), SHARE * beside.weight])
    known = np.concatenate([labels.good[chosen], beside.good])
    return fit(column(iter(texts)), known, SETTINGS, (weight / weight.mean()).astype(np.float32))


def folds_of(texts: pa.LargeStringArray) -> Iterator[NDArray[np.bool_]]:
    """(pages,) which of them are left out, in each fold."""
    fold = np.argsort(np.argsort(hash64(texts, SEED), kind="stable"), kind="stable") % FOLDS
    for number in range(FOLDS):
        yield fold == number


def cross_validated(labels: Examples, beside: Examples) -> tuple[NDArray[np.float32], NDArray[np.float64]]:
    """(pages,) the score of each labelled page, by a model that was trained without it and the others of its fold; and
    its log odds by a model of shapes alone, trained on the same labelled pages."""
    texts = column(iter(labels.texts))
    shapes = shapes_of(texts)
    scores, by_shape = np.empty(len(texts), np.float32), np.empty(len(texts))
    for out in folds_of(texts):
        scores[out] = QualityModel({}, train(labels, beside, ~out)).scores(texts.filter(pa.array(out)))
        by_shape[out] = fit_shape(shapes[~out], labels.good[~out], length=False).odds(shapes[out])
    return scores, by_shape


def by_kind(model: QualityModel, data: Path, part: examples.Part) -> dict[str, NDArray[np.float32]]:
    """kind -> scores of the documents of a part, of those kinds that have one."""
    rng = Random(SEED)
    kinds = examples.good(data, part, rng) | examples.bad(data, part, rng, 60)
    return {kind: model.scores(column(iter(texts))) for kind, texts in kinds.items()}


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


def good(works: list[list[str]], rng: Random, each: int) -> Iterator[str]:
    for _ in range(each):
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


def bad(works: list[list[str]], rng: Random, each: int) -> Iterator[str]:
    made = [
        *junk.products(each // 20, rng),
        *junk.spam(each // 10, rng),
        *junk.thin([title(works, rng) for _ in range(200)], rng),
    ]
    for passage in made:
        yield "\n".join(passage.paragraphs)
    for _ in range(each - len(made)):
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
