// The values that a rule judges, and how many documents of each are kept: a code says between which edges a value is.

import { measured, s } from "./dom.js";

const WIDTH = 300;
const HEIGHT = 70;
const BINS = 50;
const TAIL = 0.005; // of the documents, at each end, that the outermost bars take in

// Where a threshold is on the axis of the bars, from 0 to 1.
export function placed(slider, histogram, threshold) {
  return Math.min(1, Math.max(0, scaled(slider, histogram).at(threshold)));
}

export function drawn(slider, histogram, threshold) {
  const { bars, at, from, to } = scaled(slider, histogram);
  const most = Math.max(1, ...bars.map(([every]) => every));
  const wide = WIDTH / bars.length;
  const tall = (count) => (count ? Math.max(1, (HEIGHT * count) / most) : 0);
  const shape = (count, index, kind) =>
    count > 0 && s("rect", { class: kind, x: index * wide, width: Math.max(1, wide - 1), y: HEIGHT - tall(count), height: tall(count) });
  const x = threshold === null ? null : Math.min(WIDTH - 1, Math.max(1, at(threshold) * WIDTH));
  return s(
    "svg",
    { viewBox: `0 0 ${WIDTH} ${HEIGHT + 14}`, role: "img", "aria-label": `${slider.signal}: documents by value, kept and dropped` },
    bars.map(([every, kept], index) => [shape(every, index, "every"), shape(kept, index, "keeps")]),
    x !== null && s("line", { x1: x, x2: x, y1: 0, y2: HEIGHT, class: "threshold" }),
    s("text", { x: 0, y: HEIGHT + 12 }, from),
    s("text", { x: WIDTH, y: HEIGHT + 12, "text-anchor": "end" }, to),
  );
}

function scaled(slider, histogram) {
  return slider.edges.length < BINS ? byCode(slider, histogram) : byValue(slider, histogram);
}

// A bar for each code, where there are few.
function byCode(slider, histogram) {
  const bars = slider.edges.map((_, code) => [histogram.every[code], histogram.kept[code]]);
  const beyond = slider.edges.length;
  bars.push([histogram.every[beyond] ?? 0, histogram.kept[beyond] ?? 0]);
  const at = (value) => {
    const place = slider.edges.findIndex((edge) => edge >= value);
    return ((place < 0 ? beyond - 1 : place) + 1) / bars.length;
  };
  return { bars, at, from: `below ${measured(slider.edges[0])}`, to: `from ${measured(slider.edges[beyond - 1])}` };
}

// Bars of one width in value. The documents of a code are spread over the values that it stands for.
function byValue(slider, histogram) {
  const { edges } = slider;
  const total = histogram.every.reduce((sum, count) => sum + count, 0);
  let low = 0;
  let high = edges.length - 1;
  for (let sum = histogram.every[0]; low < high && sum <= TAIL * total; sum += histogram.every[low]) low += 1;
  for (let sum = histogram.every[high + 1] ?? 0; high > low && sum <= TAIL * total; sum += histogram.every[high + 1]) high -= 1;
  const start = edges[Math.max(0, low - 1)];
  const end = edges[Math.min(edges.length - 1, high + 1)];
  const width = (end - start) / BINS || 1;
  const bars = Array.from({ length: BINS }, () => [0, 0]);
  const bin = (value) => Math.min(BINS - 1, Math.max(0, Math.floor((value - start) / width)));
  for (let code = 0; code <= edges.length; code += 1) {
    const from = bin(edges[Math.max(0, code - 1)]);
    const to = Math.max(from, bin(edges[Math.min(edges.length - 1, code)] - width / 1000));
    for (let at = from; at <= to; at += 1) {
      bars[at][0] += (histogram.every[code] ?? 0) / (to - from + 1);
      bars[at][1] += (histogram.kept[code] ?? 0) / (to - from + 1);
    }
  }
  const at = (value) => (value - start) / (end - start || 1);
  return { bars, at, from: `≤ ${measured(start)}`, to: `≥ ${measured(end)}` };
}
