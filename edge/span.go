package edge

import (
	"strconv"
	"strings"
	"time"

	"railguard/engine"
)

// ParseSpan reads a duration with days in addition to Go's units: 90d, 25h, 1d12h.
func ParseSpan(text string) (engine.Time, bool) {
	days, rest, found := strings.Cut(text, "d")
	if !found {
		days, rest = "", text
	}
	var span engine.Time
	if found {
		n, err := strconv.ParseUint(days, 10, 16)
		if err != nil {
			return 0, false
		}
		span = engine.Time(n) * engine.DayLength
	}
	if rest == "" {
		return span, found
	}
	part, err := time.ParseDuration(rest)
	if err != nil || part < 0 {
		return 0, false
	}
	return span + engine.Time(part), true
}
