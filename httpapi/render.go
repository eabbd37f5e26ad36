package httpapi

import (
	"fmt"
	"net/http"

	"railguard/edge"
	"railguard/strictjson"
)

// Every answer to a write is rendered from the leaf it wrote, and from nothing
// else that can change: so a first answer, an idempotent replay on another node
// and a later GET cannot differ.

// renderer writes the members of the answer that a leaf of its kind stands for.
// It may set headers and c.status (200 by default).
type renderer func(c *call, l *edge.Leaf, m *strictjson.Members) error

// allRenderers is the one registry of leaf kinds that answer a call.
func (a *API) allRenderers() map[string]renderer {
	all := map[string]renderer{
		"screen":               renderScreen,
		"review.dispositioned": renderDisposition,
		"review.claimed":       renderQueueEvent,
		"review.released":      renderQueueEvent,
		"review.assigned":      renderQueueEvent,
		"review.commented":     renderQueueEvent,
	}
	for kind, render := range a.registryRenderers() {
		all[kind] = render
	}
	return all
}

// renderLeaf answers with a leaf through the renderer of its kind.
func (c *call) renderLeaf(l *edge.Leaf) error {
	render := c.api.renderers[l.Kind()]
	if render == nil {
		return fmt.Errorf("BUG: no renderer for leaf kind %q", l.Kind())
	}
	c.status = http.StatusOK
	c.out = c.out[:0]
	if err := render(c, l, &c.out); err != nil {
		c.status = 0
		return err
	}
	c.reply(c.status, c.out)
	return nil
}
