// This page shows one case, in the order in which an officer asks about it.

import {h, put, party, money, when, whenText, badge, bar, table, facts, field, toast, ruleShort, dialog, due} from './dom.js';
import * as api from './api.js';
import {partyLink} from './names.js';
import {sentence, deciding, ladderView, hitView, payment} from './words.js';
import {decide, withdraw, verbs} from './decide.js';
import {officer} from './who.js';
import {keep} from './drafts.js';
import {verify, hold} from './proof.js';
import {keys} from './keys.js';
import {clearPair, mayClear, pairCleared, pairDenied} from './cleared.js';
import {next, pass} from './next.js';
import {askedOf, fieldOf, fieldWords, outcomeWords, said} from './fields.js';
import {countryWords, differing} from './identity.js';
import {leaveWords, paymentWords} from './leave.js';
import {actions, reportState, wentAhead} from './actions.js';

const every = 5000;
const dayOf = (time) => whenText(time).split(',')[0];

/** listDay is when the list of a record was published, where the node still knows it. */
async function listDay(record) {
  const known = api.whole() && api.may('policy', 'ops', 'reviewer', 'auditor') ? await api.maybe('/ofac', {poll: true}).catch(() => null) : null;
  const list = [known?.active, ...(known?.history ?? [])].find((l) => l?.listVersion === record.listVersion);
  return list?.publishedAt ? dayOf(list.publishedAt) : null;
}

/** listNote says by which list the payment was judged, and that it was too old. */
const listNote = (record, day) => h('span', {id: 'list', class: record.ofacStale ? 'over' : null}, `List version ${record.listVersion}${day ? `, published ${day}` : ''}${record.ofacStale ? ': it was too old when this was judged' : ''}`);

/** listLine is listNote with the day of the list. */
export const listLine = async (record) => listNote(record, await listDay(record));

/** reportOf is the newest report of a payment; null: there is none, or it is not for this key. */
async function reportOf(id) {
  const page = api.whole() && api.may('reviewer', 'auditor') ? await api.maybe(`/sar${api.query({txnId: id, limit: 1})}`) : null;
  return page?.data[0] ?? null;
}

/** further is what became of a payment beside its decision, and what else can be done about it. */
async function further(record, reload) {
  const report = await reportOf(record.txnId);
  const hit = (record.matches ?? []).find((m) => m.uid);
  const open = report && report.state !== 'CLOSED';
  return [report && h('p', {class: 'note', id: 'report'}, h('span', null, badge(report.state), ' '), reportState(report, when), '. ', h('a', {href: `/console/reports#${record.txnId}`}, 'The reports')),
    api.whole() && api.may('reviewer') && h('div', {class: 'actions left further'}, actions({txnId: record.txnId, agentId: record.agentId, agentName: record.agentName, cpName: record._request?.cpName, entry: hit && {uid: hit.uid, name: hit.name}, moneyGone: wentAhead(record), reported: open}, reload))];
}

/** twoOfficers tells, by the policy of today, whether two officers decide a case. */
const twoOfficers = (policy) => (record) => {
  const {fourEyes} = policy.review ?? {};
  if (!fourEyes) return policy.twoPersons === 'bank' || Boolean(policy.twoPersons?.includes?.('disposition'));
  const fired = (record.triggered ?? [record.rule]).filter(Boolean).map((x) => ruleShort(x.rule ?? x));
  const least = fourEyes.minAmount ?? (fourEyes.rules ? Infinity : 0);
  return (record._request ?? record).amount >= least || (fourEyes.rules ?? []).some((rule) => fired.includes(ruleShort(rule)));
};

/** load gathers what the key may see of a case. */
export async function load(id) {
  const [record, explained, policy, claim] = await Promise.all([
    api.call(`/audit/${id}`), api.maybe(`/audit/${id}/explain`), api.whole() ? api.maybe('/policy') : null,
    claimOf(id),
  ]);
  const names = policy && {review: policy.policy?.names?.review, version: policy.policyVersion, two: twoOfficers(policy.policy ?? {})};
  return {record, ladder: explained?.ladder ?? null, claim, names};
}

/** hits shows the case's hits; compared is told how many are not marked as looked at. */
export async function hits(record, marks) {
  const found = record.matches ?? [];
  if (found.length === 0) return null;
  const q = record._request ?? {};
  let now = null;
  if (q.cpName && api.may('reviewer', 'policy', 'auditor')) {
    now = await api.call(`/match${api.query({name: q.cpName, cpType: q.cpType, cpCountry: q.cpCountry, cpDateOfBirth: q.cpDateOfBirth, txnId: record.txnId, explain: 'true'})}`).catch(() => null);
  }
  return h('section', {class: 'card', id: 'hits-card'}, h('h2', null, found.length === 1 ? 'The hit' : `${found.length} hits`),
    record.partiesUnavailable && h('p', {class: 'note warn'}, record.partiesUnavailable),
    found.map((match) => {
      const box = h('input', {type: 'checkbox'});
      marks?.push(box);
      const field = fieldOf(match, record);
      const asked = askedOf(match, record);
      const today = now?.matches?.find((m) => m.uid === match.uid && (m.alias ?? m.name) === (match.alias ?? match.name));
      const clear = api.may('reviewer') && api.whole() && mayClear(match, asked) && !today?.cleared &&
        h('button', {type: 'button', class: 'clear', onclick: () => clearPair(asked, match, record, () => clear.replaceWith(pairCleared()))}, 'Clear this pair …');
      return hitView(match, asked, (record.parties ?? []).find((p) => p.uid === match.uid), today,
        [today?.cleared ? pairCleared() : (today ?? match).clearing && pairDenied(today ?? match), h('div', {class: 'actions left'}, h('label', null, box, ' I have compared this hit'), clear)], fieldWords(field, q), record);
    }),
    h('p', {class: 'quiet'}, `List version ${record.listVersion} (${record.ofacSource ?? 'source unknown'}), matcher ${record.matcherVersion}. Letters that differ are marked.`));
}

/** evidenceOf is what to compare, the first thing first: hits and places stand before the text of a rule, which is always the same. */
export async function evidenceOf(record, ladder, names, marks) {
  const found = [await hits(record, marks), places(record)].filter(Boolean);
  return found.length > 0 ? [...found, deciding(record, ladder, names)] : [deciding(record, ladder, names)];
}

/** places shows what was read of the call's countries and regions, and from which member. */
export function places(record) {
  const read = record.places ?? [];
  if (read.length === 0) return null;
  const q = record._request ?? {};
  return h('section', {class: 'card', id: 'places'}, h('h2', null, read.length === 1 ? 'The place' : `${read.length} places`),
    table('Places of the payment', ['Read from', 'It says', 'Read as', 'What that is'], read.map((p) => [h('span', null, fieldWords(p.member, q), h('br'), h('span', {class: 'mono quiet path'}, p.member)), said(p.member, q) ?? '–', p.read ?? '–',
      p.outcome === 'exempt' ? `${outcomeWords(p.outcome)}: ${p.exemption}, ${p.licence}` : outcomeWords(p.outcome)])),
    h('p', {class: 'quiet'}, `Tables of places ${record.placesVersion ?? '–'}.`));
}

async function history(record) {
  const q = record._request ?? {};
  const from = new Date(Date.parse(record.screenedAt) - 30 * 86400e3).toISOString();
  const ask = (members) => api.maybe(`/audit${api.query({...members, from, to: record.screenedAt, limit: 10})}`).catch(() => null);
  const [cp, agent] = await Promise.all([
    q.cpWallet ? ask({wallet: q.cpWallet}) : q.cpName ? ask({name: q.cpName}) : null, record.agentId ? ask({agentId: record.agentId}) : null]);
  const rows = (page) => (page?.data ?? []).filter((r) => r.txnId !== record.txnId).map((r) => [
    h('a', {href: `/console/case/${r.txnId}`}, when(r.screenedAt)), badge(r.verdict), r.rule ? ruleShort(r.rule) : '–', money((r._request ?? r).amount), party((r._request ?? r).cpName, (r._request ?? r).cpWallet),
    r.disposition ? badge(r.disposition) : '–', r.reviewedBy ?? '–']);
  const heads = ['When', 'Verdict', 'Rule', 'Amount', 'To', 'Decided', 'By'];
  return h('section', {class: 'card'}, h('h2', null, 'The 30 days before'),
    h('h3', null, 'This counterparty'), cp ? table('Payments to this counterparty', heads, rows(cp)) : h('p', {class: 'quiet'}, 'The payment names no counterparty.'),
    h('h3', null, 'This agent'), agent ? table('Payments of this agent', heads, rows(agent)) : h('p', {class: 'quiet'}, 'Not to be seen with this key.'));
}

/** thatDay is what the rules saw as spent when the payment was judged: that is what a print shows, whenever it is made. */
function thatDay(record, ladder) {
  const levels = ladder?.find((x) => x.number === 11)?.values?.levels ?? [];
  if (levels.length === 0) return null;
  return h('section', {class: 'card', id: 'thatday'}, h('h2', null, `Spent on ${dayOf(record.screenedAt)}, before this payment`),
    levels.map((l) => bar(l.level === 0 ? 'This agent' : `Parent${l.level > 1 ? `, ${l.level} levels up` : ''}`, l.spentUSDC, l.heldUSDC, l.dailyLimitUSDC)));
}

/** spend is what is spent today; it is not printed, because a print is of the day of the record. */
async function spend(record) {
  if (!record.agentId) return null;
  const limits = await api.maybe(`/agents/${record.agentId}/limits`);
  if (!limits) return null;
  return h('section', {class: 'card screen', id: 'today'}, h('h2', null, 'Spent today'), bar('This agent', limits.spentUSDC, limits.heldUSDC, limits.dailyLimitUSDC),
    (limits.ancestors ?? []).map((a) => bar(['Parent ', a.agentId && partyLink(a.agentId)], a.spentUSDC, a.heldUSDC, a.dailyLimitUSDC)),
    limits.fleet && bar(['Fleet ', limits.fleet.fleetId && partyLink(limits.fleet.fleetId)], limits.fleet.spentUSDC ?? limits.fleet.spentTodayUSDC, limits.fleet.heldUSDC, limits.fleet.dailyLimitUSDC),
    h('p', {class: 'quiet'}, `Single payments up to ${money(limits.maxSingleTxUSDC)}.`));
}

export function parties(record) {
  const chain = (record.chain ?? []).map((x) => (typeof x === 'string' ? x : x.agentId));
  const q = record._request ?? {};
  return h('section', {class: 'card'}, h('h2', null, 'Who pays whom'),
    h('ol', {class: 'chain'}, h('li', null, h('span', {class: 'quiet'}, 'operator'), ` ${record.operatorLegalName ?? '–'}`),
      chain.slice().reverse().filter((id) => id !== record.agentId).map((id) => h('li', null, h('span', {class: 'quiet'}, 'parent '), partyLink(id))),
      h('li', null, h('span', {class: 'quiet'}, 'agent '), partyLink(record.agentId, record.agentName), ` (${record.agentType ?? '?'}) `, record.credentialStatus && badge(record.credentialStatus)),
      record.userId && h('li', null, h('span', {class: 'quiet'}, 'user '), partyLink(record.userId)),
      h('li', null, h('span', {class: 'quiet'}, 'counterparty'), ` ${q.cpName ?? '–'}`)),
    facts([['Wallet', q.cpWallet && h('span', {class: 'mono'}, q.cpWallet)], ['Wallet that pays', q.payerWallet && h('span', {class: 'mono'}, q.payerWallet)], ...(q.wallets ?? []).map((w) => [`Wallet, ${w.role}`, h('span', {class: 'mono'}, w.address)]), ['Type', q.cpType], ['Country', countryWords(q.cpCountry)], ['Region', q.cpRegion], ['Asked from', countryWords(q.originCountry)], ...(Array.isArray(q.cpIdentifiers) ? q.cpIdentifiers : []).map((i) => [`Identifier, ${i.type}`, h('span', {class: 'mono'}, [i.value, i.country].filter(Boolean).join(', '))]), ['Identifiers', typeof q.cpIdentifiers === 'string' && q.cpIdentifiers], ['Memo', q.memo], ['Date of birth', q.cpDateOfBirth], ['Address', q.cpAddress], ['Chain', q.chain], ['Rail', q.rail],
      ['Protocol', q.protocol], ['Reference', q.paymentRef]].filter(([, v]) => v)));
}

/** told is what leave.js says, marked where an officer has to see it. */
const told = (words, id) => words && [' ', h(words.bad ? 'strong' : 'span', {id, class: words.bad ? 'over' : null}, words.text)];

const covers = 'It covers the payment, the verdict, the rules, the hits, the decision and the comments; not the words of the rules, what a list says beside a hit, or what is spent today.';

/** proofBadge verifies in this browser, and holds what is shown against the proven bytes. differs is called with what is proven where a
 *  node told something else; changed where the case went on meanwhile. */
function proofBadge(shown, {differs, changed}) {
  const id = shown.txnId;
  const state = h('span', {class: 'badge plain', id: 'proof'}, 'proof not checked');
  const ask = async () => verify(await api.call(`/audit/${id}/proof`, {poll: true}), id);
  const check = async () => {
    state.className = 'badge plain';
    put(state, 'checking …');
    try {
      let got = await ask();
      let held = hold(shown, got.proven);
      if (held.differs.length > 0) { // Somebody may have written about it between the two answers.
        const again = await api.call(`/audit/${id}`, {poll: true});
        got = await ask();
        held = hold(again, got.proven);
        if (held.differs.length === 0) {
          changed();
          return;
        }
        differs(held);
        return;
      }
      state.className = 'badge good';
      put(state, 'proof verified in your browser');
      state.title = `${got.leaves} ${got.leaves === 1 ? 'leaf leads' : 'leaves lead'} to the root of the log's tree of ${got.size}. ${covers} Signature: ${got.signature ? 'good' : 'not checked by this browser'}.`;
    } catch (error) {
      state.className = 'badge bad';
      put(state, `proof not verified: ${error.message}`);
    }
  };
  check();
  return h('span', null, state, ' ', h('button', {type: 'button', class: 'small', onclick: check}, 'Check again'));
}

/** proofBroken is what stands in the badge's place where a node told something else than is proven. */
const proofBroken = (names) => h('span', {class: 'badge bad', id: 'proof'}, `this node told something else than is proven: ${names.join(', ')}. What is proven is shown.`);

function comments(record, reload) {
  const text = h('textarea', {name: 'comment', rows: 2, required: true, maxlength: 8192});
  const told = h('div', {role: 'alert'});
  const sender = api.sender();
  const form = api.may('reviewer') && record.verdict === 'REVIEW' && h('form', {onsubmit: async (event) => {
    event.preventDefault();
    try {
      await sender.post(`/queue/${record.txnId}/comment`, {comment: text.value.trim(), by: officer()});
      kept.drop();
      toast(sender.replayed ? 'It had been recorded at the first try; only the answer was lost.' : 'Comment recorded.');
      reload();
    } catch (error) {
      text.readOnly = sender.open !== null;
      put(told, h('p', {class: sender.open ? 'note warn lostanswer' : 'note bad'}, sender.open ? 'No answer came. It may have been recorded or not. Comment again: the same is sent, and recorded at most once.' : error.message));
      if (sender.open) kept.save();
    }
  }}, field('Add a comment', text), told, h('button', {type: 'submit'}, 'Comment'));
  const kept = form && keep(form, `comment:${record.txnId}`, () => (sender.open ? {sent: JSON.stringify(sender.open)} : {}));
  kept?.ready?.then((was) => {
    if (!was?.fields?.sent) return;
    const open = JSON.parse(was.fields.sent);
    if (api.stillKnown(open)) {
      sender.open = open;
      text.readOnly = true;
    }
    put(told, h('p', {class: 'note warn lostanswer'}, api.stillKnown(open) ? 'You sent this and no answer came. Comment again: it is recorded at most once.' : 'You sent this before and no answer came: see whether it stands above.'));
  });
  return h('section', {class: 'card'}, h('h2', null, 'Comments'),
    (record.comments ?? []).length === 0 ? h('p', {class: 'quiet'}, 'None yet.') :
      h('ul', {class: 'comments'}, record.comments.map((c) => h('li', null, h('strong', null, c.actor ?? c.actorKeyId ?? ''), ' ', when(c.time), h('p', null, c.comment)))),
    form);
}

/** working says that somebody else is at the case. */
const working = (claim) => claim?.assignee && claim.assignee !== officer() && h('p', {class: 'note warn'}, `${claim.assignee} is working on this case`, claim.leaseExpiresAt ? [' until ', when(claim.leaseExpiresAt)] : '', '. You can decide all the same; the first decision stands.');

/** claimOf is the claim of an open case as it stands now; null: none, or not to be seen. */
async function claimOf(id, options) {
  const open = api.may('reviewer', 'auditor') ? await api.maybe(`/queue${api.query({q: id, limit: 1})}`, options) : null;
  return open?.data?.find((item) => item.txnId === id) ?? null;
}

/** claimView tells whose case it is and lets it be taken or given back. */
function claimView(record, claim, reload) {
  if (record.disposition || record.verdict !== 'REVIEW' || !api.may('reviewer')) return null;
  const mine = claim?.assignee === officer();
  const act = async (verb, body) => {
    try {
      await api.call(`/queue/${record.txnId}/${verb}`, {method: 'POST', body});
      reload();
    } catch (error) {
      toast(error.code === 'claimed_by_other' ? `${error.body.assignee ?? 'Somebody'} has claimed this case.` : error.message, 'bad');
    }
  };
  return h('span', {class: 'claim'}, claim?.assignee ?
    [badge('claimed'), ` ${mine ? 'by you' : `by ${claim.assignee}`}`, claim.leaseExpiresAt ? [' until ', when(claim.leaseExpiresAt)] : '', ' ',
      h('button', {type: 'button', class: 'small', onclick: () => act('release', mine ? {by: officer()} : {by: officer(), force: true})}, mine ? 'Give back' : 'Free it')] :
    h('button', {type: 'button', class: 'small', onclick: () => act('claim', {assignee: officer()})}, 'Claim for ten minutes'));
}

export async function showCase(place, {id}, go) {
  const marks = [];
  const news = h('div', {role: 'status', id: 'news'});
  const reload = async (proven) => {
    const next = h('div', {class: 'page'});
    marks.length = 0;
    await draw(next, proven?.differs ? proven : null);
    put(news);
    place.replaceChildren(news, ...next.childNodes);
  };
  let current = null;
  async function draw(into, proven) {
    const {record: told1, ladder, claim, names} = await load(id);
    const record = proven?.record ?? told1;
    current = {record, claim, names};
    const undecided = record.verdict === 'REVIEW' && !record.disposition;
    const act = (disposition) => decide(record, disposition, {claim: current.claim, names, unseen: marks.filter((m) => !m.checked).length, then: reload});
    put(into, h('div', {class: 'titlebar'}, h('h1', null, payment(record)), badge(record.verdict), record.disposition && badge(record.disposition), record.sarEscalated && !record.disposition && badge('ESCALATE_SAR')),
      h('p', {class: 'sentence'}, sentence(record, ladder), differing(record) && h('span', {class: 'quiet', id: 'differing'}, ` ${differing(record)}.`)),
      h('div', {id: 'working', role: 'status'}, working(claim)),
      record.proposed && !record.disposition && h('p', {class: 'note'}, `${record.proposed.by} proposed `, badge(record.proposed.disposition), ' ', when(record.proposed.at), record.proposed.notes && h('q', null, record.proposed.notes), record.proposed.by === officer() ? ' It waits for a second officer; until then you can take it back.' : ' A second officer has to confirm.',
        api.may('reviewer') && [' ', h('button', {type: 'button', class: 'small', onclick: () => withdraw(record, reload)}, record.proposed.by === officer() ? 'Take it back …' : 'Withdraw …')]),
      record.disposition && h('p', {class: 'note'}, 'Decided ', badge(record.disposition), ` by ${record.reviewedBy ?? 'an officer'} `, when(record.reviewedAt), record.notes && h('q', null, record.notes),
        record.confirms && h('span', {id: 'first'}, ` Proposed by ${record.confirms.by} `, when(record.confirms.at), '.', record.confirms.notes && h('q', null, record.confirms.notes)),
        told(leaveWords(record), 'leave'), record.overLimitApproved && ' It went over a limit.', record.recheck?.verdict === 'BLOCK' && h('strong', {class: 'over'}, ` At approval the payment would have been a BLOCK (${record.recheck.rule}).`)),
      record.payment && h('p', {class: 'note'}, told(paymentWords(record.payment), 'payment'), told(paymentWords(record.lateSettlement), 'late')),
      h('p', {class: 'meta'}, h('span', {class: 'mono'}, record.txnId), when(record.screenedAt), await listLine(record), undecided && claim?.slaDueAt && h('span', {id: 'clock'}, due(claim)), api.may('reviewer', 'auditor') && (proven ? proofBroken(proven.differs) : proofBadge(record, {differs: (held) => reload(held), changed: () => reload()})), claimView(record, claim, reload),
        api.may('reviewer') && record.verdict === 'REVIEW' && h('button', {type: 'button', class: 'small next', onclick: onward}, undecided ? 'Skip to the next case' : 'Next case', h('kbd', null, 'N')),
        h('button', {type: 'button', class: 'small', onclick: () => window.print()}, 'Print')),
      await further(record, () => reload()),
      undecided && api.may('reviewer') && h('div', {class: 'actions decide'}, Object.entries(verbs).map(([key, verb]) =>
        h('button', {type: 'button', class: verb.kind, onclick: () => act(key)}, verb.word, h('kbd', null, verb.word[0] === 'E' ? 'S' : verb.word[0])))),
      h('div', {class: 'columns'},
        h('div', null, ...await evidenceOf(record, ladder, names, marks), await history(record)),
        h('div', null, parties(record), thatDay(record, ladder), await spend(record), comments(record, reload))),
      ladder && h('details', {class: 'card'}, h('summary', null, 'All rules, in order'), ladderView(ladder)),
      h('details', {class: 'card'}, h('summary', null, 'In force at the time, and digests'), facts([['Policy version', record.policyVersion], ['Rule set', record.ruleSet], ['List version', record.listVersion], ['List digest', h('span', {class: 'mono'}, record.listDigest ?? '–')],
        ['Matcher', record.matcherVersion], ['Leaf hash', h('span', {class: 'mono'}, record.leafHash)], ['Node', record.node], ['API key', record.keyId], ['Request', record.requestId]])));
  }
  await draw(place);
  place.prepend(news);
  const timer = setInterval(() => { if (!document.hidden && !document.querySelector('dialog[open]')) look().catch(() => {}); }, every);

  /** look tells what somebody else did to the case meanwhile, and moves nothing of what is being read. */
  async function look() {
    const before = current.record;
    if (before.disposition || before.verdict !== 'REVIEW') return;
    const [now, claim] = await Promise.all([api.call(`/audit/${id}`, {poll: true}), claimOf(id, {poll: true}).catch(() => current.claim)]);
    if (before !== current.record) return;
    if (claim?.assignee !== current.claim?.assignee) { // Seen live; it moves nothing but its own line.
      current.claim = claim;
      put(place.querySelector('#working'), working(claim));
      place.querySelector('.claim')?.replaceWith(claimView(before, claim, reload));
    }
    const what = now.disposition ? [`${now.reviewedBy ?? 'Somebody'} decided this case meanwhile: `, badge(now.disposition), '.'] : now.proposed && !before.proposed ? [`${now.proposed.by} proposed meanwhile: `, badge(now.proposed.disposition), '.'] :
      before.proposed && !now.proposed ? ['What was proposed was withdrawn meanwhile.'] : (now.comments ?? []).length > (before.comments ?? []).length ? ['Somebody commented meanwhile.'] : null;
    if (what && !news.childElementCount) put(news, h('p', {class: 'note warn'}, what, ' ', h('button', {type: 'button', class: 'small', onclick: reload}, 'Show')));
  }

  const unkey = keys({
    a: () => act('APPROVED'), r: () => act('REJECTED'), s: () => act('ESCALATE_SAR'), q: () => go('/console/queue'),
    n: onward,
  });
  return () => {
    clearInterval(timer);
    unkey();
  };
  /** onward goes to the next case; one that is not decided is passed over. */
  function onward() {
    if (!api.may('reviewer')) return;
    const {record, claim} = current;
    const done = record.verdict !== 'REVIEW' || record.disposition ? next(go) : pass(id, claim, go);
    done.catch((error) => toast(error.message, 'bad'));
  }
  function act(disposition) {
    if (current.record.verdict === 'REVIEW' && !current.record.disposition && api.may('reviewer')) {
      decide(current.record, disposition, {claim: current.claim, names: current.names, unseen: marks.filter((m) => !m.checked).length, then: reload});
    }
  }
}
