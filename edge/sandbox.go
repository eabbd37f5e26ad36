package edge

import (
	"strconv"
	"strings"

	"railguard/engine"
	"railguard/fsm"
	"railguard/seal"
)

// A sandbox gives whoever builds against the service every answer it can give: the name
// of a payment's counterparty says which. It is a development cluster with an issuer of
// its own: nothing of it is good anywhere else, and no other cluster listens to such a name.

// IsSandbox reports whether the settings are a sandbox's.
func IsSandbox(settings *fsm.Settings) bool {
	genesis := settings.Genesis
	return genesis != nil && genesis.Dev && genesis.Issuer == seal.SandboxIssuer
}

// sandboxPrefix begins a name that asks for something; sandboxWallet a wallet that does,
// where a payment has no name (x402). Without a letter an address has one spelling.
const (
	sandboxPrefix = "SANDBOX "
	sandboxWallet = "0x555555555555555555555555555555555555"
	sandboxOutage = 501 // Of such a wallet's last four digits: the first of sandboxOutages.
)

// sandboxOutages are the codes of a 503 in the order of the wallets that ask for them.
var sandboxOutages = []string{"no_quorum", "no_leader", "sanctions_data_unavailable", "overloaded", "storage_low", "shutting_down", "outcome_unknown"}

// SandboxAsks is what the call that is being judged asks a sandbox for: a code of an
// error, or a rule ("R7"); "" is nothing, as anywhere else.
func SandboxAsks(j *Judge) string {
	name, named := strings.CutPrefix(j.screen.request.Name, sandboxPrefix)
	digits, paid := strings.CutPrefix(j.screen.request.Wallet, sandboxWallet)
	switch {
	case !named && !paid || !IsSandbox(j.Terms.Settings):
		return ""
	case named:
		return name
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

// sandboxRule is the rule that the call asks for; 0: none.
func sandboxRule(j *Judge) engine.RuleID {
	number, ok := strings.CutPrefix(SandboxAsks(j), "R")
	n, err := strconv.ParseUint(number, 10, 8)
	if !ok || err != nil || j.Terms.Settings.Rules().Rule(engine.RuleID(n)) == nil {
		return 0
	}
	return engine.RuleID(n)
}

// judgeStatic judges the static rules of the call, and the rule that a sandbox was asked for.
func judgeStatic(j *Judge) engine.Hits {
	hits := j.Terms.Settings.Rules().JudgeStatic(&j.screen.facts)
	if rule := sandboxRule(j); rule > engine.RuleNoCredential && !hits.Has(engine.RuleNoCredential) {
		hits.Add(rule, 1)
	}
	return hits
}
