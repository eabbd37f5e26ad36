package border

import (
	"net"
	"net/http"
	"net/netip"
	"slices"
	"strings"

	"railguard/engine"
)

// listener is one mux with the border's checks in front.
type listener struct {
	border *Border
	mux    *http.ServeMux
	retro  *http.ServeMux // Serves the paths below RetroReports.

	isAdmin bool
}

// resource holds all methods of one path.
type resource struct {
	border *Border
	path   string
	routes []Route
	allow  string
}

func newListener(b *Border, routes []Route, admin bool) *listener {
	l := &listener{border: b, mux: http.NewServeMux(), retro: http.NewServeMux(), isAdmin: admin}
	byPath := make(map[string]*resource)
	var order []*resource
	for _, r := range routes {
		r.admin, r.charge, r.ground = admin, ChargeOf(&r), GroundOf(r.Method, r.Path)
		if r.Max == 0 {
			r.Max = engine.BodyMax
		}
		known := byPath[r.Path]
		if known == nil {
			known = &resource{border: b, path: r.Path}
			byPath[r.Path] = known
			order = append(order, known)
		}
		known.routes = append(known.routes, r)
	}
	for _, res := range order {
		res.allow = allowedMethods(res.routes)
		if strings.HasPrefix(res.path, RetroReports) {
			l.retro.Handle(res.path, res)
			continue
		}
		l.mux.Handle(res.path, res)
	}
	l.mux.Handle("/", &resource{border: b, path: ""})
	l.retro.Handle("/", &resource{border: b, path: ""})
	return l
}

func allowedMethods(routes []Route) string {
	var methods []string
	for _, r := range routes {
		methods = append(methods, r.Method)
		if r.Method == http.MethodGet {
			methods = append(methods, http.MethodHead)
		}
	}
	return strings.Join(methods, ", ")
}

// ServeHTTP refuses requests that a proxy and a server could read differently, and every
// path that is not exactly one of ours: ServeMux would answer those with a redirect.
func (l *listener) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if err := checkBorder(r); err != nil {
		w.Header().Set("Connection", "close") // The bytes that follow on this connection are ambiguous as well.
		l.border.refuseRequest(w, r, err)
		return
	}
	if !exactPath(r) {
		l.border.refuseRequest(w, r, NotFound("no such path"))
		return
	}
	if l.isAdmin && r.Header.Get("Authorization") == "" && !hasCertificate(r) && !isHouseName(r.Host) {
		l.border.refuseRequest(w, r, NewError(http.StatusForbidden, "forbidden", "the admin listener is asked by its address, or by a name of the house's own"))
		return
	}
	if strings.HasPrefix(r.URL.Path, RetroReports) {
		if id := r.URL.Path[len(RetroReports):]; !strings.Contains(id, "/") {
			l.retro.ServeHTTP(w, r)
			return
		}
	}
	l.mux.ServeHTTP(w, r)
}

// ServeHTTP finds the method's route and runs the call.
func (res *resource) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if len(res.routes) == 0 {
		res.border.refuseRequest(w, r, NotFound("no such path"))
		return
	}
	for i := range res.routes {
		route := &res.routes[i]
		if route.Method == r.Method || route.Method == http.MethodGet && r.Method == http.MethodHead {
			res.border.Serve(w, r, route)
			return
		}
	}
	refused := NewError(http.StatusMethodNotAllowed, "method_not_allowed", "this path does not take "+safeMethod(r.Method))
	refused.Allow = res.allow
	res.border.refuseRequest(w, r, refused)
}

func safeMethod(method string) string {
	if len(method) > 16 {
		return "this method"
	}
	return method
}

// checkBorder refuses ambiguous requests (decision 61, no. 18).
func checkBorder(r *http.Request) error {
	size := 0
	for name, values := range r.Header {
		for _, value := range values {
			size += len(name) + len(value) + 4
		}
	}
	if size > engine.HeaderMax {
		return NewError(http.StatusRequestHeaderFieldsTooLarge, "headers_too_large", "the headers are larger than 16 KiB")
	}
	if r.Method == http.MethodConnect || r.RequestURI != "" && r.RequestURI[0] != '/' {
		return NewError(http.StatusBadRequest, "bad_request", "the request target must be a path")
	}
	if len(r.Header["Authorization"]) > 1 || len(r.Header["Content-Type"]) > 1 || len(r.Header["Host"]) > 0 {
		return NewError(http.StatusBadRequest, "bad_request", "a header that must be single stands twice")
	}
	return nil
}

// hasCertificate reports whether the client showed a certificate, which no page of a stranger
// can make a browser do unasked. Off loopback every client of the admin listener shows one.
func hasCertificate(r *http.Request) bool { return r.TLS != nil && len(r.TLS.PeerCertificates) > 0 }

// isHouseName reports whether a request's host cannot be a public name that a stranger made to
// lead here (DNS rebinding): it is an address, a name without a dot, or ends in a domain that
// nobody can register.
func isHouseName(host string) bool {
	if name, _, err := net.SplitHostPort(host); err == nil {
		host = name
	}
	host = strings.ToLower(strings.TrimSuffix(strings.Trim(host, "[]"), "."))
	if _, err := netip.ParseAddr(host); err == nil || !strings.Contains(host, ".") {
		return true
	}
	return slices.ContainsFunc([]string{".localhost", ".local", ".internal", ".svc", ".home.arpa"}, func(end string) bool { return strings.HasSuffix(host, end) })
}

// exactPath refuses escapes, doubled slashes, dot segments and trailing
// slashes: no path of ours needs them.
func exactPath(r *http.Request) bool {
	path := r.URL.Path
	if r.URL.RawPath != "" || len(path) == 0 || path[0] != '/' || len(path) > 1 && path[len(path)-1] == '/' {
		return false
	}
	if strings.Contains(r.URL.EscapedPath(), "%") || strings.Contains(path, "//") {
		return false
	}
	return !strings.Contains(path+"/", "/./") && !strings.Contains(path+"/", "/../")
}

// RetroReports is the prefix of report paths. ServeMux cannot tell them from those of a
// list, /v1/ofac/{id}/diff, so they have a mux of their own; no list has that id.
const RetroReports = "/v1/ofac/retro/"
