package conformance

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// mutation spoils the answers of a sound target in one way, and names a check that
// has to notice.
type mutation struct {
	name  string
	check string
	spoil func(*spoiled)
}

// spoiled is one answer on its way through the proxy.
type spoiled struct {
	method, path string
	status       int
	header       http.Header
	tree         map[string]any // Nil unless the body is a JSON object.
	raw          []byte         // Used when tree is nil.
}

func (s *spoiled) screen() bool { return s.path == "/v1/screen" && s.status == 200 && s.tree != nil }

func (s *spoiled) is(verdict string) bool { return s.screen() && s.tree["verdict"] == verdict }

func (s *spoiled) key() map[string]any {
	keys, _ := s.tree["keys"].([]any)
	if len(keys) == 0 {
		return map[string]any{}
	}
	return keys[0].(map[string]any)
}

func (s *spoiled) subject() map[string]any {
	subject, _ := at(any(s.tree), "credential.credentialSubject")
	object, _ := subject.(map[string]any)
	if object == nil {
		object = map[string]any{}
	}
	return object
}

// code replaces one error code or status by another.
func code(from, to string, status int) func(*spoiled) {
	return func(s *spoiled) {
		if s.tree != nil && s.tree["code"] == from {
			s.tree["code"], s.tree["error"], s.status = to, to, status
		}
	}
}

// silence replaces the answer of a screening with this rule by a plain PROCEED.
func silence(rule string) func(*spoiled) {
	return func(s *spoiled) {
		if s.screen() && s.tree["rule"] == rule {
			s.tree["verdict"], s.tree["rule"] = "PROCEED", nil
		}
	}
}

func drop(verdict, member string) func(*spoiled) {
	return func(s *spoiled) {
		if s.is(verdict) {
			delete(s.tree, member)
		}
	}
}

// permitOf returns the permit of an answer to a screening call, taken apart.
func (s *spoiled) permitOf() (token compactToken, there bool) {
	text, _ := s.tree["permit"].(string)
	parts := strings.Split(text, ".")
	if !s.screen() || len(parts) != 3 {
		return token, false
	}
	signature, err := strictBase64(parts[2])
	return compactToken{protected: parts[0], payload: parts[1], signature: signature}, err == nil
}

// permitWith replaces one claim of every permit.
func permitWith(path string, value any) func(*spoiled) {
	return func(s *spoiled) {
		if token, there := s.permitOf(); there {
			s.tree["permit"] = token.protected + "." + token.withClaim(path, value) + "." + base64url(token.signature)
		}
	}
}

// gatewaySays changes a gateway's refusals of one code.
func gatewaySays(code string, change func(*spoiled)) func(*spoiled) {
	return func(s *spoiled) {
		if strings.HasPrefix(s.path, "/ext-authz/") && s.tree != nil && s.tree["code"] == code {
			change(s)
		}
	}
}

var mutations = []mutation{
	{"a permit is altered", "P02", permitWith("pay.amount", "2500")},
	{"a permit is signed by nobody", "P02", func(s *spoiled) {
		if token, there := s.permitOf(); there {
			s.tree["permit"] = token.withSignature(flipped(token.signature))
		}
	}},
	{"the keys for permits are not published", "P02", func(s *spoiled) {
		if keys, _ := s.tree["keys"].([]any); len(keys) > 1 {
			s.tree["keys"] = keys[:1]
		}
	}},
	{"a replay has another permit", "P03", func(s *spoiled) {
		if token, there := s.permitOf(); there && s.header.Get("Idempotent-Replayed") == "true" {
			s.tree["permit"] = token.withSignature(highTwin(token.signature))
		}
	}},
	{"a REVIEW has a permit", "P04", func(s *spoiled) {
		if s.is("REVIEW") {
			s.tree["permit"] = "e30.e30.AAAA"
		}
	}},
	{"a permit without a payee is another error", "P05", code("invalid_field", "missing_field", 400)},
	{"pay_hash is of another payment", "P06", permitWith("pay_hash", "RkNeX_3n-yoaAIqKC4brJrCbHq0tRQqAnOnTZynI34s")},
	{"pay names another rail", "P06", permitWith("pay.rail", "USDT")},
	{"a permit is taken for a credential", "P08", silence("R1_NO_CREDENTIAL")},
	{"two callers are told that they redeemed", "P11", func(s *spoiled) {
		if s.path == redeemPath && s.tree["code"] == "permit_used" {
			s.status = 200
		}
	}},
	{"a used permit is told by another code", "P12", code("permit_used", "invalid_transition", 409)},
	{"a refused redeem says that it was redeemed", "P13", func(s *spoiled) {
		if s.path == redeemPath && s.tree["state"] == "refused" {
			s.tree["state"] = "redeemed"
		}
	}},
	{"a captured call is another payment", "P29", func(s *spoiled) {
		if s.screen() && s.header.Get("Idempotent-Replayed") == "true" {
			s.tree["txnId"] = "txn_aaaaaaaa"
		}
	}},
	{"the id of another call is told by another code", "P30", code("idempotency_conflict", "bad_request", 400)},
	{"a proof for another act is taken", "P30", silence(noCredential)},
	{"a foreign signature is taken for a proof", "P31", silence(noCredential)},
	{"a settle does not say that nobody redeemed", "P22", func(s *spoiled) { delete(s.tree, "unpermitted") }},
	{"a gateway lets every verdict through", "P39", gatewaySays("payment_refused", func(s *spoiled) { s.status = 200 })},
	{"a gateway tells the rule", "P39", gatewaySays("payment_refused", func(s *spoiled) { s.tree["rule"] = "R7_COUNTERPARTY_NAME_OFAC" })},
	{"a gateway lets through what it cannot read", "P39", gatewaySays("request_unmapped", func(s *spoiled) { s.status = 200 })},
	{"a gateway lets a part of a body through", "P39", gatewaySays("request_partial", func(s *spoiled) { s.status = 200 })},
	{"a gateway takes a permit twice", "P39/permit", gatewaySays("permit_used", func(s *spoiled) { s.status = 200 })},
	{"a gateway takes a permit for another payment", "P39/permit", gatewaySays("permit_mismatch", func(s *spoiled) { s.status = 200 })},
	{"a batch's results change places", "X-BATCH-1", func(s *spoiled) {
		if results, _ := s.tree["results"].([]any); s.path == batchPath && len(results) > 1 {
			results[0], results[1] = results[1], results[0]
		}
	}},
	{"a replay in a batch does not say so", "X-BATCH-3", func(s *spoiled) {
		if results, _ := s.tree["results"].([]any); s.path == batchPath && len(results) == 1 {
			delete(results[0].(map[string]any), "replayed")
		}
	}},
	{"401 becomes 403", "T002", code("unauthorized", "forbidden", 403)},
	{"401 has another code", "T001", code("unauthorized", "no_key", 401)},
	{"405 becomes 404", "T006", code("method_not_allowed", "not_found", 404)},
	{"405 loses Allow", "T007", func(s *spoiled) { s.header.Del("Allow") }},
	{"invalid_json becomes 422", "T008", code("invalid_json", "invalid_field", 422)},
	{"missing_token becomes invalid_json", "T009", code("missing_token", "invalid_json", 400)},
	{"an error without message", "T016", func(s *spoiled) {
		if s.status >= 400 {
			delete(s.tree, "message")
		}
	}},
	{"an error in HTML", "T011", func(s *spoiled) {
		if s.status == 404 {
			s.tree, s.raw = nil, []byte("<html>not found</html>")
		}
	}},
	{"an export without one of its records", "T151", func(s *spoiled) {
		if s.path == "/v1/audit/export" && s.status == 200 {
			lines := bytes.SplitAfter(s.raw, []byte("\n"))
			s.raw = bytes.Join(slices.Delete(lines, 1, 2), nil)
		}
	}},
	{"rule absent on PROCEED", "T044", drop("PROCEED", "rule")},
	{"rule empty on UNKNOWN", "T044", func(s *spoiled) {
		if s.is("UNKNOWN") {
			s.tree["rule"] = ""
		}
	}},
	{"no reason on BLOCK", "T045", drop("BLOCK", "reason")},
	{"no operatorLegalName on PROCEED", "T047", drop("PROCEED", "operatorLegalName")},
	{"latencyMs as text", "T046", func(s *spoiled) {
		if s.screen() {
			s.tree["latencyMs"] = "1"
		}
	}},
	{"screenedAt in local time", "T046", func(s *spoiled) {
		if s.screen() {
			s.tree["screenedAt"] = "2026-01-01T00:00:00+02:00"
		}
	}},
	{"_request on the screening", "T048", func(s *spoiled) {
		if s.screen() {
			s.tree["_request"] = map[string]any{}
		}
	}},
	{"txnId one digit short", "T042", func(s *spoiled) {
		if id, ok := s.tree["txnId"].(string); ok && s.is("UNKNOWN") {
			s.tree["txnId"] = id[:len(id)-1]
		}
	}},
	{"one txnId for all", "T043", func(s *spoiled) {
		if s.screen() {
			s.tree["txnId"] = "txn_aaaaaaaa"
		}
	}},
	{"BLOCK is 403", "T041", func(s *spoiled) {
		if s.is("BLOCK") {
			s.status = 403
		}
	}},
	{"agentName upper case", "T029", func(s *spoiled) {
		if name, ok := s.subject()["agentName"].(string); ok {
			s.subject()["agentName"] = strings.ToUpper(name)
		}
	}},
	{"policy numbers rounded", "T030", func(s *spoiled) {
		if policy, ok := s.subject()["spendPolicy"].(map[string]any); ok && policy["dailyLimitUSDC"] != nil {
			policy["dailyLimitUSDC"] = json.Number("1")
		}
	}},
	{"policy with an invented member", "T030", func(s *spoiled) {
		if policy, ok := s.subject()["spendPolicy"].(map[string]any); ok {
			policy["maxMonthlyUSDC"] = json.Number("1")
		}
	}},
	{"expiry after 90 days", "T028", func(s *spoiled) {
		if credential, ok := s.tree["credential"].(map[string]any); ok {
			credential["expirationDate"] = "2026-01-01T00:00:00Z"
		}
	}},
	{"one context alone", "T025", func(s *spoiled) {
		if credential, ok := s.tree["credential"].(map[string]any); ok {
			credential["@context"] = []any{"https://www.w3.org/2018/credentials/v1"}
		}
	}},
	{"issuer of another method", "T027", func(s *spoiled) {
		if credential, ok := s.tree["credential"].(map[string]any); ok {
			credential["issuer"] = "did:web:example"
		}
	}},
	{"type without KYAAgentCredential", "T026", func(s *spoiled) {
		if credential, ok := s.tree["credential"].(map[string]any); ok {
			credential["type"] = []any{"VerifiableCredential"}
		}
	}},
	{"credential differs from vc", "T032", func(s *spoiled) {
		if credential, ok := s.tree["credential"].(map[string]any); ok {
			credential["extra"] = true
		}
	}},
	{"JWKS coordinate padded", "T023", func(s *spoiled) {
		if x, ok := s.key()["x"].(string); ok {
			s.key()["x"] = x + "="
		}
	}},
	{"JWKS coordinate without its leading byte", "T023", func(s *spoiled) {
		if x, ok := s.key()["x"].(string); ok {
			raw, _ := strictBase64(x)
			s.key()["x"] = base64url(raw[1:])
		}
	}},
	{"JWKS with a private part", "T023", func(s *spoiled) {
		if s.key()["x"] != nil {
			s.key()["d"] = s.key()["x"]
		}
	}},
	{"JWKS with another key", "T022", func(s *spoiled) {
		if s.key()["x"] != nil {
			forged, _ := newForger()
			tree, _ := decodeTree([]byte(forged.publicJWK(s.key()["kid"].(string))))
			s.tree["keys"] = []any{tree}
		}
	}},
	{"R6 is silent", "T064", silence("R6_COUNTERPARTY_WALLET_OFAC")},
	{"R20 is silent", "X-OBL-2", silence("R20_COUNTERPARTY")},
	{"R24 is silent", "X-OBL-6", silence("R24_JURISDICTION")},
	{"R4 is silent", "X-OBL-1", silence("R4_OPERATOR_WALLET_LIVE")},
	{"R19 is silent on identifiers", "X-OBL-3", silence("R19_RAIL_CHAIN_MISMATCH")},
	{"R7 is silent", "T065", silence("R7_COUNTERPARTY_NAME_OFAC")},
	{"R21 is silent on names inside others", "T149", silence("R21_POSSIBLE_NAME_MATCH")},
	{"R19 is silent on what is no wallet", "T150", silence("R19_RAIL_CHAIN_MISMATCH")},
	{"R6 is silent on spellings", "T150", silence("R6_COUNTERPARTY_WALLET_OFAC")},
	{"R9 is silent", "T067", silence("R9_CHAIN_POLICY")},
	{"R10 is silent", "T068", silence("R10_SINGLE_TX_LIMIT")},
	{"R11 is silent", "T069", silence("R11_DAILY_LIMIT")},
	{"R12 is silent", "T072", silence("R12_FLEET_DAILY_LIMIT")},
	{"R14 is silent", "T075", silence("R14_MIXER_PROTOCOL")},
	{"R15 is silent", "T076", silence("R15_MODEL_CHANGED")},
	{"R2 is silent", "T060", silence("R2_CREDENTIAL_STATUS")},
	{"R1 is silent", "T039", silence("R1_NO_CREDENTIAL")},
	{"a second disposition is 200", "T113", func(s *spoiled) {
		if strings.HasPrefix(s.path, "/v1/reviews/") && s.status == 409 {
			s.status = 200
		}
	}},
	{"no ruleTriggered", "T111", func(s *spoiled) { delete(s.tree, "ruleTriggered") }},
	{"sarEscalated always false", "T112", func(s *spoiled) {
		if s.tree["sarEscalated"] != nil {
			s.tree["sarEscalated"] = false
		}
	}},
	{"review of a PROCEED is 409", "T114", code("not_reviewable", "already_dispositioned", 409)},
	{"bad disposition is 400", "T116", code("invalid_disposition", "invalid_field", 400)},
	{"unknown review is 400", "T115", code("not_found", "bad_id", 400)},
	{"_request.amount as text", "T118", func(s *spoiled) {
		if request, ok := s.tree["_request"].(map[string]any); ok {
			request["amount"] = "1234.5"
		}
	}},
	{"_request loses the case of a wallet", "T118", func(s *spoiled) {
		if request, ok := s.tree["_request"].(map[string]any); ok {
			if wallet, ok := request["cpWallet"].(string); ok {
				request["cpWallet"] = strings.ToLower(wallet)
			}
		}
	}},
	{"records are gone", "T120", func(s *spoiled) {
		if strings.HasPrefix(s.path, "/v1/audit/") {
			s.status = 404
		}
	}},
	{"count as text", "T130", func(s *spoiled) {
		if list, ok := s.tree["ofac"].(map[string]any); ok {
			list["count"] = "7"
		}
	}},
	{"an answer with the API key", "T015/all", func(s *spoiled) {
		if s.path == "/v1/health" {
			s.tree["debug"] = mutationKey
		}
	}},
}

var mutationKey string // The target's key, known once it runs.

// mutate puts a spoiling proxy in front of the target.
func mutate(t *testing.T, base string, spoil func(*spoiled)) *httptest.Server {
	t.Helper()
	to, err := url.Parse(base)
	require.NoError(t, err)
	proxy := httputil.NewSingleHostReverseProxy(to)
	proxy.ModifyResponse = func(response *http.Response) error {
		raw, err := io.ReadAll(response.Body)
		if err != nil {
			return err
		}
		s := &spoiled{method: response.Request.Method, path: response.Request.URL.Path, status: response.StatusCode, header: response.Header, raw: raw}
		tree, _ := decodeTree(raw)
		if s.tree, _ = tree.(map[string]any); s.tree == nil {
			s.tree = map[string]any{}
			spoil(s)
			s.tree = nil
		} else {
			spoil(s)
		}
		if s.tree != nil {
			s.raw = mustJSON(s.tree)
		}
		response.StatusCode, response.Body = s.status, io.NopCloser(bytes.NewReader(s.raw))
		response.ContentLength = int64(len(s.raw))
		response.Header.Del("Content-Length")
		return nil
	}
	server := httptest.NewServer(proxy)
	t.Cleanup(server.Close)
	return server
}

// TestMutations puts a proxy in front of a real target and spoils the answers in one way
// at a time: the named check passes without the spoiling and fails with it.
func TestMutations(t *testing.T) {
	target := startTarget(t, 1)
	mutationKey = target.file.APIKey
	outcome := func(check string, spoil func(*spoiled)) Result {
		server := mutate(t, Address(target.file.Nodes[0].HTTP), spoil)
		summary := Run(t.Context(), Config{BaseURLs: []string{server.URL}, APIKey: mutationKey, IDs: []string{check}, DistinctCalls: 100, Strict: true}, nil)
		for _, result := range summary.Results {
			if result.ID == check {
				return result
			}
		}
		require.Fail(t, "no such check", check)
		return Result{}
	}
	t.Run("the files demand something else", func(t *testing.T) {
		cfg := target.config(t)
		cfg.IDs, cfg.Strict = nil, true
		writtenChecksFail(t, cfg)
	})
	sound := map[string]Result{}
	for _, m := range mutations {
		t.Run(m.check+" "+m.name, func(t *testing.T) {
			if _, known := sound[m.check]; !known {
				sound[m.check] = outcome(m.check, func(*spoiled) {})
			}
			if sound[m.check].Outcome != Pass {
				t.Skipf("the target does not pass %s unspoiled: %s", m.check, sound[m.check].Reason)
			}
			require.Equal(t, Fail, outcome(m.check, m.spoil).Outcome)
		})
	}
}
