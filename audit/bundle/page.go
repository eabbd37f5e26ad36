package bundle

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"html/template"
)

// style is the page's only style; the policy in its head names its digest.
const style = `body{font:15px/1.45 system-ui,sans-serif;margin:2rem auto;max-width:75rem;padding:0 1rem;color:#111;background:#fff}
h1{font-size:1.5rem}h2{font-size:1.15rem;margin-top:2rem}
table{border-collapse:collapse;width:100%;font-size:.85rem}th,td{border-bottom:1px solid #bbb;padding:.25rem .5rem;text-align:left;vertical-align:top;overflow-wrap:anywhere}
th{border-bottom:2px solid #333}.n{text-align:right}.n,.v{white-space:nowrap;overflow-wrap:normal}code{font-size:.85rem;overflow-wrap:anywhere}.BLOCK{font-weight:bold}
@media print{body{margin:0;max-width:none;font-size:10pt}thead{display:table-header-group}tr{break-inside:avoid}a{color:inherit;text-decoration:none}}`

var pageTemplate = template.Must(template.New("index.html").Parse(`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'sha256-{{.StyleHash}}'; base-uri 'none'; form-action 'none'">
<meta name="referrer" content="no-referrer">
<meta name="viewport" content="width=device-width">
<title>Decisions from {{.R.From}} to {{.R.To}}</title>
<style>{{.Style}}</style>
</head>
<body>
<h1>Decisions about payments, {{.R.From}} to {{.R.To}}</h1>
<p>Cluster <code>{{.R.Cluster}}</code>, log <code>{{.R.Checkpoint.Origin}}</code>, leaves {{.R.First}} to before {{.R.End}} of {{.R.Checkpoint.Size}}.
{{if .R.Agent}}Only what is of agent <code>{{.R.Agent}}</code>: decisions {{.R.Chain.First}} to {{.R.Chain.Last}} by its own count.{{end}}
{{if .R.Operator}}Only what is of operator {{.R.Operator}}.{{end}}
{{.R.Leaves}} records, {{.R.Screens}} of them decisions.</p>
<p><strong>This page proves nothing by itself.</strong> It was made from <code>records.ndjson</code>, and <code>railguard verify</code> makes it again and compares.
How to check all of it, with and without that program: <a href="README.txt">README.txt</a>.</p>
<h2>What was decided</h2>
<table><thead><tr><th>Verdict</th><th class="n">Decisions</th></tr></thead><tbody>
{{range $name, $count := .C.Verdicts}}<tr><td>{{$name}}</td><td class="n">{{$count}}</td></tr>
{{end}}</tbody></table>
<table><thead><tr><th>Deciding rule</th><th class="n">Decisions</th></tr></thead><tbody>
{{range $name, $count := .C.Rules}}<tr><td>{{$name}}</td><td class="n">{{$count}}</td></tr>
{{end}}</tbody></table>
<h2>Lists and policies in force</h2>
<table><thead><tr><th>Sanctions list, by its SHA-256</th><th class="n">Decisions</th></tr></thead><tbody>
{{range $name, $count := .C.Lists}}<tr><td><code>lists/{{$name}}.entities</code></td><td class="n">{{$count}}</td></tr>
{{end}}</tbody></table>
<ul>{{range .Policies}}<li><a href="policies/{{.}}.json">Policy, version {{.}}</a></li>{{else}}<li>No policy was asked for any of these calls.</li>{{end}}</ul>
<h2>Records</h2>
{{if .More}}<p>The first {{len .Rows}}; {{.More}} more are in <code>records.ndjson</code>.</p>{{end}}
<table><thead><tr><th class="n">Leaf</th><th>Time</th><th>Event</th><th>Transaction</th><th>Verdict</th><th>Rule and reason</th><th>Agent</th><th>Operator</th><th class="n">Amount</th><th>Counterparty</th><th>Disposition</th></tr></thead><tbody>
{{range .Rows}}<tr><td class="n">{{.Leaf}}</td><td>{{.Time}}</td><td>{{.Kind}}</td><td>{{.Txn}}</td><td class="v {{.Verdict}}">{{.Verdict}}</td><td>{{.Rule}} {{.Reason}}</td><td>{{.Agent}}</td><td>{{.Operator}}</td><td class="n">{{.Amount}}</td><td>{{.Party}}</td><td>{{.Disposition}} {{.Who}}</td></tr>
{{end}}</tbody></table>
</body>
</html>
`))

// page is index.html. Everything that a caller wrote stands in it escaped; it runs
// nothing and fetches nothing.
func (c *contents) page() ([]byte, error) {
	sum := sha256.Sum256([]byte(style))
	var out bytes.Buffer
	err := pageTemplate.Execute(&out, map[string]any{
		"R": &c.report, "C": map[string]any{"Verdicts": c.verdicts, "Rules": c.rules, "Lists": c.lists}, "Policies": c.policyVersions(),
		"Rows": c.rows, "More": c.more, "Style": template.CSS(style), "StyleHash": template.HTMLAttr(base64.StdEncoding.EncodeToString(sum[:])),
	})
	return out.Bytes(), err
}
