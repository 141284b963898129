// The list: filters, a page of documents, and the way to the next one.

import { get } from "./api.js";
import { addressOf, h, measured, number, outcome, select, to } from "./dom.js";

const FILTERS = ["outcome", "step", "reason", "source", "language", "domain", "name", "text", "signal", "low", "high", "sort"];
// The page that was shown last: a document knows which is next.
export const shown = { rows: [], query: {} };
let pages = [null, null];

const choices = (facet, all) => [["", all], ...facet.map(([value, count]) => [value, `${value} (${number(count)})`])];

export async function documents(run, query) {
  const page = Number(query.page ?? 0);
  const wanted = Object.fromEntries(FILTERS.filter((name) => query[name]).map((name) => [name, query[name]]));
  const found = await get("documents", { ...wanted, page });
  shown.rows = found.rows;
  shown.query = query;
  const last = Math.max(0, Math.ceil(found.documents / found.size) - 1);
  pages = [page > 0 ? to("documents", { ...wanted, page: page - 1 }) : null, page < last ? to("documents", { ...wanted, page: page + 1 }) : null];
  return h("div", {}, filters(run, wanted), summary(found, wanted), table(found, wanted), pager(found, page, last));
}

function filters(run, wanted) {
  const facets = run.facets;
  const changed = (event) => {
    const form = event.target.closest("form");
    const given = Object.fromEntries([...new FormData(form)].map(([name, value]) => [name, value.trim()]));
    location.hash = to("documents", given);
  };
  const input = (label, name, attributes) =>
    h("label", {}, label, h("input", { name, value: wanted[name] ?? "", onchange: changed, autocomplete: "off", ...attributes }));
  const facet = (label, name, all) => select(label, name, choices(facets[name], all), wanted[name] ?? "", changed);
  const signals = [["", "none"], ...run.signals.map((name) => [name, name])];
  const sorts = [["", "at random"], ["tokens", "most tokens"], ["-tokens", "fewest tokens"], ["signal", "highest signal"], ["-signal", "lowest signal"]];
  const submitted = (event) => {
    event.preventDefault();
    changed(event);
  };
  return h(
    "form",
    { class: "filters", onsubmit: submitted, "aria-label": "Filters" },
    facet("Outcome", "outcome", "all"),
    facet("Step", "step", "any"),
    facet("First reason", "reason", "any"),
    facet("Source", "source", "any"),
    facet("Language", "language", "any"),
    input("Domain", "domain", { list: "domains" }),
    h("datalist", { id: "domains" }, facets.domain.map(([name]) => h("option", { value: name }))),
    input("ID or URL contains", "name", { type: "search", id: "search" }),
    input("Text contains", "text", { type: "search" }),
    select("Signal", "signal", signals, wanted.signal ?? "", changed),
    input("from", "low", { type: "number", step: "any" }),
    input("to", "high", { type: "number", step: "any" }),
    select("Order", "sort", sorts, wanted.sort ?? "", changed),
    h("button", { class: "quiet", type: "submit" }, "Filter"),
    h("a", { href: "#documents" }, "Clear"),
  );
}

const summary = (found, wanted) =>
  h(
    "p",
    { class: "summary", "aria-live": "polite" },
    `${number(found.documents)} documents, ${number(found.kept)} of them kept, ${number(found.tokens)} tokens. `,
    h("a", { href: `documents.jsonl?${new URLSearchParams(wanted)}`, download: "documents.jsonl" }, "Export this list as JSONL"),
  );

function table(found, wanted) {
  if (!found.rows.length) return h("p", {}, "No documents match. Clear a filter.");
  const signal = wanted.signal;
  const cell = (label, ...content) => h("td", { "data-label": label }, ...content);
  const row = (each) =>
    h(
      "tr",
      {},
      cell("Document", h("a", { href: to("document", addressOf(each)) }, each.url ?? `${each.file}:${each.position}`)),
      cell("Outcome", outcome(each)),
      cell("Why", each.because ?? ""),
      signal && cell(signal, measured(each.value)),
      cell("Source", each.source),
      cell("Language", each.language ?? "–"),
      h("td", { "data-label": "Tokens", class: "number" }, number(each.tokens)),
    );
  const heads = ["Document", "Outcome", "Why", ...(signal ? [signal] : []), "Source", "Language", "Tokens"];
  return h(
    "table",
    { class: "list" },
    h("thead", {}, h("tr", {}, heads.map((name) => h("th", { scope: "col" }, name)))),
    h("tbody", {}, found.rows.map(row)),
  );
}

const pager = (found, page, last) =>
  h(
    "nav",
    { class: "pager", "aria-label": "Pages" },
    pages[0] ? h("a", { href: pages[0], rel: "prev" }, "← Previous (p)") : h("span", {}),
    h("span", {}, `Page ${number(page + 1)} of ${number(last + 1)}`),
    pages[1] ? h("a", { href: pages[1], rel: "next" }, "Next (n) →") : h("span", {}),
  );

export function documentsKey(event) {
  const there = { p: pages[0], n: pages[1] }[event.key];
  if (there) location.hash = there;
  if (event.key === "/") {
    event.preventDefault();
    document.getElementById("search")?.focus();
  }
}
