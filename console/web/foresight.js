// This page shows what another policy or list would have decided about past calls (backtests)
// and decides about calls as they come (shadows), and which parties of the past are on a list
// (retro-screening).

import {h, s, put, money, count, when, badge, table, facts, field, select, toast, say, ruleShort, ruleWords, endOf} from './dom.js';
import * as api from './api.js';
import {partyLink} from './names.js';
import {ask} from './ask.js';
import {officer} from './who.js';
import {changes} from './policywords.js';

const every = 2000;
const verdicts = ['PROCEED', 'REVIEW', 'BLOCK', 'UNKNOWN'];
const kinds = {
  backtests: {path: '/backtests', one: 'Backtest', stop: 'cancel', word: 'Cancel'},
  shadows: {path: '/policy/shadow', one: 'Shadow', stop: 'stop', word: 'Stop'},
};

export const trialLink = (kind, id) => `/console/foresight/${kind}/${id}`;
const retroLink = (id) => `/console/foresight/retro/${id}`;
const tries = () => api.may('policy', 'reviewer');

const candidateOf = (job) => (job.policy || job.policyGiven ? 'another policy' : job.listSnapshotId ? `list ${job.listSnapshotId}` : 'what was in force');
const part = (done, of) => (of > 0 ? Math.min(100, Math.floor((100 * done) / of)) : 100);

/** meter is a bar of progress that says its figure. */
const meter = (label, done, of) => h('p', {class: 'meter'}, h('progress', {max: 100, value: part(done, of), 'aria-label': label}), ` ${label}: ${part(done, of)} %`);

/** watching draws until it is left, as long as draw says that there is more to come. */
function watching(draw) {
  let timer = null;
  let left = false;
  const next = async () => {
    if (left) return;
    const busy = document.hidden || document.querySelector('dialog[open]');
    const more = busy || await draw(true).catch(() => true);
    if (!left && more) timer = setTimeout(next, every);
  };
  timer = setTimeout(next, every);
  return () => {
    left = true;
    clearTimeout(timer);
  };
}

/** lists are the snapshots that a trial may name, the newest first. */
async function knownLists() {
  const got = await api.maybe('/ofac');
  const seen = new Set();
  return [got?.active, ...(got?.staged ?? []), ...(got?.history ?? [])].filter((l) => l && !seen.has(l.snapshotId) && seen.add(l.snapshotId))
    .map((l) => ({...l, words: `${l.snapshotId}, ${l.publishedAt ? `published ${l.publishedAt.slice(0, 10)}` : l.source}${l === got.active ? ', active' : l.activatedAt ? '' : ', staged'}`}));
}

const day = (ago) => new Date(Date.now() - ago * 86400e3).toISOString().slice(0, 10);

/** busy tells kindly that a job of the kind runs already, and where. */
async function busy(error, kind) {
  if (error.code !== 'job_running') throw error;
  const jobs = await api.maybe(kind === 'retro' ? '/ofac/retro' : kinds[kind].path).catch(() => null);
  const running = (jobs?.data ?? []).find((job) => job.state === 'running');
  const id = running?.id ?? running?.retroId;
  error.shown = h('div', {class: 'note warn'}, h('p', null, 'One runs already, and one runs at a time. Nothing was begun.'),
    id && h('p', null, h('a', {href: kind === 'retro' ? retroLink(id) : trialLink(kind, id), onclick: (e) => e.target.closest('dialog')?.close()}, 'See the one that runs')));
  throw error;
}

/** askBacktest asks from when on, and against which list, a candidate is to be tried. policy: a document, or nothing. */
export async function askBacktest(go, policy, listId) {
  const lists = await knownLists();
  const from = h('input', {name: 'from', type: 'date', required: true, value: day(30), min: day(90), max: day(0)});
  const to = h('input', {name: 'to', type: 'date', max: day(0)});
  const list = select('list', [['', 'the one of each call'], ...lists.map((l) => [l.snapshotId, l.words])], listId ?? '');
  ask({title: 'What would it have changed?', word: 'Begin', body: [
    h('p', {class: 'action'}, policy ? 'Judge the recorded payments again under your edit.' : 'Judge the recorded payments again.'),
    h('p', {class: 'quiet'}, 'It runs beside the payments, counters included, and changes nothing. It may take minutes; you can leave the page.'),
    field('Payments from', from, 'Records are kept for 90 days.'), field('Until', to, 'Left empty: until now.'), field('Sanctions list', list)], act: async (_form, post) => {
    const body = {from: `${from.value}T00:00:00Z`, ...(to.value && {to: endOf(to.value)}), ...(policy && {policy}), ...(list.value && {listSnapshotId: list.value})};
    const job = await post('/backtests', body).catch((error) => busy(error, 'backtests'));
    go(trialLink('backtests', job.id));
  }});
}

/** askShadow asks for how long a candidate is to be tried beside the verdicts. */
export function askShadow(go, policy, listId) {
  const days = h('input', {name: 'days', type: 'number', min: 1, max: 30, required: true, value: 7});
  ask({title: 'Try it beside the verdicts?', word: 'Begin', body: [h('p', {class: 'action'}, `Every payment from now on is judged a second time, under ${policy ? 'your edit' : `list ${listId}`}, a moment after its verdict.`),
    h('p', {class: 'quiet'}, 'No verdict waits for it and none is changed by it. It runs on this node; after a restart it does what it missed.'), field('For so many days', days)], act: async (_form, post) => {
    const job = await post('/policy/shadow', {...(policy ? {policy} : {listSnapshotId: listId}), days: Number(days.value)}).catch((error) => busy(error, 'shadows'));
    go(trialLink('shadows', job.id));
  }});
}

/** askRetro asks how far back a list is to look. */
export async function askRetro(go, listId) {
  const lists = (await knownLists()).filter((l) => l.activatedAt);
  const list = select('list', lists.map((l) => [l.snapshotId, l.words]), listId ?? lists[0]?.snapshotId);
  const against = select('against', [['', 'all that the list names'], ...lists.map((l) => [l.snapshotId, `what it adds to ${l.words}`])], '');
  const days = h('input', {name: 'days', type: 'number', min: 1, max: 90, required: true, value: 90});
  ask({title: 'Look back with a list?', word: 'Begin', body: [h('p', {class: 'action'}, 'Hold every operator, user, live agent and recorded counterparty against the list.'),
    h('p', {class: 'quiet'}, 'The leader does it beside the payments. Each hit becomes a leaf of the log and an alert.'), field('List', list), field('Tell of', against), field('Days back', days)], act: async (_form, post) => {
    const run = await post('/ofac/retro', {listSnapshotId: list.value, days: Number(days.value), ...(against.value && {against: against.value})}).catch((error) => busy(error, 'retro'));
    go(retroLink(run.retroId));
  }});
}

/** showForesight lists what was tried and what was looked back at, on all nodes. */
export async function showForesight(place, _params, go) {
  async function draw(poll) {
    const [backtests, shadows, retro] = await Promise.all([api.maybe('/backtests', {poll}), api.maybe('/policy/shadow', {poll}), api.maybe(`/ofac/retro${api.query({limit: 20})}`, {poll})]);
    const silent = [...new Set([...(backtests?.unreachable ?? []), ...(shadows?.unreachable ?? [])])];
    const jobs = (page, kind) => table(`${kinds[kind].one}s`, ['Begun', 'Tried', 'From', 'To', 'State', 'Payments', 'Other verdicts', 'Node'], (page?.data ?? []).map((j) => [h('a', {href: trialLink(kind, j.id)}, when(j.createdAt)), candidateOf(j), when(j.from), when(j.to),
      h('span', null, badge(j.state), j.state === 'running' && kind === 'backtests' && ` ${part(j.progress.leaves, j.progress.of)} %`), count(j.records), count(j.changed), j.node]));
    const parts = [silent.length > 0 && h('p', {class: 'note warn'}, `What ${silent.join(', ')} may remember is missing: no answer.`),
      h('section', {class: 'card'}, h('div', {class: 'titlebar'}, h('h2', null, 'Backtests'), tries() && h('button', {type: 'button', id: 'begin-backtest', onclick: () => askBacktest(go).catch((e) => toast(e.message, 'bad'))}, 'Begin …')),
        h('p', {class: 'quiet'}, 'What a list or a policy would have made of payments that were judged. An edit of the policy is tried from ', h('a', {href: '/console/policy'}, 'the policy’s page'), '.'), jobs(backtests, 'backtests')),
      h('section', {class: 'card'}, h('h2', null, 'Shadows'), h('p', {class: 'quiet'}, 'A candidate that judges payments as they come, beside the verdicts. One is begun from ', h('a', {href: '/console/policy'}, 'the policy’s page'), ' or from a staged list.'), jobs(shadows, 'shadows')),
      h('section', {class: 'card'}, h('div', {class: 'titlebar'}, h('h2', null, 'Looking back with a list'), tries() && h('button', {type: 'button', id: 'begin-retro', onclick: () => askRetro(go).catch((e) => toast(e.message, 'bad'))}, 'Look back …')),
        h('p', {class: 'quiet'}, 'Whom of the last 90 days a list names. It runs by itself when a list is activated.'),
        table('Retro-screenings', ['Begun', 'List', 'Against', 'State', 'Hits', 'Known before', 'Asked for'], (retro?.data ?? []).map((r) => [h('a', {href: retroLink(r.retroId)}, when(r.startedAt)), h('span', {class: 'mono'}, r.listSnapshotId ?? `version ${r.listVersion}`), h('span', {class: 'mono'}, r.against ?? '–'), badge(r.state), count(r.hits), count(r.known), r.asked ? 'yes' : 'by the activation'])))];
    put(place, h('h1', null, 'Foresight'), parts);
    return [backtests, shadows, retro].some((page) => (page?.data ?? []).some((job) => job.state === 'running'));
  }
  await draw(false);
  return watching(async (poll) => (place.contains(document.activeElement) ? true : draw(poll)));
}

/** matrixView is what was judged against what would have been. */
function matrixView(job) {
  const cell = (was, now) => job.matrix.find((x) => x.recorded === was && x.candidate === now);
  const rows = verdicts.filter((was) => verdicts.some((now) => cell(was, now)));
  const columns = verdicts.filter((now) => verdicts.some((was) => cell(was, now)));
  if (rows.length === 0) return h('p', {class: 'quiet'}, 'No payment was judged yet.');
  return table('Verdicts, as recorded and as they would have been', ['Was', ...columns.map((now) => `would be ${now}`)], rows.map((was) => [badge(was), ...columns.map((now) => {
    const found = cell(was, now);
    if (!found) return h('span', {class: 'quiet'}, '·');
    const text = [count(found.count), h('span', {class: 'quiet'}, ` ${money(found.amountUSDC)}`)];
    return was === now ? h('span', null, text) : h('strong', {class: 'moved'}, text, h('span', {class: 'unseen'}, ' changed'));
  })]));
}

/** reviewsView is what it would cost officers, by day. */
function reviewsView(reviews) {
  const days = reviews.days.slice(-90);
  const most = Math.max(1, ...days.flatMap((d) => [d.recorded, d.candidate]));
  const wide = 520 / Math.max(days.length, 12);
  const pair = (d, i) => [['was', d.recorded, 0], ['now', d.candidate, 1]].map(([kind, n, side]) => n > 0 && s('rect', {class: kind, x: 34 + i * wide + (side * wide * 0.4), y: 110 - (100 * n) / most, width: Math.max(1, wide * 0.38), height: (100 * n) / most}, s('title', null, `${d.day}: ${n}`)));
  return h('section', {class: 'card'}, h('h2', null, 'Officers’ work'),
    h('p', null, `Reviews: ${count(reviews.recorded)} as recorded, `, h('strong', null, `${count(reviews.candidate)} with the candidate`), `. A day: ${reviews.perDay.recorded.toFixed(1)}, `, h('strong', null, reviews.perDay.candidate.toFixed(1)), '.'),
    days.length > 0 && s('svg', {class: 'chart', viewBox: '0 0 560 130', role: 'img', 'aria-label': `Reviews by day: ${days.slice(-14).map((d) => `${d.day} ${d.recorded} recorded, ${d.candidate} with the candidate`).join('; ')}`},
      s('text', {x: 0, y: 18}, String(most)), s('text', {x: 0, y: 112}, '0'), days.map(pair), [0, days.length - 1].filter((x, i, all) => all.indexOf(x) === i && (i === 0 || days.length > 6)).map((i) => s('text', {x: Math.min(34 + i * wide, 495), y: 126}, days[i].day))),
    h('ul', {class: 'legend'}, [['was', 'as recorded'], ['now', 'with the candidate']].map(([kind, text]) => h('li', null, s('svg', {class: 'chart', viewBox: '0 0 10 10', 'aria-hidden': 'true'}, s('rect', {class: kind, width: 10, height: 10})), text))),
    h('details', null, h('summary', null, 'As a table'), table('Reviews by day', ['Day', 'As recorded', 'With the candidate'], reviews.days.map((d) => [d.day, count(d.recorded), count(d.candidate)]))));
}

/** savedView is what officers said of the reviews that the candidate saves. */
function savedView(saved) {
  if (saved.count === 0) return null;
  const one = saved.count === 1;
  return h('section', {class: 'card', id: 'saved'}, h('h2', null, 'What officers said of the reviews that it saves'),
    h('p', {class: 'sentence'}, `Of the ${one ? 'one review' : `${count(saved.count)} reviews`} that ${one ? 'it saves' : 'this candidate saves'}, officers approved ${count(saved.approved)} and refused ${count(saved.refused)}${saved.undecided > 0 ? `; ${count(saved.undecided)} ${saved.undecided === 1 ? 'is' : 'are'} not decided yet` : ''}.`),
    saved.refused > 0 && [h('p', {class: 'note warn'}, 'A person stopped these payments, and nobody would have seen them:'),
      table('Refused by officers, and no review under the candidate', ['When', 'Amount', 'Was', 'Would be', 'Agent'], saved.refusedExamples.map((e) => [h('a', {href: `/console/case/${e.txnId}`}, when(e.screenedAt)), money(e.amount), side(e.recorded), side(e.candidate), partyLink(e.agentId)])),
      saved.refused > saved.refusedExamples.length && h('p', {class: 'quiet'}, `The first ${count(saved.refusedExamples.length)} are shown.`)],
    saved.truncated && h('p', {class: 'quiet'}, 'There were more than are followed until they are decided: some count as not decided.'));
}

/** doubts says what the result cannot know, in words. */
function doubts(job) {
  const n = job.notHeld;
  const calls = (k) => `${count(k)} ${k === 1 ? 'payment' : 'payments'}`;
  const told = [
    n.officerDecisions > 0 && `${calls(n.officerDecisions)} would have waited for an officer who never saw them. They count as not approved.`,
    n.listGone > 0 && `The list of ${calls(n.listGone)} is not kept any more: what it said is taken from the record.`,
    n.listAgeUnknown > 0 && `Whether the list was too old under the candidate is not known for ${calls(n.listAgeUnknown)}.`,
    n.credentials > 0 && `${calls(n.credentials)} had no good credential. Tokens are never stored, so that stays as it was.`,
    n.unreadable > 0 && `${count(n.unreadable)} records could not be read by any node.`,
    ...n.rules.map((r) => `${ruleShort(r.rule)} (${ruleWords(r.rule)}) is taken from the record for ${calls(r.records)}.`),
    job.agents.inexact > 0 && h('span', null, `The counters of ${count(job.agents.inexact)} of ${count(job.agents.judged)} agents rest on such doubts: `, job.agents.inexactIds.slice(0, 5).flatMap((id, i) => [i ? ', ' : '', partyLink(id)]), job.agents.inexact > 5 ? ' and others.' : '.'),
    job.agents.truncated && 'More went another way than is followed: counters are not exact.',
  ].filter(Boolean);
  return h('section', {class: 'card', id: 'doubts'}, h('h2', null, 'What it cannot know'),
    told.length === 0 ? h('p', null, 'Nothing of what it rests on was missing from the records.') : h('ul', null, told.map((t) => h('li', null, t))),
    h('p', {class: 'quiet'}, 'Nobody knows what agents would have done next: an agent that is stopped may pay another way, or not at all.'));
}

const side = (x) => h('span', null, badge(x.verdict), ' ', x.rule ? h('span', {title: x.reason}, `${ruleShort(x.rule)} ${ruleWords(x.rule)}`) : h('span', {class: 'quiet'}, 'no rule'));

function examplesView(job) {
  return h('section', {class: 'card'}, h('h2', null, 'Examples'), job.examples.length === 0 ? h('p', {class: 'quiet'}, job.records === 0 ? 'None yet.' : 'None: every payment came out as it did.') :
    table('Payments that would have come out differently', ['When', 'Amount', 'Was', 'Would be', 'Agent'], job.examples.map((e) => [h('a', {href: `/console/case/${e.txnId}`}, when(e.screenedAt)), money(e.amount), side(e.recorded), side(e.candidate), partyLink(e.agentId)])),
  job.examples.length >= 10 && h('p', {class: 'quiet'}, 'Ten of a kind at most, 100 in all.'));
}

function rulesView(job) {
  const moved = job.rules.filter((r) => r.gained > 0 || r.lost > 0);
  if (moved.length === 0) return null;
  return h('section', {class: 'card'}, h('h2', null, 'Which rule decides'), table('Payments by deciding rule', ['Rule', 'As recorded', 'With the candidate', 'More', 'Fewer'], moved.map((r) => [r.rule ? `${ruleShort(r.rule)} ${ruleWords(r.rule)}` : 'none: it goes through', count(r.recorded), count(r.candidate), r.gained ? `+${count(r.gained)}` : '–', r.lost ? `−${count(r.lost)}` : '–'])));
}

/** showTrial is one backtest or shadow, drawn anew while it runs. */
const showTrial = (kind) => async (place, {id}, go) => {
  const words = kinds[kind];
  let now = await api.maybe('/policy');
  let state = '';
  async function draw(poll) {
    const job = await api.call(`${words.path}/${id}`, {poll});
    const running = job.state === 'running';
    if (poll && state && state !== job.state) say(`${words.one} ${job.state}`);
    state = job.state;
    const edit = job.policy && now ? changes(now.policy ?? {}, job.policy) : [];
    const open = new Set([...place.querySelectorAll('details[open] > summary')].map((x) => x.textContent));
    const held = place.contains(document.activeElement) ? document.activeElement.id : '';
    put(place, h('div', {class: 'titlebar'}, h('h1', null, `${words.one} of ${candidateOf(job)}`), badge(job.state)),
      h('p', {class: 'sentence', id: 'outcome'}, sentenceOf(kind, job)),
      h('p', {class: 'meta'}, h('span', {class: 'mono'}, job.id), `node ${job.node}`, h('span', null, 'begun ', when(job.createdAt), ` by ${job.createdByName ?? job.createdBy}`), job.endedAt && h('span', null, 'ended ', when(job.endedAt)), h('span', null, 'payments from ', when(job.from), ' to ', when(job.to))),
      job.error && h('p', {class: 'note bad'}, job.error),
      running && kind === 'backtests' && meter('Read', job.progress.leaves, job.progress.of),
      h('div', {class: 'actions left'}, running && tries() && h('button', {type: 'button', id: 'stop', onclick: () => end(job)}, `${words.word} …`),
        kind === 'shadows' && api.may('policy') && h('button', {type: 'button', id: 'promote', class: 'warn', onclick: () => promote(job)}, 'Put in force …'),
        job.policy && api.may('policy', 'reviewer') && h('a', {class: 'button', href: `/console/policy?from=${job.id}`}, api.may('policy') ? 'Edit this policy' : 'See this policy'), h('a', {href: '/console/foresight'}, 'All of them')),
      h('div', {class: 'columns'}, h('div', null, h('section', {class: 'card', id: 'matrix'}, h('h2', null, 'Verdicts'), matrixView(job), h('p', {class: 'quiet'}, 'How many payments, and what they amount to. What changed is bold.')), examplesView(job), rulesView(job)),
        h('div', null, job.policy && h('section', {class: 'card'}, h('h2', null, 'The candidate'), edit.length === 0 ? h('p', {class: 'quiet'}, 'It is the policy that is in force now.') : [h('p', {class: 'quiet'}, 'Against the policy in force now:'), h('ul', {class: 'words'}, edit.map((x) => h('li', null, x.text)))]),
          reviewsView(job.reviews), savedView(job.saved), doubts(job))));
    for (const box of place.querySelectorAll('details')) if (open.has(box.querySelector('summary')?.textContent)) box.open = true;
    if (held) document.getElementById(held)?.focus({preventScroll: true});
    return running;
  }

  function end(job) {
    ask({title: `${words.word} it?`, word: words.word, kind: 'warn', body: [h('p', {class: 'action'}, `It judges no more payments. What it found so far stays with node ${job.node}, among the newest 16 that have ended.`)], act: async (_form, post) => {
      await post(`${words.path}/${id}/${words.stop}`, {});
      await draw(false);
    }});
  }

  function promote(job) {
    const typed = h('input', {name: 'typed', required: true, pattern: 'put in force', 'data-want': 'Type “put in force”, letter by letter.', autocomplete: 'off', spellcheck: 'false'});
    const why = h('textarea', {name: 'reason', rows: 3, required: true, maxlength: 8192});
    const edit = job.policy && now ? changes(now.policy ?? {}, job.policy) : [];
    ask({title: 'Put the candidate in force?', word: 'Put in force', kind: 'warn', draft: `promote:${id}`, body: [h('p', {class: 'action'}, job.policy ? `It replaces policy version ${now?.policyVersion ?? '?'} for every payment from now on.` : `Every payment from now on is screened by list ${job.listSnapshotId}.`),
      h('p', null, `It judged ${count(job.records)} payments; ${count(job.changed)} came to another verdict.`),
      edit.length > 0 && h('ul', {class: 'words'}, edit.map((x) => h('li', null, x.text))), field('Why (obligatory)', why), field('Type “put in force”', typed)], act: async (_form, post) => {
      await post(`${words.path}/${id}/promote`, {reason: why.value.trim(), actor: officer()});
      toast('It is in force. The shadow goes on and tells what still differs, until it is stopped.');
      now = await api.maybe('/policy');
      await draw(false);
    }});
  }

  await draw(false);
  return watching(draw);
};

function sentenceOf(kind, job) {
  const running = job.state === 'running' ? (kind === 'shadows' ? ' so far' : ' of those read so far') : '';
  if (job.records === 0) return job.state === 'running' ? 'No payment was judged yet.' : 'There was no payment to judge.';
  if (job.changed === 0) return `${count(job.records)} payments were judged again: every verdict${running} stays as it is.`;
  return `${count(job.changed)} of ${count(job.records)} payments${running} would have had another verdict.`;
}

export const showBacktest = showTrial('backtests');
export const showShadow = showTrial('shadows');

const join = (parts) => parts.flatMap((x, i) => (i ? [', ', x] : [x]));

/** showRetro is what one run found. */
export async function showRetro(place, {id}, go) {
  const more = [];
  let cursor = null;
  async function draw(poll) {
    if (poll && more.length > 0) return true; // Further pages are being read.
    const r = await api.call(`/ofac/retro/${id}${api.query({limit: 50})}`, {poll});
    cursor = r.nextCursor;
    show(r);
    return r.state === 'running';
  }
  function show(r) {
    const running = r.state === 'running';
    const all = r.all;
    const rows = [...r.data, ...more];
    put(place, h('div', {class: 'titlebar'}, h('h1', null, 'Looking back with a list'), badge(r.state)),
      h('p', {class: 'sentence', id: 'outcome'}, r.hits === 0 ? (running ? 'Nobody was found yet.' : r.known ? `Nobody more is named by it: ${r.known === 1 ? '1 hit is' : `${count(r.known)} hits are`} known from earlier runs of this list.` : 'Nobody of the past is named by it.') :
        `${count(all.payments.count)} ${all.payments.count === 1 ? 'payment' : 'payments'} of ${money(all.payments.amountUSDC)} and ${count(all.parties)} registered ${all.parties === 1 ? 'party' : 'parties'} are named; ${count(all.payments.proceeded.count)} of the payments went through (${money(all.payments.proceeded.amountUSDC)}).`),
      h('p', {class: 'meta'}, h('span', {class: 'mono'}, r.retroId), h('span', null, 'list ', h('a', {href: r.listSnapshotId ? `/console/lists/${r.listSnapshotId}` : '/console/lists'}, r.listSnapshotId ?? `version ${r.listVersion}`)), r.against && h('span', null, 'against ', h('a', {href: `/console/lists/${r.against}`}, r.against)),
        h('span', null, 'records from ', when(r.from)), h('span', null, r.asked ? 'asked for' : 'by the activation', ', begun ', when(r.startedAt)), r.endedAt && h('span', null, 'ended ', when(r.endedAt))),
      running && r.progress && meter('Read', r.progress.leaf, r.progress.endLeaf),
      r.truncated && h('p', {class: 'note warn'}, 'There is more than is summed here: ask for fewer days, or look at the alerts.'),
      h('section', {class: 'card'}, h('h2', null, 'Whom the list names'), r.entries.length === 0 ? h('p', {class: 'quiet'}, 'Nobody.') : r.entries.map((e) => h('article', {class: 'hit'}, h('h3', null, e.name ?? `Entry ${e.uid}`), h('p', {class: 'found'}, `${e.text.replace(/ of (\d+(?:\.\d+)?) USD /, (_, n) => ` of ${money(Number(n))} `)}.`),
        facts([['Entry', `${e.entryId ?? e.uid}${e.list ? ` on the list ${e.list}` : ''}`], ['Type', e.type], ['Programmes', (e.programs ?? []).join(', ') || undefined], ['Payments', e.payments.count > 0 ? join(e.payments.txnIds.map((x) => h('a', {href: `/console/case/${x}`}, x))) : undefined],
          ['Went through', e.payments.count > 0 ? `${count(e.payments.proceeded.count)} of ${count(e.payments.count)}, ${money(e.payments.proceeded.amountUSDC)}` : undefined], ['First and last', e.payments.first ? [when(e.payments.first), ' – ', when(e.payments.last)] : undefined],
          ['Parties', e.partyIds.length > 0 ? join(e.partyIds.map((x) => partyLink(x))) : undefined]])))),
      rows.length > 0 && h('section', {class: 'card'}, h('h2', null, 'Hits'), table('Hits', ['What', 'Verdict then', 'Amount', 'Entries', 'How'], rows.map((x) => [x.txnId ? h('a', {href: `/console/case/${x.txnId}`}, when(x.screenedAt)) : x.agentId || x.userId || x.operatorId ? partyLink(x.agentId ?? x.userId ?? x.operatorId) : 'a party', x.verdict ? badge(x.verdict) : '–', x.amount === undefined ? '–' : money(x.amount),
        (x.entries ?? []).join(', '), x.wallet ? 'by wallet' : x.listed ? 'by name, as hard as a block' : 'by name, possibly'])),
      cursor && h('button', {type: 'button', onclick: () => next(r).catch((e) => toast(e.message, 'bad'))}, 'Show more')),
      h('p', null, h('a', {href: '/console/alerts?kind=retro_hit'}, 'The alerts of these hits'), ' · ', h('a', {href: '/console/foresight'}, 'All runs')));
  }
  async function next(r) {
    const page = await api.call(`/ofac/retro/${id}${api.query({limit: 50, cursor})}`);
    more.push(...page.data);
    cursor = page.nextCursor;
    show(r);
  }
  const begun = async () => {
    for (let turns = 0; ; turns += 1) { // The leader begins a run within a second of being asked.
      try {
        return await draw(turns > 0);
      } catch (error) {
        if (error.status !== 404 || turns === 5) throw error;
        await new Promise((then) => { setTimeout(then, 500); });
      }
    }
  };
  await begun();
  return watching(draw);
}
