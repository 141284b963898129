// Blind review: twenty documents, one at a time; the decisions of the run are shown when all have a mark.

import { get, post } from "./api.js";
import { h, measured, number, parted, select, to } from "./dom.js";

let press = null;

export async function review(run, query) {
  const stage = query.stage ?? run.stages[0];
  const found = await get("round", { stage });
  const texts = []; // promises: the next one is on its way while one is read
  const box = h("div", {});
  const chosen = (event) => (location.hash = to("review", { stage: event.target.value }));
  let at = 0;

  function text(which) {
    if (which >= found.length) return null;
    const { id, file, position } = found[which];
    texts[which] ??= get("text", { stage, id, file, position });
    texts[which].catch(() => (texts[which] = undefined)); // to be asked for again
    return texts[which];
  }

  async function mark(value) {
    if (press !== mark) return; // the one before is not saved yet, or the next one not shown
    const own = found[at];
    press = null;
    try {
      await post("mark", { stage, id: own.id, file: own.file, position: own.position, mark: value });
    } catch (error) {
      box.prepend(h("p", { class: "error", role: "alert" }, error.message));
      press = mark;
      return;
    }
    at += 1;
    scrollTo(0, 0);
    await draw();
  }

  async function draw() {
    if (at < found.length) {
      let shown;
      try {
        shown = await text(at);
      } catch (error) {
        const again = h("button", { type: "button", onclick: draw }, "Try again");
        box.replaceChildren(h("p", { class: "error", role: "alert" }, error.message), again);
        return;
      }
      press = mark;
      box.replaceChildren(...card({ ...found[at], ...shown }, at, found.length, run.marks, mark));
      text(at + 1);
      return;
    }
    press = null;
    const said = await get("agreement");
    const more = h("button", { type: "button", onclick: () => dispatchEvent(new HashChangeEvent("hashchange")) }, "Review twenty more");
    box.replaceChildren(h("p", {}, found.length ? "Done." : "All documents of this pass that have a stored text are marked."), found.length > 0 && more, agreement(said));
  }

  await draw();
  return h(
    "div",
    {},
    h("h1", {}, "Blind review"),
    h("p", {}, "Should this text be in the training data? The decisions of the run are hidden until all are marked."),
    select("Pass", "stage", run.stages.map((name) => [name, name]), stage, chosen),
    box,
  );
}

function card(found, at, of, marks, mark) {
  return [
    h(
      "div",
      { class: "bar" },
      h("span", { "aria-live": "polite" }, `${at + 1} of ${of}`),
      marks.map((name) => h("button", { type: "button", "data-mark": name, onclick: () => mark(name) }, `${name} (${name[0]})`)),
    ),
    h("p", {}, `${found.source} · ${found.url ?? "no URL"}${found.date ? ` · ${found.date}` : ""}`),
    h("div", { class: "text", tabindex: "0" }, found.text),
  ];
}

function agreement(said) {
  if (!said.agreement.length) return h("p", {}, "No marks yet.");
  const row = (each) =>
    h(
      "tr",
      {},
      h("td", {}, parted(each.name)),
      [each.marked, each.fired, each.agree].map((value) => h("td", { class: "number" }, number(value))),
      h("td", { class: "number" }, each.kappa === null ? "–" : measured(Number(each.kappa.toFixed(2)))),
    );
  return h(
    "section",
    {},
    h("h2", {}, "Agreement"),
    h("div", { class: "wide" }, h("table", {}, h("thead", {}, h("tr", {}, ["Pass or rule", "Marked", "Run drops", "Agree", "Kappa"].map((name, at) => h("th", { scope: "col", class: at > 0 && "number" }, name)))), h("tbody", {}, said.agreement.map(row)))),
    h("div", { class: "wide" }, h("table", {}, h("thead", {}, h("tr", {}, ["Pass", "Precision", "Recall"].map((name) => h("th", { scope: "col" }, name)))), h("tbody", {}, said.accuracy.map(accuracyRow)))),
    h("p", {}, "Precision is the share of good documents in what the pass kept, recall the share of the good documents that it kept, with intervals at 95 %; kept and dropped documents are weighted by their numbers in the run."),
    h("p", {}, "Cohen's kappa is 1 for full agreement and 0 for agreement by chance. A round has as many dropped as kept documents, where there are enough."),
    h("p", {}, `Marks are saved in ${said.file}.`),
  );
}

function accuracyRow(each) {
  const share = (value) => measured(Number(value.toFixed(3)));
  const cell = (found) => (found === null ? "–" : `${share(found.value)} (${found.interval.map(share).join(" to ")})`);
  return h("tr", {}, h("td", {}, parted(each.stage)), h("td", {}, cell(each.precision)), h("td", {}, cell(each.recall)));
}

export function reviewKey(event) {
  const value = { k: "keep", d: "drop", u: "unsure" }[event.key];
  if (value) press?.(value);
}
