// People: who may act here. Keys and officers are made and ended on this page.

import {h, put, badge, dialog, field, select, table, toast, when} from './dom.js';
import * as api from './api.js';

const roles = ['reviewer', 'auditor', 'policy', 'ops', 'operator', 'screener', 'settler', 'viewer', 'admin'];

export async function showPeople(place) {
  const list = h('div', {id: 'people'});
  async function redraw() {
    const page = await api.call('/people/keys?limit=500');
    put(list, table('Keys and sign-ins', ['Who', 'Key', 'Roles', 'Until', 'Last used', '', ''], page.data.map((key) => [key.person ?? key.name, h('span', null, key.name, ' ', h('span', {class: 'quiet mono'}, key.prefix)), key.roles.join(', '),
      key.expiresAt ? when(key.expiresAt) : 'never', key.lastUsedAt ? when(key.lastUsedAt) : '–', badge(key.status), acts(key)])));
  }
  const ask = (title, text, go, call) => dialog(title, [h('p', null, text)], go, 'bad', async () => {
    await call();
    toast('Done.');
    return redraw;
  });
  function acts(key) {
    const who = key.person ?? key.name;
    if (key.status === 'revoked') {
      return key.signsIn ? h('button', {type: 'button', class: 'small reinstate', onclick: () => ask('Reinstate?', `${who} may sign in again, and is new here for 24 hours.`, 'Reinstate', () => api.call(`/people/keys/${key.keyId}/reinstate`, {method: 'POST', body: {}}))}, 'Reinstate …') : '';
    }
    return h('span', {class: 'actions left'}, h('button', {type: 'button', class: 'small sessions', onclick: () => ask('End all sessions?', `${who} is signed out everywhere.`, 'End them', () => api.call(`/people/keys/${key.keyId}/end-sessions`, {method: 'POST', body: {}}))}, 'Sign out …'),
      h('button', {type: 'button', class: 'small bad end', onclick: () => ask('End this?', key.signsIn ? `${who} is signed out and does not get in until somebody reinstates.` : `The key of ${who} is worth nothing any more.`, 'End it', () => api.call(`/people/keys/${key.keyId}`, {method: 'DELETE'}))}, 'End …'));
  }
  function make() {
    const name = h('input', {name: 'name', required: true, maxlength: 200, autocomplete: 'off'});
    const person = h('input', {name: 'person', maxlength: 200, autocomplete: 'off'});
    const boxes = roles.map((role) => h('label', null, h('input', {type: 'checkbox', name: 'role', value: role}), ` ${role} `));
    const until = select('expires', [['365d', 'a year'], ['90d', '90 days'], ['7d', 'a week']], '365d');
    dialog('Make a key', [field('Name of the key', name), field('Person whose key it is, as the identity provider names him', person), h('fieldset', null, h('legend', null, 'Roles'), boxes), field('Good for', until)], 'Make it', 'primary', async () => {
      const chosen = boxes.map((label) => label.querySelector('input')).filter((box) => box.checked).map((box) => box.value);
      const answer = await api.call('/people/keys', {method: 'POST', body: {name: name.value.trim(), roles: chosen, person: person.value.trim() || undefined, expires: until.value}});
      return async () => {
        await redraw();
        dialog('The key, shown once', [h('p', null, 'Give it to its person in a safe way. Nobody can show it again.'), h('p', {class: 'mono secret'}, answer.key)], 'I have it', 'primary', async () => null);
      };
    });
  }
  put(place, h('div', {class: 'titlebar'}, h('h1', null, 'People'), h('button', {type: 'button', class: 'primary make', onclick: make}, 'Make a key …')),
    h('p', {class: 'quiet'}, 'API keys, and persons who sign in by the identity provider. Ending is at once, on all nodes.'), h('section', {class: 'card'}, list));
  await redraw();
}
