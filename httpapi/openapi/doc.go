// Package openapi is the document of the public API and what explains it to people:
// openapi.yaml, written by hand, the explorer, and the feed of changes to the API.
//
// Map: document.go turns the document into JSON, pages.go is every file that is served.
//
// May import: nothing of the house; go.yaml.in/yaml, swaggest/swgui/v5/static.
// Never: knows what the service does, or lets a page ask another server.
package openapi
