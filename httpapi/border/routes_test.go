package border

import (
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"

	"railguard/fsm/wire"
)

// TestRoutesFollowTheirDescription: scope, roles and body of a described operation come
// from its description alone; any other route must declare its scope.
func TestRoutesFollowTheirDescription(t *testing.T) {
	var room Room
	route := Route{Method: http.MethodPost, Path: "/v1/agents/{id}/reissue"}
	require.NoError(t, room.declareRoute(&route))
	require.Equal(t, ScopeOwner, route.Scope)
	require.Equal(t, wire.RoleOperator, route.Roles)
	require.Equal(t, BodyOptional, route.Body)
	require.Contains(t, route.Shape, "overlapHours")

	route = Route{Method: http.MethodGet, Path: "/v1/key"}
	require.NoError(t, room.declareRoute(&route))
	require.Equal(t, AnyRole, route.Roles)

	route = Route{Method: http.MethodGet, Path: "/livez"}
	require.NoError(t, room.declareRoute(&route))
	require.Equal(t, ScopePublic, route.Scope)
	require.Zero(t, route.Roles)

	own := Route{Method: http.MethodGet, Path: "/v1/agents", Scope: ScopeOwner, Roles: wire.RoleOps}
	require.ErrorContains(t, room.declareRoute(&own), "says itself whose affair it is")
	stranger := Route{Method: http.MethodGet, Path: "/v1/strangers"}
	require.ErrorContains(t, room.declareRoute(&stranger), "does not say whose affair it is")
	stranger = Route{Method: http.MethodPost, Path: "/v1/strangers", Scope: ScopeInstitution, Roles: wire.RoleOps, Body: BodyObject}
	require.ErrorContains(t, room.declareRoute(&stranger), "does not say which members its body has")
}
