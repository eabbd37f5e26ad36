package httpapi

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/transparency-dev/merkle/proof"
	"github.com/transparency-dev/merkle/rfc6962"

	"railguard/audit/note"
)

// proofAnswer is what an outside verifier reads.
type proofAnswer struct {
	Leaf, LeafHash, Checkpoint, Keys string
	Record                           json.RawMessage
	Index, TreeSize                  uint64
	Path                             []string
	Later                            []proofAnswer
}

// data returns the bytes that are hashed.
func (p *proofAnswer) data(t *testing.T) []byte {
	if p.Record == nil {
		return []byte(p.Leaf)
	}
	data, err := base64.StdEncoding.DecodeString(p.Leaf)
	require.NoError(t, err)
	return data
}

// verify checks a leaf's path against a checkpoint's root, with the library
// that other log tools use.
func (p *proofAnswer) verify(t *testing.T, root []byte, size uint64) {
	t.Helper()
	hash := rfc6962.DefaultHasher.HashLeaf(p.data(t))
	require.Equal(t, p.LeafHash, base64.StdEncoding.EncodeToString(hash))
	var path [][]byte
	for _, text := range p.Path {
		node, err := base64.StdEncoding.DecodeString(text)
		require.NoError(t, err)
		path = append(path, node)
	}
	require.NoError(t, proof.VerifyInclusion(rfc6962.DefaultHasher, p.Index, size, hash, path, root))
}

func TestProof(t *testing.T) {
	n := newTestNode(t)
	_, token := n.register(`,"spendPolicy":{"maxSingleTxUSDC":0}`)
	var txns []string
	for range 300 { // More than one bundle.
		txns = append(txns, member(t, n.screen(token, "").Body.Bytes(), "txnId"))
	}
	require.Equal(t, 200, n.do("reviewer", "POST", "/v1/reviews/"+txns[7], `{"disposition":"REJECTED","reviewedBy":"Carla"}`).Code)
	for _, txn := range []string{txns[0], txns[7], txns[299]} {
		w := n.do("auditor", "GET", "/v1/audit/"+txn+"/proof", "")
		require.Equal(t, 200, w.Code, w.Body)
		var answer proofAnswer
		require.NoError(t, json.Unmarshal(w.Body.Bytes(), &answer))
		point, err := note.Verify([]byte(answer.Checkpoint), n.settings.Genesis.LogKeys)
		require.NoError(t, err)
		require.Equal(t, answer.TreeSize, point.Size)
		answer.verify(t, point.Root[:], point.Size)
		require.Contains(t, string(answer.Record), txn)
		if txn == txns[7] {
			require.Len(t, answer.Later, 1)
			answer.Later[0].verify(t, point.Root[:], point.Size)
			require.Contains(t, answer.Later[0].Leaf, "REJECTED")
		}
		data := answer.data(t)
		data[len(data)-1]++
		hash := rfc6962.DefaultHasher.HashLeaf(data)
		require.NotEqual(t, answer.LeafHash, base64.StdEncoding.EncodeToString(hash), "an altered record shows")
	}
}

// The public log: a checkpoint of any node, and hash tiles that lead to its root.
func TestPublicLog(t *testing.T) {
	n := newTestNode(t)
	for range 260 {
		n.screen("x", "")
	}
	w := n.do("", "GET", "/log/checkpoint", "")
	require.Equal(t, 200, w.Code)
	point, err := note.Verify(w.Body.Bytes(), n.do("", "GET", "/log/keys", "").Body.String())
	require.NoError(t, err)
	require.Equal(t, n.store.Size(), point.Size)

	tile := n.do("", "GET", "/log/tile/0/000", "")
	require.Equal(t, 200, tile.Code)
	require.Equal(t, 256*32, tile.Body.Len())
	require.Contains(t, tile.Header().Get("Cache-Control"), "immutable")
	first, err := n.store.Leaf(0)
	require.NoError(t, err)
	require.Equal(t, rfc6962.DefaultHasher.HashLeaf(first), tile.Body.Bytes()[:32])
	partial := n.do("", "GET", fmt.Sprintf("/log/tile/0/001.p/%d", point.Size-256), "")
	require.Equal(t, 200, partial.Code)
	require.Equal(t, int(point.Size-256)*32, partial.Body.Len())
	require.Equal(t, 404, n.do("", "GET", fmt.Sprintf("/log/tile/0/001.p/%d", point.Size-255), "").Code, "not there yet")
	require.Equal(t, 200, n.do("", "GET", "/log/tile/1/000.p/1", "").Code)

	entries := n.do("auditor", "GET", "/log/tile/entries/000", "")
	require.Equal(t, 200, entries.Code)
	require.Equal(t, first, entries.Body.Bytes()[2:2+len(first)])
	require.Equal(t, 401, n.do("", "GET", "/log/tile/entries/000", "").Code)
	require.Equal(t, 403, n.do("screener", "GET", "/log/tile/entries/000", "").Code)
}
