package gateway

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"go.yaml.in/yaml/v3"
)

func readTestMap(t *testing.T) *Map {
	file, err := os.Open("testdata/map.yaml")
	require.NoError(t, err)
	defer file.Close()
	m, err := ReadMap(file)
	require.NoError(t, err)
	return m
}

// Parts of the maps below.
const (
	permits = "version: 1\nprofiles:\n  p:\n    mode: permit\n    audience: a\n    routes:\n"
	screens = "version: 1\nprofiles:\n  p:\n    mode: screen\n    routes:\n"
	pay     = "    - match: {method: POST, path: /pay}\n"
	three   = "      amount: {pointer: /a}\n      currency: {pointer: /c}\n      payee: {pointer: /p}\n"
	two     = "      token: {header: t}\n      amount: {pointer: /a}\n      payee: {pointer: /p}\n"
)

// wrongMaps are maps by what is wrong with them; "": nothing is.
var wrongMaps = map[string]string{
	permits + pay + three:                                                    "",
	screens + pay + two:                                                      "",
	"":                                                                       "EOF",
	"version: 2\nprofiles: {}":                                               "version: must be 1",
	permits + pay + three + "---\n":                                          "one document",
	permits + pay + three + "version: 1\n":                                   "already defined",
	strings.Repeat("#", mapMax+1):                                            "larger than",
	"version: 1\nprofiles: {}":                                               "profiles: must be",
	"version: 1\nprofiles: {p: }":                                            "profiles.p: is empty",
	"version: 1\nprofiles: {P/q: {mode: screen}}":                            "a profile's name",
	"version: 1\nprofiles: {p: {mode: both}}":                                "profiles.p.mode",
	"version: 1\nprofiles: {p: {mode: screen}}":                              "profiles.p.routes",
	"version: 1\nprofiles: {p: {mode: screen, x: 1}}":                        "field x not found",
	"version: 1\nprofiles: {p: {mode: screen, routes: [null]}}":              "routes[0]: is empty",
	strings.Replace(permits, "    audience: a\n", "", 1) + pay + three:       "audience: is required",
	strings.Replace(permits, "audience: a", "audience: ''", 1) + pay + three: "audience: is required",
	strings.Replace(screens, "mode: screen", "mode: screen\n    audience: a", 1) + pay + two:      "belong to mode permit",
	strings.Replace(screens, "mode: screen", "mode: screen\n    redeem: true", 1) + pay + two:     "belong to mode permit",
	strings.Replace(screens, "mode: screen", "mode: screen\n    otherwise: maybe", 1) + pay + two: "otherwise: must be",
	permits + "    - match: {method: post, path: /pay}\n" + three:                                 "match.method",
	permits + "    - match: {method: POST, path: pay}\n" + three:                                  "match.path",
	permits + "    - match: {method: POST, path: /pay/}\n" + three:                                "",
	permits + "    - match: {method: POST, path: /a//b}\n" + three:                                "match.path",
	permits + "    - match: {method: POST, path: /a/../b}\n" + three:                              "match.path",
	permits + "    - match: {method: POST, path: '/a%2fb'}\n" + three:                             "match.path",
	permits + "    - match: {method: POST, path: '/a?b=c'}\n" + three:                             "match.path",
	permits + "    - match: {method: POST, path: '/a/b*'}\n" + three:                              "match.path",
	permits + "    - match: {method: POST, path: '/a/*/*'}\n" + three:                             "",
	permits + "    - match: {method: POST, path: /pay, host: x}\n" + three:                        "field host not found",
	permits + pay + three + "    - match: {method: POST, path: '/*'}\n" + three:                   "routes[1].match: a request can be this one and that of routes[0]",
	permits + pay + three + "    - match: {method: GET, path: '/*'}\n      allow: true\n":         "",
	permits + pay + three + "    - match: {method: POST, path: '/*/x'}\n      allow: true\n":      "",
}

// wrongRoutes are maps with routes, likewise.
var wrongRoutes = map[string]string{
	permits + pay + "      allow: true\n" + three:                                                      "allow lets it through unasked",
	permits + pay + strings.Replace(three, "payee", "payer", 1):                                        "routes[0].payee: is required",
	permits + pay + strings.Replace(three, "currency", "rail", 1):                                      "routes[0].currency: is required",
	permits + pay + strings.Replace(three, "currency: {pointer: /c}", "constants: {currency: USD}", 1): "",
	permits + pay + three + "      token: {header: t}\n":                                               "token: is not one of amount, chain, currency, payee, payer, rail, ref",
	permits + pay + three + "      payeeName: {pointer: /n}\n":                                         "payeeName: is not one of",
	permits + pay + three + "      amuont: {pointer: /n}\n":                                            "amuont: is not one of",
	permits + pay + three + "      permit: {}\n":                                                       "permit: belongs to mode screen",
	permits + pay + three + "      payer: {}\n":                                                        "payer: needs a pointer or a header",
	permits + pay + three + "      payer: \n":                                                          "payer: needs a pointer or a header",
	permits + pay + three + "      payer: {pointer: /x, header: y}\n":                                  "and one of them",
	permits + pay + three + "      payer: {pointer: x}\n":                                              "payer.pointer",
	permits + pay + three + "      payer: {pointer: /~2}\n":                                            "payer.pointer",
	permits + pay + three + "      payer: {pointer: /x, scale: 2}\n":                                   "scale: belongs to an amount",
	permits + pay + strings.Replace(three, "/a}", "/a, scale: 19}", 1):                                 "amount.scale",
	permits + pay + strings.Replace(three, "/a}", "/a, scale: -1}", 1):                                 "amount.scale",
	permits + pay + three + "      payer: {header: Authorization}\n":                                   "payer.header",
	permits + pay + three + "      payer: {header: X-Railguard-Txn}\n":                                 "payer.header",
	permits + pay + three + "      payer: {header: 'a b'}\n":                                           "payer.header",
	permits + pay + three + "      constants: {payer: x, chain: BASE}\n":                               "",
	permits + pay + three + "      constants: {payeeCountry: FR}\n":                                    "constants.payeeCountry",
	permits + pay + three + "      constants: {ref: x}\n":                                              "constants.ref",
	permits + pay + three + "      constants: {currency: USD}\n":                                       "is mapped too",
	permits + pay + strings.Replace(three, "currency: {pointer: /c}", "constants: {currency: EUR}", 1): "currency is USD",
	permits + pay + three + "      constants: {chain: ''}\n":                                           "must not be empty",
	screens + pay + strings.Replace(two, "token", "userToken", 1):                                      "token: is required",
	screens + pay + strings.Replace(two, "payee", "payer", 1):                                          "payee or payeeName is required",
	screens + pay + strings.Replace(two, "payee", "payeeName", 1):                                      "",
	screens + pay + two + "      permit: {ttlSeconds: 59}\n":                                           "permit: ttlSeconds",
	screens + pay + two + "      permit: {ttlSeconds: 301}\n":                                          "permit: ttlSeconds",
	screens + pay + two + "      permit: {ttl: 60}\n":                                                  "field ttl not found",
	screens + pay + two + "      permit: {}\n":                                                         "",
}

// A map that says less or more than its writer means is refused, and the error says where.
func TestWrongMaps(t *testing.T) {
	for _, maps := range []map[string]string{wrongMaps, wrongRoutes} {
		for text, wrong := range maps {
			_, err := ReadMap(strings.NewReader(text))
			if wrong == "" {
				require.NoError(t, err, text)
				continue
			}
			require.ErrorContains(t, err, wrong, text)
		}
	}
}

// All that is wrong is said at once.
func TestEveryFaultIsTold(t *testing.T) {
	_, err := ReadMap(strings.NewReader("version: 3\nprofiles: {p: {mode: x}, q: {mode: y}}"))
	require.Equal(t, "version: must be 1\nprofiles.p.mode: must be permit or screen\nprofiles.q.mode: must be permit or screen", err.Error())
}

// The map of the vectors, which stand beside the project, is a good one.
func TestVectorsMap(t *testing.T) {
	dir, err := os.Getwd()
	require.NoError(t, err)
	for ; ; dir = filepath.Dir(dir) {
		file, err := os.Open(filepath.Join(dir, "shared", "spec", "integrations", "permit", "vectors", "gateway", "gateway-map.yaml"))
		if err == nil {
			defer file.Close()
			m, err := ReadMap(file)
			require.NoError(t, err)
			profiles, routes := m.Size()
			require.Equal(t, []int{2, 3}, []int{profiles, routes})
			require.Len(t, m.Digest, 64)
			return
		}
		if dir == filepath.Dir(dir) {
			t.Skip("the vectors are not beside the project")
		}
	}
}

// The files that operators begin with are good ones, and go together.
func TestDeployedFiles(t *testing.T) {
	file, err := os.Open("../../deploy/envoy/gateway-map.yaml")
	require.NoError(t, err)
	defer file.Close()
	m, err := ReadMap(file)
	require.NoError(t, err)
	envoy, err := os.ReadFile("../../deploy/envoy/envoy.yaml")
	require.NoError(t, err)
	require.NoError(t, yaml.Unmarshal(envoy, new(map[string]any)))
	profile := regexp.MustCompile(`path_prefix: /ext-authz/(\S+)`).FindStringSubmatch(string(envoy))
	require.NotNil(t, m.profiles[profile[1]])
	for _, p := range m.profiles {
		for _, r := range p.Routes {
			for name, s := range r.Values {
				if s.Header != "" {
					require.Contains(t, string(envoy), "- {exact: "+strings.ToLower(s.Header)+"}", "the gateway must send %s", name)
				}
			}
		}
	}
	require.Contains(t, string(envoy), "failure_mode_allow: false")
	require.Contains(t, string(envoy), "{exact: content-type}")
}

// What two servers could read differently is no path of a route, and none that is let through.
func TestPaths(t *testing.T) {
	m := readTestMap(t)
	for call, want := range map[string]string{
		"POST payouts/v1/payouts":                    "POST /v1/payouts",
		"GET payouts/v1/payouts/po_1":                "GET /v1/payouts/*",
		"GET payouts/v1/payouts/":                    requestUnmapped, // A star is one segment.
		"GET payouts/v1/payouts/a/b":                 requestUnmapped,
		"GET payouts/v1/payouts":                     requestUnmapped,
		"POST payouts/v1/payouts/":                   requestUnmapped,
		"POST payouts/v1/Payouts":                    requestUnmapped,
		"post payouts/v1/payouts":                    requestUnmapped,
		"POST payouts/v1/payouts?":                   requestUnmapped,
		"POST payouts/v1/payouts?x=1":                requestUnmapped,
		"GET payouts/v1/payouts/po_1?x=1":            requestUnmapped,
		"POST payouts//v1/payouts":                   requestUnmapped,
		"POST payouts/v1//payouts":                   requestUnmapped,
		"POST payouts/v1/./payouts":                  requestUnmapped,
		"POST payouts/x/../v1/payouts":               requestUnmapped,
		"POST payouts/v1%2fpayouts":                  requestUnmapped,
		"POST payouts/v1/%70ayouts":                  requestUnmapped,
		"GET payouts/v1/payouts/%2e%2e":              requestUnmapped,
		"GET payouts/v1/payouts/..":                  requestUnmapped,
		"GET payouts/v1/payouts/a;b":                 requestUnmapped,
		`GET payouts/v1/payouts/a\b`:                 requestUnmapped,
		"GET payouts/v1/payouts/*":                   requestUnmapped,
		"GET payouts/v1/payouts/é":                   requestUnmapped,
		"GET payouts/v1/payouts/a#b":                 requestUnmapped,
		"POST payouts":                               requestUnmapped,
		"POST payouts%2fv1/payouts":                  requestUnmapped,
		"POST nobody/v1/payouts":                     requestUnmapped,
		"POST /v1/payouts":                           requestUnmapped,
		"POST agents/../payouts/v1":                  requestUnmapped,
		"POST look/pay":                              "POST /pay",
		"GET look/pay":                               unasked,
		"GET look/":                                  unasked,
		"GET look/other?x=1":                         unasked,
		"POST look/pay/":                             requestUnmapped, // It could be the one that pays.
		"POST look/PAY":                              requestUnmapped,
		"post look/pay":                              requestUnmapped,
		"POST look/pay%20":                           requestUnmapped,
		"GET look/a%20b":                             requestUnmapped,
		"GET look//pay":                              requestUnmapped,
		"GET look/" + strings.Repeat("a", pathMax-1): unasked,
		"GET look/" + strings.Repeat("a", pathMax):   requestUnmapped,
	} {
		method, target, _ := strings.Cut(call, " ")
		_, r, said := m.find(method, target)
		var got string
		if r != nil {
			got = r.Match.Method + " " + r.Match.Path
		} else {
			got = said.outcome
		}
		require.Equal(t, want, got, call)
	}
}
