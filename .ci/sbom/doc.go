// Command sbom writes the bill of materials of a binary: CycloneDX 1.5, JSON.
//
// Purpose: say which modules, in which versions and with which sums, a released
// binary was linked from. It reads the binary itself, so it cannot disagree with
// it, and equal binaries give equal bytes: no time, no random serial number.
//
// May import: the standard library. Never: the network, the service's rooms.
package main
