package border

import (
	"log/slog"
	"net/http"
	"strconv"
	"time"

	"railguard/cluster/recorder"
	"railguard/fsm/wire"
	"railguard/httpapi/guest"
)

// logAccess writes one line per call. It never logs a token, a key's secret, a name or a
// query. Successful calls are logged at debug level, since a node answers thousands a
// second. Lines about refused calls are limited per second, since overload must not fill
// the disk; they have the code of the refusal, and the caller's address in the form that the
// settings say.
func (b *Border) logAccess(c *Request) {
	level := slog.LevelDebug
	if c.Status >= http.StatusBadRequest {
		level = slog.LevelInfo
	}
	if c.Status >= http.StatusInternalServerError {
		level = slog.LevelWarn
	}
	look := c.looksAt()
	if look != "" {
		c.noteLook(look)
	}
	if look == "dry_run" || look == "records" { // Programs do these all day: they are counted, and have no line of their own.
		look = ""
	}
	if look != "" && level == slog.LevelDebug {
		level = slog.LevelInfo
	}
	if c.route != nil && c.route.charge.Name == Charges[KindProbe].Name {
		level = slog.LevelDebug // A load balancer asks twice a second; tellReadiness logs each change once.
	} else {
		countRequest(c)
		b.recordOutcome(c)
	}
	if !b.log.Enabled(c.r.Context(), level) {
		return
	}
	if level > slog.LevelDebug && c.Status != http.StatusInternalServerError && look == "" && !b.refusals.Allow() {
		linesDropped.Inc() // The counters by status tell how many there were.
		return
	}
	members := []slog.Attr{
		slog.String("method", safeMethod(c.r.Method)), slog.String("route", c.routePath()), slog.Int("status", c.Status),
		slog.Duration("took", time.Since(c.Start)), slog.String("requestId", c.Asked.RequestID),
		slog.String("keyId", c.KeyID()), slog.String("txnId", c.TxnID), slog.String("traceId", c.Asked.Trace),
	}
	if c.Status >= http.StatusBadRequest {
		members = append(members, slog.String("code", c.code))
	}
	switch {
	case look != "": // Who looked is asked later, and is one of the institution's own.
		members = append(members, slog.String("look", look), slog.String("address", b.ClientAddress(c.r).String()))
	case c.Status >= http.StatusBadRequest && b.deps.Addresses != NoAddresses:
		members = append(members, slog.String("address", b.deps.Addresses.shown(b.ClientAddress(c.r), b.addressKey)))
	}
	b.log.LogAttrs(c.r.Context(), level, "request", members...)
}

// routePath returns the pattern of the call's route; "": it has none.
func (c *Request) routePath() string {
	if c.route == nil {
		return ""
	}
	return c.route.Path
}

// recordOutcome counts a refused call by code and route, and records a call that changed the
// settings, the keys or the members of the cluster.
func (b *Border) recordOutcome(c *Request) {
	record := b.deps.Recorder
	switch {
	case c.Status >= http.StatusBadRequest:
		if c.code == "" {
			c.code = "http_" + strconv.Itoa(c.Status) // A handler wrote the whole answer.
		}
		countRefusal(c.code, c.routePath())
		record.CountRefusal(c.code, c.routePath())
	case c.Status != 0 && c.r.Method != http.MethodGet && c.r.Method != http.MethodHead && c.route.changesHouse():
		record.Note(recorder.Entry{Kind: recorder.Change, Text: c.route.Method + " " + c.route.Path + " by " + c.KeyID()})
	}
}

// changesHouse reports whether a route is for those alone who run the service: settings, lists,
// keys and members.
func (r *Route) changesHouse() bool {
	const house = wire.RolePolicy | wire.RoleOps | wire.RoleAdmin
	return r != nil && r.Roles != 0 && r.Roles&^house == 0
}

// looksAt says what an answered call looked at, where somebody may ask later who looked: at
// suspicion, at an export, for a name, at a sign-in, or with the admin token of this machine. Each
// such call is counted (noteLook), and but for dry runs and reads of records it has its line in
// the log of the node, whatever the rate of lines. Every use of the admin token counts; other
// refused calls showed nothing. A screening looks at nothing, and is asked first.
func (c *Request) looksAt() string {
	switch {
	case c.Key == nil || c.route == nil:
		return ""
	case c.Key.ID == AdminTokenID:
		return "admin_token"
	case c.route.Look == "" || c.Status >= http.StatusBadRequest:
		return ""
	case c.route.Look == "sign_in" && !guest.SignsIn(c.r.Context()):
		return ""
	case c.route.Look == "records" && c.r.URL.Query().Has("name"):
		return "names"
	case c.route.Look == "records" && !c.Key.SeesAll():
		return ""
	}
	return c.route.Look
}
