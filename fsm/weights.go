package fsm

import "railguard/engine"

// What a party has in memory beyond the ordinary (decision 116). Only that counts in bytes, so
// that ordinary parties never do. The numbers are the format's: they say what 64-bit machines
// need, and all nodes must count alike.
const (
	ordinaryBytes   = 1024 // Of a party's texts these are in what each row costs.
	entryBytes      = 176  // An entry of a whitelist, with what the allocator rounds its five texts up by.
	transitionBytes = 16
	windowBytes     = 6
	holidayBytes    = 4
	slotBytes       = 4
	attestedBytes   = 64 // An attestation, without its texts.
)

// beyondOrdinary returns what counts.
func beyondOrdinary(bytes int64) int64 { return max(bytes-ordinaryBytes, 0) }

func lengths(texts ...string) (sum int64) {
	for _, text := range texts {
		sum += int64(len(text))
	}
	return sum
}

func whitelistBytes(w *engine.Whitelist) (sum int64) {
	if w == nil {
		return 0
	}
	for i := range w.Entries {
		e := &w.Entries[i]
		sum += entryBytes + lengths(e.Wallet, e.Name, e.Shown, e.Label, e.AddedBy)
	}
	return sum
}

func hoursBytes(h *engine.Hours) int64 {
	if h == nil {
		return 0
	}
	return lengths(h.Timezone, h.TZVersion) + int64(len(h.Source)+transitionBytes*len(h.Transitions)+windowBytes*len(h.Windows)+holidayBytes*len(h.Holidays))
}

// agentPart is what an agent has of its table: a row, and the bytes of its profile and of its
// attestations.
func agentPart(p *engine.AgentProfile, attested *[]engine.Attestation) Part {
	sum := lengths(p.AgentName, p.AgentFramework, p.Model, p.OperatorLegalName, p.OperatorWallet, p.EINMasked, p.Purpose, p.KeyID, p.TransferName, p.Settings.CurrentModel)
	sum += int64(len(p.EINSealed)+len(p.PublicKey)+len(p.PolicyJSON)+len(p.Metadata)) + whitelistBytes(p.Settings.Whitelist) + hoursBytes(p.Settings.Hours)
	if attested != nil {
		for i := range *attested {
			sum += attestedBytes + lengths((*attested)[i].AttestedBy, (*attested)[i].Note)
		}
	}
	return Part{Rows: 1, Bytes: beyondOrdinary(sum)}
}

func fleetPart(p *engine.FleetProfile) Part {
	sum := lengths(p.FleetName, p.OperatorLegalName, p.DailyLimitText) + whitelistBytes(p.Whitelist) + hoursBytes(p.Hours)
	return Part{Rows: 1, Bytes: beyondOrdinary(sum)}
}

func userPart(p *engine.UserProfile) Part {
	sum := lengths(p.LegalName, p.Email, p.OperatorLegalName, p.KeyID) + int64(slotBytes*len(p.Agents))
	return Part{Rows: 1, Bytes: beyondOrdinary(sum)}
}
