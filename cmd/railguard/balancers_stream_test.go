package main

import (
	"bufio"
	"context"
	"io"
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// TestStreamsPassBalancers: through each sample, a line is answered while the stream is open, also
// after it was idle for longer than a verdict may take, and the stream ends whole.
func TestStreamsPassBalancers(t *testing.T) {
	f := newFleetOfThree(t)
	for name, front := range map[string]func() string{"HAProxy": f.frontHAProxy, "nginx": f.frontNginx} {
		t.Run(name, func(t *testing.T) {
			f.park.t = t // A balancer that is not installed skips its part alone.
			url := front()
			body, lines := io.Pipe()
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute) // A balancer that buffers answers nothing.
			defer cancel()
			r, err := http.NewRequestWithContext(ctx, http.MethodPost, url+"/v1/screen/stream", body)
			require.NoError(t, err)
			r.Header.Set("Authorization", "Bearer "+parkKey)
			answer, err := http.DefaultClient.Do(r)
			require.NoError(t, err)
			defer answer.Body.Close()
			require.Equal(t, http.StatusOK, answer.StatusCode)
			answers := bufio.NewScanner(answer.Body)
			next := func() string {
				for answers.Scan() {
					if text := answers.Text(); text != "" {
						return text
					}
				}
				require.NoError(t, answers.Err())
				return ""
			}
			for range 2 {
				_, err = io.WriteString(lines, `{"token":"`+f.token+`","amount":0.01}`+"\n")
				require.NoError(t, err)
				require.Contains(t, next(), `"verdict":"PROCEED"`)
				time.Sleep(3500 * time.Millisecond)
			}
			require.NoError(t, lines.Close())
			require.JSONEq(t, `{"end":{"lines":2,"code":"complete"}}`, next())
		})
	}
}
