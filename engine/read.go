package engine

import (
	"bytes"
	"encoding/json"
	"errors"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// Policies, hours and whitelists come as JSON. This file reads them member by member, with
// exact names. Decoding into a struct would ignore the case of names and take the last of two
// equal ones.

// FieldError says what is wrong with one member of a document.
type FieldError struct {
	Param   string // "spendPolicy.dailyLimitUSDC"
	Message string // "must be a number from 0 to 1e12"
	Unknown bool   // There is no such member.
}

// Error returns name and message as the API words them.
func (e *FieldError) Error() string { return e.Param + " " + e.Message }

// member is one member of a JSON object; the value is as sent.
type member struct {
	name  string
	value json.RawMessage
}

var errNotOneObject = errors.New("must be one JSON object")

// readObject reads one JSON object in the order of its members. Equal names and
// anything behind the object are refused.
func readObject(document []byte) ([]member, error) {
	if !utf8.Valid(document) {
		return nil, errNotOneObject
	}
	decoder := json.NewDecoder(bytes.NewReader(document))
	if opening, err := decoder.Token(); err != nil || opening != json.Delim('{') {
		return nil, errNotOneObject
	}
	var members []member
	for decoder.More() {
		token, err := decoder.Token()
		if err != nil {
			return nil, errNotOneObject
		}
		name := token.(string) // The decoder returns a name as a string, or an error.
		for i := range members {
			if members[i].name == name {
				return nil, errors.New("has two members " + strconv.Quote(name))
			}
		}
		if len(members) == JSONMembersMax {
			return nil, errors.New("has more than " + strconv.Itoa(JSONMembersMax) + " members")
		}
		var value json.RawMessage
		if err := decoder.Decode(&value); err != nil {
			return nil, errNotOneObject
		}
		members = append(members, member{name, value})
	}
	if _, err := decoder.Token(); err != nil {
		return nil, errNotOneObject
	}
	if rest := bytes.TrimSpace(document[decoder.InputOffset():]); len(rest) != 0 {
		return nil, errNotOneObject
	}
	return members, nil
}

// documentReader reads values and collects the errors. It returns the zero value for a wrong
// one; the caller checks the errors at the end.
type documentReader struct {
	rules  *RuleSet // The rules that a policy may mention.
	errors []FieldError
}

func (r *documentReader) addError(param, message string) {
	r.errors = append(r.errors, FieldError{Param: param, Message: message})
}

// elementOf returns the path of a list's element.
func elementOf(param string, index int) string { return param + "[" + strconv.Itoa(index) + "]" }

// readMembers reads an object and calls each for every member, with its name and full path.
func (r *documentReader) readMembers(param string, document []byte, each func(name, path string, value json.RawMessage)) {
	members, err := readObject(document)
	if err != nil {
		r.addError(param, err.Error())
		return
	}
	for _, m := range members {
		path := m.name
		if param != "" {
			path = param + "." + m.name
		}
		each(m.name, path, m.value)
	}
}

func (r *documentReader) addUnknown(param string) {
	r.errors = append(r.errors, FieldError{Param: param, Message: "is not a known member", Unknown: true})
}

// WhyNotUSD returns the message for a literal that ParseUSD refused.
func WhyNotUSD(err error) string {
	if err == ErrAmountLong {
		return "must be written in at most 256 characters"
	}
	return "must be a number from 0 to 1e12"
}

func (r *documentReader) readUSD(param string, value json.RawMessage) USD {
	amount, err := ParseUSD([]byte(value))
	if err != nil {
		r.addError(param, WhyNotUSD(err))
		return 0
	}
	return amount
}

func (r *documentReader) readInteger(param string, value json.RawMessage, least, most int64) int64 {
	n, err := strconv.ParseInt(string(value), 10, 64)
	if err != nil || n < least || n > most || value[0] == '+' {
		r.addError(param, "must be an integer from "+strconv.FormatInt(least, 10)+" to "+strconv.FormatInt(most, 10))
		return 0
	}
	return n
}

func (r *documentReader) readBoolean(param string, value json.RawMessage) bool {
	switch string(value) {
	case "true":
		return true
	case "false":
		return false
	}
	r.addError(param, "must be true or false")
	return false
}

func (r *documentReader) readText(param string, value json.RawMessage) (string, bool) {
	var text string
	if len(value) == 0 || value[0] != '"' || json.Unmarshal(value, &text) != nil {
		r.addError(param, "must be a string")
		return "", false
	}
	return text, true
}

// readChoice reads one of the given words and returns its index.
func (r *documentReader) readChoice(param string, value json.RawMessage, words ...string) int {
	if text, ok := r.readText(param, value); ok {
		for i, word := range words {
			if text == word {
				return i
			}
		}
		r.addError(param, "must be one of "+strings.Join(words, ", "))
	}
	return 0
}

// readList reads an array with no more than most elements.
func (r *documentReader) readList(param string, value json.RawMessage, most int) []json.RawMessage {
	var elements []json.RawMessage
	if len(value) == 0 || value[0] != '[' || json.Unmarshal(value, &elements) != nil {
		r.addError(param, "must be a list")
		return nil
	}
	if len(elements) > most {
		r.addError(param, "has "+strconv.Itoa(len(elements))+" elements, at most "+strconv.Itoa(most))
		return nil
	}
	return elements
}

// readMask reads a list of words into a mask: the bit of a word is its place among words. An empty
// word among them is none.
func (r *documentReader) readMask(param string, value json.RawMessage, words []string) uint8 {
	var mask uint8
	for i, element := range r.readList(param, value, JSONMembersMax) {
		path := elementOf(param, i)
		word, ok := r.readText(path, element)
		if !ok {
			continue
		}
		at := slices.Index(words, word)
		if at < 0 || word == "" {
			r.addError(path, "must be one of "+strings.TrimPrefix(strings.Join(words, ", "), ", "))
			continue
		}
		mask |= 1 << at
	}
	return mask
}
