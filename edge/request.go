package edge

import (
	"errors"
	"strconv"
	"strings"
	"unsafe"

	"railguard/engine"
	"railguard/ofac"
	"railguard/ofac/wallet"
	"railguard/strictjson"
)

// The members of a screening call. An unknown member that resembles one of them may be a
// misspelling. The call would then be judged without something its sender meant to say, so it
// is refused. Any other unknown member is ignored and named in a warning.
var requestShape = strictjson.Names("token", "userToken", "amount", "chain", "rail", "cpWallet", "cpName", "cpType", "protocol",
	"underlyingModel", "model", "travelRuleRef", "cpCountry", "cpDateOfBirth", "cpAddress", "paymentRef", "hold", "payerWallet", "wallets",
	"cpRegion", "originCountry", "memo", "cpIdentifiers", "permit", "proof")

// itemShape is requestShape for an item of a batch, which has the idempotency key as a member
// instead of a header.
var itemShape = requestShape.With("idempotencyKey")

// facilitatorShape is requestShape for this service's own facilitator.
var facilitatorShape = requestShape.With("x402")

// warningsMax is how many unknown members an answer and a record name.
const warningsMax = 8

// Read reads the request and reports the first of these errors: JSON, missing members, unknown
// members, wrong content. In a batch it forgets the item before, but keeps the terms and
// whether the leader was asked.
func (j *Judge) Read() error {
	j.Timing, j.Forged = Timing{}, false
	f := j.call.Document.Spans()
	s := &j.screen
	shape := requestShape
	switch {
	case j.call.Item:
		shape = itemShape
	case j.call.Facilitator:
		shape = facilitatorShape
	}
	strangers := f.UnknownMembers(shape)
	for _, name := range []string{"token", "amount"} {
		if !f.Has(name) {
			return missingMember(name, strangers)
		}
	}
	if err := RefuseStrangers(strangers, j.call.Strict); err != nil {
		return err
	}
	s.strangers = strangers
	literal := j.call.Document.Raw("amount")
	amount, rounded, err := engine.ReadUSD(literal)
	if err != nil {
		message := "amount must be a number from 0 to 1e12: " + amountProblem(literal, err)
		return &Refusal{Code: "invalid_amount", Message: message, Param: "amount"}
	}
	s.rounded = rounded
	s.request = engine.Request{
		Amount: amount, AmountText: string(literal),
		Chain: f.Text("chain", engine.FieldMax), Rail: f.Text("rail", engine.FieldMax),
		Wallet: f.Text("cpWallet", engine.FieldMax), Name: f.Name("cpName"),
		Type: f.Text("cpType", engine.FieldMax), Protocol: f.Text("protocol", engine.FieldMax),
		Model: f.Text("underlyingModel", engine.FieldMax), TravelRule: f.Text("travelRuleRef", engine.FieldMax),
		Payer:   f.Text("payerWallet", engine.FieldMax),
		Country: f.Text("cpCountry", engine.FieldMax), Region: f.Text("cpRegion", engine.FieldMax), Address: f.Name("cpAddress"),
		Origin: f.Text("originCountry", engine.FieldMax), Memo: f.Name("memo"),
	}
	if f.Given("wallets") {
		f.Report(s.request.ReadWallets(j.call.Document.Raw("wallets")))
	}
	if f.Given("cpIdentifiers") {
		f.Report(s.request.ReadIdentifiers(j.call.Document.Raw("cpIdentifiers")))
	}
	if alias := f.Text("model", engine.FieldMax); s.request.Model == "" {
		s.request.Model = alias
	}
	s.context = ofac.Context{Country: s.request.Country, BirthDate: f.Text("cpDateOfBirth", engine.FieldMax), Address: s.request.Address}
	s.findElsewhere(j.call)
	s.readAsked(j.call, &f)
	s.reference = f.Text("paymentRef", referenceMax)
	s.request.Reference = s.reference
	if f.Given("paymentRef") && !SoundReference(s.reference) {
		f.Invalid("paymentRef", "must be 1 to 128 printable ASCII characters")
	}
	s.token, s.userToken = borrowText(f.TrimmedText("token")), borrowText(f.TrimmedText("userToken")) // A value that is no string is a malformed credential (R1), not an error.
	s.userGiven = f.Given("userToken")
	if err := j.readProof(&f); err != nil {
		return err
	}
	if !j.call.Facilitator && OwnReference(s.reference) {
		return InvalidField("paymentRef", `must not begin with "x402:": such references are this service's own`)
	}
	return nil
}

// readAsked reads what a call asks for beside a verdict.
func (s *screening) readAsked(call *Call, f *strictjson.Spans) {
	seconds, sound := readHold(call.Document.Raw("hold"))
	if s.hold = seconds; !sound {
		f.Invalid("hold", `must be {"ttlSeconds": a whole number from 30 to 604800}`)
	}
	if s.permit, sound = readPermit(call.Document.Raw("permit")); !sound {
		f.Invalid("permit", `must be {"ttlSeconds": a whole number from 60 to 300, "aud": a text of 1 to 256 characters}, both optional`)
	}
	if s.x402 = nil; call.Facilitator {
		if s.x402, sound = readX402(call.Document.Raw("x402")); !sound {
			f.Invalid("x402", "must have asset, units and nonce")
		}
	}
}

// ownWords are the members in which no wallet is looked for here: the credentials, the wallets
// themselves, the key, the proof, what the facilitator tells, and the memo, which is searched by rules of its own.
var ownWords = [...]string{"token", "userToken", "cpWallet", "payerWallet", "wallets", "idempotencyKey", "memo", "proof", "x402"}

// isOwnWord tells whether a member is what its name says: one of another kind is searched.
func isOwnWord(name string, raw []byte, facilitator bool) bool {
	switch {
	case raw == nil:
		return false
	case name == "x402":
		return facilitator
	}
	return raw[0] == '"' || name == "wallets" && raw[0] == '['
}

// findElsewhere finds wallets in all texts of the call but those, in members that are unknown
// too.
func (s *screening) findElsewhere(call *Call) {
	found, rest := wallet.Elsewhere{}, call.Body
	for len(rest) > 0 {
		next, end := len(rest), len(rest)
		for _, name := range ownWords {
			raw := call.Document.Raw(name)
			if !isOwnWord(name, raw, call.Facilitator) {
				continue
			}
			if at := offsetIn(rest, raw); at >= 0 && at < next {
				next, end = at, at+len(raw)
			}
		}
		found.Add(strictjson.ReadEscapes(rest[:next]))
		rest = rest[end:]
	}
	s.request.ElsewhereMore = found.More
	if found.Count > 0 {
		s.request.Elsewhere = string(found.Texts)
	}
}

// offsetIn returns where part, which is a part of the same memory, begins in data; -1: before it
// or not in it.
func offsetIn(data, part []byte) int {
	at := cap(data) - cap(part)
	if at < 0 || at+len(part) > len(data) || &data[at] != &part[0] {
		return -1
	}
	return at
}

// readElsewhere reads the wallets back from a record.
func readElsewhere(request *engine.Request, text string) {
	request.Elsewhere, request.ElsewhereMore = strings.CutSuffix(text, "+")
}

// borrowText returns a text that shares the body's memory. It is valid until the call ends, and
// may only be compared and hashed.
func borrowText(text []byte) string { return unsafe.String(unsafe.SliceData(text), len(text)) }

// missingMember returns the refusal for a missing member. It names an unknown member that may
// be the missing one misspelt.
func missingMember(name string, strangers []strictjson.UnknownMember) *Refusal {
	r := &Refusal{Code: "missing_" + name, Message: name + " is required", Param: name}
	for i := range strangers {
		if strangers[i].Near == name {
			r.Message += ": is it what was sent as " + strconv.Quote(strangers[i].Param) + "?"
			r.Details = append(r.Details, strangers[i].Finding())
			r.Extra.Text("didYouMean", name)
			break
		}
	}
	return r
}

// RefuseStrangers refuses unknown members that resemble known ones. If strict is set, it
// refuses any unknown member.
func RefuseStrangers(strangers []strictjson.UnknownMember, strict bool) error {
	var refused *Refusal
	for i := range strangers {
		if strangers[i].Near == "" && !strict {
			continue
		}
		finding := strangers[i].Finding()
		if refused == nil {
			refused = &Refusal{
				Code: "unknown_field", Param: finding.Param, Message: finding.Param + " " + finding.Message, Extra: finding.Extra, BadRequest: true,
			}
		}
		refused.Details = append(refused.Details, finding)
	}
	if refused == nil {
		return nil
	}
	return refused
}

// warnings tells of what was read otherwise than its sender may have meant: unknown members were
// ignored, and an amount below a micro-dollar was judged rounded up (decision 31, "Money").
func (s *screening) warnings() []strictjson.Members {
	items := Warnings(s.strangers)
	if s.rounded {
		var rounded strictjson.Members
		rounded.Text("code", "amount_rounded")
		rounded.Text("param", "amount")
		rounded.USD("judgedAs", s.request.Amount)
		items = append(items, rounded)
	}
	return items
}

// Warnings returns warnings that name the ignored members, nil if there are none.
func Warnings(strangers []strictjson.UnknownMember) []strictjson.Members {
	if len(strangers) == 0 {
		return nil
	}
	items := make([]strictjson.Members, min(len(strangers), warningsMax))
	for i := range items {
		items[i].Text("code", "unknown_field")
		items[i].Text("param", strangers[i].Param)
	}
	return items
}

// amountProblem returns what is wrong with an amount's literal.
func amountProblem(literal []byte, err error) string {
	switch {
	case errors.Is(err, engine.ErrAmountNegative), errors.Is(err, engine.ErrAmountTooLarge), errors.Is(err, engine.ErrAmountLong):
		return err.Error()
	case len(literal) > 0 && literal[0] == '"':
		return "it is a string, not a number"
	}
	return "not a number"
}
