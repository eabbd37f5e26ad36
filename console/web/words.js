// This module writes a verdict in plain words, with the numbers from which it follows.

import {h, money, table, facts, ruleShort, ruleWords, whenText} from './dom.js';
import {fieldOf, fieldWords, placeSentence} from './fields.js';
import {compared, programmeWords, rowsOf} from './identity.js';

const to = (r) => {
  const q = r._request ?? r;
  const party = q.cpName ?? q.cpWallet;
  return party ? ` to ${party}` : '';
};
const levelName = (level) => (level === 0 ? 'this agent' : level === 1 ? 'its parent' : `its parent, ${level} levels up`);

/** payment is the payment in a few words. */
export function payment(r) {
  const q = r._request ?? r;
  return `${money(q.amount)}${to(r)}`;
}

/** gravest is the triggered rule that may mean the most: an agent may choose which rule decides, and a hit must not hide behind it. */
function gravest(r) {
  const triggered = (number) => (r.triggered ?? []).find((rule) => ruleShort(rule) === number);
  if (r.verdict !== 'REVIEW') return r.rule;
  if ((r.matches ?? []).length > 0 && triggered('R21')) return triggered('R21');
  if ((r.places ?? []).some((p) => p.outcome !== 'exempt') && triggered('R20')) return triggered('R20');
  return r.rule;
}

/** sentence says why the case is here: the gravest reason first, then the one that decided. */
export function sentence(r, ladder) {
  const lead = gravest(r);
  if (lead === r.rule) return ruleSentence(r, ladder);
  const reason = ruleShort(lead) === 'R20' ? 'A country or region of the payment asks for a review.' : undefined; // The record has the reason of the deciding rule only.
  return `${ruleSentence({...r, rule: lead, reason}, ladder)} Besides: ${ruleSentence(r, ladder)}`;
}

function ruleSentence(r, ladder) {
  const q = r._request ?? r;
  const v = ladder?.find((x) => x.rule === r.rule)?.values ?? {};
  const hit = (r.matches ?? [])[0];
  switch (ruleShort(r.rule)) {
    case 'R4': case 'R6': {
      const wallet = (r.matches ?? []).find((m) => m.wallet && (ruleShort(r.rule) === 'R6' ? !['operator', 'payer'].includes(m.party) : ['operator', 'payer'].includes(m.party)));
      if (!wallet) return r.reason ?? `The wallet ${q.cpWallet} is on the sanctions list.`;
      return `The wallet ${wallet.wallet} is on the sanctions list, as that of “${wallet.name}”. It is ${wallet.party === 'operator' ? 'a wallet of the operator' : fieldWords(fieldOf(wallet, r), q)}.`;
    }
    case 'R7': {
      const number = (r.matches ?? []).find((m) => m.party === 'counterparty' && m.identifier && m.outcome === 'listed');
      if (number && !(r.matches ?? []).some((m) => m.party === 'counterparty' && !m.identifier && m.outcome === 'listed')) return `The ${number.readAs} of the counterparty (${number.member}) is on the sanctions list, as that of “${number.name}”.`;
      return `“${q.cpName}” is on the sanctions list${hit ? ` as “${hit.name}”` : ''}.`;
    }
    case 'R9': return `The payment goes over ${q.chain}, a chain that this agent is not allowed.`;
    case 'R10': {
      const limit = (v.limits ?? []).find((x) => q.amount > x.limit) ?? (v.limits ?? [])[0];
      return limit ? `${money(q.amount)} is above the single payment limit of ${levelName(limit.level)}, ${money(limit.limit)}.` : `${money(q.amount)} is above the agent's single payment limit.`;
    }
    case 'R11': {
      const level = (v.levels ?? []).find((x) => x.dailyLimitUSDC !== null && x.spentUSDC + x.heldUSDC + v.amount > x.dailyLimitUSDC);
      return level ? `With ${money(q.amount)} more, ${levelName(level.level)} would have spent ${money(level.spentUSDC + level.heldUSDC + v.amount)} that day; its daily limit is ${money(level.dailyLimitUSDC)}.` :
        `${money(q.amount)} would lift the day's total above the agent's daily limit.`;
    }
    case 'R12': return v.dailyLimitUSDC ? `With ${money(q.amount)} more, the fleet would have spent ${money(v.spentUSDC + v.heldUSDC + v.amount)} that day; its daily limit is ${money(v.dailyLimitUSDC)}.` :
      `${money(q.amount)} would lift the fleet's total above its daily limit.`;
    case 'R13': return `${q.cpName ?? q.cpWallet ?? 'The counterparty'} is not on the whitelist that is in force.`;
    case 'R15': return `The agent runs on ${v.reported ?? v.registered ?? 'another language model'} now; its credential was issued for ${v.baseline ?? 'another'}.`;
    case 'R16': return `The agent made ${v.lastMinute ?? 'too many'} payments in the last minute and ${v.lastHour ?? 'many'} in the last hour: faster than it may.`;
    case 'R17': return `The payment came outside of the agent's operating hours.`;
    case 'R18': return `The payment uses the rail ${q.rail}, which this agent is not allowed.`;
    case 'R20':
      if (/^The counterparty type/.test(r.reason ?? 'The counterparty type')) return `The counterparty is ${q.cpType ? `of the type ${q.cpType}` : 'of no stated type'}, which this agent may not pay.`;
      return `${r.reason} ${/country|region|address/.test(r.reason) ? placeSentence(r) : ''}`.trim();
    case 'R24': return `${r.reason ?? ''} ${placeSentence(r)}`.trim();
    case 'R21':
      if (/could not be compared/.test(r.reason ?? '')) return `${r.reason} ${(v.notCompared ?? []).flatMap((part) => (part.words ?? []).map((word, i) => `“${word}” (${part.scripts[i]})`)).join(', ')}`.trim();
      if (!hit || /list is (older|too old)|too long to be compared/.test(r.reason ?? '')) return r.reason ?? 'The counterparty could be a listed party.';
      if (hit.party === 'memo') return hit.wallet ? `The memo holds the wallet ${hit.wallet} of “${hit.name}” on the ${hit.list} list.` : hit.identifier ? `The memo holds the ${hit.readAs} ${hit.identifier} of “${hit.name}” on the ${hit.list} list.` : `The memo names “${hit.name}” of the ${hit.list} list.`;
      if (hit.identifier) return `The ${hit.readAs} of the counterparty (${hit.member}) could be that of “${hit.name}” on the ${hit.list} list: ${hit.why}.`;
      return `“${hit.party === 'operator' ? r.operatorLegalName : q.cpName}” could be “${hit.name}” on the ${hit.list} list: ${hit.why}${hit.score === undefined ? '' : `, score ${hit.score.toFixed(2)}`}.`;
    case 'R22': return /does not prove/.test(r.reason ?? '') ? r.reason : `${money(q.amount)} is above ${v.above === undefined ? 'the attestation threshold' : money(v.above)}, and nobody has attested the autonomous agent in the 24 hours before${v.attestedAt ? ` (last: ${whenText(v.attestedAt)})` : ''}.`;
    case 'R25': return v.duplicateReference ? 'Another payment with the same reference was recorded before.' : `${v.count ?? 'Several'} payments just below the limit to the same counterparty look like one payment cut in pieces.`;
    default: return r.reason ?? '';
  }
}

// The score from which a name is a possible match, if the policy sets none.
const reviewDefault = 0.875;

/** deciding is a table of what was compared: the input beside the threshold. */
export function deciding(r, ladder, names) {
  const rung = ladder?.find((x) => x.rule === r.rule);
  if (!rung) return null;
  const v = rung.values ?? {};
  let rows = [];
  switch (rung.number) {
    case 9: rows = (v.limits ?? []).map((l) => [`Chain, ${levelName(l.level)}`, v.chain ?? 'not given', l.allowed.join(', ') || 'none', !l.allowed.includes(v.chain)]); break;
    case 18: rows = (v.limits ?? []).map((l) => [`Rail, ${levelName(l.level)}`, v.rail ?? 'not given', l.allowed.join(', ') || 'none', !l.allowed.includes(v.rail)]); break;
    case 10: rows = (v.limits ?? []).map((l) => [`Single payment, ${levelName(l.level)}`, money(v.amount), money(l.limit), v.amount > l.limit]); break;
    case 11: rows = (v.levels ?? []).map((l) => [`Day's total with this payment, ${levelName(l.level)}`, money(l.spentUSDC + l.heldUSDC + v.amount), l.dailyLimitUSDC === null ? 'no limit' : money(l.dailyLimitUSDC),
      l.dailyLimitUSDC !== null && l.spentUSDC + l.heldUSDC + v.amount > l.dailyLimitUSDC]); break;
    case 12: rows = v.dailyLimitUSDC ? [["Fleet's total with this payment", money(v.spentUSDC + v.heldUSDC + v.amount), money(v.dailyLimitUSDC), true]] : []; break;
    case 15: rows = [['Language model', v.reported ?? v.registered ?? 'not given', v.baseline ?? 'not given', true]]; break;
    case 16: rows = [['Payments in the last minute', v.lastMinute, v.maxPerMinute, v.lastMinute > v.maxPerMinute], ['Payments in the last hour', v.lastHour, '–', false]]; break;
    case 22: rows = [['Amount', money(r._request?.amount), `attested, above ${money(v.above)}`, true], ['Last attestation', v.attestedAt ? whenText(v.attestedAt) : 'never', 'within 24 hours', true]]; break;
    case 25: rows = [['Payments of this pattern', v.count, v.threshold, v.count >= v.threshold], ['Reference used before', v.duplicateReference ? 'yes' : 'no', 'no', v.duplicateReference]]; break;
    case 21: rows = (r.matches ?? []).map((m) => m.score === undefined ? [`${fieldWords(fieldOf(m, r), r._request)} against ${m.name}`, m.identifier ?? m.wallet, m.why ?? 'listed', true] : [`Score against ${m.name}`, m.score.toFixed(4), names ? `${names.review ?? reviewDefault}${names.version === r.policyVersion ? '' : ' by today’s policy'}` : 'the review threshold', true]); break;
    default: rows = Object.entries(v).filter(([, x]) => typeof x !== 'object').map(([k, x]) => [memberWords(k), x === null ? 'not given' : x === true ? 'yes' : x === false ? 'no' : String(x), '–', null]); // What of them decided is in the sentence.
  }
  return h('section', {class: 'card'}, h('h2', null, `Rule ${ruleShort(rung.rule)}: ${ruleWords(rung.rule)}`), h('p', {class: 'quiet'}, rung.trigger),
    rows.length > 0 && table('What was compared', ['What', 'This payment', 'Threshold', ''], rows.map(([a, b, c, over]) => [a, String(b ?? '–'), String(c ?? '–'), over === null ? '' : over ? h('strong', {class: 'over'}, rung.verdict === 'REVIEW' ? 'asks for a person' : 'stops the payment') : 'within'])));
}

const known = {txnId: 'transaction', cpType: 'type of the counterparty', whitelistInForce: 'a whitelist is in force', lastMinute: 'payments in the last minute', lastHour: 'payments in the last hour', maxPerMinute: 'most in a minute',
  above: 'attested above', attestedAt: 'last attested', credentialStatus: 'status', dailyLimitUSDC: 'daily limit', spentUSDC: 'spent', heldUSDC: 'held', duplicateReference: 'reference used before'};

/** memberWords is the name of a value in words: flaggedFrom is "flagged from". */
const memberWords = (name) => known[name] ?? name.replace(/([a-z])([A-Z])/g, (_, a, b) => `${a} ${b.toLowerCase()}`);

/** valueWords is a value of the ladder in words. */
function valueWords(name, value) {
  if (value === null) return /USDC$|limit/.test(name) ? 'no limit' : 'not given';
  if (Array.isArray(value)) {
    if (value.every((x) => typeof x === 'string')) return value.join(', ') || 'none';
    return h('ul', {class: 'plainlist'}, value.map((x) => h('li', null, x.level === undefined ? null : `${levelName(x.level)}: `, x.allowed ? x.allowed.join(', ') || 'none' : Object.entries(x).filter(([k]) => k !== 'level').map(([k, v]) => `${memberWords(k)} ${valueWords(k, v)}`).join(', '))));
  }
  if (typeof value === 'boolean') return value ? 'yes' : 'no';
  if (typeof value === 'number' && /USDC$|^limit$|^amount$|^above$/.test(name)) return money(value);
  return typeof value === 'object' ? JSON.stringify(value) : /(At|From|Expires)$/.test(name) ? whenText(value) : String(value);
}

/** ladderView is all rules in order and what became of each. */
export function ladderView(ladder) {
  return h('ol', {class: 'ladder'}, ladder.map((x) => h('li', {class: `rung ${x.outcome}`},
    h('span', {class: 'rule'}, ruleShort(x.rule)), h('span', {class: 'what'}, ruleWords(x.rule)),
    h('span', {class: 'outcome'}, x.outcome === 'passed' ? 'passed' : `${x.outcome} · ${x.verdict}`),
    x.values && h('details', null, h('summary', null, `values of ${ruleShort(x.rule)}`), facts(Object.entries(x.values).map(([k, v]) => [memberWords(k), valueWords(k, v)]))))));
}

const words = (text) => text.split(/([\s,.;]+)/);
const alike = (x, y) => {
  const best = Array.from({length: x.length + 1}, () => new Uint16Array(y.length + 1));
  for (let i = x.length - 1; i >= 0; i -= 1) for (let j = y.length - 1; j >= 0; j -= 1) best[i][j] = x[i] === y[j] ? best[i + 1][j + 1] + 1 : Math.max(best[i + 1][j], best[i][j + 1]);
  return best[0][0] / Math.max(x.length, y.length);
};

/** pairsOf pairs each word of a with the word of b that it is most like, each used once. */
function pairsOf(a, b) {
  const all = [];
  a.forEach((x, i) => b.forEach((y, j) => all.push([alike(x.toUpperCase(), y.toUpperCase()), i, j])));
  const paired = new Map();
  const used = new Set();
  for (const [score, i, j] of all.sort((x, y) => y[0] - x[0])) {
    if (score < 0.5 || paired.has(i) || used.has(j)) continue;
    paired.set(i, b[j]);
    used.add(j);
  }
  return paired;
}

const wordsMax = 40;

/** markedName marks, word by word whatever their order, the letters of a that b has not. */
export function markedName(a, b) {
  const parts = words(a.slice(0, 512));
  const own = parts.map((w, i) => [w, i]).filter(([w]) => /[^\s,.;]/.test(w)).slice(0, wordsMax);
  const paired = pairsOf(own.map(([w]) => w), words(b.slice(0, 512)).filter((w) => /[^\s,.;]/.test(w)).slice(0, wordsMax));
  const place = new Map(own.map(([, i], n) => [i, n]));
  return parts.map((word, i) => {
    if (!place.has(i)) return word;
    const other = paired.get(place.get(i));
    return other ? marked(word, other) : h('mark', null, word);
  });
}

/** marked marks the letters of a that b has not at their place in the longest common order. */
export function marked(a, b) {
  const x = a.toUpperCase();
  const y = b.toUpperCase();
  const best = Array.from({length: x.length + 1}, () => new Uint16Array(y.length + 1));
  for (let i = x.length - 1; i >= 0; i -= 1) {
    for (let j = y.length - 1; j >= 0; j -= 1) best[i][j] = x[i] === y[j] ? best[i + 1][j + 1] + 1 : Math.max(best[i + 1][j], best[i][j + 1]);
  }
  const parts = [];
  for (let i = 0, j = 0; i < x.length;) {
    const same = j < y.length && x[i] === y[j];
    if (!same && j < y.length && best[i][j + 1] > best[i + 1][j]) {
      j += 1;
      continue;
    }
    if (parts.length && parts[parts.length - 1].same === same) parts[parts.length - 1].text += a[i];
    else parts.push({same, text: a[i]});
    if (same) j += 1;
    i += 1;
  }
  return parts.map((p) => (p.same ? p.text : h('mark', null, p.text)));
}

const bitsOf = (bits) => `${bits < 0 ? '−' : '+'}${Math.abs(bits).toFixed(1)}`;

/** pairView shows word by word what the matcher compared, in bits of evidence. */
export function pairView(match) {
  if (!match.pairs?.length) return null;
  return table('Word by word', ['Asked', 'Listed', 'How', 'Bits'], [
    ...match.pairs.map((p) => [h('span', {class: 'letters'}, marked(p.query, p.listed)), h('span', {class: 'letters'}, marked(p.listed, p.query)), p.kind, bitsOf(p.bits)]),
    ...(match.others ?? []).map((l) => [l.where === 'listed only' ? '–' : l.what, l.where === 'query only' ? '–' : l.what, l.where, bitsOf(l.bits)]),
    ['', '', `needed ${match.bitsNeeded.toFixed(1)}`, bitsOf(match.bits)],
  ]);
}

/** labelOf is a label of the list as the others here are written. */
const labelOf = (text) => `${text[0].toUpperCase()}${text.slice(1).replace(/:$/, '')}`;

/** othersOf are the other names of a listed party. */
function othersOf(aliases, shown) {
  const others = (aliases ?? []).filter((a) => a.name !== shown);
  if (others.length === 0) return null;
  const words = (a) => (a.weak ? `${a.name} (weak: alone it is no hit)` : a.name);
  return h('p', {class: 'aliases'}, h('span', {class: 'quiet'}, 'Also known as: '), others.slice(0, 6).map(words).join('; '), others.length > 6 && h('details', null, h('summary', null, `${others.length - 6} more names`), others.slice(6).map(words).join('; ')));
}

/** hitView is a hit beside the list's entry. asked is the name of the call; record is the case, where there is one. */
export function hitView(match, asked, party, explained, extra, where = 'In this payment', record = null) {
  const full = explained ?? match;
  const list = (party?.facts ?? full.facts ?? []);
  const context = party?.context ?? full.context ?? [];
  const listed = match.identifier ?? match.wallet ?? match.alias ?? match.name;
  const what = match.wallet ? 'Wallet' : match.identifier ? 'Number' : 'Name';
  return h('section', {class: 'hit'},
    compared([what, [h('span', {class: 'name letters'}, asked ? markedName(asked, listed) : '–'), where !== 'In this payment' && h('span', {class: 'quiet from'}, where)],
      [h('span', {class: 'name letters'}, asked ? markedName(listed, asked) : listed), match.wallet && h('span', {class: 'quiet from'}, `a wallet of ${match.name}`), match.identifier && h('span', {class: 'quiet from'}, `the ${match.identifierLabel || match.identifierType} of ${match.name}`),
        match.alias && match.alias !== match.name && h('span', {class: 'quiet from'}, `an alias of ${match.name}`)], match.score === undefined ? '' : `score ${match.score.toFixed(4)}`], rowsOf(match, record, list, context), match.list),
    h('p', {class: 'why'}, [match.why && `${match.why}. `, programmeWords(match.programs ?? party?.programs) && `Programmes: ${programmeWords(match.programs ?? party?.programs)}. `, `Entry ${party?.entryId ? `${party.entryId} (${match.uid})` : match.uid}.`]),
    othersOf(party?.aliases, listed), extra,
    h('details', null, h('summary', null, 'All that the list says, and how the names were compared'), facts([['Read as', match.readAs], ['Country of the number', match.identifierCountry], ['Type', match.type], ...list.map((f) => [labelOf(f.label ?? f.kind), f.value])]),
      context.length > 0 && h('ul', {class: 'context'}, context.map((c) => h('li', null, c))), full.explanation && h('p', {class: 'quiet'}, full.explanation), pairView(full)));
}
