// What a reader of the report can do: charts, tables, samples. Everything stands on the page without it.
"use strict";
(() => {
  const make = (name, inside, properties) => {
    const element = Object.assign(document.createElement(name), properties);
    element.append(...[inside ?? []].flat());
    return element;
  };
  const whole = (n) => n.toLocaleString("en-US");
  const dark = matchMedia("(prefers-color-scheme: dark)");

  // Charts. Each is drawn when it is about to be seen.

  const colours = (text) => {
    const style = getComputedStyle(document.documentElement);
    return JSON.parse(text.replace(/var\((--\w+)\)/g, (_, name) => style.getPropertyValue(name).trim()));
  };
  const config = () => colours(JSON.stringify({
    font: "system-ui, sans-serif",
    background: "transparent",
    view: { stroke: null },
    axis: {
      labelColor: "var(--soft)", titleColor: "var(--soft)", gridColor: "var(--line)", domainColor: "var(--soft)",
      tickColor: "var(--line)", titleFontWeight: 400, labelFontSize: 11.5, titleFontSize: 12,
    },
    axisY: { domain: false, ticks: false },
  }));

  const tip = make("div", [], { className: "tip", hidden: true });
  document.body.append(tip);
  function showTip(_, event, item, value) {
    tip.hidden = !value;
    if (!value) return;
    tip.replaceChildren(...Object.entries(value).map(([name, one]) => make("div", [make("b", one), ` ${name}`])));
    const { innerWidth: width } = window;
    tip.style.left = `${Math.max(4, Math.min(event.clientX + 14, width - tip.offsetWidth - 8))}px`;
    tip.style.top = `${event.clientY + 16}px`;
  }

  function draw(holder) {
    holder.view?.finalize();
    const spec = colours(holder.dataset.chart);
    spec.width = holder.clientWidth;
    spec.autosize = { type: "fit-x", contains: "padding" };
    const compiled = vegaLite.compile(spec, { config: config() }).spec;
    const canvas = holder.querySelector(".canvas") ?? make("div", [], { className: "canvas", role: "img" });
    canvas.ariaLabel = holder.dataset.label;
    const runtime = vega.parse(compiled, null, { ast: true });
    const view = new vega.View(runtime, {
      expr: vega.expressionInterpreter, renderer: "canvas", container: canvas, hover: true, tooltip: showTip,
      logLevel: vega.Error,
    });
    holder.view = view;
    if (!canvas.isConnected) {
      const about = make("span", [], { className: "selected" });
      const saves = [["PNG", savePng], ["SVG", saveSvg], ["CSV", saveCsv]].map(([name, save]) =>
        make("button", name, { type: "button", title: `save as ${name}`, onclick: () => save(holder) }));
      holder.append(canvas, make("div", [about, make("span", saves, { className: "saves" })], { className: "under" }));
    }
    holder.classList.add("drawn");
    if (spec.layer[0].params) {
      view.addSignalListener("brush", (_, range) => select(holder, spec.data.values, range.x));
      select(holder, spec.data.values, null);
    }
    view.runAsync();
  }

  function select(holder, bars, range) {
    const about = holder.querySelector(".selected");
    const { unknown } = holder.dataset;
    const without = unknown ? ` · ${whole(Number(unknown))} documents without a value` : "";
    if (!range) {
      about.textContent = `drag to select · shift + wheel to zoom${without}`;
      return;
    }
    const inside = bars.filter((bar) => bar.r > range[0] && bar.l < range[1]);
    const by = {};
    for (const bar of inside) by[bar.s] = (by[bar.s] ?? 0) + bar.n;
    const sum = Object.values(by).reduce((a, b) => a + b, 0);
    const all = bars.reduce((a, bar) => a + bar.n, 0);
    const words = Object.entries(by).map(([name, n]) => `${whole(n)} ${name}`).join(", ");
    const short = (n) => Number(n.toPrecision(3)).toLocaleString("en-US");
    const span = inside.length
      ? `${short(Math.min(...inside.map((b) => b.l)))} to ${short(Math.max(...inside.map((b) => b.r)))}: `
      : "";
    about.textContent = `${span}${words || "none"} (${((100 * sum) / all).toFixed(1)} %)${without}`;
  }

  function save(address, name) {
    const link = make("a", [], { href: address, download: name });
    link.click();
  }
  const named = (holder, ending) => `${holder.dataset.label.replace(/[^\w.]+/g, "-").slice(0, 80)}.${ending}`;
  const blob = (text, type) => URL.createObjectURL(new Blob([text], { type }));
  async function savePng(holder) {
    save((await holder.view.toCanvas(2)).toDataURL(), named(holder, "png"));
  }
  async function saveSvg(holder) {
    save(blob(await holder.view.toSVG(), "image/svg+xml"), named(holder, "svg"));
  }
  function saveCsv(holder) {
    const { data, layer } = JSON.parse(holder.dataset.chart);
    const [head, line] = layer[0].params
      ? [["from", "to", "series", layer[0].encoding.tooltip.at(-1).title], (bar) => [bar.l, bar.r, bar.s, bar.n]]
      : [["row", "series", layer[0].encoding.x.title], (bar) => [bar.c, bar.s, bar.n]];
    const cell = (one) => (/[",\n]/.test(one) ? `"${one.replaceAll('"', '""')}"` : one);
    const lines = [head, ...data.values.map(line)].map((cells) => cells.map((one) => cell(String(one))).join(","));
    save(blob(`${lines.join("\n")}\n`, "text/csv"), named(holder, "csv"));
  }

  const charts = [...document.querySelectorAll("[data-chart]")];
  const near = new IntersectionObserver((entries) => {
    for (const { isIntersecting, target } of entries) {
      if (!isIntersecting || !target.clientWidth) continue;
      near.unobserve(target);
      draw(target);
    }
  }, { rootMargin: "300px" });
  for (const chart of charts) near.observe(chart);
  dark.addEventListener("change", () => charts.filter((chart) => chart.view).forEach(draw));
  let last = innerWidth;
  addEventListener("resize", () => {
    if (innerWidth === last) return; // on phones, the bar of the address comes and goes
    last = innerWidth;
    for (const chart of charts) if (chart.view) chart.view.width(chart.clientWidth).runAsync();
  });

  // Tables: a click on a head sorts by it; long ones have a field that filters.

  const UNITS = {
    kB: 1e3, MB: 1e6, GB: 1e9, TB: 1e12, KiB: 2 ** 10, MiB: 2 ** 20, GiB: 2 ** 30, TiB: 2 ** 40,
    k: 1e3, M: 1e6, B: 1e9, G: 1e9, T: 1e12, ms: 1e-3, min: 60, h: 3600, d: 86400,
  };
  function value(text) {
    const parts = [...text.replaceAll(",", "").matchAll(/(-?\d+(?:\.\d+)?)\s*([A-Za-z]+)?/g)];
    if (!/^[-\d]/.test(text) || !parts.length) return null;
    const timed = parts.every(([, , unit]) => /^(ms|s|min|h|d)$/.test(unit ?? ""));
    return (timed ? parts : parts.slice(0, 1)).reduce((sum, [, n, unit]) => sum + n * (UNITS[unit] ?? 1), 0);
  }
  function compare(a, b) {
    const [x, y] = [value(a), value(b)];
    if (x !== null && y !== null) return x - y;
    return x !== null ? 1 : y !== null ? -1 : a.localeCompare(b);
  }
  for (const table of document.querySelectorAll(".wide > table")) {
    const body = table.tBodies[0];
    const heads = [...table.tHead.rows[0].cells];
    if (body.rows.length < 3 || !heads.some((head) => head.textContent)) continue;
    heads.forEach((head, column) => {
      if (!head.textContent) return;
      const button = make("button", [...head.childNodes], { type: "button", className: "sort" });
      button.onclick = () => {
        const way = head.ariaSort === "descending" ? "ascending" : "descending";
        for (const other of heads) other.ariaSort = null;
        head.ariaSort = way;
        const text = (row) => row.cells[column].textContent.trim();
        const rows = [...body.rows].sort((a, b) => compare(text(a), text(b)));
        body.append(...(way === "descending" ? rows.reverse() : rows));
      };
      head.append(button);
    });
    if (body.rows.length > 12) {
      const field = make("input", [], { type: "search", placeholder: "filter rows", className: "filter" });
      field.ariaLabel = "filter the rows of this table";
      field.oninput = () => {
        const wanted = field.value.toLowerCase();
        for (const row of body.rows) row.hidden = !row.textContent.toLowerCase().includes(wanted);
      };
      table.parentElement.before(field);
    }
  }

  // Samples: those that hold what is searched for, with what holds them opened.

  const samples = [...document.querySelectorAll(".document, .reason > .two")];
  const nav = document.querySelector("nav");
  if (samples.length && nav) {
    const field = make("input", [], { type: "search", placeholder: "search samples", className: "search" });
    field.ariaLabel = "search samples";
    const found = make("output");
    let first = null;
    field.oninput = () => {
      const wanted = field.value.trim().toLowerCase();
      const hits = samples.filter((sample) => {
        const hit = !wanted || sample.textContent.toLowerCase().includes(wanted);
        sample.hidden = !hit;
        const fold = sample.closest("details");
        if (fold) fold.open = wanted ? fold.open || hit : false;
        return hit;
      });
      for (const fold of document.querySelectorAll("details:has(.document)")) {
        if (wanted) fold.open = fold.querySelector(".document:not([hidden])") !== null;
      }
      first = wanted ? hits[0] : null;
      found.textContent = wanted ? `${whole(hits.length)} of ${whole(samples.length)}` : "";
    };
    field.onkeydown = (event) => {
      if (event.key === "Enter") first?.scrollIntoView({ block: "center" });
    };
    nav.after(make("div", [field, found], { className: "find" }));
    const bar = make("div", [], { className: "bar-top" });
    nav.before(bar);
    bar.append(nav, nav.ownerDocument.querySelector(".find"));
  }

  // The part of the page that is being read, in the navigation.

  const links = new Map([...document.querySelectorAll("nav a")].map((link) => [link.hash.slice(1), link]));
  const seen = new IntersectionObserver((entries) => {
    for (const { isIntersecting, target } of entries) {
      if (!isIntersecting) continue;
      for (const link of links.values()) link.ariaCurrent = null;
      const link = links.get(target.id);
      if (!link) continue;
      link.ariaCurrent = "true";
      nav.scrollLeft = link.offsetLeft - nav.offsetLeft - nav.clientWidth / 2 + link.offsetWidth / 2;
    }
  }, { rootMargin: "-15% 0px -75% 0px" });
  for (const section of document.querySelectorAll("main > section")) seen.observe(section);
  addEventListener("scroll", () => {
    if (scrollY > 40) return; // above the first section
    for (const link of links.values()) link.ariaCurrent = null;
    if (nav) nav.scrollLeft = 0;
  }, { passive: true });
})();
