// This page has the match workbench and the playground, whose questions change nothing.

import {h, put, field, select, badge, say, money} from './dom.js';
import * as api from './api.js';
import {pairCleared, pairDenied} from './cleared.js';
import {hitView, ladderView, sentence} from './words.js';
import {ruleName} from './policywords.js';

const read = (form) => Object.fromEntries([...new FormData(form)].map(([k, v]) => [k, v.trim()]).filter(([, v]) => v));
const types = [['', 'not stated'], 'individual', 'business', 'exchange'];

export async function showMatch(place) {
  const from = Object.fromEntries(new URLSearchParams(location.search));
  const input = (name, more) => h('input', {name, value: from[name] ?? '', maxlength: 512, ...more});
  const results = h('div', {'aria-live': 'polite'});
  const form = h('form', {class: 'card', onsubmit: (event) => {
    event.preventDefault();
    const members = {...read(form), snapshotId: from.snapshotId};
    history.replaceState(null, '', `/console/match${api.query(members)}`);
    run(members);
  }}, h('div', {class: 'grid'}, field('Name', input('name')), field('Wallet', input('wallet', {maxlength: 256})), field('Type', select('cpType', types, from.cpType ?? '')),
    field('Country', input('cpCountry')), field('Date of birth', input('cpDateOfBirth', {placeholder: '1962-11-23, 1962-11, 1962'})), field('Address', input('cpAddress'))), h('button', {type: 'submit', class: 'primary'}, 'Ask the list'));

  async function run(members) {
    if (!members.name && !members.wallet) {
      put(results, h('p', {class: 'note warn'}, 'Give a name or a wallet.'));
      return;
    }
    try {
      const got = await api.call(`/match${api.query({...members, explain: 'true'})}`);
      put(results, h('section', {class: 'card'}, h('h2', null, 'Answer ', badge(got.outcome)), h('p', {class: 'quiet'}, `List version ${got.listVersion}. ${got.matches.length === 0 ? 'None of its parties comes near' : got.matches.length === 1 ? 'One of its parties comes near' : `${got.matches.length} of its parties come near`}${got.truncated ? '; there are more' : ''}.`), got.notCompared && h('p', {class: 'note warn'}, `Not compared: ${got.notCompared}. Rule R21 reviews it.`),
        got.matches.map((m) => hitView(m, members.name ?? members.wallet, null, m, m.cleared ? pairCleared() : m.clearing && pairDenied(m), 'As asked', {_request: members}))));
    } catch (error) {
      put(results, h('p', {class: 'note bad'}, error.message));
    }
  }
  put(place, h('h1', null, 'Match workbench'), h('p', {class: 'quiet'}, 'What the list in force says of a name or a wallet, and why. Nothing is recorded.'),
    from.snapshotId && h('p', {class: 'note', id: 'asked-list'}, 'Asked is not the list in force, but ', h('a', {class: 'mono', href: `/console/lists/${encodeURIComponent(from.snapshotId)}`}, from.snapshotId), '. ', h('a', {href: `/console/match${api.query({...from, snapshotId: undefined})}`}, 'Ask the list in force')), form, results);
  if (from.name || from.wallet) run(from);
}

export async function showPlayground(place) {
  const results = h('div', {'aria-live': 'polite'});
  const amount = h('input', {name: 'amount', type: 'number', min: 0, step: 'any', required: true, value: 100});
  const slide = h('input', {type: 'range', min: 0, max: 5, step: 0.05, value: 2, 'aria-label': 'Amount, by powers of ten'});
  const token = h('textarea', {name: 'token', rows: 3, required: true, class: 'code', spellcheck: 'false'});
  const agent = h('input', {name: 'agent', placeholder: 'agt_…'});
  let timer = null;
  let turn = 0;
  const form = h('form', {class: 'card', oninput: () => {
    clearTimeout(timer);
    timer = setTimeout(run, 400);
  }, onsubmit: (event) => {
    event.preventDefault();
    run();
  }}, api.may('operator') && h('div', {class: 'filters'}, field('Agent', agent), h('div', {class: 'field'}, h('button', {type: 'button', onclick: async () => {
    try {
      token.value = (await api.call(`/agents/${agent.value.trim()}`)).token;
      run();
    } catch (error) {
      put(results, h('p', {class: 'note bad'}, error.message));
    }
  }}, 'Take its credential'))),
  field('Credential', token), h('div', {class: 'grid'}, field('Amount in dollars', amount), h('div', {class: 'field'}, h('span', {class: 'quiet'}, 'From 1 to 100,000'), slide),
    field('Chain', select('chain', [['', 'none'], 'ETH', 'BASE', 'SOL', 'ACH', 'WIRE', 'SWIFT'], '')), field('Rail', select('rail', [['', 'none'], 'USDC', 'ACH', 'WIRE', 'SWIFT', 'IBAN'], '')),
    field('Counterparty', h('input', {name: 'cpName', maxlength: 512})), field('Wallet', h('input', {name: 'cpWallet', maxlength: 256})), field('Type', select('cpType', types, '')),
    field('Wallet that pays', h('input', {name: 'payerWallet', maxlength: 256})), field('Country', h('input', {name: 'cpCountry', maxlength: 256})), field('Region', h('input', {name: 'cpRegion', maxlength: 256})), field('Address', h('input', {name: 'cpAddress', maxlength: 512})),
    field('Asked from', h('input', {name: 'originCountry', maxlength: 256})), field('Memo', h('input', {name: 'memo', maxlength: 512})), field('Protocol', h('input', {name: 'protocol', maxlength: 256})), field('Model', h('input', {name: 'underlyingModel', maxlength: 256}))), h('button', {type: 'submit', class: 'primary'}, 'Try'));
  slide.addEventListener('input', () => { amount.value = Math.round(10 ** Number(slide.value)); });

  async function run() {
    const mine = (turn += 1);
    const {agent: _, ...members} = read(form);
    if (!members.token || !members.amount) return;
    try {
      const got = await api.call('/screen/dry-run', {method: 'POST', body: {...members, amount: Number(members.amount)}});
      if (mine !== turn) return;
      put(results, h('section', {class: 'card'}, h('h2', null, `${money(Number(members.amount))} would be `, badge(got.verdict)), h('p', null, got.rule ? sentence({...got, _request: {...members, amount: Number(members.amount)}}, got.ladder) : got.reason),
        h('p', {class: 'quiet'}, `Nothing was recorded or counted. Not asked: ${(got.notSimulated ?? []).map(ruleName).join(', ') || 'nothing'}.`), ladderView(got.ladder)));
      say(`Would be ${got.verdict}`);
    } catch (error) {
      if (mine === turn) put(results, h('p', {class: 'note bad'}, error.message));
    }
  }
  put(place, h('h1', null, 'Playground'), h('p', {class: 'quiet'}, 'Build a payment and watch the rules. A dry run: no record, no debit.'), h('div', {class: 'columns even'}, form, results));
  return () => clearTimeout(timer);
}
