package engine

// R17 (decision 46). The zone's transitions were compiled when the setting was written, so that
// only integer arithmetic is needed to tell whether an instant is inside.

const (
	minutesOfDay  = 24 * 60
	epochWeekday  = 3 // 1970-01-01 was a Thursday; Monday is 0.
	localDaySpan  = int64(24 * 60 * 60)
	weekdaysCount = 7
)

// Open reports whether t lies in the operating hours. A holiday is closed all day, and a window
// that began on a holiday does not reach into the next morning.
func (h *Hours) Open(t Time) bool {
	local := floorDiv(int64(t), int64(Second)) + int64(h.offsetAt(t))
	day := floorDiv(local, localDaySpan)
	minute := uint16((local - day*localDaySpan) / 60)
	if h.isHoliday(day) {
		return false
	}
	today := weekdayBit(day)
	yesterday := weekdayBit(day - 1)
	for i := range h.Windows {
		window := &h.Windows[i]
		if window.To > window.From {
			if window.Days&today != 0 && minute >= window.From && minute < window.To {
				return true
			}
			continue
		}
		if window.Days&today != 0 && minute >= window.From {
			return true
		}
		if window.Days&yesterday != 0 && minute < window.To && !h.isHoliday(day-1) {
			return true
		}
	}
	return false
}

// offsetAt returns local time minus UTC at t, in seconds. It takes the last transition at or
// before t; the first one also covers all time before it.
func (h *Hours) offsetAt(t Time) int32 {
	if len(h.Transitions) == 0 {
		return 0
	}
	low, high := 0, len(h.Transitions) // Invariant: low is at or before t (or 0), high is after t.
	for high-low > 1 {
		middle := (low + high) / 2
		if h.Transitions[middle].At <= t {
			low = middle
		} else {
			high = middle
		}
	}
	return h.Transitions[low].Offset
}

func (h *Hours) isHoliday(day int64) bool {
	low, high := 0, len(h.Holidays)
	for low < high {
		middle := (low + high) / 2
		switch d := int64(h.Holidays[middle]); {
		case d == day:
			return true
		case d < day:
			low = middle + 1
		default:
			high = middle
		}
	}
	return false
}

// weekdayBit returns the bit of a local day's weekday; bit 0 is Monday.
func weekdayBit(day int64) uint8 {
	weekday := (day + epochWeekday) % weekdaysCount
	if weekday < 0 {
		weekday += weekdaysCount
	}
	return 1 << weekday
}

// floorDiv divides rounding down, also below zero.
func floorDiv(a, b int64) int64 {
	quotient := a / b
	if a%b < 0 {
		quotient--
	}
	return quotient
}

// Within reports whether h is open only when outer is: a delegate may narrow its parent's
// hours, never widen them (decision 40). The answer is exact for two settings of one timezone.
// A setting of another timezone counts as wider without being compared.
func (h *Hours) Within(outer *Hours) bool {
	if outer == nil {
		return true
	}
	if h == nil || h.Timezone != outer.Timezone {
		return false
	}
	for _, day := range outer.Holidays {
		if !h.quietAround(int64(day), outer) {
			return false
		}
	}
	inner, wider := h.openMinutes(), outer.openMinutes()
	for i := range inner {
		if inner[i]&^wider[i] != 0 {
			return false
		}
	}
	return true
}

// quietAround reports whether h is closed wherever outer's holiday closes outer: on the day
// itself, and on the next morning for the minutes that only outer's windows of the holiday
// would have opened.
func (h *Hours) quietAround(day int64, outer *Hours) bool {
	if !h.isHoliday(day) && h.openOn(weekdayBit(day)) {
		return false
	}
	next := weekdayBit(day + 1)
	if h.isHoliday(day+1) || outer.isHoliday(day+1) {
		return true // Within judges the second holiday in its own turn.
	}
	inner, wider := h.begunOn(next), outer.begunOn(next)
	for i := range inner {
		if inner[i]&^wider[i] != 0 {
			return false
		}
	}
	return true
}

// openOn reports whether a day of the given weekday bit can have an open minute.
func (h *Hours) openOn(weekday uint8) bool {
	before := weekday >> 1
	if before == 0 {
		before = 1 << (weekdaysCount - 1)
	}
	for _, window := range h.Windows {
		if window.Days&weekday != 0 || (window.To <= window.From && window.To > 0 && window.Days&before != 0) {
			return true
		}
	}
	return false
}

// begunOn returns the open minutes of a weekday from windows that began on that day.
func (h *Hours) begunOn(weekday uint8) (minutes [minutesOfDay/64 + 1]uint64) {
	for _, window := range h.Windows {
		if window.Days&weekday == 0 {
			continue
		}
		end := window.To
		if window.To <= window.From {
			end = minutesOfDay
		}
		for minute := window.From; minute < end; minute++ {
			minutes[minute/64] |= 1 << (minute % 64)
		}
	}
	return minutes
}

// openMinutes returns the open minutes of a week without holidays, Monday first.
func (h *Hours) openMinutes() (minutes [weekdaysCount*minutesOfDay/64 + 1]uint64) {
	for _, window := range h.Windows {
		length := (int(window.To) - int(window.From) + minutesOfDay) % minutesOfDay
		if length == 0 {
			length = minutesOfDay
		}
		for day := 0; day < weekdaysCount; day++ {
			if window.Days&(1<<day) == 0 {
				continue
			}
			for i := 0; i < length; i++ {
				minute := (day*minutesOfDay + int(window.From) + i) % (weekdaysCount * minutesOfDay)
				minutes[minute/64] |= 1 << (minute % 64)
			}
		}
	}
	return minutes
}
