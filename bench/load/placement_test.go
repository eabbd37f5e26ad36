package load

import (
	"bytes"
	"testing"

	"github.com/stretchr/testify/require"
)

// A report says on how many machines it was made. Hosts that share one with each other or with the
// loader are told from hosts of their own.
func TestPlacement(t *testing.T) {
	for _, c := range []struct {
		boots []string // The loader's first.
		want  string
	}{
		{[]string{"l", "a", "b", "c"}, "hosts: 3+1"},
		{[]string{"l", "a", "b", "a"}, "hosts: 3+1, but on 3 machine(s): nodes or the loader share one"},
		{[]string{"a", "a", "b", "c"}, "hosts: 3+1, but on 3 machine(s): nodes or the loader share one"},
		{[]string{"a", "a", "a", "a"}, "hosts: 3+1, but on 1 machine(s): nodes or the loader share one"},
		{[]string{"l", "a", "", "c"}, "hosts: 3+1, whether some share a machine is not known"},
	} {
		require.Equal(t, c.want, placementOf(c.boots))
	}
}

func TestReportsSayWhereTheyWereMade(t *testing.T) {
	here := &Report{Placement: placementHere, Machine: Machine{Cores: 2, CPU: "x"}, Fsync: "4 KiB: 1 ms"}
	hosts := &Report{
		Placement: "hosts: 2+1", Machine: Machine{Cores: 8, CPU: "of the loader"}, Fsync: "",
		Hosts:      []HostReport{{"10.0.0.1:9000", Machine{Cores: 4, CPU: "of a host", Kernel: "6.1"}, "4 KiB: 2 ms"}, {"10.0.0.2:9000", Machine{}, "4 KiB: 3 ms"}},
		RoundTrips: []RoundTrip{{"loader", "10.0.0.1:9000", 0.25, 0.5}, {"10.0.0.1:9000", "10.0.0.2:9000", 0.125, 0.5}},
	}
	for report, words := range map[*Report][]string{
		here:  {"one machine: the nodes and the loader share it", "2 × x", "4 KiB: 1 ms"},
		hosts: {"hosts: 2&#43;1", "loader: 8 × of the loader", "host 10.0.0.1:9000: 4 × of a host", "kernel 6.1", "4 KiB: 3 ms", "round trip from loader to 10.0.0.1:9000: p50 0.25 ms", "from 10.0.0.1:9000 to 10.0.0.2:9000: p50 0.125 ms"},
	} {
		var table, page bytes.Buffer
		report.WriteTable(&table)
		require.NoError(t, report.WriteHTML(&page))
		for i, word := range words {
			require.Contains(t, page.String(), word)
			if i > 0 {
				require.Contains(t, table.String(), word)
			}
		}
		require.Contains(t, table.String(), report.Placement)
	}
}

// Reports of different placements are compared with a warning, those of one placement without.
func TestOtherPlacement(t *testing.T) {
	here, hosts, old := &Report{Placement: placementHere}, &Report{Placement: "hosts: 3+1"}, &Report{}
	require.Empty(t, OtherPlacement(here, here))
	require.Empty(t, OtherPlacement(hosts, hosts))
	require.Empty(t, OtherPlacement(old, old))
	require.Contains(t, OtherPlacement(here, hosts), "after:  hosts: 3+1")
	require.Contains(t, OtherPlacement(old, hosts), "before: not told")
}
