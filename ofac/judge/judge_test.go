package judge

import (
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"railguard/engine"
	"railguard/fsm/wire"
	"railguard/ofac"
	"railguard/ofac/feed"
)

// dated is a list of two sources, of that many days after the others.
func dated(sdnDay, consDay engine.Time, sdn, cons uint32) *wire.ListInfo {
	info := &wire.ListInfo{Source: "SDN_ENHANCED + CONS_ENHANCED", SDN: sdn, CONS: cons, Entries: sdn + cons, PublishedAt: today.Start(), ActivatedAt: today.Start()}
	info.SDNAsOf = today.Start() + sdnDay*engine.DayLength
	if cons > 0 {
		info.CONSAsOf = today.Start() + (consDay-2)*engine.DayLength
	}
	return info
}

const today = engine.Day(20522) // 2026-03-10.

func info(sdn, cons uint32) *wire.ListInfo { return dated(0, 0, sdn, cons) }

func with(info *wire.ListInfo, names, wallets uint32) *wire.ListInfo {
	changed := *info
	changed.Names, changed.Wallets = names, wallets
	return &changed
}

func chains(info *wire.ListInfo, counts ...wire.ChainCount) *wire.ListInfo {
	changed := *info
	changed.Chains = counts
	return &changed
}

func TestReplacement(t *testing.T) {
	active := info(200, 100)
	sample := &wire.ListInfo{Source: "sample", SDN: 900, Entries: 1000, Sample: true}
	undated := &wire.ListInfo{SDN: 200, CONS: 100, Entries: 300, PublishedAt: today.Start()}
	later := *undated
	later.PublishedAt += engine.DayLength
	morning, afternoon := *dated(1, 0, 200, 100), *dated(1, 0, 200, 100)
	morning.SDNAsOf, afternoon.SDNAsOf = morning.SDNAsOf+9*engine.Hour, afternoon.SDNAsOf+14*engine.Hour
	one := func(code feed.ProblemCode) []feed.ProblemCode { return []feed.ProblemCode{code} }
	tests := []struct {
		name         string
		active, next *wire.ListInfo
		found        []string
		want         []feed.ProblemCode
	}{
		{"first list", nil, info(9_900, 100), nil, nil},
		{"small first list", nil, info(9_900, 99), nil, one(ProblemSmall)},
		{"small first list after the sample", sample, info(200, 100), nil, nil},
		{"80 % of each chain stay", chains(active, wire.ChainCount{Chain: "EVM", Count: 100}, wire.ChainCount{Chain: "XMR", Count: 9}),
			chains(active, wire.ChainCount{Chain: "EVM", Count: 80}), nil, nil},
		{"one chain below 80 %", chains(active, wire.ChainCount{Chain: "BTC", Count: 500}, wire.ChainCount{Chain: "TRON", Count: 100}),
			chains(active, wire.ChainCount{Chain: "BTC", Count: 500}, wire.ChainCount{Chain: "TRON", Count: 79}), nil, one(feed.ProblemWallets)},
		{"a chain of ten is gone", chains(active, wire.ChainCount{Chain: "DASH", Count: 10}), chains(active), nil, one(feed.ProblemWallets)},
		{"the same again", active, info(200, 100), nil, nil},
		{"newer", active, dated(1, 0, 200, 100), nil, nil},
		{"empty", active, info(0, 0), nil, one(ProblemEmpty)},
		{"older SDN", active, dated(-1, 0, 200, 100), nil, one(ProblemOlder)},
		{"older CONS under a newer SDN", active, dated(1, -1, 200, 100), nil, one(ProblemOlder)},
		{"older by hours", &afternoon, &morning, nil, one(ProblemOlder)},
		{"newer by hours", &morning, &afternoon, nil, nil},
		{"no date in the new list", active, undated, nil, []feed.ProblemCode{ProblemUndated, ProblemUndated}},
		{"no date in the active list", &later, info(200, 100), nil, nil},
		{"no source is dated, an older file", &later, undated, nil, one(ProblemOlder)},
		{"two days ahead", active, dated(2, 0, 200, 100), nil, nil},
		{"further ahead", active, dated(3, 0, 200, 100), nil, one(ProblemFuture)},
		{"a first list further ahead", nil, dated(3, 0, 20_000, 100), nil, one(ProblemFuture)},
		{"95 % stay", active, info(190, 95), nil, nil},
		{"SDN below 95 %", active, info(189, 100), nil, one(ProblemShrunk)},
		{"CONS below 95 %", active, info(200, 94), nil, one(ProblemShrunk)},
		{"both below 95 %", active, info(189, 94), nil, []feed.ProblemCode{ProblemShrunk, ProblemShrunk, ProblemShrunk}},
		{"95 % of the names stay", with(active, 1000, 100), with(active, 950, 80), nil, nil},
		{"names below 95 %", with(active, 1000, 100), with(active, 949, 100), nil, one(ProblemShrunk)},
		{"wallets below 80 %", with(active, 1000, 100), with(active, 1000, 79), nil, one(feed.ProblemWallets)},
		{"much larger", active, info(20_000, 100), nil, nil},
		{"CONS is gone", active, info(300, 0), nil, one(ProblemFamilyMissing)},
		{"SDN is gone", active, info(0, 300), nil, one(ProblemFamilyMissing)},
		{"first list without SDN", nil, info(0, 30_000), nil, one(ProblemFamilyMissing)},
		{"first list without CONS", nil, info(30_000, 0), nil, nil},
		{"the sample is no measure", sample, info(20, 1), nil, nil},
		{"the sample over a published list", active, sample, nil, one(ProblemSample)},
		{"what the content showed", active, info(200, 100), []string{"canary: x"}, one(feed.ProblemCanary)},
		{"told once", nil, info(0, 30_000), []string{"family_missing: the new list has no SDN entries", "canary: x"}, []feed.ProblemCode{ProblemFamilyMissing, feed.ProblemCanary}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			problems := Replacement(Precedents{Active: test.active, Now: today.Start()}, test.next, test.found)
			require.Equal(t, test.want, codesOf(problems))
			require.Equal(t, slices.Contains(test.want, ProblemFuture), Final(problems), "only a date in the future is final")
		})
	}
	require.Equal(t, []string{
		"older: SDN of 2026-03-09 would replace SDN of 2026-03-10",
		"shrunk: SDN would shrink from 200 to 150 entries: at least 95 % must stay",
		"shrunk: the whole list would shrink from 300 to 250 entries: at least 95 % must stay",
	}, Replacement(Precedents{Active: active, Now: today.Start()}, dated(-1, 0, 150, 100), nil))
}

func codesOf(problems []string) (codes []feed.ProblemCode) {
	for _, problem := range problems {
		code, _, _ := strings.Cut(problem, ": ")
		codes = append(codes, feed.ProblemCode(code))
	}
	return codes
}

// inForce puts a list in force on a day, as Apply does.
func inForce(p *Precedents, list *wire.ListInfo, day engine.Day) {
	list.Digest[0]++
	list.Digest[1] = byte(len(p.History))
	list.ActivatedAt = day.Start()
	p.Active, p.History, p.Now = list, append(p.History, list), day.Start()
}

// Many small steps are measured from where they began: each step of 5 % is compared with the
// largest list of 90 days, and not with the one before it.
func TestStepsAreMeasuredTogether(t *testing.T) {
	var p Precedents
	inForce(&p, dated(-13, -13, 20_000, 400), today-13)
	held, refused := uint32(20_000), 0
	for day := today - 12; day <= today; day++ {
		p.Now = day.Start()
		next := dated(engine.Time(day)-engine.Time(today), -13, held*95/100, 400)
		if problems := Replacement(p, next, nil); len(problems) > 0 {
			require.Equal(t, ProblemShrunk, codesOf(problems)[0])
			refused++
			continue
		}
		held = next.SDN
		inForce(&p, next, day)
	}
	require.EqualValues(t, 19_000, held, "the first step of 5 % passed, and no other")
	require.Equal(t, 12, refused)
	// After 90 days the largest list is no measure any more.
	p.Now = (today + 91).Start()
	require.Empty(t, Replacement(p, dated(91, -13, 18_100, 400), nil))
	// What persons forced is the measure from then on.
	forced := dated(0, -13, 10_000, 400)
	forced.Forced = true
	inForce(&p, forced, today)
	require.Empty(t, Replacement(p, dated(1, -13, 9_500, 400), nil))
	require.NotEmpty(t, Replacement(p, dated(1, -13, 9_499, 400), nil))
	// A list that was rolled back is no measure: neither its size nor its date.
	var q Precedents
	inForce(&q, dated(0, 0, 200, 100), today)
	bad := dated(2, 0, 2_000, 100)
	bad.RolledBackAt = today.Start()
	inForce(&q, bad, today)
	inForce(&q, dated(0, 0, 200, 100), today)
	require.Empty(t, Replacement(q, dated(1, 0, 201, 100), nil))
	require.Equal(t, []feed.ProblemCode{ProblemRolledBack}, codesOf(Replacement(q, bad, nil)))
	require.True(t, RolledBack(q.History, bad.Digest))
	require.False(t, RolledBack(q.History, q.Active.Digest))
}

// One publication has one content: another one of the same source, format and date is doctored
// or broken, and so is one in another format that lost somebody.
func TestSamePublication(t *testing.T) {
	summed := func(format string, sum byte) *wire.ListInfo {
		list := info(200, 100)
		list.Source, list.SDNSum, list.Digest[2] = "SDN_"+format+" 2026-03-10", []byte{sum}, sum
		return list
	}
	var p Precedents
	inForce(&p, summed("ENHANCED", 1), today)
	for _, c := range []struct {
		name    string
		next    *wire.ListInfo
		left    wire.ListLeft
		fetched bool
		want    []feed.ProblemCode
	}{
		{"the same", summed("ENHANCED", 1), wire.ListLeft{}, false, nil},
		{"a wallet exchanged", summed("ENHANCED", 2), wire.ListLeft{Wallets: 1}, false, []feed.ProblemCode{ProblemSamePublication, ProblemSamePublication}},
		{"a party added by hand", summed("ENHANCED", 2), wire.ListLeft{}, false, []feed.ProblemCode{ProblemSamePublication}},
		{"a party added by the publisher", summed("ENHANCED", 2), wire.ListLeft{}, true, nil},
		{"a name taken out by the publisher", summed("ENHANCED", 2), wire.ListLeft{Names: 1}, true, []feed.ProblemCode{ProblemSamePublication}},
		{"another format", summed("ADVANCED", 2), wire.ListLeft{Names: 1}, false, nil},
		{"another format without a party", summed("ADVANCED", 2), wire.ListLeft{Parties: 1}, true, []feed.ProblemCode{ProblemSamePublication}},
	} {
		t.Run(c.name, func(t *testing.T) {
			p.Left, p.Fetched = &c.left, c.fetched
			require.Equal(t, c.want, codesOf(Replacement(p, c.next, nil)))
		})
	}
	newer := summed("ENHANCED", 3)
	newer.SDNAsOf += engine.Hour
	p.Left, p.Fetched = &wire.ListLeft{Wallets: 3}, false
	require.Empty(t, Replacement(p, newer, nil), "a newer publication may take wallets out")
	// It is compared with every list of 90 days, not with the active one alone.
	inForce(&p, newer, today)
	older := summed("ENHANCED", 2)
	require.Contains(t, codesOf(Replacement(p, older, nil)), ProblemSamePublication)
}

func TestSecondOrigin(t *testing.T) {
	active := info(43, 1)
	active.Origin, active.SDNAsOf = "first", active.SDNAsOf+engine.Hour
	next := info(42, 1)
	next.Origin, next.SDNAsOf = "second", active.SDNAsOf+engine.Hour
	p := Precedents{Active: active, Now: today.Start(), SecondOrigin: true}
	require.Equal(t, []feed.ProblemCode{ProblemSecondOrigin}, codesOf(Replacement(p, next, nil)))
	next.SDNAsOf += engine.DayLength
	require.Empty(t, Replacement(p, next, nil), "another day's list may be smaller")
}

func TestLeft(t *testing.T) {
	party := func(uid uint32, names []string, wallets ...string) ofac.Entity {
		entity := ofac.Entity{UID: uid}
		for i, name := range names {
			entity.Names = append(entity.Names, ofac.Name{Full: name, Primary: i == 0})
		}
		for _, wallet := range wallets {
			entity.Addresses = append(entity.Addresses, ofac.Address{Ticker: "ETH", Value: wallet})
		}
		return entity
	}
	const a, b = "0x00000000000000000000000000000000000000aA", "0x00000000000000000000000000000000000000bb"
	from := []ofac.Entity{party(1, []string{"GONE BANK"}, a), party(2, []string{"STAYS LTD", "ALSO KNOWN"}, b)}
	require.Equal(t, &wire.ListLeft{Parties: 1, Names: 1, Wallets: 1, First: []string{
		"wallet of 2 (STAYS LTD): ETH " + b, "party 1: GONE BANK", "name of 2: ALSO KNOWN",
	}}, Left(from, []ofac.Entity{party(2, []string{"Stays Ltd"}), party(3, []string{"TAKES OVER"}, "0x00000000000000000000000000000000000000AA")}))
	require.False(t, Left(from, from).Any())
	var many []ofac.Entity
	for uid := range uint32(1000) {
		many = append(many, party(uid+1, []string{strings.Repeat("X", 500)}))
	}
	left := Left(many, nil)
	require.EqualValues(t, 1000, left.Parties)
	require.Len(t, left.First, LeftNamed)
	require.LessOrEqual(t, len(left.First[0]), leftBytesMax+3)
}

func TestPublicationAge(t *testing.T) {
	list := dated(-20, -300, 200, 100)
	require.Equal(t, 20*engine.DayLength, PublicationAge(list, today.Start()), "a further source may rest")
	require.Equal(t, "the publication is 20 days old: the source may stand still", AgeWarning(list, today.Start()))
	require.Empty(t, AgeWarning(dated(-14, 0, 200, 100), today.Start()))
	require.Negative(t, PublicationAge(&wire.ListInfo{Sample: true, PublishedAt: 1}, today.Start()))
	require.Negative(t, PublicationAge(&wire.ListInfo{}, today.Start()))
}

func TestMissing(t *testing.T) {
	require.Equal(t, []string{"CONS"}, Missing(info(20_000, 0)))
	require.Equal(t, []string{"SDN"}, Missing(info(0, 20_000)))
	require.Empty(t, Missing(info(2, 1)))
	require.Empty(t, Missing(&wire.ListInfo{SDN: 9, Sample: true}))
}
