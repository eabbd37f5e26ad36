// This page shows agents, fleets, users and operators: their state, their limits and the changes
// made to them.

import {h, put, money, count, when, badge, table, facts, bar, field, select, dialog, toast, ruleShort} from './dom.js';
import * as api from './api.js';
import {partyLink} from './names.js';
import {ask} from './ask.js';
import {officer, signs} from './who.js';
import {eventWords} from './events.js';

/** act asks for a reason, calls and draws anew. members: extra fields by name. */
function act(title, action, word, kind, path, redraw, members = {}, method = 'POST') {
  const why = h('textarea', {name: 'reason', rows: 3, required: true, maxlength: 8192});
  const inputs = Object.entries(members).map(([name, [label, input, read]]) => ({name, input, read, view: field(label, input)}));
  ask({title, word, kind, draft: `act:${method}:${path.replaceAll('/', '.')}`, body: [h('p', {class: 'action'}, action), inputs.map((i) => i.view), field('Why (obligatory)', why)], act: async (_form, post) => {
    const extra = Object.fromEntries(inputs.map((i) => [i.name, i.read ? i.read(i.input.value) : i.input.value]));
    const answer = await post(path, {...extra, reason: why.value.trim(), actor: officer()}, method);
    toast(answer?.unchanged ? 'It was so already.' : 'Done.');
    redraw();
  }});
}

function search(place, title, path, hint) {
  const id = h('input', {name: 'id', required: true, placeholder: hint, spellcheck: 'false'});
  return h('form', {class: 'filters', role: 'search', onsubmit: (event) => {
    event.preventDefault();
    history.pushState(null, '', `/console/${path}/${encodeURIComponent(id.value.trim())}`);
    window.dispatchEvent(new PopStateEvent('popstate'));
  }}, field(title, id), h('div', {class: 'field'}, h('button', {type: 'submit'}, 'Open')));
}

/** paged is a table with a button for more. */
async function paged(path, members, heads, row, caption) {
  const place = h('div');
  const data = [];
  async function more(cursor) {
    const page = await api.call(`${path}${api.query({...members, limit: 50, cursor})}`);
    data.push(...page.data);
    put(place, table(caption, heads, data.map(row)), page.nextCursor && h('button', {type: 'button', onclick: () => more(page.nextCursor).catch((e) => toast(e.message, 'bad'))}, 'Show more'));
  }
  await more();
  return place;
}

export async function showAgents(place, _params, go) {
  const filter = Object.fromEntries(new URLSearchParams(location.search));
  const form = h('form', {class: 'filters', role: 'search', onsubmit: (event) => {
    event.preventDefault();
    go(`/console/agents${api.query(Object.fromEntries(new FormData(form)))}`);
  }}, field('Operator', h('input', {name: 'operator', value: filter.operator ?? ''})), field('Status', select('status', [['', 'any'], 'ACTIVE', 'SUSPENDED', 'REVOKED', 'EXPIRED'], filter.status ?? '')),
  field('Type', select('type', [['', 'any'], 'autonomous', 'supervised'], filter.type ?? '')), field('Fleet', h('input', {name: 'fleetId', value: filter.fleetId ?? ''})), h('div', {class: 'field'}, h('button', {type: 'submit'}, 'Filter')));
  put(place, h('h1', null, 'Agents'), search(place, 'By id', 'agents', 'agt_…'), form, h('section', {class: 'card'}, await paged('/agents', filter, ['Agent', 'Operator', 'Type', 'Status', 'Expires', 'Fleet'], (a) => [
    h('a', {href: `/console/agents/${a.agentId}`}, a.agentName), a.operatorLegalName, a.agentType, badge(a.credentialStatus), when(a.expiresAt), partyLink(a.fleetId)], 'Agents')));
}

// The kinds of events in an agent's history. Payments are not among them, because the page shows
// them with their verdicts.
const historyTypes = 'agent.*,attestation.*';

export async function showAgent(place, {id}) {
  const redraw = () => showAgent(place, {id});
  const [a, limits, records, attestations, acts] = await Promise.all([api.call(`/agents/${id}`), api.maybe(`/agents/${id}/limits`), api.maybe(`/audit${api.query({agentId: id, limit: 20, from: new Date(Date.now() - 30 * 86400e3).toISOString()})}`),
    api.maybe(`/agents/${id}/attestations`), api.may('reviewer', 'auditor', 'policy') && api.whole() ? api.maybe(`/activity${api.query({about: id, types: historyTypes, limit: 50})}`) : null]);
  const can = api.may('operator');
  const p = a.effectivePolicy ?? {};
  const done = acts?.data.map((e) => [e.time, h('span', {class: 'act'}, eventWords(e.type), e.actor || e.actorKeyName ? ` by ${e.actor ?? e.actorKeyName}` : '', e.reason ? h('q', null, e.reason) : null)]);
  const timeline = [...(done ?? [[a.registeredAt, 'registered'], [a.issuedAt, `credential ${a.credentialVersion} issued`], [a.statusChangedAt, `status ${a.ownStatus}`],
    ...(attestations?.data ?? []).map((x) => [x.attestedAt, `attested by ${x.attestedBy}`])]), [a.ownershipTransfer?.effectiveAt, 'ownership transfer takes effect'], ...(records?.data ?? []).map((r) => [r.screenedAt, [badge(r.verdict), ` ${money((r._request ?? r).amount)} `, h('a', {href: `/console/case/${r.txnId}`}, r.rule ? ruleShort(r.rule) : r.txnId)]]),
    [a.expiresAt, 'credential expires']].filter(([at]) => at).sort((x, y) => (x[0] < y[0] ? 1 : -1));
  const status = (verb, word, kind, text) => h('button', {type: 'button', class: kind, onclick: () => act(`${word}?`, `${word} ${a.agentName}: ${text}`, word, kind, `/agents/${id}/${verb}`, redraw,
    verb === 'revoke' ? {reasonCode: ['Code', select('reasonCode', ['OTHER', 'KEY_COMPROMISE', 'AFFILIATION_CHANGED', 'SUPERSEDED', 'CESSATION', 'SANCTIONS'], 'OTHER')]} : {})}, `${word} …`);
  put(place, h('div', {class: 'titlebar'}, h('h1', null, a.agentName), badge(a.credentialStatus)), h('p', {class: 'meta'}, h('span', {class: 'mono'}, id), h('span', null, a.operatorLegalName), h('span', null, a.agentType)),
    a.ownershipTransfer?.flagged && h('p', {class: 'note warn'}, 'An ownership transfer is flagged: payments are blocked until a re-issue.'),
    a.attestation?.stale && h('p', {class: 'note warn'}, `No attestation is in force. Attest before payments above ${money(a.attestation.above)}.`),
    can && h('div', {class: 'actions left'}, a.agentType === 'autonomous' && h('button', {type: 'button', class: 'good', onclick: () => attest(a, redraw)}, 'Attest …'), a.ownStatus === 'ACTIVE' && status('suspend', 'Suspend', 'warn', 'its payments are blocked until it is reinstated.'),
      a.ownStatus === 'SUSPENDED' && status('reinstate', 'Reinstate', 'good', 'its payments are judged again.'), a.ownStatus !== 'REVOKED' && status('revoke', 'Revoke', 'bad', 'for good.'),
      a.ownStatus !== 'REVOKED' && h('button', {type: 'button', onclick: () => act('Issue a new credential?', `A new credential for ${a.agentName}; the old one ends after the overlap.`, 'Re-issue', 'primary', `/agents/${id}/reissue`, redraw, {overlapHours: ['Overlap in hours', h('input', {type: 'number', min: 0, max: 168, value: 24}), Number]})}, 'Re-issue …'),
      !a.ownershipTransfer?.flagged && h('button', {type: 'button', onclick: () => transfer(a, redraw)}, 'Transfer …')),
    api.may('policy') && api.whole() && a.ownershipTransfer?.flagged && h('div', {class: 'actions left'}, h('button', {type: 'button', onclick: () => act('Take the transfer back?', `${a.agentName} stays with ${a.operatorLegalName}.`, 'Take back', 'warn', `/agents/${id}/ownership-transfer`, redraw, {}, 'DELETE')}, 'Take the transfer back …')),
    h('div', {class: 'columns'}, h('div', null, limits && h('section', {class: 'card'}, h('h2', null, 'Spent today'), bar('This agent', limits.spentUSDC, limits.heldUSDC, limits.dailyLimitUSDC), limits.fleet && bar('Its fleet', limits.fleet.spentUSDC ?? limits.fleet.spentTodayUSDC, limits.fleet.heldUSDC, limits.fleet.dailyLimitUSDC),
      facts([['Left', money(limits.availableUSDC)], ['Single payment', money(limits.maxSingleTxUSDC)]])), h('section', {class: 'card'}, h('h2', null, 'History'), h('ol', {class: 'comments'}, timeline.map(([at, what]) => h('li', null, when(at), ' ', what))))),
    h('div', null, h('section', {class: 'card'}, h('h2', null, 'Credential and settings'), facts([['Purpose', a.purpose], ['Version', a.credentialVersion], ['Issued', when(a.issuedAt)], ['Expires', when(a.expiresAt)], ['Operator', badge(a.operatorStatus ?? 'ACTIVE')], ['Operator id', h('span', {class: 'mono'}, a.operatorId)], ['Fleet', a.fleetId && partyLink(a.fleetId)],
      ['Parent', a.parentAgentId && partyLink(a.parentAgentId)], ['Model', a.currentModel ?? a.underlyingModel], ['Framework', a.agentFramework], ['Chains', (p.allowedChains ?? []).join(', ') || 'any'], ['Rails', (p.allowedRails ?? []).join(', ') || 'any'], ['Screening', p.counterpartyScreening]])),
    a.attestation?.required !== undefined && h('section', {class: 'card'}, h('h2', null, 'Attestation'), facts([['Needed', a.attestation.required ? 'yes' : 'no'], ['Last', when(a.attestation.attestedAt)], ['Until', when(a.attestation.validUntil)]])))));
}

function attest(a, redraw) {
  const who = signs('Attested by');
  const note = h('textarea', {name: 'note', rows: 3, maxlength: 8192});
  ask({title: 'Attest?', word: 'Attest', kind: 'good', draft: `attest:${a.agentId}`, body: [h('p', {class: 'action'}, `Attest that ${a.agentName} acts within its mandate, for the next 24 hours.`), who.view, field('Note', note)], act: async (_form, post) => {
    await post(`/agents/${a.agentId}/attest`, {attestedBy: who.name(), ...(note.value.trim() && {note: note.value.trim()})});
    toast('Attested.');
    redraw();
  }});
}

function transfer(a, redraw) {
  const to = h('input', {name: 'to', required: true, maxlength: 512});
  const note = h('textarea', {name: 'note', rows: 3, maxlength: 8192});
  ask({title: 'Flag an ownership transfer?', word: 'Flag the transfer', kind: 'warn', draft: `transfer:${a.agentId}`, body: [h('p', {class: 'action'}, `${a.agentName} goes from ${a.operatorLegalName} to another operator. Its payments are blocked until a re-issue.`), field('New operator, legal name or id (opr_…)', to), field('Note', note)], act: async (_form, post) => {
    await post(`/agents/${a.agentId}/ownership-transfer`, {[to.value.trim().startsWith('opr_') ? 'newOperatorId' : 'newOperatorLegalName']: to.value.trim(), actor: officer(), ...(note.value.trim() && {note: note.value.trim()})});
    toast('Flagged.');
    redraw();
  }});
}

export async function showFleets(place) {
  const filter = Object.fromEntries(new URLSearchParams(location.search));
  put(place, h('h1', null, 'Fleets'), search(place, 'By id', 'fleets', 'flt_…'), h('section', {class: 'card'}, await paged('/fleets', filter, ['Fleet', 'Operator', 'Agents', 'Daily limit', 'Spent today'], (f) => [
    h('a', {href: `/console/fleets/${f.fleetId}`}, f.fleetName), f.operatorLegalName, count(f.agentCount), money(f.dailyLimitUSDC), money(f.spentTodayUSDC)], 'Fleets')));
}

export async function showFleet(place, {id}) {
  const f = await api.call(`/fleets/${id}`);
  const redraw = () => showFleet(place, {id});
  put(place, h('div', {class: 'titlebar'}, h('h1', null, f.fleetName ?? id), api.may('operator', 'policy') && h('button', {type: 'button', onclick: () => act('Change the daily limit?', `The daily limit of ${f.fleetName}, ${money(f.dailyLimitUSDC)} now.`, 'Change', 'warn', `/fleets/${id}`, redraw,
    {dailyLimitUSDC: ['Daily limit in dollars', h('input', {type: 'number', min: 0, step: 'any', value: f.dailyLimitUSDC}), Number]}, 'PATCH')}, 'Change the limit …')), h('p', {class: 'meta'}, h('span', {class: 'mono'}, id), f.operatorLegalName),
  h('section', {class: 'card'}, h('h2', null, 'Spent today'), bar('All agents together', f.spentTodayUSDC, f.heldTodayUSDC ?? f.heldUSDC, f.dailyLimitUSDC)),
  api.may('operator', 'reviewer', 'auditor', 'policy') && h('section', {class: 'card'}, h('h2', null, `Agents: ${count(f.agentCount)}`), await paged('/agents', {fleetId: id}, ['Agent', 'Type', 'Status'], (a) => [h('a', {href: `/console/agents/${a.agentId}`}, a.agentName), a.agentType, badge(a.credentialStatus)], 'Agents of this fleet')));
}

export async function showUsers(place, {id} = {}, go) {
  put(place, h('h1', null, 'Users'), search(place, 'By id', 'users', 'usr_…'));
  if (!id) {
    const status = new URLSearchParams(location.search).get('status') ?? '';
    const form = h('form', {class: 'filters', role: 'search', onsubmit: (event) => {
      event.preventDefault();
      go(`/console/users${api.query(Object.fromEntries(new FormData(form)))}`);
    }}, field('Status', select('status', [['', 'any'], 'ACTIVE', 'SUSPENDED', 'REVOKED', 'EXPIRED'], status)), h('div', {class: 'field'}, h('button', {type: 'submit'}, 'Filter')));
    place.append(form, h('section', {class: 'card'}, await paged('/users', {status}, ['User', 'Operator', 'Status', 'Issued', 'Expires', 'Agents'], (u) => [
      h('a', {href: `/console/users/${u.userId}`}, u.legalName ?? u.userId), u.operatorLegalName ?? '–', badge(u.credentialStatus), when(u.issuedAt), when(u.expiresAt), count((u.agentIds ?? []).length)], 'Users')));
    return;
  }
  const u = await api.call(`/users/${id}`);
  const redraw = () => showUsers(place, {id}, go);
  const status = (verb, word, kind) => h('button', {type: 'button', class: kind, onclick: () => act(`${word}?`, `${word} ${u.legalName ?? id}.`, word, kind, `/users/${id}/${verb}`, redraw)}, `${word} …`);
  const own = u.ownStatus ?? u.credentialStatus;
  place.append(h('section', {class: 'card'}, h('h2', null, u.legalName ?? u.userName ?? id, ' ', badge(u.credentialStatus)), facts([['Id', h('span', {class: 'mono'}, id)], ['Operator', u.operatorLegalName], ['Version', u.credentialVersion], ['Issued', when(u.issuedAt)], ['Status since', when(u.statusChangedAt)], ['Expires', when(u.expiresAt)], ['Stored until', when(u.recordExpiresAt)],
    ['Agents', h('ul', {class: 'plainlist spaced'}, (u.agentIds ?? []).map((x) => h('li', null, partyLink(x))))]]), api.may('operator') && h('div', {class: 'actions left'}, own === 'ACTIVE' && status('suspend', 'Suspend', 'warn'), own === 'SUSPENDED' && status('reinstate', 'Reinstate', 'good'), own !== 'REVOKED' && status('revoke', 'Revoke', 'bad'),
      own !== 'REVOKED' && h('button', {type: 'button', class: 'reissue', onclick: () => act('Issue a new credential?', `A new credential for ${u.legalName ?? id}; the old one ends after the overlap.`, 'Re-issue', 'primary', `/users/${id}/reissue`, redraw, {overlapHours: ['Overlap in hours', h('input', {type: 'number', min: 0, max: 168, value: 24}), Number]})}, 'Re-issue …'))));
}

const operatorsAsked = 40; // Whose state is shown: one question each.

export async function showOperators(place) {
  const page = await api.call(`/agents${api.query({limit: 500})}`);
  const redraw = () => showOperators(place);
  const byId = new Map(page.data.map((a) => [a.operatorId, a]));
  const operators = [...byId.values()].sort((x, y) => x.operatorLegalName.localeCompare(y.operatorLegalName) || x.operatorId.localeCompare(y.operatorId));
  const change = (a, verb, word, kind) => h('button', {type: 'button', class: `small ${kind}`, onclick: () => act(`${word}?`, `${word} ${a.operatorLegalName}: this counts for all its agents at once.`, word, kind, `/operators/${verb}`, redraw, {operatorId: ['Operator', h('input', {value: a.operatorId, required: true})]})}, `${word} …`);
  const states = new Map(await Promise.all(operators.slice(0, operatorsAsked).map(async (a) => [a.operatorId, (await api.maybe(`/agents/${a.agentId}`).catch(() => null))?.operatorStatus])));
  put(place, h('h1', null, 'Operators'), page.nextCursor && h('p', {class: 'quiet'}, 'Of the newest 500 agents.'), h('section', {class: 'card'}, table('Operators', ['Operator', 'Status', 'Agents', 'Active agents', 'Id', 'Change'], operators.map((a) => {
    const own = page.data.filter((other) => other.operatorId === a.operatorId);
    const state = states.get(a.operatorId);
    return [h('a', {href: `/console/agents${api.query({operator: a.operatorId})}`}, a.operatorLegalName), state ? badge(state) : '–', count(own.length), count(own.filter((other) => other.credentialStatus === 'ACTIVE').length), h('span', {class: 'mono'}, a.operatorId), api.may('operator') ? h('span', {class: 'actions left'}, state !== 'SUSPENDED' && change(a, 'suspend', 'Suspend', 'warn'), state !== 'ACTIVE' && change(a, 'reinstate', 'Reinstate', 'good')) : '–'];
  }))));
}
