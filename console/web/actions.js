// What can be done about a payment whatever its verdict was: a report, a sanctions case, its agent
// suspended, its pair cleared. Each asks in a dialog and is recorded once.

import {h, field, select, toast} from './dom.js';
import * as api from './api.js';
import {ask} from './ask.js';
import {signs} from './who.js';
import {clearPair} from './cleared.js';

/** reasoned asks for a reason, and for what else stands in body, and sends it. done says what was done; it may be a function of the answer. */
export function reasoned({title, what, body, word, kind, draft, want, send, done, then}) {
  const why = h('textarea', {name: 'reason', rows: 3, required: true, maxlength: 8192, 'data-want': want});
  const who = signs('By');
  ask({title, word, kind, draft, body: [h('p', {class: 'action'}, what), body, who.view, field('Why (obligatory)', why)].filter(Boolean), act: async (_form, post) => {
    const answer = await send(post, why.value.trim(), who.name());
    toast(typeof done === 'function' ? done(answer) : done);
    return then;
  }});
  why.focus();
}

/** openReport opens a suspicious activity report of any record. */
export const openReport = (item, then) => reasoned({title: 'Open a report?', word: 'Open the report', kind: 'warn', draft: `sar:${item.txnId}:open`, then,
  what: `A suspicious activity report about ${item.txnId} is opened as a draft. It is to be filed within 30 days. Nobody outside of the institution sees it.`, want: 'Say what is suspicious: the report begins with your words.',
  send: (post, reason, by) => post('/sar', {txnId: item.txnId, by, reason}), done: 'The report is opened: its narrative is to be written.'});

/** openCase opens a sanctions case of a payment that went ahead. */
export function openCase(item, then) {
  const what = select('against', [['uid', 'A listed party'], ['place', 'A place']], item.place && !item.entry ? 'place' : 'uid');
  const which = h('input', {name: 'which', required: true, maxlength: 256, value: item.entry?.uid ?? item.place ?? ''});
  reasoned({title: 'Report to OFAC?', word: 'Open the case', kind: 'bad', draft: `sanctions:${item.txnId}:open`, then,
    what: `A sanctions case about ${item.txnId} is opened. The money has gone, so nothing of it is blocked property. The report is due in ten business days.`, want: 'Say how you know that it is the listed party or place.',
    body: h('div', null, field('Against', what), field('Number of the listed party, or code of the place', which, item.entry ? `${item.entry.name} has the number ${item.entry.uid}.` : 'The number stands beside the name in a search of the list; a place is an ISO 3166 code.')),
    send: (post, reason, by) => post('/sanctions/cases', {txnId: item.txnId, by, reason, [what.value]: which.value.trim()}), done: (answer) => `The case ${answer.caseId} is opened.`});
}

/** suspend suspends the agent that paid. */
export const suspend = (item, then) => reasoned({title: 'Suspend the agent?', what: `${item.agentName ?? item.agentId} pays nothing until somebody reinstates it.`, word: 'Suspend it', kind: 'bad', draft: `suspend:${item.agentId}`,
  want: 'Say why: whoever answers for the agent asks.', send: (post, reason, actor) => post(`/agents/${item.agentId}/suspend`, {reason, actor}), done: 'The agent is suspended.', then});

/** clear clears the pair of a payment's counterparty and a listed party, with what the payment says of it. */
async function clear(item, then) {
  try {
    const record = await api.call(`/audit/${item.txnId}`);
    const match = (record.matches ?? []).find((m) => String(m.uid) === String(item.entry.uid)) ?? {uid: item.entry.uid, name: item.entry.name, party: 'counterparty'};
    clearPair(record._request.cpName, match, record, then);
  } catch (error) {
    toast(error.message, 'bad');
  }
}

/** wentAhead tells whether the money of a record has gone, or may have. */
export function wentAhead(record) {
  const state = (record.lateSettlement ?? record.payment)?.state;
  if (state === 'settled') return true;
  return !['released', 'expired'].includes(state) && (record.verdict === 'PROCEED' || record.disposition === 'APPROVED');
}

/** actions are the buttons for a payment: {txnId, agentId, agentName, entry, place, cpName, moneyGone, reported}. */
export function actions(item, then) {
  const button = (text, act) => h('button', {type: 'button', class: 'small', onclick: act}, text);
  return [
    item.txnId && !item.reported && button('Open a report …', () => openReport(item, then)),
    item.txnId && item.moneyGone && button('Report to OFAC …', () => openCase(item, then)),
    item.txnId && item.cpName && item.entry && item.clearable && button('Clear with evidence …', () => clear(item, then)),
    item.agentId && button('Suspend the agent …', () => suspend(item, then)),
  ].filter(Boolean);
}

const said = {DRAFT: 'is a draft', READY: 'is ready to be filed', FILED: 'was filed', CLOSED: 'is closed'};

/** reportState says what became of a payment's report: who filed it and when, or what it waits for. */
export const reportState = (r, when) => [`A report ${said[r.state]}`, r.state === 'FILED' && r.filedBy && [` by ${r.filedBy} `, when(r.filedAt), ` as ${r.bsaId}`], ` · opened by ${r.openedBy} `, when(r.openedAt), r.reason && [': ', h('q', null, r.reason)],
  ['DRAFT', 'READY'].includes(r.state) && [' · file by ', when(r.dueAt)], r.waits && ` · ${r.waits.to} waits for a second person, proposed by ${r.waits.proposedBy}`];
