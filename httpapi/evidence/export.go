package evidence

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"encoding/csv"
	"errors"
	"fmt"
	"hash"
	"net/url"
	"strconv"
	"time"

	"railguard/audit"
	"railguard/audit/merkle"
	"railguard/audit/note"
	"railguard/edge"
	"railguard/engine"
	"railguard/fsm/leaf"
	"railguard/fsm/leafjson"
	"railguard/httpapi/border"
	"railguard/strictjson"
)

// GET /v1/audit/export streams history with its proofs, as NDJSON: a head line with the
// signed checkpoint (the newest cosigned one if that covers the range), one line per leaf (screens and every later event) with its audit path
// to that checkpoint, and an end line under the log's signature. A range holds every leaf
// from first to before end; the leaves of one agent are a selection of it, and the head says
// so. Only the institution's keys can have the role that exports.
//
// An answer that cannot be finished breaks its connection, so that it never looks complete.
// The caller asks for the rest with first, from, to and treeSize of its head, and with the
// index of the last leaf received as cursor. The rest has no head. Its end line is the end
// line of the whole, for which the node reads and hashes the leaves before the cursor
// again: it signs what it has seen itself, never what a caller claims to have received.

const (
	exportVersion  = 1
	HeaderContinue = "X-Railguard-Continue" // Query that continues this export; the caller adds the cursor.
)

// Exporter is one running export.
type Exporter struct {
	Request *border.Request
	room    *Room
	answer  *border.Stream
	Store   *audit.Store

	From, To   engine.Time // Both inclusive, whole milliseconds.
	first, End uint64      // The leaves of that time range.
	Point      *Checkpoint // The tree head that all paths lead to. It has no text if the export continues an earlier one.
	cursor     uint64      // The first leaf to send.
	continued  bool

	agent  agentChain
	csv    *csv.Writer  // nil for NDJSON.
	out    bytes.Buffer // The bytes since the last flush. They are kept here so that no turn of the scans waits for the caller's connection.
	line   strictjson.Members
	buffer []byte              // Used by writeLine.
	sent   map[uint64]struct{} // Leaves of the profiles that were sent.
	next   uint64              // The leaf that must come next.
	leaves uint64              // Leaves selected so far, including those before the cursor.
	digest hash.Hash
}

func (e *Room) exportRecords(c *border.Request) (border.Answer, error) {
	x := &Exporter{Request: c, room: e, Store: c.Records().Audit(), digest: sha256.New()}
	format := c.Query("format")
	if format != "" && format != "ndjson" && format != "csv" {
		return border.Answer{}, border.BadQuery("format", "must be ndjson or csv")
	}
	if cosigned := c.Query("cosigned"); cosigned != "" && cosigned != "true" && cosigned != "false" {
		return border.Answer{}, border.BadQuery("cosigned", "must be true or false")
	}
	err := x.settleAgent()
	if err != nil {
		return border.Answer{}, err
	}
	if x.From, x.To, err = border.TimeRange(c, engine.Retention); err != nil {
		return border.Answer{}, err
	}
	x.From, x.To = x.From/engine.Millisecond*engine.Millisecond, x.To/engine.Millisecond*engine.Millisecond
	if c.HasQuery("cursor") || c.HasQuery("first") || c.HasQuery("treeSize") {
		err = x.goOn()
	} else {
		err = x.settleRange()
	}
	if err != nil {
		return border.Answer{}, err
	}
	x.beginAnswer(format == "csv")
	return border.StreamAnswer(x.contentType(), func(out *border.Stream) error {
		x.answer = out
		out.Begin()
		if err := x.writePages(); err != nil {
			return fmt.Errorf("leaf %d: %w", x.next, err)
		}
		return nil
	}), nil
}

// settleRange finds the range of leaves of a new export and a checkpoint that covers it.
func (x *Exporter) settleRange() error {
	if x.Request.Query("consistency") != "local" {
		// The export must hold what other nodes acknowledged. Without a leader it holds
		// what this node has; treeSize says how much that is.
		x.Request.Judge.ConfirmBriefly()
	}
	expired := x.Request.Published().LogTime() - engine.Retention
	x.From = max(x.From, expired/engine.Millisecond*engine.Millisecond+engine.Millisecond)
	var wait time.Duration
	if x.Request.Query("cosigned") == "true" {
		wait = cosignedWait
	}
	point, err := x.room.coveringHead(x.Request, x.indexBehind(), wait)
	if err != nil {
		return edge.LeafError(err)
	}
	x.Point, x.End = point, min(x.indexBehind(), point.Size)
	x.first = min(x.Store.FindTime(int64(x.From)), x.End)
	x.cursor = x.first
	return x.CheckEdges()
}

// indexBehind returns the index after the last leaf of the export's time.
func (x *Exporter) indexBehind() uint64 { return x.Store.FindTime(int64(x.To + engine.Millisecond)) }

// goOn finds the range of an export that broke off. It is the same on every node.
func (x *Exporter) goOn() error {
	c := x.Request
	var numbers [3]uint64
	for i, name := range []string{"cursor", "first", "treeSize"} {
		n, err := strconv.ParseUint(c.Query(name), 10, 62)
		if err != nil {
			return border.BadQuery(name, "an export goes on with the index of the last leaf received as cursor, and first, from, to and treeSize as in its head")
		}
		numbers[i] = n
	}
	x.continued, x.cursor, x.first = true, numbers[0]+1, numbers[1]
	size := numbers[2]
	if c.Query("from") == "" || c.Query("to") == "" {
		return border.BadQuery("from", "an export goes on with the from and to of its head")
	}
	if size > x.Store.Size() {
		if err := c.Judge.Confirm(); err != nil {
			return err
		}
	}
	if size > x.Store.Size() {
		return border.BadQuery("treeSize", "the log is not that long")
	}
	x.End = min(x.indexBehind(), size)
	if x.first < x.Store.Oldest() {
		return border.NotFound("that export begins with records past their 90 days; begin a new one")
	}
	if x.first != min(x.Store.FindTime(int64(x.From)), x.End) {
		return border.BadQuery("first", "is not the first leaf of that time")
	}
	if x.cursor <= x.first || x.cursor > x.End {
		return border.BadQuery("cursor", "is not within that export")
	}
	root, err := x.Store.Root(size)
	if err != nil {
		return edge.LeafError(err)
	}
	signer, err := x.room.logSigner(c, size)
	if err != nil {
		return err
	}
	x.Point = &Checkpoint{Size: size, root: root, signer: signer}
	return x.CheckEdges()
}

// CheckEdges checks that the first and the last leaf of the range are right: if history is still
// being fetched, FindTime stops before the gap.
func (x *Exporter) CheckEdges() error {
	within := func(index uint64) (bool, error) {
		leaf, err := x.Store.Record(index)
		if err != nil {
			return false, err
		}
		return leaf.Time >= int64(x.From) && leaf.Time < int64(x.To+engine.Millisecond), nil
	}
	want := func(index uint64, inside bool) error {
		got, err := within(index)
		if errors.Is(err, audit.ErrCorrupt) || err == nil && got != inside {
			err = audit.ErrMissing
		}
		if err != nil {
			return edge.LeafError(err)
		}
		return nil
	}
	if x.End < x.Point.Size {
		if err := want(x.End, false); err != nil {
			return err
		}
	}
	if x.first == x.End {
		return nil
	}
	if err := want(x.first, true); err != nil {
		return err
	}
	return want(x.End-1, true)
}

// beginAnswer writes what precedes the leaves: headers of the answer, the head of the
// export.
func (x *Exporter) beginAnswer(asCSV bool) {
	c := x.Request
	name := "railguard-audit-" + strconv.FormatUint(x.first, 10) + "-" + strconv.FormatUint(x.End, 10)
	rest := url.Values{
		"first": {strconv.FormatUint(x.first, 10)}, "treeSize": {strconv.FormatUint(x.Point.Size, 10)},
		"from": {x.From.String()}, "to": {x.To.String()},
	}
	if x.agent.id != "" {
		rest.Set("agentId", x.agent.id)
		name += "-" + x.agent.id
	}
	if asCSV {
		rest.Set("format", "csv")
		c.SetHeader("Content-Disposition", `attachment; filename="`+name+`.csv"`)
		x.csv = csv.NewWriter(&x.out)
		x.csv.UseCRLF = true
	} else {
		c.SetHeader("Content-Disposition", `attachment; filename="`+name+`.ndjson"`)
	}
	c.SetHeader(HeaderContinue, rest.Encode())
	if c.IsHead() || x.continued {
		return
	}
	if asCSV {
		_ = x.csv.Write(CSVColumns)
		return
	}
	x.writeHead()
}

var (
	exportType = []string{"application/x-ndjson"}
	tableType  = []string{"text/csv; charset=utf-8"}
)

func (x *Exporter) contentType() []string {
	if x.csv != nil {
		return tableType
	}
	return exportType
}

func (x *Exporter) writeHead() {
	genesis := x.Request.Judge.Terms.Settings.Genesis
	m := &x.line
	*m = (*m)[:0]
	m.Text("type", "export")
	m.Uint("version", exportVersion)
	m.Text("clusterId", genesis.ClusterID)
	m.Uint("treeSize", x.Point.Size)
	m.Text("checkpoint", string(x.Point.text))
	x.Point.writeUnwitnessed(m)
	m.Text("keys", x.Point.signer.VerifierKeys())
	if text, err := x.room.listRotations(x.Request); err == nil && text != "" { // A signed head exists, so the keys do too.
		m.Text("keyRotations", text)
	}
	m.Time("from", x.From)
	m.Time("to", x.To)
	m.Uint("first", x.first)
	m.Uint("end", x.End)
	if x.agent.id != "" {
		var selection strictjson.Members
		selection.Text("agent", x.agent.id)
		m.Object("selection", selection)
	} else {
		m.Null("selection")
	}
	_ = x.writeLine() // If the caller disconnected, the first flush notices.
}

// writePages writes all pages.
func (x *Exporter) writePages() error {
	x.next = x.first
	for x.next < x.End {
		if err := x.Request.Context().Err(); err != nil {
			return err
		}
		if err := border.TakeTurn(x.Request, x.writePage); err != nil {
			return err
		}
		if err := x.flushAnswer(); err != nil {
			return err
		}
	}
	if err := x.writeEdges(); err != nil {
		return err
	}
	if err := x.writeEnd(); err != nil {
		return err
	}
	return x.flushAnswer()
}

// writePage writes the next exportPageMax leaves.
func (x *Exporter) writePage() error {
	var failed error
	before := x.next
	_, err := x.Store.Scan(audit.Query{From: x.next, To: x.End, Examine: exportPageMax}, func(index uint64, stored audit.Leaf) bool {
		failed = x.writeLeaf(index, stored.Data)
		return failed == nil
	})
	border.ChargeLooked(x.Request, int(x.next-before))
	if failed != nil {
		return failed
	}
	return err
}

// writeEnd writes the end line, under the log's signature.
func (x *Exporter) writeEnd() error {
	digest := [sha256.Size]byte(x.digest.Sum(nil))
	if x.csv != nil {
		return x.csv.Write(csvEnd(x.leaves, digest))
	}
	signature := x.Point.signer.SignExport(note.Export{
		Cluster: x.Request.Judge.Terms.Settings.Genesis.ClusterID, Size: x.Point.Size, Root: x.Point.root, First: x.first, End: x.End,
		From: x.From.String(), To: x.To.String(), Leaves: x.leaves, Digest: digest,
		Agent: x.agent.id, Chain: x.agent.found,
	})
	m := &x.line
	*m = (*m)[:0]
	m.Text("type", "end")
	m.Uint("first", x.first)
	m.Uint("end", x.End)
	m.Uint("leaves", x.leaves)
	m.Text("digest", base64.StdEncoding.EncodeToString(digest[:]))
	if x.agent.id != "" {
		m.Text("before", x.agent.found.Before)
		m.Text("after", x.agent.found.After)
	}
	m.Text("signature", string(signature))
	return x.writeLine()
}

func (x *Exporter) flushAnswer() error {
	if x.csv != nil {
		x.csv.Flush()
		if err := x.csv.Error(); err != nil {
			return err
		}
	}
	if _, err := x.answer.Write(x.out.Bytes()); err != nil {
		return err
	}
	x.out.Reset()
	return x.answer.Flush()
}

// writeLeaf handles the next leaf of the range. It writes the leaf if it is selected and not
// before the cursor.
func (x *Exporter) writeLeaf(index uint64, data []byte) error {
	if index != x.next {
		return fmt.Errorf("leaf %d was erased meanwhile", x.next)
	}
	c := x.Request
	l, err := c.Judge.OpenLeaf(index, data)
	if err != nil {
		return err
	}
	defer c.Judge.DropLeaf()
	x.next++
	if x.csv != nil && l.Kind() != "screen" {
		return nil
	}
	if x.agent.id != "" && !x.agent.ofAgent(&l) {
		return nil
	}
	x.agent.followLeaf(&l)
	x.leaves++
	sum := merkle.Leaf(data)
	x.digest.Write(binary.BigEndian.AppendUint64(nil, index))
	x.digest.Write(sum[:])
	judged, err := judgementIn(&l)
	if err != nil {
		return fmt.Errorf("leaf %d: %w", index, err)
	}
	known := x.knownProfiles(&l, judged)
	if index < x.cursor {
		return nil
	}
	if x.csv != nil {
		return x.writeRow(&l)
	}
	m := &x.line
	*m = (*m)[:0]
	m.Text("type", "leaf")
	if err := writePath(c, m, &l, x.Point.Size); err != nil {
		return err
	}
	if err := x.writeEvidence(&c.Judge, judged, known); err != nil {
		return err
	}
	return x.writeLine()
}

// judgementIn returns the judgement that a leaf holds; nil: none.
func judgementIn(l *edge.Leaf) (*leafjson.Screen, error) {
	if !l.IsJudgement() {
		return l.Record, nil
	}
	judged := new(leafjson.Screen)
	return judged, judged.OpenPaid(l.Data)
}

// writeEvidence writes beside a leaf what its judgement is made again from: the profiles that it names,
// and where it is of a payment that was confirmed or redeemed, the payment's own record, unless that is
// past its retention. The latter is repeated each time, so that nobody who reads an export has to
// remember every payment.
func (x *Exporter) writeEvidence(j *edge.Judge, judged *leafjson.Screen, known func(leaf.Ref) bool) error {
	if judged == nil {
		return nil
	}
	c, m := x.Request, &x.line
	if err := writeNamed(c, m, judged, x.Point.Size, known); err != nil || judged.Paid == nil {
		return err
	}
	payment, err := j.LoadLeaf(judged.Paid.Said.ScreenedLeaf)
	if err != nil {
		if edge.IsGone(err) && judged.Paid.Said.ScreenedLeaf < x.first {
			return nil
		}
		return err
	}
	defer j.DropLeaf()
	var inner strictjson.Members
	if err := writePath(c, &inner, &edge.Leaf{Index: payment.Index, Data: payment.Data}, x.Point.Size); err != nil {
		return err
	}
	m.Object("payment", inner)
	return nil
}

// profilesHad bounds the profiles that an export remembers as sent. Sending one twice does
// no harm.
const profilesHad = 65_536

// knownProfiles says which of a leaf's profiles were sent earlier in the export, and
// remembers all of them as sent. What was sent before the cursor counts, so that the rest
// of an export is the same bytes on every node.
func (x *Exporter) knownProfiles(l *edge.Leaf, judged *leafjson.Screen) func(leaf.Ref) bool {
	if leaf.FormOf(l.Data) == leaf.FormProfile {
		x.noteProfile(l.Index)
	}
	var names [2]bool
	if judged == nil {
		return nil
	}
	for i, ref := range [...]leaf.Ref{judged.Profile, judged.User} {
		if ref.Hash != [32]byte{} {
			names[i] = x.noteProfile(ref.Leaf)
		}
	}
	return func(ref leaf.Ref) bool {
		return ref == judged.Profile && names[0] || ref == judged.User && names[1]
	}
}

// noteProfile remembers a profile as sent. It returns true when it was sent before.
func (x *Exporter) noteProfile(index uint64) bool {
	if _, sent := x.sent[index]; sent {
		return true
	}
	if x.sent == nil || len(x.sent) >= profilesHad {
		x.sent = map[uint64]struct{}{}
	}
	x.sent[index] = struct{}{}
	return false
}

// writeLine sends x.line as one NDJSON line.
func (x *Exporter) writeLine() error {
	buffer := append(x.buffer[:0], '{')
	buffer = append(append(buffer, x.line...), '}', '\n')
	x.buffer = buffer
	x.out.Write(buffer)
	return nil
}
