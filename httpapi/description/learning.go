package description

var learningOperations = []Operation{
	{
		Name: "showLearning", Look: "suspicion", Route: "GET /v1/learning", Tag: "reviews", Scope: Institution, Roles: "reviewer auditor policy",
		Summary:    "What officers decided, counted from the log",
		Text:       "Decisions, medians, agreement and reversals by officer, rule, listed entry, operator and day; docs/learning.md defines each figure. One answer counts 10,000 decisions at most: complete is false and to is earlier where there are more, and the next call begins a millisecond after it. For a key with neither the role reviewer nor auditor an escalated review counts as rejected. A table has 500 rows at most, those with the most decisions.",
		Parameters: "consistency timeout minIndex",
		Query: []Parameter{
			{Name: "from", Text: "a time or a date; 30 days before to if left out", Of: "", Tags: momentTags},
			{Name: "to", Text: "a time or a date; now if left out", Of: "", Tags: momentTags},
			{Name: "limit", Text: "how many decisions it counts at most", Of: int64(0), Tags: `range:"1-10000"`},
			{Name: "format", Text: "csv: the same as one table", Of: "", Tags: `enum:"json csv"`},
		},
		Answers: []Answer{{Status: 200, Of: Learning{}, Headers: "Disposition", Media: []Media{{Type: "text/csv", Of: ""}}}},
	},
	{
		Name: "listSecondLooks", Look: "suspicion", Route: "GET /v1/learning/second-looks", Tag: "reviews", Scope: Institution, Roles: "reviewer auditor",
		Summary:    "Decisions that another officer looks at again, newest first",
		Text:       "Of an open look nothing is told by which its record could be found: openedAt is the beginning of the day of the decision. An ended one has what was decided and, if it was answered, what the second officer would have decided.",
		Parameters: "limit cursor order consistency timeout minIndex",
		Query:      []Parameter{{Name: "state", Of: "", Tags: `enum:"open answered lapsed"`}},
		Answers: []Answer{{Status: 200, Of: struct {
			Data       []SecondLook `json:"data"`
			NextCursor *string      `json:"nextCursor"`
			AsOfIndex  int64        `json:"asOfIndex"`
		}{}}},
	},
	{
		Name: "showSecondLook", Look: "suspicion", Route: "GET /v1/learning/second-looks/{lookId}", Tag: "reviews", Scope: Institution, Roles: "reviewer auditor",
		Summary:    "One second look",
		Text:       "To whoever has it in hand (POST /v1/inbox/{itemId}/claim) with its record, as it was before it was decided.",
		Parameters: "lookId consistency timeout minIndex",
		Answers: []Answer{{Status: 200, Of: struct {
			SecondLook
			Record    *Record      `json:"record" doc:"null while the look is open and not in the caller's hands"`
			Explained *Explanation `json:"explained" doc:"what became of every rule; null where record is, and where this node has the record's list no more"`
		}{}}},
		Refusals: "404",
		Codes:    Codes{404: "not_found"},
	},
	{
		Name: "answerSecondLook", Route: "POST /v1/learning/second-looks/{lookId}", Tag: "reviews", Scope: Institution, Roles: "reviewer",
		Summary:    "Say what one would have decided",
		Text:       "It changes nothing about the payment. The caller has the look in hand. Where the two do not agree, an alert second_look opens.",
		Parameters: "lookId timeout minIndex idempotencyKey",
		Body: &Body{Of: struct {
			Disposition Disposition `json:"disposition"`
			ReviewedBy  string      `json:"reviewedBy" length:"-FieldMax" pattern:"\\S"`
			Reason      string      `json:"reason" length:"-TextMax" pattern:"\\S"`
		}{}, Example: `{"disposition": "REJECTED", "reviewedBy": "Carla", "reason": "Name and birth date agree with the entry."}`},
		Answers: []Answer{{Status: 200, Of: struct {
			LookID            string      `json:"lookId"`
			TxnID             string      `json:"txnId"`
			FirstDisposition  Disposition `json:"firstDisposition" doc:"what was decided"`
			SecondDisposition Disposition `json:"secondDisposition"`
			Agrees            bool        `json:"agrees"`
			ReviewedBy        string      `json:"reviewedBy"`
			Reason            string      `json:"reason"`
			ReviewedAt        Time        `json:"reviewedAt"`
			EventID           string      `json:"eventId"`
		}{}, Headers: "Replayed"}},
		Refusals: "404 409",
		Codes:    Codes{404: "not_found", 409: "claimed_by_other invalid_transition", 422: "unknown_field missing_field invalid_field invalid_disposition"},
	},
}

// SecondLook is a decision that another officer looks at again.
type SecondLook struct {
	LookID         string    `json:"lookId"`
	State          string    `json:"state" enum:"open answered lapsed"`
	OpenedAt       Time      `json:"openedAt" doc:"the beginning of the day of the decision, in UTC"`
	DueAt          Time      `json:"dueAt" doc:"when it lapses, or would have"`
	Assignee       *string   `json:"assignee" doc:"who has it in hand"`
	LeaseExpiresAt *string   `json:"leaseExpiresAt" format:"date-time"`
	MayTake        bool      `json:"mayTake" doc:"it is open, and the caller is another person than those who know the case; somebody may have it in hand"`
	Why            *string   `json:"why" doc:"why the caller may not"`
	TxnID          *string   `json:"txnId" doc:"this and the three behind it are null while it is open"`
	Decided        *LookSaid `json:"decided"`
	Answered       *LookSaid `json:"answered" doc:"null of one that lapsed"`
	Agrees         *bool     `json:"agrees" doc:"null of one that lapsed"`
}

// LookSaid is what one of two officers said.
type LookSaid struct {
	Disposition Disposition `json:"disposition"`
	Actor       *string     `json:"actor"`
	Time        Time        `json:"time"`
	Reason      *string     `json:"reason"`
}

// LookCounts are the counts of second looks at decisions that have something in common.
type LookCounts struct {
	Asked             int64  `json:"asked" doc:"decisions of the period that are looked at again"`
	Agreed            int64  `json:"agreed" doc:"answers of the period that agree with the decision"`
	Disagreed         int64  `json:"disagreed"`
	Lapsed            int64  `json:"lapsed" doc:"looks that nobody answered in time"`
	AgreedBasisPoints *int64 `json:"agreedBasisPoints" doc:"of 10,000 answers so many agree; null where there is none"`
}

// LearningCounts are the counts of decisions that have something in common.
type LearningCounts struct {
	Decisions     int64  `json:"decisions"`
	Approved      int64  `json:"approved"`
	Rejected      int64  `json:"rejected"`
	Escalated     int64  `json:"escalated"`
	MedianSeconds *int64 `json:"medianSeconds" doc:"from screening to decision, the one in the middle; null if no record is there any more"`
}

type LearningRule struct {
	Rule string `json:"rule" doc:"a rule that fired, whether it decided or not"`
	LearningCounts
	FalsePositives int64      `json:"falsePositives" doc:"decided APPROVED"`
	SecondLooks    LookCounts `json:"secondLooks"`
}

type Learning struct {
	From     Time `json:"from"`
	To       Time `json:"to"`
	Complete bool `json:"complete"`
	Total    struct {
		LearningCounts
		TwoPersons  int64      `json:"twoPersons" doc:"decisions that a second person confirmed"`
		SecondLooks LookCounts `json:"secondLooks"`
	} `json:"total"`
	Officers []struct {
		Subject string  `json:"subject" doc:"a person or a key; of two persons the one who decided first"`
		Name    *string `json:"name"`
		LearningCounts
		Agreement struct {
			Seconded  int64 `json:"seconded" doc:"decisions of others that he confirmed"`
			Confirmed int64 `json:"confirmed" doc:"his decisions that a second person confirmed"`
			Withdrawn int64 `json:"withdrawn" doc:"his decisions that a second person took back"`
		} `json:"agreement"`
		Reversals struct {
			Withdrawn int64 `json:"withdrawn" doc:"a second person took his decision back"`
			Rejudged  int64 `json:"rejudged" doc:"he approved, and the payment was blocked when it was confirmed or redeemed"`
			Reopened  int64 `json:"reopened" doc:"he approved, and a report or a sanctions case was opened for the payment later"`
		} `json:"reversals"`
		SecondLooks struct {
			LookCounts
			Given int64 `json:"given" doc:"answers of the period that he gave about others' decisions"`
		} `json:"secondLooks" doc:"at his own decisions, but for given"`
		Rules []LearningRule `json:"rules"`
	} `json:"officers"`
	Rules   []LearningRule `json:"rules"`
	Entries []struct {
		UID  string  `json:"uid"`
		List *string `json:"list"`
		Name *string `json:"name"`
		LearningCounts
		NotTheParty    int64 `json:"notTheParty" doc:"sanctions cases of the entry that were found to be of another party"`
		FalsePositives int64 `json:"falsePositives" doc:"approved and notTheParty"`
	} `json:"entries"`
	Operators []struct {
		OperatorID string  `json:"operatorId"`
		Name       *string `json:"name"`
		LearningCounts
		FalsePositives int64 `json:"falsePositives"`
	} `json:"operators"`
	Days []struct {
		Day    string `json:"day" doc:"in UTC"`
		Opened int64  `json:"opened" doc:"reviews that began to wait"`
		LearningCounts
	} `json:"days"`
}
