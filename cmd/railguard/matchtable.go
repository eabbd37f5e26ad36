package main

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
)

// matchAnswer is the part of an answer of GET /v1/match that showMatches reads.
type matchAnswer struct {
	Outcome  string `json:"outcome"`
	Missed   string `json:"notCompared"`
	Snapshot string `json:"snapshotId"`
	Source   string `json:"ofacSource"`
	Query    struct {
		Name   string `json:"name"`
		Read   string `json:"normalised"`
		Wallet string `json:"wallet"`
		Payee  string `json:"canonicalWallet"`
	} `json:"query"`
	Matches []listedMatch `json:"matches"`
}

type listedMatch struct {
	List     string   `json:"list"`
	UID      string   `json:"uid"`
	Name     string   `json:"name"`
	Alias    string   `json:"alias"`
	Programs []string `json:"programs"`
	Type     string   `json:"type"`
	Quality  string   `json:"quality"`
	Form     string   `json:"form"`
	Ticker   string   `json:"ticker"`
	Score    float64  `json:"score"`
	Strict   float64  `json:"strict"`
	Outcome  string   `json:"outcome"`
	Why      string   `json:"why"`
	Cleared  bool     `json:"cleared"`
	Facts    []struct {
		Kind  string `json:"kind"`
		Label string `json:"label"`
		Value string `json:"value"`
	} `json:"facts"`
	Context     []string `json:"context"`
	Explanation string   `json:"explanation"`
	Pairs       []struct {
		Query      string  `json:"query"`
		Listed     string  `json:"listed"`
		Similarity float64 `json:"similarity"`
		Loss       float64 `json:"loss"`
	} `json:"pairs"`
	Losses []struct {
		Where string  `json:"where"`
		What  string  `json:"what"`
		Loss  float64 `json:"loss"`
	} `json:"losses"`
}

// showMatches prints what a name or wallet matches, in the way an officer compares: each entry
// with the person or company it means, and the evidence for and against a match.
func showMatches(out io.Writer, data []byte) error {
	var a matchAnswer
	if err := json.Unmarshal(data, &a); err != nil {
		return fmt.Errorf("answer of the match: %w", err)
	}
	table := tabwriter.NewWriter(out, 0, 4, 2, ' ', 0)
	line := func(name, value string) {
		if value != "" {
			fmt.Fprintf(table, "%s\t%s\n", name, printableText(value))
		}
	}
	line("outcome", a.Outcome)
	line("name", a.Query.Name)
	line("read as", a.Query.Read)
	line("wallet", a.Query.Wallet)
	line("canonical", a.Query.Payee)
	line("list", a.Snapshot+" ("+a.Source+")")
	if a.Missed != "" {
		line("not compared", a.Missed+" (R21 reviews it)")
	}
	if len(a.Matches) == 0 {
		line("matches", "none")
	}
	if err := table.Flush(); err != nil {
		return err
	}
	for i := range a.Matches {
		if err := a.Matches[i].showMatch(out, i+1); err != nil {
			return err
		}
	}
	return nil
}

func (m *listedMatch) showMatch(out io.Writer, number int) error {
	fmt.Fprintf(out, "\n%d. %s %s  %s  (%s)\n", number, m.List, m.UID, printableText(m.Name), printableText(strings.Join(append([]string{m.Type}, m.Programs...), ", ")))
	table := tabwriter.NewWriter(out, 3, 4, 2, ' ', 0)
	line := func(name, value string) {
		if value != "" {
			fmt.Fprintf(table, "   %s\t%s\n", name, printableText(value))
		}
	}
	if m.Alias != m.Name {
		line("matched by", strings.TrimSpace(m.Alias+" "+m.Ticker))
	}
	outcome := m.Outcome
	if m.Why != "" {
		outcome += ": " + m.Why
	}
	if m.Cleared {
		outcome += " (this pair is cleared)"
	}
	line("outcome", outcome)
	line("score", fmt.Sprintf("%.3f, strict %.3f; %s form, %s name", m.Score, m.Strict, m.Form, m.Quality))
	if len(m.Pairs)+len(m.Losses) == 0 {
		line("why", m.Explanation)
	}
	for _, p := range m.Pairs {
		sign := "~"
		if p.Similarity == 1 {
			sign = "="
		}
		line("pair", fmt.Sprintf("%s %s %s  %.2f%s", p.Query, sign, p.Listed, p.Similarity, describeLoss(p.Loss)))
	}
	for _, l := range m.Losses {
		line("lost", l.What+" ("+l.Where+")"+describeLoss(l.Loss))
	}
	for _, c := range m.Context {
		line("compare", c)
	}
	for _, f := range m.Facts {
		value := f.Value
		if f.Kind == "document" || f.Kind == "other" {
			value = strings.TrimSpace(f.Label + " " + f.Value)
		}
		line(f.Kind, value)
	}
	return table.Flush()
}

// describeLoss says how much a pair or a word lowered the score.
func describeLoss(loss float64) string {
	if loss == 0 {
		return ""
	}
	return fmt.Sprintf("  -%.3f", loss)
}
