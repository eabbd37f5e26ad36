package fetch

import (
	"context"
	"crypto/x509"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"railguard/ofac/feed"
)

var loopback = []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}

// server starts an HTTPS server on loopback. It returns a source with one origin of the
// given files; the source trusts the server and may dial it.
func server(t *testing.T, handler http.HandlerFunc, files ...string) Source {
	t.Helper()
	s := quiet(httptest.NewUnstartedServer(handler))
	t.Cleanup(s.Close)
	roots := x509.NewCertPool()
	roots.AddCert(s.Certificate())
	if len(files) == 0 {
		files = []string{"SDN_ENHANCED.XML"}
	}
	return Source{Origins: []Origin{Mirror(s.URL, files...)}, Allowed: loopback, Roots: roots,
		Timeout: time.Minute, StallTimeout: time.Minute}
}

// quiet starts a TLS server that logs nothing, because tests break connections on purpose.
func quiet(s *httptest.Server) *httptest.Server {
	s.Config.ErrorLog = log.New(io.Discard, "", 0)
	s.StartTLS()
	return s
}

func reply(text string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, text) }
}

func TestFetch(t *testing.T) {
	var agents atomic.Value
	source := server(t, func(w http.ResponseWriter, r *http.Request) {
		agents.Store(r.Header.Get("User-Agent") + "|" + r.Header.Get("Accept-Encoding"))
		w.Header().Set("ETag", `"v1-`+r.URL.Path+`"`)
		fmt.Fprint(w, "content of "+r.URL.Path)
	}, "SDN_ENHANCED.ZIP", "CONS_ENHANCED.ZIP")
	result, err := Fetch(t.Context(), source)
	require.NoError(t, err)
	require.Equal(t, "mirror", result.Origin)
	require.False(t, result.NotModified)
	require.Equal(t, []feed.File{
		{Name: "SDN_ENHANCED.ZIP", Data: []byte("content of /SDN_ENHANCED.ZIP")},
		{Name: "CONS_ENHANCED.ZIP", Data: []byte("content of /CONS_ENHANCED.ZIP")},
	}, result.Files)
	require.Equal(t, `"v1-/SDN_ENHANCED.ZIP"`, result.Tags[0].ETag)
	require.Equal(t, UserAgentDefault+"|identity", agents.Load())

	source.UserAgent = "examiner"
	_, err = Fetch(t.Context(), source)
	require.NoError(t, err)
	require.Equal(t, "examiner|identity", agents.Load())
}

func TestWithoutUserAgentIsRefusedByOFAC(t *testing.T) {
	source := server(t, func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("User-Agent") == "" || strings.HasPrefix(r.Header.Get("User-Agent"), "Go-http-client") {
			w.WriteHeader(http.StatusForbidden)
			return
		}
		fmt.Fprint(w, "x")
	})
	_, err := Fetch(t.Context(), source)
	require.NoError(t, err)
}

func TestNotModified(t *testing.T) {
	version := "1"
	var full atomic.Int32
	source := server(t, func(w http.ResponseWriter, r *http.Request) {
		tag := `"` + r.URL.Path + `"`
		if r.URL.Path == "/SDN_ENHANCED.XML" {
			tag = `"` + r.URL.Path + version + `"`
		}
		w.Header().Set("ETag", tag)
		if r.Header.Get("If-None-Match") == tag {
			w.WriteHeader(http.StatusNotModified)
			return
		}
		full.Add(1)
		fmt.Fprint(w, r.URL.Path+version)
	}, "SDN_ENHANCED.XML", "CONS_ENHANCED.XML")

	first, err := Fetch(t.Context(), source)
	require.NoError(t, err)
	require.EqualValues(t, 2, full.Load())

	source.Known = first.Tags
	same, err := Fetch(t.Context(), source)
	require.NoError(t, err)
	require.True(t, same.NotModified)
	require.Empty(t, same.Files)
	require.Equal(t, first.Tags, same.Tags)
	require.EqualValues(t, 2, full.Load())

	version = "2" // One of two files changes: both are fetched, since a list is read as a whole.
	changed, err := Fetch(t.Context(), source)
	require.NoError(t, err)
	require.False(t, changed.NotModified)
	require.Len(t, changed.Files, 2)
	require.Equal(t, "/SDN_ENHANCED.XML2", string(changed.Files[0].Data))
	require.EqualValues(t, 4, full.Load())
}

func TestLastModified(t *testing.T) {
	const date = "Tue, 03 Feb 2026 10:00:00 GMT"
	source := server(t, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Last-Modified", date)
		if r.Header.Get("If-Modified-Since") == date {
			w.WriteHeader(http.StatusNotModified)
			return
		}
		fmt.Fprint(w, "x")
	})
	first, err := Fetch(t.Context(), source)
	require.NoError(t, err)
	source.Known = first.Tags
	same, err := Fetch(t.Context(), source)
	require.NoError(t, err)
	require.True(t, same.NotModified)
}

func TestWildTagsAreNotKept(t *testing.T) {
	source := server(t, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("ETag", `"`+strings.Repeat("x", TagBytesMax)+`"`)
		w.Header().Set("Last-Modified", "caf\xe9")
		fmt.Fprint(w, "x")
	})
	result, err := Fetch(t.Context(), source)
	require.NoError(t, err)
	require.Equal(t, []Tag{{URL: source.Origins[0].Files[0].URL}}, result.Tags)
}

func TestStatuses(t *testing.T) {
	for name, handler := range map[string]http.HandlerFunc{
		"forbidden":    func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusForbidden) },
		"not found":    func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNotFound) },
		"out of order": func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusServiceUnavailable) },
		"no content":   func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNoContent) },
		"a part": func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(http.StatusPartialContent)
			fmt.Fprint(w, "x")
		},
		"uncalled-for 304":   func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNotModified) },
		"redirect to no-one": func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusMultipleChoices) },
	} {
		t.Run(name, func(t *testing.T) {
			_, err := Fetch(t.Context(), server(t, handler))
			require.ErrorIs(t, err, ErrStatus)
			require.ErrorIs(t, err, ErrOrigins)
			require.ErrorContains(t, err, "mirror: SDN_ENHANCED.XML")
		})
	}
	_, err := Fetch(t.Context(), server(t, reply("")))
	require.ErrorIs(t, err, ErrEmpty)
}

func TestRedirects(t *testing.T) {
	storage := quiet(httptest.NewUnstartedServer(reply("stored")))
	t.Cleanup(storage.Close)
	for name, test := range map[string]struct {
		target string
		want   error
	}{
		"to signed storage":           {storage.URL + "/bucket?X-Amz-Signature=secret", nil},
		"to plain http":               {"http://" + storage.Listener.Addr().String() + "/x", ErrRedirect},
		"to another scheme":           {"file:///etc/passwd", ErrRedirect},
		"with a user name":            {"https://user:secret@" + storage.Listener.Addr().String() + "/", ErrRedirect},
		"to a private network":        {"https://10.0.0.1/?k=secret", ErrAddress},
		"to another private network":  {"https://192.168.1.1/", ErrAddress},
		"to cloud metadata":           {"https://169.254.169.254/latest/meta-data/", ErrAddress},
		"to IPv6 loopback":            {"https://[::1]/", ErrAddress},
		"to mapped IPv4":              {"https://[::ffff:10.0.0.1]/", ErrAddress},
		"to a number":                 {"https://167772161/", ErrAddress},
		"to a name in a private net":  {"https://inside.example/", ErrAddress},
		"to a name with two sides":    {"https://twosided.example/", ErrAddress},
		"to a name that is not there": {"https://nowhere.example/", errNoSuchHost},
		"without end":                 {"/again", ErrRedirect},
	} {
		t.Run(name, func(t *testing.T) {
			source := server(t, func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, test.target, http.StatusFound) })
			source.Roots.AddCert(storage.Certificate())
			source.Resolve = resolver
			result, err := Fetch(t.Context(), source)
			if test.want == nil {
				require.NoError(t, err)
				require.Equal(t, "stored", string(result.Files[0].Data))
				return
			}
			require.ErrorIs(t, err, test.want)
			require.NotContains(t, err.Error(), "secret")
		})
	}
}

var errNoSuchHost = fmt.Errorf("no such host")

// resolver knows three names and reads a lone number as the C library does.
func resolver(_ context.Context, host string) ([]netip.Addr, error) {
	switch host {
	case "inside.example", "167772161":
		return []netip.Addr{netip.MustParseAddr("10.0.0.1")}, nil
	case "twosided.example":
		return []netip.Addr{netip.MustParseAddr("8.8.8.8"), netip.MustParseAddr("10.0.0.1")}, nil
	case "mirror.example":
		return []netip.Addr{netip.MustParseAddr("127.0.0.1")}, nil
	}
	return nil, errNoSuchHost
}

func TestOwnURLs(t *testing.T) {
	plain := httptest.NewServer(reply("plain"))
	t.Cleanup(plain.Close)
	origin := Mirror(plain.URL, "SDN_ENHANCED.XML")
	source := Source{Origins: []Origin{origin}}
	_, err := Fetch(t.Context(), source)
	require.ErrorIs(t, err, ErrURL) // Plain http is not allowed by default.

	source.Origins[0].PlainHTTP = true
	_, err = Fetch(t.Context(), source)
	require.ErrorIs(t, err, ErrAddress) // Loopback is not allowed by default.

	source.Allowed = loopback
	result, err := Fetch(t.Context(), source)
	require.NoError(t, err) // Both are allowed now.
	require.Equal(t, "plain", string(result.Files[0].Data))

	for _, address := range []string{"ftp://example.com/x", "https://user@example.com/x", "https:///x", "no url", "https://exa mple.com/", ":"} {
		source.Origins[0].Files = []Location{{"SDN_ENHANCED.XML", address}}
		_, err = Fetch(t.Context(), source)
		require.ErrorIs(t, err, ErrURL, address)
	}
	source.Origins[0].Files = nil
	_, err = Fetch(t.Context(), source)
	require.ErrorContains(t, err, "0 files")
}

// An operator's mirror may have a private address. The target of its redirect may not, and
// metadata addresses are never allowed.
func TestPrivateMirror(t *testing.T) {
	elsewhere := quiet(httptest.NewUnstartedServer(reply("elsewhere")))
	t.Cleanup(elsewhere.Close)
	target := ""
	source := server(t, func(w http.ResponseWriter, r *http.Request) {
		if target != "" && !strings.HasSuffix(r.URL.Path, "/moved") {
			http.Redirect(w, r, target, http.StatusFound)
			return
		}
		fmt.Fprint(w, "mirrored")
	})
	source.Roots.AddCert(elsewhere.Certificate())
	source.Allowed, source.Resolve = nil, resolver
	_, err := Fetch(t.Context(), source)
	require.ErrorIs(t, err, ErrAddress, "nobody said that it is a mirror")

	source.Origins[0].Private = true
	result, err := Fetch(t.Context(), source)
	require.NoError(t, err)
	require.Equal(t, "mirrored", string(result.Files[0].Data))

	target = "/moved" // The mirror may redirect to itself.
	_, err = Fetch(t.Context(), source)
	require.NoError(t, err)
	for _, target = range []string{
		elsewhere.URL + "/x", "https://127.0.0.1/x", "https://10.0.0.1/", "https://169.254.169.254/", "https://[::1]/", "https://[::ffff:127.0.0.1]/",
		"https://inside.example/", "https://mirror.example/x",
	} {
		_, err = Fetch(t.Context(), source)
		require.ErrorIs(t, err, ErrAddress, target)
	}
	target = ""
	for _, address := range []string{"https://169.254.169.254/SDN_ENHANCED.XML", "https://[fe80::1]/SDN_ENHANCED.XML", "https://0.0.0.0/SDN_ENHANCED.XML"} {
		source.Origins[0].Files = []Location{{"SDN_ENHANCED.XML", address}}
		_, err = Fetch(t.Context(), source)
		require.ErrorIs(t, err, ErrAddress, address)
	}
}

// A certificate of an unknown authority is refused.
func TestTLS(t *testing.T) {
	source := server(t, reply("x"))
	source.Roots = x509.NewCertPool()
	_, err := Fetch(t.Context(), source)
	var unknown x509.UnknownAuthorityError
	require.ErrorAs(t, err, &unknown)
}

func TestPermitted(t *testing.T) {
	for text, want := range map[string]bool{
		"8.8.8.8": true, "104.18.0.1": true, "2606:4700::1": true, "::ffff:8.8.8.8": true,
		"0.0.0.0": false, "10.1.2.3": false, "100.64.0.1": false, "100.127.255.255": false, "100.128.0.0": true,
		"127.0.0.1": false, "127.255.255.255": false, "169.254.169.254": false, "172.15.255.255": true, "172.16.0.0": false,
		"172.31.255.255": false, "172.32.0.0": true, "192.0.0.8": false, "192.168.0.1": false, "198.18.0.1": false,
		"198.20.0.1": true, "203.0.113.5": false, "224.0.0.1": false, "240.0.0.1": false, "255.255.255.255": false,
		"::": false, "::1": false, "::ffff:127.0.0.1": false, "::ffff:10.0.0.1": false, "::10.0.0.1": false,
		"64:ff9b::a00:1": false, "2002:a00:1::": false, "2001::1": false, "fc00::1": false, "fd12::1": false, "fe80::1": false,
		"fe80::1%eth0": false, "ff02::1": false, "2001:db8::1": false,
	} {
		require.Equal(t, want, isPermitted(netip.MustParseAddr(text), nil), text)
	}
	require.False(t, isPermitted(netip.Addr{}, nil))
	require.True(t, isPermitted(netip.MustParseAddr("::ffff:127.0.0.1"), loopback))
	require.False(t, isPermitted(netip.MustParseAddr("10.0.0.1"), loopback))
}

func TestSizes(t *testing.T) {
	announced := server(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Length", fmt.Sprint(FileBytesMax+1))
		w.WriteHeader(http.StatusOK)
	})
	_, err := Fetch(t.Context(), announced)
	require.ErrorIs(t, err, ErrTooLarge)
	require.ErrorContains(t, err, "268435457 bytes announced")

	// The bytes left of the total bound what is read.
	source := withDefaults(server(t, func(w http.ResponseWriter, _ *http.Request) {
		w.(http.Flusher).Flush() // Chunked: the server announces no length.
		fmt.Fprint(w, "12345678")
	}))
	d := &download{source: &source, origin: &source.Origins[0], client: newClient(&source, &source.Origins[0]), left: 8}
	t.Cleanup(d.client.CloseIdleConnections)
	got, err := d.getFile(t.Context(), source.Origins[0].Files[0], Tag{})
	require.NoError(t, err)
	require.Equal(t, "12345678", string(got.data))
	require.Zero(t, d.left)
	d.left = 7
	_, err = d.getFile(t.Context(), source.Origins[0].Files[0], Tag{})
	require.ErrorIs(t, err, ErrTooLarge)
}

// One server announces more than it sends. Another breaks off the connection.
func TestContentThatChangesLength(t *testing.T) {
	for name, handler := range map[string]http.HandlerFunc{
		"shorter than announced": func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Length", "100")
			fmt.Fprint(w, "only this")
		},
		"broken off": func(w http.ResponseWriter, _ *http.Request) {
			fmt.Fprint(w, "the beginning")
			w.(http.Flusher).Flush()
			panic(http.ErrAbortHandler)
		},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := Fetch(t.Context(), server(t, handler))
			require.ErrorIs(t, err, ErrOrigins)
			require.ErrorContains(t, err, "after ")
		})
	}
}

// These servers never finish. They end when the client hangs up, so no test waits for a
// clock of its own.
func TestSlowServers(t *testing.T) {
	t.Run("no header", func(t *testing.T) {
		source := server(t, func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() })
		source.StallTimeout = 50 * time.Millisecond
		_, err := Fetch(t.Context(), source)
		require.ErrorIs(t, err, ErrOrigins)
	})
	t.Run("stands still", func(t *testing.T) {
		source := server(t, func(w http.ResponseWriter, r *http.Request) {
			fmt.Fprint(w, "the beginning")
			w.(http.Flusher).Flush()
			<-r.Context().Done()
		})
		source.StallTimeout = 200 * time.Millisecond
		_, err := Fetch(t.Context(), source)
		require.ErrorIs(t, err, ErrStalled)
		require.ErrorContains(t, err, "after 13 bytes")
	})
	t.Run("drips for ever", func(t *testing.T) {
		source := server(t, func(w http.ResponseWriter, r *http.Request) {
			for r.Context().Err() == nil {
				if _, err := fmt.Fprint(w, "."); err != nil {
					return
				}
				w.(http.Flusher).Flush()
			}
		})
		source.Timeout = 300 * time.Millisecond
		_, err := Fetch(t.Context(), source)
		require.ErrorIs(t, err, context.DeadlineExceeded)
	})
	t.Run("cancelled by the caller", func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		source := server(t, func(_ http.ResponseWriter, r *http.Request) {
			cancel()
			<-r.Context().Done()
		})
		source.Origins = append(source.Origins, source.Origins[0])
		_, err := Fetch(ctx, source)
		require.ErrorIs(t, err, context.Canceled)
		require.Equal(t, 1, strings.Count(err.Error(), "mirror: ")) // The second origin was not asked.
	})
}

// The first origin that gives all of its files wins; no set is mixed.
func TestOrigins(t *testing.T) {
	source := server(t, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/bad/CONS_ENHANCED.XML" {
			w.WriteHeader(http.StatusBadGateway)
			return
		}
		fmt.Fprint(w, r.URL.Path)
	})
	base := strings.TrimSuffix(source.Origins[0].Files[0].URL, "/SDN_ENHANCED.XML")
	bad, good := Mirror(base+"/bad"), Mirror(base+"/good/")
	bad.Name, good.Name = "bad", "good"
	source.Origins = []Origin{bad, good}
	result, err := Fetch(t.Context(), source)
	require.NoError(t, err)
	require.Equal(t, "good", result.Origin)
	require.Equal(t, "/good/SDN_ENHANCED.XML", string(result.Files[0].Data))
	require.Len(t, result.Failures, 1)
	require.ErrorIs(t, result.Failures[0], ErrStatus)

	source.Origins = []Origin{bad, bad}
	_, err = Fetch(t.Context(), source)
	require.Equal(t, 2, strings.Count(err.Error(), "bad: CONS_ENHANCED.XML"))
}

// The published addresses use https and name files that feed recognises.
func TestPublishedAddresses(t *testing.T) {
	source := withDefaults(Source{})
	require.Len(t, source.Origins, 2)
	for _, origin := range append(source.Origins, Mirror("https://mirror.example/ofac/")) {
		families := map[string]bool{}
		require.False(t, origin.PlainHTTP)
		for _, location := range origin.Files {
			kind, ok := feed.KindOf(location.File)
			require.True(t, ok, location.File)
			families[fmt.Sprint(kind.Family)] = true
			require.True(t, strings.HasPrefix(location.URL, "https://"))
			require.True(t, strings.HasSuffix(strings.ToUpper(location.URL), "/"+location.File))
		}
		require.Len(t, families, 2)
	}
}

// A name is resolved once, and the connection goes to the address that was checked.
func TestNameIsDialledAsChecked(t *testing.T) {
	calls := 0
	source := server(t, reply("x"))
	port := source.Origins[0].Files[0].URL[strings.LastIndex(source.Origins[0].Files[0].URL, ":"):]
	source.Origins[0].Files[0].URL = "https://example.com" + port // The test certificate's name.
	source.Resolve = func(context.Context, string) ([]netip.Addr, error) {
		calls++
		if calls > 1 { // A rebinding name server would give this address to the dial.
			return []netip.Addr{netip.MustParseAddr("10.0.0.1")}, nil
		}
		return []netip.Addr{netip.MustParseAddr("127.0.0.1")}, nil
	}
	result, err := Fetch(t.Context(), source)
	require.NoError(t, err)
	require.Equal(t, "x", string(result.Files[0].Data))
	require.Equal(t, 1, calls)
}
