package further

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"
	"unicode/utf8"

	"railguard/ofac"
	"railguard/ofac/feed"
)

// The formats of files.
const (
	FormatUN  = "un-xml"
	FormatFTM = "ftm"
	FormatOwn = "own"
)

// Formats are the formats that Read reads.
func Formats() []string { return []string{FormatUN, FormatFTM, FormatOwn} }

// Part is what a file says, before it is one list of a snapshot. Its entities have an ID. Their UID
// is the number that the publisher gave them, or 0; their Lists are empty.
type Part struct {
	Format   string
	Entities []ofac.Entity
	AsOf     int64    // When the file was made, ns UTC; 0: it does not say.
	Warnings []string // Notes for the operator.
}

// Error says where a file is not what it should be. Nothing of such a file is taken.
type Error struct {
	Row    int    // Line, row or entity, from 1; 0: the whole file.
	Column string // "" if no column or member is at fault.
	Detail string
}

// Error implements error.
func (e *Error) Error() string {
	text := e.Detail
	if e.Column != "" {
		text = "column " + e.Column + ": " + text
	}
	if e.Row > 0 {
		text = fmt.Sprintf("row %d, %s", e.Row, text)
	}
	return text
}

func refuse(row int, column, format string, values ...any) error {
	return &Error{row, column, fmt.Sprintf(format, values...)}
}

// Options say how a file is read.
type Options struct {
	Format   string   // "": by its content.
	Families []string // Only parties of these; none: all.
}

// Read reads a file, which may be packed as those of OFAC may. Every error is an *Error or of
// package feed.
func Read(file []byte, options Options) (Part, error) {
	content, err := feed.Open(bytes.NewReader(file), int64(len(file)))
	if err != nil {
		return Part{}, err
	}
	defer content.Close()
	head := make([]byte, 4096)
	n, err := io.ReadFull(content, head)
	if err != nil && !errors.Is(err, io.ErrUnexpectedEOF) && !errors.Is(err, io.EOF) {
		return Part{}, err
	}
	head = head[:n]
	source := io.MultiReader(bytes.NewReader(head), content)
	format := options.Format
	if format == "" {
		format = formatOf(head)
	}
	var part Part
	switch format {
	case FormatUN:
		part, err = ReadUN(source)
	case FormatFTM:
		part, err = ReadFTM(source)
	case FormatOwn:
		part, err = ReadOwn(source)
	default:
		return Part{}, refuse(0, "", "the format %.40q is none of %s", format, strings.Join(Formats(), ", "))
	}
	if err != nil {
		return Part{}, err
	}
	part.Format = format
	if err := part.keepFamilies(options.Families); err != nil {
		return Part{}, err
	}
	if len(part.Entities) == 0 {
		return Part{}, refuse(0, "", "no listed party: an empty list")
	}
	return part, nil
}

// formatOf tells a format by the beginning of a file.
func formatOf(head []byte) string {
	head = bytes.TrimLeft(bytes.TrimPrefix(head, []byte("\xef\xbb\xbf")), " \t\r\n")
	line, _, _ := bytes.Cut(head, []byte("\n"))
	switch {
	case bytes.HasPrefix(head, []byte("<")):
		return FormatUN
	case bytes.HasPrefix(head, []byte("{")) && bytes.Contains(line, []byte(`"schema"`)):
		return FormatFTM
	}
	return FormatOwn
}

// keepFamilies leaves the entities of some families: a UN list type, a FollowTheMoney dataset.
func (p *Part) keepFamilies(families []string) error {
	if len(families) == 0 {
		return nil
	}
	wanted, found := map[string]bool{}, map[string]bool{}
	for _, family := range families {
		wanted[family] = true
	}
	kept := p.Entities[:0]
	for i := range p.Entities {
		keep := false
		for _, sublist := range p.Entities[i].Sublists {
			if wanted[sublist] {
				keep, found[sublist] = true, true
			}
		}
		if keep {
			kept = append(kept, p.Entities[i])
		}
	}
	p.Entities = kept
	for _, family := range families {
		if !found[family] {
			return refuse(0, "", "the file has nothing of the family %.64q", family)
		}
	}
	return nil
}

func (p *Part) warn(format string, values ...any) {
	if len(p.Warnings) < warningsMax {
		p.Warnings = append(p.Warnings, fmt.Sprintf(format, values...))
	}
}

// clean trims a text and makes one blank of each run of white space.
func clean(text string) string { return strings.Join(strings.Fields(text), " ") }

// cut shortens a text for people; what is matched is never cut.
func cut(text string, most int) string {
	if len(text) <= most {
		return text
	}
	return strings.ToValidUTF8(text[:most-3], "") + "..."
}

func addName(entity *ofac.Entity, full, alias string, weak bool) {
	full = clean(full)
	if full == "" {
		return
	}
	for i := range entity.Names {
		if name := &entity.Names[i]; name.Full == full {
			name.Weak = name.Weak && weak
			return
		}
	}
	primary := len(entity.Names) == 0 && !weak
	if primary {
		alias = "Name"
	}
	entity.Names = append(entity.Names, ofac.Name{ID: uint32(len(entity.Names)), AliasType: alias, Primary: primary, Weak: weak, Script: scriptOf(full), Full: full})
}

// nameByID gives an entity without names one that is shown and matches nothing.
func nameByID(entity *ofac.Entity) {
	if len(entity.Names) == 0 {
		entity.Names = []ofac.Name{{AliasType: ofac.AliasID, Primary: true, Script: "Latin", Full: entity.ID}}
	}
}

func addFact(entity *ofac.Entity, kind ofac.FactKind, label, value string) {
	if value = clean(value); value != "" {
		entity.Facts = append(entity.Facts, ofac.Fact{Kind: kind, Label: label, Value: cut(value, factBytesMax)})
	}
}

// scriptOf names the script of a text by its first letter that is not Latin.
func scriptOf(text string) string {
	for _, c := range text {
		switch {
		case c < 0x370:
		case c < 0x400:
			return "Greek"
		case c < 0x530:
			return "Cyrillic"
		case c >= 0x590 && c < 0x600:
			return "Hebrew"
		case c >= 0x600 && c < 0x780:
			return "Arabic"
		case c >= 0x3040 && c < 0x3100:
			return "Japanese"
		case c >= 0x4e00 && c < 0xa000:
			return "Chinese"
		case c >= 0xac00 && c < 0xd7b0:
			return "Korean"
		}
	}
	return "Latin"
}

// check refuses an entity that breaks a bound.
func check(row int, entity *ofac.Entity) error {
	switch {
	case entity.ID == "" || len(entity.ID) > idBytesMax || !utf8.ValidString(entity.ID):
		return refuse(row, "id", "%d bytes, 1 to %d", len(entity.ID), idBytesMax)
	case len(entity.Names) > namesMax:
		return refuse(row, "name", "%d names, at most %d", len(entity.Names), namesMax)
	case len(entity.Addresses) > itemsMax || len(entity.Facts) > itemsMax:
		return refuse(row, "", "%s: more than %d wallets or facts", entity.ID, itemsMax)
	}
	for _, name := range entity.Names {
		if len(name.Full) > nameBytesMax || !utf8.ValidString(name.Full) {
			return refuse(row, "name", "%d bytes, at most %d, of UTF-8", len(name.Full), nameBytesMax)
		}
	}
	for _, address := range entity.Addresses {
		if address.Value == "" || len(address.Value) > walletBytes {
			return refuse(row, "wallets", "a wallet of %d bytes, 1 to %d", len(address.Value), walletBytes)
		}
	}
	return nil
}
