// Which view is shown: the part of the address after "#".

import { get } from "./api.js";
import { documents, documentsKey } from "./documents.js";
import { one, oneKey, pair } from "./document.js";
import { h } from "./dom.js";
import { review, reviewKey } from "./review.js";
import { thresholds } from "./thresholds.js";
import { trace, traceKey } from "./trace.js";

const VIEWS = {
  documents: [documents, documentsKey],
  document: [one, oneKey],
  pair: [pair, oneKey],
  thresholds: [thresholds],
  trace: [trace, traceKey],
  review: [review, reviewKey],
};
const view = document.getElementById("view");
let run;
let current = "documents";
let turn = 0;

async function show() {
  const [name, query] = location.hash.slice(1).split("?", 2);
  current = VIEWS[name] ? name : "documents";
  const own = ++turn;
  for (const link of document.querySelectorAll("nav a")) {
    const of = link.getAttribute("href").slice(1);
    const here = of === current || (of === "documents" && (current === "document" || current === "pair"));
    if (here) link.setAttribute("aria-current", "page");
    else link.removeAttribute("aria-current");
  }
  view.setAttribute("aria-busy", "true");
  let made;
  try {
    run ??= await get("run");
    document.getElementById("name").textContent = run.name;
    document.title = `${run.name} · corpusmill inspect`;
    made = await VIEWS[current][0](run, Object.fromEntries(new URLSearchParams(query ?? "")));
  } catch (error) {
    made = h("p", { class: "error", role: "alert" }, error.message);
  }
  if (own !== turn) return; // another view was asked for meanwhile
  view.replaceChildren(made);
  view.removeAttribute("aria-busy");
}

document.addEventListener("keydown", (event) => {
  const typing = event.target.closest?.("input, select, textarea");
  if (typing || event.ctrlKey || event.metaKey || event.altKey) return;
  VIEWS[current][1]?.(event);
});
addEventListener("hashchange", () => {
  scrollTo(0, 0);
  show();
});
show();
