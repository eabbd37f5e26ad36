package description

// momentTags are those of a text that is a time (RFC 3339) or a date.
const momentTags = `length:"1-" pattern:"^[0-9]{4}-[0-9]{2}-[0-9]{2}"`

// parameters are shared by several operations, by name.
var parameters = []Pair{
	{"txnId", readObject(`{"name": "txnId", "in": "path", "required": true, "schema": {"type": "string"}}`)},
	{"partyId", readObject(`{"name": "partyId", "in": "path", "required": true, "schema": {"type": "string"}}`)},
	{"limit", readObject(`{"name": "limit", "in": "query", "description": "1 to 500, default 50", "schema": {"type": "integer", "minimum": 1, "maximum": 500}}`)},
	{"cursor", readObject(`{"name": "cursor", "in": "query", "description": "goes on where a page ended: its nextCursor", "schema": {"type": "string", "maxLength": 256, "minLength": 1}}`)},
	{"order", readObject(`{"name": "order", "in": "query", "description": "asc: the oldest first; default: the newest first", "schema": {"type": "string", "enum": ["asc", "desc"]}}`)},
	{"id", readObject(`{"name": "id", "in": "path", "required": true, "schema": {"type": "string"}}`)},
	{"lookId", readObject(`{"name": "lookId", "in": "path", "required": true, "schema": {"type": "string"}}`)},
	{"itemId", readObject(`{"name": "itemId", "in": "path", "required": true, "schema": {"type": "string"}}`)},
	{"name", readObject(`{"name": "name", "in": "path", "required": true, "schema": {"type": "string"}}`)},
	{"agentId", readObject(`{"name": "agentId", "in": "path", "required": true, "schema": {"type": "string"}}`)},
	{"entry", readObject(`{"name": "entry", "in": "path", "required": true, "schema": {"type": "string"}}`)},
	{"level", readObject(`{"name": "level", "in": "path", "required": true, "schema": {"type": "string"}}`)},
	{"index", readObject(`{"name": "index", "in": "path", "required": true, "schema": {"type": "string"}}`)},
	{"consistency", readObject(`{"name": "consistency", "in": "query", "description": "leader: what the leader had committed when it was asked", "schema": {"type": "string", "enum": ["local", "leader"]}}`)},
	{"timeout", readObject(`{"name": "X-Railguard-Timeout-Ms", "in": "header", "description": "Shorten the call's deadline.", "schema": {"type": "integer", "minimum": 1}}`)},
	{"minIndex", readObject(`{"name": "X-Railguard-Min-Index", "in": "header", "description": "Do not answer from anything older.", "schema": {"type": "integer", "minimum": 0}}`)},
	{"strict", readObject(`{"name": "X-Railguard-Strict", "in": "header", "description": "Refuse any unknown member.", "schema": {"type": "string"}}`)},
	{"idempotencyKey", readObject(`{"name": "Idempotency-Key", "in": "header", "description": "The same key, path and body always give one owner the same outcome for 24 hours.", "schema": {"type": "string", "pattern": "^[ -~]{1,255}$"}}`)},
	{"ifMatch", readObject(`{"name": "If-Match", "in": "header", "description": "Change just that version, else 412.", "schema": {"type": "string"}}`)},
	{"x402Token", readObject(`{"name": "X-Railguard-Token", "in": "header", "description": "The agent's credential, where it does not come with the payment.", "schema": {"type": "string"}}`)},
}

// headers are the headers of answers, by name.
var headers = []Pair{
	{"RequestId", readObject(`{"description": "Give it to support.", "required": true, "schema": {"type": "string", "maxLength": 128}}`)},
	{"Node", readObject(`{"description": "Who answered.", "required": true, "schema": {"type": "string"}}`)},
	{"Index", readObject(`{"description": "The log index of the effect, or what the node has applied.", "required": true, "schema": {"type": "integer", "minimum": 0}}`)},
	{"Role", readObject(`{"description": "The raft role of the node that answered.", "required": true, "schema": {"type": "string"}}`)},
	{"Lineage", readObject(`{"description": "The lineage of the group after a recovery or a restored backup. Before any the header is absent.", "schema": {"type": "string"}}`)},
	{"Outcome", readObject(`{"description": "none: certainly nothing happened; unknown: retry with the same Idempotency-Key.", "required": true, "schema": {"type": "string", "enum": ["none", "unknown"]}}`)},
	{"RetryAfter", readObject(`{"description": "Seconds.", "schema": {"type": "integer", "minimum": 0}}`)},
	{"RateLimitPolicy", readObject(`{"description": "q: the calls that the key may make in w seconds.", "schema": {"type": "string"}}`)},
	{"RateLimit", readObject(`{"description": "r: how many of them are left; t: seconds until there are more. Other answers have it, too, from when less than a second's calls are left.", "schema": {"type": "string"}}`)},
	{"Allow", readObject(`{"description": "Methods of the path.", "required": true, "schema": {"type": "string"}}`)},
	{"Authenticate", readObject(`{"description": "Bearer.", "required": true, "schema": {"type": "string"}}`)},
	{"Challenge", readObject(`{"description": "Which scope is missing.", "schema": {"type": "string"}}`)},
	{"Replayed", readObject(`{"description": "The first answer to this key is given again.", "schema": {"type": "string", "enum": ["true"]}}`)},
	{"Timing", readObject(`{"description": "Milliseconds of verify, rules, commit.", "schema": {"type": "string"}}`)},
	{"ETag", readObject(`{"description": "The version; send it as If-Match to change just that one.", "schema": {"type": "string"}}`)},
	{"Location", readObject(`{"description": "Where what was created can be read.", "schema": {"type": "string"}}`)},
	{"Continue", readObject(`{"description": "The query that goes on with this export.", "schema": {"type": "string"}}`)},
	{"Disposition", readObject(`{"description": "A file name.", "schema": {"type": "string"}}`)},
	{"Origin", readObject(`{"description": "*", "schema": {"type": "string"}}`)},
	{"Connection", readObject(`{"description": "close, where the rest of the request is not read.", "schema": {"type": "string"}}`)},
}

// headerNames maps these names to those on the wire.
var headerNames = map[string]string{
	"RequestId":       "X-Request-Id",
	"Node":            "X-Railguard-Node",
	"Index":           "X-Railguard-Index",
	"Role":            "X-Railguard-Role",
	"Lineage":         "X-Railguard-Lineage",
	"Replayed":        "Idempotent-Replayed",
	"Timing":          "Server-Timing",
	"Disposition":     "Content-Disposition",
	"Continue":        "X-Railguard-Continue",
	"Location":        "Location",
	"ETag":            "ETag",
	"Origin":          "Access-Control-Allow-Origin",
	"Challenge":       "WWW-Authenticate",
	"Authenticate":    "WWW-Authenticate",
	"Allow":           "Allow",
	"RetryAfter":      "Retry-After",
	"Connection":      "Connection",
	"RateLimitPolicy": "RateLimit-Policy",
	"RateLimit":       "RateLimit",
	"Outcome":         "X-Railguard-Outcome",
}

// refusals describe the answers that refuse calls.
var refusals = []refusal{
	{"BadRequest", "The request cannot be read, or a query parameter is wrong.", "", ""},
	{"Unauthorized", "No API key, or no valid one.", "Authenticate", ""},
	{"Forbidden", "The key lacks the role, or it is outside of its scope.", "", ""},
	{"NotFound", "No such resource, or outside of the key's scope.", "", ""},
	{"MethodNotAllowed", "The path has no such method.", "Allow", ""},
	{"Conflict", "The current state does not allow it; the body holds it.", "RetryAfter", ""},
	{"VersionMismatch", "If-Match does not name the current version.", "", ""},
	{"TooLarge", "The body is larger than the limit of this path.", "Connection", ""},
	{"Encoded", "The body is compressed.", "", ""},
	{"Unprocessable", "Members are unknown, missing or wrong.", "", ""},
	{"RateLimited", "Too many calls.", "RetryAfter RateLimitPolicy RateLimit", ""},
	{"HeadersTooLarge", "The headers are larger than 16 KiB.", "Connection", ""},
	{"Internal", "A fault of ours.", "", ""},
	{"TimeNotSupported", "Status lists of the past are not kept.", "", ""},
	{"Unavailable", "Not now; never a verdict.", "RetryAfter Outcome", ""},
	{"NotReady", "Not ready, a line a check; or unavailable.", "RetryAfter Outcome", "text/plain=string,application/json=Error,application/problem+json=Problem"},
	{"GuestBadRequest", "The body is not one JSON object, or did not come whole; or there is a query (param), of which no path of a guest takes any.", "-", "application/json=GuestError"},
	{"GuestUnauthorized", "No API key, or no valid one.", "-Authenticate", "application/json=Error"},
}

var refusalNames = map[int]string{
	400: "BadRequest",
	401: "Unauthorized",
	403: "Forbidden",
	404: "NotFound",
	405: "MethodNotAllowed",
	409: "Conflict",
	412: "VersionMismatch",
	413: "TooLarge",
	415: "Encoded",
	422: "Unprocessable",
	429: "RateLimited",
	431: "HeadersTooLarge",
	500: "Internal",
	501: "TimeNotSupported",
	503: "Unavailable",
}

var specialRefusals = map[string]map[int]string{
	"x402Supported": {400: "GuestBadRequest", 401: "GuestUnauthorized"},
	"x402Verify":    {400: "GuestBadRequest", 401: "GuestUnauthorized"},
	"x402Settle":    {400: "GuestBadRequest", 401: "GuestUnauthorized"},
	"mcp":           {401: "GuestUnauthorized"},
	"readyz":        {503: "NotReady"},
}

// givenOutFor is the parameter of routes that give out all that the institution has.
var givenOutFor = Parameter{Name: "reason", Text: "why; it stands in the leaf key.looked", Of: "", Tags: `length:"-FieldMax"`}
