// What can become of a piece of work: the decisions about a review, an owner, and what can be done about
// its payment.

import {h, toast} from './dom.js';
import * as api from './api.js';
import {load} from './case.js';
import {decide, verbs} from './decide.js';
import {actions} from './actions.js';
import {officer} from './who.js';

/** onward are the outcomes that work of any kind has: it gets an owner, and what its payment allows. */
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
    ...actions({...item, reported: item.kind === 'report', moneyGone: item.moneyGone && item.kind !== 'block', clearable: ['review', 'retro'].includes(item.kind)}, then),
  ];
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
