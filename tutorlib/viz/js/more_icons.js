// The pictures on buttons that GraphView does not have.
import { STROKES } from "./icons.js";

Object.assign(STROKES, {
  mismatch: "M4 7.5h12M4 12.5h12M13 3.5l-6 13",
  delta: "M10 4L17 16H3Z",
  flow: "M3 5h3m7 0h4M6 3v4h7V3zM3 10h5m4 0h3M8 8v4h4V8zM3 15h2m8 0h4M5 13v4h8v-4z",
  heat: "M3.5 3.5h13v13h-13zM3.5 8h13M3.5 12.2h13M8 3.5v13M12.2 3.5v13",
  histogram: "M3.5 16.5h13M5.5 16.5v-5M8.5 16.5V7M11.5 16.5V4M14.5 16.5v-7",
  table: "M3.5 4.5h13v11h-13zM3.5 8.2h13M8 4.5v11",
  rewind: "M7 4.5L3.5 8L7 11.5M3.5 8h8.2a4 4 0 0 1 0 8H6",
  log: "M3.5 3.5v13h13M5.5 14.5C9 14 9.5 6 16 5.5",
});
