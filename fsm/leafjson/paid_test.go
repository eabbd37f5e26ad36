package leafjson

import (
	"encoding/base64"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"railguard/fsm/leaf"
)

// paidLeaf is the leaf of a payment that was confirmed, around a judgement.
func paidLeaf(kind string, x *Screen) []byte {
	event := leaf.Confirmed{Verdict: "PROCEED", LeftOut: 7, Judged: base64.StdEncoding.EncodeToString(leaf.AppendScreen(nil, &x.Screen))}
	event.TxnID, event.ScreenedLeaf = x.TxnID(), 3
	data := leaf.AppendHead(nil, &leaf.Head{Kind: kind, Leaf: x.Leaf})
	return append(leaf.AppendEvent(data, kind, event), '}')
}

// A judgement is read out of the leaf around it; what the call told comes from the payment's own record.
func TestOpenPaid(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	judged, payment := drawRecord(r), drawRecord(r)
	judged.Screen.Edge = (&leaf.Fragment{}).Append(nil)
	payment.Edge.Set(leaf.TagName, []byte(`"Quiet Harbour Bakery"`))
	payment.Edge.Set(leaf.TagElsewhere, []byte("x+"))
	payment.Edge.Set(leaf.TagSource, []byte{1})
	data := paidLeaf(leaf.KindPaymentRedeemed, judged)
	var x Screen
	require.NoError(t, x.OpenPaid(data))
	require.Equal(t, judged.Leaf, x.Leaf)
	require.True(t, x.Paid.Redeem)
	require.EqualValues(t, 7, x.Paid.Said.LeftOut)
	require.Equal(t, data, x.Stored())
	x.Adopt(payment)
	require.Equal(t, `"Quiet Harbour Bakery"`, string(x.Edge.Get(leaf.TagName)))
	require.Equal(t, "x+", string(x.Edge.Get(leaf.TagElsewhere)))
	require.False(t, x.Edge.Has(leaf.TagSource), "that is the judgement's own")
	require.NoError(t, x.OpenPaid(paidLeaf(leaf.KindPaymentConfirmed, judged)))
	require.False(t, x.Paid.Redeem)
	require.Nil(t, x.Paid.Of)

	stored := leaf.AppendScreen(nil, &judged.Screen)
	require.NoError(t, x.Open(stored))
	require.Nil(t, x.Paid)
	require.Equal(t, stored, x.Stored())
	other := strings.Replace(string(data), base64.StdEncoding.EncodeToString(stored), "!", 1)
	for _, bad := range []string{"", "{}", string(stored), other, strings.Replace(other, "!", "e30=", 1), strings.Replace(other, "!", "AQ==", 1), strings.Replace(string(data), "payment.redeemed", "hold.released", 1)} {
		require.Error(t, x.OpenPaid([]byte(bad)), bad)
	}
}

func FuzzOpenPaid(f *testing.F) {
	r := rand.New(rand.NewPCG(1, 2))
	f.Add(paidLeaf(leaf.KindPaymentConfirmed, drawRecord(r)))
	f.Add([]byte(`{"kind":"payment.redeemed","judged":"AQ=="}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		var x Screen
		if x.OpenPaid(data) == nil {
			require.Equal(t, data, x.Stored())
			x.Adopt(new(Screen))
		}
	})
}
