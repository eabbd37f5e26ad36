package note

import (
	"encoding/base64"
	"fmt"
	"slices"
	"strings"
)

// A document of verifier keys is compared as a set of lines: line ends, spaces around a line and
// the order of lines do not matter.

// CheckServed returns an error unless a document of verifier keys is one that a log serves
// (GET /log/keys): keys, the sizes that they sign, endorsements by the keys before, and nothing
// else, each line once. So nothing can be written into a document that others read as the log's.
func CheckServed(keys string) error {
	known, err := parseKeys(keys)
	if err != nil {
		return err
	}
	if known.policy != nil {
		return fmt.Errorf("a policy stands among the keys: %w", ErrMalformed)
	}
	if len(known.witnesses) > 0 {
		return fmt.Errorf("the key %s is a witness's: %w", shortenLine(known.witnesses[0].key), ErrMalformed)
	}
	seen := map[string]bool{}
	for line := range strings.Lines(keys) {
		said := strings.TrimSuffix(line, "\n")
		isComment := strings.HasPrefix(said, "#") && !strings.HasPrefix(said, sizesMark) && !strings.HasPrefix(said, endorsedMark)
		if said == line || said == "" || said != strings.TrimSpace(said) || seen[said] || isComment {
			return fmt.Errorf("the line %s is none that a log serves: %w", shortenLine(said), ErrMalformed)
		}
		seen[said] = true
	}
	for i, s := range known.ranges {
		at := slices.IndexFunc(known.ranges[i+1:], func(before *keyRange) bool { return before.isOfOrigin(s.keys[0].name) })
		for _, line := range s.endorsements {
			if at < 0 || !known.ranges[i+1+at].signedEndorsement(s, line) {
				return fmt.Errorf("the endorsement %s is not by the keys before: %w", shortenLine(line), ErrMalformed)
			}
		}
	}
	return nil
}

// signedEndorsement reports whether a line is one key's endorsement of the next range.
func (s *keyRange) signedEndorsement(next *keyRange, line string) bool {
	name, encoded, _ := strings.Cut(strings.TrimPrefix(line, signatureMark), " ")
	raw, err := base64.StdEncoding.Strict().DecodeString(encoded)
	if err != nil || len(raw) < 4 || !strings.HasPrefix(line, signatureMark) || base64.StdEncoding.EncodeToString(raw) != encoded {
		return false
	}
	text := endorsementText(s.keys[0].name, next.from, next.texts)
	return slices.ContainsFunc(s.keys, func(v *verifier) bool {
		return v.name == name && strings.HasPrefix(string(raw), string([]byte{byte(v.id >> 24), byte(v.id >> 16), byte(v.id >> 8), byte(v.id)})) && v.verifyEndorsement(text, raw[4:])
	})
}

// MatchKeys compares the keys inside a file with those that its reader was given. It returns the
// keys to verify the file with: the given ones, with those that they endorse, and the number of
// rotations between them. The error names a key that only one side has. The given keys may have
// further ranges; witnesses and a policy among them are demanded of the file.
func MatchKeys(inside, given, rotations string) (keys string, steps int, err error) {
	held, err := parseKeys(inside)
	if err != nil {
		return "", 0, err
	}
	known, err := parseKeys(given)
	if err != nil {
		return "", 0, err
	}
	if held.policy != nil {
		return "", 0, fmt.Errorf("a policy stands among the keys of a file: %w", ErrUnverified)
	}
	if len(held.witnesses) > 0 {
		return "", 0, fmt.Errorf("the key %s is not among those given, nor endorsed by them: %w", shortenLine(held.witnesses[0].key), ErrUnverified)
	}
	strange, missing := compareRanges(held.ranges, known.ranges)
	if strange == "" {
		if missing != "" {
			return "", 0, fmt.Errorf("the key %s is missing, which is among those given: %w", shortenLine(missing), ErrUnverified)
		}
		return given, 0, nil
	}
	stranger := fmt.Errorf("the key %s is not among those given, nor endorsed by them: %w", shortenLine(strange), ErrUnverified)
	if rotations == "" {
		return "", 0, stranger
	}
	keys, followed, err := Succession(given, rotations)
	if err != nil || len(followed) == 0 {
		return "", 0, stranger
	}
	grown, err := parseKeys(keys)
	if err != nil {
		return "", 0, err
	}
	if strange, missing = compareRanges(held.ranges, grown.ranges); strange != "" {
		return "", 0, fmt.Errorf("the key %s is not among those given, nor endorsed by them: %w", shortenLine(strange), ErrUnverified)
	}
	if missing != "" {
		return "", 0, fmt.Errorf("the key %s is missing, which those given lead to: %w", shortenLine(missing), ErrUnverified)
	}
	return keys, len(followed), nil
}

// compareRanges returns a key that only the first ranges have, and one of the others' keys that
// the first ones lack although they have its neighbour: the keys of a range sign together.
func compareRanges(held, known []*keyRange) (strange, missing string) {
	for _, s := range held {
		for _, text := range s.texts {
			at := slices.IndexFunc(known, func(k *keyRange) bool { return slices.Contains(k.texts, text) })
			if at < 0 {
				return text, ""
			}
			for i, neighbour := range known[at].texts {
				if known[at].keys[i].name == s.keys[0].name && missing == "" && !slices.ContainsFunc(held, func(h *keyRange) bool { return slices.Contains(h.texts, neighbour) }) {
					missing = neighbour
				}
			}
		}
	}
	return "", missing
}

// lineShown is how many bytes of a line an error shows.
const lineShown = 80

// shortenLine quotes a line for an error, at most its beginning.
func shortenLine(line string) string {
	if len(line) > lineShown {
		return fmt.Sprintf("%q and so on", line[:lineShown])
	}
	return fmt.Sprintf("%q", line)
}
