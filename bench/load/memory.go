package load

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"os"
	"runtime"
	"runtime/debug"

	"railguard/engine"
	"railguard/fsm"
	"railguard/fsm/wire"
)

const (
	memoryAgents  = 1_000_000
	memoryReviews = 100_000
	memoryEntry   = 250 // Records in an entry.
)

// crowd is a state machine that is filled as a log would fill it.
type crowd struct {
	machine  *fsm.Machine
	out      fsm.Effects
	settings *fsm.Settings
	agents   []*engine.AgentProfile // The profiles that the edges of a node hold.
	index    uint64
	now      engine.Time
	seq      uint64
}

// runMemory fills a state in this process with a million agents and a hundred thousand
// open reviews through log entries (over the API it would take five hours). It measures
// the memory that this takes, uncollected garbage included, and adds what a spawned node
// held when it was new.
func runMemory(ctx context.Context, b *bench) error {
	agents, reviews := memoryAgents, memoryReviews
	if b.options.Brief {
		agents, reviews = 2000, 200
	}
	debug.FreeOSMemory()
	before, err := processUsage(os.Getpid())
	if err != nil {
		return err
	}
	c := &crowd{machine: fsm.New(), now: engine.Time(1_800_000_000) * engine.Second}
	if err := c.fill(ctx, agents, reviews); err != nil {
		return err
	}
	after, err := processUsage(os.Getpid())
	if err != nil {
		return err
	}
	runtime.GC()
	var stats runtime.MemStats
	runtime.ReadMemStats(&stats)
	b.set("memory.live", "GB", less, float64(stats.HeapAlloc)/1e9, nil)
	state := float64(after.held-before.held) / 1e9
	b.set("memory.state", "GB", less, state, nil)
	b.set("memory.node", "GB", less, b.freshNode, nil)
	b.set("memory.gb", "GB", less, state+b.freshNode, nil)
	runtime.KeepAlive(c)
	return nil
}

// fill registers agents, 500 an operator, and screens payments that go to review.
func (c *crowd) fill(ctx context.Context, agents, reviews int) error {
	list := []byte("a list that nobody opens")
	digest := sha256.Sum256(list)
	genesis := &wire.Genesis{
		ClusterID: "bench", Dev: true, Issuer: "did:kya:bench", PublicURL: "http://bench.invalid", IDKey: [16]byte{1}, SaltKey: [16]byte{2},
		Policy: *engine.DefaultPolicy(), SigningKey: wire.SigningKey{KID: "bench", Public: make([]byte, 64), Sealed: []byte{1}},
	}
	chunk := &wire.ListChunk{Digest: digest, Total: uint32(len(list)), Data: list, Info: &wire.ListInfo{Digest: digest, Source: "bench", Entries: 1}}
	for _, first := range []wire.Record{
		c.record(wire.KindGenesis, genesis), c.record(wire.KindListChunk, chunk), c.record(wire.KindListActivate, &wire.ListActivate{Digest: digest}),
	} {
		if err := c.apply([]wire.Record{first}); err != nil {
			return err
		}
	}
	err := c.inEntries(ctx, agents, func(n int) wire.Record { return c.record(wire.KindRegister, c.registration(n)) })
	if err != nil {
		return err
	}
	if len(c.agents) != agents {
		return fmt.Errorf("%d agents of %d", len(c.agents), agents)
	}
	return c.inEntries(ctx, reviews, func(n int) wire.Record { return c.record(wire.KindScreen, c.toReview(c.agents[n*(agents/reviews)])) })
}

// inEntries applies count records, several in each log entry.
func (c *crowd) inEntries(ctx context.Context, count int, record func(n int) wire.Record) error {
	records := make([]wire.Record, 0, memoryEntry)
	for n := range count {
		records = append(records, record(n))
		if len(records) < memoryEntry && n < count-1 {
			continue
		}
		if err := errors.Join(ctx.Err(), c.apply(records)); err != nil {
			return err
		}
		records = records[:0]
	}
	return nil
}

func (c *crowd) registration(n int) *wire.Register {
	operator := fmt.Sprintf("Operator %d Incorporated", n/500)
	body := &wire.Register{Operator: wire.OperatorRef{Name: operator}, Profile: engine.AgentProfile{
		AgentName: fmt.Sprintf("Procurement agent %d", n), Type: engine.Supervised, OperatorLegalName: operator,
		AgentFramework: []string{"langgraph", "crewai", "autogen"}[n%3], Model: []string{"model-large-4", "model-small-4"}[n%2],
		OperatorWallet: fmt.Sprintf("0x%040d", n/500), Purpose: "Buys office supplies from approved vendors.",
		EINSealed: bytes.Repeat([]byte{byte(n)}, 38), EINMasked: fmt.Sprintf("**-***%04d", n/500%10000),
		PolicyJSON: []byte(`{"maxSingleTransaction":500,"dailyLimit":1000000,"allowedChains":["base"]}`),
		Policy:     engine.SpendPolicy{MaxSingle: 500 * engine.Dollar, DailyLimit: 1_000_000 * engine.Dollar},
	}}
	body.Basis.List = c.settings.ListVersion
	return body
}

// toReview is a payment over a chain that the agent's policy does not name (R9).
func (c *crowd) toReview(agent *engine.AgentProfile) *wire.Screen {
	s := &wire.Screen{
		Agent: agent.Slot, Version: agent.CredentialVersion, Expires: agent.ExpiresAt, Amount: engine.Dollar,
		Mask: 1 << 9, Subs: []byte{1}, Fragment: []byte{},
	}
	s.Basis = engine.Basis{List: c.settings.ListVersion, Policy: c.settings.Policy.Version, Matcher: c.settings.Matcher, Rules: c.settings.Rules().Number}
	s.Basis.Fold(engine.RevAgent, uint32(agent.Slot), agent.Rev)
	s.Basis.Fold(engine.RevOperator, uint32(agent.Operator), 2) // Its second revision has its wallet.
	return s
}

func (c *crowd) record(kind wire.Kind, body any) wire.Record {
	c.seq++
	return wire.Record{Kind: kind, Version: wire.RecordVersion, Origin: 1, Seq: c.seq, Body: wire.Encode(body)}
}

// apply puts records through the machine as one log entry.
func (c *crowd) apply(records []wire.Record) error {
	c.now += engine.Millisecond
	data := wire.AppendHeader(nil, wire.Header{Format: engine.Format1, Term: 1, Time: c.now})
	for _, r := range records {
		data = wire.AppendRecord(data, r)
	}
	c.index++
	c.machine.Apply(c.index, 1, wire.Seal(data, len(records)), &c.out)
	if c.out.Stop != "" {
		return errors.New("state machine: " + c.out.Stop)
	}
	for i := range c.out.Results {
		if code := c.out.Results[i].Code; code != wire.Applied && code != wire.Unchanged {
			return fmt.Errorf("record of kind %d: code %d, refusal %d", records[i].Kind, code, c.out.Results[i].Refusal)
		}
	}
	if c.out.Settings != nil {
		c.settings = c.out.Settings
	}
	c.agents = append(c.agents, c.out.Agents...)
	return nil
}
