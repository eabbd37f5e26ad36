// This module writes the policy in words: what each setting does, which value it has if nothing
// is set, and what an edit changes.

import {actWords} from './actwords.js';
import {money, ruleShort, ruleWords} from './dom.js';

// The defaults of settings that the document leaves out. They are JSON, so that a test can
// compare them with those of the engine.
const defaults = {"twoPersons": ["list.force", "list.rollback", "twoPersons"], "velocity.maxPerMinute": 1000, "velocity.burstFactor": 20, "attestation.above": 10000, "attestation.issuanceCounts": false, "names.review": 0.875, "names.block": 0.93, "names.weakAliases": false, "requireCounterparty": "crypto", "payer.mustBeOperators": "off", "jurisdictions.block": ["CU", "IR", "KP", "UA-43", "UA-40"], "jurisdictions.review": ["UA-14", "UA-09"], "jurisdictions.exemptions": [], "ofac.maxAge": "48h", "ofac.reviewAge": "168h", "ofac.onStale": "keep", "structuring.count": 5, "structuring.low": 9000, "structuring.high": 10000, "structuring.window": "24h", "paymentRef.once": "review", "review.requireNotes": false, "review.approvalLapse": "24h", "settlement": "settler", "holds.onExpiry": "count", "possession.default": "off", "possession.maxAge": "2m", "registration.onMatch": "issue", "retro.suspend": false, "permits.required": "review"};

const yes = (v) => (v ? 'yes' : 'no');
const plain = (v) => String(v);
const usd = (v) => money(v);
const list = (v) => (Array.isArray(v) ? v.join(', ') : String(v));

/** settings: each path of the document, what it is called, what it does and how its value is said. none: what holds without one. */
export const settings = [
  ['velocity.maxPerMinute', 'Payments a minute', 'How many payments any agent may make in a minute before a person looks (R16).', plain],
  ['velocity.maxPerHour', 'Payments an hour', 'The same for an hour (R16).', plain, 'no limit'],
  ['velocity.burstFactor', 'Burst', 'How many times its usual pace an agent may reach (R16).', (v) => `${v} times the mean`],
  ['operatingHours', 'Operating hours', 'When payments are usual; others are asked about (R17).', hours, 'any time'],
  ['attestation.above', 'Attestation above', 'Above which amount an autonomous agent needs an attestation of the last 24 hours (R22).', usd],
  ['attestation.issuanceCounts', 'Issuance attests', 'Whether being issued counts as an attestation (R22).', yes],
  ['names.review', 'Name score asked about', 'From which likeness on a listed name is asked about (R21).', plain],
  ['names.block', 'Name score blocked', 'From which likeness on a listed name is blocked (R7).', plain],
  ['names.weakAliases', 'Weak aliases', 'Whether aliases that the list calls weak count (R21).', yes],
  ['requireCounterparty', 'Counterparty must be named', 'Of which payments it must be said to whom they go (R20): crypto, all, or off.', plain],
  ['payer.mustBeOperators', 'Wallets that pay', 'review: a wallet that pays, and is none of the operator’s, is asked about (R20). off: any wallet may pay.', plain],
  ['jurisdictions.block', 'Embargoed places', 'Countries and regions that no payment may touch (R24). More can be added; the default cannot be taken out.', list],
  ['jurisdictions.review', 'Places asked about', 'Countries and regions at which a person looks (R20).', (v) => list(v) || 'none'],
  ['jurisdictions.exemptions', 'Licences', 'Which payments a licence lets pass although they touch an embargoed place, and until when. Two persons put one in force.', licences],
  ['allowedCounterpartyTypes', 'Types that may be paid', 'Which types of counterparty may be paid (R20).', list, 'any'],
  ['counterpartyCaps.individual', 'Cap to an individual', 'From which amount on a payment to an individual needs a travel rule reference (R20).', usd, 'no cap'],
  ['counterpartyCaps.business', 'Cap to a business', 'From which amount on a payment to a business needs a travel rule reference (R20).', usd, 'no cap'],
  ['counterpartyCaps.exchange', 'Cap to an exchange', 'From which amount on a payment to an exchange needs a travel rule reference (R20).', usd, 'no cap'],
  ['ofac.maxAge', 'Oldest list', 'How old the sanctions list may be.', plain],
  ['ofac.reviewAge', 'Oldest list without a look', 'After how long without a list that was fetched or confirmed a person looks at each payment (R21).', plain],
  ['ofac.onStale', 'With an older list', 'keep: payments are judged by it. review: a person looks at each.', plain],
  ['structuring.count', 'Payments cut in pieces', 'How many payments just below the limit look like one (R25).', plain],
  ['structuring.low', 'Pieces from', 'From which amount on a payment counts as such a piece (R25).', usd],
  ['structuring.high', 'Pieces below', 'Below which amount (R25).', usd],
  ['structuring.window', 'Pieces within', 'Within which time (R25).', plain],
  ['paymentRef.once', 'A reference used twice', 'review: a person looks. off: nobody does (R25).', plain],
  ['review.requireNotes', 'Notes are obligatory', 'Whether a rejection and an escalation need notes from every caller; the console always asks for them.', yes],
  ['review.fourEyes', 'Two officers', 'Which reviews two officers decide.', eyes, 'none'],
  ['review.sla', 'Clock of reviews', 'How long a review may wait.', plain, 'no clock'],
  ['review.secondLook', 'Second look', 'How many decisions another officer looks at again without knowing them.', looks, 'none'],
  ['review.approvalLapse', 'Approvals are good for', 'How long an approved payment may be made.', plain],
  ['settlement', 'Who gives back', 'settler: another key than the one that screened. self: the key that screened, too.', plain],
  ['holds.onExpiry', 'A hold that nobody ends', 'count: it goes on counting until a settler says what became of the payment. return: it counts no more.', plain],
  ['holds.alert.count', 'Unresolved payments, number', 'From how many unresolved payments of one agent on an alert opens; 1 where holds.alert is not set.', plain, 'by no number'],
  ['holds.alert.amount', 'Unresolved payments, sum', 'From which sum of unresolved payments of one agent on an alert opens.', usd, 'by no sum'],
  ['possession.default', 'Proof of the agent’s key', 'off: none is wanted. review: a call without one is asked about (R22). required: a call without one has no credential (R1).', plain],
  ['possession.maxAge', 'Proofs are good for', 'How old a proof may be.', plain],
  ['permits.audience', 'Permits are for', 'For whom a permit is if the call does not say.', plain, 'this service'],
  ['permits.required', 'Redeemed before it is settled', 'review: payments that an officer approved. all: every payment, and a hold that nobody redeemed returns. off: none. A settle of another one is booked, marked, and alerts.', plain],
  ['twoPersons', 'Two persons', 'Which acts one person must not do alone. bank, which is recommended, means all of them.', (v) => (Array.isArray(v) ? v.map(actWords).join('; ') || 'none' : v === 'bank' ? 'every act (bank)' : String(v))],
  ['passkeys', 'Signed with a passkey', 'Which acts count only if the person who does them signs with a passkey. bank means all of them; second is whoever confirms what another proposed; policy is any change of the policy.', (v) => (Array.isArray(v) ? v.map(actWords).join('; ') || 'none' : v === 'bank' ? 'every act (bank)' : String(v)), 'none'],
  ['reconcile', 'Rails to be compared', 'How often each rail is compared with the log, at least; whoever runs the nodes is told when one is overdue.', (v) => (Array.isArray(v) ? v.map((x) => `${x.rail} every ${x.every}`).join(', ') || 'none' : String(v)), 'none'],
  ['registration.onMatch', 'A listed operator registers', 'issue: it gets a credential, and its payments are blocked. refuse: not at all.', plain],
  ['retro.suspend', 'Suspend whom a new list names', 'Whether agents, users and operators that a new list names are suspended at once.', yes],
].map(([path, label, what, say, none]) => ({path, label, what, say, none, standard: defaults[path]}));

const modes = {review: 'stops the payment for a person', shadow: 'only notes', off: 'is not judged', block: 'blocks the payment'};

function eyes(v) {
  const parts = [v.minAmount !== undefined && `from ${money(v.minAmount)} on`, (v.rules ?? []).length > 0 && `of ${v.rules.map(ruleShort).join(', ')}`].filter(Boolean);
  return parts.length ? parts.join(', and ') : 'every review';
}

function looks(v) {
  const share = Number(v.basisPoints ?? 0) / 100;
  return share > 0 ? `${share} % of the decisions${(v.rules ?? []).length > 0 ? ` on reviews of ${v.rules.map(ruleShort).join(', ')}` : ''}` : 'none';
}

function licences(v) {
  if (!Array.isArray(v) || v.length === 0) return 'none';
  return v.map((e) => `${e.id} (${e.licence}): ${list(e.countries ?? [])}${e.maxAmount === undefined ? '' : ` up to ${money(e.maxAmount)}`}${e.cpTypes ? ` to ${list(e.cpTypes)}` : ''}${e.operators ? ` for ${list(e.operators)}` : ''}, ${e.from} to ${e.until}`).join('; ');
}

function hours(v) {
  if (!v || typeof v !== 'object') return String(v);
  const windows = (v.windows ?? []).map((w) => `${(w.days ?? []).join(' ')} ${w.from ?? ''}–${w.to ?? ''}`.trim()).join('; ');
  return `${windows || 'as given'}, ${v.timezone ?? 'UTC'}${(v.holidays ?? []).length ? `, but for ${v.holidays.length} holidays` : ''}`;
}

const own = (object, key) => (object !== null && typeof object === 'object' && Object.hasOwn(object, key) ? object[key] : undefined);
const at = (document, path) => path.split('.').reduce(own, document);
const same = (a, b) => JSON.stringify(a) === JSON.stringify(b);
const modeOf = (v) => own(v, 'mode') ?? v;

/** valueOf is what a setting of a document says, in words; where it says nothing, the default. */
export function valueOf(document, setting) {
  const v = at(document, setting.path);
  if (v !== undefined) return {words: setting.say(v), set: true};
  return {words: setting.standard === undefined ? setting.none : setting.say(setting.standard), set: false};
}

/** rulesOf are the modes that a document sets, by the short name of the rule. */
const rulesOf = (document) => Object.fromEntries(Object.entries(own(document, 'rules') ?? {}).map(([code, v]) => [ruleShort(code), modeOf(v)]));

/** others are members that no setting here speaks of: they are told as they are. */
function others(document, prefix = '') {
  return Object.entries(document ?? {}).flatMap(([key, value]) => {
    const path = prefix + key;
    if (path === 'rules' || settings.some((x) => x.path === path)) return [];
    if (value !== null && typeof value === 'object' && !Array.isArray(value) && settings.some((x) => x.path.startsWith(`${path}.`))) return others(value, `${path}.`);
    return [path];
  });
}

/** changes is what an edit changes, each in a sentence, with the paths that changed. */
export function changes(before, after) {
  const out = [];
  const was = rulesOf(before);
  const now = rulesOf(after);
  for (const rule of [...new Set([...Object.keys(was), ...Object.keys(now)])].sort((a, b) => Number(a.slice(1)) - Number(b.slice(1)))) {
    const [a, b] = [was[rule] ?? 'review', now[rule] ?? 'review'];
    if (a !== b) out.push({path: `rules.${rule}`, text: `Rule ${rule}: it ${modes[b] ?? b} (${b}); until now it ${modes[a] ?? a} (${a}).`});
  }
  for (const setting of settings) {
    if (same(at(before, setting.path), at(after, setting.path))) continue;
    const [a, b] = [valueOf(before, setting), valueOf(after, setting)];
    const note = b.set ? '' : ', the default';
    out.push({path: setting.path, text: a.words === b.words ? `${setting.label}: ${b.words} as before; it is ${b.set ? 'written down now' : 'left to the default now'}.` : `${setting.label}: ${b.words}${note}; until now ${a.words}${a.set ? '' : ', the default'}.`});
  }
  for (const path of new Set([...others(before), ...others(after)])) {
    const [a, b] = [at(before, path), at(after, path)];
    if (!same(a, b)) out.push({path, text: `${path}: ${b === undefined ? 'taken out' : JSON.stringify(b)}; until now ${a === undefined ? 'not set' : JSON.stringify(a)}.`});
  }
  return out;
}

/** pathWords is what a path of the document is called. */
export const pathWords = (path) => settings.find((x) => x.path === path)?.label ?? path.replace(/^rules\.(R\d+).*/, 'Rule $1');

export const ruleName = (code) => `${ruleShort(code)} ${ruleWords(code)}`;
