package match

import (
	"strings"

	"railguard/ofac/text"
)

// Unread says why a part of a name could not be compared with any listed name. Such a name is not clear,
// whatever the rest of it leads to: nobody can say whom it means.
type Unread uint8

// The causes.
const (
	UnreadNothing Unread = iota
	UnreadSigns          // The name has neither a letter nor a digit.
	UnreadLetters        // It has letters that no table reads.
)

// String returns the cause in words, empty for UnreadNothing.
func (u Unread) String() string {
	return [...]string{"", "it has no letter and no digit", "its letters cannot be read"}[u]
}

// unreadShown is how many unread words of a name are told.
const unreadShown = 8

// NotCompared says what of a name that was screened could not be compared, and why: สมชาย (Thai): its
// letters cannot be read. It returns "" when all of it was.
func (r *Result) NotCompared(name string) string {
	switch {
	case r.Unread == UnreadLetters:
		var parts []string
		for _, word := range text.UnreadWords(name, unreadShown) {
			parts = append(parts, word.Word+" ("+word.Script+")")
		}
		if parts == nil {
			parts = []string{"an escaped word"}
		}
		return strings.Join(parts, ", ") + ": " + r.Unread.String()
	case r.Unread != UnreadNothing:
		return r.Unread.String()
	case r.Truncated:
		return "it is too long to be compared to its end"
	}
	return ""
}

// UnreadOf returns what of a name cannot be compared. A blank name is none.
func UnreadOf(name string) Unread {
	switch {
	case text.HasUnread(name):
		return UnreadLetters
	case !text.HasLetters(name) && strings.TrimSpace(name) != "":
		return UnreadSigns
	}
	return UnreadNothing
}

// screenSeen appends the hits of the name that people see, if its controls of direction show its letters
// in another order than they are written in. It returns true when not all of it was read.
func (x *Index) screenSeen(name string, q *Query, s *Scratch) (truncated bool) {
	seen, moved := text.AsSeen(name)
	return moved && x.screenText(seen, q, s)
}
