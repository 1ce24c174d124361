// Saves a copy of a view: its picture as SVG or PNG, or the whole live view as a page of its own.
import { h, s } from "./dom.js";

const LOOK = `fill,fill-opacity,stroke,stroke-width,stroke-dasharray,stroke-linecap,stroke-opacity,opacity,font-size,
font-weight,font-family,text-anchor,text-decoration,paint-order`.split(/,\s*/);
const KEPT = "spec,messages,lang,theme,height,selected,step,predict,collapsed,views,page,_esm".split(",");
const SVG = "image/svg+xml";
const MARGIN = 12;
const PIXELS = 2;

/** The drawing in `svg` as a document of its own: every computed look becomes an attribute, nothing hidden is kept. */
function pictureOf(svg, paper) {
  const copy = svg.cloneNode(true);
  const drawn = [svg, ...svg.querySelectorAll("*")];
  [copy, ...copy.querySelectorAll("*")].forEach((node, i) => {
    const style = getComputedStyle(drawn[i]);
    if (style.display === "none" || node.matches(".tl-item")) return node.remove();
    for (const name of LOOK) node.setAttribute(name, style.getPropertyValue(name));
    return ["class", "style", "role"].forEach((name) => node.removeAttribute(name));
  });
  const [w, tall] = [svg.width, svg.height].map((side) => side.baseVal.value + 2 * MARGIN);
  const frame = { xmlns: svg.namespaceURI, viewBox: [-MARGIN, -MARGIN, w, tall].join(" "), width: w, height: tall };
  for (const name in frame) copy.setAttribute(name, frame[name]);
  copy.prepend(s("rect", { x: -MARGIN, y: -MARGIN, width: w, height: tall, fill: paper }));
  return { text: new XMLSerializer().serializeToString(copy), size: [w, tall] };
}

async function toPng({ text, size }) {
  const image = new Image();
  image.src = URL.createObjectURL(new Blob([text], { type: SVG }));
  await image.decode();
  const canvas = h("canvas", { width: size[0] * PIXELS, height: size[1] * PIXELS });
  canvas.getContext("2d").drawImage(image, 0, 0, canvas.width, canvas.height);
  URL.revokeObjectURL(image.src);
  return new Promise((done) => canvas.toBlob(done));
}

/** The page that `save_html` writes too: `page` is its template. */
function pageOf(model, title) {
  const safe = (text) => h("p", text).innerHTML;
  const traits = Object.fromEntries(KEPT.map((name) => [name, model.get(name)]));
  const filled = { lang: safe(traits.lang), title: safe(title), picture: "", traits: JSON.stringify(traits).replace(/</g, "\\u003c") };
  return traits.page.replace(/\{\{(\w+)\}\}/g, (_, name) => filled[name]);
}

/** The buttons for the drawing in `svg`. */
export function exportPanel(model, t, svg, title) {
  const file = title.replace(/[^\p{L}\p{N}]+/gu, "-").slice(0, 40) || "graph";
  const save = (end, content, type) => {
    const link = h("a", { href: URL.createObjectURL(new Blob([content], { type })), download: `${file}.${end}` });
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 1e4);
  };
  const paper = () => getComputedStyle(svg.closest(".tl-root")).backgroundColor;
  const choice = (id, onclick) => h("button", { type: "button", class: "tl-word", onclick }, t(id));
  const picture = () => pictureOf(svg, paper());
  return [
    h("h3", t("ui_export")),
    h("div.tl-links", {},
      choice("ui_export_svg", () => save("svg", picture().text, SVG)),
      choice("ui_export_png", async () => save("png", await toPng(picture()), "image/png")),
      model.get("_esm") && choice("ui_export_html", () => save("html", pageOf(model, title), "text/html"))),
    h("p.tl-note.tl-say", t("ui_export_note")),
  ];
}
