package webhooks

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"railguard/engine"
)

// docs/API.md describes the schedule in sentences that are built here from the constants.
func TestTheScheduleIsTheDocumented(t *testing.T) {
	page, err := os.ReadFile("../docs/API.md")
	require.NoError(t, err)
	told := strings.Join(strings.Fields(string(page)), " ")
	for _, sentence := range []string{
		fmt.Sprintf("after %s, up to a tenth later. It is given up after the %s attempt, or when an attempt fails %d hours after the event",
			listSpans(retryGaps[:]), ordinals[attemptsMax], eventAgeMax/engine.Hour),
		fmt.Sprintf("An answer 200 to 299 within %s is a receipt", span(attemptTimeout)),
		fmt.Sprintf("A receiver that fails twice in a row is left alone between calls, 1 second to %s", span(pauseMax)),
		"or, from the first failure on, as long as `Retry-After` says with 429, 502, 503 or 504, " + map[time.Duration]string{time.Hour: "an hour"}[retryAfterMax] + " at most",
		fmt.Sprintf("With %d events unreceived no new one is sent beside them", pendingMax),
		"what none can give for " + map[time.Duration]string{24 * time.Hour: "a day"}[unreadableMax] + " is passed over",
	} {
		require.Contains(t, told, sentence, "docs/API.md says otherwise than the code")
	}
}

var ordinals = map[int]string{8: "eighth", 9: "ninth", 10: "tenth", 11: "eleventh", 12: "twelfth"}

// span is a duration in its largest whole unit: 15 seconds, 5 minutes, 2 hours.
func span(d time.Duration) string {
	count, unit := countUnits(d)
	return fmt.Sprint(count, " ", unit)
}

func countUnits(d time.Duration) (count int64, unit string) {
	switch {
	case d%time.Hour == 0:
		return int64(d / time.Hour), "hours"
	case d%time.Minute == 0:
		return int64(d / time.Minute), "minutes"
	}
	return int64(d / time.Second), "seconds"
}

// listSpans writes a list of durations and groups equal units: 5 seconds, 5 and 30 minutes,
// 2, 5 and 10 hours.
func listSpans(spans []time.Duration) string {
	var groups []string
	for rest := spans; len(rest) > 0; {
		_, unit := countUnits(rest[0])
		other := slices.IndexFunc(rest, func(d time.Duration) bool { _, is := countUnits(d); return is != unit })
		if other < 0 {
			other = len(rest)
		}
		var counts []string
		for _, d := range rest[:other] {
			count, _ := countUnits(d)
			counts = append(counts, fmt.Sprint(count))
		}
		text := counts[0]
		if last := len(counts) - 1; last > 0 {
			text = strings.Join(counts[:last], ", ") + " and " + counts[last]
		}
		groups, rest = append(groups, text+" "+unit), rest[other:]
	}
	return strings.Join(groups, ", ")
}
