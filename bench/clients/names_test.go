package clients

import (
	"crypto/sha256"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode"

	"github.com/stretchr/testify/require"
	"golang.org/x/text/unicode/norm"

	"github.com/railguard/railguard/client"
	"railguard/ofac/identifier"
)

var flagComposed = flag.Bool("nfc", false, "make client/nfc.txt anew, from golang.org/x/text")

// composedTable is what client/nfc.txt must hold.
func composedTable() string {
	var table strings.Builder
	for r := rune(0); r <= unicode.MaxRune; r++ {
		if r >= 0xAC00 && r <= 0xD7A3 || r >= 0xD800 && r <= 0xDFFF { // Hangul is computed, and the latter are no characters.
			continue
		}
		properties := norm.NFD.PropertiesString(string(r))
		if parts := properties.Decomposition(); parts != nil {
			fmt.Fprintf(&table, "%04X", r)
			for _, part := range string(parts) {
				fmt.Fprintf(&table, " %04X", part)
			}
			if norm.NFC.String(string(r)) != string(r) {
				table.WriteString(" !")
			}
			table.WriteString("\n")
		}
		if class := properties.CCC(); class != 0 && properties.Decomposition() == nil {
			fmt.Fprintf(&table, "%04X %d\n", r, class)
		}
	}
	return table.String()
}

func TestNamesAreComposedByTheStandardsTable(t *testing.T) {
	path := filepath.Join(home, "nfc.txt")
	if *flagComposed {
		require.NoError(t, os.WriteFile(path, []byte(composedTable()), 0o644))
	}
	raw, err := os.ReadFile(path)
	require.NoError(t, err)
	require.True(t, composedTable() == string(raw), "make client/nfc.txt anew: go test ./clients -run TestNamesAreComposed -args -nfc")
}

// hashOfName is the one member of payeeIds of a payment to a name.
func hashOfName(t *testing.T, name string) string {
	pay, err := (&client.Paying{Name: name}).Statement("txn_1")
	require.NoError(t, err, "%+q", name)
	require.Len(t, pay.PayeeIDs, 1)
	return pay.PayeeIDs[0]
}

func hashOf(kind, value string) string {
	sum := sha256.Sum256([]byte("txn_1\n" + kind + "\n" + value))
	return segment(sum[:])
}

// TestNamesAreComposed: Go's client, which has no library for it, writes every character, and
// characters that combine in any order, as golang.org/x/text does.
func TestNamesAreComposed(t *testing.T) {
	var hard []rune // Characters that change others, or that others change.
	for r := rune('!'); r <= unicode.MaxRune; r++ {
		if r >= 0xD800 && r <= 0xDFFF || unicode.IsSpace(r) {
			continue
		}
		properties := norm.NFC.PropertiesString(string(r))
		if properties.CCC() != 0 || properties.Decomposition() != nil || !properties.BoundaryBefore() || r >= 0x1100 && r <= 0x11FF {
			hard = append(hard, r)
			require.Equal(t, hashOf("name", norm.NFC.String(string(r))), hashOfName(t, string(r)), "%U", r)
			decomposed := norm.NFD.String(string(r))
			require.Equal(t, hashOf("name", norm.NFC.String(decomposed)), hashOfName(t, decomposed), "%U", r)
		}
	}
	require.Greater(t, len(hard), 2500)
	draw := rand.New(rand.NewPCG(1, 2))
	for range 100_000 {
		name := []rune{'a' + draw.Int32N(26)}
		for range 1 + draw.IntN(6) {
			one := hard[draw.IntN(len(hard))]
			if draw.IntN(2) == 0 {
				one = 0x300 + draw.Int32N(0x30)
			}
			if draw.IntN(8) == 0 {
				one = []rune("eouAEOU가각")[draw.IntN(9)]
			}
			name = append(name, one)
		}
		text := string(name)
		require.Equal(t, hashOf("name", norm.NFC.String(text)), hashOfName(t, text), "%+q", text)
	}
}

// formOf is the service's normal form. A permit writes the BIC of a main office with XXX.
func formOf(kind, text string) string {
	class, known := identifier.ClassNamed(kind)
	if !known {
		return ""
	}
	form := string(identifier.AppendForm(nil, class, text))
	if kind == "bic" && len(form) == 8 {
		form += "XXX"
	}
	return form
}

// FuzzIdentifierForms: of an identifier in ASCII the client makes the service's normal form, or
// none.
func FuzzIdentifierForms(f *testing.F) {
	for _, text := range []string{
		"DE89 3704 0044 0532 0130 00", "iban: DE89370400440532013000", "IBAN 12", "COBADEFF", "cobadeffxxx", "COBADEFFAXXX", "COBADEFFXXXX", "COBADEFFABCD",
		"LEI 5493001KJTIIGC8Y1R12", "IMO No. 9074729", "IMO9074729", "MMSI 211331640", "DUNS 15-048-3782", "12-3456789",
		"Some Body <Some.Body+x@GoogleMail.com>, please", "mailto:a@b.example?subject=x", "a@b@www.c.example.", "@x", "x@", "<a@b.c",
		"https://user:pw@WWW.Shop.example:8443/a?b#c", "see http://x.example.", "//shop.example", "http:\\\\x.example\\y", "www.example", "[::1]", "shop[.]example",
		"+49 (0) 30 123456 ext. 7", "0049 30 1234567", "(030) 123 456x7", "00", "1;2", "",
	} {
		for number := range identifier.Words() {
			f.Add(uint8(number), text)
		}
	}
	f.Fuzz(func(t *testing.T, number uint8, text string) {
		kind := identifier.Words()[int(number)%len(identifier.Words())]
		pay, err := (&client.Paying{Identifiers: []client.Identifier{{Type: kind, Value: text}}}).Statement("txn_1")
		if err != nil {
			return
		}
		require.Equal(t, hashOf(kind, formOf(kind, text)), pay.PayeeIDs[0], "%s %q: %q", kind, text, formOf(kind, text))
	})
}
