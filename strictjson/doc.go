// Package strictjson reads and writes JSON the one way this service does.
//
// Purpose: a body is checked in one linear pass (RFC 8259 to the letter, no name
// twice in one object, bounded depth), parsed once, and its members are read with
// all that is wrong with them found at once; answers and the fragments of records
// are written member by member, every string through the one escaper.
//
// Map: validator.go checks bytes, document.go holds one checked object, fields.go reads
// its members, spans.go those of a body that needs no parser, batch.go a list of such
// bodies; value.go writes a parsed value back, members.go writes new ones.
//
// May import: engine (limits, amounts, times), fastjson.
// Never: net/http, files, clocks, or any other room.
package strictjson
