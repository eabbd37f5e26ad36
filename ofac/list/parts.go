package list

// The kinds of the parts of a person's name, as OFAC's files write them.
const (
	KindLast       = "Last Name"
	KindFirst      = "First Name"
	KindMiddle     = "Middle Name"
	KindMaiden     = "Maiden Name"
	KindPatronymic = "Patronymic"
	KindMatronymic = "Matronymic"
	KindNickname   = "Nickname"
)

// SortParts returns the parts of the family name and the given names in the order in which OFAC writes
// them: "FAMILY, Given". What is no part of a person's name stands in the family's.
//
// The family name is the last names, then the matronymics, then the maiden name. Where there is no last
// name, the Spanish pair takes its place: patronymic before matronymic, in whatever order the file has
// them. Beside a last name, a patronymic is the Slavic one and ends the given names. A nickname counts
// only when the name has no other part. First names precede middle names.
func SortParts(parts []NamePart) (family, given []NamePart) {
	family = appendKinds(family, parts, KindLast)
	given = appendKinds(given, parts, KindFirst, KindMiddle)
	if len(family) == 0 {
		family = appendKinds(family, parts, KindPatronymic)
	} else {
		given = appendKinds(given, parts, KindPatronymic)
	}
	family = appendKinds(family, parts, KindMatronymic, KindMaiden)
	for _, part := range parts {
		switch part.Kind {
		case KindLast, KindFirst, KindMiddle, KindMaiden, KindPatronymic, KindMatronymic, KindNickname:
		default:
			family = append(family, part)
		}
	}
	if len(family) == 0 && len(given) == 0 {
		family = appendKinds(family, parts, KindNickname)
	}
	return family, given
}

// appendKinds appends the parts of the given kinds, kind by kind, each in order.
func appendKinds(to, parts []NamePart, kinds ...string) []NamePart {
	for _, kind := range kinds {
		for _, part := range parts {
			if part.Kind == kind && part.Value != "" {
				to = append(to, part)
			}
		}
	}
	return to
}
