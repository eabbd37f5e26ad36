package mcp

import (
	"context"
	"net/http"

	"railguard/httpapi/guest"
)

// callerKey is where a context keeps the request that a tool is called in.
type callerKey struct{}

// askAPI makes one call of the API in the name of who made r.
func (g *Guest) askAPI(ctx context.Context, r *http.Request, method, path, key string, body []byte) *guest.Answer {
	return guest.Ask(ctx, g.config.API, r, method, path, map[string]string{"Idempotency-Key": key}, body)
}
