package names

import (
	"fmt"
	"io"
	"math"

	"railguard/ofac"
)

// Figure draws the trade-off as SVG: above, how many of the names that must or
// should be found are found at each review threshold; below, how many names of
// nobody listed are flagged. The threshold shipped is marked in both.
func Figure(w io.Writer, d *Data, o *Outcomes) error {
	f := figure{w: w}
	found := panel{top: 64, height: 230, low: 60, high: 100, ticks: []float64{60, 70, 80, 90, 100}, title: "Found, % of listed names in another spelling"}
	flagged := panel{top: 364, height: 230, low: 0.05, high: 5, log: true, ticks: []float64{0.05, 0.1, 0.2, 0.5, 1, 2, 5}, title: "Flagged, % of names of nobody listed (log scale)"}
	must, should := f.line("must be found", "#1b6ca8"), f.line("should be found", "#2a9d5c")
	ordinary, hard := f.line("ordinary names", "#b5542b"), f.line("made to be hard", "#7a4ea3")
	for review := int32(figureFirst); review <= figureLast; review += figureStep {
		s := Summarise(d, o, review, ofac.BlockDefault)
		must.add(review, s.Must.FlaggedPercent())
		should.add(review, s.Should.FlaggedPercent())
		ordinary.add(review, s.Ordinary.FlaggedPercent())
		hard.add(review, s.Hard.FlaggedPercent())
	}
	f.print(`<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %d" font-family="Helvetica, Arial, sans-serif" font-size="13" fill="#222">`+"\n", figureWidth, figureHeight)
	f.print(`<title>Recall and false positives of the name matcher over the review threshold</title>` + "\n")
	f.print(`<rect width="%d" height="%d" fill="#fff"/>`+"\n", figureWidth, figureHeight)
	f.print(`<text x="%d" y="28" font-size="16" font-weight="bold">Review threshold: what is found, what is flagged</text>`+"\n", figureLeft)
	f.panel(&found, must, should)
	f.panel(&flagged, hard, ordinary)
	f.print(`<text x="%d" y="%d" text-anchor="middle">review threshold (score from which a name is a possible match)</text>`+"\n", (figureLeft+figureRight)/2, flagged.top+flagged.height+44)
	f.print("</svg>\n")
	return f.err
}

// Measures of the figure, in its own units.
const (
	figureWidth, figureHeight = 760, 660
	figureLeft, figureRight   = 64, 600
	figureFirst, figureLast   = 7600, 9600 // thresholds, 1e-4
	figureStep                = 50
)

// figure writes SVG and keeps the first error.
type figure struct {
	w   io.Writer
	err error
}

func (f *figure) print(format string, values ...any) {
	if f.err == nil {
		_, f.err = fmt.Fprintf(f.w, format, values...)
	}
}

// curve is one line of the figure.
type curve struct {
	name, colour string
	points       [][2]float64 // Each point has a threshold in 1e-4 and a figure in per cent.
}

func (f *figure) line(name, colour string) *curve { return &curve{name: name, colour: colour} }

func (c *curve) add(review int32, percent float64) {
	c.points = append(c.points, [2]float64{float64(review), percent})
}

// panel is one pair of axes.
type panel struct {
	top, height int
	low, high   float64
	log         bool
	ticks       []float64
	title       string
}

func (p *panel) x(review float64) float64 {
	return figureLeft + (review-figureFirst)/(figureLast-figureFirst)*(figureRight-figureLeft)
}

func (p *panel) y(value float64) float64 {
	value = min(max(value, p.low), p.high)
	share := (value - p.low) / (p.high - p.low)
	if p.log {
		share = math.Log(value/p.low) / math.Log(p.high/p.low)
	}
	return float64(p.top+p.height) - share*float64(p.height)
}

// panel draws axes, grid, curves with their names, and the threshold shipped.
func (f *figure) panel(p *panel, curves ...*curve) {
	bottom := p.top + p.height
	f.print(`<text x="%d" y="%d">%s</text>`+"\n", figureLeft, p.top-12, p.title)
	for _, tick := range p.ticks {
		f.print(`<line x1="%d" x2="%d" y1="%.1f" y2="%.1f" stroke="#ddd"/><text x="%d" y="%.1f" text-anchor="end">%g</text>`+"\n",
			figureLeft, figureRight, p.y(tick), p.y(tick), figureLeft-8, p.y(tick)+4, tick)
	}
	for review := figureFirst; review <= figureLast; review += 400 {
		f.print(`<line x1="%.1f" x2="%.1f" y1="%d" y2="%d" stroke="#888"/><text x="%.1f" y="%d" text-anchor="middle">%.2f</text>`+"\n",
			p.x(float64(review)), p.x(float64(review)), bottom, bottom+5, p.x(float64(review)), bottom+20, float64(review)/10000)
	}
	f.print(`<path d="M%d %dV%dH%d" fill="none" stroke="#888"/>`+"\n", figureLeft, p.top, bottom, figureRight)
	chosen := p.x(ofac.ReviewDefault)
	f.print(`<line x1="%.1f" x2="%.1f" y1="%d" y2="%d" stroke="#222" stroke-dasharray="4 3"/><text x="%.1f" y="%d" font-size="12">shipped: %.3f</text>`+"\n",
		chosen, chosen, p.top, bottom, chosen+5, bottom-8, float64(ofac.ReviewDefault)/10000)
	for _, c := range curves {
		f.curve(p, c)
	}
}

// curve draws one line, names it at its end and gives its value at the threshold shipped.
func (f *figure) curve(p *panel, c *curve) {
	f.print(`<polyline fill="none" stroke="%s" stroke-width="2" points="`, c.colour)
	for _, point := range c.points {
		f.print("%.1f,%.1f ", p.x(point[0]), p.y(point[1]))
	}
	f.print(`"/>` + "\n")
	for _, point := range c.points {
		if int32(point[0]) == ofac.ReviewDefault {
			f.print(`<circle cx="%.1f" cy="%.1f" r="4" fill="%s"/><text x="%.1f" y="%.1f" fill="%s" font-weight="bold">%.2f %%</text>`+"\n",
				p.x(point[0]), p.y(point[1]), c.colour, p.x(point[0])+8, p.y(point[1])-9, c.colour, point[1])
		}
	}
	if n := len(c.points); n > 0 {
		last := c.points[n-1]
		f.print(`<text x="%d" y="%.1f" fill="%s">%s</text>`+"\n", figureRight+10, p.y(last[1])+4, c.colour, c.name)
	}
}
