package httpapi

import (
	"context"
	"fmt"
	"io"
	"testing"

	"github.com/stretchr/testify/require"
)

func partsOfABackup(_ context.Context, w io.Writer, from uint64, since int64) error {
	_, err := fmt.Fprintf(w, "from leaf %d, lists since %d", from, since)
	return err
}

// A backup holds the whole institution: only admin may take one, and it names what it
// cannot read.
func TestBackupRoute(t *testing.T) {
	n := newTestNode(t)
	answer := n.do("admin", "GET", "/v1/cluster/backup?from=7&since=9", "")
	require.Equal(t, 200, answer.Code)
	require.Equal(t, "from leaf 7, lists since 9", answer.Body.String())
	require.Equal(t, "application/x-tar", answer.Header().Get("Content-Type"))
	for _, query := range []string{"from=x", "from=-1", "since=soon", "since=-1"} {
		require.Equal(t, 400, n.do("admin", "GET", "/v1/cluster/backup?"+query, "").Code, query)
	}
	require.Equal(t, 403, n.do("ops", "GET", "/v1/cluster/backup", "").Code)
}
