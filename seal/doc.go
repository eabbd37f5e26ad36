// Package seal keeps what is replicated but must not be read: it seals it under
// the cluster secret, and draws what a cluster is born with.
//
// Purpose: sealing and opening of signing keys, the log's seed and employer
// numbers; API key secrets and their hashes; what webhooks are signed with; the genesis
// of a cluster.
//
// Map: secrets.go seals, opens and draws API keys; genesis.go draws a cluster and
// its signing keys; webhooks.go draws and uses those of webhooks. Labels are part of the format.
//
// May import: engine, fsm/wire, audit/note (the log's signer).
// Never: net/http, files, logs, metrics.
package seal
