package description

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestEveryRowIsWhole: every operation has a name, a route, a tag and a summary; no two
// share a name or a route; and every operation that is not public declares roles.
func TestEveryRowIsWhole(t *testing.T) {
	names, routes := map[string]bool{}, map[string]bool{}
	for _, o := range Operations() {
		require.False(t, names[o.Name], o.Name)
		require.False(t, routes[o.Route], o.Route)
		names[o.Name], routes[o.Route] = true, true
		require.NotEmpty(t, o.Summary, o.Name)
		require.NotEmpty(t, o.Tag, o.Name)
		require.Equal(t, o.Scope == Public, o.Roles == "", o.Name)
		method, path, _ := strings.Cut(o.Route, " ")
		require.Equal(t, o.Name, FindOperation(method, path).Name)
	}
	require.Greater(t, len(names), 150)
}

func TestMembersOfBodies(t *testing.T) {
	require.Nil(t, FindOperation("POST", "/v1/screen").BodyMembers(), "a screening call is open")
	members := FindOperation("PATCH", "/v1/agents/{id}").BodyMembers()
	require.Contains(t, members, "reason")
	require.Contains(t, members["operatingHours"]["windows"], "days", "members of objects in lists are known")
	require.Nil(t, FindOperation("GET", "/v1/agents").BodyMembers())
	require.Equal(t, []string{"operator", "status", "type", "fleetId", "limit", "cursor", "order"}, FindOperation("GET", "/v1/agents").QueryNames())
	require.Equal(t, []string{"noleader?", "leader?", "sync?", "maxlag", "exclude?"}, FindOperation("GET", "/readyz").QueryNames())
	require.Nil(t, FindOperation("POST", "/v1/nothing"))
}

// TestSchemasOfTypes: the schema holds what the tags say.
func TestSchemasOfTypes(t *testing.T) {
	type inner struct {
		Size int64 `json:"size" range:"1-9"`
	}
	m := &schemaMaker{named: map[string]Object{}}
	data, err := json.Marshal(m.refer(reflect.TypeOf(struct {
		_     struct{} `doc:"About."`
		Name  string   `json:"name" length:"1-8" pattern:"^a" doc:"A name."`
		Kind  *string  `json:"kind,omitempty" enum:"a b"`
		Many  []string `json:"many" items:"-2" each:"{\"maxLength\": 3}"`
		Inner *struct {
			inner
		} `json:"inner,omitempty"`
	}{})))
	require.NoError(t, err)
	require.JSONEq(t, `{"type":"object","description":"About.","required":["name","many"],"additionalProperties":false,"properties":{
		"name":{"type":"string","minLength":1,"maxLength":8,"pattern":"^a","description":"A name."},
		"kind":{"type":["string","null"],"enum":["a","b"]},
		"many":{"type":"array","maxItems":2,"items":{"type":"string","maxLength":3}},
		"inner":{"oneOf":[{"type":"null"},{"type":"object","required":["size"],"additionalProperties":false,"properties":{"size":{"type":"integer","format":"int64","minimum":1,"maximum":9}}}]}}}`, string(data))
}
