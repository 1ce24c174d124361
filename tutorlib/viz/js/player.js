// Plays steps one after the other at a chosen speed. Knows nothing of what a step is.

const MILLISECONDS_A_STEP = 800;
export const SPEEDS = [1, 2, 4, 0.25, 0.5];

/** `advance()` makes one step and returns whether another one is left; `changed(playing)` is told about each change. */
export function makePlayer(advance, changed) {
  let timer = null;
  let speed = SPEEDS[0];
  const stop = () => {
    if (timer === null) return;
    clearInterval(timer);
    timer = null;
    changed(false);
  };
  const tick = () => {
    if (!advance()) stop();
  };
  const start = () => {
    timer = setInterval(tick, MILLISECONDS_A_STEP / speed);
    changed(true);
    tick();
  };
  return {
    stop,
    toggle: () => (timer === null ? start() : stop()),
    get playing() {
      return timer !== null;
    },
    nextSpeed() {
      speed = SPEEDS[(SPEEDS.indexOf(speed) + 1) % SPEEDS.length];
      if (timer !== null) {
        clearInterval(timer);
        timer = setInterval(tick, MILLISECONDS_A_STEP / speed);
      }
      return speed;
    },
  };
}
