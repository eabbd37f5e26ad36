package engine

import "encoding/json"

// NoSpendPolicy is the compiled form of an absent spendPolicy: nothing is limited.
func NoSpendPolicy() SpendPolicy { return SpendPolicy{MaxSingle: NoLimit, DailyLimit: NoLimit} }

// ParseSpendPolicy compiles a spendPolicy (specification 2.2) from its JSON as sent. Words must
// match exactly at registration (statement T036); unknown members are ignored here. Empty text
// is no policy.
func ParseSpendPolicy(document []byte) (SpendPolicy, []FieldError) {
	policy := NoSpendPolicy()
	if len(document) == 0 {
		return policy, nil
	}
	var r documentReader
	r.readMembers("spendPolicy", document, func(name, path string, value json.RawMessage) {
		switch name {
		case "maxSingleTxUSDC":
			policy.MaxSingle = r.readUSD(path, value)
		case "dailyLimitUSDC":
			policy.DailyLimit = r.readUSD(path, value)
		case "allowedChains":
			policy.ChainsSet = true
			policy.Chains = r.readMask(path, value, chainNames[:])
		case "allowedRails":
			policy.RailsSet = true
			policy.Rails = r.readMask(path, value, railNames[:])
		case "counterpartyScreening":
			policy.ScreenSet = true
			policy.CONS = r.readChoice(path, value, "OFAC", "OFAC+CONS") == 1
		case "noMixerProtocols":
			policy.NoMixerSet = true
			policy.NoMixer = r.readBoolean(path, value)
		}
	})
	if r.errors != nil {
		return NoSpendPolicy(), r.errors
	}
	return policy, nil
}

// AppendJSON appends the policy as a spendPolicy object with the members that
// are set, in the order of the specification.
func (p *SpendPolicy) AppendJSON(dst []byte) []byte {
	start := len(dst)
	next := func(name string) {
		if len(dst) == start {
			dst = append(dst, '{')
		} else {
			dst = append(dst, ',')
		}
		dst = append(append(append(dst, '"'), name...), `":`...)
	}
	if p.MaxSingle != NoLimit {
		next("maxSingleTxUSDC")
		dst = AppendUSD(dst, p.MaxSingle)
	}
	if p.DailyLimit != NoLimit {
		next("dailyLimitUSDC")
		dst = AppendUSD(dst, p.DailyLimit)
	}
	if p.ChainsSet {
		next("allowedChains")
		dst = appendWords(dst, p.Chains, chainNames[:])
	}
	if p.RailsSet {
		next("allowedRails")
		dst = appendWords(dst, p.Rails, railNames[:])
	}
	if p.ScreenSet {
		next("counterpartyScreening")
		dst = append(dst, screeningText(p.CONS)...)
	}
	if p.NoMixerSet {
		next("noMixerProtocols")
		dst = append(dst, boolText(p.NoMixer)...)
	}
	if len(dst) == start {
		dst = append(dst, '{')
	}
	return append(dst, '}')
}

// appendWords appends the names of a mask as a JSON list of strings.
func appendWords(dst []byte, mask uint8, names []string) []byte {
	dst = append(dst, '[')
	first := true
	for i := 1; i < len(names); i++ {
		if mask&(1<<i) == 0 {
			continue
		}
		if !first {
			dst = append(dst, ',')
		}
		first = false
		dst = append(append(append(dst, '"'), names[i]...), '"')
	}
	return append(dst, ']')
}

func screeningText(cons bool) string {
	if cons {
		return `"OFAC+CONS"`
	}
	return `"OFAC"`
}

func boolText(b bool) string {
	if b {
		return "true"
	}
	return "false"
}
