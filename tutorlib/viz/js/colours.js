// Colour scales for values: PuOr around zero, as everywhere in tutorlib's pictures.

const NEGATIVE = [0xb3, 0x58, 0x06];
const ZERO = [0xf7, 0xf7, 0xf7];
const POSITIVE = [0x54, 0x27, 0x88];
export const NOT_FINITE = 255;

/** The colour [r, g, b] of a byte 0…254 that runs linearly from `-bound` to `bound`. */
export function diverging(byte) {
  const position = (byte - 127) / 127;
  const end = position < 0 ? NEGATIVE : POSITIVE;
  const share = Math.min(1, Math.abs(position));
  return ZERO.map((channel, i) => Math.round(channel + (end[i] - channel) * share));
}

const CIVIDIS = [[0, 34, 78], [87, 92, 109], [125, 124, 120], [166, 157, 117], [254, 232, 56]];

/** The colour [r, g, b] of a magnitude scaled to 0 … 1, dark blue to yellow, as in the static pictures. */
export function magnitude(share) {
  const position = Math.min(1, Math.max(0, share)) * (CIVIDIS.length - 1);
  const low = Math.min(Math.floor(position), CIVIDIS.length - 2);
  return CIVIDIS[low].map((channel, i) => Math.round(channel + (CIVIDIS[low + 1][i] - channel) * (position - low)));
}

/** The bytes of a thumbnail `{rows, cols, data}`, row by row. */
export function decode(thumb) {
  const text = atob(thumb.data);
  return Uint8Array.from(text, (character) => character.charCodeAt(0));
}

/** Bytes as if the thumbnail had run from `-bound` to `bound`, where bound = max(|lo|, |hi|). */
export function symmetric(bytes, lo, hi) {
  const bound = Math.max(Math.abs(lo), Math.abs(hi)) || 1;
  return bytes.map((byte) => {
    if (byte === NOT_FINITE) return byte;
    const value = lo + ((hi - lo) * byte) / 254;
    return Math.round(127 + (127 * value) / bound);
  });
}
