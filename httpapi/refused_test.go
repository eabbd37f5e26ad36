package httpapi

import (
	"bytes"
	"log/slog"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"railguard/cluster/recorder"
	"railguard/httpapi/border"
	"railguard/httpapi/operations"
)

// The line of a refused call has code, route and the caller's address in the form that was asked
// for, also where nobody was let in. The call is counted by code and route, in the metrics and by
// the recorder.
func TestRefusedCallsAreTold(t *testing.T) {
	n := newTestNode(t)
	var said bytes.Buffer
	record := recorder.New(time.Now)
	for form, address := range map[string]string{"whole": "address=192.0.2.1", "hashed": "address=h:", "none": ""} {
		addresses, err := border.ParseAddressForm(form)
		require.NoError(t, err)
		n.reopen(func(d *Deps) {
			d.Logger, d.Addresses, d.Flight = slog.New(slog.NewTextHandler(&said, nil)), addresses, operations.Flight{Recorder: record}
		})
		for _, call := range []struct {
			key, method, path, want string
			status                  int
		}{
			{"nobody knows this", "POST", "/v1/screen", "route=/v1/screen status=401", 401},
			{testSecret("screener"), "GET", "/v1/policy", "route=/v1/policy status=403", 403},
			{testSecret("screener"), "GET", "/v1/nowhere", `route="" status=404`, 404},
		} {
			said.Reset()
			r := httptest.NewRequest(call.method, call.path, strings.NewReader("{}"))
			r.Header.Set("Authorization", "Bearer "+call.key)
			w := httptest.NewRecorder()
			n.api.Handler().ServeHTTP(w, r)
			require.Equal(t, call.status, w.Code, w.Body)
			line := said.String()
			require.Equal(t, 1, strings.Count(line, "\n"), line)
			require.Contains(t, line, call.want)
			require.Contains(t, line, "code="+textOf(answer(t, w, call.status), "code"))
			if address == "" {
				require.NotContains(t, line, "address=")
			} else {
				require.Contains(t, line, address)
			}
			require.Equal(t, form == "whole", strings.Contains(line, "192.0.2.1"), line)
		}
	}
	_, err := border.ParseAddressForm("some")
	require.Error(t, err)
	metrics := n.doAdmin("GET", "/metrics", "").Body.String()
	require.Contains(t, metrics, `railguard_http_refused_total{code="unauthorized",route="/v1/screen"} `)
	require.Contains(t, metrics, `railguard_http_refused_total{code="not_found",route=""} `)
	counted := map[string]uint64{}
	for _, entry := range record.Entries() {
		counted[entry.Code+" "+entry.Route] += entry.Count
	}
	require.Equal(t, map[string]uint64{"unauthorized /v1/screen": 3, "forbidden /v1/policy": 3, "not_found ": 3}, counted)
}

// One caller has one word on all nodes of a cluster, another one has another.
func TestHashedAddressesAreStable(t *testing.T) {
	words := map[string]string{}
	for range 2 {
		n := newTestNode(t)
		var said bytes.Buffer
		n.reopen(func(d *Deps) { d.Logger = slog.New(slog.NewTextHandler(&said, nil)) })
		for _, from := range []string{"192.0.2.1:5", "192.0.2.2:5"} {
			said.Reset()
			r := httptest.NewRequest("GET", "/v1/nowhere", nil)
			r.RemoteAddr = from
			n.api.Handler().ServeHTTP(httptest.NewRecorder(), r)
			_, word, _ := strings.Cut(strings.TrimSpace(said.String()), "address=")
			require.Len(t, word, len("h:")+16)
			if known := words[from]; known != "" {
				require.Equal(t, known, word)
			}
			words[from] = word
		}
	}
	require.NotEqual(t, words["192.0.2.1:5"], words["192.0.2.2:5"])
}
