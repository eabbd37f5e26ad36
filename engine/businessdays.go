package engine

// Business days of the United States, for the reports to OFAC (31 CFR 501.603 and 501.604). All is
// computed by rule and needs no table of time zones, so that every node and every release finds the
// same day. A change of these laws needs another format.

// ReportDays is how many business days there are for a report.
const ReportDays = 10

// The weekdays, as weekday returns them.
const (
	sunday = iota
	monday
	tuesday
	wednesday
	thursday
	friday
	saturday
)

func (d Day) weekday() int { return int((d + thursday) % 7) } // 1970-01-01 was a Thursday.

// civil returns the year, the month and the day of the month.
func (d Day) civil() (year, month, day int) {
	y, m, n := civilDate(int64(d))
	return int(y), int(m), int(n)
}

// ReportDue returns when a report about something that happened at a time is overdue: at the end of
// the tenth business day after that day, in New York, whose time Washington has.
func ReportDue(action Time) Time {
	day := NewYorkDay(action)
	for left := ReportDays; left > 0; {
		if day++; IsBusinessDay(day) {
			left--
		}
	}
	return newYorkMidnight(day + 1)
}

// IsBusinessDay tells whether a day is no weekend and no holiday of the federal government, nor one
// on which a holiday is observed (5 U.S.C. 6103). Inauguration Day is none: it is kept in the
// capital alone.
func IsBusinessDay(d Day) bool {
	switch d.weekday() {
	case saturday, sunday:
		return false
	case friday:
		return !isHoliday(d) && !isFixedHoliday(d+1)
	case monday:
		return !isHoliday(d) && !isFixedHoliday(d-1)
	}
	return !isHoliday(d)
}

// isHoliday tells whether a day itself is a holiday.
func isHoliday(d Day) bool {
	if isFixedHoliday(d) {
		return true
	}
	_, month, day := d.civil()
	week := (day - 1) / 7 // Which one of its weekday it is in its month, from 0 on.
	switch d.weekday() {
	case monday:
		switch month {
		case 1, 2: // Birthday of Martin Luther King, Jr., and Washington's Birthday.
			return week == 2
		case 5: // Memorial Day, the last Monday.
			return day+7 > 31
		case 9: // Labor Day.
			return week == 0
		case 10: // Columbus Day.
			return week == 1
		}
	case thursday: // Thanksgiving Day.
		return month == 11 && week == 3
	}
	return false
}

// isFixedHoliday tells whether a day is a holiday that has its date. One on a Saturday is observed
// on the Friday before, one on a Sunday on the Monday after.
func isFixedHoliday(d Day) bool {
	year, month, day := d.civil()
	switch month {
	case 1:
		return day == 1
	case 6: // Juneteenth National Independence Day.
		return day == 19 && year >= 2021
	case 7:
		return day == 4
	case 11: // Veterans Day.
		return day == 11
	case 12:
		return day == 25
	}
	return false
}

// The time of New York is behind UTC by the first of these in summer, and otherwise by the second.
const (
	newYorkSummer = 4 * Hour
	newYorkWinter = 5 * Hour
)

// NewYorkDay returns the date in New York.
func NewYorkDay(t Time) Day {
	if isNewYorkSummer(t) {
		return (t - newYorkSummer).Day()
	}
	return (t - newYorkWinter).Day()
}

// newYorkMidnight returns when a day begins in New York.
func newYorkMidnight(d Day) Time {
	if at := d.Start() + newYorkSummer; isNewYorkSummer(at) {
		return at
	}
	return d.Start() + newYorkWinter
}

// isNewYorkSummer tells whether daylight saving time holds: from two o'clock of the second Sunday
// in March to two o'clock of the first Sunday in November (15 U.S.C. 260a), as since 2007.
func isNewYorkSummer(t Time) bool {
	year, month, _ := (t - newYorkWinter).Day().civil()
	switch {
	case month < 3 || month > 11:
		return false
	case month > 3 && month < 11:
		return true
	case month == 3:
		return t >= nthSunday(year, 3, 1).Start()+2*Hour+newYorkWinter
	}
	return t < nthSunday(year, 11, 0).Start()+2*Hour+newYorkSummer
}

// nthSunday returns a Sunday of a month; n counts from 0.
func nthSunday(year, month, n int) Day {
	first := dayOfCivil(year, month, 1)
	return first + Day((7-first.weekday())%7+7*n)
}

// dayOfCivil reverses civil, for dates from 1970 on.
func dayOfCivil(year, month, day int) Day {
	y, m := int64(year), int64(month)
	if m <= 2 {
		y, m = y-1, m+12
	}
	era := y / 400
	yearOfEra := y - era*400
	dayOfYear := (153*(m-3)+2)/5 + int64(day) - 1
	return Day(era*146097 + yearOfEra*365 + yearOfEra/4 - yearOfEra/100 + dayOfYear - 719468)
}

// ParseDay reads a date such as 2026-06-30, from 1970 on.
func ParseDay(text string) (Day, bool) {
	number := func(part string) (n int) {
		for i := range len(part) {
			if part[i] < '0' || part[i] > '9' {
				return -1
			}
			n = 10*n + int(part[i]-'0')
		}
		return n
	}
	if len(text) != 10 || text[4] != '-' || text[7] != '-' {
		return 0, false
	}
	year, month, day := number(text[:4]), number(text[5:7]), number(text[8:])
	if year < 1970 || month < 1 || month > 12 || day < 1 || day > 31 {
		return 0, false
	}
	d := dayOfCivil(year, month, day)
	y, m, n := d.civil()
	return d, y == year && m == month && n == day
}

// The register of blocked property is reported each year as of 30 June (31 CFR 501.603(b)(2)), until
// 30 September.
const (
	annualMonth, annualDay       = 6, 30
	annualDueMonth, annualDueDay = 9, 30
)

// AnnualReport returns the day as of which the newest annual report of blocked property is, the
// instant in which that day ends in New York, and the day on which the report is due.
func AnnualReport(now Time) (asOf Day, ends Time, due Day) {
	year, _, _ := NewYorkDay(now).civil()
	if asOf = dayOfCivil(year, annualMonth, annualDay); newYorkMidnight(asOf+1) > now {
		year--
		asOf = dayOfCivil(year, annualMonth, annualDay)
	}
	return asOf, newYorkMidnight(asOf + 1), dayOfCivil(year, annualDueMonth, annualDueDay)
}

// EndInNewYork returns when a day ends in New York.
func (d Day) EndInNewYork() Time { return newYorkMidnight(d + 1) }
