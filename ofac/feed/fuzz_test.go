package feed

import (
	"bytes"
	"io"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"railguard/ofac"
)

// requireSound checks the invariants of every accepted list.
func requireSound(t *testing.T, list List, err error) {
	t.Helper()
	if err != nil {
		var refused *Error
		require.ErrorAs(t, err, &refused)
		require.NotEmpty(t, refused.Reason)
		require.NotEmpty(t, refused.Detail)
		require.Empty(t, list.Entities)
		return
	}
	require.NotEmpty(t, list.Entities)
	for i := range list.Entities {
		require.Nil(t, checkEntity(&list.Entities[i]))
		if i > 0 {
			require.Less(t, list.Entities[i-1].UID, list.Entities[i].UID)
		}
	}
}

func fuzzXML(f *testing.F, path string, parse func(io.Reader) (List, error)) {
	f.Add(sample(f, path))
	for _, seed := range []string{"", "<", "<?xml version='1.0'?>", billionLaughs, "<a><![CDATA[x]]></a>", "\xff\xfe<\x00"} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		list, err := parse(bytes.NewReader(data))
		requireSound(t, list, err)
		if err != nil {
			return
		}
		again, err := parse(bytes.NewReader(data))
		require.NoError(t, err)
		require.Equal(t, list, again)
	})
}

func FuzzADVANCED(f *testing.F) { fuzzXML(f, "advanced/sdn_advanced.xml", ParseADVANCED) }

func FuzzENHANCED(f *testing.F) { fuzzXML(f, "enhanced/cons_enhanced.xml", ParseENHANCED) }

func FuzzCSV(f *testing.F) {
	read := func(name string) string { return string(sample(f, "csv/"+name)) }
	f.Add(read("sdn.csv"), read("alt.csv"), read("add.csv"), read("sdn_comments.csv"))
	f.Add("\x1a", "", "\"", ",")
	f.Fuzz(func(t *testing.T, primary, aliases, addresses, comments string) {
		file := func(text string) CSVFile { return CSVFile{"x", strings.NewReader(text)} }
		list, _, err := ParseCSV(CSVSet{ofac.ListSDN, file(primary), file(aliases), file(addresses), file(comments)})
		requireSound(t, list, err)
	})
}

func FuzzOpenCompressed(f *testing.F) {
	content := sample(f, "enhanced/cons_enhanced.xml")
	f.Add(gzipped(f, content))
	f.Add(zstandard(f, content))
	f.Add(zipped(f, File{"x", content}))
	f.Add(unbase64(f, oneMiBOfBlanks))
	f.Add([]byte("PK\x05\x06"))
	f.Fuzz(func(t *testing.T, data []byte) {
		r, err := openBytes(data)
		if err != nil {
			var refused *Error
			require.ErrorAs(t, err, &refused)
			return
		}
		const enough = 16 << 20
		_, err = io.Copy(io.Discard, io.LimitReader(r, enough))
		if err != nil && compressionOf(data) != compressionNone {
			var refused *Error
			require.ErrorAs(t, err, &refused)
		}
		require.NoError(t, r.Close())
	})
}
