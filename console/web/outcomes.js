// What can become of a piece of work: the decisions about a review, an owner, its agent suspended.

import {h, field, toast} from './dom.js';
import * as api from './api.js';
import {load} from './case.js';
import {decide, verbs} from './decide.js';
import {ask} from './ask.js';
import {officer, signs} from './who.js';

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

/** onward are the outcomes that work of any kind has: it gets an owner, and its agent is suspended. */
export function onward(item, then) {
  const button = (text, act) => h('button', {type: 'button', class: 'small', onclick: act}, text);
  const own = async (verb, body) => {
    try {
      await api.call(`/inbox/${item.itemId}/${verb}`, {method: 'POST', body});
      then();
    } catch (error) {
      toast(error.code === 'claimed_by_other' ? `${error.body.assignee ?? 'Somebody'} has claimed this.` : error.message, 'bad');
    }
  };
  const mine = item.assignee === officer();
  return [
    item.assignee ? button(mine ? 'Give back' : 'Free it', () => own('release', mine ? {by: officer()} : {by: officer(), force: true})) : button('Claim for ten minutes', () => own('claim', {assignee: officer()})),
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
