package edge_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"railguard/edge"
	"railguard/edge/edgetest"
	"railguard/engine"
	"railguard/fsm/wire"
	"railguard/ofac/sample"
	"railguard/seal"
	"railguard/strictjson"
)

// complaint returns what is wrong with a body: the code of a refusal, or the first invalid
// member.
func complaint(err error) string {
	var refused *edge.Refusal
	var invalid *strictjson.InvalidBody
	switch {
	case errors.As(err, &refused):
		return refused.Code
	case errors.As(err, &invalid):
		return invalid.Findings[0].Param
	case err != nil:
		return err.Error()
	}
	return ""
}

// listedWallet is an address on the sample list.
func listedWallet(t *testing.T) string {
	t.Helper()
	for _, entity := range sample.Entities() {
		for _, address := range entity.Addresses {
			if strings.HasPrefix(address.Value, "0x") {
				return address.Value
			}
		}
	}
	t.Fatal("no address")
	return ""
}

// A registration has required and optional members (decision 34).
func TestReadingARegistration(t *testing.T) {
	w := edgetest.New(t)
	fleet := w.NewFleet("Acme Inc", 100*engine.Dollar)
	acme := w.Caller("key_acme", wire.RoleOperator, "Acme Inc")
	foreign := w.NewFleet("Globex Ltd", engine.Dollar)
	const evm = "0x1111111111111111111111111111111111111111"
	body := func(extra string) string {
		return `{"agentName":"Bot","agentType":"supervised","operatorLegalName":"Acme Inc","purpose":"p"` + extra + `}`
	}
	for _, c := range []struct {
		name, body string
		caller     *edge.Caller
		wrong      string
	}{
		{"the least", body(""), nil, ""},
		{"no name", `{"agentType":"supervised","operatorLegalName":"Acme Inc","purpose":"p"}`, nil, "agentName"},
		{"no type", `{"agentName":"Bot","operatorLegalName":"Acme Inc","purpose":"p"}`, nil, "agentType"},
		{"another type", `{"agentName":"Bot","agentType":"robot","operatorLegalName":"Acme Inc","purpose":"p"}`, nil, "agentType"},
		{"no operator", `{"agentName":"Bot","agentType":"supervised","purpose":"p"}`, nil, "operatorLegalName"},
		{"an operator of no letters", `{"agentName":"Bot","agentType":"supervised","operatorLegalName":"...","purpose":"p"}`, nil, "operatorLegalName"},
		{"no purpose", `{"agentName":"Bot","agentType":"supervised","operatorLegalName":"Acme Inc"}`, nil, "purpose"},
		{"a wallet", body(`,"operatorWallet":"` + evm + `"`), nil, ""},
		{"a wallet in capitals", body(`,"operatorWallet":"0X` + evm[2:] + `"`), nil, ""},
		{"a wallet that is a digit short", body(`,"operatorWallet":"` + evm[1:] + `0"`), nil, "operatorWallet"},
		{"a wallet of one digit less", body(`,"operatorWallet":"` + evm[:41] + `"`), nil, "operatorWallet"},
		{"a wallet of one digit more", body(`,"operatorWallet":"` + evm + `1"`), nil, "operatorWallet"},
		{"a wallet on another chain", body(`,"operatorWallet":"1A1zP1eP5QGefi2DMPTfTL5SLmv7DivfNa"`), nil, ""},
		{"an empty wallet", body(`,"operatorWallet":""`), nil, "operatorWallet"},
		{"an EIN", body(`,"operatorEIN":"12-3456789"`), nil, ""},
		{"an EIN without a dash", body(`,"operatorEIN":"123456789"`), nil, ""},
		{"an EIN with its dash elsewhere", body(`,"operatorEIN":"123-456789"`), nil, "operatorEIN"},
		{"an EIN of eight digits", body(`,"operatorEIN":"12-345678"`), nil, "operatorEIN"},
		{"an EIN of ten digits", body(`,"operatorEIN":"12-34567890"`), nil, "operatorEIN"},
		{"an EIN with two dashes", body(`,"operatorEIN":"12--3456789"`), nil, "operatorEIN"},
		{"an EIN with a letter", body(`,"operatorEIN":"12-345678a"`), nil, "operatorEIN"},
		{"a policy that is none", body(`,"spendPolicy":{"dailyLimitUSDC":-1}`), nil, "spendPolicy.dailyLimitUSDC"},
		{"metadata", body(`,"metadata":{"a":"` + strings.Repeat("x", engine.TextMax-len(`{"a":""}`)) + `"}`), nil, ""},
		{"a byte too much of metadata", body(`,"metadata":{"a":"` + strings.Repeat("x", engine.TextMax-len(`{"a":""}`)+1) + `"}`), nil, "metadata"},
		{"its fleet", body(`,"fleetId":"` + fleet + `"`), acme, ""},
		{"another's fleet", body(`,"fleetId":"` + foreign + `"`), acme, "not_found"},
		{"no fleet of ours", body(`,"fleetId":"x"`), nil, "not_found"},
		{"a key of this operator", body(""), acme, ""},
		{"a key of another operator", `{"agentName":"Bot","agentType":"supervised","operatorLegalName":"Globex Ltd","purpose":"p"}`, acme, "forbidden"},
		{"what is wrong goes before whose it is", `{"agentName":"Bot","agentType":"supervised","operatorLegalName":"Globex Ltd"}`, acme, "purpose"},
	} {
		t.Run(c.name, func(t *testing.T) {
			caller := c.caller
			if caller == nil {
				caller = edgetest.Admin()
			}
			j, f := w.Begin(caller, c.body)
			var in edge.Registration
			require.Equal(t, c.wrong, complaint(in.Read(j, f)))
		})
	}
}

// An EIN is sealed before it is stored. Only its last digits are shown.
func TestEINIsSealed(t *testing.T) {
	w := edgetest.New(t)
	id, _ := w.Registered(`,"operatorEIN":"12-3456789"`)
	p := agentOf(t, w, id)
	require.Equal(t, "**-***6789", p.EINMasked)
	require.NotContains(t, string(p.EINSealed), "123456789")
	plain, err := w.Secrets.Open(seal.LabelEIN, p.EINSealed)
	require.NoError(t, err)
	require.Equal(t, "123456789", string(plain))
}

// A listed operator gets a credential that says so, with a warning (decision 34, "A match at
// issuance"). If the policy says refuse, it is refused, and the refusal is recorded.
func TestListedOperator(t *testing.T) {
	w := edgetest.New(t)
	name := w.List().Entities()[0].Names[0].Full
	wallet := listedWallet(t)
	for _, c := range []struct{ name, operator, extra, status, warning, rule string }{
		{"nobody", "Acme Inc", "", "CLEAR", "", ""},
		{"by its name", name, "", "MATCH", "operator_sanctions_match", "R5_OPERATOR_NAME_OFAC"},
		{"by its wallet", "Acme Inc", `,"operatorWallet":"` + wallet + `"`, "MATCH", "operator_sanctions_match", "R3_OPERATOR_OFAC_ISSUANCE"},
		{"perhaps", "Lazarus Groupe", "", "CLEAR", "operator_possible_match", "R21_POSSIBLE_NAME_MATCH"},
	} {
		t.Run(c.name, func(t *testing.T) {
			body := `{"agentName":"Bot","agentType":"supervised","operatorLegalName":"` + c.operator + `","purpose":"p"` + c.extra + `}`
			l, err := w.Register(edgetest.Admin(), body)
			require.NoError(t, err)
			require.Equal(t, c.status, l.Text("ofacAtIssuance"))
			require.Equal(t, c.status == "MATCH", w.Judges.Now().AgentCredential(&l).Matched)
			require.Equal(t, c.status == "CLEAR" && c.warning == "", !l.Has("matches"))
			if c.warning != "" {
				require.Contains(t, string(l.Raw("warnings")), c.warning)
				require.Contains(t, string(l.Raw("warnings")), c.rule)
			}
			paid := w.Screened(edgetest.Admin(), payment(w.AgentToken(&l), ""))
			require.Equal(t, map[string]string{"MATCH": "BLOCK", "CLEAR": map[bool]string{true: "PROCEED", false: "REVIEW"}[c.warning == ""]}[c.status], paid.Text("verdict"))

			w.SetPolicy(func(p *engine.Policy) { p.RefuseOnMatch = true })
			defer w.SetPolicy(func(p *engine.Policy) { p.RefuseOnMatch = false })
			_, err = w.Register(edgetest.Admin(), body)
			if c.status == "CLEAR" {
				require.NoError(t, err)
				return
			}
			refused := refusalOf(t, err)
			require.Equal(t, "operator_sanctioned", refused.Code)
			require.True(t, refused.Changeable, "the list can change")
			require.NotNil(t, refused.Note)
			require.Equal(t, "agent.refused", refused.Note.Event)
			require.Contains(t, string(refused.Note.Fragment), `"ofacAtIssuance":"MATCH"`)
			require.Contains(t, string(refused.Note.Fragment), `"actorKeyId":"key_admin"`)
			_, err = w.Reissue(edgetest.Admin(), l.Text("agentId"), `{}`)
			require.Equal(t, "operator_sanctioned", refusalOf(t, err).Code)
		})
	}
}

// A registration warns of missing members that the agent will need.
func TestAdvice(t *testing.T) {
	w := edgetest.New(t)
	register := func(extra string) string {
		l, err := w.Register(edgetest.Admin(), `{"agentName":"Bot","operatorLegalName":"Acme Inc","purpose":"p"`+extra+`}`)
		require.NoError(t, err)
		return string(l.Raw("warnings"))
	}
	const all = `,"operatorWallet":"0x1111111111111111111111111111111111111111","operatorEIN":"12-3456789"`
	require.Equal(t, `[]`, register(`,"agentType":"supervised"`+all))
	bare := register(`,"agentType":"supervised"`)
	require.Contains(t, bare, "operator_wallet_missing")
	require.Contains(t, bare, "operator_ein_missing")
	require.NotContains(t, bare, "attestation_required")
	require.Contains(t, register(`,"agentType":"autonomous"`+all), "attestation_required")
	w.SetPolicy(func(p *engine.Policy) { p.IssuanceAttests = true })
	require.NotContains(t, register(`,"agentType":"autonomous"`+all), "attestation_required")
	w.SetPolicy(func(p *engine.Policy) { p.Velocity.MaxPerMinute = 10 })
	require.Contains(t, register(`,"agentType":"supervised","velocity":{"maxPerMinute":11}`+all), "velocity_not_effective")
	require.NotContains(t, register(`,"agentType":"supervised","velocity":{"maxPerMinute":10}`+all), "velocity_not_effective")
}

// Content that no token can hold is refused before anything is in the log. So is a registration
// that this node could not sign.
func TestWhatCannotBeSigned(t *testing.T) {
	w := edgetest.New(t)
	chains := `"` + strings.Repeat(`BASE","`, 1200) + `BASE"`
	_, err := w.Register(edgetest.Admin(), `{"agentName":"Bot","agentType":"supervised","operatorLegalName":"Acme Inc","purpose":"p","spendPolicy":{"allowedChains":[`+chains+`]}}`)
	require.NotEmpty(t, complaint(err))
	size := w.Store.Size()

	w.RotateSigningKey("cc-v2", true)
	w.RotateSigningKey("cc-v3", true)
	require.Greater(t, w.Store.Size(), size)
	body := `{"agentName":"Bot","agentType":"supervised","operatorLegalName":"Acme Inc","purpose":"p"}`
	_, err = w.Register(edgetest.Admin(), body)
	require.NoError(t, err)
	w.Secrets = seal.NewSecrets([]byte("another cluster secret of the tests"))
	w.Judges = w.NewJudges()
	_, err = w.Register(edgetest.Admin(), body)
	require.Equal(t, "overloaded", refusalOf(t, err).Code, "this node cannot unseal the key")
	require.Error(t, w.Judges.Now().Signing.Err)
}

// A re-issue changes the members that it names and keeps the rest. It is plain if it changes
// neither operator, wallet, policy, model nor name (decision 35).
func TestReissue(t *testing.T) {
	const evm, evm2 = "0x1111111111111111111111111111111111111111", "0x2222222222222222222222222222222222222222"
	for _, c := range []struct {
		name, body string
		plain      bool
		shows      string
	}{
		{"nothing", `{}`, true, `"agentName":"Bot"`},
		{"a reason", `{"reason":"r","actor":"a"}`, true, `"reason":"r","actor":"a"`},
		{"the same of everything", `{"agentName":"Bot","operatorLegalName":"Acme Inc","operatorWallet":"` + evm + `","operatorEIN":"123456789","underlyingModel":"m-1"}`, true, ``},
		{"another name", `{"agentName":"Bot 2"}`, false, `"agentName":"Bot 2"`},
		{"the operator in another spelling", `{"operatorLegalName":"ACME, Inc."}`, false, `"operatorLegalName":"ACME, Inc."`},
		{"another operator", `{"operatorLegalName":"Globex Ltd"}`, false, `"operatorLegalName":"Globex Ltd","purpose"`},
		{"another wallet", `{"operatorWallet":"` + evm2 + `"}`, false, evm2},
		{"another EIN", `{"operatorEIN":"12-3456780"}`, false, `**-***6780`},
		{"another policy", `{"spendPolicy":{"dailyLimitUSDC":5}}`, false, `"dailyLimitUSDC":5`},
		{"another model", `{"underlyingModel":"m-2"}`, false, `"underlyingModel":"m-2"`},
		{"another purpose", `{"purpose":"q"}`, true, `"purpose":"q"`},
		{"another framework", `{"agentFramework":"f"}`, true, `"agentFramework":"f"`},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := edgetest.New(t)
			id, token := w.Registered(`,"operatorWallet":"` + evm + `","operatorEIN":"12-3456789","underlyingModel":"m-1","spendPolicy":{"dailyLimitUSDC":10}`)
			l, err := w.Reissue(edgetest.Admin(), id, c.body)
			require.NoError(t, err)
			require.Equal(t, c.plain, l.Flag("plain"))
			require.Contains(t, string(l.Shown), c.shows)
			require.Equal(t, uint16(2), agentOf(t, w, id).CredentialVersion)
			verdict := map[bool]string{true: "PROCEED", false: "BLOCK"}[c.plain]
			require.Equal(t, verdict, screenedVerdict(w, payment(token, "")), "a plain renewal leaves the older token good")
			w.Advance(engine.OverlapDefault + engine.Millisecond)
			require.Equal(t, "BLOCK", screenedVerdict(w, payment(token, "")), "for the overlap and no longer")
		})
	}
	w := edgetest.New(t)
	id, _ := w.Registered("")
	for body, wrong := range map[string]string{
		`{"overlapHours":0}`: "", `{"overlapHours":168}`: "", `{"overlapHours":169}`: "overlapHours", `{"overlapHours":-1}`: "overlapHours",
		`{"agentName":""}`: "agentName", `{"operatorLegalName":""}`: "operatorLegalName",
	} {
		_, err := w.Reissue(edgetest.Admin(), id, body)
		require.Equal(t, wrong, complaint(err), body)
	}
	// A first EIN is an addition to the operator's data, not a change.
	l, err := w.Reissue(edgetest.Admin(), id, `{"operatorEIN":"12-3456789"}`)
	require.NoError(t, err)
	require.True(t, l.Flag("plain"))
	// The model reported last becomes the baseline (decision 38).
	profile := agentOf(t, w, id)
	settings := profile.Settings
	settings.CurrentModel = "m-9"
	w.Must(wire.KindSettings, &wire.Settings{Agent: profile.Slot, BaseRev: profile.Rev, Settings: settings, Event: "agent.model_changed", Common: wire.Common{Fragment: []byte(`"by":"x"`)}})
	require.Equal(t, "m-9", edge.CurrentModel(agentOf(t, w, id)))
	_, err = w.Reissue(edgetest.Admin(), id, `{}`)
	require.NoError(t, err)
	require.Equal(t, "m-9", agentOf(t, w, id).Model)
	require.Empty(t, agentOf(t, w, id).Settings.CurrentModel)
}

// A new operator takes over none of the old one's data. Only some keys may name another
// operator or replace a listed wallet (decision 35, "Whose word lifts what").
func TestReissueAndOperators(t *testing.T) {
	w := edgetest.New(t)
	acme := w.Caller("key_acme", wire.RoleOperator, "Acme Inc")
	policy := w.Caller("key_policy", wire.RolePolicy|wire.RoleOperator, "")
	plain := w.Caller("key_plain", wire.RoleOperator, "")
	id, _ := w.Registered(`,"operatorWallet":"0x1111111111111111111111111111111111111111","operatorEIN":"12-3456789"`)
	_, err := w.Reissue(acme, id, `{"operatorLegalName":"Globex Ltd"}`)
	require.Equal(t, "forbidden", refusalOf(t, err).Code)
	_, err = w.Reissue(acme, id, `{"operatorLegalName":"ACME Inc"}`)
	require.Equal(t, "forbidden", refusalOf(t, err).Code, "another text is another name")
	_, err = w.Reissue(acme, id, `{"operatorLegalName":"Acme  Inc"}`)
	require.NoError(t, err)
	require.NotEmpty(t, agentOf(t, w, id).OperatorWallet)
	_, err = w.Reissue(policy, id, `{"operatorLegalName":"Globex Ltd"}`)
	require.NoError(t, err)
	require.Empty(t, agentOf(t, w, id).OperatorWallet)
	require.Empty(t, agentOf(t, w, id).EINSealed)
	_, err = w.Reissue(acme, id, `{}`)
	require.Equal(t, "not_found", refusalOf(t, err).Code, "it is another tenant's now")

	listed := listedWallet(t)
	l, err := w.Register(plain, `{"agentName":"Bot","agentType":"supervised","operatorLegalName":"Initech","purpose":"p","operatorWallet":"`+listed+`"}`)
	require.NoError(t, err)
	const other = `{"operatorWallet":"0x2222222222222222222222222222222222222222"}`
	_, err = w.Reissue(plain, l.Text("agentId"), other)
	refused := refusalOf(t, err)
	require.Equal(t, "forbidden", refused.Code)
	require.True(t, refused.Changeable)
	_, err = w.Reissue(plain, l.Text("agentId"), `{}`)
	require.NoError(t, err, "the same wallet")
	_, err = w.Reissue(policy, l.Text("agentId"), other)
	require.NoError(t, err)
}

// The basis of a registration has the list's version. If the list changed meanwhile, the record
// is stale and the operator is screened again.
func TestBasisOfARegistration(t *testing.T) {
	w := edgetest.New(t)
	body := `{"agentName":"Bot","agentType":"supervised","operatorLegalName":"Acme Inc","purpose":"p"}`
	entities := w.List().Entities()
	w.FallBehind()
	entities[0].Names[0].Full = "Acme Inc"
	w.Activate(entities)
	l, err := w.Register(edgetest.Admin(), body)
	require.NoError(t, err)
	require.Equal(t, "MATCH", l.Text("ofacAtIssuance"))
	require.Equal(t, 1, w.Waited)
}

// Names that only fold alike are different operators: neither sees the other's agents, and the
// answer names the one that is alike. The same text is one operator, and so is an id.
func TestFoldedNamesAreNoTenants(t *testing.T) {
	w := edgetest.New(t)
	body := func(name, extra string) string {
		return `{"agentName":"Bot","agentType":"supervised","operatorLegalName":"` + name + `"` + extra + `,"purpose":"p"}`
	}
	for _, c := range []struct {
		first, second string
		same          bool
	}{
		{"Acme Payments LLC", "Acm\u0435 Payments LLC", false}, // The e is Cyrillic.
		{"Romashka LLC", "Ромашка ООО", false},
		{"Müller GmbH", "Muller GmbH", false},
		{"Müller", "Müller GmbH", false},
		{"Café Noir Ltd", "Cafe Noir Limited", false},
		{"Beta Inc", "BETA, Inc.", false},
		{"Epsilon Inc", "EPSILON INC", false},
		{"Gamma Inc", "Gamma\u200b Inc", false},
		{"Delta Inc", "Delta  Inc", true},
		{"Caf\u00e9 Bleu", "Cafe\u0301 Bleu", true}, // Composed and not.
	} {
		t.Run(c.first+" "+c.second, func(t *testing.T) {
			first, err := w.Register(edgetest.Admin(), body(c.first, ""))
			require.NoError(t, err)
			second, err := w.Register(edgetest.Admin(), body(c.second, ""))
			require.NoError(t, err)
			require.Equal(t, c.same, first.Text("operatorId") == second.Text("operatorId"))
			require.False(t, c.same && second.Has("similarOperators"))
			key := w.Caller("key_"+first.Text("operatorId"), wire.RoleOperator, first.Text("operatorLegalName"))
			j, _ := w.Begin(key, `{}`)
			_, err = j.KnownAgent(second.Text("agentId"))
			require.Equal(t, c.same, err == nil)
			_, err = w.Register(key, body(c.second, ""))
			require.Equal(t, c.same, err == nil, "a key of an operator registers for it alone")
			_, err = w.Register(edgetest.Admin(), body(c.second, `,"operatorId":"`+first.Text("operatorId")+`"`))
			require.Equal(t, c.same, err == nil, "id and name must agree")
		})
	}
	l, err := w.Register(edgetest.Admin(), body("ACME Payments LLC", ""))
	require.NoError(t, err)
	require.Len(t, l.Value.GetArray("similarOperators"), 2, "both that fold alike are shown to a person")
}
