package x402

import (
	"context"
	"encoding/json"
	"net/http"
	"slices"
	"sync"
	"time"
)

const (
	supportedKept    = time.Minute
	supportedTimeout = 5 * time.Second
	kindsMax         = 256
)

// supported keeps what the facilitator behind can do. A client that is not told would
// try another one, so what was told last, or what the assets say, is told when it does
// not answer.
type supported struct {
	mutex sync.Mutex // Held while the facilitator behind is asked: one caller asks for all.
	last  []byte
	until time.Time
}

// supportedAnswer is the protocol's answer.
type supportedAnswer struct {
	Kinds      []json.RawMessage `json:"kinds"`
	Extensions []string          `json:"extensions"`
	Signers    json.RawMessage   `json:"signers"`
}

func (f *Facilitator) supported(ctx context.Context) []byte {
	k := &f.known
	k.mutex.Lock()
	defer k.mutex.Unlock()
	now := f.config.Now()
	if now.Before(k.until) {
		return k.last
	}
	ctx, cancel := context.WithTimeout(ctx, supportedTimeout)
	defer cancel()
	said, status, err := f.exchange(ctx, http.MethodGet, "/supported", nil)
	if kinds, ok := said["kinds"].([]any); err == nil && status == http.StatusOK && ok {
		k.last, k.until = f.filtered(said, kinds), now.Add(supportedKept)
	} else if k.last == nil {
		return f.fallback() // Asked again at the next call.
	} else {
		k.until = now.Add(supportedTimeout)
	}
	return k.last
}

// filtered is what the facilitator behind supports, less what cannot be screened.
func (f *Facilitator) filtered(said object, kinds []any) []byte {
	answer := supportedAnswer{Kinds: []json.RawMessage{}, Extensions: []string{extension}, Signers: said.raw("signers")}
	for _, value := range kinds {
		kind, _ := value.(object)
		version := kind.whole("x402Version")
		network := caip(version, kind.text("network"))
		if (version == 1 || version == 2) && kind.text("scheme") == "exact" && f.knows(network) && len(answer.Kinds) < kindsMax {
			answer.Kinds = append(answer.Kinds, kind.write())
		}
	}
	extensions, _ := said["extensions"].([]any)
	for _, value := range extensions {
		if name, ok := value.(string); ok && !slices.Contains(answer.Extensions, name) && len(answer.Extensions) < kindsMax {
			answer.Extensions = append(answer.Extensions, name)
		}
	}
	return answer.write()
}

// fallback is what can be screened.
func (f *Facilitator) fallback() []byte {
	answer := supportedAnswer{Kinds: []json.RawMessage{}, Extensions: []string{extension}}
	seen := map[string]bool{}
	for i := range f.config.Assets {
		network := f.config.Assets[i].Network
		if seen[network] {
			continue
		}
		seen[network] = true
		answer.Kinds = append(answer.Kinds, object{"x402Version": json.Number("2"), "scheme": "exact", "network": network}.write())
		for name, id := range names1 {
			if id == network {
				answer.Kinds = append(answer.Kinds, object{"x402Version": json.Number("1"), "scheme": "exact", "network": name}.write())
			}
		}
	}
	return answer.write()
}

func (a *supportedAnswer) write() []byte {
	if a.Signers == nil {
		a.Signers = json.RawMessage("{}")
	}
	data, err := json.Marshal(a)
	if err != nil {
		panic("BUG: " + err.Error())
	}
	return data
}

func (f *Facilitator) knows(network string) bool {
	return slices.ContainsFunc(f.config.Assets, func(a Asset) bool { return a.Network == network })
}
