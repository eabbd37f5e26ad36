package httpapi

import (
	"context"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"railguard/engine"
	"railguard/fsm/wire"
)

// between is a proposer that runs a function after a call was judged and before its record is
// applied. A lagging follower meets such changes.
type between struct {
	*testNode
	kind wire.Kind
	do   func()
}

func (b *between) Propose(ctx context.Context, kind wire.Kind, body []byte) (wire.Result, error) {
	if kind == b.kind && b.do != nil {
		do := b.do
		b.do = nil
		do()
	}
	return b.testNode.Propose(ctx, kind, body)
}

// TestAKeyRevokedMeanwhile: a call whose key changes after its admission goes by the
// changed key. A revoked key stops it; a rotated key does not.
func TestAKeyRevokedMeanwhile(t *testing.T) {
	n := newTestNode(t)
	_, token := n.register("")
	call := func(kind wire.Kind, path, body string, meanwhile func()) *httptest.ResponseRecorder {
		api := n.another(func(d *Deps) { d.Proposer = &between{n, kind, meanwhile} })
		r := httptest.NewRequest("POST", path, strings.NewReader(body))
		r.Header.Set("Authorization", "Bearer rg_live_meanwhile0000000000000000000")
		r.Header.Set("Idempotency-Key", "one "+path)
		w := httptest.NewRecorder()
		api.Handler().ServeHTTP(w, r)
		return w
	}
	key := wire.APIKey{ID: "key_meanwhile", Name: "m", Roles: wire.RoleScreener | wire.RoleOperator}
	n.addKey(key, "rg_live_meanwhile0000000000000000000")
	screen := `{"token":"` + token + `","amount":1}`

	size := n.store.Size()
	other := wire.APIKey{ID: key.ID, Prefix: "rg_live_", Hashes: [][]byte{make([]byte, 32)}}
	rotate := func() { n.must(wire.KindAPIKey, &wire.APIKeyPut{Op: wire.KeyRotate, Key: other, Overlap: engine.Hour}) }
	w := call(wire.KindScreen, "/v1/screen", screen, rotate)
	require.Equal(t, 200, w.Code, "in the overlap both secrets of a rotated key are good: %s", w.Body)
	require.EqualValues(t, size+3, n.store.Size(), "the rotation, a profile and one record")

	revoke := func() { n.must(wire.KindAPIKey, &wire.APIKeyPut{Op: wire.KeyRevoke, Key: wire.APIKey{ID: key.ID}}) }
	size = n.store.Size()
	register := `{"agentName":"x","agentType":"supervised","operatorLegalName":"Acme","purpose":"p"}`
	w = call(wire.KindRegister, "/v1/agents/register", register, revoke)
	require.Equal(t, 401, w.Code, w.Body)
	require.EqualValues(t, size+1, n.store.Size(), "the revocation alone")
	w = call(wire.KindScreen, "/v1/screen", screen, nil)
	require.Equal(t, 401, w.Code, w.Body)
}

func TestARevokedKeyGetsNoVerdict(t *testing.T) {
	n := newTestNode(t)
	_, token := n.register("")
	revoke := func() {
		n.must(wire.KindAPIKey, &wire.APIKeyPut{Op: wire.KeyRevoke, Key: wire.APIKey{ID: "key_screener"}})
	}
	api := n.another(func(d *Deps) { d.Proposer = &between{n, wire.KindScreen, revoke} })
	size := n.store.Size()
	r := httptest.NewRequest("POST", "/v1/screen", strings.NewReader(`{"token":"`+token+`","amount":1}`))
	r.Header.Set("Authorization", "Bearer "+testSecret("screener"))
	w := httptest.NewRecorder()
	api.Handler().ServeHTTP(w, r)
	require.Equal(t, 401, w.Code, w.Body)
	require.EqualValues(t, size+1, n.store.Size(), "the revocation alone")
}
