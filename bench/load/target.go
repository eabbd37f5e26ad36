package load

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"sync"
	"time"
)

const (
	operatorName    = "Railguard Bench Paving LLC"
	registrars      = 8
	registerTries   = 400
	registerPause   = 100 * time.Millisecond // The cluster takes 50 registrations a second.
	strangersPages  = 40
	strangersAtOnce = 500
)

// target is the cluster under load, ours or somebody else's.
type target struct {
	homes []*endpoint
	group *group // nil: it was named, not spawned.
	api   *api
	crew  *crew
	bench *bench
}

// openTarget makes a cluster ready for load: agents, fleets, delegates.
func (b *bench) openTarget(ctx context.Context, size int) (*target, error) {
	t := &target{bench: b}
	if len(b.options.Targets) > 0 {
		return t, t.adopt(ctx)
	}
	b.clusters++
	b.say("starting %d node(s)", size)
	var err error
	if t.group, err = spawn(ctx, b.places, "cluster"+strconv.Itoa(b.clusters), size); err != nil {
		return nil, err
	}
	if err := t.settleIn(ctx); err != nil {
		t.close()
		return nil, err
	}
	return t, nil
}

func (t *target) close() {
	if t.api != nil {
		t.api.client.CloseIdleConnections()
	}
	if t.group != nil {
		t.group.close()
	}
}

// settleIn sets up a cluster of ours: a key without a rate limit, and a policy whose
// velocity limit no load reaches, since R16 would hide what is measured. The bench is one
// person with two keys, who forces lists, so the policy demands two persons for nothing.
func (t *target) settleIn(ctx context.Context) error {
	for _, n := range t.group.nodes {
		home, err := parseEndpoint(n.api)
		if err != nil {
			return err
		}
		t.homes = append(t.homes, home)
	}
	t.api = newAPI(t.group.key)
	policy := map[string]any{
		"policy": map[string]any{
			"velocity":   map[string]any{"maxPerMinute": 10_000_000},
			"twoPersons": []string{},
		},
		"reason": "load",
	}
	if err := t.api.ask(ctx, http.MethodPut, t.homes[0].url+"/v1/policy", policy, nil); err != nil {
		return err
	}
	var key struct {
		Key string `json:"key"`
	}
	if err := t.api.ask(ctx, http.MethodPost, t.group.nodes[0].admin+"/admin/keys", map[string]any{"name": "bench", "roles": []string{"admin"}, "rate": 0}, &key); err != nil {
		return err
	}
	t.api.key = key.Key
	for _, home := range t.homes { // Wait until every node knows the key.
		var last error
		err := until(ctx, readyPatience, func() bool {
			last = t.api.ask(ctx, http.MethodGet, home.url+"/v1/policy", nil, nil)
			return last == nil
		})
		if err != nil {
			return errors.Join(err, last)
		}
	}
	return t.hire(ctx)
}

// adopt takes a named cluster, unless it has agents of somebody else.
func (t *target) adopt(ctx context.Context) error {
	for _, text := range t.bench.options.Targets {
		home, err := parseEndpoint(text)
		if err != nil {
			return err
		}
		t.homes = append(t.homes, home)
	}
	t.api = newAPI(t.bench.options.Key)
	if !t.bench.options.Foreign {
		if err := t.refuseStrangers(ctx); err != nil {
			return err
		}
	}
	return t.hire(ctx)
}

// ErrStrangers: the cluster has agents that no bench made.
var ErrStrangers = errors.New("the cluster has agents that no bench has made: load changes their neighbours' limits and fills their audit log; say so with --foreign")

func (t *target) refuseStrangers(ctx context.Context) error {
	cursor := ""
	for range strangersPages {
		var page struct {
			Data []struct {
				Operator string `json:"operatorLegalName"`
			} `json:"data"`
			Next string `json:"nextCursor"`
		}
		query := url.Values{"limit": {strconv.Itoa(strangersAtOnce)}}
		if cursor != "" {
			query.Set("cursor", cursor)
		}
		if err := t.api.ask(ctx, http.MethodGet, t.homes[0].url+"/v1/agents?"+query.Encode(), nil, &page); err != nil {
			return fmt.Errorf("looking for agents of others: %w", err)
		}
		for _, agent := range page.Data {
			if agent.Operator != operatorName {
				return ErrStrangers
			}
		}
		if cursor = page.Next; cursor == "" {
			return nil
		}
	}
	return fmt.Errorf("more than %d agents: %w", strangersPages*strangersAtOnce, ErrStrangers)
}

// hire registers fleets, agents and delegates.
func (t *target) hire(ctx context.Context) error {
	w := t.bench.options.Workload
	t.crew = &crew{run: "b" + randomHex(4), key: t.api.key, tokens: make([]string, w.Agents+w.Delegates)}
	t.bench.say("registering %d agents, %d delegates, %d fleets", w.Agents, w.Delegates, w.Fleets)
	fleets := make([]string, w.Fleets)
	for i := range fleets {
		var fleet struct {
			ID string `json:"fleetId"`
		}
		body := map[string]any{"fleetName": fmt.Sprintf("bench fleet %d %s", i, t.crew.run), "operatorLegalName": operatorName, "dailyLimitUSDC": 1_000_000_000}
		if err := t.register(ctx, "/v1/fleets/create", body, &fleet); err != nil {
			return err
		}
		fleets[i] = fleet.ID
	}
	ids := make([]string, w.Agents)
	err := each(w.Agents, func(i int) error {
		body := map[string]any{
			"agentName": fmt.Sprintf("bench agent %d %s", i, t.crew.run), "agentType": "supervised",
			"operatorLegalName": operatorName, "purpose": "load", "spendPolicy": map[string]any{},
		}
		if len(fleets) > 0 && i%2 == 0 {
			body["fleetId"] = fleets[i%len(fleets)]
		}
		var err error
		ids[i], t.crew.tokens[i], err = t.agent(ctx, "/v1/agents/register", body)
		return err
	})
	if err != nil {
		return err
	}
	return each(w.Delegates, func(i int) error {
		body := map[string]any{
			"agentName": fmt.Sprintf("bench delegate %d %s", i, t.crew.run), "parentAgentId": ids[i],
			"purpose": "load", "spendPolicy": map[string]any{},
		}
		var err error
		_, t.crew.tokens[w.Agents+i], err = t.agent(ctx, "/v1/delegates/create", body)
		return err
	})
}

func (t *target) agent(ctx context.Context, path string, body any) (id, token string, err error) {
	var agent struct {
		ID    string `json:"agentId"`
		Token string `json:"token"`
	}
	err = t.register(ctx, path, body, &agent)
	return agent.ID, agent.Token, err
}

// register tries again while the cluster answers 429 or 503.
func (t *target) register(ctx context.Context, path string, body, into any) error {
	for try := 1; ; try++ {
		err := t.api.ask(ctx, http.MethodPost, t.homes[try%len(t.homes)].url+path, body, into)
		var refused *refusal
		if err == nil || try == registerTries || !errors.As(err, &refused) || refused.status != 429 && refused.status != 503 {
			return err
		}
		select {
		case <-time.After(registerPause):
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// each calls do for 0 to count-1, a few at once, and stops at the first error.
func each(count int, do func(i int) error) error {
	var all sync.WaitGroup
	var mu sync.Mutex
	var failed error
	next := 0
	take := func() (int, bool) {
		mu.Lock()
		defer mu.Unlock()
		next++
		return next - 1, next <= count && failed == nil
	}
	for range registrars {
		all.Go(func() {
			for {
				i, more := take()
				if !more {
					return
				}
				if err := do(i); err != nil {
					mu.Lock()
					failed = errors.Join(failed, err)
					mu.Unlock()
				}
			}
		})
	}
	all.Wait()
	return failed
}

func (t *target) leader(ctx context.Context) (*endpoint, *node, error) {
	var at int
	err := until(ctx, readyPatience, func() bool {
		for i, home := range t.homes {
			var status struct {
				Role string `json:"role"`
			}
			if t.api.ask(ctx, http.MethodGet, home.url+"/v1/health", nil, &status) == nil && status.Role == "leader" {
				at = i
				return true
			}
		}
		return false
	})
	if err != nil {
		return nil, nil, fmt.Errorf("no leader: %w", err)
	}
	if t.group == nil {
		return t.homes[at], nil, nil
	}
	return t.homes[at], t.group.nodes[at], nil
}

func (t *target) follower(leader *endpoint) (*endpoint, error) {
	for _, home := range t.homes {
		if home != leader {
			return home, nil
		}
	}
	return nil, errors.New("there is no follower: one node")
}

// usage is what the nodes have used so far.
func (t *target) usage(ctx context.Context) (usage, error) {
	if t.group == nil {
		return usage{}, errors.New("the nodes are not ours: what their processes use is not seen from here")
	}
	return usageOf(ctx, t.group.nodes...)
}
