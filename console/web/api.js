// This module calls the public API for the session. The browser's cookie says who calls. The
// token proves that this page makes the call, and no other site.

const ROOT = '/console';
let session = {signedIn: false};
let ended = () => {};

/** Failure is an answer that is no success; body is the API's error. */
export class Failure extends Error {
  constructor(status, body) {
    super(body?.message ?? `The server answered ${status}.`);
    this.status = status;
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
  if (!response.ok) throw new Failure(response.status, body);
  if (response.status === 202 && body?.state === 'proposed') throw new Proposed(body);
  return body;
}

async function send(path, options) {
  let response;
  try {
    response = await fetch(ROOT + path, {credentials: 'same-origin', redirect: 'error', ...options});
  } catch {
    throw new Failure(0, {message: 'This node does not answer. Nothing was changed as far as this page knows.'});
  }
  return response;
}

export async function resume() {
  session = await read(await send('/session'));
  return session.signedIn;
}

export async function signIn(key) {
  session = await read(await send('/session', {method: 'POST', headers: {'Content-Type': 'application/json'}, body: JSON.stringify({key})}));
}

export async function signOut() {
  await send('/session', {method: 'DELETE', headers: {'X-Railguard-Console-Token': session.token}});
  session = {signedIn: false};
}

/** call asks the API. options: method, body, poll (no sign of life of the person), headers. */
export async function call(path, {method = 'GET', body, poll, headers = {}} = {}) {
  const all = {...headers};
  if (poll) all['X-Railguard-Console-Poll'] = '1';
  if (method !== 'GET') {
    all['X-Railguard-Console-Token'] = session.token;
    all['Content-Type'] = 'application/json';
    if (method === 'POST') all['Idempotency-Key'] = all['Idempotency-Key'] ?? `console-${crypto.getRandomValues(new Uint32Array(4)).join('-')}`;
  }
  const response = await send(`/api${path}`, {method, headers: all, body: body === undefined ? undefined : typeof body === 'string' ? body : JSON.stringify(body)});
  if (response.status === 401) {
    session = {signedIn: false};
    ended('Your session is over. Sign in again to go on.');
  }
  return read(response);
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
    if (error.status === 403 || error.status === 404 || error.status === 405) return null;
    throw error;
  }
}

export const query = (members) => {
  const parts = Object.entries(members).filter(([, v]) => v !== '' && v !== undefined && v !== null);
  return parts.length ? `?${parts.map(([k, v]) => `${k}=${encodeURIComponent(v)}`).join('&')}` : '';
};
