package edgetest

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"railguard/edge"
	"railguard/strictjson"
)

// RequireCode demands that a call was refused with this code for this member, or, if code is
// "", that it was not refused.
func RequireCode(t testing.TB, err error, code, param string) {
	t.Helper()
	var refused *edge.Refusal
	var invalid *strictjson.InvalidBody
	switch {
	case code == "":
		require.NoError(t, err)
	case errors.As(err, &refused):
		require.Equal(t, []string{code, param}, []string{refused.Code, refused.Param})
	case errors.As(err, &invalid):
		require.Equal(t, []string{code, param}, []string{invalid.Code, invalid.Findings[0].Param})
	default:
		require.Fail(t, "not refused", "%v", err)
	}
}
