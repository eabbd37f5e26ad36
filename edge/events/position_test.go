package events

import (
	"bytes"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"railguard/fsm"
	"railguard/fsm/leaf"
)

// A cursor reads back as it was written, and no other text is a cursor.
func TestPosition(t *testing.T) {
	for text, want := range map[string]Position{
		"0": {Leaf: 1}, "4711": {Leaf: 4712}, "evt_0_0": {Skip: 1}, "evt_4711_2": {Leaf: 4711, Skip: 3}, "evt_4711_15": {Leaf: 4711, Skip: 16},
	} {
		got, ok := ParsePosition(text)
		require.True(t, ok, text)
		require.Equal(t, want, got)
		require.Equal(t, text, got.String())
	}
	require.Empty(t, Position{}.String())
	for _, text := range []string{"", "x", "-1", "+1", "01", "1.0", "evt_", "evt_1", "evt_1_", "evt__1", "evt_1_16", "evt_1_01", "evt_1_0_0", "evt_-1_0",
		"evt_99999999999999999999_0", "99999999999999999999", " 1"} {
		_, ok := ParsePosition(text)
		require.False(t, ok, text)
	}
}

// docs/API.md lists every type, by its name or by its group, so that its readers know which
// events may come and who may see them.
func TestEveryTypeIsDocumented(t *testing.T) {
	page, err := os.ReadFile("../../docs/API.md")
	require.NoError(t, err)
	_, page, _ = bytes.Cut(page, []byte("### GET /v1/events"))
	page, _, _ = bytes.Cut(page, []byte("\n## "))
	var missing []string
	for _, name := range Types {
		group, _, _ := strings.Cut(name, ".")
		if !bytes.Contains(page, []byte("`"+name+"`")) && !bytes.Contains(page, []byte("`"+group+".*`")) {
			missing = append(missing, name)
		}
	}
	require.Empty(t, missing)
}

func FuzzParsePosition(f *testing.F) {
	f.Add("evt_1_2")
	f.Add("17")
	f.Fuzz(func(t *testing.T, text string) {
		value, _, isID := fsm.SplitEventID(text)
		if isID && value != fsm.EventLeaf(value) {
			return // It has an epoch, which a position has not.
		}
		if p, ok := ParsePosition(text); ok {
			require.Equal(t, text, p.String(), "one position, one text")
		}
	})
}

// Programs of others use the names of types, so a type is never renamed, and the types of a
// leaf keep their numbers.
func TestTypes(t *testing.T) {
	for kind, o := range origins {
		require.True(t, strings.HasPrefix(kind, o.kind))
		require.NotEmpty(t, o.Events)
		require.LessOrEqual(t, len(o.Events), numbersMax)
		require.Equal(t, kind == "format.raised", len(o.members) == 0, "%s: its number is no member of the event", kind)
	}
	require.Equal(t, []string{"screen.proceed", "screen.review", "screen.block", "screen.unknown", "fleet.limit_80", "fleet.limit_100"}, origins["screen"].Events)
	require.Equal(t, []string{"review.dispositioned", "review.escalated", "sar.opened"}, origins["review.dispositioned"].Events)
	require.Equal(t, []string{"hold.settled", "hold.late", "hold.over_limit"}, origins["hold.settled"].Events)
	for _, name := range []string{"hold.expired", "attestation.expiring", "sar.due_soon", "list.stale"} {
		require.Contains(t, origins, "due:"+name)
		require.Contains(t, Types, name)
	}
	require.Equal(t, leaf.OfParty, origins["due:user.erased"].Audience)
	require.True(t, slices.IsSorted(Types))
	require.False(t, Everything["screen.proceed"])

	s, unknown := ParseSelection([]string{"hold.*", "screen.*"})
	require.Empty(t, unknown)
	require.True(t, s["hold.late"] && s["screen.block"])
	require.False(t, s["screen.proceed"] || s["sar.opened"])
	for _, bad := range []string{"", "*", "hold", "hold*", "nothing.*", "hold.lat"} {
		_, unknown := ParseSelection([]string{"hold.late", bad})
		require.Equal(t, bad, unknown)
	}
}
