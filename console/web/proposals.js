// Proposals: acts that wait for a second person. What is proposed is shown in full before
// anybody signs it; who proposed it does not confirm it.

import {h, put, badge, facts, field, say, toast, when} from './dom.js';
import * as api from './api.js';
import {ask} from './ask.js';
import {eventWords} from './events.js';
import {words} from './policy.js';
import {actWords} from './actwords.js';
import {changes} from './policywords.js';

/** content shows what the act would do, as its leaf will hold it. */
async function content(p) {
  const said = p.content ?? {};
  if (said.policy) {
    const now = await api.call('/policy');
    return [h('p', {class: 'action'}, `It replaces version ${now.policyVersion} of the policy.`), words(changes(now.policy ?? {}, said.policy))];
  }
  if (said.snapshotId) {
    const left = said.left ?? {};
    const gone = (left.parties ?? 0) + (left.names ?? 0) + (left.wallets ?? 0);
    return [h('p', {class: 'action'}, 'The list ', h('a', {href: `/console/lists/${said.snapshotId}`}, said.snapshotId), said.rollback ? ', an older one, comes back.' : ' comes in force.'),
      (said.problems ?? []).length > 0 && h('div', {class: 'note bad'}, h('p', null, 'These checks failed:'), h('ul', null, said.problems.map((text) => h('li', null, text)))),
      gone > 0 ? h('div', {class: 'note warn leaving'}, h('p', null, `From the list leave ${left.parties} parties, ${left.names} names and ${left.wallets} wallets: they are not blocked any more.`),
        h('ul', null, (left.first ?? []).map((text) => h('li', null, text)))) : h('p', {class: 'quiet'}, 'Nobody leaves the list.')];
  }
  if (p.act === 'person.ended') return [h('p', {class: 'action'}, `${said.person ?? `The key ${said.ofKey}`} acts here no more: all keys, sessions and passkeys end, and what was claimed or proposed is free again.`), said.reason && h('p', null, `Why: ${said.reason}`)];
  return h('pre', {tabindex: '0'}, JSON.stringify(said, null, 2));
}

const what = (p) => (p.twoPersons ?? []).map(actWords).join('; ');

async function sign(p, verb, then) {
  const why = h('textarea', {name: 'reason', rows: 3, maxlength: 8192, required: verb === 'withdraw'});
  const confirms = verb === 'confirm';
  ask({title: confirms ? 'Confirm this?' : 'Withdraw this?', word: confirms ? 'Confirm' : 'Withdraw', kind: 'warn', draft: `proposal:${p.proposalId}:${verb}`, body: [h('p', null, `${p.proposedBy} proposed to ${what(p)}.`), await content(p),
    confirms && h('p', {class: 'quiet mono'}, `SHA-256 ${p.proposalHash}`), field(confirms ? 'Why' : 'Why (obligatory)', why)], act: async (_form, post) => {
    await post(`/proposals/${p.proposalId}/${verb}`, why.value.trim() ? {reason: why.value.trim()} : {});
    toast(confirms ? 'Confirmed: it is done.' : 'Withdrawn.');
    return then;
  }});
}

async function card(p, redraw) {
  const asking = (verb) => () => sign(p, verb, redraw).catch((e) => toast(e.message, 'bad'));
  return h('section', {class: 'card proposal'}, h('h2', null, p.act ? eventWords(p.act) : 'Decision of a review', ' ', badge('proposed')),
    facts([['To', what(p)], ['Proposed by', p.proposedBy], ['With the key', p.proposedByKey], ['At', when(p.proposedAt)], ['Until', when(p.expiresAt)],
      p.txnId && ['Case', h('a', {href: `/console/case/${p.txnId}`}, p.txnId)], p.disposition && ['Decision', badge(p.disposition)], p.to && ['Report', `${p.from} to ${p.to}`]].filter(Boolean)),
    p.disposition ? null : await content(p),
    h('div', {class: 'actions left'}, p.mayConfirm ? h('button', {type: 'button', class: 'warn confirm', onclick: asking('confirm')}, 'Confirm …') : h('span', {class: 'quiet'}, `You do not confirm it: ${p.why}.`),
      h('button', {type: 'button', class: 'withdraw', onclick: asking('withdraw')}, 'Withdraw …')));
}

export async function showProposals(place) {
  const list = h('div', {id: 'proposals'});
  async function redraw() {
    const page = await api.call('/proposals?limit=100');
    put(list, page.data.length === 0 ? h('p', {class: 'quiet'}, 'Nothing waits for a second person.') : await Promise.all(page.data.map((p) => card(p, redraw))));
    say('Proposals brought up to date');
  }
  put(place, h('div', {class: 'titlebar'}, h('h1', null, 'Proposals')),
    h('p', {class: 'quiet'}, 'Acts that one person must not do alone wait here for a second, for a day. Which acts these are says twoPersons in the policy; for a bank: "bank".'), list);
  await redraw();
}
