package description

var registryOperations = []Operation{
	{
		Name: "registerAgent", Route: "POST /v1/agents/register", Tag: "agents", Scope: Owner, Roles: "operator",
		Summary:    "Register an agent and issue its credential",
		Parameters: "timeout minIndex idempotencyKey",
		Body:       &Body{Of: NewAgent{}, Example: `{"agentName": "Bot", "agentType": "supervised", "operatorLegalName": "Acme Inc", "purpose": "p"}`},
		Answers:    []Answer{{Status: 201, Text: "Created.", Of: IssuedAgent{}, Headers: "Location Replayed"}},
		Refusals:   "404 409",
		Codes:      Codes{404: "not_found", 409: "limit_reached", 422: "unknown_field missing_field invalid_field operator_sanctioned operator_mismatch policy_widening", 503: "sanctions_data_unavailable"},
	},
	{
		Name: "listAgents", Route: "GET /v1/agents", Tag: "agents", Scope: Owner, Roles: "operator reviewer auditor policy viewer",
		Summary:    "Agents",
		Parameters: "limit cursor order consistency timeout minIndex",
		Query: []Parameter{
			{Name: "operator"},
			{Name: "status", Of: Status("")},
			{Name: "type"},
			{Name: "fleetId"},
		},
		Answers: []Answer{{Status: 200, Of: struct {
			Data       []AgentSummary `json:"data"`
			NextCursor *string        `json:"nextCursor"`
			AsOfIndex  int64          `json:"asOfIndex"`
		}{}, Example: `{"data": [{"agentId": "agt_rfq3ao3wofwz", "agentName": "Bot", "agentType": "supervised", "operatorId": "opr_c4jxp3wz442t", "operatorLegalName": "Acme Inc", "credentialStatus": "ACTIVE", "ownStatus": "ACTIVE", "statusChangedAt": "2026-03-22T03:33:28.589Z", "credentialVersion": 1, "issuedAt": "2026-03-22T03:33:28.589Z", "expiresAt": "2026-06-21T03:33:28.000Z", "registeredAt": "2026-03-22T03:33:28.589Z", "fleetId": null, "parentAgentId": null, "depth": 0}], "nextCursor": null, "asOfIndex": 18}`}},
		Refusals: "404",
		Codes:    Codes{404: "not_found"},
	},
	{
		Name: "getAgent", Route: "GET /v1/agents/{id}", Tag: "agents", Scope: Owner, Roles: "operator reviewer auditor policy viewer",
		Summary:    "One agent; token with the role operator alone",
		Parameters: "id consistency timeout minIndex",
		Answers:    []Answer{{Status: 200, Of: Agent{}, Headers: "ETag"}},
		Refusals:   "404",
		Codes:      Codes{404: "not_found"},
	},
	{
		Name: "patchAgent", Route: "PATCH /v1/agents/{id}", Tag: "agents", Scope: Owner, Roles: "operator policy",
		Summary:    "Change settings; null takes one away. A widening needs the role policy and a reason",
		Parameters: "id timeout minIndex ifMatch",
		Body:       &Body{Of: NewSettings{}, Example: `{"velocity": {"maxPerMinute": 6}, "reason": "wanted"}`},
		Answers:    []Answer{{Status: 200, Of: AgentSettings{}, Headers: "ETag"}},
		Refusals:   "404 412",
		Codes:      Codes{404: "not_found", 412: "version_mismatch", 422: "unknown_field missing_field invalid_field"},
	},
	{
		Name: "getLimits", Route: "GET /v1/agents/{id}/limits", Tag: "agents", Scope: Owner, Roles: "operator screener reviewer auditor policy viewer",
		Summary:    "What may still be spent today",
		Parameters: "id consistency timeout minIndex",
		Answers:    []Answer{{Status: 200, Of: Limits{}, Example: `{"agentId": "agt_eh5ugy5nkirj", "date": "2026-03-22", "dailyLimitUSDC": 500.5, "spentUSDC": 0, "heldUSDC": 0, "remainingUSDC": 500.5, "maxSingleTxUSDC": 5, "fleet": null, "operator": {"operatorId": "opr_g4zqmvk2y3xs", "dailyLimitUSDC": null, "spentUSDC": 100, "heldUSDC": 0, "remainingUSDC": null}, "ancestors": [{"agentId": "agt_iptavo32xmfw", "dailyLimitUSDC": 500.5, "spentUSDC": 100, "heldUSDC": 0, "remainingUSDC": 400.5}, {"agentId": "agt_rfq3ao3wofwz", "dailyLimitUSDC": 1000, "spentUSDC": 100, "heldUSDC": 0, "remainingUSDC": 900}], "availableUSDC": 400.5, "asOfIndex": 15}`}},
		Refusals:   "404",
		Codes:      Codes{404: "not_found"},
	},
	{
		Name: "attestAgent", Route: "POST /v1/agents/{id}/attest", Tag: "agents", Scope: Owner, Roles: "operator",
		Summary:    "Attest an autonomous agent for 24 hours",
		Parameters: "id timeout minIndex idempotencyKey",
		Body: &Body{Of: struct {
			AttestedBy string  `json:"attestedBy" length:"-FieldMax" pattern:"\\S"`
			Note       *string `json:"note,omitempty" length:"-TextMax"`
		}{}, Example: `{"attestedBy": "a@b.c", "note": "seen it run"}`},
		Answers:  []Answer{{Status: 200, Of: Attestation{}, Headers: "Replayed"}},
		Refusals: "404 409",
		Codes:    Codes{404: "not_found", 409: "invalid_transition", 422: "unknown_field missing_field invalid_field agent_not_autonomous"},
	},
	{
		Name: "listAttestations", Route: "GET /v1/agents/{id}/attestations", Tag: "agents", Scope: Owner, Roles: "operator reviewer auditor policy viewer",
		Summary:    "Attestations of the last 25 hours",
		Parameters: "id limit cursor order consistency timeout minIndex",
		Answers: []Answer{{Status: 200, Of: struct {
			Data       []Attestation `json:"data"`
			NextCursor *string       `json:"nextCursor"`
			AsOfIndex  int64         `json:"asOfIndex"`
		}{}, Example: `{"data": [{"attestationId": "evt_4711_0", "attestedBy": "d@e.f", "note": null, "attestedAt": "2026-03-23T02:33:28.589Z", "validUntil": "2026-03-24T02:33:28.589Z", "recordExpiresAt": "2026-03-24T03:33:28.589Z"}, {"attestationId": "evt_4711_0", "attestedBy": "a@b.c", "note": "seen it run", "attestedAt": "2026-03-22T03:33:28.589Z", "validUntil": "2026-03-23T03:33:28.589Z", "recordExpiresAt": "2026-03-23T04:33:28.589Z"}], "nextCursor": null, "asOfIndex": 17}`}},
		Refusals: "404",
		Codes:    Codes{404: "not_found"},
	},
	{
		Name: "setModel", Route: "POST /v1/agents/{id}/model", Tag: "agents", Scope: Owner, Roles: "operator",
		Summary:    "Tell which model an agent runs on now",
		Parameters: "id timeout minIndex idempotencyKey",
		Body: &Body{Of: struct {
			_               struct{} `schema:"{\"anyOf\": [{\"required\": [\"underlyingModel\"], \"properties\": {\"underlyingModel\": {\"type\": \"string\", \"minLength\": 1}}}, {\"required\": [\"model\"], \"properties\": {\"model\": {\"type\": \"string\", \"minLength\": 1}}}]}"`
			UnderlyingModel *string  `json:"underlyingModel,omitempty" length:"-FieldMax"`
			Model           *string  `json:"model,omitempty" length:"-FieldMax"`
			Reason          *string  `json:"reason,omitempty" length:"-TextMax"`
			Actor           *string  `json:"actor,omitempty" length:"-FieldMax"`
		}{}, Example: `{"underlyingModel": "m"}`},
		Answers:  []Answer{{Status: 200, Of: ModelChange{}, Headers: "Replayed"}},
		Refusals: "404 409",
		Codes:    Codes{404: "not_found", 422: "unknown_field missing_field invalid_field"},
	},
	{
		Name: "retireAgent", Route: "DELETE /v1/agents/{id}", Tag: "agents", Scope: Owner, Roles: "operator",
		Summary:    "Retire an agent that was revoked 91 days ago and has no delegates: its row and its part of the share are free again, its records stay",
		Parameters: "id timeout minIndex",
		Answers:    []Answer{{Status: 200, Of: Retired{}}},
		Refusals:   "404 409",
		Codes:      Codes{404: "not_found", 409: "invalid_transition"},
	},
	{
		Name: "reissueAgent", Route: "POST /v1/agents/{id}/reissue", Tag: "agents", Scope: Owner, Roles: "operator",
		Summary:    "Issue the next version of a credential",
		Parameters: "id timeout minIndex idempotencyKey",
		Body:       &Body{Of: Reissue{}, Optional: true},
		Answers:    []Answer{{Status: 201, Text: "Created.", Of: ReissuedAgent{}, Headers: "Location Replayed"}},
		Refusals:   "404 409",
		Codes:      Codes{404: "not_found", 409: "invalid_transition parent_not_active", 422: "unknown_field missing_field invalid_field policy_widening operator_sanctioned", 503: "sanctions_data_unavailable"},
	},
	{
		Name: "flagOwnership", Route: "POST /v1/agents/{id}/ownership-transfer", Tag: "agents", Scope: Owner, Roles: "operator",
		Summary:    "Flag a change of ownership: R8 until a re-issue",
		Parameters: "id timeout minIndex idempotencyKey",
		Body: &Body{Of: struct {
			NewOperatorID        *string `json:"newOperatorId,omitempty" length:"-FieldMax"`
			NewOperatorLegalName *string `json:"newOperatorLegalName,omitempty" length:"-NameRunesMax"`
			EffectiveAt          *string `json:"effectiveAt,omitempty" length:"10-256" pattern:"^[0-9]{4}-[0-9]{2}-[0-9]{2}"`
			Note                 *string `json:"note,omitempty" length:"-TextMax"`
			Actor                *string `json:"actor,omitempty" length:"-FieldMax"`
		}{}, Example: `{"newOperatorLegalName": "Globex"}`},
		Answers:  []Answer{{Status: 200, Of: TransferChange{}, Headers: "Replayed"}},
		Refusals: "404 409",
		Codes:    Codes{404: "not_found", 409: "invalid_transition", 422: "unknown_field missing_field invalid_field"},
	},
	{
		Name: "cancelOwnership", Route: "DELETE /v1/agents/{id}/ownership-transfer", Tag: "agents", Scope: Institution, Roles: "policy",
		Summary:    "Take the flag back",
		Parameters: "id timeout minIndex",
		Body:       &Body{Of: Why{}, Example: `{"reason": "deal off"}`, Optional: true},
		Answers:    []Answer{{Status: 200, Of: TransferChange{}}},
		Refusals:   "404",
		Codes:      Codes{404: "not_found", 422: "unknown_field missing_field invalid_field"},
	},
	{
		Name: "suspendAgent", Route: "POST /v1/agents/{id}/suspend", Tag: "agents", Scope: Owner, Roles: "operator",
		Summary:    "Suspend",
		Parameters: "id timeout minIndex idempotencyKey",
		Body:       &Body{Of: WhyRequired{}, Example: `{"reason": "r"}`},
		Answers:    []Answer{{Status: 200, Of: StatusChange{}, Headers: "Replayed"}},
		Refusals:   "404 409",
		Codes:      Codes{404: "not_found", 409: "invalid_transition", 422: "unknown_field missing_field invalid_field"},
	},
	{
		Name: "reinstateAgent", Route: "POST /v1/agents/{id}/reinstate", Tag: "agents", Scope: Owner, Roles: "operator",
		Summary:    "Lift a suspension",
		Parameters: "id timeout minIndex idempotencyKey",
		Body:       &Body{Of: WhyRequired{}, Example: `{"reason": "r"}`},
		Answers:    []Answer{{Status: 200, Of: StatusChange{}, Headers: "Replayed"}},
		Refusals:   "404 409",
		Codes:      Codes{404: "not_found", 409: "invalid_transition", 422: "unknown_field missing_field invalid_field"},
	},
	{
		Name: "revokeAgent", Route: "POST /v1/agents/{id}/revoke", Tag: "agents", Scope: Owner, Roles: "operator",
		Summary:    "Revoke for good",
		Parameters: "id timeout minIndex idempotencyKey",
		Body:       &Body{Of: Revocation{}, Example: `{"reason": "x"}`},
		Answers:    []Answer{{Status: 200, Of: StatusChange{}, Headers: "Replayed"}},
		Refusals:   "404 409",
		Codes:      Codes{404: "not_found", 422: "unknown_field missing_field invalid_field"},
	},
	{
		Name: "suspendUser", Route: "POST /v1/users/{id}/suspend", Tag: "users", Scope: Owner, Roles: "operator",
		Summary:    "Suspend",
		Parameters: "id timeout minIndex idempotencyKey",
		Body:       &Body{Of: WhyRequired{}, Example: `{"reason": "left"}`},
		Answers:    []Answer{{Status: 200, Of: StatusChange{}, Headers: "Replayed"}},
		Refusals:   "404 409",
		Codes:      Codes{404: "not_found", 409: "invalid_transition", 422: "unknown_field missing_field invalid_field"},
	},
	{
		Name: "reinstateUser", Route: "POST /v1/users/{id}/reinstate", Tag: "users", Scope: Owner, Roles: "operator",
		Summary:    "Lift a suspension",
		Parameters: "id timeout minIndex idempotencyKey",
		Body:       &Body{Of: WhyRequired{}},
		Answers:    []Answer{{Status: 200, Of: StatusChange{}, Headers: "Replayed"}},
		Refusals:   "404 409",
		Codes:      Codes{404: "not_found", 409: "invalid_transition", 422: "unknown_field missing_field invalid_field"},
	},
	{
		Name: "revokeUser", Route: "POST /v1/users/{id}/revoke", Tag: "users", Scope: Owner, Roles: "operator",
		Summary:    "Revoke for good",
		Parameters: "id timeout minIndex idempotencyKey",
		Body:       &Body{Of: Revocation{}, Example: `{"reason": "x"}`},
		Answers:    []Answer{{Status: 200, Of: StatusChange{}, Headers: "Replayed"}},
		Refusals:   "404 409",
		Codes:      Codes{404: "not_found", 422: "unknown_field missing_field invalid_field"},
	},
	{
		Name: "createDelegate", Route: "POST /v1/delegates/create", Tag: "agents", Scope: Owner, Roles: "operator",
		Summary:    "Create a delegate: an agent within its parent's policy",
		Parameters: "timeout minIndex idempotencyKey",
		Body:       &Body{Of: NewDelegate{}, Example: `{"parentAgentId": "agt_rfq3ao3wofwz", "agentName": "child", "allowedCounterpartyTypes": ["exchange"]}`},
		Answers:    []Answer{{Status: 201, Text: "Created.", Of: IssuedAgent{}, Headers: "Location Replayed"}},
		Refusals:   "404 409",
		Codes:      Codes{404: "not_found", 409: "limit_reached parent_not_active", 422: "unknown_field missing_field invalid_field policy_widening delegation_depth_exceeded operator_mismatch operator_sanctioned", 503: "sanctions_data_unavailable"},
	},
	{
		Name: "registerUser", Route: "POST /v1/users/register", Tag: "users", Scope: Owner, Roles: "operator",
		Summary:    "Register a person and issue their credential",
		Parameters: "timeout minIndex idempotencyKey",
		Body:       &Body{Of: NewUser{}, Example: `{"legalName": "Ivo Unbound"}`},
		Answers:    []Answer{{Status: 201, Text: "Created.", Of: IssuedUser{}, Headers: "Location Replayed"}},
		Refusals:   "404 409",
		Codes:      Codes{404: "not_found", 422: "unknown_field missing_field invalid_field agent_not_supervised operator_mismatch operator_sanctioned", 503: "sanctions_data_unavailable"},
	},
	{
		Name: "listUsers", Route: "GET /v1/users", Tag: "users", Scope: Owner, Roles: "operator reviewer auditor policy viewer",
		Summary:    "Persons with a credential",
		Parameters: "limit cursor order consistency timeout minIndex",
		Query: []Parameter{
			{Name: "status", Of: Status("")},
		},
		Answers: []Answer{{Status: 200, Of: struct {
			Data       []UserSummary `json:"data"`
			NextCursor *string       `json:"nextCursor"`
			AsOfIndex  int64         `json:"asOfIndex"`
		}{}, Example: `{"data": [{"userId": "usr_rfq3ao3wofwz", "legalName": "Ada Example", "email": null, "operatorId": "opr_c4jxp3wz442t", "operatorLegalName": "Acme Inc", "agentIds": ["agt_rfq3ao3wofwz"], "credentialStatus": "ACTIVE", "statusChangedAt": "2026-03-22T03:33:28.589Z", "credentialVersion": 1, "issuedAt": "2026-03-22T03:33:28.589Z", "expiresAt": "2026-04-21T03:33:28.000Z", "recordExpiresAt": "2026-04-22T03:33:28.000Z", "kid": "cc-v1"}], "nextCursor": null, "asOfIndex": 18}`}},
	},
	{
		Name: "getUser", Route: "GET /v1/users/{id}", Tag: "users", Scope: Owner, Roles: "operator reviewer auditor policy viewer",
		Summary:    "One person; token with the role operator alone",
		Parameters: "id consistency timeout minIndex",
		Answers:    []Answer{{Status: 200, Of: User{}}},
		Refusals:   "404",
		Codes:      Codes{404: "not_found"},
	},
	{
		Name: "reissueUser", Route: "POST /v1/users/{id}/reissue", Tag: "users", Scope: Owner, Roles: "operator",
		Summary:    "Issue the next version of a credential",
		Parameters: "id timeout minIndex idempotencyKey",
		Body: &Body{Of: struct {
			OverlapHours Overlap `json:"overlapHours,omitempty"`
			Reason       *string `json:"reason,omitempty" length:"-TextMax"`
			Actor        *string `json:"actor,omitempty" length:"-FieldMax"`
		}{}, Example: `{"overlapHours": 2}`, Optional: true},
		Answers:  []Answer{{Status: 201, Text: "Created.", Of: IssuedUser{}, Headers: "Location Replayed"}},
		Refusals: "404 409",
		Codes:    Codes{404: "not_found", 409: "invalid_transition", 422: "unknown_field missing_field invalid_field operator_sanctioned", 503: "sanctions_data_unavailable"},
	},
	{
		Name: "suspendOperator", Route: "POST /v1/operators/suspend", Tag: "operators", Scope: Owner, Roles: "operator",
		Summary:    "Suspend every agent of an operator at once",
		Parameters: "timeout minIndex idempotencyKey",
		Body: &Body{Of: struct {
			OperatorID        *string `json:"operatorId,omitempty" length:"-FieldMax"`
			OperatorLegalName *string `json:"operatorLegalName,omitempty" length:"-NameRunesMax"`
			Reason            string  `json:"reason" length:"-TextMax" pattern:"\\S"`
			Actor             *string `json:"actor,omitempty" length:"-FieldMax"`
		}{}, Example: `{"operatorLegalName": "Acme Inc", "reason": "x"}`},
		Answers:  []Answer{{Status: 200, Of: StatusChange{}, Headers: "Replayed"}},
		Refusals: "404 409",
		Codes:    Codes{404: "not_found", 422: "unknown_field missing_field invalid_field operator_mismatch operator_ambiguous"},
	},
	{
		Name: "reinstateOperator", Route: "POST /v1/operators/reinstate", Tag: "operators", Scope: Owner, Roles: "operator",
		Summary:    "Lift it",
		Parameters: "timeout minIndex idempotencyKey",
		Body: &Body{Of: struct {
			OperatorID        *string `json:"operatorId,omitempty" length:"-FieldMax"`
			OperatorLegalName *string `json:"operatorLegalName,omitempty" length:"-NameRunesMax"`
			Reason            string  `json:"reason" length:"-TextMax" pattern:"\\S"`
			Actor             *string `json:"actor,omitempty" length:"-FieldMax"`
		}{}, Example: `{"operatorLegalName": "Acme Inc", "reason": "x"}`},
		Answers:  []Answer{{Status: 200, Of: StatusChange{}, Headers: "Replayed"}},
		Refusals: "404 409",
		Codes:    Codes{404: "not_found", 422: "unknown_field missing_field invalid_field operator_mismatch operator_ambiguous"},
	},
	{
		Name: "limitOperator", Route: "POST /v1/operators/limit", Tag: "operators", Scope: Institution, Roles: "operator policy",
		Summary:    "Set one daily limit over all agents of an operator; null: the policy's holds. A widening needs the role policy and a reason",
		Parameters: "timeout minIndex idempotencyKey",
		Body: &Body{Of: struct {
			OperatorID        *string `json:"operatorId,omitempty" length:"-FieldMax"`
			OperatorLegalName *string `json:"operatorLegalName,omitempty" length:"-NameRunesMax"`
			DailyLimitUSDC    *Number `json:"dailyLimitUSDC" range:"0-1000000000000"`
			Reason            *string `json:"reason,omitempty" length:"-TextMax"`
			Actor             *string `json:"actor,omitempty" length:"-FieldMax"`
		}{}, Example: `{"operatorLegalName": "Acme Inc", "dailyLimitUSDC": 50000}`},
		Answers:  []Answer{{Status: 200, Of: OperatorLimit{}, Headers: "Replayed"}},
		Refusals: "404 409",
		Codes:    Codes{404: "not_found", 422: "unknown_field missing_field invalid_field operator_mismatch operator_ambiguous"},
	},
	{
		Name: "createFleet", Route: "POST /v1/fleets/create", Tag: "fleets", Scope: Owner, Roles: "operator",
		Summary:    "Create a fleet: one daily limit for many agents",
		Parameters: "timeout minIndex idempotencyKey",
		Body:       &Body{Of: NewFleet{}, Example: `{"fleetName": "Fleet B", "operatorLegalName": "Acme, Incorporated", "dailyLimitUSDC": 0, "velocity": {"maxPerMinute": 10}, "operatingHours": {"timezone": "UTC", "windows": [{"days": ["SUN"], "from": "00:00", "to": "24:00"}]}}`},
		Answers:    []Answer{{Status: 201, Text: "Created.", Of: Fleet{}, Headers: "Location Replayed"}},
		Refusals:   "409",
		Codes:      Codes{422: "unknown_field missing_field invalid_field operator_sanctioned", 503: "sanctions_data_unavailable"},
	},
	{
		Name: "listFleets", Route: "GET /v1/fleets", Tag: "fleets", Scope: Owner, Roles: "operator reviewer auditor policy viewer",
		Summary:    "Fleets",
		Parameters: "limit cursor order consistency timeout minIndex",
		Query: []Parameter{
			{Name: "operator"},
		},
		Answers: []Answer{{Status: 200, Of: struct {
			Data       []Fleet `json:"data"`
			NextCursor *string `json:"nextCursor"`
			AsOfIndex  int64   `json:"asOfIndex"`
		}{}}},
	},
	{
		Name: "getFleet", Route: "GET /v1/fleets/{id}", Tag: "fleets", Scope: Owner, Roles: "operator reviewer auditor policy viewer",
		Summary:    "One fleet",
		Parameters: "id consistency timeout minIndex",
		Answers:    []Answer{{Status: 200, Of: Fleet{}, Headers: "ETag"}},
		Refusals:   "404",
		Codes:      Codes{404: "not_found"},
	},
	{
		Name: "patchFleet", Route: "PATCH /v1/fleets/{id}", Tag: "fleets", Scope: Owner, Roles: "operator policy",
		Summary:    "Change a fleet. A widening needs the role policy and a reason",
		Parameters: "id timeout minIndex ifMatch",
		Body:       &Body{Of: FleetEdit{}, Example: `{"dailyLimitUSDC": 6, "reason": "wanted"}`},
		Answers:    []Answer{{Status: 200, Of: FleetChange{}, Headers: "ETag"}},
		Refusals:   "404 412",
		Codes:      Codes{404: "not_found", 412: "version_mismatch", 422: "unknown_field missing_field invalid_field"},
	},
	{
		Name: "retireFleet", Route: "DELETE /v1/fleets/{id}", Tag: "fleets", Scope: Owner, Roles: "operator",
		Summary:    "Retire a fleet without agents: its row and its part of the share are free again, its records stay",
		Parameters: "id timeout minIndex",
		Answers:    []Answer{{Status: 200, Of: Retired{}}},
		Refusals:   "404 409",
		Codes:      Codes{404: "not_found", 409: "invalid_transition"},
	},
	{
		Name: "assignAgents", Route: "POST /v1/fleets/{id}/agents", Tag: "fleets", Scope: Owner, Roles: "operator",
		Summary:    "Take agents in, all or none",
		Parameters: "id timeout minIndex idempotencyKey",
		Body: &Body{Of: struct {
			AgentID  *string   `json:"agentId,omitempty" length:"-FieldMax"`
			AgentIDs *[]string `json:"agentIds,omitempty" each:"{\"maxLength\": 256}"`
		}{}, Example: `{"agentId": "agt_iptavo32xmfw"}`},
		Answers:  []Answer{{Status: 200, Of: FleetMembers{}, Headers: "Replayed"}},
		Refusals: "404 409",
		Codes:    Codes{404: "not_found", 409: "already_in_fleet limit_reached", 422: "unknown_field missing_field invalid_field operator_mismatch"},
	},
	{
		Name: "removeAgent", Route: "DELETE /v1/fleets/{id}/agents/{agentId}", Tag: "fleets", Scope: Owner, Roles: "operator",
		Summary:    "Let an agent go",
		Parameters: "id agentId timeout minIndex",
		Answers:    []Answer{{Status: 200, Of: FleetMembers{}}},
		Refusals:   "404",
		Codes:      Codes{404: "not_found"},
	},
	{
		Name: "getAgentWhitelist", Route: "GET /v1/agents/{id}/whitelist", Tag: "whitelists", Scope: Owner, Roles: "operator reviewer auditor policy viewer",
		Summary:    "Approved counterparties",
		Parameters: "id consistency timeout minIndex",
		Answers:    []Answer{{Status: 200, Of: Whitelist{}, Headers: "ETag"}},
		Refusals:   "404",
		Codes:      Codes{404: "not_found"},
	},
	{
		Name: "putAgentWhitelist", Route: "PUT /v1/agents/{id}/whitelist", Tag: "whitelists", Scope: Owner, Roles: "operator policy",
		Summary:    "Replace the list. A widening needs the role policy and a reason",
		Parameters: "id timeout minIndex ifMatch",
		Body:       &Body{Of: WhitelistEdit{}, Example: `{"mode": "enforce", "entries": [{"wallet": "0x00000000000000000000000000000000000000AA", "label": "mill"}, {"name": "Paper Ltd", "expiresAt": "2026-03-22T05:00:00Z", "addedBy": "carla"}]}`},
		Answers:    []Answer{{Status: 200, Of: WhitelistChange{}, Example: `{"agentId": "agt_rfq3ao3wofwz", "mode": "enforce", "kinds": ["wallet", "name"], "version": 2, "entryCount": 2, "entries": [{"id": "1", "wallet": "0x00000000000000000000000000000000000000AA", "label": "mill"}, {"id": "2", "name": "Paper Ltd", "expiresAt": "2026-03-22T05:00:00.000Z", "addedBy": "carla"}], "change": "replaced", "reason": null, "actor": null, "updatedAt": "2026-03-22T03:33:28.589Z", "eventId": "evt_4711_0"}`, Headers: "ETag"}},
		Refusals:   "404 412",
		Codes:      Codes{404: "not_found", 412: "version_mismatch", 422: "unknown_field missing_field invalid_field"},
	},
	{
		Name: "addAgentEntry", Route: "POST /v1/agents/{id}/whitelist/entries", Tag: "whitelists", Scope: Owner, Roles: "operator policy",
		Summary:    "Add one counterparty",
		Parameters: "id timeout minIndex idempotencyKey ifMatch",
		Body:       &Body{Of: EntryEdit{}, Example: `{"name": "Pens Ltd", "reason": "new supplier"}`},
		Answers:    []Answer{{Status: 200, Of: WhitelistChange{}, Example: `{"agentId": "agt_rfq3ao3wofwz", "mode": "enforce", "kinds": ["wallet", "name"], "version": 3, "entryCount": 3, "entries": [{"id": "1", "wallet": "0x00000000000000000000000000000000000000AA", "label": "mill"}, {"id": "2", "name": "Paper Ltd", "expiresAt": "2026-03-22T05:00:00.000Z", "addedBy": "carla"}], "change": "added", "entry": {"id": "3", "name": "Pens Ltd"}, "reason": "new supplier", "actor": null, "updatedAt": "2026-03-22T03:33:28.589Z", "eventId": "evt_4711_0"}`, Headers: "ETag Replayed"}},
		Refusals:   "404 409 412",
		Codes:      Codes{404: "not_found", 412: "version_mismatch", 422: "unknown_field missing_field invalid_field"},
	},
	{
		Name: "removeAgentEntry", Route: "DELETE /v1/agents/{id}/whitelist/entries/{entry}", Tag: "whitelists", Scope: Owner, Roles: "operator policy",
		Summary:    "Remove one counterparty",
		Parameters: "id entry timeout minIndex ifMatch",
		Body:       &Body{Of: Why{}, Optional: true},
		Answers:    []Answer{{Status: 200, Of: WhitelistChange{}, Example: `{"agentId": "agt_rfq3ao3wofwz", "mode": "enforce", "kinds": ["wallet", "name"], "version": 4, "entryCount": 2, "entries": [{"id": "1", "wallet": "0x00000000000000000000000000000000000000AA", "label": "mill"}, {"id": "3", "name": "Pens Ltd"}], "change": "removed", "entry": {"id": "2", "name": "Paper Ltd", "expiresAt": "2026-03-22T05:00:00.000Z", "addedBy": "carla"}, "reason": null, "actor": null, "updatedAt": "2026-03-22T03:33:28.589Z", "eventId": "evt_4711_0"}`, Headers: "ETag"}},
		Refusals:   "404 412",
		Codes:      Codes{404: "not_found", 412: "version_mismatch", 422: "unknown_field missing_field invalid_field"},
	},
	{
		Name: "getFleetWhitelist", Route: "GET /v1/fleets/{id}/whitelist", Tag: "whitelists", Scope: Owner, Roles: "operator reviewer auditor policy viewer",
		Summary:    "Approved counterparties",
		Parameters: "id consistency timeout minIndex",
		Answers:    []Answer{{Status: 200, Of: Whitelist{}, Headers: "ETag"}},
		Refusals:   "404",
		Codes:      Codes{404: "not_found"},
	},
	{
		Name: "putFleetWhitelist", Route: "PUT /v1/fleets/{id}/whitelist", Tag: "whitelists", Scope: Owner, Roles: "operator policy",
		Summary:    "Replace the list. A widening needs the role policy and a reason",
		Parameters: "id timeout minIndex ifMatch",
		Body:       &Body{Of: WhitelistEdit{}, Example: `{"mode": "enforce", "entries": [{"name": "Paper and Ink"}]}`},
		Answers:    []Answer{{Status: 200, Of: WhitelistChange{}, Headers: "ETag"}},
		Refusals:   "404 412",
		Codes:      Codes{404: "not_found", 412: "version_mismatch", 422: "unknown_field missing_field invalid_field"},
	},
	{
		Name: "addFleetEntry", Route: "POST /v1/fleets/{id}/whitelist/entries", Tag: "whitelists", Scope: Owner, Roles: "operator policy",
		Summary:    "Add one counterparty",
		Parameters: "id timeout minIndex idempotencyKey ifMatch",
		Body:       &Body{Of: EntryEdit{}, Example: `{"name": "Paper Ltd"}`},
		Answers:    []Answer{{Status: 200, Of: WhitelistChange{}, Headers: "ETag Replayed"}},
		Refusals:   "404 409 412",
		Codes:      Codes{404: "not_found", 412: "version_mismatch", 422: "unknown_field missing_field invalid_field"},
	},
	{
		Name: "removeFleetEntry", Route: "DELETE /v1/fleets/{id}/whitelist/entries/{entry}", Tag: "whitelists", Scope: Owner, Roles: "operator policy",
		Summary:    "Remove one counterparty",
		Parameters: "id entry timeout minIndex ifMatch",
		Body:       &Body{Of: Why{}, Optional: true},
		Answers:    []Answer{{Status: 200, Of: WhitelistChange{}, Headers: "ETag"}},
		Refusals:   "404 412",
		Codes:      Codes{404: "not_found", 412: "version_mismatch", 422: "unknown_field missing_field invalid_field"},
	},
	{
		Name: "getInstitutionWhitelist", Route: "GET /v1/whitelist", Tag: "whitelists", Scope: Institution, Roles: "operator reviewer auditor policy",
		Summary:    "Approved counterparties",
		Parameters: "consistency timeout minIndex",
		Answers:    []Answer{{Status: 200, Of: Whitelist{}, Headers: "ETag"}},
	},
	{
		Name: "putInstitutionWhitelist", Route: "PUT /v1/whitelist", Tag: "whitelists", Scope: Institution, Roles: "policy",
		Summary:    "Replace the list. A widening needs the role policy and a reason",
		Parameters: "timeout minIndex ifMatch",
		Body:       &Body{Of: WhitelistEdit{}, Example: `{"mode": "off", "entries": [{"name": "Acme"}]}`},
		Answers:    []Answer{{Status: 200, Of: WhitelistChange{}, Headers: "ETag"}, proposedPut},
		Refusals:   "409 412",
		Codes:      Codes{409: "invalid_transition", 412: "version_mismatch", 422: "unknown_field missing_field invalid_field"},
	},
	{
		Name: "addInstitutionEntry", Route: "POST /v1/whitelist/entries", Tag: "whitelists", Scope: Institution, Roles: "policy",
		Summary:    "Add one counterparty",
		Parameters: "timeout minIndex idempotencyKey ifMatch",
		Body:       &Body{Of: EntryEdit{}, Example: `{"wallet": "0x00000000000000000000000000000000000000aa", "expiresAt": "2027-01-01"}`},
		Answers:    []Answer{{Status: 200, Of: WhitelistChange{}, Example: `{"mode": "off", "kinds": ["wallet"], "version": 2, "entryCount": 1, "entries": [{"id": "1", "wallet": "0x00000000000000000000000000000000000000aa", "expiresAt": "2027-01-01T00:00:00.000Z"}], "change": "added", "entry": {"id": "1", "wallet": "0x00000000000000000000000000000000000000aa", "expiresAt": "2027-01-01T00:00:00.000Z"}, "reason": null, "actor": null, "updatedAt": "2026-03-22T03:33:28.589Z", "eventId": "evt_4711_0"}`, Headers: "ETag Replayed"}, proposedAnswer},
		Refusals:   "409 412",
		Codes:      Codes{409: "invalid_transition", 412: "version_mismatch", 422: "unknown_field missing_field invalid_field"},
	},
	{
		Name: "removeInstitutionEntry", Route: "DELETE /v1/whitelist/entries/{entry}", Tag: "whitelists", Scope: Institution, Roles: "policy",
		Summary:    "Remove one counterparty",
		Parameters: "entry timeout minIndex ifMatch",
		Body:       &Body{Of: Why{}, Optional: true},
		Answers:    []Answer{{Status: 200, Of: WhitelistChange{}, Headers: "ETag"}, proposedPut},
		Refusals:   "404 409 412",
		Codes:      Codes{404: "not_found", 409: "invalid_transition", 412: "version_mismatch", 422: "unknown_field missing_field invalid_field"},
	},
}
