package engine_test

import (
	"fmt"

	"railguard/engine"
)

// Amounts are whole micro-dollars, read digit by digit. Finer amounts are rounded up, so that a
// comparison with a limit can only be too strict.
func ExampleParseUSD() {
	for _, literal := range []string{"0.1", "19.99", "0.0000001", "1e999999999", "-1", `"5"`} {
		amount, err := engine.ParseUSD(literal)
		if err != nil {
			fmt.Println(literal, "is refused:", err)
			continue
		}
		fmt.Println(literal, "is", int64(amount), "micro-dollars")
	}
	// Output:
	// 0.1 is 100000 micro-dollars
	// 19.99 is 19990000 micro-dollars
	// 0.0000001 is 1 micro-dollars
	// 1e999999999 is refused: above 1e12
	// -1 is refused: below zero
	// "5" is refused: not a JSON number
}

// A call is judged in two halves: the edge judges what cannot change, the log judges what can.
// The hits of both are merged and decided once.
func Example() {
	agent := &engine.AgentProfile{
		Slot: 7, Rev: 1, Root: 7, Type: engine.Supervised, OperatorLegalName: "Acme Inc",
		CredentialVersion: 1, ExpiresAt: 1_000 * engine.Second, Policy: engine.NoSpendPolicy(),
	}
	agent.Policy.MaxSingle = 500 * engine.Dollar
	agent.Policy.DailyLimit = 1_000 * engine.Dollar
	row := &engine.AgentRow{MinVersion: 1}
	now, policy := 10*engine.Second, engine.DefaultPolicy()

	screen := func(amount engine.USD, protocol string) {
		hits := engine.NewestRules.JudgeStatic(&engine.Facts{
			Request: &engine.Request{Amount: amount, Protocol: protocol}, Now: now, Policy: policy,
			Chain: [engine.DepthMax + 1]*engine.AgentProfile{agent}, ChainSize: 1,
		})
		moment := &engine.Moment{
			Now: now, Amount: amount, Policy: policy, LevelCount: 1, Operator: &engine.OperatorRow{},
			Version: 1, Expires: agent.ExpiresAt, Minute: 1, PerHour: 1,
		}
		moment.Levels[0] = engine.Level{Row: row, Profile: agent}
		live := engine.NewestRules.JudgeLive(moment)
		hits.Merge(&live)

		decision := engine.NewestRules.Decide(&hits, policy)
		if decision.Verdict == engine.Proceed {
			row.Spend.Add(now.Day(), amount)
		}
		fmt.Printf("%s %q\n", decision.Verdict, decision.Code())
	}
	screen(400*engine.Dollar, "")
	screen(600*engine.Dollar, "")             // Above the limit for a single payment.
	screen(600*engine.Dollar, "Tornado Cash") // Any BLOCK decides before every REVIEW.
	screen(500*engine.Dollar, "")
	screen(101*engine.Dollar, "") // 900 are spent today.
	// Output:
	// PROCEED ""
	// REVIEW "R10_SINGLE_TX_LIMIT"
	// BLOCK "R14_MIXER_PROTOCOL"
	// PROCEED ""
	// REVIEW "R11_DAILY_LIMIT"
}
