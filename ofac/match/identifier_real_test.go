package match_test

import (
	"compress/bzip2"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"railguard/ofac"
	"railguard/ofac/feed"
	"railguard/ofac/listtest"
)

func parseReal(t testing.TB, name string) feed.List {
	t.Helper()
	if testing.Short() {
		t.Skip("parses whole SDN files: not in short runs")
	}
	file, err := os.Open(filepath.Join(listtest.DataFolder(t), "ofac", name))
	require.NoError(t, err)
	defer file.Close()
	source, parse := bzip2.NewReader(file), feed.ParseADVANCED
	if strings.Contains(name, "enhanced") {
		parse = feed.ParseENHANCED
	}
	list, err := parse(source)
	require.NoError(t, err)
	return list
}

var realIndexOnce struct {
	sync.Once
	index *ofac.Index
}

// realIndex is the list of 2025-11-19 with all its facts.
func realIndex(t testing.TB) *ofac.Index {
	t.Helper()
	realIndexOnce.Do(func() {
		entities := parseReal(t, "2025-11-19/sdn_advanced.xml.bz2").Entities
		for i := range entities {
			entities[i].Lists = ofac.ListSDN
		}
		index, err := ofac.Build(entities, ofac.Meta{Source: "test", PublishedAt: 1})
		require.NoError(t, err)
		realIndexOnce.index = index
	})
	if realIndexOnce.index == nil {
		t.Skip("the published list is not read here, as the test that asked for it first says")
	}
	return realIndexOnce.index
}
