// This module knows who acts: the person whom the session's key names. Where the key names nobody,
// it is who says so in this session; that name is forgotten when the session ends, so that nobody
// acts in the name of a colleague who sat at the same browser before.

import {h, field} from './dom.js';
import * as api from './api.js';

let typed = {token: '', name: ''}; // The name that was typed in the session of a token.

/** person is whom the key names, or null. */
export const person = () => api.who().key?.person || null;

/** subject tells persons apart, and keys that name nobody. */
export const subject = () => (person() ? `person:${person()}` : `key:${api.who().key?.keyId ?? ''}`);

/** officer is the name under which the officer acts. */
export const officer = () => person() ?? (typed.token === api.who().token && typed.name ? typed.name : api.name());

/** signs asks who acts, where the key does not say it. name() is who it is, kept until the session ends. */
export function signs(label) {
  if (person()) return {view: h('p', {class: 'quiet signs'}, `${label} ${person()}: whom the key “${api.name()}” names.`), name: person};
  const input = h('input', {name: 'by', required: true, maxlength: 256, value: officer(), autocomplete: 'off'});
  const name = () => {
    typed = {token: api.who().token, name: input.value.trim()};
    return typed.name;
  };
  return {view: field(label, input, `The key “${api.name()}” is recorded besides. This name is forgotten when you sign out.`), name};
}

// Builds of before kept the last officer's name in the browser, beyond the session.
localStorage.removeItem('railguard.officer');
