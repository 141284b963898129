// Sliders: an estimate at once for every move, the exact counts and the documents closest to the threshold when they rest.

import { get, post } from "./api.js";
import { addressOf, h, measured, number, select, to } from "./dom.js";
import { drawn, placed } from "./histogram.js";

const REST = 500; // milliseconds without a move after which the exact counts are asked for
const PLACES = 1000; // of a slider's knob, along the axis of its bars
const KEYS = { ArrowLeft: -1, ArrowDown: -1, ArrowRight: 1, ArrowUp: 1, PageDown: -10, PageUp: 10, Home: -Infinity, End: Infinity }; // edges
const SAID = { "<": "below", "<=": "at most", ">": "above", ">=": "at least" };

export async function thresholds(run, query) {
  if (!run.with_thresholds.length) return h("p", {}, "No step of this run has a numeric rule.");
  const stage = query.stage ?? run.with_thresholds[0];
  const found = await get("sliders", { stage });
  const state = { stage, moved: {}, timer: 0, asking: false, again: false, exact: null };
  const counts = h("p", { class: "counts", "aria-live": "polite" });
  const detail = h("section", { class: "detail" });
  const cards = found.sliders.map((slider) => card(slider, found.counts, state, changed));

  function show(said, exact) {
    counts.replaceChildren(
      change("documents", said.before.documents, said.after.documents),
      " · ",
      change("tokens", said.before.tokens, said.after.tokens),
      " ",
      h("span", { class: exact ? "badge kept" : "badge" }, exact ? "exact" : "estimate"),
    );
  }

  // One question at a time; of the moves meanwhile the last counts.
  async function estimate() {
    if (state.asking) {
      state.again = true;
      return;
    }
    state.asking = true;
    try {
      do {
        state.again = false;
        const said = await post("estimate", { stage, moved: state.moved });
        show(said, false);
        for (const each of cards) each.update(said.histograms);
      } while (state.again);
    } catch (error) {
      counts.replaceChildren(h("span", { class: "error" }, error.message));
    } finally {
      state.asking = false;
    }
  }

  function changed() {
    clearTimeout(state.timer);
    state.exact?.abort();
    state.timer = setTimeout(exact, REST);
    estimate();
  }

  async function exact() {
    const own = new AbortController();
    state.exact = own;
    if (!Object.keys(state.moved).length) {
      detail.replaceChildren(hint());
      return;
    }
    detail.replaceChildren(h("p", {}, "Counting exactly…"));
    try {
      const said = await post("exact", { moved: state.moved }, own.signal);
      if (own.signal.aborted) return;
      const [before, after] = said.kept;
      show({ before, after }, true);
      detail.replaceChildren(...border(said));
    } catch (error) {
      if (!own.signal.aborted) detail.replaceChildren(h("p", { class: "error", role: "alert" }, error.message));
    }
  }

  async function save() {
    try {
      const said = await post("recipe", { moved: state.moved });
      const url = URL.createObjectURL(new Blob([said.recipe], { type: "application/yaml" }));
      h("a", { href: url, download: said.name }).click();
      setTimeout(() => URL.revokeObjectURL(url), 10000);
    } catch (error) {
      detail.replaceChildren(h("p", { class: "error", role: "alert" }, error.message));
    }
  }

  function reset() {
    for (const each of cards) each.reset();
    changed();
  }

  detail.append(hint());
  show(found.counts, true);
  const steps = [...new Set(found.sliders.map((slider) => slider.key.split(".")[0]))];
  const chosen = (event) => (location.hash = to("thresholds", { stage: event.target.value }));
  return h(
    "div",
    {},
    h(
      "div",
      { class: "bar" },
      run.with_thresholds.length > 1 && select("Pass", "stage", run.with_thresholds.map((name) => [name, name]), stage, chosen),
      h("div", {}, h("small", {}, `kept by ${stage}`), counts),
      h("button", { type: "button", onclick: save }, "Save as recipe"),
      h("button", { type: "button", class: "quiet", onclick: reset }, "Reset all"),
    ),
    h(
      "div",
      { class: "thresholds" },
      h(
        "div",
        {},
        steps.map((step) =>
          h(
            "section",
            {},
            h("h2", {}, step),
            h("div", { class: "sliders" }, cards.filter((each) => each.key.split(".")[0] === step).map((each) => each.element)),
          ),
        ),
      ),
      detail,
    ),
  );
}

const hint = () => h("p", {}, "Move a threshold: the counts above and all histograms follow. Half a second later, exact counts and the documents closest to the threshold are shown here.");

function change(what, before, after) {
  const moves = after - before;
  const by = moves ? ` (${moves > 0 ? "+" : "−"}${number(Math.abs(moves))})` : "";
  return h("span", {}, h("b", {}, before === after ? number(before) : `${number(before)} → ${number(after)}`), ` ${what}${by}`);
}

function card(slider, counts, state, changed) {
  const { edges } = slider;
  const nearest = (value, of) => edges.reduce((best, _, at) => (Math.abs(of(at) - value) < Math.abs(of(best) - value) ? at : best), 0);
  const name = slider.key.split(".").slice(1).join(".");
  const place = (value) => Math.round(PLACES * placed(slider, counts.histograms[slider.key], value));
  const places = edges.map(place);
  // The knob is on the axis of the bars, below the line of its threshold; keys go from edge to edge, however near these are.
  const range = h("input", { type: "range", min: 0, max: PLACES, step: 1, value: place(slider.threshold), "aria-label": slider.key });
  const exact = h("input", { type: "number", step: slider.whole ? 1 : "any", value: slider.threshold, "aria-label": `${slider.key}, exact` });
  const off = h("input", { type: "checkbox" });
  const figure = h("div", { class: "histogram" });
  let histogram = counts.histograms[slider.key];

  function draw() {
    const now = off.checked ? null : Number(exact.value);
    figure.replaceChildren(drawn(slider, histogram, now));
    range.setAttribute("aria-valuetext", now === null ? "off" : measured(now));
    element.classList.toggle("moved", slider.key in state.moved);
  }

  function set(value) {
    if (value === slider.threshold) delete state.moved[slider.key];
    else state.moved[slider.key] = value;
    draw();
    changed();
  }

  function choose(at) {
    const edge = edges[Math.min(edges.length - 1, Math.max(0, at))];
    exact.value = slider.whole ? Math.round(edge) : edge;
    range.value = place(edge);
    off.checked = false;
    set(Number(exact.value));
  }

  range.addEventListener("input", () => {
    const at = Number(range.value);
    choose(at <= 0 ? 0 : at >= PLACES ? edges.length - 1 : nearest(at, (edge) => places[edge]));
  });
  range.addEventListener("keydown", (event) => {
    const moved = KEYS[event.key];
    if (moved === undefined) return;
    event.preventDefault();
    choose(nearest(Number(exact.value), (edge) => edges[edge]) + moved);
  });
  exact.addEventListener("change", () => {
    if (exact.value === "") exact.value = slider.threshold;
    range.value = place(Number(exact.value));
    off.checked = false;
    set(Number(exact.value));
  });
  off.addEventListener("change", () => set(off.checked ? null : Number(exact.value)));
  const element = h(
    "div",
    { class: "slider", "data-key": slider.key },
    h("h3", {}, name),
    h("p", {}, `drops ${slider.signal.split(".").slice(1).join(".")} ${SAID[slider.drops]}`, " ", exact, h("label", { class: "off" }, off, "off")),
    figure,
    range,
  );
  draw();
  return {
    key: slider.key,
    element,
    update(histograms) {
      histogram = histograms[slider.key];
      draw();
    },
    reset() {
      delete state.moved[slider.key];
      off.checked = false;
      exact.value = slider.threshold;
      range.value = place(slider.threshold);
      draw();
    },
  };
}

function border(said) {
  const made = [];
  for (const [newly, amounts] of [["kept", said.newly_kept], ["dropped", said.newly_dropped]]) {
    for (const [reason, amount] of Object.entries(amounts)) {
      const near = said.border.filter((each) => each.newly === newly && each.reason === reason);
      const values = (each) => Object.entries(each.values).map(([name, value]) => `${name} ${measured(value)}`).join(", ");
      made.push(
        h("h3", {}, h("span", { class: `badge ${newly}` }, `newly ${newly}`), ` ${number(amount.documents)} documents, ${number(amount.tokens)} tokens, by ${reason}`),
        h("p", {}, "Closest to the threshold:"),
        h("ul", {}, near.map((each) => h("li", {}, h("a", { href: to("document", addressOf(each)) }, each.url ?? `${each.file}:${each.position}`), ` ${values(each)}`))),
      );
    }
  }
  if (!made.length) made.push(h("p", {}, "No document changes its outcome."));
  if (said.open_steps.length) made.push(h("p", {}, `Results of later steps (${said.open_steps.join(", ")}) cannot be predicted; to see them, run:`));
  else made.push(h("p", {}, "To keep these documents, run:"));
  made.push(h("pre", { tabindex: "0" }, said.command));
  return made;
}
