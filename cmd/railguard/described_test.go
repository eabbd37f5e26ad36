package main

import (
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"railguard/httpapi/description"
)

// TestVerbsCallWhatIsDescribed: each verb of the public API calls an operation of its
// description, sends only members that the operation takes and everything that it
// requires, and a list offers every parameter of its query.
func TestVerbsCallWhatIsDescribed(t *testing.T) {
	checked := 0
	for _, v := range slices.Concat(paymentVerbs, complianceVerbs, foresightVerbs, operationVerbs, webhookVerbs) {
		v.completeQuery()
		operation := description.FindOperation(v.method, v.url)
		if strings.HasPrefix(v.url, "/admin/") {
			continue
		}
		require.NotNil(t, operation, "railguard %s calls %s %s", v.path, v.method, v.url)
		checked++
		members := operation.BodyMembers()
		for _, f := range v.fields {
			outer, inner, dotted := strings.Cut(f.member(), ".")
			if members == nil {
				continue // An open body.
			}
			require.Contains(t, members, outer, "railguard %s --%s", v.path, f.flag)
			if dotted {
				require.Contains(t, members[outer], inner, "railguard %s --%s", v.path, f.flag)
			}
		}
		var offered []string
		for _, f := range v.query {
			offered = append(offered, f.member())
		}
		for _, name := range operation.QueryNames() {
			if v.columns != nil { // A list; other verbs choose what they offer.
				require.Contains(t, offered, strings.TrimSuffix(name, "?"), "railguard %s does not offer a parameter of %s", v.path, operation.Route)
			}
		}
		for _, name := range offered {
			require.Contains(t, operation.QueryNames(), name, "railguard %s", v.path)
		}
	}
	require.Greater(t, checked, 60)
}
