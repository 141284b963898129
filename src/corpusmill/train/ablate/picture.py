"""The effects as a picture: of each a point and its interval, beside the line where nothing changes."""

from math import isnan

from corpusmill.report.html.markup import HtmlText, tag
from corpusmill.report.html.svg import round_values
from corpusmill.train.ablate.ablation import Ablation

WIDTH, NAMES, MARGIN = 720, 220, 24  # pixels: of the picture, of the names, beside the last value
TOP, ROW, GAP, BOTTOM = 64, 22, 16, 36
MAX_NAME = 30  # characters
TITLES = {"stage": "stages", "source": "sources", "bucket": "buckets"}
STYLE = HtmlText(
    "text{font:13px system-ui,sans-serif;fill:#222}.small{font-size:12px;fill:#555}.paper{fill:#fff}"
    ".grid{stroke:#ddd}.zero{stroke:#222}line{stroke-width:1}.interval{stroke-width:3}"
    ".better{stroke:#3a7d34;fill:#3a7d34}.worse{stroke:#b4541a;fill:#b4541a}.not-shown{stroke:#999;fill:#999}"
)


def picture(answer: Ablation) -> str:
    """An SVG."""
    known = [each for each in answer.effects if not isnan(each.change.bits)]
    low = min([each.change.low for each in known] + [0.0])
    high = max([each.change.high for each in known] + [0.0])
    reach = (high - low) or 1.0

    def x(value: float) -> str:
        return f"{NAMES + (value - low) / reach * (WIDTH - NAMES - MARGIN):.1f}"

    kinds = [kind for kind in TITLES if any(each.kind == kind for each in known)]
    height = TOP + len(known) * ROW + len(kinds) * (ROW + GAP) + BOTTOM
    title = f"Worth in bits per byte of held-out text ({', '.join(answer.targets)})"
    parts = [
        tag("title", title),
        tag("style", STYLE),
        tag("rect", class_="paper", width=WIDTH, height=height),
        tag("text", title, x=MARGIN, y=26),
        tag("text", "with 95 % intervals; left of 0 is better, grey is not shown", x=MARGIN, y=44, class_="small"),
    ]
    for value in [value for value in round_values(low, high, 5) if low <= value <= high]:
        ends = {"x1": x(value), "x2": x(value), "y1": TOP - 6, "y2": height - BOTTOM + 4}
        parts.append(tag("line", **ends, class_="zero" if value == 0 else "grid"))
        parts.append(tag("text", f"{value:g}", x=x(value), y=height - 12, text_anchor="middle", class_="small"))
    y = TOP
    for kind in kinds:
        y += ROW
        parts.append(tag("text", TITLES[kind], x=MARGIN, y=y, class_="small"))
        for effect in sorted((each for each in known if each.kind == kind), key=lambda each: each.change.bits):
            y += ROW
            change = effect.change
            css = change.verdict.replace(" ", "-")
            name = effect.name if len(effect.name) <= MAX_NAME else effect.name[: MAX_NAME - 1] + "…"
            ends = {"x1": x(change.low), "x2": x(change.high), "y1": y - 4, "y2": y - 4}
            words = f"{effect.name}: {change.bits:+.4f}, {change.low:+.4f} to {change.high:+.4f}, {change.verdict}"
            point = tag("circle", cx=x(change.bits), cy=y - 4, r=4)
            parts.append(tag("text", name, x=NAMES - 12, y=y, text_anchor="end"))
            parts.append(tag("g", tag("title", words), tag("line", **ends, class_="interval"), point, class_=css))
        y += GAP
    return tag(
        "svg", *parts, xmlns="http://www.w3.org/2000/svg", viewBox=f"0 0 {WIDTH} {height}", role="img", aria_label=title
    )
