// Activity: what was judged and decided. Cluster: the nodes.

import {h, put, money, when, badge, table, facts, field, select, toast, ruleShort, count} from './dom.js';
import * as api from './api.js';

export async function showActivity(place, _params, go) {
  if (new URLSearchParams(location.search).get('show') === 'changes') return showChanges(place, new URLSearchParams(location.search), go);
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
  const tabs = h('p', {class: 'actions left'}, h('strong', {'aria-current': 'page'}, 'Payments'), h('a', {href: '/console/activity?show=changes'}, 'Every other change'));
  put(place, h('h1', null, 'Activity'), tabs, h('p', {class: 'quiet'}, 'Screening calls and what officers made of them, of the last 24 hours unless dates are given.'), form, h('section', {class: 'card'}, list));
  await more();
}

const groups = ['review', 'sar', 'alert', 'hold', 'agent', 'attestation', 'fleet', 'user', 'operator', 'policy', 'list', 'matcher', 'cleared', 'key', 'signing_key', 'webhook', 'retro'];
const leavesBack = 2000;

/** showChanges tells what anybody changed, newest first: the events of the log but the payments'. */
async function showChanges(place, asked, go) {
  const group = asked.get('group') ?? '';
  const form = h('form', {class: 'filters', role: 'search', onsubmit: (event) => {
    event.preventDefault();
    go(`/console/activity?show=changes&group=${form.elements.group.value}`);
  }}, field('What', select('group', [['', 'everything'], ...groups.map((g) => [g, g.replace('_', ' ')])], group)), h('div', {class: 'field'}, h('button', {type: 'submit'}, 'Show')));
  const types = (group ? [group] : groups).map((g) => `${g}.*`).join(',');
  const list = h('div', {'aria-live': 'polite'});
  const data = [];
  const latest = await api.call(`/events${api.query({after: 'latest', types})}`);
  /** leafOf is the first leaf behind a cursor. */
  const leafOf = (text) => { const found = /^(?:evt_)?(\d+)/.exec(text ?? ''); return found ? Number(found[1]) + 1 : 0; };
  let end = leafOf(latest.nextCursor);

  /** read takes the events of the leaves from one on, up to another. */
  async function read(from, to) {
    const found = [];
    let after = from > 0 ? String(from - 1) : undefined;
    for (let turns = 0; turns < 20; turns += 1) {
      const page = await api.call(`/events${api.query({types, limit: 500, after})}`);
      found.push(...page.data.filter((e) => e.seq < to));
      if (page.nextCursor === after || !page.nextCursor || leafOf(page.nextCursor) >= to) break;
      after = page.nextCursor;
    }
    return found;
  }

  const subject = (d) => [d.txnId && h('a', {href: `/console/case/${d.txnId}`}, d.txnId), d.agentId && h('a', {href: `/console/agents/${d.agentId}`}, d.agentId), d.fleetId && h('a', {href: `/console/fleets/${d.fleetId}`}, d.fleetId),
    d.userId && h('a', {href: `/console/users/${d.userId}`}, d.userId), d.operatorLegalName, d.keyId, d.policyVersion !== undefined && `policy version ${d.policyVersion}`, d.listVersion !== undefined && `list version ${d.listVersion}`, d.kid].filter(Boolean).flatMap((part, i) => (i ? [' · ', part] : [part]));
  const detail = (d) => [d.disposition, d.state, d.credentialStatus && d.previousStatus ? `${d.previousStatus} → ${d.credentialStatus}` : d.credentialStatus, d.from && d.to && `${d.from} → ${d.to}`, d.assignee, d.amountUSDC !== undefined && money(d.amountUSDC), d.alert].filter(Boolean).join(', ') || '–';

  async function more() {
    const to = end;
    let from = to;
    let found = [];
    try {
      while (from > 0 && found.length === 0 && to - from < 10 * leavesBack) {
        from = Math.max(0, from - leavesBack);
        found = await read(from, to);
      }
    } catch (error) {
      if (error.status !== 400) throw error; // Beyond the 30 days that events are told for: from the oldest on.
      found = await read(0, to);
      from = 0;
    }
    end = from;
    data.push(...found.reverse());
    put(list, table('Changes', ['When', 'What', 'About', 'Detail'], data.map((e) => [when(e.time), e.type, subject(e.data), detail(e.data)])), end > 0 && h('button', {type: 'button', onclick: () => more().catch((e) => toast(e.message, 'bad'))}, 'Earlier'));
  }
  put(place, h('h1', null, 'Activity'), h('p', {class: 'actions left'}, h('a', {href: '/console/activity'}, 'Payments'), h('strong', {'aria-current': 'page'}, 'Every other change')),
    h('p', {class: 'quiet'}, 'What anybody changed, newest first, of the last 30 days, as far as this key may know it. Who did it stands in the record of each.'), form, h('section', {class: 'card'}, list));
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
