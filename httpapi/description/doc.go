// Package description is the one description of the public API: a table of its
// operations, and the types of what their bodies hold. The OpenAPI document, the
// members and query parameters that the border accepts, roles, scopes, docs/ROUTES.md
// and the clients' types follow from it.
//
// Map: payments.go, registry.go, casework.go, evidence.go, rulebook.go and operations.go
// are the tables, each with its types in a file beside it; shared.go and
// shared_types.go are what several tables use; operation.go says what a row may hold,
// schema.go how a Go type becomes a JSON schema, document.go how the rows become the
// document.
//
// May import: engine, for the bounds that callers meet.
// Never: knows how a call is carried out.
package description
