package httpapi

import (
	"net/http"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"railguard/edge"
	"railguard/engine"
	"railguard/fsm/leafjson"
	"railguard/fsm/wire"
	"railguard/strictjson"
)

// POST /v1/screen/batch: payments that one caller has at once. Each is judged, counted,
// charged and answered as a call of its own; what they share is the border, the body's
// one pass, the way through the log and the answer's bytes.

// batch is one such call, and its working space. It is pooled.
type batch struct {
	call    *call
	claimed int // Bytes of the body, as far as they have come.

	body    []byte
	parsed  strictjson.Batch
	items   []batchItem
	waiting []int // Items that have no outcome yet.
	ready   []int // Those of them whose records are in bodies.
	bodies  [][]byte
	keys    map[[16]byte]struct{} // Claimed by this batch.
	timing  edge.Timing           // Of all items.
	out     []byte

	ownBody     []byte // The call's own, while an item's stands in their place.
	ownDocument strictjson.Document
}

// batchItem is one payment on its way.
type batchItem struct {
	idem   *keyed
	agent  *engine.AgentProfile // It was judged with.
	timing edge.Timing
	result wire.Result // Applied or Replayed, when err is nil.
	lost   bool        // A sandbox was asked to lose the answer.
	err    error
}

var batchPool = sync.Pool{New: func() any { return &batch{keys: make(map[[16]byte]struct{})} }}

// batchBytes is what the bodies of batches take on this node, as far as they have come.
type batchBytes struct{ held atomic.Int64 }

func (b *batchBytes) claim(size int) bool {
	if b.held.Add(int64(size)) <= batchBytesMax {
		return true
	}
	b.held.Add(int64(-size))
	return false
}

// beginBatch makes room for a batch's body in place of the call's own.
func beginBatch(c *call) error {
	b := batchPool.Get().(*batch)
	b.call, c.batch, b.ownBody, b.ownDocument = c, b, c.asked.Body, c.asked.Document
	c.asked.Body = b.body[:0]
	return b.claim(cap(c.asked.Body))
}

// claim counts size more bytes of the body.
func (b *batch) claim(size int) error {
	if !b.call.api.batches.claim(size) {
		return unavailable("overloaded", "too many batches at once on this node")
	}
	b.claimed += size
	return nil
}

// end gives back what the batch holds.
func (b *batch) end() {
	if b == nil {
		return
	}
	c := b.call
	for key := range b.keys {
		c.api.idempotent.end(key)
	}
	clear(b.keys)
	c.asked.Item, c.asked.Body, c.asked.Document, c.batch = false, b.ownBody, b.ownDocument, nil
	c.api.batches.held.Add(int64(-b.claimed))
	b.parsed.Reset()
	clear(b.items)
	clear(b.bodies)
	b.call, b.claimed, b.timing, b.ownBody, b.ownDocument = nil, 0, edge.Timing{}, nil, strictjson.Document{}
	b.items, b.waiting, b.ready, b.bodies, b.out = b.items[:0], b.waiting[:0], b.ready[:0], b.bodies[:0], b.out[:0]
	if cap(b.body) <= batchBodyKept && cap(b.out) <= batchBodyKept {
		batchPool.Put(b)
	}
}

// screenBatch is POST /v1/screen/batch.
func screenBatch(c *call) (Answer, error) {
	defer func() { c.asked.Idem, c.asked.Hashed = nil, nil }() // end gives the keys back.
	b := c.batch
	strangers, err := b.open()
	if err != nil {
		return Answer{}, err
	}
	for i := range b.items {
		if b.items[i].err = b.begin(i); b.items[i].err == nil {
			b.waiting = append(b.waiting, i)
		}
	}
	for try := 0; len(b.waiting) > 0; try++ {
		b.judge()
		b.propose(try)
	}
	c.judge.Timing = b.timing
	return b.answer(strangers), nil
}

// open reads the body: what is wrong with it as a whole ends the call, and
// nothing happened. It charges the payments.
func (b *batch) open() ([]strictjson.Stranger, error) {
	c := b.call
	var err error
	if c.asked.Strict, err = strictOf(c); err != nil {
		return nil, err
	}
	b.body = c.asked.Body
	if err := b.parsed.Read(c.asked.Body, "payments", engine.BatchMax, engine.ScreenValuesMax, engine.BodyValuesMax); err != nil {
		return nil, failure(http.StatusBadRequest, "invalid_json", err.Error())
	}
	strangers := b.parsed.Strangers(batchShape)
	if err := edge.RefuseStrangers(strangers, c.asked.Strict); err != nil {
		return nil, err
	}
	if !b.parsed.Given() {
		return nil, &Error{Status: http.StatusUnprocessableEntity, Code: "missing_field", Message: "payments is required", Param: "payments"}
	}
	if n := b.parsed.Count(); !b.parsed.List() || n == 0 || n > engine.BatchMax {
		return nil, invalidField("payments", "must be a list of 1 to "+strconv.Itoa(engine.BatchMax)+" payments")
	}
	b.items = append(b.items, make([]batchItem, b.parsed.Count())...)
	return strangers, b.charge()
}

var batchShape = strictjson.Names("payments")

// charge counts the payments as so many calls, less what the call itself was
// charged when it came.
func (b *batch) charge() error {
	cost := 0
	for i := range b.items {
		cost += charges[kindScreening].cost + costOfBody(int64(len(b.parsed.Bytes(i))))
	}
	c := b.call
	more := cost - c.route.charge.cost - costOfBody(c.r.ContentLength)
	if more <= 0 || c.key.use == nil {
		return nil
	}
	c.key.use.asked.Add(int64(more))
	return c.takeTokens(c.key.calls, c.key.limit, more)
}

// begin reads what a border reads of a call: size, JSON, idempotency key.
func (b *batch) begin(i int) error {
	document, err := b.parsed.Item(i)
	body := b.parsed.Bytes(i)
	switch {
	case len(body) > engine.ScreenBodyMax:
		return tooLarge(engine.ScreenBodyMax)
	case err == strictjson.ErrTop:
		return failure(http.StatusBadRequest, "invalid_json", "a payment must be one JSON object")
	case err != nil:
		return failure(http.StatusBadRequest, "invalid_json", err.Error())
	}
	spans := document.Spans()
	if !spans.Given("idempotencyKey") {
		return nil
	}
	value, ok := spans.String("idempotencyKey")
	if !ok || !keyText(value) {
		e := invalidField("idempotencyKey", "must be a string of 1 to 255 printable characters")
		e.Status = http.StatusBadRequest
		return e
	}
	idem := b.call.key.idempotency(screenPath, value, body)
	if _, own := b.keys[idem.Key]; !own {
		if !b.call.api.idempotent.begin(idem.Key) {
			return keyInFlight("idempotencyKey")
		}
		b.keys[idem.Key] = struct{}{}
	}
	b.items[i].idem = idem // Where this batch has it twice, the log decides.
	return nil
}

// judge judges those that wait, and makes their records.
func (b *batch) judge() {
	c := b.call
	b.ready, b.bodies = b.ready[:0], b.bodies[:0]
	records := make([]byte, 0, len(b.waiting)*recordGuess) // The log keeps it for as long as it likes.
	for _, i := range b.waiting {
		item := &b.items[i]
		record, err := b.judgeOne(i)
		item.timing.Verify += c.judge.Timing.Verify
		item.timing.Rules += c.judge.Timing.Rules
		b.timing.Verify += c.judge.Timing.Verify
		b.timing.Rules += c.judge.Timing.Rules
		if c.judge.Forged {
			c.key.charge(costForged - 1)
		}
		if err != nil {
			item.err = err
			continue
		}
		item.agent = c.judge.Agent
		from := len(records)
		records = wire.AppendScreen(records, record)
		b.ready, b.bodies = append(b.ready, i), append(b.bodies, records[from:len(records):len(records)])
	}
}

// recordGuess is about what a screening record takes.
const recordGuess = 640

func (b *batch) judgeOne(i int) (*wire.Screen, error) {
	c := b.call
	c.asked.Item, c.asked.Body, c.asked.Idem, c.asked.Hashed = true, b.parsed.Bytes(i), nil, nil
	if key := b.items[i].idem; key != nil {
		c.asked.Idem, c.asked.Hashed = &key.Idem, &key.body
	}
	c.asked.Document, _ = b.parsed.Item(i) // Was looked at in beginItem.
	if err := readMembers(&c.judge); err != nil {
		return nil, err
	}
	var err error
	if b.items[i].lost, err = sandboxOutage(&c.judge); err != nil {
		return nil, err
	}
	record, err := c.judgedFresh(func() (any, error) { return c.judge.Screen() })
	if err != nil {
		return nil, err
	}
	return record.(*wire.Screen), nil
}

// propose puts the records into the log together. What the log knew to be judged
// with something older waits for another round, as a single call does.
func (b *batch) propose(try int) {
	c := b.call
	b.waiting = b.waiting[:0]
	if len(b.ready) == 0 {
		return
	}
	began := time.Now()
	results, errs := c.api.deps.Proposer.ProposeMany(c.ctx, wire.KindScreen, b.bodies)
	c.commit += time.Since(began)
	moved, keyMoved := uint64(0), false
	for at, i := range b.ready {
		item := &b.items[i]
		item.result = results[at]
		c.judge.Index = max(c.judge.Index, item.result.Index)
		if item.err = errs[at]; item.err != nil {
			continue
		}
		switch item.result.Code {
		case wire.Applied, wire.Replayed:
			c.happened = true
		case wire.Stale, wire.KeyMoved:
			keyMoved = keyMoved || item.result.Code == wire.KeyMoved
			moved = max(moved, item.result.Index)
			b.waiting = append(b.waiting, i)
		default:
			item.err = noVerdict(item.result)
		}
	}
	if len(b.waiting) == 0 {
		return
	}
	err := c.judge.Again(try, moved)
	if err == nil && keyMoved {
		err = c.authenticateAgain()
	}
	if err != nil {
		for _, i := range b.waiting {
			b.items[i].err = err
		}
		b.waiting = b.waiting[:0]
	}
}

// answer says what became of every payment, in order.
func (b *batch) answer(strangers []strictjson.Stranger) Answer {
	c := b.call
	out := append(b.out[:0], `{"results":[`...)
	for i := range b.items {
		if i > 0 {
			out = append(out, ',')
		}
		c.out, c.txnID, c.replayed = c.out[:0], "", false
		b.write(&b.items[i])
		out = append(append(append(out, '{'), c.out...), '}')
	}
	c.txnID, c.replayed = "", false
	out = append(out, ']')
	if warnings := edge.Warnings(strangers); len(warnings) > 0 {
		out = strictjson.AppendList(append(out, `,"warnings":`...), warnings)
	}
	b.out = append(out, '}')
	return c.send(http.StatusOK, jsonType, b.out)
}

// write writes one result: the answer or the error of a call of its own, behind its status.
func (b *batch) write(item *batchItem) {
	c := b.call
	var record *leafjson.Screen
	happened := item.err == nil
	if happened && item.lost && item.result.Code == wire.Applied {
		item.err = wire.ErrUnknown
	} else if happened {
		record, item.err = c.resultRecord(item.result, item.agent)
	}
	if item.err != nil {
		e := c.api.known(item.err, happened, c.asked.RequestID)
		c.out.Int("status", int64(e.Status))
		c.out.Join(c.errorMembers(e))
		c.out.Optional("outcome", e.Outcome)
		return
	}
	c.out.Int("status", http.StatusOK)
	c.writeScreen(record, &c.out)
	if c.replayed {
		c.out.Bool("replayed", true)
	}
	countScreen(record.Verdict.String(), record.Rule.Code(), item.timing, c.commit, time.Since(c.start))
}
