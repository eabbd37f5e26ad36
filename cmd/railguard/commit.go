package main

import "runtime/debug"

// commitOfBuild is set by `make`: a build with -trimpath and without version control, as releases
// are, says nothing of it by itself.
var commitOfBuild string

// commit returns the commit that this program was built from; "unknown" where nobody said.
func commit() string {
	if commitOfBuild != "" {
		return commitOfBuild
	}
	if info, known := debug.ReadBuildInfo(); known {
		for _, setting := range info.Settings {
			if setting.Key == "vcs.revision" {
				return setting.Value
			}
		}
	}
	return "unknown"
}
