package ofac

// Two initials bound by dots are one word like the letters of an acronym ("B.V.", "S.A."),
// and a person's all the same: papers in Russian write DERIPASKA O.V., Дерипаска О.В. So a
// name with such a word and no legal form is read a second time with the two apart.

// initialsPart is where the second of two initials begins that are bound by a dot; 0: there
// are none.
func initialsPart(name string) int {
	letters, dots, second := 0, 0, 0 // Letters since the last dot, dots of the word behind one letter.
	found := func() bool { return dots == 1 && letters == 1 || dots == 2 && letters == 0 }
	for i := 0; i < len(name); {
		r, size := decode(name, i)
		i += size
		switch folds.of(r).kind {
		case foldDrop:
		case foldSpace, foldAnd:
			if found() {
				return second
			}
			letters, dots = 0, 0
		case foldDot:
			if letters != 1 {
				dots = len(name) // No initials: "St.Paul", "a.b..c".
			} else if dots++; dots == 1 {
				second = i
			}
			letters = 0
		default:
			letters++
		}
	}
	if found() {
		return second
	}
	return 0
}

// appendInitialsApart appends the folded words of a name with two initials that are bound
// by a dot apart; words is the name as it is read otherwise. False: there are none, or there
// is a legal form, and then nobody's initials.
func appendInitialsApart(dst []byte, name string, words []byte, tokens *tokenList) ([]byte, bool) {
	second := initialsPart(name)
	if second == 0 {
		return dst, false
	}
	if tokens.split(words); tokens.hasForms {
		return dst, false
	}
	dst = append(appendWords(dst, name[:second], false), ' ')
	return appendWords(dst, name[second:], false), true
}
