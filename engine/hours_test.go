package engine

import (
	"archive/zip"
	"bytes"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

func compileHours(t *testing.T, document string) *Hours {
	t.Helper()
	hours, wrong := CompileHours([]byte(document), at(t, "2026-01-01T00:00:00Z"))
	require.Empty(t, wrong)
	return hours
}

// at parses a time.
func at(t testing.TB, text string) Time {
	t.Helper()
	instant, err := time.Parse(time.RFC3339Nano, text)
	require.NoError(t, err)
	return Time(instant.UnixNano())
}

const newYorkOffice = `{"timezone":"America/New_York","windows":[{"days":["MON","TUE","WED","THU","FRI"],"from":"08:00","to":"18:00"}],"holidays":["2026-12-25"]}`

func TestHoursOpen(t *testing.T) {
	night := `{"timezone":"UTC","windows":[{"days":["FRI"],"from":"22:00","to":"04:00"}],"holidays":["2026-04-03"]}`
	allDay := `{"timezone":"UTC","windows":[{"days":["SUN"],"from":"00:00","to":"24:00"}]}`
	roundTheClock := `{"timezone":"UTC","windows":[{"days":["SAT"],"from":"08:00","to":"08:00"}]}`
	kathmandu := `{"timezone":"Asia/Kathmandu","windows":[{"days":["MON"],"from":"00:00","to":"01:00"}]}`
	tests := []struct {
		name, hours, at string
		open            bool
	}{
		{"winter, before opening", newYorkOffice, "2026-03-06T12:59:59.999Z", false},
		{"winter, opening", newYorkOffice, "2026-03-06T13:00:00Z", true},
		{"winter, last instant", newYorkOffice, "2026-03-06T22:59:59.999Z", true},
		{"winter, closing is outside", newYorkOffice, "2026-03-06T23:00:00Z", false},
		{"Saturday", newYorkOffice, "2026-03-07T15:00:00Z", false},
		{"summer time began on 8 March: opening is an hour earlier in UTC", newYorkOffice, "2026-03-09T12:00:00Z", true},
		{"summer, before opening", newYorkOffice, "2026-03-09T11:59:59Z", false},
		{"winter time again", newYorkOffice, "2026-11-02T12:30:00Z", false},
		{"holiday", newYorkOffice, "2026-12-25T15:00:00Z", false},
		{"the day before the holiday", newYorkOffice, "2026-12-24T15:00:00Z", true},
		{"ten years ahead, summer", newYorkOffice, "2035-07-02T12:00:00Z", true},
		{"window over midnight, evening", night, "2026-03-27T22:00:00Z", true},
		{"window over midnight, next morning", night, "2026-03-28T03:59:59Z", true},
		{"window over midnight, its end", night, "2026-03-28T04:00:00Z", false},
		{"window over midnight, the morning of its own day", night, "2026-03-27T03:00:00Z", false},
		{"a window that begins on a holiday", night, "2026-04-03T23:00:00Z", false},
		{"its tail on the morning after", night, "2026-04-04T01:00:00Z", false},
		{"24:00", allDay, "2026-03-29T23:59:59Z", true},
		{"24:00 is the next day", allDay, "2026-03-30T00:00:00Z", false},
		{"round the clock, from eight", roundTheClock, "2026-03-28T08:00:00Z", true},
		{"round the clock, until eight", roundTheClock, "2026-03-29T07:59:59Z", true},
		{"round the clock, over", roundTheClock, "2026-03-29T08:00:00Z", false},
		{"an offset of 5:45", kathmandu, "2026-03-29T18:15:00Z", true},
		{"an offset of 5:45, before", kathmandu, "2026-03-29T18:14:59Z", false},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			require.Equal(t, test.open, compileHours(t, test.hours).Open(at(t, test.at)))
		})
	}
}

// TestHoursAgainstCalendar: over ten years and several zones, arithmetic on compiled
// transitions agrees with the standard library's calendar.
func TestHoursAgainstCalendar(t *testing.T) {
	zones := []string{"America/New_York", "Europe/London", "Australia/Lord_Howe", "Asia/Tokyo", "America/Santiago", "Africa/Casablanca"}
	compiled := make(map[string]*Hours)
	locations := make(map[string]*time.Location)
	for _, zone := range zones {
		compiled[zone] = compileHours(t, `{"timezone":"`+zone+`","windows":[{"days":["MON","WED"],"from":"07:30","to":"19:15"},{"days":["SAT"],"from":"21:00","to":"02:30"}]}`)
		location, err := loadZone(zone)
		require.NoError(t, err)
		locations[zone] = location
	}
	start := at(t, "2026-01-01T00:00:00Z")
	rapid.Check(t, func(t *rapid.T) {
		zone := rapid.SampledFrom(zones).Draw(t, "zone")
		instant := start + Time(rapid.Int64Range(0, int64(3600*DayLength)).Draw(t, "instant"))
		local := time.Unix(0, int64(instant)).In(locations[zone])
		minute := local.Hour()*60 + local.Minute()
		want := (local.Weekday() == time.Monday || local.Weekday() == time.Wednesday) && minute >= 450 && minute < 1155
		want = want || local.Weekday() == time.Saturday && minute >= 1260 || local.Weekday() == time.Sunday && minute < 150
		require.Equal(t, want, compiled[zone].Open(instant), "%s %s", zone, local)
	})
}

func TestCompileHoursRefuses(t *testing.T) {
	window := `"windows":[{"days":["MON"],"from":"08:00","to":"18:00"}]`
	tests := []struct{ name, document, param string }{
		{"not an object", `[]`, "operatingHours"},
		{"no timezone", `{` + window + `}`, "operatingHours.timezone"},
		{"unknown timezone", `{"timezone":"Mars/Olympus",` + window + `}`, "operatingHours.timezone"},
		{"path as timezone", `{"timezone":"../../etc/passwd",` + window + `}`, "operatingHours.timezone"},
		{"folder as timezone", `{"timezone":"America/",` + window + `}`, "operatingHours.timezone"},
		{"the machine's own timezone", `{"timezone":"Local",` + window + `}`, "operatingHours.timezone"},
		{"no windows", `{"timezone":"UTC"}`, "operatingHours.windows"},
		{"empty windows", `{"timezone":"UTC","windows":[]}`, "operatingHours.windows"},
		{"unknown member", `{"timezone":"UTC",` + window + `,"tz":"UTC"}`, "operatingHours.tz"},
		{"equal members", `{"timezone":"UTC","timezone":"UTC",` + window + `}`, "operatingHours"},
		{"unknown day", `{"timezone":"UTC","windows":[{"days":["Monday"],"from":"08:00","to":"18:00"}]}`, "operatingHours.windows[0].days[0]"},
		{"no days", `{"timezone":"UTC","windows":[{"days":[],"from":"08:00","to":"18:00"}]}`, "operatingHours.windows[0]"},
		{"no end", `{"timezone":"UTC","windows":[{"days":["MON"],"from":"08:00"}]}`, "operatingHours.windows[0]"},
		{"from 24:00", `{"timezone":"UTC","windows":[{"days":["MON"],"from":"24:00","to":"18:00"}]}`, "operatingHours.windows[0].from"},
		{"to 24:01", `{"timezone":"UTC","windows":[{"days":["MON"],"from":"08:00","to":"24:01"}]}`, "operatingHours.windows[0].to"},
		{"one digit", `{"timezone":"UTC","windows":[{"days":["MON"],"from":"8:00","to":"18:00"}]}`, "operatingHours.windows[0].from"},
		{"minute 60", `{"timezone":"UTC","windows":[{"days":["MON"],"from":"08:60","to":"18:00"}]}`, "operatingHours.windows[0].from"},
		{"no date", `{"timezone":"UTC",` + window + `,"holidays":["2026-02-30"]}`, "operatingHours.holidays[0]"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			hours, wrong := CompileHours([]byte(test.document), someday)
			require.Nil(t, hours)
			require.NotEmpty(t, wrong)
			require.Equal(t, test.param, wrong[0].Param, "%v", wrong)
		})
	}
}

func TestEveryZoneCompiles(t *testing.T) {
	archive, err := zip.NewReader(bytes.NewReader(zones), int64(len(zones)))
	require.NoError(t, err)
	require.Greater(t, len(archive.File), 500)
	for _, file := range archive.File {
		if strings.HasSuffix(file.Name, "/") {
			continue
		}
		transitions, err := transitionsOf(file.Name, someday)
		require.NoError(t, err, file.Name)
		require.Less(t, len(transitions), transitionsMax, file.Name)
		for i := 1; i < len(transitions); i++ {
			require.Greater(t, transitions[i].At, transitions[i-1].At, file.Name)
			require.NotEqual(t, transitions[i].Offset, transitions[i-1].Offset, file.Name)
		}
	}
}

func TestHoursWithin(t *testing.T) {
	outer := compileHours(t, newYorkOffice)
	narrower := `{"timezone":"America/New_York","windows":[{"days":["MON"],"from":"09:00","to":"12:00"}],"holidays":["2026-12-25"]}`
	night := `{"timezone":"UTC","windows":[{"days":["THU","FRI"],"from":"22:00","to":"04:00"}],"holidays":["2026-04-03"]}`
	tests := []struct {
		name  string
		inner string
		outer *Hours
		want  bool
	}{
		{"equal", newYorkOffice, outer, true},
		{"narrower", narrower, outer, true},
		{"no outer", narrower, nil, true},
		{"a minute longer", `{"timezone":"America/New_York","windows":[{"days":["MON"],"from":"08:00","to":"18:01"}],"holidays":["2026-12-25"]}`, outer, false},
		{"two windows that join", `{"timezone":"America/New_York","windows":[{"days":["MON"],"from":"08:00","to":"12:00"},{"days":["MON"],"from":"12:00","to":"18:00"}],"holidays":["2026-12-25"]}`, outer, true},
		{"holiday missing on an open day", `{"timezone":"America/New_York","windows":[{"days":["FRI"],"from":"09:00","to":"12:00"}]}`, outer, false},
		{"holiday missing on a closed day", `{"timezone":"America/New_York","windows":[{"days":["MON"],"from":"09:00","to":"12:00"}]}`, outer, true},
		{"another timezone", `{"timezone":"UTC","windows":[{"days":["MON"],"from":"15:00","to":"16:00"}],"holidays":["2026-12-25"]}`, outer, false},
		{"over midnight, equal", night, compileHours(t, night), true},
		{"over midnight, the morning after a holiday", `{"timezone":"UTC","windows":[{"days":["SAT"],"from":"01:00","to":"02:00"}],"holidays":["2026-04-03"]}`,
			compileHours(t, night), false},
		{"over midnight, the morning after a holiday that is not ours", `{"timezone":"UTC","windows":[{"days":["SAT"],"from":"01:00","to":"02:00"}]}`,
			compileHours(t, night), false},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			require.Equal(t, test.want, compileHours(t, test.inner).Within(test.outer))
		})
	}
	require.False(t, (*Hours)(nil).Within(outer))
}

// TestZonesAreTheToolchains: the embedded database equals, byte for byte, that of the Go
// release that has version TZVersion.
func TestZonesAreTheToolchains(t *testing.T) {
	folder := filepath.Join(runtime.GOROOT(), "lib", "time") //nolint:staticcheck // The toolchain that built this test is the one meant.
	script, err := os.ReadFile(filepath.Join(folder, "update.bash"))
	if err != nil {
		t.Skip("this toolchain has no lib/time/update.bash")
	}
	version := regexp.MustCompile(`(?m)^DATA=(\S+)`).FindSubmatch(script)
	if version == nil || string(version[1]) != TZVersion {
		t.Skipf("this toolchain carries another release than %s", TZVersion)
	}
	archive, err := os.ReadFile(filepath.Join(folder, "zoneinfo.zip"))
	require.NoError(t, err)
	require.Equal(t, archive, zones)
}

func FuzzCompileHours(f *testing.F) {
	f.Add([]byte(newYorkOffice))
	f.Add([]byte(`{"timezone":"UTC","windows":[{"days":["SUN"],"from":"23:59","to":"00:00"}],"holidays":["1970-01-01"]}`))
	f.Fuzz(func(t *testing.T, document []byte) {
		hours, wrong := CompileHours(document, someday)
		if wrong != nil {
			require.Nil(t, hours)
			return
		}
		require.NotEmpty(t, hours.Transitions)
		hours.Open(someday)
		require.True(t, hours.Within(hours))
	})
}
