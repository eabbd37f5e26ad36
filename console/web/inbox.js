// The inbox is everything that waits for an officer, in one list by rank. Each row says why it stands
// where it stands. It refreshes by itself and never moves the row that is being read.

import {h, put, say, money, badge, field, select, toast, when, ruleShort} from './dom.js';
import * as api from './api.js';
import {verbs} from './decide.js';
import {officer} from './who.js';
import {decisions, onward} from './outcomes.js';
import {kinds as alertKinds} from './alerts.js';

const every = 5000;
const size = 50;
const most = 500; // The API's largest page: beyond it a row is asked about by itself.
const wanted = ['kind', 'assignee', 'waitsForMe', 'rule', 'partyId', 'q'];
export const kinds = {review: 'Review', block: 'Sanctions case', alert: 'Alert', retro: 'Named by a newer list', report: 'Report', look: 'Second look'};

/** home is where a piece of work is worked on. */
export const home = (item) => ({
  review: `/console/case/${item.txnId}`, block: `/console/sanctions/${item.caseId}`, alert: `/console/alerts#${item.alertId}`, retro: `/console/alerts?kind=retro_hit#${item.alertId}`, report: `/console/reports#${item.txnId}`, look: `/console/look/${item.lookId}`,
})[item.kind];

/** target names whom or what a piece of work hit. */
export const target = (item) => (item.entry ? `${item.entry.name} (${item.entry.list})` : item.place);

/** why says why a row stands where it stands: the parts of its rank, which add up to it. */
const why = (item) => item.rankParts.map((part) => `${part.points > 0 ? '+' : '−'}${Math.abs(part.points).toLocaleString('en-US')} ${part.why}`).join(' · ');

/** clock says when a piece of work is due. */
function clock(item) {
  if (!item.dueAt) return ['open since ', when(item.openedAt)];
  return item.overdue ? [badge('overdue'), ' since ', when(item.dueAt)] : ['due ', when(item.dueAt)];
}

/** lookRow is the row of a second look: nothing in it says which case it is. */
const lookRow = (item) => h('div', {class: 'rowbody'},
  h('div', {class: 'line'}, h('a', {href: home(item)}, h('span', {class: 'to'}, 'A decision to look at again')), badge(kinds.look)),
  h('div', {class: 'line quiet'}, h('span', null, item.text), h('span', null, clock(item))),
  item.assignee && h('div', {class: 'line'}, h('span', null, badge('claimed'), ` by ${item.assignee === officer() ? 'you' : item.assignee}`, item.leaseExpiresAt && [' until ', when(item.leaseExpiresAt)])),
  h('p', {class: 'why quiet'}, h('strong', null, `Rank ${item.rank.toLocaleString('en-US')}: `), why(item)),
  h('div', {class: 'actions left'}, h('a', {href: home(item)}, 'Open it')));

/** workRow fills a row with a piece of work. */
export function workRow(item, {may, reload}) {
  if (item.kind === 'look') return lookRow(item);
  const to = item.cpName ?? 'nobody named';
  return h('div', {class: 'rowbody'},
    h('div', {class: 'line'}, h('a', {href: home(item)}, h('span', {class: 'amount'}, money(item.amount)), h('span', {class: 'to'}, to)),
      h('span', null, badge(kinds[item.kind]), item.moneyGone && [' ', badge('money gone')], item.waitsForMySignature && [' ', badge('waits for my signature')])),
    target(item) && h('div', {class: 'line'}, h('strong', {class: 'hitname'}, item.entry ? `May be ${target(item)}` : `Place ${target(item)}`), item.partyId && h('a', {href: `/console/party/${item.partyId}`}, 'All of this party')),
    h('div', {class: 'line quiet'}, h('span', null, item.alert ? alertKinds[item.alert] ?? item.alert : item.rules.map(ruleShort).join(', '), item.text && ` · ${item.text}`)),
    h('div', {class: 'line quiet'}, h('span', null, item.agentName ?? item.agentId ?? 'no agent', item.operatorLegalName && ` · ${item.operatorLegalName}`), h('span', null, clock(item), item.comments > 0 && ` · ${item.comments} comments`),
      !target(item) && item.partyId && h('a', {href: `/console/party/${item.partyId}`}, 'All to this payee')),
    item.assignee && h('div', {class: 'line'}, h('span', null, badge('claimed'), ` by ${item.assignee === officer() ? 'you' : item.assignee}`, item.leaseExpiresAt && [' until ', when(item.leaseExpiresAt)])),
    item.proposed && h('div', {class: 'line'}, h('span', null, badge('proposed'), ` ${verbs[item.proposed.disposition]?.word ?? item.proposed.to ?? 'a step'} by ${item.proposed.by ?? item.proposed.proposedBy}`), (item.proposed.notes ?? item.proposed.reason) && h('q', null, item.proposed.notes ?? item.proposed.reason)),
    h('p', {class: 'why quiet'}, h('strong', null, `Rank ${item.rank.toLocaleString('en-US')}: `), why(item)),
    may && h('div', {class: 'actions left'}, item.kind === 'review' ? decisions(item, reload) : h('a', {href: home(item)}, 'Open it'),
      h('details', {class: 'menu more'}, h('summary', null, 'More'), h('div', null, onward(item, reload)))));
}

export async function showInbox(place, _params, go) {
  const filter = Object.fromEntries([...new URLSearchParams(location.search)].filter(([k, v]) => wanted.includes(k) && v));
  const may = api.may('reviewer');
  const list = h('ol', {class: 'queue inbox', 'aria-label': 'What waits'});
  const totals = h('p', {class: 'quiet', id: 'totals'});
  const reach = h('p', {class: 'quiet', id: 'reach'});
  const rows = new Map(); // Item id to {item, element}.
  let order = [];
  let cursor = null;
  let counts = null;

  const form = h('form', {class: 'filters', role: 'search', onsubmit: (event) => {
    event.preventDefault();
    go(`/console/inbox${api.query(Object.fromEntries([...new FormData(form)].map(([k, v]) => [k, v.trim()]).filter(([, v]) => v)))}`);
  }}, field('Search', h('input', {name: 'q', type: 'search', value: filter.q ?? '', placeholder: 'name, agent, id'})),
  field('Kind', select('kind', [['', 'all'], ...Object.entries(kinds)], filter.kind ?? '')),
  field('Waits for', select('waitsForMe', [['', 'anybody'], ['true', 'my signature']], filter.waitsForMe ?? '')),
  field('Owner', h('input', {name: 'assignee', value: filter.assignee ?? ''})), field('Rule', h('input', {name: 'rule', value: filter.rule ?? '', placeholder: 'R21'})),
  h('div', {class: 'field'}, h('button', {type: 'submit'}, 'Filter')), Object.keys(filter).length > 0 && h('div', {class: 'field'}, h('a', {href: '/console/inbox'}, 'Clear')));

  const ask = (limit, after, poll) => api.call(`/inbox${api.query({...filter, limit, cursor: after})}`, {poll});
  const reload = () => refresh().catch((error) => toast(error.message, 'bad'));

  /** keep puts an item into its row, in its place by rank if it is new; the row that holds the focus is not made anew. */
  function keep(item) {
    const known = rows.get(item.itemId);
    if (known) {
      const same = JSON.stringify(known.item) === JSON.stringify(item);
      known.item = item;
      if (!same && !known.element.contains(document.activeElement)) put(known.element, workRow(item, {may, reload}));
      return;
    }
    const element = h('li', {class: 'row', id: `item-${item.itemId}`}, workRow(item, {may, reload}));
    const at = order.findIndex((id) => rows.get(id).item.rank < item.rank);
    if (at < 0) list.append(element);
    else list.insertBefore(element, rows.get(order[at]).element);
    order.splice(at < 0 ? order.length : at, 0, item.itemId);
    rows.set(item.itemId, {item, element});
  }

  function drop(id) {
    rows.get(id).element.remove();
    rows.delete(id);
    order = order.filter((other) => other !== id);
  }

  function told(page) {
    counts = page.counts;
    put(totals, order.length === 0 ? 'Nothing is waiting.' : `${order.length}${cursor ? ' and more' : ''} shown · ${Object.entries(kinds).filter(([k]) => counts[k]).map(([k, word]) => `${counts[k]} ${word.toLowerCase()}${counts[k] === 1 ? '' : 's'}`).join(', ')}`,
      counts.waitsForMe > 0 && [' · ', h('a', {href: '/console/inbox?waitsForMe=true'}, `${counts.waitsForMe} wait for your signature`)]);
    put(reach, page.complete ? '' : `This node is still reading its history${page.since ? [', so far back to ', when(page.since)] : ''}: hits of older payments may lack their party.`);
    more.hidden = !cursor;
  }

  /** refresh asks for as many rows as are shown. A row is gone only where the answer proves it: the answer reaches below its rank without it. */
  async function refresh(first) {
    const page = await ask(Math.min(most, Math.max(size, order.length)), undefined, !first);
    const before = order.length;
    const now = new Set(page.data.map((item) => item.itemId));
    const lowest = page.nextCursor ? page.data.at(-1).rank : -Infinity;
    const gone = order.filter((id) => !now.has(id) && rows.get(id).item.rank > lowest);
    const fresh = page.data.filter((item) => !rows.has(item.itemId));
    for (const id of gone) drop(id);
    for (const item of page.data) keep(item);
    if (first || order.length <= page.data.length) cursor = page.nextCursor;
    told(page);
    if (!first && before > 0 && (fresh.length || gone.length)) say([fresh.length && `${fresh.length} new`, gone.length && `${gone.length} done`].filter(Boolean).join(', '));
  }

  const more = h('button', {type: 'button', hidden: true, onclick: async () => {
    try {
      const page = await ask(size, cursor);
      cursor = page.nextCursor;
      for (const item of page.data) keep(item);
      told(page);
    } catch (error) {
      toast(error.message, 'bad');
    }
  }}, 'Show more');

  put(place, h('div', {class: 'titlebar'}, h('h1', null, 'Inbox'), totals), h('details', {class: 'filterbox', open: Object.keys(filter).length > 0}, h('summary', null, 'Filters'), form), reach, list, more);
  await refresh(true);
  const timer = setInterval(() => { if (!document.hidden && !document.querySelector('dialog[open], details.more[open]')) refresh().catch(() => {}); }, every);
  return () => clearInterval(timer);
}
