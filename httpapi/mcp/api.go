package mcp

import (
	"context"
	"net/http"

	"railguard/httpapi/guest"
)

// callerKey is the context key of the request in which a tool is called.
type callerKey struct{}

// askAPI makes one call of the API in the name of the caller who made r.
func (g *Guest) askAPI(ctx context.Context, r *http.Request, method, path, key string, body []byte) *guest.Answer {
	return guest.Ask(ctx, g.config.API, r, method, path, map[string]string{"Idempotency-Key": key}, body)
}
