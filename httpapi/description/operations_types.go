package description

type Health struct {
	Status  string `json:"status" enum:"ok degraded"`
	Version string `json:"version"`
	OFAC    struct {
		Source      string   `json:"source"`
		Count       int64    `json:"count"`
		SyncedAt    *string  `json:"syncedAt" format:"date-time"`
		ListVersion int64    `json:"listVersion,omitempty"`
		AgeSeconds  int64    `json:"ageSeconds,omitempty"`
		Missing     []string `json:"missing,omitempty"`
		Quarantined int64    `json:"quarantined,omitempty"`
		Stale       bool     `json:"stale,omitempty"`

		PublicationAgeSeconds int64 `json:"publicationAgeSeconds,omitempty"`
	} `json:"ofac"`
	Kv         string  `json:"kv" enum:"connected disconnected"`
	SigningKey string  `json:"signingKey" enum:"production ephemeral unavailable"`
	Node       string  `json:"node,omitempty"`
	Role       string  `json:"role,omitempty"`
	Leader     *string `json:"leader,omitempty"`
	Quorum     struct {
		Voters           int64 `json:"voters"`
		Healthy          int64 `json:"healthy"`
		FailureTolerance int64 `json:"failureTolerance"`
	} `json:"quorum,omitempty"`
	Index           int64 `json:"index,omitempty"`
	UptimeSeconds   int64 `json:"uptimeSeconds,omitempty"`
	Draining        bool  `json:"draining,omitempty"`
	ReviewQueueFull bool  `json:"reviewQueueFull,omitempty"`
}

type JWKS struct {
	Keys []struct {
		Kty string `json:"kty"`
		Crv string `json:"crv"`
		Use string `json:"use"`
		Alg string `json:"alg"`
		KID string `json:"kid"`
		X   string `json:"x"`
		Y   string `json:"y"`
	} `json:"keys"`
}

type Context struct {
	Context struct {
		_       struct{} `schema:"{\"additionalProperties\": {\"type\": \"string\"}}"`
		Version Number   `json:"@version"`
	} `json:"@context"`
}

type Leader struct {
	Leader *struct {
		ID      string `json:"id"`
		Addr    string `json:"addr"`
		APIAddr string `json:"apiAddr"`
	} `json:"leader"`
	Term int64 `json:"term"`
}

type Peers struct {
	ClusterID string   `json:"clusterId"`
	Peers     []Member `json:"peers"`
}

type VerbDone struct {
	Ok               bool   `json:"ok"`
	Node             string `json:"node"`
	Idle             bool   `json:"idle,omitempty"`
	RefusesInSeconds int64  `json:"refusesInSeconds,omitempty"`
}

type FormatChange struct {
	FeatureLevel   int64   `json:"featureLevel"`
	Unchanged      bool    `json:"unchanged,omitempty"`
	PreviousFormat int64   `json:"previousFormat,omitempty"`
	RaisedAt       Time    `json:"raisedAt,omitempty"`
	Reason         *string `json:"reason,omitempty"`
	Actor          *string `json:"actor,omitempty"`
	EventID        string  `json:"eventId,omitempty"`
	ActorKeyID     string  `json:"actorKeyId,omitempty"`
}

type MatcherChange struct {
	MatcherVersion         int64   `json:"matcherVersion"`
	Unchanged              bool    `json:"unchanged,omitempty"`
	PreviousMatcherVersion int64   `json:"previousMatcherVersion,omitempty"`
	RaisedAt               Time    `json:"raisedAt,omitempty"`
	Reason                 *string `json:"reason,omitempty"`
	Actor                  *string `json:"actor,omitempty"`
	EventID                string  `json:"eventId,omitempty"`
	ActorKeyID             string  `json:"actorKeyId,omitempty"`
}

type BackupsScheduled struct {
	Folder     string  `json:"folder,omitempty" doc:"As each node sees it; absent: the schedule ended"`
	Full       int64   `json:"fullSeconds,omitempty"`
	Increment  int64   `json:"incrementSeconds,omitempty"`
	Tail       int64   `json:"tailSeconds,omitempty"`
	Drill      int64   `json:"drillSeconds,omitempty"`
	Keep       int64   `json:"keep,omitempty"`
	ChangedAt  Time    `json:"changedAt,omitempty"`
	Reason     *string `json:"reason,omitempty"`
	Actor      *string `json:"actor,omitempty"`
	EventID    string  `json:"eventId,omitempty"`
	ActorKeyID string  `json:"actorKeyId,omitempty"`
}

type Backups struct {
	Schedule *BackupSchedule `json:"schedule,omitempty" doc:"Absent: there is none"`
	Newest   *BackupCopy     `json:"newest,omitempty" doc:"The newest copy that was read back"`
	Full     *BackupCopy     `json:"full,omitempty" doc:"The newest full one"`
	Drill    *BackupDrill    `json:"drill,omitempty" doc:"The last rehearsal of a restore"`
	Problems []string        `json:"problems" doc:"What is wrong now, one sentence each"`
}

type BackupSchedule struct {
	Folder    string `json:"folder"`
	Full      int64  `json:"fullSeconds"`
	Increment int64  `json:"incrementSeconds"`
	Tail      int64  `json:"tailSeconds"`
	Drill     int64  `json:"drillSeconds" doc:"0: restores are not rehearsed"`
	Keep      int64  `json:"keep"`
}

type BackupCopy struct {
	At     Time   `json:"takenAt"`
	File   string `json:"file"`
	Node   string `json:"node"`
	Bytes  int64  `json:"bytes"`
	First  int64  `json:"firstLeaf" doc:"0: it is full"`
	End    int64  `json:"endLeaf"`
	SHA256 string `json:"sha256"`
}

type BackupDrill struct {
	At     Time   `json:"drilledAt"`
	Node   string `json:"node"`
	Files  int64  `json:"files"`
	Leaves int64  `json:"leaves"`
	Failed string `json:"failed,omitempty" doc:"Absent: all came back"`
}

type TimeConfirmation struct {
	LeapExpiresAt Time     `json:"leapExpiresAt,omitempty"`
	Unchanged     bool     `json:"unchanged,omitempty"`
	LogTime       Time     `json:"logTime,omitempty"`
	ConfirmedAt   Time     `json:"confirmedAt,omitempty"`
	Persons       []string `json:"persons,omitempty"`
	Alone         bool     `json:"alone,omitempty"`
	Reason        *string  `json:"reason,omitempty"`
	Actor         *string  `json:"actor,omitempty"`
	EventID       string   `json:"eventId,omitempty"`
	ActorKeyID    string   `json:"actorKeyId,omitempty"`
}

type Snapshot struct {
	ID    string `json:"id"`
	Index int64  `json:"index"`
	Term  int64  `json:"term"`
	Size  int64  `json:"size"`
	Time  Time   `json:"time"`
}

type ClockChange struct {
	LogTime Time   `json:"logTime"`
	Advance string `json:"advance"`
	EventID string `json:"eventId,omitempty"`
}

type ErrorTable struct {
	Errors []struct {
		Code    ErrorCode `json:"code"`
		Status  int64     `json:"status"`
		Meaning string    `json:"meaning"`
	} `json:"errors"`
}

type Feed struct {
	Version     string `json:"version"`
	Title       string `json:"title"`
	HomePageURL string `json:"home_page_url"`
	FeedURL     string `json:"feed_url"`
	Description string `json:"description"`
	Items       []struct {
		ID            string   `json:"id"`
		URL           string   `json:"url"`
		Title         string   `json:"title"`
		ContentText   string   `json:"content_text"`
		DatePublished string   `json:"date_published"`
		Tags          []string `json:"tags"`
	} `json:"items"`
}
