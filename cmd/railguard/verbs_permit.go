package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"railguard/audit/note"
	"railguard/edge"
	"railguard/engine"
	"railguard/engine/permit"
	"railguard/strictjson"
)

// newPermit is `railguard permit`.
func newPermit() *cobra.Command {
	cmd := &cobra.Command{
		Use: "permit", Short: "Permits: signed leave to make one payment, checked by whoever is paid", GroupID: "payments", RunE: helpOnly,
	}
	cmd.AddCommand(newPermitRedeem(), newPermitVerify())
	return cmd
}

// permitVerification is one run of `railguard permit verify`.
type permitVerification struct {
	client
	keysFile, payFile, at   string
	logURL, logKeys, policy string
	inJSON, sandbox         bool
	listAge, patience       time.Duration

	want  permit.Want
	pay   *edge.Paying     // What --pay says; nil: it was not given.
	trust string           // Verifier keys of the log, with what the policy demands.
	tree  *note.Checkpoint // The signed tree that holds the permit's leaf; nil: not asked for.
}

func newPermitVerify() *cobra.Command {
	v := &permitVerification{}
	cmd := &cobra.Command{
		Use: "verify FILE", Short: "Check a permit offline: signature, audience, time, your payment; with --log, that its record is in the log",
		Long: `Check the permit in FILE ("-" is standard input) before you let its payment happen.
It is judged in this order, and the first fault is told as a word:
malformed, algorithm, type, key, signature, issuer, audience, expired, early,
lifetime, verdict, payment (with the member that differs), list; then log, quorum.

The keys are those in --keys, a key set that you keep (GET /v1/.well-known/jwks.json), and
no server is asked. Without --keys they are fetched from the --issuer, by https.

--pay FILE says what you are about to let happen, never what the permit says:
{"amount":"25","chain":"BASE","rail":"USDC","payee":"0x…","payer":"0x…","ref":"inv-7"};
for a payee without a wallet "name" or "identifiers" as in a screening call, or
"payeeIds"; of an x402 payment also "asset", "units", "nonce". What was not told when
the payment was screened must not stand there, and the other way round.

--log URL proves besides that the log holds the record of the judgement: a checkpoint
signed by --log-keys, and met by the quorum of --policy if you give one, leads to the
leaf that the permit names. A new leaf is in no checkpoint for about a second, and
in none that witnesses signed for longer; this verb waits for it, up to --patience.

Not shown, whatever you give: that the permit was not used before. Every permit of a
payment has one jti: keep it with your order, and accept it once. Nor what happened since
it was made: offline nothing revokes it before its end. The permit is as good as money
until then, and this verb never prints it.

Exit codes: 0 good, 1 refused, 3 the issuer or the log did not answer, 4 signed and in time,
but without --aud or --pay nothing shows that it is for you or for your payment, 64 not
readable, or wrong flags.`,
		Example: "  railguard permit verify permit.jwt --keys jwks.json --issuer https://guard.example.org --aud https://shop.example.com --pay order.json\n" +
			"  railguard permit verify - --issuer https://guard.example.org --aud https://shop.example.com --pay order.json --log https://guard.example.org --log-keys keys.txt < permit.jwt",
		Args: exactArgs(1, "one FILE with the permit (or - for standard input)"),
		RunE: func(cmd *cobra.Command, args []string) error { return v.verify(cmd, args[0]) },
	}
	flags := cmd.Flags()
	flags.StringVar(&v.keysFile, "keys", "", "file with the guard's key set, a JWKS (default: fetched from the issuer)")
	flags.StringVar(&v.want.Issuer, "issuer", "", "the public address of the guard that you trust (required)")
	flags.StringVar(&v.want.Audience, "aud", "", "you, as the permit must name you")
	flags.StringVar(&v.payFile, "pay", "", "file with the statement of your own payment, as JSON")
	flags.DurationVar(&v.listAge, "max-list-age", 0, "how long ago the sanctions list may have been confirmed when the permit was made (default: as the permit says)")
	flags.StringVar(&v.at, "at", "", "judge it as at this time, e.g. 2026-11-29T12:00:00Z (default: now)")
	flags.BoolVar(&v.sandbox, "sandbox", false, "accept a sandbox's permits too")
	flags.StringVar(&v.logURL, "log", "", "address of the log: prove that it holds the record that the permit names")
	flags.StringVar(&v.logKeys, "log-keys", "", "file with the log's verifier keys, received another way (for --log)")
	flags.StringVar(&v.policy, "policy", "", "file with your C2SP tlog-policy: a quorum of its witnesses must have signed the log's tree head (without --log-keys its logs are the trusted ones)")
	flags.DurationVar(&v.patience, "patience", 15*time.Second, "how long to wait for a checkpoint that covers the record (for --log)")
	flags.StringVar(&v.ca, "ca", "", "file with the certificate authorities of https addresses (default: the system's)")
	flags.DurationVar(&v.timeout, "timeout", 20*time.Second, "longest wait for one answer")
	flags.StringVarP(&v.output, "output", "o", "table", "table or json")
	flags.BoolVar(&v.inJSON, "json", false, "the same as --output json")
	return cmd
}

func (v *permitVerification) verify(cmd *cobra.Command, path string) error {
	if err := v.checkFlags(cmd.Flags().Changed("max-list-age")); err != nil {
		return err
	}
	raw, err := readPermit(path, cmd.InOrStdin())
	if err != nil {
		return err
	}
	if v.want.Keys, err = v.keys(cmd.Context()); err != nil {
		return err
	}
	claims, err := v.judge(raw)
	if err == nil && v.logURL != "" {
		if err = v.proveHeld(cmd.Context(), claims); err == nil {
			claims, err = v.judge(raw) // It may have ended meanwhile.
		}
	}
	if err != nil {
		return v.printRefusal(cmd.OutOrStdout(), err)
	}
	v.printGood(cmd.OutOrStdout(), claims)
	if missing := v.notCompared(); len(missing) > 0 {
		return &exitError{code: exitWarn, err: fmt.Errorf("not shown: %s", strings.Join(missing, ", nor "))}
	}
	return nil
}

func (v *permitVerification) checkFlags(boundsLists bool) error {
	switch {
	case v.output != "table" && v.output != "json":
		return usageError("--output must be table or json")
	case v.want.Issuer == "":
		return usageError("--issuer is required (the public address of the guard that you trust)")
	case boundsLists && v.listAge <= 0:
		return usageError("--max-list-age must be above 0, e.g. 24h")
	case v.timeout <= 0 || v.patience < 0:
		return usageError("--timeout must be above 0, e.g. 20s, and --patience not below")
	case v.logURL == "" && (v.logKeys != "" || v.policy != ""):
		return usageError("--log-keys and --policy go with --log")
	case v.logURL != "" && v.logKeys == "" && v.policy == "":
		return usageError("--log needs --log-keys, or a --policy that names the log: keys that the log itself lists show nothing")
	case v.logURL != "" && !strings.Contains(v.logURL, "://"):
		return usageError("--log: %q has no scheme: write https://%s", v.logURL, v.logURL)
	}
	v.inJSON = v.inJSON || v.output == "json"
	v.want.ListAgeMost = engine.Time(v.listAge)
	if v.at != "" {
		at, ok := strictjson.ParseTime(v.at)
		if !ok {
			return usageError("--at must be a time, e.g. 2026-11-29T12:00:00Z")
		}
		v.want.Now = at
	}
	if v.logURL != "" {
		trust, err := readTrustOf("--log-keys", v.logKeys, v.policy)
		if err != nil {
			return err
		}
		v.trust = trust
	}
	if v.payFile != "" {
		data, err := os.ReadFile(v.payFile)
		if err == nil {
			v.pay, err = edge.ReadPaying(data)
		}
		if err != nil {
			return usageError("--pay: %w", err)
		}
	}
	return v.buildHTTPClient()
}

// readPermit reads a permit. Its errors do not name a path, because a permit that was given in place
// of one would stand there.
func readPermit(path string, input io.Reader) (string, error) {
	if path != "-" {
		file, err := os.Open(path)
		if err != nil {
			var reason *os.PathError
			if errors.As(err, &reason) {
				err = reason.Err
			}
			return "", usageError("FILE: %w (the permit itself is never an argument: others can see those)", err)
		}
		defer file.Close()
		input = file
	}
	data, err := io.ReadAll(io.LimitReader(input, 2*permit.BytesMax))
	if err != nil {
		return "", usageError("FILE: it cannot be read")
	}
	return strings.TrimSpace(string(data)), nil
}

// judge verifies the permit as at --at, or now.
func (v *permitVerification) judge(raw string) (*permit.Claims, error) {
	want := v.want
	if v.at == "" {
		want.Now = engine.Time(time.Now().UnixNano())
	}
	if v.pay != nil {
		want.Pay = v.pay.Statement
	}
	return permit.Verify(raw, &want)
}

// notCompared says in words what the caller did not ask for and has to know.
func (v *permitVerification) notCompared() (missing []string) {
	if v.want.Audience == "" {
		missing = append(missing, "that it is for you (--aud)")
	}
	if v.pay == nil {
		missing = append(missing, "that it is for your payment (--pay)")
	}
	return missing
}

// printRefusal says why a permit is refused, and returns the error with its exit code.
func (v *permitVerification) printRefusal(out io.Writer, err error) error {
	coded := new(exitError)
	if errors.As(err, &coded) {
		return err
	}
	reason, said, param := "log", err.Error(), ""
	refusal, few := (*permit.Error)(nil), (*note.QuorumError)(nil)
	switch {
	case errors.As(err, &refusal):
		reason, said, param = string(refusal.Reason), refusal.Said, refusal.Param
	case errors.As(err, &few):
		reason, said = "quorum", few.Error()
	}
	said = printableText(said)
	if v.inJSON {
		verdict := struct {
			Good   bool   `json:"good"`
			Reason string `json:"reason"`
			Param  string `json:"param,omitempty"`
			Error  string `json:"error"`
			Quorum *short `json:"quorum,omitempty"`
		}{Reason: reason, Param: param, Error: said}
		if few != nil {
			verdict.Quorum = &short{Have: append([]string{}, few.Have...), Need: few.Need, Missing: few.Missing}
		}
		_ = json.NewEncoder(out).Encode(verdict)
	}
	return &exitError{code: exitFailed, err: fmt.Errorf("REFUSED: %s: %s", reason, said)}
}

// permitReport is what was verified, as JSON.
type permitReport struct {
	Good       bool        `json:"good"` // False if it was compared with no audience or no payment.
	TxnID      string      `json:"txnId"`
	AgentID    string      `json:"agentId"`
	Issuer     string      `json:"issuer"`
	Audience   string      `json:"audience"`
	KeyID      string      `json:"kid"`
	IssuedAt   string      `json:"issuedAt"`
	ExpiresAt  string      `json:"expiresAt"`
	PayHash    string      `json:"payHash"`
	ListAge    int64       `json:"listAgeSeconds"`
	Thumbprint string      `json:"jkt,omitempty"`
	Log        *permitTree `json:"log,omitempty"` // With --log.
	Shown      []string    `json:"shown"`
	NotShown   []string    `json:"notShown"`
}

type permitTree struct {
	Origin    string   `json:"origin"`
	Leaf      uint64   `json:"leaf"`
	TreeSize  uint64   `json:"treeSize"`
	Quorum    string   `json:"quorum,omitempty"`
	Witnesses []string `json:"witnesses,omitempty"`
}

func (v *permitVerification) printGood(out io.Writer, c *permit.Claims) {
	report := permitReport{
		Good: len(v.notCompared()) == 0, TxnID: c.TxnID, AgentID: c.Subject, Issuer: c.Issuer, Audience: c.Audience, KeyID: c.KeyID,
		IssuedAt: c.IssuedAt.String(), ExpiresAt: c.Expires.String(), PayHash: c.PayHash, ListAge: int64(c.ListAge / engine.Second), Thumbprint: c.Thumbprint,
		Shown: v.shown(c), NotShown: v.notShown(c),
	}
	if point := v.tree; point != nil {
		report.Log = &permitTree{Origin: point.Origin, Leaf: c.Leaf, TreeSize: point.Size, Quorum: point.Quorum, Witnesses: point.Witnesses}
	}
	if v.inJSON {
		encoder := json.NewEncoder(out)
		encoder.SetEscapeHTML(false)
		_ = encoder.Encode(report)
		return
	}
	verdict := "GOOD"
	if !report.Good {
		verdict = "SIGNED AND IN TIME, NOT COMPARED"
	}
	fmt.Fprintln(out, printableText(fmt.Sprintf("%s: permit of %s, until %s; used before: not shown", verdict, c.TxnID, report.ExpiresAt)))
	for _, sentence := range report.Shown {
		fmt.Fprintln(out, "shown:     ", printableText(sentence))
	}
	for _, sentence := range report.NotShown {
		fmt.Fprintln(out, "NOT shown: ", printableText(sentence))
	}
}

// shown says, one sentence each, what was verified.
func (v *permitVerification) shown(c *permit.Claims) []string {
	whose := "in the file that you gave"
	if v.keysFile == "" {
		whose = "that it publishes now"
	}
	said := []string{
		fmt.Sprintf("%s signed it with the key %s, %s", c.Issuer, c.KeyID, whose),
		fmt.Sprintf("the payment of %s was judged PROCEED at %s", c.Subject, c.IssuedAt),
		fmt.Sprintf("the sanctions lists had been found current %d seconds before", c.ListAge/engine.Second),
	}
	if v.want.Audience != "" {
		said = append(said, "it is for "+c.Audience)
	}
	if v.pay != nil {
		said = append(said, "it is for the payment that you stated: "+c.PayHash)
	}
	point := v.tree
	if point == nil {
		return said
	}
	said = append(said, fmt.Sprintf("the record of the judgement is leaf %d of the log %s, whose signed tree has %d leaves", c.Leaf, point.Origin, point.Size))
	if point.Quorum != "" {
		said = append(said, "the quorum of witnesses that you demand signed that tree head: "+point.Quorum)
	}
	if len(point.Witnesses) > 0 {
		said = append(said, "the witnesses that you demand signed that tree head: "+strings.Join(point.Witnesses, ", "))
	}
	return said
}

// notShown says, one sentence each, what was not verified although a reader might believe so.
func (v *permitVerification) notShown(c *permit.Claims) []string {
	said := v.notCompared()
	said = append(said, fmt.Sprintf("that it was not used before: accept the jti %s once, and keep it at least until %s", c.TxnID, c.Expires+engine.Minute),
		"what happened since: offline nothing revokes it before its end")
	if c.Thumbprint != "" {
		said = append(said, "that whoever shows it has the agent's key "+c.Thumbprint)
	}
	switch {
	case v.tree == nil:
		said = append(said, "that the log holds the record of the judgement (--log)")
	case v.tree.Quorum == "":
		said = append(said, "that others saw the log's tree: no witness was demanded (--policy)")
	}
	return said
}
