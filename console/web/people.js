// People: who may act here. Keys and officers are made and ended on this page: a key alone, or a
// person with all that is hers.

import {h, put, badge, count, dialog, field, select, table, toast, when} from './dom.js';
import * as api from './api.js';
import {ask} from './ask.js';

const roles = ['reviewer', 'auditor', 'policy', 'ops', 'operator', 'screener', 'settler', 'viewer', 'admin'];
const whose = (key) => key.person ?? key.name;
const why = () => h('textarea', {name: 'reason', rows: 3, required: true, maxlength: 8192});

/** shownOnce shows the secret of a new key. Where its answer was lost, nobody has the secret. */
const shownOnce = (answer) => (answer.key ? dialog('The key, shown once', [h('p', null, 'Give it to its person in a safe way. Nobody can show it again.'), h('p', {class: 'mono secret'}, answer.key)], 'I have it', 'primary', async () => null) :
  toast(`The key ${answer.name} was made, and the answer with its secret got lost: end it, and make another.`, 'warn'));

export async function showPeople(place) {
  const list = h('div', {id: 'people'});
  async function redraw() {
    const page = await api.call('/people/keys?limit=500');
    put(list, table('Keys and sign-ins', ['Who', 'Key', 'Roles', 'Until', 'Last used', 'State', 'Acts'], page.data.map((key) => [whose(key), h('span', null, key.name, ' ', h('span', {class: 'quiet mono'}, key.prefix)), key.roles.join(', '),
      key.expiresAt ? when(key.expiresAt) : 'never', key.lastUsedAt ? when(key.lastUsedAt) : '–', h('span', null, badge(key.status), key.personEnded && h('span', {class: 'quiet'}, ' person ended')), acts(key)])),
    page.nextCursor && h('p', {class: 'note warn'}, 'There are more than the 500 that are shown: railguard key list shows all.'));
  }
  /** change asks before something is done to one key. */
  const change = (title, text, word, key, path, method = 'POST') => ask({title, word, kind: 'bad', body: [h('p', null, text)], act: async (_form, post) => {
    await post(`/people/keys/${key.keyId}${path}`, method === 'DELETE' ? undefined : {}, method);
    toast('Done.');
    return redraw;
  }});
  /** endPerson ends everything of a person at once. */
  function endPerson(key) {
    const reason = why();
    ask({title: `End ${whose(key)}?`, word: 'End the person', kind: 'bad', draft: `person:${key.keyId}:end`, body: [h('p', {class: 'action'}, `${whose(key)} acts here no more, at once and on all nodes.`),
      h('ul', null, ['All API keys and sign-ins that name the person end, and every open session with them.', 'All passkeys of the person are removed.', 'What the person claimed is free again, and what the person proposed lapses.', 'The identity provider’s word does not bring the person back until somebody reinstates.'].map((text) => h('li', null, text))),
      field('Why (obligatory)', reason)], act: async (_form, post) => {
      const done = await post(`/people/keys/${key.keyId}/end-person`, {reason: reason.value.trim()});
      toast(`${done.person ?? whose(key)} is ended: ${count(done.keys)} keys and sign-ins, ${count(done.passkeys)} passkeys, ${count(done.claims)} claims, ${count(done.proposals)} proposals.`);
      return redraw;
    }});
  }
  function acts(key) {
    const who = whose(key);
    if (key.status === 'revoked') {
      return key.signsIn || key.personEnded ? h('button', {type: 'button', class: 'small reinstate', onclick: () => change('Reinstate?', `${who} may sign in again, and is new here for 24 hours.`, 'Reinstate', key, '/reinstate')}, 'Reinstate …') : '–';
    }
    return h('span', {class: 'actions left'}, h('button', {type: 'button', class: 'small sessions', onclick: () => change('End all sessions?', `${who} is signed out everywhere.`, 'End them', key, '/end-sessions')}, 'Sign out …'),
      h('button', {type: 'button', class: 'small bad end', onclick: () => change('End this?', key.signsIn ? `${who} is signed out and does not get in until somebody reinstates. Keys and passkeys of the same person stay.` : `The key of ${who} is worth nothing any more. Other keys of the same person stay.`, 'End it', key, '', 'DELETE')}, key.signsIn ? 'End sign-in …' : 'End key …'),
      key.person && h('button', {type: 'button', class: 'small bad endperson', onclick: () => endPerson(key)}, 'End person …'));
  }
  function make() {
    const name = h('input', {name: 'name', required: true, maxlength: 200, autocomplete: 'off'});
    const person = h('input', {name: 'person', maxlength: 200, autocomplete: 'off'});
    const boxes = roles.map((role) => h('label', null, h('input', {type: 'checkbox', name: 'role', value: role}), ` ${role} `));
    const until = select('expires', [['365d', 'a year'], ['90d', '90 days'], ['7d', 'a week']], '365d');
    ask({title: 'Make a key', word: 'Make it', body: [field('Name of the key', name), field('Person whose key it is, as the identity provider names him', person), h('fieldset', null, h('legend', null, 'Roles'), boxes), field('Good for', until)], act: async (_form, post) => {
      const chosen = boxes.map((label) => label.querySelector('input')).filter((box) => box.checked).map((box) => box.value);
      const answer = await post('/people/keys', {name: name.value.trim(), roles: chosen, person: person.value.trim() || undefined, expires: until.value});
      return async () => {
        await redraw();
        shownOnce(answer);
      };
    }});
  }
  put(place, h('div', {class: 'titlebar'}, h('h1', null, 'People'), h('button', {type: 'button', class: 'primary make', onclick: make}, 'Make a key …')),
    h('p', {class: 'quiet'}, 'API keys, and persons who sign in by the identity provider. Ending is at once, on all nodes.'), h('section', {class: 'card'}, list));
  await redraw();
}
