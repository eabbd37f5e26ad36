package gateway

import (
	"maps"
	"net/http"
	"slices"
)

// Trial is what the map makes of a request. Nothing is asked.
type Trial struct {
	Profile string    `json:"profile"`
	Mode    string    `json:"mode,omitempty"`
	Route   string    `json:"route,omitempty"` // Method and path.
	Outcome string    `json:"outcome"`         // permit or screen: the guard is asked; unasked: let through; else why there is no leave.
	Refused bool      `json:"refused"`         // There is no leave, whatever the guard would say.
	Message string    `json:"message,omitempty"`
	Values  []Reading `json:"values,omitempty"`
}

// Reading is a value that was read. Secrets are not shown.
type Reading struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}

// Try says what would become of a request: a profile, the target as it is sent, headers and body.
func (m *Map) Try(profile, method, target string, head http.Header, body []byte) Trial {
	t := Trial{Profile: profile}
	p, r, refused := m.find(method, profile+target)
	if r == nil {
		t.Outcome, t.Message, t.Refused = refused.outcome, refused.message, refused.outcome != unasked
		return t
	}
	t.Mode, t.Route = p.Mode, r.Match.Method+" "+r.Match.Path
	if r.Allow {
		t.Outcome = unasked
		return t
	}
	values, err := r.readValues(head, body)
	if err != nil {
		t.Outcome, t.Message, t.Refused = requestUnmapped, err.Error(), true
		return t
	}
	t.Outcome = p.Mode
	for _, name := range slices.Sorted(maps.Keys(values)) {
		value := values[name]
		if name == "token" || name == "userToken" || name == "proof" {
			value = "(hidden)"
		}
		t.Values = append(t.Values, Reading{name, value})
	}
	return t
}
