package examine

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"railguard/audit/note"
)

// envelope is one JSON object of a file: what the server wrote around the bytes of a leaf.
// None of it is trusted. Each member is taken once and compared with what follows from the
// leaf, the checkpoint or a signature. An envelope with members left over is refused.
type envelope struct {
	members map[string]json.RawMessage
	err     error // Error of the first member that could not be read.
}

// readEnvelope reads exactly one JSON object without repeated names. encoding/json alone would
// accept repeated names, using the last, and ignore the case of names.
func readEnvelope(data []byte) (*envelope, error) {
	decoder := json.NewDecoder(bytes.NewReader(data))
	if open, err := decoder.Token(); err != nil || open != json.Delim('{') {
		return nil, errors.New("not a JSON object")
	}
	e := &envelope{members: map[string]json.RawMessage{}}
	for decoder.More() {
		name, err := decoder.Token()
		if err != nil {
			return nil, errors.New("not JSON")
		}
		var value json.RawMessage
		if err := decoder.Decode(&value); err != nil {
			return nil, errors.New("not JSON")
		}
		text, _ := name.(string)
		if _, twice := e.members[text]; twice {
			return nil, fmt.Errorf("member %q stands twice", text)
		}
		e.members[text] = value
	}
	if _, err := decoder.Token(); err != nil {
		return nil, errors.New("not JSON")
	}
	if _, err := decoder.Token(); err != io.EOF {
		return nil, errors.New("something stands behind the JSON object")
	}
	return e, nil
}

// peekMember returns a member's JSON without taking it.
func (e *envelope) peekMember(name string) string { return string(e.members[name]) }

// takeMember reads a member into value and removes it from the envelope.
func (e *envelope) takeMember(name string, value any) {
	data, there := e.members[name]
	delete(e.members, name)
	switch {
	case e.err != nil:
	case !there || string(data) == "null":
		e.err = fmt.Errorf("%q is missing", name)
	case json.Unmarshal(data, value) != nil:
		e.err = fmt.Errorf("%q is not what it must be", name)
	}
}

func (e *envelope) takeText(name string) (value string) {
	e.takeMember(name, &value)
	return value
}

func (e *envelope) takeNumber(name string) (value uint64) {
	e.takeMember(name, &value)
	return value
}

func (e *envelope) takeHash(name string) (value note.Hash) {
	text := e.takeText(name)
	if hash, ok := parseHash(text); ok {
		return hash
	}
	if e.err == nil {
		e.err = fmt.Errorf("%q is not a hash", name)
	}
	return value
}

func (e *envelope) takeHashes(name string) [][]byte {
	var texts []string
	e.takeMember(name, &texts)
	values := make([][]byte, len(texts))
	for i, text := range texts {
		hash, ok := parseHash(text)
		if !ok && e.err == nil {
			e.err = fmt.Errorf("element %d of %q is not a hash", i, name)
		}
		values[i] = hash[:]
	}
	return values
}

// takeObject takes a member that is an object. It returns nil if it is absent or null.
func (e *envelope) takeObject(name string) *envelope {
	data, there := e.members[name]
	delete(e.members, name)
	if !there || string(data) == "null" || e.err != nil {
		return nil
	}
	inner, err := readEnvelope(data)
	if err != nil {
		e.err = fmt.Errorf("%q: %w", name, err)
	}
	return inner
}

// takeObjects takes a member that is a list of objects. It returns none if it is absent.
func (e *envelope) takeObjects(name string) (list []*envelope) {
	if _, there := e.members[name]; !there {
		return nil
	}
	var items []json.RawMessage
	e.takeMember(name, &items)
	for _, item := range items {
		inner, err := readEnvelope(item)
		if err != nil && e.err == nil {
			e.err = fmt.Errorf("%q: %w", name, err)
		}
		list = append(list, inner)
	}
	return list
}

// refuseRest returns an error if members were not taken: unchecked members must not stand
// beside checked ones.
func (e *envelope) refuseRest() error {
	if e.err != nil {
		return fmt.Errorf("%w: %w", ErrFormat, e.err)
	}
	if len(e.members) == 0 {
		return nil
	}
	var names []string
	for name := range e.members {
		names = append(names, name)
	}
	slices.Sort(names)
	return fmt.Errorf("%w: unknown member %q: it follows from nothing that is proven", ErrProof, strings.Join(names, `", "`))
}

// parseHash reads a hash in its only valid form: padded base64 in the standard alphabet.
func parseHash(text string) (hash note.Hash, ok bool) {
	data, err := base64.StdEncoding.DecodeString(text)
	if err != nil || len(data) != len(hash) || base64.StdEncoding.EncodeToString(data) != text {
		return hash, false
	}
	return note.Hash(data), true
}
