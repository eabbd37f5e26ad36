package client

import (
	"context"
	"encoding/json"
)

// LearningCounts are decisions by their outcome. MedianSeconds is from screening to decision; nil: no
// record of them is there any more.
type LearningCounts struct {
	Decisions     int64  `json:"decisions"`
	Approved      int64  `json:"approved"`
	Rejected      int64  `json:"rejected"`
	Escalated     int64  `json:"escalated"`
	MedianSeconds *int64 `json:"medianSeconds"`
}

// LearningRule are the decisions of reviews in which a rule fired.
type LearningRule struct {
	Rule string `json:"rule"`
	LearningCounts
	FalsePositives int64           `json:"falsePositives"`
	SecondLooks    json.RawMessage `json:"secondLooks"` // docs/learning.md has the members.
}

// LearningOfficer are the decisions of one person, and how they stood.
type LearningOfficer struct {
	Subject string `json:"subject"`
	Name    string `json:"name"`
	LearningCounts
	Agreement struct {
		Seconded  int64 `json:"seconded"`
		Confirmed int64 `json:"confirmed"`
		Withdrawn int64 `json:"withdrawn"`
	} `json:"agreement"`
	Reversals struct {
		Withdrawn int64 `json:"withdrawn"`
		Rejudged  int64 `json:"rejudged"`
		Reopened  int64 `json:"reopened"`
	} `json:"reversals"`
	Rules       []LearningRule  `json:"rules"`
	SecondLooks json.RawMessage `json:"secondLooks"`
}

// LearningEntry are the decisions about one listed entry.
type LearningEntry struct {
	UID  string `json:"uid"`
	List string `json:"list"`
	Name string `json:"name"`
	LearningCounts
	NotTheParty    int64 `json:"notTheParty"`
	FalsePositives int64 `json:"falsePositives"`
}

// LearningOperator are the decisions about payments of one operator's agents.
type LearningOperator struct {
	OperatorID string `json:"operatorId"`
	Name       string `json:"name"`
	LearningCounts
	FalsePositives int64 `json:"falsePositives"`
}

// LearningDay are the decisions of one day in UTC, and how many reviews began to wait.
type LearningDay struct {
	Day    string `json:"day"`
	Opened int64  `json:"opened"`
	LearningCounts
}

// LearningTotal are all decisions of a period, and how many of them a second person confirmed.
type LearningTotal struct {
	LearningCounts
	TwoPersons  int64           `json:"twoPersons"`
	SecondLooks json.RawMessage `json:"secondLooks"`
}

// Learning is what officers decided from From to To. Complete is false, and To earlier than asked, where
// there was more than one call counts: the next begins a millisecond after To.
type Learning struct {
	From      string             `json:"from"`
	To        string             `json:"to"`
	Complete  bool               `json:"complete"`
	Total     LearningTotal      `json:"total"`
	Officers  []LearningOfficer  `json:"officers"`
	Rules     []LearningRule     `json:"rules"`
	Entries   []LearningEntry    `json:"entries"`
	Operators []LearningOperator `json:"operators"`
	Days      []LearningDay      `json:"days"`
}

// Learning counts the decisions of a period of times or dates; "" is the service's choice: the 30 days
// that end now.
func (c *Client) Learning(ctx context.Context, from, to string, options ...CallOption) (*Learning, error) {
	return read[Learning](c, ctx, "/v1/learning"+(&Portion{}).query(map[string]string{"from": from, "to": to}), options)
}
