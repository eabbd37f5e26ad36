// Package plan answers what a cluster for a given load needs: nodes, cores, memory, disk and network. It
// computes from costs that were measured (docs/PERFORMANCE.md, docs/scale.md, docs/OPERATING.md "Limits"); it
// measures nothing itself.
//
// May import: nothing of ours. Never: a figure without its source.
package plan
