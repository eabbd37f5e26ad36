package gateway

import (
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestAmounts(t *testing.T) {
	two, six, none, many := 2, 6, 0, 18
	for _, c := range []struct {
		text   string
		scale  *int
		number bool
		want   string
	}{
		{"25", nil, true, "25"}, {"25.00", nil, true, "25.00"}, {"25.00", nil, false, "25.00"}, {"0.1", nil, true, "0.1"},
		{"2500", &two, true, "25.00"}, {"2500", &two, false, "25.00"}, {"5", &two, true, "0.05"}, {"0", &two, true, "0.00"}, {"12", &two, true, "0.12"}, {"123", &two, true, "1.23"},
		{"25", &none, true, "25"}, {"1250001", &six, true, "1.250001"}, {"25000000000000000000", &many, false, "25.000000000000000000"},
		{"25000000000000000000", &many, true, ""}, {"25.00", &two, true, ""}, {"0250", &two, false, ""}, {"00", &two, false, ""},
		{"-5", &two, true, ""}, {"-5", nil, true, ""}, {"+5", nil, false, ""}, {"1e2", nil, true, ""}, {"1e2", &two, true, ""}, {"0x19", nil, false, ""},
		{" 5", nil, false, ""}, {"5,00", nil, false, ""}, {"1.2.3", nil, false, ""},
		{"999999999999999", nil, true, "999999999999999"}, {"1000000000000000", nil, true, ""}, {"9999999999.999999", nil, true, ""}, {"9999999999.999999", nil, false, "9999999999.999999"},
	} {
		require.Equal(t, c.want, decimal(c.text, c.scale, c.number), "%s %v", c.text, c.scale)
	}
}

// A value that is missing, of another kind, or there twice is a refusal, and so is a body that two
// parsers could read differently.
func TestValues(t *testing.T) {
	const good = `{"amount":2500,"currency":"USD","destination":{"address":"0x2"},"source":{"address":"0x1"}}`
	whole := http.Header{"Idempotency-Key": {"inv-7"}, "Content-Type": {"application/json"}}
	m := readTestMap(t)
	_, r, _ := m.find("POST", "payouts/v1/payouts")
	values, err := r.readValues(whole, []byte(good))
	require.NoError(t, err)
	require.Equal(t, map[string]string{"amount": "25.00", "currency": "USD", "payee": "0x2", "payer": "0x1", "ref": "inv-7"}, values)
	for body, member := range map[string]string{
		"":                        "body",
		"[]":                      "body",
		good + "{}":               "body",
		`{"amount":1,"amount":2}`: "body",
		`{"amount":2500,"\u0061mount":1,"currency":"USD","destination":{"address":"0x2"},"source":{"address":"0x1"}}`:    "body",
		`{"amount":2500,"Amount":1,"currency":"USD","destination":{"address":"0x2"},"source":{"address":"0x1"}}`:         "amount",
		`{"amount":2500,"currency":"USD","destination":{"address":"0x2","ADDRESS":"0x3"},"source":{"address":"0x1"}}`:    "payee",
		`{"amount":2500,"currency":"USD","destination":{"address":"0x2"},"ſource":{},"source":{"address":"0x1"}}`:        "payer",
		`{"amount":2500,"currency":"USD","destination":{"address":"0x2","address":"0x3"},"source":{"address":"0x1"}}`:    "body",
		`{"amount":25.5,"currency":"USD","destination":{"address":"0x2"},"source":{"address":"0x1"}}`:                    "amount",
		`{"amount":null,"currency":"USD","destination":{"address":"0x2"},"source":{"address":"0x1"}}`:                    "amount",
		`{"amount":{},"currency":"USD","destination":{"address":"0x2"},"source":{"address":"0x1"}}`:                      "amount",
		`{"amount":true,"currency":"USD","destination":{"address":"0x2"},"source":{"address":"0x1"}}`:                    "amount",
		`{"amount":2500000000000000,"currency":"USD","destination":{"address":"0x2"},"source":{"address":"0x1"}}`:        "amount",
		`{"currency":"USD","destination":{"address":"0x2"},"source":{"address":"0x1"}}`:                                  "amount",
		`{"amount":2500,"currency":"EUR","destination":{"address":"0x2"},"source":{"address":"0x1"}}`:                    "currency",
		`{"amount":2500,"currency":"usd","destination":{"address":"0x2"},"source":{"address":"0x1"}}`:                    "currency",
		`{"amount":2500,"currency":840,"destination":{"address":"0x2"},"source":{"address":"0x1"}}`:                      "currency",
		`{"amount":2500,"currency":"USD","destination":"0x2","source":{"address":"0x1"}}`:                                "payee",
		`{"amount":2500,"currency":"USD","destination":{"address":""},"source":{"address":"0x1"}}`:                       "payee",
		`{"amount":2500,"currency":"USD","destination":{"address":["0x2"]},"source":{"address":"0x1"}}`:                  "payee",
		`{"amount":2500,"currency":"USD","destination":{"address":7},"source":{"address":"0x1"}}`:                        "payee",
		`{"amount":2500,"currency":"USD","destination":{"address":"0x2"}}`:                                               "payer",
		"{\"amount\":2500,\"currency\":\"USD\",\"destination\":{\"address\":\"\xff\"},\"source\":{\"address\":\"0x1\"}}": "body",
	} {
		_, err := r.readValues(whole, []byte(body))
		var wrong *unmapped
		require.ErrorAs(t, err, &wrong, body)
		require.Equal(t, member, wrong.member, body)
	}
	for name, c := range map[string]struct {
		head   http.Header
		member string
	}{
		"no content type":   {http.Header{"Idempotency-Key": {"inv-7"}}, "body"},
		"an empty one":      {http.Header{"Idempotency-Key": {"inv-7"}, "Content-Type": {""}}, "body"},
		"json of a kind":    {http.Header{"Idempotency-Key": {"inv-7"}, "Content-Type": {"application/vnd.pay+json; charset=UTF-8"}}, ""},
		"a form":            {http.Header{"Idempotency-Key": {"inv-7"}, "Content-Type": {"application/x-www-form-urlencoded"}}, "body"},
		"text":              {http.Header{"Idempotency-Key": {"inv-7"}, "Content-Type": {"text/plain"}}, "body"},
		"another charset":   {http.Header{"Idempotency-Key": {"inv-7"}, "Content-Type": {"application/json; charset=utf-16"}}, "body"},
		"two content types": {http.Header{"Idempotency-Key": {"inv-7"}, "Content-Type": {"application/json", "text/plain"}}, "body"},
		"compressed":        {http.Header{"Idempotency-Key": {"inv-7"}, "Content-Type": {"application/json"}, "Content-Encoding": {"gzip"}}, "body"},
		"no header":         {http.Header{"Content-Type": {"application/json"}}, "ref"},
		"an empty header":   {http.Header{"Content-Type": {"application/json"}, "Idempotency-Key": {""}}, "ref"},
		"a header twice":    {http.Header{"Content-Type": {"application/json"}, "Idempotency-Key": {"inv-7", "inv-7"}}, "ref"},
	} {
		_, err := r.readValues(c.head, []byte(good))
		if c.member == "" {
			require.NoError(t, err, name)
			continue
		}
		var wrong *unmapped
		require.ErrorAs(t, err, &wrong, name)
		require.Equal(t, c.member, wrong.member, name)
	}
}

func TestPointers(t *testing.T) {
	m := readTestMap(t)
	_, r, _ := m.find("POST", "agents/permitted")
	head := http.Header{"X-Railguard-Token": {"t"}, "Content-Type": {"application/json"}}
	values, err := r.readValues(head, []byte(`{"items":[{"amount":"1.5"},{"amount":9}],"to/whom":"0x2"}`))
	require.NoError(t, err)
	require.Equal(t, map[string]string{"amount": "1.5", "payee": "0x2", "token": "t"}, values)
	for _, body := range []string{`{"items":[],"to/whom":"0x2"}`, `{"items":{"1":{"amount":1}},"to/whom":"0x2"}`, `{"items":7,"to/whom":"0x2"}`} {
		_, err := r.readValues(head, []byte(body))
		require.Error(t, err, body)
	}
	for text, sound := range map[string]bool{"/": true, "/a~01b": true, "": false, "a": false, "/~": false, "/a~2": false} {
		_, ok := readPointer(text)
		require.Equal(t, sound, ok, text)
	}
	steps, _ := readPointer("/a~01b/c~1d")
	require.Equal(t, []string{"a~1b", "c/d"}, steps)
}
