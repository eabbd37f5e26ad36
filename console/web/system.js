// Activity: what was judged and decided. Cluster: the nodes.

import {h, put, money, when, badge, table, facts, field, select, toast, ruleShort, count} from './dom.js';
import * as api from './api.js';

export async function showActivity(place, _params, go) {
  const filter = Object.fromEntries(new URLSearchParams(location.search));
  const input = (name, more) => h('input', {name, value: filter[name] ?? '', ...more});
  const form = h('form', {class: 'filters', role: 'search', onsubmit: (event) => {
    event.preventDefault();
    go(`/console/activity${api.query(Object.fromEntries([...new FormData(form)].map(([k, v]) => [k, v.trim()])))}`);
  }}, field('From', input('from', {type: 'date'})), field('To', input('to', {type: 'date'})), field('Verdict', select('verdict', [['', 'any'], 'PROCEED', 'REVIEW', 'BLOCK', 'UNKNOWN'], filter.verdict ?? '')),
  field('Decision', select('disposition', [['', 'any'], 'APPROVED', 'REJECTED', ['ESCALATE_SAR', 'ESCALATED'], ['none', 'none yet']], filter.disposition ?? '')), field('Agent', input('agentId', {placeholder: 'agt_…'})), field('Operator', input('operator')), field('Name', input('name')), field('Wallet', input('wallet')),
  h('div', {class: 'field'}, h('button', {type: 'submit'}, 'Show')));
  const list = h('div');
  const data = [];
  async function more(cursor) {
    const page = await api.call(`/audit${api.query({...filter, limit: 50, cursor})}`);
    data.push(...page.data);
    put(list, table('Records', ['When', 'Verdict', 'Rule', 'Amount', 'Agent', 'To', 'Decision', 'By'], data.map((r) => [h('a', {href: `/console/case/${r.txnId}`}, when(r.screenedAt)), badge(r.verdict), r.rule ? ruleShort(r.rule) : '–', money((r._request ?? r).amount),
      r.agentId ? h('a', {href: `/console/agents/${r.agentId}`}, r.agentName ?? r.agentId) : '–', (r._request ?? r).cpName ?? (r._request ?? r).cpWallet ?? '–', r.disposition ? badge(r.disposition) : '–', r.reviewedBy ?? '–'])),
    page.nextCursor && h('button', {type: 'button', onclick: () => more(page.nextCursor).catch((e) => toast(e.message, 'bad'))}, 'Show more'));
  }
  put(place, h('h1', null, 'Activity'), h('p', {class: 'quiet'}, 'Screening calls and what officers made of them, of the last 24 hours unless dates are given. Every other change is a leaf of the log: railguard audit export.'), form, h('section', {class: 'card'}, list));
  await more();
}

const every = 5000;

export async function showCluster(place) {
  async function draw(poll) {
    const c = await api.call('/cluster/status', {poll});
    put(place, h('div', {class: 'titlebar'}, h('h1', null, 'Cluster'), badge(c.quorum?.healthy === c.quorum?.voters ? 'ok' : 'degraded')), (c.warnings ?? []).map((w) => h('p', {class: 'note warn'}, typeof w === 'string' ? w : w.message ?? JSON.stringify(w))),
      h('div', {class: 'tiles'}, h('div', {class: 'tile'}, h('strong', null, `${c.quorum?.healthy} / ${c.quorum?.voters}`), 'voters healthy'), h('div', {class: 'tile'}, h('strong', null, String(c.quorum?.failureTolerance)), 'may be lost'), h('div', {class: 'tile'}, h('strong', null, c.leader?.id ?? 'none'), 'leader'), h('div', {class: 'tile'}, h('strong', null, count(c.index?.applied)), 'applied index')),
      h('section', {class: 'card'}, h('h2', null, 'Nodes'), table('Nodes', ['Node', 'Role', 'Version', 'Lag', 'Contact', 'Clock', 'Disk free', 'List', 'Matcher'], (c.nodes ?? []).map((n) => [n.id, h('span', null, badge(n.role), ' ', n.suffrage), n.version ?? '–', count(n.lag), n.lastContactMs === undefined ? '–' : `${n.lastContactMs} ms`,
        n.clockSkewMs === undefined ? '–' : `${n.clockSkewMs} ms`, n.diskFreePct === undefined ? '–' : `${n.diskFreePct} %`, String(n.listVersion ?? '–'), (n.matcherVersions ?? []).join(', ')]))),
      h('section', {class: 'card'}, h('h2', null, 'This node'), facts([['Node', c.node], ['Role', c.role], ['Term', c.term], ['Writes', c.writes?.state], ['Log time', when(c.logTime)], ['State digest', h('span', {class: 'mono'}, c.fsmHash)], ['Format', `${c.featureLevel} of ${c.maxFeatureLevel}`], ['May be taken down', c.takeDown?.ok ? 'yes' : `no: ${(c.takeDown?.why ?? []).join(', ')}`]])));
  }
  await draw(false);
  const timer = setInterval(() => {
    if (!document.hidden && !place.contains(document.activeElement)) draw(true).catch(() => {});
  }, every);
  return () => clearInterval(timer);
}
