package httpapi

import (
	"encoding/base64"
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/valyala/fastjson"

	"railguard/engine"
	"railguard/strictjson"
)

func jwtPart(t *testing.T, part string) *fastjson.Value {
	t.Helper()
	data, err := base64.RawURLEncoding.DecodeString(part)
	require.NoError(t, err)
	v, err := fastjson.ParseBytes(data)
	require.NoError(t, err)
	return v
}

// FuzzRegister: every body gets an answer from the table of errors, never a 500.
func FuzzRegister(f *testing.F) {
	n := newTestNode(f)
	paths := []string{
		"/v1/agents/register", "/v1/delegates/create", "/v1/users/register", "/v1/fleets/create", "/v1/whitelist/entries",
		"/v1/cleared", "/v1/operators/suspend", "/v1/policy/validate",
	}
	for i, seed := range []string{
		`{"agentName":"a","agentType":"supervised","operatorLegalName":"b","purpose":"c","spendPolicy":{"dailyLimitUSDC":1}}`,
		`{"parentAgentId":"agt_aaaaaaaaaaaa","agentName":"a","expiresAt":"2027-01-01T00:00:00Z"}`,
		`{"legalName":"a","agentIds":["agt_aaaaaaaaaaaa"]}`, `{"fleetName":"a","operatorLegalName":"b","dailyLimitUSDC":0.1}`,
		`{"wallet":"0x00000000000000000000000000000000000000aa","expiresAt":"2027-01-01"}`, `{"name":"a","uid":"27307","reason":"x"}`,
		`{"operatorLegalName":"a","reason":"b"}`, `{"rules":{"R17":"off"},"operatingHours":{"timezone":"UTC","windows":[]}}`,
	} {
		f.Add(uint8(i), seed)
	}
	f.Fuzz(func(t *testing.T, which uint8, body string) {
		n.t = t
		w := n.do("admin", http.MethodPost, paths[int(which)%len(paths)], body)
		switch w.Code {
		case 200, 201, 400, 404, 409, 413, 422, 429:
		default:
			t.Fatalf("%d %s", w.Code, w.Body)
		}
		var g strictjson.Validator
		if err := g.Check(w.Body.Bytes(), engine.BodyValuesMax); err != nil {
			t.Fatalf("%v: %s", err, w.Body)
		}
	})
}
