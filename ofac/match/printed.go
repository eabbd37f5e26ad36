package match

import (
	"bytes"

	"railguard/ofac/index"
	"railguard/ofac/text"
)

// printedAlike are letters that look alike in print. Each is replaced by the other.
var printedAlike = [...][2]string{{"rn", "m"}, {"cl", "d"}, {"vv", "w"}, {"l", "i"}}

// Bounds of these readings.
const (
	seenAsMin = 4 // letters that a word needs: shorter words become other names too easily
	seenAsMax = 8 // replacements of single places that are tried for one word
)

// markSeenAs marks the listed words that word i may be in print. It replaces each
// look-alike alone, and then all equal look-alikes at once.
func (c *scorer) markSeenAs(l *index.WordLayer, i int) {
	word, tries := c.textOf(i), 0
	if len(word) < seenAsMin {
		return
	}
	for _, alike := range printedAlike {
		for side := range alike {
			from, to, times := alike[side], alike[1-side], 0
			if bag := text.BagOf([]byte(from)).Once; c.list[i].textBag.Once&bag != bag {
				continue // The word lacks one of the letters.
			}
			for at := 0; at+len(from) <= len(word) && tries < seenAsMax; at++ {
				if string(word[at:at+len(from)]) != from {
					continue
				}
				c.join = append(append(append(c.join[:0], word[:at]...), to...), word[at+len(from):]...)
				c.markPrinted(l, i)
				tries, times = tries+1, times+1
			}
			if times > 1 {
				c.join = c.join[:0]
				for at := 0; at < len(word); {
					if bytes.HasPrefix(word[at:], []byte(from)) {
						c.join = append(c.join, to...)
						at += len(from)
						continue
					}
					c.join = append(c.join, word[at])
					at++
				}
				c.markPrinted(l, i)
			}
		}
	}
}

// markPrinted marks the word in c.join for word i, if it is a listed word.
func (c *scorer) markPrinted(l *index.WordLayer, i int) {
	if id, ok := l.Find(c.join); ok && l.Word(id).Flags&index.WordWhole != 0 {
		c.addMark(id, 1<<i, text.SameSpelling)
	}
}
