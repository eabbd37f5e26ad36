// This page shows what waits for an officer, what happened lately, and what will soon be out of
// date.

import {h, s, put, count, when, badge, table, age, ruleShort, ruleWords, bar, say} from './dom.js';
import * as api from './api.js';

const every = 15000;
const verdicts = ['PROCEED', 'REVIEW', 'BLOCK', 'UNKNOWN'];
const pagesMax = 4;

/** all reads a few pages of a list; truncated says that there is more. */
async function all(path, members, poll) {
  const data = [];
  let cursor;
  for (let i = 0; i < pagesMax; i += 1) {
    const page = await api.maybe(`${path}${api.query({...members, limit: 500, cursor})}`, {poll});
    if (!page) return null;
    data.push(...page.data);
    cursor = page.nextCursor;
    if (!cursor) return {data, truncated: false};
  }
  return {data, truncated: true};
}

function picture(records) {
  const hours = 24;
  const now = Math.ceil(Math.max(Date.now(), ...records.slice(0, 1).map((r) => Date.parse(r.screenedAt))) / 3600e3) * 3600e3; // The newest stands first; the cluster's clock counts.
  const first = now - hours * 3600e3;
  const counts = Array.from({length: hours}, () => Object.fromEntries(verdicts.map((v) => [v, 0])));
  for (const r of records) {
    const at = Math.floor((Date.parse(r.screenedAt) - first) / 3600e3);
    if (counts[at]) counts[at][r.verdict] += 1;
  }
  const most = Math.max(1, ...counts.map((c) => verdicts.reduce((n, v) => n + c[v], 0)));
  const bars = counts.flatMap((c, i) => {
    let y = 110;
    return verdicts.map((v) => {
      const height = (c[v] / most) * 100;
      y -= height;
      return c[v] > 0 && s('rect', {class: v, x: 30 + i * 50, y, width: 40, height}, s('title', null, `${c[v]} ${v}`));
    });
  });
  const label = (i) => `${String(new Date(first + i * 3600e3).getUTCHours()).padStart(2, '0')}:00`;
  return h('div', null, s('svg', {class: 'chart day', viewBox: '0 0 1240 130', role: 'img', 'aria-label': `Verdicts of the last 24 hours by hour: ${verdicts.map((v) => `${records.filter((r) => r.verdict === v).length} ${v}`).join(', ')}`},
    s('text', {x: 0, y: 18}, String(most)), s('text', {x: 0, y: 112}, '0'), bars, [0, 6, 12, 18].map((i) => s('text', {x: 30 + i * 50, y: 126}, label(i)))),
  h('ul', {class: 'legend'}, verdicts.map((v) => h('li', null, s('svg', {class: 'chart', viewBox: '0 0 10 10', 'aria-hidden': 'true'}, s('rect', {class: v, width: 10, height: 10})), `${v}: ${count(records.filter((r) => r.verdict === v).length)}`))));
}

const ruleNumber = (rule) => Number(ruleShort(rule).slice(1));
const ages = [['under an hour', 3600], ['under a day', 86400], ['under three days', 259200], ['older', Infinity]];

function reviews(queue) {
  const items = queue.data;
  const rules = [...new Set(items.flatMap((i) => i.rules))].sort((x, y) => ruleNumber(x) - ruleNumber(y));
  const inAge = (item) => ages.findIndex(([, most]) => item.ageSeconds < most);
  return h('section', {class: 'card'}, h('h2', null, 'Open reviews by rule and age'), table('Open reviews by rule and age', ['Rule', ...ages.map(([word]) => word), 'All'],
    rules.map((rule) => [h('a', {href: `/console/queue?rule=${rule}`}, `${ruleShort(rule)} ${ruleWords(rule)}`), ...ages.map((_, i) => String(items.filter((x) => x.rules.includes(rule) && inAge(x) === i).length || '·')),
      String(items.filter((x) => x.rules.includes(rule)).length)])), h('p', {class: 'quiet'}, 'A case stands in the row of every rule that it triggered.'));
}

function lists(ofac) {
  const active = ofac.active;
  if (!active) return h('section', {class: 'card'}, h('h2', null, 'Sanctions list'), h('p', {class: 'note bad'}, 'No list is active: every screening call is answered with 503.'));
  return h('section', {class: 'card'}, h('h2', null, 'Sanctions list'), h('p', null, `Version ${active.listVersion} from ${active.source} `, active.stale ? badge('stale') : badge('ok')),
    active.sample && h('p', {class: 'note warn'}, 'This is the embedded sample: of no use for compliance.'),
    table('Families of the list', ['Family', 'Entries', 'Published'], Object.entries(active.families ?? {}).map(([name, f]) => [name, count(f.entries), (active.missing ?? []).includes(name) ? '–' : f.publishedAt ?? active.publishedAt ? when(f.publishedAt ?? active.publishedAt) : 'not stated'])),
    (active.missing ?? []).length > 0 && h('p', {class: 'note warn'}, `Without an entry: ${active.missing.join(', ')}.`), active.quarantined > 0 && h('p', {class: 'note warn'}, `${count(active.quarantined)} malformed ${active.quarantined === 1 ? 'entity is' : 'entities are'} left out.`),
    h('p', {class: 'quiet'}, `Brought up to date ${age(active.ageSeconds)} ago.`));
}

async function agents() {
  const page = await api.maybe(`/agents${api.query({limit: 100, status: 'ACTIVE'})}`, {poll: true});
  if (!page) return null;
  const some = page.data.slice(0, 40);
  const [limits, whole] = await Promise.all([
    Promise.all(some.map((a) => api.maybe(`/agents/${a.agentId}/limits`, {poll: true}).catch(() => null))),
    Promise.all(some.filter((a) => a.agentType === 'autonomous').map((a) => api.maybe(`/agents/${a.agentId}`, {poll: true}).catch(() => null))),
  ]);
  const near = some.map((a, i) => [a, limits[i]]).filter(([, l]) => l?.dailyLimitUSDC > 0 && (l.spentUSDC + l.heldUSDC) / l.dailyLimitUSDC >= 0.5)
    .sort((a, b) => b[1].spentUSDC / b[1].dailyLimitUSDC - a[1].spentUSDC / a[1].dailyLimitUSDC).slice(0, 6);
  const stale = whole.filter((a) => a?.attestation?.stale);
  return [h('section', {class: 'card'}, h('h2', null, 'Agents near their limits'), near.length === 0 ? h('p', {class: 'quiet'}, 'None has spent half of its daily limit.') :
    near.map(([a, l]) => bar(h('a', {href: `/console/agents/${a.agentId}`}, a.agentName), l.spentUSDC, l.heldUSDC, l.dailyLimitUSDC))),
  h('section', {class: 'card'}, h('h2', null, 'Stale attestations'), stale.length === 0 ? h('p', {class: 'quiet'}, 'None.') :
    h('ul', {class: 'plainlist'}, stale.map((a) => h('li', null, h('a', {href: `/console/agents/${a.agentId}`}, a.agentName), ' ', a.attestation.attestedAt ? when(a.attestation.attestedAt) : 'never attested'))),
  page.nextCursor || page.data.length > 40 ? h('p', {class: 'quiet'}, 'The newest 40 active agents were looked at.') : null)];
}

export async function showOverview(place) {
  async function draw(poll) {
    const [queue, records, ofac, alerts, health, reports] = await Promise.all([
      api.may('reviewer', 'auditor') ? all('/queue', {}, poll) : null, all('/audit', {}, poll), api.whole() ? api.maybe('/ofac', {poll}) : null,
      api.may('reviewer', 'auditor') ? api.maybe(`/alerts${api.query({limit: 50, state: 'open'})}`, {poll}) : null, api.maybe('/health', {poll}), api.may('reviewer', 'auditor') && api.whole() ? api.maybe(`/sar${api.query({limit: 100, order: 'asc'})}`, {poll}) : null]);
    const parts = await agents();
    const oldest = Math.max(0, ...(queue?.data ?? []).map((i) => i.ageSeconds));
    const late = (queue?.data ?? []).filter((i) => i.slaBreached).length;
    const soon = (queue?.data ?? []).filter((i) => i.slaDueAt && !i.slaBreached && Date.parse(i.slaDueAt) - Date.parse(i.screenedAt) - i.ageSeconds * 1000 < 3600e3).length;
    const more = (page) => `${count(page.data.length)}${page.truncated ? '+' : ''}`;
    put(place, h('div', {class: 'titlebar'}, h('h1', null, 'Overview'), h('span', {class: 'quiet'}, 'node ', health?.node ?? '?', ' ', badge(health?.status ?? 'unreachable'))),
      health?.reviewQueueFull && h('p', {class: 'note bad'}, 'The review queue is full. New reviews are answered and recorded, and found by id and in Activity.'),
      h('div', {class: 'tiles'}, queue && h('div', {class: 'tile'}, h('strong', null, more(queue)), h('a', {href: '/console/queue'}, 'open reviews')), queue && h('div', {class: 'tile'}, h('strong', null, queue.data.length ? age(oldest) : '–'), 'age of the oldest'),
        queue && h('div', {class: 'tile'}, h('strong', {class: late ? 'over' : ''}, String(late)), h('a', {href: '/console/queue?slaBreached=true'}, 'waited too long'), soon > 0 && h('span', {class: 'quiet'}, `, ${soon} will within the hour`)),
        reports && h('div', {class: 'tile'}, h('strong', null, String(reports.data.filter((r) => ['DRAFT', 'READY'].includes(r.state)).length)), h('a', {href: '/console/reports'}, 'reports to file')),
        records && h('div', {class: 'tile'}, h('strong', null, more(records)), 'verdicts in 24 hours'), alerts && h('div', {class: 'tile'}, h('strong', null, `${alerts.data.length}${alerts.nextCursor ? '+' : ''}`), h('a', {href: '/console/alerts'}, 'open alerts')),
        ofac?.active && h('div', {class: 'tile'}, h('strong', null, age(ofac.active.ageSeconds)), 'age of the list')),
      records && h('section', {class: 'card'}, h('h2', null, 'Verdicts of the last 24 hours'), picture(records.data), records.truncated && h('p', {class: 'quiet'}, 'The newest 2,000 are drawn.')),
      h('div', {class: 'columns'}, h('div', null, queue && reviews(queue), parts?.[0]), h('div', null, ofac && lists(ofac), parts?.[1], parts?.[2])));
  }
  await draw(false);
  const timer = setInterval(() => {
    if (document.hidden || place.contains(document.activeElement)) return;
    draw(true).then(() => say('Overview brought up to date')).catch(() => {});
  }, every);
  return () => clearInterval(timer);
}
