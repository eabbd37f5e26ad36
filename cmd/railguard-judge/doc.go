// Railguard-judge is the second judge of an examiner's bundle: the same rooms as railguard verify
// (audit/bundle, audit/examine, edge/recorded, engine, ofac), compiled to WebAssembly, in the page
// index.html of the bundle. .ci/judge makes the page of it. Natively it judges a folder and prints
// what the page would be told, for tests.
//
// May import: audit/bundle, audit/examine, audit/note.
// Never: the network, files in the browser, a clock; HTML, which is the page's.
package main
