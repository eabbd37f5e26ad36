package text

// Katakana write a foreign name by its sounds: ウラジーミル, Vladimir. They have one row of sounds
// for r and l, for b and v, for s, sh and th, and put a vowel behind every consonant. AppendSounds
// writes a Latin word so that a name and its romanised Katakana become equal.

// SoundsMin is the least number of sounds by which words are compared.
const SoundsMin = 3

// AppendSounds appends the sounds of a Latin word: its consonants, in the classes that Kana have,
// and the vowels a and i, which stands for e too. A u or an o counts only at the beginning,
// because Kana put them behind consonants.
func AppendSounds(dst, word []byte) []byte {
	base := len(dst)
	for i := 0; i < len(word); {
		sound, size := soundAt(word, i)
		i += size
		if sound == 0 || (sound == 'u' && len(dst) > base) {
			continue
		}
		if n := len(dst); n > base {
			last := dst[n-1]
			switch {
			case last == sound, sound == 'i' && (last == 'c' || last == 'z'): // チ and ジ are ch and j alone, too.
				continue
			case last == 'k' && sound == 'h', last == 'n' && (sound == 'm' || sound == 'b' || sound == 'p'):
				dst = dst[:n-1]
				if sound != 'h' { // ン is an m before m, b and p.
					dst = append(dst, 'm')
				}
				if sound == 'm' {
					continue
				}
			}
		}
		dst = append(dst, sound)
	}
	return dst
}

// OtherSounds rewrites the sounds of a listed word as Japanese may hear them otherwise: a Spanish z
// at the end as s (Sánchez, サンチェス), and a Russian v before l or r as u (Vladimir, ウラジーミル). It
// returns false if nothing can be heard otherwise.
func OtherSounds(sounds []byte) bool {
	last := len(sounds) - 1
	switch {
	case last > 0 && sounds[last] == 'z':
		sounds[last] = 's'
	case last > 0 && sounds[0] == 'b' && sounds[1] == 'r':
		sounds[0] = 'u'
	default:
		return false
	}
	return true
}

// soundAt returns the sound of the letters that begin at i; 0: they have none.
func soundAt(word []byte, i int) (sound byte, size int) {
	at := func(k int) byte {
		if i+k < len(word) {
			return word[i+k]
		}
		return 0
	}
	c, next := at(0), at(1)
	switch c {
	case 'e', 'y':
		if c == 'e' && i > 0 && (word[i-1] == 'c' || word[i-1] == 'j' || word[i-1] == 'z') {
			return 'e', 1
		}
		return 'i', 1
	case 'o', 'w':
		return 'u', 1
	case 'l':
		return 'r', 1
	case 'v':
		return 'b', 1
	case 'q':
		return 'k', 1
	case 'j':
		return 'z', 1
	case 'p':
		if next == 'h' {
			return 'f', 2
		}
	case 's', 'z', 'g', 't', 'd':
		return dentalAt(c, next, at(2))
	case 'c':
		switch {
		case next == 'h':
			return 'c', 2
		case next == 'e', next == 'i', next == 'y':
			return 's', 1
		}
		return 'k', 1
	case 'h':
		switch {
		case next == 'u', next == 'w': // フ
			return 'f', 1
		case !isVowel(next):
			return 0, 1
		}
	}
	return c, 1
}

// dentalAt returns the sound of s, z, g, t or d before two letters.
func dentalAt(c, next, third byte) (sound byte, size int) {
	switch {
	case c == 's' && next == 'c' && third == 'h':
		return 's', 3
	case c == 't' && next == 'c' && third == 'h':
		return 'c', 3
	case next == 'h', c == 't' && (next == 's' || next == 'z'), c == 'd' && next == 'j':
		switch {
		case next == 'j':
			c = 'z'
		case c == 't' && next == 'h':
			c = 's'
		}
		return c, 2
	case (next == 'i' || next == 'y') && c == 't':
		return 'c', 1
	case (next == 'i' || next == 'y') && c == 'd':
		return 'z', 1
	}
	return c, 1
}
