// One party is one case: who is paid, whom or which place it hit, why, and what differs stand on the first
// screen; below are all its payments before and after, by all agents, and all that was done.

import {h, put, money, when, badge, table, facts, field, toast, select, ruleShort, count} from './dom.js';
import * as api from './api.js';
import {partyLink} from './names.js';
import {verbs} from './decide.js';
import {ask} from './ask.js';
import {signs} from './who.js';
import {workRow, home, kinds} from './inbox.js';
import {clearPair, mayClear, takeBack} from './cleared.js';
import {askedOf} from './fields.js';
import {eventWords} from './events.js';
import {kinds as alertKinds} from './alerts.js';
import {actions} from './actions.js';

const every = 5000;
const states = {wentAhead: 'went ahead', waits: 'waits', blocked: 'blocked', rejected: 'stopped by an officer', returned: 'returned'};
const sides = {payee: 'is paid', operator: 'answers for the agent that pays', payer: 'is the wallet that pays', user: 'is the user whose agent pays'};

const sum = (s) => `${count(s.count)} · ${money(s.amountUSDC)}`;
const plural = (n, one, many) => `${n} ${n === 1 ? one : many}`;
const different = (list) => [...new Set(list.filter(Boolean))];

/** hitName names whom or which place the payments hit. */
const hitName = (p) => (p.entry ? p.entry.name : p.place);

/** headline says in one sentence who, whom, and what waits. */
function headline(p, own) {
  const agents = different(own.map((x) => x.agentName ?? x.agentId)).length;
  const hit = p.entry ? `could be “${p.entry.name}” on the list ${p.entry.list}` : p.place ? `leads to ${p.place}, a place of the policy` : 'hit nobody';
  const waiting = p.reviews.filter((r) => r.own);
  return `${p.name ?? 'A counterparty that is not named'} ${sides[p.side]} and ${hit}. ${waiting.length ? `${plural(waiting.length, 'payment', 'payments')} of ${money(waiting.reduce((n, r) => n + r.amount, 0))} ${waiting.length === 1 ? 'waits' : 'wait'}` : 'Nothing of it waits'}; ` +
    `${plural(agents, 'agent', 'agents')} tried ${plural(p.ownSums.tried.count, 'payment', 'payments')}, and ${money(p.ownSums.wentAhead.amountUSDC)} went ahead${p.sums.wentAhead.count > p.ownSums.wentAhead.count ? `, ${money(p.sums.wentAhead.amountUSDC)} with the spellings that are like it` : ''}.`;
}

/** compared shows what the payments say beside what the list says. */
function compared(p, own) {
  const said = (name) => different(own.map((x) => x[name])).join(' · ');
  const listed = (kinds) => different((p.entryFacts ?? []).filter((f) => kinds.includes(f.kind)).map((f) => f.value)).slice(0, 3).join(' · ');
  const agreement = (kind) => {
    const all = p.identity.filter((x) => kind.includes(x.kind));
    if (all.length === 0) return h('span', {class: 'quiet'}, 'not to compare');
    return all.map((x) => h('span', {class: x.agrees ? 'agrees' : 'differs'}, x.agrees ? 'agrees ' : 'differs '));
  };
  const birth = ['date of birth'];
  const country = ['nationality', 'citizenship', 'place of birth', 'address'];
  return table('What the payments and the list say', ['', 'In the payments', p.entry ? 'On the list' : 'Hit', ''], [
    ['Name', different(own.map((x) => x.cpName)).slice(0, 3).join(' · ') || p.name || '–', hitName(p) ?? '–', p.likeness ? `${(p.likeness * 100).toFixed(1)} % alike` : ''],
    ['Date of birth', said('cpDateOfBirth') || 'not told', listed(birth) || 'not told', agreement(birth)],
    ['Country', said('cpCountry') || 'not told', listed(country.slice(0, 3)) || 'not told', agreement(['nationality'])],
    ['Address', said('cpAddress') || 'not told', listed(['address']) || 'not told', agreement(['address'])],
  ]);
}

/** decideAll asks for one decision about all open reviews of the party, or about those that are chosen. */
function decideAll(p, disposition, chosen, reload) {
  const verb = verbs[disposition];
  const notes = h('textarea', {name: 'notes', rows: 4, required: true, maxlength: 8192, 'data-want': verb.want ?? 'Say why: it stands in each of the records.'});
  const who = signs('Decided by');
  const results = h('ul', {class: 'results', 'aria-live': 'polite'});
  const claimed = chosen.filter((r) => r.assignee);
  const proposed = chosen.filter((r) => r.proposed);
  let done = false;
  ask({title: `${verb.word} ${plural(chosen.length, 'payment', 'payments')} of this party?`, word: verb.word, kind: verb.kind, draft: `party:${p.partyId}:${disposition}`, body: [
    h('p', {class: 'action'}, `${verb.what} ${plural(chosen.length, 'payment', 'payments')} of ${money(chosen.reduce((n, r) => n + r.amount, 0))} to ${p.name ?? 'a counterparty that is not named'}${hitName(p) ? `, who could be ${hitName(p)}` : ''}. Each is recorded by itself; none can be undone.`),
    p.listedToday?.outcome === 'listed' && h('p', {class: 'note bad'}, `By today’s list this party is listed, as ${p.listedToday.name ?? p.listedToday.uid}.`),
    claimed.length > 0 && h('p', {class: 'note warn'}, `${different(claimed.map((r) => r.assignee)).join(', ')} ${claimed.length === 1 ? 'works' : 'work'} on ${claimed.length} of them.`),
    proposed.length > 0 && h('p', {class: 'note'}, `Proposed before: ${different(proposed.map((r) => `${verbs[r.proposed.disposition]?.word ?? '?'} by ${r.proposed.by}${r.proposed.notes ? `, “${r.proposed.notes}”` : ''}`)).join('; ')}.`),
    h('details', null, h('summary', null, 'Which'), h('ul', null, chosen.map((r) => h('li', null, `${money(r.amount)} by ${r.agentName ?? r.agentId}, ${r.rules.map(ruleShort).join(', ')}, `, when(r.openedAt))))),
    who.view, field('Why (obligatory)', notes, 'Stands in each record.'), results,
  ], act: async (_form, post) => {
    if (done) return reload;
    const answer = await post(`/parties/${p.partyId}/decide`, {disposition, reviewedBy: who.name(), notes: notes.value.trim(), only: chosen.map((r) => r.txnId)});
    const bad = answer.results.filter((one) => one.status !== 200);
    if (bad.length === 0) {
      toast(answer.results.some((one) => one.proposed) ? 'Proposed: another officer has to confirm.' : `${verb.done}: ${plural(answer.results.length, 'payment', 'payments')}.`, 'good');
      return reload;
    }
    put(results, answer.results.map((one) => h('li', null, h('span', {class: 'mono'}, one.txnId), `: ${one.status === 200 ? (one.proposed ? 'proposed' : verb.done) : one.code === 'already_dispositioned' ? `${one.reviewedBy} was faster: ${one.disposition}` : one.message}`)));
    done = true;
    throw Object.assign(new Error(), {done: true, shown: h('p', {class: 'note'}, 'All were asked; what became of each stands above.')});
  }});
  notes.focus();
}

/** paymentsOf shows all payments, the newest first. */
const paymentsOf = (p, reload) => table('Payments', ['When', 'Amount', 'To', 'By', 'Verdict', 'Now', 'Decided', 'Found', ...(api.may('reviewer') ? ['Do'] : [])], p.payments.filter((x) => x.txnId).map((x) => [
  h('a', {href: `/console/case/${x.txnId}`}, when(x.screenedAt)), money(x.amount), x.cpName ?? x.cpWallet ?? '–', x.agentId ? partyLink(x.agentId, x.agentName) : '–', h('span', null, badge(x.verdict), ' ', x.rules.map(ruleShort).join(', ')), states[x.state],
  x.disposition ? h('span', null, badge(x.disposition.disposition), ` ${x.disposition.reviewedBy}`) : '–',
  x.own ? 'this party' : h('span', null, x.alike ? `${(x.alike.likeness * 100).toFixed(0)} %: ${x.alike.why}` : 'alike', x.partyId && [' · ', h('a', {href: `/console/party/${x.partyId}`}, 'its case')]),
  ...(api.may('reviewer') ? [h('span', {class: 'actions left'}, actions({txnId: x.txnId, cpName: x.cpName, entry: p.entry, place: p.place, moneyGone: x.state === 'wentAhead', reported: p.reports.some((r) => r.txnId === x.txnId)}, reload))] : [])]));

/** told tells how much a payment says of its payee: a clearing rests on what is said. */
const told = (x) => [x.cpDateOfBirth, x.cpCountry, x.cpAddress].filter(Boolean).length;

/** clear asks why the party is not the listed one. The clearing rests on the payment that says most of its payee. */
async function clear(p, own, reload) {
  const hits = own.filter((x) => x.cpName && x.verdict !== 'BLOCK').sort((a, b) => told(b) - told(a));
  for (const payment of hits) {
    const record = await api.call(`/audit/${payment.txnId}`);
    const match = (record.matches ?? []).find((m) => String(m.uid) === p.entry.uid && mayClear(m, askedOf(m, record)));
    if (match) return clearPair(askedOf(match, record), match, record, reload);
  }
  return toast('None of these payments hit by a name alone: what hit by a wallet or an identifier, or was a BLOCK, is never cleared.', 'warn');
}

/** closedHome is where closed work is read. */
const closedHome = (c) => (c.kind === 'alert' || c.kind === 'retro' ? `/console/alerts?state=acknowledged#${c.alertId}` : home(c));

/** closedOf shows what waits for nobody any more, with who closed it, when and why. */
const closedOf = (p) => table('Closed', ['Closed', 'What', 'Payment', 'State', 'By', 'Why'], p.closed.map((c) => [c.closedAt ? when(c.closedAt) : 'past its 90 days',
  h('a', {href: closedHome(c)}, c.alert ? alertKinds[c.alert] ?? c.alert : kinds[c.kind]), c.txnId ? h('a', {href: `/console/case/${c.txnId}`}, money(c.amount)) : '–', badge(c.state),
  c.persons.length > 1 ? c.persons.join(' and ') : c.closedBy ?? c.closedByKey ?? '–', c.reason ?? '–']));

/** actHome is where an act is read: its case, its report, its alert, or the payment. */
function actHome(a) {
  if (a.caseId) return h('a', {href: `/console/sanctions/${a.caseId}`}, a.caseId);
  if (a.alertId) return h('a', {href: `/console/alerts?state=acknowledged#${a.alertId}`}, a.alertId);
  if (!a.txnId) return '–';
  return h('a', {href: a.what === 'sar.moved' ? `/console/reports#${a.txnId}` : `/console/case/${a.txnId}`}, a.txnId);
}

const voids = {expired: 'it ended', entry_changed: 'the entry changed', entry_removed: 'the entry is listed no more'};

/** clearedOf shows the clearings of the party, also those that were taken back, and takes back those that are not. */
const clearedOf = (p, may, reload) => table('Cleared pairs', ['Cleared', 'By', 'Why', 'Now', ''], p.cleared.map((c) => [when(c.clearedAt), c.clearedBy ?? '–', c.reason,
  c.inForce ? badge('in force') : h('span', null, badge('void'), c.void === 'taken_back' ? [' taken back ', when(c.endedAt), ` by ${c.endedBy ?? '–'}: ${c.endReason ?? '–'}`] : ` ${voids[c.void] ?? c.void}`),
  may && c.void !== 'taken_back' ? h('button', {type: 'button', class: 'small takeback', onclick: () => takeBack({...c, uid: p.entry.uid, entryName: p.entry.name}, reload)}, 'Take back …') : '–']));

export async function showParty(place, {id}) {
  const news = h('div', {role: 'status', id: 'news'});
  let current = null;

  async function draw() {
    const p = await api.call(`/parties/${id}`);
    current = p;
    const own = p.payments.filter((x) => x.own);
    const open = p.reviews.filter((r) => r.own);
    const may = api.may('reviewer');
    const other = [...p.cases, ...p.alerts, ...p.retroHits, ...p.reports, ...p.reviews.filter((r) => !r.own)];
    const clears = may && p.entry && p.entry.listedNow !== false && own.some((x) => x.cpName && x.verdict !== 'BLOCK') && !p.cleared.some((c) => c.inForce);
    const reload = () => draw().then(() => put(news));
    put(place, news,
      h('div', {class: 'titlebar'}, h('h1', null, p.name ?? 'Not named'), hitName(p) && badge(p.entry ? 'possible hit' : 'place'), p.listedSince && badge('listed since'), p.sums.wentAhead.count > 0 && badge('money gone')),
      h('p', {class: 'sentence'}, headline(p, own)),
      p.listedSince && h('p', {class: 'note warn', id: 'since'}, `The payee has been listed since: today’s list has ${p.listedToday.name ?? `entry ${p.listedToday.uid}`}.`),
      may && open.length > 0 && (hitName(p) || open.length === 1 ? h('div', {class: 'actions decide'}, Object.entries(verbs).map(([key, verb]) => h('button', {type: 'button', class: verb.kind, onclick: () => decideAll(p, key, open, reload)}, open.length === 1 ? verb.word : `${verb.word} all ${open.length}`))) :
        h('p', {class: 'quiet'}, 'These payments hit nobody: each is a case of its own, below.')),
      h('div', {class: 'columns first'}, h('section', {class: 'card'}, h('h2', null, 'Who, whom, what differs'), compared(p, own)),
        h('section', {class: 'card'}, h('h2', null, 'What became of it'), facts([...Object.entries(states).filter(([k]) => p.sums[k].count > 0).map(([k, word]) => [word, sum(p.sums[k])]), ['tried in all', sum(p.sums.tried)],
          ['by', different(own.map((x) => x.agentName ?? x.agentId)).slice(0, 4).join(', ')], ['why', own[0]?.reason], p.entry && ['entry', `${p.entry.entryId ?? p.entry.uid} · ${p.entry.programs.join(', ')}${p.entry.listedNow === false ? ' · no longer listed' : ''}`]]))),
      open.length > 0 && h('section', null, h('h2', null, `${plural(open.length, 'payment waits', 'payments wait')}`), h('ol', {class: 'queue'}, open.map((item) => h('li', {class: 'row'}, workRow(item, {may, reload}))))),
      other.length > 0 && h('section', null, h('h2', null, 'Also open'), h('ol', {class: 'queue'}, other.map((item) => h('li', {class: 'row'}, workRow(item, {may, reload}))))),
      p.closed.length > 0 && h('section', {class: 'card', id: 'closed'}, h('h2', null, 'Closed'), closedOf(p), p.closedLeft > 0 && h('p', {class: 'quiet'}, `${count(p.closedLeft)} that were closed before are not shown.`)),
      h('section', {class: 'card'}, h('h2', null, 'All payments, before and after'), paymentsOf(p, reload), p.paymentsLeft > 0 && h('p', {class: 'quiet'}, `${count(p.paymentsLeft)} older ones are summed and not shown.`),
        !p.complete && h('p', {class: 'note'}, `This node has read back to `, when(p.since), ': older payments are not here yet.')),
      p.alike.length > 0 && h('section', {class: 'card'}, h('h2', null, 'Like it'), table('Counterparties that are like it', ['Name', 'Likeness', 'Why'], p.alike.map((a) => [a.name, `${(a.likeness * 100).toFixed(1)} %`, a.why]))),
      p.entry && h('section', {class: 'card'}, h('h2', null, 'On the list'), p.entryNames.length > 0 && h('p', null, p.entryNames.join(' · ')), h('details', null, h('summary', null, 'All that the list says'), table('Listed facts', ['What', 'Value'], p.entryFacts.map((f) => [f.label ?? f.kind, f.value])))),
      (p.cleared.length > 0 || clears) && h('section', {class: 'card', id: 'cleared'}, h('h2', null, 'Cleared pairs'), p.cleared.length > 0 && clearedOf(p, may, reload),
        clears && h('div', {class: 'actions left'}, h('button', {type: 'button', class: 'clear', onclick: () => clear(p, own, reload).catch((e) => toast(e.message, 'bad'))}, 'Clear this pair …'))),
      h('section', {class: 'card'}, h('h2', null, 'What was done'), table('Acts', ['When', 'What', 'By', 'Why', 'Where'], p.acts.map((a) => [when(a.time), [eventWords(a.what), a.disposition && [' ', badge(a.disposition)], (a.to ?? a.state) && ` ${a.to ?? a.state}`], a.actor ?? a.actorKeyId ?? '–', a.reason ?? '–', actHome(a)]))));
  }
  await draw();

  /** look tells what changed meanwhile, and moves nothing of what is being read. */
  async function look() {
    const now = await api.call(`/parties/${id}`, {poll: true});
    const ids = (p) => JSON.stringify([p.reviews.map((r) => [r.txnId, r.assignee, r.proposed?.by]), p.payments.length, p.acts.length, p.paymentsLeft]);
    if (ids(now) !== ids(current) && !news.childElementCount) put(news, h('p', {class: 'note warn'}, 'Something about this party changed meanwhile. ', h('button', {type: 'button', class: 'small', onclick: () => draw().then(() => put(news)).catch((e) => toast(e.message, 'bad'))}, 'Show')));
  }
  const timer = setInterval(() => { if (!document.hidden && !document.querySelector('dialog[open]')) look().catch(() => {}); }, every);
  return () => clearInterval(timer);
}

export async function showParties(place, _params, go) {
  const asked = new URLSearchParams(location.search);
  const filter = {state: asked.get('state') ?? 'open', q: asked.get('q') ?? ''};
  const list = h('div');
  const data = [];
  const form = h('form', {class: 'filters', role: 'search', onsubmit: (event) => {
    event.preventDefault();
    go(`/console/party?${new URLSearchParams(new FormData(form))}`);
  }}, field('Search', h('input', {name: 'q', type: 'search', value: filter.q, placeholder: 'a name in any spelling'})), field('Which', select('state', [['open', 'with open work'], ['all', 'all']], filter.state)), h('div', {class: 'field'}, h('button', {type: 'submit'}, 'Filter')));
  async function more(cursor) {
    const page = await api.call(`/parties${api.query({...filter, limit: 50, cursor})}`);
    data.push(...page.data);
    put(list, data.length ? table('Parties', ['Party', 'Hit', 'Open', 'Waits', 'Went ahead', 'Blocked', 'Newest'], data.map((p) => [h('a', {href: `/console/party/${p.partyId}`}, p.name ?? 'not named'), hitName(p) ?? '–', count(p.open), sum(p.sums.waits), sum(p.sums.wentAhead), sum(p.sums.blocked), when(p.newestAt)])) :
      h('p', null, filter.state === 'open' ? ['No party has open work. ', h('a', {href: `/console/party${api.query({...filter, state: 'all'})}`}, 'All parties')] : 'No payment of that party is among those that this node has read.'),
    !page.complete && h('p', {class: 'note'}, 'This node has not read all of its history yet: ask again.'),
    page.nextCursor && h('button', {type: 'button', onclick: () => more(page.nextCursor).catch((e) => toast(e.message, 'bad'))}, 'Show more'));
  }
  put(place, h('h1', null, 'Parties'), h('p', {class: 'quiet'}, 'Counterparties of our own payments, each with what it hit. One party is one case.'), form, h('section', {class: 'card'}, list));
  await more();
}
