package load

import (
	"context"
	"errors"
	"fmt"
	"net/http"
)

// greedyFleets is how many fleets the greedy tenant has. With a whitelist of greedyEntries each they
// take about ten times what one of eight owners has for itself of the bytes of fleets.
const (
	greedyFleets  = 90
	greedyEntries = 2000
)

// greedyTenant is an operator's key with fleets.
type greedyTenant struct {
	key    string
	fleets []string
	next   int // Which fleet is written next, over all rounds.
	list   map[string]any
}

// newGreedyTenant makes an operator's key and its fleets.
func (t *target) newGreedyTenant(ctx context.Context) (*greedyTenant, error) {
	const operator = "Floodgate Fleets LLC"
	var key struct {
		Key string `json:"key"`
	}
	of := map[string]any{"name": "flood of whitelists", "roles": []string{"operator"}, "operator": operator}
	if err := t.api.ask(ctx, http.MethodPost, t.group.nodes[0].admin+"/admin/keys", of, &key); err != nil {
		return nil, err
	}
	g := &greedyTenant{key: key.Key, list: longWhitelist()}
	own := newAPI(g.key)
	defer own.client.CloseIdleConnections()
	for n := range greedyFleets {
		var last error
		var fleet struct {
			FleetID string `json:"fleetId"`
		}
		body := map[string]any{"fleetName": fmt.Sprint("greedy ", n), "operatorLegalName": operator, "dailyLimitUSDC": 1}
		err := until(ctx, readyPatience, func() bool {
			last = own.ask(ctx, http.MethodPost, t.homes[0].url+"/v1/fleets/create", body, &fleet)
			return last == nil
		})
		if err != nil {
			return nil, errors.Join(err, last)
		}
		g.fleets = append(g.fleets, fleet.FleetID)
	}
	return g, nil
}

func longWhitelist() map[string]any {
	var entries []map[string]any
	for n := range greedyEntries {
		entries = append(entries, map[string]any{"name": fmt.Sprintf("Counterparty of the flood %06d", n), "label": "it is long on purpose"})
	}
	return map[string]any{"mode": "enforce", "entries": entries}
}

// fill writes the tenant's whitelists, one after another, until ctx ends.
func (t *target) fill(g *greedyTenant) func(ctx context.Context) error {
	return func(ctx context.Context) error {
		own := newAPI(g.key)
		defer own.client.CloseIdleConnections()
		written, refused := 0, 0
		for ; ctx.Err() == nil; g.next++ {
			home := t.homes[g.next%len(t.homes)].url
			err := own.ask(ctx, http.MethodPut, home+"/v1/fleets/"+g.fleets[g.next%len(g.fleets)]+"/whitelist", g.list, nil)
			if status := (*refusal)(nil); errors.As(err, &status) {
				refused++
			} else if err == nil {
				written++
			}
		}
		t.bench.add("flood.share.written", "", more, float64(written))
		t.bench.add("flood.share.refused", "", less, float64(refused))
		return ctx.Err()
	}
}

// measureShare notes how many times its own part of the bytes of fleets the greedy tenant has.
func (t *target) measureShare(ctx context.Context) error {
	n := t.group.nodes[0]
	greatest, err := n.metric(ctx, `railguard_state_greatest_bytes{table="fleets"}`)
	if err != nil {
		return err
	}
	share, err := n.metric(ctx, `railguard_state_share_bytes{table="fleets"}`)
	if err != nil {
		return err
	}
	t.bench.add("flood.share.times", "×", more, greatest/share)
	return nil
}

// askCalm makes what a tenant that has nothing makes first: a fleet with a whitelist. It must go
// through, whatever the greedy one has.
func (t *target) askCalm(ctx context.Context, round int) error {
	var fleet struct {
		FleetID string `json:"fleetId"`
	}
	body := map[string]any{"fleetName": fmt.Sprint("calm ", round), "operatorLegalName": "Calm Water LLC", "dailyLimitUSDC": 1}
	if err := t.api.ask(ctx, http.MethodPost, t.homes[0].url+"/v1/fleets/create", body, &fleet); err != nil {
		return fmt.Errorf("a calm tenant's fleet beside a greedy one: %w", err)
	}
	list := map[string]any{"mode": "off", "entries": []map[string]any{{"name": "One Shop"}}}
	if err := t.api.ask(ctx, http.MethodPut, t.homes[0].url+"/v1/fleets/"+fleet.FleetID+"/whitelist", list, nil); err != nil {
		return fmt.Errorf("a calm tenant's whitelist beside a greedy one: %w", err)
	}
	return nil
}
