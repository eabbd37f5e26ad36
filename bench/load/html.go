package load

import (
	"fmt"
	"html/template"
	"io"
	"math"
	"strings"
)

// page is the whole report: one file, nothing fetched.
var page = template.Must(template.New("report").Parse(`<!doctype html>
<html lang="en"><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
<title>Railguard bench</title>
<style>
body{font:15px/1.45 system-ui,sans-serif;margin:2rem auto;max-width:70rem;padding:0 1rem;color:#1d2530;background:#fff}
caption{text-align:left;font-weight:600}table{border-collapse:collapse;margin:1rem 0;width:100%}td,th{padding:.25rem .6rem;text-align:left;border-bottom:1px solid #d6dbe2}
.aim{color:#0a6b3d}.met{color:#285c8f}.missed{color:#b01e1e;font-weight:600}figure{margin:1.5rem 0}figcaption{color:#4b5663}
svg{width:100%;height:auto}text{font:12px system-ui,sans-serif;fill:#4b5663}
@media (prefers-color-scheme:dark){body{background:#14181e;color:#dfe5ec}td,th{border-color:#333c47}.aim{color:#5fd39b}.met{color:#8ab8e6}.missed{color:#ff8a80}text,figcaption{fill:#a8b3bf;color:#a8b3bf}}
</style>
<h1>Railguard bench</h1>
<p>railguard {{.Report.Version}} ({{.Report.Build}}), {{.Report.Began.Format "2006-01-02 15:04 MST"}}, took {{.Report.Took}}{{range .Report.Places}}<br>{{.}}{{end}}</p>
<h2>Targets</h2>
<table><tr><th>suite<th>measure<th>must<th>aim<th>measured<th>ratio<th>outcome</tr>
{{range .Rows}}<tr><td>{{index .Cells 0}}<td>{{index .Cells 1}}<td>{{index .Cells 2}}<td>{{index .Cells 3}}<td>{{index .Cells 4}}<td>{{index .Cells 5}}<td class="{{.Class}}">{{index .Cells 6}}</tr>
{{end}}</table>
{{range .Report.Notes}}<p>Note: {{.}}</p>{{end}}
{{if .Courses}}<h2>Second by second</h2>
{{range .Courses}}<figure>{{.SVG}}<figcaption>{{.Caption}}</figcaption></figure>
<table><caption>The seconds with the highest p99</caption><tr><th scope="col">second<th scope="col">p99, ms<th scope="col">slowest, ms<th scope="col">p50, ms<th scope="col">done<th scope="col">not done<th scope="col">processors<th scope="col">what ran while its calls waited</tr>
{{range .Worst}}<tr>{{range .}}<td>{{.}}{{end}}</tr>
{{end}}</table>
{{if .Silent}}<p>Without any answer: second {{.Silent}}.</p>
{{end}}{{if .Work}}<table><caption>What was done beside it</caption><tr><th scope="col">mark<th scope="col">what<th scope="col">from, s<th scope="col">took, s<th scope="col">remarks</tr>
{{range .Work}}<tr>{{range .}}<td>{{.}}{{end}}</tr>
{{end}}</table>
{{end}}{{end}}{{end}}<h2>Latency</h2>
{{range .Figures}}<figure>{{.SVG}}<figcaption>{{.Caption}}</figcaption></figure>
{{end}}</html>
`))

type pageRow struct {
	Cells []string
	Class string
}

type pageFigure struct {
	SVG     template.HTML
	Caption string
}

// WriteHTML draws the report.
func (r *Report) WriteHTML(out io.Writer) error {
	data := struct {
		Report  *Report
		Rows    []pageRow
		Courses []pageCourse
		Figures []pageFigure
	}{Report: r}
	for i := range r.Courses {
		if err := r.Courses[i].check(); err != nil {
			return err
		}
		data.Courses = append(data.Courses, r.Courses[i].page(i+1))
	}
	classes := map[string]string{AimMet: "aim", Met: "met"}
	for i := range r.Rows {
		class := classes[r.Rows[i].Outcome]
		if class == "" {
			class = "missed"
		}
		data.Rows = append(data.Rows, pageRow{r.Rows[i].cells(), class})
	}
	for _, c := range r.Curves {
		if len(c.Quantiles) != len(curveQuantiles) {
			return fmt.Errorf("curve %q has %d points, not %d", c.Name, len(c.Quantiles), len(curveQuantiles))
		}
		caption := fmt.Sprintf("%s: %s/s, %d done, %d failed; p50 %s, p99 %s, worst %s ms", c.Name, number(c.PerSecond), c.Done, c.Failed, number(c.at(50)), number(c.at(99)), number(c.at(100)))
		data.Figures = append(data.Figures, pageFigure{c.svg(), caption})
	}
	return page.Execute(out, data)
}

func (c *Curve) at(quantile float64) float64 {
	for i, q := range curveQuantiles {
		if q == quantile {
			return c.Quantiles[i]
		}
	}
	return 0
}

const (
	plotWidth, plotHeight           = 880.0, 240.0
	plotLeft, plotTop, plotRoom     = 60.0, 12.0, 36.0
	ninesMax                        = 4.3 // The scale ends a little after four nines, which is the last quantile before the maximum.
	latencyLow, latencyDecades      = 0.01, 6.0
	plotColour                      = "#2f6fb0"
	plotGrid                        = "#8a94a0"
	plotGridWidth, plotGridStrength = 0.5, 0.5
)

// across returns the x coordinate of a quantile. The scale counts the nines of the quantile, so
// that the tail takes more room.
func across(quantile float64) float64 {
	nines := ninesMax
	if quantile < 100 {
		nines = min(-math.Log10(1-quantile/100), ninesMax)
	}
	return plotLeft + nines/ninesMax*(plotWidth-plotLeft-plotTop)
}

// down returns the y coordinate of a latency in ms, on a logarithmic scale.
func down(ms float64) float64 {
	share := math.Log10(max(ms, latencyLow)/latencyLow) / latencyDecades
	return plotTop + (1-min(share, 1))*(plotHeight-plotTop-plotRoom)
}

// svg draws one curve; every text in it is a number of ours.
func (c *Curve) svg() template.HTML {
	var b strings.Builder
	fmt.Fprintf(&b, `<svg viewBox="0 0 %g %g" role="img">`, plotWidth, plotHeight)
	line := func(x1, y1, x2, y2 float64) {
		fmt.Fprintf(&b, `<line x1="%.1f" y1="%.1f" x2="%.1f" y2="%.1f" stroke="%s" stroke-width="%g" opacity="%g"/>`, x1, y1, x2, y2, plotGrid, plotGridWidth, plotGridStrength)
	}
	for ms := latencyLow; ms <= latencyLow*math.Pow(10, latencyDecades)*1.01; ms *= 10 {
		line(plotLeft, down(ms), plotWidth-plotTop, down(ms))
		fmt.Fprintf(&b, `<text x="%.1f" y="%.1f" text-anchor="end">%s ms</text>`, plotLeft-6, down(ms)+4, number(math.Round(ms*100)/100))
	}
	for i, q := range curveQuantiles {
		line(across(q), plotTop, across(q), plotHeight-plotRoom)
		if q != 10 && q != 25 && q != 99.95 && q != 99.5 {
			label := fmt.Sprintf("p%g", q)
			if i == len(curveQuantiles)-1 {
				label = "worst"
			}
			fmt.Fprintf(&b, `<text x="%.1f" y="%.1f" text-anchor="middle">%s</text>`, across(q), plotHeight-plotRoom+18, label)
		}
	}
	var points []string
	for i, q := range curveQuantiles {
		points = append(points, fmt.Sprintf("%.1f,%.1f", across(q), down(c.Quantiles[i])))
	}
	fmt.Fprintf(&b, `<polyline fill="none" stroke="%s" stroke-width="2" points="%s"/></svg>`, plotColour, strings.Join(points, " "))
	return template.HTML(b.String()) // The text has only numbers of ours, so nothing must be escaped.
}
