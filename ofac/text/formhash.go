package text

import "railguard/ofac/perfect"

// HashKind separates the hashes of different kinds of forms.
type HashKind uint8

const (
	HashFold HashKind = iota + 1
	HashLetters
	HashConsonants
	hashPinyin // keys of words that consist of syllables
	hashWade
	hashKorean
	HashSounds // what Kana keep of a word
	hashAbjad
)

// IsLatin reports whether a word has only ASCII letters and digits.
func IsLatin(word []byte) bool {
	for _, c := range word {
		if c >= 0x80 {
			return false
		}
	}
	return true
}

// deletionPrime is the base of the polynomial over the letters of a form. With it, each
// form with a letter left out takes constant time to hash.
const deletionPrime = 0x100000001B3

// HashForm hashes a whole form.
func HashForm(kind HashKind, form []byte) uint64 {
	sum := uint64(0)
	for _, c := range form {
		sum = sum*deletionPrime + uint64(c)
	}
	return mixHash(kind, sum)
}

func mixHash(kind HashKind, sum uint64) uint64 {
	return perfect.Fold(sum^uint64(kind)*perfect.Odd1, perfect.Odd2)
}

// AppendDeletionHashes appends the hashes of the form with each letter left out in turn.
func AppendDeletionHashes(dst []uint64, kind HashKind, form []byte) []uint64 {
	// The loop runs from the last letter; rest is the polynomial of the letters after i.
	before := uint64(0)
	for _, c := range form {
		before = before*deletionPrime + uint64(c)
	}
	rest, power, shifted := uint64(0), uint64(1), before
	for i := len(form) - 1; i >= 0; i-- {
		// shifted is the polynomial of the letters before letter i.
		shifted = (shifted - uint64(form[i])) * deletionInverse
		dst = append(dst, mixHash(kind, shifted*power+rest))
		rest += uint64(form[i]) * power
		power *= deletionPrime
	}
	return dst
}

// deletionInverse is the inverse of deletionPrime: their product is 1.
const deletionInverse = 0xCE965057AFF6957B
