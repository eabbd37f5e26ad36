package railguard

import (
	"regexp"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestOneVersion: every file that repeats the release number agrees with Version.
func TestOneVersion(t *testing.T) {
	for file, pattern := range map[string]string{
		"CHANGELOG.md":                         `(?m)^## (\S+)`,
		"deploy/compose/compose.yml":           `RAILGUARD_VERSION:-([^}]+)`,
		"deploy/docker/Dockerfile":             `ARG VERSION=(\S+)`,
		"deploy/kubernetes/kustomization.yaml": `newTag: ([0-9.]+)`,
		"client/python/pyproject.toml":         `(?m)^version = "(.+)"`,
		"client/typescript/package.json":       `(?m)^  "version": "(.+)"`,
		"client/x402/package.json":             `(?m)^  "version": "(.+)"`,
		"docs/releases.md":                     `(?m)^\| (\d+\.\d+\.\d+) \|`,
	} {
		found := regexp.MustCompile(pattern).FindStringSubmatch(text(t, file))
		require.NotNil(t, found, file)
		require.Equal(t, Version, found[1], "%s names another release than doc.go", file)
	}
}
