package contract

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func loaded(t testing.TB) *Contract {
	t.Helper()
	c, err := Load()
	require.NoError(t, err)
	return c
}

// walk calls visit with every object of the document and its place.
func walk(value any, place string, visit func(place string, said map[string]any)) {
	switch v := value.(type) {
	case map[string]any:
		visit(place, v)
		for name, inner := range v {
			walk(inner, place+"/"+escape(name), visit)
		}
	case []any:
		for i, inner := range v {
			walk(inner, fmt.Sprintf("%s/%d", place, i), visit)
		}
	}
}

// Every schema compiles, every reference resolves, every object is closed or says why not,
// and every example is valid by its schema.
func TestDocumentIsSound(t *testing.T) {
	c := loaded(t)
	require.Equal(t, "3.1.0", c.root["openapi"])
	schemas, examples := 0, 0
	walk(c.root, "", func(place string, said map[string]any) {
		if target, ok := said["$ref"].(string); ok {
			require.NotNil(t, c.at(strings.TrimPrefix(target, "#")), "%s: %s", place, target)
		}
		if said["schema"] != nil {
			schemas++
			_, err := c.Schema(place + "/schema")
			require.NoError(t, err, place)
		}
		if example := said["example"]; example != nil && said["schema"] != nil {
			examples++
			require.NoError(t, c.Valid(place+"/schema", example), "%s/example", place)
		}
		_, isSchema := said["properties"].(map[string]any)
		if isSchema && said["type"] == "object" {
			require.True(t, said["additionalProperties"] != nil, "%s: is it closed?", place)
		}
		if said["additionalProperties"] == true {
			require.NotEmpty(t, said["x-free"], "%s: say why it is free", place)
		}
	})
	require.Greater(t, schemas, 200)
	require.Greater(t, examples, 40)
}

func TestOperationsAreNamedOnce(t *testing.T) {
	c := loaded(t)
	names := map[string]string{}
	for path, item := range object(c.root["paths"]) {
		for method, said := range object(item) {
			name, _ := object(said)["operationId"].(string)
			require.NotEmpty(t, name, "%s %s", method, path)
			require.Empty(t, names[name], "%s %s", method, path)
			names[name] = path
			require.NotEmpty(t, object(said)["summary"], "%s %s", method, path)
		}
	}
	require.NotContains(t, c.root, "x-shared", "is the writer's alone")
}

// The check finds errors in an exchange; otherwise it would prove nothing.
func TestCheckFinds(t *testing.T) {
	c := loaded(t)
	good := func() *Exchange {
		return &Exchange{
			Method: "POST", Path: "/v1/transactions/txn_x/release", Sent: []byte(`{"reason":"r"}`), Status: 200,
			Header: http.Header{
				"Content-Type": {"application/json"}, "X-Request-Id": {"req_x"}, "X-Railguard-Node": {"n1"},
				"X-Railguard-Index": {"7"}, "X-Railguard-Role": {"leader"},
			},
			Body: []byte(`{"txnId":"t","state":"released","amount":1,"eventId":"e","time":"2026-03-22T03:33:28.589Z"}`),
		}
	}
	refusal := func(code string) []byte {
		data, err := json.Marshal(map[string]any{
			"error": code, "code": code, "message": "m", "requestId": "r", "txnId": nil, "docs": "/docs/errors#" + code,
		})
		require.NoError(t, err)
		return data
	}
	require.NoError(t, c.Check(good()))
	for name, spoil := range map[string]func(*Exchange){
		"a member that is not declared":   func(x *Exchange) { x.Body = []byte(strings.Replace(string(x.Body), "{", `{"more":1,`, 1)) },
		"a member that is missing":        func(x *Exchange) { x.Body = []byte(`{}`) },
		"a member of another type":        func(x *Exchange) { x.Body = []byte(strings.Replace(string(x.Body), `"t"`, "7", 1)) },
		"a status that is not declared":   func(x *Exchange) { x.Status = 201 },
		"a header that is not declared":   func(x *Exchange) { x.Header.Set("X-Railguard-More", "1") },
		"a header that is missing":        func(x *Exchange) { x.Header.Del("X-Railguard-Index") },
		"a header of another type":        func(x *Exchange) { x.Header.Set("X-Railguard-Index", "seven") },
		"another content type":            func(x *Exchange) { x.Header.Set("Content-Type", "text/plain") },
		"a request with a strange member": func(x *Exchange) { x.Sent = []byte(`{"reason":"r","more":1}`) },
		"a request without a member":      func(x *Exchange) { x.Sent = []byte(`{}`) },
		"a request without a body":        func(x *Exchange) { x.Sent = nil },
		"a path that is not declared":     func(x *Exchange) { x.Path += "/x" },
		"a method that is not declared":   func(x *Exchange) { x.Method = "PUT" },
		"a code that is not declared":     func(x *Exchange) { x.Status, x.Body = 409, refusal("limit_reached") },
		"a 503 without an outcome":        func(x *Exchange) { x.Status, x.Body = 503, refusal("no_quorum") },
	} {
		x := good()
		spoil(x)
		require.Error(t, c.Check(x), name)
	}
	refused := good()
	refused.Status, refused.Body = 409, refusal("invalid_transition")
	require.NoError(t, c.Check(refused))
	require.NotContains(t, c.Unseen(""), "POST /v1/transactions/{txnId}/release 409")
	require.Contains(t, c.Unseen(""), "POST /v1/transactions/{txnId}/settle 200")
}

// Numbers too large for the validator are judged by sign and size.
func TestCheckHoldsAnyNumber(t *testing.T) {
	c := loaded(t)
	const place = "/components/schemas/ScreeningCall"
	body := func(amount string) []byte { return []byte(`{"token":"t","amount":` + amount + `}`) }
	for _, good := range []string{"0e999999999", "1e-999999999", "1", "-0e999999999999", "0.000e-99999999999"} {
		require.NoError(t, c.valid(place, body(good)), good)
	}
	for _, bad := range []string{"1e999999999", "-1e999999999", "-1e-999999999", "9e99999999999999999999"} {
		require.Error(t, c.valid(place, body(bad)), bad)
	}
}

// A header that the document does not declare is found.
func TestCheckRefusesAnUndeclaredHeader(t *testing.T) {
	c := loaded(t)
	x := &Exchange{
		Method: "GET", Path: "/v1/key", Status: 200, Body: []byte(`{"keyId":"k","name":"n","roles":["ops"],"person":null,"owner":null,"expiresAt":null,"sessions":0}`),
		Header: http.Header{
			"Content-Type": {"application/json"}, "X-Request-Id": {"req_x"}, "X-Railguard-Node": {"n1"}, "X-Railguard-Index": {"7"}, "X-Railguard-Role": {"leader"},
		},
	}
	require.NoError(t, c.Check(x))
	x.Header.Set("Link", "x")
	require.ErrorContains(t, c.Check(x), "not declared")
}
