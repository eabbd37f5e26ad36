package httpapi

import (
	"fmt"
	"net/http"
	"strconv"
	"time"
)

// What goes away is announced long before: in the feed of changes, in the document
// (deprecated, x-deprecated and x-sunset of an operation) and on every answer of the call.

// deprecationLeast is how long a call is served after it was announced to go.
const deprecationLeast = 180 * 24 * time.Hour

// deprecation is one announcement.
type deprecation struct{ since, sunset time.Time }

// deprecated are the calls that go away, by method and path. A test holds that feed and
// document say the same.
var deprecated = map[string]deprecation{}

// feedLink is where the announcement is explained.
const feedLink = `</docs/changelog.json>; rel="deprecation"; type="application/feed+json"`

// goes are the headers of every answer of a call that goes away; nil for any other.
func (r *route) goes() map[string][]string {
	d, going := deprecated[r.method+" "+r.path]
	if !going {
		return nil
	}
	return map[string][]string{
		"Deprecation": {"@" + strconv.FormatInt(d.since.Unix(), 10)}, // RFC 9745, a date of RFC 9651.
		"Sunset":      {d.sunset.UTC().Format(http.TimeFormat)},      // RFC 8594.
		"Link":        {feedLink},
	}
}

// announced tells what is wrong with announcements; told tells whether the feed has one of
// a call by then.
func announced(all map[string]deprecation, told func(call string, since time.Time) bool) error {
	for call, d := range all {
		if d.sunset.Sub(d.since) < deprecationLeast {
			return fmt.Errorf("%s is served for less than 180 days after it was announced to go", call)
		}
		if !told(call, d.since) {
			return fmt.Errorf("%s goes away and the feed of changes does not say so", call)
		}
	}
	return nil
}
