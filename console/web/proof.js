// This module verifies with WebCrypto that a record is in the transparency log. It trusts nothing
// that the server says about itself.

const bytes = (text) => Uint8Array.from(atob(text), (c) => c.charCodeAt(0));
/** stored is a leaf's bytes: older kinds of leaves are text and stand in the answer as they are. */
const stored = (leaf) => (leaf.startsWith('{') ? new TextEncoder().encode(leaf) : bytes(leaf));

const sha = async (...parts) => {
  const all = new Uint8Array(parts.reduce((n, p) => n + p.length, 0));
  let at = 0;
  for (const part of parts) {
    all.set(part, at);
    at += part.length;
  }
  return new Uint8Array(await crypto.subtle.digest('SHA-256', all));
};
const same = (a, b) => a.length === b.length && a.every((x, i) => x === b[i]);

/** root walks an audit path of RFC 9162, 2.1.3.2, from a leaf to the root. */
export async function root(leaf, index, size, path) {
  let hash = await sha(Uint8Array.of(0), leaf);
  let fn = index;
  let sn = size - 1;
  if (index >= size) throw new Error('The leaf is not below the tree head.');
  for (const step of path) {
    if (sn === 0) throw new Error('The path is too long.');
    if (fn % 2 === 1 || fn === sn) {
      hash = await sha(Uint8Array.of(1), step, hash);
      while (fn % 2 === 0 && fn !== 0) {
        fn = Math.floor(fn / 2);
        sn = Math.floor(sn / 2);
      }
    } else hash = await sha(Uint8Array.of(1), hash, step);
    fn = Math.floor(fn / 2);
    sn = Math.floor(sn / 2);
  }
  if (sn !== 0) throw new Error('The path is too short.');
  return hash;
}

/** signed reports whether the tree head carries a good Ed25519 signature of one of keys; null: this browser cannot tell. */
async function signed(checkpoint, keys) {
  const cut = checkpoint.indexOf('\n\n');
  const text = new TextEncoder().encode(checkpoint.slice(0, cut + 1));
  const lines = checkpoint.slice(cut + 2).split('\n').filter((l) => l.startsWith('\u2014 '));
  for (const key of keys.split('\n').filter(Boolean)) {
    const [owner, hash, ...rest] = key.split('+');
    const material = bytes(rest.join('+'));
    if (material[0] !== 1 || material.length !== 33) continue;
    let imported;
    try {
      imported = await crypto.subtle.importKey('raw', material.slice(1), {name: 'Ed25519'}, false, ['verify']);
    } catch {
      return null;
    }
    for (const line of lines) {
      const [, by, value] = line.split(' ');
      const signature = bytes(value);
      const id = [...signature.slice(0, 4)].map((b) => b.toString(16).padStart(2, '0')).join('');
      if (by === owner && id === hash && await crypto.subtle.verify('Ed25519', imported, signature.slice(4), text)) return true;
    }
  }
  return false;
}

/** verify checks a whole proof: the record, whose hash is shown, its disposition, its comments. It throws with what is wrong. */
export async function verify(proof, shown) {
  if (!crypto.subtle) throw new Error('This browser verifies only over HTTPS or on this machine itself.');
  const [, size, top] = proof.checkpoint.split('\n');
  if (!same(await sha(Uint8Array.of(0), stored(proof.leaf)), bytes(shown))) throw new Error('The proof is of another record than the one shown.');
  const leaves = [proof, proof.disposition, ...(proof.comments ?? [])].filter(Boolean);
  for (const leaf of leaves) {
    if (String(leaf.treeSize) !== size) throw new Error('A path belongs to another tree head.');
    const reached = await root(stored(leaf.leaf), leaf.index, leaf.treeSize, leaf.path.map(bytes));
    if (!same(reached, bytes(top))) throw new Error(`Leaf ${leaf.index} does not lead to the root of the tree.`);
  }
  const signature = await signed(proof.checkpoint, proof.keys);
  if (signature === false) throw new Error('The tree head is not signed by the keys of the log.');
  return {leaves: leaves.length, size: Number(size), signature};
}
