// This module verifies with WebCrypto that a record is in the transparency log. It trusts nothing
// that the server says about itself, and reads what a page shows from the very bytes that are proven.

import {screening, profile} from './leaf.js';

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

/** included checks that a leaf's bytes lead to the root of the signed tree. */
async function included(leaf, size, top) {
  if (String(leaf.treeSize) !== size) throw new Error('A path belongs to another tree head.');
  const reached = await root(stored(leaf.leaf), leaf.index, leaf.treeSize, leaf.path.map(bytes));
  if (!same(reached, bytes(top))) throw new Error(`Leaf ${leaf.index} does not lead to the root of the tree.`);
}

/** named is the profile that the record names by its hash; null where the proof has none. */
async function named(proof, ref) {
  if (!ref || !proof.profile) return null;
  const data = stored(proof.profile.leaf);
  if (!same(await sha(Uint8Array.of(0), data), ref.hash)) throw new Error('The proof has another profile than the record names.');
  return profile(data);
}

/** since reads what was written about the record since, in order: each leaf names the one before it. */
function since(proof, id) {
  let before = proof.index;
  return (proof.later ?? []).map((leaf) => {
    const event = JSON.parse(leaf.leaf);
    if (event.txnId !== id || event.recordPrevious !== before) throw new Error(`Leaf ${leaf.index} does not follow leaf ${before} of this record.`);
    before = leaf.index;
    return event;
  });
}

/** provenOf is what the leaves say of a record, under the names of the API. */
function provenOf(said, whom, events) {
  const {rule, triggered, profile: _own, userProfile: _user, ...record} = said;
  const out = {...record, ...(whom?.agentName && {agentId: whom.agentId, agentName: whom.agentName, operatorLegalName: whom.operatorLegalName}), rule, triggered, comments: [], disposition: null, proposed: null};
  for (const e of events) {
    if (e.kind === 'review.commented') out.comments.push({comment: e.comment, actor: e.by, time: e.time});
    else if (e.kind === 'review.proposed') out.proposed = {disposition: e.disposition, by: e.reviewedBy, at: e.time, notes: e.notes};
    else if (e.kind === 'review.withdrawn' || e.type === 'review.proposal_lapsed') out.proposed = null;
    else if (e.kind === 'review.dispositioned') Object.assign(out, {disposition: e.disposition, reviewedBy: e.reviewedBy, reviewedAt: e.reviewedAt, notes: e.notes, confirms: e.proposedLeaf === undefined ? undefined : out.proposed, proposed: null});
  }
  return out;
}

/** verify checks a whole proof of the record with this id, and returns what it proves. It throws with what is wrong. */
export async function verify(proof, id) {
  if (!crypto.subtle) throw new Error('This browser verifies only over HTTPS or on this machine itself.');
  const [, size, top] = proof.checkpoint.split('\n');
  for (const leaf of [proof, ...(proof.later ?? [])]) await included(leaf, size, top);
  const signature = await signed(proof.checkpoint, proof.keys);
  if (signature === false) throw new Error('The tree head is not signed by the keys of the log.');
  const said = screening(stored(proof.leaf));
  if (said.txnId !== id) throw new Error('The proof is of another record than the one shown.');
  const events = since(proof, id);
  return {leaves: 1 + events.length, size: Number(size), signature, proven: provenOf(said, await named(proof, said.profile), events)};
}

const ordered = (value) => (Array.isArray(value) ? value.map(ordered) : value && typeof value === 'object' ? Object.fromEntries(Object.keys(value).sort().map((k) => [k, ordered(value[k])])) : value);
const alike = (a, b) => JSON.stringify(ordered(a ?? null)) === JSON.stringify(ordered(b ?? null));
const number = (rule) => (rule ? Number(/^R(\d+)/.exec(rule.rule ?? rule)?.[1]) : 0);
const pick = (from, like) => Object.fromEntries(Object.keys(like).map((key) => [key, from?.[key]]));
const judged = ['screenedAt', 'verdict', 'policyVersion', 'listVersion', 'listDigest', 'matcherVersion', 'agentId', 'agentName', 'operatorLegalName', 'places', 'warnings', 'walletsElsewhere'];
const decided = ['disposition', 'reviewedBy', 'reviewedAt', 'notes'];

/** hold holds a record as a node told it against what is proven. It returns the record with the proven words in place of the
 *  node's, and the names of what differed. */
export function hold(record, proven) {
  const out = {...record};
  const differs = [];
  const take = (name, same1, value) => {
    if (same1) return;
    differs.push(name);
    out[name] = value;
  };
  for (const name of judged) if (proven[name] !== undefined || ['places', 'warnings', 'walletsElsewhere'].includes(name)) take(name, alike(record[name], proven[name]), proven[name]);
  take('ofacStale', Boolean(record.ofacStale) === proven.ofacStale, proven.ofacStale);
  take('rule', number(record.rule) === proven.rule, proven.rule ? `R${proven.rule}` : null);
  if (record.triggered !== undefined) take('triggered', alike(record.triggered.map(number).sort(), [...proven.triggered].sort()), proven.triggered.map((n) => `R${n}`));
  take('_request', alike(record._request, proven._request), proven._request);
  const hits = proven.matches ?? [];
  take('matches', (record.matches ?? []).length === hits.length && hits.every((hit, i) => alike(pick(record.matches[i], hit), hit)), hits);
  for (const name of decided) take(name, alike(record[name], proven[name]), proven[name]);
  const shown = (p) => p && pick(p, {disposition: 0, by: 0, at: 0, notes: 0});
  take('proposed', alike(shown(record.proposed), shown(proven.proposed)), proven.proposed);
  if (record.disposition || record.confirms) take('confirms', alike(record.confirms && pick(record.confirms, {by: 0, notes: 0}), proven.confirms && pick(proven.confirms, {by: 0, notes: 0})), proven.confirms);
  take('comments', alike((record.comments ?? []).map((c) => [c.comment, c.actor, c.time]), proven.comments.map((c) => [c.comment, c.actor, c.time])), proven.comments);
  return {record: out, differs};
}
