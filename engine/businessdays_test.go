package engine

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// holidays are the federal holidays of ten years as the Office of Personnel Management published
// them, on the days on which they are observed.
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
2030-01-01 2030-01-21 2030-02-18 2030-05-27 2030-06-19 2030-07-04 2030-09-02 2030-10-14 2030-11-11 2030-11-28 2030-12-25`

func dayOf(t *testing.T, text string) Day {
	day, ok := ParseDay(text)
	require.True(t, ok, text)
	return day
}

// TestFederalHolidaysOfTenYears holds every day of ten years against the published table.
func TestFederalHolidaysOfTenYears(t *testing.T) {
	table := map[Day]bool{}
	for _, text := range strings.Fields(holidays) {
		table[dayOf(t, text)] = true
	}
	for day := dayOf(t, "2021-01-01"); day <= dayOf(t, "2030-12-31"); day++ {
		at := time.Unix(int64(day)*86400, 0).UTC()
		weekend := at.Weekday() == time.Saturday || at.Weekday() == time.Sunday
		require.Equal(t, !weekend && !table[day], IsBusinessDay(day), at.Format(time.DateOnly))
	}
	require.True(t, IsBusinessDay(dayOf(t, "2020-06-19")), "Juneteenth is a holiday since 2021")
	require.True(t, IsBusinessDay(dayOf(t, "2021-01-20")), "Inauguration Day is a business day")
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
