package load

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"fmt"
	"runtime"
	"strings"
	"time"

	"railguard/engine"
	"railguard/engine/credential"
	"railguard/engine/jws"
	"railguard/ofac"
)

const (
	engineParties = 2000
	engineNames   = 1 << 14 // How many names are used, which is more than a looker remembers.
	engineRounds  = 10
	clockEvery    = 64 // Calls between two looks at the clock.
)

// timed calls do for a span, in several rounds, and adds the cost of a call in µs and its
// allocations.
func (b *bench) timed(ctx context.Context, key string, do func(i int) error) error {
	runtime.LockOSThread() // The thread's CPU time is measured, without other processes' turns.
	defer runtime.UnlockOSThread()
	i := 0
	var allocations float64
	for range engineRounds {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		begin, used, count := time.Now(), threadTime(), 0
		for time.Since(begin) < b.span(200*time.Millisecond)/2 {
			for range clockEvery {
				if err := do(i); err != nil {
					return err
				}
				i++
			}
			count += clockEvery
		}
		took := threadTime() - used
		runtime.ReadMemStats(&after)
		b.add(key, "µs", less, micros(took)/float64(count))
		allocations = float64(after.Mallocs-before.Mallocs) / float64(count)
		b.add(key+".allocs", "", less, float64(int64(allocations))) // The number is rounded down, because the runtime makes a few allocations of its own.
		if ctx.Err() != nil {
			return ctx.Err()
		}
	}
	return nil
}

// engineList is a list of made-up parties: enough for the wallet and exact layers.
func engineList() (*ofac.Index, error) {
	var entities []ofac.Entity
	for i := range uint32(engineParties) {
		entities = append(entities, ofac.Entity{
			UID: i + 1, Type: ofac.Company, Lists: ofac.ListSDN,
			Names:     []ofac.Name{{AliasType: "Name", Primary: true, Script: "Latin", Full: strings.ToUpper(partyName(i) + " Holding")}},
			Addresses: []ofac.Address{{Ticker: "ETH", Value: fmt.Sprintf("0x%040x", i)}},
		})
	}
	return ofac.Build(entities, ofac.Meta{Source: "bench", Sample: true})
}

// partyName returns a made-up name that has only letters. A name with a digit beside letters
// would be read twice, which hardly ever happens with real names.
func partyName(i uint32) string { return "quux" + letters(i*7919) + "ven zorb" + letters(i) + "al" }

func letters(n uint32) (text string) {
	const digits = "bcdfghjklmnpqrstvwxz"
	for ; ; n /= uint32(len(digits)) {
		text += digits[n%uint32(len(digits)):][:1]
		if n < uint32(len(digits)) {
			return text
		}
	}
}

// runEngine measures the judgement of an edge in process: the static rules, a wallet, and
// a name that the exact layer finds, one seen before, or none.
func runEngine(ctx context.Context, b *bench) error {
	list, err := engineList()
	if err != nil {
		return err
	}
	listed := make([]string, engineNames)
	for i := range listed {
		at := i % engineParties
		// The spellings differ, so that none is remembered when its turn comes again.
		listed[i] = strings.Replace(partyName(uint32(at)), " ", ", ", 1) + " (Holding)" + strings.Repeat(".", i/engineParties)
	}
	clean := engine.Facts{
		Request: &engine.Request{}, Now: engine.Time(time.Now().UnixMilli()) * engine.Millisecond, Policy: engine.DefaultPolicy(), List: list,
		Chain: [engine.DepthMax + 1]*engine.AgentProfile{{
			Slot: 7, Rev: 1, Operator: 3, Root: 7, Type: engine.Supervised, Policy: engine.NoSpendPolicy(), OperatorLegalName: operatorName,
			OperatorWallet: "0x52908400098527886E0F7030069857D2E4169EE7",
		}},
		ChainSize: 1,
	}
	request := engine.Request{Amount: 100 * engine.Dollar, Chain: "BASE", Rail: "USDC", Wallet: "0x8617E340B3D01FA5F11F306F4090FD50E238070D", Type: "business", Protocol: "Uniswap"}
	looker := engine.NewLooker()
	facts := clean
	for _, one := range []struct {
		key  string
		name func(i int) string
	}{
		{"engine.exact", func(i int) string { return listed[i%len(listed)] }},
		{"engine.known", func(int) string { return "Contoso Trading Ltd" }},
		{"engine.noname", func(int) string { return "" }},
	} {
		err := b.timed(ctx, one.key, func(i int) error {
			facts = clean
			request.Name = one.name(i)
			facts.Request = &request
			looker.Look(&facts)
			if hits := engine.NewestRules.JudgeStatic(&facts); hits.Mask&^(1<<7) != 0 { // R7 alone may fire.
				return fmt.Errorf("a clean payment fires rules %b", hits.Mask)
			}
			return nil
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// runVerify measures a token's signature and claims in process.
func runVerify(ctx context.Context, b *bench) error {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return err
	}
	point, err := jws.PublicPoint(&key.PublicKey)
	if err != nil {
		return err
	}
	const issuer, kid = "did:kya:bench", "bench-1"
	keys, err := credential.NewKeySet(issuer, []jws.PublicKey{{ID: kid, Point: point}})
	if err != nil {
		return err
	}
	issued := engine.Time(time.Now().UnixMilli()) * engine.Millisecond
	token, _, err := credential.Mint(&credential.Credential{
		Kind: credential.KindAgent, ID: "urn:uuid:0190a1b2-0000-8000-8000-000000000001", Issuer: issuer,
		ContextURL: "https://bench.invalid/contexts/kya/v1", IssuedAt: issued, ExpiresAt: issued + engine.AgentValidity,
		Subject: "agt_8f3k2m7q7txx", Name: "bench agent", AgentType: "autonomous", OperatorLegalName: operatorName,
		SpendPolicy: []byte(`{"maxSingleTxUSDC":500.10}`), ScreenedAt: issued,
	}, key, kid)
	if err != nil {
		return err
	}
	return b.timed(ctx, "verify.anew", func(int) error {
		_, err := keys.Open(token)
		return err
	})
}
