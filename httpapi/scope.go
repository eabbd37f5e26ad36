package httpapi

import "net/http"

// scope says whose affair a route is: what a key with an operator's scope may do
// with it. Every route declares one; New refuses a table with a route that does not.
type scope uint8

const (
	scopeNone        scope = iota // Not declared: no such route is served.
	scopePublic                   // No key. Nothing in it is any operator's.
	scopeReference                // Any key with the role. Published knowledge, nobody's data.
	scopeOwner                    // Operators' data: a key with a scope sees and changes its operator's alone.
	scopeInstitution              // Holds for all operators: closed to keys with a scope, whatever their roles.
)

// text is the scope as docs/ROUTES.md tells it.
func (s scope) text() string {
	return [...]string{"", "public", "reference", "owner", "institution"}[s]
}

// admitScope keeps a key with an operator's scope from what is the institution's.
// Within scopeOwner the handlers judge, row by row.
func (c *call) admitScope() error {
	if c.route.scope == scopeInstitution && c.key.Operator != "" {
		return failure(http.StatusForbidden, "forbidden", "this is the whole institution's: a key with an operator's scope may not do it")
	}
	return nil
}
