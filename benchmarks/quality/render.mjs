// Formulae as pages have them: node render.mjs MODULES < formulae > markup
//
// A line of input is {"tex": …, "display": true or false}; a line of output has the markup of each renderer, null where
// one of them does not know a command: katex (HTML beside MathML), chtml and svg (MathJax 3 without assistive MathML),
// assistive (CHTML with it). MODULES is the folder node_modules with katex and mathjax-full.
import { createRequire } from "node:module";
import { createInterface } from "node:readline";

const require = createRequire(`${process.argv[2]}/`);
const katex = require("katex");
const { mathjax } = require("mathjax-full/js/mathjax.js");
const { TeX } = require("mathjax-full/js/input/tex.js");
const { CHTML } = require("mathjax-full/js/output/chtml.js");
const { SVG } = require("mathjax-full/js/output/svg.js");
const { liteAdaptor } = require("mathjax-full/js/adaptors/liteAdaptor.js");
const { RegisterHTMLHandler } = require("mathjax-full/js/handlers/html.js");
const { AssistiveMmlHandler } = require("mathjax-full/js/a11y/assistive-mml.js");
// Without "noundefined", which writes an unknown command in red: here it is an error.
const { AllPackages } = require("mathjax-full/js/input/tex/AllPackages.js");
const packages = AllPackages.filter((name) => !["noundefined", "noerrors", "bussproofs"].includes(name));

const adaptor = liteAdaptor();
const handler = RegisterHTMLHandler(adaptor);
const tex = () => new TeX({ packages, formatError: (_, error) => { throw error; } });
const chtml = mathjax.document("", { InputJax: tex(), OutputJax: new CHTML() });
const svg = mathjax.document("", { InputJax: tex(), OutputJax: new SVG({ fontCache: "local" }) });
AssistiveMmlHandler(handler);
const assistive = mathjax.document("", { InputJax: tex(), OutputJax: new CHTML() });

const renderers = {
  katex: (source, display) => katex.renderToString(source, { displayMode: display, strict: "ignore" }),
  chtml: (source, display) => adaptor.outerHTML(chtml.convert(source, { display })),
  svg: (source, display) => adaptor.outerHTML(svg.convert(source, { display })),
  assistive: (source, display) => adaptor.outerHTML(assistive.convert(source, { display })),
};

for await (const line of createInterface({ input: process.stdin })) {
  const { tex: source, display } = JSON.parse(line);
  const drawn = {};
  for (const [name, render] of Object.entries(renderers)) {
    try {
      drawn[name] = render(source, display);
    } catch {
      drawn[name] = null;
    }
  }
  process.stdout.write(JSON.stringify(drawn) + "\n");
}
