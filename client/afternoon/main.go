package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log"
	"os"
	"strings"
	"time"

	"github.com/railguard/railguard/client"
)

func main() {
	log.SetFlags(0)
	if err := afternoon(context.Background()); err != nil {
		log.Fatal(err)
	}
}

func afternoon(ctx context.Context) error {
	rail, err := connect(os.Getenv("RAILGUARD_KEY"))
	if err != nil {
		return err
	}
	// An agent that may pay up to 5,000 dollars at once.
	single, daily := client.Dollars(5000), client.Dollars(20000)
	agent, err := rail.Register(ctx, &client.Agent{
		AgentName: "buyer", AgentType: "supervised", OperatorLegalName: "Acme Robotics Inc", Purpose: "pay invoices",
		SpendPolicy: &client.SpendPolicy{MaxSingleTxUSDC: &single, DailyLimitUSDC: &daily},
	})
	if err != nil {
		return err
	}
	fmt.Println("registered")
	for _, part := range []func(context.Context, *client.Client, *client.Registration) error{verify, pay, stopped, many} {
		if err := part(ctx, rail, agent); err != nil {
			return err
		}
	}
	return nil
}

// connect returns a client that uses an API key.
func connect(key string) (*client.Client, error) {
	return client.New(client.Options{Addresses: strings.Split(os.Getenv("RAILGUARD_URL"), ","), Key: key})
}

// issuer returns the service's name in credentials; a sandbox's is railguard-sandbox.
func issuer() string {
	return "did:kya:" + cmp.Or(os.Getenv("RAILGUARD_ISSUER"), "railguard")
}

// verify verifies the credential, as anybody can without a server. The keys may be kept for an
// hour.
func verify(ctx context.Context, rail *client.Client, agent *client.Registration) error {
	keys, err := rail.JWKS(ctx)
	if err != nil {
		return err
	}
	claims, err := client.VerifyToken(agent.Token, keys, issuer(), time.Now())
	if err != nil {
		return err
	}
	fmt.Println("verified", claims.Subject == agent.AgentID)
	forged := agent.Token[:len(agent.Token)-86] + strings.Repeat("A", 86)
	if _, err := client.VerifyToken(forged, keys, issuer(), time.Now()); errors.Is(err, client.ErrTokenSignature) {
		fmt.Println("forged", err)
	}
	return nil
}

// pay holds a payment, pays over the rail and settles it. A payment that is not made is
// released. Whoever spends does not say what was spent: a settler settles less than was allowed,
// and releases. The key must be stored before the first attempt.
func pay(ctx context.Context, rail *client.Client, agent *client.Registration) error {
	amount, err := client.ParseUSD("100.10")
	if err != nil {
		return err
	}
	payment := client.Payment{Token: agent.Token, Amount: amount, Hold: &client.HoldRequest{TTLSeconds: 600}, IdempotencyKey: client.NewKey()}
	verdict, err := rail.Screen(ctx, &payment)
	if err != nil {
		return err
	}
	fmt.Println(verdict.Verdict, verdict.Hold.State, verdict.Hold.Amount)
	again, err := rail.Screen(ctx, &payment) // As after a crash: the same key gives the same payment.
	if err != nil {
		return err
	}
	fmt.Println("same", again.TxnID == verdict.TxnID)
	paid, err := client.ParseUSD("99.5")
	if err != nil {
		return err
	}
	settler, err := connect(os.Getenv("RAILGUARD_SETTLER_KEY"))
	if err != nil {
		return err
	}
	settled, err := settler.Settle(ctx, verdict.TxnID, &paid, "wire-4711")
	if err != nil {
		return err
	}
	fmt.Println(settled.State, settled.Amount)
	verdict, err = rail.Screen(ctx, &client.Payment{Token: agent.Token, Amount: client.Dollars(20), Hold: &client.HoldRequest{TTLSeconds: 600}})
	if err != nil {
		return err
	}
	released, err := settler.Release(ctx, verdict.TxnID, "cancelled by the buyer")
	if err != nil {
		return err
	}
	fmt.Println(released.State)
	return nil
}

// stopped shows two stops: a listed wallet is BLOCK, which is final, and a payment above the
// limit is REVIEW, which an officer decides.
func stopped(ctx context.Context, rail *client.Client, agent *client.Registration) error {
	verdict, err := rail.Screen(ctx, &client.Payment{
		Token: agent.Token, Amount: client.Dollars(100), Chain: "ETH", Wallet: "0x098B716B8Aaf21512996dC57EB0615e2383E2f96",
	})
	if err != nil {
		return err
	}
	fmt.Println(verdict.Verdict, verdict.Rule)
	verdict, err = rail.Screen(ctx, &client.Payment{Token: agent.Token, Amount: client.Dollars(6000)})
	if err != nil {
		return err
	}
	fmt.Println(verdict.Verdict, verdict.Rule)
	if _, err := rail.Review(ctx, verdict.TxnID, client.DispositionApproved, "carla", "invoice 4711"); err != nil {
		return err
	}
	record, err := rail.Audit(ctx, verdict.TxnID)
	if err != nil {
		return err
	}
	fmt.Println(record.Disposition)
	confirmed, err := rail.Confirm(ctx, verdict.TxnID, &client.Confirm{Redeem: true}) // Judged once more before it is paid.
	if err != nil {
		return err
	}
	fmt.Println(confirmed.Verdict, confirmed.Payment.State)
	return nil
}

// many sends payments in one call, each judged by itself, and then revokes the agent.
func many(ctx context.Context, rail *client.Client, agent *client.Registration) error {
	results, err := rail.Batch(ctx, []client.Payment{
		{Token: agent.Token, Amount: client.Dollars(1)},
		{Token: agent.Token, Amount: client.Dollars(2), Hold: &client.HoldRequest{TTLSeconds: 1}},
	})
	if err != nil {
		return err
	}
	fmt.Println(results[0].Verdict.Verdict, results[1].Error.Code, results[1].Error.Param)
	limits, err := rail.Limits(ctx, agent.AgentID)
	if err != nil {
		return err
	}
	fmt.Println("spent", limits.SpentUSDC)
	if _, err := rail.Revoke(ctx, agent.AgentID, "end of the afternoon", ""); err != nil {
		return err
	}
	verdict, err := rail.Screen(ctx, &client.Payment{Token: agent.Token, Amount: client.Dollars(1)})
	if err != nil {
		return err
	}
	fmt.Println(verdict.Verdict, verdict.Rule)
	return nil
}
