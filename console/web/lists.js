// This page shows the active and the staged sanctions list. An officer can upload files of a new
// list there, and return to an earlier one.

import {h, put, count, when, badge, table, facts, field, toast, say, age} from './dom.js';
import * as api from './api.js';
import {ask} from './ask.js';
import {officer} from './who.js';
import {archive} from './zip.js';
import {askBacktest, askShadow, askRetro} from './foresight.js';
import {besides} from './beside.js';

const uploadMax = 256 * 2 ** 20;
const published = (at) => (at ? when(at) : 'not stated');
const mib = (n) => (n < 2 ** 20 ? `${Math.ceil(n / 1024)} KiB` : `${(n / 2 ** 20).toFixed(1)} MiB`);
export const listLink = (id) => `/console/lists/${id}`;
const named = (l) => h('a', {class: 'mono', href: listLink(l.snapshotId)}, l.snapshotId);

/** publishedView is when a list was published: each family has a day of its own. */
function publishedView(l) {
  const days = Object.entries(l.families ?? {}).filter(([name]) => !(l.missing ?? []).includes(name)).map(([name, f]) => [name, f.publishedAt ?? l.publishedAt]);
  if (new Set(days.map(([, at]) => at)).size < 2) return published(days[0]?.[1] ?? l.publishedAt);
  return days.map(([name, at], i) => [i ? h('br') : '', `${name}: `, published(at)]);
}

/** one is what is known of a list. */
const one = (l) => facts([['Snapshot', named(l)], ['Version', l.listVersion], ['Source', l.source], ['Published', publishedView(l)], ['Staged', l.stagedAt && !l.activatedAt ? when(l.stagedAt) : undefined], ['Activated', l.activatedAt && when(l.activatedAt)],
  ['Parties', count(l.counts?.entries)], ['Names', count(l.counts?.names)], ['Wallets', count(l.counts?.wallets)], ['Size', l.sizeBytes ? mib(l.sizeBytes) : undefined]]);

const familiesView = (l) => table('Families', ['Family', 'Entries', 'Published'], Object.entries(l.families ?? {}).map(([k, f]) => [k, (l.missing ?? []).includes(k) ? h('strong', {class: 'over'}, 'missing') : count(f.entries), (l.missing ?? []).includes(k) ? '–' : published(f.publishedAt ?? l.publishedAt)]));

/** aside tells who was left out as malformed, and what else was noticed. */
function aside(l) {
  const notes = l.warnings ?? [];
  if (!l.quarantined && notes.length === 0) return null;
  return h('div', {class: 'aside'}, l.quarantined > 0 && h('p', {class: 'note warn'}, `${count(l.quarantined)} malformed ${l.quarantined === 1 ? 'entity is' : 'entities are'} quarantined: nobody is screened against ${l.quarantined === 1 ? 'it' : 'them'}.`),
    notes.length > 0 && h('details', {open: l.quarantined > 0 && notes.length <= 20}, h('summary', null, `${count(notes.length)} ${notes.length === 1 ? 'thing' : 'things'} noticed in its files`), h('ul', null, notes.map((n) => h('li', null, n)))));
}

/** refused shows every reason why a list was refused, not the first alone. */
function refused(error) {
  const why = error.body?.details ?? [];
  if (error.code === 'list_rejected' && why.length > 0) error.shown = h('div', {class: 'note bad'}, h('p', null, 'The list is refused:'), h('ul', null, why.map((w) => h('li', null, w.message))));
  throw error;
}

function confirm(title, action, word, kind, path, members, after) {
  const why = h('textarea', {name: 'reason', rows: 3, maxlength: 8192, required: members.reason});
  const force = members.force && h('input', {type: 'checkbox', name: 'force', onchange: () => { why.required = members.reason || force.checked; }});
  ask({title, word, kind, draft: `list${path.replaceAll('/', ':')}`, body: [h('p', {class: 'action'}, action), h('p', {class: 'quiet'}, 'One entry of the log: every record before it saw the old list, every one after it the new. Then the past is held against it.'),
    members.force && h('p', null, h('label', null, force, ' Even if it is judged damaged, older or too small (needs a reason)')), field(members.reason ? 'Why (obligatory)' : 'Why', why)], act: async (_form, post) => {
    await post(path, {actor: officer(), ...(why.value.trim() && {reason: why.value.trim()}), ...(force?.checked && {force: true})}).catch(refused);
    toast('Done. Whom of the past it names is told in Foresight.');
    after();
  }});
}

/** actions are what may be done with a list that is not active. */
export function actions(l, got, go, after) {
  const active = got.active;
  if (l.snapshotId === active?.snapshotId) return api.may('policy', 'reviewer') && h('div', {class: 'actions left'}, h('button', {type: 'button', class: 'small retro', onclick: () => askRetro(go, l.snapshotId).catch((e) => toast(e.message, 'bad'))}, 'Look back with it …'));
  const tries = api.may('policy', 'reviewer');
  return h('div', {class: 'actions left'}, tries && active && h('button', {type: 'button', class: 'small', onclick: () => askBacktest(go, null, l.snapshotId).catch((e) => toast(e.message, 'bad'))}, 'What would it have changed? …'),
    tries && !l.activatedAt && h('button', {type: 'button', class: 'small', onclick: () => askShadow(go, null, l.snapshotId)}, 'Try beside the verdicts …'),
    api.may('policy') && !l.activatedAt && h('button', {type: 'button', class: 'small warn activate', onclick: () => confirm('Activate this list?', `Screen every payment from now on by ${l.snapshotId}, ${count(l.counts?.entries)} parties from ${l.source}.`, 'Activate', 'warn', `/ofac/${l.snapshotId}/activate`, {force: true}, after)}, 'Activate …'),
    api.may('policy') && l.activatedAt && h('button', {type: 'button', class: 'small bad rollback', onclick: () => confirm('Go back to this list?', `Screen every payment from now on by ${l.snapshotId} again${l.publishedAt ? `, published ${l.publishedAt.slice(0, 10)}` : ''}.`, 'Roll back', 'bad', `/ofac/${l.snapshotId}/rollback`, {reason: true, force: true}, after)}, 'Go back to it …'));
}

/** importView takes a publication's files: dropped, or chosen. It stages, and never activates. */
function importView(go) {
  if (!api.may('policy')) return null;
  if (!api.uploads()) return h('section', {class: 'card'}, h('h2', null, 'Import'), h('p', {class: 'quiet'}, 'Through this node’s console no files are taken. On its own machine: railguard ofac import FOLDER.'));
  const files = h('input', {type: 'file', multiple: true, id: 'files', accept: '.xml,.csv,.zip,.gz,.bz2,.zst,.XML,.CSV,.ZIP', onchange: () => { if (files.files.length) send([...files.files]); }});
  const state = h('div', {'aria-live': 'polite', id: 'import'});
  const asOf = h('input', {type: 'date', name: 'asOf', max: new Date().toISOString().slice(0, 10)});
  const zone = h('div', {class: 'drop', ondragover: (e) => { e.preventDefault(); zone.classList.add('over'); }, ondragleave: () => zone.classList.remove('over'), ondrop: (e) => {
    e.preventDefault();
    zone.classList.remove('over');
    send([...e.dataTransfer.files]);
  }}, h('label', {for: 'files'}, 'Drop the files of one publication here, or choose them'), files,
  h('p', {class: 'hint'}, 'One file as it was published, a ZIP of several, or several at once; XML or CSV. It is read, checked and staged; nothing is screened by it until somebody activates it.'));
  let running = false;

  async function send(chosen, replace) {
    if (running || chosen.length === 0) return;
    const total = chosen.reduce((n, f) => n + f.size, 0);
    if (total > uploadMax) {
      put(state, h('p', {class: 'note bad'}, `These files have ${mib(total)}; ${mib(uploadMax)} are taken at most.`));
      return;
    }
    running = true;
    files.disabled = true;
    const name = chosen.length === 1 ? chosen[0].name : 'publication.zip';
    try {
      put(state, h('p', {class: 'quiet'}, 'Reading …'));
      const bytes = chosen.length === 1 ? new Blob([chosen[0]], {type: 'application/octet-stream'}) : await archive(chosen);
      const meter = h('progress', {max: bytes.size, value: 0, 'aria-label': 'Sent'});
      const words = h('span', null, `0 of ${mib(bytes.size)}`);
      const sending = api.upload({name, asOf: asOf.value, replace}, bytes, (sent) => {
        meter.value = sent;
        put(words, sent < bytes.size ? `${mib(sent)} of ${mib(bytes.size)}` : 'All is sent. The node reads, checks and stages it …');
        if (sent >= bytes.size) meter.removeAttribute('value');
      });
      put(state, h('p', {class: 'meter'}, meter, words), h('button', {type: 'button', class: 'small', onclick: sending.stop}, 'Stop'));
      const got = await sending.done;
      say('The list is staged');
      go(`${listLink(got.snapshotId)}${api.query({problems: got.problems.length})}`);
    } catch (error) {
      const why = error.body?.details ?? [];
      put(state, h('div', {class: error.code === 'stopped' ? 'note' : 'note bad'}, h('p', null, error.code === 'refresh_running' ? 'Somebody’s files are being read on this node just now. One list is read at a time: try again in a moment.' : why.length ? 'The files are refused:' : error.message),
        why.length > 0 && h('ul', null, why.map((w) => h('li', null, w.message))),
        error.code === 'lists_staged' && h('button', {type: 'button', class: 'small', onclick: () => send(chosen, true)}, 'Give up the oldest staged list and stage this one')));
    } finally {
      running = false;
      files.disabled = false;
      files.value = '';
    }
  }
  return h('section', {class: 'card'}, h('h2', null, 'Import'), field('As of', asOf, 'The day of the publication. Files that have no date of their own, as CSV files, need it; set it before you choose them.'), zone, state);
}

export async function showLists(place, _params, go) {
  const redraw = () => showLists(place, _params, go);
  const got = await api.call('/ofac');
  const sync = got.sync ?? {};
  const active = got.active;
  const older = (got.history ?? []).filter((l, i, all) => l.snapshotId !== active?.snapshotId && all.findIndex((x) => x.snapshotId === l.snapshotId) === i);
  const found = h('p', {id: 'found', 'aria-live': 'polite'});
  const others = await besides(redraw, go);

  put(place, h('div', {class: 'titlebar'}, h('h1', null, 'Lists'), active && badge(active.stale ? 'stale' : 'ok'), api.may('policy', 'ops') && sync.source && h('button', {type: 'button', onclick: async () => {
    try {
      const answer = await api.call('/ofac/sync', {method: 'POST', body: {actor: officer()}});
      toast(answer.finished ? 'Fetched.' : 'Fetching goes on; look again in a minute.');
      redraw();
    } catch (error) {
      toast(error.message, 'bad');
    }
  }}, 'Fetch now')),
  h('div', {class: 'columns'}, h('div', null, h('section', {class: 'card', id: 'active'}, h('h2', null, 'Active'), active ? [active.sample && h('p', {class: 'note warn'}, 'The embedded sample: of no use for compliance.'), one(active),
    found,
    h('h3', null, 'Families'), familiesView(active), aside(active), actions(active, got, go, redraw)] : h('p', {class: 'note bad'}, 'None. Screening calls are answered with 503.')),
  h('section', {class: 'card', id: 'staged'}, h('h2', null, 'Staged'), (got.staged ?? []).length === 0 ? h('p', {class: 'quiet'}, 'Nothing is staged.') : got.staged.map((l) => h('div', {class: 'hit'}, one(l), aside(l), h('p', null, h('a', {href: listLink(l.snapshotId)}, 'What it changes')), actions(l, got, go, redraw)))),
  importView(go)),
  h('div', null, others, h('section', {class: 'card'}, h('h2', null, 'Fetching, on this node'), facts([['Source', sync.source ?? 'none'], ['Running', sync.running ? 'yes' : 'no'], ['Last try', when(sync.lastTryAt)], ['Last success', when(sync.lastSuccessAt)], ['Error', sync.error], ['Age', active && age(active.ageSeconds)]])),
    h('section', {class: 'card'}, h('h2', null, 'Wallets by chain'), Object.keys(active?.walletsByChain ?? {}).length === 0 ? h('p', {class: 'quiet'}, 'None.') : facts(Object.entries(active?.walletsByChain ?? {}).map(([k, v]) => [k, count(v)]))),
    h('section', {class: 'card', id: 'before'}, h('h2', null, 'Before'), older.length === 0 ? h('p', {class: 'quiet'}, 'No other list yet.') : older.map((l) => h('div', {class: 'hit'}, facts([['Snapshot', named(l)], ['Published', publishedView(l)], ['Activated', when(l.activatedAt)], ['Parties', count(l.counts?.entries)]]), actions(l, got, go, redraw)))))));
  if (active && api.may('reviewer', 'auditor', 'policy')) looksBack(found, active.listVersion);
}

/** looksBack tells what the activation of a list found of the past, until that is done or the page is left. */
async function looksBack(found, version) {
  for (let first = true; first || found.isConnected; first = false) {
    const runs = await api.maybe(`/ofac/retro${api.query({limit: 10})}`, {poll: true}).catch(() => null);
    const run = runs?.data.find((r) => r.listVersion === version);
    if (run) put(found, run.state === 'running' ? 'The past is being held against it: ' : 'The past was held against it: ', h('a', {href: `/console/foresight/retro/${run.retroId}`}, `${count(run.hits)} ${run.hits === 1 ? 'hit' : 'hits'}`), run.known ? `, and ${count(run.known)} that an earlier run told of.` : '.');
    if (!runs || version === 1 || run?.state === 'done') return; // Nobody was screened before the first list.
    await new Promise((then) => { setTimeout(then, 2000); });
  }
}

/** showList is one list, and what it changes against another, as a page to be read. */
export async function showList(place, {id}, go) {
  const redraw = () => showList(place, {id}, go);
  const asked = new URLSearchParams(location.search);
  const got = await api.call('/ofac');
  const all = [got.active, ...(got.staged ?? []), ...(got.history ?? [])].filter(Boolean).filter((l, i, rest) => rest.findIndex((x) => x.snapshotId === l.snapshotId) === i);
  const l = all.find((x) => x.snapshotId === id);
  if (!l) throw new api.Failure(404, {message: 'No such list is known any more.'});
  const isActive = id === got.active?.snapshotId;
  const before = (got.history ?? []).find((x) => x.snapshotId !== id && (x.listVersion ?? 0) < (l.listVersion ?? Infinity));
  const against = asked.get('against') ?? (isActive ? before?.snapshotId : got.active?.snapshotId) ?? '';
  const others = all.filter((x) => x.snapshotId !== id);
  const choose = h('select', {id: 'against', onchange: () => go(`${listLink(id)}${api.query({against: choose.value})}`)}, others.map((x) => {
    const option = h('option', null, `${x.snapshotId}${x === got.active ? ', active' : ''}${x.publishedAt ? `, published ${x.publishedAt.slice(0, 10)}` : ''}`);
    option.value = x.snapshotId;
    option.selected = x.snapshotId === against;
    return option;
  }));
  const judged = isActive ? null : await api.call(`/ofac/${id}`).catch((error) => ({error}));
  const d = against ? await api.call(`/ofac/${id}/diff${api.query({against})}`).catch((error) => ({error})) : null;
  put(place, h('div', {class: 'titlebar'}, h('h1', null, 'List ', h('span', {class: 'mono'}, id)), badge(isActive ? 'active' : l.activatedAt ? 'before' : 'staged')),
    judged && judgedView(judged),
    h('div', {class: 'columns'}, h('div', null, h('section', {class: 'card', id: 'diff'}, h('h2', null, 'What it changes'), others.length > 0 && h('div', {class: 'field'}, h('label', {for: 'against'}, 'Against'), choose),
      !against ? h('p', {class: 'quiet'}, 'There is no other list to compare it with.') : d.error ? h('p', {class: 'note bad'}, d.error.message) : diffView(d, id, against, got.active?.snapshotId))),
    h('div', null, h('section', {class: 'card'}, h('h2', null, 'The list'), one(l), familiesView(l), aside(l), actions(l, got, go, isActive ? redraw : () => go('/console/lists'))), h('p', null, h('a', {href: '/console/lists'}, 'All lists')))));
}

/** judgedView is what activation would say, and who would leave the active list by it. */
function judgedView(j) {
  if (j.error) return h('p', {class: 'note bad'}, j.error.message);
  const left = j.left.parties + j.left.names + j.left.wallets;
  return h('section', {class: 'card', id: 'judged'}, j.problems.length === 0 ? h('p', null, 'Nothing speaks against it.') : h('div', {class: 'note bad'}, h('p', null, 'This speaks against it:'), h('ul', null, j.problems.map((p) => h('li', null, p)))),
    left === 0 ? h('p', {class: 'quiet'}, 'Nobody would leave the active list.') : h('div', {class: 'note warn'}, h('p', null, `${count(j.left.parties)} parties, ${count(j.left.names)} names and ${count(j.left.wallets)} wallets would leave the active list, and would not be blocked any more. The first of them:`), h('ul', null, j.left.first.map((x) => h('li', null, x)))));
}

/** diffView is who came, who went and who changed, each by name. A name leads to the list that has it. */
function diffView(d, id, against, active) {
  const where = (list) => (list === active ? undefined : list);
  const link = (list, members, text, mono) => h('a', {class: mono ? 'mono' : null, href: `/console/match${api.query({...members, snapshotId: where(list)})}`}, text);
  const entry = (list) => (x) => [link(list, {name: x.name}, x.name), ...(x.changed ? [h('ul', {class: 'plainlist changes'}, x.changed.map((text) => h('li', null, text)))] : []), x.type ?? '–', x.list ?? '–', (x.programs ?? []).join(', ') || '–', x.uid];
  const kinds = [['added', 'Added'], ['removed', 'Removed'], ['changed', 'Changed']];
  const wallets = [['addressesAdded', 'Wallets added'], ['addressesRemoved', 'Wallets removed']];
  const total = [...kinds, ...wallets].reduce((n, [key]) => n + (d[key]?.count ?? 0), 0);
  const box = (key, word, heads, row) => {
    const part = d[key] ?? {count: 0, entries: []};
    return h('details', {open: part.count > 0 && part.count <= 40, class: 'part'}, h('summary', null, `${word}: ${count(part.count)}`), part.truncated && h('p', {class: 'quiet'}, `The first ${count(part.entries.length)}.`), table(word, heads, part.entries.map(row)));
  };
  return [h('p', {class: 'sentence'}, total === 0 ? 'Nobody came, went or changed.' : `${count(d.added.count)} came, ${count(d.removed.count)} went, ${count(d.changed.count)} changed; ${count(d.addressesAdded.count)} wallets came and ${count(d.addressesRemoved.count)} went.`),
    ...kinds.map(([key, word]) => box(key, word, ['Name', ...(key === 'changed' ? ['What changed'] : []), 'Type', 'List', 'Programmes', 'Entry'], entry(key === 'removed' ? against : id))),
    ...wallets.map(([key, word]) => box(key, word, ['Wallet', 'Currency', 'Entry'], (x) => [link(key === 'addressesRemoved' ? against : id, {wallet: x.address}, x.address, true), x.ticker, x.uid]))];
}
