package mcp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/VictoriaMetrics/metrics"
	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"railguard/httpapi/guest"
)

const (
	// Path is the path of the protocol.
	Path = "/mcp"

	metadataPath = "/.well-known/oauth-protected-resource" // RFC 9728; also served with Path appended.
	bodyMax      = 128 << 10
	scope        = "screen"

	// costMessage is the cost of the protocol's own work on a message, in screening calls. The
	// calls that the message's tool makes cost extra. Measured in screening calls: a ping costs
	// 4, a tool's call 7, initialize 9, a list of the tools 12.
	costMessage = 8
)

// Config is what the guest needs.
type Config struct {
	API       http.Handler  // The public API, which answers everything outside of Path too.
	PublicURL func() string // The public address of the service; "" while it is not known.
	Version   string
}

// Guest is an http.Handler. It is safe for concurrent use and keeps nothing of a caller.
type Guest struct {
	config   Config
	protocol http.Handler
}

var callsTotal = func() map[string]*metrics.Counter {
	const name = "railguard_mcp_calls_total"
	all := map[string]*metrics.Counter{}
	for _, tool := range toolNames {
		for _, outcome := range []string{"result", "error"} {
			all[tool+outcome] = metrics.NewCounter(fmt.Sprintf(`%s{tool=%q,outcome=%q}`, name, tool, outcome))
		}
	}
	return all
}()

// New returns the API with the guest in front of it.
func New(config Config) (*Guest, error) {
	if config.API == nil || config.PublicURL == nil {
		return nil, errors.New("mcp: the API and the public URL are required")
	}
	g := &Guest{config: config}
	server := sdk.NewServer(&sdk.Implementation{Name: "railguard", Title: "Railguard", Version: config.Version}, &sdk.ServerOptions{
		Capabilities: &sdk.ServerCapabilities{Tools: &sdk.ToolCapabilities{}},
		Instructions: "Ask screen before every payment and pay on the verdict PROCEED alone. An error is no verdict: do not pay. " +
			"An earlier verdict, an approval or a repeated answer is no leave: call confirm, and pay on its PROCEED. " +
			"Repeat a call whose outcome is not known with the same idempotencyKey.",
	})
	server.AddReceivingMiddleware(refuseUndeclared)
	g.addTools(server)
	stream := sdk.NewStreamableHTTPHandler(func(*http.Request) *sdk.Server { return server }, &sdk.StreamableHTTPOptions{
		Stateless: true, JSONResponse: true, MaxRequestBodyBytes: bodyMax, PropagateRequestCancellation: true,
		// A proxy on this machine forwards calls for other host names, so they are allowed.
		// The code below refuses what this protection is for: pages of other origins, and
		// calls without a key.
		DisableLocalhostProtection: true,
	})
	g.protocol = http.NewCrossOriginProtection().Handler(g.admitScreeners(gateMessages(stream)))
	return g, nil
}

// refuseUndeclared refuses methods of capabilities that this server does not declare. The SDK would answer
// them with empty lists.
func refuseUndeclared(next sdk.MethodHandler) sdk.MethodHandler {
	return func(ctx context.Context, method string, request sdk.Request) (sdk.Result, error) {
		for _, capability := range []string{"prompts/", "resources/", "logging/", "completion/"} {
			if strings.HasPrefix(method, capability) {
				return nil, &jsonrpc.Error{Code: jsonrpc.CodeMethodNotFound, Message: "this server has tools alone"}
			}
		}
		return next(ctx, method, request)
	}
}

// ServeHTTP answers at Path and its metadata, and leaves everything else to the API.
func (g *Guest) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	switch r.URL.EscapedPath() {
	case Path:
		w = unstored{w}
		head := w.Header()
		head.Set("X-Content-Type-Options", "nosniff")
		if guest.RefuseQuery(w, r) {
			return
		}
		g.protocol.ServeHTTP(w, r)
	case metadataPath, metadataPath + Path:
		g.serveMetadata(w, r)
	default:
		g.config.API.ServeHTTP(w, r)
	}
}

// unstored adds no-store to every answer: the SDK's own headers would let a cache keep
// verdicts.
type unstored struct{ http.ResponseWriter }

func (w unstored) WriteHeader(status int) {
	w.Header().Set("Cache-Control", "no-store")
	w.ResponseWriter.WriteHeader(status)
}

func (w unstored) Write(p []byte) (int, error) {
	w.Header().Set("Cache-Control", "no-store")
	return w.ResponseWriter.Write(p)
}

// Unwrap is for http.ResponseController.
func (w unstored) Unwrap() http.ResponseWriter { return w.ResponseWriter }

// admitScreeners passes on calls whose API key has the role screener, and refuses all
// others. A key that can give payments back is not for agents: it has no business here.
func (g *Guest) admitScreeners(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		answer := g.askAPI(guest.Costing(r.Context(), costMessage), r, http.MethodGet, "/v1/key", "", nil)
		var key struct {
			Roles []string `json:"roles"`
		}
		_ = json.Unmarshal(answer.Body.Bytes(), &key)
		message := ""
		switch {
		case slices.Contains(key.Roles, "settler"):
			message = "the API key has the role settler: an agent's key has the role screener alone"
		case !slices.Contains(key.Roles, "screener") && !slices.Contains(key.Roles, "admin"):
			message = "the API key lacks the role screener"
		}
		switch {
		case answer.Status == http.StatusOK && message == "":
			next.ServeHTTP(w, r.WithContext(context.WithValue(r.Context(), callerKey{}, r)))
			return
		case answer.Status == http.StatusOK:
			answer.Status = http.StatusForbidden
			answer.Body.Reset()
			_ = json.NewEncoder(&answer.Body).Encode(map[string]string{"error": "insufficient_scope", "code": "forbidden", "message": message})
			w.Header().Set("WWW-Authenticate", g.challenge()+`, error="insufficient_scope"`)
		case answer.Status == http.StatusUnauthorized:
			w.Header().Set("WWW-Authenticate", g.challenge())
		}
		w.Header().Set("Content-Type", "application/json")
		for _, name := range []string{"Retry-After", "X-Railguard-Outcome"} {
			if value := answer.Head.Get(name); value != "" {
				w.Header().Set(name, value)
			}
		}
		w.WriteHeader(answer.Status)
		_, _ = w.Write(answer.Body.Bytes())
	})
}

// challenge returns the header that tells a caller without a key where to find the
// metadata.
func (g *Guest) challenge() string {
	return fmt.Sprintf(`Bearer resource_metadata=%q, scope=%q`, g.baseURL()+metadataPath+Path, scope)
}

func (g *Guest) baseURL() string { return strings.TrimRight(g.config.PublicURL(), "/") }

// serveMetadata answers with the metadata of the protected resource (RFC 9728). It names no
// authorization server: the institution issues the keys.
func (g *Guest) serveMetadata(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Access-Control-Allow-Origin", "*")
	if r.Method != http.MethodGet && r.Method != http.MethodHead {
		w.Header().Set("Allow", "GET, HEAD")
		w.WriteHeader(http.StatusMethodNotAllowed)
		return
	}
	data, err := json.Marshal(map[string]any{
		"resource": g.baseURL() + Path, "resource_name": "Railguard", "scopes_supported": []string{scope}, "bearer_methods_supported": []string{"header"},
		"resource_documentation": g.baseURL() + "/docs",
	})
	if err != nil {
		panic("BUG: " + err.Error())
	}
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Cache-Control", "public, max-age=3600")
	_, _ = w.Write(append(data, '\n'))
}
