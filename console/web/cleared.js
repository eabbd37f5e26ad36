// Cleared pairs: a name that resembles a listed one and was found to be somebody else. A
// cleared pair silences rule R21 for that name and that entry, in payments that say the same of that
// person as the clearing rests on, and has no other effect.

import {h, put, badge, field, say, select, table, toast, when} from './dom.js';
import * as api from './api.js';
import {ask} from './ask.js';
import {signs} from './who.js';

const pageSize = 200;
const voids = {expired: 'It ended.', entry_changed: 'The listed entry changed since: look again and clear it anew.', entry_removed: 'The entry is listed no more.'};

/** groundWords says what a clearing rests on. */
export function groundWords(grounds, nameOnly) {
  if (nameOnly) return 'the name alone';
  if (!grounds) return 'not to be seen with this key';
  const numbers = (grounds.identifiers ?? []).map((i) => `${i.type} ${i.value}${i.country ? ` (${i.country})` : ''}`);
  return [['born', grounds.dateOfBirth], ['country', grounds.country], ['address', grounds.address], ['', numbers.join(', ')], ['payments of operator', grounds.operatorId], ['payments of agent', grounds.agentId]]
    .filter(([, said]) => said).map(([what, said]) => `${what} ${said}`.trim()).join(' · ');
}

/** toldOf is what a clearing from a case rests on: what the payment says of its counterparty, or else whose payment it is. */
function toldOf(record, match) {
  const q = match.party === 'counterparty' ? record._request ?? {} : {};
  const told = {dateOfBirth: q.cpDateOfBirth, country: q.cpCountry, address: q.cpAddress, identifiers: q.cpIdentifiers};
  return Object.values(told).some((said) => said?.length) ? told : {operatorId: record.operatorId};
}

/** mayClear tells whether a hit is one that a clearing silences: of a name, short of a BLOCK. */
export const mayClear = (match, asked) => match.outcome !== 'BLOCK' && Boolean(asked) && !match.wallet && !match.identifier && match.party !== 'memo';

/** clearPair asks why a name in a case is not a listed party, and records it; then is called when it is. */
export function clearPair(name, match, record, then) {
  const alone = h('input', {type: 'checkbox', name: 'nameOnly'});
  const reason = h('textarea', {name: 'reason', rows: 3, required: true, maxlength: 8192, 'data-want': 'Say how you know that they are two: who clears a pair answers for it.'});
  const until = h('input', {name: 'until', type: 'date', required: true, value: new Date(Date.now() + 365 * 86400e3).toISOString().slice(0, 10)});
  const who = signs('Cleared by');
  ask({title: 'Clear this pair?', word: 'Clear the pair', kind: 'warn', draft: `clear:${record.txnId}:${match.uid}`, body: [h('p', {class: 'action'}, `“${name}” is not ${match.name} (entry ${match.uid}). Rule R21 stays quiet for this name and this entry alone; never a BLOCK.`),
    h('p', {id: 'grounds'}, `It rests on: ${groundWords(toldOf(record, match))}. A payment that says something else, or nothing of it, or what the listed party has too, asks for a person again.`),
    h('label', null, alone, ' It rests on the name alone: quiet in every payment that says nothing of the listed party'),
    who.view, field('Why (obligatory)', reason), field('Until', until, 'The pair ends then, and at once when the entry changes.')], act: async (_form, post) => {
    await post('/cleared', {name, uid: match.uid, reason: reason.value.trim(), expiresAt: until.value, clearedBy: who.name(), txnId: record.txnId, nameOnly: alone.checked || undefined});
    toast('The pair is cleared.');
    then?.();
  }});
  reason.focus();
}

/** pairDenied tells that a pair is cleared, and not for what is asked. */
export const pairDenied = (match) => h('p', {class: 'note warn'}, `Cleared pair ${match.clearedId}: ${match.clearing}. `, h('a', {href: '/console/cleared'}, 'All cleared pairs'));

/** pairCleared tells that a hit is of a pair that is cleared today. */
export const pairCleared = () => h('p', {class: 'note good'}, 'This pair is cleared: rule R21 stays quiet for this name and this entry. ', h('a', {href: '/console/cleared'}, 'All cleared pairs'));

/** takeBack asks why a clearing no longer holds, and records that it ends. */
export function takeBack(pair, then) {
  const why = h('textarea', {name: 'reason', rows: 3, required: true, maxlength: 8192});
  const who = signs('Taken back by');
  ask({title: 'Take it back?', word: 'Take it back', kind: 'warn', draft: `cleared:${pair.clearedId}`, body: [h('p', {class: 'action'}, `“${pair.name}” and ${pair.entryName ?? `entry ${pair.uid}`} are no cleared pair any more. From now on the name asks for a person again.`), who.view, field('Why (obligatory)', why)], act: async (_form, post) => {
    await post(`/cleared/${pair.clearedId}`, {reason: why.value.trim(), actor: who.name()}, 'DELETE');
    toast('Taken back.');
    then();
  }});
  why.focus();
}

export async function showCleared(place, _params, go) {
  const filter = Object.fromEntries(new URLSearchParams(location.search));
  const list = h('div', {id: 'pairs'});
  const totals = h('p', {class: 'quiet', id: 'totals'});
  const may = api.may('reviewer');
  const form = h('form', {class: 'filters', role: 'search', onsubmit: (event) => {
    event.preventDefault();
    go(`/console/cleared${api.query(Object.fromEntries([...new FormData(form)].map(([k, v]) => [k, v.trim()])))}`);
  }}, field('Search', h('input', {name: 'q', type: 'search', value: filter.q ?? '', placeholder: 'name or entry'})),
  field('State', select('state', [['', 'all'], ['force', 'in force'], ['void', 'void']], filter.state ?? '')), h('div', {class: 'field'}, h('button', {type: 'submit'}, 'Filter')));
  let data = [];
  let next = null;

  const wanted = (p) => (!filter.state || p.inForce === (filter.state === 'force')) &&
    (!filter.q || [p.name, p.entryName, p.uid, p.reason, p.clearedBy].some((text) => text?.toLowerCase().includes(filter.q.toLowerCase())));

  function row(p) {
    const name = p.entryName ? h('a', {href: `/console/match${api.query({name: p.entryName})}`}, p.entryName) : h('span', {class: 'quiet'}, 'not on the list in force');
    return [h('a', {href: `/console/match${api.query({name: p.name})}`}, p.name), [name, h('span', {class: 'event'}, `entry ${p.uid}`)],
      p.inForce ? badge('in force') : [badge('void'), ' ', h('span', {class: 'quiet'}, voids[p.void] ?? p.void)], p.expiresAt ? when(p.expiresAt) : 'no end', [p.clearedBy ?? 'not said', h('span', {class: 'quiet'}, ' ', when(p.clearedAt))], groundWords(p.grounds, p.nameOnly), p.reason,
      may ? h('button', {type: 'button', class: 'small takeback', onclick: () => takeBack(p, redraw)}, 'Take back …') : '–'];
  }

  function draw() {
    const shown = data.filter(wanted);
    const gone = shown.filter((p) => !p.inForce).length;
    put(totals, `${shown.length}${next ? ' and more' : ''} ${shown.length === 1 ? 'pair' : 'pairs'}${gone ? `, ${gone} void` : ''}`);
    put(list, shown.length === 0 ? h('p', {class: 'quiet'}, data.length === 0 ? 'No pair is cleared. A hit of rule R21 can be cleared from its case.' : 'None of that kind.') :
      table('Cleared pairs', ['Name, as it is compared', 'Listed party', 'State', 'Until', 'Cleared by', 'Rests on', 'Why', ''], shown.map(row)),
    next && h('button', {type: 'button', onclick: () => more(next).catch((e) => toast(e.message, 'bad'))}, 'Show more'));
  }

  async function more(cursor) {
    const page = await api.call(`/cleared${api.query({limit: pageSize, order: 'desc', cursor})}`);
    data.push(...page.data);
    next = page.nextCursor;
    draw();
  }

  async function redraw() {
    data = [];
    await more();
    say('Cleared pairs brought up to date');
  }

  put(place, h('div', {class: 'titlebar'}, h('h1', null, 'Cleared pairs'), totals), h('p', {class: 'quiet'}, 'A name that resembles a listed one and was found to be somebody else. Rule R21 stays quiet for the pair until it ends or the listed entry changes, in payments that say the same as the clearing rests on and nothing that the listed party has too; a BLOCK is never cleared.'),
    form, h('section', {class: 'card'}, list));
  await more();
}
