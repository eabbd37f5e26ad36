// The sanctions list: what is active, what is staged, what a change of list changes.

import {h, put, count, when, badge, table, facts, field, dialog, toast, age} from './dom.js';
import * as api from './api.js';
import {officer} from './decide.js';

const one = (l) => facts([['Snapshot', h('span', {class: 'mono'}, l.snapshotId)], ['Version', l.listVersion], ['Source', l.source], ['Published', when(l.publishedAt)], ['Activated', l.activatedAt && when(l.activatedAt)],
  ['Parties', count(l.counts?.entries)], ['Names', count(l.counts?.names)], ['Wallets', count(l.counts?.wallets)], ['Quarantined', l.quarantined > 0 ? h('strong', {class: 'over'}, count(l.quarantined)) : '0']]);

export async function showLists(place) {
  const diff = h('div', {'aria-live': 'polite'});
  const redraw = () => showLists(place);
  const got = await api.call('/ofac');
  const sync = got.sync ?? {};

  async function compare(id) {
    put(diff, h('p', {class: 'quiet'}, 'Comparing …'));
    try {
      const d = await api.call(`/ofac/${id}/diff`);
      put(diff, h('section', {class: 'card'}, h('h2', null, `What ${id} changes`), diffView(d)));
      diff.scrollIntoView({block: 'nearest'});
    } catch (error) {
      put(diff, h('p', {class: 'note bad'}, error.message));
    }
  }

  function confirm(title, action, word, path, members) {
    const why = h('textarea', {name: 'reason', rows: 3, maxlength: 8192, required: members.reason});
    const force = members.force && h('input', {type: 'checkbox', name: 'force'});
    dialog(title, [h('p', {class: 'action'}, action), h('p', {class: 'quiet'}, 'One entry of the log: every record before it saw the old list, every one after it the new.'),
      members.force && h('p', null, h('label', null, force, ' Even if it is judged damaged or too small (needs a reason)')), field(members.reason ? 'Why (obligatory)' : 'Why', why)], word, 'warn', async () => {
      await api.call(path, {method: 'POST', body: {actor: officer(), ...(why.value.trim() && (members.reason || force?.checked) && {reason: why.value.trim()}), ...(force?.checked && {force: true})}});
      toast('Done.');
      redraw();
    });
  }

  const activate = (l) => api.may('policy') && h('button', {type: 'button', class: 'small warn', onclick: () => confirm('Activate this list?', `Screen every payment from now on by ${l.snapshotId}, ${count(l.counts?.entries)} parties from ${l.source}.`, 'Activate', `/ofac/${l.snapshotId}/activate`, {force: true})}, 'Activate …');
  const back = (l) => api.may('policy') && h('button', {type: 'button', class: 'small bad', onclick: () => confirm('Go back to this list?', `Screen every payment from now on by ${l.snapshotId} again, published ${l.publishedAt?.slice(0, 10)}.`, 'Roll back', `/ofac/${l.snapshotId}/rollback`, {reason: true})}, 'Go back to it …');
  const older = (got.history ?? []).filter((l) => l.snapshotId !== got.active?.snapshotId);

  put(place, h('div', {class: 'titlebar'}, h('h1', null, 'Lists'), got.active && badge(got.active.stale ? 'stale' : 'ok'), api.may('policy', 'ops') && sync.source && h('button', {type: 'button', onclick: async () => {
    try {
      const answer = await api.call('/ofac/sync', {method: 'POST', body: {actor: officer()}});
      toast(answer.finished ? 'Fetched.' : 'Fetching goes on; look again in a minute.');
      redraw();
    } catch (error) {
      toast(error.message, 'bad');
    }
  }}, 'Fetch now')),
  h('div', {class: 'columns'}, h('div', null, h('section', {class: 'card'}, h('h2', null, 'Active'), got.active ? [got.active.sample && h('p', {class: 'note warn'}, 'The embedded sample: of no use for compliance.'), one(got.active),
    h('h3', null, 'Families'), table('Families', ['Family', 'Entries', 'Published'], Object.entries(got.active.families ?? {}).map(([k, f]) => [k, count(f.entries), when(f.publishedAt ?? got.active.publishedAt)])),
    (got.active.warnings ?? []).length > 0 && h('details', null, h('summary', null, `${got.active.warnings.length} warnings of its files`), h('ul', null, got.active.warnings.map((w) => h('li', null, typeof w === 'string' ? w : JSON.stringify(w)))))] :
    h('p', {class: 'note bad'}, 'None. Screening calls are answered with 503.')),
  h('section', {class: 'card'}, h('h2', null, 'Staged'), (got.staged ?? []).length === 0 ? h('p', {class: 'quiet'}, 'Nothing is staged. ', 'Files are imported on a node’s own machine: railguard ofac import FOLDER. The listener that takes them is not reachable from here.') :
    got.staged.map((l) => h('div', {class: 'hit'}, one(l), h('div', {class: 'actions left'}, h('button', {type: 'button', class: 'small', onclick: () => compare(l.snapshotId)}, 'What it changes'), activate(l))))), diff),
  h('div', null, h('section', {class: 'card'}, h('h2', null, 'Fetching, on this node'), facts([['Source', sync.source ?? 'none'], ['Running', sync.running ? 'yes' : 'no'], ['Last try', when(sync.lastTryAt)], ['Last success', when(sync.lastSuccessAt)], ['Error', sync.error], ['Age', got.active && age(got.active.ageSeconds)]])),
    h('section', {class: 'card'}, h('h2', null, 'Wallets by chain'), facts(Object.entries(got.active?.walletsByChain ?? {}).map(([k, v]) => [k, count(v)]))),
    h('section', {class: 'card'}, h('h2', null, 'Before'), older.length === 0 ? h('p', {class: 'quiet'}, 'No other list yet.') : older.map((l) => h('div', {class: 'hit'}, facts([['Snapshot', h('span', {class: 'mono'}, l.snapshotId)], ['Published', when(l.publishedAt)], ['Activated', when(l.activatedAt)], ['Parties', count(l.counts?.entries)]]),
      h('div', {class: 'actions left'}, h('button', {type: 'button', class: 'small', onclick: () => compare(l.snapshotId)}, 'Differences'), back(l))))))));
}

function diffView(d) {
  const words = [['added', 'Added'], ['removed', 'Removed'], ['changed', 'Changed'], ['addressesAdded', 'Wallets added'], ['addressesRemoved', 'Wallets removed']];
  return words.map(([key, word]) => {
    const part = d[key];
    const items = Array.isArray(part) ? part : part?.items ?? part?.entries ?? part?.named ?? [];
    const total = typeof part === 'number' ? part : part?.count ?? part?.total ?? items.length;
    return h('details', {open: items.length > 0 && items.length < 40}, h('summary', null, `${word}: ${count(total)}`), h('ul', null, items.map((x) => h('li', null, typeof x === 'string' ? x : [x.name, x.uid && `entry ${x.uid}`, x.type, (x.programs ?? []).join(', '), x.address && h('span', {class: 'mono'}, x.address)].filter(Boolean).flatMap((v, i) => (i ? [' · ', v] : [v]))))));
  });
}
