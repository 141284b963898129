// One document: what the steps said of it, its text with what they measured in it; and a duplicate beside it.

import { get } from "./api.js";
import { shown } from "./documents.js";
import { addressOf, h, measured, number, outcome, parted, to } from "./dom.js";

const COLOURS = 8;
const NOT_AT_FIRST = ["most frequent 2 to 4 words", "short line"]; // they would cover the others
const SAID = { "<": "below", "<=": "at most", ">": "above", ">=": "at least" };
let around = [null, null];

const back = () => h("a", { href: to("documents", shown.query) }, "← Back to the list");

export async function one(run, query) {
  const found = await get("document", query);
  const at = shown.rows.findIndex((row) => row.id === found.id && row.file === found.file && row.position === found.position);
  around = [shown.rows[at - 1], at < 0 ? undefined : shown.rows[at + 1]].map((row) => row && to("document", addressOf(row)));
  const twin = found.steps.find((step) => step.duplicate_of);
  return h(
    "article",
    {},
    h(
      "nav",
      { class: "pager", "aria-label": "Documents" },
      back(),
      around[0] && h("a", { href: around[0] }, "Previous (k)"),
      around[1] && h("a", { href: around[1] }, "Next (j)"),
    ),
    h("h1", {}, found.url ?? `${found.file}:${found.position}`),
    h("p", {}, outcome(found), twin && [" ", h("a", { href: to("pair", addressOf(found)) }, "Compare with the kept document")]),
    about(found),
    h("div", { class: "columns" }, text(found), h("section", {}, h("h2", {}, "Steps"), found.steps.map(step))),
  );
}

function about(found) {
  const facts = [
    ["Id", found.id],
    ["Read from", `${found.source}, ${found.file} at ${found.position}`],
    ["Date", found.date],
    ["Size", `${number(found.bytes)} bytes, ${number(found.tokens)} tokens`],
    ["Lost", found.lost && `${found.lost.step}: ${found.lost.reason}`],
    ["Tokens at", found.shards.length && found.shards.map((each, index) => [index ? "; " : "", h("a", { href: to("trace", { shard: each.shard, token: each.start }) }, `shard ${each.shard}, ${number(each.start)} to ${number(each.stop)}`)])],
  ];
  return h("dl", { class: "facts" }, facts.filter(([, value]) => value).map(([name, value]) => [h("dt", {}, name), h("dd", {}, value)]));
}

function text(found) {
  if (!found.parts) return h("section", {}, h("h2", {}, "Text"), h("p", {}, found.not_stored));
  const names = found.legend.map(([name]) => name);
  // Those who come for some tokens see them alone at first.
  const on = new Set(found.asked ? [found.asked] : names.filter((name) => !NOT_AT_FIRST.includes(name)));
  const body = h("div", { class: "text", tabindex: "0", "aria-label": "Text of the document" });
  const draw = () =>
    body.replaceChildren(
      ...found.parts.map(([part, marks]) => {
        const seen = marks.filter((name) => on.has(name));
        return seen.length ? h("mark", { class: `c${names.indexOf(seen[0]) % COLOURS}`, title: seen.join(", ") }, part) : part;
      }),
    );
  const choice = ([name, count], index) => {
    const box = h("input", { type: "checkbox", checked: on.has(name) });
    box.addEventListener("change", () => {
      if (box.checked) on.add(name);
      else on.delete(name);
      draw();
    });
    return h("label", {}, box, h("mark", { class: `c${index % COLOURS}` }, name), ` ${number(count)}`);
  };
  draw();
  if (found.asked) requestAnimationFrame(() => body.querySelector("mark")?.scrollIntoView({ block: "center" }));
  return h(
    "section",
    {},
    h("h2", {}, found.kept ? "Kept text" : "Last version of the text"),
    h("div", { class: "legend", role: "group", "aria-label": "What is marked" }, found.legend.map(choice)),
    body,
    found.left_out > 0 && h("p", {}, `… and ${number(found.left_out)} more characters`),
  );
}

function step(each) {
  const known = new Set(each.rules.map((rule) => rule.signal));
  const others = Object.entries(each.signals ?? {}).filter(([name, value]) => !known.has(name) && value !== null);
  const failed = each.verdict === "drops" || each.verdict === "would drop";
  const rule = (own) =>
    h(
      "tr",
      { class: own.passes ? null : "failed" },
      h("td", {}, parted(own.rule), h("small", {}, parted(own.signal))),
      h("td", { class: "number" }, measured(own.value)),
      h("td", {}, `${SAID[own.drops]} ${measured(own.threshold)}`),
      h("td", {}, own.passes ? "passes" : "fails"),
    );
  return h(
    "details",
    { open: failed, class: failed ? "failed" : null },
    h("summary", {}, h("b", {}, each.step), ` ${each.verdict}`, each.reasons.length ? `: ${each.reasons.join(", ")}` : ""),
    each.rules.length > 0 &&
      h(
        "div",
        { class: "wide" },
        h(
          "table",
          { class: "rules" },
          h("thead", {}, h("tr", {}, ["Rule and signal", "Value", "Dropped if", "Verdict"].map((name) => h("th", { scope: "col", class: name === "Value" && "number" }, name)))),
          h("tbody", {}, each.rules.map(rule)),
        ),
      ),
    others.length > 0 && h("dl", { class: "facts" }, others.map(([name, value]) => [h("dt", {}, name), h("dd", {}, measured(value))])),
    !each.rules.length && !others.length && h("p", {}, "Nothing was measured."),
  );
}

export async function pair(run, query) {
  const found = await get("pair", query);
  around = [null, null];
  const side = (title, each) =>
    h(
      "section",
      {},
      h("h2", {}, title),
      h("p", {}, outcome(each), " ", h("a", { href: to("document", addressOf(each)) }, each.url ?? `${each.file}:${each.position}`)),
      h("p", {}, `${each.source}, ${number(each.bytes)} bytes, ${number(each.tokens)} tokens`),
      each.parts
        ? h("div", { class: "text", tabindex: "0" }, each.parts.map(([part, same]) => (same ? part : h("mark", { class: "different" }, part))))
        : h("p", {}, "One of the two texts is not stored, so differences cannot be shown."),
    );
  const lost = found.lost === null ? "" : `; ${measured(100 * found.lost)} % of the n-grams of the duplicate are lost`;
  const similar = found.similarity === null ? "" : `; similarity ${measured(found.similarity)}`;
  return h(
    "article",
    {},
    h("nav", { class: "pager" }, h("a", { href: to("document", query) }, "← Back to the document")),
    h("h1", {}, `Duplicate pair found by ${found.step}`),
    h("p", {}, `Words in only one of the two texts are marked${similar}${lost}.`),
    h("div", { class: "columns even" }, side("Duplicate", found.document), side("Kept document", found.duplicate_of)),
  );
}

export function oneKey(event) {
  const there = { k: around[0], j: around[1] }[event.key];
  if (there) location.hash = there;
}
