// This module has two pages: the activity, which is what was judged and decided, and the cluster
// with its nodes.

import {h, put, party, money, when, badge, table, facts, field, select, toast, ruleShort, count, endOf} from './dom.js';
import * as api from './api.js';
import {partyLink} from './names.js';
import {eventView} from './events.js';
import {kinds} from './alerts.js';
import {verbs} from './decide.js';
import {ask} from './ask.js';

const seesPayments = () => api.may('operator', 'screener', 'reviewer', 'auditor', 'ops');
const seesChanges = () => api.may('reviewer', 'auditor', 'policy') && api.whole();
const tabs = (now) => h('p', {class: 'actions left'}, [['payments', 'Payments', '/console/activity', seesPayments], ['changes', 'Every other change', '/console/activity?show=changes', seesChanges]].filter(([, , , may]) => may()).map(([key, word, href]) =>
  (key === now ? h('strong', {'aria-current': 'page'}, word) : h('a', {href}, word))));

export async function showActivity(place, _params, go) {
  if (seesChanges() && (!seesPayments() || new URLSearchParams(location.search).get('show') === 'changes')) return showChanges(place, new URLSearchParams(location.search), go);
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
    const page = await api.call(`/audit${api.query({...filter, to: endOf(filter.to), limit: 50, cursor})}`);
    data.push(...page.data);
    put(list, table('Records', ['When', 'Verdict', 'Rule', 'Amount', 'Agent', 'To', 'Decision', 'By'], data.map((r) => [h('a', {href: `/console/case/${r.txnId}`}, when(r.screenedAt)), badge(r.verdict), r.rule ? ruleShort(r.rule) : '–', money((r._request ?? r).amount),
      partyLink(r.agentId, r.agentName), party((r._request ?? r).cpName, (r._request ?? r).cpWallet), r.disposition ? badge(r.disposition) : '–', r.reviewedBy ?? '–'])),
    page.nextCursor && h('button', {type: 'button', onclick: () => more(page.nextCursor).catch((e) => toast(e.message, 'bad'))}, 'Show more'));
  }
  put(place, h('h1', null, 'Activity'), tabs('payments'), h('p', {class: 'quiet'}, 'Screening calls and what officers made of them, of the last 24 hours unless dates are given.'), form, h('section', {class: 'card'}, list));
  await more();
}

const groups = {
  review: 'decisions and the queue', sar: 'reports', alert: 'alerts', hold: 'holds and settles', agent: 'agents', attestation: 'attestations', fleet: 'fleets', user: 'users', operator: 'operators',
  policy: 'the policy', list: 'lists', retro: 'looking back', cleared: 'cleared pairs', key: 'API keys', passkey: 'passkeys', person: 'persons who were ended', signing_key: 'signing keys', webhook: 'webhooks', matcher: 'the matcher', format: 'the format',
};
const turnsMax = 10; // Pages that are asked for at once where nothing is found: 40,960 records.

/** subject links to what a change is about. */
const subject = (d) => [d.txnId && h('a', {href: `/console/case/${d.txnId}`}, d.txnId), d.agentId && partyLink(d.agentId), d.fleetId && partyLink(d.fleetId),
  d.userId && partyLink(d.userId), d.operatorLegalName, d.keyId, d.policyVersion !== undefined && h('a', {href: '/console/policy'}, `policy version ${d.policyVersion}`),
  d.listVersion !== undefined && h('a', {href: '/console/lists'}, `list version ${d.listVersion}`), d.kid].filter(Boolean).flatMap((part, i) => (i ? [' · ', part] : [part]));
const detail = (d) => [verbs[d.disposition]?.done.toLowerCase() ?? d.disposition, d.state, d.credentialStatus && d.previousStatus ? `${d.previousStatus} → ${d.credentialStatus}` : d.credentialStatus, d.from && d.to && `${d.from} → ${d.to}`, d.assignee, (d.amount ?? d.amountUSDC ?? d.paymentsUSDC) !== undefined && money(d.amount ?? d.amountUSDC ?? d.paymentsUSDC), d.alert && (kinds[d.alert]?.toLowerCase() ?? d.alert)].filter(Boolean).join(', ');

/** showChanges tells what anybody changed, newest first: who, what, when and why. */
async function showChanges(place, asked, go) {
  const filter = {by: asked.get('by') ?? '', group: asked.get('group') ?? '', from: asked.get('from') ?? '', to: asked.get('to') ?? ''};
  const form = h('form', {class: 'filters', role: 'search', onsubmit: (event) => {
    event.preventDefault();
    go(`/console/activity${api.query({show: 'changes', ...Object.fromEntries([...new FormData(form)].map(([k, v]) => [k, v.trim()]))})}`);
  }}, field('Who', h('input', {name: 'by', value: filter.by, maxlength: 256, placeholder: 'person or key'})), field('What', select('group', [['', 'everything'], ...Object.entries(groups)], filter.group)),
  field('From', h('input', {name: 'from', type: 'date', value: filter.from})), field('To', h('input', {name: 'to', type: 'date', value: filter.to})), h('div', {class: 'field'}, h('button', {type: 'submit'}, 'Show')));
  const list = h('div', {'aria-live': 'polite'});
  const query = {by: filter.by, types: filter.group ? (filter.group === 'format' ? 'format.raised' : `${filter.group}.*`) : '', from: filter.from, to: endOf(filter.to), limit: 50};
  const data = [];

  async function more(cursor) {
    let next = cursor;
    let found = 0;
    for (let turns = 0; turns < turnsMax && found === 0 && (turns === 0 || next); turns += 1) {
      const page = await api.call(`/activity${api.query({...query, cursor: next})}`);
      data.push(...page.data);
      found += page.data.length;
      next = page.nextCursor;
    }
    put(list, data.length === 0 ? h('p', {class: 'quiet'}, next ? 'Nothing so far; there is more to look through.' : 'Nobody changed anything of that kind.') :
      table('Changes', ['When', 'Who', 'What', 'About', 'Why'], data.map((e) => [when(e.time), who(e), eventView(e.type, detail(e.data)), subject(e.data).length ? subject(e.data) : '–', e.reason ?? '–'])),
    next && h('button', {type: 'button', onclick: () => more(next).catch((e) => toast(e.message, 'bad'))}, 'Earlier'));
  }
  put(place, h('h1', null, 'Activity'), tabs('changes'), h('p', {class: 'quiet'}, 'What anybody changed, newest first, as far back as records go. The person is who the call named; the key cannot be chosen.'), form, h('section', {class: 'card'}, list));
  await more();
}

/** who is the person that a call named, and the key that made it. */
function who(e) {
  const key = e.actorKeyName ?? e.actorKeyId;
  if (!key && !e.actor) return h('span', {class: 'quiet'}, 'the cluster');
  return [e.actor ?? key, e.actor && key && key !== e.actor && h('span', {class: 'quiet'}, ` with key ${key}`)];
}

const every = 5000;

/** confirmTime says that it is not later than an instant, so that log time may leap up to it. Two admins have to say so. */
function confirmTime() {
  const until = h('input', {name: 'notAfter', required: true, maxlength: 40, value: new Date().toISOString().slice(0, 16) + 'Z', autocomplete: 'off', spellcheck: 'false'});
  const why = h('textarea', {name: 'reason', rows: 3, required: true, maxlength: 8192});
  ask({title: 'Confirm the time?', word: 'Confirm', kind: 'warn', draft: 'clock:confirm', body: [h('p', {class: 'action'}, 'You say that it is not later than this. Log time may leap up to it once another admin says the same, if the clocks of a quorum agree.'),
    h('p', {class: 'quiet'}, 'A leap begins the limits of the day anew and ends credentials. Look at a clock that is none of the nodes’.'), field('Not later than (UTC)', until), field('Why (obligatory)', why)], act: async (_form, post) => {
    await post('/cluster/confirm-time', {notAfter: until.value.trim(), reason: why.value.trim()});
    toast('Confirmed by two persons: log time may leap.');
  }});
}

export async function showCluster(place) {
  async function draw(poll) {
    const c = await api.call('/cluster/status', {poll});
    put(place, h('div', {class: 'titlebar'}, h('h1', null, 'Cluster'), badge(c.quorum?.healthy === c.quorum?.voters ? 'ok' : 'degraded'), api.may('admin') && h('button', {type: 'button', class: 'confirmtime', onclick: confirmTime}, 'Confirm the time …')), (c.warnings ?? []).map((w) => h('p', {class: 'note warn'}, typeof w === 'string' ? w : w.message ?? JSON.stringify(w))),
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
