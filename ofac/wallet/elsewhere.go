package wallet

// An address may stand where no wallet is expected: in a memo, a name, a reference. What has
// the shape of an address there is one only if nothing else has that shape.

const (
	shapeMin     = 25  // Letters and digits in a row of the shortest address with a checksum.
	shapeMax     = 128 // A longer run is no address.
	elsewhereMax = 4   // Accounts that are kept.
)

// Elsewhere holds the accounts that stand in texts that are meant for something else, each as
// it is written and behind a blank.
type Elsewhere struct {
	Texts []byte
	Count int
	More  bool // There are more than are kept.
}

// Add finds the accounts of unmistakable shape in a text: 0x and 40 hexadecimal digits, or what
// has a checksum. A Solana account has none; it is kept while there is room, because only a
// listed one matters. The work is one look at each character, and a decoding of each run of
// letters and digits that is long enough.
func (e *Elsewhere) Add(text []byte) {
	for i, start := 0, 0; i <= len(text); i++ {
		if i < len(text) && wordByte(text[i]) {
			continue
		}
		if n := i - start; n >= shapeMin && n <= shapeMax {
			e.addRun(text[start:i])
		}
		start = i + 1
	}
}

func (e *Elsewhere) addRun(run []byte) {
	word := string(run)
	var address Address
	if !parseAddress(&address, word) {
		tail := len(word) - accountDigits - 2
		if tail <= 0 || !parseHex(&address, word[tail:]) {
			return
		}
		word = word[tail:]
	}
	if address.family == EVM && (len(word) != accountDigits+2 || word[0] != '0') {
		return // Other spellings of an EVM account have the shape of other numbers.
	}
	if e.Count == elsewhereMax {
		e.More = e.More || address.family != Solana
		return
	}
	e.Texts = append(append(e.Texts, ' '), word...)
	e.Count++
}
