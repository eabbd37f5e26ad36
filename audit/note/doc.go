// Package note signs and verifies what the audit log says of itself, under a
// classical and a post-quantum signature, so that evidence kept for ten years
// outlives either: "the log named origin has size leaves and this root" (a
// checkpoint), and "this export is whole" (export.go).
//
// May import: the standard library, golang.org/x/mod/sumdb/note and circl's
// ML-DSA-44. Nothing of the house. It is the only package that names circl.
//
// Never: disk, network, clock, randomness: a signature is a function of the seed
// and of what is signed, so every node serves the same bytes.
//
// # Format
//
// A checkpoint is a C2SP tlog-checkpoint in a C2SP signed note:
//
//	origin
//	size in decimal
//	root in base64 (standard alphabet, padded)
//	extension lines, none when this package signs
//	(empty line)
//	— origin base64(key id 4 bytes | Ed25519 signature 64 bytes)
//	— origin base64(key id 4 bytes | timestamp u64 | ML-DSA-44 signature 2420 bytes)
//
// The first line is the log's own signature over the text, type 0x01 of signed
// notes, which every transparency-log tool understands (a signed note has no
// ECDSA type that others read, hence Ed25519 and not ES256).
//
// The second is an ML-DSA-44 cosignature as C2SP tlog-cosignature defines it:
// type 0x06, key id = first 4 bytes of SHA-256(name | 0x0a | 0x06 | public key),
// and what is signed is not the text but, big-endian,
//
//	label         12 bytes "subtree/v1\n\x00"
//	cosigner name u8 length, bytes
//	timestamp     u64, seconds since 1970
//	log origin    u8 length, bytes
//	start         u64, 0
//	end           u64, the size
//	hash          32 bytes, the root
//
// with an empty context string and deterministic signing (FIPS 204). It does not
// cover extension lines: Verify refuses them unless a classical key vouches.
//
// An export's lines have the same two keys under another text (Export.text) whose
// first line is no origin; ML-DSA-44 signs "railguard export 1\n\x00" and that
// text, without a timestamp.
//
// A witness cosigns checkpoints of others (cosign.go) as C2SP tlog-cosignature says for
// Ed25519: type 0x04, a timestamp before the signature, signed is "cosignature/v1\ntime
// SECONDS\n" and the text. Its ML-DSA-44 cosignature has the form of the log's own; the key's
// seed is HKDF-SHA-256 of the secret seed, without salt and with info "railguard witness ml-dsa-44
// v1\n"+name.
//
// A reader's policy (policy.go) is a C2SP tlog-policy. It may stand among verifier keys, which have
// no space in them: its lines begin with "log", "witness", "group" or "quorum" and a blank.
//
// A verifier key is one line, name+key id in hex+base64(type | public key).
//
// Both keys come from one 32-byte seed: HKDF-SHA-256 with no salt and with info
// "railguard checkpoint ed25519 v1\n"+origin and "railguard checkpoint ml-dsa-44
// v1\n"+origin, 32 bytes each, which are the seeds of RFC 8032 and FIPS 204.
package note
