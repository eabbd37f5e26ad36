// This module reads the bytes of a leaf of the log, so that a page can show what the proof covers and
// not what a node says about it. docs/FORMATS.md has the bytes.

const verdicts = ['PROCEED', 'REVIEW', 'BLOCK', 'UNKNOWN'];
const flag = {judged: 1, stale: 2, shadow: 4, profile: 8, user: 16, previous: 32, fleet: 64, sameToken: 256, withUser: 512, fleetHeld: 1024, hold: 2048, used: 4096, idle: 8192, root: 16384, near: 32768, operator: 65536, operatorHeld: 131072, permit: 524288};

// The members of the fragment by tag. Those from 32 on are what the call told, literally.
const told = {32: 'amount', 33: 'chain', 34: 'cpWallet', 35: 'cpName', 36: 'rail', 37: 'cpType', 38: 'protocol', 39: 'underlyingModel', 40: 'model', 41: 'travelRuleRef', 42: 'cpCountry', 43: 'cpDateOfBirth', 44: 'cpAddress', 45: 'paymentRef', 46: 'hold', 47: 'payerWallet', 48: 'wallets', 49: 'cpRegion', 50: 'originCountry', 51: 'memo', 52: 'cpIdentifiers', 53: 'permit'};
const texts = {7: 'agentId', 8: 'userId', 9: 'keyId', 10: 'node', 11: 'requestId', 22: 'walletsElsewhere', 27: 'placesVersion', 28: 'listName'};
const arrays = {15: 'matches', 21: 'warnings', 26: 'places'};

class Reader {
  constructor(data) {
    this.data = data;
    this.at = 0;
  }
  take(n) {
    if (n > this.data.length - this.at) throw new Error('The leaf ends too early.');
    this.at += n;
    return this.data.subarray(this.at - n, this.at);
  }
  byte() { return this.take(1)[0]; }
  /** big is an unsigned number of up to 64 bits, seven bits a byte, the low ones first. */
  big() {
    let value = 0n;
    for (let shift = 0n; shift < 70n; shift += 7n) {
      const b = this.byte();
      value |= BigInt(b & 127) << shift;
      if (b < 128) return value;
    }
    throw new Error('A number of the leaf is too long.');
  }
  number() { return Number(this.big()); }
  /** signed is a number whose sign is its lowest bit. */
  signed() {
    const value = this.big();
    return value & 1n ? -(value >> 1n) - 1n : value >> 1n;
  }
  skip(...kinds) { for (const kind of kinds) this[kind](); }
  left() { return this.at < this.data.length; }
}

const utf8 = new TextDecoder('utf-8', {fatal: true});
const hex = (data) => [...data].map((b) => b.toString(16).padStart(2, '0')).join('');
const timeOf = (nanoseconds) => new Date(Number(nanoseconds / 1000000n)).toISOString();
const rulesOf = (mask) => Array.from({length: 32}, (_, n) => n).filter((n) => (mask >> BigInt(n)) & 1n);

/** evidence passes over what the live rules saw; the profiles that it names are kept. */
function evidence(r, flags, out) {
  for (const [bit, name] of [[flag.profile, 'profile'], [flag.user, 'userProfile']]) if (flags & bit) out[name] = {leaf: r.number(), hash: r.take(32)};
  r.skip('big', ...(flags & flag.previous ? ['big'] : []), 'byte', 'big', 'big');
  for (let levels = r.byte(); levels > 0; levels -= 1) {
    const held = r.byte() & 0x20;
    r.skip('big', 'big', 'big', 'big', 'big', ...(held ? ['big'] : []));
  }
  for (const bit of [flag.fleet, flag.fleetHeld, flag.operator, flag.operatorHeld]) if (flags & bit) r.big();
  if (!(flags & flag.sameToken)) r.skip('big', 'big');
  if (flags & flag.withUser) r.skip('byte', 'big', 'big', 'big', 'big');
  r.skip('big', 'big', 'big', 'byte');
  if (flags & flag.root) r.skip('big', 'big', 'big');
  if (flags & flag.near) r.skip('big', 'big', 'big', 'big');
  if (flags & flag.hold) out.heldUntil = timeOf(r.signed());
  if (flags & flag.used) r.big();
  if (flags & flag.permit) r.skip('big', 'big');
}

/** screening is what the bytes of a screening record say, under the names of the API. rule and triggered are numbers. */
export function screening(data) {
  const r = new Reader(data);
  if (r.byte() !== 1) throw new Error('The leaf is no screening record.');
  r.take(16);
  const flags = r.number();
  const out = {_request: {amount: null, chain: null, cpWallet: null, cpName: null, rail: null}};
  r.skip('big', 'big');
  out.screenedAt = timeOf(r.signed());
  out.txnId = `txn_${utf8.decode(r.take(8))}`;
  r.take(2);
  out.verdict = verdicts[r.byte()];
  out.rule = r.byte();
  r.byte();
  out.triggered = rulesOf(r.big());
  for (const bit of [flag.shadow, flag.idle]) if (flags & bit) r.big();
  out.policyVersion = r.number();
  out.listVersion = r.number();
  out.listDigest = hex(r.take(32));
  out.matcherVersion = r.number();
  out.ofacStale = Boolean(flags & flag.stale);
  if (flags & flag.judged) evidence(r, flags, out);
  while (r.left()) {
    const tag = r.byte();
    const value = r.take(r.number());
    if (told[tag]) out._request[told[tag]] = JSON.parse(utf8.decode(value));
    else if (texts[tag]) out[texts[tag]] = utf8.decode(value);
    else if (arrays[tag]) out[arrays[tag]] = JSON.parse(utf8.decode(value));
    else if (tag === 1) out.ofacSource = [undefined, 'kv:live', 'kv:sample'][value[0]];
  }
  return out;
}

/** cbor reads one value in the form in which profiles are written: maps as Map, bytes as Uint8Array. */
function cbor(r, depth = 0) {
  if (depth > 32) throw new Error('The profile is too deep.');
  const first = r.byte();
  const kind = first >> 5;
  let n = BigInt(first & 31);
  if (n >= 24n && n <= 27n) n = [...r.take(1 << Number(n - 24n))].reduce((sum, b) => (sum << 8n) | BigInt(b), 0n);
  else if (n > 27n) throw new Error('The profile cannot be read.');
  const length = Number(n);
  switch (kind) {
    case 0: return length;
    case 1: return -1 - length;
    case 2: return r.take(length);
    case 3: return utf8.decode(r.take(length));
    case 4: return Array.from({length: Math.min(length, r.data.length)}, () => cbor(r, depth + 1));
    case 5: {
      const map = new Map();
      for (let i = 0; i < length; i += 1) {
        const key = cbor(r, depth + 1);
        map.set(key, cbor(r, depth + 1));
      }
      return map;
    }
    case 7: return [false, true, null][length - 20] ?? null;
    default: throw new Error('The profile cannot be read.');
  }
}

/** profile is whom the bytes of a profile name: {agentId, agentName, operatorLegalName} of an agent, {userId} of a user. */
export function profile(data) {
  const r = new Reader(data);
  if (r.byte() !== 2) throw new Error('The leaf is no profile.');
  const all = cbor(r);
  const own = all.get(10)?.[0];
  if (!own) return {userId: all.get(16)};
  return {agentId: all.get(11)?.[0], agentName: own.get(10), operatorLegalName: own.get(13), operatorId: all.get(17), fleetId: all.get(13)};
}
