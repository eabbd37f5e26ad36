package clients

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/railguard/railguard/client"
)

// driveGo runs the cases as drive.py and drive.ts do.
func driveGo(t *testing.T, work *job) report {
	var done report
	for i := range work.Cases {
		done.Cases = append(done.Cases, driveCase(t, &work.Cases[i]))
	}
	for _, pair := range work.Money {
		var text *string
		if amount, err := client.ParseUSD(*pair[0]); err == nil {
			shortest := amount.String()
			text = &shortest
		}
		done.Money = append(done.Money, text)
	}
	for i := range work.Tokens.Cases {
		one := &work.Tokens.Cases[i]
		claims, err := client.VerifyToken(one.Token, &work.Tokens.Keys, work.Tokens.Issuer, time.Unix(one.Now, 0))
		if err == nil {
			done.Tokens = append(done.Tokens, claims.Subject)
			continue
		}
		done.Tokens = append(done.Tokens, tokenCode(err))
	}
	for i := range work.Webhooks {
		done.Webhooks = append(done.Webhooks, driveWebhook(&work.Webhooks[i]))
	}
	return done
}

func tokenCode(err error) string {
	for _, known := range []error{client.ErrTokenMalformed, client.ErrTokenKey, client.ErrTokenSignature, client.ErrTokenIssuer, client.ErrTokenExpired, client.ErrTokenEarly} {
		if errors.Is(err, known) {
			return known.Error()
		}
	}
	return "another error: " + err.Error()
}

func driveCase(t *testing.T, one *driven) outcome {
	done := outcome{Name: one.Name}
	rail, err := client.New(client.Options{
		Addresses: one.URLs, Key: "rg_test", Attempts: 4, AttemptTimeout: 500 * time.Millisecond, Jitter: func() float64 { return 1 },
		Wait: func(_ context.Context, span time.Duration) error {
			done.Waits = append(done.Waits, span.Milliseconds())
			return nil
		},
	})
	require.NoError(t, err)
	answer, err := makeCall(t.Context(), rail, one)
	var failure *client.Error
	switch {
	case errors.As(err, &failure):
		done.Error = encode(t, map[string]any{
			"status": failure.Status, "code": failure.Code, "param": failure.Param, "requestId": failure.RequestID,
			"outcome": failure.Outcome, "attempts": failure.Attempts, "retryAfter": failure.RetryAfter.Seconds(),
		})
	default:
		require.NoError(t, err, one.Name)
		done.Answer = encode(t, answer)
	}
	return done
}

func encode(t *testing.T, value any) json.RawMessage {
	raw, err := json.Marshal(value)
	require.NoError(t, err)
	return raw
}

func makeCall(ctx context.Context, rail *client.Client, one *driven) (any, error) {
	payment := client.Payment{Token: "t", Amount: 100_000, IdempotencyKey: one.Key}
	switch one.Call {
	case "screen":
		return told(rail.Screen(ctx, &payment))
	case "screenUnkeyed":
		verdict := new(client.Verdict)
		return told(verdict, rail.Call(ctx, http.MethodPost, "/v1/screen", &payment, "", verdict))
	case "limits":
		limits, err := rail.Limits(ctx, "agt_1")
		if err != nil {
			return nil, err
		}
		return map[string]any{"spent": limits.SpentUSDC.String(), "remaining": limits.RemainingUSDC.String(), "available": limits.AvailableUSDC}, nil
	case "settle":
		amount := client.USD(99_500_000)
		settled := new(client.Transaction)
		body := map[string]any{"amount": amount, "railRef": "rail"}
		if err := rail.Call(ctx, http.MethodPost, "/v1/transactions/txn_1/settle", body, one.Key, settled); err != nil {
			return nil, err
		}
		return map[string]any{"state": settled.State, "counted": settled.CountedUSDC.String()}, nil
	}
	if one.Call == "confirm" || one.Call == "redeem" {
		return takeLeave(ctx, rail, one)
	}
	if call := caseworkCalls[one.Call]; call != nil {
		return call(ctx, rail, one.Key)
	}
	results, err := rail.Batch(ctx, []client.Payment{
		{Token: "t", Amount: client.Dollars(1), IdempotencyKey: "b1"}, {Token: "t", Amount: client.Dollars(2), IdempotencyKey: "b2"},
	})
	if err != nil {
		return nil, err
	}
	all := make([]any, 0, len(results))
	for i := range results {
		if failure := results[i].Error; failure != nil {
			all = append(all, map[string]any{"error": map[string]any{"code": failure.Code, "outcome": failure.Outcome, "param": failure.Param}})
			continue
		}
		verdict, _ := told(results[i].Verdict, nil)
		all = append(all, verdict)
	}
	return all, nil
}

func takeLeave(ctx context.Context, rail *client.Client, one *driven) (any, error) {
	if one.Call == "confirm" {
		asked := client.Confirm{Permit: &client.PermitAsked{TTLSeconds: 60, Audience: "https://pay.example.org"}, Token: "t", Redeem: true, IdempotencyKey: one.Key}
		confirmed, err := rail.Confirm(ctx, "txn_1", &asked)
		if err != nil {
			return nil, err
		}
		return map[string]any{"verdict": confirmed.Verdict, "permit": confirmed.Permit, "payment": confirmed.Payment.State, "amount": confirmed.Payment.Amount.String()}, nil
	}
	redeemed, err := rail.RedeemPermit(ctx, &client.Redeem{Permit: "p.e.r", Pay: &client.Paying{Amount: 99_500_000, Chain: "BASE", Payee: "0x1"}, IdempotencyKey: one.Key})
	if err != nil {
		return nil, err
	}
	return map[string]any{"state": redeemed.State, "txnId": redeemed.TxnID}, nil
}

func told(verdict *client.Verdict, err error) (any, error) {
	if err != nil {
		return nil, err
	}
	shown := map[string]any{"verdict": verdict.Verdict, "txnId": verdict.TxnID}
	if verdict.Hold != nil {
		shown["held"] = verdict.Hold.Amount.String()
	}
	return shown, nil
}
