package text

import (
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"
)

func TestHanReadAbroad(t *testing.T) {
	korean, cantonese := HanWays[0], HanWays[1]
	for written, want := range map[string][2]string{
		"金正恩":     {"kim jong un", "kam ching yan"},
		"金正日":     {"kim jong il", ""},
		"李雪主":     {"ri sol ju", "lee suet chu"},
		"崔龍海":     {"choe ryong hae", ""},
		"佐藤健":     {"", ""}, // No family name of theirs.
		"李家超":     {"", "lee ka chiu"},
		"李家超先生":   {"", "lee ka chiu"},
		"鄧炳强":     {"", "tang ping keung"},
		"林郑月娥":    {"", "lam cheng yuet ngor"},
		"盧偉聰":     {"", "lo wai chung"},
		"曾國衞":     {"", "tsang kwok wai"},
		"李明":      {"", ""},
		"李 家超":    {"", "lee ka chiu"},
		"王小林李家超大": {"", ""},
		"Lee":     {"", ""},
	} {
		for i, way := range []*hanAbroad{korean, cantonese} {
			spoken, ok := way.Speak(written)
			require.Equal(t, want[i], spoken, written)
			require.Equal(t, want[i] != "", ok, written)
		}
	}
}

// Each character has a reading once, and is in the form in which names are compared.
func TestTablesOfHanAbroad(t *testing.T) {
	for _, way := range HanWays {
		require.Greater(t, len(way.readings), 200)
		require.Greater(t, len(way.families), 70)
		for r, reading := range way.readings {
			require.Equal(t, string(r), foldHan(string(r)))
			require.True(t, r >= hanFirst && r <= hanLast, string(r))
			require.Equal(t, utf8.RuneCountInString(reading), len(reading))
		}
	}
}

// A Han character stays one when a name is folded, so that a name of many is known to be no person's before.
func TestHanCharactersAreKept(t *testing.T) {
	t.Parallel()
	for r := rune(0x4E00); r <= 0x9FFF; r++ {
		require.Equal(t, 1, utf8.RuneCount(AppendWords(nil, string(r), false)), "%q", r)
	}
}
