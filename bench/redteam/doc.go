// Package redteam is the other side: it plays agent, tenant, caller, insider, hostile mirror and
// examiner's adversary against a real cluster of the built product.
//
// Purpose: every attack of the third examination's group T, and every call by every role of every
// owner on objects that are not its own. Each attack held or fell, and the run fails if one fell.
// routes.txt says who may make which call, written from the contract and not from the product.
// attacks/*.txt are attacks in the language of bench/conformance; open.txt names attacks that are
// known to get through, each with the reason: one that holds fails the run until it is taken out.
//
// `make redteam` runs everything; `go test` runs the short form, which CI runs too.
//
// May import: nothing of ours; its tests import bench/conformance, cluster/testcluster,
// ofac/listtest, and the doubles console/signin/providertest and engine/passkey/passkeytest.
// Never: anything that knows what the product should answer from the product itself.
package redteam
