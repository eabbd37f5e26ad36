package httpapi

// actor writes who made a change and where: every leaf's fragment ends with it.
func (c *call) actor(m *members) {
	if c.key != nil {
		m.text("actorKeyId", c.key.id)
	}
	m.text("node", c.api.deps.Node)
	m.optional("idempotencyKeyHash", c.idemHash)
}
