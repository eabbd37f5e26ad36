// Package contract holds exchanges against the document of the API: what was answered,
// and what was accepted. It is for tests and for nothing that runs.
//
// Map: contract.go reads the document, check.go judges one exchange, seen.go says what
// never came.
//
// May import: httpapi/openapi; santhosh-tekuri/jsonschema.
// Never: is imported by what is served; changes what it looks at.
package contract
