package httpapi

import (
	"bytes"
	"context"
	"encoding/base64"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"railguard/audit/examine"
	"railguard/audit/proof"
	"railguard/engine"
	"railguard/httpapi/cosigning"
)

// A record's tlog-proof with the witness's signature is verified with nothing but keys;
// after any change it is not.
func TestTlogProof(t *testing.T) {
	n := newTestNode(t)
	one := n.startWitness(t, "witness.example.org/1")
	n.api = n.another(func(d *Deps) { d.Witnesses = []cosigning.Witness{one} })
	_, token := n.register(`,"spendPolicy":{"maxSingleTxUSDC":0}`)
	var txns []string
	for range 20 {
		txns = append(txns, member(t, n.screen(token, "").Body.Bytes(), "txnId"))
	}
	logKeys := n.logText(t, "/log/keys")
	get := func(txn string) []byte {
		w := n.do("auditor", "GET", "/v1/audit/"+txn+"/proof", "", "Accept", "text/x.tlog-proof")
		require.Equal(t, 200, w.Code, w.Body)
		require.Equal(t, "text/x.tlog-proof", w.Header().Get("Content-Type"))
		require.Contains(t, w.Header().Get("Content-Disposition"), txn+".tlog-proof")
		return w.Body.Bytes()
	}
	verify := func(data []byte, keys string) (examine.Report, error) {
		return examine.File(bytes.NewReader(data), examine.Options{Keys: keys, KeysGiven: keys != ""})
	}
	alone := get(txns[3])
	_, err := verify(alone, logKeys)
	require.NoError(t, err)
	_, err = verify(alone, logKeys+one.Keys)
	require.ErrorIs(t, err, examine.ErrProof, "no witness has signed yet")
	n.advance(2 * engine.Second)
	n.api.Witnesses().Round(context.Background())
	data := get(txns[3])
	report, err := verify(data, logKeys+one.Keys)
	require.NoError(t, err)
	require.Equal(t, [3]any{"proof", txns[3], 1}, [3]any{report.Kind, report.TxnID, report.Screens})
	report, err = verify(data, "")
	require.NoError(t, err)
	require.False(t, report.KeysGiven)
	require.Contains(t, strings.Join(report.NotShown(), "; "), "no key stands in the file")

	p, err := proof.ParseTlog(data)
	require.NoError(t, err)
	other, err := proof.ParseTlog(get(txns[4]))
	require.NoError(t, err)
	for name, change := range map[string]func(p *proof.Tlog){
		"another record": func(p *proof.Tlog) { p.Extra = other.Extra },
		"a byte of it":   func(p *proof.Tlog) { p.Extra = append([]byte(nil), p.Extra...); p.Extra[len(p.Extra)/2] ^= 1 },
		"another place":  func(p *proof.Tlog) { p.Index++ },
		"another path":   func(p *proof.Tlog) { p.Path = other.Path },
		"no path":        func(p *proof.Tlog) { p.Path = nil },
		"another tree":   func(p *proof.Tlog) { p.Checkpoint = bytes.Replace(p.Checkpoint, []byte("\n"), []byte("\n1"), 1) },
		"no signatures":  func(p *proof.Tlog) { p.Checkpoint = p.Checkpoint[:bytes.Index(p.Checkpoint, []byte("\n\n"))+2] },
	} {
		changed := *p
		change(&changed)
		_, err := verify(changed.Bytes(), logKeys)
		require.ErrorIs(t, err, examine.ErrProof, name)
	}
	for _, bad := range []string{"c2sp.org/tlog-proof@v1", string(data[:bytes.Index(data, []byte("\nindex "))]), strings.Replace(string(data), "extra "+base64.StdEncoding.EncodeToString(p.Extra)+"\n", "", 1)} {
		_, err := verify([]byte(bad), logKeys)
		require.ErrorIs(t, err, examine.ErrFormat)
	}
	require.Equal(t, 404, n.do("auditor", "GET", "/v1/audit/txn_00000000/proof", "", "Accept", "text/x.tlog-proof").Code)
	require.Equal(t, 403, n.do("screener", "GET", "/v1/audit/"+txns[3]+"/proof", "", "Accept", "text/x.tlog-proof").Code)
}
