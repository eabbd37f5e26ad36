package console

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// script runs the console's modules without a browser and compares what they say.
const script = `
globalThis.setInterval = () => {};
const {sentence} = await import(process.argv[2] + '/words.js');
const {fieldOf, fieldWords, placeSentence, said} = await import(process.argv[2] + '/fields.js');
const a = '0x1111111111111111111111111111111111111111';
const q = {amount: 5, cpName: 'Shop', payerWallet: a, wallets: [{role: 'fee', address: 'bitcoin:x'}], cpIdentifiers: [{type: 'duns', value: '1'}, {type: 'iban', value: 'IR1', country: 'Kenya'}], cpCountry: 'Iran', memo: 'rent'};
const of = (match, more) => fieldOf(match, {_request: q, ...more});
const identifier = {party: 'counterparty', member: 'cpIdentifiers[1]', identifier: 'IR1', readAs: 'iban', name: 'BANK', list: 'SDN', outcome: 'listed', why: 'w'};
const say = (rule, more) => sentence({rule, _request: q, ...more});
for (const line of [
  of({party: 'payer', wallet: a.toUpperCase()}), of({party: 'fee', wallet: 'x'}), of({party: 'counterparty', wallet: 'y'}, {walletsElsewhere: ' y'}), of(identifier), of({party: 'memo', name: 'N'}), of({party: 'counterparty', name: 'N'}),
  fieldWords('cpIdentifiers[1].country', q), fieldWords('wallets[0]', q), fieldWords('cpRegion', q), said('cpIdentifiers[1].country', q), said('wallets[0]', q), said('cpIdentifiers[1]', {cpIdentifiers: '***'}),
  say('R4_X', {matches: [{party: 'payer', wallet: a, name: 'LAZARUS'}]}), say('R7_X', {matches: [identifier]}), say('R21_X', {matches: [{...identifier, outcome: 'possible'}]}),
  say('R21_X', {matches: [{party: 'memo', wallet: 'w', name: 'N', list: 'SDN'}]}), say('R21_X', {reason: 'The list is too old.', matches: []}),
  sentence({rule: 'R21_X', _request: q, reason: 'A part could not be compared: r.', matches: [{party: 'memo'}]}, [{rule: 'R21_X', values: {notCompared: [{member: 'cpName', words: ['ส', 'ក'], scripts: ['Thai', 'Khmer']}]}}]),
  say('R21_X', {reason: 'The name is too long to be compared to its end.', matches: [{party: 'memo'}]}),
  say('R24_X', {verdict: 'BLOCK', reason: 'R.', places: [{member: 'originCountry', outcome: 'unread'}, {member: 'cpCountry', read: 'IR', outcome: 'blocked'}]}),
  say('R20_X', {verdict: 'REVIEW', reason: 'A country of the payment cannot be read.', places: [{member: 'cpIdentifiers[1].country', outcome: 'unread'}]}),
  say('R20_X', {verdict: 'REVIEW', reason: 'The counterparty is not told.'}), placeSentence({places: [{member: 'cpCountry', read: 'IR', outcome: 'exempt'}]}),
]) console.log(line);
`

// TestFieldsInWords: the page names the member that hit, and from which member a country was read.
func TestFieldsInWords(t *testing.T) {
	node, err := exec.LookPath("node")
	if err != nil {
		t.Skip("node is not here")
	}
	web, err := filepath.Abs("web")
	require.NoError(t, err)
	path := filepath.Join(t.TempDir(), "fields.mjs")
	require.NoError(t, os.WriteFile(path, []byte(script), 0o600))
	out, err := exec.Command(node, path, web).CombinedOutput()
	require.NoError(t, err, string(out))
	require.Equal(t, []string{
		"payerWallet", "wallets[0]", "walletsElsewhere", "cpIdentifiers[1]", "memo", "cpName",
		"the country of the counterparty’s identifier 2 (iban)", "wallet 1 of the payment (fee)", "the counterparty’s region", "Kenya", "bitcoin:x", "undefined",
		"The wallet 0x1111111111111111111111111111111111111111 is on the sanctions list, as that of “LAZARUS”. It is the wallet that pays.",
		"The iban of the counterparty (cpIdentifiers[1]) is on the sanctions list, as that of “BANK”.",
		"The iban of the counterparty (cpIdentifiers[1]) could be that of “BANK” on the SDN list: w.",
		"The memo holds the wallet w of “N” on the SDN list.", "The list is too old.",
		"A part could not be compared: r. “ส” (Thai), “ក” (Khmer)", "The name is too long to be compared to its end.",
		"R. The counterparty’s country, “Iran”, is IR: an embargoed place.",
		"A country of the payment cannot be read. The country of the counterparty’s identifier 2 (iban), “Kenya”, is no country that can be read.",
		"The counterparty is not told.", "",
	}, strings.Split(strings.TrimSuffix(string(out), "\n"), "\n"))
}
