package edge

import (
	"strconv"
	"strings"

	"railguard/engine"
	"railguard/fsm"
	"railguard/seal"
)

// A sandbox can give a developer every answer that the service has: the name of the
// counterparty chooses the answer. It is a development cluster with its own issuer, so its
// credentials are valid nowhere else. Other clusters ignore such names.

// IsSandbox reports whether the settings are a sandbox's.
func IsSandbox(settings *fsm.Settings) bool {
	genesis := settings.Genesis
	return genesis != nil && genesis.Dev && genesis.Issuer == seal.SandboxIssuer
}

// sandboxPrefix begins a counterparty name that asks for an answer. sandboxWallet begins a
// wallet that does so if a payment has no name (x402). It has no letters, so such an address
// has only one spelling.
const (
	sandboxPrefix = "SANDBOX "
	sandboxWallet = "0x555555555555555555555555555555555555"
	sandboxOutage = 501 // The wallet's last four digits for the first of sandboxOutages.
)

// sandboxOutages are codes of a 503. Consecutive wallets, from sandboxOutage on, ask for them.
var sandboxOutages = []string{"no_quorum", "no_leader", "sanctions_data_unavailable", "overloaded", "storage_low", "shutting_down", "outcome_unknown", "time_uncertain"}

// SandboxAsks returns the answer that the present call asks a sandbox for: a rule ("R7"), or a word
// that the API knows. It returns "" if the call asks for none or this is no sandbox.
func SandboxAsks(j *Judge) string {
	name := SandboxAsksOf(j.Terms.Settings, j.screen.request.Name)
	digits, paid := strings.CutPrefix(j.screen.request.Wallet, sandboxWallet)
	switch {
	case name != "":
		return name
	case !paid || !IsSandbox(j.Terms.Settings):
		return ""
	}
	number, err := strconv.ParseUint(digits, 10, 16)
	switch {
	case err != nil || len(digits) != 4 || number == 0:
		return ""
	case number < engine.RuleBits && j.Terms.Settings.Rules().Has(engine.RuleID(number)):
		return "R" + strconv.FormatUint(number, 10)
	case number >= sandboxOutage && number < sandboxOutage+uint64(len(sandboxOutages)):
		return sandboxOutages[number-sandboxOutage]
	}
	return ""
}

// SandboxAsksOf returns what the name of a counterparty asks for in a cluster with these settings, "" for
// nothing.
func SandboxAsksOf(settings *fsm.Settings, name string) string {
	asked, named := strings.CutPrefix(name, sandboxPrefix)
	if !named || !IsSandbox(settings) {
		return ""
	}
	return asked
}

// SandboxRule returns the rule that the call asks for, 0 if it asks for none.
func SandboxRule(j *Judge) engine.RuleID {
	number, ok := strings.CutPrefix(SandboxAsks(j), "R")
	if !ok {
		return 0 // Before the number is read: an error about it would cost an allocation.
	}
	n, err := strconv.ParseUint(number, 10, 8)
	if err != nil || j.Terms.Settings.Rules().Rule(engine.RuleID(n)) == nil {
		return 0
	}
	return engine.RuleID(n)
}

// judgeStatic judges the static rules of the call, and adds the rule that a sandbox was asked
// for.
func judgeStatic(j *Judge) engine.Hits {
	hits := j.Terms.Settings.Rules().JudgeStatic(&j.screen.facts)
	if rule := SandboxRule(j); rule > engine.RuleNoCredential && !hits.Has(engine.RuleNoCredential) {
		hits.Add(rule, 1)
	}
	return hits
}
