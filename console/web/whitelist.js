// The institution's whitelist: whom its agents may pay, where it is enforced.

import {h, put, count, field, select, table, toast, when} from './dom.js';
import * as api from './api.js';
import {ask} from './ask.js';

const because = () => h('textarea', {name: 'reason', rows: 3, required: true, maxlength: 8192});

/** showWhitelist shows the list, and lets whoever may change it do so. */
export async function showWhitelist(place) {
  async function redraw() {
    const now = await api.maybe('/whitelist');
    if (!now) return;
    const may = api.may('policy');
    put(place, h('h2', null, 'Whitelist of the institution'), h('p', null, now.mode === 'enforce' ? 'Enforced: a payment to anybody else is stopped for a person (R13).' : 'Off: nobody is held against it.'),
      table('Entries of the whitelist', ['Whom', 'Label', 'Until', 'Acts'], now.entries.map((e) => [e.name ?? h('span', {class: 'mono'}, e.wallet), e.label ?? '–', e.expiresAt ? when(e.expiresAt) : 'for good',
        may ? h('button', {type: 'button', class: 'small remove', onclick: () => remove(e, now)}, 'Remove …') : '–'])),
      may && h('p', {class: 'actions left'}, h('button', {type: 'button', class: 'small add', onclick: add}, 'Add …'), h('button', {type: 'button', class: 'small mode', onclick: () => change(now)}, now.mode === 'enforce' ? 'Switch off …' : 'Enforce …')));
  }
  const done = () => {
    toast('Done. One entry of the log changed the list on all nodes.');
    return redraw;
  };
  function add() {
    const what = select('what', [['name', 'a name'], ['wallet', 'a wallet']], 'name');
    const whom = h('input', {name: 'whom', required: true, maxlength: 512, autocomplete: 'off'});
    const label = h('input', {name: 'label', maxlength: 256, autocomplete: 'off'});
    const why = because();
    ask({title: 'Add to the whitelist?', word: 'Add', kind: 'warn', draft: 'whitelist:add', body: [field('By', what), field('Whom', whom), field('Label', label), field('Why (obligatory)', why)], act: async (_form, post) => {
      await post('/whitelist/entries', {[what.value]: whom.value.trim(), ...(label.value.trim() && {label: label.value.trim()}), reason: why.value.trim()});
      return done();
    }});
  }
  function remove(entry, now) {
    const why = because();
    ask({title: 'Remove from the whitelist?', word: 'Remove', kind: 'warn', draft: `whitelist:remove:${entry.id}`, body: [h('p', {class: 'action'}, entry.name ?? entry.wallet), field('Why (obligatory)', why)], act: async (_form, post) => {
      await post(`/whitelist/entries/${entry.id}`, {reason: why.value.trim()}, 'DELETE', now.version);
      return done();
    }});
  }
  function change(now) {
    const why = because();
    const mode = now.mode === 'enforce' ? 'off' : 'enforce';
    ask({title: mode === 'off' ? 'Switch the whitelist off?' : 'Enforce the whitelist?', word: mode === 'off' ? 'Switch it off' : 'Enforce it', kind: 'warn', draft: `whitelist:${mode}`, body: [h('p', {class: 'action'}, mode === 'off' ? 'Every agent may pay whomever the other rules let it pay.' : `Every payment to somebody who is none of the ${count(now.entries.length)} entries is stopped for a person.`), field('Why (obligatory)', why)], act: async (_form, post) => {
      await post('/whitelist', {mode, entries: now.entries.map(({id: _id, addedBy: _by, ...rest}) => rest), reason: why.value.trim()}, 'PUT', now.version);
      return done();
    }});
  }
  await redraw();
}
