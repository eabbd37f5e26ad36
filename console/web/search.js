// Search finds what an officer has a piece of, and says how like each answer is.

import {h, put, money, when, badge, field, table} from './dom.js';
import * as api from './api.js';
import {partyLink} from './names.js';

/** finder is the box in the head of every page by which a search begins. */
export function finder(go) {
  const box = h('input', {id: 'find', type: 'search', autocomplete: 'off', required: true, minlength: 2, maxlength: 8192, placeholder: 'Find …', 'aria-label': 'Find a name, an agent, a transaction, a wallet or an identifier', 'aria-keyshortcuts': '/', title: 'Key /'});
  return h('form', {class: 'find', role: 'search', 'aria-label': 'Find from every page', onsubmit: (event) => {
    event.preventDefault();
    if (box.value.trim().length > 1) go(`/console/search${api.query({q: box.value.trim()})}`);
  }}, box);
}

const like = (x) => `${(x.likeness * 100).toFixed(0)} %: ${x.why}`;

export async function showSearch(place, _params, go) {
  const q = new URLSearchParams(location.search).get('q') ?? '';
  const box = h('input', {name: 'q', type: 'search', value: q, required: true, minlength: 2, placeholder: 'part of a name, an agent, a transaction, a wallet, an identifier'});
  const answer = h('div', {'aria-live': 'polite'});
  const form = h('form', {class: 'filters', role: 'search', onsubmit: (event) => {
    event.preventDefault();
    if (box.value.trim().length > 1) go(`/console/search${api.query({q: box.value.trim()})}`);
  }}, field('Find', box), h('div', {class: 'field'}, h('button', {type: 'submit'}, 'Search')));
  put(place, h('h1', null, 'Search'), h('p', {class: 'quiet'}, 'In any order, by a part, in another spelling.'), form, answer);
  if (q.trim().length < 2) {
    box.focus();
    return;
  }
  const found = await api.call('/search', {method: 'POST', body: {q}});
  const card = (title, rows, heads, cells) => rows.length > 0 && h('section', {class: 'card'}, h('h2', null, title), table(title, heads, rows.map(cells)));
  const any = ['parties', 'transactions', 'agents', 'wallets', 'identifiers'].some((kind) => found[kind].length > 0);
  put(answer,
    card('Transactions', found.transactions, ['Transaction', 'Amount', 'To', 'Verdict', 'When'], (x) => [h('a', {href: `/console/case/${x.txnId}`}, x.txnId), money(x.amount), x.cpName ?? '–', badge(x.verdict), when(x.screenedAt)]),
    card('Paid', found.parties, ['Party', 'Hit', 'Went ahead', 'Waits', 'Blocked', 'Newest', 'Likeness'], (x) => [h('a', {href: `/console/party/${x.partyId}`}, x.name ?? 'not named'), x.entry?.name ?? x.place ?? '–', money(x.sums.wentAhead.amountUSDC), money(x.sums.waits.amountUSDC), money(x.sums.blocked.amountUSDC), when(x.newestAt), like(x)]),
    card('Agents', found.agents, ['Agent', 'Operator', 'Likeness'], (x) => [partyLink(x.agentId, x.agentName), x.operatorLegalName, like(x)]),
    card('Wallets', found.wallets, ['Wallet', 'Paid by it', 'Likeness'], (x) => [h('a', {href: `/console/party${api.query({state: 'all', q: x.wallet})}`, class: 'mono'}, x.wallet), x.names.join(' · '), like(x)]),
    card('Identifiers', found.identifiers, ['Identifier', 'Of', 'Likeness'], (x) => [h('a', {href: `/console/party${api.query({state: 'all', q: x.identifier})}`, class: 'mono'}, x.identifier), x.names.join(' · '), like(x)]),
    !any && h('p', null, found.complete ? 'Nobody of that name, and nobody like it, was paid within retention; no agent, transaction, wallet or identifier has it either.' : 'Nothing among what this node has read.'),
    !found.complete && h('p', {class: 'note'}, 'This node has read back to ', when(found.since), '. What is older is not among the answers: ask again.'));
}
