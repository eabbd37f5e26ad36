package engine

// Sub-reasons of R23 about user credentials. Those before them are about the chain of parents.
const (
	subUserAutonomous Sub = 5
	subUserUnbound    Sub = 6
	subUserAlone      Sub = 7
)

// credentialContext is R23: the credential is sound, and may not be used so.
func credentialContext(f *Facts) Sub {
	if sub := delegationChain(f); sub != 0 {
		return sub
	}
	return userContext(f)
}

// delegationChain is the part of R23 about parents. The chain comes from the replicated records, never from the token.
// Facts that the chain holds twice must agree.
func delegationChain(f *Facts) Sub {
	if f.ChainBad {
		return 1
	}
	if f.ChainSize == 0 {
		return 0
	}
	if f.Chain[0].Depth > DepthMax || f.ChainSize > DepthMax+1 {
		return 2
	}
	root := f.Chain[f.ChainSize-1]
	if root.Depth != 0 || root.Parent != 0 {
		return 1
	}
	for i := 0; i < f.ChainSize-1; i++ {
		child, parent := f.Chain[i], f.Chain[i+1]
		switch {
		case child.Parent != parent.Slot || child.Root != root.Slot || int(child.Depth) != f.ChainSize-1-i:
			return 1
		case child.Type == Autonomous && parent.Type != Autonomous:
			return 3
		case child.Operator != parent.Operator:
			return 4
		}
	}
	return 0
}

// userContext is the part of R23 about user credentials.
func userContext(f *Facts) Sub {
	switch {
	case f.User == nil:
		return 0
	case f.ChainSize == 0:
		return subUserAlone
	case f.Chain[0].Type != Supervised:
		return subUserAutonomous
	}
	for _, slot := range f.User.Agents {
		if slot == f.Chain[0].Slot {
			return 0
		}
	}
	return subUserUnbound
}
