// Package wire is the encoding of the replicated log: entries, records, results.
//
// Purpose: a small fixed little-endian header with a CRC32C over everything,
// and record bodies in deterministic CBOR with integer keys (RFC 8949, core
// deterministic encoding), so that any CBOR tool can print an entry.
//
// May import: the standard library, fxamacker/cbor, engine (value types).
// Never: clocks, randomness, disk, network, goroutines, locks.
//
// Layout, all integers little-endian:
//
//	entry  = format u16 | term u64 | time i64 | count u16 | record* | crc32c u32
//	record = kind u8 | version u8 | origin u16 | seq u64 | len u32 | body
package wire
