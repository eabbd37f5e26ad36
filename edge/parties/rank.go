package parties

import (
	"strconv"

	"railguard/engine"
)

// The rank of a piece of work is a sum (decision 146). Each part has bounds, and they are such that a
// hit of a name or a place stands above whatever else waits: the least hit has RankHit minus
// rankDiffersMost points, and the most that a case without a hit can have is less.

// The points of the parts.
const (
	RankHit      = 10_000 // A name, a wallet, an identifier or a place was hit.
	rankReport   = 5_000  // A report that the law wants by a day.
	rankPattern  = 3_000  // A pattern that may mean a crime, or something unreadable.
	rankLimit    = 2_000  // A limit was reached.
	rankOther    = 1_000
	rankScore    = 1_000 // Of a hit: the whole likeness.
	rankAgrees   = 300   // Of a hit: for each fact that agrees with the entry.
	rankDiffers  = -200  // For each that differs.
	rankGone     = 1_500 // The money has gone.
	rankWaits    = 500   // Somebody waits for the money.
	rankOverdue  = 2_000 // Its time is over.
	rankTime     = 1_000 // Grows to it until its time is over.
	rankDay      = 50    // For each day that it waits, where it has no time.
	rankDaysMost = 20

	factsMost       = 3 // Date of birth, country, address.
	rankDiffersMost = -factsMost * rankDiffers
)

// Money says where the money of a piece of work is.
type Money uint8

// The places of money.
const (
	MoneyStopped Money = iota
	MoneyWaits
	MoneyGone
)

// Work is what of a piece of work its rank depends on.
type Work struct {
	Hit             bool // Somebody listed or a forbidden place, in whatever kind of work.
	Report          bool
	Rules           uint32 // All rules that fired.
	Score           uint16 // Of the hit, 1e-4.
	Agrees, Differs int    // Facts that agree with the entry, and that do not.
	Money           Money
	OpenedAt, DueAt engine.Time // DueAt 0: it has no time.
}

// Part is one summand of a rank.
type Part struct {
	Part   string
	Points int
	Why    string
}

// hitRules are the rules of names and places; patternRules those that may mean a crime, or that
// something could not be read; limitRules those of limits of money, pace and attestation.
const (
	hitRules     = engine.SanctionsRules | 1<<engine.RulePossibleName
	patternRules = 1<<19 | 1<<20 | 1<<25
	limitRules   = 1<<10 | 1<<11 | 1<<12 | 1<<16 | 1<<22
)

// IsHit tells whether rules are among those of names and places.
func IsHit(rules uint32) bool { return rules&hitRules != 0 }

// Rank returns the sum and its parts at a time. Parts of no points are left out.
func (w *Work) Rank(now engine.Time) (sum int, parts []Part) {
	add := func(part string, points int, why string) {
		if points != 0 {
			sum += points
			parts = append(parts, Part{part, points, why})
		}
	}
	hit := w.Hit || IsHit(w.Rules)
	switch {
	case hit:
		add("class", RankHit, "a listed name, wallet, identifier or place")
	case w.Report:
		add("class", rankReport, "a report with a day by which it is due")
	case w.Rules&patternRules != 0:
		add("class", rankPattern, "a pattern, or something that could not be read")
	case w.Rules&limitRules != 0:
		add("class", rankLimit, "a limit was reached")
	default:
		add("class", rankOther, "anything else")
	}
	if hit {
		add("score", int(w.Score)*rankScore/scoreOne, "how like the listed one it is: "+percent(w.Score))
		agrees := min(w.Agrees, factsMost)
		add("agrees", agrees*rankAgrees, numbered(agrees, "fact agrees with the entry", "facts agree with the entry"))
		differs := min(w.Differs, factsMost)
		add("differs", differs*rankDiffers, numbered(differs, "fact differs from the entry", "facts differ from the entry"))
	}
	switch w.Money {
	case MoneyGone:
		add("money", rankGone, "the money has gone")
	case MoneyWaits:
		add("money", rankWaits, "somebody waits for the money")
	}
	w.clock(now, add)
	return sum, parts
}

// clock adds the points of time.
func (w *Work) clock(now engine.Time, add func(part string, points int, why string)) {
	waited := max(now-w.OpenedAt, 0)
	switch {
	case w.DueAt != 0 && now >= w.DueAt:
		add("clock", rankOverdue, "its time is over")
	case w.DueAt != 0 && w.DueAt > w.OpenedAt:
		share := waited / engine.Second * rankTime / max((w.DueAt-w.OpenedAt)/engine.Second, 1)
		add("clock", int(min(share, rankTime)), "part of its time is over")
	default:
		days := min(int(waited/engine.DayLength), rankDaysMost)
		add("clock", days*rankDay, "it waits "+numbered(days, "day", "days"))
	}
}

func percent(score uint16) string {
	return strconv.Itoa(int(score)/100) + "." + strconv.Itoa(int(score)/10%10) + " %"
}

func numbered(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return strconv.Itoa(n) + " " + many
}
