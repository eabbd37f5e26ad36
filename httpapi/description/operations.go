package description

var operationsOperations = []Operation{
	{
		Name: "showOwnKey", Look: "sign_in", Route: "GET /v1/key", Tag: "health", Scope: Reference, Roles: "any",
		Summary:    "What the caller's API key is and may do",
		Parameters: "consistency timeout minIndex",
		Answers: []Answer{{Status: 200, Of: struct {
			KeyID     string   `json:"keyId"`
			Name      string   `json:"name"`
			Roles     []string `json:"roles" each:"{\"enum\": [\"operator\", \"screener\", \"reviewer\", \"auditor\", \"policy\", \"ops\", \"admin\", \"settler\", \"viewer\", \"gateway\"]}"`
			Person    *string  `json:"person" doc:"the person whom the key names, whose acts its calls are; null: nobody"`
			Owner     *string  `json:"owner" doc:"whose key it is: an operator (opr_…) or a caller (cal_…); null: the institution's"`
			ExpiresAt *string  `json:"expiresAt" format:"date-time"`
			Sessions  int64    `json:"sessions" doc:"how often the key's sessions in the console were ended"`
		}{}}},
	},
	{
		Name: "endSessions", Route: "POST /v1/key/end-sessions", Tag: "health", Scope: Reference, Roles: "any",
		Summary:    "End the sessions of the caller's API key in the console",
		Text:       "Every session that was begun with the key ends, on every node. The key itself stays good.",
		Parameters: "timeout minIndex idempotencyKey",
		Answers: []Answer{{Status: 200, Of: struct {
			KeyID   string `json:"keyId"`
			Prefix  string `json:"prefix"`
			Owner   string `json:"owner,omitempty"`
			EndedAt string `json:"endedAt" format:"date-time"`
			EventID string `json:"eventId"`
		}{}, Headers: "Replayed"}},
	},
	{
		Name: "health", Route: "GET /v1/health", Tag: "health", Scope: Public,
		Summary:    "The state of node and cluster",
		Text:       "Without a key of the institution only status, version, kv, signingKey, and source, count and syncedAt of the list.",
		Parameters: "consistency",
		Answers:    []Answer{{Status: 200, Of: Health{}}},
	},
	{
		Name: "jwks", Route: "GET /v1/.well-known/jwks.json", Tag: "health", Scope: Public,
		Summary:    "Keys that verify credentials",
		Parameters: "consistency",
		Answers: []Answer{
			{Status: 200, Of: JWKS{}, Example: `{"keys": [{"kty": "EC", "crv": "P-256", "use": "sig", "alg": "ES256", "kid": "cc-v1", "x": "jlM7b6C_e0YluzBmfAH7YH75-LioD-9bMAYocDGHsqM", "y": "c-sdveAzGDZtBp-DpvWQAFPHNjPLBBshxV4ahsH0ALQ"}, {"kty": "EC", "crv": "P-256", "use": "sig", "alg": "ES256", "kid": "cc-v2", "x": "ffex7Yb9stgfJ-LrNxC5il0yhTw5FSzP8bcp6d4OqJg", "y": "aVnJVmj-WjWOk2NKvvXvPidFRupHxZhK1V3IZUraBnw"}]}`, Headers: "ETag"},
			{Status: 304, Text: "If-None-Match names this version.", Headers: "ETag"},
		},
	},
	{
		Name: "livez", Route: "GET /livez", Tag: "health", Scope: Public,
		Summary:    "The process answers",
		Parameters: "consistency",
		Answers: []Answer{{Status: 200, Of: struct {
			Status string `json:"status"`
		}{}}},
	},
	{
		Name: "readyz", Route: "GET /readyz", Tag: "health", Scope: Public,
		Summary:    "Whether this node should be sent calls",
		Text:       "With a key of the institution, and on the admin listener, one line a check.",
		Parameters: "consistency",
		Query: []Parameter{
			{Name: "noleader", Of: "", Flag: true},
			{Name: "leader", Of: "", Flag: true},
			{Name: "sync", Of: "", Flag: true},
			{Name: "maxlag", Text: "entries behind", Of: int64(0), Tags: `range:"0-"`},
			{Name: "exclude", Of: "", Flag: true},
		},
		Answers: []Answer{{Status: 200, Media: []Media{{Type: "text/plain", Of: ""}}}},
	},
	{
		Name: "kyaContext", Route: "GET /contexts/kya/v1", Tag: "health", Scope: Public,
		Summary:    "The JSON-LD context of credentials",
		Parameters: "consistency",
		Answers:    []Answer{{Status: 200, Headers: "Origin", Media: []Media{{Type: "application/ld+json", Of: Context{}}}}},
	},
	{
		Name: "errorPage", Route: "GET /docs/errors", Tag: "documents", Scope: Public,
		Summary:    "Every error code; JSON with Accept: application/json",
		Parameters: "consistency",
		Answers:    []Answer{{Status: 200, Of: ErrorTable{}, Media: []Media{{Type: "text/html", Of: ""}}}},
	},
	{
		Name: "rulePage", Route: "GET /docs/rules", Tag: "documents", Scope: Public,
		Summary:    "Every rule",
		Parameters: "consistency",
		Answers:    []Answer{{Status: 200, Media: []Media{{Type: "text/markdown", Of: ""}}}},
	},
	{
		Name: "document", Route: "GET /openapi.json", Tag: "documents", Scope: Public,
		Summary:    "This document",
		Parameters: "consistency",
		Answers:    []Answer{{Status: 200, Of: ServedDocument("")}},
	},
	{
		Name: "explorer", Route: "GET /docs", Tag: "documents", Scope: Public,
		Summary:    "The explorer of this document",
		Parameters: "consistency",
		Answers:    []Answer{{Status: 200, Media: []Media{{Type: "text/html", Of: ""}}}},
	},
	{
		Name: "explorerScript", Route: "GET /docs/explorer.js", Tag: "documents", Scope: Public,
		Summary:    "A file of the explorer",
		Parameters: "consistency",
		Answers:    []Answer{{Status: 200, Media: []Media{{Type: "text/javascript", Of: ""}}}},
	},
	{
		Name: "explorerBundle", Route: "GET /docs/swagger-ui-bundle.js", Tag: "documents", Scope: Public,
		Summary:    "A file of the explorer",
		Parameters: "consistency",
		Answers:    []Answer{{Status: 200, Media: []Media{{Type: "text/javascript", Of: ""}}}},
	},
	{
		Name: "explorerStyle", Route: "GET /docs/swagger-ui.css", Tag: "documents", Scope: Public,
		Summary:    "A file of the explorer",
		Parameters: "consistency",
		Answers:    []Answer{{Status: 200, Media: []Media{{Type: "text/css", Of: ""}}}},
	},
	{
		Name: "changelog", Route: "GET /docs/changelog.json", Tag: "documents", Scope: Public,
		Summary:    "Changes of the API, as a JSON Feed",
		Parameters: "consistency",
		Answers:    []Answer{{Status: 200, Media: []Media{{Type: "application/feed+json", Of: Feed{}}}}},
	},
	{
		Name: "statusList", Route: "GET /status-lists/{list}", Tag: "health", Scope: Public,
		Summary:    "Which credentials have been revoked or suspended",
		Text:       "A status list token (IETF Token Status List, two bits an entry). A credential names its list and its entry in the claim status. The values are those at iat, a whole minute of log time; every node gives the same bytes. Rely on none after its exp.",
		Parameters: "consistency",
		Query: []Parameter{
			{Name: "list", Text: "as the credential's status.status_list.uri says", Of: "", Required: true, Path: true},
			{Name: "time", Text: "not served: 501", Of: ""},
		},
		Answers: []Answer{
			{Status: 200, Headers: "ETag", Media: []Media{{Type: "application/statuslist+jwt", Of: "", Text: "a compact JWS, typ statuslist+jwt, signed with a key of the JWKS"}}},
			{Status: 304, Text: "If-None-Match names this version.", Headers: "ETag"},
		},
		Refusals: "404 501",
		Codes:    Codes{404: "not_found", 501: "time_not_supported"},
	},
	{
		Name: "clusterStatus", Route: "GET /v1/cluster/status", Tag: "cluster", Scope: Institution, Roles: "ops",
		Summary:    "The group as it is",
		Parameters: "consistency timeout minIndex",
		Answers:    []Answer{{Status: 200, Of: ClusterStatus("")}},
	},
	{
		Name: "clusterPeers", Route: "GET /v1/cluster/peers", Tag: "cluster", Scope: Institution, Roles: "ops",
		Summary:    "Its nodes",
		Parameters: "consistency timeout minIndex",
		Answers:    []Answer{{Status: 200, Of: Peers{}}},
	},
	{
		Name: "clusterLeader", Route: "GET /v1/cluster/leader", Tag: "cluster", Scope: Institution, Roles: "ops",
		Summary:    "Its leader",
		Parameters: "consistency timeout minIndex",
		Answers:    []Answer{{Status: 200, Of: Leader{}}},
	},
	{
		Name: "downloadBackup", Look: "export", Route: "GET /v1/cluster/backup", Tag: "cluster", Scope: Institution, Roles: "admin",
		Summary:    "State, history and lists as a tar; `railguard backup create` proves and encrypts it",
		Parameters: "consistency timeout minIndex",
		Query: []Parameter{
			{Name: "from", Text: "first leaf of history; none is the first", Of: int64(0), Tags: `range:"0-281474976710655"`},
			{Name: "since", Text: "lists in use since then, in nanoseconds of log time", Of: int64(0), Tags: `range:"0-"`},
			givenOutFor,
		},
		Answers: []Answer{{Status: 200, Media: []Media{{Type: "application/x-tar"}}}},
	},
	{
		Name: "downloadSnapshot", Look: "export", Route: "GET /v1/cluster/snapshot", Tag: "cluster", Scope: Institution, Roles: "admin",
		Summary:    "The newest snapshot, as a file",
		Parameters: "consistency timeout minIndex",
		Query:      []Parameter{givenOutFor},
		Answers:    []Answer{{Status: 200, Headers: "Disposition", Media: []Media{{Type: "application/octet-stream"}}}},
	},
	{
		Name: "takeSnapshot", Route: "POST /v1/cluster/snapshot", Tag: "cluster", Scope: Institution, Roles: "admin",
		Summary:    "Take a snapshot and cut the log now",
		Parameters: "timeout minIndex idempotencyKey",
		Body:       &Body{Of: struct{}{}, Optional: true},
		Answers:    []Answer{{Status: 200, Of: Snapshot{}}},
		Refusals:   "409",
		Codes:      Codes{422: "unknown_field invalid_field"},
	},
	{
		Name: "transferLeader", Route: "POST /v1/cluster/transfer-leader", Tag: "cluster", Scope: Institution, Roles: "ops",
		Summary:    "Hand leadership over",
		Parameters: "timeout minIndex idempotencyKey",
		Body: &Body{Of: struct {
			To *string `json:"to,omitempty" length:"-FieldMax"`
		}{}, Example: `{"to": "n2"}`, Optional: true},
		Answers:  []Answer{{Status: 200, Of: VerbDone{}}},
		Refusals: "409",
		Codes:    Codes{422: "unknown_field missing_field invalid_field"},
	},
	{
		Name: "admitNode", Route: "POST /v1/cluster/admit", Tag: "cluster", Scope: Institution, Roles: "admin",
		Summary:    "Admit a node",
		Text:       "A node that asks to join, which is started with --join and waits, becomes a member; with addr one that waits there. From then on only a node with its key is the member of that name. A member that comes back with an empty folder has a new key and waits too.",
		Parameters: "timeout minIndex idempotencyKey",
		Body: &Body{Of: struct {
			ID   string  `json:"id" length:"-FieldMax" pattern:"\\S"`
			Addr *string `json:"addr,omitempty" length:"-FieldMax" doc:"its cluster address, where it has no --join"`
			Key  *string `json:"key,omitempty" length:"-FieldMax" doc:"The key that it must have, as its own log says. Without it the node that asks now is admitted."`
			Why
		}{}, Example: `{"id": "n4"}`},
		Answers:  []Answer{{Status: 200, Of: VerbDone{}}},
		Refusals: "404 409",
		Codes:    Codes{404: "not_found", 422: "unknown_field missing_field invalid_field"},
	},
	{
		Name: "removeNode", Route: "POST /v1/cluster/remove", Tag: "cluster", Scope: Institution, Roles: "ops",
		Summary:    "Remove a node",
		Parameters: "timeout minIndex idempotencyKey",
		Body: &Body{Of: struct {
			ID    string `json:"id" length:"-FieldMax" pattern:"\\S"`
			Force *bool  `json:"force,omitempty" doc:"Although no majority of the voters that are left would answer."`
			Why
		}{}, Example: `{"id": "n2"}`},
		Answers:  []Answer{{Status: 200, Of: VerbDone{}}},
		Refusals: "409",
		Codes:    Codes{422: "unknown_field missing_field invalid_field"},
	},
	{
		Name: "promoteNode", Route: "POST /v1/cluster/promote", Tag: "cluster", Scope: Institution, Roles: "ops",
		Summary:    "Promote a node",
		Parameters: "timeout minIndex idempotencyKey",
		Body: &Body{Of: struct {
			ID string `json:"id" length:"-FieldMax" pattern:"\\S"`
			Why
		}{}},
		Answers:  []Answer{{Status: 200, Of: VerbDone{}}},
		Refusals: "409",
		Codes:    Codes{422: "unknown_field missing_field invalid_field"},
	},
	{
		Name: "demoteNode", Route: "POST /v1/cluster/demote", Tag: "cluster", Scope: Institution, Roles: "ops",
		Summary:    "Demote a node",
		Parameters: "timeout minIndex idempotencyKey",
		Body: &Body{Of: struct {
			ID    string `json:"id" length:"-FieldMax" pattern:"\\S"`
			Force *bool  `json:"force,omitempty" doc:"Although no majority of the voters that are left would answer."`
			Why
		}{}},
		Answers:  []Answer{{Status: 200, Of: VerbDone{}}},
		Refusals: "409",
		Codes:    Codes{422: "unknown_field missing_field invalid_field"},
	},
	{
		Name: "drainNode", Route: "POST /v1/cluster/drain", Tag: "cluster", Scope: Institution, Roles: "ops",
		Summary:    "Refuse new calls on the node asked, or take them again",
		Parameters: "timeout minIndex idempotencyKey",
		Body: &Body{Of: struct {
			Drain *bool   `json:"drain,omitempty"`
			Grace *string `json:"grace,omitempty" length:"-FieldMax"`
		}{}, Optional: true},
		Answers:  []Answer{{Status: 200, Of: VerbDone{}}},
		Refusals: "409",
		Codes:    Codes{422: "unknown_field missing_field invalid_field"},
	},
	{
		Name: "raiseFormat", Route: "POST /v1/cluster/format", Tag: "cluster", Scope: Institution, Roles: "ops",
		Summary:    "Compute by the next format, for good; the last step of an upgrade",
		Parameters: "timeout minIndex idempotencyKey",
		Body: &Body{Of: struct {
			To     FormatNumber `json:"to"`
			Reason *string      `json:"reason,omitempty" length:"-TextMax"`
			Actor  *string      `json:"actor,omitempty" length:"-FieldMax"`
		}{}, Example: `{"to": 1}`},
		Answers:  []Answer{{Status: 200, Of: FormatChange{}, Headers: "Replayed"}},
		Refusals: "409",
		Codes:    Codes{409: "format_not_ready", 422: "unknown_field missing_field invalid_field"},
	},
	{
		Name: "raiseMatcher", Route: "POST /v1/cluster/matcher", Tag: "cluster", Scope: Institution, Roles: "ops",
		Summary:    "Judge names with the next version of the matcher",
		Parameters: "timeout minIndex idempotencyKey",
		Body: &Body{Of: struct {
			To     MatcherVersion `json:"to"`
			Reason *string        `json:"reason,omitempty" length:"-TextMax"`
			Actor  *string        `json:"actor,omitempty" length:"-FieldMax"`
		}{}, Example: `{"to": 1}`},
		Answers:  []Answer{{Status: 200, Of: MatcherChange{}, Headers: "Replayed"}},
		Refusals: "409",
		Codes:    Codes{409: "matcher_not_ready", 422: "unknown_field missing_field invalid_field"},
	},
	{
		Name: "confirmTime", Route: "POST /v1/cluster/confirm-time", Tag: "cluster", Scope: Institution, Roles: "admin",
		Summary:    "Let log time leap to what the clocks say",
		Text:       "For a cluster whose clocks are further beyond its log than is credible: readiness says so. Two admins name the same instant.",
		Parameters: "timeout minIndex idempotencyKey",
		Body: &Body{Of: struct {
			NotAfter string  `json:"notAfter" pattern:"^[0-9]{4}-[0-9]{2}-[0-9]{2}" doc:"It is not later than this time or date; readiness names a date"`
			Reason   *string `json:"reason,omitempty" length:"-TextMax"`
			Actor    *string `json:"actor,omitempty" length:"-FieldMax"`
		}{}, Example: `{"notAfter": "2026-03-23", "reason": "the power was away for two days"}`},
		Answers:  []Answer{{Status: 200, Of: TimeConfirmation{}, Headers: "Replayed"}, proposedAnswer},
		Refusals: "409",
		Codes:    Codes{409: "invalid_transition", 422: "unknown_field missing_field invalid_field"},
	},
	{
		Name: "showBackups", Route: "GET /v1/cluster/backups", Tag: "cluster", Scope: Institution, Roles: "admin",
		Summary:    "The cluster's own backups: schedule, newest verified copies, last rehearsal",
		Parameters: "consistency timeout minIndex",
		Answers:    []Answer{{Status: 200, Of: Backups{}}},
	},
	{
		Name: "scheduleBackups", Route: "POST /v1/cluster/backups", Tag: "cluster", Scope: Institution, Roles: "admin",
		Summary:    "Let the cluster copy itself to a folder, or end it",
		Text:       "The node that leads writes full copies, increments and the log's newest entries, encrypted with a key made from the cluster secret, and reads each back.",
		Parameters: "timeout minIndex idempotencyKey",
		Body: &Body{Of: struct {
			Folder    *string `json:"folder,omitempty" length:"-FieldMax" doc:"Absolute path of a folder, as each node sees it; required unless off"`
			Full      *string `json:"full,omitempty" length:"-FieldMax" doc:"How often a full copy, 24h unless given"`
			Increment *string `json:"increment,omitempty" length:"-FieldMax" doc:"How often an increment, 1h unless given"`
			Tail      *string `json:"tail,omitempty" length:"-FieldMax" doc:"How often the newest entries of the log, 10s unless given; 1s to 1m"`
			Drill     *string `json:"drill,omitempty" length:"-FieldMax" doc:"How often a restore is rehearsed, 24h unless given; 0s: never"`
			Keep      *int64  `json:"keep,omitempty" doc:"So many full copies stay, 7 unless given; each with what continues it"`
			Off       *bool   `json:"off,omitempty" doc:"End the schedule; the files stay"`
			Reason    *string `json:"reason,omitempty" length:"-TextMax"`
			Actor     *string `json:"actor,omitempty" length:"-FieldMax"`
		}{}, Example: `{"folder": "/mnt/backups", "full": "24h", "increment": "1h", "tail": "10s", "keep": 7}`},
		Answers:  []Answer{{Status: 200, Of: BackupsScheduled{}, Headers: "Replayed"}},
		Refusals: "409",
		Codes:    Codes{422: "unknown_field missing_field invalid_field"},
	},
	{
		Name: "advanceClock", Route: "POST /v1/test/clock", Tag: "cluster", Scope: Institution, Roles: "ops",
		Summary:    "Move the clock of a development cluster",
		Parameters: "timeout minIndex idempotencyKey",
		Body: &Body{Of: struct {
			Advance string `json:"advance" length:"-FieldMax" pattern:"\\S"`
		}{}, Example: `{"advance": "25h"}`},
		Answers:  []Answer{{Status: 200, Of: ClockChange{}, Headers: "Replayed"}},
		Refusals: "404 409",
		Codes:    Codes{404: "not_found", 422: "unknown_field missing_field invalid_field"},
	},
}
