package border

import (
	"net/netip"
	"testing"

	"github.com/stretchr/testify/require"

	"railguard/edge"
	"railguard/engine"
	"railguard/fsm/wire"
)

// Names tried near many listed parties never take the room of other looks, nor that of another
// key's probes.
func TestProbesLeaveRoom(t *testing.T) {
	l := newLooks(nil)
	try := func(key, uid uint32) {
		l.count(lookKey{key: key, kind: wire.LookDryRun}, netip.Addr{}, edge.Probe{UID: uid, Name: 1})
	}
	for uid := range uint32(2 * engine.DryRunsCalm) {
		try(1, uid+1)
	}
	require.Equal(t, engine.DryRunsCalm, l.probes)
	for key := uint32(2); l.probes < engine.LooksMax; key++ {
		for uid := range uint32(engine.DryRunsCalm) {
			try(key, uid+1)
		}
	}
	before := looksLost.Get()
	try(1_000_000, 1)
	require.Equal(t, before+1, looksLost.Get(), "the probe found no room")
	require.NotNil(t, l.rows[lookKey{key: 1_000_000, kind: wire.LookDryRun}], "the dry run did")
	for key := uint32(1); len(l.rows)-l.probes < engine.LooksMax; key++ {
		l.count(lookKey{key: key, kind: wire.LookSuspicion}, netip.Addr{}, edge.Probe{})
	}
	l.count(lookKey{key: 1_000_000, kind: wire.LookSuspicion}, netip.Addr{}, edge.Probe{})
	require.Equal(t, before+2, looksLost.Get(), "too many keys")
	require.Len(t, l.rows, 2*engine.LooksMax)
}

// An address takes bounded room, whatever its zone is.
func TestAddressText(t *testing.T) {
	require.Equal(t, "fe80::1", addressText(netip.MustParseAddr("fe80::1%eth0")))
	require.Empty(t, addressText(netip.Addr{}))
}
