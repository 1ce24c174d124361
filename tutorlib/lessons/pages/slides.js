// Shows one slide at a time. Without this script the slides stand below each other and can still be read.
const slides = [...document.querySelectorAll("section")];
const place = document.getElementById("place");
const buttons = { back: document.getElementById("back"), on: document.getElementById("on") };
const SIZES = [1, 0.9, 0.8, 0.7, 0.6];
const CODE_SIZES = [1, 0.85, 0.7];
let at = 0;

const fits = (element) => element.scrollHeight <= element.clientHeight && element.scrollWidth <= element.clientWidth;

// A slide that is too full gets smaller letters, in its code first, and smaller pictures; beyond the smallest, lines wrap
// and the slide scrolls.
function fit(slide) {
  slide.classList.remove("wrapped");
  for (const size of SIZES) {
    slide.style.fontSize = `${size}em`;
    slide.style.setProperty("--size", size);
    for (const code of CODE_SIZES) {
      slide.style.setProperty("--code", code);
      if (fits(slide) && [...slide.querySelectorAll(".code > :not(details) pre")].every(fits)) return;
    }
  }
  slide.classList.add("wrapped");
}

function go(to) {
  at = Math.max(0, Math.min(slides.length - 1, to));
  slides.forEach((slide, number) => slide.classList.toggle("shown", number === at));
  fit(slides[at]);
  slides[at].scrollTop = 0;
  slides[at].focus({ preventScroll: true });
  place.textContent = place.dataset.words.replace("{n}", at + 1).replace("{all}", slides.length);
  buttons.back.disabled = at === 0;
  buttons.on.disabled = at === slides.length - 1;
  history.replaceState(null, "", `#${slides[at].id}`);
}

const moves = {
  ArrowRight: () => go(at + 1), PageDown: () => go(at + 1), " ": () => go(at + 1),
  ArrowLeft: () => go(at - 1), PageUp: () => go(at - 1),
  Home: () => go(0), End: () => go(slides.length - 1),
};

function fromAddress() {
  go(slides.findIndex((slide) => `#${slide.id}` === location.hash || slide.querySelector(":target")));
}

document.body.classList.add("playing");
document.addEventListener("keydown", (event) => {
  const onControl = event.key === " " && event.target.closest("button, summary");
  if (!(event.key in moves) || onControl || event.ctrlKey || event.altKey || event.metaKey) return;
  event.preventDefault();
  moves[event.key]();
});
buttons.back.addEventListener("click", () => go(at - 1));
buttons.on.addEventListener("click", () => go(at + 1));
addEventListener("resize", () => fit(slides[at]));
addEventListener("hashchange", fromAddress);
fromAddress();
