// The loss over two numbers: a picture, level lines, and the ways of the runs through it, with a marker at one frame.
import { magnitude, NOT_FINITE } from "./colours.js";
import { h, HIDDEN, s } from "./dom.js";
import { short } from "./numbers.js";

const [LEFT, TOP, WIDE, TALL] = [58, 8, 380, 270];
const [WIDTH, HEIGHT] = [LEFT + WIDE + 12, TOP + TALL + 38];

/** {root, moveTo(frame)} of a spec's `contour`; `seek(frame)` is called for a click near the way. */
export function contourView(contour, { title, label, seek }) {
  const place = placeIn(contour);
  const marker = s("circle.tl-way-now", { r: 6.5 });
  const done = s("path.tl-way");
  const [own, second] = contour.ways;
  const spots = own.map(place);
  const svg = s("svg.tl-contour", { viewBox: `0 0 ${WIDTH} ${HEIGHT}`, role: "img", "aria-label": label },
    s("image", { x: LEFT, y: TOP, width: WIDE, height: TALL, href: picture(contour.picture), preserveAspectRatio: "none" }),
    s("svg", { x: LEFT, y: TOP, width: WIDE, height: TALL, viewBox: "0 0 1000 1000", preserveAspectRatio: "none" },
      contour.levels.map(({ value, d }) => s("path.tl-level", { d }, s("title", short(value))))),
    second && s("path.tl-way.tl-way-second", { d: wayPath(second, second.map(place)) }),
    s("path.tl-way.tl-way-all", { d: wayPath(own, spots) }), done,
    spots[0] && s("circle.tl-way-start", { cx: spots[0][0], cy: spots[0][1], r: 5 }), marker, axes(contour));
  svg.addEventListener("click", (event) => {
    const { left, top, width } = svg.getBoundingClientRect();
    const at = [((event.clientX - left) / width) * WIDTH, ((event.clientY - top) / width) * WIDTH];
    const far = spots.map((spot) => (spot ? Math.hypot(spot[0] - at[0], spot[1] - at[1]) : Infinity));
    seek(far.indexOf(Math.min(...far)));
  });
  const moveTo = (frame) => {
    done.setAttribute("d", wayPath(own.slice(0, frame + 1), spots));
    marker.toggleAttribute("hidden", !spots[frame]);
    if (!spots[frame]) return;
    marker.setAttribute("cx", spots[frame][0]);
    marker.setAttribute("cy", spots[frame][1]);
  };
  const scale = h("div.tl-scale", HIDDEN,
    h("span", short(contour.low, 3)), h("span.tl-ramp.tl-ramp-loss"), h("span", short(contour.high, 3)));
  return { root: h("figure.tl-figure.tl-contour-box", h("figcaption.tl-note", title), svg, scale), moveTo };
}

/** A function from [x, y, branch] to pixels; null where the way has no number. */
export function placeIn({ x: [x0, x1], y: [y0, y1] }) {
  return ([x, y]) => (x === null ? null : [LEFT + (WIDE * (x - x0)) / (x1 - x0), TOP + (TALL * (y1 - y)) / (y1 - y0)]);
}

/** Path data of a way: a gap where there is no number, a new line after a rewind. */
export function wayPath(way, spots) {
  let branch = null;
  let d = "";
  way.forEach((point, i) => {
    if (!spots[i]) branch = null;
    else {
      d += `${point[2] === branch ? "L" : "M"}${spots[i].map((v) => Math.round(v * 10) / 10).join(" ")}`;
      [, , branch] = point;
    }
  });
  return d;
}

function picture({ rows, cols, data }) {
  const canvas = h("canvas", { width: cols, height: rows });
  const context = canvas.getContext("2d");
  Array.from(atob(data), (character) => character.charCodeAt(0)).forEach((byte, i) => {
    context.fillStyle = byte === NOT_FINITE ? "#fde0e0" : `rgb(${magnitude(byte / 254).join(" ")})`;
    context.fillRect(i % cols, Math.floor(i / cols), 1, 1);
  });
  return canvas.toDataURL();
}

function axes({ names, x, y }) {
  const word = (text, at, anchor, more = "") => s("text", { class: `tl-axis ${more}`, x: at[0], y: at[1], "text-anchor": anchor }, text);
  const below = TOP + TALL + 16;
  return [
    s("rect.tl-frame", { x: LEFT, y: TOP, width: WIDE, height: TALL }),
    word(short(x[0], 3), [LEFT, below], "start"), word(short(x[1], 3), [LEFT + WIDE, below], "end"),
    word(names[0], [LEFT + WIDE / 2, below + 14], "middle", "tl-axis-name"),
    word(short(y[0], 3), [LEFT - 7, TOP + TALL], "end"), word(short(y[1], 3), [LEFT - 7, TOP + 10], "end"),
    word(names[1], [LEFT - 7, TOP + TALL / 2], "end", "tl-axis-name"),
  ];
}
