// Package seal encrypts replicated values that must not be read, under the cluster
// secret, and draws the keys and secrets of a new cluster.
//
// Purpose: sealing and opening signing keys, the log's seed and employer numbers; API
// key secrets and their hashes; the keys that sign webhooks; the genesis of a cluster.
//
// Map: secrets.go seals, opens, and draws API keys; genesis.go draws a cluster and its
// signing keys; webhooks.go draws and uses the keys of webhooks. Labels are part of the format.
//
// May import: engine, fsm/wire, audit/note (the log's signer).
// Never: net/http, files, logs, metrics.
package seal
