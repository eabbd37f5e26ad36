// This module keeps what a person has written and not sent. The server has it, for this person alone,
// so that it outlives the dialog, the session and this node. What could not be saved yet stays in the
// page, by person: a colleague who signs in at the same browser is not shown it.

import {h, put, when} from './dom.js';
import * as api from './api.js';
import {subject} from './who.js';

const wait = 800; // Milliseconds without typing, after which it is saved.
const again = 5000; // Milliseconds after which a failed save is tried again.
const textMax = 14000; // Characters of a draft. The server takes 16 KiB.
const unsaved = new Map(); // Subject to names to drafts that the server has not; null: to be dropped there.
let running = null; // The save that is under way.
let timer = null;

const own = (by) => {
  if (!unsaved.has(by)) unsaved.set(by, new Map());
  return unsaved.get(by);
};

const path = (name) => `/drafts/${name.replace(/[^A-Za-z0-9_.:-]/g, '_').slice(0, 128)}`; // Without an escape, which no path of the console has.

function later(delay) {
  clearTimeout(timer);
  timer = setTimeout(() => flush().catch(() => {}), delay);
}

async function saveAll(by) {
  const all = own(by);
  for (const [name, draft] of [...all]) {
    if (subject() !== by) return; // Somebody else signed in meanwhile.
    if (draft) await api.call(path(name), {method: 'PUT', poll: true, body: {text: draft.text, fields: draft.fields}}); // Typing itself is the sign of life.
    else await api.call(path(name), {method: 'DELETE', poll: true}).catch((error) => { if (error.status !== 404) throw error; });
    if (all.get(name) === draft) all.delete(name);
  }
}

/** flush saves what is not saved. It fails where the server does not take it now; that is tried again. */
export async function flush() {
  clearTimeout(timer);
  while (running) await running.catch(() => {});
  if (!api.who().signedIn || own(subject()).size === 0) return;
  running = saveAll(subject());
  try {
    await running;
  } catch (error) {
    if (error.status === 0 || error.status >= 500 || error.status === 429) later(again); // What is refused stays in this page.
    throw error;
  } finally {
    running = null;
  }
}

/** save keeps a draft: its text, and short fields by name. */
export function save(by, name, text, fields = {}) {
  own(by).set(name, {text: text.slice(0, textMax), fields, savedAt: new Date().toISOString()});
  later(wait);
}

/** drop forgets a draft. */
export function drop(by, name) {
  own(by).set(name, null);
  later(0);
}

/** load is the person's draft of a name: {text, fields, savedAt}, or null. */
export async function load(name) {
  const all = own(subject());
  if (all.has(name)) return all.get(name);
  return api.maybe(path(name)).catch(() => null);
}

const written = (form) => [...form.elements].filter((e) => e.name && !['by', 'password'].includes(e.name) && ['textarea', 'text', 'date', 'checkbox', 'select-one'].includes(e.type));
const valueOf = (e) => (e.type === 'checkbox' ? (e.checked ? 'yes' : '') : e.value);

/** keep ties a form to the draft of a name: what is written is saved, and what was written stands there again. The first
 *  text area is the draft's text. extra() gives more fields. It returns {drop, save, ready}; ready has the draft. */
export function keep(form, name, extra = () => ({})) {
  const told = h('div', {class: 'draft', 'aria-live': 'polite'});
  const main = () => written(form).find((e) => e.type === 'textarea');
  const begun = new Map(written(form).map((e) => [e, valueOf(e)]));
  const by = subject(); // When the session is over, it is still this person's.
  let touched = false;
  const now = () => {
    touched = true;
    const fields = Object.fromEntries(written(form).filter((e) => e !== main() && valueOf(e) !== begun.get(e)).map((e) => [e.name, valueOf(e)]));
    save(by, name, main()?.value ?? '', {...fields, ...extra()});
  };
  const dropIt = () => {
    touched = true;
    put(told);
    drop(by, name);
  };
  const fill = (draft) => {
    for (const e of written(form)) {
      const value = e === main() ? draft.text : draft.fields?.[e.name];
      if (value === undefined) continue;
      if (e.type === 'checkbox') e.checked = value === 'yes';
      else e.value = value;
      e.dispatchEvent(new Event('change'));
    }
    put(told, h('p', {class: 'quiet'}, 'Your draft', draft.savedAt && [' of ', when(draft.savedAt)], '. ', h('button', {type: 'button', class: 'small', onclick: () => {
      for (const [e, value] of begun) {
        if (e.type === 'checkbox') e.checked = value === 'yes';
        else e.value = value;
      }
      dropIt();
    }}, 'Discard it')));
  };
  form.append(told);
  form.addEventListener('input', now);
  const ready = load(name).then((draft) => {
    if (!draft || touched) return null;
    if (draft.text || Object.keys(draft.fields ?? {}).length) fill(draft);
    return draft;
  });
  return {drop: dropIt, save: now, ready};
}

document.addEventListener('visibilitychange', () => { if (document.hidden) flush().catch(() => {}); });
