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

// Initials bound by dots are found where they begin and end.
func TestNextInitials(t *testing.T) {
	for name, want := range map[string]string{"O.V.": "O.V.", "a O.V b": "O.V", "О.В.": "О.В.", "M.T.Z": "M.T.Z", "O.V": "O.V", "O. V.": "", "L.L.C.": "L.L.C.", "St.P.": "", "O..V": "", "OV": "", "": "", "O.": "", ".O.V": "", "a.b.c.d.e.f": ""} {
		start, end, ok := nextInitials(name, 0)
		require.Equal(t, want != "", ok, name)
		if ok {
			require.Equal(t, want, name[start:end], name)
		}
	}
}
