package border

import (
	"railguard/engine"
	"railguard/httpapi/description"
	"railguard/strictjson"
)

// What each route takes, the members of its body and the parameters of its query,
// stands in httpapi/description for the public API, and in the tables of its room for the
// admin listener. A body's member that is not named there is refused, since a limit misspelt
// would be no limit; an open object has a reader of its own (edge/request.go,
// engine.ParsePolicy). A route that is missing in both is not served: Open says so.

// valuesMax is how many JSON values a body of the route may have.
func (r *Route) valuesMax() int {
	if r.Max == engine.ScreenBodyMax {
		return engine.ScreenValuesMax
	}
	return engine.BodyValuesMax
}

// CheckMembers refuses a body with members that its route does not know: 422. A review
// looks for its transaction first (decision 30, no. 14) and asks for this itself.
func (c *Request) CheckMembers() error {
	if c.route.Shape == nil {
		return nil
	}
	if err := c.Asked.Document.CheckShape(c.route.Shape); err != nil {
		return ProposalError(err)
	}
	return nil
}

// shapeOf is what the reader of bodies holds a body against.
func shapeOf(members description.Members) strictjson.Shape {
	if members == nil {
		return nil
	}
	shape := make(strictjson.Shape, len(members))
	for name, inner := range members {
		shape[name] = shapeOf(inner)
	}
	return shape
}
