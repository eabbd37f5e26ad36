package conformance

import (
	"slices"
	"sort"
	"strings"
)

// Source says why a statement must hold.
type Source string

// The three sources of statements.
const (
	Literal Source = "lit"  // Stated in the specification.
	Implied Source = "impl" // Follows from the specification.
	Ruling  Source = "us"   // Our ruling where the specification is silent.
)

// Need is a tool that a check cannot do without.
type Need uint16

// The tools.
const (
	NeedTwoNodes Need = 1 << iota
	NeedTestClock
	NeedAdmin
	NeedListSwitch
	NeedLogs
	NeedVersion
	NeedLatency
	NeedEgressCut
	NeedNoQuorum
	NeedRestart
	NeedSlow
)

// phase orders the checks: what disturbs the target most comes last.
type phase uint8

const (
	phaseOrdinary phase = iota
	phaseList           // Changes the active sanctions list and rolls it back.
	phaseQuorum         // Stops nodes for a while.
	phaseClock          // Moves the clock: credentials of earlier checks expire.
	phaseLedger         // Judges what was seen on every answer of the run.
)

// Check is one statement and the function that examines it.
type Check struct {
	ID     string // Statement number, e.g. "T044" or "P03"; "T044/us" is the part of it that is our ruling.
	Title  string
	Source Source
	Needs  Need
	phase  phase
	run    func(*probe)
}

// Checks returns every check of the suite in the order in which it runs.
func Checks() []Check {
	groups := [][]Check{
		transportChecks, errorChecks, credentialChecks, forgeryChecks,
		screeningShapeChecks, amountChecks, sanctionsRuleChecks, spendRuleChecks,
		contextRuleChecks, laterRuleChecks, fleetChecks, delegateChecks, userChecks,
		reviewChecks, auditChecks, healthChecks,
		jsonChecks, tokenChecks, statusListChecks, httpChecks, idempotencyChecks, batchChecks, registrationChecks,
		whitelistChecks, ownershipChecks, policyChecks, queueChecks, historyChecks, evidenceChecks,
		permitChecks, gatewayChecks, possessionChecks, confirmChecks, matchChecks, limitChecks, inputChecks, roleChecks, tenantChecks, keyChecks,
		listSwitchChecks, clockChecks, ledgerChecks,
	}
	all := slices.Clone(writtenChecks)
	for _, group := range groups {
		all = append(all, group...)
	}
	sort.SliceStable(all, func(i, j int) bool { return all[i].phase < all[j].phase })
	return all
}

// selected tells whether the configuration asks for this check.
func (c Check) selected(cfg *Config) bool {
	if cfg.OnlySpec && c.Source == Ruling {
		return false
	}
	if len(cfg.IDs) == 0 {
		return true
	}
	for _, id := range cfg.IDs {
		if strings.HasPrefix(c.ID, id) {
			return true
		}
	}
	return false
}

// lacking names the first tool of the check that the configuration does not give,
// or returns the empty string.
func (c Check) lacking(cfg *Config) string {
	tools := []struct {
		need  Need
		there bool
		text  string
	}{
		{NeedTwoNodes, len(cfg.BaseURLs) > 1, "needs two nodes, one base URL given"},
		{NeedTestClock, cfg.AllowTestClock, "needs a test clock, and moving the clock was not allowed"},
		{NeedAdmin, cfg.AdminURL != "", "needs an admin listener, none given"},
		{NeedListSwitch, cfg.AllowListSwitch, "needs a list switch, and changing the list was not allowed"},
		{NeedLogs, len(cfg.LogFiles) > 0, "needs the target's log files, none given"},
		{NeedVersion, cfg.Version != "", "needs the version the binary tells, none given"},
		{NeedLatency, cfg.MeasureLatency, "needs a quiet machine, and measuring latency was not asked for"},
		{NeedEgressCut, cfg.EgressCut, "needs a harness that cuts all egress of the target"},
		{NeedNoQuorum, cfg.NoQuorumURL != "" || cfg.LoseQuorum != nil, "needs a node without quorum, none given"},
		{NeedRestart, cfg.Restart != nil, "needs a harness that restarts the target"},
		{NeedSlow, cfg.Slow, "waits for time-outs, and slow probes were not asked for"},
	}
	for _, tool := range tools {
		if c.Needs&tool.need != 0 && !tool.there {
			return tool.text
		}
	}
	return ""
}
