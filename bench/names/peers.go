package names

import (
	"fmt"
	"io"
	"strings"

	"railguard/ofac"
)

// This file scores the same rows in the ways of peers, as their documents describe them.
// Comparing with every listed name is slow, so rows are sampled.

// peer is one way of scoring a query against a listed name, 0 to 1.
type peer struct {
	name      string
	threshold float64 // The threshold that its documents suggest, or the one with the best results.
	score     func(query, listed []string) float64
}

var peers = []peer{
	{"OFAC's search tool, its way, at 0.85", 0.85, toolScore},
	{"OFAC's search tool, its way, at 0.95", 0.95, toolScore},
	{"Watchman's way, at 0.85", 0.85, watchmanScore},
	{"Watchman's way, at 0.92", 0.92, watchmanScore},
}

// PeerFigures are the results of one way.
type PeerFigures struct {
	Name                         string
	Must, Should, Ordinary, Hard Share
	Pairs                        Quality
}

// Quality is precision, recall and F1 on labelled pairs.
type Quality struct{ Precision, Recall, F1 float64 }

// Peers scores a sample of the labelled queries in each way, ours first. The sample has about
// each negatives. It also has 20 times as many positives, of which only those of mode full and
// tier MUST or SHOULD are used. A negative is compared with all strong Latin names, a positive
// with those of its own entry. All labelled pairs of name_bench are judged besides.
func Peers(d *Data, o *Outcomes, each int) []PeerFigures {
	type name struct {
		uid   uint32
		words []string
	}
	var names []name
	for _, row := range d.names {
		if !row.weak && row.script == "Latin" {
			names = append(names, name{row.uid, strings.Fields(ofac.NormaliseName(row.full))})
		}
	}
	figures := make([]PeerFigures, len(peers)+1)
	figures[0].Name = "Railguard"
	judge := func(query string, uid uint32, ours *Verdict, share func(*PeerFigures) *Share) {
		words := strings.Fields(ofac.NormaliseName(query))
		share(&figures[0]).add(ours, ofac.ReviewDefault, ofac.BlockDefault)
		for k, p := range peers {
			best := 0.0
			for i := range names {
				if uid == 0 || names[i].uid == uid {
					best = max(best, p.score(words, names[i].words))
				}
			}
			figures[k+1].Name = p.name
			share(&figures[k+1]).add(&Verdict{Score: peerFlag(best, p.threshold)}, ofac.ReviewDefault, ofac.BlockDefault)
		}
	}
	sampled(len(d.Positives), each*20, func(i int) {
		positive := &d.Positives[i]
		switch {
		case positive.Mode != "full":
		case positive.Tier == "MUST":
			judge(positive.Query, positive.UID, &o.Positives[i], func(f *PeerFigures) *Share { return &f.Must })
		case positive.Tier == "SHOULD":
			judge(positive.Query, positive.UID, &o.Positives[i], func(f *PeerFigures) *Share { return &f.Should })
		}
	})
	sampled(len(d.Negatives), each, func(i int) {
		share := func(f *PeerFigures) *Share { return &f.Ordinary }
		if strings.HasPrefix(d.Negatives[i].Kind, "hard_") {
			share = func(f *PeerFigures) *Share { return &f.Hard }
		}
		judge(d.Negatives[i].Query, 0, &o.Negatives[i], share)
	})
	for k := range figures {
		figures[k].Pairs = pairQuality(d, func(i int) bool {
			if k == 0 {
				return o.Pairs[i].Flagged(ofac.ReviewDefault)
			}
			query, target := strings.Fields(ofac.NormaliseName(d.Pairs[i].Query)), strings.Fields(ofac.NormaliseName(d.Pairs[i].Target))
			return peers[k-1].score(query, target) >= peers[k-1].threshold
		})
	}
	return append(figures, PeerFigures{Name: "logic-v2, its published scores, at 0.70", Pairs: pairQuality(d, func(i int) bool { return d.Pairs[i].LogicV2 >= 0.7 })})
}

func peerFlag(score, threshold float64) int32 {
	if score >= threshold {
		return 10000
	}
	return 0
}

// sampled calls do for about count of n rows, which are evenly distributed.
func sampled(n, count int, do func(i int)) {
	step := max(n/max(count, 1), 1)
	for i := 0; i < n; i += step {
		do(i)
	}
}

// pairQuality judges the pairs of name_bench.
func pairQuality(d *Data, flagged func(i int) bool) Quality {
	right, wrong, missed := 0, 0, 0
	for i := range d.Pairs {
		if d.Pairs[i].Source != "nomenklatura_name_bench" {
			continue
		}
		same := d.Pairs[i].Expected == expectedMatch
		switch found := flagged(i); {
		case found && same:
			right++
		case found:
			wrong++
		case same:
			missed++
		}
	}
	if right == 0 {
		return Quality{}
	}
	q := Quality{Precision: float64(right) / float64(right+wrong), Recall: float64(right) / float64(right+missed)}
	q.F1 = 2 * q.Precision * q.Recall / (q.Precision + q.Recall)
	return q
}

// WritePeers prints the ways side by side as Markdown.
func WritePeers(w io.Writer, figures []PeerFigures) {
	fmt.Fprintf(w, "| way of scoring | MUST %% | SHOULD %% | ordinary flagged %% | hard flagged %% | name_bench P / R / F1 |\n|---|---|---|---|---|---|\n")
	for _, f := range figures {
		row := []string{"", "", "", ""}
		for i, s := range []Share{f.Must, f.Should, f.Ordinary, f.Hard} {
			if s.Rows > 0 {
				row[i] = fmt.Sprintf("%.1f", s.FlaggedPercent())
			}
		}
		fmt.Fprintf(w, "| %s | %s | %s | %s | %s | %.2f / %.2f / %.2f |\n", f.Name, row[0], row[1], row[2], row[3], f.Pairs.Precision, f.Pairs.Recall, f.Pairs.F1)
	}
	fmt.Fprintf(w, "\nrows: %d MUST, %d SHOULD, %d ordinary, %d hard\n", figures[0].Must.Rows, figures[0].Should.Rows, figures[0].Ordinary.Rows, figures[0].Hard.Rows)
}

// toolScore scores as the search tool does. It takes the higher of two values: the Jaro-Winkler
// similarity of the whole texts, and the mean of the best similarities of the query's words with
// more than two letters.
func toolScore(query, listed []string) float64 {
	whole := jaroWinkler(strings.Join(query, " "), strings.Join(listed, " "), 0)
	sum, count := 0.0, 0
	for _, word := range query {
		if len(word) <= 2 {
			continue
		}
		best := 0.0
		for _, other := range listed {
			best = max(best, jaroWinkler(word, other, 0))
		}
		if best >= 0.5 {
			sum += best
		}
		count++
	}
	if count == 0 {
		return whole
	}
	return max(whole, sum/float64(count))
}

// watchmanScore is Watchman's way: it pairs words greedily by Jaro-Winkler, weighs
// them by length, and deducts for listed words left over.
func watchmanScore(query, listed []string) float64 {
	used := make([]bool, len(listed))
	sum, letters, matched := 0.0, 0.0, 0
	for _, word := range query {
		best, at := 0.0, -1
		for k, other := range listed {
			if used[k] || word[0] != other[0] {
				continue
			}
			score := jaroWinkler(word, other, 0.7)
			shorter, longer := min(len(word), len(other)), max(len(word), len(other))
			score *= 1 - 0.3*(1-float64(shorter)/float64(longer))
			if score > best {
				best, at = score, k
			}
		}
		if at >= 0 {
			used[at] = true
			matched++
		}
		sum += best * float64(len(word))
		letters += float64(len(word))
	}
	if letters == 0 || len(listed) == 0 {
		return 0
	}
	return sum / letters * (1 - 0.15*float64(len(listed)-matched)/float64(len(listed)))
}

// jaroWinkler compares two texts. The prefix counts if the Jaro is above gate.
func jaroWinkler(a, b string, gate float64) float64 {
	jaro := jaroOf(a, b)
	if jaro <= gate {
		return jaro
	}
	prefix := 0
	for prefix < min(len(a), len(b), 4) && a[prefix] == b[prefix] {
		prefix++
	}
	return jaro + 0.1*float64(prefix)*(1-jaro)
}

func jaroOf(a, b string) float64 {
	if a == b {
		return 1
	}
	if len(a) == 0 || len(b) == 0 || len(a) > 256 || len(b) > 256 {
		return 0
	}
	var usedA, usedB [256]bool
	window, matches := max(max(len(a), len(b))/2-1, 0), 0
	for i := range len(a) {
		for k := max(0, i-window); k < min(len(b), i+window+1); k++ {
			if !usedB[k] && a[i] == b[k] {
				usedA[i], usedB[k] = true, true
				matches++
				break
			}
		}
	}
	if matches == 0 {
		return 0
	}
	swaps, k := 0, 0
	for i := range len(a) {
		if !usedA[i] {
			continue
		}
		for !usedB[k] {
			k++
		}
		if a[i] != b[k] {
			swaps++
		}
		k++
	}
	m := float64(matches)
	return (m/float64(len(a)) + m/float64(len(b)) + (m-float64(swaps)/2)/m) / 3
}
