// This page shows what officers decided and what became of it, counted from the log. docs/learning.md
// says what each figure means.

import {h, put, badge, count, table, field, facts, age, ruleShort, ruleWords, endOf, whenText} from './dom.js';
import * as api from './api.js';

const share = (part, of) => (of > 0 ? `${count(part)} (${Math.round((100 * part) / of)} %)` : count(part));
const wait = (g) => (g.medianSeconds === null ? '–' : age(g.medianSeconds));
const rule = (code) => h('span', {title: code}, `${ruleShort(code)} ${ruleWords(code)}`);
const who = (o) => h('span', {title: o.subject}, o.name ?? o.subject);
const heads = ['Decided', 'Approved', 'Rejected', 'Escalated', 'Median time'];
const lookHeads = ['Looked at again', 'Agreed', 'Differed', 'Nobody answered'];
const lookCells = (l) => [count(l.asked), share(l.agreed, l.agreed + l.disagreed), share(l.disagreed, l.agreed + l.disagreed), count(l.lapsed)];
const cells = (g) => [count(g.decisions), share(g.approved, g.decisions), share(g.rejected, g.decisions), share(g.escalated, g.decisions), wait(g)];
const card = (id, title, told, ...children) => h('section', {class: 'card', id}, h('h2', null, title), told && h('p', {class: 'quiet'}, told), children);

/** figures are the tables of an answer. */
function figures(v, looked) {
  const t = v.total;
  return [card('total', 'All of them', null, facts([['Decided', count(t.decisions)], ['Approved', share(t.approved, t.decisions)], ['Rejected', share(t.rejected, t.decisions)], ['Escalated', share(t.escalated, t.decisions)],
    ['Median time from screening to decision', wait(t)], ['By two persons', count(t.twoPersons)]])),
  card('officers', 'Officers', 'Of two persons the one who decided first. Agreement: what a second person confirmed or took back. Reversals: taken back, blocked when the payment was made, a sanctions case opened later.',
    table('Decisions by officer', ['Officer', ...heads, 'Confirmed by a second', 'Confirmed for others', 'Taken back', 'Blocked later', 'Case later'], v.officers.map((o) => [who(o), ...cells(o), share(o.agreement.confirmed, o.agreement.confirmed + o.agreement.withdrawn), count(o.agreement.seconded),
      count(o.reversals.withdrawn), count(o.reversals.rejudged), count(o.reversals.reopened)])),
    h('details', null, h('summary', null, 'By officer and rule'), table('Decisions by officer and rule', ['Officer', 'Rule', ...heads], v.officers.flatMap((o) => o.rules.map((r) => [who(o), rule(r.rule), ...cells(r)]))))),
  card('rules', 'Rules', 'Every rule that fired counts, not the deciding one alone. A false positive is a review that was approved.', table('Decisions by rule', ['Rule', ...heads, 'False positives'], v.rules.map((r) => [rule(r.rule), ...cells(r), share(r.falsePositives, r.decisions)]))),
  card('looks', 'Second looks', 'Decisions that another officer looked at again without knowing them. Those of an officer are looks at his own decisions; given are his answers about others’.',
    table('Second looks', ['Officer', ...lookHeads, 'Given'], [['All', ...lookCells(t.secondLooks), '–'], ...v.officers.map((o) => [who(o), ...lookCells(o.secondLooks), count(o.secondLooks.given)])]),
    h('details', null, h('summary', null, 'By rule'), table('Second looks by rule', ['Rule', ...lookHeads], v.rules.map((r) => [rule(r.rule), ...lookCells(r.secondLooks)]))),
    h('details', null, h('summary', null, 'By officer and rule'), table('Second looks by officer and rule', ['Officer', 'Rule', ...lookHeads], v.officers.flatMap((o) => o.rules.map((r) => [who(o), rule(r.rule), ...lookCells(r.secondLooks)])))), looked),
  card('entries', 'Listed parties', 'Whom a hit named. False positives are approved reviews and sanctions cases of another party.', table('Decisions by listed party', ['Listed party', 'Entry', ...heads, 'Cases of another party', 'False positives'], v.entries.map((e) => [e.name ?? `entry ${e.uid}`, `${e.list ?? ''} ${e.uid}`.trim(), ...cells(e), count(e.notTheParty), share(e.falsePositives, e.decisions + e.notTheParty)]))),
  card('operators', 'Operators', null, table('Decisions by operator', ['Operator', ...heads, 'False positives'], v.operators.map((o) => [h('span', {title: o.operatorId}, o.name ?? o.operatorId), ...cells(o), share(o.falsePositives, o.decisions)]))),
  card('days', 'Days', 'In UTC. Opened are reviews that began to wait.', table('Reviews by day', ['Day', 'Opened', ...heads], v.days.map((d) => [d.day, count(d.opened), ...cells(d)])))];
}

/** looks are the newest second looks: the open ones without a word about their cases. */
async function looks() {
  const page = api.may('reviewer', 'auditor') ? await api.call(`/learning/second-looks${api.query({limit: 20})}`) : null;
  return page?.data.length > 0 && table('The newest second looks', ['Day', 'State', 'In the hands of', 'Decided', 'Second look'], page.data.map((l) => [h('a', {href: `/console/look/${l.lookId}`}, l.openedAt.slice(0, 10)), badge(l.state), l.assignee ?? '–',
    l.decided ? [badge(l.decided.disposition), ` ${l.decided.actor ?? ''}`] : '–', l.answered ? [badge(l.answered.disposition), ` ${l.answered.actor ?? ''}`] : '–']));
}

/** bundle asks for an examiner's bundle of some days. The browser saves it when the node has made it. */
function bundle() {
  const day = (name) => h('input', {name, type: 'date', required: true});
  const form = h('form', {class: 'filters', onsubmit: (event) => {
    event.preventDefault();
    const asked = Object.fromEntries(new FormData(form));
    if ((Date.parse(asked.to) - Date.parse(asked.from)) / 86400000 > 30 || asked.to < asked.from) {
      put(told, 'A bundle of the console has 31 days at most, and its last day is not before its first.');
      return;
    }
    put(told, 'The bundle is made now; the browser saves it when it is whole.');
    h('a', {href: `/console/bundle${api.query(asked)}`, download: `railguard-${asked.from}-${asked.to}.tar.zst`}).click();
  }}, field('First day', day('from')), field('Last day', day('to')), h('div', {class: 'field'}, h('button', {type: 'submit', id: 'bundle'}, 'Download')));
  const told = h('p', {class: 'quiet', role: 'status'});
  return card('examiner', 'For an examiner', 'One file with all records of these days, their proofs, the lists and the policies, and the cases in words. It is proven without this server: railguard verify, or index.html in it.', form, told);
}

export async function showLearning(place, _params, go) {
  const filter = Object.fromEntries(new URLSearchParams(location.search));
  const day = (name) => h('input', {name, type: 'date', value: filter[name] ?? ''});
  const form = h('form', {class: 'filters', role: 'search', onsubmit: (event) => {
    event.preventDefault();
    go(`/console/learning${api.query(Object.fromEntries(new FormData(form)))}`);
  }}, field('From', day('from')), field('To', day('to')), h('div', {class: 'field'}, h('button', {type: 'submit'}, 'Show')));
  const query = {from: filter.from, to: endOf(filter.to)};
  const v = await api.call(`/learning${api.query(query)}`);
  put(place, h('h1', null, 'Learning'), h('p', {class: 'quiet'}, 'What officers decided, counted from the log alone: of the last 30 days unless dates are given.'), form,
    h('p', {class: 'meta', id: 'period'}, `${whenText(v.from)} to ${whenText(v.to)}`, h('a', {href: `/console/api/learning${api.query({...query, format: 'csv'})}`, download: 'learning.csv'}, 'CSV')),
    api.may('auditor') && bundle(),
    !v.complete && h('p', {class: 'note warn'}, `There are more decisions than one answer counts: these are the first, until ${whenText(v.to)}. Ask for shorter periods.`),
    figures(v, await looks()));
}
