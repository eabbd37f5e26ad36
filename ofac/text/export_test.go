package text

import "strings"

// InKana writes a folded Latin name in Katakana. It returns false if the name is not Japanese. If
// foreign is set, it also writes foreign names: a consonant without a vowel gets one, and sounds
// that Japanese lacks, such as l, v and th, get similar ones.
func InKana(name string, foreign bool) (string, bool) {
	if foreign {
		name = strings.NewReplacer("l", "r", "th", "s", "ph", "f", "kh", "h", "zh", "j", "q", "k", "x", "ks", "ck", "k", "c", "k").Replace(name)
	}
	var kana strings.Builder
	for i := 0; i < len(name); {
		if name[i] == ' ' {
			kana.WriteRune('・')
			i++
			continue
		}
		best, length := rune(0), 0
		for at, sound := range kanaSyllables {
			if n := len(sound); n > length && !isCapital(sound[0]) && sound != "-" && strings.HasPrefix(name[i:], sound) {
				best, length = rune(at)+kanaFirst, n
			}
		}
		if best == 0 {
			if !foreign || i+1 < len(name) && isVowel(name[i+1]) && name[i] != 'y' && name[i] != 'w' && !strings.ContainsRune("fdtslr", rune(name[i])) {
				return "", false
			}
			vowel := byte('u')
			if name[i] == 't' || name[i] == 'd' {
				vowel = 'o'
			}
			for at, sound := range kanaSyllables {
				if sound == string([]byte{name[i], vowel}) {
					best = rune(at) + kanaFirst
				}
			}
			if best == 0 {
				return "", false
			}
			length = 1
		}
		kana.WriteRune(best)
		i += length
	}
	return kana.String(), true
}

var MayHaveHan = mayHaveHan

var CompanyWords = companyWords
