package engine

// R16 counts in log time how many of an agent's transactions were screened (decision 45). The
// three rings of VelocityRow advance together: Second is the newest bucket of all three, so one
// number tells which buckets are old.

const (
	daySeconds       = int64(DayLength / Second)
	minutesPerDay    = 24 * 60
	velocityMinute   = 1000 // Default of maxPerMinute.
	velocityBurst    = 20   // Default of burstFactor.
	velocityBurstMin = 100  // A burst needs more than this in a minute.
)

// Pace is an agent's rate of transactions, as R16 reads it.
type Pace struct {
	Minute      uint32 // Count of the sliding 60 seconds that end now.
	PerHour     uint32 // Count of the sliding 60 minutes, in whole minutes.
	DayMeanX100 uint32 // Mean per minute of the trailing 24 hours times 100, rounded up; 0 without 24 h of history.
}

// UnixSecond returns the second in which a transaction at now is counted. It is never 0, which
// means "none".
func UnixSecond(now Time) int64 { return max(int64(now/Second), 1) }

// Add counts one screened transaction at now and returns the pace with it. from is the second
// of the agent's first transaction ever: the day's mean needs 24 h of history. Log time is
// monotone; a time before the newest bucket is counted in that bucket.
func (v *VelocityRow) Add(now Time, from int64) Pace {
	second := UnixSecond(now)
	if v.Second == 0 {
		v.Second = second
	}
	v.advanceTo(second)
	second = v.Second
	v.Seconds[second%60] = saturate16(v.Seconds[second%60])
	v.Minutes[second/60%60] = saturate32(v.Minutes[second/60%60])
	v.Hours[second/3600%24] = saturate32(v.Hours[second/3600%24])
	return v.sumPace(from)
}

// Idle reports whether every bucket is empty by now, so that a new row would count the same.
func (v *VelocityRow) Idle(now Time) bool {
	return UnixSecond(now)/3600-v.Second/3600 >= int64(len(v.Hours))
}

// Pace returns the pace at now without counting anything. It works on a copy of the row, so
// the buckets do not move.
func (v VelocityRow) Pace(now Time, from int64) Pace {
	if v.Second == 0 {
		return Pace{}
	}
	v.advanceTo(int64(now / Second))
	return v.sumPace(from)
}

// advanceTo empties the buckets between the newest one and second.
func (v *VelocityRow) advanceTo(second int64) {
	if second <= v.Second {
		return
	}
	for s, left := v.Second+1, 60; s <= second && left > 0; s, left = s+1, left-1 {
		v.Seconds[s%60] = 0
	}
	for m, left := v.Second/60+1, 60; m <= second/60 && left > 0; m, left = m+1, left-1 {
		v.Minutes[m%60] = 0
	}
	for h, left := v.Second/3600+1, 24; h <= second/3600 && left > 0; h, left = h+1, left-1 {
		v.Hours[h%24] = 0
	}
	v.Second = second
}

func (v *VelocityRow) sumPace(from int64) Pace {
	var minute, minuteOdd, hour, hourOdd uint64 // Each total has two sums, so that an addition need not wait for the one before.
	for i := 0; i < len(v.Seconds); i += 2 {
		minute += uint64(v.Seconds[i])
		minuteOdd += uint64(v.Seconds[i+1])
		hour += uint64(v.Minutes[i])
		hourOdd += uint64(v.Minutes[i+1])
	}
	pace := Pace{Minute: clamp32(minute + minuteOdd), PerHour: clamp32(hour + hourOdd)}
	if v.Second-from >= daySeconds {
		day := uint64(0)
		for _, n := range v.Hours {
			day += uint64(n)
		}
		pace.DayMeanX100 = clamp32((day*100 + minutesPerDay - 1) / minutesPerDay)
	}
	return pace
}

func saturate16(n uint16) uint16 {
	if n == 1<<16-1 {
		return n
	}
	return n + 1
}

func saturate32(n uint32) uint32 {
	if n == 1<<32-1 {
		return n
	}
	return n + 1
}

func clamp32(n uint64) uint32 { return uint32(min(n, 1<<32-1)) }

// Tighten lowers each bound of the setting to that of other, if other's is set and lower. Of
// the settings of agent, ancestors, fleet and institution the strictest applies.
func (v *Velocity) Tighten(other *Velocity) {
	if other == nil {
		return
	}
	v.MaxPerMinute = tighterBound(v.MaxPerMinute, other.MaxPerMinute)
	v.MaxPerHour = tighterBound(v.MaxPerHour, other.MaxPerHour)
	v.BurstFactor = tighterBound(v.BurstFactor, other.BurstFactor)
}

// tighterBound returns the lower of two bounds; 0 means "not set".
func tighterBound(a, b uint32) uint32 {
	if a == 0 || (b != 0 && b < a) {
		return b
	}
	return a
}
