// Package judge holds the page of the second judge: one HTML file with cmd/railguard-judge in
// WebAssembly in it, which audit/bundle puts at the head of index.html. `make judge` writes it to
// built/page.html.gz (.ci/judge; docs/decisions/0133-a-second-judge.md). It is not in the
// repository: a program that was built without it carries none, and says so.
//
//	web/    what the page is made of, beside the program and the toolchain's wasm_exec.js
//	built/  the page
//
// May import: the standard library.
// Never: anything of the house. The page is bytes here.
package judge
