package httpapi

import (
	"github.com/stretchr/testify/require"

	"railguard/edge"
	"railguard/engine"
	"railguard/fsm/wire"
)

// operatorNamed refers to an operator by its legal name; "" is none.
func operatorNamed(name string) (ref wire.OperatorRef) {
	if name != "" {
		ref.Name, ref.Fold = engine.LegalText(name), edge.FoldName(name)
	}
	return ref
}

// operatorID is the id of the operator that one legal name names.
func (n *testNode) operatorID(name string) string {
	slot, count := n.OperatorsNamed(name)
	require.Equal(n.t, 1, count, "operators named %q", name)
	return n.api.Judges().Now().OperatorID(slot)
}

func (n *testNode) Operator(slot engine.OperatorSlot) *engine.OperatorProfile {
	n.mutex.Lock()
	defer n.mutex.Unlock()
	return n.operators[slot]
}

func (n *testNode) OperatorsNamed(name string) (engine.OperatorSlot, int) {
	n.mutex.Lock()
	defer n.mutex.Unlock()
	return n.machine.OperatorsNamed(name)
}

func (n *testNode) OperatorsLike(fold string) []engine.OperatorSlot {
	n.mutex.Lock()
	defer n.mutex.Unlock()
	return n.machine.OperatorsLike(fold)
}

// forget drops what is gone.
func forget[K comparable, V any](held map[K]V, gone []K) {
	for _, key := range gone {
		delete(held, key)
	}
}
