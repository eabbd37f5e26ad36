package fsm

import "railguard/engine"

// Agents of one operator have the same operator, wallet, policy and key, and often
// the same framework and model. A profile's copies of such texts are one: of ten
// objects on the heap an agent, six go. It is memory alone, no part of the state.
const (
	sharedMax      = 16_384 // Texts that are remembered; the memory starts anew then.
	sharedBytesMax = 1024   // Of one: longer ones stay each their own.
)

// sharer remembers texts.
type sharer struct {
	texts map[string]string
	blobs map[string][]byte
}

func (s *sharer) text(v string) string {
	if v == "" || len(v) > sharedBytesMax {
		return v
	}
	if known, ok := s.texts[v]; ok {
		return known
	}
	if s.texts == nil || len(s.texts) >= sharedMax {
		s.texts = map[string]string{}
	}
	s.texts[v] = v
	return v
}

func (s *sharer) blob(v []byte) []byte {
	if len(v) == 0 || len(v) > sharedBytesMax {
		return v
	}
	if known, ok := s.blobs[string(v)]; ok {
		return known
	}
	if s.blobs == nil || len(s.blobs) >= sharedMax {
		s.blobs = map[string][]byte{}
	}
	s.blobs[string(v)] = v
	return v
}

// agent makes a profile that nobody has seen yet share what others have; its own
// texts become one.
func (s *sharer) agent(p *engine.AgentProfile) {
	p.OperatorLegalName, p.OperatorWallet, p.EINMasked = s.text(p.OperatorLegalName), s.text(p.OperatorWallet), s.text(p.EINMasked)
	p.AgentFramework, p.Model, p.Settings.CurrentModel = s.text(p.AgentFramework), s.text(p.Model), s.text(p.Settings.CurrentModel)
	p.KeyID, p.PolicyJSON = s.text(p.KeyID), s.blob(p.PolicyJSON)
	own := p.AgentName + p.Purpose
	p.AgentName, p.Purpose = own[:len(p.AgentName)], own[len(p.AgentName):]
}
