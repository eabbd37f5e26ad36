// Command sbom writes the bill of materials of a binary: CycloneDX 1.5, JSON.
//
// Purpose: list the modules that a released binary was linked from, with their versions and
// sums. It reads the binary itself, so it cannot disagree with it. Equal binaries give equal
// bytes, because the bill has no time and no random serial number.
//
// May import: the standard library. Never: the network, the service's rooms.
package main
