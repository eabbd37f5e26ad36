package openapi

import (
	"encoding/json"
	"maps"
	"path"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// lawful are the members that the specification, or another body's format, names otherwise than
// decision 163, each as its schema and name, with the reason.
var lawful = map[string]string{
	"Agent.attestation.validUntil": "specification: attestations",
	"Attestation.validUntil":       "specification: attestations",
	"Approval.until":               "specification: approval.until",
	"ConfirmedApproval.until":      "specification: approval.until",
	"Record.payBy":                 "specification: approvals",
	"DisposedRecord.payBy":         "specification: approvals",
	"Proposed.by":                  "specification, four eyes: proposed {disposition, by, byKey, at}",
	"Proposed.byKey":               "specification, four eyes",
	"Proposed.at":                  "specification, four eyes",
	"Proposed.proposedBy":          "it stands beside at",
	"Entry.addedBy":                "specification: entries of whitelists",
	"PermitTerms.maxAge":           "specification: lists.maxAge of a permit",
	"Agent.attestation.above":      "the policy's attestation.above",
	"Credential.issuanceDate":      "W3C Verifiable Credentials",
	"Credential.expirationDate":    "W3C Verifiable Credentials",
	"SARSummary.escalatedBy":       "whoever escalated opened the report, at openedAt",
	"SARPacket.escalatedBy":        "whoever escalated opened the report, at openedAt",
}

// namedSchema is the part of a schema that names are judged by.
type namedSchema struct {
	Ref        string                  `json:"$ref"`
	Type       any                     `json:"type"`
	Format     string                  `json:"format"`
	Properties map[string]*namedSchema `json:"properties"`
	AllOf      []*namedSchema          `json:"allOf"`
	AnyOf      []*namedSchema          `json:"anyOf"`
	OneOf      []*namedSchema          `json:"oneOf"`
	Items      *namedSchema            `json:"items"`
	Additional json.RawMessage         `json:"additionalProperties"`
}

// namedAnswer is what a response holds.
type namedAnswer struct {
	Content map[string]struct {
		Schema *namedSchema `json:"schema"`
	} `json:"content"`
}

// has tells whether the schema may be of the type.
func (s *namedSchema) has(kind string) bool {
	switch t := s.Type.(type) {
	case string:
		return t == kind
	case []any:
		return slices.Contains(t, any(kind))
	}
	return false
}

// judgeNames says what breaks decision 163 in one object of an answer.
func judgeNames(members map[string]*namedSchema, resolve func(*namedSchema) *namedSchema) (faults map[string]string) {
	faults = map[string]string{}
	there := func(name string) bool { return members[name] != nil }
	for name, s := range members {
		s := resolve(s)
		moment := s.has("string") && s.Format == "date-time"
		participle, who := strings.CutSuffix(strings.TrimSuffix(name, "Key"), "By")
		switch {
		case slices.Contains([]string{"at", "by", "byKey"}, name):
			faults[name] = "an entry of a history says time, actor and actorKeyId, a state proposedAt, proposedBy and proposedByKey"
		case name == "actor" || name == "actorKeyId":
			if !there("time") && !there("reason") && !there("eventId") {
				faults[name] = "it stands in an entry of a history (time) or in the answer of a change (reason or eventId)"
			}
		case who && !moment && !there(participle+"At"):
			faults[name] = "whoever did it stands beside when: " + participle + "At"
		case strings.HasSuffix(name, "Until") || name == "until" || name == "lapsesAt":
			faults[name] = "what ends by itself says expiresAt, or …ExpiresAt"
		case moment && !momentName.MatchString(name), !moment && s.Type != nil && instantName.MatchString(name):
			faults[name] = "a moment is called time, …At, since, from, to, first or last, and has the format date-time"
		case spanName.MatchString(name) && (s.has("integer") || s.has("number") || s.has("string")):
			faults[name] = "a span is a whole number of seconds: …Seconds"
		case strings.HasSuffix(name, "Seconds") && !s.has("integer"):
			faults[name] = "a span is a whole number of seconds"
		case name == "amountUSDC" && there("txnId"):
			faults[name] = "the amount of one payment is amount"
		case s.has("number") && !noMoney[name] && name != "amount" && !strings.HasSuffix(name, "USDC") && !strings.HasSuffix(name, "USD"):
			faults[name] = "a number of money that is not the amount of one payment says …USDC"
		}
	}
	return faults
}

var (
	momentName  = regexp.MustCompile(`^(time|logTime|from|to|first|last)$|(^s|S)ince$|At$`)
	instantName = regexp.MustCompile(`^(time|logTime)$|At$`)
	spanName    = regexp.MustCompile(`(^a|A)ge$|(^m|M)inutes$|(^h|H)ours$|(^t|T)tl$|Timeout$|(^d|D)uration$|Period$|Delay$|Lag$`)
	// noMoney are numbers that count no money.
	noMoney = map[string]bool{
		"likeness": true, "similarity": true, "score": true, "strict": true, "bits": true, "bitsNeeded": true, "latencyMs": true,
		"recorded": true, "candidate": true, "judgedAs": true, "@version": true,
	}
)

// namedDocument is the part of the document that names are judged by.
type namedDocument struct {
	Paths map[string]map[string]struct {
		OperationID string `json:"operationId"`
		Responses   map[string]struct {
			Ref string `json:"$ref"`
			namedAnswer
		} `json:"responses"`
	} `json:"paths"`
	Components struct {
		Responses map[string]namedAnswer  `json:"responses"`
		Schemas   map[string]*namedSchema `json:"schemas"`
	} `json:"components"`

	seen   map[*namedSchema]bool
	faults map[string]string // By schema and name.
}

func (d *namedDocument) resolve(s *namedSchema) *namedSchema {
	for s.Ref != "" {
		s = d.Components.Schemas[path.Base(s.Ref)]
	}
	return s
}

// judge collects the faults of a schema and of all schemas in it.
func (d *namedDocument) judge(where string, s *namedSchema) {
	if s.Ref != "" {
		where = path.Base(s.Ref)
	}
	if s = d.resolve(s); d.seen[s] {
		return
	}
	d.seen[s] = true
	for name, fault := range judgeNames(s.Properties, d.resolve) {
		d.faults[where+"."+name] = fault
	}
	for name, one := range s.Properties {
		d.judge(where+"."+name, one)
	}
	for _, one := range slices.Concat(s.AllOf, s.AnyOf, s.OneOf) {
		d.judge(where, one)
	}
	if s.Items != nil {
		d.judge(where, s.Items)
	}
	if more := new(namedSchema); json.Unmarshal(s.Additional, more) == nil {
		d.judge(where, more)
	}
}

// TestNamesOfMembers: names of who, when and how much are the same in every answer (decision
// 163).
func TestNamesOfMembers(t *testing.T) {
	data, err := Document()
	require.NoError(t, err)
	d := namedDocument{seen: map[*namedSchema]bool{}, faults: map[string]string{}}
	require.NoError(t, json.Unmarshal(data, &d))
	for _, operations := range d.Paths {
		for _, operation := range operations {
			for _, answer := range operation.Responses {
				if answer.Ref != "" {
					answer.namedAnswer = d.Components.Responses[path.Base(answer.Ref)]
					require.NotEmpty(t, answer.Content)
				}
				for _, media := range answer.Content {
					if media.Schema != nil {
						d.judge(operation.OperationID, media.Schema)
					}
				}
			}
		}
	}
	require.Greater(t, len(d.seen), 500)
	for _, name := range slices.Sorted(maps.Keys(d.faults)) {
		if lawful[name] == "" {
			t.Errorf("%s: %s", name, d.faults[name])
		}
	}
	for _, name := range slices.Sorted(maps.Keys(lawful)) {
		require.Contains(t, d.faults, name, "it fits by now")
	}
}
