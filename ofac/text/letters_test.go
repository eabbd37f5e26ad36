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

// initialsPart finds two initials bound by a dot and returns the place where the second
// begins.
func TestInitialsPart(t *testing.T) {
	for name, second := range map[string]int{"O.V.": 2, "a O.V b": 4, "О.В.": 3, "O.V": 2, "O. V.": 0, "L.L.C.": 0, "St.P.": 0, "O..V": 0, "OV": 0, "": 0, "O.": 0, ".O.V": 0} {
		require.Equal(t, second, initialsPart(name), name)
	}
}
