// The controls both widgets are made of: buttons, the transport (step buttons with a slider), the status line.
import { h, HIDDEN, put } from "./dom.js";
import { icon } from "./icons.js";

/** An icon button whose name, shown on hover too, is `label`; `key` is the shortcut beside it. */
export function button(name, label, onclick, { key = "", pressed } = {}) {
  const title = key ? `${label} (${key})` : label;
  const attributes = { type: "button", class: "tl-button", "aria-label": label, title, onclick };
  if (pressed !== undefined) attributes["aria-pressed"] = String(pressed);
  return h("button", attributes, icon(name));
}

export function setPressed(node, pressed) {
  node.setAttribute("aria-pressed", String(pressed));
}

/** A `role="toolbar"` in which ← and → move between the buttons. */
export function toolbar(label, ...children) {
  const onkeydown = (event) => {
    const direction = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    if (!direction || event.target.tagName !== "BUTTON") return;
    const buttons = [...bar.querySelectorAll("button:not([disabled])")];
    buttons.at((buttons.indexOf(event.target) + direction) % buttons.length).focus();
    event.preventDefault();
    event.stopPropagation();
  };
  const bar = h("div.tl-toolbar", { role: "toolbar", "aria-label": label, onkeydown }, ...children);
  return bar;
}

/** `<div role="status">`: `say(text)` shows a sentence and lets a screen reader speak it. */
export function statusLine() {
  const root = h("div.tl-status", { role: "status", "aria-live": "polite" });
  return { root, say: (text) => root.textContent !== text && put(root, text) };
}

/**
 * First, back, play, forward, last, a native slider and the speed. `on` holds first, back, play, forward, last,
 * seek(position), speed() → the new factor. `band` is drawn under the slider. `set` moves it all.
 */
export function transport(t, names, on, band) {
  const first = button("first", t(names.first), on.first, { key: "Home" });
  const back = button("previous", t(names.back), on.back, { key: names.backKey });
  const play = button("play", t("ui_play"), on.play, { key: t("ui_key_space") });
  const forward = button("next", t(names.forward), on.forward, { key: names.forwardKey });
  const last = button("last", t(names.last), on.last, { key: "End" });
  play.classList.add("tl-play");
  const range = h("input", {
    type: "range", class: "tl-range", min: 0, step: 1, "aria-label": t(names.slider),
    oninput: () => on.seek(Number(range.value)),
  });
  const count = h("span.tl-count", HIDDEN);
  const speed = h("button", { type: "button", class: "tl-button tl-speed", onclick: () => showSpeed(on.speed()) });
  const showSpeed = (factor) => {
    const text = t("ui_speed_factor", { factor });
    put(speed, text);
    speed.setAttribute("aria-label", t("ui_speed", { speed: text }));
    speed.title = t("ui_speed", { speed: text });
  };
  showSpeed(1);
  const track = h("div.tl-track", range, band);
  const root = h("div.tl-transport", first, back, play, forward, last, track, count, speed);
  return {
    root,
    set({ position, max, spoken, shown }) {
      range.max = max;
      range.value = position;
      range.style.setProperty("--tl-done", max ? position / max : 0);
      range.setAttribute("aria-valuetext", spoken);
      put(count, shown);
      first.disabled = back.disabled = position <= 0;
      forward.disabled = last.disabled = position >= max;
      play.disabled = max === 0;
    },
    playing(now) {
      const label = t(now ? "ui_pause" : "ui_play");
      put(play, icon(now ? "pause" : "play"));
      play.setAttribute("aria-label", label);
      play.title = `${label} (${t("ui_key_space")})`;
    },
  };
}
