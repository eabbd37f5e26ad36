package x402

import (
	"context"
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"
)

const (
	supportedKept    = time.Minute
	supportedTimeout = 5 * time.Second
	kindsMax         = 256
)

// supported keeps what the facilitator behind supports. A client that gets no answer would try
// another facilitator. So while the facilitator behind does not answer, its last answer is given,
// or one that is made from the assets.
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

func (f *Facilitator) readSupported(ctx context.Context) []byte {
	k := &f.known
	k.mutex.Lock()
	defer k.mutex.Unlock()
	now := f.config.Now()
	if now.Before(k.until) {
		return k.last
	}
	ctx, cancel := context.WithTimeout(ctx, supportedTimeout)
	defer cancel()
	said, status, err := f.exchangeJSON(ctx, http.MethodGet, "/supported", nil)
	if kinds, ok := said["kinds"].([]any); err == nil && status == http.StatusOK && ok {
		k.last, k.until = f.filterSupported(said, kinds), now.Add(supportedKept)
	} else if k.last == nil {
		return f.supportedByAssets() // Asked again at the next call.
	} else {
		k.until = now.Add(supportedTimeout)
	}
	return k.last
}

// filterSupported removes from an answer of the facilitator behind what cannot be screened, and
// extensions that are not sent on.
func (f *Facilitator) filterSupported(said object, kinds []any) []byte {
	answer := supportedAnswer{Kinds: []json.RawMessage{}, Extensions: []string{extension}, Signers: said.rawMember("signers")}
	for _, value := range kinds {
		kind, _ := value.(object)
		version := kind.wholeNumber("x402Version")
		network := networkID(version, kind.text("network"))
		method := transferMethod(kind)
		moves := method == byAuthorization || method == byPermit2 && version == 2 && strings.HasPrefix(network, "eip155:")
		if (version == 1 || version == 2) && kind.text("scheme") == "exact" && moves && f.knowsNetwork(network) && len(answer.Kinds) < kindsMax {
			answer.Kinds = append(answer.Kinds, kind.encodeObject())
		}
	}
	extensions, _ := said["extensions"].([]any)
	for _, value := range extensions {
		if name, ok := value.(string); ok && slices.Contains(sentExtensions, name) && !slices.Contains(answer.Extensions, name) {
			answer.Extensions = append(answer.Extensions, name)
		}
	}
	return answer.encodeAnswer()
}

// supportedByAssets returns what can be screened, whatever the facilitator behind supports.
func (f *Facilitator) supportedByAssets() []byte {
	answer := supportedAnswer{Kinds: []json.RawMessage{}, Extensions: []string{extension}}
	seen := map[string]bool{}
	for i := range f.config.Assets {
		network := f.config.Assets[i].Network
		if seen[network] {
			continue
		}
		seen[network] = true
		answer.Kinds = append(answer.Kinds, object{"x402Version": json.Number("2"), "scheme": "exact", "network": network}.encodeObject())
		for name, id := range names1 {
			if id == network {
				answer.Kinds = append(answer.Kinds, object{"x402Version": json.Number("1"), "scheme": "exact", "network": name}.encodeObject())
			}
		}
	}
	return answer.encodeAnswer()
}

func (a *supportedAnswer) encodeAnswer() []byte {
	if a.Signers == nil {
		a.Signers = json.RawMessage("{}")
	}
	data, err := json.Marshal(a)
	if err != nil {
		panic("BUG: " + err.Error())
	}
	return data
}

func (f *Facilitator) knowsNetwork(network string) bool {
	return slices.ContainsFunc(f.config.Assets, func(a Asset) bool { return a.Network == network })
}
