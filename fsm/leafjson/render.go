package leafjson

import (
	"railguard/fsm/leaf"
	"railguard/strictjson"
)

// Load returns the bytes of a leaf that a record names, or nil if they are not available.
type Load func(leaf.Ref) []byte

// Render returns any leaf as one JSON object. It returns leaf.ErrForm for a leaf that cannot
// be read. If load is nil or does not find a profile, the profile's members are left out. For
// a record of an unknown rule set it returns the members that do not need the rule set, and
// leaf.ErrRuleSet.
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
