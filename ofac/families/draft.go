package families

import (
	"strings"
	"unicode"
)

// draft is a name on its way from the list to the text that a family asks about. Its words are
// changed first; from the first step on that changes the text as a whole, the text counts.
type draft struct {
	subject *Subject
	words   []word
	line    string // The text, once a step wrote it; "": the words with blanks between.
	chance  uint64
}

// step changes a draft. It returns false where it does not apply, and then the family has no
// variant of the name.
type step func(d *draft) bool

// choose returns a number below n. The draws of one draft follow from the hash of its family and
// its name.
func (d *draft) choose(n int) int {
	d.chance += 0x9e3779b97f4a7c15 // splitmix64
	z := d.chance
	z = (z ^ z>>30) * 0xbf58476d1ce4e5b9
	z = (z ^ z>>27) * 0x94d049bb133111eb
	return int((z ^ z>>31) % uint64(n))
}

// hashOf is FNV-1a over the texts, parted by a byte that is in none of them.
func hashOf(uid uint32, texts ...string) uint64 {
	hash := uint64(14695981039346656037)
	add := func(b byte) { hash = (hash ^ uint64(b)) * 1099511628211 }
	for shift := 0; shift < 32; shift += 8 {
		add(byte(uid >> shift))
	}
	for _, text := range texts {
		for i := range len(text) {
			add(text[i])
		}
		add(0xff)
	}
	return hash
}

// text returns the name as written so far.
func (d *draft) text() string {
	if d.line != "" {
		return d.line
	}
	return joinWords(d.words, " ")
}

func joinWords(words []word, between string) string {
	var b strings.Builder
	for i := range words {
		if i > 0 {
			b.WriteString(between)
		}
		b.WriteString(words[i].written())
	}
	return b.String()
}

// rewrite makes a step of a function of the text. An unchanged text has no variant.
func rewrite(change func(text string) string) step {
	return func(d *draft) bool {
		before := d.text()
		d.line = change(before)
		return d.line != "" && d.line != before
	}
}

// around puts the text into one of some patterns at the place of "#".
func around(patterns ...string) step {
	return func(d *draft) bool {
		d.line = strings.Replace(patterns[d.choose(len(patterns))], "#", d.text(), 1)
		return true
	}
}

// oneOf takes one of some steps that apply, as the hash chooses.
func oneOf(steps ...step) step {
	return func(d *draft) bool {
		first := d.choose(len(steps))
		for i := range steps {
			trial := *d
			trial.words = append([]word(nil), d.words...)
			if steps[(first+i)%len(steps)](&trial) {
				*d = trial
				return true
			}
		}
		return false
	}
}

// always is a step that changes nothing.
func always(*draft) bool { return true }

// find returns the places of the words that have one of the parts.
func (d *draft) find(parts ...part) (places []int) {
	for i := range d.words {
		for _, p := range parts {
			if d.words[i].part == p {
				places = append(places, i)
			}
		}
	}
	return places
}

func (d *draft) remove(at int) {
	d.words = append(d.words[:at:at], d.words[at+1:]...)
}

func (d *draft) insert(at int, text string, is part) {
	words := append([]word(nil), d.words[:at]...)
	words = append(words, word{"", text, is})
	d.words = append(words, d.words[at:]...)
}

// Order.

// lastFirst writes a person's family names first, without a comma.
func lastFirst(d *draft) bool {
	given, family := d.parted()
	d.words = append(family, given...)
	return len(given) > 0 && len(family) > 0
}

// lastComma writes "Last, First Middle".
func lastComma(d *draft) bool {
	given, family := d.parted()
	d.line = joinWords(family, " ") + ", " + joinWords(given, " ")
	return len(given) > 0 && len(family) > 0
}

// parted returns the given names and the family names.
func (d *draft) parted() (given, family []word) {
	for _, w := range d.words {
		if w.part <= partPatronymic {
			given = append(given, w)
		} else {
			family = append(family, w)
		}
	}
	return given, family
}

// reversed writes the words from the last to the first.
func reversed(d *draft) bool {
	words := make([]word, 0, len(d.words))
	for i := len(d.words) - 1; i >= 0; i-- {
		words = append(words, d.words[i])
	}
	d.words = words
	return len(words) > 1
}

// asListed writes the name as the list does.
func asListed(d *draft) bool {
	d.line = d.subject.Full
	return true
}

// Parts left out.

// leaveOut leaves out all words of the parts. What remains has two words at least.
func leaveOut(parts ...part) step {
	return func(d *draft) bool {
		places := d.find(parts...)
		if len(places) == 0 || len(d.words)-len(places) < 2 {
			return false
		}
		for i := len(places) - 1; i >= 0; i-- {
			d.remove(places[i])
		}
		return true
	}
}

// leaveOutOne leaves out one word of the parts that the hash chooses.
func leaveOutOne(parts ...part) step {
	return func(d *draft) bool {
		places := d.find(parts...)
		if len(places) == 0 || len(d.words) < 3 {
			return false
		}
		d.remove(places[d.choose(len(places))])
		return true
	}
}

// leaveOutParticles leaves out "al-", "de" and their like.
func leaveOutParticles(d *draft) bool {
	found := false
	words := append([]word(nil), d.words...)
	for i := range words {
		found = found || words[i].particle != ""
		words[i].particle = ""
	}
	d.words = words
	return found
}

// Parts added.

// addBehind adds one of some words behind the first word of a part.
func addBehind(is part, added []string) step {
	return func(d *draft) bool {
		places := d.find(is)
		if len(places) == 0 {
			return false
		}
		text, ok := d.foreign(added)
		d.insert(places[0]+1, text, partMiddle)
		return ok
	}
}

// addLast adds one of some words behind the name.
func addLast(added ...string) step {
	return func(d *draft) bool {
		text, ok := d.foreign(added)
		d.insert(len(d.words), text, partSecond)
		return ok
	}
}

// addFirst adds one of some words before the name.
func addFirst(added ...string) step {
	return func(d *draft) bool {
		text, ok := d.foreign(added)
		d.insert(0, text, partMiddle)
		return ok
	}
}

// foreign chooses a text of which the name has no word.
func (d *draft) foreign(texts []string) (string, bool) {
	full := " " + strings.ToLower(strings.NewReplacer(",", " ", "-", " ", ".", " ").Replace(d.subject.Full)) + " "
	first := d.choose(len(texts))
	for i := range texts {
		text := texts[(first+i)%len(texts)]
		shared := false
		for field := range strings.FieldsSeq(strings.ToLower(text)) {
			shared = shared || strings.Contains(full, " "+field+" ")
		}
		if !shared {
			return text, true
		}
	}
	return "", false
}

// Initials.

func initialOf(w *word) string {
	for _, r := range w.text {
		if unicode.IsLetter(r) {
			return string(unicode.ToUpper(r))
		}
	}
	return ""
}

// abbreviate writes the words of the parts as initials with a dot.
func abbreviate(parts ...part) step {
	return func(d *draft) bool {
		places := d.find(parts...)
		words := append([]word(nil), d.words...)
		for _, at := range places {
			words[at].text, words[at].particle = initialOf(&words[at])+".", ""
			if words[at].text == "." {
				return false
			}
		}
		d.words = words
		return len(places) > 0
	}
}

// initials returns the initials of the given names bound by dots, "F.M.".
func (d *draft) initials() string {
	var b strings.Builder
	for _, at := range d.find(partGiven, partMiddle, partPatronymic) {
		if initial := initialOf(&d.words[at]); initial != "" {
			b.WriteString(initial + ".")
		}
	}
	return b.String()
}

// lastInitials writes "Last F.M."; initialsLast writes "F.M. Last".
func lastInitials(d *draft) bool {
	_, family := d.parted()
	d.line = joinWords(family, " ") + " " + d.initials()
	return len(family) > 0 && strings.HasSuffix(d.line, ".")
}

func initialsLast(d *draft) bool {
	_, family := d.parted()
	d.line = d.initials() + " " + joinWords(family, " ")
	return len(family) > 0 && d.line[0] != ' '
}
