package formats

import (
	"bytes"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"railguard/audit/reconcile"
	"railguard/engine"
)

// base is USDC on Base, as the x402 facilitator has it for a default.
var base = Asset{"eip155:8453", "0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913", 6}

// kept is a sink that keeps everything.
type kept struct {
	lines    []string
	gaps     []string
	unbooked int
}

func (k *kept) Settlement(s *reconcile.Settlement) error {
	k.lines = append(k.lines, string(s.AppendJSON(nil)))
	return nil
}

func (k *kept) Gap(reason, statement string) error {
	k.gaps = append(k.gaps, reason+" "+statement)
	return nil
}

func (k *kept) Unbooked() { k.unbooked++ }

var (
	day    = 1795392000 * engine.Second // 2026-11-23T00:00:00Z
	bounds = Options{Network: "eip155:8453", Assets: []Asset{base}, From: day, To: day + engine.DayLength}
)

// read reads texts as the files of one extract.
func read(format string, options Options, files ...string) (*kept, error) {
	k := &kept{}
	r, err := NewReader(format, options, k)
	if err != nil {
		return nil, err
	}
	for _, file := range files {
		if err := r.File(strings.NewReader(file)); err != nil {
			return k, err
		}
	}
	return k, r.Close()
}

func sample(t testing.TB, name string) string {
	text, err := os.ReadFile("testdata/" + name)
	require.NoError(t, err)
	return string(text)
}

// TestPublishedSamples: each format's published sample becomes the published lines.
func TestPublishedSamples(t *testing.T) {
	for format, name := range map[string]string{Camt053: "camt053.xml", ERC20: "erc20.ndjson", X402: "x402.ndjson"} {
		t.Run(format, func(t *testing.T) {
			k, err := read(format, bounds, sample(t, name))
			require.NoError(t, err)
			want := strings.Split(strings.TrimSpace(sample(t, strings.Split(name, ".")[0]+".expected.ndjson")), "\n")
			require.Len(t, k.lines, len(want))
			for i := range want {
				require.JSONEq(t, want[i], k.lines[i])
			}
			require.Empty(t, k.gaps)
			k2, err := read(Lines, bounds, strings.Join(k.lines, "\n"))
			require.NoError(t, err)
			require.Equal(t, k.lines, k2.lines, "what is written is read as the same")
		})
	}
	k, err := read(Camt053, bounds, sample(t, "camt053.xml"))
	require.NoError(t, err)
	require.Equal(t, 1, k.unbooked, "the entry that is pending")
}

// TestStatementsShowTheirGaps: what a statement itself shows to be missing is told.
func TestStatementsShowTheirGaps(t *testing.T) {
	whole := sample(t, "camt053.xml")
	window := bounds
	window.To += engine.DayLength
	next := func(sequence string) string {
		text := strings.ReplaceAll(whole, "<ElctrncSeqNb>327<", "<ElctrncSeqNb>"+sequence+"<")
		text = strings.ReplaceAll(text, "S-2026-327", "S-2026-"+sequence)
		text = strings.ReplaceAll(text, "FrDtTm>2026-11-23", "FrDtTm>2026-11-24")
		return strings.ReplaceAll(text, "ToDtTm>2026-11-24", "ToDtTm>2026-11-25")
	}
	for name, c := range map[string]struct {
		options Options
		files   []string
		gaps    []string
	}{
		"whole":                  {bounds, []string{whole}, nil},
		"a wrong balance":        {bounds, []string{strings.Replace(whole, "9924.65", "9924.66", 1)}, []string{"balances S-2026-327"}},
		"an entry less":          {bounds, []string{whole[:strings.Index(whole, "<Ntry><NtryRef>4")] + "</Stmt></BkToCstmrStmt></Document>"}, []string{"balances S-2026-327"}},
		"no closing balance":     {bounds, []string{strings.Replace(whole, "CLBD", "ITBD", 1)}, []string{"balances S-2026-327"}},
		"a batch that lacks one": {bounds, []string{strings.Replace(whole, "50.35", "50.34", 1)}, []string{"batch B-2"}},
		"another currency":       {bounds, []string{strings.Replace(whole, `<Amt Ccy="USD">50.35`, `<Amt Ccy="EUR">50.35`, 1)}, []string{"batch B-2"}},
		"two that follow":        {window, []string{next("328"), whole}, nil},
		"one missing between":    {window, []string{next("329"), whole}, []string{"sequence S-2026-329"}},
		"a day is not covered":   {window, []string{whole}, []string{"window "}},
		"a window by balances":   {bounds, []string{strings.NewReplacer("FrToDt", "Other").Replace(whole)}, nil},
		"the last second":        {bounds, []string{strings.Replace(whole, "ToDtTm>2026-11-24T00:00:00Z", "ToDtTm>2026-11-23T23:59:59Z", 1)}, nil},
		"a minute less":          {bounds, []string{strings.Replace(whole, "ToDtTm>2026-11-24T00:00:00Z", "ToDtTm>2026-11-23T23:59:00Z", 1)}, []string{"window "}},
	} {
		t.Run(name, func(t *testing.T) {
			k, err := read(Camt053, c.options, c.files...)
			require.NoError(t, err)
			require.Equal(t, c.gaps, k.gaps)
		})
	}
}

// TestStatementsAreReadSurely: other spellings of the same, and what is refused.
func TestStatementsAreReadSurely(t *testing.T) {
	whole := sample(t, "camt053.xml")
	usual, err := read(Camt053, bounds, whole)
	require.NoError(t, err)
	for name, change := range map[string]*strings.Replacer{
		"version 02":         strings.NewReplacer("001.08", "001.02", "<Sts><Cd>BOOK</Cd></Sts>", "<Sts>BOOK</Sts>"),
		"version 12":         strings.NewReplacer("001.08", "001.12"),
		"a prefix":           strings.NewReplacer("xmlns=", "xmlns:c=", "<?", "<?", "</", "</c:", "<", "<c:"),
		"amount within":      strings.NewReplacer(`<Amt Ccy="USD">50.35</Amt>`, `<AmtDtls><TxAmt><Amt Ccy="USD">50.35</Amt></TxAmt></AmtDtls>`),
		"five entities":      strings.NewReplacer("invoice 7", "&#105;nvoice 7"),
		"a comment":          strings.NewReplacer("invoice 7", "invoice<!-- 8 --> 7"),
		"something foreign":  strings.NewReplacer("</Stmt>", `<SplmtryData><Envlp xmlns="urn:other"><Ntry><Amt>1</Amt></Ntry></Envlp></SplmtryData></Stmt>`),
		"information":        strings.NewReplacer("<Cd>PDNG", "<Cd>INFO"),
		"reversal as number": strings.NewReplacer("<RvslInd>true", "<RvslInd>1"),
	} {
		t.Run(name, func(t *testing.T) {
			text := change.Replace(whole)
			require.NotEqual(t, whole, text)
			k, err := read(Camt053, bounds, text)
			require.NoError(t, err)
			require.Equal(t, usual.lines, k.lines)
			require.Empty(t, k.gaps)
		})
	}
	for name, text := range map[string]string{
		"a DTD":             strings.Replace(whole, "<Document", `<!DOCTYPE d [<!ENTITY a "aaaa">]><Document`, 1),
		"an entity":         strings.Replace(whole, "invoice 7", "&a;", 1),
		"an instruction":    strings.Replace(whole, "<Stmt>", "<?php a?><Stmt>", 1),
		"deep":              strings.Replace(whole, "<Stmt>", strings.Repeat("<Deep>", 40)+strings.Repeat("</Deep>", 40)+"<Stmt>", 1),
		"a long text":       strings.Replace(whole, "invoice 7", strings.Repeat("i", xmlTextMax+1), 1),
		"a long text cut":   strings.Replace(whole, "invoice 7", strings.Repeat(strings.Repeat("i", 1000)+"<!-- -->", 5), 1),
		"a long tag":        strings.Replace(whole, "<Stmt>", `<Stmt a="`+strings.Repeat("i", 2*xmlTokenMax)+`">`, 1),
		"another version":   strings.Replace(whole, "001.08", "001.13", 1),
		"another message":   strings.Replace(whole, "camt.053", "camt.052", 1),
		"no statement":      `<Document xmlns="urn:iso:std:iso:20022:tech:xsd:camt.053.001.08"><BkToCstmrStmt></BkToCstmrStmt></Document>`,
		"half":              whole[:len(whole)/2],
		"nothing":           "",
		"two roots":         whole + strings.Replace(whole, `<?xml version="1.0" encoding="UTF-8"?>`, "", 1),
		"two amounts":       strings.Replace(whole, `<Amt Ccy="USD">75.35</Amt>`, `<Amt Ccy="USD">75.35</Amt><Amt Ccy="USD">0.01</Amt>`, 1),
		"two accounts":      strings.Replace(whole, "<IBAN>GB33BUKB20201555555555</IBAN>", "<IBAN>GB33BUKB20201555555555</IBAN><IBAN>GB33BUKB20201555555556</IBAN>", 1),
		"no currency":       strings.Replace(whole, `<Amt Ccy="USD">75.35`, `<Amt>75.35`, 1),
		"below zero":        strings.Replace(whole, "75.35", "-75.35", 1),
		"neither in or out": strings.Replace(whole, "<CdtDbtInd>DBIT", "<CdtDbtInd>DEBT", 1),
		"no date":           strings.Replace(whole, "<BookgDt><DtTm>2026-11-23T14:00:00Z</DtTm></BookgDt>", "", 1),
		"another charset":   strings.Replace(whole, "UTF-8", "ISO-8859-1", 1),
		"not UTF-8":         strings.Replace(whole, "invoice 7", "invoice \xff", 1),
	} {
		t.Run(name, func(t *testing.T) {
			require.NotEqual(t, whole, text)
			_, err := read(Camt053, bounds, text)
			require.ErrorIs(t, err, ErrExtract)
		})
	}
}

// endless is a file that never ends.
type endless struct {
	head, body string
	at         int
	given      int64
}

func (e *endless) Read(data []byte) (int, error) {
	text := e.head
	if e.at >= len(text) {
		text, e.head, e.at = e.body, e.body, 0
	}
	n := copy(data, text[e.at:])
	e.at += n
	e.given += int64(n)
	return n, nil
}

// TestBombsAreRefused: a file that never ends is refused early, whatever it repeats.
func TestBombsAreRefused(t *testing.T) {
	head := `<?xml version="1.0"?><Document xmlns="urn:iso:std:iso:20022:tech:xsd:camt.053.001.08"><BkToCstmrStmt><Stmt>`
	for name, body := range map[string]string{
		"depth": "<Ntry>", "text": "aaaaaaaaaaaaaaaa", "name": "<aaaaaaaaaaaaaaa", "comment": "<!-- aaaaaaa ", "attributes": "<a b='c' d='e'",
		"references": "&#97;&#97;&#97;", "declaration": "<!ENTITY a 'b'>", "character data": "<![CDATA[aaaaaaa",
	} {
		t.Run(name, func(t *testing.T) {
			r, err := NewReader(Camt053, bounds, &kept{})
			require.NoError(t, err)
			file := &endless{head: head, body: body}
			require.ErrorIs(t, r.File(file), ErrExtract)
			require.Less(t, file.given, int64(1<<20))
		})
	}
	for _, format := range []string{Lines, ERC20, X402} {
		r, err := NewReader(format, bounds, &kept{})
		require.NoError(t, err)
		file := &endless{head: `{"a":"`, body: "aaaa"}
		require.Error(t, r.File(file))
		require.Less(t, file.given, int64(1<<20), format)
	}
}

// TestALargeStatementIsAStream: a file of more than 256 MiB is refused, and one below it needs no
// memory for what it repeats.
func TestALargeStatementIsAStream(t *testing.T) {
	if testing.Short() {
		t.Skip("reads 256 MiB")
	}
	entry := `<Ntry><Amt Ccy="USD">1</Amt><CdtDbtInd>DBIT</CdtDbtInd><Sts>PDNG</Sts>` + strings.Repeat("<AddtlNtryInf>"+strings.Repeat("x", 3000)+"</AddtlNtryInf>", 20) + `</Ntry>`
	head := `<Document xmlns="urn:iso:std:iso:20022:tech:xsd:camt.053.001.08"><BkToCstmrStmt><Stmt>`
	r, err := NewReader(Camt053, bounds, &kept{})
	require.NoError(t, err)
	file := &endless{head: head, body: entry}
	err = r.File(file)
	require.ErrorIs(t, err, errXMLBytes)
	require.ErrorIs(t, err, ErrExtract)
}

// TestLogsOfTokens: which logs are payments of whom.
func TestLogsOfTokens(t *testing.T) {
	raw := func(index int, topics, data, more string) string {
		return fmt.Sprintf(`{"address":"%s","topics":[%s],"data":"%s","transactionHash":"0x%064x","logIndex":"0x%x","blockTimestamp":"0x6b043204"%s}`, base.Address, topics, data, 0xaa, index, more)
	}
	word := func(n int) string { return fmt.Sprintf("0x%064x", n) }
	transfer := func(index, from, to, value int) string {
		return raw(index, fmt.Sprintf(`"%s","%s","%s"`, topicTransfer, word(from), word(to)), word(value), "")
	}
	used := func(index, from, nonce int) string {
		return raw(index, fmt.Sprintf(`"%s","%s","%s"`, topicAuthorized, word(from), word(nonce)), "0x", "")
	}
	account := func(n int) string { return fmt.Sprintf("0x%040x", n) }
	t.Run("an authorization goes with the payer's next transfer", func(t *testing.T) {
		k, err := read(ERC20, bounds, strings.Join([]string{transfer(3, 1, 9, 5), used(2, 1, 77), transfer(1, 1, 9, 4), transfer(5, 2, 9, 6), used(4, 2, 78), transfer(6, 1, 9, 7)}, "\n"))
		require.NoError(t, err)
		require.Len(t, k.lines, 4)
		for i, nonce := range []string{word(77), "", word(78), ""} {
			require.Equal(t, nonce != "", strings.Contains(k.lines[i], `"`+nonce+`"`) && nonce != "", k.lines[i])
		}
	})
	t.Run("directions", func(t *testing.T) {
		options := bounds
		options.Payer = strings.ToUpper(account(1))
		options.Payer = "0x" + options.Payer[2:]
		k, err := read(ERC20, options, strings.Join([]string{transfer(1, 1, 9, 5), transfer(2, 9, 1, 6), transfer(3, 8, 9, 7)}, "\n"))
		require.NoError(t, err)
		require.Len(t, k.lines, 2)
		require.Contains(t, k.lines[0], `"direction":"out"`)
		require.Contains(t, k.lines[1], `"direction":"in"`)
	})
	for name, file := range map[string]string{
		"a removed log":      raw(1, `"`+topicTransfer+`","`+word(1)+`","`+word(2)+`"`, word(3), `,"removed":true`),
		"another token":      strings.Replace(transfer(1, 1, 2, 3), "833589", "833588", 1),
		"another event":      raw(1, `"`+word(5)+`","`+word(1)+`","`+word(2)+`"`, word(3), ""),
		"a decoded stranger": `{"chainId":8453,"token":"0x00","txHash":"","logIndex":1,"from":"","to":"","value":"1","timestamp":""}`,
	} {
		t.Run(name, func(t *testing.T) {
			k, err := read(ERC20, bounds, file)
			require.NoError(t, err)
			require.Empty(t, k.lines)
		})
	}
	for name, file := range map[string]string{
		"no time":            strings.Replace(transfer(1, 1, 2, 3), "blockTimestamp", "blockTimestump", 1),
		"a value too short":  strings.Replace(transfer(1, 1, 2, 3), word(3), "0x3", 1),
		"a long address":     strings.Replace(transfer(1, 1, 2, 3), word(1), "0x1"+word(1)[3:], 1),
		"more than money":    strings.Replace(transfer(1, 1, 2, 3), word(3), "0x"+strings.Repeat("f", 64), 1),
		"a name twice":       strings.Replace(transfer(1, 1, 2, 3), `"data"`, `"data":"0x","data"`, 1),
		"neither":            `{"a":1}`,
		"another chain":      `{"chainId":1,"token":"` + base.Address + `"}`,
		"a decoded half":     `{"chainId":8453,"token":"` + base.Address + `","value":"1"}`,
		"a value below zero": `{"chainId":8453,"token":"` + base.Address + `","txHash":"` + word(1) + `","logIndex":1,"from":"` + account(1) + `","to":"` + account(2) + `","value":"-1","timestamp":"2026-11-23T00:00:00Z"}`,
		"not JSON":           "hello",
	} {
		t.Run(name, func(t *testing.T) {
			_, err := read(ERC20, bounds, file)
			require.ErrorIs(t, err, ErrExtract)
		})
	}
	_, err := read(ERC20, Options{Assets: []Asset{base}}, transfer(1, 1, 2, 3))
	require.ErrorIs(t, err, ErrNetwork)
}

// TestFacilitatorLogs: versions and networks of x402.
func TestFacilitatorLogs(t *testing.T) {
	usual := strings.Split(sample(t, "x402.ndjson"), "\n")[0]
	first := strings.NewReplacer(`"network":"eip155:8453"`, `"network":"base"`, `"amount"`, `"maxAmountRequired"`).Replace(usual)
	k, err := read(X402, bounds, usual+"\n"+strings.Replace(first, "aa\"", "ab\"", 1))
	require.NoError(t, err)
	require.Len(t, k.lines, 2)
	require.Equal(t, strings.ReplaceAll(k.lines[0], "00aa", "00ab"), k.lines[1])
	solana := `{"time":"2026-11-23T12:31:00Z","request":{"paymentPayload":{"payload":{"transaction":"AQ=="}},"paymentRequirements":{"asset":"EPjF","amount":"2500000","payTo":"Payee"}},"response":{"success":true,"payer":"Payer","transaction":"Sig","network":"solana:x"}}`
	k, err = read(X402, Options{Assets: []Asset{{"solana:x", "EPjF", 6}}}, solana)
	require.NoError(t, err)
	require.Equal(t, []string{`{"id":"solana:x/Sig","time":"2026-11-23T12:31:00Z","amount":"2.5","currency":"USD","asset":"solana:x/token:EPjF","units":"2500000","direction":"out","kind":"payment","payee":"Payee","payer":"Payer","refs":["Sig"]}`}, k.lines)
	for name, file := range map[string]string{
		"no answer":      `{"time":"2026-11-23T12:31:00Z","request":{}}`,
		"no success":     `{"time":"2026-11-23T12:31:00Z","request":{},"response":{}}`,
		"no time":        strings.Replace(usual, `"time":"2026-11-23T12:31:00Z",`, "", 1),
		"no transaction": strings.Replace(usual, `"transaction":"0x00000000000000000000000000000000000000000000000000000000000000aa"`, `"transaction":""`, 1),
	} {
		t.Run(name, func(t *testing.T) {
			_, err := read(X402, bounds, file)
			require.ErrorIs(t, err, ErrExtract)
		})
	}
}

// FuzzRead: no file makes a reader panic, and what it gives is a settlement that is read again.
func FuzzRead(f *testing.F) {
	for i, format := range Names {
		for _, name := range []string{"camt053.xml", "erc20.ndjson", "x402.ndjson", "camt053.expected.ndjson"} {
			text, err := os.ReadFile("testdata/" + name)
			require.NoError(f, err)
			f.Add(byte(i), text)
		}
		_ = format
	}
	f.Fuzz(func(t *testing.T, format byte, file []byte) {
		k := &kept{}
		r, err := NewReader(Names[int(format)%len(Names)], bounds, k)
		require.NoError(t, err)
		if r.File(bytes.NewReader(file)) != nil {
			return
		}
		require.NoError(t, r.Close())
		for _, line := range k.lines {
			if len(line) > reconcile.SettlementBytesMax {
				continue
			}
			var reader reconcile.Reader
			s, err := reader.Read([]byte(line))
			if err != nil {
				continue // A run refuses it for the same reason.
			}
			require.Equal(t, line, string(s.AppendJSON(nil)))
		}
	})
}
