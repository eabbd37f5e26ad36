// Package openapi serves the document of the public API and what explains it to people:
// the explorer, and the feed of changes to the API.
//
// Map: document.go makes the document out of httpapi/description, pages.go is every file
// that is served. openapi.yaml is the same document for readers of this repository; a
// test writes it with -update.
//
// May import: httpapi/description; swaggest/swgui/v5/static.
// Never: knows what the service does, or lets a page ask another server.
package openapi
