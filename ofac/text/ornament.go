package text

import "strings"

// A name is written with ornaments that are no part of it: "Maduro's", "MV SABITI".

// WithoutPossessive returns a name without the endings 's and s' of its words. It returns false when
// there are none.
func WithoutPossessive(name string) (string, bool) {
	plain := []byte(nil)
	for i := 0; i < len(name); {
		size := possessiveAt(name, i)
		if size == 0 {
			if plain != nil {
				plain = append(plain, name[i])
			}
			i++
			continue
		}
		if plain == nil {
			plain = append(make([]byte, 0, len(name)), name[:i]...)
		}
		i += size
	}
	return string(plain), plain != nil
}

// apostrophes are the signs that are written as one, and beginsApostrophe has the first byte of each.
var (
	apostrophes      = [...]string{"'", "’", "`", "´", "ʼ", "＇"}
	beginsApostrophe = func() (first [256]bool) {
		for _, apostrophe := range apostrophes {
			first[apostrophe[0]] = true
		}
		return first
	}()
)

// possessiveAt returns how many bytes of a possessive ending begin at i.
func possessiveAt(name string, i int) int {
	if !beginsApostrophe[name[i]] {
		return 0
	}
	rest, size := name[i:], 0
	for _, apostrophe := range apostrophes {
		if strings.HasPrefix(rest, apostrophe) {
			size = len(apostrophe)
			break
		}
	}
	if size == 0 || i == 0 {
		return 0
	}
	rest = rest[size:]
	if rest != "" && (rest[0] == 's' || rest[0] == 'S') {
		rest, size = rest[1:], size+1
	} else if name[i-1]|0x20 != 's' {
		return 0
	}
	if rest == "" || rest[0] == ' ' || rest[0] == ',' || rest[0] == '.' {
		return size
	}
	return 0
}

// shipPrefixes stand before the name of a ship: motor vessel, motor tanker, steamship.
var shipPrefixes = [...]string{"mv", "m/v", "m.v.", "m.v", "mt", "m/t", "m.t.", "m.t", "ms", "m/s", "ss", "s/s", "fv", "f/v", "lpg/c", "lng/c", "vlcc", "fso", "motor vessel", "motor tanker", "vessel", "ship", "tanker", "the vessel", "the ship"}

// WithoutShipPrefix returns the name of a ship without what stands before it. It returns false when
// nothing of that kind does.
func WithoutShipPrefix(name string) (string, bool) {
	name = strings.TrimSpace(name)
	for _, prefix := range shipPrefixes {
		if len(name) > len(prefix)+1 && name[len(prefix)] == ' ' && strings.EqualFold(name[:len(prefix)], prefix) {
			return strings.Trim(name[len(prefix)+1:], ` "'“”„«»`), true
		}
	}
	return "", false
}
