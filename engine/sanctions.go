package engine

// SanctionsRules are the rules whose BLOCK opens a sanctions case, a bit each: R3 to R7 and R24.
const SanctionsRules = 1<<RuleOperatorAtIssuance | 1<<RuleOperatorWallet | 1<<RuleOperatorName | 1<<RulePartyWallet | 1<<RulePartyName | 1<<24

// OpensCase tells whether a decision opens a sanctions case.
func (d *Decision) OpensCase() bool { return d.Verdict == Block && d.Triggered&SanctionsRules != 0 }
