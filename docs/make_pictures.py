"""Draw docs/pictures: python docs/make_pictures.py

The pictures are committed, so that they can be seen without running anything; a test says when they are out of date.
"""

from html import escape
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

from corpusmill.engine.plan.lower import lower_inputs
from corpusmill.loader import TokenLoader
from corpusmill.loader.masks import block_mask
from corpusmill.loader.order import SampleOrder
from corpusmill.models.tokenizer import load
from corpusmill.recipe import Recipe
from corpusmill.shards.pack import UnitTokens
from corpusmill.shards.plan import plan_shards
from corpusmill.shards.writer import write_folder
from corpusmill.text.sketch import band_keys, sketch

FOLDER = Path(__file__).parent / "pictures"
WIDTH, HEIGHT = 720, 400
LEFT, RIGHT, TOP, BOTTOM = 60, 700, 20, 340  # of the area of the curves
LOWEST = 0.3  # similarity at the left

SHAPES = {(25, 5): "#b4541a", (16, 7): "#1f5fa8", (9, 13): "#3a7d34"}  # bands, rows: colour
NAMED_AT = {(25, 5): (0.50, "end"), (16, 7): (0.68, "start"), (9, 13): (0.86, "start")}  # similarity, side of the curve
SHINGLES, PAIRS = 500, 1000  # of each document, and at each dot
SAMPLES, BUFFER = 1000, 100  # rows of an epoch, and of a buffer that is shuffled
STAGES_OF = """
read: {warc: crawl/*.warc.gz}
steps: [extract/blocks, filter/gopher_quality, dedup/exact, dedup/minhash, tokenize/bpe, pack/concat]
write: [shards]
"""
UNITS = {  # of 472 MB of text
    "extract": 32, "pass-1": 32, "exact-group": 1, "exact-names": 1, "exact-verdicts": 1, "minhash-group": 6,
    "minhash-links": 1, "minhash-shingles": 32, "minhash-routes": 1, "minhash-decide": 1, "minhash-verdicts": 1,
    "minhash-emptied": 1, "pass-2": 32, "tokens": 32, "shards": 2,
}  # fmt: skip
STYLE = """
  text { font: 14px system-ui, sans-serif; fill: #222 }
  .paper { fill: #fff } .axis { stroke: #222 } .grid { stroke: #ddd } .threshold { stroke: #888; stroke-dasharray: 4 4 }
"""


def pictures() -> dict[str, str]:
    """File name -> content of every picture."""
    return {"s-curve.svg": s_curve(), "batch.svg": batch(), "order.svg": order(), "stages.svg": stages()}


def stages() -> str:
    """The stages of a recipe, each below those whose results it reads. Of what a stage reads only the nearest is drawn:
    what these have read themselves is there, too."""
    after = {stage.name: set(stage.after) for stage in lower_inputs(Recipe.parse(STAGES_OF), ()).stages}
    depth: dict[str, int] = {}
    for name, before in after.items():
        depth[name] = 1 + max((depth[each] for each in before), default=-1)
    known = {name: set().union(before, *(after[each] for each in before)) for name, before in after.items()}
    for _ in after:
        known = {name: all_.union(*(known[each] for each in all_)) for name, all_ in known.items()}
    levels = [[name for name in after if depth[name] == level] for level in range(max(depth.values()) + 1)]
    step, width, height = 54, 210, 32
    at = {
        name: (WIDTH / 2 + (place - (len(level) - 1) / 2) * (width + 20), 24 + step * row)
        for row, level in enumerate(levels)
        for place, name in enumerate(level)
    }
    tall = step * len(levels)
    parts = [f'<rect class="paper" width="{WIDTH}" height="{tall}"/>']
    for name, before in after.items():
        nearest = [each for each in sorted(before) if not any(each in known[other] for other in before)]
        for each in nearest:
            (x, y), (from_x, from_y) = at[name], at[each]
            parts.append(
                f'<line class="axis" x1="{from_x:.1f}" y1="{from_y + height / 2:.1f}" x2="{x:.1f}" '
                f'y2="{y - height / 2:.1f}"/>'
            )
    for name, (x, y) in at.items():
        many = UNITS[name] > 1
        parts.append(
            f'<rect x="{x - width / 2:.1f}" y="{y - height / 2:.1f}" width="{width}" height="{height}" rx="4" '
            f'fill="{"#cfe0f3" if many else "#eee"}" stroke="#222"/>'
        )
        parts.append(text(x, y + 5, f"{name}: {UNITS[name]} unit{'s' * many}", "middle"))
    title = "the stages of a recipe with extraction, two deduplications and shards, from the first to the last"
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {tall}" role="img" aria-label="{title}">'
        f"<style>{STYLE}</style>{''.join(parts)}</svg>\n"
    )


def batch() -> str:
    """Rows of a batch of the loader, a colour a document, and beside them who may attend to whom in one of the rows."""
    rows, length, cell, shown = 8, 40, 8, 2
    with TemporaryDirectory() as folder:
        lengths = np.random.default_rng(5).integers(4, 45, 80)
        ids = np.arange(lengths.sum()).astype(np.uint16)
        ids[np.cumsum(lengths) - 1] = 50_256
        units = [UnitTokens(ids, lengths.astype(np.int64))]
        write_folder(Path(folder), plan_shards([units[0].lengths], "concat", length), units, load("gpt2"))
        drawn = TokenLoader(folder, batch_size=rows, seed=1).at(0)
    documents = {number: i for i, number in enumerate(dict.fromkeys(drawn["doc_ids"].ravel().tolist()))}
    mask = block_mask(drawn["position_ids"])[shown]
    colour = {number: f"hsl({(i * 137) % 360} 55% {58 + 14 * (i % 2)}%)" for number, i in documents.items()}
    left, top, beside = 20, 60, 20 + length * cell + 30
    parts = [f'<rect class="paper" width="{WIDTH}" height="{HEIGHT}"/>']
    parts.append(text(left, 40, f"a batch: {rows} rows of {length} tokens", "start"))
    parts.append(text(beside, 40, f"row {shown}: who may attend to whom", "start"))
    for r in range(rows):
        for t in range(length):
            at = drawn["doc_ids"][r, t]
            size = f'width="{cell}" height="{3 * cell}"'
            x, y = left + t * cell, top + r * (3 * cell + 6)
            parts.append(f'<rect x="{x}" y="{y}" {size} fill="{colour[int(at)]}" stroke="#fff" stroke-width="0.5"/>')
    y = top + shown * (3 * cell + 6)
    parts.append(
        f'<rect x="{left - 2}" y="{y - 2}" width="{length * cell + 4}" height="{3 * cell + 4}" '
        'fill="none" stroke="#222"/>'
    )
    for i, j in zip(*(indexes.tolist() for indexes in np.nonzero(mask))):
        fill = colour[int(drawn["doc_ids"][shown, i])]
        parts.append(
            f'<rect x="{beside + j * cell}" y="{top + i * cell}" width="{cell}" height="{cell}" fill="{fill}"/>'
        )
    side = length * cell
    parts.append(f'<rect x="{beside}" y="{top}" width="{side}" height="{side}" fill="none" stroke="#222"/>')
    label = "Rows of a batch, a colour for each document, and the mask of one row"
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" role="img" '
        f'aria-label="{label}"><style>{STYLE}</style>\n' + "\n".join(parts) + "\n</svg>\n"
    )


def s_curve() -> str:
    """How often documents meet, by similarity: the curves of theory, and dots where our sketch was tried."""
    parts = [f'<rect class="paper" width="{WIDTH}" height="{HEIGHT}"/>']
    for k in range(11):
        y = down(k / 10)
        if k % 2 == 0:
            parts.append(f'<line class="grid" x1="{LEFT}" x2="{RIGHT}" y1="{y:.1f}" y2="{y:.1f}"/>')
            parts.append(text(LEFT - 8, y + 5, f"{k / 10:.1f}", "end"))
        if k / 10 >= LOWEST:
            x = across(k / 10)
            parts.append(f'<line class="axis" x1="{x:.1f}" x2="{x:.1f}" y1="{BOTTOM}" y2="{BOTTOM + 5}"/>')
            parts.append(text(x, BOTTOM + 21, f"{k / 10:.1f}", "middle"))
    parts.append(f'<line class="axis" x1="{LEFT}" x2="{RIGHT}" y1="{BOTTOM}" y2="{BOTTOM}"/>')
    at = across(0.8)
    parts.append(f'<line class="threshold" x1="{at:.1f}" x2="{at:.1f}" y1="{TOP}" y2="{BOTTOM}"/>')
    parts.append(text(at + 6, BOTTOM - 8, "threshold", "start"))
    parts.append(text((LEFT + RIGHT) / 2, HEIGHT - 12, "Jaccard similarity of two documents", "middle"))
    parts.append(
        f'<text transform="translate(18 {(TOP + BOTTOM) / 2}) rotate(-90)" text-anchor="middle">probability that they '
        "meet</text>"
    )
    for (bands, rows), colour in SHAPES.items():
        curve = [(s, theory(s, bands, rows)) for s in np.linspace(LOWEST, 1, 141).tolist()]
        path = " ".join(f"{across(s):.1f},{down(p):.1f}" for s, p in curve)
        parts.append(f'<polyline points="{path}" fill="none" stroke="{colour}" stroke-width="2"/>')
        for s, met in measured(bands, rows):
            parts.append(f'<circle cx="{across(s):.1f}" cy="{down(met):.1f}" r="3.5" fill="{colour}"/>')
        s, side = NAMED_AT[bands, rows]
        x = across(s) + (10 if side == "start" else -10)
        parts.append(text(x, down(theory(s, bands, rows)) + 5, f"{bands} × {rows}", side, f' style="fill: {colour}"'))
    said = (
        "Probability that two documents share a band, by their Jaccard similarity, for 20 bands of 7 rows, 14 of 8 and "
        "9 of 13: curves of theory, and dots as measured"
    )
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" role="img">\n'
        f"<title>{escape(said)}</title>\n<style>{STYLE}</style>\n" + "\n".join(parts) + "\n</svg>\n"
    )


def order() -> str:
    """Where each sample of an epoch is from: by our order, and by a buffer from which one row is drawn at a time."""
    ours = SampleOrder((SAMPLES,), (1.0,), seed=1).draw(np.arange(SAMPLES)).row.tolist()
    parts = [f'<rect class="paper" width="{WIDTH}" height="{HEIGHT}"/>']
    for left, name, rows in ((60, "TokenLoader", ours), (410, f"a buffer of {BUFFER} rows", buffered())):
        side = 290
        parts.append(f'<rect x="{left}" y="40" width="{side}" height="{side}" fill="none" stroke="#222"/>')
        parts.append(text(left + side / 2, 28, name, "middle"))
        parts.append(text(left + side / 2, 352, f"sample, 0 to {SAMPLES - 1}", "middle"))
        points = ((left + side * n / SAMPLES, 40 + side * (1 - row / SAMPLES)) for n, row in enumerate(rows))
        parts += [f'<circle cx="{x:.1f}" cy="{y:.1f}" r="1.5" fill="#1f5fa8"/>' for x, y in points]
    parts.append('<text transform="translate(40 185) rotate(-90)" text-anchor="middle">row of the shards</text>')
    said = (
        "Order of samples against their position in the shards: ours fills the square, a buffer stays at the diagonal"
    )
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT - 30}" role="img">\n'
        f"<title>{escape(said)}</title>\n<style>{STYLE}</style>\n" + "\n".join(parts) + "\n</svg>\n"
    )


def buffered() -> list[int]:
    """The rows in the order in which a shuffle buffer gives them."""
    random, waiting, given = np.random.default_rng(1), list(range(BUFFER)), []
    for row in range(BUFFER, SAMPLES):
        at = int(random.integers(BUFFER))
        given.append(waiting[at])
        waiting[at] = row
    return given + [waiting[at] for at in random.permutation(BUFFER).tolist()]


def theory(s: float, bands: int, rows: int) -> float:
    return float(1 - (1 - s**rows) ** bands)


def measured(bands: int, rows: int) -> list[tuple[float, float]]:
    """(similarity, share of pairs that meet) of pairs of sets of SHINGLES members."""
    random = np.random.default_rng(bands * rows)
    points = []
    for aim in np.arange(LOWEST + 0.05, 1, 0.05):
        both = round(2 * SHINGLES * aim / (1 + aim))
        union = 2 * SHINGLES - both
        members = random.integers(0, 2**64 - 1, (PAIRS, union), np.uint64, endpoint=True)
        ends = np.arange(PAIRS + 1) * SHINGLES
        sides = members[:, :SHINGLES].ravel(), members[:, union - SHINGLES :].ravel()
        left, right = (band_keys(sketch(side, ends, bands * rows), bands) for side in sides)
        points.append((both / union, float((left == right).any(axis=1).mean())))
    return points


def across(similarity: float) -> float:
    return LEFT + (similarity - LOWEST) / (1 - LOWEST) * (RIGHT - LEFT)


def down(probability: float) -> float:
    return BOTTOM - probability * (BOTTOM - TOP)


def text(x: float, y: float, words: str, anchor: str, more: str = "") -> str:
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}"{more}>{escape(words)}</text>'


def main() -> None:
    FOLDER.mkdir(exist_ok=True)
    for name, content in pictures().items():
        (FOLDER / name).write_text(content, "utf-8")


if __name__ == "__main__":
    main()
