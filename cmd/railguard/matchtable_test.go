package main

import (
	"bytes"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestMatchesAreReadable: an officer sees each entry, whom it means, and the evidence for and
// against a match, as lines of text. Nothing of the answer's JSON is visible.
func TestMatchesAreReadable(t *testing.T) {
	answer := `{"outcome":"REVIEW","listVersion":1,"matches":[{"list":"SDN","uid":"22790","name":"MADURO MOROS, Nicolas","alias":"MADURO, N\u001b[2J",
		"programs":["VENEZUELA"],"type":"Individual","quality":"strong","form":"possible","score":0.947,"strict":0.894,"outcome":"REVIEW","why":"close spelling",
		"facts":[{"kind":"date of birth","label":"Birthdate","value":"1962-11-23"},{"kind":"document","label":"Cedula No.","value":"5892464, Venezuela"}],
		"context":["date of birth differs: 1970 against 1962"],"explanation":"…",
		"pairs":[{"query":"NICOLA","listed":"NICOLAS","kind":"spelling","similarity":0.8327,"loss":0.0529},{"query":"MADURO","listed":"MADURO","kind":"equal","similarity":1,"loss":0}],
		"losses":[{"where":"query only","what":"OF","loss":0.008}],"cleared":true}],
		"truncated":false,"query":{"name":"Nicola Maduro","normalised":"nicola maduro","wallet":null,"canonicalWallet":null,"cpType":null},"snapshotId":"snp_1","ofacSource":"kv:live"}`
	var out bytes.Buffer
	require.NoError(t, showMatches(&out, []byte(answer)))
	require.Equal(t, `outcome  REVIEW
name     Nicola Maduro
read as  nicola maduro
list     snp_1 (kv:live)

1. SDN 22790  MADURO MOROS, Nicolas  (Individual, VENEZUELA)
   matched by     MADURO, N`+"\ufffd"+`[2J
   outcome        REVIEW: close spelling (this pair is cleared)
   score          0.947, strict 0.894; possible form, strong name
   pair           NICOLA ~ NICOLAS  0.83  -0.053
   pair           MADURO = MADURO  1.00
   lost           OF (query only)  -0.008
   compare        date of birth differs: 1970 against 1962
   date of birth  1962-11-23
   document       Cedula No. 5892464, Venezuela
`, out.String())

	out.Reset()
	require.NoError(t, showMatches(&out, []byte(`{"outcome":"CLEAR","matches":[],"query":{"name":"Amazon","normalised":"amazon"},"snapshotId":"snp_1","ofacSource":"kv:live"}`)))
	require.Contains(t, out.String(), "matches  none")

	out.Reset()
	require.NoError(t, showMatches(&out, []byte(`{"outcome":"REVIEW","matches":[],"notCompared":"ส (Thai): its letters cannot be read","query":{"name":"\u202eA\u200f\u061c\u2069 ส"}}`)))
	require.Contains(t, out.String(), `\u202eA\u200f\u061c\u2069 ส`, "a name does not turn the officer's line round")
	require.Contains(t, out.String(), "ส (Thai): its letters cannot be read (R21 reviews it)")
	require.ErrorContains(t, showMatches(&out, []byte(`[`)), "answer of the match")
}
