"""Does dedup drop what it should? 1,000 removed documents beside those that are kept instead, judged blind.

    python -m benchmarks.quality.drops --data DATA
    python -m benchmarks.quality.drops --judged benchmarks/quality/drops.jsonl

The first call puts public text through `dedup/exact` and `dedup/minhash` with its defaults, and groups the same
documents by shared band keys alone, as tools do that do not verify their candidates: the first of a group is kept. Of
each it draws 1,000 removed documents by a hash of the two texts, as many of each set of documents, or all that the set
has, so that one with many duplicates does not stand for the others. Two judges say whether a removal was wrong:

rules    wrong if the removed document has MIN_PASSAGE words in a row of which none is in a run of NGRAM words that the
         kept one has, too; or MOST_LOST of its words are in no such run, and MIN_LOST of them; or MIN_FACTS different
         numbers or capitalised words of these are nowhere in the kept document
reader   wrong if the removed document has substantial content of its own (a paragraph, facts, another thing that it is
         about) which the kept one lacks and a reader would miss. Not what is around the text: menus, dates of print,
         counters, notices. Of READ pairs of each kind, drawn likewise and in the order of that hash; nothing on a page
         says whether the pair was verified

Write the reader's verdicts by a line a page to OUT/verdicts.jsonl, and call again:

    {"page": 17, "mark": "wrong", "why": "passage"}

A mark is wrong, right, or unsure, which counts in no share; why, of a wrong one, is passage (content of its own), other
(about another thing, in the same template) or language. Once all pages are judged, the share of wrong removals is
printed, each set weighted by what was removed of it, with an interval at 95 % (Wilson's, of as many pairs as a plain
sample would need for the same variance), and how often the judges agree. All verdicts are written to OUT/judged.jsonl:
hashes and no texts, so it can be published.

The text: pages of warc/crawl as WET, without the copies that were planted there; posts and news agencies' stories of
text/; the pages of MANUALS by extract/blocks. Nothing was tuned on the last two.
"""

import argparse
import gzip
import hashlib
import html
import json
import re
import shutil
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from benchmarks.common import ROOT, row, table
from benchmarks.quality import manuals
from benchmarks.quality.copies import rows
from benchmarks.quality.dedup import Decided, band_keys, components, decide
from benchmarks.quality.eyes import read_lines
from corpusmill.read import ReadCounts, whole_file
from corpusmill.read.wet import WetReader
from corpusmill.report.figures.sampled import wilson
from corpusmill.report.figures.survival import not_surviving
from corpusmill.steps.dedup.minhash import Minhash
from corpusmill.steps.extract.blocks import Blocks
from corpusmill.storage import expand
from corpusmill.text.shingles import Shingling

MANUALS = (
    *("erlang-doc", "racket-doc", "linux-doc-6.1", "twisted-doc", "libreoffice-help-en-us", "nodejs-doc"),
    *("developers-reference", "debian-policy", "aptitude-doc-en", "libbiojava5-java-doc", "libbiojava6-java-doc"),
)
DRAWN = 1000  # removed documents of a kind
READ = 300  # of these, those that are read
SETTINGS = {
    "threshold: 0.9": "dedup/minhash: {threshold: 0.9}",
    "keep: longest": "dedup/minhash: {keep: longest}",
    "rule: contained": "dedup/minhash: {rule: contained}",
    "rule: contained, keep: longest": "dedup/minhash: {rule: contained, keep: longest}",
}
NGRAM = 5  # words
MIN_PASSAGE, MOST_LOST, MIN_LOST, MIN_FACTS = 20, 0.2, 5, 3  # words; share; words; words
Pair = tuple[int, int]  # numbers of a removed document, and of the one that is kept instead
KINDS = {"verified": "dedup/minhash", "unverified": "by shared bands alone"}
MARKS = ("wrong", "right", "unsure")
WHY = ("passage", "other", "language")
HEAD, AROUND, SHOWN = 160, 6, 1200  # characters; words; characters of a page's passages on a side


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, help="folder of real documents")
    parser.add_argument("--out", type=Path, default=ROOT / "build" / "drops", help="folder for pairs and pages")
    parser.add_argument("--judged", type=Path, help="print the figures of this file, and run nothing")
    options = parser.parse_args()
    if options.judged:
        head, *judged = read_lines(options.judged)
        show(head, judged)
        return 0
    out: Path = options.out
    if not (out / "drawn.jsonl").exists():
        if not options.data:
            parser.error("--data is needed: a folder of real documents")
        out.mkdir(parents=True, exist_ok=True)
        draw(dict(sets(options.data)), out)
    head, *drawn = read_lines(out / "drawn.jsonl")
    marks = verdicts(out / "verdicts.jsonl", sum("page" in pair for pair in drawn))
    if left := [pair["page"] for pair in drawn if "page" in pair and pair["page"] not in marks]:
        print(f"{len(left)} pages have no mark yet; the next is {out / 'pages' / name_of(min(left))}.")
        print(f'Judge them by lines {{"page": {min(left)}, "mark": "right"}} (or wrong with "why", or unsure) in')
        print(f"{out / 'verdicts.jsonl'}, and say the same command again.")
        return 0
    judged = [
        {name: value for name, value in pair.items() if name != "page"} | marks.get(pair.get("page", 0), {})
        for pair in drawn
    ]
    path = out / "judged.jsonl"
    path.write_text("".join(json.dumps(line) + "\n" for line in [head, *judged]), "utf-8")
    show(head, judged)
    print(f"\nWhat was judged: {path}")
    return 0


# --- documents


def sets(data: Path) -> Iterator[tuple[str, list[str]]]:
    yield "crawled pages", crawl(data / "warc/crawl")
    yield "20 newsgroups", [row["text"] for row in rows(data / "text/20newsgroups_train.jsonl.gz")]
    yield "Reuters", [story for path in sorted(data.glob("text/reuters21578/*.sgm.gz")) for story in stories(path)]
    if shutil.which("apt-get") and shutil.which("dpkg-deb"):
        yield "manuals", [text for package in MANUALS for text in pages_of(package)]
    else:
        print("manuals are left out: they come as Debian packages, and apt-get and dpkg-deb are not here")


def crawl(folder: Path) -> list[str]:
    columns = ["url", "kind", "dup_of"]
    records = pq.read_table(folder / "records.parquet", columns=columns).to_pylist()
    planted = {record["url"] for record in records if record["dup_of"]}
    texts = []
    for file in expand(f"{folder}/*.warc.wet.gz"):
        for batch in WetReader().read(whole_file(file), "web", ReadCounts()):
            pages = zip(batch["text"].to_pylist(), batch["url"].to_pylist())
            texts += [text for text, url in pages if url not in planted]
    return texts


def stories(path: Path) -> Iterator[str]:
    text = gzip.decompress(path.read_bytes()).decode("latin-1")
    for body in re.findall(r"<BODY>(.*?)</BODY>", text, re.DOTALL):
        yield html.unescape(body).replace("\x03", "").strip()


def pages_of(package: str) -> Iterator[str]:
    folder = manuals.fetch(manuals.Manual(package, "", ""))
    for path in sorted(folder.glob("usr/share/**/*.html")):
        if path.is_file() and not path.is_symlink() and (text := Blocks().html_text(path.read_bytes())).strip():
            yield text


# --- the draw


def draw(documents: Mapping[str, Sequence[str]], out: Path) -> None:
    """Write a page for each pair that is read, and last the pairs with the verdicts of the rules."""
    texts = [text for own in documents.values() for text in own]
    set_of = [name for name, own in documents.items() for _ in own]
    decided = decide(texts, out / "run", "dedup/minhash")
    left = np.flatnonzero(decided.step != 1)  # without what equals another
    heads = left[components(band_keys([texts[n] for n in left.tolist()], Minhash()))]
    removed = {
        "verified": [(n, int(decided.kept[n])) for n in np.flatnonzero(decided.step == 2).tolist()],
        "unverified": [(n, k) for n, k in zip(left.tolist(), heads.tolist()) if n != k],
    }
    hashed = {pair: hash_of(texts[pair[0]], texts[pair[1]]) for pairs in removed.values() for pair in pairs}
    by_set = {
        kind: [
            [pair for pair in sorted(pairs, key=hashed.__getitem__) if set_of[pair[0]] == name] for name in documents
        ]
        for kind, pairs in removed.items()
    }
    drawn = {kind: set(first_of(sets, DRAWN)) for kind, sets in by_set.items()}
    read = {pair for sets in by_set.values() for pair in first_of(sets, READ)}
    (out / "pages").mkdir(exist_ok=True)
    lines: list[dict[str, Any]] = []
    page = 0
    for pair in sorted(set.union(*drawn.values()), key=hashed.__getitem__):
        sides = [texts[n] for n in pair]
        kinds = [kind for kind, pairs in drawn.items() if pair in pairs]
        line: dict[str, Any] = {"pair": hashed[pair], "set": set_of[pair[0]], "kinds": kinds, "rules": by_rules(*sides)}
        if pair in read:
            page += 1
            line["page"] = page
            (out / "pages" / name_of(page)).write_text(shown(*sides), "utf-8")
        lines.append(line)
    others, settings = {}, {}
    for name, step in SETTINGS.items():
        decided_so = decide(texts, out / "run", step)
        pairs = [(n, int(decided_so.kept[n])) for n in np.flatnonzero(decided_so.step == 2).tolist()]
        wrong = sum(bool(by_rules(texts[a], texts[b])) for a, b in pairs)
        settings[name] = {"removed": len(pairs), "wrong": wrong}
        others[name] = {hash_of(texts[a], texts[b]) for a, b in pairs}
    for line in lines:
        line["also"] = [name for name, hashes in others.items() if line["pair"] in hashes]
    head = {
        "settings": settings,
        "lost": lost_words(texts, decided),
        "documents": {name: len(own) for name, own in documents.items()},
        "equal": int((decided.step == 1).sum()),
        "removed": {kind: {name: len(own) for name, own in zip(documents, sets)} for kind, sets in by_set.items()},
    }
    (out / "drawn.jsonl").write_text("".join(json.dumps(line) + "\n" for line in [head, *lines]), "utf-8")


def lost_words(texts: Sequence[str], decided: Decided) -> dict[str, int]:
    """The words of all removed near-duplicates; those that do not survive in the document kept instead, as the report
    counts them; and in no kept document at all."""
    near = np.flatnonzero(decided.step == 2).tolist()
    removed, kept = (pa.array([texts[n] for n in side], pa.large_string()) for side in (near, decided.kept[near]))
    output = pa.array([text for text, step in zip(texts, decided.step) if step == 0], pa.large_string())
    lost, words_of = not_surviving(removed, kept, "words", NGRAM)
    known = np.unique(Shingling(NGRAM, "words", numbers=False, gaps="symbols").hashes(output)[0])
    hashes, offsets = Shingling(NGRAM, "words", numbers=False, gaps="symbols").hashes(removed)
    is_known = known[np.searchsorted(known, hashes).clip(max=len(known) - 1)] == hashes
    anywhere = 0
    for start, stop, count in zip(offsets[:-1].tolist(), offsets[1:].tolist(), words_of.tolist()):
        survives = np.zeros(count, bool)
        for k in range(NGRAM):
            survives[k : k + stop - start] |= is_known[start:stop][: count - k]
        anywhere += count - int(survives.sum())
    return {"words": int(words_of.sum()), "in_cluster": int(lost.sum()), "anywhere": anywhere}


def first_of(sets: Sequence[Sequence[Pair]], number: int) -> list[Pair]:
    """So many pairs: the first ones of each set, of each equally many, or all where that are fewer."""
    taken: list[Pair] = []
    for left, own in zip(range(len(sets), 0, -1), sorted(sets, key=len)):
        taken += own[: (number - len(taken)) // left]
    return taken


def hash_of(*texts: str) -> str:
    return hashlib.blake2b("\0".join(texts).encode(), digest_size=8).hexdigest()


def name_of(page: int) -> str:
    return f"{page:03d}.txt"


# --- what a judge goes by


def words(text: str) -> list[re.Match[str]]:
    return list(re.finditer(r"\w+", text))


def surviving(own: Sequence[str], other: Sequence[str]) -> list[bool]:
    """Whether each word is in a run of NGRAM words that the other text has, too; one of fewer words is one run."""
    n = max(min(NGRAM, len(own)), 1)
    runs = {tuple(other[i : i + n]) for i in range(len(other) - n + 1)}
    survives = [False] * len(own)
    for i in range(len(own) - n + 1):
        if tuple(own[i : i + n]) in runs:
            survives[i : i + n] = [True] * n
    return survives


def passages(survives: Sequence[bool]) -> list[tuple[int, int]]:
    """Where words in a row begin and end that do not survive."""
    found: list[tuple[int, int]] = []
    for i in (i for i, lives in enumerate(survives) if not lives):
        if found and found[-1][1] == i:
            found[-1] = found[-1][0], i + 1
        else:
            found.append((i, i + 1))
    return found


def by_rules(removed: str, kept: str) -> list[str]:
    """The rules by which a removal was wrong; none if it was right."""
    own, other = ([match[0] for match in words(text)] for text in (removed, kept))
    folded, folded_other = ([word.lower() for word in side] for side in (own, other))
    survives = surviving(folded, folded_other)
    lost = [i for i, lives in enumerate(survives) if not lives]
    known = set(folded_other)
    facts = {folded[i] for i in lost if folded[i] not in known and (own[i][0].isupper() or own[i][0].isdigit())}
    wrong = {
        "passage": any(end - begin >= MIN_PASSAGE for begin, end in passages(survives)),
        "share": len(lost) >= max(MIN_LOST, MOST_LOST * len(own)),
        "facts": len(facts) >= MIN_FACTS,
    }
    return [name for name, holds in wrong.items() if holds]


def shown(removed: str, kept: str) -> str:
    """The begin of both texts, their lengths, and the passages that each has alone, with words around them."""
    own, other = words(removed), words(kept)
    folded, folded_other = ([match[0].lower() for match in side] for side in (own, other))
    parts = []
    for name, text, found, compared in (
        ("removed", removed, own, (folded, folded_other)),
        ("kept", kept, other, (folded_other, folded)),
    ):
        survives = surviving(*compared)
        alone = sum(not lives for lives in survives)
        parts.append(f"== {name}: {len(found):,} words, {alone:,} of them in this one alone")
        parts.append(" ".join(text[:HEAD].split()))
        parts.append(cut_out(text, found, passages(survives)))
    return "\n".join(parts) + "\n"


def cut_out(text: str, found: Sequence[re.Match[str]], places: Iterable[tuple[int, int]]) -> str:
    """Passages in [[ ]], each with AROUND words on both sides, the first SHOWN characters."""
    lines, size, left = [], 0, 0
    for begin, end in places:
        if size >= SHOWN:
            left += end - begin
            continue
        first, last = found[max(begin - AROUND, 0)].start(), found[min(end + AROUND, len(found)) - 1].end()
        inner, stop = found[begin].start(), found[end - 1].end()
        middle = text[inner:stop]
        cut = middle if len(middle) <= SHOWN - size else f"{middle[: SHOWN - size]} …({len(middle):,} characters)"
        lines.append(" ".join(f"… {text[first:inner]}[[{cut}]]{text[stop:last]} …".split()))
        size += len(middle)
    return "\n".join([*lines, *([f"({left:,} words more)"] if left else [])])


# --- verdicts


def verdicts(path: Path, pages: int) -> dict[int, dict[str, str]]:
    """page -> `reader`, and `why` of a wrong one."""
    marks: dict[int, dict[str, str]] = {}
    for number, line in enumerate(read_lines(path) if path.exists() else (), 1):
        page, mark, why = line.get("page", 0), line.get("mark", ""), line.get("why", "")
        if page not in range(1, pages + 1) or mark not in MARKS or (why in WHY) != (mark == "wrong"):
            raise SystemExit(
                f'{path}:{number}: need "page", from 1 to {pages}, "mark", {", ".join(MARKS)}, and of a wrong one '
                f'"why", {", ".join(WHY)}; got {line}'
            )
        marks[page] = {"reader": mark} | ({"why": why} if why else {})
    return marks


def show(head: Mapping[str, Any], judged: Sequence[Mapping[str, Any]]) -> None:
    """Shares of wrong removals by kind, judge and set of documents; the agreement of the judges; the rules."""
    print("## drops: wrong removals of near-duplicates\n")
    counts = ", ".join(f"{count:,} {name}" for name, count in head["documents"].items())
    print(f"Documents: {counts}; {head['equal']:,} of them equal another.\n")
    lost = head["lost"]
    in_cluster, anywhere = (f"{lost[name] / max(lost['words'], 1):.2%}" for name in ("in_cluster", "anywhere"))
    print(f"Of {lost['words']:,} words that dedup/minhash removed, {in_cluster} are not in the document kept instead,")
    print(f"and {anywhere} in no kept document.\n")
    names = [*head["documents"]]
    table("removed", "documents", "judge", "judged", "wrong", "95 %", *names)
    for kind, about in KINDS.items():
        removed = head["removed"][kind]
        for judge in ("rules", "reader"):
            by_set = {name: wrong_of(judged, kind, name, judge) for name in names}
            value, (low, high) = weighted(by_set, removed)
            cells = [f"{sum(own)} of {len(own)}" if own else "–" for own in by_set.values()]
            shares = f"{value:.3f}", f"{low:.3f} to {high:.3f}"
            row(about, f"{sum(removed.values()):,}", judge, f"{sum(map(len, by_set.values())):,}", *shares, *cells)
    both = [(is_wrong(pair, "rules"), is_wrong(pair, "reader")) for pair in judged]
    both = [pair for pair in both if pair[1] is not None]
    if both:
        unsure = sum(pair.get("reader") == "unsure" for pair in judged)
        print(f"\nBoth judges, {len(both)} pairs ({unsure} unsure): the same verdict on {agreement(both)}.")
    verified = [pair for pair in judged if "verified" in pair["kinds"]]
    print("\nOther settings; the reader has judged those of the pairs that the defaults remove, too:\n")
    table("dedup/minhash", "documents removed", "wrong to the rules", "judged by the reader", "wrong")
    everything = head["removed"]["verified"]
    default = {"removed": sum(everything.values()), "wrong": sum(bool(pair["rules"]) for pair in verified)}
    for name, counts in ({"defaults": default} | head["settings"]).items():
        same = [pair for pair in verified if name == "defaults" or name in pair["also"]]
        marks = [wrong for pair in same if (wrong := is_wrong(pair, "reader")) is not None]
        share = f"{counts['wrong'] / max(counts['removed'], 1):.3f}"
        row(name, f"{counts['removed']:,}", share, len(marks), sum(marks))
    rules = Counter(rule for pair in verified for rule in pair["rules"])
    reasons = Counter(pair["why"] for pair in verified if "why" in pair)
    for judge, counted in (("rules", rules), ("reader", reasons)):
        print(
            f"\nVerified, wrong to the {judge}: {', '.join(f'{why} {n}' for why, n in counted.most_common()) or 'none'}"
        )


def wrong_of(judged: Sequence[Mapping[str, Any]], kind: str, name: str, judge: str) -> list[bool]:
    """Of each pair of a kind and a set of documents that a judge is sure of, whether the removal was wrong."""
    verdicts = [is_wrong(pair, judge) for pair in judged if kind in pair["kinds"] and pair["set"] == name]
    return [wrong for wrong in verdicts if wrong is not None]


def weighted(by_set: Mapping[str, Sequence[bool]], removed: Mapping[str, int]) -> tuple[float, tuple[float, float]]:
    """The share of wrong removals, each set weighted by what was removed of it, and its interval. A set that has no
    verdicts stands for nothing.

    >>> value, (low, high) = weighted({"a": [True] * 10 + [False] * 30, "b": [False] * 40}, {"a": 100, "b": 300})
    >>> round(value, 4), round(low, 2), round(high, 2)
    (0.0625, 0.03, 0.12)
    """
    total = sum(removed[name] for name, own in by_set.items() if own)
    value = middle = variance = 0.0
    for name, own in by_set.items():
        if own:
            weight = removed[name] / total
            smoothed = (sum(own) + 1) / (len(own) + 2)  # none of a few may still be some of all
            value += weight * sum(own) / len(own)
            middle += weight * smoothed
            variance += weight**2 * smoothed * (1 - smoothed) / len(own)
    return value, wilson(value, middle * (1 - middle) / variance) if total else (0.0, 1.0)


def is_wrong(pair: Mapping[str, Any], judge: str) -> bool | None:
    if judge == "rules":
        return bool(pair["rules"])
    return {"wrong": True, "right": False}.get(pair.get("reader", ""))


def agreement(both: Sequence[tuple[bool | None, bool | None]]) -> str:
    """The share of equal verdicts, and Cohen's kappa."""
    same = sum(a == b for a, b in both) / len(both)
    first, second = (sum(bool(pair[side]) for pair in both) / len(both) for side in (0, 1))
    chance = first * second + (1 - first) * (1 - second)
    return f"{same:.3f}, kappa {(same - chance) / (1 - chance):.2f}" if chance < 1 else f"{same:.3f}"


if __name__ == "__main__":
    raise SystemExit(main())
