// Package console is the officers' console at /console: pages, a stylesheet and modules that
// are embedded in the binary, and sessions in place of API keys.
//
// Purpose: a client of the public API in the same process. It knows the API by its paths, as
// any caller does. A call to /console/api/… is the same call to /v1/… with the session's API
// key in Authorization.
//
// Map: console.go routes and serves; session.go seals and reads the cookie; calls.go signs
// in, translates calls, and passes list files on to the listener that takes them; web/ is
// what the browser gets.
//
// May import: seal (the cookie is sealed with the cluster secret), strictjson (the body of a
// sign-in is read as strictly as any other).
// Never: httpapi, edge, the state; a rule of its own about who may do what.
package console
