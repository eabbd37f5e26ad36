package client

import (
	_ "embed"
	"slices"
	"strconv"
	"strings"
	"sync"
)

// nfcText is what Unicode says of composed characters: a line for each that is decomposed in any
// canonical form ("00E9 0065 0301", with "!" at its end if it is never composed again), and
// one for each combining class ("0301 230"). The standard library has no such table.
//
//go:embed nfc.txt
var nfcText string

// composition is nfcText, read.
type composition struct {
	apart    map[rune][]rune  // Of a character, all its parts.
	together map[[2]rune]rune // Of two characters that follow each other.
	class    map[rune]int     // Combining class; 0 of those that are not here.
}

// Hangul syllables are computed (Unicode 3.12).
const (
	hangulFirst = 0xAC00
	leadFirst   = 0x1100
	vowelFirst  = 0x1161
	tailBefore  = 0x11A7
	leads       = 19
	vowels      = 21
	tails       = 28
)

var nfcTable = sync.OnceValue(func() *composition {
	c := &composition{map[rune][]rune{}, map[[2]rune]rune{}, map[rune]int{}}
	var whole []rune // That may be composed again.
	for line := range strings.Lines(nfcText) {
		fields := strings.Fields(line)
		character, err := strconv.ParseInt(fields[0], 16, 32)
		if err != nil {
			panic("BUG: nfc.txt: " + line)
		}
		if class, err := strconv.Atoi(fields[1]); err == nil && len(fields) == 2 && len(fields[1]) < 4 {
			c.class[rune(character)] = class
			continue
		}
		var parts []rune
		for _, field := range fields[1:] {
			if part, err := strconv.ParseInt(field, 16, 32); err == nil {
				parts = append(parts, rune(part))
			}
		}
		c.apart[rune(character)] = parts
		if fields[len(fields)-1] != "!" {
			whole = append(whole, rune(character))
		}
	}
	// A pair is a shorter composed character and the last part, so shorter ones come first.
	slices.SortStableFunc(whole, func(a, b rune) int { return len(c.apart[a]) - len(c.apart[b]) })
	for _, character := range whole {
		parts := c.apart[character]
		last := len(parts) - 1
		if begin := c.compose(slices.Clone(parts[:last])); len(begin) == 1 {
			c.together[[2]rune{begin[0], parts[last]}] = character
		}
	}
	return c
})

// composed returns a text in Unicode's form NFC.
func composed(text string) string {
	if plain := strings.IndexFunc(text, func(r rune) bool { return r >= 0x300 }) < 0; plain {
		return text
	}
	c := nfcTable()
	var parts []rune
	for _, character := range text {
		parts = c.appendApart(parts, character)
	}
	c.order(parts)
	return string(c.compose(parts))
}

func (c *composition) appendApart(parts []rune, character rune) []rune {
	if at := character - hangulFirst; at >= 0 && at < leads*vowels*tails {
		parts = append(parts, leadFirst+at/(vowels*tails), vowelFirst+at%(vowels*tails)/tails)
		if at%tails != 0 {
			parts = append(parts, tailBefore+at%tails)
		}
		return parts
	}
	if apart := c.apart[character]; apart != nil {
		return append(parts, apart...)
	}
	return append(parts, character)
}

// order sorts each run of combining characters by class, without changing the order within a class.
func (c *composition) order(parts []rune) {
	for i := 0; i < len(parts); {
		end := i
		for end < len(parts) && c.class[parts[end]] != 0 {
			end++
		}
		slices.SortStableFunc(parts[i:end], func(a, b rune) int { return c.class[a] - c.class[b] })
		i = end + 1
	}
}

// compose puts parts together, in place, as far as nothing stands between them.
func (c *composition) compose(parts []rune) []rune {
	done, starter, before := parts[:0], -1, 0 // before is the class of the last part behind the starter that stayed.
	for _, part := range parts {
		class := c.class[part]
		if starter >= 0 && (len(done)-1 == starter || before != 0 && before < class) {
			if joined := c.join(done[starter], part); joined != 0 {
				done[starter] = joined
				continue
			}
		}
		if class == 0 {
			starter = len(done)
		}
		before = class
		done = append(done, part)
	}
	return done
}

// join returns the character that two make, 0 if they make none.
func (c *composition) join(first, second rune) rune {
	if lead, vowel := first-leadFirst, second-vowelFirst; lead >= 0 && lead < leads && vowel >= 0 && vowel < vowels {
		return hangulFirst + (lead*vowels+vowel)*tails
	}
	if at, tail := first-hangulFirst, second-tailBefore; at >= 0 && at < leads*vowels*tails && at%tails == 0 && tail > 0 && tail < tails {
		return first + tail
	}
	return c.together[[2]rune{first, second}]
}
