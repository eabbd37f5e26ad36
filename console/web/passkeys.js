// Passkeys: what a person signs with the authenticator, and the page of one's own.

import {h, put, field, table, toast, when, badge} from './dom.js';
import * as api from './api.js';
import {ask} from './ask.js';
import {decode, encode, sign} from './sign.js';

/** register makes a passkey on this authenticator, and lets it sign its own registration. */
async function register(name) {
  const made = await navigator.credentials.create({publicKey: {
    rp: {name: 'Railguard', id: location.hostname}, user: {id: crypto.getRandomValues(new Uint8Array(16)), name: api.name() || 'officer', displayName: name},
    challenge: crypto.getRandomValues(new Uint8Array(32)), pubKeyCredParams: [{type: 'public-key', alg: -7}, {type: 'public-key', alg: -8}],
    authenticatorSelection: {userVerification: 'required', residentKey: 'preferred'}, attestation: 'none',
  }});
  const passkeyId = encode(made.rawId);
  const statement = `{"act":"passkey.added","passkeyId":${JSON.stringify(passkeyId)},"name":${JSON.stringify(name)}}`;
  const text = new TextEncoder().encode(`railguard passkey statement 1\n${statement}`);
  const challenge = encode(await crypto.subtle.digest('SHA-256', text));
  const proof = JSON.parse(new TextDecoder().decode(decode(await sign(challenge, [passkeyId]))));
  return {name, passkeyId, publicKey: encode(made.response.getPublicKey()), proof};
}

export async function showPasskeys(place) {
  const list = h('div', {id: 'passkeys'});
  async function redraw() {
    const page = await api.call('/people/passkeys?limit=100');
    put(list, page.data.length === 0 ? h('p', {class: 'quiet'}, 'None yet.') : table('Passkeys', ['Name', 'Whose', 'Site', 'Since', 'Signs', 'Acts'], page.data.map((p) => [p.name, p.own ? 'yours' : p.subject, p.site, when(p.addedAt),
      p.counts ? badge('ok') : h('span', null, 'from ', when(p.countsFrom)), h('button', {type: 'button', class: 'small', onclick: () => remove(p)}, 'Remove …')])));
  }
  function remove(p) {
    ask({title: 'Remove this passkey?', word: 'Remove', kind: 'bad', body: [h('p', null, `“${p.name}” signs nothing any more, at once.`)], act: async (_form, post) => {
      await post(`/people/passkeys/${p.passkeyId}`, undefined, 'DELETE');
      toast('Removed.');
      return redraw;
    }});
  }
  function add() {
    const name = h('input', {name: 'name', required: true, maxlength: 100, autocomplete: 'off'});
    let made = null; // The authenticator is not asked again where only the answer got lost.
    ask({title: 'Register a passkey', word: 'Register', body: [h('p', null, 'Your authenticator asks you twice: once to make the passkey, once to prove it.'), field('Name', name)], act: async (_form, post) => {
      made ??= await register(name.value.trim());
      await post('/people/passkeys', made).catch((error) => {
        if (error.status >= 400 && error.status < 500) made = null;
        throw error;
      });
      toast('Registered.');
      return redraw;
    }});
  }
  put(place, h('div', {class: 'titlebar'}, h('h1', null, 'Passkeys'), h('button', {type: 'button', class: 'primary register', onclick: add}, 'Register …')),
    h('p', {class: 'quiet'}, 'The policy says which acts count only if you sign them with a passkey (passkeys). A new one signs after 24 hours, or at once if one that signs already vouches for it.'), h('section', {class: 'card'}, list));
  await redraw();
}
