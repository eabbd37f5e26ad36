package fsm

import (
	"fmt"
	"runtime"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/require"

	"railguard/engine"
	"railguard/fsm/wire"
)

// heapInUse returns how much the heap holds.
func heapInUse() int64 {
	var m runtime.MemStats
	runtime.GC()
	runtime.GC()
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

// TestRowsCostWhatIsCounted: what the gauges say of a table's memory, and docs/OPERATING.md of a
// full one, is what its rows take, with their maps.
func TestRowsCostWhatIsCounted(t *testing.T) {
	if testing.Short() {
		t.Skip("it fills tables")
	}
	const rows = 100_000
	for table, fill := range map[wire.SharedTable]func(w *world, n int){
		wire.TableAgents: func(w *world, n int) {
			profile := engine.AgentProfile{AgentName: fmt.Sprint("agent ", n), Type: engine.Supervised, OperatorLegalName: "Acme Inc", Purpose: "It buys what the household needs.", KeyID: "cc-v1", Operator: 1}
			profile.Slot, profile.Rev = engine.AgentSlot(w.m.registry.agents.Append(engine.AgentRow{MinVersion: 1})), 1
			w.m.registry.shared.shareProfile(&profile)
			w.m.registry.profiles.Append(&profile)
			w.m.registry.attestations.Append(nil)
		},
		wire.TableFleets: func(w *world, n int) {
			w.m.registry.fleets.Append(engine.FleetRow{Kept: true})
			w.m.registry.fleetProfiles.Append(&engine.FleetProfile{FleetName: fmt.Sprint("fleet ", n), OperatorLegalName: "Acme Inc", DailyLimitText: "1000"})
		},
		wire.TableUsers: func(w *world, n int) {
			w.m.registry.enterUser(&engine.UserProfile{LegalName: fmt.Sprint("user ", n), Email: fmt.Sprint(n, "@example.com"), KeyID: "cc-v1", Agents: make([]engine.AgentSlot, 4)})
		},
		wire.TableStatuses: func(w *world, n int) { w.m.registry.enterStatus(statusRow{Slot: uint32(n) + 1, Version: 1, Kind: 1}) },
		wire.TableHolds: func(w *world, n int) {
			w.m.ledger.openHold(holdRow{Leaf: uint64(n), ExpiresAt: engine.Time(n), Reference: engine.ReferenceKey{1}})
		},
		wire.TableReviews: func(w *world, n int) { w.m.desk.enterReview(ReviewRow{Leaf: uint64(n)}) },
		wire.TableAlerts: func(w *world, n int) {
			row := AlertRow{Leaf: uint64(n), Kind: wire.AlertLate, Subject: uint64(n)}
			w.m.desk.alertAt[row.key()] = w.m.desk.alerts.Append(row)
		},
	} {
		w := newWorld(t)
		w.m.out = &w.out
		before := heapInUse()
		for n := range rows {
			fill(w, n)
		}
		each := (heapInUse() - before) / rows
		runtime.KeepAlive(w)
		t.Logf("%-16s %5d bytes a row, counted %d", table, each, sharedBytes[table])
		most := sharedBytes[table]
		if each > most || each < most/2 {
			t.Errorf("%s: %d bytes a row, counted %d", table, each, most)
		}
	}
	require.EqualValues(t, entryBytes, unsafe.Sizeof(engine.WhitelistEntry{})+5*16, "with what the allocator rounds its texts up by")
}
