// Makes elements. Text always becomes a text node or an attribute, so nothing a learner names can become markup.

const HTML = "http://www.w3.org/1999/xhtml";
const SVG = "http://www.w3.org/2000/svg";

function make(namespace, kind, attributes, children) {
  const [tag, ...classes] = kind.split(".");
  const given = attributes?.constructor === Object;
  const all = { class: classes.join(" ") || null, ...(given ? attributes : null) };
  return fill(document.createElementNS(namespace, tag), all, given ? children : [attributes, ...children]);
}

function fill(node, attributes, children) {
  for (const [name, value] of Object.entries(attributes ?? {})) {
    if (value === null || value === undefined || value === false) continue;
    if (name.startsWith("on")) node.addEventListener(name.slice(2), value);
    else node.setAttribute(name, value === true ? "" : String(value));
  }
  for (const child of children.flat(3)) {
    if (child === null || child === undefined || child === false) continue;
    node.append(child instanceof Node ? child : document.createTextNode(String(child)));
  }
  return node;
}

/** The attribute of what a screen reader skips. */
export const HIDDEN = { "aria-hidden": "true" };

/** An HTML element: `h("p.tl-note", { onclick: f }, "text", child)`; what follows a dot is a class, attributes may lack. */
export function h(kind, attributes, ...children) {
  return make(HTML, kind, attributes, children);
}

/** The same for an SVG element. */
export function s(kind, attributes, ...children) {
  return make(SVG, kind, attributes, children);
}

/** Replace everything inside `node`. */
export function put(node, ...children) {
  node.replaceChildren();
  return fill(node, null, children);
}

let views = 0;

/** A prefix for element ids that no other view on the page uses. */
export function freshPrefix() {
  views += 1;
  return `tl${views}-${Math.random().toString(36).slice(2, 7)}`;
}
