package index

import (
	"bytes"
	"strings"

	"railguard/ofac/list"
	"railguard/ofac/text"
)

// OFAC's files say of each part of a person's name what it is: a last name, a first name, a patronymic. A
// list without types, such as SDN.CSV, has only the comma behind the last name.

// nameCutter cuts names into words; its buffers are reused.
type nameCutter struct {
	words  []byte
	typed  []byte     // The words of the typed parts, in the order of a full name.
	roles  []NamePart // By word of the full name.
	tokens text.TokenList
}

// cutName returns the content words of a listed name and the joins of neighbouring words.
func (c *nameCutter) cutName(name *list.Name, person bool) []rawToken {
	var spoken bool
	if c.words, spoken = text.AppendKana(c.words[:0], name.Full); !spoken {
		c.words = appendRead(c.words[:0], name.Full)
	}
	if person {
		c.tokens.SplitPlain(c.words)
		c.readRoles(name)
	} else {
		c.tokens.Split(c.words)
	}
	var cut []rawToken
	for i := range c.tokens.Count {
		if c.tokens.List[i].Form != text.FormNone || len(cut) == NameTokensMax {
			continue
		}
		word := c.tokens.Word(c.words, i)
		if len(word) > text.WordBytesMax {
			word = word[:text.WordBytesMax]
		}
		token := rawToken{text: string(word), first: uint8(len(cut)), count: 1}
		if person {
			token.part = partMiddle
			if i < len(c.roles) {
				token.part = c.roles[i]
			}
			if n := len(cut); token.part == partMiddle && n > 0 && cut[n-1].part == PartGiven && text.IsSyllable(word) && text.IsSyllable([]byte(cut[n-1].text)) {
				token.part = PartHalf
			}
		}
		cut = append(cut, token)
	}
	return appendJoins(cut)
}

// appendRead appends the words of a listed name, as a query is read for the possible matcher.
func appendRead(dst []byte, name string) []byte {
	if read, ok, _ := text.AppendAbjad(dst, name, false); ok { // A translation would make all names of the same words the same.
		return read
	}
	return text.AppendWords(dst, name, false)
}

// sourceName returns a name as the list has it, with its typed parts.
func (b *builder) sourceName(name uint32) *list.Name {
	entity := b.names[name].Entity
	return &b.source[entity].Names[name-b.entities[entity].Names]
}

// readRoles finds the part of each word of a person's name.
func (c *nameCutter) readRoles(name *list.Name) {
	c.typed, c.roles = c.typed[:0], c.roles[:0]
	family, given := list.SortParts(name.Parts)
	for _, part := range family {
		c.addTyped(part.Value, PartLast, PartLast)
	}
	for i, part := range given {
		role := partMiddle
		if part.Kind == list.KindPatronymic {
			role = PartPatronymic
		}
		first := role
		if i == 0 {
			first = PartGiven
		}
		c.addTyped(part.Value, first, role)
	}
	if len(family) == 0 || len(given) == 0 || !bytes.Equal(c.typed, c.words) {
		c.readComma(name.Full)
	}
}

// addTyped adds the words of a typed part, of which the first may have a role of its own. Many
// patronymics are typed as middle names.
func (c *nameCutter) addTyped(value string, first, rest NamePart) {
	start := len(c.typed)
	if start > 0 {
		c.typed = append(c.typed, ' ')
		start++
	}
	if c.typed = appendRead(c.typed, value); len(c.typed) == start {
		c.typed = c.typed[:max(start-1, 0)]
		return
	}
	for word := range bytes.SplitSeq(c.typed[start:], []byte{' '}) {
		role := first
		if role == partMiddle && text.IsPatronymic(word) {
			role = PartPatronymic
		}
		c.roles = append(c.roles, role)
		first = rest
	}
}

// readComma takes what stands before the comma for the last name. Without a comma any word may be any part.
func (c *nameCutter) readComma(full string) {
	last, given, found := strings.Cut(full, ",")
	c.typed, c.roles = c.typed[:0], c.roles[:0]
	if found {
		c.addTyped(last, PartLast, PartLast)
		c.addTyped(given, PartGiven, partMiddle)
	}
}
