package description

type Act struct {
	ID           string  `json:"id" pattern:"^evt_[0-9]+_[0-9]+$"`
	Seq          int64   `json:"seq" range:"0-" doc:"the index of its leaf"`
	Type         string  `json:"type" schema:"{\"examples\": [\"policy.activated\"]}" doc:"may grow: pass over what you do not know"`
	Time         Time    `json:"time"`
	Tenant       *string `json:"tenant" doc:"the legal name of the operator; null is nobody's but the institution's"`
	Data         Free    `json:"data" free:"its members are those of the type"`
	LeafHash     string  `json:"leafHash" doc:"base64"`
	Actor        *string `json:"actor" doc:"the person that the call named; null: it named none, or nobody did it but the cluster"`
	ActorKeyID   *string `json:"actorKeyId" doc:"the API key; null: nobody did it but the cluster"`
	ActorKeyName *string `json:"actorKeyName" doc:"what that key is called, as long as it is known"`
	Reason       *string `json:"reason" doc:"what was written with it; about payments for reviewer and auditor"`
}

type Event struct {
	ID       string  `json:"id" pattern:"^evt_[0-9]+_[0-9]+$" schema:"{\"examples\": [\"evt_4711_0\"]}"`
	Seq      int64   `json:"seq" range:"0-" doc:"the index of its leaf"`
	Type     string  `json:"type" schema:"{\"examples\": [\"hold.late\"]}" doc:"may grow: pass over what you do not know"`
	Time     Time    `json:"time"`
	Tenant   *string `json:"tenant" doc:"the legal name of the operator; null is nobody's but the institution's"`
	Data     Free    `json:"data" free:"its members are those of the type"`
	LeafHash string  `json:"leafHash" doc:"base64"`
}

type Webhook struct {
	WebhookID            string   `json:"webhookId" pattern:"^whk_[0-9]+$"`
	Name                 *string  `json:"name"`
	URL                  string   `json:"url"`
	Types                []string `json:"types"`
	SARAllowed           bool     `json:"sarAllowed"`
	State                string   `json:"state" enum:"on off key_gone" doc:"key_gone: the API key whose it is is none any more; nothing is sent until another one changes it"`
	Owner                *string  `json:"owner" doc:"whose events, an operator's id; null is the institution's: all"`
	KeyID                *string  `json:"keyId" doc:"whose it is: it is told what that key may know"`
	PublicKeys           []string `json:"publicKeys" doc:"of the v1a signatures, newest first: whpk_ and base64"`
	OlderSecretExpiresAt Time     `json:"olderSecretExpiresAt,omitempty"`
	CreatedAt            Time     `json:"createdAt"`
	Rev                  int64    `json:"rev"`
}

type WebhookDetail struct {
	Webhook
	Cursor       *string `json:"cursor" doc:"everything up to it was received or is a dead letter"`
	CursorAt     Time    `json:"cursorAt"`
	BehindLeaves int64   `json:"behindLeaves" doc:"leaves behind the cursor; most are no events"`
	DeadLetters  int64   `json:"deadLetters"`
	Redelivering int64   `json:"redelivering"`
	AsOfIndex    int64   `json:"asOfIndex"`
}

type WebhookChange struct {
	WebhookID string  `json:"webhookId"`
	Op        string  `json:"op" enum:"created changed rotated deleted redelivered"`
	ChangedAt Time    `json:"changedAt"`
	Rev       int64   `json:"rev,omitempty"`
	Reason    *string `json:"reason,omitempty"`
	EventID   string  `json:"eventId,omitempty"`
	Count     int64   `json:"count,omitempty" doc:"how many events are sent again"`
	Webhook   Webhook `json:"webhook,omitempty"`
	Secret    string  `json:"secret,omitempty" doc:"of the v1 signatures: whsec_ and base64"`
}

type WebhookTest struct {
	EventID   string  `json:"eventId"`
	Received  bool    `json:"received"`
	Status    int64   `json:"status" doc:"of the answer; 0: there was none"`
	Failure   *string `json:"failure" schema:"{\"enum\": [\"address_refused\", \"timeout\", \"tls\", \"connection\", \"secret\", null]}"`
	LatencyMs Number  `json:"latencyMs"`
}

type WebhookDelivery struct {
	EventID  string `json:"eventId"`
	Seq      int64  `json:"seq"`
	State    string `json:"state" enum:"dead redelivering"`
	Attempts int64  `json:"attempts,omitempty"`
	Status   int64  `json:"status,omitempty" doc:"of the last answer; 0: there was none"`
	Time     Time   `json:"time"`
}

type Explanation struct {
	TxnID              string       `json:"txnId"`
	Verdict            Verdict      `json:"verdict"`
	Rule               *RuleCode    `json:"rule"`
	Reason             string       `json:"reason"`
	ScreenedAt         Time         `json:"screenedAt"`
	RuleSet            string       `json:"ruleSet"`
	PolicyVersion      int64        `json:"policyVersion"`
	ListVersion        int64        `json:"listVersion"`
	CredentialStatus   Status       `json:"credentialStatus,omitempty"`
	Matches            []PartyMatch `json:"matches,omitempty"`
	MatchesTruncated   bool         `json:"matchesTruncated,omitempty"`
	Parties            []Party      `json:"parties,omitempty"`
	PartiesUnavailable *string      `json:"partiesUnavailable,omitempty"`
	Ladder             []LadderStep `json:"ladder"`
}

type Judged struct {
	Verdict   Verdict    `json:"verdict"`
	Rule      *RuleCode  `json:"rule"`
	Reason    string     `json:"reason"`
	Triggered []RuleCode `json:"triggered"`
	Shadow    []RuleCode `json:"shadow"`
}

type Replay struct {
	TxnID           string     `json:"txnId"`
	Match           bool       `json:"match"`
	Recorded        Judged     `json:"recorded"`
	Replayed        Judged     `json:"replayed"`
	Diff            []Differs  `json:"diff"`
	Assumed         []RuleCode `json:"assumed"`
	ListDigest      string     `json:"listDigest"`
	MatcherVersion  int64      `json:"matcherVersion"`
	ListUnavailable *string    `json:"listUnavailable"`

	Confirmations []ReplayedConfirmation `json:"confirmations,omitempty" doc:"Each time that the payment was confirmed or redeemed, judged again."`
}

// Differs is something that came out otherwise.
type Differs struct {
	Field    string `json:"field" doc:"verdict, rule, reason, triggered or shadow; of a confirmation also leaf.NAME: a member of its leaf that its judgement, or the payment's own record, contradicts"`
	Recorded string `json:"recorded"`
	Replayed string `json:"replayed"`
}

type ReplayedConfirmation struct {
	Kind    string `json:"kind" enum:"payment.confirmed payment.redeemed"`
	EventID string `json:"eventId"`
	Time    Time   `json:"time"`
	Leaf    int64  `json:"leaf"`
	Replay
}

type LeafProof struct {
	Index    int64    `json:"index"`
	LeafHash string   `json:"leafHash"`
	Leaf     string   `json:"leaf"`
	Record   Free     `json:"record,omitempty" free:"the leaf as it reads: docs/FORMATS.md"`
	Path     []string `json:"path"`
	TreeSize int64    `json:"treeSize,omitempty"`
}

type Proof struct {
	TxnID        string      `json:"txnId"`
	Index        int64       `json:"index"`
	LeafHash     string      `json:"leafHash"`
	Leaf         string      `json:"leaf"`
	Record       Free        `json:"record" free:"the leaf as it reads: docs/FORMATS.md"`
	Path         []string    `json:"path"`
	TreeSize     int64       `json:"treeSize"`
	Profile      LeafProof   `json:"profile,omitempty"`
	UserProfile  LeafProof   `json:"userProfile,omitempty"`
	Later        []LeafProof `json:"later,omitempty" doc:"What was written about the record since, up to the signed tree, the oldest first. Each names the one before it (recordPrevious)."`
	Checkpoint   string      `json:"checkpoint"`
	Keys         string      `json:"keys"`
	Witnessed    *bool       `json:"witnessed,omitempty" doc:"false where the log's policy demands a quorum of witnesses that has not signed this checkpoint; otherwise absent."`
	KeyRotations string      `json:"keyRotations,omitempty" doc:"Where the log's keys were rotated: GET /log/keys, with which old keys lead to these."`
}

type Consistency struct {
	From     int64    `json:"from" range:"0-"`
	To       int64    `json:"to" range:"0-"`
	FromRoot string   `json:"fromRoot" doc:"Root of the smaller tree, base64"`
	ToRoot   string   `json:"toRoot" doc:"Root of the larger tree, base64"`
	Path     []string `json:"path" each:"{\"description\": \"A hash, base64\"}" items:"-64"`
}
