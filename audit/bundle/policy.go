package bundle

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strings"

	"railguard/engine"
)

// A policy in words: amounts in dollars, durations in days, hours and so on, rules by their codes. The
// settings are those by which decisions were made. Optional ones that are not set are left out, as
// the record does, so that a later release with more settings writes the same bytes.

// wordPolicy writes a policy for people.
func wordPolicy(policy *engine.Policy) ([]byte, error) {
	text := fmt.Appendf(nil, "{\n  \"policyVersion\": %d", policy.Version)
	value := reflect.ValueOf(policy).Elem()
	for i := range value.NumField() {
		field := value.Type().Field(i)
		if field.Name == "Version" || leavesOut(field, value.Field(i)) {
			continue
		}
		set := wordSetting(field.Name, value.Field(i))
		switch field.Name {
		case "Document":
			set = json.RawMessage(policy.Document)
			if !json.Valid(policy.Document) {
				set = string(policy.Document)
			}
		case "Modes":
			set = changedModes(policy)
		case "TwoPersons":
			set = policy.TwoPersons.Names()
		case "TypeCaps":
			set = wordTypes(func(t int) any { return wordSetting("", value.Field(i).Index(t)) }, value.Field(i).Len())
		}
		setting, err := json.Marshal(set)
		if err != nil {
			return nil, err
		}
		text = fmt.Appendf(text, ",\n  %q: %s", lowerFirst(field.Name), setting)
	}
	return append(text, "\n}\n"...), nil
}

// changedModes returns the modes that differ from the default, by the code of the rule.
func changedModes(policy *engine.Policy) map[string]string {
	set := map[string]string{}
	for i := range engine.Rules {
		if mode := policy.Modes[engine.Rules[i].ID]; mode != engine.ModeReview {
			set[engine.Rules[i].Code] = mode.String()
		}
	}
	return set
}

func leavesOut(field reflect.StructField, value reflect.Value) bool {
	tag := field.Tag.Get("cbor")
	return value.IsZero() && (strings.HasSuffix(tag, ",omitempty") || strings.HasSuffix(tag, ",omitzero"))
}

func lowerFirst(name string) string { return strings.ToLower(name[:1]) + name[1:] }

// wordTypes names the types of counterparties, in the order of their numbers.
func wordTypes(of func(t int) any, count int) map[string]any {
	set := map[string]any{}
	for t, name := range []string{"unknown", "individual", "business", "exchange"} {
		if t < count {
			set[name] = of(t)
		}
	}
	return set
}

// wordSetting gives a setting in words.
func wordSetting(name string, value reflect.Value) any {
	switch is := value.Interface().(type) {
	case engine.USD:
		return wordAmount(is)
	case engine.Time:
		if name == "From" || name == "Until" {
			return is.String()
		}
		return wordDuration(is)
	}
	switch {
	case name == "NameReview" || name == "NameBlock":
		return fmt.Sprintf("%.4f", float64(value.Int())/10_000)
	case name == "Rules" && value.Kind() == reflect.Uint32:
		return wordRules(uint32(value.Uint()))
	case name == "PartyTypes":
		return wordMask(value.Uint())
	}
	switch value.Kind() {
	case reflect.Pointer:
		if value.IsNil() {
			return nil
		}
		return wordSetting(name, value.Elem())
	case reflect.Struct:
		set := map[string]any{}
		for i := range value.NumField() {
			if field := value.Type().Field(i); field.IsExported() && !leavesOut(field, value.Field(i)) {
				set[lowerFirst(field.Name)] = wordSetting(field.Name, value.Field(i))
			}
		}
		return set
	case reflect.Slice, reflect.Array:
		if value.Type().Elem().Kind() == reflect.Uint8 {
			return value.Interface()
		}
		set := []any{}
		for i := range value.Len() {
			set = append(set, wordSetting("", value.Index(i)))
		}
		return set
	}
	return value.Interface()
}

// wordRules names the rules of a mask, in the order of their numbers.
func wordRules(mask uint32) []string {
	codes := []string{}
	for i := range engine.Rules {
		if mask&(1<<engine.Rules[i].ID) != 0 {
			codes = append(codes, engine.Rules[i].Code)
		}
	}
	return codes
}

// wordMask names the types of counterparties of a mask.
func wordMask(mask uint64) []string {
	names := []string{}
	for t, name := range []string{"unknown", "individual", "business", "exchange"} {
		if mask&(1<<t) != 0 {
			names = append(names, name)
		}
	}
	return names
}

// wordAmount writes an amount with its thousands apart: $12,500.50.
func wordAmount(amount engine.USD) string {
	if amount == engine.NoLimit {
		return "no limit"
	}
	whole, cents, fraction := strings.Cut(string(engine.AppendUSD(nil, amount)), ".")
	for at := len(whole) - 3; at > 0; at -= 3 {
		whole = whole[:at] + "," + whole[at:]
	}
	if !fraction {
		return "$" + whole
	}
	return "$" + whole + "." + (cents + "0")[:max(2, len(cents))]
}

// wordDuration writes a duration in its largest whole unit.
func wordDuration(d engine.Time) string {
	for _, unit := range []struct {
		of   engine.Time
		name string
	}{{engine.DayLength, "day"}, {engine.Hour, "hour"}, {engine.Minute, "minute"}, {engine.Second, "second"}, {engine.Millisecond, "millisecond"}, {1, "nanosecond"}} {
		if d%unit.of == 0 && (d >= unit.of || unit.of == 1) {
			if d == unit.of {
				return "1 " + unit.name
			}
			return fmt.Sprintf("%d %ss", int64(d/unit.of), unit.name)
		}
	}
	return "nothing"
}
