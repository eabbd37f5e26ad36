package main

import (
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"railguard/httpapi/description"
)

// TestVerbsCallWhatIsDescribed: each verb of the public API calls a described operation. For
// every member of the body and every parameter of the query, except those that its row omits,
// it has one flag with a help text. It requires at least what the operation requires, and a
// row names nothing that is not described.
func TestVerbsCallWhatIsDescribed(t *testing.T) {
	checked := 0
	for _, row := range slices.Concat(paymentVerbs, complianceVerbs, foresightVerbs, operationVerbs, webhookVerbs) {
		v := row
		v.followDescription()
		flags := map[string]bool{}
		for _, f := range slices.Concat(v.fields, v.query) {
			require.False(t, flags[f.flag], "railguard %s has two flags --%s: leave one of the members out", v.path, f.flag)
			flags[f.flag] = true
			require.NotEmpty(t, f.help, "railguard %s --%s: describe %s", v.path, f.flag, f.memberName())
		}
		if v.isAdmin() {
			continue
		}
		operation := description.FindOperation(v.httpMethod(), v.urlPath())
		require.NotNil(t, operation, "railguard %s calls %s", v.path, v.call)
		checked++
		known := map[string]bool{}
		for _, side := range []struct {
			offered   []field
			described []description.Field
		}{{v.fields, operation.BodyFields("spendPolicy", "hold", "grounds")}, {v.query, operation.QueryFields()}} {
			for _, member := range side.described {
				known[member.Name] = true
				at := slices.IndexFunc(side.offered, func(f field) bool { return f.memberName() == member.Name })
				if at < 0 {
					require.Contains(t, strings.Fields(v.omit), member.Name, "railguard %s does not offer %s", v.path, member.Name)
					require.False(t, member.Required, "railguard %s leaves out %s, which is required", v.path, member.Name)
					continue
				}
				if member.Required && !v.token {
					require.True(t, side.offered[at].required, "railguard %s --%s", v.path, side.offered[at].flag)
				}
			}
		}
		for _, f := range slices.Concat(row.fields, row.query) {
			require.True(t, known[f.memberName()], "railguard %s: %s is not described", v.path, f.memberName())
		}
		for _, name := range strings.Fields(v.omit) {
			require.True(t, known[name], "railguard %s leaves out %s, which is not described", v.path, name)
		}
		for name := range v.preset {
			require.True(t, known[name], "railguard %s sets %s, which is not described", v.path, name)
		}
	}
	require.Greater(t, checked, 60)
}

// A list is given with commas or as JSON; null removes the setting.
func TestListsAreGivenWithCommasOrAsJSON(t *testing.T) {
	f := &field{flag: "party-types", kind: description.ListField}
	for given, sent := range map[string]string{"business": `["business"]`, "a,b": `["a","b"]`, `["a,b"]`: `["a,b"]`, "null": "null"} {
		text, err := f.encodeValue(given)
		require.NoError(t, err)
		require.Equal(t, sent, text)
	}
	_, err := f.encodeValue("[a")
	require.ErrorContains(t, err, "is not a JSON list")
}
