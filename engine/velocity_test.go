package engine

import (
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// someday is a Thursday noon, UTC.
const someday = Time(1_774_526_400) * Second // 2026-03-26T12:00:00Z

// from is the second of someday. Each agent here makes its first call then.
const from = int64(someday / Second)

func TestVelocitySlides(t *testing.T) {
	var row VelocityRow
	require.Equal(t, Pace{}, row.Pace(someday, from))
	for range 3 {
		row.Add(someday, from)
	}
	require.Equal(t, uint32(4), row.Add(someday+59*Second, from).Minute)
	require.Equal(t, uint32(2), row.Add(someday+60*Second, from).Minute, "the first second has left the window")
	pace := row.Pace(someday+59*Minute, from)
	require.Equal(t, uint32(0), pace.Minute)
	require.Equal(t, uint32(5), pace.PerHour)
	require.Equal(t, uint32(1), row.Pace(someday+60*Minute, from).PerHour)
	require.Equal(t, uint32(0), row.Pace(someday+3*DayLength, from).PerHour)
	require.Equal(t, uint32(5), row.Pace(someday+59*Minute, from).PerHour, "looking does not count")
}

func TestVelocityTimeStandsStill(t *testing.T) {
	var row VelocityRow
	row.Add(someday, from)
	require.Equal(t, uint32(2), row.Add(someday-Hour, from).Minute, "an earlier time counts in the newest bucket")
}

func TestVelocityDayMean(t *testing.T) {
	var row VelocityRow
	row.Add(someday, from)
	require.Zero(t, row.Add(someday+DayLength-Second, from).DayMeanX100, "no 24 h of history yet")
	require.Equal(t, uint32(1), row.Add(someday+DayLength, from).DayMeanX100, "a quiet agent's mean is rounded up, never to nothing")
	for hour := range Time(24) {
		for range 600 {
			row.Add(someday+2*DayLength+hour*Hour, from)
		}
	}
	require.Equal(t, uint32(1000), row.Pace(someday+2*DayLength+23*Hour, from).DayMeanX100, "600 an hour are 10 a minute")
}

func TestVelocitySaturates(t *testing.T) {
	var row VelocityRow
	row.Add(someday, from)
	second := int64(someday / Second)
	row.Seconds[second%60] = 1<<16 - 1
	row.Minutes[second/60%60] = 1<<32 - 1
	row.Minutes[(second/60+1)%60] = 1<<32 - 1
	row.Hours[second/3600%24] = 1<<32 - 1
	pace := row.Add(someday, from)
	require.Equal(t, uint32(1<<16-1), pace.Minute)
	require.Equal(t, uint32(1<<32-1), pace.PerHour)
}

// TestVelocityAgainstPlainList: the rings give the same counts as a plain list of times.
func TestVelocityAgainstPlainList(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var row VelocityRow
		var seconds []int64
		from, now := int64(0), someday
		for range rapid.IntRange(1, 60).Draw(t, "calls") {
			now += Time(rapid.SampledFrom([]int64{0, 1, 30, 59, 60, 61, 3599, 3600, 86399, 86400}).Draw(t, "gap")) * Second
			if from == 0 {
				from = UnixSecond(now)
			}
			if row.Idle(now) {
				row = VelocityRow{} // The row was forgotten: a new one must count the same.
			}
			pace := row.Add(now, from)
			seconds = append(seconds, int64(now/Second))
			var minute, hour, day uint32
			newest := int64(now / Second)
			for _, s := range seconds {
				if newest-s < 60 {
					minute++
				}
				if newest/60-s/60 < 60 {
					hour++
				}
				if newest/3600-s/3600 < 24 {
					day++
				}
			}
			require.Equal(t, minute, pace.Minute)
			require.Equal(t, hour, pace.PerHour)
			if newest-seconds[0] >= 86400 {
				require.Equal(t, (day*100+1439)/1440, pace.DayMeanX100)
			} else {
				require.Zero(t, pace.DayMeanX100)
			}
		}
	})
}

func TestVelocityTighten(t *testing.T) {
	limit := Velocity{MaxPerMinute: 1000, BurstFactor: 20}
	limit.Tighten(nil)
	limit.Tighten(&Velocity{MaxPerMinute: 5000, MaxPerHour: 60})
	limit.Tighten(&Velocity{MaxPerMinute: 10, BurstFactor: 30})
	require.Equal(t, Velocity{MaxPerMinute: 10, MaxPerHour: 60, BurstFactor: 20}, limit)
}

func TestBandRow(t *testing.T) {
	var row BandRow
	for i := range Time(20) {
		count := row.Add(someday+i*Hour, 24*Hour)
		require.Equal(t, uint8(min(i+1, StructuringCallsMax)), count)
	}
	require.Equal(t, someday+19*Hour, row.Newest())
	require.Equal(t, uint8(1), row.Count(someday+43*Hour-1, 24*Hour))
	require.Zero(t, row.Count(someday+43*Hour, 24*Hour), "the window's far end is open")
}
