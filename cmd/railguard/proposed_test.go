package main

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestTellProposal: whoever proposed is told that nothing is done, and who does what next.
func TestTellProposal(t *testing.T) {
	for answer, tells := range map[string]string{
		`{"state":"proposed","proposalId":"prp_a","twoPersons":["list.force","list.activate"],"expiresAt":"2026-11-28T00:00:00.000Z"}`: "two persons for list.force, list.activate. Until 2026-11-28",
		`{"txnId":"t","disposition":null,"proposed":{"proposalId":"prp_a","expiresAt":"2026-11-28T00:00:00.000Z"}}`:                    "railguard proposal confirm prp_a",
		`{"txnId":"t","disposition":"APPROVED","confirms":{}}`:                                                                         "", `{"state":"withdrawn","proposalId":"prp_a"}`: "", `[]`: "", `x`: "",
	} {
		var out strings.Builder
		tellProposal(&out, []byte(answer))
		require.Contains(t, out.String(), tells)
		require.Equal(t, tells == "", out.Len() == 0, answer)
	}
}
