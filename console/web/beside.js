// Lists beside OFAC's: how old each is, a file that brings one whole, and the entries of an
// institution's own list, which are added, changed and ended here one by one.

import {h, put, age, badge, count, field, select, table, toast} from './dom.js';
import * as api from './api.js';
import {ask} from './ask.js';
import {signs} from './who.js';

const kinds = [['individual', 'a person'], ['entity', 'a company or another organisation'], ['vessel', 'a vessel'], ['aircraft', 'an aircraft'], ['wallet', 'wallets alone']];
const lines = (text) => text.split('\n').map((l) => l.trim()).filter(Boolean);
const effects = {block: 'An exact hit blocks.', review: 'An exact hit is reviewed.'};

/** room lets a second try give up the oldest staged list, where no more may be staged. */
function room(said) {
  return (error) => {
    if (error.code === 'lists_staged') {
      said.replace = true;
      error.message = 'As many lists are staged as may be. Once more gives up the oldest of them.';
    }
    throw error;
  };
}

/** change sends one change of a list's entries, with who made it and why. */
async function change(post, list, members, who, why, said, done) {
  await post(`/lists/${list}/entries`, {reason: why.value.trim(), actor: who.name(), ...members, ...said}).catch(room(said));
  toast('Done. One entry of the log changed the list on all nodes.');
  done();
}

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
  const who = signs('Added by');
  const why = because();
  const said = {};
  ask({title: list ? `Add to ${list}?` : 'Begin a list?', word: 'Add', kind: 'warn', draft: `list:${list ?? 'new'}:add`, body: [h('p', {class: 'quiet'}, 'Payments are held against it from the next entry of the log on. An entry whose id the list has takes the place of the one that it has.'),
    name && field('List', name, 'Small letters, digits and dashes. A new list is reviewed; a file that is brought can make it block.'), field('Id', id, 'Yours, for example the number of the case.'), field('What it is', kind), field('Name', full),
    field('Other names', aliases, 'One in each line.'), field('Wallets', wallets, 'One in each line.'), field('Until', until, 'It matches nothing from then on.'), who.view, field('Why (obligatory)', why)], act: (_form, post) => change(post, list ?? name.value.trim(), {add: [{
    id: id.value.trim(), kind: kind.value, reason: why.value.trim(), ...(full.value.trim() && {name: full.value.trim()}), ...(lines(aliases.value).length && {aliases: lines(aliases.value)}),
    ...(lines(wallets.value).length && {wallets: lines(wallets.value)}), ...(until.value && {until: until.value})}]}, who, why, said, done)});
}

/** askEnd ends an entry. */
function askEnd(list, done) {
  const id = h('input', {name: 'id', required: true, maxlength: 256});
  const who = signs('Ended by');
  const why = because();
  const said = {};
  ask({title: `End an entry of ${list}?`, word: 'End it', kind: 'bad', draft: `list:${list}:end`, body: [field('Id', id), who.view, field('Why (obligatory)', why)], act: (_form, post) => change(post, list, {end: [id.value.trim()]}, who, why, said, done)});
}

/** askFile takes a file with the whole content of a list. It stages, and never activates: the page of the staged list
 *  says who comes and who goes. */
function askFile(list, go) {
  const id = list ? null : h('input', {name: 'list', required: true, maxlength: 32, pattern: '[a-z0-9\\-]+'});
  const name = h('input', {name: 'listName', maxlength: 128, value: list?.name ?? ''});
  const effect = select('effect', [['review', effects.review], ['block', effects.block]], list?.effect ?? 'review');
  const file = h('input', {type: 'file', name: 'file', required: true});
  const state = h('p', {class: 'quiet', 'aria-live': 'polite'});
  const said = {};
  ask({title: list ? `Bring a file of ${list.name}?` : 'Bring a list?', word: 'Read and stage it', kind: 'warn', body: [h('p', {class: 'quiet'}, 'An own list (CSV or JSON), the United Nations’ XML, or FollowTheMoney as JSON lines. What the file has takes the place of all that the list has. It is read, checked and staged; nothing is screened by it until somebody activates it.'),
    id && field('List', id, 'Small letters, digits and dashes.'), field('Name', name, 'As reasons and evidence show it.'), field('Effect', effect, list?.effect === 'block' ? 'One that blocked is made milder only by force.' : undefined), field('File', file), state], act: async () => {
    const chosen = file.files[0];
    const sent = api.upload({list: list?.id ?? id.value.trim(), listName: name.value.trim(), effect: effect.value, ...said}, new Blob([chosen], {type: 'application/octet-stream'}), (n) => put(state, n < chosen.size ? `${Math.floor(100 * n / chosen.size)} % are sent.` : 'All is sent. The node reads, checks and stages it …'));
    const got = await sent.done.catch(room(said));
    return () => go(`/console/lists/${got.snapshotId}${api.query({problems: got.problems.length})}`);
  }});
}

/** besides shows the lists beside OFAC's; null where this key may not see them. */
export async function besides(redraw, go) {
  const got = await api.maybe('/lists');
  if (!got) return null;
  const others = got.lists.filter((l) => l.id !== 'ofac');
  const may = api.may('policy');
  const files = may && api.uploads();
  const row = (l) => [[l.name, h('span', {class: 'event'}, l.id)], effects[l.effect] ?? l.effect, count(l.entries), [age(l.ageSeconds), ' ', l.late && badge('late')],
    may ? [files && h('button', {type: 'button', class: 'small file', onclick: () => askFile(l, go)}, 'File …'), ' ', l.format === 'own' && [h('button', {type: 'button', class: 'small add', onclick: () => askEntry(l.id, redraw)}, 'Add …'), ' ', h('button', {type: 'button', class: 'small bad end', onclick: () => askEnd(l.id, redraw)}, 'End …')]] : '–'];
  return h('section', {class: 'card', id: 'besides'}, h('h2', null, 'Beside OFAC’s'), others.length === 0 ? h('p', {class: 'quiet'}, 'No other list.') :
    table('Lists beside OFAC’s', ['List', 'Effect', 'Entries', 'Age', ''], others.map(row)),
  may && h('p', null, h('button', {type: 'button', class: 'small begin', onclick: () => askEntry(null, redraw)}, 'Begin an own list …'), ' ', files ? h('button', {type: 'button', class: 'small bring', onclick: () => askFile(null, go)}, 'Bring a list …') :
    h('span', {class: 'quiet'}, 'Through this node’s console no files are taken. On its own machine: railguard list import FILE.')));
}
