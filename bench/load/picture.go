package load

import (
	"fmt"
	"html/template"
	"math"
	"slices"
	"strings"
)

// A picture of a course has parts above one axis of time: latencies, what was not done, processors
// in use, and a lane for each kind of work. What a reader must tell apart differs in place, dashes
// or letters, not in colour alone.
const (
	pictureWidth      = 960.0
	pictureLeft       = 118.0
	pictureRight      = 16.0
	legendHeight      = 46.0
	latencyHeight     = 230.0
	stripHeight       = 44.0
	laneHeight        = 28.0
	partGap           = 16.0
	axisHeight        = 40.0
	barLeast          = 3.0  // Width of a bar of work that took no time that can be seen.
	labelRoom         = 26.0 // Width of a label; those that would overlap become one.
	decadeLow         = -2   // Of latencies that can be shown, in powers of ten of ms.
	decadeHigh        = 5
	worstShown        = 10
	maxColour         = "#b5651d"
	workColour        = "#5b6b7c"
	failColour        = "#c0392b"
	silentStrength    = 0.3
	courseSecondsMost = windowsMax
)

// workDashes draws a line for each kind of work in its own way.
var workDashes = map[string]string{workList: "none", workSnapshot: "1 3", workScreening: "7 4", workBacktest: "7 3 1 3"}

var workTitles = map[string]string{workList: "list", workSnapshot: "snapshot", workScreening: "screening of the past", workBacktest: "backtest"}

// check tells whether a course can be drawn: it may come from a file.
func (c *Course) check() error {
	if c.Span < 0 || len(c.Seconds) > courseSecondsMost || len(c.Seconds) == 0 {
		return fmt.Errorf("course %q: %d seconds of a load of %g s", c.Name, len(c.Seconds), c.Span)
	}
	for i := range c.Work {
		if !slices.Contains(workKinds, c.Work[i].Kind) {
			return fmt.Errorf("course %q: work of the kind %q", c.Name, c.Work[i].Kind)
		}
	}
	return nil
}

// picture is a drawing under way.
type picture struct {
	strings.Builder
	course *Course
	span   float64 // Seconds that the axis shows.
	low    float64 // Exponents of ten of the least and the greatest latency of the axis, in ms.
	high   float64
	top    float64 // Where the next part begins.
}

// svg draws a course. Names in it are escaped, since a report may come from a file.
func (c *Course) svg(number int) template.HTML {
	p := &picture{course: c, span: max(c.shown(), float64(len(c.Seconds)), 1), top: legendHeight}
	p.scale()
	var failed, cores bool
	for i := range c.Seconds {
		failed = failed || len(c.Seconds[i].Failed) > 0
		cores = cores || c.Seconds[i].Cores > 0
	}
	p.legend()
	p.latencies()
	if failed {
		p.strip("not done", "/s", failColour, func(s *Second) float64 { return float64(s.failures()) })
	}
	if cores {
		p.strip("processors", "", workColour, func(s *Second) float64 { return s.Cores })
	}
	p.lanes()
	p.axis()
	head := fmt.Sprintf(`<svg viewBox="0 0 %g %g" role="img" aria-labelledby="course%d-title course%d-desc"><title id="course%d-title">%s, second by second</title><desc id="course%d-desc">%s</desc>`,
		pictureWidth, p.top, number, number, number, escape(c.Name), number, escape(c.describe()))
	return template.HTML(head + p.String() + "</svg>") // Its texts are numbers and words of ours, or escaped.
}

func escape(text string) string { return template.HTMLEscapeString(text) }

// describe says in words what a picture shows.
func (c *Course) describe() string {
	var b strings.Builder
	fmt.Fprintf(&b, "The 99th percentile and the slowest call of each of %d seconds, in milliseconds on a logarithmic axis.", len(c.Seconds))
	if worst := c.worstSeconds(1); len(worst) > 0 {
		s := &c.Seconds[worst[0]]
		fmt.Fprintf(&b, " The worst second is %d, with %s ms at p99 and %s ms at most.", worst[0], figure(s.P99), figure(s.Max))
	}
	for _, kind := range workKinds {
		count := 0
		for i := range c.Work {
			if c.Work[i].Kind == kind {
				count++
			}
		}
		if count > 0 {
			fmt.Fprintf(&b, " Work of the kind %s: %d times.", workTitles[kind], count)
		}
	}
	return b.String()
}

// figure is a number without needless digits.
func figure(v float64) string { return number(math.Round(v*100) / 100) }

// scale finds the decades of the latencies.
func (p *picture) scale() {
	least, most := math.Inf(1), 0.0
	for i := range p.course.Seconds {
		if s := &p.course.Seconds[i]; s.Done > 0 {
			least, most = min(least, s.P99), max(most, s.Max)
		}
	}
	p.low = bound(math.Floor(math.Log10(max(least, 1e-9))), decadeLow, decadeHigh-1)
	p.high = bound(math.Ceil(math.Log10(max(most, 1e-9))), p.low+1, decadeHigh)
}

func bound(v, low, high float64) float64 { return max(low, min(v, high)) }

func (p *picture) x(second float64) float64 {
	return pictureLeft + bound(second/p.span, 0, 1)*(pictureWidth-pictureLeft-pictureRight)
}

// y is where a latency stands in the part of latencies, which is the first.
func (p *picture) y(ms float64) float64 {
	share := (math.Log10(max(ms, 1e-9)) - p.low) / (p.high - p.low)
	return legendHeight + (1-bound(share, 0, 1))*latencyHeight
}

func (p *picture) line(x1, y1, x2, y2 float64, style string) {
	fmt.Fprintf(p, `<line x1="%.1f" y1="%.1f" x2="%.1f" y2="%.1f" %s/>`, x1, y1, x2, y2, style)
}

func (p *picture) text(x, y float64, anchor, words string) {
	fmt.Fprintf(p, `<text x="%.1f" y="%.1f" text-anchor="%s">%s</text>`, x, y, anchor, escape(words))
}

func (p *picture) grid(y float64) {
	p.line(pictureLeft, y, pictureWidth-pictureRight, y, fmt.Sprintf(`stroke="%s" stroke-width="%g" opacity="%g"`, plotGrid, plotGridWidth, plotGridStrength))
}

const (
	p99Style = `stroke="` + plotColour + `" stroke-width="2" fill="none"`
	maxStyle = `stroke="` + maxColour + `" stroke-width="1" stroke-dasharray="2 2" fill="none"`
)

// legend says what the lines are.
func (p *picture) legend() {
	at := pictureLeft
	sample := func(style, words string) {
		p.line(at, 12, at+26, 12, style)
		p.text(at+31, 16, "start", words)
		at += 31 + 7*float64(len(words)) + 14
	}
	sample(p99Style, "p99")
	sample(maxStyle, "slowest call")
	if len(p.course.silentSeconds()) > 0 {
		fmt.Fprintf(p, `<rect x="%.1f" y="5" width="26" height="14" fill="%s" opacity="%g"/>`, at, plotGrid, silentStrength)
		p.text(at+31, 16, "start", "no answer in that second")
	}
	at = pictureLeft
	for _, kind := range workKinds {
		if slices.ContainsFunc(p.course.Work, func(w Work) bool { return w.Kind == kind }) {
			p.line(at, 31, at+26, 31, workStyle(kind))
			p.text(at+31, 35, "start", workLetters[kind]+": "+workTitles[kind]+" begins")
			at += 31 + 7*float64(len(workTitles[kind])+10) + 8
		}
	}
}

func workStyle(kind string) string {
	return `stroke="` + workColour + `" stroke-width="1.2" stroke-dasharray="` + workDashes[kind] + `"`
}

// latencies draws the first part.
func (p *picture) latencies() {
	for decade := p.low; decade <= p.high; decade++ {
		p.grid(p.y(math.Pow(10, decade)))
		p.text(pictureLeft-8, p.y(math.Pow(10, decade))+4, "end", figure(math.Pow(10, decade))+" ms")
		for part := 2.0; part < 10 && decade < p.high; part++ {
			y := p.y(part * math.Pow(10, decade))
			p.line(pictureLeft-4, y, pictureLeft, y, fmt.Sprintf(`stroke="%s" stroke-width="%g"`, plotGrid, plotGridWidth))
		}
	}
	for _, second := range p.course.silentSeconds() {
		at := float64(second)
		fmt.Fprintf(p, `<rect x="%.1f" y="%g" width="%.1f" height="%g" fill="%s" opacity="%g"/>`, p.x(at), legendHeight, max(p.x(at+1)-p.x(at), 1), latencyHeight, plotGrid, silentStrength)
	}
	p.curve(maxColour, maxStyle, func(s *Second) float64 { return s.Max })
	p.curve(plotColour, p99Style, func(s *Second) float64 { return s.P99 })
	p.top = legendHeight + latencyHeight
}

// curve draws a latency; a second without a verdict leaves a gap. A second between two gaps is a dot.
func (p *picture) curve(colour, style string, of func(*Second) float64) {
	var points []string
	flush := func() {
		switch len(points) {
		case 0:
		case 1:
			x, y, _ := strings.Cut(points[0], ",")
			fmt.Fprintf(p, `<circle cx="%s" cy="%s" r="2.5" fill="%s"/>`, x, y, colour)
		default:
			fmt.Fprintf(p, `<polyline points="%s" %s/>`, strings.Join(points, " "), style)
		}
		points = points[:0]
	}
	for at := range p.course.Seconds {
		s := &p.course.Seconds[at]
		if s.Done == 0 {
			flush()
			continue
		}
		points = append(points, fmt.Sprintf("%.1f,%.1f", p.x(float64(at)+0.5), p.y(of(s))))
	}
	flush()
}

// strip draws bars of a figure of every second, on an axis from 0 to its greatest.
func (p *picture) strip(name, unit, colour string, of func(*Second) float64) {
	p.top += partGap
	most := 0.0
	for at := range p.course.Seconds {
		most = max(most, of(&p.course.Seconds[at]))
	}
	p.grid(p.top)
	p.text(pictureLeft-8, p.top+9, "end", figure(most)+unit)
	p.text(pictureLeft-8, p.top+stripHeight, "end", name)
	for at := range p.course.Seconds {
		if v := of(&p.course.Seconds[at]); v > 0 {
			height := v / most * stripHeight
			fmt.Fprintf(p, `<rect x="%.1f" y="%.1f" width="%.1f" height="%.1f" fill="%s" opacity="0.7"/>`,
				p.x(float64(at)), p.top+stripHeight-height, max(p.x(float64(at)+1)-p.x(float64(at)), 0.5), height, colour)
		}
	}
	p.top += stripHeight
	p.grid(p.top)
}

// lanes draws the work, each kind in its lane, and a line through all parts where some began.
func (p *picture) lanes() {
	p.top += partGap
	for _, kind := range workKinds {
		var of []int
		for at := range p.course.Work {
			if p.course.Work[at].Kind == kind {
				of = append(of, at)
			}
		}
		if len(of) == 0 {
			continue
		}
		p.text(pictureLeft-8, p.top+laneHeight-5, "end", kind)
		for _, at := range of {
			p.bar(at)
		}
		p.labels(of)
		p.top += laneHeight
		p.grid(p.top)
	}
}

func (p *picture) bar(at int) {
	w := &p.course.Work[at]
	p.line(p.x(w.Begin), legendHeight, p.x(w.Begin), p.top+laneHeight-4, workStyle(w.Kind)+` opacity="0.75"`)
	rect := func(from, to, strength float64, outline string) {
		fmt.Fprintf(p, `<rect x="%.1f" y="%.1f" width="%.1f" height="8" fill="%s" fill-opacity="%g" stroke="%s"/>`, p.x(from), p.top+laneHeight-12, max(p.x(to)-p.x(from), barLeast), workColour, strength, outline)
	}
	outline := workColour
	if w.Failed != "" {
		outline = failColour
	}
	fmt.Fprintf(p, `<g><title>%s</title>`, escape(p.course.tell(at)))
	if w.Staged > 0 {
		rect(w.Begin, w.Staged, 0.15, outline)
		rect(w.Staged, w.End, 0.9, outline)
	} else {
		rect(w.Begin, w.End, 0.5, outline)
	}
	p.WriteString("</g>")
}

// labels names the bars of a lane, above each. Where they are too near to each other one label
// names the first and the last.
func (p *picture) labels(of []int) {
	for i := 0; i < len(of); {
		first, last := of[i], of[i]
		mark := ""
		begin := p.x(p.course.Work[first].Begin)
		for ; i < len(of) && p.x(p.course.Work[of[i]].Begin)-begin < labelRoom; i++ {
			last = of[i]
			if p.course.Work[last].Failed != "" {
				mark = " ✕"
			}
		}
		words := p.course.label(first)
		if last != first {
			words += "–" + strings.TrimPrefix(p.course.label(last), workLetters[p.course.Work[last].Kind])
		}
		p.text(begin+2, p.top+laneHeight-16, "start", words+mark)
	}
}

// tell is a sentence about some work.
func (c *Course) tell(at int) string {
	w := &c.Work[at]
	text := fmt.Sprintf("%s, %s (%s): from %s to %s s", c.label(at), workTitles[w.Kind], w.Name, figure(w.Begin), figure(w.End))
	if remarks := w.remarks(); remarks != "" {
		text += ", " + remarks
	}
	return text
}

func (w *Work) remarks() string {
	var all []string
	if w.Staged > 0 {
		all = append(all, "staged at "+figure(w.Staged)+" s")
	}
	if w.Open {
		all = append(all, "not ended when the load did")
	}
	if w.Failed != "" {
		all = append(all, "failed: "+w.Failed)
	}
	return strings.Join(all, ", ")
}

// tickSteps are the distances of marks on the axis of time, in seconds.
var tickSteps = []float64{1, 2, 5, 10, 20, 30, 60, 120, 300, 600}

// axis draws the axis of time below all parts.
func (p *picture) axis() {
	step := tickSteps[len(tickSteps)-1]
	for _, one := range slices.Backward(tickSteps) {
		if p.span/one <= 12 {
			step = one
		}
	}
	for second := 0.0; second <= p.span; second += step {
		p.line(p.x(second), p.top, p.x(second), p.top+5, fmt.Sprintf(`stroke="%s"`, plotGrid))
		p.text(p.x(second), p.top+18, "middle", figure(second))
	}
	p.grid(p.top)
	p.text((pictureLeft+pictureWidth-pictureRight)/2, p.top+34, "middle", "seconds since the load began")
	p.top += axisHeight
}

// pageCourse is a course as the page shows it.
type pageCourse struct {
	pageFigure
	Worst, Work [][]string
	Silent      string
}

func (c *Course) page(number int) pageCourse {
	p := pageCourse{pageFigure: pageFigure{SVG: c.svg(number), Caption: fmt.Sprintf("%s: by the second of the answer, for %s s; processors in use are those of the loader's machine", c.Name, figure(c.Span))}}
	for _, at := range c.worstSeconds(worstShown) {
		s := &c.Seconds[at]
		cores := "–"
		if s.Cores > 0 {
			cores = figure(s.Cores)
		}
		p.Worst = append(p.Worst, []string{fmt.Sprint(at), figure(s.P99), figure(s.Max), figure(s.P50), fmt.Sprint(s.Done), s.failureText(), cores, strings.Join(c.beside(at), " ")})
	}
	p.Silent = ranges(c.silentSeconds())
	for at := range c.Work {
		w := &c.Work[at]
		p.Work = append(p.Work, []string{c.label(at), workTitles[w.Kind] + ": " + w.Name, figure(w.Begin), figure(w.End - w.Begin), w.remarks()})
	}
	return p
}

// ranges writes numbers in ascending order, those that follow each other as one range.
func ranges(numbers []int) string {
	var all []string
	for i := 0; i < len(numbers); {
		first, last := numbers[i], numbers[i]
		for i++; i < len(numbers) && numbers[i] == last+1; i++ {
			last++
		}
		text := fmt.Sprint(first)
		if last > first {
			text += fmt.Sprintf(" to %d", last)
		}
		all = append(all, text)
	}
	return strings.Join(all, ", ")
}

// failureText lists what was not done in a second.
func (s *Second) failureText() string {
	var kinds []string
	for failure, count := range s.Failed {
		kinds = append(kinds, fmt.Sprintf("%d × %s", count, failure))
	}
	slices.Sort(kinds)
	return strings.Join(kinds, ", ")
}
