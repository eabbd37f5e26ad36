// Package signin signs persons in by OpenID Connect.
//
// Purpose: the authorization code flow with PKCE, state and nonce, between the sign-in page of the
// console and an identity provider. It says who a person is and which roles the person's groups
// have; whoever uses it lets the person in. It keeps no state but the provider's description and
// keys: what a sign-in begins with is sealed into a cookie, so any node ends what any node began.
//
// May import: the standard library, seal, and the libraries that speak the protocol.
// Never: the state, the API.
package signin
