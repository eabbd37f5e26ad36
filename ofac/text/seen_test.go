package text

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// Names with controls of direction are read in the order in which they are seen.
func TestNamesAsSeen(t *testing.T) {
	const lre, rle, pdf, lro, rlo, lri, rli, fsi, pdi = "\u202a", "\u202b", "\u202c", "\u202d", "\u202e", "\u2066", "\u2067", "\u2068", "\u2069"
	for written, seen := range map[string]string{
		rlo + "ORUDAM" + pdf: "MADURO",
		rlo + "ORUDAM":       "MADURO",
		"\u200e" + rlo + "ORUDAM" + pdf + "\u200f":        "MADURO",
		"NICOLAS " + rlo + "ORUDAM" + pdf:                 "NICOLAS MADURO",
		rlo + "ORUDAM SALOCIN" + pdf:                      "NICOLAS MADURO",
		rlo + "7 ORUDAM" + pdf + " X":                     "MADURO 7 X",
		rlo + "OR" + lro + "DU" + pdf + "AM" + pdf:        "MADURO",
		rlo + "OR" + pdf + rlo + "UDAM" + pdf:             "MADURO",
		rli + lri + "URO" + pdi + lri + "MAD" + pdi + pdi: "MADURO",
		rli + fsi + "URO" + pdi + fsi + "MAD" + pdi + pdi: "MADURO",
		rle + lre + "NICOLAS" + pdf + " عرب " + "B" + pdf: "B عرب NICOLAS",
		lro + "ودام" + pdf:                                "مادو",
		"M" + rli + rlo + "RUDA" + pdf + pdi + "O":        "MADURO",
		"M" + rlo + "RUDA" + pdi + pdf + "O":              "MADURO",
		strings.Repeat(rlo, 200) + "ORUDAM" + pdf:         "MADURO",
		strings.Repeat(rli, 200) + rlo + "ORUDAM" + pdf:   "",
		"MADURO":                                           "",
		"MADURO\u200f":                                     "",
		rle + "NICOLAS MADURO" + pdf:                       "",
		lro + "NICOLAS MADURO" + pdf:                       "",
		rle + "محمد علي" + pdf:                             "",
		rlo + "محمد علي" + pdf:                             "",
		lri + "NICOLAS" + pdi + " " + fsi + "MADURO" + pdi: "",
		pdf + pdi + "MADURO" + pdf:                         "",
		rlo + pdf:                                          "",
	} {
		got, moved := AsSeen(written)
		require.Equal(t, seen != "", moved, "%+q gives %q", written, got)
		if moved {
			require.Equal(t, seen, got, "%+q", written)
		}
	}
}

// A name without such controls costs nothing; no name makes it panic.
func TestNamesWithoutControlsAllocateNothing(t *testing.T) {
	for _, name := range []string{"Nicolas Maduro Moros", "Никола́й “Мадуро”", "ニコラス", "محمد علي"} {
		require.Zero(t, testing.AllocsPerRun(10, func() { AsSeen(name) }), name)
	}
}

func FuzzAsSeen(f *testing.F) {
	f.Add("\u202eORUDAM\u202c \u2067a1\u2069")
	f.Fuzz(func(t *testing.T, name string) {
		if seen, moved := AsSeen(name); moved {
			require.LessOrEqual(t, len(seen), 3*len(name)) // A byte that is no character becomes U+FFFD.
			_, again := AsSeen(seen)
			require.False(t, again, "no controls are left")
		}
	})
}
