package engine

import (
	"testing"

	"github.com/stretchr/testify/require"

	"railguard/ofac/identifier"
)

func TestReadIdentifiers(t *testing.T) {
	var r Request
	require.Empty(t, r.ReadIdentifiers([]byte(`[{"type":"iban","value":"DE89370400440532013000"},{"type":"account","value":"7","country":"de"}]`)))
	require.Equal(t, []Identifier{{identifier.IBAN, "DE89370400440532013000", ""}, {identifier.Account, "7", "de"}}, r.Identifiers[:r.IdentifierCount])
}

// FuzzReadIdentifiers: whatever comes, either all of it is read or nothing of it.
func FuzzReadIdentifiers(f *testing.F) {
	f.Add([]byte(`[{"type":"iban","value":"DE89370400440532013000"},{"type":"other","value":"7"}]`))
	f.Add([]byte(`[{"type":"email","value":"a@b","country":"KP"},7]`))
	f.Fuzz(func(t *testing.T, raw []byte) {
		var r Request
		if r.ReadIdentifiers(raw) != nil {
			require.Zero(t, r)
			return
		}
		for i := range r.Identifiers[:r.IdentifierCount] {
			require.NotEmpty(t, r.Identifiers[i].Value)
			require.NotEqual(t, identifier.Other, r.Identifiers[i].Class)
		}
	})
}
