// Lists beside OFAC's: how old each is, and the entries of an institution's own list, which are
// added, changed and ended here one by one.

import {h, age, badge, count, dialog, field, select, table, toast} from './dom.js';
import * as api from './api.js';
import {officer} from './decide.js';

const kinds = [['individual', 'a person'], ['entity', 'a company or another organisation'], ['vessel', 'a vessel'], ['aircraft', 'an aircraft'], ['wallet', 'wallets alone']];
const lines = (text) => text.split('\n').map((l) => l.trim()).filter(Boolean);
const effects = {block: 'An exact hit blocks.', review: 'An exact hit is reviewed.'};

/** change sends one change of a list's entries, with who made it and why. */
async function change(list, members, by, why, done) {
  localStorage.setItem('railguard.officer', by.value.trim());
  await api.call(`/lists/${list}/entries`, {method: 'POST', body: {reason: why.value.trim(), actor: by.value.trim(), ...members}});
  toast('Done. One entry of the log changed the list on all nodes.');
  done();
}

const who = () => h('input', {name: 'by', required: true, maxlength: 256, value: officer(), autocomplete: 'name'});
const because = () => h('textarea', {name: 'reason', rows: 3, required: true, maxlength: 8192});

/** askEntry asks for an entry of an own list. An id that the list has is changed. */
function askEntry(list, done) {
  const name = list ? null : h('input', {name: 'list', required: true, maxlength: 32, pattern: '[a-z0-9\\-]+'});
  const id = h('input', {name: 'id', required: true, maxlength: 256});
  const kind = select('kind', kinds, 'individual');
  const full = h('input', {name: 'name', maxlength: 512});
  const aliases = h('textarea', {name: 'aliases', rows: 2});
  const wallets = h('textarea', {name: 'wallets', rows: 2});
  const until = h('input', {name: 'until', type: 'date'});
  const by = who();
  const why = because();
  dialog(list ? `Add to ${list}?` : 'Begin a list?', [h('p', {class: 'quiet'}, 'Payments are held against it from the next entry of the log on. An entry whose id the list has takes the place of the one that it has.'),
    name && field('List', name, 'Small letters, digits and dashes. A new list is reviewed; railguard list import --effect block makes it block.'), field('Id', id, 'Yours, for example the number of the case.'), field('What it is', kind), field('Name', full),
    field('Other names', aliases, 'One in each line.'), field('Wallets', wallets, 'One in each line.'), field('Until', until, 'It matches nothing from then on.'), field('Added by', by), field('Why (obligatory)', why)], 'Add', 'warn', () => change(list ?? name.value.trim(), {add: [{
    id: id.value.trim(), kind: kind.value, reason: why.value.trim(), ...(full.value.trim() && {name: full.value.trim()}), ...(lines(aliases.value).length && {aliases: lines(aliases.value)}),
    ...(lines(wallets.value).length && {wallets: lines(wallets.value)}), ...(until.value && {until: until.value})}]}, by, why, done));
}

/** askEnd ends an entry. */
function askEnd(list, done) {
  const id = h('input', {name: 'id', required: true, maxlength: 256});
  const by = who();
  const why = because();
  dialog(`End an entry of ${list}?`, [field('Id', id), field('Ended by', by), field('Why (obligatory)', why)], 'End it', 'bad', () => change(list, {end: [id.value.trim()]}, by, why, done));
}

/** besides shows the lists beside OFAC's; null where this key may not see them. */
export async function besides(redraw) {
  const got = await api.maybe('/lists');
  if (!got) return null;
  const others = got.lists.filter((l) => l.id !== 'ofac');
  const may = api.may('policy');
  const row = (l) => [[l.name, h('span', {class: 'event'}, l.id)], effects[l.effect] ?? l.effect, count(l.entries), [age(l.ageSeconds), ' ', l.late && badge('late')],
    may && l.format === 'own' ? [h('button', {type: 'button', class: 'small add', onclick: () => askEntry(l.id, redraw)}, 'Add …'), ' ', h('button', {type: 'button', class: 'small bad end', onclick: () => askEnd(l.id, redraw)}, 'End …')] : '–'];
  return h('section', {class: 'card', id: 'besides'}, h('h2', null, 'Beside OFAC’s'), others.length === 0 ? h('p', {class: 'quiet'}, 'No other list. A file comes in by railguard list import.') :
    table('Lists beside OFAC’s', ['List', 'Effect', 'Entries', 'Age', ''], others.map(row)),
  may && h('p', null, h('button', {type: 'button', class: 'small begin', onclick: () => askEntry(null, redraw)}, 'Begin an own list …')));
}
