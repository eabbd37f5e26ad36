package leafjson

import (
	"railguard/fsm/leaf"
	"railguard/strictjson"
)

// Load returns the bytes of a leaf that a record names; nil when it is not at hand.
type Load func(leaf.Ref) []byte

// Render returns any leaf as one JSON object. A leaf that cannot be read is
// leaf.ErrForm; a profile that load cannot give, or a nil load, leaves out what
// only it knows. Of a record whose rule set is not known the members are returned that
// do not need it, beside leaf.ErrRuleSet.
func Render(data []byte, load Load) ([]byte, error) {
	var m strictjson.Members
	switch leaf.FormOf(data) {
	case leaf.FormEvent:
		return data, nil
	case leaf.FormProfile:
		p, err := leaf.DecodeProfile(data)
		if err != nil {
			return nil, err
		}
		Profile(&m, p)
		return m.Body(), nil
	}
	var x Screen
	if err := x.Open(data); err != nil {
		return nil, err
	}
	if err := x.Load(load); err != nil {
		return nil, err
	}
	x.Append(&m)
	if x.RuleSet() == nil {
		return m.Body(), leaf.ErrRuleSet
	}
	return m.Body(), nil
}

// Load fetches the profiles that the record names.
func (x *Screen) Load(load Load) (err error) {
	if load == nil {
		return nil
	}
	if x.Agent, err = fetch(load, x.Profile); err == nil {
		x.Party, err = fetch(load, x.User)
	}
	return err
}

func fetch(load Load, ref leaf.Ref) (*leaf.Profile, error) {
	if ref.Hash == [32]byte{} {
		return nil, nil
	}
	data := load(ref)
	if data == nil {
		return nil, nil
	}
	return leaf.DecodeProfile(data)
}
