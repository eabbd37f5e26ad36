package main

import (
	"os"
	"path/filepath"
	"testing"
)

func readText(t *testing.T, text string) []instruction {
	t.Helper()
	path := filepath.Join(t.TempDir(), "Dockerfile")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	all, err := readDockerfile(path)
	if err != nil {
		t.Fatal(err)
	}
	return all
}

func TestReadDockerfile(t *testing.T) {
	all := readText(t, "# comment\nFROM scratch\n\nrun a \\\n  # within\n  && b\n")
	if len(all) != 2 || all[1].word != "RUN" || all[1].rest != "a   && b" {
		t.Fatalf("%q", all)
	}
}

func TestRefusals(t *testing.T) {
	for _, text := range []string{
		"COPY a b",                    // It stands before the first FROM.
		"FROM scratch\nHEALTHCHECK a", // HEALTHCHECK is not supported.
		"FROM scratch\nCOPY missing .",
		"FROM scratch\nCOPY --from=nobody / /",
		"FROM $NOTHING",
		"FROM scratch\nENTRYPOINT railguard", // The shell form needs a shell.
	} {
		b := &builder{source: t.TempDir(), scratch: t.TempDir(), global: map[string]string{}, stages: map[string]*stage{}}
		var err error
		for _, i := range readText(t, text) {
			if err = b.run(i); err != nil {
				break
			}
		}
		if err == nil {
			t.Errorf("%q was taken", text)
		}
	}
}
