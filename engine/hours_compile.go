package engine

import (
	"archive/zip"
	"bytes"
	_ "embed"
	"encoding/json"
	"errors"
	"io"
	"slices"
	"strings"
	"time"
)

// Writing an operating-hours setting needs the calendar; judging one does not. This file
// compiles a setting at the edge that receives it. It is the only file of the package that
// reads texts of dates and durations.

// zones is the IANA time zone database, one TZif file for each zone (RFC 9636), stored without
// compression. It is embedded so that every machine compiles the same transitions from the same
// text. The standard library would first ask the operating system's database, which differs
// from machine to machine.
//
//go:embed zoneinfo.zip
var zones []byte

// TZVersion is the release of the embedded time zone database.
const TZVersion = "2025c"

const (
	hoursHorizonYears = 10            // How far ahead transitions are compiled (decision 46).
	hoursBehind       = 2 * DayLength // Log time may be a little behind the edge's clock.
	zoneFileMax       = 64 * KiB      // The largest TZif file is about 4 KiB.
	transitionsMax    = 64            // In ten years; no zone has more than four a year.
)

var weekdayWords = [...]string{"MON", "TUE", "WED", "THU", "FRI", "SAT", "SUN"}

// CompileHours compiles operatingHours (decision 46) from its JSON as sent,
// with the zone's transitions from now on for ten years.
func CompileHours(document []byte, now Time) (*Hours, []FieldError) {
	hours := &Hours{Source: slices.Clone(document), TZVersion: TZVersion}
	var r documentReader
	windows := false
	r.readMembers("operatingHours", document, func(name, path string, value json.RawMessage) {
		switch name {
		case "timezone":
			hours.Timezone, _ = r.readText(path, value)
		case "windows":
			windows = true
			for i, element := range r.readList(path, value, WindowsMax) {
				hours.Windows = append(hours.Windows, r.readWindow(elementOf(path, i), element))
			}
		case "holidays":
			hours.Holidays = r.readHolidays(path, value)
		default:
			r.addUnknown(path)
		}
	})
	if r.errors == nil && !windows {
		r.addError("operatingHours.windows", "is missing")
	}
	if r.errors == nil && len(hours.Windows) == 0 {
		r.addError("operatingHours.windows", "must have at least one window")
	}
	if r.errors == nil {
		transitions, err := transitionsOf(hours.Timezone, now)
		if err != nil {
			r.addError("operatingHours.timezone", err.Error())
		}
		hours.Transitions = transitions
	}
	if r.errors != nil {
		return nil, r.errors
	}
	return hours, nil
}

// readWindow reads {"days":["MON"],"from":"08:00","to":"18:00"}.
func (r *documentReader) readWindow(param string, value json.RawMessage) HoursWindow {
	var window HoursWindow
	from, to := false, false
	r.readMembers(param, value, func(name, path string, value json.RawMessage) {
		switch name {
		case "days":
			window.Days = r.readMask(path, value, weekdayWords[:])
		case "from":
			window.From, from = r.readClock(path, value, minutesOfDay-1), true
		case "to":
			window.To, to = r.readClock(path, value, minutesOfDay), true
		default:
			r.addUnknown(path)
		}
	})
	if window.Days == 0 || !from || !to {
		r.addError(param, "needs days, from and to")
	}
	return window
}

// readClock reads "HH:MM" into minutes of the day.
func (r *documentReader) readClock(param string, value json.RawMessage, most uint16) uint16 {
	text, ok := r.readText(param, value)
	if !ok {
		return 0
	}
	if len(text) == 5 && text[2] == ':' {
		digits := [4]byte{text[0], text[1], text[3], text[4]}
		for i := range digits {
			digits[i] -= '0'
			ok = ok && digits[i] <= 9
		}
		hour, minute := uint16(digits[0])*10+uint16(digits[1]), uint16(digits[2])*10+uint16(digits[3])
		if clock := hour*60 + minute; ok && minute < 60 && clock <= most {
			return clock
		}
	}
	r.addError(param, "must be a time of day, HH:MM")
	return 0
}

func (r *documentReader) readHolidays(param string, value json.RawMessage) []Day {
	var days []Day
	for i, element := range r.readList(param, value, HolidaysMax) {
		path := elementOf(param, i)
		if day, ok := r.readDay(path, element); ok {
			days = append(days, day)
		}
	}
	slices.Sort(days)
	return slices.Compact(days)
}

func (r *documentReader) readDay(param string, value json.RawMessage) (Day, bool) {
	text, ok := r.readText(param, value)
	if !ok {
		return 0, false
	}
	date, err := time.Parse(time.DateOnly, text)
	if err != nil || date.Unix() < 0 {
		r.addError(param, "must be a date, YYYY-MM-DD")
		return 0, false
	}
	return Day(date.Unix() / daySeconds), true
}

// transitionsOf returns the offsets of a zone from shortly before now until the horizon.
func transitionsOf(zone string, now Time) ([]Transition, error) {
	location, err := loadZone(zone)
	if err != nil {
		return nil, err
	}
	at := time.Unix(0, int64(max(now-hoursBehind, 0))).In(location)
	horizon := at.AddDate(hoursHorizonYears, 0, 0)
	_, offset := at.Zone()
	transitions := []Transition{{At: 0, Offset: int32(offset)}}
	for len(transitions) < transitionsMax {
		_, end := at.ZoneBounds()
		if end.IsZero() || end.After(horizon) {
			break
		}
		if !end.After(at) {
			// Beyond the database's table the library ends every zone period at the end of the
			// year, which it takes to be 365 days long. So on the last day of a leap year the
			// end of a period is not after its beginning.
			end = at.AddDate(0, 0, 1)
		}
		at = end
		_, offset = at.Zone()
		if int32(offset) == transitions[len(transitions)-1].Offset {
			continue // Only the abbreviation changed.
		}
		transitions = append(transitions, Transition{At: Time(at.UnixNano()), Offset: int32(offset)})
	}
	return transitions, nil
}

var errNoZone = errors.New("must be an IANA time zone such as America/New_York")

// loadZone reads one zone of the embedded database.
func loadZone(name string) (*time.Location, error) {
	if name == "" || strings.HasSuffix(name, "/") {
		return nil, errNoZone
	}
	archive, err := zip.NewReader(bytes.NewReader(zones), int64(len(zones)))
	if err != nil {
		panic("BUG: the embedded time zone database cannot be read: " + err.Error())
	}
	for _, file := range archive.File {
		if file.Name != name {
			continue
		}
		content, err := file.Open()
		if err != nil {
			return nil, err
		}
		data, err := io.ReadAll(io.LimitReader(content, zoneFileMax))
		if err != nil {
			return nil, err
		}
		return time.LoadLocationFromTZData(name, data)
	}
	return nil, errNoZone
}

// readDuration reads "48h" or "90m".
func (r *documentReader) readDuration(param string, value json.RawMessage, least, most Time) Time {
	text, ok := r.readText(param, value)
	if !ok {
		return 0
	}
	span, err := time.ParseDuration(text)
	if err != nil || Time(span) < least || Time(span) > most {
		r.addError(param, "must be a duration from "+time.Duration(least).String()+" to "+time.Duration(most).String()+", such as 24h")
		return 0
	}
	return Time(span)
}
