package httpapi

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
)

// A record holds the hash of the request as it was sent: with and without an idempotency
// key, alone and in a batch, also when calls reuse one buffer.
func TestRecordNamesTheHashOfItsRequest(t *testing.T) {
	n := newTestNode(t)
	_, token := n.register("")
	names := func(txn, body string) {
		sum := sha256.Sum256([]byte(body))
		record := answer(t, n.do("auditor", "GET", "/v1/audit/"+txn, ""), 200)
		require.Contains(t, string(record.GetStringBytes("requestHash")), hex.EncodeToString(sum[:]), body)
	}
	var items []string
	for i := range 6 {
		body := payment(token, fmt.Sprintf(`,"cpName":"Paper %d"`, i))
		var headers []string
		if i%2 == 0 {
			headers = []string{"Idempotency-Key", fmt.Sprint("alone", i)}
		}
		names(string(answer(t, n.do("screener", "POST", "/v1/screen", body, headers...), 200).GetStringBytes("txnId")), body)
		if i%2 == 0 {
			body = payment(token, fmt.Sprintf(`,"cpName":"Ink %d","idempotencyKey":"k%d"`, i, i))
		}
		items = append(items, body)
	}
	for i, result := range results(t, n.batch(items...)) {
		names(string(result.GetStringBytes("txnId")), items[i])
	}
}
