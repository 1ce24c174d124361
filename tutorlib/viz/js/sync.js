// Tells Python, a moment after the last change, where the person is. Nothing on the screen waits for it.

const MOMENT = 100;

/** `sync.set(name, value)` collects; everything collected is sent once it has been quiet for 100 ms. */
export function makeSync(model) {
  const waiting = new Map();
  let timer = null;
  const flush = () => {
    clearTimeout(timer);
    timer = null;
    if (!waiting.size) return;
    for (const [name, value] of waiting) model.set(name, value);
    waiting.clear();
    model.save_changes();
  };
  return {
    set(name, value) {
      waiting.set(name, value);
      clearTimeout(timer);
      timer = setTimeout(flush, MOMENT);
    },
    pending: (name) => waiting.has(name),
    flush,
  };
}

/** Listen to traits: `listen(model, {step: f})`; returns a function that stops. */
export function listen(model, handlers) {
  for (const [name, handler] of Object.entries(handlers)) model.on(`change:${name}`, handler);
  return () => {
    for (const [name, handler] of Object.entries(handlers)) model.off(`change:${name}`, handler);
  };
}
