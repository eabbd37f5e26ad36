// Command modulepath gives the Go client another module path.
//
// Purpose: the path stands once, in client/go.mod; what imports or names it follows. A fork, or a repository
// that moves, needs one word of make.
//
//	go run ./.ci/modulepath example.org/payments/client
//
// May import: the standard library and golang.org/x/mod. Never: the network, the service's rooms.
package main
