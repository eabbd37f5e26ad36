package httpapi

import (
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestEntrance(t *testing.T) {
	e := NewEntrance("1.2.3")
	ask := func(method, path string) *httptest.ResponseRecorder {
		w := httptest.NewRecorder()
		e.ServeHTTP(w, httptest.NewRequest(method, path, nil))
		return w
	}
	require.Equal(t, 200, ask("GET", "/livez").Code)
	w := ask("GET", "/readyz")
	require.Equal(t, 503, w.Code)
	require.Contains(t, w.Body.String(), "[-]node starting")
	w = ask("POST", "/v1/screen")
	require.Equal(t, 503, w.Code)
	require.Equal(t, "none", w.Header().Get("X-Railguard-Outcome"))
	require.Equal(t, "no_leader", member(t, w.Body.Bytes(), "code"))
	require.Equal(t, "1.2.3", member(t, ask("GET", "/v1/health").Body.Bytes(), "version"))
	e.Open(http.NotFoundHandler())
	require.Equal(t, 404, ask("GET", "/livez").Code)
}
