package main

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"strconv"
	"strings"
	"text/tabwriter"

	"railguard/ofac"
)

// Output of a record for officers: who paid how much to whom, the verdict and why, the list,
// and what each rule compared. The rest is in -o json.

// shownRecord is the part of a record, or of its explanation, that is shown to people.
type shownRecord struct {
	Verdict, TxnID, Reason, ScreenedAt, AgentID, AgentName, OperatorLegalName, CredentialStatus string
	Rule                                                                                        *string
	Disposition, ReviewedBy, ReviewedAt, Notes                                                  *string
	PolicyVersion, ListVersion                                                                  int64
	OfacSource                                                                                  string
	Proposed, Confirms                                                                          json.RawMessage
	Recheck                                                                                     json.RawMessage
	Payment                                                                                     json.RawMessage
	Request                                                                                     map[string]json.RawMessage `json:"_request"`
	Matches                                                                                     []shownMatch
	Places                                                                                      []struct{ Member, Read, Outcome, Exemption string }
	Parties                                                                                     []shownParty
	Comments                                                                                    []struct{ Time, By, Comment string }
	Triggered                                                                                   []string
	Ladder                                                                                      []shownRung
	Now                                                                                         *shownPolicy `json:"_policy"`
}

// shownPolicy is the part of the policy in force that says which threshold scores are compared
// with.
type shownPolicy struct {
	PolicyVersion int64
	Policy        struct {
		Names struct{ Review json.Number }
	}
}

// thresholdOf returns what a match's score was compared with: the review threshold of the
// policy in force.
func (r *shownRecord) thresholdOf(m *shownMatch) string {
	if r.Now == nil || m.Wallet != "" || m.Identifier != "" {
		return "-"
	}
	text := r.Now.Policy.Names.Review.String()
	if text == "" {
		text = strconv.FormatFloat(float64(ofac.ReviewDefault)/10000, 'f', -1, 64)
	}
	if r.Now.PolicyVersion != r.PolicyVersion {
		text += " (policy of today)"
	}
	return text
}

type shownMatch struct {
	Party, List, UID, Name, Alias, Type, Outcome, Wallet string
	Identifier, IdentifierLabel, ReadAs, Member, Why     string
	Score                                                json.Number
}

type shownParty struct {
	UID   string
	Facts []struct{ Kind, Label, Value string }
}

type shownRung struct {
	Rule, Outcome, Reason, Trigger string
	Number                         int
	Values                         json.RawMessage
}

// factsOfOne is how many facts about a listed party are shown.
const factsOfOne = 8

// showRecord prints a record, or the explanation of one.
func showRecord(out io.Writer, data []byte) error {
	var r shownRecord
	if err := json.Unmarshal(data, &r); err != nil {
		return fmt.Errorf("answer of the record: %w", err)
	}
	table := tabwriter.NewWriter(out, 0, 4, 2, ' ', 0)
	r.printHead(table)
	if err := table.Flush(); err != nil {
		return err
	}
	if err := r.printMatches(out); err != nil {
		return err
	}
	for _, c := range r.Comments {
		fmt.Fprintf(out, "\ncomment of %s, %s: %s\n", printableText(c.By), c.Time, printableText(c.Comment))
	}
	return r.printRungs(out)
}

func (r *shownRecord) printHead(table io.Writer) {
	line := func(name, value string) {
		if value = strings.TrimSpace(value); value != "" && value != "-" {
			fmt.Fprintf(table, "%s\t%s\n", name, printableText(value))
		}
	}
	text := func(value *string) string {
		if value == nil {
			return ""
		}
		return *value
	}
	line("transaction", r.TxnID)
	line("verdict", r.Verdict)
	line("rule", text(r.Rule))
	line("reason", r.Reason)
	if r.Request != nil {
		line("amount", plainText(r.Request["amount"])+" USD")
		for _, name := range []string{"cpName", "cpWallet", "payerWallet", "wallets", "cpType", "cpCountry", "cpRegion", "cpAddress", "cpDateOfBirth", "cpIdentifiers", "originCountry", "memo", "chain", "rail", "protocol", "paymentRef"} {
			line(map[string]string{"cpName": "to", "cpWallet": "to wallet"}[name]+map[bool]string{true: name}[name != "cpName" && name != "cpWallet"], plainText(r.Request[name]))
		}
	}
	for _, p := range r.Places {
		read := cmp.Or(p.Read, "cannot be read")
		line("place", p.Member+": "+read+", "+strings.TrimSpace(p.Outcome+" "+p.Exemption))
	}
	line("agent", r.AgentName+" "+r.AgentID)
	line("operator", r.OperatorLegalName)
	line("credential", r.CredentialStatus)
	line("screened", r.ScreenedAt)
	line("list, policy", fmt.Sprintf("version %d %s, version %d", r.ListVersion, r.OfacSource, r.PolicyVersion))
	line("proposed", plainText(r.Proposed))
	line("decided", text(r.Disposition))
	line("confirms", plainText(r.Confirms))
	line("by", text(r.ReviewedBy)+" "+text(r.ReviewedAt))
	line("notes", text(r.Notes))
	line("recheck", plainText(r.Recheck))
	line("payment", plainText(r.Payment))
}

// asked returns what the call, or the registry, says of whom a match is about.
func (r *shownRecord) asked(m *shownMatch) string {
	switch {
	case m.Member != "":
		return m.Member + " as " + m.ReadAs
	case m.Party == "memo":
		return plainText(r.Request["memo"])
	case m.Wallet != "" && m.Party == "counterparty":
		return cmp.Or(plainText(r.Request["cpWallet"]), m.Wallet)
	case m.Wallet != "" && m.Party == "payer":
		return cmp.Or(plainText(r.Request["payerWallet"]), m.Wallet)
	case m.Wallet != "":
		return m.Wallet
	case m.Party == "counterparty":
		return plainText(r.Request["cpName"])
	}
	return r.OperatorLegalName
}

// printMatches prints the asked and the listed name side by side, with the score.
func (r *shownRecord) printMatches(out io.Writer) error {
	if len(r.Matches) == 0 {
		return nil
	}
	fmt.Fprintln(out, "\nmatches:")
	table := tabwriter.NewWriter(out, 0, 4, 2, ' ', 0)
	fmt.Fprintln(table, "PARTY\tASKED\tLISTED\tENTRY\tLIST\tSCORE\tTHRESHOLD\tOUTCOME")
	for _, m := range r.Matches {
		asked, listed := r.asked(&m), cmp.Or(m.Wallet, m.Alias, m.Name)
		if m.Identifier != "" {
			listed = m.IdentifierLabel + " " + m.Identifier
		}
		fmt.Fprintf(table, "%s\t%s\t%s\t%s %s\t%s\t%s\t%s\t%s\n", printableText(m.Party), printableText(asked), printableText(listed), printableText(m.UID), printableText(m.Name), printableText(m.List), printableText(m.Score.String()), printableText(r.thresholdOf(&m)), printableText(outcomeOf(&m)))
	}
	if err := table.Flush(); err != nil {
		return err
	}
	for _, p := range r.Parties {
		for _, fact := range p.Facts[:min(len(p.Facts), factsOfOne)] {
			fmt.Fprintf(out, "  %s  %s %s: %s\n", printableText(p.UID), printableText(fact.Kind), printableText(fact.Label), printableText(fact.Value))
		}
	}
	return nil
}

// outcomeOf adds to a match's outcome why it is not sure.
func outcomeOf(m *shownMatch) string {
	if m.Why == "" || m.Identifier == "" && m.Party != "memo" {
		return m.Outcome
	}
	return m.Outcome + ": " + m.Why
}

// printRungs prints each rule's outcome and what it compared.
func (r *shownRecord) printRungs(out io.Writer) error {
	if len(r.Ladder) == 0 {
		return nil
	}
	fmt.Fprintln(out, "\nrules:")
	table := tabwriter.NewWriter(out, 0, 4, 2, ' ', 0)
	fmt.Fprintln(table, "RULE\tOUTCOME\tCOMPARED")
	for _, rung := range r.Ladder {
		compared := "-"
		if len(rung.Values) > 0 {
			compared = plainText(rung.Values)
		}
		if rung.Reason != "" {
			compared += "  (" + printableText(rung.Reason) + ")"
		}
		fmt.Fprintf(table, "%s\t%s\t%s\n", printableText(rung.Rule), printableText(rung.Outcome), compared)
	}
	return table.Flush()
}
