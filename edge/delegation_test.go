package edge_test

import (
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"railguard/edge"
	"railguard/edge/edgetest"
	"railguard/engine"
	"railguard/engine/credential"
	"railguard/fsm/wire"
	"railguard/seal"
	"railguard/strictjson"
)

// A delegate names its parent by id, by token, or by both when they agree.
func TestDelegatesParent(t *testing.T) {
	w := edgetest.New(t)
	id, token := w.Registered("")
	other, _ := w.Registered("")
	_, person := newUser(t, w, id)
	acme := w.Caller("key_acme", wire.RoleOperator, "Acme Inc")
	globex := w.Caller("key_globex", wire.RoleOperator, "Globex Ltd")
	for _, c := range []struct {
		name, parent string
		caller       *edge.Caller
		wrong        string
	}{
		{"by id", `"parentAgentId":"` + id + `"`, acme, ""},
		{"by token", `"parentToken":"` + token + `"`, acme, ""},
		{"by both", `"parentAgentId":"` + id + `","parentToken":"Bearer ` + token + `"`, acme, ""},
		{"by both, which differ", `"parentAgentId":"` + other + `","parentToken":"` + token + `"`, acme, "invalid_field"},
		{"by neither", `"purpose":"p"`, acme, "parentAgentId"},
		{"by a token that is none", `"parentToken":"x"`, acme, "invalid_field"},
		{"by a user's token", `"parentToken":"` + person + `"`, acme, "invalid_field"},
		{"by no id", `"parentAgentId":"x"`, acme, "not_found"},
		{"of another tenant", `"parentAgentId":"` + id + `"`, globex, "not_found"},
		{"of another tenant, by token", `"parentToken":"` + token + `"`, globex, "not_found"},
	} {
		t.Run(c.name, func(t *testing.T) {
			l, err := w.Delegate(c.caller, `{"agentName":"Child",`+c.parent+`}`)
			require.Equal(t, c.wrong, complaint(err))
			if c.wrong == "" {
				require.Equal(t, id, l.Text("parentAgentId"))
				require.Equal(t, "Acme Inc", l.Text("operatorLegalName"))
			}
		})
	}
}

// A delegate inherits, and may only narrow (decision 40, "Narrowing").
func TestDelegatesNarrow(t *testing.T) {
	w := edgetest.New(t)
	parent, _ := w.Registered(`,"spendPolicy":{"maxSingleTxUSDC":10,"dailyLimitUSDC":100,"allowedChains":["BASE","ETH"],"noMixerProtocols":true}`)
	expires := agentOf(t, w, parent).ExpiresAt
	later := expires + engine.Millisecond
	for _, c := range []struct{ name, extra, wrong, param, policy string }{
		{"nothing said", ``, "", "", `"maxSingleTxUSDC":10`},
		{"the same", `,"spendPolicy":{"maxSingleTxUSDC":10,"dailyLimitUSDC":100}`, "", "", `"dailyLimitUSDC":100`},
		{"less", `,"spendPolicy":{"maxSingleTxUSDC":9.5}`, "", "", `"maxSingleTxUSDC":9.5,"dailyLimitUSDC":100`},
		{"more in one payment", `,"spendPolicy":{"maxSingleTxUSDC":10.01}`, "policy_widening", "spendPolicy.maxSingleTxUSDC", ``},
		{"more in a day", `,"spendPolicy":{"dailyLimitUSDC":100.01}`, "policy_widening", "spendPolicy.dailyLimitUSDC", ``},
		{"another chain", `,"spendPolicy":{"allowedChains":["BASE","SOL"]}`, "policy_widening", "spendPolicy.allowedChains", ``},
		{"no chain", `,"spendPolicy":{"allowedChains":[]}`, "", "", `"allowedChains":[]`},
		{"autonomous under supervised", `,"agentType":"autonomous"`, "policy_widening", "agentType", ``},
		{"until the parent ends", `,"expiresAt":"` + expires.String() + `"`, "", "", ``},
		{"longer than the parent", `,"expiresAt":"` + later.String() + `"`, "policy_widening", "expiresAt", ``},
		{"until now", `,"expiresAt":"` + edgetest.Start.String() + `"`, "expiresAt", "", ``},
		{"a moment from now", `,"expiresAt":"` + (edgetest.Start + engine.Millisecond).String() + `"`, "", "", ``},
		{"the parent's operator", `,"operatorLegalName":"Acme  Inc"`, "", "", ``},
		{"a name that only folds alike", `,"operatorLegalName":"ACME, Inc."`, "operator_mismatch", "", ``},
		{"another operator", `,"operatorLegalName":"Globex Ltd"`, "operator_mismatch", "", ``},
	} {
		t.Run(c.name, func(t *testing.T) {
			l, err := w.Delegate(edgetest.Admin(), `{"parentAgentId":"`+parent+`","agentName":"Child"`+c.extra+`}`)
			require.Equal(t, c.wrong, complaint(err))
			if c.param != "" {
				refused := refusalOf(t, err)
				require.Equal(t, c.param, refused.Param)
				require.True(t, refused.Changeable, "the parent's policy can change")
				require.Contains(t, string(refused.Details[0].Extra), `"parent":`)
			}
			if c.wrong != "" {
				return
			}
			require.Contains(t, string(l.Raw("spendPolicy")), c.policy)
			require.True(t, l.Has("effectivePolicy"))
			if c.extra == "" {
				require.Equal(t, "supervised", l.Text("agentType"))
			}
		})
	}
}

// Settings narrow too: a parent gives the nearest setting of its chain, and the earliest
// expiry.
func TestDelegatesNarrowSettings(t *testing.T) {
	w := edgetest.New(t)
	root, _ := w.Registered(`,"allowedCounterpartyTypes":["business","exchange"],"whitelist":{"mode":"enforce","entries":[{"name":"Paper"},{"name":"Ink"}]},` +
		`"operatingHours":{"timezone":"UTC","windows":[{"days":["MON","TUE"],"from":"08:00","to":"18:00"}]}`)
	child := func(parent, extra string) (string, error) {
		l, err := w.Delegate(edgetest.Admin(), `{"parentAgentId":"`+parent+`","agentName":"Child"`+extra+`}`)
		return l.Text("agentId"), err
	}
	first, err := child(root, `,"allowedCounterpartyTypes":["business"],"whitelist":{"mode":"enforce","entries":[{"name":"Ink"}]},"operatingHours":{"timezone":"UTC","windows":[{"days":["MON"],"from":"09:00","to":"17:00"}]}`)
	require.NoError(t, err)
	for _, c := range []struct{ parent, extra, param string }{
		{root, `,"allowedCounterpartyTypes":["individual"]`, "allowedCounterpartyTypes"},
		{root, `,"whitelist":{"mode":"enforce","entries":[{"name":"Glue"}]}`, "whitelist"},
		{root, `,"operatingHours":{"timezone":"UTC","windows":[{"days":["WED"],"from":"09:00","to":"17:00"}]}`, "operatingHours"},
		{first, `,"allowedCounterpartyTypes":["exchange"]`, "allowedCounterpartyTypes"},
		{first, `,"whitelist":{"mode":"enforce","entries":[{"name":"Paper"}]}`, "whitelist"},
		{first, `,"operatingHours":{"timezone":"UTC","windows":[{"days":["TUE"],"from":"09:00","to":"17:00"}]}`, "operatingHours"},
	} {
		_, err := child(c.parent, c.extra)
		refused := refusalOf(t, err)
		require.Equal(t, "policy_widening", refused.Code, c.extra)
		require.True(t, strings.HasPrefix(refused.Param, c.param), refused.Param)
	}
	_, err = child(first, `,"allowedCounterpartyTypes":["business"],"whitelist":{"mode":"enforce","entries":[{"name":"Ink"}]}`)
	require.NoError(t, err)
}

// Delegation goes three levels deep. Each level's credential names its ancestors, root first,
// whether it is minted from its leaf or from the registry.
func TestDelegationChain(t *testing.T) {
	w := edgetest.New(t)
	root, _ := w.Registered(`,"spendPolicy":{"dailyLimitUSDC":100}`)
	ids := []string{root}
	for depth := 1; depth <= engine.DepthMax; depth++ {
		l, err := w.Delegate(edgetest.Admin(), `{"parentAgentId":"`+ids[len(ids)-1]+`","agentName":"Child","expiresAt":"2026-04-22T00:00:00Z"}`)
		require.NoError(t, err)
		terms := w.Judges.Now()
		slot, _ := terms.ParseAgent(l.Text("agentId"))
		chain := []*engine.AgentProfile{}
		for at := slot; at != 0; at = w.Agent(at).Parent {
			chain = append(chain, w.Agent(at))
		}
		require.Equal(t, terms.AgentCredential(&l), terms.ProfileCredential(chain))
		require.Equal(t, ids, terms.ProfileCredential(chain).Chain)
		require.Equal(t, depth, terms.ProfileCredential(chain).Depth)
		require.Equal(t, "2026-04-22T00:00:00.000Z", l.Text("expiresAt"))
		ids = append(ids, l.Text("agentId"))
		paid := w.Screened(edgetest.Admin(), payment(w.AgentToken(&l), ""))
		require.Equal(t, "PROCEED", paid.Text("verdict"))
	}
	_, err := w.Delegate(edgetest.Admin(), `{"parentAgentId":"`+ids[len(ids)-1]+`","agentName":"Child"}`)
	require.Equal(t, "delegation_depth_exceeded", refusalOf(t, err).Code)
}

// The parent's token must be that of its current credential, by the state of the leader.
func TestDelegatesParentToken(t *testing.T) {
	w := edgetest.New(t)
	id, first := w.Registered("")
	delegate := func(token string) error {
		_, err := w.Delegate(edgetest.Admin(), `{"parentToken":"`+token+`","agentName":"Child"}`)
		return err
	}
	require.NoError(t, delegate(first))
	l, err := w.Reissue(edgetest.Admin(), id, `{"overlapHours":1}`)
	require.NoError(t, err)
	second := w.AgentToken(&l)
	require.NoError(t, delegate(second))
	require.NoError(t, delegate(first), "within the overlap")
	w.Advance(engine.Hour + engine.Millisecond)
	refused := refusalOf(t, delegate(first))
	require.Equal(t, "parent_not_active", refused.Code)
	require.Contains(t, refused.Message, "superseded")
	require.True(t, refused.Changeable)
	require.Equal(t, `"credentialStatus":"REVOKED"`, string(refused.Extra))

	terms := w.Judges.Now()
	s := terms.ProfileCredential([]*engine.AgentProfile{agentOf(t, w, id)})
	s.ExpiresAt = w.LogTime() / engine.Second * engine.Second
	refused = refusalOf(t, delegate(mint(t, w, s, seal.FirstKID)))
	require.Contains(t, refused.Message, "past its time")
	require.Equal(t, `"credentialStatus":"EXPIRED"`, string(refused.Extra))
	s.ExpiresAt += engine.Second
	require.NoError(t, delegate(mint(t, w, s, seal.FirstKID)))
	w.RotateSigningKey("cc-v2", true)
	require.Equal(t, "parent_not_active", refusalOf(t, delegate(second)).Code, "its signing key was revoked")
}

// A parent that changed meanwhile makes a delegate stale, and it is judged again.
func TestBasisOfADelegate(t *testing.T) {
	w := edgetest.New(t)
	id, _ := w.Registered(`,"spendPolicy":{"dailyLimitUSDC":100}`)
	w.FallBehind()
	_, err := w.Reissue(edgetest.Admin(), id, `{"spendPolicy":{"dailyLimitUSDC":50}}`)
	require.NoError(t, err)
	require.Equal(t, 0, w.Waited)
	_, err = w.Delegate(edgetest.Admin(), `{"parentAgentId":"`+id+`","agentName":"Child","spendPolicy":{"dailyLimitUSDC":60}}`)
	require.Equal(t, "policy_widening", refusalOf(t, err).Code, "of the parent as it is now")
	require.Equal(t, 1, w.Waited)
}

// A delegate's re-issue is judged against its parent's present grant, and takes over the
// parent's operator.
func TestReissueOfADelegate(t *testing.T) {
	w := edgetest.New(t)
	parent, _ := w.Registered(`,"spendPolicy":{"dailyLimitUSDC":100}`)
	l, err := w.Delegate(edgetest.Admin(), `{"parentAgentId":"`+parent+`","agentName":"Child","spendPolicy":{"dailyLimitUSDC":60}}`)
	require.NoError(t, err)
	child := l.Text("agentId")
	for _, member := range []string{`"operatorLegalName":"Acme Inc"`, `"operatorWallet":"0x1111111111111111111111111111111111111111"`, `"operatorEIN":"12-3456789"`} {
		_, err = w.Reissue(edgetest.Admin(), child, `{`+member+`}`)
		require.Equal(t, "operatorLegalName", complaint(err), member)
	}
	_, err = w.Reissue(edgetest.Admin(), child, `{"spendPolicy":{"dailyLimitUSDC":101}}`)
	require.Equal(t, "policy_widening", refusalOf(t, err).Code)
	again, err := w.Reissue(edgetest.Admin(), child, `{"spendPolicy":{"maxSingleTxUSDC":7}}`)
	require.NoError(t, err)
	require.Equal(t, `{"maxSingleTxUSDC":7,"dailyLimitUSDC":100}`, string(again.Raw("spendPolicy")))
	require.True(t, again.Has("effectivePolicy"))
	require.False(t, again.Flag("plain"))

	_, err = w.Reissue(edgetest.Admin(), parent, `{"operatorLegalName":"Globex Ltd","operatorWallet":"0x1111111111111111111111111111111111111111"}`)
	require.NoError(t, err)
	again, err = w.Reissue(edgetest.Admin(), child, `{}`)
	require.NoError(t, err)
	require.Equal(t, "Globex Ltd", again.Text("operatorLegalName"))
	require.Equal(t, "0x1111111111111111111111111111111111111111", agentOf(t, w, child).OperatorWallet)
	require.Equal(t, 7*engine.Dollar, agentOf(t, w, child).Policy.MaxSingle, "its own policy stays")
}

// The leaf and the registry give the same place where a credential's status is published.
func TestStatusOfACredential(t *testing.T) {
	w := edgetest.New(t)
	var last *credential.Credential
	for range 3 {
		id, _ := w.Registered("")
		s := w.Judges.Now().ProfileCredential([]*engine.AgentProfile{agentOf(t, w, id)})
		require.True(t, strings.HasPrefix(s.StatusURL, "https://pay.example.com/status-lists/"), s.StatusURL)
		if last != nil {
			require.Equal(t, last.StatusURL, s.StatusURL)
			require.NotEqual(t, last.StatusIndex, s.StatusIndex)
		}
		last = s
	}
	require.Equal(t, "https://pay.example.com/status-lists/"+strconv.Itoa(7), w.Judges.Now().StatusURL(7))
	var m strictjson.Members
	require.Error(t, w.Judges.Now().WriteCredential(&m, last, "no-such-key"))
}

// A child's spendPolicy has first its own members, then the inherited ones, each member once.
func TestInheritedPolicyDocument(t *testing.T) {
	w := edgetest.New(t)
	members := []string{
		`"maxSingleTxUSDC":10`, `"dailyLimitUSDC":100`, `"allowedChains":["ETH","BASE"]`, `"allowedRails":["USDC"]`, `"counterpartyScreening":"OFAC+CONS"`, `"noMixerProtocols":true`,
	}
	parent, _ := w.Registered(`,"spendPolicy":{` + strings.Join(members, ",") + `}`)
	for _, own := range members {
		l, err := w.Delegate(edgetest.Admin(), `{"parentAgentId":"`+parent+`","agentName":"Child","spendPolicy":{`+own+`}}`)
		require.NoError(t, err)
		document := string(l.Raw("spendPolicy"))
		require.True(t, strings.HasPrefix(document, `{`+own+`,`), document)
		for _, member := range members {
			name, _, _ := strings.Cut(member, ":")
			require.Equal(t, 1, strings.Count(document, name), "%s in %s", name, document)
		}
	}
}
