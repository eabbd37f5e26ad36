package feed

import (
	"strings"

	"railguard/ofac"
)

// readIdentity reads the names of a party. The type of each name part stands in a group
// that follows the names, so the parts get their types at the end of the identity.
func (p *advanced) readIdentity(entity *ofac.Entity) {
	if value, ok := p.findAttribute("ID"); ok {
		id, _ := parseID(value)
		p.addDocuments(entity, id)
	}
	primary := p.readBoolean("Primary")
	first := len(entity.Names)
	p.partGroups = p.partGroups[:0]
	clear(p.groups)
	for p.nextChild() {
		switch string(p.name) {
		case "Alias":
			p.readAlias(entity, primary)
		case "NamePartGroups":
			p.namePartGroups()
		default:
			p.skipElement()
		}
	}
	if p.failure != nil {
		return
	}
	next := 0
	for i := first; i < len(entity.Names); i++ {
		name := &entity.Names[i]
		for j := range name.Parts {
			kind, ok := p.groups[p.partGroups[next]]
			if !ok {
				p.keepFailuref(ReasonSchema, "party %d: a name part of the unknown group %d", entity.UID, p.partGroups[next])
				return
			}
			name.Parts[j].Kind = kind
			next++
		}
		name.Full = fullName(name.Parts)
	}
}

func (p *advanced) readBoolean(attribute string) bool {
	value, ok := p.findAttribute(attribute)
	if !ok {
		p.keepFailuref(ReasonSchema, "element <%s> without its attribute %s", p.name, attribute)
		return false
	}
	return p.readFlag(value)
}

func (p *advanced) readAlias(entity *ofac.Entity, identityPrimary bool) {
	kind := p.resolveReference(p.aliasTypes, "AliasTypeID")
	primary := p.readBoolean("Primary") && identityPrimary
	weak := p.readBoolean("LowQuality")
	if p.failure == nil && !knownAlias(kind) {
		p.keepFailuref(ReasonSchema, "alias type %q", kind)
	}
	for p.nextChild() {
		if string(p.name) != "DocumentedName" {
			p.skipElement()
			continue
		}
		name := ofac.Name{ID: p.readID("ID"), AliasType: kind, Weak: weak}
		name.Primary = primary && p.resolveReference(p.nameStatus, "DocNameStatusID") == statusPrimary
		p.documentedName(&name)
		p.addName(entity, name)
	}
}

func knownAlias(kind string) bool {
	switch kind {
	case aliasPrimary, aliasAlso, aliasFormer, aliasNow:
		return true
	}
	return false
}

func (p *advanced) documentedName(name *ofac.Name) {
	for p.nextChild() {
		if string(p.name) != "DocumentedNamePart" {
			p.skipElement()
			continue
		}
		for p.nextChild() {
			if string(p.name) != "NamePartValue" {
				p.skipElement()
				continue
			}
			group, script := p.readID("NamePartGroupID"), p.resolveReference(p.scripts, "ScriptID")
			if !p.addPart(name, "", p.readText()) {
				continue
			}
			if name.Script == "" {
				name.Script = script
			}
			p.partGroups = append(p.partGroups, group)
		}
	}
}

func (p *advanced) namePartGroups() {
	for p.nextChild() { // MasterNamePartGroup
		for p.nextChild() { // NamePartGroup
			id := p.readID("ID")
			p.groups[id] = p.resolveReference(p.partTypes, "NamePartTypeID")
			p.skipElement()
			if len(p.groups) > NamesPerEntityMax*PartsPerNameMax {
				p.keepFailuref(ReasonTooLarge, "too many name part groups")
			}
		}
	}
}

// The kinds of name parts that fullName sorts.
const (
	partLast       = "Last Name"
	partFirst      = "First Name"
	partMiddle     = "Middle Name"
	partMaiden     = "Maiden Name"
	partPatronymic = "Patronymic"
	partMatronymic = "Matronymic"
	partNickname   = "Nickname"
)

// fullName writes the parts of a name in the form of ENHANCED's formattedFullName, which
// ADVANCED lacks: "LAST, First Middle" with the family name in upper case. A name without
// given names, and names of companies, vessels and aircraft, are wholly in upper case.
//
// The family name is the last names, then the matronymics, then the maiden name. Where
// there is no last name, the Spanish pair takes its place: patronymic before matronymic, in
// whatever order the file has them. Beside a last name, a patronymic is the Slavic one and
// ends the given names. A nickname counts only when the name has no other part. First names
// precede middle names.
func fullName(parts []ofac.NamePart) string {
	last := joinKinds(parts, partLast)
	given := joinKinds(parts, partFirst, partMiddle)
	family := last
	if last == "" {
		family = joinKinds(parts, partPatronymic)
	} else {
		given = joinWords(given, joinKinds(parts, partPatronymic))
	}
	family = joinWords(family, joinKinds(parts, partMatronymic, partMaiden))
	family = joinWords(family, joinOthers(parts))
	if family == "" && given == "" {
		family = joinKinds(parts, partNickname)
	}
	family = strings.ToUpper(family)
	switch {
	case given == "":
		return family
	case family == "":
		return given
	}
	return family + ", " + given
}

// joinKinds joins the values of the given kinds, kind by kind, each in order.
func joinKinds(parts []ofac.NamePart, kinds ...string) string {
	joined := ""
	for _, kind := range kinds {
		for i := range parts {
			if parts[i].Kind == kind {
				joined = joinWords(joined, parts[i].Value)
			}
		}
	}
	return joined
}

// joinOthers joins the parts that are not of a person's name: entity, vessel and aircraft
// names, and kinds that this package does not know.
func joinOthers(parts []ofac.NamePart) string {
	joined := ""
	for i := range parts {
		switch parts[i].Kind {
		case partLast, partFirst, partMiddle, partMaiden, partPatronymic, partMatronymic, partNickname:
		default:
			joined = joinWords(joined, parts[i].Value)
		}
	}
	return joined
}

func joinWords(a, b string) string {
	if a == "" {
		return b
	}
	if b == "" {
		return a
	}
	return a + " " + b
}
