// This module calls the public API for the session. The browser's cookie says who calls. The
// token proves that this page makes the call, and no other site.

import {sign} from './sign.js';

const ROOT = '/console';
const SIGNED = 'X-Railguard-Passkey';
let session = {signedIn: false};
let provider = false;
let ended = () => {};

/** Failure is an answer that is no success; body is the API's error. */
export class Failure extends Error {
  constructor(status, body, outcome) {
    super(body?.message ?? `The server answered ${status}.`);
    this.status = status;
    this.outcome = outcome; // none: certainly nothing happened; unknown; null: the server does not say.
    this.body = body ?? {};
    this.code = this.body.code;
  }
}

/** Proposed says that nothing is done yet: the policy demands a second person. */
export class Proposed extends Error {
  constructor(body) {
    super('Nothing is done yet: this needs two persons. Somebody else confirms it under Proposals.');
    this.proposal = body;
  }
}

export const who = () => session;
/** byProvider reports whether one can sign in by the institution's identity provider. */
export const byProvider = () => provider;
export const name = () => session.key?.name ?? '';

/** may reports whether the key has one of the roles. What is hidden here is refused there. */
export const may = (...roles) => (session.key?.roles ?? []).some((role) => role === 'admin' || roles.includes(role));
/** whole reports whether the key is not limited to one operator. */
export const whole = () => !session.key?.owner;
export const onEnded = (then) => { ended = then; };

async function read(response) {
  const text = await response.text();
  let body = null;
  try {
    body = text ? JSON.parse(text) : null;
  } catch {
    body = {message: text.slice(0, 200)};
  }
  if (response.status === 204) return null;
  if (!response.ok) throw new Failure(response.status, body, response.headers.get('X-Railguard-Outcome'));
  if (response.status === 202 && body?.state === 'proposed') throw new Proposed(body);
  return body;
}

const patience = 45000; // Milliseconds. A node that does not answer in that time is taken for dead.

async function send(path, options = {}) {
  try {
    return await fetch(ROOT + path, {credentials: 'same-origin', redirect: 'error', signal: AbortSignal.timeout(patience), ...options});
  } catch {
    throw new Failure(0, {message: (options.method ?? 'GET') === 'GET' ? 'This node does not answer.' : 'No answer came: it is not known whether this was recorded.'});
  }
}

export async function resume() {
  session = await read(await send('/session'));
  provider = Boolean(session.provider);
  return session.signedIn;
}

/** alive tells the server that the person is here, although the page has nothing to ask. */
export async function alive() {
  const response = await send('/session', {method: 'PUT', headers: {'X-Railguard-Console-Token': session.token}});
  if (response.status === 401) over();
}

function over() {
  session = {signedIn: false};
  ended('Your session is over. Sign in again to go on: what you wrote is kept.');
}

export async function signIn(key) {
  session = await read(await send('/session', {method: 'POST', headers: {'Content-Type': 'application/json'}, body: JSON.stringify({key})}));
}

/** signOut ends the session. The page forgets it whatever the answer is; an error says that the server may not have. */
export async function signOut() {
  const {token} = session;
  session = {signedIn: false};
  await read(await send('/session', {method: 'DELETE', headers: {'X-Railguard-Console-Token': token}}));
}

const newKey = () => `console-${crypto.getRandomValues(new Uint32Array(4)).join('-')}`;

/** call asks the API. options: method, body, poll (no sign of life of the person), headers. */
export async function call(path, options) {
  return read(await respond(path, options));
}

async function respond(path, {method = 'GET', body, poll, headers = {}} = {}) {
  const all = {...headers, 'X-Railguard-Console-Token': session.token}; // On reads too: another person may have signed in in another tab.
  if (poll) all['X-Railguard-Console-Poll'] = '1';
  if (method !== 'GET') {
    all['Content-Type'] = 'application/json';
    if (method === 'POST' || all['Idempotency-Key']) all['Idempotency-Key'] = all['Idempotency-Key'] ?? newKey();
  }
  const response = await send(path.startsWith('/people/') ? path : `/api${path}`, {method, headers: all, body: body === undefined ? undefined : typeof body === 'string' ? body : JSON.stringify(body)});
  if (response.status === 401 || response.headers.get('X-Railguard-Console') === 'other-session') over();
  const demand = all[SIGNED] ? null : await demanded(response, method);
  return demand ? respond(path, {method, body, poll, headers: {...all, [SIGNED]: await sign(demand.challenge, demand.passkeys)}}) : response;
}

/** demanded returns what the person has to sign before a call is taken; null: nothing. Of a call about many, each item demands the same. */
async function demanded(response, method) {
  if (method === 'GET' || response.status !== 403 && response.status !== 200) return null;
  const said = await response.clone().json().catch(() => null);
  const asked = response.status === 403 ? said : said?.results?.length > 0 && said.results.every((item) => item.code === 'passkey_required') ? said.results[0] : null;
  return asked?.code === 'passkey_required' && asked.passkeys?.length > 0 ? asked : null;
}

const tries = 3; // Of one press, before the person is asked to press again.
const pause = (n) => new Promise((then) => { setTimeout(then, 700 * n); });

const kept = 20 * 3600e3; // Milliseconds for which the same is asked again. The server knows a key for 24 hours.

/** unknown reports whether a failed call may have taken effect, or still runs. */
const unknown = (error) => error.code === 'idempotency_in_flight' || (error.status === 0 || error.status >= 500) && error.outcome !== 'none';

/** decided reports whether a refusal speaks of all tries, not of the last alone: the server looked for an earlier one. */
const decided = (error) => error.status >= 400 && error.status < 500 && ![401, 403, 408, 429].includes(error.status) && error.code !== 'idempotency_in_flight';

/** stillKnown reports whether a call that got no answer can be asked again. */
export const stillKnown = (open) => Date.now() - open.at < kept;

/** sender makes a call that is recorded at most once, however often it is asked: it keeps its Idempotency-Key and its bytes until it knows
 *  what became of it. open is {key, path, method, body, match, at} while that is unknown, else null; match is the version that a change replaces;
 *  replayed says that an earlier try had been recorded. */
export function sender() {
  const own = {open: null, replayed: false, post};
  async function post(path, body, method = 'POST', match = undefined) {
    let doubt = own.open !== null;
    const asked = own.open ?? {key: newKey(), path, method, body: JSON.stringify(body), match, at: Date.now()};
    own.open = asked;
    for (let n = 1; ; n += 1) {
      try {
        const response = await respond(asked.path, {method: asked.method, body: asked.body, headers: {'Idempotency-Key': asked.key, ...(asked.match && {'If-Match': `"${asked.match}"`})}});
        const answer = await read(response);
        own.replayed = response.headers.get('Idempotent-Replayed') === 'true'; // A browser asks again by itself, too, where a connection broke.
        own.open = null;
        return answer;
      } catch (error) {
        doubt ||= unknown(error);
        if (doubt ? error.proposal || decided(error) : true) own.open = null;
        const again = error.status === 0 || error.status >= 500 || error.code === 'idempotency_in_flight';
        if (!again || n === tries) throw error;
        own.open = asked;
      }
      await pause(n);
    }
  }
  return own;
}

/** uploads reports whether this node takes list files from here. */
export const uploads = () => Boolean(session.uploads);

/** upload sends bytes as a list's files; about has the query's members, and progress is told of how many bytes went. It returns {done, stop}. */
export function upload(about, bytes, progress) {
  const request = new XMLHttpRequest(); // fetch does not tell how much of a body went.
  const done = new Promise((then, fail) => {
    request.open('POST', `${ROOT}/upload${query(about)}`);
    request.setRequestHeader('Content-Type', 'application/octet-stream');
    request.setRequestHeader('X-Railguard-Console-Token', session.token);
    request.upload.addEventListener('progress', (event) => progress(event.loaded, event.total));
    request.addEventListener('error', () => fail(new Failure(0, {message: 'The connection broke before the node answered. If the files had arrived, the list is among the staged ones in a moment.'})));
    request.addEventListener('abort', () => fail(new Failure(0, {code: 'stopped', message: 'Stopped. Nothing was staged.'})));
    request.addEventListener('load', () => read(new Response(request.status === 204 ? null : request.responseText, {status: request.status})).then(then, fail));
    request.send(bytes);
  });
  return {done, stop: () => request.abort()};
}

/** maybe is call, with null where this key may not, or where this version has no such thing. */
export async function maybe(path, options) {
  try {
    return await call(path, options);
  } catch (error) {
    if (error.code !== 'second_look_in_hand' && [403, 404, 405].includes(error.status)) return null; // Whoever has a look in hand is led back to it.
    throw error;
  }
}

export const query = (members) => {
  const parts = Object.entries(members).filter(([, v]) => v !== '' && v !== undefined && v !== null);
  return parts.length ? `?${parts.map(([k, v]) => `${k}=${encodeURIComponent(v)}`).join('&')}` : '';
};
