package border

import (
	"railguard/engine"
	"railguard/httpapi/description"
	"railguard/strictjson"
)

// httpapi/description declares what each route of the public API takes, the members of its
// body and the parameters of its query; tables of its room declare it for the admin
// listener. A body member that is not declared is refused, since a misspelt limit would be
// no limit. An open object has a reader of its own (edge/request.go, engine.ParsePolicy).
// Open refuses a route that is declared in neither place.

// valuesMax returns how many JSON values a body of the route may have.
func (r *Route) valuesMax() int {
	if r.Max == engine.ScreenBodyMax {
		return engine.ScreenValuesMax
	}
	return engine.BodyValuesMax
}

// CheckMembers refuses a body with members that its route does not declare: 422. A review
// looks for its transaction first (decision 30, no. 14), so it calls CheckMembers itself.
func (c *Request) CheckMembers() error {
	if c.route.Shape == nil {
		return nil
	}
	shape := c.route.Shape
	if c.Asked.Facilitator {
		shape = shape.With("x402") // Which signed payment it is; no caller tells that (decision 138).
	}
	if err := c.Asked.Document.CheckShape(shape); err != nil {
		return ProposalError(err)
	}
	return nil
}

// shapeOf converts declared members into the shape that the JSON reader checks a body
// against.
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
