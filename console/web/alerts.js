// This page shows alerts, which are things other than reviews that a person must look at. It
// also shows the suspicious activity reports, with the time that is left for each.

import {h, put, say, money, when, badge, field, select, toast, count, table} from './dom.js';
import * as api from './api.js';
import {partyLink} from './names.js';
import {ask as askFor} from './ask.js';
import {signs} from './who.js';
import {actions} from './actions.js';
import {verbs} from './decide.js';

const every = 5000;
const bulkMax = 100;
export const kinds = {
  retro_hit: 'Named by a newer list', late_settle: 'Settled late', over_limit: 'Above a limit', not_allowed: 'Paid, not allowed',
  list_quarantine: 'Entities put aside', operator_listed: 'Operator listed', list_left: 'Left the list', unresolved_payment: 'Outcome not known', admin_token_used: 'Admin token used', many_dry_runs: 'Many dry runs', names_probed: 'Names probed',
  done_alone: 'Done alone', sanctions_report: 'Report overdue', unpermitted: 'Paid without leave taken', reconciliation_fault: 'Rail and log differ', second_look: 'Two officers differ',
};

/** payment is what can be acted on of an alert: where it was paid, the money may have gone. */
const payment = (alert) => ({txnId: alert.txnId, agentId: alert.agentId, agentName: alert.agentName, cpName: alert.cpName, entry: alert.named?.[0], moneyGone: ['retro_hit', 'late_settle', 'over_limit', 'not_allowed', 'unpermitted'].includes(alert.kind), clearable: alert.kind === 'retro_hit'});

/** about links to what an alert is about. */
function about(alert) {
  const paid = alert.cpName ?? alert.cpWallet;
  const named = (alert.named ?? []).map((x) => (x.name ? `${x.name}${x.entryId ? ` (${x.list}, ${x.entryId})` : ''}` : `entry ${x.uid}`));
  return [paid && h('strong', null, `to ${paid}`), named.length > 0 && h('span', null, `as ${named.slice(0, 3).join(' or ')}${named.length > 3 ? ` and ${named.length - 3} more` : ''}`), alert.txnId && h('a', {href: `/console/case/${alert.txnId}`}, alert.txnId), alert.caseId && h('a', {href: `/console/sanctions/${alert.caseId}`}, alert.caseId), alert.operatorLegalName && h('span', null, alert.operatorLegalName),
    alert.agentId && partyLink(alert.agentId, alert.agentName), alert.userId && partyLink(alert.userId),
    (alert.amount ?? alert.paymentsUSDC) !== undefined && h('span', null, money(alert.amount ?? alert.paymentsUSDC)), alert.entries !== undefined && h('span', null, `${count(alert.entries)} ${alert.entries === 1 ? 'entity' : 'entities'}`),
    alert.class && h('span', null, `${alert.rail}: ${alert.class}${alert.gap ? ` (${alert.gap})` : ''}${alert.settlement ? `, settlement ${alert.settlement}` : ''}${alert.statement ? `, statement ${alert.statement}` : ''}`), ...(alert.txnIds ?? []).map((txn) => h('a', {href: `/console/case/${txn}`}, txn)),
    alert.lookId && h('a', {href: `/console/look/${alert.lookId}`}, `decided ${verbs[alert.firstDisposition]?.done ?? alert.firstDisposition}, second look ${verbs[alert.secondDisposition]?.done ?? alert.secondDisposition}`),
    alert.lookedOn && h('span', null, `${alert.lookedBy ?? 'the admin token'} on ${alert.lookedOn}, ${count(alert.lookCount)} ${alert.lookCount === 1 ? 'call' : 'calls'}`),
    alert.listVersion && h('a', {href: alert.retroId ? `/console/foresight/retro/${alert.retroId}` : '/console/lists'}, `list version ${alert.listVersion}`)].filter(Boolean).flatMap((part, i) => (i ? [' · ', part] : [part]));
}

export async function showAlerts(place, _params, go) {
  const asked = new URLSearchParams(location.search);
  const filter = {state: asked.get('state') ?? 'open', kind: asked.get('kind') ?? ''};
  const may = api.may('reviewer');
  const list = h('ul', {class: 'queue alerts', 'aria-label': 'Alerts'});
  const totals = h('p', {class: 'quiet', id: 'totals'});
  const bulk = h('div', {class: 'actions left bulk', hidden: true});
  const picked = new Set();
  let items = [];
  let cursor = null;

  const form = h('form', {class: 'filters', role: 'search', onsubmit: (event) => {
    event.preventDefault();
    go(`/console/alerts?${new URLSearchParams(new FormData(form))}`);
  }}, field('State', select('state', ['open', 'acknowledged', ['', 'both']], filter.state)), field('Kind', select('kind', [['', 'any'], ...Object.entries(kinds)], filter.kind)),
  h('div', {class: 'field'}, h('button', {type: 'submit'}, 'Filter')));

  function row(alert) {
    const open = alert.state === 'open';
    return h('li', {class: 'row', id: alert.alertId}, may && open && h('input', {type: 'checkbox', 'aria-label': `Select ${alert.alertId}`, checked: picked.has(alert.alertId), onchange: (e) => {
      if (e.target.checked) picked.add(alert.alertId);
      else picked.delete(alert.alertId);
      showBulk();
    }}), h('div', {class: 'rowbody'}, h('div', {class: 'line'}, h('strong', null, kinds[alert.kind] ?? alert.kind), h('span', null, about(alert))),
      h('div', {class: 'line quiet'}, h('span', null, alert.text), h('span', null, when(alert.openedAt))),
      open ? may && h('div', {class: 'actions left'}, h('button', {type: 'button', class: 'small', onclick: () => acknowledge([alert])}, 'Acknowledge …'), actions(payment(alert), () => refresh().catch((e) => toast(e.message, 'bad')))) :
        h('div', {class: 'line'}, h('span', null, badge('acknowledged'), ` by ${alert.acknowledgedBy} `, when(alert.acknowledgedAt)), h('q', null, alert.reason))));
  }

  function draw() {
    put(list, items.map(row));
    put(totals, items.length === 0 ? (filter.state === 'open' ? 'Nothing wants you.' : 'Nothing here.') : `${items.length}${cursor ? ' and more' : ''} ${items.length === 1 ? 'alert' : 'alerts'}`);
    more.hidden = !cursor;
    showBulk();
  }

  function showBulk() {
    bulk.hidden = picked.size === 0;
    put(bulk, h('span', null, `${picked.size} selected`), h('button', {type: 'button', class: 'primary', onclick: () => acknowledge(items.filter((a) => picked.has(a.alertId)).slice(0, bulkMax))}, 'Acknowledge all …'));
  }

  function acknowledge(chosen) {
    const why = h('textarea', {name: 'reason', rows: 3, required: true, maxlength: 8192});
    const who = signs('Acknowledged by');
    askFor({title: chosen.length === 1 ? 'Acknowledge this alert?' : `Acknowledge ${chosen.length} alerts?`, word: 'Acknowledge', draft: `acknowledge:${chosen.length === 1 ? chosen[0].alertId : 'several'}`, body: [
      h('p', {class: 'action'}, 'You have looked at what it is about, and say why it needs nothing more. That is a leaf of the log and final.'),
      h('ul', null, chosen.map((a) => h('li', null, `${kinds[a.kind] ?? a.kind}: `, a.cpName ?? a.cpWallet ?? a.txnId ?? a.operatorLegalName ?? a.agentId ?? `list version ${a.listVersion}`))),
      who.view, field('Why it needs nothing more (obligatory)', why)], act: async (_form, post) => {
      const answer = await post('/alerts/acknowledge', {alertIds: chosen.map((a) => a.alertId), by: who.name(), reason: why.value.trim()});
      const late = answer.results.filter((r) => r.status !== 200);
      for (const result of answer.results) picked.delete(result.alertId);
      toast(late.length === 0 ? 'Acknowledged.' : `${late.length} of ${chosen.length} not: ${late[0].message}`, late.length ? 'warn' : 'good');
      await refresh();
    }});
    why.focus();
  }

  const ask = (poll, after) => api.call(`/alerts${api.query({...filter, limit: 50, cursor: after})}`, {poll});

  async function refresh(poll) {
    const before = new Set(items.map((a) => a.alertId));
    const page = await ask(poll);
    const fresh = page.data.filter((a) => !before.has(a.alertId)).length;
    const same = items.length === page.data.length && fresh === 0;
    cursor = page.nextCursor;
    items = page.data;
    if (!poll || !same) draw();
    if (poll && fresh) say(`${fresh} new ${fresh === 1 ? 'alert' : 'alerts'}`);
  }

  const more = h('button', {type: 'button', onclick: async () => {
    const page = await ask(false, cursor);
    cursor = page.nextCursor;
    items.push(...page.data);
    draw();
  }}, 'Show more');

  put(place, h('div', {class: 'titlebar'}, h('h1', null, 'Alerts'), totals), form, bulk, list, more);
  await refresh();
  const timer = setInterval(() => {
    if (!document.hidden && !document.querySelector('dialog[open]') && items.length <= 50 && !list.contains(document.activeElement)) refresh(true).catch(() => {});
  }, every);
  return () => clearInterval(timer);
}

const steps = {DRAFT: [['READY', 'Ready …'], ['CLOSED', 'Close …']], READY: [['FILED', 'Filed …'], ['DRAFT', 'Back to draft …'], ['CLOSED', 'Close …']], FILED: [['CLOSED', 'Close …']], CLOSED: []};

export async function showReports(place) {
  const list = h('div');
  const data = [];
  const fail = (error) => toast(error.message, 'bad');
  const about = (r) => h('span', null, h('strong', null, r.cpName ?? r.cpWallet ?? 'nobody named'), r.amount !== undefined && ` · ${money(r.amount)}`, r.agentId && [' · ', partyLink(r.agentId, r.agentName)], r.operatorLegalName && ` of ${r.operatorLegalName}`);
  const waits = (r) => r.waits && h('span', null, badge('waits'), ` ${r.waits.to} by ${r.waits.proposedBy}: a second person has to confirm. `, h('a', {href: '/console/proposals'}, 'Proposals'));
  async function more(cursor) {
    const page = await api.call(`/sar${api.query({order: 'asc', limit: 50, cursor})}`);
    data.push(...page.data);
    put(list, table('Reports', ['Payment', 'About', 'State', 'File by', 'Opened', 'Packet', 'Next'], data.map((r) => [h('a', {href: `/console/case/${r.txnId}`, id: r.txnId}, r.txnId), about(r),
      h('span', null, badge(r.state), r.filedBy && [` by ${r.filedBy} `, when(r.filedAt), ` as ${r.bsaId}`], ['DRAFT', 'READY'].includes(r.state) && !r.narrativeFinished && ' narrative not finished', waits(r) && [' ', waits(r)]),
      h('span', null, when(r.dueAt), r.overdue && [' ', badge('overdue')]), h('span', null, when(r.openedAt), ` by ${r.openedBy}`, r.reason && [': ', h('q', null, r.reason)]), h('span', {class: 'actions left packet'}, h('a', {href: `/console/api/sar/${r.txnId}?format=html`, target: '_blank', rel: 'noopener'}, 'Print'), [['json', 'JSON'], ['csv', 'CSV'], ['xml', 'FinCEN draft']].map(([form, word]) => h('a', {href: `/console/api/sar/${r.txnId}?format=${form}`, download: `sar-${r.txnId}.${form}`}, word))),
      api.may('reviewer') ? h('span', {class: 'actions left'}, ['DRAFT', 'READY'].includes(r.state) && h('button', {type: 'button', class: 'small', onclick: () => write(r).catch(fail)}, 'Narrative …'), steps[r.state].map(([to, word]) => h('button', {type: 'button', class: 'small', onclick: () => move(r, to)}, word))) : '–'])),
    page.nextCursor && h('button', {type: 'button', onclick: () => more(page.nextCursor).catch(fail)}, 'Show more'));
  }
  async function again(said) {
    toast(said);
    data.length = 0;
    await more();
  }
  /** write keeps a narrative before the report moves on. */
  async function write(report) {
    const packet = await api.call(`/sar/${report.txnId}`);
    const text = h('textarea', {name: 'narrative', rows: 12, required: true, maxlength: 32768, value: packet.narrative});
    const who = signs('Written by');
    askFor({title: `Narrative: ${report.txnId}`, word: 'Keep it', draft: `sar:${report.txnId}:narrative`, body: [h('p', {class: 'action'}, 'Each narrative is a leaf of the log: the one before it stays.'),
      field('Narrative', text, packet.narrativeSha256 === null ? 'A skeleton from the records: what stands in brackets is for you to write.' : `The narrative of ${packet.narratives.at(-1).actor}.`), who.view], act: async (_form, post) => {
      const kept = await post(`/sar/${report.txnId}/narrative`, {by: who.name(), narrative: text.value.trim(), ...(packet.narrativeSha256 && {replaces: packet.narrativeSha256})}, 'PUT');
      await again(kept.finished ? 'Kept.' : 'Kept, and not finished: what stands in brackets is left open.');
    }});
    text.focus();
  }
  function move(report, to) {
    const who = signs('Moved by');
    const bsa = to === 'FILED' && h('input', {name: 'bsaId', required: true, maxlength: 256});
    const why = h('textarea', {name: 'reason', rows: 3, maxlength: 8192, required: to === 'CLOSED' && report.state !== 'FILED'});
    askFor({title: `${to}: ${report.txnId}`, word: 'Move it', draft: `sar:${report.txnId}:${to}`, body: [h('p', {class: 'action'}, `The report goes from ${report.state} to ${to}.`), to === 'FILED' && h('p', {class: 'quiet'}, 'Two persons file a report: another one has to confirm it.'), who.view, bsa && field('Id of the filing', bsa), field(why.required ? 'Why (obligatory)' : 'Why', why)], act: async (_form, post) => {
      await post(`/sar/${report.txnId}/move`, {to, by: who.name(), ...(bsa && {bsaId: bsa.value.trim()}), ...(why.value.trim() && {reason: why.value.trim()})});
      await again('Done.');
    }});
  }
  put(place, h('h1', null, 'Reports'), h('p', {class: 'quiet'}, 'Suspicious activity reports, in the order in which they fall due: 30 days after they were opened, by an escalation or by an officer.'), h('section', {class: 'card'}, list));
  await more();
}
