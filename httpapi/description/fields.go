package description

import (
	"reflect"
	"slices"
	"strings"
)

// Field is a member of a body, or a parameter of a query, as a program's flags or a form
// offer it.
type Field struct {
	Name     string // A member of an opened object follows behind a dot: spendPolicy.dailyLimitUSDC.
	Kind     FieldKind
	Required bool
	Help     string
	Enum     []string // The allowed words; nil: any text.
}

// FieldKind says how the value of a field is written.
type FieldKind string

// The kinds of fields.
const (
	TextField   FieldKind = ""
	NumberField FieldKind = "number"
	TruthField  FieldKind = "bool"
	ListField   FieldKind = "list" // A list of texts.
	JSONField   FieldKind = "json" // An object, or a list of anything but texts.
)

// BodyFields returns the members of the body's object, in order; none where its names are
// not fixed. A member that is named in open is replaced by the members of its own object.
func (o *Operation) BodyFields(open ...string) []Field {
	if o.Body == nil {
		return nil
	}
	return fieldsOfBody(reflect.TypeOf(o.Body.Of), "", open)
}

func fieldsOfBody(t reflect.Type, prefix string, open []string) []Field {
	t = dereference(t)
	if t.Kind() != reflect.Struct {
		return nil
	}
	var fields []Field
	for field := range fieldsOf(t) {
		if field.Name == "_" {
			continue
		}
		name, options, _ := strings.Cut(field.Tag.Get("json"), ",")
		if slices.Contains(open, prefix+name) {
			inner := fieldsOfBody(field.Type, prefix+name+".", open)
			for i := range inner {
				inner[i].Required = inner[i].Required && options != "omitempty"
			}
			fields = append(fields, inner...)
			continue
		}
		described := describeField(field.Type, field.Tag)
		described.Name, described.Required = prefix+name, options != "omitempty"
		described.addMeaning(name)
		fields = append(fields, described)
	}
	return fields
}

// QueryFields returns the operation's own parameters and the shared ones.
func (o *Operation) QueryFields() []Field {
	var fields []Field
	for _, parameter := range o.Query {
		if parameter.Path {
			continue
		}
		field := Field{}
		if parameter.Of != nil {
			field = describeField(reflect.TypeOf(parameter.Of), parameter.Tags)
		}
		field.Name, field.Required = parameter.Name, parameter.Required
		if parameter.Text != "" {
			field.Help = parameter.Text
		}
		field.addMeaning(parameter.Name)
		fields = append(fields, field)
	}
	for _, shared := range parameters {
		if name := shared.Name; slices.Contains(strings.Fields(o.Parameters), name) && (name == "limit" || name == "cursor" || name == "order") {
			text, _ := shared.Value.(Object).Get("description").(string)
			fields = append(fields, Field{Name: name, Help: text})
		}
	}
	return fields
}

// meanings describes members and parameters by name, where they have no text of their own.
var meanings = map[string]string{
	"actor":                    "who decides",
	"addedBy":                  "who decides",
	"addr":                     "its cluster address",
	"agentFramework":           "framework that drives it",
	"agentId":                  "an agent's id",
	"agentIds":                 "agents' ids",
	"agentName":                "what the agent is called",
	"all":                      "all dead letters",
	"allowedChains":            "allowed chains, e.g. ETH,BASE",
	"allowedCounterpartyTypes": "whom it may pay: individual, business, exchange; null takes it away",
	"allowedRails":             "allowed rails, e.g. USDC,ACH",
	"assignee":                 "who has the case",
	"attestedBy":               "who attests",
	"by":                       "who does it: name or employee id",
	"clearedBy":                "who decides",
	"comment":                  "the comment",
	"cpAddress":                "the party's postal address; orders equal matches",
	"cpCountry":                "the party's country; orders equal matches",
	"cpDateOfBirth":            "the party's date of birth; orders equal matches",
	"cpType":                   "individual, business or exchange",
	"dailyLimitUSDC":           "most that a UTC day may sum up to, USD",
	"disposition":              "APPROVED, REJECTED, ESCALATE_SAR or none",
	"effectiveAt":              "from when (2026-03-22T00:00:00Z); now if left out",
	"email":                    "e-mail",
	"entries":                  "its entries, a list of objects",
	"eventId":                  "the id of an event",
	"expiresAt":                "until when",
	"fields":                   "the values of a form's fields, an object of texts",
	"filter":                   "which cases: an object with the filters of GET /v1/queue",
	"fleetId":                  "a fleet's id",
	"fleetName":                "its name",
	"force":                    "past failed checks; needs a reason",
	"id":                       "node id",
	"kinds":                    "what the list speaks of: wallet, name",
	"label":                    "free text",
	"legalName":                "the person's legal name",
	"maxAmount":                "USD at most",
	"maxSingleTxUSDC":          "largest single payment, USD",
	"metadata":                 "an object of your own, kept and returned",
	"minAmount":                "USD at least",
	"name":                     "a party's name",
	"narrative":                "its text (default: the one it has)",
	"newOperatorId":            "the new operator's id",
	"newOperatorLegalName":     "the new operator",
	"noMixerProtocols":         "true widens the mixer rule to counterparty names",
	"note":                     "free text",
	"notes":                    "why",
	"operatingHours":           "when it may pay; null takes it away",
	"operator":                 "an operator's id, or its legal name where one operator has it",
	"operatorEIN":              "the operator's EIN",
	"operatorId":               "the operator's id (opr_…); new makes another one of this legal name",
	"operatorLegalName":        "the operator's legal name",
	"operatorWallet":           "the operator's wallet",
	"overlapHours":             "how long older tokens stay good, 0 to 168",
	"parentAgentId":            "the parent's agent id",
	"parentToken":              "the parent's credential",
	"possession":               "proof of the agent's key: off, review or required; null takes it away",
	"publicKey":                "the agent's public key, a JWK",
	"purpose":                  "what it pays for",
	"q":                        "words of the case: names, wallet, ids",
	"reason":                   "why, for the audit record",
	"reviewedBy":               "who decides: name or employee id",
	"rule":                     "rule id",
	"txnIds":                   "the cases",
	"underlyingModel":          "the agent's language model",
	"ttlSeconds":               "hold a PROCEED for so long, a REVIEW from its approval on: 30 to 604800",
	"velocity":                 "how often it may pay; null takes it away",
	"wallet":                   "a wallet",
	"whitelist":                "whom alone it may pay",
}

// describeField takes from a value's type and tags how it is written and what it means.
func describeField(t reflect.Type, tags reflect.StructTag) Field {
	m := &schemaMaker{named: map[string]Object{}}
	t = dereference(t)
	schema := addTags(m.describe(t), tags)
	field := Field{Kind: JSONField}
	field.Help, _ = schema.Get("description").(string)
	switch words := schema.Get("enum").(type) {
	case []string:
		field.Enum = words
	case []any:
		for _, word := range words {
			if text, ok := word.(string); ok {
				field.Enum = append(field.Enum, text)
			}
		}
	}
	kinds := schema.Get("type")
	if several, ok := kinds.([]any); ok {
		kinds = several[0]
	}
	if slices.Equal(field.Enum, []string{"true", "false"}) {
		kinds, field.Enum = "boolean", nil
	}
	switch kinds {
	case "string", nil:
		field.Kind = TextField
	case "integer", "number":
		field.Kind = NumberField
	case "boolean":
		field.Kind = TruthField
	case "array":
		if t.Kind() == reflect.Slice && dereference(t.Elem()).Kind() == reflect.String {
			field.Kind = ListField
		}
	}
	return field
}

// addMeaning gives a field without a text the text of its name, unless its words explain
// it.
func (f *Field) addMeaning(name string) {
	if f.Help == "" && f.Enum == nil {
		f.Help = meanings[name]
	}
}

func dereference(t reflect.Type) reflect.Type {
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	return t
}
