package text

import "strings"

// Costs of differences between an abjad word and a Latin one, in hundredths of a letter.
const (
	abjadShort  = 4   // A short vowel is not written.
	abjadSecond = 30  // A long vowel or the second of two is not written.
	abjadEnd    = 55  // The vowel at the end is not written, or the first one.
	abjadMute   = 10  // An ain, a hamza or an h at the end is not spoken.
	abjadOther  = 45  // Another vowel is written.
	abjadWeak   = 60  // A long vowel is written and not spoken, and
	abjadLast   = 110 // the same at the end.
	abjadFar    = 15  // The rarer sound of a letter.
	abjadNever  = 400 // Anything else.
)

// Similarities of an abjad word and a Latin one.
const (
	abjadEqual = 9300 // Without any cost.
	abjadSlope = 10   // Less for each hundredth.
	abjadLimit = 150  // The greatest cost of two words that are alike, and
	abjadRoom  = 25   // the greatest for each consonant, and
	abjadSpare = 20   // so much more for several.
)

// AbjadSimilarity compares an abjad word with a Latin one. It returns 0, or WordFloor to abjadEqual.
func AbjadSimilarity(written, latin []byte) int32 {
	var soundRoom [soundsMax]byte
	sounds := appendSounds(soundRoom[:0], latin)
	var rows [3][soundsMax + 1]int32 // Costs of the beginnings of the sounds: after the last sign, and the two before.
	consonants := int32(0)
	for j, sound := range sounds {
		rows[0][j+1] = rows[0][j] + unwritten(sounds, j, sound)
		if !isVowelSound(sound) {
			consonants++
		}
	}
	last, before := &rows[0], &rows[1]
	row := &rows[2]
	for j := range before {
		before[j] = abjadNever
	}
	for i := 0; i < len(written); {
		size := signSize(written, i)
		end := i+size == len(written)
		row[0] = last[0] + unspoken(written, i, end)
		for j, sound := range sounds {
			cost := min(last[j]+signCost(written, i, size, sound, j, end), last[j+1]+unspoken(written, i, end), row[j]+unwritten(sounds, j, sound))
			if i > 0 && isJoined(written, i, sound) {
				cost = min(cost, before[j])
			}
			row[j+1] = cost
		}
		last, before, row = row, last, before
		i += size
	}
	cost := last[len(sounds)]
	limit := abjadRoom * consonants
	if consonants > 1 {
		limit += abjadSpare
	}
	if cost > min(abjadLimit, limit) {
		return 0
	}
	return abjadEqual - cost*abjadSlope
}

// unwritten is the cost of a sound that has no sign.
func unwritten(sounds []byte, j int, sound byte) int32 {
	switch {
	case sound == 'y' || sound == 'w':
		return abjadOther
	case !isVowelSound(sound):
		return abjadNever
	case j == 0 || j+1 == len(sounds):
		return abjadEnd
	case isCapital(sound) || isVowelSound(sounds[j-1]):
		return abjadSecond
	}
	return abjadShort
}

// unspoken is the cost of a sign that has no sound.
func unspoken(written []byte, i int, end bool) int32 {
	switch written[i] {
	case 'E':
		return abjadMute
	case 'H':
		if end {
			return abjadMute
		}
	case 'A', 'W', 'Y', 'I', 'O', 'U':
		if end {
			return abjadLast
		}
		return abjadWeak
	case 'L':
		if soughtClasses(written, i, 1) == "l-" {
			return 0
		}
	}
	return abjadNever
}

// isJoined reports whether a sound is written by the sign at i and the one before.
func isJoined(written []byte, i int, sound byte) bool {
	before := written[i-1]
	switch written[i] {
	case 'H':
		return before == 'S' && sound == 'x' || before == 'T' && sound == 'T' || before == 'D' && sound == 'D' || before == 'Z' && sound == 'j' || (before == 'K' || before == 'Q') && sound == 'h' || before == 'G' && sound == 'k'
	case 'S':
		return before == 'T' && (sound == 'c' && signSize(written, i) == 2 || sound == 'C')
	}
	return false
}

// signCost is the cost of reading the sign at i as a sound, the first of the word if j is 0.
func signCost(written []byte, i, size int, sound byte, j int, end bool) int32 {
	sure, rare := signSounds(written[i], size == 2, size == 2 && written[i+1] == 's')
	switch {
	case strings.IndexByte(sure, sound) >= 0:
		return 0
	case i == 0 && j == 0 && (written[i] == 'A' || written[i] == 'E') && isVowelSound(sound):
		return 0 // An alif carries any vowel.
	case strings.IndexByte(rare, sound) >= 0:
		return abjadFar
	case end && size == 1 && written[i] == 'H' && (sound == 'a' || sound == 'e'):
		return 0
	case strings.IndexByte("AWYIO", written[i]) >= 0 && size == 1 && (isVowelSound(sound) || sound == 'y'):
		return abjadOther
	}
	return abjadNever
}

// signSounds returns the sounds of a sign, and sounds that it has more rarely. A wide sign has a small
// letter.
func signSounds(sign byte, wide, ts bool) (sure, rare string) {
	if wide {
		switch sign {
		case 'T':
			if ts {
				return "Cs", "zDcx"
			}
			return "Tts", ""
		case 'D':
			return "DdzT", ""
		case 'K':
			return "h", "k"
		case 'S':
			return "xc", "s"
		case 'C':
			return "c", "x"
		case 'G':
			return "k", ""
		}
		return "jz", "x" // Zh
	}
	switch sign {
	case 'A':
		return "aA", "eo"
	case 'E':
		return "aeiouAIU", ""
	case 'W', 'U':
		return "uoUw", "v"
	case 'Y':
		return "iyI", "ej"
	case 'I':
		return "aiyeAI", ""
	case 'O':
		return "ae", "Tt"
	case 'V':
		return "bvw", "f"
	case 'P':
		return "bf", ""
	case 'T':
		return "tT", ""
	case 'D':
		return "dD", ""
	case 'S':
		return "sSC", "z"
	case 'Z':
		return "z", "sD"
	case 'J':
		return "j", "k"
	case 'F':
		return "fv", ""
	case 'K', 'Q':
		return "kS", ""
	case 'X':
		return "h", ""
	}
	return oneByte[lowerByte(sign)], ""
}
