// This module handles shortcuts of a single key. The officer can switch them off. They do nothing
// in inputs, with modifiers and in dialogs (WCAG 2.1.4).

import {h, dialog} from './dom.js';
import {shortcuts} from './settings.js';

const all = [['/', 'find anything, from every page'], ['?', 'this'], ['J, K', 'in the queue: next, previous'], ['Enter', 'in the queue: open the case'], ['F', 'in the queue: filter'], ['X', 'in the queue: select for all at once'],
  ['N', 'the next free case, leased to you; in a case: skip it'], ['A', 'approve'], ['R', 'reject'], ['S', 'escalate'], ['Q', 'in a case: back to the queue']];

/** help shows what the keys do. */
export function help() {
  dialog('Keys', [h('dl', {class: 'facts'}, all.map(([k, v]) => [h('dt', null, h('kbd', null, k)), h('dd', null, v)])),
    h('p', {class: 'quiet'}, 'They do nothing in a field or a dialog. The menu with your key’s name switches them off.')], 'Good', 'primary', async () => {});
}

/** keys listens until the function it returns is called. */
export function keys(map) {
  const on = (event) => {
    if (!shortcuts() || event.defaultPrevented || event.ctrlKey || event.metaKey || event.altKey || event.isComposing) return;
    if (event.target.closest?.('input, textarea, select, dialog, [contenteditable]') || document.querySelector('dialog[open]')) return;
    const act = map[event.key.length === 1 ? event.key.toLowerCase() : event.key];
    if (!act || (event.key === 'Enter' && event.target.closest?.('a, button, summary'))) return;
    event.preventDefault();
    act(event);
  };
  document.addEventListener('keydown', on);
  return () => document.removeEventListener('keydown', on);
}
