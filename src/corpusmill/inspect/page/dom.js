// Elements. Every text becomes a text node: nothing of a corpus is ever read as HTML.

const SVG = "http://www.w3.org/2000/svg";

function fill(element, attributes, children) {
  for (const [name, value] of Object.entries(attributes ?? {})) {
    if (value === undefined || value === null || value === false) continue;
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else if (name === "value") element.value = value;
    else element.setAttribute(name, value === true ? "" : value);
  }
  element.append(...children.flat(Infinity).filter((child) => child !== null && child !== undefined && child !== false));
  return element;
}

export const h = (tag, attributes, ...children) => fill(document.createElement(tag), attributes, children);
export const s = (tag, attributes, ...children) => fill(document.createElementNS(SVG, tag), attributes, children);

export const number = (value) => (value === null || value === undefined ? "–" : value.toLocaleString("en-US"));

// A measured value: whole numbers as they are, others with four digits.
export function measured(value) {
  if (value === null || value === undefined) return "–";
  if (typeof value !== "number") return typeof value === "string" ? value : JSON.stringify(value);
  return Number.isInteger(value) ? value.toLocaleString("en-US") : String(Number(value.toPrecision(4)));
}

// An identifier, which may be broken behind its dots and underscores.
export const parted = (name) => name.split(/(?<=[._])/).flatMap((part) => [part, h("wbr")]);

export function outcome(row) {
  if (row.kept) return h("span", { class: "badge kept" }, "kept");
  if (row.dropped_by) return h("span", { class: "badge dropped" }, `dropped by ${row.dropped_by}`);
  return h("span", { class: "badge" }, "lost");
}

export function select(label, name, options, chosen, onchange) {
  const made = options.map(([value, text]) => h("option", { value, selected: value === chosen }, text));
  return h("label", {}, label, h("select", { name, onchange }, made));
}

export const to = (view, parameters) => {
  const given = Object.entries(parameters).filter(([, value]) => value !== "" && value !== undefined && value !== null);
  const query = new URLSearchParams(given).toString();
  return query ? `#${view}?${query}` : `#${view}`;
};

export const addressOf = (row) => ({ id: row.id, file: row.file, position: row.position });
