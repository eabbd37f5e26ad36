// This page is a second look: a case that somebody decided, shown to another officer who does not know
// how. While it is in hand the server refuses everything else, so this page asks for nothing else.

import {h, put, when, badge, facts, field, toast, ruleShort} from './dom.js';
import * as api from './api.js';
import {ask} from './ask.js';
import {parties, places} from './case.js';
import {verbs} from './decide.js';
import {fieldOf, fieldWords, said} from './fields.js';
import {deciding, hitView, ladderView, payment, sentence} from './words.js';
import {officer, signs} from './who.js';

/** answer asks for what the officer would have decided, and why. */
function answer(look, disposition, then) {
  const verb = verbs[disposition];
  const reason = h('textarea', {name: 'reason', rows: 4, required: true, maxlength: 8192, 'data-want': 'Say why: where two officers differ, only their words tell who saw what.'});
  const who = signs('Looked at by');
  ask({
    title: `${verb.word}?`, word: verb.word, kind: verb.kind, draft: `look:${look.lookId}:${disposition}`,
    body: [h('p', {class: 'action'}, `You would have said: ${verb.what.toLowerCase()} the payment of ${payment(look.record)}.`),
      h('p', {class: 'quiet'}, 'It changes nothing about the payment. What was decided is shown afterwards; if the two differ, an alert says so.'), who.view, field('Why (obligatory)', reason)],
    act: async (_form, post) => {
      const told = await post(`/learning/second-looks/${look.lookId}`, {disposition, reviewedBy: who.name(), reason: reason.value.trim()});
      toast(told.agrees ? 'The two decisions agree.' : `The two differ: it was ${verbs[told.firstDisposition].done.toLowerCase()}. An alert says so.`, told.agrees ? 'good' : 'warn');
      return then;
    },
  });
  reason.focus();
}

/** hits are the hits of the record, beside the entries. They are not asked about today: that answer may name a clearing that came with the decision. */
function hits(record) {
  const q = record._request ?? {};
  const found = record.matches ?? [];
  return found.length > 0 && h('section', {class: 'card', id: 'hits-card'}, h('h2', null, found.length === 1 ? 'The hit' : `${found.length} hits`), found.map((match) => {
    const from = fieldOf(match, record);
    const asked = from === 'operator' ? record.operatorLegalName : from === 'user' ? record.userName : said(from, q) ?? match.wallet;
    return hitView(match, asked, (record.parties ?? []).find((p) => p.uid === match.uid), null, null, fieldWords(from, q), record);
  }));
}

/** caseOf is the case as the first officer saw it. */
function caseOf(look) {
  const {record} = look;
  const ladder = look.explained?.ladder ?? null;
  return [h('p', {class: 'sentence'}, sentence(record, ladder)),
    h('div', {class: 'columns'}, h('div', null, hits(record), places(record), deciding(record, ladder)), h('div', null, parties(record),
      h('section', {class: 'card'}, h('h2', null, 'In force at the time'), facts([['Asked', when(record.screenedAt)], ['Rules that fired', (record.triggered ?? []).map((r) => ruleShort(r.rule ?? r)).join(', ')], ['Policy version', record.policyVersion], ['List version', record.listVersion]])))),
    ladder && h('details', {class: 'card'}, h('summary', null, 'All rules, in order'), ladderView(ladder))];
}

/** sides are the two answers, once both are given. */
const sides = (look) => h('section', {class: 'card', id: 'sides'}, h('h2', null, look.answered ? (look.agrees ? 'The two agree' : 'The two differ') : 'Nobody answered in time'),
  [['Decided', look.decided], ['Second look', look.answered]].filter(([, one]) => one).map(([what, one]) => h('p', {class: 'note'}, `${what}: `, badge(one.disposition), ` by ${one.actor ?? 'an officer'} `, when(one.time), one.reason && h('q', null, one.reason))),
  h('p', null, h('a', {href: `/console/case/${look.txnId}`}, 'The case')));

/** blind says what it means to have a look in hand. */
const blind = () => h('p', {class: 'note'}, 'You see the case as it was before it was decided, and until you answer or give it back nothing else: neither other cases nor lists. If you know what was decided, give it back.');

export async function showLook(place, {id}, go) {
  const path = `/learning/second-looks/${id}`;
  const reload = () => draw().catch((error) => toast(error.message, 'bad'));
  const own = async (verb, body, then) => {
    try {
      await api.call(`/inbox/${id}/${verb}`, {method: 'POST', body});
      then();
    } catch (error) {
      if (error.code === 'second_look_in_hand') go(`/console/look/${error.body.lookId}`);
      else toast(error.message, 'bad');
    }
  };
  async function draw() {
    const look = await api.call(path);
    const held = look.state === 'open' && look.record;
    put(place, h('div', {class: 'titlebar'}, h('h1', null, look.record ? payment(look.record) : 'Second look'), badge('second look'), look.state !== 'open' && badge(look.state)),
      h('p', {class: 'meta'}, look.state === 'open' && h('span', {id: 'clock'}, 'due ', when(look.dueAt)), look.assignee && h('span', null, `in the hands of ${look.assignee === officer() ? 'you' : look.assignee} until `, when(look.leaseExpiresAt))),
      held && blind(),
      held && h('div', {class: 'actions decide'}, Object.entries(verbs).map(([key, verb]) => h('button', {type: 'button', class: verb.kind, onclick: () => answer(look, key, reload)}, verb.word)),
        h('button', {type: 'button', id: 'giveback', onclick: () => own('release', {by: officer()}, () => go('/console/inbox'))}, 'Give it back')),
      look.state === 'open' && !look.record && h('section', {class: 'card', id: 'take'}, h('h2', null, 'A decision to look at again'),
        h('p', null, 'Another officer decided this case. Whoever takes it is shown the case without what was decided, and says what he would have decided, and why.'),
        h('p', {class: 'quiet'}, 'While you have it in hand, for an hour at most, you are shown nothing else.'),
        look.assignee ? h('p', {class: 'note'}, 'It is in somebody’s hands now.') : look.mayTake ? h('button', {type: 'button', class: 'primary', id: 'takeit', onclick: () => own('claim', {assignee: officer()}, reload)}, 'Take it') : h('p', {class: 'note warn'}, `You may not: ${look.why}.`)),
      look.state !== 'open' && sides(look), look.record && caseOf(look));
  }
  await draw();
}
