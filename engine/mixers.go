package engine

import (
	"bytes"
	_ "embed"
	"slices"
	"strings"

	"railguard/ofac"
)

// mixersTSV is the mixer and privacy-protocol list of R14: a policy list, kept
// apart from the sanctions lists, because most of its entries were never
// sanctioned (decision 30, no. 2).
//
//go:embed mixers.tsv
var mixersTSV string

// mixerContractsTSV holds the addresses of contracts of the mixers, whom a payment can reach
// without naming a protocol.
//
//go:embed mixer_contracts.tsv
var mixerContractsTSV string

// Mixer is one entry of the list.
type Mixer struct {
	ID       string // "tornado-cash"
	Terms    []string
	Category string // "custodial-mixer", "contract-mixer", "coinjoin", "privacy-protocol", "privacy-coin", "swap", "market".
	Status   string // OFAC status at the list's date: "listed", "delisted", "never".
	Listed   string // Date of the listing, or "".
	Delisted string // Date of the removal, or "".
	Source   string // Where the facts come from.
}

// MixerMatch is a term that FindMixer found.
type MixerMatch struct {
	Mixer       *Mixer
	Term        string // As the list writes it.
	Unambiguous bool   // The term has two words, or one word with a dot. Such a term is good evidence even among other words.
}

// mixers is the list, read once. A file that cannot be read is a mistake in the build.
var mixers = readMixers(mixersTSV, mixerContractsTSV)

type mixerList struct {
	version string
	entries []Mixer
	terms   map[string]MixerMatch // By squeezed form. It is only looked up, never iterated.
	lengths [256]uint64           // By the first byte of a squeezed term: bit n is set if such a term has n bytes. Most words are told from all terms by that.

	contracts map[string]*Mixer    // By canonical wallet. It is only looked up, never iterated.
	ends      [1 << 16 / 64]uint64 // The last four digits of the contracts in hexadecimal, as bits. Most wallets are told from all contracts by that.
}

// mixerTermMax is the length of the longest squeezed term; mixerList.lengths has a bit for each.
const mixerTermMax = 63

// MixerVersion returns the version of the list, for the record.
func MixerVersion() string { return mixers.version }

// Mixers returns the list in the order of its file. It must not be changed.
func Mixers() []Mixer { return mixers.entries }

func readMixers(file, contracts string) *mixerList {
	list := &mixerList{terms: make(map[string]MixerMatch), contracts: make(map[string]*Mixer)}
	for _, line := range strings.Split(strings.TrimSuffix(file, "\n"), "\n") {
		if version, ok := strings.CutPrefix(line, "# version "); ok {
			list.version = version
		}
		if line == "" || line[0] == '#' {
			continue
		}
		cells := strings.Split(line, "\t")
		if len(cells) != 7 {
			panic("BUG: mixers.tsv: a line has not seven cells: " + line)
		}
		list.entries = append(list.entries, Mixer{ID: cells[0], Terms: strings.Split(cells[1], "|"), Category: cells[2],
			Status: cells[3], Listed: cells[4], Delisted: cells[5], Source: cells[6]})
	}
	for i := range list.entries {
		for _, term := range list.entries[i].Terms {
			list.addTerm(&list.entries[i], term)
		}
	}
	list.addContracts(contracts)
	return list
}

func (l *mixerList) addContracts(file string) {
	for line := range strings.Lines(file) {
		id, address, found := strings.Cut(strings.TrimSuffix(line, "\n"), "\t")
		if strings.HasPrefix(line, "#") {
			continue
		}
		at := slices.IndexFunc(l.entries, func(m Mixer) bool { return m.ID == id })
		if !found || at < 0 || !ValidWallet(address) {
			panic("BUG: mixer_contracts.tsv: a line is not a mixer's id and an address: " + line)
		}
		wallet := CanonicalWallet(address)
		l.contracts[wallet] = &l.entries[at]
		if isEVMAddress(wallet) {
			end := evmEnd(wallet)
			l.ends[end/64] |= 1 << (end % 64)
		}
	}
}

func (l *mixerList) addTerm(mixer *Mixer, term string) {
	key := string(squeezeText(nil, term))
	match := MixerMatch{Mixer: mixer, Term: term, Unambiguous: strings.ContainsAny(term, " .")}
	if known, twice := l.terms[key]; twice {
		if known.Mixer != mixer {
			panic("BUG: mixers.tsv: two entries share the term " + term)
		}
		match.Unambiguous = match.Unambiguous || known.Unambiguous
	}
	if key == "" || len(key) > mixerTermMax {
		panic("BUG: mixers.tsv: a term is empty or too long: " + term)
	}
	l.terms[key] = match
	l.lengths[key[0]] |= 1 << len(key)
}

// FindMixer looks a whole text up. The text must equal a term after normalisation, with words
// joined ("Tornado.Cash", "TORNADO-CASH", "tornadocash" are one).
func FindMixer(text string) (MixerMatch, bool) {
	var buffer [2 * FieldMax]byte
	return mixers.find(squeezeText(buffer[:0], text))
}

// FindMixerWithin also finds a term among other words: an unambiguous one anywhere ("via
// Tornado Cash"), another one where every further word is a version, a chain or a filler
// ("Railgun v2"). "Helix Bakery" is not Helix.
func FindMixerWithin(text string) (MixerMatch, bool) {
	var room, joinedRoom [2 * FieldMax]byte
	form, joined := ofac.AppendNormalised(room[:0], text), joinedRoom[:0]
	if match, found := mixers.find(appendSqueezed(joined, form)); found {
		return match, true
	}
	for first := 0; first < len(form); first = wordEnd(form, first) + 1 {
		joined = joined[:0]
		for at := first; at < len(form); {
			end := wordEnd(form, at)
			if len(joined)+end-at > mixerTermMax {
				break
			}
			joined = appendSqueezed(joined, form[at:end])
			if match, found := mixers.find(joined); found && (match.Unambiguous || at == first && isSoleWord(form, form[at:end])) {
				return match, true
			}
			at = end + 1
		}
	}
	return MixerMatch{}, false
}

// wordEnd returns where the word of a normal form ends that begins at a place.
func wordEnd(form []byte, at int) int {
	if blank := bytes.IndexByte(form[at:], ' '); blank >= 0 {
		return at + blank
	}
	return len(form)
}

// isSoleWord reports whether a word of a normal form is its only one that is no filler.
func isSoleWord(form, word []byte) bool {
	telling := 0
	for at := 0; at < len(form); at = wordEnd(form, at) + 1 {
		if !isMixerFiller(form[at:wordEnd(form, at)]) {
			telling++
		}
	}
	return telling == 1 && !isMixerFiller(word)
}

// FindMixerContract looks a wallet up among the contracts of mixers, in any encoding.
func FindMixerContract(wallet string) (*Mixer, bool) {
	if wallet = trimSpace(wallet); isEVMAddress(wallet) {
		if end := evmEnd(wallet); mixers.ends[end/64]>>(end%64)&1 == 0 {
			return nil, false
		}
	}
	var buffer [2 * FieldMax]byte
	mixer, found := mixers.contracts[string(appendWallet(buffer[:0], wallet))]
	return mixer, found
}

func (l *mixerList) find(key []byte) (MixerMatch, bool) {
	if len(key) == 0 || len(key) > mixerTermMax || l.lengths[key[0]]>>len(key)&1 == 0 {
		return MixerMatch{}, false
	}
	match, found := l.terms[string(key)]
	return match, found
}

// mixerFillers are words that stand beside a protocol's name and say nothing of their own.
var mixerFillers = map[string]bool{
	"via": true, "by": true, "on": true, "through": true, "using": true, "the": true,
	"protocol": true, "mixer": true, "mixing": true, "mix": true, "pool": true, "router": true, "relayer": true, "proxy": true, "contract": true,
	"app": true, "dapp": true, "mainnet": true, "v": true,
	"eth": true, "ethereum": true, "base": true, "sol": true, "solana": true, "bsc": true, "bnb": true, "polygon": true, "arbitrum": true, "optimism": true,
	"btc": true, "xbt": true, "bitcoin": true, "usdc": true, "usdt": true, "dai": true,
}

// isMixerFiller reports whether a word is a version, a number or a filler.
func isMixerFiller(word []byte) bool {
	return mixerFillers[string(word)] || word[len(word)-1] >= '0' && word[len(word)-1] <= '9'
}

// squeezeText appends the normal form of a text without blanks. It reads the digits 0 and 1 as
// the letters that they imitate.
func squeezeText(dst []byte, text string) []byte {
	start := len(dst)
	dst = ofac.AppendNormalised(dst, text)
	return appendSqueezed(dst[:start], dst[start:])
}

// appendSqueezed appends a normal form without blanks. The two may share memory.
func appendSqueezed(dst, form []byte) []byte {
	for _, c := range form {
		switch c {
		case ' ':
			continue
		case '0':
			c = 'o'
		case '1':
			c = 'l'
		}
		dst = append(dst, c)
	}
	return dst
}
