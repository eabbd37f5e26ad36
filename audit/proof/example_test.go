package proof_test

import (
	"crypto/sha256"
	"errors"
	"fmt"

	"railguard/audit/proof"
)

// In a tree of two leaves, the proof of one leaf is the hash of the other. Anybody who keeps
// the root can check without a server that a record is in the log, unaltered.
func ExampleVerifyInclusion() {
	record := []byte(`{"txnId":"txn_0000000A","verdict":"PROCEED"}`)
	mine, other := proof.LeafHash(record), proof.LeafHash([]byte("another record"))
	root := sha256.Sum256(append(append([]byte{1}, mine[:]...), other[:]...))
	path := [][]byte{other[:]}

	fmt.Println("as it stands:", proof.VerifyInclusion(record, 0, 2, path, root))

	record = []byte(`{"txnId":"txn_0000000A","verdict":"BLOCK"}`)
	err := proof.VerifyInclusion(record, 0, 2, path, root)
	fmt.Println("altered:", errors.Is(err, proof.ErrInvalid))
	// Output:
	// as it stands: <nil>
	// altered: true
}
