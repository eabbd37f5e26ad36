package bundle

import (
	"fmt"
	"html"
	"strings"
)

// The pages of a bundle that need no program: cases/N.html tell the cases, records/N.html have a line
// of each record. They follow from the other files, and are compared with what follows, byte by byte.

const (
	casesFolder   = "cases"
	recordsFolder = "records"
	casesOfPage   = 200
	recordsOfPage = 2_000
)

// isReading reports whether a file is one of those pages. The page of the second judge does not carry
// them: it makes the same from the records.
func isReading(name string) bool {
	return strings.HasPrefix(name, casesFolder+"/") || strings.HasPrefix(name, recordsFolder+"/")
}

const readingStyle = `body{font:15px/1.5 system-ui,sans-serif;margin:2rem auto;max-width:62rem;padding:0 1rem;color:#111;background:#fff}
h1{font-size:1.5rem}h2{font-size:1.15rem;margin:2.2rem 0 .3rem;border-top:2px solid #333;padding-top:.8rem}h3{font-size:1rem;margin:1rem 0 .2rem}
table{border-collapse:collapse;width:100%}th,td{border-bottom:1px solid #bbb;padding:.25rem .5rem;text-align:left;vertical-align:top;overflow-wrap:anywhere}
.wide{max-width:none}.wide table{font-size:.82rem}.quiet{color:#444}blockquote{margin:.2rem 0 .4rem;padding-left:.8rem;border-left:3px solid #888;white-space:pre-wrap}
@media print{body{margin:0;max-width:none;font-size:10pt}nav{display:none}tr,blockquote{break-inside:avoid}}`

// escape writes a text of a record into a page, without signs that hide or turn around a text.
func escape(text string) string {
	return html.EscapeString(strings.Map(func(r rune) rune {
		if r < ' ' && r != '\n' || r >= 0x7f && r <= 0x9f || r >= 0x202a && r <= 0x202e || r >= 0x2066 && r <= 0x2069 {
			return '\ufffd'
		}
		return r
	}, text))
}

// sheet is one page that is being written.
type sheet struct{ text []byte }

func (p *sheet) add(format string, texts ...string) {
	escaped := make([]any, len(texts))
	for i, text := range texts {
		escaped[i] = escape(text)
	}
	p.text = fmt.Appendf(p.text, format, escaped...)
}

// begin writes the head of a page, and links to its neighbours.
func (p *sheet) begin(title, class string, at, of int) {
	p.add(`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'">
<meta name="referrer" content="no-referrer">
<meta name="viewport" content="width=device-width">
<title>%s</title>
<style>`, title)
	p.text = append(p.text, readingStyle...)
	p.add("</style>\n</head>\n<body class=\"%s\">\n<h1>%s</h1>\n", class, title)
	p.add(`<p class="quiet">This page has no program. It follows from records.ndjson, lists/ and policies/, and <code>railguard verify</code> and <a href="../index.html">index.html</a> prove that. All times are UTC, all amounts US dollars.</p>` + "\n<nav><p>")
	for n := 1; n <= of; n++ {
		if n == at {
			p.add("<strong>%s</strong> ", fmt.Sprint(n))
		} else {
			p.add(`<a href="%s.html">%s</a> `, fmt.Sprint(n), fmt.Sprint(n))
		}
	}
	p.add("</p></nav>\n")
}

func (p *sheet) end() []byte { return append(p.text, "</body>\n</html>\n"...) }

// facts writes a table of names and values; nothing if there are none.
func (p *sheet) facts(facts []Fact) {
	if len(facts) == 0 {
		return
	}
	p.add("<table><tbody>\n")
	for _, fact := range facts {
		p.add("<tr><th scope=\"row\">%s</th><td>%s</td></tr>\n", fact.What, fact.Value)
	}
	p.add("</tbody></table>\n")
}

// compared writes what payment and list both say of a party, and whether they agree.
func (p *sheet) compared(pairs []Pair) {
	if len(pairs) == 0 {
		p.add("<p>Nothing else was compared.</p>\n")
		return
	}
	p.add("<table><thead><tr><th>Compared</th><th>In the payment</th><th>On the list</th><th></th></tr></thead><tbody>\n")
	for i := range pairs {
		how := "differs"
		if pairs[i].Agrees {
			how = "agrees"
		}
		p.add("<tr><th scope=\"row\">%s</th><td>%s</td><td>%s</td><td><strong>%s</strong></td></tr>\n", pairs[i].What, pairs[i].Asked, pairs[i].Listed, how)
	}
	p.add("</tbody></table>\n")
}

// chapter writes one case.
func (p *sheet) chapter(number int, c *Chapter) {
	p.add("<section id=\"leaf-%s\">\n<h2>%s. %s: %s to %s</h2>\n", fmt.Sprint(c.Leaf), fmt.Sprint(number), c.Verdict, firstOf(c.Amount, "a payment"), c.payee())
	p.add("<p>%s</p>\n", c.Reason)
	if c.Outcome != "" {
		p.add("<p><strong>Officers decided: %s.</strong></p>\n", c.Outcome)
	} else if c.Verdict == "REVIEW" {
		p.add("<p><strong>Officers have decided nothing within this bundle.</strong></p>\n")
	}
	p.facts([]Fact{
		{"when", c.Time}, {"transaction", c.Txn}, {"decided by", firstOf(c.Rule, "no rule")}, {"rules that fired", firstOf(strings.Join(c.Rules, ", "), "none")}, {"who paid", join(", of ", firstOf(c.Agent, "nobody with a usable credential"), c.Operator)},
		{"list", firstOf(c.List, "none")}, {"policy", firstOf(wordVersion(c.Policy), "none")}, {"record", fmt.Sprintf("leaf %d", c.Leaf)},
	})
	p.add("<h3>What the payment says</h3>\n")
	p.facts(c.Told)
	if len(c.Told) == 0 {
		p.add("<p>Nothing but its amount.</p>\n")
	}
	for i := range c.Listed {
		l := &c.Listed[i]
		p.add("<h3>On the list: %s (%s)</h3>\n<p>%s.</p>\n", firstOf(l.Name, "entry "+l.UID), join(", ", l.List, "entry "+l.UID, l.Type), l.How)
		p.compared(l.Compared)
		var facts []Fact
		if len(l.Names) > 0 {
			facts = append(facts, Fact{"names", strings.Join(l.Names, "; ")})
		}
		facts = append(facts, Fact{"programmes", firstOf(strings.Join(l.Programs, ", "), "none")})
		p.facts(append(facts, l.Facts...))
	}
	if len(c.Steps) > 0 {
		p.add("<h3>What was decided, in the officers’ words</h3>\n")
	}
	for i := range c.Steps {
		s := &c.Steps[i]
		p.add("<p>%s · <strong>%s</strong>%s <span class=\"quiet\">(leaf %s)</span></p>\n", s.Time, s.What, join(" ", prefix(" · ", s.Who)), fmt.Sprint(s.Leaf))
		if s.Words != "" {
			p.add("<blockquote>%s</blockquote>\n", s.Words)
		}
	}
	p.add("</section>\n")
}

func prefix(before, text string) string {
	if text == "" {
		return ""
	}
	return before + text
}

func wordVersion(version uint64) string {
	if version == 0 {
		return ""
	}
	return fmt.Sprintf("version %d (policies/%d.json)", version, version)
}

// payee is whom a case is about.
func (c *Chapter) payee() string {
	for _, wanted := range []string{"name of the counterparty", "wallet of the counterparty"} {
		for _, fact := range c.Told {
			if fact.What == wanted {
				return fact.Value
			}
		}
	}
	return "an unnamed counterparty"
}

// deriveReading returns the pages without a program.
func (c *contents) deriveReading(files map[string][]byte) {
	pages := max(1, (len(c.chapters)+casesOfPage-1)/casesOfPage)
	for n := 1; n <= pages; n++ {
		p := &sheet{}
		p.begin("Cases", "", n, pages)
		if n == 1 {
			p.summary(c)
		}
		from := (n - 1) * casesOfPage
		for i := from; i < min(from+casesOfPage, len(c.chapters)); i++ {
			p.chapter(i+1, c.chapters[i])
		}
		files[fmt.Sprintf("%s/%d.html", casesFolder, n)] = p.end()
	}
	of := max(1, len(c.lines))
	for n := 1; n <= of; n++ {
		p := &sheet{}
		p.begin("Records", "wide", n, of)
		p.add("<table>\n<thead><tr><th>Leaf</th><th>Time</th><th>Event</th><th>Verdict, decision</th><th>Reason</th><th>Transaction</th><th>Agent, operator</th><th>Amount</th><th>Counterparty</th><th>By</th></tr></thead>\n<tbody>\n")
		if n <= len(c.lines) {
			p.text = append(p.text, c.lines[n-1]...)
		}
		p.add("</tbody></table>\n")
		files[fmt.Sprintf("%s/%d.html", recordsFolder, n)] = p.end()
	}
}

// summary writes what stands before the cases.
func (p *sheet) summary(c *contents) {
	r := &c.report
	facts := []Fact{{"institution's log", r.Checkpoint.Origin}, {"from", r.From}, {"to", r.To}, {"records", fmt.Sprint(r.Leaves)}, {"decisions", fmt.Sprint(r.Screens)}}
	if r.Agent != "" {
		facts = append(facts, Fact{"only of the agent", r.Agent})
	}
	for _, verdict := range sortedNames(c.verdicts) {
		facts = append(facts, Fact{verdict, fmt.Sprint(c.verdicts[verdict])})
	}
	for _, digest := range sortedNames(c.lists) {
		facts = append(facts, Fact{"list", join(", ", c.listWords[digest], fmt.Sprintf("%d decisions", c.lists[digest]), "SHA-256 "+digest)})
	}
	for _, version := range c.policyVersions() {
		facts = append(facts, Fact{"policy", wordVersion(version)})
	}
	facts = append(facts, Fact{"signed by the keys in keys.txt", "SHA-256 " + c.keysSum})
	p.facts(facts)
	p.add("<p>Each decision that did not just proceed, and each that named a listed party, is a case below. <a href=\"../records/1.html\">All records</a> have a line each.</p>\n")
	if c.chaptersMore > 0 {
		p.add("<p><strong>%s more cases are not told here: they are too many. Their records are all there.</strong></p>\n", fmt.Sprint(c.chaptersMore))
	}
}

// addLine adds the line of a record to the pages of records.
func (c *contents) addLine(r *row) {
	if c.lineCount%recordsOfPage == 0 {
		c.lines = append(c.lines, nil)
	}
	c.lineCount++
	at := len(c.lines) - 1
	p := &sheet{c.lines[at]}
	of := r.Kind
	if r.Of != nil {
		of = fmt.Sprintf("%s of leaf %d", r.Kind, *r.Of)
	}
	p.add("<tr><td>%s</td><td>%s</td><td>%s</td><td>%s</td><td>%s</td><td>%s</td><td>%s</td><td>%s</td><td>%s</td><td>%s</td></tr>\n",
		fmt.Sprint(r.Leaf), r.Time, of, join(" ", r.Verdict, r.Rule, r.Disposition), r.Reason, r.Txn, join(", ", strings.TrimSpace(r.Agent), r.Operator), dollars(r.Amount), strings.TrimSpace(r.Party), r.Who)
	c.lines[at] = p.text
}
