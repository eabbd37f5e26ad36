// The dialog in which a person does something that is recorded. It has one Idempotency-Key: when an
// answer is lost, the same is asked again and the answer says what happened, once. What is written
// in it is a draft, which outlives Escape, the session and the node.

import {h, put, dialog, toast} from './dom.js';
import * as api from './api.js';
import {keep} from './drafts.js';

/** lost tells what became of a call whose answer got lost, and what pressing again does. */
const lost = () => h('p', {class: 'note warn lostanswer'}, 'No answer came. It may have been recorded or not. Ask again: the same is sent, and recorded at most once.');

/** freeze locks what is written while it is not known whether it was recorded: another text would be another act. */
function freeze(form, on) {
  for (const e of form.elements) {
    if (['textarea', 'text', 'date'].includes(e.type)) e.readOnly = on;
    else if (['checkbox', 'radio', 'select-one'].includes(e.type)) e.disabled = on;
  }
}

/** ask opens the dialog.
 *  title, word (of the button), kind (its colour: good, warn, bad, primary); body: what stands in it, with fields made by field();
 *  draft: the name under which what is written is kept, letters, digits and _.:- alone;
 *  act(form, post): does it by await post(path, body), or post(path, body, method, version that it replaces), which may be asked again; it may return what is to be done
 *  once the box is closed; it throws to stay open, and error.shown is then shown; error.done says that it is done all the same. */
export function ask({title, body, word, kind = 'primary', draft, act}) {
  const sender = api.sender();
  const answers = new Map(); // Of what was recorded already, where a dialog makes several calls: none is made twice.
  const post = async (path, members, method, match) => {
    const call = JSON.stringify([path, members, method]);
    if (!answers.has(call)) answers.set(call, await sender.post(path, members, method, match));
    return answers.get(call);
  };
  let kept = null;
  const box = dialog(title, body, word, kind, async (form) => {
    const button = form.querySelector('button[type=submit]');
    try {
      const after = await act(form, post);
      freeze(form, false);
      kept?.drop();
      if (sender.replayed) toast('It had been recorded at the first try; only the answer was lost. This is it.', 'good');
      return after;
    } catch (error) {
      freeze(form, sender.open !== null);
      if (!error.done) put(button, sender.open ? 'Ask again' : word);
      if (sender.open) {
        error.shown = lost();
        kept?.save();
      } else if (error.proposal || error.done) kept?.drop();
      throw error;
    }
  });
  const form = box.querySelector('form');
  if (draft) {
    kept = keep(form, draft, () => (sender.open ? {sent: JSON.stringify(sender.open)} : {}));
    kept.ready.then((was) => {
      if (!was?.fields?.sent || !box.isConnected) return;
      const open = JSON.parse(was.fields.sent);
      if (!api.stillKnown(open)) {
        put(form.querySelector('.alerts'), h('p', {class: 'note warn lostanswer'}, 'You sent this before and no answer came. It may have been recorded: look at the record before you send it again.'));
        return;
      }
      sender.open = open;
      freeze(form, true);
      put(form.querySelector('button[type=submit]'), 'Ask again');
      put(form.querySelector('.alerts'), lost());
    });
  }
  return box;
}
