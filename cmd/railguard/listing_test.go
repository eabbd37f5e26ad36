package main

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// sparse is a history in which most calls find nothing: every third page has rows, at most
// ten.
func sparse(t *testing.T, rows int, calls *[]string) *httptest.Server {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		*calls = append(*calls, r.URL.RawQuery)
		limit, _ := strconv.Atoi(r.URL.Query().Get("limit"))
		at, page := 0, 0
		if cursor := r.URL.Query().Get("cursor"); cursor != "" {
			_, err := fmt.Sscanf(cursor, "%d-%d", &at, &page)
			require.NoError(t, err)
		}
		data := []string{}
		for page%3 == 2 && at < rows && len(data) < min(limit, 10) {
			data = append(data, fmt.Sprintf(`{"txnId":"txn_%d"}`, at))
			at++
		}
		next := fmt.Sprintf(`"%d-%d"`, at, page+1)
		if at == rows && page%3 == 2 {
			next = "null"
		}
		fmt.Fprintf(w, `{"data":[%s],"nextCursor":%s,"asOfIndex":7}`, strings.Join(data, ","), next)
	}))
	t.Cleanup(server.Close)
	return server
}

func TestListFollowsCursors(t *testing.T) {
	var calls []string
	server := sparse(t, 64, &calls)
	args := []string{"audit", "list", "--url", server.URL, "--key", "k", "--verdict", "BLOCK", "-o", "json"}
	var listed struct {
		Data       []struct{ TxnID string }
		NextCursor *string
		AsOfIndex  int
	}
	list := func(more ...string) int {
		calls = nil
		out, _, err := run(t, append(args, more...)...)
		require.NoError(t, err)
		listed.Data, listed.NextCursor = nil, nil
		require.NoError(t, json.Unmarshal([]byte(out), &listed))
		for i, row := range listed.Data {
			require.Equal(t, fmt.Sprintf("txn_%d", i), row.TxnID)
		}
		require.Equal(t, 7, listed.AsOfIndex)
		return len(listed.Data)
	}
	require.Equal(t, 50, list())
	require.NotNil(t, listed.NextCursor)
	require.Equal(t, 15, len(calls))
	for _, call := range calls {
		require.Contains(t, call, "verdict=BLOCK")
	}
	require.Equal(t, 7, list("--limit", "7"))
	require.NotNil(t, listed.NextCursor)
	require.Equal(t, 64, list("--all"))
	require.Nil(t, listed.NextCursor)

	out, _, err := run(t, append(args[:len(args)-2:len(args)-2], "--limit", "7")...)
	require.NoError(t, err)
	require.Contains(t, out, "txn_6")
	require.Contains(t, out, "more: --cursor 7-3")
	require.NotContains(t, out, "none")
}

func TestListBounds(t *testing.T) {
	var calls []string
	server := sparse(t, 1, &calls)
	for _, wrong := range [][]string{{"--limit", "0"}, {"--limit", "x"}, {"--limit", "100001"}, {"--limit", "5", "--all"}} {
		_, code, err := run(t, append([]string{"agent", "list", "--url", server.URL, "--key", "k"}, wrong...)...)
		require.Error(t, err)
		require.Equal(t, exitUsage, code, wrong)
	}
	require.Empty(t, calls)
	stuck := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = w.Write([]byte(`{"data":[],"nextCursor":"same"}`))
	}))
	defer stuck.Close()
	_, _, err := run(t, "audit", "list", "--url", stuck.URL, "--key", "k")
	require.ErrorContains(t, err, "cursor")
}
