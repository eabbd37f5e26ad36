package leaf

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"railguard/engine"
)

// fillEvent gives every field of an event's struct a value that is not zero.
func fillEvent(v reflect.Value) {
	switch v.Kind() {
	case reflect.Struct:
		for i := range v.NumField() {
			fillEvent(v.Field(i))
		}
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		fillEvent(v.Elem())
	case reflect.String:
		v.SetString("a \"text\"\n")
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Int64: // Amounts and times.
		if v.SetInt(1_774_150_408_589_000_000); v.Type() == reflect.TypeFor[engine.USD]() {
			v.SetInt(12_500_000)
		}
	case reflect.Slice:
		if v.Type() == reflect.TypeFor[json.RawMessage]() {
			return // Raw JSON of the edge.
		}
		v.Set(reflect.MakeSlice(v.Type(), 2, 2))
		fillEvent(v.Index(0))
		fillEvent(v.Index(1))
	case reflect.Array:
		v.Index(31).SetUint(0xab)
	default:
		v.SetUint(7)
	}
}

// Every kind's struct gives valid JSON with each member once, and none of them has the name
// of a head's member.
func TestEveryEventIsWritten(t *testing.T) {
	for _, of := range Kinds {
		kind, event := of.Name, of.Members
		if event == nil {
			continue // It has a form of its own.
		}
		full := reflect.New(reflect.TypeOf(event)).Elem()
		fillEvent(full)
		text := AppendEvent([]byte(`{"kind":"x"`), kind, full.Interface())
		var members map[string]any
		require.NoError(t, json.Unmarshal(append(text, '}'), &members), "%s: %s", kind, text)
		var names []string
		for _, m := range MembersOf(kind) {
			if !m.Edge {
				names = append(names, m.Name)
			}
		}
		require.Len(t, members, len(names)+1, kind)
		for _, name := range names {
			require.Contains(t, members, name, kind)
			require.NotContains(t, []string{"kind", "eventId", "time", "index", "leaf", "salt"}, name, kind)
		}
		short := string(AppendEvent(nil, kind, event))
		require.LessOrEqual(t, strings.Count(short, `":`), len(names), kind)
	}
	require.Nil(t, MembersOf("nothing"))
}

func TestEventsAreOfTheirKind(t *testing.T) {
	require.Panics(t, func() { AppendEvent(nil, KindProposed, Withdrawn{}) })
	require.Panics(t, func() { AppendEvent(nil, "nothing", Withdrawn{}) })
	require.Panics(t, func() { AppendMembers(nil, struct{}{}) })
	require.True(t, MayBe("agent.settings", AgentChanged{}))
	require.True(t, MayBe("agent.of_tomorrow", AgentChanged{}))
	require.False(t, MayBe("agent.suspended", AgentChanged{}))
	no := false
	text := AppendEvent(nil, KindDispositioned, Dispositioned{Reviewed: Reviewed{TxnID: "txn_1", ReviewedLeaf: 3}, Disposition: "APPROVED", ReviewedAt: engine.Second, OverLimitApproved: &no})
	require.Equal(t, `,"txnId":"txn_1","reviewedLeaf":3,"recordPrevious":0,"disposition":"APPROVED","reviewedAt":"1970-01-01T00:00:01.000Z","sarEscalated":false,"overLimitApproved":false`, string(text))
}
