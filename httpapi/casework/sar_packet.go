package casework

import (
	"strconv"
	"strings"

	"railguard/audit"
	"railguard/edge"
	"railguard/engine"
	"railguard/fsm/leaf"
	"railguard/httpapi/border"
	"railguard/ofac"
	"railguard/strictjson"
)

// The packet of a report holds everything that its writer needs, in one answer. A template
// makes a skeleton text from the records; no machine accuses anybody.

const (
	sarSpan         = 30 * engine.DayLength // Time before and after the escalated payment that the packet covers.
	sarActivityMax  = 500                   // How many transactions are shown.
	sarScanMax      = 8                     // How many walks are made, of LeafScanMax leaves each.
	sarHistoryMax   = 200                   // How many steps are shown.
	sarScreenFilter = "screen"
)

// activity collects all agents' payments to the same counterparty; of a payment that names nobody,
// those of its agent.
type activity struct {
	from, to     engine.Time
	items        []strictjson.Members
	first, last  engine.Time // Times of the first and last payment.
	rows         [][]string  // The items as cells of SarColumns.
	total, paid  engine.USD
	count, ahead int
	agents       map[string]bool
	whole        bool // Nothing was left out.
}

// showSAR is GET /v1/sar/{txnId}: the packet in one of its forms (sarForms).
func showSAR(c *border.Request) (border.Answer, error) {
	form, known := sarForms[c.Query("format")]
	if !known {
		return border.Answer{}, border.BadQuery("format", "must be json, html, csv or xml")
	}
	r, err := loadReport(c)
	if err != nil {
		return border.Answer{}, err
	}
	opened, err := judgeOf(c).LoadLeaf(r.row.First)
	if err != nil {
		return border.Answer{}, err
	}
	did, err := sarActivity(c, r)
	if err != nil {
		return border.Answer{}, err
	}
	said, err := sarHistory(c, r)
	if err != nil {
		return border.Answer{}, err
	}
	m := c.Out[:0]
	if err := writeSARHead(c, &m, &r.row, r.view.Time, sarWaiting(r.view), &opened); err != nil {
		return border.Answer{}, err
	}
	opened.CopyTo(&m, "notes")
	m.List("history", said.steps)
	m.List("narratives", said.narratives)
	narrative := said.narrative
	m.Object("subject", sarSubject(&r.record))
	m.Object("activity", did.members())
	m.Object("evidence", sarEvidence(c, &r.record))
	m.Bool("narrativeIsDraft", !r.row.Finished)
	m.TextOrNull("narrativeSha256", said.hash)
	if narrative == "" {
		narrative = sarSkeleton(&r.record, &opened, did)
	}
	m.Text("narrative", narrative)
	c.Out, judgeOf(c).Index = m, r.view.Index
	return form(c, &sarPacket{members: m, record: &r.record, did: did, narrative: narrative})
}

// sarPacket is the content of a packet, for every form.
type sarPacket struct {
	members   strictjson.Members
	record    *edge.Leaf
	did       *activity
	narrative string
}

// sarSubject returns who the report is about, as the record names them.
func sarSubject(l *edge.Leaf) (m strictjson.Members) {
	l.CopyTo(&m, "agentId", "agentName", "agentType", "operatorLegalName", "userId", "fleetId", "chain")
	var party strictjson.Members
	for _, name := range []string{"cpName", "cpWallet", "cpType", "cpCountry", "cpDateOfBirth", "cpAddress", "cpRegion", "cpIdentifiers"} {
		if raw := l.Raw("_request", name); raw != nil {
			party.Raw(name, raw)
		}
	}
	m.Object("counterparty", party)
	for _, name := range []string{"payerWallet", "wallets", "originCountry", "memo"} {
		if raw := l.Raw("_request", name); raw != nil {
			m.Raw(name, raw)
		}
	}
	return m
}

// sarEvidence returns why the payment was held, and against which list and policy.
func sarEvidence(c *border.Request, l *edge.Leaf) (m strictjson.Members) {
	l.CopyTo(&m, "rule", "reason", "triggered", "matches", "screenedAt", "listVersion", "listDigest", "policyVersion", "matcherVersion")
	for _, name := range []string{"amount", "chain", "rail", "protocol", "paymentRef"} {
		if raw := l.Raw("_request", name); raw != nil {
			m.Raw(name, raw)
		}
	}
	m.Text("leafHash", border.LeafHash(l.Data))
	c.Judges().Parties(l, &m)
	return m
}

// payeeFilter returns by which key the payments to the same counterparty are found: its wallet, else
// its name, else the agent.
func payeeFilter(l *edge.Leaf) uint64 {
	if wallet := engine.CanonicalWallet(l.Text("_request", "cpWallet")); wallet != "" {
		return engine.FilterKey(engine.FilterWallet, wallet)
	}
	if name := ofac.NormaliseName(l.Text("_request", "cpName")); name != "" {
		return engine.FilterKey(engine.FilterName, name)
	}
	return engine.FilterKey(engine.FilterAgent, l.Text("agentId"))
}

// sarActivity walks the records of the counterparty, sarSpan to either side.
func sarActivity(c *border.Request, r *sarCase) (*activity, error) {
	at := r.record.Instant("screenedAt")
	did := &activity{from: max(at-sarSpan, 0), to: at + sarSpan, whole: true, agents: map[string]bool{}}
	store := c.Records().Audit()
	scan := audit.Query{
		From: store.FindTime(int64(did.from)), To: store.FindTime(int64(did.to + engine.Millisecond)), Examine: border.LeafScanMax,
		Keys: []uint64{engine.FilterKey(engine.FilterKind, sarScreenFilter), payeeFilter(&r.record)},
	}
	for range sarScanMax {
		var failed error
		scanned, err := store.Scan(scan, func(index uint64, stored audit.Leaf) bool {
			failed = did.take(c, r, index, stored.Data)
			return failed == nil
		})
		border.ChargeLooked(c, scanned.Examined)
		if failed != nil {
			return nil, failed
		}
		if err != nil {
			return nil, edge.LeafError(err)
		}
		if scanned.Done {
			return did, nil
		}
		if err := border.PassTurn(c); err != nil {
			return nil, err
		}
		scan.From = scanned.Next
	}
	did.whole = false
	return did, nil
}

// take counts a record of the same counterparty.
func (a *activity) take(c *border.Request, r *sarCase, index uint64, data []byte) error {
	l, err := c.Judge.OpenLeaf(index, append([]byte(nil), data...))
	if err != nil {
		return err
	}
	defer c.Judge.DropLeaf()
	if l.Kind() != sarScreenFilter || !sameParty(&l, &r.record) {
		return nil
	}
	amount, at := edge.RecordAmount(&l), l.Instant("screenedAt")
	if a.count == 0 {
		a.first = at
	}
	a.last = at
	a.count++
	a.total = a.total.Plus(amount)
	a.agents[l.Text("agentId")] = true
	d, err := c.Judge.Disposition(&l, true)
	if err != nil {
		return err
	}
	paid, ahead := d.WentAhead(&l)
	if ahead {
		a.ahead++
		a.paid = a.paid.Plus(paid)
	}
	if len(a.items) == sarActivityMax {
		a.whole = false
		return nil
	}
	var m strictjson.Members
	l.CopyTo(&m, "txnId", "screenedAt", "verdict", "rule")
	m.Raw("amount", l.Raw("_request", "amount"))
	disposition := d.Said.Disposition
	m.TextOrNull("disposition", disposition)
	l.CopyTo(&m, "agentId")
	m.Bool("wentAhead", ahead)
	if ahead {
		m.USD("paidUSDC", paid)
	}
	a.items = append(a.items, m)
	a.rows = append(a.rows, []string{l.Text("txnId"), l.Text("screenedAt"), string(l.Raw("_request", "amount")), l.Text("verdict"), l.Text("rule"), disposition,
		l.Text("_request", "chain"), l.Text("_request", "rail"), l.Text("_request", "cpName"), l.Text("_request", "cpWallet")})
	return nil
}

// sameParty tells whether two records name the same counterparty: by its wallet, else by
// its name.
func sameParty(a, b *edge.Leaf) bool {
	if wallet := engine.CanonicalWallet(b.Text("_request", "cpWallet")); wallet != "" {
		return engine.CanonicalWallet(a.Text("_request", "cpWallet")) == wallet
	}
	if b.Text("_request", "cpName") == "" {
		return a.Text("agentId") == b.Text("agentId") && a.Text("_request", "cpName") == "" && a.Text("_request", "cpWallet") == ""
	}
	return ofac.NormaliseName(a.Text("_request", "cpName")) == ofac.NormaliseName(b.Text("_request", "cpName"))
}

func (a *activity) members() (m strictjson.Members) {
	m.Time("from", a.from)
	m.Time("to", a.to)
	m.Int("count", int64(a.count))
	m.Name("totalUSDC")
	m = engine.AppendUSD(m, a.total)
	m.Int("agents", int64(len(a.agents)))
	m.Int("proceeded", int64(a.ahead))
	m.Name("proceededUSDC")
	m = engine.AppendUSD(m, a.paid)
	m.Bool("complete", a.whole)
	m.List("transactions", a.items)
	return m
}

// sarSaid is what people did with a report, oldest first.
type sarSaid struct {
	steps, narratives []strictjson.Members
	narrative, hash   string // The newest one; "": nobody has written one.
}

// sarHistory reads the steps that people took, and the narratives that they wrote.
func sarHistory(c *border.Request, r *sarCase) (said sarSaid, err error) {
	said.steps, said.narratives = []strictjson.Members{}, []strictjson.Members{}
	keys := []uint64{engine.FilterKey(engine.FilterTxn, r.record.Text("txnId"))}
	err = walkLeaves(c, r.row.First, r.row.Later+1, keys, func(l *edge.Leaf) bool {
		if l.Number("reportLeaf") != r.row.First {
			return true
		}
		var item strictjson.Members
		item.Raw("time", l.Raw("time"))
		item.Raw("actor", l.Raw("by"))
		switch l.Kind() {
		case leaf.KindSARMoved:
			l.CopyTo(&item, "from", "to", "reason", "bsaId")
			said.steps = append(said.steps, item)
		case leaf.KindSARWritten:
			l.CopyTo(&item, "narrativeSha256", "finished")
			said.narratives = append(said.narratives, item)
			said.narrative, said.hash = l.Text("narrative"), l.Text("narrativeSha256")
			if len(said.narratives) > sarHistoryMax {
				said.narratives = said.narratives[1:]
			}
		}
		return len(said.steps) < sarHistoryMax
	})
	return said, err
}

func agentsInWords(count int) string {
	if count == 1 {
		return "this agent"
	}
	return strconv.Itoa(count) + " agents"
}

// sarSkeletonOf returns the skeleton of a report.
func sarSkeletonOf(c *border.Request, r *sarCase) (string, error) {
	opened, err := judgeOf(c).LoadLeaf(r.row.First)
	if err != nil {
		return "", err
	}
	did, err := sarActivity(c, r)
	if err != nil {
		return "", err
	}
	return sarSkeleton(&r.record, &opened, did), nil
}

// sarVerdict says what was said of the payment when it was asked for.
func sarVerdict(l *edge.Leaf) string {
	rule, reason := l.Text("rule"), l.Text("reason")
	switch verdict := l.Text("verdict"); verdict {
	case "PROCEED":
		return "It was let through."
	case "REVIEW":
		return "It was held for review by " + rule + ": " + reason
	case "BLOCK":
		return "It was blocked by " + rule + ": " + reason
	default:
		return "No verdict could be given: " + reason
	}
}

// sarSkeleton writes what the records say as sentences, with brackets for what people must
// add.
func sarSkeleton(l, opened *edge.Leaf, did *activity) string {
	var b strings.Builder
	say := func(parts ...string) {
		for _, part := range parts {
			b.WriteString(part)
		}
	}
	party := l.Text("_request", "cpName")
	if wallet := l.Text("_request", "cpWallet"); wallet != "" {
		party = strings.TrimSpace(party + " (wallet " + wallet + ")")
	}
	if party == "" {
		party = "a counterparty that the call does not name"
	}
	say("On ", l.Text("screenedAt"), " the agent ", l.Text("agentName"), " (", l.Text("agentId"), ") of ", l.Text("operatorLegalName"),
		" asked for a payment of ", string(l.Raw("_request", "amount")), " USD to ", party, ". ", sarVerdict(l), "\n\n")
	say("From ", string(did.from.AppendTime(nil)), " to ", string(did.to.AppendTime(nil)), " ", agentsInWords(len(did.agents)), " asked for ", strconv.Itoa(did.count), " payments to the same counterparty, ",
		string(engine.AppendUSD(nil, did.total)), " USD in all; ", strconv.Itoa(did.ahead), " of them, ", string(engine.AppendUSD(nil, did.paid)), " USD, went ahead.")
	if !did.whole {
		say(" There are more than are counted here.")
	}
	if opened.Kind() == leaf.KindDispositioned {
		say("\n\n", opened.Text("reviewedBy"), " escalated the case on ", opened.Text("time"), ".")
		if notes := opened.Text("notes"); notes != "" {
			say(" Notes: ", notes)
		}
	} else {
		say("\n\n", opened.Text("openedBy"), " opened this report on ", opened.Text("time"), ". Reason: ", opened.Text("reason"))
	}
	say("\n\n[Who is suspected, and of what?]\n[What was unusual, against what is usual for this customer?]\n[When and where did it happen, and how?]\n[What was done about it?]\n")
	return b.String()
}
