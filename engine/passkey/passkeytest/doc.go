// Package passkeytest is an authenticator and its browser in memory, for tests.
//
// Purpose: registers passkeys and signs challenges as a browser does, and, where a test asks for it,
// as no honest one does. It knows the service by what the documents say of it, so that it can stand
// on the other side.
//
// May import: nothing of ours.
// Never: a check of what it signs.
package passkeytest
