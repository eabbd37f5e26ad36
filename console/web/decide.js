// The dialog of a decision. Before anything is recorded, it shows the exact action, the person who
// takes it, and what speaks against it: hits that nobody compared, today's list, today's limits.

import {h, field, put, when, badge, toast, money} from './dom.js';
import * as api from './api.js';
import {payment} from './words.js';
import {ask} from './ask.js';
import {officer, signs} from './who.js';

export {officer} from './who.js';

export const verbs = {
  APPROVED: {word: 'Approve', done: 'Approved', kind: 'good', what: 'Approve'},
  REJECTED: {word: 'Reject', done: 'Rejected', kind: 'bad', what: 'Reject', want: 'Say why you reject it: whoever asks for the payment, or examines it in two years, has only your words.'},
  ESCALATE_SAR: {word: 'Escalate', done: 'Escalated', kind: 'warn', what: 'Escalate as suspicious', want: 'Say what is suspicious: the report begins with your words, and an examiner reads them in two years.'},
};

const amountOf = (record) => (record._request ?? record).amount ?? 0;

/** listed asks today's list about the counterparty again; it returns a warning where the payment would be blocked. */
async function listed(place, record, approves) {
  const q = record._request ?? record;
  if (!q.cpName && !q.cpWallet || !api.may('reviewer', 'policy', 'auditor')) return false;
  put(place, h('p', {class: 'quiet'}, 'Asking today’s list …'));
  try {
    const now = await api.call(`/match${api.query({name: q.cpName, wallet: q.cpWallet, cpType: q.cpType, cpCountry: q.cpCountry, cpDateOfBirth: q.cpDateOfBirth, txnId: record.txnId})}`);
    const blocked = now.outcome === 'BLOCK';
    put(place, blocked ?
      h('p', {class: 'note bad', role: 'alert'}, `By today’s list (version ${now.listVersion}) this counterparty is listed: the payment would be BLOCKED.${approves ? ' An approval is recorded all the same, and says so.' : ''}`) :
      h('p', {class: 'quiet'}, `Today’s list (version ${now.listVersion}) says `, badge(now.outcome), now.outcome === 'REVIEW' && now.matches.every((m) => m.cleared) ? ', of a pair that is cleared.' : '.'));
    return blocked && approves;
  } catch (error) {
    put(place, h('p', {class: 'note warn'}, `Today’s list could not be asked: ${error.message}`));
    return approves;
  }
}

/** levelsOf are the daily limits that a payment of an agent counts against, as they stand today. */
function levelsOf(limits) {
  const level = (what, l) => ({what, limit: l.dailyLimitUSDC, used: (l.spentUSDC ?? l.spentTodayUSDC ?? 0) + (l.heldUSDC ?? 0)});
  return [level('this agent', limits), ...(limits.ancestors ?? []).map((l) => level('its parent', l)), limits.fleet && level('its fleet', limits.fleet), limits.operator && level('its operator', limits.operator)].filter(Boolean);
}

/** passed says which daily limits of today an approval would pass: it counts today, whatever the day of the call. */
async function passed(place, record) {
  const limits = record.agentId && await api.maybe(`/agents/${record.agentId}/limits`, {poll: true}).catch(() => null);
  if (!limits) {
    put(place, h('p', {class: 'quiet'}, `If you approve, ${money(amountOf(record))} count against the limits of today. What is spent today is not to be seen with this key.`));
    return false;
  }
  const over = levelsOf(limits).filter((l) => typeof l.limit === 'number' && l.used + amountOf(record) > l.limit);
  put(place, h('p', {class: 'quiet'}, `${money(amountOf(record))} count against the limits of today.`),
    over.map((l) => h('p', {class: 'note warn overlimit'}, `The daily limit of ${l.what} will be passed: ${money(l.used)} are spent or held today, ${money(l.used + amountOf(record))} with this payment; the limit is ${money(l.limit)}.`)));
  return over.length > 0;
}

/** second tells whether another officer signs too, and who did so first. */
function second(record, disposition, names) {
  const p = record.proposed;
  if (p) {
    const mine = p.disposition === disposition;
    return h('div', {class: 'note', id: 'first-said'}, h('p', null, `${p.by} proposed “${verbs[p.disposition]?.word ?? p.disposition}” `, when(p.at), p.notes ? ' and said:' : ' and gave no reason.'), p.notes && h('q', null, p.notes),
      h('p', null, mine ? 'Two officers decide this case: yours is the second signature, and with it the decision is final.' : 'Two officers decide this case, and you say something else: the case is not decided before they agree.'));
  }
  if (names?.two?.(record)) return h('p', {class: 'note', id: 'needs-second'}, 'Two officers decide this case. Yours is a proposal: it waits for a second officer, and until then you can take it back.');
  return null;
}

/** clearable are the hits of a case of which an officer may say, with the approval, that they are somebody else. */
function clearable(record) {
  if (!api.may('reviewer') || !api.whole() || !(record._request ?? {}).cpName) return [];
  const hits = (record.matches ?? []).filter((m) => m.party === 'counterparty' && m.outcome !== 'BLOCK' && m.outcome !== 'listed' && !m.wallet && !m.identifier && !m.clearedId);
  return hits.filter((m, i) => hits.findIndex((x) => x.uid === m.uid) === i);
}

/** clearAll clears the pairs of these hits, for a year, for the reason of the decision. */
async function clearAll(post, record, hits, reason, clearedBy) {
  const expiresAt = new Date(Date.now() + 365 * 86400e3).toISOString().slice(0, 10);
  for (const hit of hits) {
    await post('/cleared', {name: record._request.cpName, uid: hit.uid, reason, expiresAt, clearedBy, txnId: record.txnId}).catch((error) => {
      if (!error.proposal) throw error;
      toast(error.message, 'warn');
    });
  }
}

/** decide asks for confirmation and records; then is called with the record. unseen: hits that are not marked as compared; names: what the policy
 *  says, as case.js reads it. */
export function decide(record, disposition, {claim, unseen = 0, names, then} = {}) {
  const verb = verbs[disposition];
  const approves = disposition === 'APPROVED';
  const place = {list: h('div'), limits: h('div')};
  const notes = h('textarea', {name: 'notes', rows: 4, maxlength: 8192, required: !approves, 'data-want': verb.want});
  const who = signs('Decided by');
  const two = second(record, disposition, names);
  const hits = approves ? clearable(record) : [];
  const clears = hits.length > 0 && h('input', {type: 'checkbox', name: 'clears', onchange: () => { notes.required = clears.checked; }});
  const other = claim?.assignee && claim.assignee !== officer();
  const early = (unseen > 0 && approves) || other;
  let told = false; // Whether what speaks against it stood there when the button was pressed.
  const checks = Promise.all([listed(place.list, record, approves), approves ? passed(place.limits, record) : false]).then((bad) => bad.some(Boolean));
  const box = ask({
    title: `${verb.word}?`, word: verb.word, kind: verb.kind, draft: `review:${record.txnId}:${disposition}`,
    body: [
      h('p', {class: 'action'}, `${verb.what} the payment of ${payment(record)}, made by ${record.agentName ?? record.agentId} of ${record.operatorLegalName ?? 'an unknown operator'}.`),
      h('p', {class: 'quiet'}, `${record.txnId}.${two ? '' : ' The decision is final: it becomes a leaf of the log and nobody can change it.'}`),
      other && h('p', {class: 'note warn'}, `${claim.assignee} is working on this case`, claim.leaseExpiresAt ? [' until ', when(claim.leaseExpiresAt)] : '', '.'),
      unseen > 0 && approves && h('p', {class: 'note warn unseenhits'}, `${unseen} ${unseen === 1 ? 'hit is' : 'hits are'} not marked as compared.`),
      record.ofacStale && h('p', {class: 'note warn'}, 'The list was too old when this payment was judged.'),
      two, place.list, place.limits, who.view,
      field(approves ? 'Notes' : 'Why (obligatory)', notes, 'What an examiner should read in two years.'),
      clears && h('label', {class: 'clears'}, clears, ` Also clear ${hits.map((m) => m.name).join(' and ')} for this name, for a year: the same reason stands in each`),
    ],
    act: async (_form, post) => {
      const before = told;
      if (await checks && !before && approves) {
        told = true;
        notes.focus();
        throw Object.assign(new Error(), {shown: h('p', {class: 'note warn'}, 'Read what stands above first: it was not there yet when you pressed.')});
      }
      if (clears?.checked) await clearAll(post, record, hits, notes.value.trim(), who.name());
      const answer = await post(`/reviews/${record.txnId}`, {disposition, reviewedBy: who.name(), ...(notes.value.trim() && {notes: notes.value.trim()})}).catch((error) => {
        error.shown = kindly(error, record);
        throw error;
      });
      if (answer.proposed && !answer.disposition) toast(`Proposed: another officer has to confirm ${record.txnId}. Until then you can take it back.`, 'warn');
      else if (answer.recheck?.verdict === 'BLOCK') toast(`${verb.done}, but today the payment would be a BLOCK. Do not let it go.`, 'bad');
      else toast(`${verb.done}: ${record.txnId}.`, 'good');
      return () => then?.(answer);
    },
  });
  const button = box.querySelector('button[type=submit]');
  (approves && !early ? button : notes).focus();
  checks.then((bad) => {
    told = true;
    if (bad && document.activeElement === button) notes.focus(); // So that Enter does not approve what was not read.
  });
  return box;
}

/** withdraw asks why what was proposed is taken back: by another officer, or by the one who proposed it. */
export function withdraw(record, then) {
  const who = signs('Withdrawn by');
  const why = h('textarea', {name: 'reason', rows: 3, maxlength: 8192});
  const own = record.proposed.by === officer();
  ask({
    title: own ? 'Take back what you proposed?' : 'Withdraw what is proposed?', word: own ? 'Take it back' : 'Withdraw', kind: 'warn', draft: `withdraw:${record.txnId}`,
    body: [h('p', {class: 'action'}, `${own ? 'You' : record.proposed.by} proposed “${verbs[record.proposed.disposition]?.word ?? record.proposed.disposition}” for ${payment(record)}. It is taken back, and the case waits on.`),
      h('p', {class: 'quiet'}, 'It stays in the record that it was proposed.'), who.view, field('Why', why)],
    act: async (_form, post) => {
      await post(`/reviews/${record.txnId}/withdraw`, {reviewedBy: who.name(), ...(why.value.trim() && {reason: why.value.trim()})});
      toast('Withdrawn.');
      return then;
    },
  });
}

/** kindly tells a lost race with who and when. */
export function kindly(error, record) {
  const b = error.body ?? {};
  if (error.code === 'already_dispositioned') {
    const own = b.reviewedBy === officer();
    return h('div', {class: 'note warn lost'}, h('p', null, own ? 'It is decided already, in your name: ' : `${b.reviewedBy ?? 'Somebody'} was faster: the case was decided `, badge(b.disposition ?? '?'), ' ', when(b.reviewedAt), own ? '. That stands.' : '. That stands; nothing of yours was recorded.'),
      h('p', null, h('a', {href: `/console/case/${record.txnId}`, onclick: (e) => e.target.closest('dialog')?.close()}, 'See the case as it stands')));
  }
  if (error.status === 409) return h('p', {class: 'note warn'}, b.message ?? 'Somebody changed this meanwhile.');
  return h('p', {class: 'note bad'}, error.message);
}
