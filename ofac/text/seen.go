package text

import (
	"slices"
	"strings"
)

// Controls of direction change the order in which people see letters: "ORUDAM" between U+202E and
// U+202C is "MADURO" to whoever reads it. This file gives the order that is seen, by the rules of
// Unicode's annex 9 as far as they move letters: embeddings, overrides and isolates, letters of both
// directions, digits, and what stands between them, in a line that runs from left to right.

// The controls of direction.
const (
	embedLeft, embedRight       = '\u202A', '\u202B'
	popDirection                = '\u202C'
	overrideLeft, overrideRight = '\u202D', '\u202E'
	isolateLeft, isolateRight   = '\u2066', '\u2067'
	isolateFirst, popIsolate    = '\u2068', '\u2069'
	markLeft, markRight         = '\u200E', '\u200F'
	markArabic                  = '\u061C'
)

// levelMax is the deepest level of annex 9.
const levelMax = 125

// AsSeen returns a name in the order in which it is read where it is shown, without controls of
// direction. It returns false when the name has none that move letters, or its order is the same.
func AsSeen(name string) (string, bool) {
	if !movesLetters(name) {
		return "", false
	}
	signs := placeSigns(name)
	order := orderSigns(signs)
	var seen, written strings.Builder
	for i := range signs {
		if !signs[i].border {
			written.WriteRune(signs[i].letter)
		}
		if !order[i].border {
			seen.WriteRune(order[i].letter)
		}
	}
	return seen.String(), seen.String() != written.String()
}

// movesLetters reports whether a name has a control that may move letters.
func movesLetters(name string) bool {
	for rest := name; ; {
		at := strings.IndexByte(rest, 0xE2) // The first byte of all of them.
		if at < 0 || at+2 >= len(rest) {
			return false
		}
		second, third := rest[at+1], rest[at+2]
		if second == 0x80 && third >= 0xAA && third <= 0xAE || second == 0x81 && third >= 0xA6 && third <= 0xA9 {
			return true
		}
		rest = rest[at+1:]
	}
}

// direction is how a sign runs.
type direction uint8

const (
	neutral direction = iota
	leftward
	rightward
	number
)

// sign is a character that is seen, and where it stands.
type sign struct {
	letter rune
	runs   direction
	level  uint8
	border bool // An isolate begins or ends here: it stands for the whole of it, and is not seen.
}

// state is what a control of direction set.
type state struct {
	level    uint8
	override direction
	isolate  bool
}

// placeSigns gives each character of a name its direction and the level of its embedding (rules X1
// to X9).
func placeSigns(name string) []sign {
	signs := make([]sign, 0, len(name))
	states := append(make([]state, 0, 8), state{})
	isolates, tooDeep := 0, 0 // Of the isolates and of all states that are deeper than the deepest level, none is kept.
	for at, r := range name {
		top := states[len(states)-1]
		switch r {
		case embedLeft, overrideLeft, embedRight, overrideRight, isolateLeft, isolateRight, isolateFirst:
			next := state{isolate: r >= isolateLeft}
			if next.isolate {
				signs = append(signs, sign{runs: top.override, level: top.level, border: true})
			}
			if next.level = nextLevel(top.level, r, name[at:]); next.level > levelMax || tooDeep > 0 {
				tooDeep++
				continue
			}
			switch r {
			case overrideLeft:
				next.override = leftward
			case overrideRight:
				next.override = rightward
			}
			if next.isolate {
				isolates++
			}
			states = append(states, next)
		case popDirection:
			if tooDeep > 0 {
				tooDeep--
			} else if len(states) > 1 && !top.isolate {
				states = states[:len(states)-1]
			}
		case popIsolate:
			if tooDeep > 0 {
				tooDeep--
			} else if isolates > 0 {
				for !states[len(states)-1].isolate {
					states = states[:len(states)-1]
				}
				states, isolates = states[:len(states)-1], isolates-1
			}
			top = states[len(states)-1]
			signs = append(signs, sign{runs: top.override, level: top.level, border: true})
		default:
			runs := directionOf(r)
			if top.override != neutral {
				runs = top.override
			}
			border := r == markLeft || r == markRight || r == markArabic
			signs = append(signs, sign{letter: r, runs: runs, level: top.level, border: border})
		}
	}
	return signs
}

// nextLevel returns the level behind a control: the next one that runs as the control says. An isolate
// of the first strong letter runs as that letter.
func nextLevel(level uint8, control rune, rest string) uint8 {
	odd := control == embedRight || control == overrideRight || control == isolateRight
	if control == isolateFirst {
		for _, r := range rest {
			if runs := directionOf(r); runs == leftward || runs == rightward {
				odd = runs == rightward
				break
			}
		}
	}
	if odd {
		return (level + 1) | 1
	}
	return (level + 2) &^ 1
}

// directionOf returns how a character runs by itself.
func directionOf(r rune) direction {
	switch {
	case r == markLeft:
		return leftward
	case r == markRight, r == markArabic:
		return rightward
	case r >= '0' && r <= '9', r >= 0x0660 && r <= 0x0669, r >= 0x06F0 && r <= 0x06F9:
		return number
	case r >= 0x0590 && r <= 0x08FF, r >= 0xFB1D && r <= 0xFDFF, r >= 0xFE70 && r <= 0xFEFC, r >= 0x10800 && r <= 0x10FFF, r >= 0x1E800 && r <= 0x1EFFF:
		return rightward
	}
	switch folds.entryOf(r).kind {
	case foldDrop, foldSpace, foldDot, foldAnd:
		return neutral
	}
	return leftward
}

// orderSigns returns the signs in the order in which they are read: as they are seen from left to
// right, and letters that run from right to left in their own order.
func orderSigns(signs []sign) []sign {
	settleNeutrals(signs)
	deepest := uint8(0)
	for i := range signs {
		s := &signs[i]
		if odd := s.level&1 == 1; odd && s.runs != rightward || !odd && s.runs == rightward {
			s.level++
		} else if s.runs == number {
			s.level += 2
		}
		deepest = max(deepest, s.level)
	}
	order := slices.Clone(signs)
	for level := deepest; level > 0; level-- {
		reverseRuns(order, func(s *sign) bool { return s.level >= level })
	}
	rereadRightward(order)
	return order
}

// reverseRuns reverses each longest run of signs of which a condition holds.
func reverseRuns(signs []sign, holds func(*sign) bool) {
	for i := 0; i < len(signs); i++ {
		start := i
		for i < len(signs) && holds(&signs[i]) {
			i++
		}
		slices.Reverse(signs[start:i])
	}
}

// rereadRightward puts the letters that people read from right to left into the order in which they are
// read, with what stands between them.
func rereadRightward(signs []sign) {
	for i := 0; i < len(signs); i++ {
		if runs := directionOf(signs[i].letter); runs != rightward {
			continue
		}
		start, end := i, i+1
		for k := end; k < len(signs); k++ {
			if runs := directionOf(signs[k].letter); runs == rightward {
				end = k + 1
			} else if runs != neutral {
				break
			}
		}
		slices.Reverse(signs[start:end])
		i = end
	}
}

// settleNeutrals lets what has no direction run as its neighbours do, or as its embedding if they
// differ, and digits as the letters before them (rules W and N). An isolate is skipped as one neutral.
func settleNeutrals(signs []sign) {
	before := make([]direction, len(signs))
	var last [levelMax + 1]direction
	own := func(level uint8) direction {
		if level&1 == 1 {
			return rightward
		}
		return leftward
	}
	// follow keeps last, of one level, right when a walk comes from one sign to the next.
	follow := func(from uint8, to *sign) {
		switch {
		case from < to.level:
			last[to.level] = own(to.level)
		case from > to.level && !to.border:
			last[to.level] = own(from)
		}
	}
	last[0] = leftward
	level := uint8(0)
	for i := range signs {
		s := &signs[i]
		follow(level, s)
		if s.runs == number && last[s.level] == leftward {
			s.runs = leftward
		}
		if before[i] = last[s.level]; s.runs == leftward || s.runs == rightward {
			last[s.level] = s.runs
		}
		level = s.level
	}
	last[0], level = leftward, 0
	for i := len(signs) - 1; i >= 0; i-- {
		s := &signs[i]
		follow(level, s)
		switch {
		case s.runs == neutral && before[i] == last[s.level]:
			s.runs = before[i]
		case s.runs == neutral:
			s.runs = own(s.level)
		case s.runs == number:
			last[s.level] = rightward
		default:
			last[s.level] = s.runs
		}
		level = s.level
	}
}
