package engine

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// holidays are the federal holidays of thirteen years on the days on which they are observed. Their
// source is the list that the Office of Personnel Management publishes (opm.gov, "Federal Holidays").
// They were written out by hand from 5 U.S.C. 6103 and its rule for Saturdays and Sundays; of OPM's
// own list a copy of 2023 was at hand, and agrees. Inauguration Day is not among them: by 5 U.S.C.
// 6103(c) it is a holiday for those who work for the government in and around the capital, and
// banks are open. Days off that a President orders, such as 24 December of some years, are not in
// the law either: without them a report is due earlier, never later.
const holidays = `
2021-01-01 2021-01-18 2021-02-15 2021-05-31 2021-06-18 2021-07-05 2021-09-06 2021-10-11 2021-11-11 2021-11-25 2021-12-24 2021-12-31
2022-01-17 2022-02-21 2022-05-30 2022-06-20 2022-07-04 2022-09-05 2022-10-10 2022-11-11 2022-11-24 2022-12-26
2023-01-02 2023-01-16 2023-02-20 2023-05-29 2023-06-19 2023-07-04 2023-09-04 2023-10-09 2023-11-10 2023-11-23 2023-12-25
2024-01-01 2024-01-15 2024-02-19 2024-05-27 2024-06-19 2024-07-04 2024-09-02 2024-10-14 2024-11-11 2024-11-28 2024-12-25
2025-01-01 2025-01-20 2025-02-17 2025-05-26 2025-06-19 2025-07-04 2025-09-01 2025-10-13 2025-11-11 2025-11-27 2025-12-25
2026-01-01 2026-01-19 2026-02-16 2026-05-25 2026-06-19 2026-07-03 2026-09-07 2026-10-12 2026-11-11 2026-11-26 2026-12-25
2027-01-01 2027-01-18 2027-02-15 2027-05-31 2027-06-18 2027-07-05 2027-09-06 2027-10-11 2027-11-11 2027-11-25 2027-12-24 2027-12-31
2028-01-17 2028-02-21 2028-05-29 2028-06-19 2028-07-04 2028-09-04 2028-10-09 2028-11-10 2028-11-23 2028-12-25
2029-01-01 2029-01-15 2029-02-19 2029-05-28 2029-06-19 2029-07-04 2029-09-03 2029-10-08 2029-11-12 2029-11-22 2029-12-25
2030-01-01 2030-01-21 2030-02-18 2030-05-27 2030-06-19 2030-07-04 2030-09-02 2030-10-14 2030-11-11 2030-11-28 2030-12-25
2031-01-01 2031-01-20 2031-02-17 2031-05-26 2031-06-19 2031-07-04 2031-09-01 2031-10-13 2031-11-11 2031-11-27 2031-12-25
2032-01-01 2032-01-19 2032-02-16 2032-05-31 2032-06-18 2032-07-05 2032-09-06 2032-10-11 2032-11-11 2032-11-25 2032-12-24 2032-12-31
2033-01-17 2033-02-21 2033-05-30 2033-06-20 2033-07-04 2033-09-05 2033-10-10 2033-11-11 2033-11-24 2033-12-26`

func dayOf(t *testing.T, text string) Day {
	day, ok := ParseDay(text)
	require.True(t, ok, text)
	return day
}

// TestFederalHolidays holds every day of thirteen years against the published table.
func TestFederalHolidays(t *testing.T) {
	table := map[Day]bool{}
	for _, text := range strings.Fields(holidays) {
		table[dayOf(t, text)] = true
	}
	for day := dayOf(t, "2021-01-01"); day <= dayOf(t, "2033-12-31"); day++ {
		at := time.Unix(int64(day)*86400, 0).UTC()
		weekend := at.Weekday() == time.Saturday || at.Weekday() == time.Sunday
		require.Equal(t, !weekend && !table[day], IsBusinessDay(day), at.Format(time.DateOnly))
	}
	require.True(t, IsBusinessDay(dayOf(t, "2020-06-19")), "Juneteenth is a holiday since 2021")
	require.True(t, IsBusinessDay(dayOf(t, "2029-01-20")-1), "Inauguration Day, 20 January 2029, is a Saturday: the Friday before is a business day")
	for _, text := range []string{"2021-01-20", "2033-01-20"} {
		require.True(t, IsBusinessDay(dayOf(t, text)), "Inauguration Day is a business day: "+text)
	}
}

// TestReportsAreDueAfterTenBusinessDays counts by hand.
func TestReportsAreDueAfterTenBusinessDays(t *testing.T) {
	for _, c := range []struct{ action, last, why string }{
		{"2021-06-14T12:00:00Z", "2021-06-29", "Juneteenth observed on Friday the 18th"},
		{"2021-12-20T12:00:00Z", "2022-01-05", "Christmas on Friday the 24th, New Year on Friday the 31st"},
		{"2022-12-16T12:00:00Z", "2023-01-03", "Christmas on Monday the 26th, New Year on Monday the 2nd"},
		{"2023-11-06T12:00:00Z", "2023-11-21", "Veterans Day on Friday the 10th"},
		{"2024-03-04T12:00:00Z", "2024-03-18", "two plain weeks"},
		{"2024-12-24T12:00:00Z", "2025-01-09", "Christmas and New Year; the day of mourning on 9 January was no holiday"},
		{"2025-01-10T12:00:00Z", "2025-01-27", "the King holiday; Inauguration Day was the same day"},
		{"2026-07-02T12:00:00Z", "2026-07-17", "Independence Day on Friday the 3rd"},
		{"2026-11-10T12:00:00Z", "2026-11-25", "Veterans Day; Thanksgiving is the day after the last"},
		{"2026-11-11T12:00:00Z", "2026-11-25", "an action on a holiday counts from the next business day"},
		{"2026-11-14T12:00:00Z", "2026-11-30", "an action on a Saturday, with Thanksgiving"},
		{"2027-12-17T12:00:00Z", "2028-01-04", "Christmas on Friday the 24th, New Year on Friday the 31st"},
		{"2028-02-29T12:00:00Z", "2028-03-14", "a leap day"},
		{"2029-11-02T12:00:00Z", "2029-11-19", "Veterans Day on Monday the 12th"},
		{"2030-12-31T12:00:00Z", "2031-01-15", "New Year"},

		// The boundary of a day is New York's.
		{"2026-03-03T04:59:59Z", "2026-03-16", "still Monday in New York, in winter"},
		{"2026-03-03T05:00:00Z", "2026-03-17", "Tuesday in New York"},
		{"2026-06-02T03:59:59Z", "2026-06-15", "still Monday in New York, in summer"},
		{"2026-06-02T04:00:00Z", "2026-06-16", "Tuesday in New York"},
	} {
		at, err := time.Parse(time.RFC3339, c.action)
		require.NoError(t, err)
		due := ReportDue(Time(at.UnixNano()))
		require.Equal(t, dayOf(t, c.last), NewYorkDay(due-1), "%s: %s", c.action, c.why)
		require.Equal(t, dayOf(t, c.last)+1, NewYorkDay(due), c.action)
		require.Equal(t, due, dayOf(t, c.last).EndInNewYork())
	}
}

// reportsDue has for each year actions, and the last day for their report, counted outside the product: around
// the King holiday, Washington's Birthday, Memorial Day, Juneteenth, Independence Day, Labor Day,
// Columbus Day, Veterans Day, Thanksgiving, Christmas and New Year.
const reportsDue = `
2024-01-10>2024-01-25 2024-02-09>2024-02-26 2024-05-22>2024-06-06 2024-06-12>2024-06-27 2024-06-30>2024-07-15 2024-08-28>2024-09-12 2024-10-04>2024-10-21 2024-11-05>2024-11-20 2024-11-20>2024-12-05 2024-12-18>2025-01-03 2024-12-31>2025-01-15
2025-01-10>2025-01-27 2025-02-09>2025-02-24 2025-05-22>2025-06-06 2025-06-12>2025-06-27 2025-06-30>2025-07-15 2025-08-28>2025-09-12 2025-10-04>2025-10-20 2025-11-05>2025-11-20 2025-11-20>2025-12-05 2025-12-18>2026-01-05 2025-12-31>2026-01-15
2026-01-10>2026-01-26 2026-02-09>2026-02-24 2026-05-22>2026-06-08 2026-06-12>2026-06-29 2026-06-30>2026-07-15 2026-08-28>2026-09-14 2026-10-04>2026-10-19 2026-11-05>2026-11-20 2026-11-20>2026-12-07 2026-12-18>2027-01-05 2026-12-31>2027-01-15
2027-01-10>2027-01-25 2027-02-09>2027-02-24 2027-05-22>2027-06-07 2027-06-12>2027-06-28 2027-06-30>2027-07-15 2027-08-28>2027-09-13 2027-10-04>2027-10-19 2027-11-05>2027-11-22 2027-11-20>2027-12-06 2027-12-18>2028-01-04 2027-12-31>2028-01-14
2028-01-10>2028-01-25 2028-02-09>2028-02-24 2028-05-22>2028-06-06 2028-06-12>2028-06-27 2028-06-30>2028-07-17 2028-08-28>2028-09-12 2028-10-04>2028-10-19 2028-11-05>2028-11-20 2028-11-20>2028-12-05 2028-12-18>2029-01-03 2028-12-31>2029-01-16
2029-01-10>2029-01-25 2029-02-09>2029-02-26 2029-05-22>2029-06-06 2029-06-12>2029-06-27 2029-06-30>2029-07-16 2029-08-28>2029-09-12 2029-10-04>2029-10-19 2029-11-05>2029-11-20 2029-11-20>2029-12-05 2029-12-18>2030-01-03 2029-12-31>2030-01-15
2030-01-10>2030-01-25 2030-02-09>2030-02-25 2030-05-22>2030-06-06 2030-06-12>2030-06-27 2030-06-30>2030-07-15 2030-08-28>2030-09-12 2030-10-04>2030-10-21 2030-11-05>2030-11-20 2030-11-20>2030-12-05 2030-12-18>2031-01-03 2030-12-31>2031-01-15
2031-01-10>2031-01-27 2031-02-09>2031-02-24 2031-05-22>2031-06-06 2031-06-12>2031-06-27 2031-06-30>2031-07-15 2031-08-28>2031-09-12 2031-10-04>2031-10-20 2031-11-05>2031-11-20 2031-11-20>2031-12-05 2031-12-18>2032-01-05 2031-12-31>2032-01-15
2032-01-10>2032-01-26 2032-02-09>2032-02-24 2032-05-22>2032-06-07 2032-06-12>2032-06-28 2032-06-30>2032-07-15 2032-08-28>2032-09-13 2032-10-04>2032-10-19 2032-11-05>2032-11-22 2032-11-20>2032-12-06 2032-12-18>2033-01-04 2032-12-31>2033-01-14
2033-01-10>2033-01-25 2033-02-09>2033-02-24 2033-05-22>2033-06-06 2033-06-12>2033-06-27 2033-06-30>2033-07-15 2033-08-28>2033-09-12 2033-10-04>2033-10-19 2033-11-05>2033-11-21 2033-11-20>2033-12-05 2033-12-18>2034-01-03 2033-12-31>2034-01-17`

// TestReportsOfTenYears holds the computed days against the table.
func TestReportsOfTenYears(t *testing.T) {
	for _, pair := range strings.Fields(reportsDue) {
		action, last, _ := strings.Cut(pair, ">")
		due := ReportDue(dayOf(t, action).Start() + 17*Hour) // Noon in New York, or one o'clock.
		require.Equal(t, last, string(NewYorkDay(due-1).AppendDate(nil)), action)
	}
}

// TestNewYorkIsComputedByRule holds the rule against the table of time zones.
func TestNewYorkIsComputedByRule(t *testing.T) {
	zone, err := time.LoadLocation("America/New_York")
	if err != nil {
		t.Skip("this machine has no table of time zones")
	}
	for at := time.Date(2007, 1, 1, 0, 0, 0, 0, time.UTC); at.Year() < 2038; at = at.Add(30 * time.Minute) {
		there := at.In(zone)
		year, month, day := NewYorkDay(Time(at.UnixNano())).civil()
		require.Equal(t, []int{there.Year(), int(there.Month()), there.Day()}, []int{year, month, day}, at)
	}
}

func TestDatesAreRead(t *testing.T) {
	for _, text := range []string{"", "2026-6-30", "2026-06-31", "2026-02-29", "2026-13-01", "1969-12-31", "2026/06/30", "20a6-06-30", "2026-06-00"} {
		_, ok := ParseDay(text)
		require.False(t, ok, text)
	}
	for day := Day(0); day < 40000; day++ {
		again, ok := ParseDay(string(day.AppendDate(nil)))
		require.True(t, ok)
		require.Equal(t, day, again)
	}
}

// TestAnnualReportsAreAsOfJune: the newest one is of the last 30 June that is over.
func TestAnnualReportsAreAsOfJune(t *testing.T) {
	for _, c := range []struct{ now, asOf, due string }{
		{"2026-07-01T03:59:59Z", "2025-06-30", "2025-09-30"},
		{"2026-07-01T04:00:00Z", "2026-06-30", "2026-09-30"},
		{"2027-01-01T00:00:00Z", "2026-06-30", "2026-09-30"},
	} {
		at, err := time.Parse(time.RFC3339, c.now)
		require.NoError(t, err)
		asOf, ends, due := AnnualReport(Time(at.UnixNano()))
		require.Equal(t, []Day{dayOf(t, c.asOf), dayOf(t, c.due)}, []Day{asOf, due})
		require.Equal(t, asOf+1, NewYorkDay(ends))
	}
}
