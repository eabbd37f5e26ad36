// Signing with a passkey: the browser's part of it.

/** encode writes bytes as base64url without padding. */
export const encode = (bytes) => btoa(String.fromCharCode(...new Uint8Array(bytes))).replaceAll('+', '-').replaceAll('/', '_').replaceAll('=', '');
/** decode reads base64url. */
export const decode = (text) => Uint8Array.from(atob(text.replaceAll('-', '+').replaceAll('_', '/')), (c) => c.charCodeAt(0));

/** sign asks the authenticator for an assertion over a challenge, and returns it as the API takes it. */
export async function sign(challenge, passkeys) {
  const signed = await navigator.credentials.get({publicKey: {
    challenge: decode(challenge), rpId: location.hostname, userVerification: 'required', allowCredentials: passkeys.map((id) => ({type: 'public-key', id: decode(id)})),
  }});
  const {clientDataJSON, authenticatorData, signature} = signed.response;
  return encode(new TextEncoder().encode(JSON.stringify({credentialId: encode(signed.rawId), clientDataJSON: encode(clientDataJSON), authenticatorData: encode(authenticatorData), signature: encode(signature)})));
}
