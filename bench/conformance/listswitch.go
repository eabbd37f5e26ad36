package conformance

import (
	"archive/zip"
	"bytes"
	"fmt"
	"net/http"
	"time"

	"railguard/ofac/listtest"
)

var listSwitchChecks = []Check{
	{ID: "T062", Title: "R4: operator wallet listed after issuance blocks at once; delisted it passes", Source: Literal, Needs: NeedListSwitch, phase: phaseList, run: checkR4},
	{ID: "T061/delisted", Title: "R3 stays after the wallet is delisted", Source: Literal, Needs: NeedListSwitch, phase: phaseList, run: checkR3Delisted},
	{ID: "T063/switch", Title: "R5 to R7 follow the active list both ways", Source: Implied, Needs: NeedListSwitch, phase: phaseList, run: checkListFollows},
	{ID: "C07", Title: "an acknowledged activation holds on every node for the next call", Source: Implied, Needs: NeedListSwitch, phase: phaseList, run: checkAtomicSwitch},
	{ID: "X-LST-1", Title: "empty, unparsable, older and shrunken lists are 422 list_rejected unless forced with a reason", Source: Ruling, Needs: NeedListSwitch, phase: phaseList, run: checkListRejected},
	{ID: "X-LST-2", Title: "a snapshot is staged, compared, activated and shown with its counts", Source: Ruling, Needs: NeedListSwitch, phase: phaseList, run: checkListLife},
}

// listCall makes a call about a list snapshot. The rulings leave open whether the
// listener of the API or the admin's serves it, and how deep the path is.
func (p *probe) listCall(method, id, verb string, body any) *answer {
	bases := []option{node(0)}
	if p.cfg.AdminURL != "" {
		bases = append(bases, atBase(p.cfg.AdminURL))
	}
	var first *answer
	for _, base := range bases {
		for _, folder := range []string{"/v1/ofac/", "/v1/ofac/snapshots/"} {
			a := p.call(method, folder+id+verb, body, base)
			if a.status != http.StatusMethodNotAllowed && a.status != http.StatusNotFound {
				return a
			}
			if first == nil {
				first = a
			}
		}
	}
	p.last = first
	return first
}

// upload stages a snapshot: an archive of the given files.
func (p *probe) upload(files map[string][]byte) *answer {
	var body bytes.Buffer
	archive := zip.NewWriter(&body)
	for _, name := range sortedKeys(files) {
		part, err := archive.Create(name)
		p.must(err == nil, "BUG: archive: %v", err)
		_, _ = part.Write(files[name])
	}
	p.must(archive.Close() == nil, "BUG: archive")
	base := node(0)
	if p.cfg.AdminURL != "" {
		base = atBase(p.cfg.AdminURL)
	}
	a := p.post("/v1/ofac/snapshots?name=lists.zip&replace=true", body.Bytes(), base, header("Content-Type", "application/zip"))
	if (a.status == http.StatusNotFound || a.status == http.StatusMethodNotAllowed) && !p.cfg.Strict {
		p.skip("the target takes no list uploads (status %d)", a.status)
	}
	return a
}

// staged uploads a hand-made list and returns the id of its snapshot. Its Consolidated
// List has one organisation, since an empty one would be unusual.
func (p *probe) staged(entities ...listtest.Entity) string {
	asOf := p.now()
	bystander := listtest.Entity{ID: 900001, Last: "CONFORMANCE BYSTANDER HOLDING"}
	a := p.upload(map[string][]byte{
		"SDN_ENHANCED.XML":  listtest.WriteEnhanced(listtest.SDN, asOf, entities...),
		"CONS_ENHANCED.XML": listtest.WriteEnhanced(listtest.CONS, asOf, bystander),
	})
	p.success(a)
	return p.str(a, "snapshotId")
}

// activeSnapshot returns the id of the active list.
func (p *probe) activeSnapshot() string {
	a := p.tool(p.get("/v1/ofac"))
	return p.str(a, "active.snapshotId")
}

func (p *probe) activate(snapshot string) *answer {
	return p.listCall("POST", snapshot, "/activate", obj{"force": true, "reason": "conformance run"})
}

// switched activates a hand-made list, runs the work under it, and activates the former list
// again even if the work fails.
func (p *probe) switched(work func(), entities ...listtest.Entity) {
	before := p.activeSnapshot()
	snapshot := p.staged(entities...)
	p.success(p.activate(snapshot))
	func() {
		defer p.rollback(before)
		work()
	}()
}

// rollback makes a former snapshot the active one again.
func (p *probe) rollback(snapshot string) {
	a := p.listCall("POST", snapshot, "/rollback", obj{"force": true, "reason": "conformance run"})
	if !a.ok() {
		a = p.activate(snapshot)
	}
	p.success(a)
	p.listed = listedParties{}
}

// now returns the target's own time, which the answer to a screening call shows.
func (p *probe) now() time.Time {
	return p.utc(p.screenBody(obj{"token": "garbage", "amount": 0}), "screenedAt")
}

// stranger is an entity that no published list holds.
func (p *probe) stranger(wallet string) listtest.Entity {
	return listtest.Entity{ID: 900002, Last: "QUARTZMIRROR " + p.run, Wallets: map[string]string{"ETH": wallet}}
}

func checkR4(p *probe) {
	wallet := cleanWallet()
	g := p.register(p.walletOf(wallet))
	child := p.delegate(g)
	p.proceeds(p.screen(g, "1"))
	p.switched(func() {
		p.verdict(p.screen(g, "1"), "BLOCK", "R4_OPERATOR_WALLET_LIVE")
		p.verdict(p.screen(child, "1"), "BLOCK", "R4_OPERATOR_WALLET_LIVE")
	}, p.stranger(wallet))
	p.proceeds(p.screen(g, "1"))
	p.proceeds(p.screen(child, "1"))
}

func checkR3Delisted(p *probe) {
	wallet := cleanWallet()
	var g agent
	p.switched(func() {
		g = p.issuedToListed(p.walletOf(wallet))
		p.verdict(p.screen(g, "1"), "BLOCK", "R3_OPERATOR_OFAC_ISSUANCE")
	}, p.stranger(wallet))
	p.verdict(p.screen(g, "1"), "BLOCK", "R3_OPERATOR_OFAC_ISSUANCE")
	p.proceeds(p.screen(p.register(p.walletOf(wallet)), "1"))
}

func checkListFollows(p *probe) {
	wallet, operator := cleanWallet(), p.name("Quartzmirror Holding Works")
	person := listtest.Entity{ID: 900003, Individual: true, Last: "QUILLFEATHER", First: "Ambrosius Testus"}
	g, owned := p.register(), p.register(with("operatorLegalName", operator))
	paysWallet, paysPerson := obj{"cpWallet": wallet}, obj{"cpName": "Ambrosius Testus Quillfeather"}
	clean := func() {
		p.proceeds(p.screen(g, "1", paysWallet))
		p.proceeds(p.screen(g, "1", paysPerson))
		p.proceeds(p.screen(owned, "1"))
	}
	clean()
	p.switched(func() {
		p.verdict(p.screen(g, "1", paysWallet), "BLOCK", "R6_COUNTERPARTY_WALLET_OFAC")
		p.verdict(p.screen(g, "1", paysPerson), "BLOCK", "R7_COUNTERPARTY_NAME_OFAC")
		p.verdict(p.screen(owned, "1"), "BLOCK", "R5_OPERATOR_NAME_OFAC")
	}, p.stranger(wallet), person, listtest.Entity{ID: 900004, Last: operator})
	clean()
}

func checkAtomicSwitch(p *probe) {
	wallet := cleanWallet()
	g := p.register()
	p.switched(func() {
		for i := range 4 * len(p.cfg.BaseURLs) {
			a := p.screenBody(g.payment("1", obj{"cpWallet": wallet}), node(i))
			p.verdict(a, "BLOCK", "R6_COUNTERPARTY_WALLET_OFAC")
		}
		version := p.record(p.screen(g, "1").text("txnId")).tree
		for i := range p.cfg.BaseURLs {
			health := p.get("/v1/health", node(i))
			p.same(health, "ofac.listVersion", memberOf(version, "listVersion"))
		}
	}, p.stranger(wallet))
	for i := range 4 * len(p.cfg.BaseURLs) {
		p.proceeds(p.screenBody(g.payment("1", obj{"cpWallet": wallet}), node(i)))
	}
}

func checkListRejected(p *probe) {
	now := p.now()
	many := make([]listtest.Entity, 40)
	for i := range many {
		many[i] = listtest.Entity{ID: 900100 + i, Last: fmt.Sprintf("QUARTZMIRROR SUBSIDIARY %d OF %s", i, p.run)}
	}
	rejected := func(what string, files map[string][]byte) {
		a := p.upload(files)
		if a.ok() { // The rulings allow a refusal at the upload or at the activation.
			a = p.listCall("POST", p.str(a, "snapshotId"), "/activate", obj{})
		}
		p.expect(a.status == 422 && a.code() == "list_rejected", "%s: got %d %q, want 422 list_rejected", what, a.status, a.code())
	}
	whole := listtest.WriteEnhanced(listtest.SDN, now, many...)
	bomb := `<?xml version="1.0"?><!DOCTYPE x [<!ENTITY a "aaaaaaaaaa"><!ENTITY b "&a;&a;&a;&a;&a;&a;&a;&a;"><!ENTITY c "&b;&b;&b;&b;&b;&b;&b;&b;">]><sanctionsData>&c;</sanctionsData>`
	p.switched(func() { // The check for a list that shrinks compares with this list of forty entries.
		before := p.activeSnapshot()
		rejected("no entity", map[string][]byte{"SDN_ENHANCED.XML": listtest.WriteEnhanced(listtest.SDN, now)})
		rejected("no XML", map[string][]byte{"SDN_ENHANCED.XML": []byte("this is no list")})
		rejected("half a file", map[string][]byte{"SDN_ENHANCED.XML": whole[:len(whole)/2]})
		rejected("years old", map[string][]byte{"SDN_ENHANCED.XML": listtest.WriteEnhanced(listtest.SDN, now.AddDate(-9, 0, 0), many...)})
		rejected("shrunken by a tenth", map[string][]byte{"SDN_ENHANCED.XML": listtest.WriteEnhanced(listtest.SDN, now, many[4:]...)})
		rejected("entity expansion", map[string][]byte{"SDN_ENHANCED.XML": []byte(bomb)})
		snapshot := p.staged(many[4:]...)
		a := p.listCall("POST", snapshot, "/activate", obj{"force": true})
		p.expect(a.status == 422, "force without a reason: status %d, want 422", a.status)
		p.expect(p.activeSnapshot() == before, "a refused list is active")
	}, many...)
}

func checkListLife(p *probe) {
	wallet := cleanWallet()
	before := p.activeSnapshot()
	snapshot := p.staged(p.stranger(wallet))
	diff := p.success(p.listCall("GET", snapshot, "/diff?against=active", nil))
	p.expect(kind(diff.tree) == "object", "the diff is %s", kind(diff.tree))
	p.expect(p.activeSnapshot() == before, "staging activated the list")
	p.success(p.activate(snapshot))
	defer p.rollback(before)
	a := p.success(p.get("/v1/ofac"))
	p.same(a, "active.snapshotId", snapshot)
	p.same(a, "active.counts.wallets", 1)
	p.same(a, "active.counts.sdn", 1)
	p.same(a, "active.counts.cons", 1)
	health := p.get("/v1/health")
	p.same(health, "ofac.count", 2)
	p.same(health, "ofac.source", "kv:live")
	p.same(p.screen(p.register(), "1"), "ofacSource", "kv:live")
	p.expect(p.listCall("POST", "snp_none", "/activate", obj{}).status == 404, "an unknown snapshot: status %d, want 404", p.last.status)
}
