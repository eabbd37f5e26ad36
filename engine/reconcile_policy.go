package engine

import "encoding/json"

// Reconciliation is how often a rail is compared with the log at least. Nothing here judges by it:
// whoever watches the cluster hears that a rail is overdue.
type Reconciliation struct {
	Rail  Rail `cbor:"1,keyasint"`
	Every Time `cbor:"2,keyasint"`
}

// Bounds of Reconciliation.Every. Of what is past its retention there are no records to compare.
const (
	reconcileEveryMin = Hour
	reconcileEveryMax = Retention
)

// ReconcileEvery is how often a rail is to be compared; 0: it need not be.
func (p *Policy) ReconcileEvery(rail Rail) Time {
	for _, demand := range p.Reconcile {
		if demand.Rail == rail {
			return demand.Every
		}
	}
	return 0
}

// ReconcilesSoundly tells whether the demands are such as ParsePolicy makes them.
func (p *Policy) ReconcilesSoundly() bool {
	seen := uint8(0)
	for _, demand := range p.Reconcile {
		if demand.Rail == RailNone || int(demand.Rail) >= len(railNames) || seen&demand.Rail.Bit() != 0 || demand.Every < reconcileEveryMin || demand.Every > reconcileEveryMax {
			return false
		}
		seen |= demand.Rail.Bit()
	}
	return true
}

// reconcilesLess tells whether some rail is to be compared less often than before.
func (p *Policy) reconcilesLess(old *Policy) bool {
	for _, demand := range old.Reconcile {
		if every := p.ReconcileEvery(demand.Rail); every == 0 || every > demand.Every {
			return true
		}
	}
	return false
}

// readReconcile reads [{"rail": "USDC", "every": "24h"}].
func (r *documentReader) readReconcile(param string, value json.RawMessage) (demands []Reconciliation) {
	seen := uint8(0)
	for i, element := range r.readList(param, value, len(railNames)-1) {
		var demand Reconciliation
		at, whole := elementOf(param, i), 0
		r.readMembers(at, element, func(name, path string, value json.RawMessage) {
			switch name {
			case "rail":
				word, _ := r.readText(path, value)
				rail, known := ParseRailExact(word)
				if !known {
					r.addError(path, "is not a rail")
				} else if seen&rail.Bit() != 0 {
					r.addError(path, "is there twice")
				}
				demand.Rail, seen, whole = rail, seen|rail.Bit(), whole+1
			case "every":
				demand.Every, whole = r.readDuration(path, value, reconcileEveryMin, reconcileEveryMax), whole+1
			default:
				r.addUnknown(path)
			}
		})
		if whole != 2 {
			r.addError(at, "must have rail and every")
		}
		demands = append(demands, demand)
	}
	return demands
}
