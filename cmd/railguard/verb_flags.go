package main

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"railguard/httpapi/description"
)

// field is a flag that sets a member of the body or a parameter of the query. What a row omits
// is taken from the description.
type field struct {
	flag     string // "": the member's short name, or its name with hyphens.
	name     string // Name of the member; "": the flag's name in camel case. May contain one dot: "spendPolicy.dailyLimitUSDC".
	kind     description.FieldKind
	required bool
	help     string
}

// Kinds of flags besides those of the description.
const (
	oppositeField description.FieldKind = "off"      // A boolean that is sent inverted.
	documentField description.FieldKind = "document" // A file that contains JSON.
)

// shortFlags are the flags of members whose own names would be too long to type.
var shortFlags = map[string]string{
	"actor": "by", "addedBy": "by", "attestedBy": "by", "clearedBy": "by", "reviewedBy": "by",
	"agentId": "agent", "agentIds": "agents", "eventId": "event", "fleetId": "fleet", "listSnapshotId": "list", "parentAgentId": "parent", "txnIds": "txns",
	"allowedCounterpartyTypes": "party-types", "dailyLimitUSDC": "daily-limit", "operatingHours": "hours", "operatorEIN": "operator-ein", "overlapSeconds": "overlap",
	"slaBreached": "overdue", "underlyingModel": "model", "url": "endpoint", "hold.ttlSeconds": "hold-seconds",
	"spendPolicy.maxSingleTxUSDC": "max-single", "spendPolicy.dailyLimitUSDC": "daily-limit", "spendPolicy.allowedChains": "chains",
	"grounds.dateOfBirth": "birth-date", "grounds.country": "country", "grounds.address": "address", "grounds.identifiers": "identifiers", "grounds.operatorId": "operator", "grounds.agentId": "agent",
	"spendPolicy.allowedRails": "rails", "spendPolicy.counterpartyScreening": "screening", "spendPolicy.noMixerProtocols": "no-mixers",
}

func (f *field) memberName() string {
	if f.name != "" {
		return f.name
	}
	parts := strings.Split(f.flag, "-")
	for i := range parts[1:] {
		parts[i+1] = strings.ToUpper(parts[i+1][:1]) + parts[i+1][1:]
	}
	return strings.Join(parts, "")
}

// followDescription completes the verb from the description of the API: it adds a flag for
// each member of the body and each parameter of the query.
func (v *verb) followDescription() {
	operation := description.FindOperation(v.httpMethod(), v.urlPath())
	if operation == nil {
		return // Calls of the admin listener are not described.
	}
	v.keyed = v.keyed || slices.Contains(strings.Fields(operation.Parameters), "idempotencyKey")
	v.fields = v.completeFields(v.fields, operation.BodyFields("spendPolicy", "hold", "grounds"))
	v.query = v.completeFields(v.query, operation.QueryFields())
}

// completeFields returns a flag for each described member, in the order of the description.
func (v *verb) completeFields(rows []field, described []description.Field) []field {
	var complete []field
	for i := range described {
		member := &described[i]
		if slices.Contains(strings.Fields(v.omit), member.Name) {
			continue
		}
		f := field{name: member.Name}
		if at := slices.IndexFunc(rows, func(row field) bool { return row.memberName() == member.Name }); at >= 0 {
			f = rows[at]
			f.name = member.Name
		}
		f.flag = cmp.Or(f.flag, shortFlags[member.Name], writtenWithHyphens(member.Name))
		f.kind = cmp.Or(f.kind, member.Kind)
		f.required = f.required || member.Required && !(v.token && member.Name == "token")
		f.help = cmp.Or(f.help, listingHelp[member.Name], helpOf(member))
		complete = append(complete, f)
	}
	return complete
}

// listingHelp is the help for the parameters of lists. It differs from the API's, because a
// verb fetches as many pages as it needs.
var listingHelp = map[string]string{"limit": "how many (default 50)", "cursor": "go on from here", "order": "asc: oldest first"}

// helpOf returns the description of a member as help for a flag: a fragment in lower case,
// with the allowed values.
func helpOf(member *description.Field) string {
	text := strings.TrimSuffix(member.Help, ".")
	if len(text) > 1 && !unicode.IsUpper(rune(text[1])) {
		text = strings.ToLower(text[:1]) + text[1:]
	}
	if words := member.Enum; len(words) > 0 && !slices.ContainsFunc(words, func(word string) bool { return strings.Contains(text, word) }) {
		last := len(words) - 1
		choice := words[last]
		if last > 0 {
			choice = strings.Join(words[:last], ", ") + " or " + words[last]
		}
		if text != "" {
			text += ": "
		}
		text += choice
	}
	switch member.Kind {
	case description.ListField:
		text += "; several with commas"
	case description.JSONField:
		text += " (JSON)"
	}
	return text
}

// writtenWithHyphens turns a member's name into a flag's name.
func writtenWithHyphens(name string) string {
	var flag strings.Builder
	for _, letter := range name {
		if unicode.IsUpper(letter) {
			flag.WriteByte('-')
		}
		flag.WriteRune(unicode.ToLower(letter))
	}
	return flag.String()
}

// bodyOf writes the JSON body: members in the table's order, nested members under their
// parent, numbers exactly as given.
func bodyOf(fields []field, values map[string]*string) ([]byte, error) {
	type part struct{ name, text string }
	var parts []part
	nested := map[string][]string{}
	for i := range fields {
		f := &fields[i]
		value := *values[f.flag]
		if value == "" {
			if f.required {
				return nil, usageError("--%s is required", f.flag)
			}
			continue
		}
		text, err := f.encodeValue(value)
		if err != nil {
			return nil, err
		}
		outer, inner, dotted := strings.Cut(f.memberName(), ".")
		if !dotted {
			parts = append(parts, part{outer, text})
			continue
		}
		if nested[outer] == nil {
			parts = append(parts, part{outer, ""})
		}
		nested[outer] = append(nested[outer], fmt.Sprintf("%q:%s", inner, text))
	}
	var body bytes.Buffer
	body.WriteByte('{')
	for i, m := range parts {
		if i > 0 {
			body.WriteByte(',')
		}
		if m.text == "" {
			m.text = "{" + strings.Join(nested[m.name], ",") + "}"
		}
		fmt.Fprintf(&body, "%q:%s", m.name, m.text)
	}
	body.WriteByte('}')
	return body.Bytes(), nil
}

func (f *field) encodeValue(value string) (string, error) {
	wanted := map[description.FieldKind]string{description.NumberField: "number", description.JSONField: "JSON value", description.ListField: "JSON list"}[f.kind]
	switch f.kind {
	case description.NumberField, description.JSONField:
		if !json.Valid([]byte(value)) {
			return "", usageError("--%s: %q is not a %s", f.flag, value, wanted)
		}
		return value, nil
	case documentField:
		data, err := os.ReadFile(value)
		if err != nil {
			return "", usageError("--%s: %w", f.flag, err)
		}
		if !json.Valid(data) {
			return "", usageError("--%s: %s is not JSON", f.flag, value)
		}
		return string(bytes.TrimSpace(data)), nil
	case description.TruthField, oppositeField:
		if value != "true" && value != "false" {
			return "", usageError("--%s must be true or false", f.flag)
		}
		return strconv.FormatBool((value == "true") == (f.kind == description.TruthField)), nil
	case description.ListField:
		if value == "null" || value[0] == '[' { // A JSON list, or null, which removes the setting.
			if !json.Valid([]byte(value)) {
				return "", usageError("--%s: %q is not a %s", f.flag, value, wanted)
			}
			return value, nil
		}
		encoded, err := json.Marshal(strings.Split(value, ","))
		return string(encoded), err
	}
	var text bytes.Buffer
	encoder := json.NewEncoder(&text)
	encoder.SetEscapeHTML(false)
	err := encoder.Encode(value)
	return strings.TrimSpace(text.String()), err
}
