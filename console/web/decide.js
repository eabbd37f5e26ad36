// The dialog of a decision. Before anything is recorded, it shows the exact action, the person
// who takes it, and what today's list says.

import {h, dialog, field, put, when, badge, toast, money} from './dom.js';
import * as api from './api.js';
import {payment} from './words.js';

export const verbs = {
  APPROVED: {word: 'Approve', done: 'Approved', kind: 'good', what: 'Approve'},
  REJECTED: {word: 'Reject', done: 'Rejected', kind: 'bad', what: 'Reject', want: 'Say why you reject it: whoever asks for the payment, or examines it in two years, has only your words.'},
  ESCALATE_SAR: {word: 'Escalate', done: 'Escalated', kind: 'warn', what: 'Escalate as suspicious', want: 'Say what is suspicious: the report begins with your words, and an examiner reads them in two years.'},
};

export const officer = () => localStorage.getItem('railguard.officer') || api.name();

function whoField() {
  const by = h('input', {name: 'by', required: true, maxlength: 512, value: officer(), autocomplete: 'name'});
  return field('Decided by', by, `Stands in the record. The key “${api.name()}” is recorded besides and cannot be changed.`);
}

/** recheck asks today's list about the counterparty again. */
async function recheck(place, record, disposition) {
  const q = record._request ?? record;
  if (!q.cpName && !q.cpWallet || !api.may('reviewer', 'policy', 'auditor')) return;
  put(place, h('p', {class: 'quiet'}, 'Asking today’s list …'));
  try {
    const now = await api.call(`/match${api.query({name: q.cpName, wallet: q.cpWallet, cpType: q.cpType})}`);
    put(place, now.outcome === 'BLOCK' ?
      h('p', {class: 'note bad', role: 'alert'}, `By today’s list (version ${now.listVersion}) this counterparty is listed: the payment would be BLOCKED.${disposition === 'APPROVED' ? ' An approval is recorded all the same, and says so.' : ''}`) :
      h('p', {class: 'quiet'}, `Today’s list (version ${now.listVersion}) says `, badge(now.outcome), now.outcome === 'REVIEW' && now.matches.every((m) => m.cleared) ? ', of a pair that is cleared.' : '.'));
  } catch (error) {
    put(place, h('p', {class: 'note warn'}, `Today’s list could not be asked: ${error.message}`));
  }
}

/** decide asks for confirmation and records; then is called with the record. */
export function decide(record, disposition, {claim, unseen = 0, then} = {}) {
  const verb = verbs[disposition];
  const obligatory = disposition !== 'APPROVED';
  const check = h('div', null);
  const notes = h('textarea', {name: 'notes', rows: 4, maxlength: 8192, required: obligatory, 'data-want': verb.want});
  const body = [
    h('p', {class: 'action'}, `${verb.what} the payment of ${payment(record)}, made by ${record.agentName ?? record.agentId} of ${record.operatorLegalName ?? 'an unknown operator'}.`),
    h('p', {class: 'quiet'}, `${record.txnId}. The decision is final: it becomes a leaf of the log and nobody can change it.`,
      disposition === 'APPROVED' ? ` The ${money((record._request ?? record).amount)} count against the limits of the day of the call.` : ''),
    claim && claim.assignee && claim.assignee !== officer() && h('p', {class: 'note warn'}, `${claim.assignee} is working on this case`, claim.leaseUntil ? [' until ', when(claim.leaseUntil)] : '', '.'),
    unseen > 0 && disposition === 'APPROVED' && h('p', {class: 'note warn'}, `${unseen} ${unseen === 1 ? 'hit is' : 'hits are'} not marked as compared.`),
    record.proposed && h('p', {class: 'note'}, `${record.proposed.by} proposed “${verbs[record.proposed.disposition]?.word ?? record.proposed.disposition}” `, when(record.proposed.at), '. Two officers decide this case.'),
    check, whoField(),
    field(obligatory ? 'Why (obligatory)' : 'Notes', notes, 'What an examiner should read in two years.'),
  ];
  const box = dialog(`${verb.word}?`, body, verb.word, verb.kind, async (form) => {
    const by = form.elements.by.value.trim();
    localStorage.setItem('railguard.officer', by);
    try {
      const answer = await api.call(`/reviews/${record.txnId}`, {method: 'POST', body: {disposition, reviewedBy: by, ...(notes.value.trim() && {notes: notes.value.trim()})}});
      if (answer.proposed && !answer.disposition) toast(`Proposed: another officer has to confirm ${record.txnId}.`, 'warn');
      else if (answer.recheck?.verdict === 'BLOCK') toast(`${verb.done}, but today the payment would be a BLOCK. Do not let it go.`, 'bad');
      else toast(`${verb.done}: ${record.txnId}.`, 'good');
      return () => then?.(answer);
    } catch (error) {
      error.shown = kindly(error, record);
      throw error;
    }
  });
  (obligatory ? notes : box.querySelector('button[type=submit]')).focus();
  recheck(check, record, disposition);
  return box;
}

/** withdraw asks why what another officer proposed is taken back. */
export function withdraw(record, then) {
  const by = h('input', {name: 'by', required: true, maxlength: 512, value: officer(), autocomplete: 'name'});
  const why = h('textarea', {name: 'reason', rows: 3, maxlength: 8192});
  dialog('Withdraw what is proposed?', [h('p', {class: 'action'}, `${record.proposed.by} proposed “${verbs[record.proposed.disposition]?.word ?? record.proposed.disposition}” for ${payment(record)}. It is taken back, and the case waits on.`),
    h('p', {class: 'quiet'}, 'Another officer with another key does this, not the one who proposed.'), field('Withdrawn by', by), field('Why', why)], 'Withdraw', 'warn', async () => {
    localStorage.setItem('railguard.officer', by.value.trim());
    await api.call(`/reviews/${record.txnId}/withdraw`, {method: 'POST', body: {reviewedBy: by.value.trim(), ...(why.value.trim() && {reason: why.value.trim()})}});
    toast('Withdrawn.');
    return then;
  });
}

/** kindly tells a lost race with who and when. */
export function kindly(error, record) {
  const b = error.body ?? {};
  if (error.code === 'already_dispositioned') {
    return h('div', {class: 'note warn lost'}, h('p', null, `${b.reviewedBy ?? 'Somebody'} was faster: the case was decided `, badge(b.disposition ?? '?'), ' ', when(b.reviewedAt), '. That stands; nothing of yours was recorded.'),
      h('p', null, h('a', {href: `/console/case/${record.txnId}`, onclick: (e) => e.target.closest('dialog')?.close()}, 'See the case as it stands')));
  }
  if (error.status === 409) return h('p', {class: 'note warn'}, b.message ?? 'Somebody changed this meanwhile.');
  if (error.status === 503 && b.code === 'outcome_unknown') return h('p', {class: 'note bad'}, 'It is not known whether this was recorded. Look at the case again before you decide.');
  return h('p', {class: 'note bad'}, error.message);
}
