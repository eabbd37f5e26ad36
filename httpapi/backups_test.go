package httpapi

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// An admin sets, sees and ends the schedule of the cluster's own backups. What cannot be kept is
// refused, and the status warns while there is no copy.
func TestBackupsAreScheduled(t *testing.T) {
	n := newTestNode(t)
	const path = "/v1/cluster/backups"
	for _, body := range []string{
		`{}`, `{"folder":"backups"}`, `{"folder":""}`, `{"folder":"/b","full":"59s","increment":"59s"}`, `{"folder":"/b","full":"1h","increment":"2h"}`,
		`{"folder":"/b","tail":"61s"}`, `{"folder":"/b","tail":"1500ms"}`, `{"folder":"/b","drill":"30s"}`, `{"folder":"/b","keep":0}`, `{"folder":"/b","keep":401}`,
	} {
		require.Equal(t, 422, n.do("admin", "POST", path, body).Code, body)
	}
	require.Equal(t, 403, n.do("ops", "POST", path, `{"folder":"/b"}`).Code)
	require.Nil(t, answer(t, n.do("admin", "GET", path, ""), 200).Get("schedule"))
	set := answer(t, n.do("admin", "POST", path, `{"folder":"/mnt/b","reason":"always"}`), 200)
	require.Equal(t, []any{"/mnt/b", "always", 86_400, 3600, 10, 7}, []any{textOf(set, "folder"), textOf(set, "reason"), set.GetInt("fullSeconds"), set.GetInt("incrementSeconds"), set.GetInt("tailSeconds"), set.GetInt("keep")})
	is := answer(t, n.do("admin", "GET", path, ""), 200)
	require.Equal(t, "/mnt/b", textOf(is.Get("schedule"), "folder"))
	require.Contains(t, string(is.GetArray("problems")[0].GetStringBytes()), "there is no verified copy yet")
	require.Contains(t, n.do("ops", "GET", "/v1/cluster/status", "").Body.String(), "there is no verified copy yet")
	answer(t, n.do("admin", "POST", path, `{"off":true,"reason":"no more"}`), 200)
	require.Nil(t, answer(t, n.do("admin", "GET", path, ""), 200).Get("schedule"))
}
