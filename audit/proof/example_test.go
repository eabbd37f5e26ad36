package proof_test

import (
	"crypto/sha256"
	"errors"
	"fmt"

	"railguard/audit/proof"
)

// A tree of two leaves: the proof of one is the hash of the other. Whoever keeps
// the root needs no server to see that the record was in the log, as it stands.
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
