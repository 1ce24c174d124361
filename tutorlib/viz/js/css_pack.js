// Style sheets repeat themselves: the build stores them with each frequent piece written once, and `unpack` undoes that.

const LONGEST = 60;
const ROUND = 24;
const encoder = new TextEncoder();
const size = (text) => encoder.encode(text).length;

/**
 * `text` with its most profitable repeats replaced by single characters, one after the other, and those characters, last
 * one first. Each piece stands behind its character at the end of the text, so unpacking needs no table: see `unpack`.
 */
export function pack(text) {
  let packed = text;
  let signs = "";
  let pieces = [];
  for (const sign of unused(text)) {
    const gain = (piece) => (size(piece) - size(sign)) * (packed.split(piece).length - 1) - size(piece) - size(sign);
    if (signs.length % ROUND === 0) pieces = repeats(packed);
    const best = mostGained(pieces, gain);
    if (!best) break;
    packed = packed.replaceAll(best, sign) + sign + best;
    signs = sign + signs;
  }
  return [packed, signs];
}

/** The text that was packed. */
export function unpack(packed, signs) {
  let text = packed;
  for (const sign of signs) {
    const parts = text.split(sign);
    text = parts.join(parts.pop());
  }
  return text;
}

/** Characters that a string literal holds as they are and that `text` does not use, those of one byte first. */
function* unused(text) {
  for (let code = 33; code < 0x250; code += 1) {
    const sign = String.fromCharCode(code);
    const plain = (code < 127 && !"\"'`\\$".includes(sign)) || code > 0xa0;
    if (plain && code !== 0xad && !text.includes(sign)) yield sign;
  }
}

/** Pieces of `text` that occur more than once, with at most how many bytes replacing each would save. */
function repeats(text) {
  const found = [];
  for (let length = 2, more = true; more && length <= LONGEST; length += 1) {
    const counts = new Map();
    for (let at = 0; at + length <= text.length; at += 1) {
      const piece = text.slice(at, at + length);
      counts.set(piece, (counts.get(piece) ?? 0) + 1);
    }
    more = false;
    for (const [piece, count] of counts) {
      if (count === 1) continue;
      more = true;
      const most = (length - 1) * (count - 1) - 2;
      if (most > 0) found.push({ piece, most });
    }
  }
  return found.sort((a, b) => b.most - a.most);
}

/** The piece that gains most now. Gains only shrink as others are replaced, so few have to be counted again. */
function mostGained(pieces, gain) {
  let best = "";
  let top = 0;
  for (const entry of pieces) {
    if (entry.most <= top) break;
    entry.most = Math.max(0, gain(entry.piece));
    if (entry.most > top) [best, top] = [entry.piece, entry.most];
  }
  pieces.sort((a, b) => b.most - a.most);
  return best;
}
