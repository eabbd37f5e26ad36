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

// fullName writes the parts of a name in the form of ENHANCED's formattedFullName, which
// ADVANCED lacks: "LAST, First Middle" with the family name in upper case. A name without
// given names, and names of companies, vessels and aircraft, are wholly in upper case.
func fullName(parts []ofac.NamePart) string {
	sorted, first := ofac.SortParts(parts)
	family, given := strings.ToUpper(joinValues(sorted)), joinValues(first)
	switch {
	case given == "":
		return family
	case family == "":
		return given
	}
	return family + ", " + given
}

func joinValues(parts []ofac.NamePart) string {
	values := make([]string, 0, len(parts))
	for _, part := range parts {
		values = append(values, part.Value)
	}
	return strings.Join(values, " ")
}
