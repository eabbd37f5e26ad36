package fsm

import (
	"bytes"

	"railguard/engine"
	"railguard/fsm/leaf"
	"railguard/fsm/wire"
)

// applyReseal replaces sealed values by newly sealed ones. The caller has opened and sealed
// them; here bytes replace bytes, and only where the old bytes are the expected ones. A
// profile gets its next revision, so that a call prepared with the revision before cannot
// bring the old bytes back.
func (m *keys) applyReseal(b *wire.Reseal, r *wire.Result) {
	if m.refuseOrReplay(&b.Common, r) {
		return
	}
	if len(b.Values) == 0 || len(b.Values) > m.limits.RecordTargets {
		refuse(r, wire.RefusedMalformed)
		return
	}
	anew := make(map[string][]byte)
	for i := range b.Values {
		v := &b.Values[i]
		if len(v.Old) == 0 || len(v.Old) > m.limits.SealedBytes || len(v.New) != len(v.Old) {
			refuse(r, wire.RefusedMalformed)
			return
		}
		if v.Agent == 0 {
			anew[string(v.Old)] = v.New
		}
	}
	changed := m.resealSettings(anew)
	for i := range b.Values {
		if v := &b.Values[i]; v.Agent != 0 && m.registry.resealEIN(v) {
			changed++
		}
	}
	if r.Value = uint64(changed); changed == 0 {
		r.Code = wire.Unchanged
		return
	}
	m.writeEvent(leaf.KindResealed, leaf.Resealed{Values: uint32(changed)}, &b.Common, r)
}

func (m *registry) resealEIN(v *wire.Resealed) bool {
	if !m.hasAgent(v.Agent) {
		return false
	}
	old := *m.profiles.At(uint64(v.Agent))
	if !bytes.Equal(old.EINSealed, v.Old) {
		return false
	}
	profile := *old
	profile.Rev++
	profile.EINSealed = v.New
	m.replaceProfile(&profile)
	return true
}

// resealSettings replaces every sealed value of the settings that has a replacement in anew,
// and returns how many it replaced.
func (m *keys) resealSettings(anew map[string][]byte) (changed int) {
	was := m.settings
	if len(anew) == 0 {
		return 0
	}
	replace := func(sealed *[]byte) bool {
		other, found := anew[string(*sealed)]
		if found {
			*sealed = other
			changed++
		}
		return found
	}
	genesis := *was.Genesis
	for _, sealed := range []*[]byte{&genesis.SecretCheck, &genesis.LogSeed, &genesis.SigningKey.Sealed, &genesis.PermitKey.Sealed} {
		if replace(sealed) {
			m.replaceGenesis(&genesis)
		}
	}
	keys := append([]*wire.SigningKey(nil), was.SigningKeys...)
	for i := range keys {
		if key := *keys[i]; replace(&key.Sealed) {
			keys[i] = &key
			m.editSettings().SigningKeys = keys
		}
	}
	stretches := append([]*wire.LogStretch(nil), was.LogLines...)
	for i := range stretches {
		if stretch := *stretches[i]; replace(&stretch.Seed) {
			stretches[i] = &stretch
			m.editSettings().LogLines = stretches
		}
	}
	hooks := append([]*wire.Webhook(nil), was.Webhooks...)
	for i := range hooks {
		hook := *hooks[i]
		hook.Secrets = append([][]byte(nil), hook.Secrets...)
		for n := range hook.Secrets {
			if replace(&hook.Secrets[n]) {
				hooks[i] = &hook
				m.editSettings().Webhooks = hooks
			}
		}
	}
	return changed
}

// Sealed is one value that the state holds sealed under the cluster secret.
type Sealed struct {
	Agent engine.AgentSlot // The agent whose EIN it is; 0: a value of the settings.
	What  SealedWhat
	Data  []byte // Must not be changed.
}

// SealedWhat says what a sealed value is.
type SealedWhat uint8

// The sealed values.
const (
	SealedCheck SealedWhat = iota + 1
	SealedLogSeed
	SealedSigningKey
	SealedWebhook
	SealedEIN
)

// Sealed calls visit with every value of the settings that is sealed under the cluster
// secret. A value that is stored in two places is visited twice. The EINs of agents are not
// included.
func (s *Settings) Sealed(visit func(Sealed)) {
	if s.Genesis == nil {
		return
	}
	visit(Sealed{What: SealedCheck, Data: s.Genesis.SecretCheck})
	visit(Sealed{What: SealedLogSeed, Data: s.Genesis.LogSeed})
	visit(Sealed{What: SealedSigningKey, Data: s.Genesis.SigningKey.Sealed})
	if permits := s.Genesis.PermitKey.Sealed; permits != nil {
		visit(Sealed{What: SealedSigningKey, Data: permits})
	}
	for _, key := range s.SigningKeys {
		visit(Sealed{What: SealedSigningKey, Data: key.Sealed})
	}
	for _, stretch := range s.LogLines {
		visit(Sealed{What: SealedLogSeed, Data: stretch.Seed})
	}
	for _, hook := range s.Webhooks {
		for _, sealed := range hook.Secrets {
			visit(Sealed{What: SealedWebhook, Data: sealed})
		}
	}
}
