// Builds MathML from the trees that Python makes: [element, child, …]. A bare string is a letter of the formula, or a
// derivative "∂L/∂x", to be filled in with the learner's names. Every text becomes a text node, whatever it holds.

const MATHML = "http://www.w3.org/1998/Math/MathML";
const TOKENS = new Set(["mi", "mn", "mo", "mtext"]);

function build(tree, names) {
  if (typeof tree === "string") {
    if (!tree.startsWith("∂L/∂")) return build(names[tree] ?? ["mi", tree], names);
    const part = (letter) => ["mrow", ["mo", "∂"], names[letter] ?? ["mi", letter]];
    return build(["mfrac", part("L"), part(tree.slice(4))], names);
  }
  const [tag, ...children] = tree;
  const node = document.createElementNS(MATHML, tag);
  if (TOKENS.has(tag)) node.textContent = children[0];
  else node.append(...children.map((child) => build(child, names)));
  return node;
}

/** `<math>` of a tree; `text` says the same for those who cannot see it. */
export function math(tree, names, text) {
  const root = document.createElementNS(MATHML, "math");
  root.setAttribute("display", "block");
  root.setAttribute("alttext", text);
  root.append(build(tree, names));
  return root;
}
