// What can become of a piece of work: the decisions about a review, and what leads on from any record.

import {h, field, toast, money} from './dom.js';
import * as api from './api.js';
import {load} from './case.js';
import {decide, verbs} from './decide.js';
import {ask} from './ask.js';
import {signs} from './who.js';

/** reasoned asks for a reason and sends it. */
function reasoned({title, what, word, kind, draft, want, send, done, then}) {
  const why = h('textarea', {name: 'reason', rows: 3, required: true, maxlength: 8192, 'data-want': want});
  const who = signs('By');
  ask({title, word, kind, draft, body: [h('p', {class: 'action'}, what), who.view, field('Why (obligatory)', why)], act: async (_form, post) => {
    await send(post, why.value.trim(), who.name());
    toast(done);
    return then;
  }});
  why.focus();
}

/** onward are the outcomes that any record has: a report to OFAC, a suspicious activity report, the agent suspended. */
export function onward(item, then) {
  const button = (text, act) => h('button', {type: 'button', class: 'small', onclick: act}, text);
  const to = `${money(item.amount)} to ${item.cpName ?? 'a counterparty that is not named'}`;
  return [
    item.txnId && item.kind !== 'report' && button('Suspicious activity report …', () => reasoned({title: 'Open a suspicious activity report?', what: `A report about the payment of ${to}. The agent and its operator must not learn of it.`, word: 'Open the report', kind: 'warn', draft: `sar:${item.txnId}`,
      want: 'Say what is suspicious: the report begins with your words.', send: (post, reason) => post('/sar', {txnId: item.txnId, reason}), done: 'The report is open.', then})),
    item.txnId && item.kind !== 'block' && (item.entry || item.place) && button('Sanctions case …', () => reasoned({title: 'Open a sanctions case?', what: `A case with the report to OFAC about the payment of ${to}${item.entry ? `, as one to ${item.entry.name}` : ''}.`, word: 'Open the case', kind: 'warn', draft: `sanctions:${item.txnId}`,
      want: 'Say how you know that it is the listed party.', send: (post, reason) => post('/sanctions/cases', {txnId: item.txnId, ...(item.entry && {entryId: item.entry.uid}), reason}), done: 'The case is open.', then})),
    item.agentId && button('Suspend the agent …', () => reasoned({title: 'Suspend the agent?', what: `${item.agentName ?? item.agentId} pays nothing until somebody reinstates it.`, word: 'Suspend it', kind: 'bad', draft: `suspend:${item.agentId}`,
      want: 'Say why: whoever answers for the agent asks.', send: (post, reason, actor) => post(`/agents/${item.agentId}/suspend`, {reason, actor}), done: 'The agent is suspended.', then})),
  ].filter(Boolean);
}

/** decisions are the three answers to a review. */
export function decisions(item, then) {
  return Object.entries(verbs).map(([key, verb]) => h('button', {type: 'button', class: verb.kind, onclick: async (event) => {
    const button = event.currentTarget;
    button.disabled = true;
    try {
      const {record, claim, names} = await load(item.txnId);
      if (record.disposition) toast('This case is decided already.', 'warn');
      else decide(record, key, {claim, names, unseen: (record.matches ?? []).length, then});
    } catch (error) {
      toast(error.message, 'bad');
    } finally {
      button.disabled = false;
    }
  }}, verb.word));
}
