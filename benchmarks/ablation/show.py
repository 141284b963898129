"""The table and the picture of an ablation."""

import json
import math
from html import escape
from pathlib import Path
from statistics import mean, stdev
from typing import Any

WIDTH, LEFT, RIGHT, TOP, ROW, GAP = 720, 210, 690, 56, 22, 30
COLOURS = ("#888888", "#1f5fa8", "#3a7d34", "#b4541a")
STYLE = """
  text { font: 14px system-ui, sans-serif; fill: #222 } .small { font-size: 12px; fill: #555 }
  .paper { fill: #fff } .grid { stroke: #ddd }
"""


def show(folder: Path, size: str, picture: Path | None = None) -> int:
    """Print the table; 1 if an arm has fewer than three seeds."""
    described = json.loads((folder / "arms.json").read_text())
    results = [json.loads(line) for line in (folder / f"results-{size}.jsonl").read_text().splitlines()]
    arms, sets = list(described["arms"]), list(described["held_out"])
    bits = {(arm, held): bits_per_byte(results, described, arm, held) for arm in arms for held in sets}
    one = results[0]
    print(
        f"{one['parameters']:,} parameters, {one['tokens']:,} tokens in {one['steps']:,} steps, {one['device']}. Bits "
        f"per byte of held-out text, mean and standard deviation of the seeds; lower is better.\n"
    )
    print(f"| arm | documents | tokens | passes | {' | '.join(sets)} | mean of the sets |")
    print(f"|---|---|---|---|{'---|' * len(sets)}---|")
    for arm in arms:
        about = described["arms"][arm]
        cells = [f"{mean(bits[arm, held]):.3f} ± {spread(bits[arm, held]):.3f}" for held in sets]
        overall = [mean(values) for values in zip(*(bits[arm, held] for held in sets), strict=True)]
        print(
            f"| {arm} | {about['documents']:,} | {about['tokens']:,} | {one['tokens'] / about['tokens']:.2f} | "
            f"{' | '.join(cells)} | {mean(overall):.3f} ± {spread(overall):.3f} |"
        )
    if picture is not None:
        picture.write_text(draw(arms, sets, bits, f"{one['parameters'] / 1e6:.0f} million parameters"), "utf-8")
    return int(any(len(bits[arm, sets[0]]) < 3 for arm in arms))


def bits_per_byte(results: list[dict[str, Any]], described: dict[str, Any], arm: str, held: str) -> list[float]:
    """One a seed: the loss per token, times the tokens per byte of the whole set."""
    about = described["held_out"][held]
    found = [one["loss"][held] for one in results if one["arm"] == arm]
    return [one["nats"] / one["tokens"] / math.log(2) * about["tokens"] / about["bytes"] for one in found]


def spread(values: list[float]) -> float:
    return stdev(values) if len(values) > 1 else 0.0


def draw(arms: list[str], sets: list[str], bits: dict[tuple[str, str], list[float]], model: str) -> str:
    """A row of dots an arm, one dot a seed, in a block a set."""
    values = [value for each in bits.values() for value in each]
    low, high = math.floor(min(values) * 10) / 10, math.ceil(max(values) * 10) / 10

    def x(value: float) -> float:
        return LEFT + (value - low) / (high - low) * (RIGHT - LEFT)

    height = TOP + len(sets) * (len(arms) * ROW + GAP) + 30
    title = f"Bits per byte of held-out text, {model}, one dot a seed; lower is better"
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" role="img">',
        f"<title>{escape(title)}</title><style>{STYLE}</style>",
        f'<rect class="paper" width="{WIDTH}" height="{height}"/>',
        f'<text x="20" y="26">{escape(title)}</text>',
    ]
    for tenth in range(round(low * 10), round(high * 10) + 1):
        at = f"{x(tenth / 10):.1f}"
        parts.append(f'<line class="grid" x1="{at}" x2="{at}" y1="{TOP - 10}" y2="{height - 28}"/>')
        parts.append(f'<text class="small" text-anchor="middle" x="{at}" y="{height - 10}">{tenth / 10:.1f}</text>')
    y = TOP + 10
    for held in sets:
        parts.append(f'<text x="20" y="{y}">{escape(held)}</text>')
        for arm, colour in zip(arms, COLOURS, strict=True):
            parts.append(f'<text class="small" text-anchor="end" x="{LEFT - 12}" y="{y + 4}">{escape(arm)}</text>')
            for value in bits[arm, held]:
                parts.append(f'<circle cx="{x(value):.1f}" cy="{y}" r="4.5" fill="{colour}" fill-opacity="0.75"/>')
            y += ROW
        y += GAP
    return "\n".join([*parts, "</svg>"]) + "\n"
