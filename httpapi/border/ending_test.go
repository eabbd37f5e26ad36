package border

import (
	"testing"

	"github.com/stretchr/testify/require"

	"railguard/engine"
	"railguard/fsm/wire"
)

// A key that somebody uses is counted for two weeks before it ends.
func TestKeysThatEnd(t *testing.T) {
	const now, day = 1000 * 24 * engine.Hour, 24 * engine.Hour
	used := func(ends, used engine.Time) *wire.APIKey { return &wire.APIKey{ExpiresAt: ends, UsedAt: used} }
	gone := used(now+day, now)
	gone.RevokedAt = now - day
	for name, c := range map[string]struct {
		key  *wire.APIKey
		want int
	}{
		"ends tomorrow": {used(now+day, now), 1}, "ends in 13 days": {used(now+13*day, now-6*day), 1}, "ends in 15 days": {used(now+15*day, now), 0},
		"never ends": {used(0, now), 0}, "has ended": {used(now, now), 0}, "nobody uses it": {used(now+day, now-8*day), 0}, "never used": {used(now+day, 0), 0}, "revoked": {gone, 0},
	} {
		require.Equal(t, c.want, countEnding([]*wire.APIKey{c.key}, now), name)
	}
}
