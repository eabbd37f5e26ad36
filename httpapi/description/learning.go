package description

var learningOperations = []Operation{
	{
		Name: "showLearning", Look: "suspicion", Route: "GET /v1/learning", Tag: "reviews", Scope: Institution, Roles: "reviewer auditor policy",
		Summary:    "What officers decided, counted from the log",
		Text:       "Decisions, medians, agreement and reversals by officer, rule, listed entry, operator and day; docs/learning.md defines each figure. One answer counts 10,000 decisions at most: complete is false and to is earlier where there are more, and the next call begins a millisecond after it. For a key with neither the role reviewer nor auditor an escalated review counts as rejected. A table has 500 rows at most, those with the most decisions.",
		Parameters: "consistency timeout minIndex",
		Query: []Parameter{
			{Name: "from", Text: "a time or a date; 30 days before to if left out", Of: "", Tags: `length:"1-" format:"date-time"`},
			{Name: "to", Text: "a time or a date; now if left out", Of: "", Tags: `length:"1-" format:"date-time"`},
			{Name: "limit", Text: "how many decisions it counts at most", Of: int64(0), Tags: `range:"1-10000"`},
			{Name: "format", Text: "csv: the same as one table", Of: "", Tags: `enum:"json csv"`},
		},
		Answers: []Answer{{Status: 200, Of: Learning{}, Headers: "Disposition", Media: []Media{{Type: "text/csv", Of: ""}}}},
	},
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
	FalsePositives int64 `json:"falsePositives" doc:"decided APPROVED"`
}

type Learning struct {
	From     Time `json:"from"`
	To       Time `json:"to"`
	Complete bool `json:"complete"`
	Total    struct {
		LearningCounts
		TwoPersons int64 `json:"twoPersons" doc:"decisions that a second person confirmed"`
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
