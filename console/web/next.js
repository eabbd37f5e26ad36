// This module leads through the queue: it finds the next free case and remembers the cases that
// the officer skipped.

import * as api from './api.js';
import {toast} from './dom.js';
import {officer, subject} from './who.js';

const place = () => `railguard.skipped.${subject()}`; // A colleague at the same browser has skipped nothing.
const most = 100; // As many as a call may name.
let filter = {}; // Of the queue as it was shown last.

const read = () => {
  try {
    return JSON.parse(sessionStorage.getItem(place())) ?? [];
  } catch {
    return [];
  }
};

/** within says by which filter the queue is worked through. */
export function within(members) {
  const {sort, state, assignee, ...rest} = members;
  for (const number of ['minAmount', 'maxAmount']) if (rest[number]) rest[number] = Number(rest[number]);
  filter = rest;
}

/** next leases the next free case and goes to it. */
export async function next(go) {
  const skip = read();
  const taken = await api.call('/queue/next', {method: 'POST', body: {assignee: officer(), ...(skip.length && {skip}), ...(Object.keys(filter).length && {filter})}});
  if (taken?.proposed?.byKey === api.who().key.keyId && taken.proposed.byKey) { // One's own proposal waits for somebody else.
    await pass(taken.txnId, {assignee: officer()}, go);
    return;
  }
  if (taken) {
    go(`/console/case/${taken.txnId}`);
    return;
  }
  sessionStorage.removeItem(place());
  toast(skip.length ? `Nothing else is free. You passed over ${skip.length}: from here on ${skip.length === 1 ? 'it comes' : 'they come'} again.` : 'Nothing is free.', 'warn');
}

/** pass leaves a case undecided, for whoever comes, and goes to the one behind it. */
export async function pass(id, claim, go) {
  sessionStorage.setItem(place(), JSON.stringify([...read().filter((x) => x !== id), id].slice(-most)));
  if (claim?.assignee === officer()) await api.call(`/queue/${id}/release`, {method: 'POST', body: {by: officer()}}).catch(() => {}); // Its lease ends by itself.
  await next(go);
}
