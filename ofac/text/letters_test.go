package text

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// An l among capitals is read as a capital I, and an I among small letters as an l.
func TestMiscasedLetters(t *testing.T) {
	for name, want := range map[string]bool{"Al Alam": false, "ALL": false, "Ivan": false, "McIntyre": true, "KlM": true, "Klm": false, "KIM": false, "lVAN": true, "HASHEMl": true, "PauI": true, "I": false, "l": false, "II": false} {
		got := false
		for i := range name {
			got = got || isMiscased(name, i)
		}
		require.Equal(t, want, got, name)
	}
}

// Initials bound by dots are read apart; an acronym of more letters and other words with dots are not.
func TestInitialsApart(t *testing.T) {
	for name, want := range map[string]string{
		"O.V.": "o v", "a O.V b": "a o v b", "О.В.": "o v", "O.V": "o v", "al-Rawi M.T.Z.": "al rawi m t z", "A.B. Smith C.D.": "a b smith c d", "A.B.C.D.E.": "a b c d e",
		"O. V.": "", "A.B.C.D.E.F.": "", "St.P.": "", "O..V": "", "OV": "", "": "", "O.": "", ".O.V": "",
	} {
		apart, found := AppendInitialsApart(nil, name)
		require.Equal(t, want, string(apart), name)
		require.Equal(t, want != "", found, name)
	}
}
