package main

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"strings"
)

// tellProposal says what comes next if a call was not done but proposed, because the policy
// demands two persons for it. Of any other answer it says nothing.
func tellProposal(out io.Writer, data []byte) {
	type proposal struct {
		State, ProposalID, ExpiresAt string
		ProposalExpiresAt            string // Of a key, which has an end of its own.
		TwoPersons                   []string
	}
	var answer struct {
		proposal
		Proposed    *proposal
		Disposition *string
	}
	if json.Unmarshal(data, &answer) != nil {
		return
	}
	waits := answer.proposal
	if answer.Proposed != nil && answer.Disposition == nil {
		waits = *answer.Proposed
	} else if waits.State != "proposed" {
		return
	}
	what := "this"
	if len(waits.TwoPersons) > 0 {
		what = strings.Join(waits.TwoPersons, ", ")
	}
	fmt.Fprintf(out, "Nothing is done yet: the policy demands two persons for %s. Until %s somebody else whose key has the role, and is a day old, confirms:\n  railguard proposal show %s\n  railguard proposal confirm %s\n",
		what, cmp.Or(waits.ProposalExpiresAt, waits.ExpiresAt), waits.ProposalID, waits.ProposalID)
}
