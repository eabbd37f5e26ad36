package sim

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"railguard/engine"
	"railguard/fsm/wire"
)

// In some schedules one tenant fills what tables it can, and others have less than their part. They
// must never be refused because of it (decision 116).

// tableRows is how many rows the tables of fleets and users have. Each owner has one of a table for
// itself, and 48 are lent.
const tableRows = 64

const (
	glutton   = "glut"
	gorgeFast = 100 // So many calls of each kind the glutton makes as fast as it can.
)

var meek = []string{"meek-0", "meek-1"}

// tenants are operators with API keys of their own.
type tenants struct {
	world   *World
	history *History
	keys    map[string]*wire.KeyRef // By operator.
	calls   []*Op                   // What the meek ones asked for.
	again   []func(name string) *Op
}

// newTenants makes the keys of all tenants, in every seventh schedule; in others there are none. No
// fault has been made yet.
func newTenants(w *World, h *History, seed uint64) *tenants {
	if seed%7 != 3 {
		return &tenants{}
	}
	ts := &tenants{world: w, history: h, keys: map[string]*wire.KeyRef{}}
	for i, name := range append([]string{glutton}, meek...) {
		secret := sha256.Sum256([]byte(name))
		w.insistOn("key of "+name, func() error {
			node := w.hosts[0].Node()
			result, err := node.Propose(context.Background(), wire.KindAPIKey, wire.Encode(&wire.APIKeyPut{
				Op: wire.KeyCreate, Operator: wire.OperatorRef{Name: name},
				Key: wire.APIKey{ID: fmt.Sprint("key", i), Name: name, Hashes: [][]byte{secret[:]}, Roles: wire.RoleOperator},
			}))
			if err != nil || result.Code != wire.Applied {
				return fmt.Errorf("code %d refusal %d: %w", result.Code, result.Refusal, err)
			}
			return nil
		})
		ts.keys[name] = &wire.KeyRef{Row: uint32(i + 1), Rev: 1}
	}
	return ts
}

// fleetOf and userOf make records of a tenant.
func (ts *tenants) fleetOf(tenant, name string, idem *wire.Idem) []byte {
	return wire.Encode(&wire.Fleet{
		Common:   wire.Common{Idem: idem, Key: ts.keys[tenant], Fragment: fmt.Appendf(nil, `"name":"%s"`, name)},
		Profile:  engine.FleetProfile{FleetName: name, OperatorLegalName: tenant, DailyLimit: engine.Dollar},
		Operator: wire.OperatorRef{Name: tenant},
	})
}

func (ts *tenants) userOf(tenant, name string, idem *wire.Idem, list uint64) []byte {
	return wire.Encode(&wire.User{
		Common:   wire.Common{Idem: idem, Key: ts.keys[tenant], Fragment: fmt.Appendf(nil, `"name":"%s"`, name)},
		Profile:  engine.UserProfile{LegalName: name, OperatorLegalName: tenant},
		Operator: wire.OperatorRef{Name: tenant}, Basis: engine.Basis{List: list},
	})
}

// bodyOf returns the record of one call of a tenant, for a node; nil: the host is down.
func (ts *tenants) bodyOf(kind wire.Kind, tenant, name string, keyed bool) func(host *Host) []byte {
	return func(host *Host) []byte {
		node := host.Node()
		if node == nil {
			return nil
		}
		var idem *wire.Idem
		if keyed {
			idem = ts.history.lookForKey(node, keyOf(name))
		}
		if kind == wire.KindFleet {
			return ts.fleetOf(tenant, name, idem)
		}
		return ts.userOf(tenant, name, idem, node.Settings().ListVersion)
	}
}

var tenantKinds = []wire.Kind{wire.KindFleet, wire.KindUser}

// run lets all tenants call until the load ends.
func (ts *tenants) run(l *load) {
	if ts.world == nil {
		return
	}
	l.all.Go(func() { ts.gorge(l) })
	random := rand.New(rand.NewPCG(l.seed, 99))
	for _, tenant := range meek {
		for _, kind := range tenantKinds {
			name := fmt.Sprintf("%s-%d", tenant, kind)
			op := ts.history.begin(ts.world.hosts[0], kind, name)
			ts.calls = append(ts.calls, op)
			ts.again = append(ts.again, func(name string) *Op {
				none := &History{} // The first call is in the history already.
				return none.insist(context.Background(), ts.anywhere, none.begin(ts.anywhere(0), kind, name), nil, ts.bodyOf(kind, tenant, name, true))
			})
			after := time.Duration(random.IntN(4000)) * time.Millisecond
			l.all.Go(func() {
				l.rest(after)
				op.Start = time.Now()
				ts.history.insist(context.Background(), ts.anywhere, op, l.stop, ts.bodyOf(kind, tenant, name, true))
			})
		}
	}
}

func (ts *tenants) anywhere(try int) *Host { return ts.world.hosts[try%len(ts.world.hosts)] }

// gorge asks for more fleets and users than all tables have.
func (ts *tenants) gorge(l *load) {
	hosts := ts.world.hosts
	for i := 0; ; i++ {
		pause := 3 * time.Millisecond
		if i > len(tenantKinds)*gorgeFast {
			pause = 200 * time.Millisecond
		}
		if !l.rest(pause) {
			return
		}
		kind, host := tenantKinds[i%len(tenantKinds)], hosts[i%len(hosts)]
		name := fmt.Sprintf("%s-%d", glutton, i)
		body := ts.bodyOf(kind, glutton, name, false)(host)
		if body == nil {
			continue
		}
		if op := ts.history.once(context.Background(), host, ts.history.begin(host, kind, name), body); errors.Is(op.Err, errShareUsed) {
			ts.world.count("the glutton refused", 1)
		}
	}
}

// check requires that nobody but the glutton was refused for want of room, and that all who got no
// answer get one now. A call of unknown outcome is the same one when it is made again; one that
// certainly did not happen is another.
func (ts *tenants) check(t testing.TB) {
	if ts.world == nil {
		return
	}
	for i, op := range ts.calls {
		err := op.Err
		switch {
		case err == nil, errors.Is(err, errRefusedByState):
		case errors.Is(err, wire.ErrUnknown):
			err = ts.again[i](op.Name).Err
		default:
			err = ts.again[i](op.Name + "-later").Err
		}
		require.NoError(t, err, "%q is refused, and its owner has nothing yet", op.Name)
	}
	ts.world.count("beside a glutton", len(ts.calls))
	ts.world.AwaitEqual(liveAfter)
}
