package main

import (
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"

	"github.com/spf13/cobra"

	"railguard/edge"
)

// permitRedeeming is one run of `railguard permit redeem`.
type permitRedeeming struct {
	client
	payFile, key string
}

func newPermitRedeem() *cobra.Command {
	r := &permitRedeeming{}
	cmd := &cobra.Command{
		Use: "redeem FILE", Short: "Take the leave of a permit at the guard: once in the whole cluster",
		Long: `Redeem the permit in FILE ("-" is standard input) right before you let its payment
happen. The payment is judged once more, by what is known now, and its leave is
taken: one call gets "redeemed", all others are refused as permit_used.

--pay FILE says what you are about to let happen, never what the permit says, with the
members that "railguard permit verify" takes. Of a permit for another payment nothing
is redeemed (permit_mismatch names the member).

After a lost answer run it again with the same --idempotency-key: you get the first
answer, and not permit_used. Make the key out of your order; without one it is drawn,
and told when the answer was lost.

The permit is as good as money: it is never an argument, and this verb never prints it.

Exit codes: 0 redeemed, 1 refused, 3 no answer: whether it was redeemed is not known,
64 not readable, or wrong flags.`,
		Example: "  railguard permit redeem permit.jwt --pay order.json --idempotency-key order-7",
		Args:    exactArgs(1, "one FILE with the permit (or - for standard input)"),
		RunE:    func(cmd *cobra.Command, args []string) error { return r.redeem(cmd, args[0]) },
	}
	r.defineFlags(cmd, false)
	flags := cmd.Flags()
	flags.StringVar(&r.payFile, "pay", "", "file with the statement of your own payment, as JSON")
	flags.StringVar(&r.key, "idempotency-key", "", "makes a repeated call give the one outcome (default: drawn)")
	return cmd
}

func (r *permitRedeeming) redeem(cmd *cobra.Command, path string) error {
	if err := r.findServer(cmd, false); err != nil {
		return err
	}
	body := struct {
		Permit string          `json:"permit"`
		Pay    json.RawMessage `json:"pay,omitempty"`
	}{}
	if r.payFile != "" {
		data, err := os.ReadFile(r.payFile)
		if err == nil {
			_, err = edge.ReadPaying(data)
		}
		if err != nil {
			return usageError("--pay: %w", err)
		}
		body.Pay = data
	}
	var err error
	if body.Permit, err = readPermit(path, cmd.InOrStdin()); err != nil {
		return err
	}
	if r.key == "" {
		r.key = "redeem-" + rand.Text()
	}
	data, err := json.Marshal(&body)
	if err != nil {
		return err
	}
	answer, err := r.fetchAnswer(cmd.Context(), &call{
		method: http.MethodPost, path: "/v1/permits/redeem", body: data, headers: map[string]string{"Idempotency-Key": r.key},
	})
	if away := new(exitError); errors.As(err, &away) && away.code == exitAway {
		return &exitError{code: exitAway, status: away.status, err: fmt.Errorf("%w\nwhether it was redeemed is not known: do not hand over, and ask again with --idempotency-key %s", away.err, r.key)}
	}
	if err != nil {
		return err
	}
	return r.tell(cmd, answer)
}

// tell prints the answer. Only one that says redeemed ends without an error.
func (r *permitRedeeming) tell(cmd *cobra.Command, answer []byte) error {
	if err := showAnswer(cmd.OutOrStdout(), answer, r.output, nil); err != nil {
		return err
	}
	var said struct{ State, Verdict string }
	if err := json.Unmarshal(answer, &said); err != nil {
		return err
	}
	if said.State != "redeemed" {
		return &exitError{code: exitFailed, err: fmt.Errorf("not redeemed (%s, %s): do not hand over", printableText(said.State), printableText(said.Verdict))}
	}
	return nil
}
