// From a training step, a row or a token of the shards to the documents in it, and on to the next step.

import { get } from "./api.js";
import { h, measured, number, select, to } from "./dom.js";

const STEP = ["step", "batch", "world", "rank", "seed", "seq_len", "order", "first"];
const ROW = ["row", "shard", "seq_len"];
const TOKEN = ["token", "shard"];
let around = [null, null];

export async function trace(run, query) {
  around = [null, null];
  if (!run.shards) return h("p", {}, "The run wrote no training shards, so there is no step or row to trace. Add shards to the writers of its recipe.");
  const of = query.step !== undefined ? STEP : query.token !== undefined ? TOKEN : query.row !== undefined ? ROW : null;
  const wanted = of && Object.fromEntries(of.filter((name) => query[name] !== undefined).map((name) => [name, query[name]]));
  let made = null;
  if (wanted) {
    try {
      made = answered(await get("trace", wanted), wanted);
    } catch (error) {
      made = h("p", { class: "error", role: "alert" }, error.message);
    }
  }
  return h("div", {}, h("h1", {}, "From training back to documents"), forms(run.shards, query, of), made);
}

function forms(shards, query, of) {
  const form = (title, names, ...inputs) =>
    h(
      "form",
      {
        class: "ask",
        "aria-label": title,
        onsubmit: (event) => {
          event.preventDefault();
          location.hash = to("trace", Object.fromEntries([...new FormData(event.target)].map(([name, value]) => [name, value.trim()])));
        },
      },
      h("h2", {}, title),
      h("div", { class: "filters" }, inputs, h("button", { class: of === names ? null : "quiet", type: "submit" }, "Trace")),
    );
  const input = (label, name, own, attributes) =>
    h("label", {}, label, h("input", { name, type: "number", step: 1, min: 0, value: of === own ? (query[name] ?? attributes?.value ?? "") : (attributes?.value ?? ""), autocomplete: "off", ...attributes, ...(of === own && query[name] !== undefined ? { value: query[name] } : {}) }));
  const length = (own) => input("Row length", "seq_len", own, { min: 1, placeholder: shards.seq_len ?? "", required: shards.seq_len === null });
  const last = shards.shards.length - 1;
  return h(
    "div",
    { class: "asks" },
    form(
      "A training step",
      STEP,
      input("Step", "step", STEP, { required: true }),
      input("Rows per rank", "batch", STEP, { min: 1, value: 8 }),
      input("World size", "world", STEP, { min: 1, value: 1 }),
      input("Rank", "rank", STEP, { placeholder: "all" }),
      input("Seed", "seed", STEP, { min: null, value: 0 }),
      length(STEP),
      select("Order", "order", [["", "shuffled"], ["stored", "as stored"]], (of === STEP && query.order) || "", () => {}),
    ),
    form("A row", ROW, input("Row", "row", ROW, { required: true }), input("of shard", "shard", ROW, { max: last, placeholder: "counted over all" }), length(ROW)),
    form("A token", TOKEN, input("Token", "token", TOKEN, { required: true }), input("of shard", "shard", TOKEN, { max: last, value: 0 })),
  );
}

function answered(found, wanted) {
  const others = (first) => to("trace", { ...wanted, first });
  around = [found.previous, found.next].map((question) => question && to("trace", question));
  const documents = new Set(found.pieces.map((piece) => piece.document)).size;
  const rows = found.kind === "step" && found.rows > found.together;
  const last = rows && Math.min(found.first + found.together, found.rows);
  return h(
    "section",
    { class: "traced" },
    h(
      "nav",
      { class: "pager", "aria-label": "Steps" },
      around[0] ? h("a", { href: around[0], rel: "prev" }, `← Previous ${found.kind} (p)`) : h("span", {}),
      h("b", {}, found.title),
      around[1] ? h("a", { href: around[1], rel: "next" }, `Next ${found.kind} (n) →`) : h("span", {}),
    ),
    found.kind === "step" && h("p", {}, `An epoch takes ${measured(found.epoch)} such steps.`),
    rows &&
      h(
        "nav",
        { class: "pager", "aria-label": "Rows" },
        found.first ? h("a", { href: others(Math.max(0, found.first - found.together)) }, "← Rows before") : h("span", {}),
        h("span", {}, `Rows ${number(found.first + 1)} to ${number(last)} of ${number(found.rows)}`),
        last < found.rows ? h("a", { href: others(last) }, "Rows after →") : h("span", {}),
      ),
    h("p", { class: "summary", "aria-live": "polite" }, found.pieces.length ? `${number(documents)} ${documents === 1 ? "document" : "documents"}` : "Padding only."),
    found.pieces.map((each) => piece(each, found.kind)),
  );
}

function piece(each, kind) {
  const about = each.about;
  const known = about.id !== undefined && about.id !== null;
  const tokens = `${each.offset}:${each.offset + each.length}`;
  const place = kind === "token" ? "" : `tokens ${number(each.start)} to ${number(each.start + each.length - 1)} of `;
  const row = each.row === null ? "" : kind === "step" ? `rank ${each.rank}, row ${each.row}` : `row ${number(each.row)}`;
  const gone = each.forgotten ? "A document removed by forget" : `Document ${number(each.document)}: the shards do not record its origin`;
  return h(
    "article",
    { class: "piece", "data-document": each.document },
    h("h3", {}, known ? h("a", { href: to("document", { id: about.id, file: about.file, position: about.position, tokens }) }, about.url ?? `${about.file}:${about.position}`) : gone),
    known && h("p", {}, `${about.source}, ${about.file} at ${number(about.position)}`),
    h("p", {}, `${place}${row}; from token ${number(each.offset)} of the document`, each.epoch === null ? "" : `; sample ${number(each.sample)}, epoch ${number(each.epoch + 1)}`),
    h("div", { class: "text" }, each.before, h("mark", { class: "c1" }, each.text), each.after, each.more > 0 && ` … and ${number(each.more)} more tokens`),
  );
}

export function traceKey(event) {
  const there = { p: around[0], n: around[1] }[event.key];
  if (there) location.hash = there;
}
