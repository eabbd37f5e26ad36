// Package clients holds what is tested of the three clients together: that Go,
// Python and TypeScript agree on every case of client/testdata, make no payment
// twice against a real server, and that their examples and documents run.
//
// Purpose: one table, one fake server and one real one for three languages.
//
// May import: nothing of ours; its tests import the client and cluster/testcluster.
// Never: a client's own code.
package clients
