// This module compares two texts line by line.

/** lines compares: ['', same], ['plus', only after], ['minus', only before]. */
export function lines(before, after) {
  const a = before.split('\n');
  const b = after.split('\n');
  const best = Array.from({length: a.length + 1}, () => new Uint16Array(b.length + 1));
  for (let i = a.length - 1; i >= 0; i -= 1) for (let j = b.length - 1; j >= 0; j -= 1) best[i][j] = a[i] === b[j] ? best[i + 1][j + 1] + 1 : Math.max(best[i + 1][j], best[i][j + 1]);
  const out = [];
  let i = 0;
  let j = 0;
  while (i < a.length || j < b.length) {
    if (i < a.length && j < b.length && a[i] === b[j]) {
      out.push(['', a[i]]);
      i += 1;
      j += 1;
    } else if (j < b.length && (i === a.length || best[i][j + 1] >= best[i + 1][j])) {
      out.push(['plus', b[j]]);
      j += 1;
    } else {
      out.push(['minus', a[i]]);
      i += 1;
    }
  }
  return out;
}
