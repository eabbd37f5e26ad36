// Command judge writes the page of the second judge (audit/bundle/judge): it compiles
// cmd/railguard-judge to WebAssembly with the same toolchain, puts it, the toolchain's own
// wasm_exec.js and audit/bundle/judge/web into one HTML file, and packs that for the program.
// The same sources and toolchain give the same bytes.
//
//	go run ./.ci/judge -version 0.2.0 [-page railguard-0.2.0-judge.html]
package main
