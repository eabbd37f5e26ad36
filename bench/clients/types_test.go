package clients

import (
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/railguard/railguard/client"
	"railguard/httpapi/description"
)

// describedType is a type of the clients. Its places are where the API describes it:
// bodies ("<") and answers (">"), or a member of them, named after it.
type describedType struct {
	name       string
	goType     any    // nil: Go's client has no such type.
	typescript string // "": TypeScript's client has none.
	places     string
	goLacks    string // Members that Go's type leaves out.
	tsLacks    string // Members that TypeScript's type leaves out.
}

var describedTypes = []describedType{
	{name: "Agent", goType: client.Agent{}, typescript: "Agent", places: "<POST /v1/agents/register"},
	{name: "SpendPolicy", goType: client.SpendPolicy{}, typescript: "SpendPolicy", places: "<POST /v1/agents/register spendPolicy"},
	{name: "Delegate", goType: client.Delegate{}, typescript: "Delegate", places: "<POST /v1/delegates/create"},
	{name: "Registration", goType: client.Registration{}, typescript: "Registration", places: ">POST /v1/agents/register, >POST /v1/delegates/create"},
	{name: "SimilarOperator", goType: client.SimilarOperator{}, places: ">POST /v1/agents/register similarOperators"},
	{name: "Warning", goType: client.Warning{}, places: ">POST /v1/agents/register warnings"},
	{name: "Payment", goType: client.Payment{}, typescript: "Payment", places: "<POST /v1/screen"},
	{name: "HoldRequest", goType: client.HoldRequest{}, places: "<POST /v1/screen hold"},
	{name: "Hold", goType: client.Hold{}, places: ">POST /v1/screen hold"},
	{name: "Verdict", goType: client.Verdict{}, places: ">POST /v1/screen"},
	{name: "CallWarning", goType: client.CallWarning{}, places: ">POST /v1/screen warnings"},
	{name: "Record", goType: client.Record{}, places: ">POST /v1/screen, >GET /v1/audit/{id}, >POST /v1/reviews/{id}"},
	{name: "Verdict", typescript: "Verdict", places: ">POST /v1/screen, >POST /v1/screen/batch results, >GET /v1/audit/{id}, >POST /v1/reviews/{id}", tsLacks: "code currentVersion details didYouMean docs error message outcome param requiredRole status"},
	{name: "DryRun", goType: client.DryRun{}, places: ">POST /v1/screen/dry-run, >POST /v1/screen"},
	{name: "Transaction", goType: client.Transaction{}, typescript: "Transaction", places: ">POST /v1/transactions/{id}/settle, >POST /v1/transactions/{id}/release"},
	{name: "Confirm", goType: client.Confirm{}, typescript: "Confirm", places: "<POST /v1/transactions/{id}/confirm"},
	{name: "Confirmation", goType: client.Confirmation{}, typescript: "Confirmation", places: ">POST /v1/transactions/{id}/confirm"},
	{name: "Waiting", goType: client.Waiting{}, places: ">POST /v1/transactions/{id}/confirm payment"},
	{name: "Approval", goType: client.Approval{}, typescript: "Approval", places: ">POST /v1/transactions/{id}/confirm approval, >GET /v1/audit/{id} approval"},
	{name: "Ending", goType: client.Ending{}, typescript: "Ending", places: ">GET /v1/audit/{id} payment"},
	{name: "Redeem", goType: client.Redeem{}, places: "<POST /v1/permits/redeem"},
	{name: "Paying", goType: client.Paying{}, typescript: "Paying", places: "<POST /v1/permits/redeem pay", goLacks: "currency payeeIds", tsLacks: "currency payeeIds"},
	{name: "Redemption", goType: client.Redemption{}, typescript: "Redemption", places: ">POST /v1/permits/redeem"},
	{name: "Limits", goType: client.Limits{}, typescript: "Limits", places: ">GET /v1/agents/{id}/limits"},
	{name: "Attestation", goType: client.Attestation{}, typescript: "Attestation", places: ">POST /v1/agents/{id}/attest"},
	{name: "StatusChange", goType: client.StatusChange{}, typescript: "StatusChange", places: ">POST /v1/agents/{id}/suspend"},
	{name: "Health", goType: client.Health{}, typescript: "Health", places: ">GET /v1/health"},
	{name: "Event", goType: client.Event{}, typescript: "Event", places: ">GET /v1/events data"},
	{name: "EventList", goType: client.EventList{}, typescript: "EventList", places: ">GET /v1/events"},
	{name: "Webhook", goType: client.Webhook{}, typescript: "Webhook", places: "<POST /v1/webhooks, >POST /v1/webhooks webhook", tsLacks: "createdAt keyId off olderSecretExpiresAt owner publicKeys rev state webhookId"},
	{name: "WebhookChange", goType: client.WebhookChange{}, typescript: "WebhookChange", places: ">POST /v1/webhooks, >POST /v1/webhooks/{id}/redeliver"},
	{name: "PartyList", goType: client.PartyList{}, typescript: "PartyList", places: ">GET /v1/parties"},
	{name: "PartySummary", goType: client.PartySummary{}, places: ">GET /v1/parties data"},
	{name: "PartyHead", goType: client.PartyHead{}, typescript: "PartyHead", places: ">GET /v1/parties data", goLacks: "moneyGone newestAt open sums", tsLacks: "moneyGone newestAt open sums"},
	{name: "ListedEntry", goType: client.ListedEntry{}, typescript: "ListedEntry", places: ">GET /v1/parties data entry, >GET /v1/inbox data entry"},
	{name: "PaymentSums", goType: client.PaymentSums{}, typescript: "PaymentSums", places: ">GET /v1/parties data sums"},
	{name: "PaymentSum", goType: client.PaymentSum{}, typescript: "PaymentSum", places: ">GET /v1/parties data sums tried"},
	{name: "WholeParty", goType: client.WholeParty{}, places: ">GET /v1/parties/{partyId}"},
	{name: "PartyPayment", goType: client.PartyPayment{}, typescript: "PartyPayment", places: ">GET /v1/parties/{partyId} payments"},
	{name: "ClosedItem", goType: client.ClosedItem{}, typescript: "ClosedItem", places: ">GET /v1/parties/{partyId} closed"},
	{name: "PartyDecision", goType: client.PartyDecision{}, typescript: "PartyDecision", places: "<POST /v1/parties/{id}/decide"},
	{name: "PartyDecided", goType: client.PartyDecided{}, typescript: "PartyDecided", places: ">POST /v1/parties/{id}/decide"},
	{name: "Decided", goType: client.Decided{}, typescript: "Decided", places: ">POST /v1/parties/{id}/decide results"},
	{name: "Proposed", goType: client.Proposed{}, typescript: "Proposed", places: ">POST /v1/parties/{id}/decide results proposed"},
	{name: "InboxList", goType: client.InboxList{}, typescript: "InboxList", places: ">GET /v1/inbox"},
	{name: "InboxCounts", goType: client.InboxCounts{}, typescript: "InboxCounts", places: ">GET /v1/inbox counts"},
	{name: "InboxItem", goType: client.InboxItem{}, typescript: "InboxItem", places: ">GET /v1/inbox data"},
	{name: "RankPart", goType: client.RankPart{}, places: ">GET /v1/inbox data rankParts"},
	{name: "WorkEvent", goType: client.WorkEvent{}, typescript: "WorkEvent", places: ">POST /v1/inbox/{id}/claim"},
	{name: "ItemComment", goType: client.ItemComment{}, typescript: "ItemComment", places: ">GET /v1/inbox/{id}/comments data"},
	{name: "Found", goType: client.Found{}, typescript: "Found", places: ">POST /v1/search"},
	{name: "FoundAgent", goType: client.FoundAgent{}, places: ">POST /v1/search agents"},
	{name: "FoundParty", goType: client.FoundParty{}, places: ">POST /v1/search parties"},
	{name: "FoundPayment", goType: client.FoundPayment{}, places: ">POST /v1/search transactions"},
	{name: "FoundWallet", goType: client.FoundWallet{}, places: ">POST /v1/search wallets"},
	{name: "FoundIdentifier", goType: client.FoundIdentifier{}, places: ">POST /v1/search identifiers"},
	{name: "Learning", goType: client.Learning{}, typescript: "Learning", places: ">GET /v1/learning"},
	{name: "LearningTotal", goType: client.LearningTotal{}, places: ">GET /v1/learning total"},
	{name: "LearningOfficer", goType: client.LearningOfficer{}, places: ">GET /v1/learning officers"},
	{name: "LearningRule", goType: client.LearningRule{}, places: ">GET /v1/learning rules, >GET /v1/learning officers rules"},
	{name: "LearningEntry", goType: client.LearningEntry{}, places: ">GET /v1/learning entries"},
	{name: "LearningOperator", goType: client.LearningOperator{}, places: ">GET /v1/learning operators"},
	{name: "LearningDay", goType: client.LearningDay{}, places: ">GET /v1/learning days"},
	{name: "JWKS", goType: client.JWKS{}, typescript: "JWKS", places: ">GET /v1/.well-known/jwks.json"},
	{name: "JWK", goType: client.JWK{}, typescript: "JWK", places: ">GET /v1/.well-known/jwks.json keys"},
}

// TestTypesFollowTheDescription: the API describes every member of a client's type. The type has
// every member that the API describes, except those that are listed here as left out. So the test
// fails if a member is added to the API, renamed or removed.
func TestTypesFollowTheDescription(t *testing.T) {
	interfaces := readInterfaces(typescriptSource(t))
	for _, d := range describedTypes {
		described := gatherDescribed(t, d.places)
		if d.goType != nil {
			compareMembers(t, "Go's "+d.name, membersOfStruct(reflect.TypeOf(d.goType)), described, d.goLacks)
		}
		if d.typescript != "" {
			require.NotEmpty(t, interfaces[d.typescript], "client/typescript has no interface %s", d.typescript)
			compareMembers(t, "TypeScript's "+d.name, interfaces[d.typescript], described, d.tsLacks)
		}
	}
}

// gatherDescribed returns the names of the members that the API describes at the places.
func gatherDescribed(t *testing.T, places string) []string {
	all := map[string]bool{}
	for place := range strings.SplitSeq(places, ", ") {
		words := strings.Fields(place[1:])
		operation := description.FindOperation(words[0], words[1])
		require.NotNil(t, operation, place)
		var names []string
		if place[0] == '<' {
			opened := strings.Join(append(words[2:], ""), ".") // A prefix: "" or, for example, "hold.".
			for _, field := range operation.BodyFields(words[2:]...) {
				if name, inside := strings.CutPrefix(field.Name, opened); inside {
					names = append(names, name)
				}
			}
		} else {
			members := operation.AnswerMembers()
			for _, name := range words[2:] {
				members = members[name]
			}
			names = slices.Collect(maps.Keys(members))
		}
		require.NotEmpty(t, names, place)
		for _, name := range names {
			all[name] = true
		}
	}
	return slices.Sorted(maps.Keys(all))
}

func compareMembers(t *testing.T, name string, members, described []string, lacks string) {
	t.Helper()
	left := strings.Fields(lacks)
	for _, member := range members {
		assert.Contains(t, described, member, "%s: the API describes no such member", name)
		require.NotContains(t, left, member, "%s has what is said to be left out", name)
	}
	var missing []string
	for _, member := range described {
		if !slices.Contains(members, member) {
			missing = append(missing, member)
		}
	}
	slices.Sort(left)
	assert.Equal(t, strings.Join(left, " "), strings.Join(missing, " "), "%s leaves out: add the members, or name them as left out", name)
}

// membersOfStruct returns the names of a struct's JSON members, among them those of
// embedded structs.
func membersOfStruct(t reflect.Type) (names []string) {
	for i := range t.NumField() {
		field := t.Field(i)
		if field.Anonymous {
			names = append(names, membersOfStruct(field.Type)...)
			continue
		}
		if name, _, _ := strings.Cut(field.Tag.Get("json"), ","); name != "-" && name != "" {
			names = append(names, name)
		}
	}
	return names
}

// typescriptSource is all of the TypeScript client.
func typescriptSource(t *testing.T) string {
	var all strings.Builder
	sources, err := filepath.Glob(home + "/typescript/src/*.ts")
	require.NoError(t, err)
	require.NotEmpty(t, sources)
	for _, source := range sources {
		raw, err := os.ReadFile(source)
		require.NoError(t, err)
		all.Write(raw)
	}
	return all.String()
}

var (
	interfaceText = regexp.MustCompile(`(?ms)^export interface (\w+)(?: extends \w+)? \{\n(.*?)^\}`)
	interfaceLine = regexp.MustCompile(`(?m)^  (\w+)\??:`)
)

// readInterfaces returns the members of each interface of a TypeScript source.
func readInterfaces(source string) map[string][]string {
	interfaces := map[string][]string{}
	for _, match := range interfaceText.FindAllStringSubmatch(source, -1) {
		for _, member := range interfaceLine.FindAllStringSubmatch(match[2], -1) {
			interfaces[match[1]] = append(interfaces[match[1]], member[1])
		}
	}
	return interfaces
}
