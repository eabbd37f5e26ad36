package httpapi

import "railguard/strictjson"

// actor writes who made a change and where: every leaf's fragment ends with it.
func (c *call) actor(m *strictjson.Members) {
	if c.key != nil {
		m.Text("actorKeyId", c.key.id)
	}
	m.Text("node", c.api.deps.Node)
	m.Optional("idempotencyKeyHash", c.idemHash)
}
