package edge

import (
	"errors"
	"strconv"
	"unsafe"

	"railguard/engine"
	"railguard/ofac"
	"railguard/strictjson"
)

// The members of a screening call. A member that is none of them may be a misspelling
// of one, and then the call would be judged without what its sender believes it said:
// such a call is refused. Any other member is judged as absent and named in a warning.
var requestShape = strictjson.Names("token", "userToken", "amount", "chain", "rail", "cpWallet", "cpName", "cpType", "protocol",
	"underlyingModel", "model", "travelRuleRef", "cpCountry", "cpDateOfBirth", "cpAddress", "paymentRef", "hold")

// itemShape is requestShape in a batch, where what is a header elsewhere is a member.
var itemShape = requestShape.With("idempotencyKey")

// warningsMax is how many unknown members an answer and a record name.
const warningsMax = 8

// Read reads the request: JSON, then required, then unknown, then semantic. In a batch
// the item before is forgotten; terms, and what was asked of the leader, stay.
func (j *Judge) Read() error {
	j.Timing, j.Forged = Timing{}, false
	f := j.call.Document.Spans()
	s := &j.screen
	shape := requestShape
	if j.call.Item {
		shape = itemShape
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
	amount, err := engine.ParseUSD(literal)
	if err != nil {
		message := "amount must be a number from 0 to 1e12: " + amountProblem(literal, err)
		return &Refusal{Code: "invalid_amount", Message: message, Param: "amount"}
	}
	s.request = engine.Request{
		Amount: amount, AmountText: string(literal),
		Chain: f.Text("chain", engine.FieldMax), Rail: f.Text("rail", engine.FieldMax),
		Wallet: f.Text("cpWallet", engine.FieldMax), Name: f.Name("cpName"),
		Type: f.Text("cpType", engine.FieldMax), Protocol: f.Text("protocol", engine.FieldMax),
		Model: f.Text("underlyingModel", engine.FieldMax), TravelRule: f.Text("travelRuleRef", engine.FieldMax),
	}
	if alias := f.Text("model", engine.FieldMax); s.request.Model == "" {
		s.request.Model = alias
	}
	s.context = ofac.Context{Country: f.Text("cpCountry", engine.FieldMax), BirthDate: f.Text("cpDateOfBirth", engine.FieldMax), Address: f.Name("cpAddress")}
	seconds, sound := readHold(j.call.Document.Raw("hold"))
	if s.hold = seconds; !sound {
		f.Invalid("hold", `must be {"ttlSeconds": a whole number from 30 to 604800}`)
	}
	if s.reference = f.Text("paymentRef", referenceMax); f.Given("paymentRef") && !SoundReference(s.reference) {
		f.Invalid("paymentRef", "must be 1 to 128 printable ASCII characters")
	}
	s.token, s.userToken = borrowText(f.TrimmedText("token")), borrowText(f.TrimmedText("userToken")) // Anything but a string is a malformed credential (R1), not an error.
	s.userGiven = f.Given("userToken")
	return f.Err()
}

// borrowText returns a text that shares the body's memory. It is good until the call ends, and
// only to be compared and hashed.
func borrowText(text []byte) string { return unsafe.String(unsafe.SliceData(text), len(text)) }

// missingMember says that a member is missing, and as what it was perhaps sent.
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

// RefuseStrangers refuses members that are near to known ones, and any unknown member
// of a strict caller.
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

func (s *screening) warnings() []strictjson.Members { return Warnings(s.strangers) }

// Warnings name members that were taken as absent; nil when there are none.
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

// amountProblem says what is wrong with an amount's literal.
func amountProblem(literal []byte, err error) string {
	switch {
	case errors.Is(err, engine.ErrAmountNegative), errors.Is(err, engine.ErrAmountTooLarge), errors.Is(err, engine.ErrAmountLong):
		return err.Error()
	case len(literal) > 0 && literal[0] == '"':
		return "it is a string, not a number"
	}
	return "not a number"
}
