package payments

import (
	"errors"
	"net/http"
	"strconv"
	"sync"
	"time"

	"railguard/edge"
	"railguard/engine"
	"railguard/fsm/leafjson"
	"railguard/fsm/wire"
	"railguard/httpapi/border"
	"railguard/strictjson"
)

// POST /v1/screen/batch screens several payments of one caller. Each payment is judged,
// counted, charged and answered as in a call of its own. They share the border, one parse
// of the body, the way through the log and the bytes of the answer.

// batch is one such call with its working memory. It is pooled.
type batch struct {
	call *border.Request

	body    []byte // The call's body as sent.
	parsed  strictjson.Batch
	items   []batchItem
	waiting []int // Items that have no outcome yet.
	ready   []int // Items whose records are in bodies.
	bodies  [][]byte
	keys    map[[16]byte]struct{} // Keys claimed by this batch.
	timing  edge.Timing           // Sum over all items.
	out     []byte
}

// batchItem is one payment of a batch.
type batchItem struct {
	idem   *edge.Keyed
	key    string               // As sent.
	agent  *engine.AgentProfile // The agent it was judged with.
	timing edge.Timing
	result wire.Result // Applied or Replayed, when err is nil.
	fault  fault       // What happens to the answer, because the caller asked a sandbox for that.
	err    error
}

var batchPool = sync.Pool{New: func() any { return &batch{keys: make(map[[16]byte]struct{})} }}

// beginBatch takes working memory from the pool; the call holds it until its answer is
// written.
func beginBatch(c *border.Request) *batch {
	b := batchPool.Get().(*batch)
	b.call = c
	c.HoldUntilAnswered(b)
	return b
}

// Release gives back the idempotency keys and the memory that the batch has claimed.
func (b *batch) Release() {
	for key := range b.keys {
		b.call.ReleaseKey(key)
	}
	clear(b.keys)
	b.call.Asked.Item, b.call.Asked.KeyText = false, ""
	b.parsed.Reset()
	clear(b.items)
	clear(b.bodies)
	b.call, b.body, b.timing = nil, nil, edge.Timing{}
	b.items, b.waiting, b.ready, b.bodies, b.out = b.items[:0], b.waiting[:0], b.ready[:0], b.bodies[:0], b.out[:0]
	if cap(b.out) <= border.BatchBodyKept {
		batchPool.Put(b)
	}
}

// screenBatch is POST /v1/screen/batch.
func screenBatch(c *border.Request) (border.Answer, error) {
	defer func() { c.Asked.Idem, c.Asked.Hashed = nil, nil }() // Release releases the batch's keys.
	b := beginBatch(c)
	strangers, err := b.open()
	if err != nil {
		return border.Answer{}, err
	}
	b.screenAll()
	return b.answer(strangers), nil
}

// screenAll gives each payment its outcome.
func (b *batch) screenAll() {
	for i := range b.items {
		if b.items[i].err = b.begin(i); b.items[i].err == nil {
			b.waiting = append(b.waiting, i)
		}
	}
	for try := 0; len(b.waiting) > 0; try++ {
		b.judge()
		b.propose(try)
	}
	b.call.Judge.Timing = b.timing
}

// open parses the body and charges for the payments. An error in the body as a whole ends
// the call, and nothing happened.
func (b *batch) open() ([]strictjson.UnknownMember, error) {
	c := b.call
	var err error
	if c.Asked.Strict, err = strictOf(c); err != nil {
		return nil, err
	}
	b.body = c.Asked.Body
	if err := b.parsed.Read(c.Asked.Body, "payments", engine.BatchMax, engine.ScreenValuesMax, engine.BodyValuesMax); err != nil {
		return nil, border.NewError(http.StatusBadRequest, "invalid_json", err.Error())
	}
	strangers := b.parsed.UnknownMembers(batchShape)
	if err := edge.RefuseStrangers(strangers, c.Asked.Strict); err != nil {
		return nil, err
	}
	if !b.parsed.HasMember() {
		return nil, &border.Error{Status: http.StatusUnprocessableEntity, Code: "missing_field", Message: "payments is required", Param: "payments"}
	}
	if n := b.parsed.Count(); !b.parsed.IsList() || n == 0 || n > engine.BatchMax {
		return nil, border.InvalidField("payments", "must be a list of 1 to "+strconv.Itoa(engine.BatchMax)+" payments")
	}
	b.items = append(b.items, make([]batchItem, b.parsed.Count())...)
	return strangers, border.ChargeWhole(c, b.cost())
}

var batchShape = strictjson.Names("payments")

// cost is the cost of the payments: each is charged as a call.
func (b *batch) cost() (cost int) {
	for i := range b.items {
		cost += border.ScreeningCost(len(b.parsed.Bytes(i)))
	}
	return cost
}

// begin reads what the border reads of a single call: size, JSON, idempotency key.
func (b *batch) begin(i int) error {
	document, err := b.parsed.Item(i)
	body := b.parsed.Bytes(i)
	switch {
	case len(body) > engine.ScreenBodyMax:
		return border.TooLarge(engine.ScreenBodyMax)
	case err == strictjson.ErrTop:
		return border.NewError(http.StatusBadRequest, "invalid_json", "a payment must be one JSON object")
	case err != nil:
		return border.NewError(http.StatusBadRequest, "invalid_json", err.Error())
	}
	spans := document.Spans()
	if !spans.Given("idempotencyKey") {
		return nil
	}
	value, ok := spans.String("idempotencyKey")
	if !ok || !border.KeyText(value) {
		e := border.InvalidField("idempotencyKey", "must be a string of 1 to 255 printable characters")
		e.Status = http.StatusBadRequest
		return e
	}
	idem := b.call.Key.Idempotency(screenPath, value, body)
	if _, own := b.keys[idem.Key]; !own {
		if !b.call.ClaimKey(idem.Key) {
			return border.KeyInFlight("idempotencyKey")
		}
		b.keys[idem.Key] = struct{}{}
	}
	b.items[i].key = value
	b.items[i].idem = idem // If this batch has the key twice, the log decides.
	return nil
}

// judge judges the waiting items and makes their records.
func (b *batch) judge() {
	c := b.call
	b.ready, b.bodies = b.ready[:0], b.bodies[:0]
	records := make([]byte, 0, len(b.waiting)*recordGuess) // This memory is not pooled, because the log keeps it as long as it needs it.
	for _, i := range b.waiting {
		item := &b.items[i]
		record, err := b.judgeOne(i)
		item.timing.Verify += c.Judge.Timing.Verify
		item.timing.Rules += c.Judge.Timing.Rules
		b.timing.Verify += c.Judge.Timing.Verify
		b.timing.Rules += c.Judge.Timing.Rules
		if c.Judge.Forged {
			c.Key.Charge(border.CostForged - 1)
		}
		if err != nil {
			item.err = err
			continue
		}
		item.agent = c.Judge.Agent
		from := len(records)
		records = wire.AppendScreen(records, record)
		b.ready, b.bodies = append(b.ready, i), append(b.bodies, records[from:len(records):len(records)])
	}
}

// recordGuess is the usual size of a screening record, in bytes.
const recordGuess = 640

func (b *batch) judgeOne(i int) (*wire.Screen, error) {
	c := b.call
	c.Asked.Item, c.Asked.Body, c.Asked.Idem, c.Asked.Hashed = true, b.parsed.Bytes(i), nil, nil
	c.Asked.Path, c.Asked.KeyText = screenPath, b.items[i].key
	if key := b.items[i].idem; key != nil {
		c.Asked.Idem, c.Asked.Hashed = &key.Idem, &key.Body
	}
	c.Asked.Document, _ = b.parsed.Item(i) // begin has parsed it without error.
	if err := readMembers(&c.Judge); err != nil {
		return nil, err
	}
	var err error
	if b.items[i].fault, err = screenFault(c); err != nil {
		return nil, err
	}
	record, err := c.JudgeFresh(func() (any, error) { return c.Judge.Screen() })
	if err != nil {
		return nil, err
	}
	return record.(*wire.Screen), nil
}

// propose puts the records into the log together. Items that the log found judged on older
// state wait for another round, as a single call does.
func (b *batch) propose(try int) {
	c := b.call
	b.waiting = b.waiting[:0]
	if len(b.ready) == 0 {
		return
	}
	began := time.Now()
	results, errs := c.ProposeMany(wire.KindScreen, b.bodies)
	c.Commit += time.Since(began)
	moved, keyMoved := uint64(0), false
	for at, i := range b.ready {
		item := &b.items[i]
		item.result = results[at]
		c.Judge.Index = max(c.Judge.Index, item.result.Index)
		if item.err = errs[at]; item.err != nil {
			continue
		}
		switch item.result.Code {
		case wire.Applied, wire.Replayed:
			c.Happened = true
		case wire.Stale, wire.KeyMoved:
			keyMoved = keyMoved || item.result.Code == wire.KeyMoved
			moved = max(moved, item.result.Index)
			b.waiting = append(b.waiting, i)
		default:
			item.err = noVerdict(c.Key, item.result)
		}
	}
	if len(b.waiting) == 0 {
		return
	}
	err := c.Judge.Again(try, moved)
	if err == nil && keyMoved {
		err = c.AuthenticateAgain()
	}
	if err != nil {
		for _, i := range b.waiting {
			b.items[i].err = err
		}
		b.waiting = b.waiting[:0]
	}
}

// answer writes the outcome of every payment, in order.
func (b *batch) answer(strangers []strictjson.UnknownMember) border.Answer {
	c := b.call
	out := append(b.out[:0], `{"results":[`...)
	for i := range b.items {
		if i > 0 {
			out = append(out, ',')
		}
		c.Out, c.TxnID, c.Replayed = c.Out[:0], "", false
		b.write(&b.items[i])
		out = append(append(append(out, '{'), c.Out...), '}')
	}
	c.TxnID, c.Replayed = "", false
	out = append(out, ']')
	if warnings := edge.Warnings(strangers); len(warnings) > 0 {
		out = strictjson.AppendList(append(out, `,"warnings":`...), warnings)
	}
	b.out = append(out, '}')
	return c.Send(http.StatusOK, border.JSONType, b.out)
}

// write writes one result: its status, then the answer or error of a single call.
func (b *batch) write(item *batchItem) {
	c := b.call
	var record *leafjson.Screen
	happened := item.err == nil
	if happened && item.fault != noFault && item.result.Code == wire.Applied {
		item.err = wire.ErrUnknown
	} else if happened {
		record, item.err = resultRecord(c, item.result, item.agent)
	}
	if item.err != nil {
		e := c.PublicError(item.err, happened)
		c.Out.Int("status", int64(e.Status))
		c.Out.Join(c.WriteError(e))
		c.Out.Optional("outcome", e.Outcome)
		return
	}
	c.Out.Int("status", http.StatusOK)
	if err := c.WriteScreen(record, &c.Out); err != nil {
		c.Out = c.Out[:0]
		e := c.PublicError(err, happened)
		c.Out.Int("status", int64(e.Status))
		c.Out.Join(c.WriteError(e))
		return
	}
	if c.Replayed {
		c.Out.Bool("replayed", true)
	}
	countScreen(record.Verdict.String(), record.Rule.Code(), item.timing, c.Commit, time.Since(c.Start))
}

// noVerdict returns the error of a payment to which the log gave no verdict.
func noVerdict(key *border.Key, result wire.Result) error {
	switch result.Code {
	case wire.Conflict:
		return border.KeyConflict()
	case wire.Refused:
		return border.RefusalOf(key, result)
	}
	return errors.New("BUG: result code of a payment")
}
