package fsm

import (
	"fmt"
	"strings"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/require"

	"railguard/engine"
	"railguard/fsm/wire"
)

// TestProfilesShareTheirTexts: registered, changed and restored profiles of one operator
// share one copy of equal texts and keep their values.
func TestProfilesShareTheirTexts(t *testing.T) {
	w := newWorld(t)
	full := func(p *engine.AgentProfile) {
		p.AgentFramework, p.Model, p.OperatorWallet, p.EINMasked = "langgraph", "model-4", "0xAB", "**-***6789"
		p.PolicyJSON, p.Purpose = []byte(`{"dailyLimit":5}`), "buys"
	}
	for n := range 3 {
		w.register(fmt.Sprint("agent ", n), full)
	}
	require.Equal(t, wire.Applied, w.reissue(2, 0).Code)
	require.Equal(t, wire.Applied, w.do(wire.KindSettings, &wire.Settings{Agent: 3, BaseRev: 1, Event: "agent.settings", Settings: engine.AgentSettings{CurrentModel: "model-4"}}).Code)
	for _, m := range []*Machine{w.m, restoredFrom(t, w.m)} {
		first := *m.registry.profiles.At(1)
		for slot := uint64(1); slot <= 3; slot++ {
			p := *m.registry.profiles.At(slot)
			for _, pair := range [][2]string{
				{first.OperatorLegalName, p.OperatorLegalName}, {first.AgentFramework, p.AgentFramework}, {first.Model, p.Model},
				{first.OperatorWallet, p.OperatorWallet}, {first.EINMasked, p.EINMasked}, {first.KeyID, p.KeyID},
			} {
				require.NotEmpty(t, pair[0])
				require.Equal(t, pair[0], pair[1])
				require.Same(t, unsafe.StringData(pair[0]), unsafe.StringData(pair[1]))
			}
			require.Same(t, &first.PolicyJSON[0], &p.PolicyJSON[0])
			require.Equal(t, fmt.Sprint("agent ", slot-1), p.AgentName)
			require.Equal(t, "buys", p.Purpose)
		}
	}
}

func TestSharerIsBounded(t *testing.T) {
	var s sharer
	for n := range sharedMax + 5 {
		require.Equal(t, fmt.Sprint(n), s.shareText(fmt.Sprint(n)))
		require.Equal(t, fmt.Sprint(n), string(s.shareBlob(fmt.Append(nil, n))))
	}
	require.Len(t, s.texts, 5)
	require.Len(t, s.blobs, 5)
	long := strings.Repeat("x", sharedBytesMax+1)
	require.Equal(t, long, s.shareText(long))
	require.Len(t, s.texts, 5)
	require.Nil(t, s.shareBlob(nil))
}
