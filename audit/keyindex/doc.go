// Package keyindex finds the leaves that bear a key, over days of history, by a few reads of
// small pages: whether a call with that Idempotency-Key was made before, and how that payment ended
// (decision 125).
//
// History itself can answer that, but it has a filter for each 65,536 leaves, of which a day at
// full speed has 26,000. The index has files of sorted keys, each with a filter, and merges eight
// neighbours into one, so that a day at full speed is some thirty files.
//
// May import: the standard library, audit, audit/merkle. Never: the meaning of a key or a leaf.
//
// Invariants
//
//   - The index is made from history alone and holds nothing that history lacks. A file that is
//     missing, damaged or of another history is made again.
//   - A search tells through which leaves it looked. It never says "not there" of a leaf through
//     which it did not look.
//   - Every byte that is read back is covered by a CRC-32C.
//   - Add never waits for a disk.
//
// Goroutines: one that writes, merges, fills and forgets files, from Open to Close.
package keyindex
