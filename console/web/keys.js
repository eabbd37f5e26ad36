// This module handles shortcuts of a single key. The officer can switch them off. They do nothing
// in inputs, with modifiers and in dialogs (WCAG 2.1.4).

import {shortcuts} from './settings.js';

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
