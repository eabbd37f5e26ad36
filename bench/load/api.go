package load

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"time"
)

const (
	answerPatience = 30 * time.Second
	answerBytesMax = 8 << 20
)

// api makes the few calls of a run that are not load.
type api struct {
	client *http.Client
	key    string
}

func newAPI(key string) *api {
	transport := &http.Transport{MaxIdleConnsPerHost: 32, IdleConnTimeout: 10 * time.Second}
	return &api{client: &http.Client{Transport: transport, Timeout: answerPatience}, key: key}
}

// ask makes one call; into may be nil. An answer beyond 2xx is an error.
func (a *api) ask(ctx context.Context, method, url string, body, into any) error {
	var reader io.Reader
	switch body := body.(type) {
	case nil:
	case []byte:
		reader = bytes.NewReader(body)
	default:
		raw, err := json.Marshal(body)
		if err != nil {
			return err
		}
		reader = bytes.NewReader(raw)
	}
	call, err := http.NewRequestWithContext(ctx, method, url, reader)
	if err != nil {
		return err
	}
	if a.key != "" {
		call.Header.Set("Authorization", "Bearer "+a.key)
	}
	response, err := a.client.Do(call)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	raw, err := io.ReadAll(io.LimitReader(response.Body, answerBytesMax))
	if err != nil {
		return err
	}
	if response.StatusCode/100 != 2 {
		return &refusal{response.StatusCode, fmt.Sprintf("%s %s: %d %.300s", method, url, response.StatusCode, raw)}
	}
	if into == nil {
		return nil
	}
	if err := json.Unmarshal(raw, into); err != nil {
		return fmt.Errorf("%s %s: answer %.200q: %w", method, url, raw, err)
	}
	return nil
}

// refusal is an answer beyond 2xx.
type refusal struct {
	status int
	text   string
}

func (r *refusal) Error() string { return r.text }
