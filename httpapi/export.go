package httpapi

import (
	"encoding/base64"
	"encoding/csv"
	"encoding/hex"
	"net/http"
	"strconv"
	"strings"
	"time"

	"railguard/audit"
	"railguard/edge"
	"railguard/engine"
	"railguard/strictjson"
)

// GET /v1/audit/export streams history with its proofs. NDJSON: a head line
// with the signed checkpoint, one line a leaf (screens and every later event)
// with its audit path to that checkpoint, an end line. A line that is missing at
// the end says that the stream broke: go on with ?cursor= the last index.

// exporter is one running export.
type exporter struct {
	c       *call
	w       http.ResponseWriter
	control *http.ResponseController
	point   *checkpoint
	from    engine.Time
	to      engine.Time
	csv     *csv.Writer // nil for NDJSON.
	line    strictjson.Members
	path    []string
	written uint64
}

func exportRecords(c *call) error {
	format := c.query("format")
	if format != "" && format != "ndjson" && format != "csv" {
		return invalidField("format", "must be ndjson or csv")
	}
	from, to, err := c.timeRange(engine.Retention)
	if err != nil {
		return err
	}
	store := c.api.deps.Records.Audit()
	first := store.FindTime(int64(from - engine.Millisecond))
	if text := c.query("cursor"); text != "" {
		last, err := strconv.ParseUint(text, 10, 63)
		if err != nil {
			return invalidField("cursor", "must be the index of the last leaf received")
		}
		first = max(first, last+1)
	}
	point, err := c.api.checkpoint(c.judge.Terms, 0)
	if err != nil {
		return edge.LeafError(err)
	}
	end := min(store.FindTime(int64(to+engine.Millisecond)), point.size)
	x := &exporter{c: c, w: c.w, control: http.NewResponseController(c.w), point: point, from: from, to: to}
	x.begin(format == "csv", first, end)
	return x.run(store, first, end)
}

// begin sends the head of the answer.
func (x *exporter) begin(asCSV bool, first, end uint64) {
	c := x.c
	c.commonHeaders()
	name := "railguard-audit-" + strconv.FormatUint(first, 10) + "-" + strconv.FormatUint(end, 10)
	if asCSV {
		c.header("Content-Type", "text/csv; charset=utf-8")
		c.header("Content-Disposition", `attachment; filename="`+name+`.csv"`)
		x.csv = csv.NewWriter(x.w)
		x.csv.UseCRLF = true
	} else {
		c.header("Content-Type", "application/x-ndjson")
		c.header("Content-Disposition", `attachment; filename="`+name+`.ndjson"`)
	}
	c.status, c.wrote = http.StatusOK, true
	c.w.WriteHeader(http.StatusOK)
	if asCSV {
		_ = x.csv.Write(csvColumns)
		return
	}
	x.line = x.line[:0]
	x.line.Text("type", "checkpoint")
	x.line.Text("clusterId", c.judge.Terms.Settings.Genesis.ClusterID)
	x.line.Uint("treeSize", x.point.size)
	x.line.Text("checkpoint", string(x.point.text))
	x.line.Text("keys", c.judge.Terms.Settings.Genesis.LogKeys)
	x.line.Time("from", x.from)
	x.line.Time("to", x.to)
	x.line.Uint("first", first)
	x.line.Uint("end", end)
	_ = x.writeLine() // A caller that went away is noticed by the first flush.
}

// run writes page after page. An error after the head cannot become a status:
// the stream ends without its end line.
func (x *exporter) run(store *audit.Store, first, end uint64) error {
	for first < end {
		if err := x.c.ctx.Err(); err != nil {
			return err
		}
		_ = x.control.SetWriteDeadline(time.Now().Add(chunkWriteTimeout))
		var failed error
		page, err := store.Scan(audit.Query{From: first, To: end, Examine: exportPageMax}, func(index uint64, stored audit.Leaf) bool {
			failed = x.leaf(store, index, stored.Data)
			return failed == nil
		})
		if failed != nil {
			return failed
		}
		if err != nil {
			return err
		}
		if err := x.flush(); err != nil {
			return err
		}
		first = page.Next
		if page.Done {
			break
		}
	}
	if x.csv == nil {
		x.line = x.line[:0]
		x.line.Text("type", "end")
		x.line.Uint("leaves", x.written)
		if err := x.writeLine(); err != nil {
			return err
		}
	}
	return x.flush()
}

func (x *exporter) flush() error {
	if x.csv != nil {
		x.csv.Flush()
		if err := x.csv.Error(); err != nil {
			return err
		}
	}
	return x.control.Flush()
}

// leaf writes one leaf, if it is in the range and the key's scope.
func (x *exporter) leaf(store *audit.Store, index uint64, data []byte) error {
	c := x.c
	l, err := c.judge.OpenLeaf(index, data)
	if err != nil {
		return err
	}
	defer c.judge.DropLeaf()
	at := l.Instant("screenedAt")
	if l.Kind() != "screen" {
		at = l.Instant("time")
	}
	if at < x.from/engine.Millisecond*engine.Millisecond || at > x.to || c.judge.PastRetention(at) {
		return nil
	}
	if inScope, err := x.inScope(&l); err != nil || !inScope {
		return err
	}
	x.written++
	if x.csv != nil {
		return x.row(&l)
	}
	path, err := store.Inclusion(index, x.point.size)
	if err != nil {
		return err
	}
	x.path = x.path[:0]
	for _, hash := range path {
		x.path = append(x.path, base64.StdEncoding.EncodeToString(hash))
	}
	x.line = x.line[:0]
	x.line.Text("type", "leaf")
	x.line.Uint("index", index)
	x.line.Text("leafHash", leafHash(data))
	x.line.Text("leaf", string(data))
	x.line.Texts("path", x.path)
	return x.writeLine()
}

// inScope reports whether a leaf is of the key's operator: its own words, or
// those of the record it speaks of.
func (x *exporter) inScope(l *edge.Leaf) (bool, error) {
	c := x.c
	if c.key.Operator == "" || c.key.Covers(l.Text("operatorLegalName")) {
		return true, nil
	}
	if !l.Has("reviewedLeaf") {
		return false, nil
	}
	data, err := c.api.deps.Records.Leaf(c.ctx, l.Number("reviewedLeaf"))
	if err != nil {
		return false, err
	}
	reviewed, err := c.judge.OpenLeaf(l.Number("reviewedLeaf"), data)
	if err != nil {
		return false, err
	}
	defer c.judge.DropLeaf()
	return c.key.Covers(reviewed.Text("operatorLegalName")), nil
}

// writeLine sends x.line as one NDJSON line.
func (x *exporter) writeLine() error {
	buffer := append(x.c.buffer[:0], '{')
	buffer = append(append(buffer, x.line...), '}', '\n')
	x.c.buffer = buffer
	_, err := x.w.Write(buffer)
	return err
}

var csvColumns = []string{"index", "leafHashHex", "txnId", "screenedAt", "verdict", "rule", "reason", "agentId", "agentName",
	"operatorLegalName", "credentialStatus", "amount", "chain", "rail", "cpWallet", "cpName", "cpType", "protocol",
	"disposition", "reviewedBy", "reviewedAt", "notes", "sarEscalated", "listVersion", "policyVersion", "ruleSet"}

// row writes a screening record with its disposition as one line of a table.
func (x *exporter) row(l *edge.Leaf) error {
	if l.Kind() != "screen" {
		x.written--
		return nil
	}
	var d edge.Leaf
	if later, ok := x.c.api.deps.Published.Disposition(l.Index); ok {
		data, err := x.c.api.deps.Records.Leaf(x.c.ctx, later)
		if err != nil {
			return err
		}
		if d, err = x.c.judge.OpenLeaf(later, data); err != nil {
			return err
		}
		defer x.c.judge.DropLeaf()
	}
	cells := make([]string, 0, len(csvColumns))
	for _, column := range csvColumns {
		cells = append(cells, csvCell(csvValue(column, l, &d)))
	}
	return x.csv.Write(cells)
}

func csvValue(column string, l, d *edge.Leaf) string {
	switch column {
	case "index":
		return strconv.FormatUint(l.Index, 10)
	case "leafHashHex": // In hex: base64 may begin with a plus sign.
		hash := merkleLeaf(l.Data)
		return hex.EncodeToString(hash[:])
	case "amount":
		return string(l.Raw("_request", "amount"))
	case "chain", "rail", "cpWallet", "cpName", "cpType", "protocol":
		return l.Text("_request", column)
	case "listVersion", "policyVersion":
		return strconv.FormatUint(l.Number(column), 10)
	case "sarEscalated":
		if d.Value == nil {
			return ""
		}
		return strconv.FormatBool(d.Flag("sarEscalated"))
	case "disposition", "reviewedBy", "reviewedAt", "notes":
		if d.Value == nil {
			return ""
		}
		return d.Text(column)
	}
	return l.Text(column)
}

// csvCell keeps a spreadsheet from running a caller's text as a formula: a cell
// that begins like one gets an apostrophe.
func csvCell(text string) string {
	if text != "" && strings.ContainsRune("=+-@\t\r", rune(text[0])) {
		return "'" + text
	}
	return text
}
