// Package exposition shows the process's metrics as Prometheus reads them, each family
// with what it says.
//
// May import: cluster/timing.
// Never: counts anything itself.
package exposition
