package gateway

import (
	"errors"
	"fmt"
	"maps"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"railguard/engine/permit"
)

// member is a part of a payment that a map can say.
type member struct {
	api        string // Its name in a screening call; "": it has none.
	permits    bool   // Mode permit takes it too.
	isConstant bool   // It may be the same in all requests of a route.
}

// members are the parts of a payment, by their names in a map.
var members = map[string]member{
	"token": {api: "token"}, "userToken": {api: "userToken"}, "proof": {api: "proof"},
	"amount": {"amount", true, false}, "currency": {"", true, true},
	"payee": {"cpWallet", true, false}, "payer": {"payerWallet", true, true},
	"payeeName": {api: "cpName"}, "payeeCountry": {"cpCountry", false, true},
	"chain": {"chain", true, true}, "rail": {"rail", true, true}, "ref": {"paymentRef", true, false},
}

var (
	profileShape = regexp.MustCompile(`^[a-z0-9][a-z0-9-]*$`)
	methodShape  = regexp.MustCompile(`^[A-Z]{1,16}$`)
	headerShape  = regexp.MustCompile(`^[A-Za-z0-9-]{1,64}$`)
)

// headersOfOthers are no words of the client: the gateway's own key, what the gateway or this guard says.
var headersOfOthers = []string{"authorization", "host", "content-length", partialHeader, permitHeader, verdictHeader, txnHeader, errorHeader}

const scaleMax = 18

// findings gathers what is wrong.
type findings struct{ all []error }

func (f *findings) say(at, format string, args ...any) {
	f.all = append(f.all, fmt.Errorf("%s: %s", at, fmt.Sprintf(format, args...)))
}

func (m *mapFile) check() error {
	f := &findings{}
	if m.Version != 1 {
		f.say("version", "must be 1")
	}
	if len(m.Profiles) == 0 || len(m.Profiles) > profilesMax {
		f.say("profiles", "must be 1 to %d", profilesMax)
		return errors.Join(f.all...)
	}
	for _, name := range slices.Sorted(maps.Keys(m.Profiles)) {
		at := "profiles." + name
		switch {
		case !profileShape.MatchString(name) || len(name) > nameMax:
			f.say(at, "a profile's name has 1 to %d of a-z, 0-9 and -", nameMax)
		case m.Profiles[name] == nil:
			f.say(at, "is empty")
		default:
			m.Profiles[name].check(f, at)
		}
	}
	return errors.Join(f.all...)
}

func (p *profile) check(f *findings, at string) {
	switch p.Mode {
	case modePermit:
		if p.Audience == "" || utf8.RuneCountInString(p.Audience) > permit.AudienceMax {
			f.say(at+".audience", "is required in mode permit: a permit for somebody else is none (1 to %d characters)", permit.AudienceMax)
		}
	case modeScreen:
		if p.Redeem != nil || p.Audience != "" {
			f.say(at, "redeem and audience belong to mode permit")
		}
	default:
		f.say(at+".mode", "must be permit or screen")
		return
	}
	if p.Otherwise != "" && p.Otherwise != denied && p.Otherwise != allowed {
		f.say(at+".otherwise", "must be deny or allow")
	}
	if len(p.Routes) == 0 || len(p.Routes) > routesMax {
		f.say(at+".routes", "must be 1 to %d", routesMax)
		return
	}
	for i, r := range p.Routes {
		at := at + ".routes[" + strconv.Itoa(i) + "]"
		if r == nil {
			f.say(at, "is empty")
			return
		}
		r.check(f, at, p.Mode)
		for j := range i {
			if r.overlaps(p.Routes[j]) {
				f.say(at+".match", "a request can be this one and that of routes[%d]: say for each request one thing", j)
			}
		}
	}
}

func (r *route) check(f *findings, at, mode string) {
	if !methodShape.MatchString(r.Match.Method) {
		f.say(at+".match.method", "must be a method in upper case, e.g. POST")
	}
	if r.segments = strings.Split(r.Match.Path, "/"); !isPattern(r.segments) {
		f.say(at+".match.path", `must be a path as it is sent, e.g. /v1/payouts/*: no %%, no query, no "//" or "/./", a star in place of a segment`)
	}
	if r.Allow {
		if len(r.Values)+len(r.Constants) > 0 || r.Permit != nil {
			f.say(at, "allow lets it through unasked: it has no values")
		}
		return
	}
	for _, name := range slices.Sorted(maps.Keys(r.Values)) {
		r.checkValue(f, at+"."+name, name, mode)
	}
	for _, name := range slices.Sorted(maps.Keys(r.Constants)) {
		what, known := members[name]
		switch {
		case !known || !what.isConstant || mode == modePermit && !what.permits:
			f.say(at+".constants."+name, "is not one of %s", strings.Join(memberNames(mode, true), ", "))
		case r.Values[name] != nil:
			f.say(at+".constants."+name, "is mapped too")
		case r.Constants[name] == "" || name == "currency" && r.Constants[name] != dollars:
			f.say(at+".constants."+name, "must not be empty, and currency is %s", dollars)
		}
	}
	r.checkWhole(f, at, mode)
}

// checkWhole says what is missing.
func (r *route) checkWhole(f *findings, at, mode string) {
	needed := []string{"token", "amount"}
	if mode == modePermit {
		needed = []string{"amount", "currency", "payee"}
	}
	for _, name := range needed {
		if r.Values[name] == nil && r.Constants[name] == "" {
			f.say(at+"."+name, "is required in mode %s", mode)
		}
	}
	if mode == modeScreen && r.Values["payee"] == nil && r.Values["payeeName"] == nil {
		f.say(at, "payee or payeeName is required: somebody is paid")
	}
	switch p := r.Permit; {
	case p == nil:
	case mode == modePermit:
		f.say(at+".permit", "belongs to mode screen")
	case p.TTLSeconds != 0 && (p.TTLSeconds < 60 || p.TTLSeconds > 300) || utf8.RuneCountInString(p.Audience) > permit.AudienceMax:
		f.say(at+".permit", "ttlSeconds is 60 to 300, aud has at most %d characters", permit.AudienceMax)
	}
}

func (r *route) checkValue(f *findings, at, name, mode string) {
	what, known := members[name]
	s := r.Values[name]
	switch {
	case !known || mode == modePermit && !what.permits:
		f.say(at, "is not one of %s", strings.Join(memberNames(mode, false), ", "))
		return
	case s == nil || (s.Pointer == "") == (s.Header == ""):
		f.say(at, "needs a pointer or a header, and one of them")
		return
	case s.Scale != nil && (name != "amount" || *s.Scale < 0 || *s.Scale > scaleMax):
		f.say(at+".scale", "belongs to an amount, and is 0 to %d", scaleMax)
	}
	if s.Header != "" {
		if s.Header = strings.ToLower(s.Header); !headerShape.MatchString(s.Header) || slices.Contains(headersOfOthers, s.Header) {
			f.say(at+".header", "is no header that a client says")
		}
		s.Header = http.CanonicalHeaderKey(s.Header)
		return
	}
	var sound bool
	if s.steps, sound = readPointer(s.Pointer); !sound {
		f.say(at+".pointer", "is no JSON pointer (RFC 6901), e.g. /amount/value")
	}
}

// memberNames returns what a map may say in a mode.
func memberNames(mode string, constants bool) (names []string) {
	for name, what := range members {
		if (what.permits || mode == modeScreen) && (what.isConstant || !constants) {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}
