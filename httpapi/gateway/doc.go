// Package gateway answers a gateway that asks about each request before it lets it through:
// Envoy's external authorization over HTTP, below /ext-authz.
//
// Purpose: a guest in front of the public API. A map says, for each path of the API behind the
// gateway, where amount, payee and the rest of a payment stand in a request. In mode permit the
// request brings a permit, which must be for that payment and is used up; in mode screen the payment
// is screened. 200 is a leave and stands for a verdict of now; everything else is none. In doubt
// there is no leave.
//
// Map: map.go and checks.go read a map; route.go finds a request's route, values.go the payment in a
// request; gateway.go admits and answers; permit.go and ask.go judge; try.go says offline what
// would become of a request.
//
// May import: engine (amounts, wallets), engine/jws and engine/permit (what a permit says),
// strictjson. Never: httpapi, edge, the state; a rule of its own about who may pay whom.
package gateway
