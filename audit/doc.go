// Package audit is history on disk: append-only, provable.
//
// Every thing of regulatory meaning is a leaf of one RFC 6962 Merkle tree. The
// store keeps the leaves for their retention, their hashes for ever, and answers
// reads and proofs from any goroutine while one writer appends.
//
// May import: the standard library, transparency-dev/merkle, klauspost/compress,
// VictoriaMetrics/metrics, audit/merkle. Nothing else of the house.
//
// Never: a clock, randomness, the network, the meaning of a leaf. Time and filter
// keys arrive with the leaf; the list of what is trusted (size and root) arrives
// from the replicated state.
//
// Invariants
//
//   - The Raft log is the write-ahead log. Append writes to the page cache and
//     does not sync; SyncTo does, and the caller calls it before the log may
//     forget. After a crash the log is replayed over the store: a leaf that is
//     already there must have the same bytes (ErrDiverged), one that is not is
//     written.
//   - What SyncTo acknowledged is never removed before something equally durable
//     holds the same bytes: a sealed segment is synced, renamed and its folder
//     synced before the tail it came from goes.
//   - A write or sync error is final for the store (ErrBroken): it is never
//     retried on the same file.
//   - Every byte that is read back is covered by a CRC-32C; damage is named by
//     leaf (DamageError), never returned, and asked back from peers (Missing).
//   - What is past retention leaves the disk, sealed or not, but for its hash; it is
//     neither given to peers nor taken from them.
//   - Only leaf bytes are hashed. Compressed bytes are never hashed or compared.
//
// Goroutines: one sealer per store, started by Open, stopped by Close.
// Formats: docs/formats-audit.md.
package audit
