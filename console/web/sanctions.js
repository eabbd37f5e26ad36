// This page shows the cases that a BLOCK because of sanctions opened, or an officer of a payment that went ahead: what to compare, what to
// decide, and the report with the time that is left for it.

import {h, put, money, when, badge, field, select, toast, count, table} from './dom.js';
import * as api from './api.js';
import {partyLink} from './names.js';
import {ask} from './ask.js';
import {signs} from './who.js';

const words = {TRUE_MATCH: 'True match …', NOT_THE_PARTY: 'Not the party …', OPEN: 'Look again …', REPORTED: 'Reported …', CLOSED: 'Close …'};
const kinds = {rejected_transaction: 'Rejected transaction', blocked_property: 'Blocked property', processed_transaction: 'It went ahead: nothing is blocked'};
const reasoned = ['NOT_THE_PARTY', 'OPEN', 'CLOSED'];
const advice = 'Drafts from records, and no legal advice: compare them with the regulation in force.';

/** target names the listed party or the place. */
const target = (c) => c.place ?? c.listedName ?? (c.uid ? `entry ${c.uid}` : 'a party that was listed');

/** payer links to whose payments were blocked. */
const payer = (c) => (c.agentId ? partyLink(c.agentId, c.agentName) : c.userId ? partyLink(c.userId) : '–');

/** move asks for what a step needs and makes it. */
function move(item, to, done) {
  const who = signs('Moved by');
  const why = h('textarea', {name: 'reason', rows: 3, maxlength: 8192, required: reasoned.includes(to)});
  const reference = to === 'REPORTED' && h('input', {name: 'reference', required: true, maxlength: 256});
  const kind = to === 'TRUE_MATCH' && select('kind', Object.entries(kinds).filter(([k]) => k !== (item.wentAhead ? 'rejected_transaction' : 'processed_transaction')), item.wentAhead ? 'processed_transaction' : 'rejected_transaction');
  const input = (name, value) => h('input', {name, maxlength: 256, value});
  const property = {party: input('party', item.listedName ?? ''), description: input('description', ''), location: input('location', ''), authority: input('authority', ''), action: input('action', ''), valueUSD: h('input', {name: 'valueUSD', inputmode: 'decimal', value: item.amountUSDC})};
  const details = kind && h('fieldset', {hidden: true}, h('legend', null, 'The property'), field('Whose it is', property.party), field('What it is', property.description), field('Where it is', property.location), field('Legal authority', property.authority), field('What was done with it', property.action), field('Value, USD', property.valueUSD));
  kind?.addEventListener('change', () => { details.hidden = kind.value !== 'blocked_property'; });
  ask({title: `${to}: ${target(item)}`, word: 'Move it', draft: `sanctions:${item.caseId}:${to}`, body: [h('p', {class: 'action'}, `The case goes from ${item.state} to ${to}. ${item.wentAhead ? 'The money has gone.' : 'The BLOCK stays.'}`), kind && field('What happened', kind), details, who.view, reference && field('Reference that OFAC’s system gave', reference), field(why.required ? 'Why (obligatory)' : 'Why', why)], act: async (_form, post) => {
    const said = {to, by: who.name(), ...(why.value.trim() && {reason: why.value.trim()}), ...(reference && {reference: reference.value.trim()}), ...(kind && {kind: kind.value})};
    if (kind?.value === 'blocked_property') said.property = {party: property.party.value.trim(), description: property.description.value.trim(), location: property.location.value.trim(), ...(property.authority.value.trim() && {authority: property.authority.value.trim()}), ...(property.action.value.trim() && {action: property.action.value.trim()}), valueUSD: Number(property.valueUSD.value)};
    await post(`/sanctions/cases/${item.caseId}/move`, said);
    toast('Done.');
    await done();
  }});
}

export async function showSanctions(place) {
  const list = h('div');
  const data = [];
  async function more(cursor) {
    const page = await api.call(`/sanctions/cases${api.query({order: 'asc', limit: 50, cursor})}`);
    data.push(...page.data);
    put(list, data.length ? table('Sanctions cases', ['Case', 'State', 'Of', 'Against', 'Payments', 'Report by'], data.map((c) => [h('a', {href: `/console/sanctions/${c.caseId}`}, c.caseId), badge(c.state), payer(c), target(c),
      h('span', null, `${count(c.count)} · ${money(c.amountUSDC)}`, c.wentAhead && [' ', badge('money gone')]), h('span', null, when(c.dueAt), c.overdue && [' ', badge('overdue')])])) : h('p', null, 'There is none.'),
    page.nextCursor && h('button', {type: 'button', onclick: () => more(page.nextCursor).catch((e) => toast(e.message, 'bad'))}, 'Show more'));
  }
  put(place, h('h1', null, 'Sanctions cases'), h('p', {class: 'quiet'}, 'Payments that were blocked because of a listed party or place, or that went ahead and should not have, in the order in which their reports fall due: ten business days after the first. '),
    h('p', {class: 'actions left'}, h('a', {href: '/console/api/sanctions/blocked-property?format=html', target: '_blank', rel: 'noopener'}, 'Register of blocked property'), h('a', {href: '/console/api/sanctions/blocked-property?format=csv', download: 'blocked-property.csv'}, 'CSV')),
    h('section', {class: 'card'}, list));
  await more();
}

const agreement = (agrees) => (agrees === null ? 'open' : agrees ? 'agrees' : 'differs');

/** comparison shows the form: questions with what the record says, then detail by detail. */
function comparison(form) {
  if (form.unavailable) return h('p', {class: 'note'}, form.unavailable);
  return [h('dl', null, form.steps.flatMap((s) => [h('dt', null, s.question), h('dd', null, s.finding)])),
    form.comparisons.length > 0 && table('Comparison', ['What', 'In the payment', 'On the list', ''], form.comparisons.map((c) => [c.what, c.asked ?? '–', c.listed ?? '–', agreement(c.agrees)])),
    form.listed?.facts.length > 0 && h('details', null, h('summary', null, 'All that the list says'), table('Listed facts', ['What', 'Value'], form.listed.facts.map((f) => [f.label ?? f.kind, f.value])))];
}

export async function showSanctionsCase(place, params) {
  async function draw() {
    const c = await api.call(`/sanctions/cases/${params.id}`);
    const report = (form) => `/console/api/sanctions/cases/${c.caseId}/report?format=${form}`;
    put(place, h('div', {class: 'titlebar'}, h('h1', null, target(c)), badge(c.state), c.overdue && badge('overdue'), c.wentAhead && badge('money gone')),
      h('p', null, payer(c), c.operatorLegalName && ` of ${c.operatorLegalName}`, ` · ${count(c.count)} ${c.count === 1 ? 'payment' : 'payments'}, ${money(c.amountUSDC)} · report by `, when(c.dueAt), c.kind && ` · ${kinds[c.kind]}`, c.reference && ` · reference ${c.reference}`,
        c.caseBefore && [' · before: ', h('a', {href: `/console/sanctions/${c.caseBefore}`}, c.caseBefore)]),
      c.wentAhead && h('p', {class: 'note warn', id: 'gone'}, 'The money has gone: an officer opened this case of a payment that went ahead. Nothing of it is blocked property unless a step says what is.'),
      h('p', {class: 'note'}, advice),
      api.may('reviewer') && c.next.length > 0 && h('div', {class: 'actions left'}, c.next.map((to) => h('button', {type: 'button', onclick: () => move(c, to, draw)}, words[to]))),
      c.kind && h('p', {class: 'actions left packet'}, h('a', {href: report('html'), target: '_blank', rel: 'noopener'}, 'Print the report'), ['json', 'csv'].map((form) => h('a', {href: report(form), download: `sanctions-${c.caseId}.${form}`}, form.toUpperCase()))),
      h('section', {class: 'card'}, h('h2', null, 'Compare'), comparison(c.form)),
      h('section', {class: 'card'}, h('h2', null, 'Payments'), table('Payments', ['Payment', 'When', 'Amount', 'To', 'Rule'], c.records.map((r) => [h('a', {href: `/console/case/${r.txnId}`}, r.txnId), when(r.screenedAt), money(r.amount), r.cpName ?? r.cpWallet ?? '–', r.rule])),
        !c.recordsComplete && h('p', {class: 'quiet'}, 'There are more than are shown, or history has not all of them any more.')),
      h('section', {class: 'card'}, h('h2', null, 'History'), table('History', ['When', 'What', 'By', 'Why'], c.history.map((e) => [when(e.time), e.to ? `${e.from} to ${e.to}` : e.what, e.actor ?? '–', e.reason ?? '–']))));
  }
  await draw();
}
