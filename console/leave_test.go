package console

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// leaveScript runs the module without a browser: a line for each approval, and for each payment.
const leaveScript = `
globalThis.setInterval = () => {};
const {leaveWords, paymentWords} = await import(process.argv[2] + '/leave.js');
const until = '2026-03-23T03:33:28.589Z', time = '2026-03-22T03:33:28.589Z';
const line = (words) => console.log(words ? (words.bad ? '! ' : '') + words.text : 'nothing');
line(leaveWords({}));
for (const [state, confirmable, confirmableReason] of [['open', true], ['open', false, 'agent_status'], ['open', false, 'listed'], ['open', false, 'of a later release'], ['redeemed', false, 'redeemed'], ['lapsed', false, 'lapsed'], ['of a later release', false]]) line(leaveWords({approval: {state, until}, confirmable, confirmableReason}));
line(paymentWords());
for (const more of [{state: 'held', verdict: 'PROCEED'}, {state: 'held', verdict: 'REVIEW'}, {state: 'redeemed'}, {state: 'settled', amount: 25}, {state: 'settled', amount: 25, unpermitted: true}, {state: 'settled', amount: 25, late: true, overLimit: true}, {state: 'released'}, {state: 'expired'}, {state: 'unresolved'}, {state: 'unresolved', redeemed: true}, {state: 'parked'}]) line(paymentWords({time, ...more}));
`

// TestLeaveInWords: one sentence for each state of an approval and of a payment; ! marks what is to be
// seen.
func TestLeaveInWords(t *testing.T) {
	node, err := exec.LookPath("node")
	if err != nil {
		t.Skip("node is not here")
	}
	web, err := filepath.Abs("web")
	require.NoError(t, err)
	path := filepath.Join(t.TempDir(), "leave.mjs")
	require.NoError(t, os.WriteFile(path, []byte(leaveScript), 0o600))
	out, err := exec.Command(node, path, web).CombinedOutput()
	require.NoError(t, err, string(out))
	require.Equal(t, []string{
		"nothing",
		"Its leave is open until 23 Mar 2026, 03:33 UTC: it is confirmed before it is paid.",
		"! It may not be paid now: the agent or its operator may not pay now.",
		"! It may not be paid now: the list names a party of it now.",
		"! It may not be paid now: of a later release.",
		"Its leave was taken.",
		"! Its leave ended, at the latest 23 Mar 2026, 03:33 UTC: it may not be paid.",
		"! Its leave ended, at the latest 23 Mar 2026, 03:33 UTC: it may not be paid.",
		"nothing",
		"Confirmed 22 Mar 2026, 03:33 UTC: PROCEED. Its leave is not taken yet.",
		"Confirmed 22 Mar 2026, 03:33 UTC: REVIEW. That gave no leave.",
		"Redeemed 22 Mar 2026, 03:33 UTC: whoever took its leave may have paid. It counts until somebody settles or releases it.",
		"Settled 22 Mar 2026, 03:33 UTC: $25.00.",
		"! Settled 22 Mar 2026, 03:33 UTC: $25.00, without its leave having been taken, which the policy wants.",
		"! Settled 22 Mar 2026, 03:33 UTC: $25.00, after its hold had ended, above a limit.",
		"Given back 22 Mar 2026, 03:33 UTC.",
		"Given back by itself 22 Mar 2026, 03:33 UTC.",
		"! Nobody has said what became of it since 22 Mar 2026, 03:33 UTC; it counts.",
		"! Nobody has said what became of it since 22 Mar 2026, 03:33 UTC; it counts. It was redeemed, so it may have been paid.",
		"! parked",
	}, strings.Split(strings.TrimSuffix(string(out), "\n"), "\n"))
}
