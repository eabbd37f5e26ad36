package engine

// Time is an instant or a duration of log time: nanoseconds, UTC, since the Unix epoch.
// The leader stamps it into entries; pure rooms never read a clock.
type Time int64

// Day is a UTC date: whole days since 1970-01-01. It is the key of every daily counter.
type Day uint32

// Day returns the UTC date of t. A time before the epoch counts as day 0.
func (t Time) Day() Day {
	if t < 0 {
		return 0
	}
	return Day(t / DayLength)
}

// Start returns the first instant of the day.
func (d Day) Start() Time { return Time(d) * DayLength }

// AppendDate writes the day as 2026-03-22.
func (d Day) AppendDate(dst []byte) []byte {
	year, month, day := civilDate(int64(d))
	dst = appendPadded(dst, year, 4)
	dst = append(dst, '-')
	dst = appendPadded(dst, month, 2)
	dst = append(dst, '-')
	return appendPadded(dst, day, 2)
}

// AppendTime writes t as 2026-03-22T03:33:28.589Z, the one form of the API
// (decision 31, "Text, ids and time"). It truncates to the millisecond.
func (t Time) AppendTime(dst []byte) []byte {
	if t < 0 {
		t = 0
	}
	dst = t.Day().AppendDate(dst)
	rest := int64(t % DayLength)
	dst = append(dst, 'T')
	dst = appendPadded(dst, rest/int64(Hour), 2)
	dst = append(dst, ':')
	dst = appendPadded(dst, rest/int64(Minute)%60, 2)
	dst = append(dst, ':')
	dst = appendPadded(dst, rest/int64(Second)%60, 2)
	dst = append(dst, '.')
	dst = appendPadded(dst, rest/int64(Millisecond)%1000, 3)
	return append(dst, 'Z')
}

// String returns the text of AppendTime.
func (t Time) String() string { return string(t.AppendTime(make([]byte, 0, 24))) }

func appendPadded(dst []byte, n int64, width int) []byte {
	var digits [20]byte
	at := len(digits)
	for n > 0 || len(digits)-at < width {
		at--
		digits[at] = byte('0' + n%10)
		n /= 10
	}
	return append(dst, digits[at:]...)
}

// civilDate turns days since the epoch into a date of the proleptic Gregorian
// calendar, counting from a year that starts in March so that the leap day is last.
func civilDate(days int64) (year, month, day int64) {
	const cycle = 146097 // days in 400 years
	z := days + 719468   // days since 0000-03-01
	era := z / cycle
	dayOfEra := z - era*cycle
	yearOfEra := (dayOfEra - dayOfEra/1460 + dayOfEra/36524 - dayOfEra/146096) / 365
	dayOfYear := dayOfEra - (365*yearOfEra + yearOfEra/4 - yearOfEra/100)
	shifted := (5*dayOfYear + 2) / 153
	day = dayOfYear - (153*shifted+2)/5 + 1
	month = shifted + 3
	if month > 12 {
		month -= 12
	}
	year = yearOfEra + era*400
	if month <= 2 {
		year++
	}
	return year, month, day
}
