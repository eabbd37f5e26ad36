package names

import (
	"bytes"
	"fmt"
	"hash/fnv"
	"io"
	"math/bits"
	"slices"
	"strings"

	"railguard/ofac/text"
)

// The words of ordinary names are counted in the part of the negatives to which the matcher is
// fitted. The held-out part is never counted: what it says is new to the matcher.

// HeldOut tells whether a row belongs to the part of the development half that no number of the matcher
// was fitted to. It is half of the rows, by a hash of what is asked.
func HeldOut(query string) bool {
	h := fnv.New64a()
	_, _ = h.Write([]byte(query))
	return h.Sum64()>>17&1 == 1
}

// countedLeast is how often a word must stand in the counted names to be in the table.
const countedLeast = 2

// WriteCounts writes the table of the words of ordinary people, or of companies: on each line a class,
// and words that stand in about one of 2 to the power of that class names.
func WriteCounts(w io.Writer, d *Data, people bool) error {
	counts, all := map[string]int{}, 0
	for i := range d.Negatives {
		n := &d.Negatives[i]
		if strings.HasPrefix(n.Kind, "hard_") || HeldOut(n.Query) || strings.HasPrefix(n.Kind, "person_") != people {
			continue
		}
		all++
		words := bytes.Fields(text.AppendWords(nil, n.Query, false))
		slices.SortFunc(words, bytes.Compare)
		for _, word := range slices.CompactFunc(words, bytes.Equal) {
			if len(word) > 1 {
				counts[string(word)]++
			}
		}
	}
	classes := map[int][]string{}
	for word, count := range counts {
		if count >= countedLeast {
			class := bits.Len(uint(all/count)) - 1
			classes[class] = append(classes[class], word)
		}
	}
	for class := range 32 {
		words := classes[class]
		slices.Sort(words)
		for len(words) > 0 {
			line, taken := fmt.Sprint(class), 0
			for taken < len(words) && len(line)+len(words[taken]) < 150 {
				line += " " + words[taken]
				taken++
			}
			if _, err := fmt.Fprintln(w, line); err != nil {
				return err
			}
			words = words[taken:]
		}
	}
	return nil
}
