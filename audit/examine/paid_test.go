package examine

import (
	"encoding/json"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestWhatStandsBesideAConfirmation: the payment's own record is held to the tree and to the leaf that
// names it, and its text is that of the judgement.
func TestWhatStandsBesideAConfirmation(t *testing.T) {
	data, err := os.ReadFile("../../cmd/railguard/testdata/releases/0.1.0/export.ndjson")
	require.NoError(t, err)
	verify := func(alter func(payment map[string]any) any) (seen []string, err error) {
		var file strings.Builder
		for line := range strings.Lines(string(data)) {
			var members map[string]any
			decoder := json.NewDecoder(strings.NewReader(line))
			decoder.UseNumber()
			require.NoError(t, decoder.Decode(&members))
			if payment, is := members["payment"].(map[string]any); is {
				members["payment"] = alter(payment)
			}
			text, err := json.Marshal(members)
			require.NoError(t, err)
			file.Write(append(text, '\n'))
		}
		_, err = File(strings.NewReader(file.String()), Options{Visit: func(r *Record) error {
			x, err := r.Screen()
			if err == nil && isPaid(r.Kind) {
				require.NotNil(t, x.Agent)
				seen = append(seen, r.Kind+" "+x.TxnID()+" of "+x.Paid.Of.TxnID())
			}
			return err
		}})
		return seen, err
	}
	seen, err := verify(func(payment map[string]any) any { return payment })
	require.NoError(t, err)
	require.Len(t, seen, 3)
	for _, one := range seen {
		kind, txns, _ := strings.Cut(one, " ")
		judged, of, _ := strings.Cut(txns, " of ")
		require.Equal(t, judged, of, kind)
	}
	set := func(name string, value any) func(map[string]any) any {
		return func(payment map[string]any) any { payment[name] = value; return payment }
	}
	for says, alter := range map[string]func(map[string]any) any{
		"whose record is not beside it":  func(map[string]any) any { return nil },
		"beside it stands 1":             set("index", 1),
		`"index" is not what it must be`: set("index", "x"),
		"\"payment\": not a JSON object": func(map[string]any) any { return 1 },
		"is not that of its bytes":       set("leafHash", strings.Repeat("A", 43)+"="),
		"its bytes are neither":          set("leaf", "!"),
		"is not in the signed tree":      set("path", []string{}),
		`unknown member "record"`:        set("record", map[string]any{}),
		`payment of record`:              set("leaf", nil),
	} {
		_, err := verify(alter)
		require.ErrorContains(t, err, says)
	}
}
