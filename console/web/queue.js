// This page is the queue, in which an officer skims the cases, decides one and goes on to the
// next. It refreshes by itself and never moves the case that is being read.

import {h, put, say, money, badge, age, ruleShort, ruleWords, field, select, toast, dialog, when, due} from './dom.js';
import * as api from './api.js';
import {keys, help} from './keys.js';
import {load, evidenceOf, listLine} from './case.js';
import {sentence} from './words.js';
import {decide, verbs} from './decide.js';
import {ask as askFor} from './ask.js';
import {officer, signs} from './who.js';
import {next as nextCase, within} from './next.js';

const every = 5000;
const bulkMax = 100;
const pageSize = 50;
const pollMax = 500; // Cases that are read anew; one call takes no more.
const lookupsMax = 10; // Cases of a poll of which it is asked who decided them.
const wanted = ['state', 'rule', 'slaBreached', 'minAmount', 'maxAmount', 'operator', 'agentId', 'payeeOf', 'assignee', 'q', 'sort'];

/** others are the rules that a case triggered beside the gravest. */
const others = (item) => item.rules.filter((rule) => rule !== item.gravestRule).map(ruleShort).join(', ');

export async function showQueue(place, _params, go) {
  const filter = Object.fromEntries([...new URLSearchParams(location.search)].filter(([k, v]) => wanted.includes(k) && v));
  within(filter);
  filter.sort ??= 'priority';
  const officerMay = api.may('reviewer');
  const list = h('ul', {class: 'queue', 'aria-label': 'Cases'});
  const preview = h('aside', {class: 'preview', 'aria-label': 'The selected case'});
  const totals = h('p', {class: 'quiet', id: 'totals'});
  const rows = new Map();
  const picked = new Set();
  let items = [];
  let cursor = null;
  let at = null;
  let seen = 0;
  let shown = pageSize; // How many cases were asked for.
  let marks = {id: null, boxes: []}; // Of the preview: which hits are compared.

  const rules = Object.keys((await api.maybe('/policy'))?.modes ?? {}); // None for a key of one operator: it types the rule.
  const form = filterForm(filter, rules, (members) => go(`/console/queue${api.query(members)}`));
  const bulk = h('div', {class: 'actions left bulk', hidden: true});

  function row(item) {
    const known = rows.get(item.txnId);
    const element = known ?? h('li', {class: 'row', id: item.txnId});
    const box = known?.querySelector('input') ?? h('input', {type: 'checkbox', 'aria-label': `Select ${item.txnId}`, onchange: (e) => {
      if (e.target.checked) picked.add(item.txnId);
      else picked.delete(item.txnId);
      showBulk();
    }});
    const link = known?.querySelector('a') ?? h('a', {href: `/console/case/${item.txnId}`, onfocus: () => select1(item.txnId)});
    put(link, h('span', {class: 'amount'}, money(item.amount)), h('span', {class: 'to'}, item.cpName ?? item.cpWallet ?? 'no counterparty'));
    put(element, officerMay && box, h('div', {class: 'rowbody', onclick: (e) => { if (!e.target.closest('a')) select1(item.txnId, true); }},
      h('div', {class: 'line'}, link, h('span', {class: 'rule', title: item.reason}, `${ruleShort(item.gravestRule)} ${ruleWords(item.gravestRule)}`, item.rules.length > 1 && `, also ${others(item)}`)),
      h('div', {class: 'line quiet'}, h('span', null, `${item.agentName ?? item.agentId} · ${item.operatorLegalName ?? ''}`),
        h('span', null, age(item.ageSeconds), ' old', item.slaDueAt && [' · ', due(item)], item.samePayeeOpen > 1 && [' · ', h('a', {href: `/console/queue${api.query({payeeOf: item.txnId})}`}, `${item.samePayeeOpen} to this payee`)],
          item.similarOpen > 1 && [' · ', h('a', {href: `/console/queue${api.query({agentId: item.agentId, rule: item.rule})}`}, `${item.similarOpen} of this agent with ${ruleShort(item.rule)}`)], item.comments > 0 && ` · ${item.comments} comments`),
        item.ofacStale && h('span', {class: 'over'}, `List version ${item.listVersion} was too old when this was judged`),
        item.proposed && h('span', null, badge('proposed'), ` ${verbs[item.proposed.disposition]?.word ?? item.proposed.disposition} by ${item.proposed.by}`),
        item.state === 'claimed' && h('span', null, badge('claimed'), ` ${item.assignee === officer() ? 'you' : item.assignee}`),
        ['dispositioned', 'escalated'].includes(item.state) && badge(item.state))));
    rows.set(item.txnId, element);
    return element;
  }

  function select1(id, focus) {
    if (!id || !rows.has(id)) return;
    for (const [other, element] of rows) element.classList.toggle('selected', other === id);
    if (focus) rows.get(id).querySelector('a').focus({preventScroll: false});
    if (at === id) return;
    at = id;
    showPreview(id);
  }

  async function showPreview(id) {
    const mine = (seen += 1);
    preview.setAttribute('aria-busy', 'true');
    try {
      const {record, ladder, claim, names} = await load(id);
      const own = [];
      const [found, line] = await Promise.all([evidenceOf(record, ladder, names, own), listLine(record)]);
      if (mine !== seen) return;
      marks = {id, boxes: own};
      const act = (disposition) => decide(record, disposition, {claim, names, unseen: unseenOf(record), then: (answer) => settled(id, answer)});
      put(preview, h('h2', null, record._request ? `${money(record._request.amount)} to ${record._request.cpName ?? record._request.cpWallet ?? '–'}` : id),
        h('p', {class: 'sentence'}, sentence(record, ladder)), h('p', {class: 'meta'}, line, claim?.slaDueAt && due(claim)),
        record.disposition && h('p', {class: 'note'}, 'Decided ', badge(record.disposition), ` by ${record.reviewedBy} `, when(record.reviewedAt)),
        officerMay && !record.disposition && h('div', {class: 'actions decide'}, Object.entries(verbs).map(([key, verb]) => h('button', {type: 'button', class: verb.kind, onclick: () => act(key)}, verb.word, h('kbd', null, key === 'ESCALATE_SAR' ? 'S' : verb.word[0])))),
        found, h('p', null, h('a', {href: `/console/case/${id}`}, 'The whole case')));
    } catch (error) {
      if (mine === seen) put(preview, h('p', {class: 'note bad'}, error.message));
    } finally {
      preview.removeAttribute('aria-busy');
    }
  }

  /** unseenOf is how many hits of a case are not marked as compared, in the preview or at all. */
  const unseenOf = (record) => (marks.id === record.txnId ? marks.boxes.filter((m) => !m.checked).length : (record.matches ?? []).length);

  /** settled goes on from a case; one that only waits for a second officer stays. */
  function settled(id, answer) {
    if (answer?.proposed && !answer.disposition) refresh(false).catch(() => {});
    else gone(id);
  }

  /** gone takes a decided case out and goes on to the one that stood behind it. */
  function gone(id) {
    const index = items.findIndex((item) => item.txnId === id);
    items = items.filter((item) => item.txnId !== id);
    rows.get(id)?.remove();
    rows.delete(id);
    picked.delete(id);
    const next = items[Math.min(index, items.length - 1)];
    at = null;
    if (next) select1(next.txnId, true);
    else put(preview, h('p', {class: 'quiet'}, 'Nothing is selected.'));
    showTotals();
  }

  function showTotals() {
    put(totals, items.length === 0 ? 'Nothing is waiting.' : `${items.length}${cursor ? ' and more' : ''} ${items.length === 1 ? 'case' : 'cases'}`);
  }

  const ask = (poll, after, limit = pageSize) => api.call(`/queue${api.query({...filter, limit, cursor: after})}`, {poll});

  /** leftOf tells of cases that are not among those read any more which of them somebody decided. */
  async function leftOf(gone1) {
    const records = await Promise.all(gone1.slice(0, lookupsMax).map((item) => api.maybe(`/audit/${item.txnId}`, {poll: true}).catch(() => null)));
    return new Set(records.filter((r) => r?.disposition).map((r) => r.txnId));
  }

  async function refresh(first) {
    const page = await ask(!first, undefined, Math.min(pollMax, shown));
    if (shown <= pollMax) cursor = page.nextCursor;
    const there = new Map(page.data.map((item) => [item.txnId, item]));
    const before = new Set(items.map((item) => item.txnId));
    const fresh = page.data.filter((item) => !before.has(item.txnId));
    const left = items.slice(0, pollMax).filter((item) => !there.has(item.txnId));
    const decided = first ? new Set() : await leftOf(left);
    // New cases come below the selected one. A case that was decided stays in its place until it is no longer selected; one that only
    // stands further behind by now, because others came before it, is not lost.
    const stays = (item) => item.txnId === at || (page.nextCursor && !decided.has(item.txnId));
    items = first ? page.data : [...items.map((item) => there.get(item.txnId) ?? (!left.includes(item) || stays(item) ? item : null)).filter(Boolean), ...fresh];
    for (const item of items) {
      const element = row(item);
      element.classList.toggle('selected', item.txnId === at);
      if (!element.isConnected) list.append(element);
    }
    for (const [id, element] of rows) {
      if (!items.some((item) => item.txnId === id)) {
        element.remove();
        rows.delete(id);
      }
    }
    showTotals();
    if (!first && (fresh.length || decided.size)) say([fresh.length && `${fresh.length} new ${fresh.length === 1 ? 'case' : 'cases'}`, decided.size && `${decided.size} decided elsewhere`].filter(Boolean).join(', '));
    if (!at && items.length && matchMedia('(min-width: 1000px)').matches) select1(items[0].txnId);
    if (items.length === 0 && !at) put(preview, h('p', {class: 'quiet'}, 'Nothing is selected.'));
    more.hidden = !cursor;
  }

  const more = h('button', {type: 'button', onclick: async () => {
    const page = await ask(false, cursor);
    shown += pageSize;
    cursor = page.nextCursor;
    for (const item of page.data) if (!rows.has(item.txnId)) {
      items.push(item);
      list.append(row(item));
    }
    more.hidden = !cursor;
    showTotals();
  }}, 'Show more');

  function step(by) {
    const index = items.findIndex((item) => item.txnId === at);
    const next = items[Math.max(0, Math.min(items.length - 1, index + by))];
    if (next) select1(next.txnId, true);
  }

  function next() {
    if (officerMay) nextCase(go).catch((error) => toast(error.message, 'bad'));
  }

  async function decideSelected(disposition) {
    if (!at || !officerMay) return;
    const {record, claim, names} = await load(at);
    if (record.disposition) toast('This case is decided already.', 'warn');
    else decide(record, disposition, {claim, names, unseen: unseenOf(record), then: (answer) => settled(record.txnId, answer)});
  }

  function showBulk() {
    bulk.hidden = picked.size === 0;
    put(bulk, h('span', null, `${picked.size} selected`), Object.entries(verbs).map(([key, verb]) => h('button', {type: 'button', class: verb.kind, onclick: () => bulkDecide(key)}, `${verb.word} all …`)));
  }

  function bulkDecide(disposition) {
    const chosen = items.filter((item) => picked.has(item.txnId)).slice(0, bulkMax);
    const notes = h('textarea', {name: 'notes', rows: 3, required: true, maxlength: 8192, 'data-want': verbs[disposition].want ?? 'Say why: it stands in each of the records.'});
    const who = signs('Decided by');
    const results = h('ul', {class: 'results', 'aria-live': 'polite'});
    const sum = chosen.reduce((n, item) => n + item.amount, 0);
    const hits = chosen.filter((item) => item.gravity === 'party');
    const claimed = chosen.filter((item) => item.state === 'claimed' && item.assignee !== officer());
    let done = false;
    const box = askFor({title: `${verbs[disposition].word} ${chosen.length} cases?`, word: verbs[disposition].word, kind: verbs[disposition].kind, draft: `bulk:${disposition}`, body: [
      h('p', {class: 'action'}, `${verbs[disposition].what} ${chosen.length} payments of ${money(sum)} in all. Each is recorded by itself; none can be undone.`),
      hits.length > 0 && h('p', {class: 'note warn', id: 'hits'}, `${hits.length} of them may be about a listed party or an embargoed place: ${[...new Set(hits.map((item) => item.cpName ?? item.cpWallet ?? item.txnId))].join(', ')}.`),
      claimed.length > 0 && h('p', {class: 'note warn'}, `${claimed.length} of them ${claimed.length === 1 ? 'is' : 'are'} claimed by ${[...new Set(claimed.map((item) => item.assignee))].join(', ')}.`),
      h('details', null, h('summary', null, 'Which'), h('ul', null, chosen.map((item) => h('li', null, `${money(item.amount)} to ${item.cpName ?? item.cpWallet ?? '–'}, ${item.rules.map(ruleShort).join(', ')}, ${item.agentName}`)))),
      who.view, field('Why (obligatory)', notes, 'Stands in each record.'), results,
    ], act: async (_form, post) => {
      if (done) return;
      const answer = await post('/queue/bulk', {txnIds: chosen.map((item) => item.txnId), disposition, reviewedBy: who.name(), notes: notes.value.trim()});
      for (const one of answer.results) {
        let told = one.proposed ? 'proposed; another officer has to confirm' : verbs[disposition].done;
        if (one.recheck?.verdict === 'BLOCK') told += ', but today it would be a BLOCK';
        if (one.status !== 200) told = one.code === 'already_dispositioned' ? `${one.reviewedBy} was faster: ${one.disposition}` : one.message;
        if (one.status === 200 && !one.proposed || one.code === 'already_dispositioned') gone(one.txnId);
        results.append(h('li', null, h('span', {class: 'mono'}, one.txnId), `: ${told}`));
      }
      picked.clear();
      showBulk();
      done = true;
      box.querySelector('button[type=submit]').textContent = 'Done';
      throw Object.assign(new Error(), {done: true, shown: h('p', {class: 'note'}, 'All were asked; what became of each stands above.')});
    }});
    notes.focus();
  }

  put(place, h('div', {class: 'titlebar'}, h('h1', null, 'Queue'), totals, officerMay && h('button', {type: 'button', class: 'primary', onclick: next}, 'Next case', h('kbd', null, 'N')),
    h('button', {type: 'button', class: 'small', onclick: help}, 'Keys', h('kbd', null, '?'))), h('details', {class: 'filterbox', open: matchMedia('(min-width: 62.01rem)').matches || Object.keys(filter).length > 1}, h('summary', null, 'Filters'), form), bulk,
  h('div', {class: 'skim'}, h('div', null, list, more), preview));
  await refresh(true);

  const timer = setInterval(() => { if (!document.hidden && !document.querySelector('dialog[open]')) refresh(false).catch(() => {}); }, every);
  const unkey = keys({
    j: () => step(1), k: () => step(-1), ArrowDown: () => step(1), ArrowUp: () => step(-1), Enter: () => at && go(`/console/case/${at}`), n: next, f: () => form.elements.q.focus(),
    a: () => decideSelected('APPROVED'), r: () => decideSelected('REJECTED'), s: () => decideSelected('ESCALATE_SAR'),
    x: () => { const box = rows.get(at)?.querySelector('input'); if (box) box.click(); },
  });
  return () => {
    clearInterval(timer);
    unkey();
  };
}

function filterForm(filter, rules, then) {
  const input = (name, more) => h('input', {name, value: filter[name] ?? '', ...more});
  const form = h('form', {class: 'filters', role: 'search', onsubmit: (event) => {
    event.preventDefault();
    then(Object.fromEntries([...new FormData(form)].map(([k, v]) => [k, v.trim()]).filter(([, v]) => v)));
  }},
  field('Search', input('q', {type: 'search', placeholder: 'name, wallet, id'})),
  field('State', select('state', [['', 'undecided'], 'open', 'claimed', 'dispositioned', 'escalated'], filter.state ?? '')),
  field('Rule', rules.length ? select('rule', [['', 'any'], ...rules.map((r) => [r, `${ruleShort(r)} ${ruleWords(r)}`])], filter.rule ?? '') : input('rule', {placeholder: 'R10'})),
  field('From $', input('minAmount', {type: 'number', min: 0, step: 'any'})), field('To $', input('maxAmount', {type: 'number', min: 0, step: 'any'})),
  field('Operator', input('operator')), field('Agent', input('agentId', {placeholder: 'agt_…'})), filter.payeeOf && field('Same payee as', input('payeeOf')), field('Waiting', select('slaBreached', [['', 'all'], ['true', 'too long']], filter.slaBreached ?? '')), field('Sort', select('sort', ['priority', 'age', 'amount'], filter.sort)),
  h('div', {class: 'field'}, h('button', {type: 'submit'}, 'Filter')), Object.keys(filter).length > 1 && h('div', {class: 'field'}, h('a', {href: '/console/queue'}, 'Clear')));
  return form;
}
