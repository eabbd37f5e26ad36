package guest

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestMarks: what a guest says of its calls goes with their context alone.
func TestMarks(t *testing.T) {
	plain := context.Background()
	require.False(t, ByGateway(plain))
	require.False(t, ByFacilitator(plain))
	require.Nil(t, ProofOf(plain))
	require.True(t, ByGateway(AsGateway(plain)))
	require.False(t, ByFacilitator(AsGateway(plain)), "one mark is not the other")
	require.True(t, ByFacilitator(AsFacilitator(plain)))
	proof := &Proof{Text: "x", Act: "x402"}
	require.Same(t, proof, ProofOf(Proving(plain, proof)))
}
